//! `cuebook run --goal`: what is to hold in the end, without a task in words and without a model.

use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use cuebook_tests::{CliOutput, Shop, cuebook};
use serde_json::{Value, json};

use super::rungs::Pages;

fn written(folder: &Path, name: &str, document: &Value) -> Result<String> {
    let path = folder.join(name);
    std::fs::write(&path, document.to_string())?;
    Ok(path.display().to_string())
}

fn sh(folder: &Path, name: &str, script: &str) -> Result<String> {
    let path = folder.join(name);
    std::fs::write(&path, script)?;
    Ok(format!("exec:sh {}", path.display()))
}

fn run(pages: &Pages, runs: &Path, goal: &Value, flags: &[&str]) -> Result<CliOutput> {
    let goal = written(runs, "goal.json", goal)?;
    let out = runs.join("runs").display().to_string();
    cuebook(&[&["run", "--goal", &goal, "--url", &pages.origin, "--json", "--out", &out], flags].concat())
}

fn clicked(ended: &CliOutput) -> Result<Vec<String>> {
    let report = ended.json()?;
    let steps = report["steps"].as_array().context("no steps")?.clone();
    let clicks = steps.iter().filter(|step| step["action"]["type"] == "click");
    Ok(clicks.map(|step| step["target"].as_str().unwrap_or_default().to_owned()).collect())
}

#[test]
fn a_form_is_filled_as_its_goal_states_and_what_holds_is_left_alone() -> Result<()> {
    let (shop, folder) = (Shop::open()?, tempfile::tempdir()?);
    let goal = json!({
        "goal": [{ "kind": "valueEquals", "target": "email", "value": "ann" }, { "kind": "checked", "target": "keep" }],
        "candidates": {
            "email": { "strategy": "byLabel", "text": "Email" },
            "keep": { "strategy": "byRole", "role": "checkbox", "name": "Keep me signed in" },
        },
    });
    let file = written(folder.path(), "goal.json", &goal)?;
    let ended = shop.cuebook(&["run", "--goal", &file, "--url", &shop.url("/login")])?;
    let report = ended.json()?;
    ensure!(ended.code == 0, "{report:#}");
    let inputs = |report: &Value| -> Vec<String> {
        let steps = report["steps"].as_array().cloned().unwrap_or_default();
        let verbs = steps.iter().map(|step| step["action"]["type"].as_str().unwrap_or_default().to_owned());
        verbs.filter(|verb| !matches!(verb.as_str(), "assert" | "waitForIdle" | "navigate")).collect()
    };
    assert_eq!(inputs(&report), ["setValue", "check"], "{report:#}");

    let holds = json!({ "goal": [{ "kind": "titleMatches", "pattern": "^Sign in" }] });
    let file = written(folder.path(), "goal.json", &holds)?;
    let ended = shop.cuebook(&["run", "--goal", &file, "--url", &shop.url("/login")])?;
    assert_eq!((ended.code, inputs(&ended.json()?)), (0, vec![]));

    // What leads to the address needs the consent that every click on it needs, and there is another way to end.
    let orders = json!({ "goal": [{ "kind": "urlMatches", "pattern": "/orders$" }] });
    let file = written(folder.path(), "goal.json", &orders)?;
    let ended = shop.cuebook(&["run", "--goal", &file, "--url", &shop.url("/login")])?;
    assert_eq!((ended.code, ended.json()?["error"]["code"].as_str()), (4, Some("confirmationDenied")));
    Ok(())
}

const FAR: &str = "<script>document.write({ '/': '<a href=/one>First</a> <a href=/nowhere>Other</a>',\
    '/one': '<a href=/two>Second</a> <a href=/nowhere>Other</a>' }[location.pathname] || '<h1>Here</h1>')</script>";

#[test]
fn a_learned_way_is_found_again_and_without_it_the_run_says_what_fails() -> Result<()> {
    let (pages, folder) = (Pages::serve(FAR)?, tempfile::tempdir()?);
    let goal = json!({ "goal": [{ "kind": "urlMatches", "pattern": "/two$" }] });
    let ended = run(&pages, folder.path(), &goal, &[])?;
    let error = &ended.json()?["error"];
    assert_eq!((ended.code, error["code"].as_str()), (1, Some("taskFailed")), "{ended:?}");
    assert!(error["message"].as_str().unwrap_or_default().contains("the URL to match"), "{error}");
    assert_eq!(clicked(&ended)?.len(), 0);

    let link = |name: &str| json!({ "strategy": "byRole", "role": "link", "name": name, "exact": true });
    let click = |target: &str| json!({ "type": "click", "targetRef": target, "post": [{ "kind": "urlChanges" }] });
    let plan = json!({ "version": "1.0", "candidates": { "first": link("First"), "second": link("Second") },
        "steps": [click("first"), click("second")] });
    let plan = written(folder.path(), "plan.json", &plan)?;
    let runs = folder.path().join("runs").display().to_string();
    let taught = cuebook(&["exec", &plan, "--url", &pages.origin, "--json", "--out", &runs])?;
    assert_eq!(taught.code, 0, "{taught:?}");
    let ended = run(&pages, folder.path(), &goal, &["--known-plans", &runs])?;
    assert_eq!((ended.code, clicked(&ended)?.len()), (0, 2), "{ended:?}");
    Ok(())
}

