//! The part of a document that a chore writes, between `<!-- name:begin -->` and `<!-- name:end -->`.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

/// Replaces the block called `name`.
///
/// # Errors
/// If the document cannot be read or written, or has no such block.
pub(super) fn write_block(document: &Path, name: &str, content: &str) -> Result<()> {
    let shown = document.display();
    let text = fs::read_to_string(document).with_context(|| format!("cannot read {shown}"))?;
    let text = replaced(&text, name, content).with_context(|| format!("expected the markers of {name} in {shown}"))?;
    fs::write(document, text).with_context(|| format!("cannot write {shown}"))
}

fn replaced(text: &str, name: &str, content: &str) -> Option<String> {
    let (begin, end) = (format!("<!-- {name}:begin -->"), format!("<!-- {name}:end -->"));
    let (before, rest) = text.split_once(&begin)?;
    let (_, after) = rest.split_once(&end)?;
    Some(format!("{before}{begin}\n{}\n{end}{after}", content.trim()))
}

#[cfg(test)]
mod tests {
    use super::replaced;

    #[test]
    fn only_what_stands_between_the_markers_changes() {
        let text = "# A\n<!-- x:begin -->\nold\n<!-- x:end -->\nrest\n";
        assert_eq!(
            replaced(text, "x", "\nnew\n").as_deref(),
            Some("# A\n<!-- x:begin -->\nnew\n<!-- x:end -->\nrest\n")
        );
        assert_eq!(replaced(text, "y", "new"), None);
        assert_eq!(replaced("<!-- x:end --><!-- x:begin -->", "x", "new"), None);
    }
}
