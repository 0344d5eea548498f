//! The violation of every reader.

use cuebook_grammar::plan::{Violation, ViolationCode};

pub(super) fn malformed(path: impl Into<String>, message: impl Into<String>) -> Violation {
    Violation::new(ViolationCode::Malformed, path, message)
}
