//! Generates the types of the commands that `protocol/` describes.

use chromiumoxide_pdl::build::Generator;

fn main() -> std::io::Result<()> {
    println!("cargo:rerun-if-changed=protocol");
    // Each file becomes a module of its name.
    Generator::default().compile_pdls(&["protocol/js_protocol.pdl", "protocol/browser_protocol.pdl"])
}
