//! The verbs, one file for each kind.

mod click;
mod enter_text;
mod navigate;

use cuebook_grammar::action::Action;
use cuebook_grammar::id::PageId;
use cuebook_grammar::outcome::{Cause, Stage};
use cuebook_grammar::seam::{ArtifactSink, SecretSource};
use serde_json::Value;

use crate::error::ExecutorError;
use crate::run::Run;
use crate::stop::{Part, Stop, failed};

/// What an action brought.
#[derive(Debug, Default)]
pub(crate) struct Acted {
    /// What it read.
    pub(crate) data: Option<Value>,
    /// The tab that is current from now on.
    pub(crate) page: Option<PageId>,
}

impl Run<'_> {
    /// Carries the action out.
    pub(crate) async fn act<S: SecretSource, A: ArtifactSink>(&mut self, secrets: &S, _artifacts: &A) -> Part<Acted> {
        let nothing = |()| Acted::default();
        let step = self.step;
        match step.action() {
            Action::Navigate(action) => self.navigate(&action.url).await.map(nothing),
            Action::Click(action) => self.click(action).await.map(nothing),
            Action::Type(action) => self.type_text(action, secrets).await.map(nothing),
            other if other.kind().meta().owner == cuebook_grammar::action::Owner::Executor => failed(
                Stage::Act,
                Cause::Unsupported,
                format!("expected an action that this executor knows, saw `{}`", other.kind().meta().name),
            ),
            other => Err(Stop::Broken(ExecutorError::NotOurs { kind: other.kind() })),
        }
    }
}
