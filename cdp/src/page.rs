//! One tab: its sessions, frames, worlds, dialogs.

use std::time::Instant;

use crate::domain::{Domain, DomainGuard};
use crate::error::{CallError, PageError, WorldError};
use crate::events::{EventQueue, OpenDialog, PageEvents};
use crate::frames::Frame;
use crate::ids::{FrameId, TargetId};
use crate::session::Session;
use crate::world::World;

/// One tab. Cloning costs a reference count.
#[derive(Clone, Debug)]
pub struct Page {}

impl Page {
    /// The tab's target.
    #[must_use]
    pub fn target_id(&self) -> &TargetId {
        todo!()
    }

    /// The page's own session: its main frame and the frames in the same process.
    #[must_use]
    pub fn session(&self) -> &Session {
        todo!()
    }

    /// The page that opened it, unless it asked not to tell.
    #[must_use]
    pub fn opener(&self) -> Option<&TargetId> {
        todo!()
    }

    /// The main frame's URL.
    #[must_use]
    pub fn url(&self) -> String {
        todo!()
    }

    /// All frames, parents before children, across processes.
    #[must_use]
    pub fn frames(&self) -> Vec<Frame> {
        todo!()
    }

    /// One frame.
    #[must_use]
    pub fn frame(&self, id: &FrameId) -> Option<Frame> {
        let _ = id;
        todo!()
    }

    /// The main frame.
    #[must_use]
    pub fn main_frame(&self) -> Frame {
        todo!()
    }

    /// The page's session, then those of its out-of-process frames.
    #[must_use]
    pub fn sessions(&self) -> Vec<Session> {
        todo!()
    }

    /// The sessions of its dedicated workers.
    #[must_use]
    pub fn workers(&self) -> Vec<Session> {
        todo!()
    }

    /// Subscribes to the page's control events.
    #[must_use]
    pub fn events(&self) -> PageEvents {
        todo!()
    }

    /// Subscribes to raw events of all sessions of the page, present and future, workers included.
    #[must_use]
    pub fn session_events(&self, methods: &[&'static str], capacity: usize) -> EventQueue {
        let _ = (methods, capacity);
        todo!()
    }

    /// The dialog that is open now.
    #[must_use]
    pub fn dialog(&self) -> Option<OpenDialog> {
        todo!()
    }

    /// Whether the main frame's renderer crashed and has not been replaced.
    #[must_use]
    pub fn crashed(&self) -> bool {
        todo!()
    }

    /// Whether the page is gone.
    #[must_use]
    pub fn closed(&self) -> bool {
        todo!()
    }

    /// The one isolated world of ours in that frame's present document.
    ///
    /// # Errors
    /// [`WorldError`]
    pub async fn world(&self, frame: &FrameId, until: Instant) -> Result<World, WorldError> {
        let _ = (frame, until);
        todo!()
    }

    /// Runs a script in our world of every document, present and future, before the page's own scripts.
    ///
    /// # Errors
    /// [`CallError`] of the page's own session; frames that went away meanwhile do not count.
    pub async fn add_world_script(&self, source: &str, until: Instant) -> Result<(), CallError> {
        let _ = (source, until);
        todo!()
    }

    /// Keeps a domain enabled on all sessions, present and future, while the guard lives.
    #[must_use]
    pub fn require(&self, domain: Domain) -> DomainGuard {
        let _ = domain;
        todo!()
    }

    pub(crate) fn release(&self, domain: Domain) {
        let _ = domain;
        todo!()
    }

    /// Makes it the visible tab of its window.
    ///
    /// # Errors
    /// [`CallError`]
    pub async fn bring_to_front(&self, until: Instant) -> Result<(), CallError> {
        let _ = until;
        todo!()
    }

    /// Closes the tab without asking it, and waits until it is gone.
    ///
    /// # Errors
    /// [`PageError`]
    pub async fn close(&self, until: Instant) -> Result<(), PageError> {
        let _ = until;
        todo!()
    }
}
