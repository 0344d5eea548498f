//! Elements that react to the pointer by a listener alone: the wire sees them, the script does not.
//!
//! One question per document names every listener in it; those for the pointer and for drops are passed to
//! the script. It offers an element that listens for itself and skips one that listens for a whole region; an element
//! that accepts drops is always offered, because a drag has to end somewhere, unless it is the root of a framework.
//!
//! Invariants: an element is passed once while it listens, and withdrawn when it no longer does; at most [`HANDED`] in
//! one observation, in document order.
//!
//! Cost: the browser takes about 1 ms per 1,000 nodes and 10 µs per listener, and two commands; passing them is one
//! command each, about 0.1 ms, and one for all. A document is queried when it is new, and again when it has other
//! elements than at the last query.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use cuebook_cdp::protocol::browser_protocol::dom::{BackendNodeId, ResolveNodeParams};
use cuebook_cdp::protocol::browser_protocol::dom_debugger::GetEventListenersParams;
use cuebook_cdp::protocol::js_protocol::runtime::{EvaluateParams, ReleaseObjectParams};
use cuebook_probe::{ProbeError, ProbeWorld};
use serde::{Deserialize, Serialize};
use serde_json::json;

/// The most elements that are passed to the script in one observation of one document.
const HANDED: usize = 300;
/// Elements that listen from which on the native controls among them are left out: they are offered in any case, and one
/// question for all of them takes a third of the time. One that is no native control any more is then not offered for its
/// listener.
const MANY: usize = 100;
/// The most listeners that are read; in a document with more, everything listens.
const READ: usize = 20_000;
/// The most kinds of events that an element listens to for itself. A root of React listens to about 80, drops among them,
/// for all that is in it.
const DELEGATED: usize = 30;
/// The events of pointing and pressing.
const POINTED: [&str; 6] = ["click", "dblclick", "mousedown", "mouseup", "pointerdown", "pointerup"];

/// Kinds of events that an element listens for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
struct Listens {
    /// Events of pointing and pressing.
    pointer: bool,
    /// Drops of dragged things on it.
    drop: bool,
}

/// Cached listeners of each document.
#[derive(Debug, Default)]
pub(crate) struct ListenerCache {
    documents: Mutex<HashMap<(String, String), CachedListeners>>,
}

#[derive(Debug, Default)]
struct CachedListeners {
    /// Listeners that were passed to the script, by backend node id; some are of another document.
    settled: HashMap<i64, Listens>,
    census: Census,
    /// How often it was queried: scripts that hydrate a finished page add listeners and no elements.
    times: u32,
    /// Some are left for the next observation.
    left_over: bool,
}

/// How many elements the document had when it was queried.
#[derive(Debug, Default, PartialEq, Eq)]
enum Census {
    #[default]
    Never,
    JustNow,
    Of(u64),
}

/// How often a document is queried even if it has the same elements.
const EARLY: u32 = 3;

/// The position of a document in its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// The session's default document.
    SessionRoot,
    /// The document of a frame within another.
    Inner,
}

#[derive(Deserialize)]
struct Listeners {
    listeners: Vec<Listener>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Listener {
    #[serde(rename = "type")]
    kind: String,
    backend_node_id: Option<i64>,
}

fn key(world: &ProbeWorld) -> (String, String) {
    (world.frame().as_str().to_owned(), world.document().as_str().to_owned())
}

impl ListenerCache {
    fn with<T>(&self, world: &ProbeWorld, work: impl FnOnce(&mut CachedListeners) -> T) -> T {
        let mut documents = self.documents.lock().unwrap_or_else(PoisonError::into_inner);
        work(documents.entry(key(world)).or_default())
    }

    /// Returns `true` if this document is to be queried before it is walked: it never was, or some elements are left.
    pub(super) fn is_new(&self, world: &ProbeWorld) -> bool {
        self.with(world, |asked| asked.census == Census::Never || asked.left_over)
    }

    /// Returns `true` if a document that now has `elements` elements is to be queried again.
    pub(super) fn is_due(&self, world: &ProbeWorld, elements: u64) -> bool {
        self.with(world, |asked| {
            let due = match asked.census {
                Census::JustNow => false,
                Census::Of(known) => known != elements || asked.times < EARLY,
                Census::Never => true,
            };
            asked.census = Census::Of(elements);
            due
        })
    }

    /// Forgets the documents that went away.
    pub(super) fn retain(&self, present: &HashSet<(String, String)>) {
        let mut documents = self.documents.lock().unwrap_or_else(PoisonError::into_inner);
        documents.retain(|document, _| present.contains(document));
    }

