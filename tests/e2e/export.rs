//! Exports of real runs: what `cuebook` writes in every format, and when it refuses to.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use arrow_array::RecordBatch;
use arrow_array::cast::AsArray as _;
use cuebook_tests::{CliOutput, Shop, cuebook};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::{Value, json};

const LOGIN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/plans/login.json");
const TABLES: [&str; 6] = ["runs", "steps", "conditions", "candidates", "requests", "planning"];

fn text(path: &Path) -> Result<&str> {
    path.to_str().context("expected a path in UTF-8")
}

/// Runs on the built-in site, and exports of them.
struct Recorded {
    shop: Shop,
    out: tempfile::TempDir,
}

impl Recorded {
    /// A login from a plan, one in words, and a click that failed.
    fn new() -> Result<Self> {
        let shop = Shop::open()?;
        let by_plan = shop.cuebook(&["exec", LOGIN, "--url", &shop.url("/login"), "--record"])?;
        ensure!(by_plan.code == 0, "{by_plan:?}");
        let task = "log in as \"user@example.com\" with password \"hunter2\"";
        let in_words = shop.run("/login", task, &["--record"])?;
        ensure!(in_words.code == 0, "{in_words:?}");
        let plan = json!({ "version": "1.0",
            "candidates": { "button": { "strategy": "byRole", "role": "button", "name": "Save draft" } },
            "steps": [{ "type": "click", "targetRef": "button", "post": [{ "kind": "urlMatches", "pattern": "nowhere" }] }] });
        let failed = shop.exec("/toast", &plan, &["--record", "--no-repair"])?;
        ensure!(failed.code == 1, "{failed:?}");
        Ok(Self { shop, out: tempfile::tempdir()? })
    }

    fn export(&self, format: &str, flags: &[&str]) -> Result<(PathBuf, CliOutput)> {
        let out = self.out.path().join(format!("{format}{}", flags.concat()));
        let mut args = vec!["export", text(self.shop.runs())?, "--to", format, "--out", text(&out)?, "--json"];
        args.extend(flags);
        let ended = cuebook(&args)?;
        Ok((out.clone(), ended))
    }

    /// Exports, and again to see that it stays as it is.
    fn exported(&self, format: &str) -> Result<(PathBuf, Vec<String>)> {
        let (out, ended) = self.export(format, &["--redact", "none"])?;
        ensure!(ended.code == 0, "{ended:?}");
        let report = ended.json()?;
        assert_eq!((&report["runs"], &report["unreadable"]), (&json!(3), &Value::Null), "{report}");
        let written: Vec<String> = serde_json::from_value(report["written"].clone())?;
        ensure!(!written.is_empty(), "{report}");
        let (_, again) = self.export(format, &["--redact", "none"])?;
        let again = again.json()?;
        assert_eq!((&again["written"], &again["kept"]), (&json!([]), &json!(written.len())), "{format}");
        Ok((out, written))
    }
}

fn lines(path: &Path) -> Result<Vec<Value>> {
    let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
    Ok(text.lines().map(serde_json::from_str).collect::<Result<_, _>>()?)
}

fn table(out: &Path, written: &[String], table: &str) -> Result<Vec<RecordBatch>> {
    let mut batches = Vec::new();
    for name in written.iter().filter(|name| name.starts_with(&format!("{table}/date="))) {
        for batch in ParquetRecordBatchReaderBuilder::try_new(File::open(out.join(name))?)?.build()? {
            batches.push(batch?);
        }
    }
    Ok(batches)
}

fn texts(batches: &[RecordBatch], column: &str) -> Result<Vec<String>> {
    let mut texts = Vec::new();
    for batch in batches {
        let column = batch.column_by_name(column).with_context(|| format!("no column {column}"))?;
        texts.extend(column.as_string::<i32>().iter().map(|text| text.unwrap_or("(null)").to_owned()));
    }
    Ok(texts)
}

