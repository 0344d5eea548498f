//! One step, from its event until it is known what it led to: pure.
//!
//! Invariants:
//! - Its conditions state what was not so before it.
//! - No part of it shows what the redactor knows as a secret.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use cuebook_grammar::action::Action;
use cuebook_grammar::candidate::Candidate;
use cuebook_grammar::deadline::millis;
use cuebook_grammar::geometry::ViewportSize;
use cuebook_grammar::id::{CredentialRef, PageId, TargetRef};
use cuebook_grammar::observation::Observation;
use cuebook_grammar::record::{PersonStep, RecordedTarget};
use cuebook_grammar::risk;
use cuebook_grammar::seam::Redactor;
use cuebook_grammar::step::Step;
use serde::Serialize;
use serde_json::Value;

use crate::conditions::{self, Happened};
use crate::note::Note;
use crate::target::{Pointed, Target};

/// Everything that a person did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recorded {
    /// The steps, in order.
    pub steps: Vec<PersonStep>,
    /// Secrets that the steps name, each with the field that it is for.
    pub credentials: BTreeMap<CredentialRef, String>,
    /// Doings that are missing, or need a hand.
    pub notes: Vec<Note>,
    /// The viewport of the first page.
    pub viewport: Option<ViewportSize>,
    /// The origins of the pages on which something was done.
    pub origins: BTreeSet<String>,
}

/// A step, while it is not known what it leads to.
#[derive(Debug)]
pub(crate) struct Draft {
    pub(crate) step: Step,
    pub(crate) targets: BTreeMap<TargetRef, Target>,
    pub(crate) tab: PageId,
    pub(crate) at: Instant,
    /// The address before it.
    pub(crate) url: String,
    pub(crate) before: Option<Arc<Observation>>,
    pub(crate) after: Option<Arc<Observation>>,
    pub(crate) happened: Happened,
    /// The element that the event was for.
    pub(crate) pointed: Option<Pointed>,
    /// It is left out if nothing came of it.
    pub(crate) is_tentative: bool,
    /// Its text was longer than a step may enter.
    pub(crate) is_cut: bool,
    /// Its effects are stated already.
    pub(crate) is_closed: bool,
}

impl Draft {
    pub(crate) fn new(
        action: Action,
        tab: &PageId,
        url: String,
        before: Option<Arc<Observation>>,
        at: Instant,
    ) -> Self {
        Self {
            step: action.into(),
            targets: BTreeMap::new(),
            tab: tab.clone(),
            at,
            url,
            before,
            after: None,
            happened: Happened::default(),
            pointed: None,
            is_tentative: false,
            is_cut: false,
            is_closed: false,
        }
    }

    /// States what it led to, with `to` the address that its tab has now; `false` if that is nothing and it is no step.
    pub(crate) fn close(&mut self, to: &str) -> bool {
        self.is_closed = true;
        let pair = self.before.as_ref().zip(self.after.as_ref()).filter(|(_, after)| after.url == to);
        if self.is_tentative && !self.happened.is_anything() {
            let is_idle = match pair {
                Some((before, after)) => !conditions::differs(before, after),
                // Nothing was seen, so it is judged by what it mostly does: give a field the focus.
                None => matches!(self.step.action, Action::Click(_)),
            };
            if is_idle {
                return false;
            }
        }
        let post = conditions::reported(&self.happened, &self.url, to);
        self.step.post.extend(post);
        // A value says more than what else may have changed, and a dialog or another tab hides the page.
        let is_said = match self.step.action {
            Action::Hover(_) | Action::SwitchTab(_) | Action::CloseTab(_) | Action::Navigate(_) => true,
            Action::SetValue(_) | Action::Select(_) | Action::Check(_) | Action::Uncheck(_) => {
                !self.happened.has_navigated
            }
            _ => self.happened.dialog.is_some() || self.happened.new_tab.is_some(),
        };
        if let Some((before, after)) = pair.filter(|_| !is_said) {
            let main = self.targets.get_key_value(&target_name("main"));
            if let Some((condition, target)) = conditions::shown(before, after, main) {
                self.step.post.push(condition);
                self.targets.extend(target);
            }
        }
        true
    }

    /// The step without conditions that would show a secret; `None` if the step itself would.
    pub(crate) fn done(&self, redactor: &dyn Redactor) -> Option<PersonStep> {
        let is_clean = |text: &str| redactor.redact(text) == text;
        let is_target_clean = |name: &TargetRef| {
            self.targets.get(name).is_some_and(|target| match &target.recorded {
                RecordedTarget::Observed(it) => {
                    is_clean(&it.name) && texts(&it.locators).iter().all(|text| is_clean(text))
                }
                RecordedTarget::Declared(locator) => texts(locator).iter().all(|text| is_clean(text)),
            })
        };
        let mut step = self.step.clone();
        step.post.retain(|condition| {
            texts(condition).iter().all(|text| is_clean(text)) && condition.targets().into_iter().all(is_target_clean)
        });
        let is_shown = !texts(&step.action).iter().all(|text| is_clean(text))
            || !step.action.targets().into_iter().all(is_target_clean);
        if is_shown {
            return None;
        }
        let used = step.targets();
        let recorded = |(name, target): (&TargetRef, &Target)| (name.clone(), target.recorded.clone());
        let targets: BTreeMap<_, _> =
            self.targets.iter().filter(|(name, _)| used.contains(name)).map(recorded).collect();
        let candidates: Vec<&Candidate> = step
            .action
            .targets()
            .into_iter()
            .filter_map(|name| match targets.get(name)? {
                RecordedTarget::Observed(candidate) => Some(&**candidate),
                RecordedTarget::Declared(_) => None,
            })
            .collect();
        let risk = match self.before.as_deref() {
            Some(page) => risk::of(&step.action, &candidates, page),
            None => risk::of(&step.action, &candidates, &Observation::blank(self.tab.clone(), &self.url)),
        };
        let ago = self.at.elapsed();
        let at = SystemTime::now().checked_sub(ago).and_then(|at| at.duration_since(UNIX_EPOCH).ok());
        Some(PersonStep { risk, step, targets, url: self.url.clone(), ts_ms: at.map_or(0, millis) })
    }
}

/// A name for a target within one step, of letters.
pub(crate) fn target_name(text: &'static str) -> TargetRef {
    TargetRef::new(text).unwrap_or_else(|_| TargetRef::from(cuebook_grammar::id::CandidateId(0)))
}

/// Every text within a value.
fn texts(value: &impl Serialize) -> Vec<String> {
    fn within(value: Value, out: &mut Vec<String>) {
        match value {
            Value::String(text) => out.push(text),
            Value::Array(items) => items.into_iter().for_each(|item| within(item, out)),
            Value::Object(object) => object.into_iter().for_each(|(_, item)| within(item, out)),
            _ => {}
        }
    }
    let mut out = Vec::new();
    within(serde_json::to_value(value).unwrap_or_default(), &mut out);
    out
}