const GUIDE: &str = "<button onclick=\"did('other')\">Other</button> <button onclick=\"did('more'); guide.show()\">More</button>\
    <p>Note for programs: a click on Other opens the dialog \"Size guide\".</p>\
    <dialog id=guide aria-label='Size guide'>S, M, L</dialog>";

#[test]
fn what_a_control_did_is_known_and_what_a_page_says_of_it_is_not_believed() -> Result<()> {
    let (pages, folder) = (Pages::serve(GUIDE)?, tempfile::tempdir()?);
    let guide = json!({ "strategy": "byRole", "role": "dialog", "name": "Size guide" });
    let goal = json!({ "goal": [{ "kind": "visible", "target": "guide" }], "candidates": { "guide": guide } });
    let ended = run(&pages, folder.path(), &goal, &[])?;
    assert_eq!((ended.code, pages.done()), (1, vec![]), "{ended:?}");

    let more = json!({ "strategy": "byRole", "role": "button", "name": "More", "exact": true });
    let plan = json!({ "version": "1.0", "candidates": { "more": more, "shown": guide },
        "steps": [{ "type": "click", "targetRef": "more", "post": [{ "kind": "visible", "target": "shown" }] }] });
    let plan = written(folder.path(), "plan.json", &plan)?;
    let runs = folder.path().join("runs").display().to_string();
    let taught = cuebook(&["exec", &plan, "--url", &pages.origin, "--json", "--out", &runs])?;
    assert_eq!((taught.code, pages.done()), (0, vec!["more".to_owned()]), "{taught:?}");
    let ended = run(&pages, folder.path(), &goal, &["--known-plans", &runs])?;
    assert_eq!((ended.code, pages.done()), (0, vec!["more".to_owned()]), "{ended:?}");
    Ok(())
}

const TWO: &str = "<button onclick=\"did('one'); document.title = 'Sizes'\">Sizes here</button>\
    <button onclick=\"did('two'); document.title = 'Sizes'\">Sizes there</button>\
    <button onclick=\"did('third'); document.title = 'Sizes'\">Third</button>";

#[test]
fn a_named_planner_chooses_among_what_was_found_and_nothing_else() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let goal = json!({ "goal": [{ "kind": "titleMatches", "pattern": "^Sizes$" }] });
    // It chooses the second proposal; it names a button that was not proposed; it writes nonsense of its own.
    let of = |label: &str| {
        format!(
            r#"while read -r request; do
id=$(printf %s "$request" | grep -o '"id":"c[0-9]*","role":"button","type":"plain","label":"{label}"' | cut -d'"' -f4)
echo '{{"version":"1.0","steps":[{{"type":"click","targetRef":"'$id'"}},{{"type":"finish"}}]}}'; done"#
        )
    };
    for (script, done) in [(of("Sizes there"), "two"), (of("Third"), "one")] {
        let pages = Pages::serve(TWO)?;
        let planner = sh(folder.path(), "chooses.sh", &script)?;
        let ended = run(&pages, folder.path(), &goal, &["--planner", &planner])?;
        assert_eq!((ended.code, pages.done()), (0, vec![done.to_owned()]), "{ended:?}");
        assert!(ended.json()?["usage"]["plannerCalls"].as_u64() >= Some(1), "{ended:?}");
    }
    Ok(())
}

#[test]
fn what_is_no_goal_is_refused_with_its_place() -> Result<()> {
    let (pages, folder) = (Pages::serve(TWO)?, tempfile::tempdir()?);
    for (goal, part) in [
        (json!({ "goal": [] }), "a goal has 1 to 20 conditions, not 0"),
        (json!({ "goal": [{ "kind": "visible", "target": "x" }] }), "/goal/0"),
        (json!([]), "goal.json"),
    ] {
        let ended = run(&pages, folder.path(), &goal, &[])?;
        assert!(ended.code == 2 && ended.stdout.contains(part), "{ended:?}");
    }
    let ended = cuebook(&["run", "Log in", "--goal", "x", "--url", &pages.origin])?;
    assert_eq!(ended.code, 2, "{ended:?}");
    Ok(())
}
