//! What breaks the machinery. Whatever a page or a browser may do is an outcome, not an error.

use std::error::Error;

use cuebook_cdp::CallError;
use cuebook_grammar::action::ActionKind;
use cuebook_probe::ProbeError;

/// Why a step has no outcome.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExecutorError {
    /// Our script and this program do not agree.
    #[error("the page could not be asked")]
    Probe(#[source] ProbeError),
    /// The browser refused a command that it should know.
    #[error("the browser refused a command")]
    Wire(#[source] CallError),
    /// A picture could not be stored.
    #[error("an artifact could not be stored")]
    Artifact(#[source] Box<dyn Error + Send + Sync>),
    /// A verb that belongs to another layer.
    #[error("expected an action of the executor, saw `{}`", kind.meta().name)]
    NotOurs {
        /// The verb.
        kind: ActionKind,
    },
}
