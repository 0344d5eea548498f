//! Finds the targets of a recorded plan again by what else was recorded about them.
//!
//! Invariants:
//! - Pure: the same failure on the same observation gets the same repair.
//! - Nothing is guessed. A target is another candidate only if exactly one has its fingerprint, or one of its locators, or
//!   its role and lies where it was.
//! - A step that sent input or is destructive gets no other target.

use std::collections::BTreeMap;

use cuebook_grammar::candidate::{Candidate, Fingerprint};
use cuebook_grammar::effect::EffectClass;
use cuebook_grammar::geometry::{Point, Rect};
use cuebook_grammar::id::{CandidateId, TargetRef};
use cuebook_grammar::locator::Locator;
use cuebook_grammar::observation::Observation;
use cuebook_grammar::outcome::Cause;
use cuebook_grammar::risk::{RiskClass, of_click};
use cuebook_grammar::role::Role;
use cuebook_grammar::seam::{Repair, RepairBudget, RepairCase, RepairPolicy};

use crate::ladder::Ladder;
use crate::rungs::{Rung, Rungs};

/// Looks for a lost target by its fingerprint, then by its locators in order, then by where it was; leaves everything else to
/// the ladder. Without knowledge it is the ladder.
#[derive(Clone, Debug, Default)]
pub struct Recall {
    known: BTreeMap<TargetRef, KnownTarget>,
    ladder: Ladder,
    is_recalled: bool,
}

#[derive(Clone, Debug)]
struct KnownTarget {
    fingerprint: Option<Fingerprint>,
    locators: Vec<Locator>,
    place: Option<(Role, Point)>,
}

impl Recall {
    /// With these rungs only.
    #[must_use]
    pub fn with(mut self, rungs: Rungs) -> Self {
        self.ladder = Ladder::with(rungs);
        self
    }

    /// Adds what is known of a declared target, beside the locator that the plan declares: its place is its role and its
    /// middle, in CSS pixels of the page, which a viewport of the same size shows alike.
    #[must_use]
    pub fn knowing(
        mut self,
        target: TargetRef,
        fingerprint: Option<Fingerprint>,
        locators: Vec<Locator>,
        place: Option<(Role, Point)>,
    ) -> Self {
        self.known.insert(target, KnownTarget { fingerprint, locators, place });
        self
    }

    fn found(&self, case: &RepairCase<'_>, observation: &Observation) -> Option<Repair> {
        let is_lost = matches!(case.failure.cause, Cause::TargetNotFound | Cause::TargetAmbiguous | Cause::TargetStale);
        if !is_lost || case.failure.evidence.input_sent || case.step.effect() == EffectClass::Destructive {
            return None;
        }
        let from = case.failure.facts.target.as_ref().or_else(|| case.step.action().target())?;
        let to = self.known.get(from)?.find(observation, case.step.risk())?;
        Some(Repair::Retarget { from: from.clone(), to })
    }
}

impl KnownTarget {
    fn find(&self, observation: &Observation, risk: RiskClass) -> Option<CandidateId> {
        // Of what is in rows or dialogs, only what is in the same one: the only row left may be another person's.
        let is_there = |found: &&Candidate| {
            self.fingerprint.as_ref().is_some_and(|former| former.context == found.fingerprint.context)
        };
        let alike = self.fingerprint.as_ref().and_then(|former| observation.rebind(former).ok()).filter(is_there);
        let found = alike.or_else(|| self.locators.iter().find_map(|locator| self.only(locator, observation)));
        found.or_else(|| self.in_place(observation, risk)).map(|candidate| candidate.id)
    }

    /// The only candidate of the role that is where the target was, and in the same row or dialog, and whose own risk is at
    /// most that of the step.
    fn in_place<'a>(&self, observation: &'a Observation, risk: RiskClass) -> Option<&'a Candidate> {
        let (role, point) = self.place?;
        let context = self.fingerprint.as_ref().and_then(|former| former.context.as_ref());
        let is_there = |rect: &Rect| {
            let (x, y) = (rect.x + observation.viewport.scroll_x, rect.y + observation.viewport.scroll_y);
            Rect { x, y, ..*rect }.contains(point)
        };
        let mut all = observation.candidates.iter().filter(|candidate| {
            candidate.role == role && candidate.frame == 0 && candidate.rect.as_ref().is_some_and(is_there)
        });
        let (one, other) = (all.next()?, all.next());
        let is_free = one.occlusion.is_none() && !one.ambiguous && of_click(one) <= risk.max(RiskClass::Write);
        (other.is_none() && is_free && one.fingerprint.context.as_ref() == context).then_some(one)
    }

    /// The only candidate that the locator is one of, if it has the role that was recorded.
    fn only<'a>(&self, locator: &Locator, observation: &'a Observation) -> Option<&'a Candidate> {
        let mut all = observation.candidates.iter().filter(|candidate| candidate.locators.contains(locator));
        let (one, other) = (all.next()?, all.next());
        let has_role = self.fingerprint.as_ref().is_none_or(|former| former.role == one.fingerprint.role);
        (other.is_none() && has_role && !one.ambiguous).then_some(one)
    }
}

impl RepairPolicy for Recall {
    fn next(&mut self, case: &RepairCase<'_>, observation: &Observation, budget: &RepairBudget) -> Repair {
        let may_repair =
            budget.step_attempts_left > 0 && budget.run_repairs_left > 0 && self.ladder.allows(Rung::Locators);
        let found = if may_repair { self.found(case, observation) } else { None };
        self.is_recalled = found.is_some();
        found.unwrap_or_else(|| self.ladder.next(case, observation, budget))
    }

