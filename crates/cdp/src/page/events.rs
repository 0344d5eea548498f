//! The events of a page, and how a subscriber reads them.
//!
//! Two lanes: raw events of chosen methods through a queue whose capacity the subscriber chooses
//! ([`crate::EventQueue`]), and typed control events (frames, dialogs, sessions) through a lane that keeps 65,536
//! unread events. Invariant: neither lane drops an event silently. A full one reports how many it dropped, and the
//! state behind its events can be read again (`Page::frames`, `Page::dialog`).

use std::time::Instant;

use crate::protocol::browser_protocol::page::HandleJavaScriptDialogParams;

use crate::error::PageError;
use crate::ids::{DocumentId, FrameId};
use crate::queue::Events;
use crate::session::Session;

/// Event of one page.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum PageEvent {
    /// A frame was added to the page.
    FrameAttached {
        /// Frame that was added; its document has no id yet.
        frame: FrameId,
        /// The frame that holds it.
        parent: FrameId,
    },
    /// A frame has a new document.
    FrameNavigated {
        /// Frame whose document was replaced.
        frame: FrameId,
        /// Chrome's loader id of the new document.
        document: DocumentId,
        /// Where that came from, fragment included.
        url: String,
    },
    /// The URL changed without a new document: a fragment, or the history API.
    NavigatedWithinDocument {
        /// Frame that keeps its document.
        frame: FrameId,
        /// URL after the change, fragment included.
        url: String,
    },
    /// A page asked for another document in one of its frames: by a link, a form, a script. A new document may
    /// never come: the response may be a download or have no content, or another request may replace this one.
    NavigationRequested {
        /// Frame that is to get the document.
        frame: FrameId,
    },
    /// A frame stopped loading.
    LoadingStopped {
        /// Frame whose load ended or was aborted.
        frame: FrameId,
    },
    /// A frame was removed, or moved to another process.
    FrameDetached {
        /// Frame that was removed or moved; `kind` says which.
        frame: FrameId,
        /// Fate of the frame: removed, or moved to another process.
        kind: DetachKind,
    },
    /// A lifecycle mark of a document: `init`, `DOMContentLoaded`, `load`, `networkIdle`, ….
    Lifecycle {
        /// Frame that holds the document.
        frame: FrameId,
        /// Document that reached the mark.
        document: DocumentId,
        /// Chrome's name of the mark.
        name: String,
    },
    /// A JavaScript dialog opened; it blocks the page until it is answered.
    DialogOpening(OpenDialog),
    /// The dialog was answered, by us or by the browser.
    DialogClosed {
        /// `true` if the dialog was accepted.
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
        /// `true` if several files may be chosen.
        multiple: bool,
    },
    /// An out-of-process frame or a worker of the page has a session now.
    SessionAttached {
        /// Session of the frame or worker; see [`Session::kind`].
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

/// Fate of a frame that was detached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DetachKind {
    /// The frame is gone.
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
    /// `alert`: a message without a choice.
    Alert,
    /// `confirm`: a question with OK and Cancel.
    Confirm,
    /// `prompt`: a question that takes a text.
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
    /// Kind of the dialog: alert, confirm, prompt or `beforeunload`.
    pub kind: DialogKind,
    /// Text that the page shows in the dialog.
    pub message: String,
    /// The URL of the frame that opened it.
    pub url: String,
    /// Text that a prompt is filled with when it opens.
    pub default_prompt: String,
}

/// How to answer a dialog.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DialogAnswer {
    /// OK, Leave, and the text for a prompt.
    Accept {
        /// Text to put into a prompt; `None` keeps its default.
        text: Option<String>,
    },
    /// Cancel, or Stay in a `beforeunload` dialog; closes an `alert` like OK.
    Dismiss,
}

impl OpenDialog {
    /// Answers the dialog.
    ///
    /// # Errors
    /// [`PageError::Call`], with a protocol error when it was answered already.
    pub async fn answer(&self, answer: &DialogAnswer, until: Instant) -> Result<(), PageError> {
        let params = match answer {
            DialogAnswer::Accept { text } => {
                let prompt_text = text.clone().or_else(|| match self.kind {
                    DialogKind::Prompt => Some(self.default_prompt.clone()),
                    _ => None,
                });
                HandleJavaScriptDialogParams { accept: true, prompt_text }
            }
            DialogAnswer::Dismiss => HandleJavaScriptDialogParams::new(false),
        };
        self.session.request(params, until).await?;
        Ok(())
    }
}
