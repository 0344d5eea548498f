//! What lies outside of the page: requests, files and commands, within what the operator declared.
//!
//! The policy that a step was bound under says what is declared; a step that reaches beyond it fails with
//! `policyBlocked` and the rule. Nothing of the page's takes part: no cookies, no credentials, no session.
//!
//! Invariants:
//! - An address is judged after its name was resolved, and the connection goes to the address that was judged.
//!   Each hop of a redirect is judged like the first.
//! - A path is opened from the declared directory downwards; no link and no `..` leads out of it.
//! - No shell reads a command, unless that very line was declared for one. What a command started ends with it.
//! - Every answer is bounded, and says so where something was left out.

mod fetch;
mod files;
mod shell;

use std::convert::Infallible;
use std::ffi::OsString;
use std::time::{Duration, Instant};

use cuebook_grammar::action::Action;
use cuebook_grammar::deadline::Deadline;
use cuebook_grammar::facts::{EventFacts, Facts, Sample};
use cuebook_grammar::outcome::{Cause, Evidence, Judged, Stage, StepFailure, StepOutcome, StepSuccess, Timings};
use cuebook_grammar::plan::{BoundStep, StatedCondition};
use cuebook_grammar::policy::{Denied, RegisteredAction};
use cuebook_grammar::seam::ActionHandler;
use serde_json::Value;

/// Bounds of what is done outside of the page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutsideOptions {
    /// The most bytes of an answer, of a file, and of each of a command's two outputs.
    pub max_bytes: usize,
    /// How long a step may take that does not say so itself.
    pub step_timeout: Duration,
    /// Where commands are looked for, as the variable `PATH` has it. Of the environment, a command sees this only.
    pub path: Option<OsString>,
}

impl Default for OutsideOptions {
    fn default() -> Self {
        Self { max_bytes: 1 << 20, step_timeout: Duration::from_secs(10), path: None }
    }
}

/// Carries out `fetch`, `readFile`, `writeFile` and `shell`.
///
/// ```
/// use cuebook_executor::{OutsideHandler, OutsideOptions};
/// use cuebook_grammar::deadline::Deadline;
/// use cuebook_grammar::id::PageId;
/// use cuebook_grammar::observation::Observation;
/// use cuebook_grammar::outcome::StepOutcome;
/// use cuebook_grammar::plan::{Author, PlanDraft};
/// use cuebook_grammar::policy::{Policy, PolicyFile};
/// use cuebook_grammar::profile::Profile;
/// use cuebook_grammar::seam::ActionHandler;
/// use std::time::{Duration, Instant};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let root = tempfile::tempdir()?;
/// std::fs::write(root.path().join("note.txt"), "Water the plants")?;
///
/// // What the operator opens: one profile, one directory.
/// let file = serde_json::json!({ "roots": { "read": [root.path()] } });
/// let policy = Policy::new(Profile::Unleashed).with_file(&PolicyFile::read(&file.to_string())?)?;
///
/// // What a plan wants.
/// let plan = r#"{ "version": "1.0", "steps": [{ "type": "readFile", "path": "note.txt" }] }"#;
/// let page = Observation::blank(PageId::new("none"), "about:blank");
/// let draft = PlanDraft::read(plan, Author::Operator).map_err(|mut v| v.remove(0))?;
/// let plan = draft.check(&page, &policy).map_err(|mut v| v.remove(0))?;
/// let step = plan.bind(0, &page).map_err(|mut v| v.remove(0))?;
///
/// let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
/// let deadline = Deadline::after(Instant::now(), Duration::from_secs(5));
/// let outcome = runtime.block_on(OutsideHandler::new(OutsideOptions::default()).handle(&step, deadline))?;
/// assert!(matches!(outcome, StepOutcome::Succeeded(done) if done.data == Some("Water the plants".into())));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct OutsideHandler {
    options: OutsideOptions,
}

impl OutsideHandler {
    /// A handler with these bounds.
    #[must_use]
    pub const fn new(options: OutsideOptions) -> Self {
        Self { options }
    }
}

