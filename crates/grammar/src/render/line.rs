//! One candidate on one line, and the lines around it.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use crate::candidate::{Candidate, ControlKind, Placement, SelectOption};
use crate::id::CandidateId;
use crate::observation::Observation;
use crate::secret::FactText;

use super::escape::quoted;
use super::options::{Boxes, TextOptions};

/// How the context of a candidate is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Context {
    /// In its own words.
    InWords,
    /// As that of the line before.
    Same,
    /// By the candidate near it whose name it begins with.
    Of(CandidateId),
    /// Not at all: the line that it stands in says it.
    Unsaid,
}

/// Writes candidates of one observation.
pub(super) struct Writer<'a> {
    options: &'a TextOptions,
    /// Origin of the page, which destinations leave out.
    origin: &'a str,
    new: BTreeSet<CandidateId>,
}

impl<'a> Writer<'a> {
    pub(super) fn new(observation: &'a Observation, options: &'a TextOptions) -> Self {
        let came: BTreeSet<CandidateId> = observation.delta.iter().flat_map(|delta| &delta.came).copied().collect();
        // On another page nearly everything is new, which says nothing.
        let new = if came.len() * 2 > observation.candidates.len() { BTreeSet::new() } else { came };
        Self { options, origin: origin(&observation.url), new }
    }

    /// Returns this writer without the marks `[new]`.
    pub(super) fn unmarked(self) -> Self {
        Self { new: BTreeSet::new(), ..self }
    }

    /// One candidate on one line.
    pub(super) fn line(&self, candidate: &Candidate, context: Context) -> String {
        let mut out = format!("- {}", self.head(candidate, context));
        if let Some(value) = value(candidate, 80) {
            let _ = write!(out, " value={value}");
        }
        out.push_str(&self.details(candidate));
        out
    }

    /// A button, a link or the like of which name, id and states say all, without its role: `"Save" [c2] [disabled]`.
    pub(super) fn beside(&self, candidate: &Candidate) -> Option<String> {
        let says_more = candidate.context.is_some() || value(candidate, 80).is_some();
        if candidate.control != ControlKind::Plain
            || candidate.name.is_empty()
            || says_more
            || !self.details(candidate).is_empty()
        {
            return None;
        }
        self.head(candidate, Context::Unsaid).split_once(' ').map(|(_, rest)| rest.to_owned())
    }

    /// `- button "Save" [c2] (row: Anna) [disabled]`: role, name, id, context and states.
    pub(super) fn head(&self, candidate: &Candidate, context_as: Context) -> String {
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
            match context_as {
                Context::InWords => {
                    let _ = write!(out, " ({})", quoted(context, 120).trim_matches('"'));
                }
                Context::Same => out.push_str(" (same)"),
                Context::Unsaid => {}
                Context::Of(id) => {
                    let kind = context.split_once(": ").map_or(context, |(kind, _)| kind);
                    let _ = write!(out, " ({} of {id})", quoted(kind, 40).trim_matches('"'));
                }
            }
        }
        for flag in flags(candidate, self.new.contains(&candidate.id)) {
            let _ = write!(out, " [{flag}]");
        }
        out
    }

    /// Description, placeholder, destination, options and box, as far as there are any.
    pub(super) fn details(&self, candidate: &Candidate) -> String {
        let mut out = String::new();
        if let Some(description) = &candidate.description {
            let _ = write!(out, " description={}", quoted(description, 80));
        }
        let placeholder = candidate.placeholder.as_ref().filter(|text| **text != candidate.name);
        if let Some(placeholder) = placeholder.filter(|_| !candidate.name.is_empty() || candidate.label.is_some()) {
            let _ = write!(out, " placeholder={}", quoted(placeholder, 60));
        }
        // On the page's own site the name of a link says enough.
        if let Some(destination) = &candidate.destination {
            let path = destination.strip_prefix(self.origin).filter(|path| path.starts_with('/'));
            if path.is_none() || candidate.name.is_empty() {
                let _ = write!(out, " to={}", quoted(path.unwrap_or(destination), 60));
            }
        }
        if !candidate.options.is_empty() {
            let all = candidate.options.len();
            let limit = if all <= self.options.options { all } else { self.options.options.min(SOME) };
            let label = |(index, option): (usize, &SelectOption)| {
                let label = quoted(&option.label, 40);
                if all > NUMBERED && limit == all { format!("{index}={label}") } else { label }
            };
            let shown: Vec<String> = candidate.options.iter().take(limit).enumerate().map(label).collect();
            let more = all - shown.len();
            let _ = write!(out, " options={}", shown.join("|"));
            if more > 0 {
                let _ = write!(out, "|… {more} more");
            }
        }
        if self.options.boxes == Boxes::Written
            && let Some(rect) = candidate.rect
        {
            let _ = write!(out, " [box={:.0},{:.0},{:.0},{:.0}]", rect.x, rect.y, rect.width, rect.height);
        }
        out
    }
}

