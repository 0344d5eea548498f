//! An observation as indented lines, within a budget: `- button "Submit" [c2]`.
//!
//! Every token is paid for at each step of a model, so nothing is said twice: a line goes in by one space where
//! it stands deeper than the one before, links of a menu share a line, a button in a row is written in that row, `(same)` stands for the context of
//! the line before, `(row of c7)` for one that begins with a name that stands nearby, and a heading that is the name of
//! a candidate is left to it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use crate::candidate::{Candidate, Placement};
use crate::id::CandidateId;
use crate::observation::{Challenge, Observation, Pane, Scope, TextKind, TextLine, TextPart};
use crate::role::Role;

use super::budget::{estimate_tokens, kept, within};
use super::escape::quoted;
use super::line::{Context, Writer, brief, frame_title, left_out, named_by, place_line};
use super::options::{Overflow, Standing, TextOptions};
use super::reading;

/// Tokens that the last line may take.
const FOOTER: usize = 50;

/// The observation as text. Of the candidates and the lines of text, those in view and not covered come first when the
/// budget does not hold all; text takes what candidates leave of it, half if it needs that,
/// and no more than its own. The last line says what
/// was left out. What follows `# off view` can be scrolled to.
#[must_use]
pub fn text(observation: &Observation, options: &TextOptions) -> String {
    let header = header(observation, options);
    let writer = Writer::new(observation, options);
    let places: Places = observation.candidates.iter().enumerate().map(|(index, one)| (one.id, index)).collect();
    let homes = homes(observation, options, &places);
    let name_of = |id| Some(observation.candidates.get(*places.get(&id)?)?.name.as_str());
    let in_full = |(candidate, home): (&Candidate, &Option<usize>)| {
        let home = home.and_then(|at| observation.texts.get(at));
        writer.line(candidate, home.map_or(Context::InWords, |line| context_in(line, candidate, &name_of)))
    };
    let sheet = Sheet {
        observation,
        options,
        writer: &writer,
        lines: observation.candidates.iter().zip(&homes).map(in_full).collect(),
        places,
        homes,
    };
    let cost = |line: &String| estimate_tokens(line) + 1;
    let costs: Vec<usize> = sheet.lines.iter().map(cost).collect();
    // What stands above is not paid for twice: it is left out for nothing.
    let repeats = |line: &TextLine| reading::is_said_above(line, observation);
    let text_cost = |line: &TextLine| if repeats(line) { 0 } else { cost(&reading::plain(line)) };
    let text_costs: Vec<usize> = observation.texts.iter().map(text_cost).collect();
    let room = options.budget.saturating_sub(estimate_tokens(&header) + FOOTER);
    within(options.budget, room, |room| {
        let for_text = room.saturating_sub(costs.iter().sum()).max(room / 2).min(options.text);
        let texts = reading::kept(&observation.texts, &text_costs, for_text);
        let spent: usize = text_costs.iter().zip(&texts).filter(|(_, kept)| **kept).map(|(cost, _)| cost).sum();
        let kept = kept(&observation.candidates, &costs, room.saturating_sub(spent));
        header.clone() + &sheet.body(&kept, &texts)
    })
}

/// The index of each candidate by its id.
type Places = BTreeMap<CandidateId, usize>;

/// Content below the header, with each line as it would be written.
struct Sheet<'a> {
    observation: &'a Observation,
    options: &'a TextOptions,
    writer: &'a Writer<'a>,
    /// The candidates, each in full.
    lines: Vec<String>,
    places: Places,
    /// The line of text that each candidate is written in, if that is read.
    homes: Vec<Option<usize>>,
}

/// Candidates of one role that stand side by side in a line, as the links of a menu do.
struct Row<'a> {
    role: &'a Role,
    indent: usize,
    count: usize,
}

