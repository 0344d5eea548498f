//! A page is compared with its last observation, by the traces that a change leaves: cheaper by far than another one.
//!
//! A change without a mutation, an event, another size or another scroll position is noticed only in view. Whoever acts
//! on such an observation has its target checked on the live page in any case.

use std::time::{Duration, Instant};

use cuebook_grammar::observation::{Observation, Scope};
use futures_util::future::join_all;
use serde_json::json;

use crate::error::ModelError;
use crate::modeler::{LivePageModeler, next_dialog};

/// A page that takes longer to answer is observed again.
const PATIENCE: Duration = Duration::from_millis(500);

/// Returns `true` if `seen` is the last observation of its page, and nothing shows that the page has changed since.
///
/// # Errors
/// [`ModelError::NoSuchPage`].
pub(crate) async fn is_unchanged(
    modeler: &LivePageModeler,
    seen: &Observation,
    until: Instant,
) -> Result<bool, ModelError> {
    let wire = modeler.page(&seen.page)?;
    let mut events = wire.events();
    let Some(walks) = modeler.walks_of(seen).filter(|_| !wire.crashed() && wire.dialog().is_none()) else {
        return Ok(false);
    };
    let frames = wire.frames();
    let are_same_frames = frames.len() == walks.len()
        && frames
            .iter()
            .zip(&walks)
            .all(|(frame, (world, _))| (&frame.id, &frame.document) == (world.frame(), world.document()));
    if !are_same_frames || !modeler.tabs_beside(&wire).eq(seen.tabs.iter().map(|tab| tab.page.clone())) {
        return Ok(false);
    }
    let until = until.min(Instant::now() + PATIENCE);
    let scope = if seen.scope == Scope::View { "view" } else { "full" };
    let asked = join_all(walks.iter().map(|(world, stamp)| async move {
        let walk = json!({ "scope": scope, "known": stamp });
        world.call::<bool>("(cb, walk) => cb.walk.isUnchanged(walk)", &[walk], until).await.unwrap_or(false)
    }));
    Ok(tokio::select! {
        answers = asked => answers.into_iter().all(|is_unchanged| is_unchanged),
        _ = next_dialog(&mut events) => false,
    })
}
