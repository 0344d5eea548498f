//! Repairs on the built-in site: what only they reach, and what they must not touch; and by the planner of the run.

use anyhow::{Result, ensure};
use cuebook_tests::{Shop, command, finished, in_shared_browser};
use serde_json::{Value, json};

use super::engines::prompt;
use super::engines::servers::{Dialect, Server};
use super::rungs::Pages;

fn reserve(seat: &str) -> Value {
    json!({ "version": "1.0",
        "candidates": { "seat": { "strategy": "byRole", "role": "button", "name": format!("Reserve seat {seat}") } },
        "steps": [{ "type": "click", "targetRef": "seat", "timeoutMs": 2_000 }] })
}

fn reserved(shop: &Shop) -> Vec<Value> {
    let state = shop.state();
    let all = state["submissions"].as_array().into_iter().flatten();
    all.filter(|said| said["form"] == "seat").map(|said| said["fields"]["seat"].clone()).collect()
}

#[test]
fn a_row_that_a_list_has_not_drawn_is_scrolled_for() -> Result<()> {
    let shop = Shop::open()?;
    let ended = shop.exec("/virtual", &reserve("20"), &["--no-repair"])?;
    assert_eq!(ended.json()?["error"]["code"], "targetNotFound");

    let ended = shop.exec("/virtual", &reserve("20"), &[])?;
    let report = ended.json()?;
    assert_eq!(ended.code, 0, "{report:#}");
    assert!(shop.eventually(|shop| reserved(shop) == ["20"]), "{:?}", reserved(&shop));
    let repairs = report["steps"].as_array().into_iter().flatten().filter(|step| step["origin"] == "repair");
    let first = repairs.map(|step| (&step["action"]["type"], &step["action"]["explanation"])).next();
    let why = json!("repair 1 of step 1, which failed: targetNotFound; rung: scroll");
    assert_eq!(first, Some((&json!("scrollUntil"), &why)), "{report:#}");
    Ok(())
}

#[test]
fn a_row_that_is_not_there_is_no_other_row() -> Result<()> {
    let shop = Shop::open()?;
    let ended = shop.exec("/virtual", &reserve("5"), &[])?;
    assert_eq!(ended.code, 0, "{ended:?}");
    assert!(shop.eventually(|shop| reserved(shop) == ["5"]));
    let report = shop.exec("/virtual", &reserve("2000"), &[])?.json()?;
    assert_eq!(report["error"]["code"], "targetNotFound", "{report:#}");
    assert_eq!(reserved(&shop), ["5"]);
    Ok(())
}

/// The id of a button in a prompt.
fn listed(prompt: &str, name: &str) -> Option<String> {
    let wanted = format!("\"{name}\" [");
    let line = prompt.lines().find(|line| line.starts_with("| - button ") && line.contains(&wanted))?;
    line.split_once(&wanted)?.1.split(']').next().map(str::to_owned)
}

#[test]
fn a_model_mends_a_step_with_a_part_of_the_page_and_the_plan_goes_on() -> Result<()> {
    const PAGE: &str = "<button onclick=\"s.disabled = false, did('read')\">I have read it</button>\
        <button id=s disabled onclick=\"did('saved')\">Save</button> <button onclick=\"did('closed')\">Close</button>\
        <div id=more></div><script>for (let i = 0; i < 60; i++) more.innerHTML += `<button>Row ${i}</button> `</script>";
    let pages = Pages::serve(PAGE)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let dialect = Dialect::Ollama;
    let server = runtime.block_on(Server::choosing(move |_, request| {
        let prompt = prompt(request);
        let click = |name| json!({ "type": "click", "targetRef": listed(&prompt, name), "timeoutMs": 1_000 });
        let steps = if prompt.contains("The last step of a given plan failed") {
            vec![click("I have read it")]
        } else {
            vec![click("Save"), click("Close"), json!({ "type": "finish" })]
        };
        Some(dialect.saying(&dialect.plan(&steps)))
    }));
    let mut cuebook = command()?;
    cuebook.args(["run", "save", "--url", &pages.origin, "--planner", "ollama", "--model", "tiny", "--json"]);
    cuebook.args(["--base-url", &server.origin(), "--out"]).arg(pages.folder.path());
    let report = finished(in_shared_browser(&mut cuebook))?.json()?;
    let done = pages.done();
    ensure!(report["result"] == "ok" && done == ["read", "saved", "closed"], "{done:?} {report:#}");
    let prompts: Vec<String> =
        server.requests().iter().filter(|request| !request.body.is_empty()).map(prompt).collect();
    let shown: Vec<bool> = prompts.iter().map(|prompt| prompt.contains("\"Row 40\" [")).collect();
    ensure!(shown == [true, false], "{prompts:#?}");
    Ok(())
}
