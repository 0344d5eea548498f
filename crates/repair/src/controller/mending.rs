//! Repairs of one step of a plan by a planner: of a model's plan in `run`, of a given one in `exec --repair-planner`.
//!
//! Invariants:
//! - A repair is a model's plan. It is checked against what the model was shown, and has a model's rights: the operator's
//!   file grants its own steps only. In a task nothing destructive mends a step: that is for a new plan.
//! - A step of which input was sent is not tried again. Another one is, where the repair only removed what was in its way.
//! - The failed step counts as done only if none of its conditions is seen to fail on the page as it is then.

use std::collections::{BTreeMap, BTreeSet};

use cuebook_grammar::action::Action;
use cuebook_grammar::candidate::Placement;
use cuebook_grammar::condition::Condition;
use cuebook_grammar::effect::EffectClass;
use cuebook_grammar::id::CandidateId;
use cuebook_grammar::observation::{Observation, TextLine, TextPart};
use cuebook_grammar::outcome::{Cause, Judged, StepFailure};
use cuebook_grammar::plan::Plan;
use cuebook_grammar::record::StepOrigin;
use cuebook_grammar::report::ErrorCode;
use cuebook_grammar::seam::Repair;
use cuebook_grammar::verdict::Verdict;

use super::drafts::{PlanKind, PlannerReply, best};
use super::end::{StepEnd, Stop, is_final};
use super::layers::Seams;
use super::run::Controller;
use crate::again::judged_again;
use crate::request::{RunEvent, Work};
use crate::state::RunState;
use crate::task_words;

/// Candidates before and after the target that a repair is planned with.
const NEAR: usize = 15;
/// The most candidates, where the target is not on the page.
const SHOWN: usize = 60;
/// Lines of text before each of them.
const LINES: usize = 4;

/// Result of a repair by the planner.
pub(super) enum Mended {
    /// The step's purpose is reached: the plan goes on behind it.
    Done,
    /// The obstacle in its way is gone: it is tried again.
    Again,
    /// The failure stands: the planner has no repair, or it failed too.
    No,
}

impl<S: Seams> Controller<S> {
    /// Asks the planner to repair a failed step of a plan, and carries that out.
    pub(super) async fn mend(
        &mut self,
        run: &mut RunState,
        plan: &Plan,
        index: usize,
        failure: &StepFailure,
    ) -> Result<Mended, Stop> {
        let is_hopeless = failure.cause.is_block()
            || is_final(failure.cause)
            || matches!(failure.cause, Cause::EffectUnknown | Cause::Unproven);
        if run.mendings_left == 0 || is_hopeless {
            return Ok(Mended::No);
        }
        self.in_time(run)?;
        run.mendings_left -= 1;
        self.listener.event(RunEvent::Repairing(&Repair::Replan));
        let (plan_id, planning) = (run.plan_id.take(), run.planning);
        let mended = self.mended(run, plan, index, failure).await;
        (run.plan_id, run.planning) = (plan_id, planning);
        mended
    }

