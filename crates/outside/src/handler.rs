//! The handler: dispatches a step to its verb, under the deadline of the step.

use std::convert::Infallible;
use std::ffi::OsString;
use std::time::{Duration, Instant};

use cuebook_grammar::Delivery;
use cuebook_grammar::action::Action;
use cuebook_grammar::deadline::Deadline;
use cuebook_grammar::outcome::{Cause, StepOutcome};
use cuebook_grammar::plan::BoundStep;
use cuebook_grammar::policy::RegisteredAction;
use cuebook_grammar::seam::ActionHandler;

use crate::done::{outcome, refused};
#[cfg(feature = "fetch")]
use crate::fetch;
use crate::{files, shell};

/// Bounds of the actions outside of the page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutsideOptions {
    /// Upper bound in bytes of a response, of a file, and of each of the two outputs of a command.
    pub max_bytes: usize,
    /// Timeout of a step that states none.
    pub step_timeout: Duration,
    /// The `PATH` that commands are searched in. It is the only environment variable that a command gets.
    pub path: Option<OsString>,
}

impl Default for OutsideOptions {
    fn default() -> Self {
        Self { max_bytes: 1 << 20, step_timeout: Duration::from_secs(10), path: None }
    }
}

/// Carries out `fetch`, `readFile`, `writeFile`, `shell`, and `call` where the policy names a program.
///
/// ```
/// use cuebook_outside::{OutsideHandler, OutsideOptions};
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
/// // The plan.
/// let plan = r#"{ "version": "1.0", "steps": [{ "type": "readFile", "path": "note.txt" }] }"#;
/// let page = Observation::blank(PageId::new("none"), "about:blank");
/// let draft = PlanDraft::read(plan, Author::Operator)?;
/// let plan = draft.check(&page, &policy)?;
/// let step = plan.bind(0, &page)?;
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

    /// Empty: the verbs of this handler belong to the language, and the policy registers what programs carry out.
    fn actions(&self) -> Vec<RegisteredAction> {
        Vec::new()
    }

    async fn handle(&mut self, step: &BoundStep, deadline: Deadline) -> Result<StepOutcome, Infallible> {
        let began = Instant::now();
        let until = deadline.within(began, step.timeout().unwrap_or(self.options.step_timeout)).instant();
        let limit = self.options.max_bytes;
        let done = match step.action() {
            #[cfg(feature = "fetch")]
            Action::Fetch(action) => fetch::fetch(step.policy(), action, limit, until).await,
            Action::ReadFile(action) => files::read(step.policy(), action.path.as_str(), limit, until).await,
            Action::WriteFile(action) => {
                files::write(step.policy(), action.path.as_str(), action.content.as_str(), until).await
            }
            Action::Shell(action) => {
                shell::run(step.policy(), action.command.as_str(), self.options.path.as_deref(), limit, until).await
            }
            Action::Call(action) => {
                shell::call(step.policy(), action, self.options.path.as_deref(), limit, until).await
            }
            other => {
                let message = format!("`{}` is not fetch, readFile, writeFile or shell", other.kind().meta().name);
                refused(Delivery::NotSent, Cause::Unsupported, message)
            }
        };
        Ok(outcome(step, done, began.elapsed()))
    }
}
