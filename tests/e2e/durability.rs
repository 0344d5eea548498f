//! The log: no log, no action. After a kill at any moment, every committed step was done, and every step that was done
//! was begun.

use std::collections::BTreeMap;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::io::{BufRead as _, BufReader};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, Result};
use cuebook_datalayer::replay::Recording;
use cuebook_grammar::action::Action;
use cuebook_grammar::step::Step;
use cuebook_tests::{CliOutput, Shop, command, cuebook};
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

/// Kills a run shortly after some of its clicks were reported, or before any was, and reads what is left.
fn killed_at_random() -> Result<()> {
    let random = |bound: u64| RandomState::new().build_hasher().finish() % bound;
    let shop = Shop::open()?;
    let plan = shop.runs().join("plan.json");
    std::fs::write(&plan, clicks(10).to_string())?;
    let (reported_first, then) = (random(7), Duration::from_millis(random(80)));
    let mut child = command()?
        .args(["exec", &plan.to_string_lossy(), "--url", &shop.url("/counter")])
        .args(["--out", &shop.runs().join("out").to_string_lossy()])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()?;
    let stderr = BufReader::new(child.stderr.take().context("no standard error")?);
    let (mut reported, mut clicking) = (0, false);
    for line in stderr.lines() {
        let line = line?;
        // A step's first line names its verb, its next one how it went.
        if line.contains("ok in") {
            reported += u64::from(clicking);
        } else {
            clicking = line.contains("click button");
        }
        if reported >= reported_first {
            break;
        }
    }
    shop.pause(then);
    child.kill()?;
    child.wait()?;

    let at = format!("{then:?} after {reported} clicks were reported");
    let folder = std::fs::read_dir(shop.runs().join("out"))?.next().context("no run")??.path();
    let dir = cuebook_datalayer::RunDir::open(&folder)?;
    assert!(!dir.is_running(), "{at}: the lock ends with the process");
    let log = cuebook_datalayer::Run::read(&dir.log_path()).with_context(|| at.clone())?;
    let is_click = |step: &Step| matches!(step.action, Action::Click(_));
    let committed = log.steps.iter().filter(|record| is_click(&record.action) && record.input_sent).count() as u64;
    let begun = committed + log.open.iter().filter(|intent| is_click(&intent.action)).count() as u64;
    assert!(committed >= reported, "{at}: {committed} committed");
    shop.eventually(|shop| shop.hits("counter") >= committed);
    let clicked = shop.hits("counter");
    assert!(committed <= clicked && clicked <= begun, "{at}: committed {committed}, clicked {clicked}, begun {begun}");

    // No command goes on with it, and a replay repeats no step of which nobody knows whether it was done.
    if committed > 0 {
        let recording = Recording::of(&log, &BTreeMap::new())?;
        assert_eq!(recording.plan.steps.len() as u64, committed, "{at}");
    }
    let judged = cuebook(&["judge", &folder.to_string_lossy()])?;
    assert_eq!((judged.code, shop.hits("counter")), (0, clicked), "{at}: {judged:?}");
    Ok(())
}

/// `cargo xtask soak --kills` has the large count.
#[test]
fn kill_9_leaves_a_readable_log_that_tells_the_truth() -> Result<()> {
    (0..10).try_for_each(|_| killed_at_random())
}

/// In the longer tier.
#[test]
fn kill_9_at_twenty_further_moments() -> Result<()> {
    (0..20).try_for_each(|_| killed_at_random())
}

#[test]
#[cfg(unix)]
fn without_permission_to_write_nothing_is_opened_and_the_folder_is_named() -> Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    let shop = Shop::open()?;
    let out = shop.runs().join("sealed");
    std::fs::create_dir(&out)?;
    std::fs::set_permissions(&out, std::fs::Permissions::from_mode(0o500))?;
    if std::fs::write(out.join("probe"), "").is_ok() {
        // Root writes everywhere, but not into the kernel's view of a process.
        let ended = shop.exec("/counter", &clicks(1), &["--out", "/proc/self"])?;
        return refused(&shop, &ended, "/proc/self");
    }
    let ended = shop.exec("/counter", &clicks(1), &["--out", &out.to_string_lossy()])?;
    refused(&shop, &ended, "sealed")
}

#[cfg(unix)]
fn refused(shop: &Shop, ended: &CliOutput, folder: &str) -> Result<()> {
    let error = &ended.json()?["error"];
    assert_eq!((ended.code, &error["code"]), (2, &json!("logUnavailable")), "{ended:?}");
    assert!(error["message"].as_str().is_some_and(|message| message.contains(folder)), "{error}");
    assert_eq!(shop.state()["requestsByPath"]["/counter"].as_u64().unwrap_or(0), 0, "{}", shop.state());
    Ok(())
}
