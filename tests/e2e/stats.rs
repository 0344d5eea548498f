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
    let by = cuebook(&["stats", text(&good)?, text(&bad)?, "--by", "site", "--json"])?.json()?;
    let site = by["groups"]["metrics"][0]["name"].as_str().context("expected a group")?.to_owned();
    assert!(site.starts_with("http://127.0.0.1:"), "{site}");
    assert_eq!(by["groups"]["metrics"][0]["summary"]["runs"], by["runs"]);
    let by = cuebook(&["stats", text(&good)?, text(&bad)?, "--by", "site"])?;
    assert!(by.stdout.lines().any(|line| line.starts_with("      2   50.0 %") && line.ends_with(&site)), "{by:?}");
    let by = cuebook(&["stats", text(&good)?, "--by", "site", "--prometheus"])?;
    let line = format!("cuebook_runs{{site=\"{site}\",result=\"ok\"}} 1\n");
    assert!(by.stdout.contains(&line), "{line} in {}", by.stdout);
    let tables = out.join("tables");
    let export = ["export", text(&good)?, text(&bad)?, "--to", "parquet", "--redact", "none", "--out", text(&tables)?];
    assert_eq!(cuebook(&export)?.code, 0);
    for more in [&["--json"][..], &["--json", "--by", "task"], &["--prometheus", "--by", "site"], &[]] {
        let of = |paths: &[&str]| cuebook(&[&["stats"], paths, more].concat());
        let (logs, tables) = (of(&[text(&good)?, text(&bad)?])?, of(&[text(&tables)?])?);
        assert_eq!((tables.code, tables.stdout, tables.stderr.as_str()), (0, logs.stdout, ""), "{more:?}");
    }
    let gate = cuebook(&["stats", text(&tables)?, "--gate", text(&baseline)?])?;
    assert_eq!((gate.code, gate.stderr.contains("regression: runs.successRate")), (1, true), "{gate:?}");
    let wrong = cuebook(&["stats", text(&good)?, "--price", "gpt-5=1"])?;
    assert_eq!((wrong.code, wrong.stderr.contains("MODEL=IN,OUT")), (2, true), "{wrong:?}");
    let scraped = cuebook(&["stats", text(&good)?, "--prometheus"])?;
    assert!(scraped.stdout.contains("cuebook_runs{result=\"ok\"} 1\n"), "{}", scraped.stdout);
    Ok(())
}

/// Writes the log of a run without steps.
fn ended(out: &Path, name: &str, ts_ms: u64, result: &str) -> Result<()> {
    let header = json!({ "entry": "header", "schemaVersion": cuebook_grammar::record::RECORD_VERSION, "runId": name,
        "tsMs": ts_ms, "cuebook": "0.1.0", "command": "run", "task": "buy \u{1b}[31m milk", "url": "https://shop.test/a" });
    let end = json!({ "entry": "end", "runId": name, "tsMs": ts_ms + 1, "result": result });
    fs::create_dir(out.join(name))?;
    Ok(fs::write(out.join(name).join("log.jsonl"), format!("{header}\n{end}\n"))?)
}

