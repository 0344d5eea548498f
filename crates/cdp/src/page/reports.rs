//! Chrome's reports of a tab, and the changes that they make to its state.

use serde::Deserialize;

use super::events::{DetachKind, DialogKind, OpenDialog, PageEvent};
use super::state::{PageInner, announce};
use crate::frames::Report;
use crate::ids::{DocumentId, FrameId};
use crate::message::{RawReply, Text};
use crate::session::Session;

impl PageInner {
    /// The reply to `Page.getFrameTree`.
    pub(crate) fn frame_tree(&self, reply: &RawReply, session: &Session) {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Reply {
            frame_tree: Tree,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Tree {
            frame: WireFrame,
            #[serde(default)]
            child_frames: Vec<Tree>,
        }
        let Ok(Reply { frame_tree }) = reply.parse::<Reply>() else {
            tracing::debug!("expected a frame tree of fewer than 100 levels");
            return;
        };
        let mut state = self.lock();
        let mut trees = vec![frame_tree];
        while let Some(tree) = trees.pop() {
            let id = tree.frame.id.clone();
            if state.frames.described(tree.frame.report(&id), session) {
                announce(&mut state, &id);
            }
            trees.extend(tree.child_frames.into_iter().rev());
        }
    }

    /// An event of the Page domain that changes what is known of the page.
    pub(crate) fn page_event(&self, session: &Session, method: &str, params: &Text) {
        let handled = match method {
            "Page.frameAttached" => params.parse().map(|event| self.frame_attached(session, &event)),
            "Page.frameNavigated" => params.parse().map(|event| self.frame_navigated(session, event)),
            "Page.navigatedWithinDocument" => params.parse().map(|event| self.within_document(session, event)),
            "Page.frameRequestedNavigation" => params.parse().map(|event| self.navigation_requested(event)),
            "Page.frameStoppedLoading" => params.parse().map(|event: StoppedLoading| {
                self.lock().emit(&PageEvent::LoadingStopped { frame: event.frame_id });
            }),
            "Page.frameDetached" => params.parse().map(|event| self.frame_detached(session, &event)),
            "Page.lifecycleEvent" => params.parse().map(|event| self.lifecycle(session, event)),
            "Page.javascriptDialogOpening" => params.parse().map(|event| self.dialog_opening(session, event)),
            "Page.javascriptDialogClosed" => params.parse().map(|event| self.dialog_closed(&event)),
            "Page.fileChooserOpened" => params.parse().map(|event| self.file_chooser(session, event)),
            _ => Ok(()),
        };
        if let Err(error) = handled {
            tracing::debug!(method, %error, "control event does not decode");
        }
    }

    fn frame_attached(&self, session: &Session, event: &FrameAttached) {
        let mut state = self.lock();
        let (frame, parent) = (&event.frame_id, &event.parent_frame_id);
        if state.frames.attached(frame, parent, session) {
            state.emit(&PageEvent::FrameAttached { frame: frame.clone(), parent: parent.clone() });
        } else {
            state.worlds.remove(frame);
        }
    }

    fn frame_navigated(&self, session: &Session, event: FrameNavigated) {
        let mut state = self.lock();
        let id = event.frame.id.clone();
        let is_new = state.frames.get(&id).is_none();
        let report = event.frame.report(&id);
        let (document, url) = (report.document.clone(), report.url.clone());
        let Some(removed) = state.frames.navigated(report, session, |other| other.gone().is_some()) else {
            return;
        };
        if is_new {
            announce(&mut state, &id);
        }
        state.worlds.remove(&id);
        state.emit_removed(removed);
        state.emit(&PageEvent::FrameNavigated { frame: id, document, url });
    }

    fn navigation_requested(&self, event: RequestedNavigation) {
        if event.disposition == "currentTab" {
            self.lock().emit(&PageEvent::NavigationRequested { frame: event.frame_id });
        }
    }

    fn within_document(&self, session: &Session, event: WithinDocument) {
        let mut state = self.lock();
        if state.frames.within_document(&event.frame_id, &event.url, session) {
            state.emit(&PageEvent::NavigatedWithinDocument { frame: event.frame_id, url: event.url });
        }
    }

    fn frame_detached(&self, session: &Session, event: &FrameDetached) {
        let mut state = self.lock();
        if event.reason == "swap" {
            if let Some(removed) = state.frames.swapped_out(&event.frame_id, session) {
                state.emit_removed(removed);
            }
            let frame = event.frame_id.clone();
            state.emit(&PageEvent::FrameDetached { frame, kind: DetachKind::Swapped });
        } else {
            let removed = state.frames.removed(&event.frame_id);
            state.emit_removed(removed);
        }
    }

    fn lifecycle(&self, session: &Session, event: Lifecycle) {
        let mut state = self.lock();
        state.frames.document_seen(&event.frame_id, &event.loader_id, session);
        state.emit(&PageEvent::Lifecycle { frame: event.frame_id, document: event.loader_id, name: event.name });
    }

    fn dialog_opening(&self, session: &Session, event: DialogOpening) {
        let dialog = OpenDialog {
            session: session.clone(),
            kind: DialogKind::from_wire(&event.kind),
            message: event.message,
            url: event.url,
            default_prompt: event.default_prompt,
        };
        let mut state = self.lock();
        state.dialog = Some(dialog.clone());
        state.emit(&PageEvent::DialogOpening(dialog));
    }

    fn dialog_closed(&self, event: &DialogClosed) {
        let mut state = self.lock();
        state.dialog = None;
        state.emit(&PageEvent::DialogClosed { accepted: event.result });
    }

    fn file_chooser(&self, session: &Session, event: FileChooser) {
        self.lock().emit(&PageEvent::FileChooserOpened {
            frame: event.frame_id,
            session: session.clone(),
            backend_node_id: event.backend_node_id,
            multiple: event.mode == "selectMultiple",
        });
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireFrame {
    id: FrameId,
    #[serde(default)]
    parent_id: Option<FrameId>,
    loader_id: DocumentId,
    #[serde(default)]
    name: String,
    #[serde(default)]
    url: String,
    #[serde(default)]
    url_fragment: String,
}

impl WireFrame {
    fn report(self, id: &FrameId) -> Report<'_> {
        Report {
            id,
            parent: self.parent_id,
            document: self.loader_id,
            url: self.url + &self.url_fragment,
            name: self.name,
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct FrameAttached {
    frame_id: FrameId,
    parent_frame_id: FrameId,
}

#[derive(Deserialize)]
struct FrameNavigated {
    frame: WireFrame,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WithinDocument {
    frame_id: FrameId,
    url: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RequestedNavigation {
    frame_id: FrameId,
    #[serde(default)]
    disposition: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct StoppedLoading {
    frame_id: FrameId,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct FrameDetached {
    frame_id: FrameId,
    #[serde(default)]
    reason: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Lifecycle {
    frame_id: FrameId,
    loader_id: DocumentId,
    name: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct DialogOpening {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    message: String,
    #[serde(default)]
    url: String,
    #[serde(default)]
    default_prompt: String,
}

#[derive(Deserialize)]
struct DialogClosed {
    #[serde(default)]
    result: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct FileChooser {
    frame_id: FrameId,
    #[serde(default)]
    backend_node_id: Option<i64>,
    #[serde(default)]
    mode: String,
}
