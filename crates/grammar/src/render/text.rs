//! An observation as indented lines, within a budget: `- button "Submit" [c2]`.
//!
//! Every token is paid for at each step of a model, so nothing is said twice: a line goes in by one space where
//! it stands deeper than the one before, `(same)` stands for the context of the line before, `(row of c7)` for
//! one that begins with a name that stands nearby, and a heading that is the name of a candidate is left to it.

use std::fmt::Write as _;

use crate::candidate::Placement;
use crate::id::CandidateId;
use crate::observation::{Challenge, Observation};

use super::budget::{estimate_tokens, kept, within};
use super::escape::quoted;
use super::line::{Context, Writer, brief, frame_title, left_out, named_by, place_line};
use super::options::{Overflow, TextOptions};

/// Tokens that the last line may take.
const FOOTER: usize = 50;

/// The observation as text. Of the candidates, those in view and not covered come first when the budget
/// does not hold all; the last line says what was left out. What follows `# off view` can be scrolled to.
#[must_use]
pub fn text(observation: &Observation, options: &TextOptions) -> String {
    let header = header(observation, options.budget / 2);
    let writer = Writer::new(observation, options);
    let lines: Vec<String> = observation.candidates.iter().map(|c| writer.line(c, Context::InWords)).collect();
    let costs: Vec<usize> = lines.iter().map(|line| estimate_tokens(line) + 1).collect();
    let room = options.budget.saturating_sub(estimate_tokens(&header) + FOOTER);
    within(options.budget, room, |room| {
        let kept = kept(&observation.candidates, &costs, room);
        header.clone() + &body(observation, options, &writer, &lines, &kept)
    })
}

/// The lines of the candidates that are kept, by frame, and what was left out.
fn body(
    observation: &Observation,
    options: &TextOptions,
    writer: &Writer<'_>,
    lines: &[String],
    kept: &[bool],
) -> String {
    let mut out = String::new();
    let shallowest = observation.candidates.iter().map(|c| c.depth).min().unwrap_or(0);
    let mut frame = 0;
    let mut placement = Placement::InView;
    let is_kept = |index: usize| kept.get(index) == Some(&true);
    let is_brief = |index: usize| options.overflow == Overflow::Brief && !is_kept(index);
    let mut reads: Vec<usize> = (0..lines.len()).filter(|index| is_kept(*index) || is_brief(*index)).collect();
    reads.sort_by_key(|index| observation.candidates.get(*index).map_or(0, |c| c.frame));
    let mut indent = 0;
    let mut context = None;
    for index in reads {
        let (Some(whole), Some(candidate)) = (lines.get(index), observation.candidates.get(index)) else { continue };
        if candidate.frame != frame {
            frame = candidate.frame;
            context = None;
            let _ = writeln!(out, "- frame {}:", quoted(frame_title(observation, frame), 120));
        }
        if candidate.placement != placement {
            placement = candidate.placement;
            context = None;
            let _ = writeln!(out, "{}", place_line(placement));
        }
        let depth = usize::from(candidate.depth.saturating_sub(shallowest).min(8)) + usize::from(frame != 0);
        indent = depth.min(indent + 1);
        out.extend(std::iter::repeat_n(' ', indent));
        let shorter = match namer(observation, index, kept) {
            _ if candidate.context.is_some() && candidate.context.as_deref() == context => Some(Context::Same),
            namer => namer.map(Context::Of),
        };
        if is_brief(index) {
            context = None;
            out.push_str(&brief(candidate));
        } else {
            context = candidate.context.as_deref();
            match shorter {
                Some(as_) => out.push_str(&writer.line(candidate, as_)),
                None => out.push_str(whole),
            }
        }
        out.push('\n');
    }
    if lines.is_empty() {
        out.push_str("no candidates\n");
    }
    let unwritten = (0..lines.len()).filter(|index| !is_kept(*index) && !is_brief(*index)).count();
    let left_out = left_out(observation, unwritten);
    if !left_out.is_empty() {
        let _ = writeln!(out, "left out: {left_out}");
    }
    out
}