/// The longest list of options that is chosen from by words; in a longer one that is written whole, each has its number.
const NUMBERED: usize = 40;
/// Options that are written of a list that is too long to be written whole.
const SOME: usize = 12;

/// `https://shop.test` of a URL; all of it if it has no path.
fn origin(url: &str) -> &str {
    let host = url.find("://").map_or(0, |at| at + 3);
    let end = url.get(host..).and_then(|rest| rest.find('/')).map_or(url.len(), |at| host + at);
    url.get(..end).unwrap_or(url)
}

/// Characters up to which a context is shorter than the reference to another candidate is useful.
const LONG: usize = 20;

/// The candidate among its neighbours whose name stands for the context of a candidate.
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

/// Role, a short name and the id: what is left of a candidate that the budget does not hold.
pub(super) fn brief(candidate: &Candidate) -> String {
    format!("- {} {} [{}]", candidate.role, quoted(&candidate.name, 40), candidate.id)
}

/// The line that says that what follows is off view, or in view again.
pub(super) const fn place_line(placement: Placement) -> &'static str {
    match placement {
        Placement::InView => "# in view",
        Placement::OffView => "# off view",
    }
}

/// Returns the name of a frame, or its URL if it has none; empty for an unknown frame.
pub(super) fn frame_title(observation: &Observation, frame: u32) -> &str {
    let summary = usize::try_from(frame).ok().and_then(|index| observation.frames.get(index));
    summary.map_or("", |summary| if summary.name.is_empty() { &summary.url } else { &summary.name })
}

/// Describes in words what was left out; empty if nothing was.
pub(super) fn left_out(observation: &Observation, unwritten: usize, unread: usize) -> String {
    let truncated = observation.truncated.unwrap_or_default();
    let counts = [
        (unwritten as u64, "candidate", "beyond the budget"),
        (truncated.off_view, "candidate", "beyond the view (scroll to see more)"),
        (truncated.candidates, "candidate", "beyond the bound"),
        (truncated.keyboard, "control", "for the keyboard only"),
        (truncated.texts + unread as u64, "line", "of text beyond the budget"),
        (truncated.elements, "element", "not looked at"),
        (truncated.frames, "frame", "not entered"),
        (truncated.accessible, "frame", "known by roles and names only"),
    ];
    let plural = |count: u64| if count == 1 { "" } else { "s" };
    let parts: Vec<String> = counts
        .into_iter()
        .filter(|(count, ..)| *count > 0)
        .map(|(count, what, why)| format!("{count} {what}{} {why}", plural(count)))
        .collect();
    parts.join(", ")
}

/// The states that are worth a word.
fn flags(candidate: &Candidate, is_new: bool) -> Vec<String> {
    let states = &candidate.states;
    let mut words: Vec<String> = Vec::new();
    if let Some(checked) = states.checked {
        match checked.as_str() {
            "true" => words.push("checked".into()),
            "mixed" => words.push("checked=mixed".into()),
            _ => {}
        }
    }
    if let Some(pressed) = states.pressed
        && pressed.as_str() != "false"
    {
        words.push("pressed".into());
    }
    let mut flag = |on: bool, word: &str| {
        if on {
            words.push(word.to_owned());
        }
    };
    flag(states.disabled, "disabled");
    flag(states.readonly, "readonly");
    flag(states.required, "required");
    flag(states.invalid, "invalid");
    flag(states.focused, "focused");
    flag(states.selected == Some(true), "selected");
    flag(states.expanded == Some(true), "expanded");
    flag(states.expanded == Some(false), "collapsed");
    let bounds = &candidate.bounds;
    if let Some(position) = bounds.position {
        words.push(bounds.set_size.map_or_else(|| position.to_string(), |all| format!("{position} of {all}")));
    }
    if let Some(most) = bounds.max_length {
        words.push(format!("max {most}"));
    }
    if let Some(kinds) = &bounds.accept {
        words.push(quoted(kinds, 60));
    }
    let mut flag = |on: bool, word: &str| {
        if on {
            words.push(word.to_owned());
        }
    };
    flag(is_new, "new");
    flag(candidate.ambiguous, "ambiguous");
    flag(candidate.control == ControlKind::Password, "password");
    if let Some(occlusion) = &candidate.occlusion
        && occlusion.ratio >= 0.5
    {
        words.push(format!("covered by {}", quoted(&occlusion.by, 60)));
    }
    words
}
