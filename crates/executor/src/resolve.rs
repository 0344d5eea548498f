//! From the target of a step to one element.
//!
//! Invariants:
//! - An observed candidate is the element that was observed, or the step fails: never another one.
//! - A declared locator means one element, or the step fails.

use std::time::{Duration, Instant};

use cuebook_grammar::action::Action;
use cuebook_grammar::candidate::Candidate;
use cuebook_grammar::effect::EffectClass;
use cuebook_grammar::facts::ElementFacts;
use cuebook_grammar::id::{NodeKey, TargetRef};
use cuebook_grammar::locator::{ByLabel, ByText, Locator, Strategy};
use cuebook_grammar::outcome::{Cause, FailureFacts, Stage, StepFailure};
use cuebook_grammar::plan::BoundTarget;
use cuebook_grammar::render::cut;
use cuebook_grammar::secret::FactText;
use cuebook_grammar::text_match::{TextPattern, collapse_white_space};
use cuebook_probe::{Ask, Match, ProbeError};
use serde::Deserialize;
use serde_json::json;

use crate::retry::Tries;
use crate::run::{Resolved, StepRun};
use crate::script::Resemblance;
use crate::stage::Target;
use crate::stop::{Part, Stop, probe_stop};

/// The most matches that a failure names.
const NAMED: usize = 10;
/// Time to look where else a missing target may be.
const HINTING: Duration = Duration::from_millis(300);

