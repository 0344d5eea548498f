//! Counts of clicks in a log: how many were begun, how many were committed.
//!
//! Invariant: every line that ends is one JSON object; only what follows the last line end may be torn.

use std::fmt;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;

/// The clicks of a log.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Clicks {
    /// Entries `begin`, written before input may be sent.
    pub(super) begun: u64,
    /// Entries `commit` with result `ok`.
    pub(super) committed: u64,
    /// `true` if the last line has no end.
    pub(super) is_torn: bool,
}

/// A line that is no entry.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Unreadable {
    line: usize,
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {} is not a JSON object with an entry", self.line)
    }
}

/// Reads the log of the only run below `out`; no clicks if the run did not get as far as a log.
///
/// # Errors
/// If a file cannot be read. The inner error is a broken promise, the outer one a broken soak.
pub(super) fn read(out: &Path) -> Result<Result<Clicks, Unreadable>> {
    let Ok(runs) = out.read_dir() else {
        return Ok(Ok(Clicks::default()));
    };
    let mut all = Clicks::default();
    for run in runs {
        let log = run?.path().join("log.jsonl");
        if !log.exists() {
            continue;
        }
        let text = fs::read(&log).with_context(|| format!("cannot read {}", log.display()))?;
        match count(&text) {
            Ok(clicks) => {
                all.begun += clicks.begun;
                all.committed += clicks.committed;
                all.is_torn |= clicks.is_torn;
            }
            Err(unreadable) => return Ok(Err(unreadable)),
        }
    }
    Ok(Ok(all))
}

fn count(log: &[u8]) -> Result<Clicks, Unreadable> {
    let (whole, torn) = match log.iter().rposition(|byte| *byte == b'\n') {
        Some(end) => log.split_at(end + 1),
        None => (&[][..], log),
    };
    let mut clicks = Clicks { is_torn: !torn.is_empty(), ..Clicks::default() };
    for (index, line) in whole.split_inclusive(|byte| *byte == b'\n').enumerate() {
        let unreadable = Unreadable { line: index + 1 };
        let Ok(entry) = serde_json::from_slice::<Value>(line) else {
            return Err(unreadable);
        };
        let is_click = entry["action"]["type"] == "click";
        match entry["entry"].as_str() {
            Some("begin") if is_click => clicks.begun += 1,
            Some("commit") if is_click && entry["result"] == "ok" => clicks.committed += 1,
            Some(_) => {}
            None => return Err(unreadable),
        }
    }
    Ok(clicks)
}

#[cfg(test)]
mod tests {
    use super::{Clicks, Unreadable, count};

    const BEGIN: &str = r#"{"entry":"begin","action":{"type":"click","targetRef":"count"}}"#;
    const COMMIT: &str = r#"{"entry":"commit","action":{"type":"click","targetRef":"count"},"result":"ok"}"#;
    const FAILED: &str = r#"{"entry":"commit","action":{"type":"click","targetRef":"count"},"result":"failed"}"#;
    const OTHER: &str = r#"{"entry":"begin","action":{"type":"navigate","url":"http://x/"}}"#;

    #[test]
    fn only_clicks_that_went_well_are_committed() {
        let log = format!("{{\"entry\":\"header\"}}\n{OTHER}\n{BEGIN}\n{COMMIT}\n{BEGIN}\n{FAILED}\n");
        assert_eq!(count(log.as_bytes()), Ok(Clicks { begun: 2, committed: 1, is_torn: false }));
        assert_eq!(count(b""), Ok(Clicks::default()));
    }

    #[test]
    fn a_torn_last_line_is_no_entry_and_no_fault() {
        let log = format!("{BEGIN}\n{COMMIT}");
        assert_eq!(count(log.as_bytes()), Ok(Clicks { begun: 1, committed: 0, is_torn: true }));
        let half = COMMIT.get(..20).unwrap();
        assert_eq!(count(half.as_bytes()), Ok(Clicks { begun: 0, committed: 0, is_torn: true }));
    }

    #[test]
    fn a_broken_line_that_ends_is_a_fault() {
        let log = format!("{BEGIN}\n{{\"entry\":\"com\n{COMMIT}\n");
        assert_eq!(count(log.as_bytes()), Err(Unreadable { line: 2 }));
        assert_eq!(count(b"{}\n"), Err(Unreadable { line: 1 }));
    }
}
