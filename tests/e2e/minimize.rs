//! The fewest steps and responses with which a run still fails the same way.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use cuebook_tests::{command, cuebook, finished, in_shared_browser};
use serde_json::{Value, json};

use super::replay::{Changing, text};

/// Saving needs a name, and its field is behind a button. The note and what the page loads are not needed.
const STORE: &str = "<h1>Store</h1><label>Note <input id=note></label>
    <button id=open onclick='more.hidden = false'>More</button>
    <div id=more hidden><label>Name <input id=who></label><button id=save onclick='save()'>Save</button></div>
    <p id=said role=alert></p><img src=/logo.png><script src=/idle.js></script><script>
    fetch('/news').then(async news => { note.placeholder = await news.text(); });
    const save = async () => {
        const answer = who.value && await (await fetch('/save', { method: 'POST', body: who.value })).text();
        said.textContent = !answer ? 'a name is missing' : answer.includes('full') ? 'the store is full' : 'Saved';
    };</script>";

/// Four steps, of which the last one fails.
fn plan() -> Value {
    let by_id = |id: &str| json!({ "strategy": "css", "selector": format!("#{id}") });
    let ids = ["note", "open", "who", "save", "said"];
    let candidates: serde_json::Map<_, _> = ids.iter().map(|id| ((*id).to_owned(), by_id(id))).collect();
    json!({ "version": "1.0", "candidates": candidates, "steps": [
        { "type": "type", "targetRef": "note", "text": "later" },
        { "type": "click", "targetRef": "open" },
        { "type": "type", "targetRef": "who", "text": "Ada" },
        { "type": "click", "targetRef": "save",
          "post": [{ "kind": "elementTextContains", "target": "said", "text": "Saved", "timeoutMs": 700 }] },
    ] })
}

/// A site on which saving fails, and the folder of a run that shows it.
fn failed() -> Result<(Changing, PathBuf)> {
    let site = Changing::open()?;
    site.put("/", STORE);
    site.put("/save", "full");
    let file = site.folder.path().join("plan.json");
    fs::write(&file, plan().to_string())?;
    let ended = site.cuebook(&["exec", text(&file)?, "--url", &site.origin, "--no-repair", "--record-network"])?;
    assert_eq!((ended.code, &ended.json()?["error"]["code"]), (1, &json!("postconditionFailed")), "{ended:?}");
    let run = ended.run_dir()?;
    Ok((site, run))
}

fn verbs(plan: &Path) -> Result<Vec<String>> {
    let plan: Value = serde_json::from_str(&fs::read_to_string(plan)?)?;
    let steps = plan["steps"].as_array().context("expected steps")?;
    Ok(steps.iter().map(|step| format!("{} {}", step["type"], step["targetRef"]).replace('"', "")).collect())
}