impl StepRun<'_> {
    /// Finds the element of `target`, waiting for declared ones until `by`.
    pub(crate) async fn resolve(&mut self, target: &TargetRef, by: Instant) -> Part<Target<Resolved>> {
        let bound = self.step.targets().get(target).cloned();
        let found = match bound {
            Some(BoundTarget::Declared(locator)) => self.resolve_declared(target, &locator, by).await,
            Some(BoundTarget::Observed(candidate)) => self.resolve_observed(target, &candidate).await,
            None => {
                Err(target_failure(target, Cause::TargetNotFound, format!("`{target}` is not a target of the step")))
            }
        };
        Ok(self.looking.found(found?))
    }

    async fn resolve_declared(&mut self, target: &TargetRef, locator: &Locator, by: Instant) -> Part<Resolved> {
        let mut looked = 0_u32;
        let mut tries = Tries::default();
        loop {
            let probe = self.probe.clone();
            let (wanted, until) = (locator.clone(), self.until);
            let ask = Ask::default();
            let found = self.race(Stage::Resolve, async move { probe.locate(&wanted, &ask, until).await }).await?;
            let failure = match found {
                Ok(located) => match &located.matches[..] {
                    [only] => return Ok(Resolved { key: only.key.clone(), facts: only.facts.clone() }),
                    [] => missing(target, locator),
                    several => ambiguous(target, locator, several),
                },
                Err(ProbeError::Gone) => missing(target, locator),
                Err(ProbeError::FramePath { part, matches }) => {
                    let cause = if matches == 0 { Cause::TargetNotFound } else { Cause::TargetAmbiguous };
                    let message = format!("{matches} frames match part {part} of the frame path, not one");
                    target_failure(target, cause, message)
                }
                Err(error) => return Err(probe_stop(error, Stage::Resolve)),
            };
            let is_over = Instant::now() >= by;
            // No locator sees into a closed root. They are rare, so they are searched only now and then.
            if (is_over || looked.is_power_of_two())
                && is_missing(&failure)
                && self.open_closed_roots(Stage::Resolve).await?
            {
                continue;
            }
            if is_over {
                return Err(self.with_hint(failure, locator).await?);
            }
            looked = looked.saturating_add(1);
            self.pause(Stage::Resolve, tries.rest()).await?;
        }
    }

    /// A missing target, with where else it may be. A verb that looks there itself says so itself.
    async fn with_hint(&mut self, stop: Stop, locator: &Locator) -> Part<Stop> {
        let looks_on = matches!(self.step.action(), Action::ScrollUntil(_));
        let Stop::Failed(mut failure) = stop else { return Ok(stop) };
        if failure.cause == Cause::TargetNotFound && !looks_on {
            let (probe, frame, by) = (self.probe.clone(), self.page.main_frame().id, self.within(HINTING));
            let args = [words_of(locator).into()];
            let asking = async move {
                let world = probe.world(&frame, by).await?;
                world.call("(cb, words) => cb.act.beyond(words)", &args, by).await
            };
            let beyond: Result<Beyond, ProbeError> = self.race(Stage::Resolve, asking).await?;
            failure.message.push_str(&beyond.map(|beyond| beyond.in_words()).unwrap_or_default());
        }
        Ok(Stop::Failed(failure))
    }

    async fn resolve_observed(&mut self, target: &TargetRef, candidate: &Candidate) -> Part<Resolved> {
        // A node without its digest proves nothing: it may have been reused since.
        let (Some(key), Some(about)) = (&candidate.node, &candidate.about) else {
            return self.resolve_by_locators(target, candidate).await;
        };
        let facts = self.facts_at(key).await?;
        let probe = self.probe.clone();
        let (wanted, until) = (key.clone(), self.until);
        let world = match self.race(Stage::Resolve, async move { probe.world_of(&wanted, until).await }).await? {
            Ok(world) => world,
            Err(ProbeError::Gone) => return Err(stale(target, candidate, None)),
            Err(error) => return Err(probe_stop(error, Stage::Resolve)),
        };
        let args = [key.node.into(), json!(about)];
        let is = "(cb, id, about) => cb.act.isAbout(id, about)";
        let likeness: Option<Resemblance> = self.ask(&world, is, &args, Stage::Resolve).await?;
        let seen = match (likeness, facts) {
            (Some(Resemblance { same: true, .. }), Some(facts)) => return Ok(Resolved { key: key.clone(), facts }),
            (likeness, _) => likeness.map(|likeness| likeness.now),
        };
        // Its meaning may have moved to another node: the page sorted or rendered itself again.
        if self.step.effect() < EffectClass::Destructive {
            let args = [key.node.into(), about.role.as_str().into(), json!(about)];
            let find = "(cb, id, role, about) => cb.act.findAbout(id, role, about)";
            let node: Option<u64> = self.ask(&world, find, &args, Stage::Resolve).await?;
            if let Some(node) = node {
                let key = NodeKey { node, ..key.clone() };
                if let Some(facts) = self.facts_at(&key).await? {
                    return Ok(Resolved { key, facts });
                }
            }
        }
        Err(stale(target, candidate, seen))
    }

    async fn facts_at(&mut self, key: &NodeKey) -> Part<Option<ElementFacts>> {
        let (probe, key, until) = (self.probe.clone(), key.clone(), self.until);
        let ask = Ask::with_text();
        self.race(Stage::Resolve, async move { probe.facts_of(&key, &ask, until).await })
            .await?
            .map_err(|error| probe_stop(error, Stage::Resolve))
    }

    /// A candidate without a node, such as one that was read from a file: the first of its locators that matches
    /// exactly one element of its role and name.
    async fn resolve_by_locators(&mut self, target: &TargetRef, candidate: &Candidate) -> Part<Resolved> {
        let mut several = None;
        for locator in &candidate.locators {
            let (probe, wanted, until) = (self.probe.clone(), locator.clone(), self.until);
            let ask = Ask::with_text();
            let found = self.race(Stage::Resolve, async move { probe.locate(&wanted, &ask, until).await }).await?;
            match found {
                Ok(located) => {
                    let same: Vec<&Match> = located
                        .matches
                        .iter()
                        .filter(|found| found.facts.role == candidate.role && names(&found.facts, candidate))
                        .collect();
                    match same[..] {
                        [only] => return Ok(Resolved { key: only.key.clone(), facts: only.facts.clone() }),
                        [] => {}
                        _ => several = several.or_else(|| Some(ambiguous(target, locator, &located.matches))),
                    }
                }
                Err(ProbeError::Gone | ProbeError::BadSelector { .. } | ProbeError::FramePath { .. }) => {}
                Err(error) => return Err(probe_stop(error, Stage::Resolve)),
            }
        }
        Err(several.unwrap_or_else(|| stale(target, candidate, None)))
    }
}

/// Content of the page and its panes that lies below the part in view.
#[derive(Deserialize)]
struct Beyond {
    /// Containers with content below, the one with the most first.
    below: Vec<Below>,
    scrolled: bool,
    /// Elements with the words of the locator in their name, as `button "Save"`.
    called: Vec<String>,
}

