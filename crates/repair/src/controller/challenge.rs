//! Challenges that a page puts to a person first: the controller waits, then leaves them to the person. Nothing here
//! answers one.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use cuebook_grammar::effect::EffectClass;
use cuebook_grammar::observation::{Challenge, Observation};
use cuebook_grammar::outcome::{Cause, StepFailure};
use cuebook_grammar::plan::BoundStep;
use cuebook_grammar::render::quoted;
use cuebook_grammar::report::ErrorCode;
use cuebook_grammar::seam::{Confirm as _, ConfirmReply, ConfirmRequest};
use cuebook_grammar::verdict::Verdict;
use url::Url;

use super::end::Stop;
use super::layers::Seams;
use super::run::Controller;
use crate::again::judged_again;
use crate::request::Work;
use crate::state::RunState;

/// Between two looks at a page that may go away by itself.
const PAUSE: Duration = Duration::from_millis(500);
/// Hosts of frames that an error names.
const HOSTS: usize = 3;

/// Consequence for a failed step once no challenge stands before the page any more.
pub(super) enum Passed {
    /// It runs again: nothing was sent, or it may be sent twice.
    Again,
    /// The outcome that it was to reach holds now.
    Done,
    /// Its failure stands: its outcome does not hold, or cannot be known.
    No,
}

/// Returns `true` if a step may fail for this cause because the page is not the one that was asked for.
pub(super) const fn may_be_hidden(cause: Cause) -> bool {
    matches!(
        cause,
        Cause::TargetNotFound
            | Cause::TargetStale
            | Cause::NotVisible
            | Cause::Covered
            | Cause::HttpError
            | Cause::PreconditionFailed
            | Cause::PostconditionFailed
    )
}

/// Returns the challenge that stands before the page and explains `failure`. An interstitial is all of its page, so it
/// explains itself. Many pages have a test for humans in a corner: it counts where a step did not get through, and
/// where a plan's target is missing and no planner can look for it otherwise.
fn explained_by(seen: &Observation, failure: Option<&StepFailure>, work: &Work) -> Option<Challenge> {
    let cause = failure.map(|failure| failure.cause);
    match seen.sketch.challenge? {
        Challenge::Captcha => {
            let is_explained = match cause? {
                Cause::PostconditionFailed | Cause::Covered => true,
                Cause::TargetNotFound => !matches!(work, Work::Task(_)),
                _ => false,
            };
            is_explained.then_some(Challenge::Captcha)
        }
        Challenge::Interstitial => Some(Challenge::Interstitial),
        _ => None,
    }
}

/// The page and the frames of other hosts, as an error names them.
fn described(seen: &Observation) -> String {
    let host = |url: &str| Url::parse(url).ok().and_then(|url| url.host_str().map(str::to_owned));
    let own = host(&seen.url);
    let frames: BTreeSet<String> =
        seen.frames.iter().filter_map(|frame| host(&frame.url)).filter(|host| Some(host) != own.as_ref()).collect();
    let frames: Vec<String> = frames.into_iter().take(HOSTS).collect();
    let of = if frames.is_empty() { String::new() } else { format!(" with frames of {}", frames.join(", ")) };
    format!("a page titled {}{of}", quoted(&seen.title, 80))
}

impl<S: Seams> Controller<S> {
    /// The page behind what asks whether a person is there, if that explains `failure` or is all of the page.
    pub(super) async fn past_challenge(
        &mut self,
        run: &mut RunState,
        mut seen: Observation,
        failure: Option<&StepFailure>,
    ) -> Result<Observation, Stop> {
        let mut since = Instant::now();
        while let Some(challenge) = explained_by(&seen, failure, &run.request.work) {
            let (patience, what) = match challenge {
                Challenge::Interstitial => (self.budgets.interstitial, "checks the browser before it goes on"),
                _ => (self.budgets.captcha, "shows a test for humans"),
            };
            let patience = run.deadline.within(since, patience);
            while seen.sketch.challenge == Some(challenge) && !patience.has_passed(Instant::now()) {
                self.interrupt.guard(tokio::time::sleep(PAUSE)).await?;
                seen = self.observe(run, run.scope).await?;
            }
            if seen.sketch.challenge != Some(challenge) {
                continue;
            }
            self.in_time(run)?;
            // Nothing that the page says: its words could ask for something else.
            let host = Url::parse(&seen.url).ok().and_then(|url| url.host_str().map(str::to_owned)).unwrap_or_default();
            let message = format!("{host} {what}: answer it in the browser, then confirm");
            let request = ConfirmRequest { question: self.redactor.redact(&message).into_owned(), grant: None };
            let deadline = run.deadline.within(Instant::now(), self.budgets.answer);
            let may_ask = run.questions < self.budgets.questions;
            run.questions += 1;
            let reply = match may_ask {
                true => self.interrupt.guard(self.layers.confirm().confirm(&request, deadline)).await?,
                false => ConfirmReply::No,
            };
            if !matches!(reply, ConfirmReply::Yes(_)) {
                let message = format!("{host} {what}, and no person answered it; seen: {}", described(&seen));
                return Err(Stop::failed(ErrorCode::Challenge, self.redactor.redact(&message)));
            }
            seen = self.observe(run, run.scope).await?;
            since = Instant::now();
        }
        Ok(seen)
    }

    /// Waits for what stands before the page if that explains the failure of a step; `None` if it does not.
    pub(super) async fn past_failure(
        &mut self,
        run: &mut RunState,
        seen: &Observation,
        failed: (&BoundStep, &StepFailure),
        kind: Challenge,
    ) -> Result<Option<Passed>, Stop> {
        let (bound, failure) = failed;
        if explained_by(seen, Some(failure), &run.request.work) != Some(kind) {
            return Ok(None);
        }
        let now = self.past_challenge(run, seen.clone(), Some(failure)).await?;
        if !failure.evidence.input_sent || bound.effect() <= EffectClass::Idempotent {
            return Ok(Some(Passed::Again));
        }
        let unmet = failure.evidence.post.iter().filter(|judged| !judged.verdict.holds()).count();
        let again = judged_again(&failure.evidence, &now);
        let holds = again.iter().filter(|judged| judged.verdict == Verdict::Holds).count();
        Ok(Some(if unmet > 0 && holds == unmet { Passed::Done } else { Passed::No }))
    }
}