fn asked_of_a_person(challenge: Challenge) -> &'static str {
    match challenge {
        Challenge::Interstitial => "challenge: this page checks the browser, and may go away by itself",
        Challenge::Captcha => "challenge: a test for humans, which only the person may answer",
        Challenge::CookieWall => {
            "challenge: a question about cookies covers the page; agreeing needs consent, declining does not"
        }
    }
}

/// Whether a landmark says more than that there is an empty one, or a list or a group without a name.
fn is_telling(summary: &str) -> bool {
    !summary.contains(": 0 ") && !["div: ", "ul: ", "ol: "].iter().any(|nameless| summary.starts_with(nameless))
}

/// Candidates before and after one that may name what it stands in.
const NEAR: usize = 6;

/// The candidate that is written too, and names what this one stands in.
fn namer(observation: &Observation, index: usize, kept: &[bool]) -> Option<CandidateId> {
    let all = &observation.candidates;
    let near = index.saturating_sub(NEAR)..all.len().min(index.saturating_add(NEAR));
    let written = all.get(near.clone())?.iter().zip(kept.get(near)?).filter(|(_, kept)| **kept).map(|(near, _)| near);
    named_by(all.get(index)?, written)
}

/// What stands above the candidates: its first line, and of the others as many as `room` holds.
fn header(observation: &Observation, room: usize) -> String {
    let whole = whole_header(observation);
    let mut spent = 0_usize;
    let fitting = whole.split_inclusive('\n').enumerate().take_while(|(index, line)| {
        spent = spent.saturating_add(estimate_tokens(line));
        *index == 0 || spent <= room
    });
    fitting.map(|(_, line)| line).collect()
}

fn whole_header(observation: &Observation) -> String {
    let mut out = String::new();
    let _ = write!(out, "page {} {}", quoted(&observation.title, 120), quoted(&observation.url, 300));
    if let Some(status) = observation.status.filter(|status| *status >= 400) {
        let _ = write!(out, " status={status}");
    }
    out.push('\n');
    if let Some(why) = observation.unseen() {
        let _ = writeln!(out, "nothing was seen of the page: {}", quoted(why, 80).trim_matches('"'));
    } else if observation.sketch.empty {
        out.push_str("the page is empty: nothing to act on, no text, no picture\n");
    }
    if observation.tabs.len() > 1 {
        for (index, tab) in observation.tabs.iter().take(12).enumerate() {
            let current = if tab.current { " [current]" } else { "" };
            let _ = writeln!(out, "tab {index} {}{current}", quoted(&tab.title, 60));
        }
    }
    if let Some(dialog) = &observation.dialog {
        let _ = writeln!(out, "dialog {:?} {}, which blocks the page", dialog.kind, quoted(&dialog.message, 300));
    }
    if let Some(modal) = &observation.sketch.modal {
        let _ = writeln!(out, "modal {}", quoted(modal, 120));
    }
    if let Some(challenge) = observation.sketch.challenge {
        let _ = writeln!(out, "{}", asked_of_a_person(challenge));
    }
    let viewport = &observation.viewport;
    let below = (viewport.page_height - viewport.height - viewport.scroll_y).max(0.0);
    if viewport.scroll_y > 1.0 {
        let _ = writeln!(out, "scrolled {:.0} px, {below:.0} px below", viewport.scroll_y);
    }
    for live in observation.sketch.live.iter().take(6) {
        let _ = writeln!(
            out,
            "{} {}",
            live.kind.chars().filter(char::is_ascii_alphabetic).collect::<String>(),
            quoted(&live.text, 200)
        );
    }
    let is_named = |text: &str| observation.candidates.iter().any(|candidate| candidate.name == text);
    for heading in observation.sketch.headings.iter().filter(|heading| !is_named(&heading.text)).take(12) {
        let _ = writeln!(out, "- h{} {}", heading.level, quoted(&heading.text, 100));
    }
    let landmarks: Vec<String> = observation
        .sketch
        .landmarks
        .iter()
        .filter(|landmark| is_telling(&landmark.summary))
        .take(12)
        .map(|landmark| quoted(&landmark.summary.replace('"', "'"), 120).trim_matches('"').to_owned())
        .collect();
    if !landmarks.is_empty() {
        let _ = writeln!(out, "landmarks {}", landmarks.join("; "));
    }
    out
}
