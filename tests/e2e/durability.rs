//! The log: no log, no action. After a kill at any moment, every committed step was done, and every step that was done
//! was begun.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use anyhow::{Context as _, Result};
use cuebook_tests::{Shop, command};
use serde_json::{Value, json};

fn clicks(n: usize) -> Value {
    let click = json!({ "type": "click", "targetRef": "button" });
    json!({
        "version": "1.0",
        "candidates": { "button": { "strategy": "byRole", "role": "button", "name": "Count" } },
        "steps": vec![click; n]
    })
}

#[test]
fn with_an_unwritable_out_no_input_is_sent() -> Result<()> {
    let shop = Shop::open()?;
    let file = shop.runs().join("in-the-way");
    std::fs::write(&file, b"")?;
    let ended = shop.exec("/counter", &clicks(1), &["--out", &file.to_string_lossy()])?;
    assert_eq!(ended.code, 2, "{ended:?}");
    assert_eq!(ended.json()?["error"]["code"], "logUnavailable");
    assert_eq!(shop.hits("counter"), 0);
    assert_eq!(shop.state()["requestsByPath"]["/counter"].as_u64().unwrap_or(0), 0, "not even the page was opened");
    Ok(())
}

/// A few kills here; `cargo xtask soak` has the large count.
#[test]
fn kill_9_leaves_a_readable_log_that_tells_the_truth() -> Result<()> {
    for clicks_printed in [1, 3, 6] {
        let shop = Shop::open()?;
        let plan = shop.runs().join("plan.json");
        std::fs::write(&plan, clicks(30).to_string())?;
        let mut child = command()?
            .args(["exec", &plan.to_string_lossy(), "--url", &shop.url("/counter")])
            .args(["--out", &shop.runs().join("out").to_string_lossy()])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()?;
        let stderr = BufReader::new(child.stderr.take().context("no standard error")?);
        let (mut printed, mut clicking) = (0, false);
        for line in stderr.lines() {
            let line = line?;
            // A step's first line names its verb, its next one how it went.
            if line.contains("ok in") {
                printed += u64::from(clicking);
            } else {
                clicking = line.contains("click button");
            }
            if printed >= clicks_printed {
                break;
            }
        }
        child.kill()?;
        child.wait()?;

        let folder = std::fs::read_dir(shop.runs().join("out"))?.next().context("no run")??.path();
        let log = cuebook_datalayer::Run::read(&folder.join("log.jsonl"))?;
        let is_click =
            |step: &cuebook_grammar::step::Step| matches!(step.action, cuebook_grammar::action::Action::Click(_));
        let committed = log.steps.iter().filter(|record| is_click(&record.action) && record.input_sent).count() as u64;
        let begun = committed + log.open.iter().filter(|intent| is_click(&intent.action)).count() as u64;
        shop.eventually(|shop| shop.hits("counter") >= committed);
        let clicked = shop.hits("counter");
        assert!(committed >= clicks_printed, "{committed} committed after {clicks_printed} were printed");
        assert!(committed <= clicked && clicked <= begun, "committed {committed}, clicked {clicked}, begun {begun}");
    }
    Ok(())
}