    fn rung(&self) -> Option<&'static str> {
        if self.is_recalled { Some(Rung::Locators.name()) } else { RepairPolicy::rung(&self.ladder) }
    }
}

#[cfg(test)]
mod tests {
    use cuebook_grammar::outcome::{Stage, StepFailure};
    use cuebook_grammar::plan::{Author, BoundStep, PlanDraft};
    use cuebook_grammar::policy::Policy;
    use cuebook_grammar::sample;
    use serde_json::json;

    use super::*;

    fn target() -> TargetRef {
        TargetRef::new("save").unwrap()
    }

    fn bound(page: &Observation) -> BoundStep {
        let draft = json!({
            "version": "1.0",
            "candidates": { "save": { "strategy": "byRole", "role": "button", "name": "Save" } },
            "steps": [{ "type": "click", "targetRef": "save" }],
        });
        let draft = PlanDraft::read_value(draft, Author::Operator).unwrap();
        let policy = Policy::default().starting_at(sample::HERE).unwrap();
        draft.check(page, &policy).unwrap().bind(0, page).unwrap()
    }

    fn page(lines: &str, id: &str) -> Observation {
        let mut page = sample::page(lines);
        for candidate in &mut page.candidates {
            candidate.locators = vec![Locator::css(id)];
        }
        page
    }

    fn next(page: &Observation, cause: Cause, input_sent: bool, locators: Vec<Locator>) -> Repair {
        let fingerprint = Fingerprint {
            role: cuebook_grammar::role::Role::Button,
            name: "Save".into(),
            path: "main".into(),
            ..Fingerprint::default()
        };
        let mut recall = Recall::default().knowing(target(), Some(fingerprint), locators, None);
        let mut failure = StepFailure::new(Stage::Resolve, cause, "test");
        failure.evidence.input_sent = input_sent;
        let budget = RepairBudget { step_attempts_left: 3, run_repairs_left: 3, can_replan: false };
        let step = bound(page);
        recall.next(&RepairCase { step: &step, failure: &failure, attempt: 0 }, page, &budget)
    }

    #[test]
    fn a_target_of_another_row_is_not_the_same() {
        let edit = |row: &str| Fingerprint {
            role: cuebook_grammar::role::Role::Button,
            name: "Edit".into(),
            context: Some(format!("row: {row}")),
            path: "main".into(),
            ..Fingerprint::default()
        };
        let known = |row: &str| KnownTarget { fingerprint: Some(edit(row)), locators: Vec::new(), place: None };
        let mut page = sample::page(r#"button "Edit" [row: ann]"#);
        page.candidates[0].fingerprint = edit("ann");
        assert_eq!(known("ann").find(&page, RiskClass::Write), Some(CandidateId(1)));
        assert_eq!(known("bob").find(&page, RiskClass::Write), None, "the only row left");
    }

    #[test]
    fn a_renamed_target_is_found_by_another_locator_and_by_nothing_less() {
        let renamed = page(r#"button "Keep""#, "#save");
        let known = || vec![Locator::test_id("gone"), Locator::css("#save")];
        let to = CandidateId(1);
        assert_eq!(next(&renamed, Cause::TargetNotFound, false, known()), Repair::Retarget { from: target(), to });
        let is_retarget = |repair: &Repair| matches!(repair, Repair::Retarget { .. });
        assert!(!is_retarget(&next(&renamed, Cause::TargetNotFound, true, known())), "input was sent");
        assert!(!is_retarget(&next(&renamed, Cause::Covered, false, known())), "the target is not lost");
        assert!(!is_retarget(&next(&renamed, Cause::TargetNotFound, false, vec![Locator::css("#other")])));
        let twins = page("button \"Keep\"\nbutton \"Drop\"", "#save");
        assert!(!is_retarget(&next(&twins, Cause::TargetNotFound, false, known())), "two have the locator");
        let link = page(r#"link "Keep""#, "#save");
        assert!(!is_retarget(&next(&link, Cause::TargetNotFound, false, known())), "it was a button");
    }

    #[test]
    fn what_lies_where_the_target_was_is_it_only_alone_and_of_its_role() {
        let place = Some((Role::Button, Point { x: 60.0, y: 520.0 }));
        let known = KnownTarget { fingerprint: None, locators: Vec::new(), place };
        let mut page = sample::page("button \"Keep\"\nlink \"Help\"");
        page.viewport.scroll_y = 500.0;
        let rect = Rect { x: 10.0, y: 10.0, width: 100.0, height: 20.0 };
        (page.candidates[0].rect, page.candidates[1].rect) = (Some(rect), Some(rect));
        assert_eq!(known.find(&page, RiskClass::Write), Some(CandidateId(1)));
        page.viewport.scroll_y = 600.0;
        assert_eq!(known.find(&page, RiskClass::Write), None, "it is elsewhere");
        page.viewport.scroll_y = 500.0;
        page.candidates[0].name = "Delete account".into();
        assert_eq!(known.find(&page, RiskClass::Write), None, "its risk is higher");
        page.candidates[0].name = "Keep".into();
        page.viewport.scroll_y = 500.0;
        page.candidates[1].role = Role::Button;
        assert_eq!(known.find(&page, RiskClass::Write), None, "two lie there");
        page.candidates.remove(1);
        page.candidates[0].fingerprint.context = Some("row: ann".into());
        assert_eq!(known.find(&page, RiskClass::Write), None, "in a row, where the target was in none");
    }
}
