//! Changes since an earlier observation, as lines: `+` came, `-` went, `~` changed.

use std::collections::HashSet;
use std::fmt::Write as _;

use crate::candidate::Candidate;
use crate::id::CandidateId;
use crate::observation::{Delta, Observation};

use super::budget::estimate_tokens;
use super::escape::quoted;
use super::line::{Context, Writer};
use super::options::TextOptions;
use super::reading;

/// The changes since the observation before; `None` if there was none. Ends with what the budget left out.
#[must_use]
pub fn delta(observation: &Observation, options: &TextOptions) -> Option<String> {
    let changes = observation.delta.as_ref()?;
    let writer = Writer::new(observation, options).unmarked();
    let lists = [(&changes.came, '+'), (&changes.changed, '~'), (&changes.went, '-')];
    let lines = lists.into_iter().flat_map(|(ids, mark)| marked(&writer, observation, ids, mark)).collect();
    Some(within_budget(counted(changes) + "\n", lines, options))
}

/// News for a reader of `former` about the same document: candidates, alerts, what lies over the page, and text that
/// came. Ends with what the budget left out.
#[must_use]
pub fn changes(former: &Observation, now: &Observation, options: &TextOptions) -> String {
    let changes = now.changes_since(former);
    let mut news = Vec::new();
    let known: HashSet<_> = former.sketch.live.iter().collect();
    for live in now.sketch.live.iter().filter(|live| !known.contains(live)).take(reading::LIVE) {
        news.push(format!("{} {}", quoted(&live.kind, 20).trim_matches('"'), quoted(&live.text, 300)));
    }
    match (&former.sketch.modal, &now.sketch.modal) {
        (before, Some(modal)) if before.as_ref() != Some(modal) => news.push(format!("modal {}", quoted(modal, 120))),
        (Some(modal), None) => news.push(format!("modal {} is closed", quoted(modal, 120))),
        _ => {}
    }
    let read: HashSet<String> = former.texts.iter().map(reading::plain).collect();
    let fresh = now.texts.iter().filter(|line| !reading::is_said_above(line, now)).map(reading::plain);
    let writer = Writer::new(now, options).unmarked();
    // What the page made of what was there is first: what came may be more than the budget has room for.
    news.extend(marked(&writer, now, &changes.changed, '~'));
    news.extend(fresh.filter(|line| !read.contains(line)).map(|line| format!("+ {line}")));
    news.extend(marked(&writer, now, &changes.came, '+'));
    news.extend(marked(&writer, now, &changes.went, '-'));
    let still: HashSet<String> = now.texts.iter().map(reading::plain).collect();
    match read.iter().filter(|line| !still.contains(*line)).count() {
        0 => {}
        1 => news.push("- 1 line of text".to_owned()),
        gone => news.push(format!("- {gone} lines of text")),
    }
    if news.is_empty() { "nothing else changed\n".to_owned() } else { within_budget(String::new(), news, options) }
}

fn counted(changes: &Delta) -> String {
    let (came, went, changed) = (changes.came.len(), changes.went.len(), changes.changed.len());
    format!("since observation {}: {came} came, {went} went, {changed} changed", changes.since.0)
}

fn marked<'a>(
    writer: &'a Writer<'a>,
    observation: &'a Observation,
    ids: &'a [CandidateId],
    mark: char,
) -> impl Iterator<Item = String> + 'a {
    ids.iter().map(move |id| {
        let known: Option<&Candidate> = observation.candidate_or_recent(*id);
        let written = known.map_or_else(|| format!("- [{id}]"), |candidate| writer.line(candidate, Context::InWords));
        format!("{mark} {}", written.strip_prefix("- ").unwrap_or(&written))
    })
}

fn within_budget(head: String, lines: Vec<String>, options: &TextOptions) -> String {
    let mut out = head;
    let mut room = options.budget.saturating_sub(estimate_tokens(&out) + 20);
    let mut left_out = 0_usize;
    for one in lines {
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
    out
}
