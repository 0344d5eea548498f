//! Files and standard input, with bounds.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use crate::exit::Refusal;
use crate::text::plain;

/// The largest plan or observation that is read: 64 MiB.
const MAX_BYTES: u64 = 64 << 20;

/// Reads a text file, or standard input for `-`.
pub(crate) fn text(path: &Path) -> Result<String, Refusal> {
    let shown = plain(&path.display().to_string());
    let unreadable = |error: std::io::Error| Refusal::invalid("unreadable", format!("{shown} cannot be read: {error}"));
    let mut bytes = Vec::new();
    if path.as_os_str() == "-" {
        std::io::stdin().lock().take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    } else {
        File::open(path).map_err(unreadable)?.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    }
    if bytes.len() as u64 > MAX_BYTES {
        return Err(Refusal::invalid("tooLarge", format!("expected at most {MAX_BYTES} bytes in {shown}, saw more")));
    }
    String::from_utf8(bytes)
        .map_err(|error| Refusal::invalid("malformed", format!("expected UTF-8 in {shown}: {error}")))
}
