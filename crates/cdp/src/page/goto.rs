//! Going to a URL and waiting for its document.

use std::time::Instant;

use crate::protocol::browser_protocol::page::NavigateParams;
use serde::Deserialize;

use super::events::{PageEvent, PageEvents};
use super::tab::Page;
use crate::error::{CallError, GoneReason};
use crate::ids::DocumentId;

/// How far a navigation must have come before [`Page::goto`] returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum WaitUntil {
    /// The new document replaced the old one.
    Commit,
    /// It is parsed to its end.
    DomContentLoaded,
    /// Its pictures, styles and frames are loaded too.
    Load,
}

impl WaitUntil {
    /// Returns `true` if a lifecycle event, by Chrome's name, means this point or a later one.
    fn is_reached_by(self, name: &str) -> bool {
        match self {
            Self::Commit => true,
            Self::DomContentLoaded => matches!(name, "DOMContentLoaded" | "load"),
            Self::Load => name == "load",
        }
    }
}

impl std::fmt::Display for WaitUntil {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Commit => "commit",
            Self::DomContentLoaded => "DOMContentLoaded",
            Self::Load => "load",
        })
    }
}

/// Where a navigation ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Navigated {
    /// In a new document: the URL's, or the one that it redirected to by itself.
    NewDocument(DocumentId),
    /// In the document that was there: only the fragment differs. Nothing is waited for.
    SameDocument,
}

/// Why a navigation did not come as far as requested.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GotoError {
    /// Chrome does not parse the URL; nothing was requested.
    #[error("{url:?} is not an absolute URL")]
    InvalidUrl {
        /// The URL as given.
        url: String,
    },
    /// The network, the server or the browser refused: no such host, a closed port, a download instead of a document.
    #[error("the navigation failed: {error_text}")]
    Refused {
        /// Chrome's name of the error: `net::ERR_CONNECTION_REFUSED`.
        error_text: String,
    },
    /// The deadline passed. The page may still be loading.
    #[error("the page did not reach {waited_for} before the deadline")]
    TimedOut {
        /// The first point that was not reached.
        waited_for: WaitUntil,
    },
    /// The page was closed, its renderer crashed, or the browser went away.
    #[error("the page went away while it was navigated: {reason}")]
    SessionClosed {
        /// Page closed, renderer crashed or browser gone.
        reason: GoneReason,
    },
    /// The command failed otherwise.
    #[error(transparent)]
    Call(CallError),
}

impl GotoError {
    fn of(error: CallError, url: &str) -> Self {
        match error {
            CallError::DeadlineExceeded { .. } => Self::TimedOut { waited_for: WaitUntil::Commit },
            CallError::SessionGone { reason, .. } => Self::SessionClosed { reason },
            // Chrome has no code for it (verified on Chromium 156).
            CallError::Protocol { message, .. } if message.contains("invalid URL") => {
                Self::InvalidUrl { url: url.to_owned() }
            }
            error => Self::Call(error),
        }
    }
}

impl Page {
    /// Navigates the main frame and waits until its document has come as far as `wait`. If the page redirects itself
    /// meanwhile, the document that it leads to counts. A response with an error status is a document like any other.
    ///
    /// ```no_run
    /// # async fn example(page: cuebook_cdp::Page, until: std::time::Instant) -> Result<(), cuebook_cdp::GotoError> {
    /// use cuebook_cdp::WaitUntil;
    ///
    /// page.goto("https://example.com/", WaitUntil::Load, until).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`GotoError`]
    pub async fn goto(&self, url: &str, wait: WaitUntil, until: Instant) -> Result<Navigated, GotoError> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Reply {
            #[serde(default)]
            loader_id: Option<DocumentId>,
            #[serde(default)]
            error_text: Option<String>,
        }
        // Before the command: its events may arrive together with its reply.
        let events = self.events();
        let reply = self.session().request(NavigateParams::new(url), until).await;
        let reply: Reply = reply.and_then(|reply| reply.parse()).map_err(|error| GotoError::of(error, url))?;
        if let Some(error_text) = reply.error_text.filter(|text| !text.is_empty()) {
            return Err(GotoError::Refused { error_text });
        }
        let Some(document) = reply.loader_id else { return Ok(Navigated::SameDocument) };
        let mut arrival = Arrival { document, is_committed: false };
        match tokio::time::timeout_at(until.into(), arrival.reach(wait, self, events)).await {
            Ok(Ok(())) => Ok(Navigated::NewDocument(arrival.document)),
            Ok(Err(reason)) => Err(GotoError::SessionClosed { reason }),
            Err(_) => {
                Err(GotoError::TimedOut { waited_for: if arrival.is_committed { wait } else { WaitUntil::Commit } })
            }
        }
    }
}

/// A document on its way to the main frame.
struct Arrival {
    document: DocumentId,
    is_committed: bool,
}

impl Arrival {
    async fn reach(&mut self, wait: WaitUntil, page: &Page, mut events: PageEvents) -> Result<(), GoneReason> {
        let main = page.main_frame().id;
        while let Some(event) = events.next().await {
            match event {
                PageEvent::FrameNavigated { frame, document, .. }
                    if frame == main && (document == self.document || self.is_committed) =>
                {
                    self.document = document;
                    self.is_committed = true;
                    if wait == WaitUntil::Commit {
                        return Ok(());
                    }
                }
                PageEvent::Lifecycle { frame, document, name }
                    if frame == main && document == self.document && self.is_committed && wait.is_reached_by(&name) =>
                {
                    return Ok(());
                }
                PageEvent::Crashed { session } if session == *page.session() => return Err(GoneReason::Crashed),
                _ => {}
            }
        }
        Err(page.session().gone().unwrap_or(GoneReason::Detached))
    }
}
