//! What can keep an agent from being built, from looking, or from closing.

use cuebook_cdp::{AttachError, CallError, DiscoverError, LaunchError, PageError};
use cuebook_grammar::policy::Denied;
use cuebook_grammar::seam::boxed::BoxError;

/// Why there is no agent, or no observation. What a page, a model or a plan does wrong is in the report instead.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AgentError {
    /// No browser was found.
    #[error("{0}; install Chrome or Chromium, set $CHROME, or give the builder a browser")]
    NoBrowser(#[source] DiscoverError),
    /// The browser did not start.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// The endpoint is no browser that can be used.
    #[error(transparent)]
    Attach(#[from] AttachError),
    /// The browser opened no tab, or did not close it.
    #[error(transparent)]
    Tab(#[from] PageError),
    /// The browser did not close in time, and was killed.
    #[error(transparent)]
    Close(#[from] CallError),
    /// The operating system gives no random bytes.
    #[error("the system gives no random bytes: {0}")]
    NoRandomness(#[source] std::io::Error),
    /// The policy does not let the agent start there.
    #[error(transparent)]
    Denied(#[from] Denied),
    /// A layer broke.
    #[error(transparent)]
    Layer(#[from] BoxError),
}
