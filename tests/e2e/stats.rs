//! Metrics of recorded runs, and the gate for CI.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use cuebook_tests::{Shop, cuebook};
use serde_json::{Value, json};

fn click(post: &Value) -> Value {
    json!({ "version": "1.0",
            "candidates": { "button": { "strategy": "byRole", "role": "button", "name": "Save draft" } },
            "steps": [{ "type": "click", "targetRef": "button", "post": [post] }] })
}

fn text(path: &Path) -> Result<&str> {
    path.to_str().context("expected a path in UTF-8")
}

#[test]
fn runs_are_counted_and_a_rate_that_fell_fails_the_gate() -> Result<()> {
    let shop = Shop::open()?;
    let good = shop.exec("/toast", &click(&json!({ "kind": "urlMatches", "pattern": "toast" })), &[])?;
    let good = good.run_dir()?;
    let out = good.parent().context("expected a folder of runs")?;
    let before = cuebook(&["stats", text(&good)?, "--json"])?;
    assert_eq!(before.code, 0, "{before:?}");
    assert_eq!(before.json()?["runs"]["successRate"], 1.0);
    let baseline = out.join("baseline.json");
    fs::write(&baseline, &before.stdout)?;

    let bad = shop.exec("/toast", &click(&json!({ "kind": "urlMatches", "pattern": "nowhere" })), &["--no-repair"])?;
    let bad = bad.run_dir()?;
    let after = cuebook(&["stats", text(&good)?, text(&bad)?, "--gate", text(&baseline)?, "--json"])?;
    assert_eq!(after.code, 1, "{after:?}");
    let stats = after.json()?;
    assert_eq!((&stats["runs"]["total"], &stats["runs"]["ok"]), (&json!(2), &json!(1)));
    assert_eq!(stats["causes"], json!({ "postconditionFailed": 1 }));
    assert_eq!(stats["flakyTargets"][0]["what"], r#"click role=button name="Save draft""#);
    assert_eq!(stats["failed"][0]["cause"], "postconditionFailed");
    let fell: Vec<_> = stats["regressions"].as_array().into_iter().flatten().map(|one| one["rate"].clone()).collect();
    assert!(fell.contains(&json!("runs.successRate")), "{fell:?}");
    let tolerant = ["stats", text(&good)?, "--gate", text(&baseline)?, "--tolerance", "0.5"];
    assert_eq!(cuebook(&tolerant)?.code, 0);

    let written = cuebook(&["report", text(out)?, "--json"])?;
    assert_eq!(written.code, 0, "{written:?}");
    assert_eq!(written.json()?["report"], json!(out.join("report.html")));
    let page = fs::read_to_string(out.join("report.html"))?;
    let run = bad.file_name().and_then(|name| name.to_str()).context("expected a name")?;
    for part in [
        "1 of 2 runs ended well",
        "postconditionFailed",
        "click role=button name=&quot;Save draft&quot;",
        "POST http://127.0.0.1:",
        &format!("<a href=\"./{run}/report.html\">{run}</a>"),
    ] {
        assert!(page.contains(part), "{part} in {page}");
    }
    assert!(fs::read_to_string(bad.join("report.html"))?.contains("Around the target"));
    let nowhere = cuebook(&["report", text(&good)?, text(&bad)?, "--json"])?;
    assert_eq!((nowhere.code, nowhere.stderr.contains("--out FILE")), (2, true), "{nowhere:?}");

    let shown = cuebook(&["stats", text(&good)?, text(&bad)?])?;
    assert!(shown.stdout.contains("runs that ended well         50.0 %"), "{}", shown.stdout);
    assert!(shown.stdout.contains("\nslowest steps\n  p90 "), "{}", shown.stdout);
    let wrong = cuebook(&["stats", text(&good)?, "--price", "gpt-5=1"])?;
    assert_eq!((wrong.code, wrong.stderr.contains("MODEL=IN,OUT")), (2, true), "{wrong:?}");
    let scraped = cuebook(&["stats", text(&good)?, "--prometheus"])?;
    assert!(scraped.stdout.contains("cuebook_runs{result=\"ok\"} 1\n"), "{}", scraped.stdout);
    Ok(())
}

#[test]
fn what_cannot_be_counted_is_said() -> Result<()> {
    let out = tempfile::tempdir()?;
    let nothing = cuebook(&["stats", text(out.path())?, "--json"])?;
    assert_eq!((nothing.code, &nothing.json()?["error"]["code"]), (2, &json!("unreadable")));
    let run = out.path().join("run");
    fs::create_dir(&run)?;
    fs::write(run.join("log.jsonl"), "{\"entry\":\"nonsense\"}\n")?;
    let broken = cuebook(&["stats", text(out.path())?, "--json"])?;
    assert_eq!(broken.code, 0, "{broken:?}");
    let stats = broken.json()?;
    assert_eq!(stats["runs"]["cutOff"], 1);
    assert!(stats["unreadable"][0].as_str().is_some_and(|said| said.contains("line 1")), "{stats}");
    let gate = cuebook(&["stats", text(out.path())?, "--gate", text(&run.join("log.jsonl"))?, "--json"])?;
    assert_eq!(gate.code, 2, "a log is no baseline: {gate:?}");
    Ok(())
}

#[test]
fn old_runs_are_removed_and_nothing_else() -> Result<()> {
    let shop = Shop::open()?;
    let plan = click(&json!({ "kind": "urlMatches", "pattern": "toast" }));
    let out = shop.runs().join("out");
    for _ in 0..3 {
        let ended = shop.exec("/toast", &plan, &["--out", text(&out)?])?;
        assert_eq!(ended.code, 0, "{ended:?}");
    }
    let other = out.join("notes");
    fs::create_dir(&other)?;
    fs::write(other.join("log.jsonl"), "{\"level\":30}\n")?;
    let runs = || -> Result<usize> { Ok(fs::read_dir(&out)?.count()) };

    let dry = cuebook(&["prune", text(&out)?, "--keep", "1", "--dry-run", "--json"])?;
    assert_eq!((dry.code, dry.json()?["removed"].as_array().map(Vec::len), runs()?), (0, Some(2), 4), "{dry:?}");
    assert!(dry.stderr.contains("notes is kept: its log.jsonl does not begin as the log of a run"), "{dry:?}");
    let pruned = cuebook(&["prune", text(&out)?, "--keep", "1", "--older", "30d", "--json"])?.json()?;
    assert_eq!((&pruned["removed"], &pruned["kept"]), (&dry.json()?["removed"], &json!(1)), "{pruned:#}");
    assert!(pruned["bytes"].as_u64() > Some(1_000), "{pruned:#}");
    assert_eq!(runs()?, 2);
    assert_eq!(cuebook(&["prune", text(&out)?, "--larger", "0B"])?.code, 0);
    assert_eq!((runs()?, other.join("log.jsonl").is_file()), (1, true));
    assert_eq!(cuebook(&["prune", text(&out)?])?.code, 2, "a limit is stated");
    Ok(())
}

#[test]
fn a_schema_that_asks_for_nothing_is_an_event_an_entry_and_a_count() -> Result<()> {
    let shop = Shop::open()?;
    let read = |schema: Value| json!({ "type": "extract", "query": { "kind": "schema", "schema": schema } });
    let heading = json!({ "type": "object", "properties": { "heading": { "type": "string" } } });
    let plan = json!({ "version": "1.0", "steps": [read(json!({})), read(heading)] });
    let ended = shop.exec("/login", &plan, &[])?;
    assert_eq!(ended.code, 0, "{ended:?}");
    assert_eq!(ended.stderr.matches("was read as Markdown").count(), 1, "{ended:?}");
    let run = ended.run_dir()?;
    let log = fs::read_to_string(run.join("log.jsonl"))?;
    let entries = log.lines().map(serde_json::from_str).collect::<Result<Vec<Value>, _>>()?;
    let events: Vec<&Value> = entries.iter().filter(|entry| entry["entry"] == "event").map(|it| &it["event"]).collect();
    assert_eq!(events, [&json!({ "kind": "readAsMarkdown", "stepIndex": 1 })]);
    assert_eq!(cuebook(&["stats", text(&run)?, "--json"])?.json()?["readAsMarkdown"], 1);
    Ok(())
}
