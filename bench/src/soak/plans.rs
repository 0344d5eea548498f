//! Plans of noise under the mask of a real vocabulary, many times over: the property of the grammar's tests, with a
//! larger count and 200,000 tokens.
//!
//! Invariant: plans are judged by the language, in the program that decodes them; here only its totals are.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use xtask::commands::{cargo, root, stage};

/// Where the numbers go, relative to the root of the workspace.
const RESULTS: &str = "bench/plans.json";

/// Decodes and judges `count` plans and writes `bench/plans.json`, which is committed.
///
/// # Errors
/// If the program cannot run, or a plan did not end, parse, or pass its schema and its check.
pub(super) fn run(count: u32, seed: u64, folder: &Path) -> Result<()> {
    let out = folder.join("plans.json");
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let mut command = cargo(&["bench", "--package=cuebook-decoding", "--bench=decoding", "--", "plans"]);
    command.args([&count.to_string(), &(seed % u64::from(u32::MAX)).to_string(), &threads.to_string()]).arg(&out);
    stage(&format!("{count} plans, seed {seed}"), &mut command)?;
    let text = fs::read_to_string(&out).with_context(|| format!("expected {}", out.display()))?;
    let results: Value = serde_json::from_str(&text).context("expected an object of totals")?;
    let file = root().join(RESULTS);
    fs::write(&file, &text).with_context(|| format!("cannot write {}", file.display()))?;
    println!("{results:#}\n{}", file.display());
    judge(&results, count)
}

fn judge(results: &Value, count: u32) -> Result<()> {
    ensure!(results["plans"] == count, "there were {} plans, not {count}", results["plans"]);
    ensure!(results["failed"] == 0, "{} plans failed: {}", results["failed"], results["failures"]);
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::judge;

    #[test]
    fn a_plan_too_few_or_one_that_failed_fails_the_soak() {
        let of = |plans, failed| judge(&json!({ "plans": plans, "failed": failed, "failures": {} }), 10);
        assert!(of(10, 0).is_ok());
        assert!(of(9, 0).is_err() && of(10, 1).is_err());
        assert!(judge(&json!({ "plans": 10 }), 10).is_err());
    }
}
