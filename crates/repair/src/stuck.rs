//! Stuck detection: the same action on a page in the same state, again and again, alone or in a cycle.
//!
//! Invariants:
//! - What a planner says about a step (its explanation, risk, confidence) does not count: the same action in other words
//!   is the same action.
//! - Only the plans of one run are compared; what one plan repeats within itself is intended.
//! - A text of the page is progress if a step changed it. What changes by itself, such as a clock, is none: the executor
//!   tells it apart, and texts are read again only after a step that changed some.
//! - Where the page and its containers are scrolled to is part of the state once a step scrolled: scrolling on is progress
//!   until the end is reached. What scrolls by itself, such as a carousel, is none.

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use cuebook_grammar::action::Action;
use cuebook_grammar::effect::EffectClass;
use cuebook_grammar::id::{CandidateId, ObservationId, TargetRef};
use cuebook_grammar::observation::{Observation, TextPart};
use cuebook_grammar::outcome::EffectRecord;
use cuebook_grammar::plan::Plan;
use cuebook_grammar::seam::Stuck;
use cuebook_grammar::step::Step;

/// An action and the state of the page in which it was done, as hashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Move {
    action: u64,
    /// Everything that was observed, scroll positions aside: a counter that goes up is another state.
    exact: u64,
    /// The page's fingerprint: a clock that ticks is the same state.
    kind: u64,
    /// The page's texts, when a step had last changed some.
    said: Option<u64>,
    /// Scroll positions of the page and its containers, when a step had last scrolled.
    scrolled: Option<u64>,
}

/// Compares each plan with the last ones.
#[derive(Debug, Default)]
pub(crate) struct StuckDetector {
    past: VecDeque<Move>,
    said: Option<u64>,
    /// A step changed texts, and they were not read since.
    is_retold: bool,
    scrolled: Option<u64>,
    /// A step scrolled, and where to was not noted since.
    has_scrolled: bool,
}

/// Number of plans that are compared.
const WINDOW: usize = 40;
/// Numbers of equal moves that lead to a hint, a warning and a stop, if nothing on the page changes.
const UNCHANGED: [usize; 3] = [3, 4, 6];
/// Like [`UNCHANGED`], if only what the fingerprint leaves out changes, such as a quantity or a clock.
const SAME_KIND: [usize; 3] = [8, 12, 20];

impl StuckDetector {
    /// Records the effects of a step.
    pub(crate) fn note_effects(&mut self, effects: Option<&EffectRecord>) {
        let mutations = effects.map(|effects| &effects.mutations);
        self.is_retold |= mutations.is_some_and(|made| made.texts > 0 || made.added > 0 || made.removed > 0);
        self.has_scrolled |= effects.is_some_and(|effects| effects.scrolled);
    }

    /// Records the texts of a page that was read for its planner.
    pub(crate) fn note_texts(&mut self, page: &Observation) {
        if !page.texts.is_empty() && (std::mem::take(&mut self.is_retold) || self.said.is_none()) {
            self.said = Some(said(page));
        }
    }

    /// Records the plan that was made for an observation. Repetition and cycles of any length count alike: a move that
    /// recurs.
    pub(crate) fn note(&mut self, plan: &Plan, page: &Observation) -> Stuck {
        if std::mem::take(&mut self.has_scrolled) || self.scrolled.is_none() {
            self.scrolled = Some(scrolled(page));
        }
        let now = Move {
            action: action_of(plan, page),
            exact: exact(page),
            kind: hash(if page.fingerprint.is_empty() { &page.url } else { &page.fingerprint }),
            said: self.said,
            scrolled: self.scrolled,
        };
        self.past.push_back(now);
        if self.past.len() > WINDOW {
            self.past.pop_front();
        }
        let times = |same: &dyn Fn(&Move) -> bool| self.past.iter().filter(|past| same(past)).count();
        let unchanged = times(&|past| *past == now);
        let same_kind = times(&|past| Move { exact: now.exact, ..*past } == now);
        tier(unchanged, UNCHANGED).max(tier(same_kind, SAME_KIND))
    }
}

fn tier(times: usize, [hint, warning, stop]: [usize; 3]) -> Stuck {
    match times {
        times if times >= stop => Stuck::Stop,
        times if times >= warning => Stuck::Warning,
        times if times >= hint => Stuck::Hint,
        _ => Stuck::No,
    }
}

/// The first thing that the plan does to the page. A plan that only reads and waits is all of its steps: otherwise
/// waiting for another time each time would be progress.
fn action_of(plan: &Plan, page: &Observation) -> u64 {
    let steps = || plan.steps().iter().map(|checked| &checked.step);
    let acts = |step: &&Step| step.action.kind().meta().effect > EffectClass::ReadOnly;
    let text = match steps().find(acts) {
        Some(step) => acted(step, page),
        None => steps().map(|step| acted(step, page)).collect(),
    };
    hash(&text)
}

