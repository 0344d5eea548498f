//! The events of a page, and how a subscriber reads them.
//!
//! Two lanes: raw events of chosen methods through a queue whose capacity the subscriber chooses
//! ([`crate::EventQueue`]), and typed control events (frames, dialogs, sessions) through a lane that keeps 65,536
//! unread events. Invariant: neither lane drops an event silently. A full one reports how many it dropped, and the
//! state behind its events can be read again (`Page::frames`, `Page::dialog`).

use std::time::Instant;

use crate::error::PageError;
use crate::ids::{DocumentId, FrameId};
use crate::queue::Events;
use crate::session::Session;

/// What happens to a page.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum PageEvent {
    /// A frame appeared.
    FrameAttached {
        /// The frame.
        frame: FrameId,
        /// The frame that holds it.
        parent: FrameId,
    },
    /// A frame has a new document.
    FrameNavigated {
        /// The frame.
        frame: FrameId,
        /// Its new document.
        document: DocumentId,
        /// Where that came from, fragment included.
        url: String,
    },
    /// The URL changed without a new document: a fragment, or the history API.
    NavigatedWithinDocument {
        /// The frame.
        frame: FrameId,
        /// Its new URL.
        url: String,
    },
    /// A page asked for another document in one of its frames: by a link, a form, a script. A new document may
    /// never come: the response may be a download or have no content, or another request may replace this one.
    NavigationRequested {
        /// The frame.
        frame: FrameId,
    },
    /// A frame stopped loading.
    LoadingStopped {
        /// The frame.
        frame: FrameId,
    },
    /// A frame was removed, or moved to another process.
    FrameDetached {
        /// The frame.
        frame: FrameId,
        /// Whether it lives on.
        kind: DetachKind,
    },
    /// A lifecycle mark of a document: `init`, `DOMContentLoaded`, `load`, `networkIdle`, ….
    Lifecycle {
        /// The frame.
        frame: FrameId,
        /// The document.
        document: DocumentId,
        /// Chrome's name of the mark.
        name: String,
    },
    /// A JavaScript dialog opened; it blocks the page until it is answered.
    DialogOpening(OpenDialog),
    /// The dialog was answered, by us or by the browser.
    DialogClosed {
        /// Whether it was accepted.
        accepted: bool,
    },
    /// The page asked for files. The native chooser is suppressed; set them with `DOM.setFileInputFiles`.
    FileChooserOpened {
        /// The frame of the input.
        frame: FrameId,
        /// The session to use.
        session: Session,
        /// The input's backend node id; absent when the page used the file system API.
        backend_node_id: Option<i64>,
        /// Whether several files may be chosen.
        multiple: bool,
    },
    /// An out-of-process frame or a worker of the page has a session now.
    SessionAttached {
        /// The session.
        session: Session,
    },
    /// A renderer of the page crashed.
    Crashed {
        /// The session whose renderer it was: the page's own, or that of an out-of-process frame.
        session: Session,
    },
    /// The page is gone. Nothing follows.
    Closed,
    /// This many events were dropped here, because none was read in time: read the page's state again.
    Lagged(u64),
}

/// Whether a detached frame lives on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DetachKind {
    /// It is gone.
    Removed,
    /// It moves to another process and keeps its id.
    Swapped,
}

/// The control events of one page; `None` follows [`PageEvent::Closed`].
pub type PageEvents = Events<PageEvent>;

/// The kinds of JavaScript dialogs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DialogKind {
    /// `alert`
    Alert,
    /// `confirm`
    Confirm,
    /// `prompt`
    Prompt,
    /// The question before leaving a page.
    BeforeUnload,
}

impl DialogKind {
    pub(super) fn from_wire(kind: &str) -> Self {
        match kind {
            "confirm" => Self::Confirm,
            "prompt" => Self::Prompt,
            "beforeunload" => Self::BeforeUnload,
            _ => Self::Alert,
        }
    }
}

/// A dialog that waits for an answer.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct OpenDialog {
    /// The session that reported it, and that answers it.
    pub session: Session,
    /// What it is.
    pub kind: DialogKind,
    /// The page's text.
    pub message: String,
    /// The URL of the frame that opened it.
    pub url: String,
    /// What a prompt holds already.
    pub default_prompt: String,
}

/// How to answer a dialog.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DialogAnswer {
    /// OK, Leave, and the text for a prompt.
    Accept {
        /// What to put into a prompt; `None` keeps its default.
        text: Option<String>,
    },
    /// Cancel, Stay.
    Dismiss,
}

impl OpenDialog {
    /// Answers the dialog.
    ///
    /// # Errors
    /// [`PageError::Call`], with a protocol error when it was answered already.
    pub async fn answer(&self, answer: &DialogAnswer, until: Instant) -> Result<(), PageError> {
        #[derive(serde::Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Params<'a> {
            accept: bool,
            #[serde(skip_serializing_if = "Option::is_none")]
            prompt_text: Option<&'a str>,
        }
        let params = match answer {
            DialogAnswer::Accept { text } => {
                let text = text.as_deref().or(match self.kind {
                    DialogKind::Prompt => Some(self.default_prompt.as_str()),
                    _ => None,
                });
                Params { accept: true, prompt_text: text }
            }
            DialogAnswer::Dismiss => Params { accept: false, prompt_text: None },
        };
        self.session.call_raw("Page.handleJavaScriptDialog", params, until).await?;
        Ok(())
    }
}
