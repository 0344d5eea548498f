//! Errors of building, observing and closing.

use std::path::PathBuf;

use cuebook_cdp::{
    AttachError, CallError, DiscoverError, EmulationError, GotoError, LaunchError, PageError, WorldError,
};
use cuebook_grammar::policy::Denied;
use cuebook_grammar::seam::boxed::BoxError;

use crate::egress::Uncontained;

/// Why an agent cannot be built, observe or close. Faults of pages, models and plans are in the report instead.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AgentError {
    /// An option of the builder would have no effect.
    #[error("the option `{option}` cannot be used: {reason}")]
    UnusableOption {
        /// Name of the builder's method.
        option: &'static str,
        /// Statement about what it contradicts.
        reason: &'static str,
    },
    /// Cookies and local storage could not be restored.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// No browser was found.
    #[error("{0}; install Chrome or Chromium, set $CHROME, or give the builder a browser")]
    NoBrowser(#[source] DiscoverError),
    /// The browser did not start.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// The browser reaches the network past its proxy, or could not prove that it does not. It was ended.
    #[error("the browser is not contained: {0}")]
    Uncontained(#[from] Uncontained),
    /// The endpoint is not a usable browser.
    #[error(transparent)]
    Attach(#[from] AttachError),
    /// A tab cannot be opened or closed.
    #[error(transparent)]
    Tab(#[from] PageError),
    /// The pages cannot be given these settings.
    #[error(transparent)]
    Emulation(#[from] EmulationError),
    /// The browser refused a permission, or to print.
    #[error("the browser refused: {0}")]
    Refused(#[source] CallError),
    /// The browser did not close in time, and was killed.
    #[error(transparent)]
    Close(#[from] CallError),
    /// The operating system has no random bytes.
    #[error("the system has no random bytes: {0}")]
    NoRandomness(#[source] std::io::Error),
    /// The policy denies the page to start on.
    #[error(transparent)]
    Denied(#[from] Denied),
    /// A layer returned an error, as opposed to a step that failed.
    #[error(transparent)]
    Layer(#[from] BoxError),
}

/// Why cookies and local storage cannot be read, written or restored.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StorageError {
    /// The file cannot be read or written.
    #[error("{}", .path.display())]
    File {
        /// Path of the file, as given.
        path: PathBuf,
        /// Failure of the system.
        source: std::io::Error,
    },
    /// The file is not a storage state. The parser's own words are left out: they quote values.
    #[error("{}, line {line}, column {column}: no storage state of Playwright's form", .path.display())]
    Malformed {
        /// Path of the file, as given.
        path: PathBuf,
        /// 1-based line of what does not fit.
        line: usize,
        /// 1-based column of what does not fit.
        column: usize,
    },
    /// An entry names an origin that no page can have.
    #[error("{origin:?} is not the origin of a page: write https://host or https://host:port")]
    Origin {
        /// Origin, as the file has it.
        origin: String,
    },
    /// Every layer that needs a browser was replaced.
    #[error("there is no browser whose storage could be kept")]
    NoBrowser,
    /// The tab was handed over: the cookies are those of the person who uses the browser.
    #[error("the storage of a browser that a person uses is not read or written")]
    HandedOver,
    /// The tab cannot be opened or is gone.
    #[error(transparent)]
    Tab(#[from] PageError),
    /// The browser refused a cookie.
    #[error("the cookie {name:?} of {domain:?} cannot be set")]
    Cookie {
        /// Name, as the file has it.
        name: String,
        /// Domain, as the file has it.
        domain: String,
        /// Answer of the browser.
        source: CallError,
    },
    /// The browser refused a command.
    #[error(transparent)]
    Call(#[from] CallError),
    /// The page of an origin cannot be made.
    #[error(transparent)]
    Goto(#[from] GotoError),
    /// The local storage of an origin cannot be reached.
    #[error(transparent)]
    World(#[from] WorldError),
}