/// A step without what its planner says about it, its targets by what they are: ids change when a page is rebuilt.
fn acted(step: &Step, page: &Observation) -> String {
    let verb = step.action.kind().meta().name;
    if matches!(step.action, Action::WaitFor(_) | Action::WaitForIdle(_)) {
        return verb.to_owned();
    }
    let observed = |target: &TargetRef| target.candidate_id().and_then(|id| page.candidate(id));
    let targets: Vec<_> = step.action.targets().into_iter().filter_map(observed).map(|it| &it.fingerprint).collect();
    let mut bare = Step::from(step.action.clone());
    bare.retarget(&|target| if observed(target).is_some() { CandidateId(0).into() } else { target.clone() });
    format!("{} {targets:?}", serde_json::to_string(&bare).unwrap_or_else(|_| verb.to_owned()))
}

/// Everything that is seen of the page, without the ids that change with every observation and without scroll positions.
fn exact(page: &Observation) -> u64 {
    let mut seen = page.clone();
    seen.id = ObservationId::default();
    seen.delta = None;
    seen.recent.clear();
    seen.scrolled.clear();
    seen.panes.clear();
    (seen.viewport.scroll_x, seen.viewport.scroll_y) = (0.0, 0.0);
    for candidate in &mut seen.candidates {
        candidate.id = CandidateId(0);
    }
    hash(&serde_json::to_string(&seen).unwrap_or_default())
}

/// Where the page and what scrolls in it are scrolled to.
fn scrolled(page: &Observation) -> u64 {
    let within = page.scrolled.iter().map(|part| format!("{} {} {} {}", part.frame, part.container, part.x, part.y));
    let places: Vec<String> = within.collect();
    hash(&format!("{:.0} {:.0} {places:?}", page.viewport.scroll_x, page.viewport.scroll_y))
}

/// Returns a hash of the page's texts, without the times of clocks.
fn said(page: &Observation) -> u64 {
    let parts = page.texts.iter().flat_map(|line| line.cells.iter().flatten());
    let texts = parts.filter_map(|part| match part {
        TextPart::Text(text) | TextPart::Image(text) => Some(text.as_str()),
        TextPart::Candidate(_) => None,
    });
    let words: Vec<&str> = texts.flat_map(str::split_whitespace).filter(|word| !is_time(word)).collect();
    hash(&words.join(" "))
}

/// Digits with colons between them.
fn is_time(word: &str) -> bool {
    let mut parts = word.split(':');
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    word.contains(':') && parts.all(is_number)
}

fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use cuebook_grammar::id::PageId;
    use cuebook_grammar::observation::ScrolledPart;
    use cuebook_grammar::outcome::MutationSummary;
    use cuebook_grammar::plan::{Author, PlanDraft};
    use cuebook_grammar::policy::Policy;
    use serde_json::{Value, json};

    use super::*;

    fn page(heading: &str) -> Observation {
        let mut page = Observation::blank(PageId::new("tab"), "https://shop.test/");
        page.fingerprint = "0123456789abcdef".to_owned();
        page.title = heading.to_owned();
        let button = |id: u32, name: &str| {
            json!({ "id": format!("c{id}"), "role": "button", "name": name,
                    "fingerprint": { "role": "button", "name": name, "path": "main" } })
        };
        page.candidates = serde_json::from_value(json!([button(1, "Next"), button(2, "Back")])).unwrap();
        page
    }

    fn note(detector: &mut StuckDetector, page: &Observation, steps: Value) -> Stuck {
        let draft = PlanDraft::read_value(json!({ "version": "1.0", "steps": steps }), Author::Operator).unwrap();
        let policy = Policy::default().starting_at("https://shop.test/").unwrap();
        detector.note(&draft.check(page, &policy).unwrap(), page)
    }

    #[test]
    fn the_same_click_in_other_words_is_the_same_click() {
        let mut detector = StuckDetector::default();
        let click = |n: i32| json!([{ "type": "click", "targetRef": "c1", "explanation": format!("attempt {n}"), "confidence": 0.5 }]);
        let tiers: Vec<Stuck> = (0..6).map(|n| note(&mut detector, &page("Shop"), click(n))).collect();
        assert_eq!(tiers, [Stuck::No, Stuck::No, Stuck::Hint, Stuck::Warning, Stuck::Warning, Stuck::Stop]);
    }

    #[test]
    fn a_cycle_of_two_escalates_to_stop() {
        let mut detector = StuckDetector::default();
        let mut tiers = Vec::new();
        for _ in 0..6 {
            tiers.push(note(&mut detector, &page("Shop"), json!([{ "type": "click", "targetRef": "c1" }])));
            note(&mut detector, &page("Shop"), json!([{ "type": "click", "targetRef": "c2" }]));
        }
        assert_eq!(tiers.last(), Some(&Stuck::Stop));
    }

    #[test]
    fn a_changing_page_is_progress_and_one_that_only_ticks_is_not_for_long() {
        let mut detector = StuckDetector::default();
        let click = || json!([{ "type": "click", "targetRef": "c1" }]);
        let tiers: Vec<Stuck> = (0..20).map(|n| note(&mut detector, &page(&format!("12:{n}")), click())).collect();
        assert!(tiers[..7].iter().all(|tier| *tier == Stuck::No), "{tiers:?}");
        assert_eq!(tiers.last(), Some(&Stuck::Stop));

        let mut detector = StuckDetector::default();
        let tiers = (0..20).map(|n| {
            let mut page = page("Shop");
            page.fingerprint = format!("{n:016}");
            page.url = format!("https://shop.test/{n}");
            note(&mut detector, &page, click())
        });
        assert!(tiers.into_iter().all(|tier| tier == Stuck::No));
    }

    fn saying(text: &str) -> Observation {
        let mut page = page("Shop");
        let line = json!([{ "kind": "text", "cells": [[{ "text": text }]], "placement": "inView" }]);
        page.texts = serde_json::from_value(line).unwrap();
        page
    }

    /// The tiers of one click again and again, on a page that says this before the `n`th; `texts` of them change by it.
    fn pressing(says: impl Fn(u32) -> String, texts: u32, background: u32) -> Vec<Stuck> {
        let mut detector = StuckDetector::default();
        let mutations = MutationSummary { texts, background, ..MutationSummary::default() };
        let effects = EffectRecord { mutations, ..EffectRecord::default() };
        let tiers = (0..30).map(|n| {
            detector.note_texts(&saying(&says(n)));
            let tier = note(&mut detector, &page("Shop"), json!([{ "type": "click", "targetRef": "c1" }]));
            detector.note_effects(Some(&effects));
            tier
        });
        tiers.collect()
    }

    #[test]
    fn texts_that_each_press_changes_are_progress() {
        let tiers = pressing(|n| format!("Your number is {n}"), 1, 0);
        assert!(tiers.iter().all(|tier| *tier == Stuck::No), "{tiers:?}");
    }

    #[test]
    fn texts_that_change_by_themselves_or_come_back_are_none() {
        let ticking = pressing(|n| format!("{n} people look at this"), 0, 1);
        assert_eq!(ticking[5], Stuck::Stop, "{ticking:?}");
        let clock = pressing(|n| format!("It is 12:{n:02}"), 1, 0);
        assert_eq!(clock[5], Stuck::Stop, "{clock:?}");
        let toggled = pressing(|n| if n % 2 == 0 { "on" } else { "off" }.to_owned(), 1, 0);
        assert_eq!((toggled[9], toggled[10]), (Stuck::Warning, Stuck::Stop), "{toggled:?}");
        let silent = pressing(|_| "Shop".to_owned(), 1, 0);
        assert_eq!(silent[5], Stuck::Stop, "{silent:?}");
    }

    /// The tiers of a scroll again and again, on a page that this is done to before the `n`th; by the step if `by_step`.
    fn scrolling(place: impl Fn(i64, &mut Observation), by_step: bool) -> Vec<Stuck> {
        let mut detector = StuckDetector::default();
        let effects = EffectRecord { scrolled: by_step, ..EffectRecord::default() };
        let tiers = (0..30).map(|n| {
            let mut page = page("Shop");
            place(n, &mut page);
            let tier = note(&mut detector, &page, json!([{ "type": "scroll", "direction": "down" }]));
            detector.note_effects(Some(&effects));
            tier
        });
        tiers.collect()
    }

    fn at(y: i64) -> ScrolledPart {
        ScrolledPart { container: "div#list".to_owned(), frame: 0, x: 0, y }
    }

    #[test]
    fn scrolling_on_is_progress_of_the_page_and_of_a_container() {
        let page = scrolling(|n, page| page.viewport.scroll_y = n as f64 * 300.0, true);
        assert!(page.iter().all(|tier| *tier == Stuck::No), "{page:?}");
        let container = scrolling(|n, page| page.scrolled = vec![at(n * 300)], true);
        assert!(container.iter().all(|tier| *tier == Stuck::No), "{container:?}");
    }

    #[test]
    fn scrolling_at_the_end_or_to_and_fro_or_by_itself_is_none() {
        let ended = scrolling(|n, page| page.scrolled = vec![at(n.min(3) * 300)], true);
        assert_eq!((ended[7], ended[8]), (Stuck::Warning, Stuck::Stop), "{ended:?}");
        let fro = scrolling(|n, page| page.viewport.scroll_y = (n % 2) as f64 * 300.0, true);
        assert_eq!(fro[11], Stuck::Stop, "{fro:?}");
        let carousel = scrolling(|n, page| page.scrolled = vec![at(n * 300)], false);
        assert_eq!(carousel[5], Stuck::Stop, "{carousel:?}");
    }

    #[test]
    fn a_wait_before_the_same_click_is_not_another_plan() {
        let mut detector = StuckDetector::default();
        let mut last = Stuck::No;
        for n in 1..=6 {
            let steps = json!([{ "type": "waitForIdle", "quietMs": n * 100 }, { "type": "click", "targetRef": "c1" }]);
            last = note(&mut detector, &page("Shop"), steps);
        }
        assert_eq!(last, Stuck::Stop);
    }
}
