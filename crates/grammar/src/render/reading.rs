//! The page's text between its candidates.

use std::fmt::Write as _;

use crate::candidate::Placement;
use crate::id::CandidateId;
use crate::observation::{Observation, TextKind, TextLine, TextPart};

use super::escape::quoted;

/// Alerts and the like that are written above the candidates.
pub(super) const LIVE: usize = 6;
/// The most characters that are written of one part of a line.
const PART: usize = 600;

/// One line: `row "Invoice 7" | "€ 30.00" | [c4]`. Cells are divided by `|`; a candidate stands by what `inline` writes
/// of it, else by its id.
pub(super) fn written(line: &TextLine, mut inline: impl FnMut(CandidateId) -> Option<String>) -> String {
    let mut out = match line.kind {
        TextKind::Heading => format!("- h{}", line.level),
        TextKind::Item => "*".to_owned(),
        TextKind::Row => "row".to_owned(),
        TextKind::Text => String::new(),
    };
    let mut more = line.more;
    for (index, cell) in line.cells.iter().enumerate() {
        if index > 0 {
            out.push_str(" |");
        }
        for part in cell {
            if !out.is_empty() {
                out.push(' ');
            }
            let _ = match part {
                TextPart::Text(text) => {
                    more += u64::try_from(text.chars().count().saturating_sub(PART)).unwrap_or(0);
                    write!(out, "{}", quoted(text, PART))
                }
                TextPart::Image(text) => write!(out, "(picture {})", quoted(text, 120)),
                TextPart::Candidate(id) => match inline(*id) {
                    Some(candidate) => write!(out, "{candidate}"),
                    None => write!(out, "[{id}]"),
                },
            };
        }
    }
    if more > 0 {
        let _ = write!(out, " ({more} more characters)");
    }
    out
}

/// One line in which each candidate stands by its id.
pub(super) fn plain(line: &TextLine) -> String {
    written(line, |_| None)
}

/// Returns `true` if a line only repeats text that stands above the candidates.
pub(super) fn is_said_above(line: &TextLine, observation: &Observation) -> bool {
    let [cell] = line.cells.as_slice() else { return false };
    let [TextPart::Text(text)] = cell.as_slice() else { return false };
    observation.sketch.live.iter().take(LIVE).any(|live| live.text == *text)
}

/// Which lines are kept within `room` tokens, given what each costs: what is in view first, what a dialog lies over
/// last, and in the order of reading among equals.
pub(super) fn kept(lines: &[TextLine], costs: &[usize], mut room: usize) -> Vec<bool> {
    let rank = |line: &TextLine| (line.behind, line.placement != Placement::InView);
    let mut order: Vec<(usize, &TextLine)> = lines.iter().enumerate().collect();
    order.sort_by_key(|(_, line)| rank(line));
    let mut kept = vec![false; lines.len()];
    for (index, _) in order {
        let Some((cost, slot)) = costs.get(index).zip(kept.get_mut(index)) else { continue };
        // A long line that does not fit leaves its place to shorter ones.
        if let Some(left) = room.checked_sub(*cost) {
            room = left;
            *slot = true;
        }
    }
    kept
}
