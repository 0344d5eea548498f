//! The frame tree of a page, across the processes that its frames live in.
//!
//! Pure: what sessions report goes in, what that changed comes out. Invariants:
//! - Every frame but the root has a parent in the tree; `list` names parents first.
//! - A frame belongs to one session. A report about it from another session counts only if it says that the frame
//!   moved there or was removed, or if its own session is gone.
//! - The reply to `Page.getFrameTree` never overrides an event: measured on Chromium 156, for a frame
//!   that was paused at its start it arrives after the navigation and describes what was before.

use std::collections::HashMap;

use crate::ids::{DocumentId, FrameId};

/// More frames than this in one page are not kept: only a hostile page has them.
const FRAME_CAP: usize = 10_000;

pub(crate) struct FrameTree<S> {
    root: FrameId,
    records: HashMap<FrameId, Record<S>>,
}

pub(crate) struct Record<S> {
    pub(crate) parent: Option<FrameId>,
    children: Vec<FrameId>,
    pub(crate) session: S,
    pub(crate) url: String,
    pub(crate) name: String,
    pub(crate) document: DocumentId,
    /// `true` if the present session reported a navigation.
    has_navigated: bool,
}

/// The state of a frame, as a session reports it.
pub(crate) struct Report<'a> {
    pub(crate) id: &'a FrameId,
    pub(crate) parent: Option<FrameId>,
    pub(crate) document: DocumentId,
    pub(crate) url: String,
    pub(crate) name: String,
}

impl<S: Clone + PartialEq> FrameTree<S> {
    pub(crate) fn new(root: FrameId, session: S, url: String) -> Self {
        let record = Record {
            parent: None,
            children: Vec::new(),
            session,
            url,
            name: String::new(),
            document: DocumentId::from(""),
            has_navigated: false,
        };
        Self { records: HashMap::from([(root.clone(), record)]), root }
    }

    pub(crate) fn root(&self) -> &FrameId {
        &self.root
    }

    pub(crate) fn get(&self, id: &FrameId) -> Option<&Record<S>> {
        self.records.get(id)
    }

    /// All frames, parents before their children, siblings in the order of their arrival.
    pub(crate) fn list(&self) -> Vec<(&FrameId, &Record<S>)> {
        let mut listed = Vec::with_capacity(self.records.len());
        let mut stack = vec![&self.root];
        while let Some(id) = stack.pop() {
            if let Some(record) = self.records.get(id) {
                listed.push((id, record));
                stack.extend(record.children.iter().rev());
            }
        }
        listed
    }

    /// A frame appeared in a session, or moved back into it. Returns whether it is new.
    pub(crate) fn attached(&mut self, id: &FrameId, parent: &FrameId, session: &S) -> bool {
        if let Some(record) = self.records.get_mut(id) {
            if record.session != *session {
                record.session = session.clone();
                record.has_navigated = false;
            }
            return false;
        }
        self.insert(id, parent, session)
    }

    /// An out-of-process frame got its own session. Returns whether the frame is new.
    pub(crate) fn moved_to(&mut self, id: &FrameId, parent: Option<&FrameId>, session: &S) -> bool {
        if self.records.contains_key(id) {
            if let Some(record) = self.records.get_mut(id) {
                record.session = session.clone();
                record.has_navigated = false;
            }
            return false;
        }
        let parent = parent.filter(|parent| self.records.contains_key(*parent)).unwrap_or(&self.root).clone();
        self.insert(id, &parent, session)
    }

    fn insert(&mut self, id: &FrameId, parent: &FrameId, session: &S) -> bool {
        if self.records.len() >= FRAME_CAP {
            return false;
        }
        let Some(holder) = self.records.get_mut(parent) else { return false };
        holder.children.push(id.clone());
        let record = Record {
            parent: Some(parent.clone()),
            children: Vec::new(),
            session: session.clone(),
            url: String::new(),
            name: String::new(),
            document: DocumentId::from(""),
            has_navigated: false,
        };
        self.records.insert(id.clone(), record);
        true
    }

    /// A frame has a new document. `None` if the report does not count, else the frames that went
    /// with the old document.
    pub(crate) fn navigated(
        &mut self,
        report: Report<'_>,
        session: &S,
        is_gone: impl Fn(&S) -> bool,
    ) -> Option<Vec<FrameId>> {
        if !self.records.contains_key(report.id) {
            let parent = report.parent.clone()?;
            if !self.insert(report.id, &parent, session) {
                return None;
            }
        }
        let record = self.records.get_mut(report.id)?;
        if record.session != *session {
            if !is_gone(&record.session) {
                return None;
            }
            record.session = session.clone();
        }
        record.has_navigated = true;
        record.document = report.document;
        record.url = report.url;
        record.name = report.name;
        Some(self.remove_children(report.id))
    }

    /// Takes in what `Page.getFrameTree` reports of one frame, parents first. Returns whether the frame is new.
    pub(crate) fn described(&mut self, report: Report<'_>, session: &S) -> bool {
        let is_new = match (&report.parent, self.records.contains_key(report.id)) {
            (_, true) => false,
            (Some(parent), false) => {
                let parent = parent.clone();
                self.insert(report.id, &parent, session)
            }
            (None, false) => false,
        };
        if let Some(record) = self.records.get_mut(report.id)
            && record.session == *session
            && !record.has_navigated
        {
            record.document = report.document;
            record.url = report.url;
            record.name = report.name;
        }
        is_new
    }

