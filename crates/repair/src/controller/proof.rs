//! Proof that a task is done, asked for when a planner says so.
//!
//! Invariants:
//! - Nothing but facts is asked: the page as it is, what the steps caused, the texts that the run read.
//! - A plan of a person that states neither a goal nor where its answer stands needs no proof.
//! - Looking the goal up sends no input.

use std::time::{Duration, Instant};

use cuebook_grammar::action::{Action, Assert, Finish, SearchPage};
use cuebook_grammar::facts::Sample;
use cuebook_grammar::id::TargetRef;
use cuebook_grammar::observation::Observation;
use cuebook_grammar::outcome::{Cause, Stage, StepFailure, StepOutcome};
use cuebook_grammar::plan::{Author, Plan, PlanDraft};
use cuebook_grammar::record::RunResult;
use cuebook_grammar::render::quoted;
use cuebook_grammar::report::RunError;
use cuebook_grammar::seam::{Finding, PageModeler as _, Query};
use cuebook_grammar::step::Step;
use cuebook_grammar::wire::ShortText;
use tracing::debug;

use super::end::Stop;
use super::layers::Seams;
use super::run::Controller;
use crate::change::Change;
use crate::goal::{self, JudgedGoal};
use crate::read_texts::{shown_by, words};
use crate::request::{RunEvent, Work};
use crate::state::RunState;
use crate::task_words::asks_for_change;

/// How often the planner is told what is not shown, before the run ends.
const TOLD: u32 = 2;
/// How long a goal may take to come true once the last step has ended, and how often it is looked up.
const SETTLING: Duration = Duration::from_secs(2);
const POLL: Duration = Duration::from_millis(150);
/// Upper bound of the places that an answer cites.
const PLACES: usize = 20;

impl<S: Seams> Controller<S> {
    /// Takes the goal that a plan states.
    pub(super) fn take_goal(&mut self, run: &mut RunState, plan: &Plan, page: &Observation) {
        if !run.goal.take(plan, page) {
            let message = format!("a goal has at most {} conditions; the rest is not taken", goal::MOST);
            self.listener.event(RunEvent::Noted(&message));
        }
    }

    /// Judges the end that a plan states, or reaches without saying so. Returns the failure that the planner is told;
    /// ends the run if no planner is, or if it was told often enough.
    pub(super) async fn proven(
        &mut self,
        run: &mut RunState,
        plan: &Plan,
        finish: Option<&Finish>,
    ) -> Result<Option<Box<StepFailure>>, Stop> {
        goal::note_late(&mut run.caused, &run.ending.late.clone());
        let unproven = self.unproven(run, plan, finish).await?;
        run.ending.goal.unproven.clone_from(&unproven);
        let Some(message) = unproven else { return Ok(None) };
        run.unproven += 1;
        if !matches!(run.request.work, Work::Task(_)) || plan.author() == Author::Operator || run.unproven > TOLD {
            let error = Some(RunError::new(Cause::Unproven, message));
            return Err(Stop::Ended { result: RunResult::Unproven, error, answer: None });
        }
        Ok(Some(Box::new(StepFailure::new(Stage::Postcondition, Cause::Unproven, message))))
    }

    /// Reason against an end that nothing shows; `None` if it is proven or needs no proof.
    async fn unproven(
        &mut self,
        run: &mut RunState,
        plan: &Plan,
        finish: Option<&Finish>,
    ) -> Result<Option<String>, Stop> {
        run.ending.goal = JudgedGoal::default();
        let needs_proof = plan.author() != Author::Operator && matches!(run.request.work, Work::Task(_));
        if !run.goal.is_empty()
            && let Some(unmet) = self.unmet_goal(run).await?
        {
            return Ok(Some(unmet));
        }
        if needs_proof
            && !run.goal.can_prove()
            && let Some(unshown) = unshown(run, finish)
        {
            return Ok(Some(unshown));
        }
        let Some(finish) = finish else { return Ok(None) };
        match (&finish.from, &finish.result) {
            (Some(from), _) if !from.is_empty() => self.unfound_places(run, from).await,
            (_, Some(answer)) if needs_proof && !answer.trim().is_empty() => self.unfound_answer(run, answer).await,
            _ => Ok(None),
        }
    }

    /// The part of the goal that does not hold, in words. Waits a little: what the last step caused may still be drawn.
    async fn unmet_goal(&mut self, run: &mut RunState) -> Result<Option<String>, Stop> {
        let by = run.deadline.within(Instant::now(), SETTLING);
        loop {
            let page = self.current(run).await?;
            let questions = run.goal.questions(&page);
            let gathered = self.gathered(run, &page, &questions).await?;
            let facts = run.goal.facts(&questions, gathered.as_ref(), &page, &run.caused);
            let judged = run.goal.judge(&facts);
            let unmet = run.goal.unmet(&judged, &facts);
            if unmet.is_none() || by.has_passed(Instant::now()) {
                let unmet = unmet.map(|unmet| self.redactor.redact(&unmet).into_owned());
                run.ending.goal.judged = self.clean(judged)?;
                run.ending.goal.facts = Some(self.clean(facts)?);
                return Ok(unmet);
            }
            run.age();
            self.interrupt.guard(tokio::time::sleep(POLL)).await?;
        }
    }

