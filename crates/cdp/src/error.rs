//! Errors of the wire, as types.
//!
//! Invariant: no message holds a command's parameters, because those of `Input.*` may be secrets.

use std::borrow::Cow;
use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;

/// Why a session no longer answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum GoneReason {
    /// The target was closed, navigated to another process, or was detached from.
    Detached,
    /// The target's renderer crashed. A page's session answers again after it is navigated or reloaded.
    Crashed,
    /// The browser exited, or the connection to it broke.
    BrowserGone,
}

impl std::fmt::Display for GoneReason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Detached => "target detached",
            Self::Crashed => "renderer crashed",
            Self::BrowserGone => "browser gone",
        })
    }
}

/// How one command failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// Chrome returned an error.
    #[error("{method} returned error {code}: {message}")]
    Protocol {
        /// Protocol method of the command, such as `Page.navigate`.
        method: Cow<'static, str>,
        /// The JSON-RPC code, mostly -32000 or -32602.
        code: i64,
        /// Chrome's text, which may change between its versions.
        message: String,
    },
    /// The session went away before the reply came, or was gone already.
    #[error("{method} has no session: {reason}")]
    SessionGone {
        /// Protocol method of the command, such as `Page.navigate`.
        method: Cow<'static, str>,
        /// Why the session is gone; it may answer again only after [`GoneReason::Crashed`].
        reason: GoneReason,
    },
    /// The deadline passed. Chrome may still carry the command out.
    #[error("{method} was not answered before its deadline")]
    DeadlineExceeded {
        /// Protocol method of the command, such as `Page.navigate`.
        method: Cow<'static, str>,
    },
    /// The message is larger than Chrome survives; it was not sent.
    #[error("{method} is too large: {bytes} bytes are more than the limit of {limit}")]
    TooLarge {
        /// Protocol method of the command, such as `Page.navigate`.
        method: Cow<'static, str>,
        /// Bytes of the message, or of all messages waiting to be sent.
        bytes: usize,
        /// Upper bound in bytes: 64 MiB for one message, 256 MiB for all that wait.
        limit: usize,
    },
    /// The parameters do not serialise; nothing was sent.
    #[error("parameters of {method} do not serialise")]
    Encode {
        /// Protocol method of the command, such as `Page.navigate`.
        method: Cow<'static, str>,
        /// Error raised by a parameter's `Serialize` implementation.
        #[source]
        source: serde_json::Error,
    },
    /// The reply is not of the expected shape. The session lives on.
    #[error("reply to {method} does not decode")]
    Decode {
        /// The command or event.
        method: Cow<'static, str>,
        /// Line and column in the JSON, and the mismatch found there.
        #[source]
        source: serde_json::Error,
    },
}

impl CallError {
    /// The command that failed.
    #[must_use]
    pub fn method(&self) -> &str {
        match self {
            Self::Protocol { method, .. }
            | Self::SessionGone { method, .. }
            | Self::DeadlineExceeded { method }
            | Self::TooLarge { method, .. }
            | Self::Encode { method, .. }
            | Self::Decode { method, .. } => method,
        }
    }

    /// Why the session is gone, if that is what happened.
    #[must_use]
    pub fn gone(&self) -> Option<GoneReason> {
        match self {
            Self::SessionGone { reason, .. } => Some(*reason),
            _ => None,
        }
    }
}

