//! The scripted engine: returns the plan of a file, once.
//!
//! Invariants:
//! - The author is the operator. After the plan was returned, only `finish` is left: each run needs its own engine.
//! - After a failed step there is no other plan, and the task is not finished. A plan that fails the check is returned
//!   again, and fails again.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use cuebook_decoding::read;
use cuebook_grammar::action::{Action, Finish};
use cuebook_grammar::deadline::Deadline;
use cuebook_grammar::plan::{Author, PlanDraft, Violation, Violations};
use cuebook_grammar::report::Usage;
use cuebook_grammar::seam::{PlanReply, PlanRequest, PlanSink, Planner};
use cuebook_grammar::step::Step;

/// Upper bound of a plan file in bytes.
const MAX_BYTES: u64 = 4 << 20;

/// Why a script cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScriptedError {
    /// The file cannot be read.
    #[error("the plan file cannot be read")]
    File(#[from] std::io::Error),
    /// The file is too large.
    #[error("the plan file has {0} bytes, more than {MAX_BYTES}")]
    TooLarge(u64),
    /// The text is not a plan.
    #[error("the plan is malformed: {} violations, the first: {}", .0.len(), first(.0))]
    Malformed(Violations),
}

fn first(violations: &[Violation]) -> String {
    violations.first().map(ToString::to_string).unwrap_or_default()
}

/// Returns one plan once, then `finish`.
#[derive(Debug)]
pub struct Scripted {
    draft: PlanDraft,
    is_spent: AtomicBool,
}

impl Scripted {
    /// An engine for a draft. Its author becomes the operator.
    #[must_use]
    pub fn new(mut draft: PlanDraft) -> Self {
        draft.author = Author::Operator;
        Self { draft, is_spent: AtomicBool::new(false) }
    }

    /// Reads the plan from text, in any form.
    ///
    /// # Errors
    /// [`ScriptedError::Malformed`] with every violation.
    pub fn from_text(text: &str) -> Result<Self, ScriptedError> {
        read::read(text, Author::Operator).map(Self::new).map_err(ScriptedError::Malformed)
    }

    /// Reads the plan from a file of at most 4 MiB.
    ///
    /// # Errors
    /// [`ScriptedError::File`], [`ScriptedError::TooLarge`], [`ScriptedError::Malformed`].
    pub fn from_file(path: &Path) -> Result<Self, ScriptedError> {
        let size = std::fs::metadata(path)?.len();
        if size > MAX_BYTES {
            return Err(ScriptedError::TooLarge(size));
        }
        Self::from_text(&std::fs::read_to_string(path)?)
    }

    /// The plan of the script, with the operator as author.
    #[must_use]
    pub const fn draft(&self) -> &PlanDraft {
        &self.draft
    }
}

impl Planner for Scripted {
    type Error = ScriptedError;

    async fn plan(
        &self,
        request: &PlanRequest<'_>,
        sink: &mut dyn PlanSink,
        _: Deadline,
    ) -> Result<PlanReply, ScriptedError> {
        let spent = if self.draft.check(request.observation, request.policy).is_ok() {
            self.is_spent.swap(true, Ordering::SeqCst)
        } else {
            self.is_spent.load(Ordering::SeqCst)
        };
        let usage = Usage { planner_calls: 1, ..Usage::default() };
        if spent && request.failure.is_some() {
            let note = Some("the script has no other way".to_owned());
            return Ok(PlanReply { usage, note, ..PlanReply::default() });
        }
        let draft = if spent {
            let finish = Action::Finish(Finish { result: None, from: None });
            PlanDraft::of(Author::Operator, vec![Step::from(finish)])
        } else {
            self.draft.clone()
        };
        for (index, step) in draft.steps.iter().enumerate() {
            sink.step_ready(0, index, step);
        }
        let note = Some(if spent { "the script is done" } else { "the script" }.to_owned());
        Ok(PlanReply { usage, note, ..PlanReply::of(draft) })
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use cuebook_grammar::action::ActionKind;
    use cuebook_grammar::observation::Observation;
    use cuebook_grammar::outcome::{Cause, Stage, StepFailure};
    use cuebook_grammar::policy::Policy;
    use cuebook_grammar::seam::IgnoreSteps;

    use super::*;

    fn ask(engine: &Scripted) -> PlanDraft {
        reply(engine, None).drafts.into_iter().next().unwrap()
    }

    fn reply(engine: &Scripted, failure: Option<&StepFailure>) -> PlanReply {
        let observation: Observation = serde_json::from_value(serde_json::json!({
            "schemaVersion": "1.0", "id": 1, "page": "p", "scope": "view", "url": "http://a.test/", "title": "",
            "viewport": { "width": 1.0, "height": 1.0, "scrollX": 0.0, "scrollY": 0.0, "pageWidth": 1.0, "pageHeight": 1.0, "devicePixelRatio": 1.0 },
            "frames": [], "candidates": [], "fingerprint": "0000000000000000"
        }))
        .unwrap();
        let policy = Policy::default();
        let request = PlanRequest { failure, ..PlanRequest::new("", &observation, &policy) };
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let deadline = Deadline::after(Instant::now(), Duration::from_secs(1));
        runtime.block_on(engine.plan(&request, &mut IgnoreSteps, deadline)).unwrap()
    }

    #[test]
    fn the_plan_is_returned_once_as_that_of_the_operator() {
        let text = r#"{"version": "1.0", "steps": [{"type": "reload"}]}"#;
        let engine = Scripted::from_text(text).unwrap();
        let first = ask(&engine);
        assert_eq!(first.author, Author::Operator);
        assert_eq!(first.steps[0].action.kind(), ActionKind::Reload);
        assert_eq!(ask(&engine).steps[0].action.kind(), ActionKind::Finish);
        assert_eq!(ask(&engine).steps[0].action.kind(), ActionKind::Finish);
    }

    #[test]
    fn a_script_with_a_failed_step_is_not_finished() {
        let engine = Scripted::from_text(r#"{"version": "1.0", "steps": [{"type": "reload"}]}"#).unwrap();
        ask(&engine);
        let failure = StepFailure::new(Stage::Postcondition, Cause::PostconditionFailed, "test");
        assert_eq!(reply(&engine, Some(&failure)).drafts, []);
    }

    #[test]
    fn a_script_that_fails_the_check_is_never_finished() {
        let engine =
            Scripted::from_text(r#"{"version": "1.0", "steps": [{"type": "click", "targetRef": "c9"}]}"#).unwrap();
        for _ in 0..3 {
            assert_eq!(ask(&engine).steps[0].action.kind(), ActionKind::Click);
        }
    }

    #[test]
    fn a_malformed_plan_is_rejected_with_every_violation() {
        let error = Scripted::from_text(r#"{"version": "1.0", "steps": [{"type": "x"}, {"type": "y"}]}"#).unwrap_err();
        let ScriptedError::Malformed(faults) = error else { panic!("{error}") };
        assert_eq!(faults.len(), 2);
    }

    #[test]
    fn a_plan_of_lines_is_a_script_too() {
        let kinds: Vec<ActionKind> = ask(&Scripted::from_text("reload()\ngoBack()").unwrap())
            .steps
            .iter()
            .map(|step| step.action.kind())
            .collect();
        assert_eq!(kinds, [ActionKind::Reload, ActionKind::GoBack]);
    }
}