    /// Passes the elements of the document that listen to the pointer to the script; returns how many are new.
    /// `elements` is the number of elements in the document, if known. A refusal of the browser (the document just
    /// went away) counts as none.
    pub(super) async fn pass_on(
        &self,
        world: &ProbeWorld,
        place: Place,
        elements: Option<u64>,
        until: Instant,
    ) -> Result<usize, ProbeError> {
        let found = match listening(world, place, until).await {
            Ok(found) => found,
            Err(ProbeError::Wire(cuebook_cdp::CallError::Protocol { .. })) => Vec::new(),
            Err(error) => return Err(error),
        };
        let unsettled = self
            .with(world, |asked| found.iter().filter(|found| asked.settled.get(&found.0) != Some(&found.1)).count());
        let native: HashSet<i64> = match unsettled > MANY {
            true => world.nodes("(cb) => cb.walk.natives()", &[], until).await?.into_iter().collect(),
            false => HashSet::new(),
        };
        let (wanted, silent) = self.with(world, |asked| {
            asked.census = elements.map_or(Census::JustNow, Census::Of);
            asked.times = asked.times.saturating_add(1);
            let listening: HashSet<i64> = found.iter().map(|(node, _)| *node).collect();
            let silent: Vec<i64> = asked
                .settled
                .extract_if(|node, _| !listening.contains(node))
                .take(HANDED)
                .map(|(node, _)| node)
                .collect();
            asked.settled.extend(found.iter().filter(|(node, _)| native.contains(node)).copied());
            let mut wanted = found;
            wanted.retain(|(node, listens)| asked.settled.get(node) != Some(listens));
            asked.left_over = wanted.len() > HANDED;
            wanted.truncate(HANDED);
            asked.settled.extend(wanted.iter().copied());
            (wanted, silent)
        });
        let silent = silent.into_iter().map(|node| (node, Listens::default()));
        let changes: Vec<_> = wanted.into_iter().chain(silent).map(|(node, listens)| (node, json!(listens))).collect();
        if changes.is_empty() {
            return Ok(0);
        }
        // Elements of same-process frames within this one are passed to those.
        Ok(world.adopt_each(&changes, "(cb, ...told) => cb.walk.listen(told)", until).await.unwrap_or(0))
    }
}

/// The backend node ids of what listens, in document order, each once.
async fn listening(world: &ProbeWorld, place: Place, until: Instant) -> Result<Vec<(i64, Listens)>, ProbeError> {
    #[derive(Deserialize)]
    struct Resolved {
        #[serde(alias = "result")]
        object: Object,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Object {
        object_id: String,
    }
    let session = world.world().session();
    // The document of the page's own world: queried through a world of ours, Chromium 156 sooner or later crashes.
    // Without an object group the browser omits the handlers themselves.
    let document = if place == Place::SessionRoot {
        // A page cannot redefine `document`.
        session.request(EvaluateParams::new("document"), until).await?
    } else {
        let Some(document) = world.nodes("() => [document]", &[], until).await?.into_iter().next() else {
            return Ok(Vec::new());
        };
        let backend_node_id = Some(BackendNodeId::new(document));
        session.request(ResolveNodeParams { backend_node_id, ..ResolveNodeParams::default() }, until).await?
    };
    let document = document.parse::<Resolved>()?.object.object_id;
    // Only `pierce` includes listeners of the page's own world, and those in shadow roots.
    let params = GetEventListenersParams {
        depth: Some(-1),
        pierce: Some(true),
        ..GetEventListenersParams::new(document.clone())
    };
    let reply = session.request(params, until).await;
    // It is sent here; its reply is not awaited.
    drop(session.request(ReleaseObjectParams::new(document), until));
    let all: Listeners = reply?.parse()?;
    let mut kinds: HashMap<i64, HashSet<&str>> = HashMap::new();
    for listener in all.listeners.iter().take(READ) {
        let Some(node) = listener.backend_node_id else { continue };
        kinds.entry(node).or_default().insert(&listener.kind);
    }
    let mut order: Vec<(i64, Listens)> = Vec::new();
    let mut places: HashMap<i64, usize> = HashMap::new();
    for listener in all.listeners.iter().take(READ) {
        let pointer = POINTED.contains(&listener.kind.as_str());
        let delegates = |node| kinds.get(node).is_some_and(|kinds| kinds.len() > DELEGATED);
        let drop = listener.kind == "drop" && !listener.backend_node_id.as_ref().is_some_and(delegates);
        let Some(node) = listener.backend_node_id.filter(|_| pointer || drop) else { continue };
        let place = *places.entry(node).or_insert_with(|| {
            order.push((node, Listens::default()));
            order.len() - 1
        });
        if let Some((_, listens)) = order.get_mut(place) {
            listens.pointer |= pointer;
            listens.drop |= drop;
        }
    }
    Ok(order)
}
