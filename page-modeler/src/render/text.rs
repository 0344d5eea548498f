//! An observation as indented lines, within a budget: `- button "Submit" [c2]`.

use std::fmt::Write as _;

use cuebook_grammar::candidate::{Candidate, Placement};
use cuebook_grammar::observation::Observation;

use super::budget::{estimate_tokens, kept};
use super::line::{details, frame_title, head, left_out, place_line, value};
use super::quoted;

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
    /// At most so many tokens, as [`estimate_tokens`] counts them.
    pub budget: usize,
    /// Whether boxes are written.
    pub boxes: Boxes,
    /// Options of a select that are written.
    pub options: usize,
}

impl TextOptions {
    /// All candidates, whatever they cost.
    pub const WHOLE: Self = Self { budget: usize::MAX, boxes: Boxes::Omitted, options: 12 };
}

impl Default for TextOptions {
    fn default() -> Self {
        Self { budget: 6_000, ..Self::WHOLE }
    }
}

/// Tokens that the last line may take.
const FOOTER: usize = 50;

/// The observation as text. Of the candidates, those in view and not covered come first when the budget
/// does not hold all; the last line says what was left out. What follows `# off view` can be scrolled to.
#[must_use]
pub fn render(observation: &Observation, options: &TextOptions) -> String {
    let mut out = header(observation);
    let lines: Vec<String> = observation.candidates.iter().map(|c| line(c, options)).collect();
    let costs: Vec<usize> = lines.iter().map(|line| estimate_tokens(line) + 1).collect();
    let room = options.budget.saturating_sub(estimate_tokens(&out) + FOOTER);
    let kept = kept(&observation.candidates, &costs, room);
    let shallowest = observation.candidates.iter().map(|c| c.depth).min().unwrap_or(0);
    let mut frame = 0;
    let mut placement = Placement::InView;
    let mut reads: Vec<usize> = (0..lines.len()).filter(|index| kept.get(*index) == Some(&true)).collect();
    reads.sort_by_key(|index| observation.candidates.get(*index).map_or(0, |c| c.frame));
    for index in reads {
        let (Some(line), Some(candidate)) = (lines.get(index), observation.candidates.get(index)) else { continue };
        if candidate.frame != frame {
            frame = candidate.frame;
            let _ = writeln!(out, "- frame {}:", quoted(frame_title(observation, frame), 120));
        }
        if candidate.placement != placement {
            placement = candidate.placement;
            let _ = writeln!(out, "{}", place_line(placement));
        }
        let indent = usize::from(candidate.depth.saturating_sub(shallowest).min(8)) + usize::from(frame != 0);
        for _ in 0..indent {
            out.push_str("  ");
        }
        out.push_str(line);
        out.push('\n');
    }
    let left_out = left_out(observation, kept.iter().filter(|kept| !**kept).count());
    if !left_out.is_empty() {
        let _ = writeln!(out, "left out: {left_out}");
    }
    out
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
        let _ = writeln!(out, "- h{} {}", heading.level, quoted(&heading.text, 100));
    }
    for landmark in observation.sketch.landmarks.iter().take(12) {
        let _ = writeln!(out, "- {}", quoted(&landmark.summary, 120).trim_matches('"'));
    }
    out
}

/// One candidate on one line, as it stands in [`render`].
pub(super) fn line(candidate: &Candidate, options: &TextOptions) -> String {
    let mut out = format!("- {}", head(candidate));
    if let Some(value) = value(candidate, 80) {
        let _ = write!(out, " value={value}");
    }
    out.push_str(&details(candidate, options));
    out
}
