//! An observation as indented lines, within a budget: `- button "Submit" [c2]`.

use std::fmt::Write as _;

use cuebook_grammar::candidate::{Candidate, ControlKind, Placement};
use cuebook_grammar::observation::Observation;
use cuebook_grammar::secret::FactText;

use super::{quoted, states};

/// Whether boxes are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Boxes {
    /// No.
    #[default]
    Omitted,
    /// `[box=x,y,width,height]` in whole pixels.
    Written,
}

/// How an observation is rendered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextOptions {
    /// At most so many characters; a token is about four of them.
    pub budget: usize,
    /// Whether boxes are written.
    pub boxes: Boxes,
    /// Options of a select that are written.
    pub options: usize,
}

impl Default for TextOptions {
    fn default() -> Self {
        Self { budget: 24_000, boxes: Boxes::Omitted, options: 12 }
    }
}

/// The observation as text. Of the candidates, those in view and not covered come first when the budget
/// does not hold all; the last line says what was left out.
#[must_use]
pub fn render(observation: &Observation, options: &TextOptions) -> String {
    let mut out = header(observation);
    let lines: Vec<String> = observation.candidates.iter().map(|c| line(c, options)).collect();
    let mut order: Vec<usize> = (0..lines.len()).collect();
    order.sort_by_key(|index| observation.candidates.get(*index).map_or(9, usefulness));
    let mut room = options.budget.saturating_sub(out.chars().count() + 120);
    let mut kept = vec![false; lines.len()];
    for index in order {
        let Some(length) = lines.get(index).map(|line| line.chars().count() + 1) else { continue };
        if length > room {
            break;
        }
        room -= length;
        if let Some(slot) = kept.get_mut(index) {
            *slot = true;
        }
    }
    let shallowest = observation.candidates.iter().map(|c| c.depth).min().unwrap_or(0);
    let mut frame = 0;
    let mut reads: Vec<usize> = (0..lines.len()).collect();
    reads.sort_by_key(|index| observation.candidates.get(*index).map_or(0, |c| c.frame));
    for index in reads {
        let (Some(line), Some(candidate)) = (lines.get(index), observation.candidates.get(index)) else { continue };
        if kept.get(index) != Some(&true) {
            continue;
        }
        if candidate.frame != frame {
            frame = candidate.frame;
            frame_line(&mut out, observation, frame);
        }
        let indent = usize::from(candidate.depth.saturating_sub(shallowest).min(8)) + usize::from(frame != 0);
        for _ in 0..indent {
            out.push_str("  ");
        }
        out.push_str(line);
        out.push('\n');
    }
    footer(&mut out, observation, kept.iter().filter(|kept| !**kept).count());
    out
}

fn usefulness(candidate: &Candidate) -> usize {
    let covered = candidate.occlusion.as_ref().is_some_and(|o| o.ratio >= 1.0);
    match (candidate.placement, covered) {
        (Placement::InView, false) if candidate.control != ControlKind::Plain => 0,
        (Placement::InView, false) => 1,
        (Placement::OffView, false) => 2,
        (_, true) => 3,
    }
}

fn header(observation: &Observation) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "page {} {}", quoted(&observation.title, 120), quoted(&observation.url, 300));
    if observation.tabs.len() > 1 {
        for (index, tab) in observation.tabs.iter().take(12).enumerate() {
            let current = if tab.current { " [current]" } else { "" };
            let _ = writeln!(out, "tab {index} {}{current}", quoted(&tab.title, 60));
        }
    }
    if let Some(dialog) = &observation.dialog {
        let _ = writeln!(out, "dialog {:?} {}", dialog.kind, quoted(&dialog.message, 300));
    }
    if let Some(modal) = &observation.sketch.modal {
        let _ = writeln!(out, "modal {}", quoted(modal, 120));
    }
    for live in observation.sketch.live.iter().take(6) {
        let _ = writeln!(
            out,
            "{} {}",
            live.kind.chars().filter(char::is_ascii_alphabetic).collect::<String>(),
            quoted(&live.text, 200)
        );
    }
    for heading in observation.sketch.headings.iter().take(12) {
        let _ = writeln!(out, "- heading {} [level={}]", quoted(&heading.text, 100), heading.level);
    }
    for landmark in observation.sketch.landmarks.iter().take(12) {
        let _ = writeln!(out, "- {}", quoted(&landmark.summary, 120));
    }
    out
}

fn frame_line(out: &mut String, observation: &Observation, frame: u32) {
    let summary = usize::try_from(frame).ok().and_then(|index| observation.frames.get(index));
    let title = summary.map_or("", |summary| if summary.name.is_empty() { &summary.url } else { &summary.name });
    let _ = writeln!(out, "- frame {}:", quoted(title, 120));
}

fn line(candidate: &Candidate, options: &TextOptions) -> String {
    let mut out = format!("- {} {} [{}]", candidate.role, quoted(&candidate.name, 120), candidate.id);
    if let Some(context) = &candidate.context {
        let _ = write!(out, " ({})", quoted(context, 120));
    }
    out.push_str(&states(candidate));
    match &candidate.value {
        Some(FactText::Clear(value)) if !value.is_empty() => {
            let _ = write!(out, " value={}", quoted(value, 80));
        }
        Some(FactText::Redacted { .. }) => out.push_str(" value=(hidden)"),
        _ => {}
    }
    if let Some(description) = &candidate.description {
        let _ = write!(out, " description={}", quoted(description, 80));
    }
    if let Some(placeholder) = candidate.placeholder.as_ref().filter(|text| **text != candidate.name) {
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

fn footer(out: &mut String, observation: &Observation, unwritten: usize) {
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
    if !parts.is_empty() {
        let _ = writeln!(out, "left out: {}", parts.join(", "));
    }
}