#[test]
fn real_runs_are_written_in_every_format() -> Result<()> {
    let recorded = Recorded::new()?;

    let (out, written) = recorded.exported("parquet")?;
    for name in TABLES {
        ensure!(written.iter().any(|file| file.starts_with(&format!("{name}/date="))), "{name}: {written:?}");
    }
    let mut results = texts(&table(&out, &written, "runs")?, "result")?;
    results.sort();
    assert_eq!(results, ["failed", "ok", "ok"]);
    let actions = texts(&table(&out, &written, "steps")?, "action")?;
    assert_eq!(actions.iter().filter(|action| *action == "type").count(), 4, "{actions:?}");
    let requests = texts(&table(&out, &written, "requests")?, "method")?;
    ensure!(requests.iter().any(|method| method == "POST"), "{requests:?}");
    let names = texts(&table(&out, &written, "candidates")?, "name")?;
    ensure!(names.iter().any(|name| name == "Log in"), "{names:?}");

    let (out, _) = recorded.exported("steplog")?;
    let steps = lines(&out.join("steps.jsonl"))?;
    assert_eq!(steps.len(), actions.len());
    ensure!(steps.iter().any(|step| step["postCheck"]["urlChanged"] == true), "{steps:?}");

    let (out, _) = recorded.exported("sft")?;
    let examples = lines(&out.join("sft.jsonl"))?;
    let verb = |example: &Value| {
        let answer = example["messages"][2]["content"].as_str().unwrap_or_default();
        answer.split('(').next().unwrap_or_default().to_owned()
    };
    assert_eq!(
        examples.iter().map(verb).collect::<Vec<_>>(),
        ["finish"],
        "a plan that enters a password is no example"
    );

    let (out, written) = recorded.exported("hf")?;
    ensure!(fs::read_to_string(out.join("README.md"))?.contains("configs:"));
    let rows: Result<Vec<_>> =
        written.iter().filter(|name| name.starts_with("data/")).map(|name| Ok(lines(&out.join(name))?.len())).collect();
    assert_eq!(rows?, [1], "one task is in one split");
    recorded.exported("preferences")?;

    let (out, written) = recorded.exported("har")?;
    for name in &written {
        let har: Value = serde_json::from_str(&fs::read_to_string(out.join(name))?)?;
        ensure!(har["log"]["entries"].as_array().is_some_and(|entries| !entries.is_empty()), "{har}");
    }
    let (out, _) = recorded.exported("mind2web")?;
    let rows = lines(&out.join("mind2web.jsonl"))?;
    assert_eq!(rows[0]["operation"]["value"], "user@example.com");
    ensure!(out.join(rows[0]["screenshot"].as_str().context("no picture")?).is_file());

    let (out, written) = recorded.exported("playwright-test")?;
    let tests: Result<Vec<_>, _> = written.iter().map(|name| fs::read_to_string(out.join(name))).collect();
    let tests = tests?.concat();
    for line in [
        "await page.getByTestId(\"email-input\").pressSequentially(\"user@example.com\");",
        "await page.getByTestId(\"password-input\").pressSequentially(SECRET_1);",
        "await expect(page).toHaveURL(new RegExp(\"/dashboard\"));",
    ] {
        ensure!(tests.contains(line), "{line} in {tests}");
    }
    let (out, written) = recorded.exported("playwright-trace")?;
    for name in &written {
        check_trace(&out.join(name))?;
    }
    Ok(())
}

/// A trace as the loader of the viewer wants it.
fn check_trace(path: &Path) -> Result<()> {
    let mut zip = zip::ZipArchive::new(File::open(path)?)?;
    let names: BTreeSet<String> = zip.file_names().map(ToOwned::to_owned).collect();
    let mut events = String::new();
    zip.by_name("trace.trace")?.read_to_string(&mut events)?;
    ensure!(events.ends_with('\n'), "{}: the last line is whole", path.display());
    let events: Vec<Value> = events.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
    assert_eq!((&events[0]["type"], &events[0]["version"]), (&json!("context-options"), &json!(8)));
    let (mut begun, mut ended, mut pictures) = (BTreeSet::new(), BTreeSet::new(), 0);
    for event in &events {
        match event["type"].as_str() {
            Some("before") => ensure!(begun.insert(event["callId"].clone().to_string()), "{event}"),
            Some("input") => ensure!(begun.contains(&event["callId"].to_string()), "{event}"),
            Some("after") => {
                let id = event["callId"].to_string();
                ensure!(begun.contains(&id) && ended.insert(id), "{event}");
            }
            Some("frame-snapshot") => {
                ensure!(ended.contains(&event["snapshot"]["callId"].to_string()), "{event}");
                let file = event["snapshot"]["resourceOverrides"][0]["sha1"].as_str().context("no picture")?;
                ensure!(names.contains(&format!("resources/{file}")), "{event}");
                pictures += 1;
            }
            _ => {}
        }
    }
    ensure!(begun == ended && pictures > 0, "{} pictures of {} actions", pictures, begun.len());
    Ok(())
}