    async fn mended(
        &mut self,
        run: &mut RunState,
        plan: &Plan,
        index: usize,
        failure: &StepFailure,
    ) -> Result<Mended, Stop> {
        let page = self.observe(run, run.scope).await?;
        // The text is read beside all candidates, or else the names of those that are left out would count as text.
        let page = self.read(run, page).await?;
        // The log has the whole page; the planner gets a part of it.
        let whole = self.clean(page.clone())?;
        self.keep(run, &whole).await?;
        let shown = around(page, failure);
        let left = run.mendings_left.saturating_add(1);
        let asked = self.ask_planner(run, PlanKind::Mending, &task(run), &shown, Some(failure), left).await;
        let (reply, _) = match asked {
            Ok(PlannerReply::Answer(reply, ahead)) => (reply, ahead),
            Ok(PlannerReply::Invalid(violations)) => {
                self.listener.event(RunEvent::Rejected(&violations));
                return Ok(Mended::No);
            }
            // The run ends with what failed in it, not with who could not help.
            Err(Stop::Broken { code: ErrorCode::PlannerUnavailable, message }) => {
                self.listener.event(RunEvent::Noted(&self.redactor.redact(&message)));
                return Ok(Mended::No);
            }
            Err(stop) => return Err(stop),
        };
        run.usage.add(reply.usage);
        if let Some(note) = &reply.note {
            self.listener.event(RunEvent::Noted(&self.redactor.redact(note)));
        }
        let repair = match best(reply.drafts, &shown, &run.request.policy) {
            Some((_, Ok(repair))) => repair,
            Some((_, Err(violations))) => {
                let violations = self.clean(violations.into_vec())?;
                self.listener.event(RunEvent::Rejected(&violations));
                return Ok(Mended::No);
            }
            None => return Ok(Mended::No),
        };
        self.listener.event(RunEvent::Planned(&repair));
        let mut is_finished = false;
        for at in 0..repair.steps().len() {
            let Some(checked) = repair.steps().get(at) else { break };
            match &checked.step.action {
                Action::Finish(_) => {
                    is_finished = true;
                    break;
                }
                Action::Fail(_) => return Ok(Mended::No),
                Action::AskUser(_) => match self.control_step(run, &repair, at).await? {
                    Some(stop) => return Err(stop),
                    None => continue,
                },
                _ => {}
            }
            self.in_time(run)?;
            if matches!(run.request.work, Work::Task(_)) && self.is_destructive(run, &repair, at).await? {
                return Ok(Mended::No);
            }
            let end = Box::pin(self.run_step(run, &repair, at, StepOrigin::Repair)).await?;
            if !matches!(end, StepEnd::Done { .. }) {
                return Ok(Mended::No);
            }
        }
        if !is_finished {
            return Ok(if failure.evidence.input_sent { Mended::No } else { Mended::Again });
        }
        let now = self.observe(run, run.scope).await?;
        let mut evidence = failure.evidence.clone();
        evidence.pre.clear();
        if evidence.post.is_empty() {
            let stated = plan.steps().get(index).map(|checked| checked.step.post.as_slice()).unwrap_or_default();
            evidence.post = stated.iter().cloned().map(unjudged).collect();
        }
        let fails = judged_again(&evidence, &now).iter().any(|judged| judged.verdict == Verdict::Fails);
        Ok(if fails { Mended::No } else { Mended::Done })
    }
}

impl<S: Seams> Controller<S> {
    /// Returns `true` if a step is destructive on the page as it is, or cannot be bound to it.
    async fn is_destructive(&mut self, run: &mut RunState, plan: &Plan, index: usize) -> Result<bool, Stop> {
        let ground = if plan.needs_observation(index) { self.current(run).await? } else { run.ground_or_blank() };
        Ok(plan.bind(index, &ground).map_or(true, |bound| bound.effect() == EffectClass::Destructive))
    }
}

fn unjudged(condition: Condition) -> Judged {
    Judged { condition, verdict: Verdict::Unknown, vacuous: false, default: false, latency_ms: None }
}

/// The task of a repair. What the step was stands in the history, redacted.
fn task(run: &RunState) -> String {
    let purpose = match &run.request.work {
        Work::Task(task) => Some(task.as_str()),
        Work::Plan(draft) => draft.context.as_ref().and_then(|context| context.task.as_deref()),
        Work::Replay(_) | Work::Session => None,
    };
    let purpose = purpose.map(|task| format!(" The plan is for: {}.", task_words::without_passwords(task)));
    format!(
        "The last step of a given plan failed; it is the last one that was done so far. Reach what this one step was for, \
         and nothing beyond it, then finish: the plan goes on by itself. If something is only in the way of the step, \
         remove that and do not finish: the step is then tried again. If neither is possible, fail.{}",
        purpose.unwrap_or_default()
    )
}

