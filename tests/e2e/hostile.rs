//! Pages that tick: a few trials. `cargo xtask soak --hostile N` runs many, of every kind of page that misleads.

use anyhow::Result;
use cuebook_tests::hostile::{Kind, Trials, chrome};

/// Pages whose own clocks, counters and lists must never make a step stale.
const STEADY: [&str; 3] = ["clock", "counter", "titleCounter"];

#[tokio::test]
async fn what_ticks_elsewhere_fails_no_step() -> Result<()> {
    let few = Trials::few(chrome(None)?, Kind::Ticking, STEADY.len());
    let tallies = Trials { names: STEADY.map(str::to_owned).to_vec(), ..few }.run().await?;
    let tally = tallies.get(Kind::Ticking.name()).cloned().unwrap_or_default();
    assert_eq!((tally.trials, tally.faults()), (STEADY.len(), 0), "{:#?}", tally.examples);
    Ok(())
}
