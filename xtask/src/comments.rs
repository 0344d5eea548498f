//! Doc comments that say nothing: those that open with "What", "Whether" or "The same", and those of fewer than four
//! words without a unit or a bound.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use xtask::commands::root;

const OPENINGS: [&str; 3] = ["What", "Whether", "The same"];
/// Comments with one of these may be short.
const UNITS: [&str; 6] = ["bytes", "characters", "milliseconds", "pixels", "seconds", "tokens"];
/// Comments of these files are output or part of prompts, where every word costs tokens.
const TERSE: [&str; 3] = [
    "crates/grammar/src/action.rs",
    "crates/grammar/src/action/parameters.rs",
    "crates/grammar/src/condition/fields.rs",
];

/// Checks all Rust files of the workspace.
///
/// # Errors
/// If a file cannot be read, or has such a comment; the message names each.
pub(crate) fn run() -> Result<()> {
    let mut found = Vec::new();
    for folder in ["bench", "crates", "examples", "tests", "xtask"] {
        read(&root().join(folder), &mut found)?;
    }
    ensure!(found.is_empty(), "{} doc comments say nothing:\n{}", found.len(), found.join("\n"));
    Ok(())
}

fn read(folder: &Path, found: &mut Vec<String>) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let path = entry?.path();
        if path.is_dir() && path.file_name().is_some_and(|name| name != "target") {
            read(&path, found)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
            let path = path.strip_prefix(root()).unwrap_or(&path);
            let is_terse = TERSE.iter().any(|terse| path == Path::new(terse));
            let empty = empty_comments(&text, is_terse);
            found.extend(empty.into_iter().map(|(line, comment)| format!("{}:{line}: {comment}", path.display())));
        }
    }
    Ok(())
}

/// The first line, 1-based, and the text of each doc comment that says nothing. `may_be_short`: only openings count.
fn empty_comments(text: &str, may_be_short: bool) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut open: Option<(usize, &str, String)> = None;
    for (at, line) in text.lines().chain([""]).enumerate() {
        let line = line.trim_start();
        let mark = ["///", "//!"].into_iter().find(|mark| line.starts_with(mark));
        match (mark, &mut open) {
            (Some(mark), Some((_, of, words))) if mark == *of => *words = format!("{words} {}", line[3..].trim()),
            _ => {
                if let Some((at, _, words)) = open.take().filter(|(_, _, words)| says_nothing(words, may_be_short)) {
                    found.push((at, words));
                }
                open = mark.map(|mark| (at + 1, mark, line[3..].trim().to_owned()));
            }
        }
    }
    found
}

fn says_nothing(comment: &str, may_be_short: bool) -> bool {
    let opens =
        |opening: &str| comment.strip_prefix(opening).is_some_and(|rest| !rest.starts_with(char::is_alphabetic));
    let is_short = !comment.is_empty() && comment.split_whitespace().count() < 4;
    let is_unit = comment.contains(|c: char| c.is_ascii_digit())
        || UNITS.iter().any(|unit| comment.to_lowercase().contains(unit));
    OPENINGS.into_iter().any(opens) || (is_short && !is_unit && !may_be_short)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn openings_and_short_comments_are_found_and_units_pass() {
        let text = [
            "/// What it is, at length.",
            "struct A;",
            "    /// The name.",
            "    a: u8,",
            "/// Milliseconds.",
            "b: u8,",
            "//! Whatever a page says,",
            "//! in short.",
            "/// At most 20.",
            "/// The position",
            "/// in the list.",
            "fn c() {}",
            "/// The same, doubled and turned.",
        ];
        let text = text.join("\n");
        let lines = |short| empty_comments(&text, short).into_iter().map(|(line, _)| line).collect::<Vec<_>>();
        assert_eq!(lines(false), [1, 3, 13]);
        assert_eq!(lines(true), [1, 13]);
    }
}