impl Row<'_> {
    /// Candidates that a line holds.
    const MOST: usize = 12;

    fn takes(&self, candidate: &Candidate, indent: usize) -> bool {
        *self.role == candidate.role && self.indent == indent && self.count < Self::MOST
    }
}

/// The line of text in which each candidate can be written: the first that holds it where it is seen. One with options
/// takes a line of its own, and so does each where the options say so.
fn homes(observation: &Observation, options: &TextOptions, places: &Places) -> Vec<Option<usize>> {
    let Observation { candidates, texts, .. } = observation;
    let mut homes = vec![None; candidates.len()];
    if options.standing == Standing::OwnLine {
        return homes;
    }
    for (at, line) in texts.iter().enumerate() {
        for part in line.cells.iter().flatten() {
            let TextPart::Candidate(id) = part else { continue };
            let Some(index) = places.get(id).copied() else { continue };
            let Some((candidate, home)) = candidates.get(index).zip(homes.get_mut(index)) else { continue };
            let is_seen_less = (line.placement, candidate.placement) == (Placement::InView, Placement::OffView);
            let is_there = candidate.frame == line.frame && (candidate.placement == line.placement || is_seen_less);
            if is_there && candidate.options.is_empty() {
                home.get_or_insert(at);
            }
        }
    }
    homes
}

/// The context of a candidate within a line, which is left out if the line says it: that of a row around a table in it is
/// said nowhere else.
fn context_in<'a>(line: &TextLine, candidate: &Candidate, name_of: &dyn Fn(CandidateId) -> Option<&'a str>) -> Context {
    let stated = candidate.context.as_deref().and_then(|context| context.split_once(": "));
    let Some((kind, context)) = stated else { return Context::InWords };
    let is_of_line = match line.kind {
        TextKind::Row => kind == "row",
        TextKind::Item => matches!(kind, "item" | "list item"),
        TextKind::Heading | TextKind::Text => false,
    };
    let says = |text: &str| text.contains(context) || (text.chars().nth(2).is_some() && context.contains(text));
    let is_said = |part: &TextPart| match part {
        TextPart::Text(text) => says(text),
        TextPart::Candidate(id) if *id != candidate.id => name_of(*id).is_some_and(says),
        TextPart::Candidate(_) | TextPart::Image(_) => false,
    };
    if is_of_line && line.cells.iter().flatten().any(is_said) { Context::Unsaid } else { Context::InWords }
}

/// A line of the text form, by index.
#[derive(Clone, Copy)]
enum Item {
    Candidate(usize),
    Text(usize),
}

