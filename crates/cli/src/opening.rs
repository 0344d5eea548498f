//! Opens and observes a page outside of a run.

use std::time::{Duration, Instant};

use cuebook::{Live, SETTLING, Tab};
use cuebook_datalayer::MemoryArtifacts;
use cuebook_executor::{ExecutorOptions, ScreenshotMode};
use cuebook_grammar::action::{Action, Navigate};
use cuebook_grammar::deadline::Deadline;
use cuebook_grammar::observation::{Observation, Scope};
use cuebook_grammar::outcome::{Cause, StepOutcome};
use cuebook_grammar::plan::{Author, PlanDraft};
use cuebook_grammar::policy::Policy;
use cuebook_grammar::report::{ErrorCode, RunError, RunResult};
use cuebook_grammar::seam::{DenyAll, Executor as _, Image, NoSecrets, PageModeler as _};
use cuebook_grammar::step::Step;
use cuebook_page_modeler::{LivePageModeler, ModelerOptions};

use crate::exit::Refusal;
use crate::text::with_sources;
use crate::wait_for::WaitFor;

/// Opens `url` in the tab, unless its page is wanted as it is, and waits for the condition.
pub(crate) async fn open(
    tab: &Tab,
    live: &Live,
    url: Option<&str>,
    policy: &Policy,
    wait_for: Option<&WaitFor>,
    deadline: Deadline,
) -> Result<(), Refusal> {
    let options = ExecutorOptions { screenshots: ScreenshotMode::Off, ..ExecutorOptions::default() };
    let mut executor = live.executor(NoSecrets, MemoryArtifacts::default(), options);
    let blank = Observation::blank(tab.page.clone(), "about:blank");
    let open = url.map(|url| Step::from(Action::Navigate(Navigate::to(url))));
    // A page that hangs is observed too, within the same deadline.
    let now = Instant::now();
    let left = deadline.remaining(now);
    let opening = deadline.within(now, left - (left / 4).min(LOOKING));
    let drafts = open.map(|open| (PlanDraft::of(Author::Operator, vec![open]), opening));
    for (draft, deadline) in drafts.into_iter().chain(wait_for.map(|WaitFor(draft)| (draft.clone(), deadline))) {
        let bound = draft.check(&blank, policy).and_then(|plan| plan.bind(0, &blank)).map_err(|violations| {
            let message = "the URL is not allowed".to_owned();
            let error = RunError { code: ErrorCode::PolicyBlocked, message, violations: violations.into_vec() };
            Refusal { result: RunResult::Blocked, error }
        })?;
        let outcome = executor
            .run_step(&tab.page, &bound, &blank, &mut DenyAll, deadline)
            .await
            .map_err(|error| broken(&error))?;
        if let StepOutcome::Failed(failure) = outcome
            && failure.cause != Cause::HttpError
        {
            let hint = match failure.cause {
                Cause::DeadlineExceeded => {
                    "; --timeout allows more time: it counts the start of the browser and a look at the page in"
                }
                _ => "",
            };
            let message = format!("{}{hint}", failure.message);
            let error = RunError::new(failure.cause, message);
            let result = if failure.cause == Cause::BrowserGone { RunResult::Error } else { RunResult::Failed };
            return Err(Refusal { result, error });
        }
    }
    Ok(())
}

/// The time that is reserved for observing a page that is slow to open.
const LOOKING: Duration = Duration::from_secs(2);

/// A page modeler that waits until a page has settled.
pub(crate) fn modeler(live: &Live) -> LivePageModeler {
    live.modeler(ModelerOptions { settling: SETTLING, ..ModelerOptions::default() })
}

/// Observes the tab. The error is that of a failed run if only the page was lost, not the browser.
pub(crate) async fn observe(
    modeler: &mut LivePageModeler,
    tab: &Tab,
    scope: Scope,
    deadline: Deadline,
) -> Result<Observation, Refusal> {
    modeler.observe(&tab.page, scope, deadline).await.map_err(|error| match modeler.lost() {
        Some(Cause::BrowserGone) => Refusal::unusable(Cause::BrowserGone, with_sources(&error)),
        Some(cause) => Refusal { result: RunResult::Failed, error: RunError::new(cause, with_sources(&error)) },
        None => broken(&error),
    })
}

/// Adds the page's text. A page that cannot be read has none.
pub(crate) async fn read(modeler: &mut LivePageModeler, of: &mut Observation, deadline: Deadline) {
    if let Err(error) = modeler.read(of, deadline).await {
        tracing::debug!(error = with_sources(&error), "no text");
    }
}

/// Pictures of the observed page, for a planner with vision.
pub(crate) async fn picture(modeler: &mut LivePageModeler, of: &Observation, deadline: Deadline) -> Vec<Image> {
    modeler.picture(&of.page, of, deadline).await.ok().flatten().into_iter().collect()
}

/// An error of the browser or of a layer over it.
pub(crate) fn broken(error: &(dyn std::error::Error + 'static)) -> Refusal {
    Refusal::unusable(ErrorCode::BrowserBroken, with_sources(error))
}
