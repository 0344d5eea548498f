//! Asking a person: before a step, and about the requests that it causes.

use std::time::Instant;

use cuebook_grammar::deadline::Deadline;
use cuebook_grammar::outcome::{Cause, Stage, StepFailure};
use cuebook_grammar::plan::{BoundStep, Plan};
use cuebook_grammar::policy::Consent;
use cuebook_grammar::profile::Profile;
use cuebook_grammar::render;
use cuebook_grammar::seam::boxed::BoxFuture;
use cuebook_grammar::seam::{Confirm, ConfirmReply, ConfirmRequest, EffectGate, HeldRequest, Redactor};
use tokio::sync::Notify;
use url::Url;

use super::end::{Stop, ended_by};
use super::layers::Seams;
use super::run::Controller;
use crate::budget::Budgets;
use crate::state::RunState;

/// The most characters of a question in the message of a step that was not consented to.
const ABOUT: usize = 400;

/// Asks the person in charge, at most as often as the run may.
pub(super) struct Asking<'a, C> {
    pub(super) confirm: &'a mut C,
    pub(super) redactor: &'a dyn Redactor,
    pub(super) budgets: &'a Budgets,
    /// Questions of the run so far.
    pub(super) questions: &'a mut u32,
    /// When the run ends.
    pub(super) deadline: Deadline,
    /// Told when a step only waits whether its conditions last.
    pub(super) settling: &'a Notify,
}

impl<C: Confirm> Asking<'_, C> {
    /// The failure if there is no consent.
    pub(super) async fn ask(&mut self, step: &BoundStep, question: &str, grant: &str) -> Result<(), Box<StepFailure>> {
        let question = self.redactor.redact(question).into_owned();
        let about = render::cut(&question, ABOUT);
        let request = ConfirmRequest { question, grant: Some(grant.to_owned()) };
        let deadline = self.deadline.within(Instant::now(), self.budgets.answer);
        let may_ask = *self.questions < self.budgets.questions;
        *self.questions += 1;
        let reply = if may_ask { Some(self.confirm.confirm(&request, deadline).await) } else { None };
        let why = match reply {
            Some(ConfirmReply::Yes(_)) => return Ok(()),
            Some(ConfirmReply::No) => "it was denied",
            Some(ConfirmReply::Unanswered) => "there was no one to ask",
            None => "this run has asked too often",
        };
        let message = format!("expected consent or --grant {grant}, and {why}: {about}");
        let mut failure = StepFailure::new(Stage::Confirm, Cause::ConfirmationDenied, message);
        failure.facts.target = step.action().target().cloned();
        failure.facts.grant = Some(grant.to_owned());
        Err(Box::new(failure))
    }
}

impl<S: Seams> Controller<S> {
    /// In the profile semiAuto, asks once for all steps of a plan that need consent and bind to the page as it is now,
    /// naming each effect. What was agreed to is those questions, word for word: a step whose target or effect is another
    /// one when its turn comes is asked about again.
    pub(super) async fn consent_to_plan(&mut self, run: &mut RunState, plan: &Plan, from: usize) -> Result<(), Stop> {
        run.agreed.clear();
        if run.request.policy.profile() != Profile::SemiAuto {
            return Ok(());
        }
        let ground = self.current(run).await?;
        let bound = (from..plan.steps().len()).filter_map(|index| plan.bind(index, &ground).ok());
        let asked: Vec<_> =
            bound.filter_map(|bound| Self::question_about(run, &bound).map(|about| (bound, about))).collect();
        let [(first, _), _, ..] = &asked[..] else { return Ok(()) };
        let listed = asked.iter().enumerate().map(|(n, (_, (question, _)))| format!("({}) {question}", n + 1));
        let listed = listed.collect::<Vec<_>>().join(" ");
        let question = format!("{} steps of this plan need consent, all of them or none: {listed}", asked.len());
        let mut grants: Vec<&str> = asked.iter().map(|(_, (_, grant))| grant.as_str()).collect();
        grants.dedup();
        let (redactor, budgets) = (self.redactor.as_ref(), &self.budgets);
        let (confirm, questions, deadline) = (self.layers.confirm(), &mut run.questions, run.deadline);
        let settling = &Notify::new();
        let mut asking = Asking { confirm, redactor, budgets, questions, deadline, settling };
        if let Err(failure) = self.interrupt.guard(asking.ask(first, &question, &grants.join(" --grant "))).await? {
            return Err(ended_by(&failure));
        }
        run.agreed = asked.into_iter().map(|(_, (question, _))| question).collect();
        Ok(())
    }
}

/// Decides about the requests of a step.
impl<C: Confirm> EffectGate for Asking<'_, C> {
    fn settling(&mut self) {
        self.settling.notify_one();
    }

    fn judge<'a>(
        &'a mut self,
        step: &'a BoundStep,
        request: &'a HeldRequest,
    ) -> BoxFuture<'a, Result<(), Box<StepFailure>>> {
        Box::pin(async move {
            let origin = Url::parse(&request.url).map(|url| url.origin().ascii_serialization()).unwrap_or_default();
            let Consent::Ask { grant } = step.policy().consent_to_request(step.risk(), &origin) else { return Ok(()) };
            let question = render::question_of_request(step, request);
            self.ask(step, &question, &grant).await.map_err(|mut failure| {
                let seen = format!("{} {}", request.method, request.url);
                failure.message = format!("{}; {} was dropped", failure.message, render::quoted(&seen, 300));
                failure.facts.seen = Some(render::cut(&seen, 300));
                failure
            })
        })
    }
}
