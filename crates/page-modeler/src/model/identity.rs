//! Ids: `c1`, `c2`, … over a whole run and all of its tabs, never reused.
//!
//! An element keeps its id while the digest of its meaning stays the same: its role, its name and the parts of its
//! context that identify it. A node that is recycled for another row is another candidate.

use std::collections::{HashMap, HashSet};

use cuebook_grammar::candidate::About;
use cuebook_grammar::id::{CandidateId, NodeKey, PageId};

/// The ids that were given so far.
#[derive(Debug, Default)]
pub struct Identities {
    last: u32,
    known: HashMap<NodeKey, KnownNode>,
}

#[derive(Debug)]
struct KnownNode {
    id: CandidateId,
    about: About,
}

/// More nodes than this are never remembered; the oldest documents go first when they are left.
const BOUND: usize = 200_000;

impl Identities {
    /// The id of this node, as it is now.
    pub fn id(&mut self, key: &NodeKey, about: &About) -> CandidateId {
        if let Some(known) = self.known.get(key)
            && known.about == *about
        {
            return known.id;
        }
        self.last = self.last.saturating_add(1);
        let id = CandidateId(self.last);
        if self.known.len() >= BOUND {
            self.known.clear();
        }
        self.known.insert(key.clone(), KnownNode { id, about: about.clone() });
        id
    }

    /// The id that this node has, if it was a candidate.
    #[must_use]
    pub fn known(&self, key: &NodeKey) -> Option<CandidateId> {
        self.known.get(key).map(|known| known.id)
    }

    /// Forgets the nodes of documents that `page` has left.
    pub fn retain(&mut self, page: &PageId, documents: &HashSet<(String, String)>) {
        self.known.retain(|key, _| key.page != *page || documents.contains(&(key.frame.clone(), key.document.clone())));
    }

    /// Forgets the nodes of a tab that is gone. Its ids are not reused.
    pub fn forget(&mut self, page: &PageId) {
        self.known.retain(|key, _| key.page != *page);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(node: u64, document: &str) -> NodeKey {
        NodeKey { page: PageId::new("p"), frame: "f".into(), document: document.into(), node }
    }

    fn about(key: &str) -> About {
        About { key: key.into(), ..About::default() }
    }

    #[test]
    fn an_id_stays_while_its_node_is_about_the_same() {
        let mut ids = Identities::default();
        let first = ids.id(&key(1, "d"), &about("a"));
        assert_eq!(first, CandidateId(1));
        assert_eq!(ids.id(&key(1, "d"), &about("a")), first);
        assert_eq!(ids.id(&key(1, "d"), &about("b")), CandidateId(2));
        let part = Some(cuebook_grammar::candidate::OwnPart { at: Some(2), ..Default::default() });
        assert_eq!(ids.id(&key(1, "d"), &About { part, ..about("b") }), CandidateId(3));
    }

    #[test]
    fn ids_are_never_reused_after_a_document_was_left() {
        let mut ids = Identities::default();
        ids.id(&key(1, "d"), &about("a"));
        ids.retain(&PageId::new("p"), &HashSet::from([("f".to_owned(), "e".to_owned())]));
        assert_eq!(ids.known(&key(1, "d")), None);
        assert_eq!(ids.id(&key(1, "d"), &about("a")), CandidateId(2));
    }
}
