//! The last walk of each document, for the script to name when nothing has changed since.
//!
//! Invariant: a walk is held under the stamp that the script gave it, so that an answer `same` can only
//! mean this one; documents that went away are forgotten with the next observation.

use std::collections::{HashMap, HashSet};

use cuebook_grammar::observation::Scope;
use cuebook_probe::ProbeWorld;

use super::captured::CapturedFrame;
use crate::model::rows::FrameWalk;

/// Ids of a frame and of its document.
type Document = (String, String);

/// The last walks by document, of views and of whole pages.
#[derive(Debug, Default)]
pub(crate) struct WalkCache {
    views: HashMap<Document, FrameWalk>,
    wholes: HashMap<Document, FrameWalk>,
}

impl WalkCache {
    /// The last walk of this scope in a document.
    pub(super) fn last(&self, world: &ProbeWorld, scope: Scope) -> Option<&FrameWalk> {
        let document = (world.frame().as_str().to_owned(), world.document().as_str().to_owned());
        match scope {
            Scope::View => self.views.get(&document),
            _ => self.wholes.get(&document),
        }
    }

    /// Names the last walk of this scope in a document; `None` if there is none that can be named.
    pub(crate) fn stamp(&self, world: &ProbeWorld, scope: Scope) -> Option<u64> {
        self.last(world, scope).map(|walk| walk.stamp).filter(|stamp| *stamp != 0)
    }

    /// Keeps these walks, whose rows have not moved yet, in place of those before.
    pub(super) fn keep(&mut self, scope: Scope, frames: &[CapturedFrame]) {
        let present: HashSet<Document> = frames.iter().map(CapturedFrame::document_key).collect();
        self.views.retain(|document, _| present.contains(document));
        self.wholes.retain(|document, _| present.contains(document));
        let kept = match scope {
            Scope::View => &mut self.views,
            _ => &mut self.wholes,
        };
        for frame in frames.iter().filter(|frame| frame.walk.stamp != 0) {
            let document = frame.document_key();
            if kept.get(&document).is_none_or(|known| known.stamp != frame.walk.stamp) {
                kept.insert(document, frame.walk.clone());
            }
        }
    }
}
