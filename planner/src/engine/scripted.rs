//! The scripted engine: a plan that a person wrote, handed out once.
//!
//! Invariant: its author is the operator, and after it was handed out only `finish` is left. The same
//! script drives one run; a second run needs a second engine.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use cuebook_grammar::action::{Action, Finish};
use cuebook_grammar::deadline::Deadline;
use cuebook_grammar::plan::{Author, PlanDraft, Violation};
use cuebook_grammar::report::Usage;
use cuebook_grammar::seam::{PlanReply, PlanRequest, PlanSink, Planner};
use cuebook_grammar::step::Step;

/// The largest plan file that is read, in bytes.
const MAX_BYTES: u64 = 4 << 20;

/// Why a script cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScriptedError {
    /// The file cannot be read.
    #[error("the plan file cannot be read")]
    File(#[from] std::io::Error),
    /// The file is too large to be a plan.
    #[error("expected a plan file of at most {MAX_BYTES} bytes, saw {0}")]
    TooLarge(u64),
    /// The text is no plan; every fault of its form.
    #[error("expected a plan, saw {} faults of form, the first: {}", .0.len(), first(.0))]
    Malformed(Vec<Violation>),
}

fn first(violations: &[Violation]) -> String {
    violations.first().map(ToString::to_string).unwrap_or_default()
}

/// Hands out one plan.
#[derive(Debug)]
pub struct Scripted {
    draft: PlanDraft,
    is_spent: AtomicBool,
}

impl Scripted {
    /// An engine for a draft that is at hand; its author becomes the operator.
    #[must_use]
    pub fn new(mut draft: PlanDraft) -> Self {
        draft.author = Author::Operator;
        Self { draft, is_spent: AtomicBool::new(false) }
    }

    /// Reads the plan from text.
    ///
    /// # Errors
    /// [`ScriptedError::Malformed`] with everything that is wrong with its form.
    pub fn from_text(text: &str) -> Result<Self, ScriptedError> {
        PlanDraft::read(text, Author::Operator).map(Self::new).map_err(ScriptedError::Malformed)
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

    /// The plan.
    #[must_use]
    pub const fn draft(&self) -> &PlanDraft {
        &self.draft
    }
}

impl Planner for Scripted {
    type Error = ScriptedError;

    async fn plan(
        &self,
        _: &PlanRequest<'_>,
        sink: &mut dyn PlanSink,
        _: Deadline,
    ) -> Result<PlanReply, ScriptedError> {
        let spent = self.is_spent.swap(true, Ordering::SeqCst);
        let draft = if spent {
            let finish = Action::Finish(Finish { result: None });
            PlanDraft::of(Author::Operator, vec![Step::from(finish)])
        } else {
            self.draft.clone()
        };
        for (index, step) in draft.steps.iter().enumerate() {
            sink.step_ready(0, index, step);
        }
        let note = Some(if spent { "the script is done" } else { "the script" }.to_owned());
        Ok(PlanReply { drafts: vec![draft], usage: Usage { planner_calls: 1, ..Usage::default() }, note })
    }
}
