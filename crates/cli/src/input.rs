//! Reads files and standard input, up to a bound.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use cuebook_decoding::read;
use cuebook_grammar::plan::{Author, PlanDraft};
use cuebook_grammar::report::ErrorCode;

use crate::exit::Refusal;
use crate::text::plain;

/// Upper bound of a file: 64 MiB.
const MAX_BYTES: u64 = 64 << 20;

/// Reads a plan of any form, as the text of [`text`].
pub(crate) fn plan(path: &Path, author: Author) -> Result<PlanDraft, Refusal> {
    Ok(read::read(&text(path)?, author)?)
}

/// Reads a text file, or standard input for `-`.
pub(crate) fn text(path: &Path) -> Result<String, Refusal> {
    let shown = plain(&path.display().to_string());
    let unreadable =
        |error: std::io::Error| Refusal::invalid(ErrorCode::Unreadable, format!("{shown} cannot be read: {error}"));
    let mut bytes = Vec::new();
    if path.as_os_str() == "-" {
        std::io::stdin().lock().take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    } else {
        File::open(path).map_err(unreadable)?.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    }
    if bytes.len() as u64 > MAX_BYTES {
        return Err(Refusal::invalid(ErrorCode::TooLarge, format!("{shown} is larger than {MAX_BYTES} bytes")));
    }
    String::from_utf8(bytes)
        .map_err(|error| Refusal::invalid(ErrorCode::Malformed, format!("{shown} is not UTF-8: {error}")))
}