    /// The facts that the executor finds for the goal on the page as it is; `None` if it finds none, as under a dialog.
    async fn gathered(
        &mut self,
        run: &mut RunState,
        page: &Observation,
        questions: &goal::Questions,
    ) -> Result<Option<Sample>, Stop> {
        let [first, ..] = &questions.conditions[..] else { return Ok(None) };
        let mut step = Step::from(Action::Assert(Assert { condition: first.clone() }));
        // Preconditions are all looked up, whatever comes of the first.
        step.pre.clone_from(&questions.conditions);
        let mut draft = PlanDraft::of(Author::Operator, vec![step]);
        draft.candidates.clone_from(&questions.candidates);
        let asked = draft.check(page, &run.request.policy).and_then(|plan| plan.bind(0, page));
        let bound = match asked {
            Ok(bound) => bound,
            Err(violations) => {
                debug!(?violations, "the goal cannot be looked up");
                return Ok(None);
            }
        };
        let deadline = run.deadline.within(Instant::now(), self.budgets.step);
        let evidence = match Box::pin(self.dispatch(run, &bound, page, deadline)).await? {
            StepOutcome::Succeeded(success) => success.evidence,
            StepOutcome::Failed(failure) => failure.evidence,
        };
        Ok(evidence.pre_facts.and_then(|facts| facts.samples.into_iter().next_back()))
    }

    /// The place of an answer that is not there, in words.
    async fn unfound_places(&mut self, run: &mut RunState, from: &[ShortText]) -> Result<Option<String>, Stop> {
        let page = self.read_now(run).await?;
        for place in from.iter().take(PLACES) {
            let id = TargetRef::new(place).ok().and_then(|name| name.candidate_id());
            let candidate = id.and_then(|id| page.candidate(id));
            let stands = match (id, candidate) {
                (_, Some(candidate)) => {
                    shown_by(candidate).iter().any(|text| !words(text).is_empty() && !run.texts.was_entered(text))
                }
                (Some(_), None) => false,
                (None, None) => self.stands(run, place).await?,
            };
            if stands {
                continue;
            }
            let place = quoted(&self.redactor.redact(place), 200);
            return Ok(Some(match (id, candidate) {
                (Some(id), None) => format!(
                    "the answer is said to stand in {id}, which is not on this page: cite the text instead, as it is written"
                ),
                (_, Some(_)) => {
                    format!("the answer is said to stand in {place}, which holds nothing but what was entered")
                }
                (None, None) => format!("the answer is said to stand in {place}, which no page of this run shows"),
            }));
        }
        Ok(None)
    }

    /// Reason against an answer that cites nothing and is found nowhere.
    async fn unfound_answer(&mut self, run: &mut RunState, answer: &str) -> Result<Option<String>, Stop> {
        if run.texts.has(answer) {
            return Ok(None);
        }
        self.read_now(run).await?;
        if self.stands(run, answer).await? {
            return Ok(None);
        }
        let answer = self.redactor.redact(answer).into_owned();
        let own = if run.texts.was_entered(&answer) { " but in what was entered" } else { "" };
        Ok(Some(format!(
            "the result {} stands on no page of this run{own}: leave it out unless the task asks for an answer, give it as \
             it is written, or say with `from` what it is computed from",
            quoted(&answer, 200)
        )))
    }

    /// The page with its text, which the run has read then.
    async fn read_now(&mut self, run: &mut RunState) -> Result<Observation, Stop> {
        let page = self.current(run).await?;
        self.read(run, page).await
    }

    /// Returns `true` if a text was read in the run, or stands anywhere on the page.
    async fn stands(&mut self, run: &RunState, text: &str) -> Result<bool, Stop> {
        if run.texts.has(text) {
            return Ok(true);
        }
        if words(text).is_empty() || run.texts.was_entered(text) {
            return Ok(false);
        }
        let query = Query::Search(SearchPage { query: ShortText::cut(text), regex: None, context: None });
        let deadline = run.deadline.within(Instant::now(), self.budgets.observation);
        let exploring = Box::pin(self.layers.modeler().explore(&run.page, &query, deadline));
        Ok(match self.interrupt.guard(exploring).await? {
            Ok(Finding::Data(data)) => {
                data.get("total").and_then(serde_json::Value::as_u64).is_some_and(|total| total > 0)
            }
            Ok(_) => false,
            Err(error) => {
                debug!(%error, "not searched");
                false
            }
        })
    }
}

/// Reason against an end without a goal that could show it.
fn unshown(run: &RunState, finish: Option<&Finish>) -> Option<String> {
    let Work::Task(task) = &run.request.work else { return None };
    let hint = "do what is missing, or state a `goal`: conditions that hold now and did not before";
    // "Add the prices" asks for an answer, and that says what it is computed from.
    let cites = finish.and_then(|finish| finish.from.as_ref()).is_some_and(|from| !from.is_empty());
    let unshown = match run.change {
        Change::None if asks_for_change(task) && !cites => "the task asks for a change, and no step changed anything",
        Change::Failed => "the last step that changes something failed, and nothing shows that the task is done",
        Change::Traceless => "nothing came of the last step that changes something",
        Change::None | Change::Traced => return None,
    };
    Some(format!("{unshown}: {hint}"))
}