#[derive(Deserialize)]
struct Below {
    name: String,
    pixels: f64,
}

impl Beyond {
    fn in_words(&self) -> String {
        let named = self.below.iter().take(2).map(|below| format!("{} px of {}", below.pixels, cut(&below.name, 60)));
        let named: Vec<String> = named.collect();
        match (named.is_empty(), self.scrolled) {
            _ if !self.called.is_empty() => format!("; there is {}", self.called.join(", ")),
            (false, _) => {
                let named = named.join(" and ");
                format!("; {named} lie below what is in view: a `scrollUntil` step looks there")
            }
            (true, true) => "; it is scrolled to the end".to_owned(),
            (true, false) => String::new(),
        }
    }
}

/// The words by which a locator names what it means; none for selectors and regular expressions.
fn words_of(locator: &Locator) -> &str {
    let pattern = match &locator.strategy {
        Strategy::Role(by) => by.name.as_ref(),
        Strategy::Label(ByLabel { text, .. }) | Strategy::Text(ByText { text, .. }) => Some(text),
        _ => None,
    };
    match pattern {
        Some(TextPattern::Literal(text)) => text.as_str(),
        _ => "",
    }
}

/// Names are compared as candidates carry them: collapsed, at most 200 characters.
fn short(text: &str) -> String {
    cut(&collapse_white_space(text), 200)
}

/// Returns `true` if the element has the name that the candidate had. Where nothing names an element, its text, title,
/// placeholder or test id stood for the name.
fn names(facts: &ElementFacts, candidate: &Candidate) -> bool {
    let wanted = short(&candidate.name);
    if short(&facts.name) == wanted {
        return true;
    }
    let text = facts.text.as_ref().and_then(FactText::clear);
    let others =
        [text, facts.title.as_deref(), facts.placeholder.as_deref(), facts.test_id.as_deref(), facts.alt.as_deref()];
    facts.name.is_empty() && (wanted.is_empty() || others.into_iter().flatten().any(|text| short(text) == wanted))
}

pub(crate) fn title(facts: &ElementFacts) -> String {
    let name = cut(&facts.name, 80);
    let state = if facts.visible == Some(false) { " (not visible)" } else { "" };
    if name.is_empty() {
        format!("{} <{}>{state}", facts.role, facts.tag)
    } else {
        format!("{} {name:?}{state}", facts.role)
    }
}

fn target_failure(target: &TargetRef, cause: Cause, message: String) -> Stop {
    let mut failure = StepFailure::new(Stage::Resolve, cause, message);
    failure.facts.target = Some(target.clone());
    failure.into()
}

fn is_missing(stop: &Stop) -> bool {
    matches!(stop, Stop::Failed(failure) if failure.cause == Cause::TargetNotFound)
}

fn missing(target: &TargetRef, locator: &Locator) -> Stop {
    target_failure(target, Cause::TargetNotFound, format!("target {target} matched no element, expected 1 ({locator})"))
}

fn ambiguous(target: &TargetRef, locator: &Locator, matches: &[Match]) -> Stop {
    let message = format!("target {target} matched {} elements, expected 1 ({locator})", matches.len());
    let mut failure = StepFailure::new(Stage::Resolve, Cause::TargetAmbiguous, message);
    failure.facts = FailureFacts {
        target: Some(target.clone()),
        matches: matches.iter().take(NAMED).map(|found| title(&found.facts)).collect(),
        expected: Some("1".to_owned()),
        seen: Some(matches.len().to_string()),
        ..FailureFacts::default()
    };
    failure.into()
}

pub(crate) fn stale(target: &TargetRef, candidate: &Candidate, seen: Option<String>) -> Stop {
    let message = match &seen {
        Some(seen) => format!("{target} was {} and is now {seen}; observe again", candidate.title()),
        None => format!("{target} ({}) is gone; observe again", candidate.title()),
    };
    let mut failure = StepFailure::new(Stage::Resolve, Cause::TargetStale, message);
    failure.facts.target = Some(target.clone());
    failure.facts.expected = Some(candidate.title());
    failure.facts.seen = Some(seen.unwrap_or_else(|| "it is gone".to_owned()));
    failure.into()
}