/// Why Chrome did not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LaunchError {
    /// The profile to copy cannot be read.
    #[error("the profile {} cannot be copied: {source}", .original.display())]
    CopiedProfile {
        /// The user data directory.
        original: PathBuf,
        /// Failure of the system.
        source: std::io::Error,
    },
    /// The profile directory could not be made.
    #[error("expected to create a profile under {root}")]
    Profile {
        /// The directory asked for.
        root: std::path::PathBuf,
        /// I/O error from creating the directory or its lock.
        #[source]
        source: io::Error,
    },
    /// Traffic would leave the browser past its proxy.
    #[error("{argument} leads past the proxy; leave it out, or set no proxy")]
    PastProxy {
        /// First argument of `extra_args` that would undo the containment.
        argument: String,
    },
    /// The binary could not be started.
    #[error("expected to start {binary}")]
    Spawn {
        /// Path of the binary, as it was found.
        binary: std::path::PathBuf,
        /// I/O error from starting the process.
        #[source]
        source: io::Error,
    },
    /// Chrome exited before it answered.
    #[error("chrome exited before it answered ({status}): {stderr}")]
    Exited {
        /// Exit code, or the signal that ended it.
        status: ExitStatus,
        /// The end of what it wrote to standard error.
        stderr: String,
    },
    /// Chrome did not answer in time; it was killed.
    #[error("expected chrome to answer before the deadline: {stderr}")]
    DeadlineExceeded {
        /// The end of what it wrote to standard error.
        stderr: String,
    },
    /// The connection could not be made.
    #[error("expected a connection to the started chrome")]
    Connect(#[source] AttachError),
    /// One of the first commands failed.
    #[error("chrome refused a set-up command: {stderr}")]
    Setup {
        /// The end of what it wrote to standard error.
        stderr: String,
        /// Error of the command that failed; it names the method.
        #[source]
        source: CallError,
    },
    /// This transport does not exist on this system.
    #[error("the pipe transport needs a Unix system")]
    PipeUnsupported,
    /// A websocket in a network namespace cannot be reached from outside.
    #[error("a browser in a network namespace needs the pipe transport, not a websocket")]
    PipeNeeded,
}

/// Why a running browser could not be attached to.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AttachError {
    /// Not an `http://` or `ws://` address.
    #[error("{endpoint:?} is not an http:// or ws:// endpoint")]
    InvalidEndpoint {
        /// The endpoint as given.
        endpoint: String,
    },
    /// Nothing answers there, or not in the expected way.
    #[error("expected a browser at {endpoint}")]
    Unreachable {
        /// The endpoint as given.
        endpoint: String,
        /// I/O error from the connection or the HTTP request.
        #[source]
        source: io::Error,
    },
    /// `/json/version` returned no websocket address.
    #[error("/json/version of {endpoint} names no websocket (HTTP status {status})")]
    NotABrowser {
        /// The endpoint as given.
        endpoint: String,
        /// The HTTP status; 0 if there was none.
        status: u16,
    },
    /// The websocket handshake failed.
    #[error("expected a websocket at {endpoint}")]
    WebSocket {
        /// The endpoint as given.
        endpoint: String,
        /// Error from the TCP connection, TLS or the HTTP upgrade.
        #[source]
        source: Box<tokio_tungstenite::tungstenite::Error>,
    },
    /// `/json/version` or the websocket handshake did not end before the deadline.
    #[error("{endpoint} did not answer before the deadline")]
    DeadlineExceeded {
        /// The endpoint as given.
        endpoint: String,
    },
    /// The tab that was to be handed over cannot be identified. The other tabs are none of our business: they are
    /// counted only.
    #[error("{wanted:?} is in the title or URL of {matching} among {open} open tabs, not of one")]
    NoSuchTab {
        /// Title, URL or part of one that the user named.
        wanted: String,
        /// How many tabs match.
        matching: usize,
        /// How many tabs are open.
        open: usize,
    },
    /// One of the first commands failed.
    #[error("the browser refused a set-up command")]
    Setup(#[source] CallError),
}

/// Why a page could not be opened or was not found.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PageError {
    /// A command failed: refused by the browser, or left without an answer.
    #[error(transparent)]
    Call(#[from] CallError),
    /// The new page was closed, or crashed, before it was ready.
    #[error("the new page went away before it was ready")]
    Gone,
    /// The new page was not ready in time.
    #[error("the new page was not ready before the deadline")]
    DeadlineExceeded,
    /// The page was still there at the deadline, though the browser had agreed to close it.
    #[error("the page was not closed before the deadline")]
    NotClosed,
    /// No dialog is open.
    #[error("no dialog is open")]
    NoDialog,
}

/// Why a function of ours did not run in a frame.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorldError {
    /// The frame navigated or was removed; ask [`crate::Page::world`] again, for the new document.
    #[error("the document of this world is gone")]
    ContextGone,
    /// The page has no such frame.
    #[error("the page has no such frame")]
    FrameGone,
    /// The node does not exist any more, or belongs to another document.
    #[error("the node is gone")]
    NodeGone,
    /// Our script threw, or its promise was rejected.
    #[error("script threw: {text}")]
    Exception {
        /// The exception's description, at most 2,000 characters.
        text: String,
    },
    /// The command failed otherwise.
    #[error(transparent)]
    Call(#[from] CallError),
}
