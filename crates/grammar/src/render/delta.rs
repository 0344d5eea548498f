//! Changes since the observation before, as lines: `+` came, `-` went, `~` changed.

use std::fmt::Write as _;

use crate::candidate::Candidate;
use crate::id::CandidateId;
use crate::observation::Observation;

use super::budget::estimate_tokens;
use super::line::{Context, Writer};
use super::options::TextOptions;

/// The changes since the observation before; `None` if there was none. Ends with what the budget left out.
#[must_use]
pub fn delta(observation: &Observation, options: &TextOptions) -> Option<String> {
    let changes = observation.delta.as_ref()?;
    let (came, went, changed) = (changes.came.len(), changes.went.len(), changes.changed.len());
    let mut out = format!("since observation {}: {came} came, {went} went, {changed} changed\n", changes.since.0);
    let mut room = options.budget.saturating_sub(estimate_tokens(&out) + 20);
    let mut left_out = 0_usize;
    let writer = Writer::new(observation, options).unmarked();
    let of = |ids: &[CandidateId], mark: char| -> Vec<String> {
        ids.iter()
            .map(|id| {
                let known: Option<&Candidate> = observation.candidate_or_recent(*id);
                let written =
                    known.map_or_else(|| format!("- [{id}]"), |candidate| writer.line(candidate, Context::InWords));
                format!("{mark} {}", written.strip_prefix("- ").unwrap_or(&written))
            })
            .collect()
    };
    for one in [of(&changes.came, '+'), of(&changes.changed, '~'), of(&changes.went, '-')].concat() {
        let cost = estimate_tokens(&one) + 1;
        if cost > room {
            left_out += 1;
            continue;
        }
        room -= cost;
        let _ = writeln!(out, "{one}");
    }
    if left_out > 0 {
        let _ = writeln!(
            out,
            "left out: {left_out} {} beyond the budget",
            if left_out == 1 { "change" } else { "changes" }
        );
    }
    Some(out)
}