#[test]
fn a_broken_rule_is_said_once_and_its_recovery_too() -> Result<()> {
    let dir = tempfile::tempdir()?;
    let (out, rules) = (dir.path().join("runs"), dir.path().join("alerts.toml"));
    fs::create_dir(&out)?;
    let rule =
        "[[rule]]\nname = \"buys\"\nrate = \"runs.successRate\"\nmin = 0.9\nlast = 2\nmin_runs = 2\nby = \"task\"\n";
    fs::write(&rules, rule)?;
    let (runs, rules_file) = (text(&out)?, text(&rules)?);
    let once = ["watch", runs, "--rules", rules_file, "--once"];
    assert_eq!(cuebook(&once)?.code, 0, "the first run is still to come");
    ended(&out, "a", 1, "ok")?;
    ended(&out, "b", 2, "failed")?;
    let begun = cuebook(&once)?;
    assert_eq!(begun.code, 1, "{begun:?}");
    assert!(begun.stdout.contains("is 50.0 % in 2 runs") && begun.stdout.contains("/runs/b\n"), "{begun:?}");
    assert!(!begun.stdout.contains('\u{1b}'), "{begun:?}");
    let again = cuebook(&once)?;
    assert_eq!((again.code, again.stdout.as_str()), (1, ""), "said once, and active: {again:?}");
    let withdrawn = out.join("other.toml");
    fs::write(&withdrawn, rule.replace("\"buys\"", "\"sells\""))?;
    let state = out.join("state.json");
    fs::copy(out.join("cuebook-watch.json"), &state)?;
    let gone = cuebook(&["watch", runs, "--rules", text(&withdrawn)?, "--state", text(&state)?, "--once"])?;
    assert!(gone.stdout.contains("withdrawn: buys: runs.successRate of buy"), "{gone:?}");
    assert!(gone.stdout.contains("alert: sells") && gone.code == 1, "{gone:?}");
    ended(&out, "c", 3, "ok")?;
    ended(&out, "d", 4, "ok")?;
    let json = cuebook(&["watch", runs, "--rules", rules_file, "--once", "--json"])?;
    let looked = json.json()?;
    assert_eq!((json.code, &looked["alerts"][0]["active"], &looked["active"]), (0, &json!(false), &json!([])));
    assert_eq!((&looked["alerts"][0]["now"], &looked["alerts"][0]["limit"]), (&json!(1.0), &json!({ "min": 0.9 })));

    let state = out.join("cuebook-watch.json");
    let other = cuebook_datalayer::FileLock::beside(&state)?.context("expected the lock to be free")?;
    let second = cuebook(&once)?;
    assert!(second.code == 3 && second.stderr.contains("stop it, or give each a file by --state"), "{second:?}");
    drop(other);
    fs::write(&state, "{")?;
    let damaged = cuebook(&once)?;
    assert_eq!((damaged.code, damaged.stderr.contains("the state is damaged")), (2, true), "{damaged:?}");
    fs::write(&rules, rule.replace("successRate", "sucessRate"))?;
    let wrong = cuebook(&once)?;
    assert!(wrong.code == 2 && wrong.stderr.contains("line 3: unknown rate"), "{wrong:?}");
    fs::write(&rules, rule)?;
    let yaml = cuebook(&["watch", "--rules", rules_file, "--prometheus"])?;
    assert!(yaml.code == 0 && yaml.stdout.starts_with("groups:\n"), "{yaml:?}");
    Ok(())
}

#[cfg(unix)]
#[test]
fn an_alert_that_was_not_delivered_is_tried_again() -> Result<()> {
    use std::io::{Read as _, Write as _};
    use std::os::unix::fs::PermissionsExt as _;

    let dir = tempfile::tempdir()?;
    let (out, rules, hook) = (dir.path().join("runs"), dir.path().join("alerts.toml"), dir.path().join("hook"));
    fs::create_dir(&out)?;
    fs::write(&rules, "[[rule]]\nname = \"ends\"\nrate = \"runs.successRate\"\nmin = 0.9\nmin_runs = 1\n")?;
    let got = dir.path().join("got it");
    fs::write(&hook, "#!/bin/sh\ncat >> \"$1\"\n")?;
    ended(&out, "a", 1, "failed")?;
    let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
    let url = format!("http://{}/hook?key=secret", listener.local_addr()?);
    let exec = format!("{} '{}'", text(&hook)?, text(&got)?);
    let line = ["watch", text(&out)?, "--rules", text(&rules)?, "--once", "--exec", &exec, "--webhook", &url];
    let refused = cuebook(&line)?;
    assert!(refused.code == 1 && refused.stderr.contains("the next look tries again"), "not executable: {refused:?}");
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755))?;

    let serve = |answer: &'static str| {
        let listener = listener.try_clone();
        std::thread::spawn(move || -> Result<String> {
            let (mut stream, _) = listener?.accept()?;
            let (mut seen, mut chunk) = (String::new(), [0; 4096]);
            while !seen.contains("\"evidence\":[") {
                let read = stream.read(&mut chunk)?;
                anyhow::ensure!(read > 0, "no alert in {seen}");
                seen.push_str(&String::from_utf8_lossy(&chunk[..read]));
            }
            stream.write_all(format!("HTTP/1.1 {answer}\r\ncontent-length: 0\r\n\r\n").as_bytes())?;
            Ok(seen)
        })
    };
    let busy = serve("503 Busy");
    let failed = cuebook(&line)?;
    assert!(failed.stderr.contains("status 503") && !failed.stderr.contains("secret"), "{failed:?}");
    busy.join().map_err(|_| anyhow::anyhow!("the server broke"))??;
    let well = serve("204 Done");
    assert_eq!(cuebook(&line)?.code, 1, "delivered, and active");
    let request = well.join().map_err(|_| anyhow::anyhow!("the server broke"))??;
    assert!(request.starts_with("POST /hook?key=secret ") && request.contains("\"rule\":\"ends\""), "{request}");
    let alert: Value = serde_json::from_str(&fs::read_to_string(&got)?).context("expected it once")?;
    assert_eq!((&alert["rule"], &alert["now"], &alert["active"]), (&json!("ends"), &json!(0.0), &json!(true)));
    assert_eq!(cuebook(&line)?.code, 1, "nothing is sent again: no server waits");
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