impl ActionHandler for OutsideHandler {
    type Error = Infallible;

    /// None: the verbs that it carries out belong to the language.
    fn actions(&self) -> Vec<RegisteredAction> {
        Vec::new()
    }

    async fn handle(&mut self, step: &BoundStep, deadline: Deadline) -> Result<StepOutcome, Infallible> {
        let began = Instant::now();
        let until = deadline.within(began, step.timeout().unwrap_or(self.options.step_timeout)).instant();
        let limit = self.options.max_bytes;
        let done = match step.action() {
            Action::Fetch(action) => fetch::fetch(step.policy(), action, limit, until).await,
            Action::ReadFile(action) => files::read(step.policy(), action.path.as_str(), limit, until).await,
            Action::WriteFile(action) => {
                files::write(step.policy(), action.path.as_str(), action.content.as_str(), until).await
            }
            Action::Shell(action) => {
                shell::run(step.policy(), action.command.as_str(), self.options.path.as_deref(), limit, until).await
            }
            other => {
                let message =
                    format!("expected fetch, readFile, writeFile or shell, saw `{}`", other.kind().meta().name);
                failure(Cause::Unsupported, message)
            }
        };
        let took = u32::try_from(began.elapsed().as_millis()).unwrap_or(u32::MAX);
        // The check adds `anyEffect` only, and what is done here is an effect that no page shows.
        let events = EventFacts { any_effect: done.is_ok().then_some(true), ..EventFacts::default() };
        // Nothing of a page was seen, but a verdict is one on a moment.
        let facts = Facts { samples: vec![Sample::default()], events, ..Facts::default() };
        let judged = |stated: &StatedCondition| Judged {
            condition: stated.condition.clone(),
            verdict: stated.condition.evaluate(&facts),
            vacuous: false,
            default: stated.is_default,
            latency_ms: None,
        };
        let post: Vec<Judged> = step.post().iter().map(judged).collect();
        let evidence = Evidence {
            post_facts: (!post.is_empty()).then_some(facts),
            post,
            timings: Timings { act_ms: took, ..Timings::default() },
            ..Evidence::default()
        };
        Ok(match done {
            Ok(data) => StepOutcome::Succeeded(StepSuccess { evidence, data: Some(data), ..StepSuccess::default() }),
            Err(mut failure) => {
                failure.evidence = evidence;
                StepOutcome::Failed(failure)
            }
        })
    }
}

/// What a step outside of the page comes to.
type Done = Result<Value, Box<StepFailure>>;

fn failure<T>(cause: Cause, message: impl Into<String>) -> Result<T, Box<StepFailure>> {
    Err(Box::new(StepFailure::new(Stage::Act, cause, message)))
}

fn blocked(denied: Denied) -> Box<StepFailure> {
    let mut failure = StepFailure::new(Stage::Act, Cause::PolicyBlocked, denied.message);
    failure.facts.rule = Some(denied.rule);
    Box::new(failure)
}

fn out_of_time<T>() -> Result<T, Box<StepFailure>> {
    failure(Cause::DeadlineExceeded, "expected to be done before the deadline of the step")
}

/// Text as it is, other bytes in Base64.
fn told(bytes: Vec<u8>) -> Value {
    use base64::Engine as _;
    match String::from_utf8(bytes) {
        Ok(text) => Value::String(text),
        Err(error) => {
            let bytes = error.into_bytes();
            serde_json::json!({ "base64": base64::engine::general_purpose::STANDARD.encode(&bytes) })
        }
    }
}

/// Runs what blocks, until the deadline at most.
async fn blocking(until: Instant, work: impl FnOnce() -> Done + Send + 'static) -> Done {
    match tokio::time::timeout_at(until.into(), tokio::task::spawn_blocking(work)).await {
        Ok(Ok(done)) => done,
        Ok(Err(_)) => failure(Cause::Unsupported, "expected this to be possible, saw it break"),
        Err(_) => out_of_time(),
    }
}

#[cfg(test)]
mod tests;
