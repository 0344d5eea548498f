//! `aria.jsonl`: page and its exact ARIA snapshot.

use anyhow::Result;

use crate::case::Case;
use crate::stage::Stage;
use crate::verdict::{Bucket, Ending, Failure};

/// Runs one case whose page is open.
///
/// # Errors
/// If the machinery breaks.
#[expect(clippy::unused_async, reason = "the rendering of an open page is a round trip")]
pub(crate) async fn run(_stage: &mut Stage, case: &Case) -> Result<Ending> {
    let expected = case.expect.as_ref().and_then(|expect| expect.aria_snapshot.clone()).unwrap_or_default();
    Ok(Failure::new(Bucket::OtherRendering, expected, "nothing: no rendering in this form yet").into())
}
