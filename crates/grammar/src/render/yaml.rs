//! An observation as a YAML sequence in the manner of an ARIA snapshot: `- button "Save" [c2]`.

use std::fmt::Write as _;

use crate::candidate::Placement;
use crate::observation::Observation;

use super::budget::{estimate_tokens, kept, within};
use super::escape::quoted;
use super::line::{Context, Writer, frame_title, left_out, place_line, value};
use super::options::TextOptions;

/// The candidates as YAML, those of a frame under it, with values as scalars and all else that belongs to a
/// candidate in its key. Within the budget as [`text`](super::text()); comments say what is off
/// view and what was left out.
#[must_use]
pub fn yaml(observation: &Observation, options: &TextOptions) -> String {
    let writer = Writer::new(observation, options);
    let lines: Vec<String> = observation
        .candidates
        .iter()
        .map(|candidate| {
            let key = key(&format!("{}{}", writer.head(candidate, Context::InWords), writer.details(candidate)));
            match value(candidate, 200) {
                Some(value) => format!("- {key}: {value}"),
                None => format!("- {key}"),
            }
        })
        .collect();
    let costs: Vec<usize> = lines.iter().map(|line| estimate_tokens(line) + 1).collect();
    within(options.budget, options.budget.saturating_sub(50), |room| {
        body(observation, &lines, &kept(&observation.candidates, &costs, room))
    })
}

/// The lines that are kept, by frame, and what was left out.
fn body(observation: &Observation, lines: &[String], kept: &[bool]) -> String {
    let mut out = String::new();
    for (index, summary) in observation.frames.iter().enumerate() {
        let inside: Vec<_> = observation
            .candidates
            .iter()
            .zip(lines)
            .zip(kept)
            .filter(|((candidate, _), kept)| **kept && usize::try_from(candidate.frame) == Ok(index))
            .map(|(one, _)| one)
            .collect();
        if inside.is_empty() {
            continue;
        }
        let mut indent = "";
        if index > 0 {
            let title = u32::try_from(index).map_or(summary.name.as_str(), |index| frame_title(observation, index));
            let _ = writeln!(out, "- {}:", key(&format!("iframe {}", quoted(title, 120))));
            indent = "  ";
        }
        let mut placement = Placement::InView;
        for (candidate, line) in inside {
            if candidate.placement != placement {
                placement = candidate.placement;
                let _ = writeln!(out, "{indent}{}", place_line(placement));
            }
            let _ = writeln!(out, "{indent}{line}");
        }
    }
    let left_out = left_out(observation, kept.iter().filter(|kept| !**kept).count(), 0);
    if !left_out.is_empty() {
        let _ = writeln!(out, "# left out: {left_out}");
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
