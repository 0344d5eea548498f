//! One candidate on one line, and the lines around it.

use std::fmt::Write as _;

use cuebook_grammar::candidate::{Candidate, ControlKind, Placement};
use cuebook_grammar::id::CandidateId;
use cuebook_grammar::observation::Observation;
use cuebook_grammar::secret::FactText;

use super::text::{Boxes, TextOptions};
use super::{flags, quoted};

/// How the context of a candidate is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Context {
    /// In its own words.
    InWords,
    /// As that of the line before.
    Same,
    /// By the candidate near it whose name it begins with.
    Of(CandidateId),
}

/// A context of fewer words is told faster than another candidate is looked up.
const LONG: usize = 20;

/// The candidate among its neighbours by which the context of a candidate can be told.
pub(super) fn named_by<'a>(
    candidate: &Candidate,
    mut neighbours: impl Iterator<Item = &'a Candidate>,
) -> Option<CandidateId> {
    let (_, text) = candidate.context.as_deref()?.split_once(": ")?;
    let names = |other: &Candidate| {
        other.context.is_none()
            && other.frame == candidate.frame
            && other.name.len() > LONG
            && text.starts_with(&other.name)
    };
    neighbours.find(|other| names(other)).map(|other| other.id)
}

/// `- button "Save" [c2] (row: Anna) [disabled]`: role, name, id, context and states.
pub(super) fn head(candidate: &Candidate, told: Context) -> String {
    let mut out = format!("{} ", candidate.role);
    if candidate.name.is_empty() {
        let label = candidate.label.as_deref().or(candidate.placeholder.as_deref()).unwrap_or_default();
        if !label.is_empty() {
            let _ = write!(out, "({}) ", quoted(label, 60));
        }
    } else {
        let _ = write!(out, "{} ", quoted(&candidate.name, 120));
    }
    let _ = write!(out, "[{}]", candidate.id);
    if let Some(context) = candidate.context.as_deref().filter(|context| !says_label(candidate, context)) {
        match told {
            Context::InWords => {
                let _ = write!(out, " ({})", quoted(context, 120).trim_matches('"'));
            }
            Context::Same => out.push_str(" (same)"),
            Context::Of(id) => {
                let kind = context.split_once(": ").map_or(context, |(kind, _)| kind);
                let _ = write!(out, " ({} of {id})", quoted(kind, 40).trim_matches('"'));
            }
        }
    }
    for flag in flags(candidate) {
        let _ = write!(out, " [{flag}]");
    }
    out
}

/// A context that only repeats the label that stands for the name.
fn says_label(candidate: &Candidate, context: &str) -> bool {
    candidate.name.is_empty()
        && context.strip_prefix("label: ").is_some_and(|label| candidate.label.as_deref() == Some(label))
}

/// The value as it is shown; `None` where there is none.
pub(super) fn value(candidate: &Candidate, limit: usize) -> Option<String> {
    match candidate.value.as_ref()? {
        FactText::Clear(value) if value.is_empty() => None,
        FactText::Clear(value) => {
            // What a select holds is read by its label.
            let chosen = candidate.options.iter().find(|option| option.selected && option.value == *value);
            Some(quoted(chosen.map_or(value, |option| &option.label), limit))
        }
        FactText::Redacted { .. } => Some("(hidden)".to_owned()),
    }
}

/// Description, placeholder, options and box, as far as there are any.
pub(super) fn details(candidate: &Candidate, options: &TextOptions) -> String {
    let mut out = String::new();
    if let Some(description) = &candidate.description {
        let _ = write!(out, " description={}", quoted(description, 80));
    }
    let placeholder = candidate.placeholder.as_ref().filter(|text| **text != candidate.name);
    if let Some(placeholder) = placeholder.filter(|_| !candidate.name.is_empty() || candidate.label.is_some()) {
        let _ = write!(out, " placeholder={}", quoted(placeholder, 60));
    }
    if !candidate.options.is_empty() {
        let shown: Vec<String> =
            candidate.options.iter().take(options.options).map(|option| quoted(&option.label, 40)).collect();
        let more = candidate.options.len().saturating_sub(shown.len());
        let _ = write!(out, " options={}", shown.join("|"));
        if more > 0 {
            let _ = write!(out, "|… {more} more");
        }
    }
    if options.boxes == Boxes::Written
        && let Some(rect) = candidate.rect
    {
        let _ = write!(out, " [box={:.0},{:.0},{:.0},{:.0}]", rect.x, rect.y, rect.width, rect.height);
    }
    out
}

/// The line that says that what follows is off view, or in view again.
pub(super) const fn place_line(placement: Placement) -> &'static str {
    match placement {
        Placement::InView => "# in view",
        Placement::OffView => "# off view",
    }
}

/// What a frame is called.
pub(super) fn frame_title(observation: &Observation, frame: u32) -> &str {
    let summary = usize::try_from(frame).ok().and_then(|index| observation.frames.get(index));
    summary.map_or("", |summary| if summary.name.is_empty() { &summary.url } else { &summary.name })
}

/// What was left out, in words; empty if nothing was.
pub(super) fn left_out(observation: &Observation, unwritten: usize) -> String {
    let mut parts = Vec::new();
    if unwritten > 0 {
        parts.push(format!("{unwritten} candidates beyond the budget"));
    }
    if let Some(truncated) = &observation.truncated {
        for (count, what) in [
            (truncated.off_view, "candidates beyond the view (scroll to see them)"),
            (truncated.candidates, "candidates beyond the bound"),
            (truncated.elements, "elements not looked at"),
            (truncated.frames, "frames not entered"),
        ] {
            if count > 0 {
                parts.push(format!("{count} {what}"));
            }
        }
    }
    parts.join(", ")
}

/// The states that are worth a word.
pub(super) fn is_password(candidate: &Candidate) -> bool {
    candidate.control == ControlKind::Password
}