#[test]
fn an_export_names_its_redaction_or_is_refused() -> Result<()> {
    let recorded = Recorded::new()?;
    for format in [
        "parquet",
        "steplog",
        "sft",
        "hf",
        "preferences",
        "playwright-trace",
        "playwright-test",
        "har",
        "mind2web",
        "otlp",
    ] {
        let (out, refused) = recorded.export(format, &[])?;
        assert_eq!((refused.code, &refused.json()?["error"]["code"]), (2, &json!("usage")), "{format}");
        ensure!(refused.stderr.contains("--redact strict") && !out.exists(), "{refused:?}");
        let (out, strict) = recorded.export(format, &["--redact", "strict"])?;
        ensure!(strict.code == 0, "{strict:?}");
        for name in serde_json::from_value::<Vec<String>>(strict.json()?["written"].clone())? {
            let bytes = fs::read(out.join(&name))?;
            let found = |part: &str| bytes.windows(part.len()).any(|window| window == part.as_bytes());
            ensure!(!found("user@example.com") && !found("PNG"), "{format}: {name}");
        }
    }
    for (format, redaction) in [("har", "none"), ("sft", "strict")] {
        let (out, refused) = recorded.export(format, &["--redact", redaction, "--pictures"])?;
        assert_eq!((refused.code, &refused.json()?["error"]["code"]), (2, &json!("usage")), "{format}");
        ensure!(
            refused.stderr.contains("--pictures needs") || refused.stdout.contains("--pictures needs"),
            "{refused:?}"
        );
        ensure!(format != "har" || !out.exists(), "{format}");
    }
    let (out, first) = recorded.export("har", &["--redact", "none"])?;
    ensure!(first.code == 0, "{first:?}");
    let runs = text(recorded.shop.runs())?;
    let other = cuebook(&["export", runs, "--to", "har", "--redact", "strict", "--out", text(&out)?, "--json"])?;
    assert_eq!(other.code, 2, "a folder has one redaction: {other:?}");
    let again = ["export", runs, "--to", "har", "--redact", "strict", "--out", text(&out)?, "--rewrite", "--json"];
    assert_eq!(cuebook(&again)?.code, 0);
    let nothing = tempfile::tempdir()?;
    let none =
        cuebook(&["export", text(nothing.path())?, "--to", "har", "--redact", "none", "--out", text(&out)?, "--json"])?;
    assert_eq!((none.code, &none.json()?["error"]["code"]), (2, &json!("unreadable")));
    Ok(())
}

/// A folder of one run that did nothing.
fn one_run() -> Result<tempfile::TempDir> {
    let runs = tempfile::tempdir()?;
    let header = json!({ "entry": "header", "schemaVersion": "1.0", "runId": "r1", "tsMs": 1, "cuebook": "0.1.0",
                         "command": "run" });
    fs::create_dir(runs.path().join("r1"))?;
    fs::write(runs.path().join("r1/log.jsonl"), format!("{header}\n"))?;
    Ok(runs)
}

#[test]
#[cfg(not(feature = "remote"))]
fn a_build_without_object_stores_names_the_one_that_has_them() -> Result<()> {
    let runs = one_run()?;
    let export = ["export", text(runs.path())?, "--to", "har", "--redact", "none", "--out", "s3://bucket/x", "--json"];
    let out = runs.path().join("out");
    let eval = ["eval", "--seeds", "0..1", "--queue", "s3://bucket/x", "--out", text(&out)?, "--json"];
    for args in [&export[..], &eval] {
        let refused = cuebook(args)?;
        assert_eq!(refused.code, 2, "{refused:?}");
        ensure!(refused.stderr.contains("--features remote"), "{refused:?}");
    }
    Ok(())
}

#[test]
#[cfg(feature = "remote")]
fn an_export_goes_to_no_place_that_it_cannot_name() -> Result<()> {
    let runs = one_run()?;
    for (to, out, expected) in [
        ("har", "http://localhost:1", "only --to otlp goes to a URL of http, saw --to har"),
        ("har", "ftp://localhost/x", "expected s3://, gs:// or az://"),
        ("har", "s3://me:hush@bucket/x", "credentials in the environment, saw s3://bucket/x"),
        ("otlp", "http://me:hush@localhost:1", "such as http://localhost:4318, saw http://localhost/"),
        ("har", "s3://[/x", "expected a directory or a URL"),
    ] {
        let refused = cuebook(&["export", text(runs.path())?, "--to", to, "--redact", "none", "--out", out, "--json"])?;
        let error = refused.json()?["error"].clone();
        let message = error["message"].as_str().unwrap_or_default();
        assert_eq!((refused.code, &error["code"]), (2, &json!("usage")), "{out}: {refused:?}");
        ensure!(message.contains(expected) && !refused.stderr.contains("hush"), "{out}: {message}");
    }
    Ok(())
}