/// The part of a page around the target of a failed step; where that is not on the page, what is in view.
fn around(mut page: Observation, failure: &StepFailure) -> Observation {
    let names: BTreeMap<_, _> = page.candidates.iter().map(|it| (it.id, it.name.clone())).collect();
    let id = failure.facts.target.as_ref().and_then(|target| target.candidate_id());
    let at = id.and_then(|id| page.candidates.iter().position(|candidate| candidate.id == id));
    let mut behind = None;
    match at {
        Some(at) => {
            let end = at.saturating_add(NEAR + 1);
            behind = page.candidates.get(end).map(|candidate| candidate.id);
            page.candidates.truncate(end);
            page.candidates.drain(..at.saturating_sub(NEAR));
        }
        None => {
            page.candidates.retain(|candidate| candidate.placement == Placement::InView);
            page.candidates.truncate(SHOWN);
        }
    }
    let shown: BTreeSet<_> = page.candidates.iter().map(|candidate| candidate.id).collect();
    let is_near = |before| shown.contains(&before) || behind == Some(before);
    page.texts = nearby(&page.texts, &is_near).into();
    for line in &mut page.texts {
        line.before = line.before.filter(|before| shown.contains(before));
        for part in line.cells.iter_mut().flatten() {
            if let TextPart::Candidate(id) = part
                && !shown.contains(id)
            {
                *part = TextPart::Text(names.get(id).cloned().unwrap_or_default());
            }
        }
    }
    page
}

/// The lines of text that stand directly before a candidate that `is_shown`, or behind the last one.
fn nearby(texts: &[TextLine], is_shown: &dyn Fn(CandidateId) -> bool) -> Vec<TextLine> {
    let mut near: Vec<TextLine> = Vec::new();
    for line in texts.iter().rev().filter(|line| line.before.is_none_or(is_shown)) {
        let same = near.iter().rev().take(LINES).filter(|kept| (kept.before, kept.frame) == (line.before, line.frame));
        if same.count() < LINES {
            near.push(line.clone());
        }
    }
    near.reverse();
    near
}

#[cfg(test)]
mod tests {
    use cuebook_grammar::observation::TextKind;
    use cuebook_grammar::outcome::Stage;
    use cuebook_grammar::sample;

    use super::*;

    fn page() -> Observation {
        let lines: Vec<String> = (1..=100).map(|n| format!("button \"B{n}\"")).collect();
        sample::page(&lines.join("\n"))
    }

    fn failure(target: &str) -> StepFailure {
        let mut failure = StepFailure::new(Stage::Act, Cause::Covered, "covered");
        failure.facts.target = serde_json::from_value(target.into()).ok();
        failure
    }

    #[test]
    fn a_repair_is_planned_with_what_stands_around_the_target() {
        let ids = |target: &str| -> Vec<u32> {
            around(page(), &failure(target)).candidates.iter().map(|candidate| candidate.id.0).collect()
        };
        assert_eq!(ids("c50"), (35..=65).collect::<Vec<_>>());
        assert_eq!(ids("c2"), (1..=17).collect::<Vec<_>>());
        assert_eq!(ids("save").len(), SHOWN, "a declared locator that finds nothing");
    }

    #[test]
    fn of_the_text_only_what_stands_directly_before_a_candidate_is_shown() {
        let line = |before: u32, parts: Vec<TextPart>| TextLine {
            kind: TextKind::Text,
            level: 0,
            cells: vec![parts],
            more: 0,
            before: Some(CandidateId(before)),
            frame: 0,
            placement: Placement::InView,
            behind: false,
        };
        let said = |n: usize| vec![TextPart::Text(n.to_string())];
        let mut page = page();
        page.texts = vec![line(1, said(0))].into();
        page.texts.extend((1..10).map(|n| line(50, said(n))));
        page.texts.push(line(65, vec![TextPart::Candidate(CandidateId(65)), TextPart::Candidate(CandidateId(66))]));
        page.texts.push(line(66, said(10)));
        page.texts.push(line(67, said(11)));
        let near = around(page, &failure("c50"));
        let mut expected: Vec<TextLine> = (6..10).map(|n| line(50, said(n))).collect();
        let named = vec![TextPart::Candidate(CandidateId(65)), TextPart::Text("B66".to_owned())];
        expected.push(line(65, named));
        expected.push(TextLine { before: None, ..line(66, said(10)) });
        assert_eq!(*near.texts, expected);
    }
}