    /// A lifecycle event names the document of a frame that has not reported it: the initial empty one.
    pub(crate) fn document_seen(&mut self, id: &FrameId, document: &DocumentId, session: &S) {
        if let Some(record) = self.records.get_mut(id)
            && record.session == *session
            && record.document.as_str().is_empty()
        {
            record.document = document.clone();
        }
    }

    pub(crate) fn within_document(&mut self, id: &FrameId, url: &str, session: &S) -> bool {
        match self.records.get_mut(id) {
            Some(record) if record.session == *session => {
                record.url = url.to_owned();
                true
            }
            _ => false,
        }
    }

    /// A frame was removed. Returns all that went, children first. The root stays.
    pub(crate) fn removed(&mut self, id: &FrameId) -> Vec<FrameId> {
        if *id == self.root {
            return Vec::new();
        }
        let mut gone = self.remove_children(id);
        if let Some(record) = self.records.remove(id) {
            if let Some(parent) = record.parent.and_then(|parent| self.records.get_mut(&parent)) {
                parent.children.retain(|child| child != id);
            }
            gone.push(id.clone());
        }
        gone
    }

    /// A frame leaves a session for another process. `None` if it has left already.
    pub(crate) fn swapped_out(&mut self, id: &FrameId, session: &S) -> Option<Vec<FrameId>> {
        let record = self.records.get(id)?;
        if record.session != *session {
            return None;
        }
        Some(self.remove_children(id))
    }

    fn remove_children(&mut self, id: &FrameId) -> Vec<FrameId> {
        let Some(record) = self.records.get_mut(id) else { return Vec::new() };
        let mut left = std::mem::take(&mut record.children);
        let mut gone = Vec::new();
        while let Some(child) = left.pop() {
            if let Some(record) = self.records.remove(&child) {
                left.extend(record.children);
                gone.push(child);
            }
        }
        gone.reverse();
        gone
    }
}

#[cfg(test)]
mod tests {
    use super::{FrameTree, Report};
    use crate::ids::FrameId;

    fn id(text: &str) -> FrameId {
        FrameId::from(text)
    }

    fn tree() -> FrameTree<u8> {
        let mut tree = FrameTree::new(id("main"), 1, String::new());
        assert!(tree.attached(&id("a"), &id("main"), &1));
        assert!(tree.attached(&id("b"), &id("main"), &1));
        assert!(tree.attached(&id("a1"), &id("a"), &1));
        tree
    }

    fn names(tree: &FrameTree<u8>) -> Vec<&str> {
        tree.list().into_iter().map(|(id, _)| id.as_str()).collect()
    }

    fn report<'a>(id: &'a FrameId, parent: Option<&str>, document: &str) -> Report<'a> {
        Report {
            id,
            parent: parent.map(FrameId::from),
            document: document.into(),
            url: format!("http://{document}"),
            name: String::new(),
        }
    }

    #[test]
    fn parents_are_listed_before_children_in_order_of_arrival() {
        assert_eq!(names(&tree()), ["main", "a", "a1", "b"]);
    }

    #[test]
    fn a_new_document_removes_the_frames_of_the_old_one() {
        let mut tree = tree();
        let main = id("main");
        let gone = tree.navigated(report(&main, None, "d2"), &1, |_| false).unwrap();
        assert_eq!(gone.len(), 3);
        assert_eq!(names(&tree), ["main"]);
    }

    #[test]
    fn a_frame_that_moved_ignores_the_late_swap_of_its_former_session() {
        let mut tree = tree();
        assert!(!tree.moved_to(&id("a"), None, &2));
        assert_eq!(tree.swapped_out(&id("a"), &1), None);
        assert!(tree.navigated(report(&id("a"), Some("main"), "late"), &1, |_| false).is_none());
        assert_eq!(tree.get(&id("a")).unwrap().session, 2);
    }

    #[test]
    fn a_late_description_does_not_override_a_navigation() {
        let mut tree = tree();
        tree.moved_to(&id("a"), None, &2);
        tree.navigated(report(&id("a"), Some("main"), "new"), &2, |_| false).unwrap();
        tree.described(report(&id("a"), Some("main"), "old"), &2);
        assert_eq!(tree.get(&id("a")).unwrap().document.as_str(), "new");
    }

    #[test]
    fn a_frame_moves_back_when_its_parents_session_attaches_it() {
        let mut tree = tree();
        tree.moved_to(&id("a"), None, &2);
        assert!(!tree.attached(&id("a"), &id("main"), &1));
        assert_eq!(tree.get(&id("a")).unwrap().session, 1);
    }

    #[test]
    fn removing_names_all_that_went_and_never_the_root() {
        let mut tree = tree();
        assert_eq!(tree.removed(&id("a")), [id("a1"), id("a")]);
        assert_eq!(names(&tree), ["main", "b"]);
        assert!(tree.removed(&id("main")).is_empty());
    }

    #[test]
    fn a_frame_of_an_unknown_parent_is_not_kept() {
        let mut tree = tree();
        assert!(!tree.attached(&id("x"), &id("nowhere"), &1));
        assert!(tree.navigated(report(&id("y"), Some("nowhere"), "d"), &1, |_| false).is_none());
    }
}
