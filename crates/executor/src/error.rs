//! Errors of the machinery. What a page or a browser does is an outcome, not an error.

use std::error::Error;

use cuebook_cdp::CallError;
use cuebook_grammar::action::ActionKind;
use cuebook_probe::ProbeError;

/// Why a step has no outcome.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExecutorError {
    /// The script in the page and this program do not match.
    #[error("a script call into the page failed")]
    Probe(#[source] ProbeError),
    /// The browser refused a command that it should know.
    #[error("the browser refused a command")]
    Wire(#[source] CallError),
    /// A picture could not be stored.
    #[error("an artifact could not be stored")]
    Artifact(#[source] Box<dyn Error + Send + Sync>),
    /// The verb belongs to another layer.
    #[error("`{}` is not an action of the executor", kind.meta().name)]
    NotOurs {
        /// Verb of the action that was refused.
        kind: ActionKind,
    },
}
