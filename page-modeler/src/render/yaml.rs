//! An observation as a YAML sequence in the manner of an aria snapshot: `- button "Save" [ref=c1]`.

use std::fmt::Write as _;

use cuebook_grammar::observation::Observation;
use cuebook_grammar::secret::FactText;

use super::{quoted, states};

/// The candidates as YAML, grouped by frame, with values as scalars. Not bounded but by the observation.
#[must_use]
pub fn render(observation: &Observation) -> String {
    let mut out = String::new();
    for (index, summary) in observation.frames.iter().enumerate() {
        let inside: Vec<_> = observation.candidates.iter().filter(|c| usize::try_from(c.frame) == Ok(index)).collect();
        if inside.is_empty() {
            continue;
        }
        let mut indent = "";
        if index > 0 {
            let _ = writeln!(out, "- {}:", key(&format!("iframe {}", quoted(&summary.name, 120))));
            indent = "  ";
        }
        for candidate in inside {
            let head = format!(
                "{} {}{} [ref={}]",
                candidate.role,
                quoted(&candidate.name, 120),
                states(candidate),
                candidate.id
            );
            match &candidate.value {
                Some(FactText::Clear(value)) if !value.is_empty() => {
                    let _ = writeln!(out, "{indent}- {}: {}", key(&head), quoted(value, 200));
                }
                _ => {
                    let _ = writeln!(out, "{indent}- {}", key(&head));
                }
            }
        }
    }
    out
}

/// A plain scalar in single quotes, as YAML wants it where it holds a colon, a hash or quotes.
fn key(text: &str) -> String {
    if text.contains(": ") || text.contains(" #") || text.contains('\'') || text.ends_with(':') {
        format!("'{}'", text.replace('\'', "''"))
    } else {
        text.to_owned()
    }
}
