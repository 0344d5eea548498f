//! State of a tab, behind one lock.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::events::{DetachKind, OpenDialog, PageEvent};
use crate::domain::Domain;
use crate::frames::FrameTree;
use crate::ids::{FrameId, TargetId};
use crate::message::Text;
use crate::queue::Lanes;
use crate::session::{Session, Subscription, publish};
use crate::world::World;

pub(crate) struct PageInner {
    pub(super) target: TargetId,
    pub(super) session: Session,
    /// The browser's own session.
    pub(super) root: Session,
    pub(super) opener: Option<TargetId>,
    /// The browser context, where the browser says it.
    pub(crate) context: Option<String>,
    pub(super) state: Mutex<PageState>,
}

pub(super) struct PageState {
    pub(super) frames: FrameTree<Session>,
    /// Sessions of out-of-process frames; the page's own is in [`PageInner`].
    pub(super) sessions: Vec<Session>,
    pub(super) workers: Vec<Session>,
    pub(super) worlds: HashMap<FrameId, World>,
    pub(super) scripts: Vec<Arc<str>>,
    pub(super) bindings: Vec<Arc<str>>,
    pub(super) domains: HashMap<Domain, usize>,
    pub(super) dialog: Option<OpenDialog>,
    pub(super) is_ready: bool,
    pub(super) is_crashed: bool,
    pub(super) is_closed: bool,
    pub(super) lanes: Lanes<PageEvent>,
    pub(super) subscriptions: Vec<Subscription>,
}

impl PageState {
    pub(super) fn emit(&mut self, event: &PageEvent) {
        self.lanes.emit(event);
    }

    pub(super) fn emit_removed(&mut self, frames: Vec<FrameId>) {
        for frame in frames {
            self.worlds.remove(&frame);
            self.emit(&PageEvent::FrameDetached { frame, kind: DetachKind::Removed });
        }
    }
}

impl PageInner {
    pub(super) fn lock(&self) -> MutexGuard<'_, PageState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn is_listed(&self) -> bool {
        let state = self.lock();
        state.is_ready && !state.is_closed
    }

    /// Returns whether this was the first time.
    pub(crate) fn mark_ready(&self) -> bool {
        let mut state = self.lock();
        !state.is_closed && !std::mem::replace(&mut state.is_ready, true)
    }

    pub(crate) fn main_session(&self) -> &Session {
        &self.session
    }

    pub(crate) fn publish(&self, session: &Session, method: &str, params: &Text) {
        let mut state = self.lock();
        if !state.subscriptions.is_empty() {
            publish(&mut state.subscriptions, session, method, params);
        }
    }
}

/// Emits the attachment of a frame that no `Page.frameAttached` reported.
pub(super) fn announce(state: &mut PageState, id: &FrameId) {
    if let Some(parent) = state.frames.get(id).and_then(|record| record.parent.clone()) {
        state.emit(&PageEvent::FrameAttached { frame: id.clone(), parent });
    }
}
