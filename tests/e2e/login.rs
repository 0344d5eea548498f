//! The article's login plan, byte for byte as it stands there.

use anyhow::Result;
use cuebook_tests::{Shop, cuebook};
use serde_json::{Value, json};

const PLAN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/plans/login.json");

fn plan() -> Result<Value> {
    Ok(serde_json::from_str(&std::fs::read_to_string(PLAN)?)?)
}

#[test]
fn the_login_plan_passes_the_check() -> Result<()> {
    let ended = cuebook(&["check", PLAN, "--json"])?;
    assert_eq!(ended.code, 0, "{ended:?}");
    assert_eq!(ended.json()?["result"], "ok");
    Ok(())
}

#[test]
fn the_login_plan_logs_in() -> Result<()> {
    let shop = Shop::open()?;
    let ended = shop.cuebook(&["exec", PLAN, "--url", &shop.url("/login")])?;
    assert_eq!(ended.code, 0, "{ended:?}");
    let report = ended.json()?;
    assert_eq!(report["result"], "ok");
    let kinds: Vec<_> = report["steps"].as_array().into_iter().flatten().map(|s| s["action"]["type"].clone()).collect();
    assert_eq!(kinds, ["navigate", "type", "type", "click", "waitFor"]);
    assert_eq!(report["steps"][0]["origin"], "start");
    assert_eq!(report["steps"][1]["planIndex"], 0);
    assert_eq!(shop.state()["logins"], json!([{ "user": "user@example.com", "accepted": true }]));
    Ok(())
}

#[test]
fn the_password_is_nowhere_in_the_run_directory() -> Result<()> {
    let shop = Shop::open()?;
    let ended = shop.cuebook(&["exec", PLAN, "--url", &shop.url("/login"), "--record"])?;
    assert_eq!(ended.code, 0, "{ended:?}");
    let mut files = 0;
    let mut folders = vec![ended.run_dir()?];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else {
                files += 1;
                let bytes = std::fs::read(&path)?;
                assert!(!bytes.windows(7).any(|part| part == b"hunter2"), "{} holds the password", path.display());
            }
        }
    }
    assert!(files >= 4, "expected a log, a report and pictures, saw {files} files");
    assert!(!ended.stdout.contains("hunter2") && !ended.stderr.contains("hunter2"));
    Ok(())
}

#[test]
fn a_wrong_postcondition_fails_with_the_facts() -> Result<()> {
    let shop = Shop::open()?;
    let mut plan = plan()?;
    plan["steps"][2]["post"] = json!([{ "kind": "urlChanges", "to": "/nowhere" }]);
    let ended = shop.exec("/login", &plan, &["--no-repair"])?;
    assert_eq!(ended.code, 1, "{ended:?}");
    let report = ended.json()?;
    assert_eq!(report["result"], "failed");
    assert_eq!(report["error"]["code"], "postconditionFailed");
    let failed = &report["steps"][3];
    assert_eq!(failed["failure"]["cause"], "postconditionFailed");
    assert_eq!(failed["failure"]["stage"], "postcondition");
    assert_eq!(failed["post"][0]["verdict"], "fails");
    let samples = failed["failure"]["facts"]["conditions"]["samples"].as_array().map_or(0, Vec::len);
    assert!(samples > 0, "the failure carries no facts: {failed:#}");
    assert_eq!(shop.state()["logins"].as_array().map_or(0, Vec::len), 1, "the click is not repeated");
    Ok(())
}

#[test]
fn a_covered_button_names_its_blocker_and_nothing_is_clicked_through() -> Result<()> {
    let shop = Shop::open()?;
    // The page has one button under a transparent overlay; find it by what it says.
    let observed = shop.cuebook(&["observe", &shop.url("/covered"), "--format", "json"])?.json()?;
    let covered = observed["candidates"]
        .as_array()
        .into_iter()
        .flatten()
        .find(|candidate| candidate["occlusion"]["ratio"].as_f64().unwrap_or(0.0) > 0.9)
        .cloned()
        .unwrap_or_default();
    assert_eq!(covered["role"], "button", "{observed:#}");
    let plan = json!({
        "version": "1.0",
        "candidates": { "button": { "strategy": "byRole", "role": "button", "name": covered["name"] } },
        "steps": [{ "type": "click", "targetRef": "button", "timeoutMs": 2000 }]
    });
    let ended = shop.exec("/covered", &plan, &[])?;
    assert_eq!(ended.code, 1, "{ended:?}");
    let report = ended.json()?;
    assert_eq!(report["error"]["code"], "covered", "{report:#}");
    let failure = report["steps"].as_array().into_iter().flatten().find(|s| s["origin"] == "plan").cloned();
    let blocker = failure.unwrap_or_default()["failure"]["facts"]["blocker"].as_str().unwrap_or_default().to_owned();
    assert!(blocker.contains("overlay"), "the blocker is called {blocker:?}");
    assert_eq!(shop.hits("covered.button"), 0);
    assert_eq!(shop.hits("covered.overlay"), 0);
    Ok(())
}
