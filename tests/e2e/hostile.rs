//! Pages that mislead: a few trials of each kind. `cargo xtask soak --hostile N` runs many.

use anyhow::Result;
use cuebook_tests::hostile::{Kind, Tally, Trials, chrome};

async fn few(kind: Kind, trials: usize) -> Result<Tally> {
    let tallies = Trials::few(chrome(None)?, kind, trials).run().await?;
    Ok(tallies.get(kind.name()).cloned().unwrap_or_default())
}

#[tokio::test]
async fn what_ticks_elsewhere_fails_no_step() -> Result<()> {
    let tally = few(Kind::Ticking, 12).await?;
    assert_eq!((tally.trials, tally.faults()), (12, 0), "{:#?}", tally.examples);
    Ok(())
}
