//! The frame tree of a page, across the processes that its frames live in.

use crate::ids::{DocumentId, FrameId};
use crate::session::Session;

/// A frame as it stood when it was asked for.
#[derive(Clone, Debug)]
pub struct Frame {
    /// Its id, the same in every process it moves through.
    pub id: FrameId,
    /// The frame that holds it; none for the main frame.
    pub parent: Option<FrameId>,
    /// The session that it answers on.
    pub session: Session,
    /// Its document's URL, fragment included.
    pub url: String,
    /// Its name attribute.
    pub name: String,
    /// Its document.
    pub document: DocumentId,
    /// Whether the session is this frame's own: the main frame, or an out-of-process frame.
    pub is_session_root: bool,
}
