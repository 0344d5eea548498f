//! The life of a tab's sessions: set up, moved, crashed, closed.

use serde_json::json;

use super::events::PageEvent;
use super::state::{PageInner, announce};
use super::worlds::{ADD_BINDING, ADD_SCRIPT, NewDocumentScript, world_binding};
use crate::ids::FrameId;
use crate::session::{Session, SessionKind};

impl PageInner {
    /// Sends what a session needs from the start, except its release. Called once per session, before
    /// anything else is sent on it.
    pub(crate) fn set_up(&self, session: &Session) {
        let mut state = self.lock();
        match session.kind() {
            SessionKind::Worker => state.workers.push(session.clone()),
            _ => {
                if session.kind() == SessionKind::Frame {
                    state.sessions.push(session.clone());
                }
                for script in &state.scripts {
                    session.post(ADD_SCRIPT, &NewDocumentScript::new(script));
                }
            }
        }
        for domain in state.domains.keys() {
            if session.kind() != SessionKind::Worker || domain.covers_workers() {
                session.post(domain.enable(), &json!({}));
            }
        }
        for name in state.bindings.iter().filter(|_| session.kind() != SessionKind::Worker) {
            session.post(ADD_BINDING, &world_binding(name));
        }
        if session.kind() != SessionKind::Page {
            state.emit(&PageEvent::SessionAttached { session: session.clone() });
        }
    }

    /// An out-of-process frame has its own session.
    pub(crate) fn frame_moved(&self, id: &FrameId, parent: Option<&FrameId>, session: &Session) {
        let mut state = self.lock();
        let is_new = state.frames.moved_to(id, parent, session);
        state.worlds.remove(id);
        if is_new {
            announce(&mut state, id);
        }
    }

    /// Removes a session that is gone, and those below it, from the page; returns them all.
    pub(crate) fn take_sessions_below(&self, session: &Session) -> Vec<Session> {
        let mut state = self.lock();
        let mut taken = vec![session.clone()];
        let mut at = 0;
        while let Some(parent) = taken.get(at).cloned() {
            let below = |child: &Session| child.inner.parent.as_ref() == Some(&parent);
            let found = state.sessions.extract_if(.., |child| below(child)).collect::<Vec<_>>();
            taken.extend(found);
            let found = state.workers.extract_if(.., |child| below(child)).collect::<Vec<_>>();
            taken.extend(found);
            at += 1;
        }
        state.sessions.retain(|other| other != session);
        state.workers.retain(|other| other != session);
        if state.dialog.as_ref().is_some_and(|dialog| taken.contains(&dialog.session)) {
            state.dialog = None;
            state.emit(&PageEvent::DialogClosed { accepted: false });
        }
        let taken_ref = &taken;
        state.worlds.retain(|_, world| !taken_ref.contains(world.session()));
        taken
    }

    /// A frame's own session ended, and its parent's session has reported everything since. A frame that has not moved
    /// back is gone.
    pub(crate) fn frame_lost(&self, id: &FrameId, session: &Session) {
        let mut state = self.lock();
        if state.frames.get(id).is_some_and(|record| record.session == *session) {
            let removed = state.frames.removed(id);
            state.emit_removed(removed);
        }
    }

    pub(crate) fn crashed(&self, session: &Session) {
        let mut state = self.lock();
        if *session == self.session {
            state.is_crashed = true;
        }
        state.worlds.retain(|_, world| world.session() != session);
        if state.dialog.as_ref().is_some_and(|dialog| dialog.session == *session) {
            state.dialog = None;
        }
        state.emit(&PageEvent::Crashed { session: session.clone() });
    }

    pub(crate) fn revived(&self, session: &Session) {
        if *session == self.session {
            self.lock().is_crashed = false;
        }
    }

    /// Returns all sessions of the page, to be failed by the caller without the lock.
    pub(crate) fn close(&self) -> Vec<Session> {
        let mut state = self.lock();
        if std::mem::replace(&mut state.is_closed, true) {
            return Vec::new();
        }
        state.dialog = None;
        state.worlds.clear();
        state.emit(&PageEvent::Closed);
        state.lanes.close();
        for subscription in state.subscriptions.drain(..) {
            subscription.close();
        }
        let mut sessions = std::mem::take(&mut state.sessions);
        sessions.append(&mut state.workers);
        sessions.push(self.session.clone());
        sessions
    }
}
