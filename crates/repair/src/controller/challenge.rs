//! What a page asks of a person first: it is waited for, then left to the person. Nothing here answers it.

use std::time::{Duration, Instant};

use cuebook_grammar::observation::{Challenge, Observation};
use cuebook_grammar::outcome::{Cause, StepFailure};
use cuebook_grammar::report::ErrorCode;
use cuebook_grammar::seam::{Confirm as _, ConfirmReply, ConfirmRequest};
use url::Url;

use super::end::Stop;
use super::layers::Seams;
use super::run::Controller;
use crate::state::Run;

/// Between two looks at a page that may go away by itself.
const PAUSE: Duration = Duration::from_millis(500);

impl<S: Seams> Controller<S> {
    /// The page behind what asks whether a person is there. A test for humans counts only if it explains `failure`: many
    /// a page has one in a corner.
    pub(super) async fn past_challenge(
        &mut self,
        run: &mut Run,
        mut seen: Observation,
        failure: Option<&StepFailure>,
    ) -> Result<Observation, Stop> {
        let is_explained =
            failure.is_some_and(|failure| matches!(failure.cause, Cause::PostconditionFailed | Cause::Covered));
        let mut since = Instant::now();
        while let Some(challenge) = seen.sketch.challenge {
            let (patience, what) = match challenge {
                Challenge::Interstitial => (self.budgets.interstitial, "checks the browser before it goes on"),
                Challenge::Captcha if is_explained => (self.budgets.captcha, "shows a test for humans"),
                _ => return Ok(seen),
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
                return Err(Stop::failed(ErrorCode::NeedsAnswer, request.question));
            }
            seen = self.observe(run, run.scope).await?;
            since = Instant::now();
        }
        Ok(seen)
    }
}
