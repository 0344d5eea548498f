//! What changed since the observation before, as lines: `+` came, `-` went, `~` changed.

use std::fmt::Write as _;

use cuebook_grammar::candidate::Candidate;
use cuebook_grammar::id::CandidateId;
use cuebook_grammar::observation::Observation;

use super::budget::estimate_tokens;
use super::line::Context;
use super::text::{TextOptions, line};

/// The changes since the observation before; `None` if there was none. Ends with what the budget left out.
#[must_use]
pub fn render(observation: &Observation, options: &TextOptions) -> Option<String> {
    let delta = observation.delta.as_ref()?;
    let (came, went, changed) = (delta.came.len(), delta.went.len(), delta.changed.len());
    let mut out = format!("since observation {}: {came} came, {went} went, {changed} changed\n", delta.since.0);
    let mut room = options.budget.saturating_sub(estimate_tokens(&out) + 20);
    let mut left_out = 0_usize;
    let of = |ids: &[CandidateId], mark: char| -> Vec<String> {
        ids.iter()
            .map(|id| {
                let known: Option<&Candidate> = observation.candidate_or_recent(*id);
                let told =
                    known.map_or_else(|| format!("- [{id}]"), |candidate| line(candidate, options, Context::InWords));
                format!("{mark} {}", told.strip_prefix("- ").unwrap_or(&told))
            })
            .collect()
    };
    for one in [of(&delta.came, '+'), of(&delta.changed, '~'), of(&delta.went, '-')].concat() {
        let cost = estimate_tokens(&one) + 1;
        if cost > room {
            left_out += 1;
            continue;
        }
        room -= cost;
        let _ = writeln!(out, "{one}");
    }
    if left_out > 0 {
        let _ = writeln!(out, "left out: {left_out} changes beyond the budget");
    }
    Some(out)
}
