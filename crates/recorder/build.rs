//! Joins the modules of the script for pages.

use std::error::Error;
use std::path::Path;

#[expect(clippy::disallowed_methods, reason = "Cargo says by the environment where a build script may write")]
fn main() -> Result<(), Box<dyn Error>> {
    let out = std::env::var_os("OUT_DIR").ok_or("expected to be run by Cargo")?;
    cuebook_bundle::build(Path::new("src/js/record.js"), "record", Path::new(&out))?;
    Ok(())
}