#[test]
fn a_failure_is_reduced_to_what_it_needs_and_its_folder_shows_it() -> Result<()> {
    let (site, run) = failed()?;
    let recorded = fs::read_to_string(run.join("network.jsonl"))?;
    assert!(["/logo.png", "/idle.js", "/news"].iter().all(|path| recorded.contains(path)), "{recorded}");
    site.put("/", "the site is another one by now");
    let repro = site.folder.path().join("it's a repro");
    let minimized = ["minimize", text(&run)?, "--offline", "--no-repair", "--out", text(&repro)?, "--json"];
    let ended = cuebook(&minimized)?;
    assert_eq!(ended.code, 0, "{ended:?}");
    let said = ended.json()?;
    assert_eq!((&said["steps"], &said["isMinimal"]), (&json!({ "was": 4, "is": 3 }), &json!(true)), "{said:#}");
    assert_eq!(said["responses"]["is"], 2, "the page and the answer: {said:#}");
    let signature = &said["signature"];
    assert_eq!((&signature["verb"], &signature["target"]), (&json!("click"), &json!("css=\"#save\"")), "{signature:#}");
    assert_eq!(signature["page"], format!("{}/", site.origin), "{signature:#}");
    assert_eq!((&signature["stage"], &signature["cause"]), (&json!("postcondition"), &json!("postconditionFailed")));
    assert!(signature["conditions"].to_string().contains("elementTextContains"), "{signature:#}");
    assert!(signature["problems"].to_string().contains("the store is full"), "{signature:#}");
    assert_eq!(verbs(&repro.join("plan.json"))?.len(), 3);
    assert_eq!(fs::read_to_string(repro.join("network.jsonl"))?.lines().count(), 3, "a setting and two exchanges");
    assert!(ended.stderr.contains("replay 2: "), "{}", ended.stderr);

    let har: Value = serde_json::from_str(&fs::read_to_string(repro.join("traffic.har"))?)?;
    let requested: Vec<_> = har["log"]["entries"].as_array().into_iter().flatten().collect();
    let urls: Vec<&str> = requested.iter().filter_map(|entry| entry["request"]["url"].as_str()).collect();
    assert_eq!(urls, [format!("{}/", site.origin), format!("{}/save", site.origin)]);
    assert!(requested[1]["response"]["content"]["text"].as_str().is_some_and(|body| body.ends_with("full")), "{har:#}");
    let files = fs::read_dir(&repro)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
    let pictures: Vec<String> =
        files.collect::<Result<Vec<_>>>()?.into_iter().filter(|it| it.ends_with(".png")).collect();
    assert!(pictures.contains(&"step-3-screenshotAfter.png".to_owned()), "{pictures:?}");

    // The one command, as it stands in the folder.
    let words: Vec<&str> = said["command"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let readme = fs::read_to_string(repro.join("README.md"))?;
    assert!(readme.contains(&words.join(" ")) && readme.contains("postconditionFailed"), "{readme}");
    let mut again = command()?;
    let output =
        finished(in_shared_browser(again.current_dir(&repro)).args(&words[1..]).args(["--json", "--out", "runs"]))?;
    let report = output.json()?;
    assert_eq!(output.code, 1, "{report:#}");
    let last = report["steps"].as_array().and_then(|steps| steps.last()).context("expected steps")?;
    assert_eq!(last["failure"]["cause"], signature["cause"], "{last:#}");
    assert!(last["effects"].to_string().contains("the store is full"), "{last:#}");

    let again = cuebook(&minimized)?;
    assert_eq!((again.code, &again.json()?["error"]["code"]), (2, &json!("cannotWrite")), "{again:?}");
    Ok(())
}

#[test]
fn a_search_cut_short_says_so_and_a_failure_that_is_gone_writes_nothing() -> Result<()> {
    let (site, run) = failed()?;
    let repro = site.folder.path().join("repro");
    let minimized = ["minimise", text(&run)?, "--no-repair", "--out", text(&repro)?, "--json", "--quiet"];
    let ended = cuebook(&[&minimized[..], &["--max-replays", "2"]].concat())?;
    assert_eq!((ended.code, ended.stderr.as_str()), (0, ""), "{ended:?}");
    let said = ended.json()?;
    assert_eq!((&said["isMinimal"], &said["steps"]), (&json!(false), &json!({ "was": 4, "is": 4 })), "{said:#}");
    assert_eq!(said["replays"], 2 + 3, "{said:#}");
    assert!(said["responses"].is_null() && !repro.join("network.jsonl").exists(), "it is live: {said:#}");
    fs::remove_dir_all(&repro)?;

    site.put("/save", "kept");
    let gone = cuebook(&minimized)?;
    assert_eq!((gone.code, &gone.json()?["error"]["code"]), (1, &json!("notReproduced")), "{gone:?}");
    assert!(!repro.exists());
    let well = site.cuebook(&["exec", text(&run.with_file_name("../plan.json"))?, "--url", &site.origin])?;
    assert_eq!(well.code, 0, "{well:?}");
    let well = cuebook(&["minimize", text(&well.run_dir()?)?, "--json"])?;
    assert_eq!(well.code, 2, "{well:?}");
    assert!(well.stderr.contains("the run did not end with a step that failed"), "{well:?}");
    Ok(())
}