impl Sheet<'_> {
    /// Candidates and texts in the order of reading, by frame.
    fn order(&self) -> Vec<(u32, Placement, Item)> {
        let Observation { candidates, texts, .. } = self.observation;
        let place = |line: &TextLine| line.before.and_then(|id| self.places.get(&id)).copied().unwrap_or(usize::MAX);
        let mut items: Vec<(u32, usize, bool, Placement, Item)> = candidates
            .iter()
            .enumerate()
            .map(|(index, one)| (one.frame, index, true, one.placement, Item::Candidate(index)))
            .chain(
                texts.iter().enumerate().map(|(at, one)| (one.frame, place(one), false, one.placement, Item::Text(at))),
            )
            .collect();
        items.sort_by_key(|(frame, place, is_candidate, ..)| (*frame, *place, *is_candidate));
        items.into_iter().map(|(frame, _, _, placement, item)| (frame, placement, item)).collect()
    }

    /// The lines that are kept, by frame, and what was left out.
    fn body(&self, kept: &[bool], texts: &[bool]) -> String {
        let Self { observation, options, writer, .. } = self;
        let mut out = String::new();
        let shallowest = observation.candidates.iter().map(|c| c.depth).min().unwrap_or(0);
        let mut frame = 0;
        let mut placement = Placement::InView;
        let is_kept = |index: usize| kept.get(index) == Some(&true);
        let is_brief = |index: usize| options.overflow == Overflow::Brief && !is_kept(index);
        let is_read = |at: usize| {
            let line = observation.texts.get(at);
            texts.get(at) == Some(&true) && !line.is_some_and(|line| reading::is_said_above(line, observation))
        };
        let is_at_home = |index: usize, at: usize| self.homes.get(index) == Some(&Some(at));
        let has_home = |index: usize| self.homes.get(index).copied().flatten().is_some_and(is_read);
        let words = |index: usize| match (self.lines.get(index), observation.candidates.get(index)) {
            (Some(whole), _) if is_kept(index) => Some(whole.trim_start_matches("- ").to_owned()),
            (_, Some(candidate)) if is_brief(index) => Some(brief(candidate).trim_start_matches("- ").to_owned()),
            _ => None,
        };
        let mut indent = 0;
        let mut context = None;
        let mut row: Option<Row<'_>> = None;
        for (in_frame, placed, item) in self.order() {
            let is_written = match item {
                Item::Candidate(index) => (is_kept(index) || is_brief(index)) && !has_home(index),
                Item::Text(at) => is_read(at),
            };
            if !is_written {
                continue;
            }
            if in_frame != frame {
                frame = in_frame;
                (context, row) = (None, None);
                let _ = writeln!(out, "- frame {}:", quoted(frame_title(observation, frame), 120));
            }
            if placed != placement {
                placement = placed;
                (context, row) = (None, None);
                let _ = writeln!(out, "{}", place_line(placement));
            }
            let index = match item {
                Item::Candidate(index) => index,
                Item::Text(at) => {
                    row = None;
                    let Some(line) = observation.texts.get(at) else { continue };
                    let mut written = BTreeSet::new();
                    let line = reading::written(line, |id| {
                        let index = *self.places.get(&id)?;
                        let words = words(index).filter(|_| is_at_home(index, at) && written.insert(id))?;
                        let is_off = observation.candidates.get(index)?.placement != placement;
                        Some(words + if is_off { " [off view]" } else { "" })
                    });
                    let _ = writeln!(out, "{}{line}", if frame == 0 { "" } else { " " });
                    continue;
                }
            };
            let (Some(whole), Some(candidate)) = (self.lines.get(index), observation.candidates.get(index)) else {
                continue;
            };
            let depth = usize::from(candidate.depth.saturating_sub(shallowest).min(8)) + usize::from(frame != 0);
            indent = depth.min(indent + 1);
            let is_alone = is_brief(index) || options.standing == Standing::OwnLine;
            let beside = (!is_alone).then(|| writer.beside(candidate)).flatten();
            match (&beside, &mut row) {
                (Some(rest), Some(row)) if row.takes(candidate, indent) => {
                    row.count += 1;
                    out.truncate(out.trim_end_matches('\n').len());
                    let _ = writeln!(out, ", {rest}");
                    continue;
                }
                _ => row = beside.is_some().then_some(Row { role: &candidate.role, indent, count: 1 }),
            }
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
        if self.lines.is_empty() {
            out.push_str("no candidates\n");
        }
        let unwritten = (0..self.lines.len()).filter(|index| !is_kept(*index) && !is_brief(*index)).count();
        let left_out = left_out(observation, unwritten, texts.iter().filter(|kept| !**kept).count());
        if !left_out.is_empty() {
            let _ = writeln!(out, "left out: {left_out}");
        }
        out
    }
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

/// Returns `true` if a landmark says more than that it is empty, or that it is a list or a group without a name.
fn is_telling(summary: &str) -> bool {
    !summary.contains(": 0 ") && !["div: ", "ul: ", "ol: "].iter().any(|nameless| summary.starts_with(nameless))
}

/// Panes that are named.
const PANES: usize = 5;

/// `pane of [c7]: 300 px above, 1551 px below`: the extent of a pane beyond what it shows. It is called by a candidate in
/// it, else by its element.
fn pane_line(observation: &Observation, pane: &Pane) -> String {
    let mut out = match (observation.in_pane(pane), pane.container.as_str()) {
        (Some(id), _) => format!("pane of [{id}]"),
        (None, "") => format!("pane of frame {}", quoted(frame_title(observation, pane.frame), 60)),
        (None, container) => format!("pane {}", quoted(container, 60)),
    };
    let sides =
        [(pane.above, "above"), (pane.below, "below"), (pane.left, "on the left"), (pane.right, "on the right")];
    let more = sides.into_iter().filter(|(pixels, _)| *pixels > 0);
    let more: Vec<String> = more.map(|(pixels, side)| format!("{pixels} px {side}")).collect();
    let _ = write!(out, ": {}", more.join(", "));
    out
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

/// Returns the lines above the candidates: the first one, and as many of the others as `room` tokens hold.
fn header(observation: &Observation, options: &TextOptions) -> String {
    let whole = whole_header(observation, options.is_titled);
    let room = options.budget / 2;
    let mut spent = 0_usize;
    let fitting = whole.split_inclusive('\n').enumerate().take_while(|(index, line)| {
        spent = spent.saturating_add(estimate_tokens(line));
        *index == 0 || spent <= room
    });
    fitting.map(|(_, line)| line).collect()
}

fn whole_header(observation: &Observation, is_titled: bool) -> String {
    let mut out = String::new();
    if is_titled {
        let _ = write!(out, "page {} {}", quoted(&observation.title, 120), quoted(&observation.url, 300));
        if let Some(status) = observation.status.filter(|status| *status >= 400) {
            let _ = write!(out, " status={status}");
        }
        out.push('\n');
    }
    // What a page says of itself is for those who read it.
    if !observation.texts.is_empty() {
        let sketch = &observation.sketch;
        // Every page is a document.
        let page_type = sketch.page_type.clone().filter(|kind| kind != "document");
        for (what, said, most) in [("kind", &page_type, 60), ("about", &sketch.description, 200)] {
            if let Some(said) = said {
                let _ = writeln!(out, "{what} {}", quoted(said, most));
            }
        }
    }
    if let Some(why) = observation.unseen() {
        let _ = writeln!(out, "nothing was seen of the page: {}", quoted(why, 80).trim_matches('"'));
    } else if observation.sketch.empty {
        out.push_str("the page is empty: nothing to act on, no text, no picture\n");
    }
    if is_titled && observation.tabs.len() > 1 {
        for (index, tab) in observation.tabs.iter().take(12).enumerate() {
            let current = if tab.current { " [current]" } else { "" };
            let _ = writeln!(out, "tab {index} {}{current}", quoted(&tab.title, 60));
        }
    }
    if let Some(dialog) = observation.dialog.as_ref().filter(|_| is_titled) {
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
    } else if below > 1.0 && observation.scope == Scope::View {
        let _ = writeln!(out, "{below:.0} px below");
    }
    // Like the page: what is listed whole says only where it was scrolled to.
    let is_told = |pane: &&Pane| observation.scope == Scope::View || pane.above > 0 || pane.left > 0;
    for pane in observation.panes.iter().filter(is_told).take(PANES) {
        let _ = writeln!(out, "{}", pane_line(observation, pane));
    }
    for live in observation.sketch.live.iter().take(reading::LIVE) {
        let _ = writeln!(
            out,
            "{} {}",
            live.kind.chars().filter(char::is_ascii_alphabetic).collect::<String>(),
            quoted(&live.text, 200)
        );
    }
    let is_heading = |line: &TextLine, text: &str| {
        let is_said = |part: &TextPart| matches!(part, TextPart::Text(said) if said == text);
        line.kind == TextKind::Heading && line.cells.iter().flatten().any(is_said)
    };
    let is_named = |text: &str| {
        observation.candidates.iter().any(|candidate| candidate.name == text)
            || observation.texts.iter().any(|line| is_heading(line, text))
    };
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
