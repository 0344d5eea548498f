//! Pages that change under the pointer, many times over: the race test of the executor, with a larger count.
//!
//! Invariant: what is counted is what pages saw, in the test; nothing is judged here but its totals.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::{Map, Value, json};
use xtask::chrome;
use xtask::commands::{cargo, root, stage};

/// The test that reads the count from its environment.
const TEST: &str = "races::no_event_of_a_gesture_reaches_what_the_page_moves_under_the_pointer";

/// Runs `count` trials and writes `bench/races.json`, which is committed.
///
/// # Errors
/// If the test cannot run, an event reached another element than the target, or a step reported what did not happen.
pub(super) fn run(count: u32, seed: u64, folder: &Path) -> Result<()> {
    let chrome = chrome::find_or_install()?;
    let out = folder.join("races.json");
    let mut command = cargo(&["test", "--package=cuebook-executor", "--test=act", "--", "--exact", TEST]);
    command
        .env("CHROME", chrome)
        .env("CUEBOOK_RACES", count.to_string())
        .env("CUEBOOK_RACES_SEED", (seed % u64::from(u32::MAX)).to_string())
        .env("CUEBOOK_RACES_OUT", &out);
    let ran = stage(&format!("{count} races, seed {seed}"), &mut command);
    let text = fs::read_to_string(&out).with_context(|| format!("the test wrote no {}", out.display()))?;
    let modes: Map<String, Value> = serde_json::from_str(&text).context("expected an object of modes")?;
    let totals = totals(&modes, seed);
    let file = root().join("bench/races.json");
    fs::write(&file, format!("{:#}\n", json!({ "totals": totals, "modes": modes })))?;
    println!("{totals:#}\n{}", file.display());
    ran?;
    ensure!(totals["trials"] == count, "there were {} trials, not {count}", totals["trials"]);
    ensure!(totals["wrongEvents"] == 0, "{} events reached a wrong target", totals["wrongEvents"]);
    Ok(())
}

fn totals(modes: &Map<String, Value>, seed: u64) -> Value {
    let sum = |name: &str| modes.values().filter_map(|mode| mode[name].as_u64()).sum::<u64>();
    json!({
        "trials": sum("trials"),
        "seed": seed,
        "clicked": sum("clicked"),
        "stopped": sum("stopped"),
        "refused": sum("refused"),
        "wrongEvents": sum("wrongEvents"),
        "falseSuccesses": sum("falseSuccesses"),
        "falseFailures": sum("falseFailures"),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, json};

    use super::totals;

    #[test]
    fn totals_are_sums_over_the_modes() {
        let mode = |trials: u32, wrong: u32| json!({ "trials": trials, "wrongEvents": wrong });
        let modes = Map::from_iter([("a".to_owned(), mode(3, 0)), ("b".to_owned(), mode(4, 2))]);
        let totals = totals(&modes, 7);
        assert_eq!((&totals["trials"], &totals["wrongEvents"], &totals["clicked"]), (&json!(7), &json!(2), &json!(0)));
    }
}
