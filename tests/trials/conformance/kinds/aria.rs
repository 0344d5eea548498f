//! `aria.jsonl`: page and its exact ARIA snapshot.

use anyhow::Result;

use crate::conformance::case::Case;
use crate::conformance::stage::Stage;
use crate::conformance::target;
use crate::conformance::verdict::{Bucket, Ending, Failure};

/// Runs one case whose page is open.
///
/// # Errors
/// If the machinery breaks.
pub(crate) async fn run(stage: &mut Stage, case: &Case) -> Result<Ending> {
    let expected = case.expect.as_ref().and_then(|expect| expect.aria_snapshot.clone()).unwrap_or_default();
    let entry = case.entries().next();
    let Some(target) = entry.and_then(|entry| entry.target.as_ref()) else {
        return Ok(Failure::new(Bucket::NoSuchVerb("no target".to_owned()), expected, "").into());
    };
    let seen = stage.aria_snapshot(&serde_json::from_value(target::locator(target)?)?).await?;
    if seen == expected {
        return Ok(Ending::Passed);
    }
    Ok(Failure::new(Bucket::OtherRendering, expected, seen).into())
}
