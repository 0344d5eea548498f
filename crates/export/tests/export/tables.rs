//! Tables in Parquet: their columns, rows and parts.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray as _;
use arrow_array::types::{Int64Type, TimestampMicrosecondType};
use cuebook_datalayer::metrics::{By, Collector, Summary};
use cuebook_datalayer::{DataError, Entries, Entry, RunDir};
use cuebook_export::{ExportError, ExportedTables, Format, Options, Redaction, SCHEMA_VERSION};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::json;

use crate::sample::{NOON, PERSONAL, Runs, files};

const DAY: u64 = 86_400_000;

fn read(path: &Path) -> Vec<RecordBatch> {
    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(path).unwrap()).unwrap();
    let metadata = reader.metadata().file_metadata().key_value_metadata().cloned().unwrap_or_default();
    let version = metadata.iter().find(|one| one.key == "cuebook.schemaVersion").and_then(|one| one.value.clone());
    assert_eq!(version.as_deref(), Some(SCHEMA_VERSION));
    reader.build().unwrap().map(Result::unwrap).collect()
}

/// The rows of a table, of all its files.
fn table(out: &Path, name: &str) -> Vec<RecordBatch> {
    files(&out.join(name)).keys().flat_map(|file| read(&out.join(name).join(file))).collect()
}

fn rows(batches: &[RecordBatch]) -> usize {
    batches.iter().map(RecordBatch::num_rows).sum()
}

fn texts(batches: &[RecordBatch], column: &str) -> Vec<String> {
    let columns = batches.iter().map(|batch| batch.column_by_name(column).unwrap().as_string::<i32>().clone());
    columns.flat_map(|texts| texts.iter().map(|text| text.unwrap_or("(null)").to_owned()).collect::<Vec<_>>()).collect()
}

fn numbers(batches: &[RecordBatch], column: &str) -> Vec<Option<i64>> {
    let columns = batches.iter().map(|batch| batch.column_by_name(column).unwrap().as_primitive::<Int64Type>().clone());
    columns.flat_map(|numbers| numbers.iter().collect::<Vec<_>>()).collect()
}

#[test]
fn each_table_has_its_rows_with_their_types() {
    let runs = Runs::new();
    runs.login("r1", NOON);
    let (out, exported) = runs.export(Format::Parquet, Redaction::None);
    assert_eq!((exported.runs, exported.written.len(), exported.kept), (1, 6, 0));
    assert!(exported.unreadable.is_empty(), "{exported:?}");
    let of = |name| table(&out, name);

    let run = of("runs");
    assert_eq!((texts(&run, "run_id"), texts(&run, "result")), (vec!["r1".to_owned()], vec!["ok".to_owned()]));
    assert_eq!((numbers(&run, "steps"), numbers(&run, "failed_steps")), (vec![Some(3)], vec![Some(1)]));
    assert_eq!((numbers(&run, "input_tokens"), numbers(&run, "duration_ms")), (vec![Some(100)], vec![Some(9_000)]));
    let started = run[0].column_by_name("started").unwrap().as_primitive::<TimestampMicrosecondType>();
    assert_eq!(started.value(0), i64::try_from(NOON).unwrap() * 1_000);

    let steps = of("steps");
    assert_eq!(texts(&steps, "action"), ["type", "click", "click"]);
    assert_eq!(texts(&steps, "origin"), ["plan", "plan", "repair"]);
    assert_eq!(texts(&steps, "failure_cause"), ["(null)", "postconditionFailed", "(null)"]);
    let targets = steps[0].column_by_name("targets").unwrap().as_list::<i32>();
    let names = targets.value(1).as_struct().column_by_name("name").unwrap().as_string::<i32>().value(0).to_owned();
    assert_eq!(names, format!("Cancel {PERSONAL}"));
    let dialogs = steps[0].column_by_name("dialogs").unwrap().as_list::<i32>();
    assert_eq!((dialogs.value_length(0), dialogs.value_length(2)), (0, 1));

    let conditions = of("conditions");
    assert_eq!(texts(&conditions, "phase"), ["pre", "post", "post", "post"]);
    assert_eq!(texts(&conditions, "verdict"), ["holds", "holds", "fails", "holds"]);
    assert_eq!(numbers(&conditions, "latency_ms"), [None, Some(5), None, Some(80)]);
    let candidates = of("candidates");
    assert_eq!(texts(&candidates, "candidate"), ["c1", "c2", "c3"]);
    assert_eq!(texts(&candidates, "test_id"), ["user", "(null)", "login"]);
    let requests = of("requests");
    assert_eq!(numbers(&requests, "status"), [Some(303), Some(200), None, None]);
    assert_eq!(texts(&requests, "denied_rule"), ["(null)", "(null)", "(null)", "origin"]);
    let planning = of("planning");
    assert_eq!(
        (texts(&planning, "model"), texts(&planning, "result")),
        (vec!["qwen3:8b".into()], vec!["invalid".into()])
    );
}

/// Runs of every kind that metrics tell apart, of one day.
fn sample(runs: &Runs) {
    runs.login("r1", NOON);
    runs.login_until("r2", 2, &json!({ "origin": "person" }), None);
    let late = json!({ "effects": { "requests": [{ "method": "GET", "url": "http://shop.test/orders/17", "status": 500,
                                                   "durationMs": 700 }] } });
    runs.login_until("r3", 2, &late, Some("failed"));
    let declared = json!({ "action": { "type": "click", "targetRef": "go", "post": [{ "kind": "visible", "target": "go" }] },
        "candidates": { "go": { "declared": { "strategy": "css", "selector": "#go" } } },
        "postCheck": [{ "condition": { "kind": "visible", "target": "go" }, "verdict": "fails", "default": true },
                      { "condition": { "kind": "urlChanges" }, "verdict": "holds", "vacuous": true }] });
    runs.login_until("r4", 2, &declared, Some("failed"));
    runs.login_until("r5", 2, &declared, Some("failed"));
    for (name, part, result) in [("r3", "steps", "failed"), ("r4", "steps", "ok"), ("r5", "expectations", "ok")] {
        let log = runs.path(name).join("log.jsonl");
        let text = fs::read_to_string(&log).unwrap();
        let mut entries: Vec<serde_json::Value> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let attempt = if name == "r3" { 1 } else { 2 };
        entries[0]["case"] = json!({ "id": "r3", "suite": "shop", "name": "pays", "attempt": attempt, "part": part,
                                     "expect": ["it is paid"] });
        entries[0].as_object_mut().unwrap().remove("task");
        entries.last_mut().unwrap()["result"] = json!(result);
        runs.log(name, &entries);
    }
    // A planner that failed, before a log that was cut off.
    let text = fs::read_to_string(runs.path("r1").join("log.jsonl")).unwrap();
    let lines =
        text.lines().take(3).filter(|line| !line.contains("\"observed\"")).map(|line| line.replace("\"r1\"", "\"r6\""));
    let mut entries: Vec<serde_json::Value> = lines.map(|line| serde_json::from_str(&line).unwrap()).collect();
    entries[1]["call"]["end"] = json!({ "failed": { "code": "timeout", "message": "no answer" } });
    runs.log("r6", &entries);
}

/// The metrics of runs, and their groups.
fn counted(runs: impl IntoIterator<Item = Vec<Entry>>) -> (Summary, Vec<[String; 3]>) {
    let (mut collector, mut groups) = (Collector::default(), Vec::new());
    for entries in runs {
        let Some(Entry::Header(header)) = entries.first() else { panic!("{entries:?}") };
        groups.push(By::ALL.map(|by| by.group(header)));
        collector.add_run(entries.into_iter().map(Ok::<_, DataError>)).unwrap();
    }
    groups.sort();
    (collector.summary(), groups)
}

fn of_tables(out: &Path) -> (Summary, Vec<[String; 3]>) {
    let mut runs = Vec::new();
    assert_eq!(ExportedTables::open(out).unwrap().unwrap().each(&mut |entries| runs.push(entries)).unwrap(), 0);
    counted(runs)
}

#[test]
fn tables_count_as_their_logs_do() {
    let runs = Runs::new();
    sample(&runs);
    let read = |run: RunDir| Entries::open(&run.log_path()).unwrap().collect::<Result<Vec<_>, _>>().unwrap();
    let dirs = RunDir::find(&[runs.path("").to_owned()]).unwrap();
    let logs = counted(dirs.into_iter().map(read));
    let (out, exported) = runs.export(Format::Parquet, Redaction::None);
    assert!(exported.unreadable.is_empty(), "{exported:?}");
    assert_eq!(of_tables(&out), logs);
    let (summary, groups) = logs;
    assert_eq!((summary.runs.total, summary.runs.ok, summary.runs.cut_off), (4, 2, 2), "{summary:?}");
    let seen = [summary.plans.failed, summary.repairs.recovered, summary.postconditions.timed_out];
    assert!(seen.iter().take(1).all(|count| *count > 0) && summary.postconditions.stated > 0, "{summary:?}");
    assert!(summary.slow_steps.iter().any(|slow| slow.what.contains("css=")), "{:?}", summary.slow_steps);
    assert_eq!(summary.slow_endpoints[0].what, "GET http://shop.test/orders/*");
    assert!(groups.contains(&["2025-01-09".into(), "http://shop.test".into(), "pays".into()]), "{groups:?}");

    // Redacted, the numbers are the same.
    let (out, exported) = runs.export(Format::Parquet, Redaction::Strict);
    assert!(exported.unreadable.is_empty(), "{exported:?}");
    assert_eq!(ExportedTables::open(&out).unwrap().unwrap().redaction(), Redaction::Strict);
    let strict = of_tables(&out).0;
    assert_eq!((&strict.runs, &strict.plans, &strict.repairs), (&summary.runs, &summary.plans, &summary.repairs));
    assert_eq!((&strict.postconditions, &strict.verbs), (&summary.postconditions, &summary.verbs));
    assert_eq!((&strict.success, &strict.models), (&summary.success, &summary.models));
}

#[test]
fn what_is_no_table_of_an_export_is_refused_with_its_file() {
    let runs = Runs::new();
    runs.login("r1", NOON);
    assert!(ExportedTables::open(&runs.path("r1")).unwrap().is_none(), "runs are no export");
    let (out, _) = runs.export(Format::StepLog, Redaction::None);
    assert!(matches!(ExportedTables::open(&out), Err(ExportError::NoTables { seen: "steplog", .. })));
    let (out, _) = runs.export(Format::Parquet, Redaction::None);
    let file = |table: &str| {
        let name = files(&out).into_keys().find(|name| name.starts_with(&format!("{table}/"))).unwrap();
        out.join(name)
    };
    let refused = || {
        let error = ExportedTables::open(&out).unwrap().unwrap().each(&mut |_| {}).unwrap_err();
        let ExportError::Table { path, why } = error else { panic!("{error}") };
        (path, why)
    };
    let whole = fs::read(file("steps")).unwrap();
    for (table, said) in [("conditions", "expected the column `step_index`"), ("requests", "expected the column")] {
        let other = if table == "conditions" { "runs" } else { "conditions" };
        let kept = fs::read(file(table)).unwrap();
        fs::copy(file(other), file(table)).unwrap();
        let (path, why) = refused();
        assert!(path == file(table) && why.contains(said), "{path:?}: {why}");
        fs::write(file(table), kept).unwrap();
    }
    // Damage anywhere is an error or changes nothing: it is no panic.
    for at in (0..whole.len()).step_by(101) {
        let mut broken = whole.clone();
        broken[at] ^= 0x55;
        fs::write(file("steps"), &broken).unwrap();
        ExportedTables::open(&out).unwrap().unwrap().each(&mut |_| {}).ok();
    }
    fs::write(file("steps"), &whole[..whole.len() / 2]).unwrap();
    assert_eq!(refused().0, file("steps"));
    let planning = file("planning");
    fs::remove_file(&planning).unwrap();
    assert_eq!(refused().0, planning);
}

#[test]
fn a_strict_export_keeps_the_structure_and_no_personal_text() {
    let runs = Runs::new();
    runs.login("r1", NOON);
    let (out, _) = runs.export(Format::Parquet, Redaction::Strict);
    for name in ["runs", "steps", "conditions", "candidates", "requests", "planning"] {
        let all = format!("{:?}", table(&out, name));
        assert!(!all.contains(PERSONAL), "{name}: {all}");
    }
    let steps = table(&out, "steps");
    assert_eq!(texts(&steps, "action"), ["type", "click", "click"]);
    assert_eq!(texts(&steps, "url")[0], "http://shop.test/login");
    assert_eq!(texts(&steps, "failure_message")[1], "[redacted]");
    assert_eq!(texts(&table(&out, "candidates"), "role"), ["textbox", "button", "button"]);
    assert_eq!(texts(&table(&out, "planning"), "model"), ["qwen3:8b"]);
}

#[test]
fn a_second_export_changes_nothing_and_a_later_one_adds_what_is_new() {
    let runs = Runs::new();
    runs.login("r1", NOON);
    runs.login("r2", NOON + DAY);
    runs.login("r3", NOON + DAY + 5);
    let (out, first) = runs.export(Format::Parquet, Redaction::None);
    assert_eq!(first.written.len(), 12, "two days: {first:?}");
    assert!(first.written.iter().any(|name| name.starts_with("steps/date=2025-01-10/part-")), "{first:?}");
    let before = files(&out);
    let (_, second) = runs.export(Format::Parquet, Redaction::None);
    assert_eq!((second.runs, second.written.len(), second.kept), (3, 0, 12));
    assert!(files(&out) == before, "the same files with the same bytes");
    runs.login("r4", NOON + DAY + 6);
    let (_, third) = runs.export(Format::Parquet, Redaction::None);
    assert_eq!((third.written.len(), third.kept), (6, 12));
    let mut ids = texts(&table(&out, "runs"), "run_id");
    ids.sort();
    assert_eq!(ids, ["r1", "r2", "r3", "r4"], "no run twice");
    let again = runs.out("again");
    let fresh = Options {
        format: Format::Parquet,
        redaction: Redaction::None,
        out: again.clone(),
        rewrite: false,
        pictures: false,
    };
    runs.export_with(&fresh);
    assert_eq!(rows(&table(&again, "steps")), rows(&table(&out, "steps")));
    let other = runs.out("other");
    runs.export_with(&Options { out: other.clone(), ..fresh });
    assert!(files(&other) == files(&again), "the same runs give the same bytes");
}

#[test]
fn an_export_that_was_interrupted_goes_on() {
    let runs = Runs::new();
    runs.login("r1", NOON);
    runs.login("r2", NOON + DAY);
    let (out, _) = runs.export(Format::Parquet, Redaction::None);
    let without_list =
        || files(&out).into_iter().filter(|(name, _)| !name.starts_with('_')).collect::<BTreeMap<_, _>>();
    let whole = without_list();
    // As a process leaves it that was killed while it listed the second part, after its files had their names.
    let list = out.join("_cuebook-export.jsonl");
    let cut = || {
        let text = fs::read_to_string(&list).unwrap();
        fs::write(&list, &text[..text.len() - 20]).unwrap();
    };
    cut();
    let (_, exported) = runs.export(Format::Parquet, Redaction::None);
    assert_eq!((exported.written.len(), exported.kept), (6, 6));
    assert!(without_list() == whole);
    cut();
    runs.login("r3", NOON + DAY + 1);
    let (_, exported) = runs.export(Format::Parquet, Redaction::None);
    assert_eq!((exported.written.len(), exported.kept), (6, 6));
    assert_eq!(rows(&table(&out, "runs")), 3, "no run twice, though the part has another name");
}

#[test]
fn a_run_that_goes_on_is_exported_again() {
    let runs = Runs::new();
    runs.login("r1", NOON);
    runs.login("r2", NOON + 1);
    let log = runs.path("r2").join("log.jsonl");
    let whole = fs::read_to_string(&log).unwrap();
    let lines: Vec<&str> = whole.lines().collect();
    fs::write(&log, lines[..5].join("\n") + "\n").unwrap();
    let (out, first) = runs.export(Format::Parquet, Redaction::None);
    assert_eq!(first.written.len(), 12, "a part of its own: {first:?}");
    assert_eq!(texts(&table(&out, "runs"), "result").iter().filter(|result| *result == "(null)").count(), 1);
    fs::write(&log, whole).unwrap();
    let (_, second) = runs.export(Format::Parquet, Redaction::None);
    assert_eq!((second.written.len(), second.kept), (6, 6));
    assert_eq!(texts(&table(&out, "runs"), "result"), ["ok", "ok"]);
    // A run that had ended and grew nevertheless cannot be replaced without those it was written with.
    runs.login("r3", NOON + 2);
    runs.login("r4", NOON + 3);
    runs.export(Format::Parquet, Redaction::None);
    let mut log = fs::OpenOptions::new().append(true).open(runs.path("r4").join("log.jsonl")).unwrap();
    log.write_all(b"x").unwrap();
    let alone = cuebook_datalayer::RunDir::find(&[runs.path("r4")]).unwrap();
    let options = Options {
        format: Format::Parquet,
        redaction: Redaction::None,
        out: out.clone(),
        rewrite: false,
        pictures: false,
    };
    let error = cuebook_export::export(&alone, &options, &mut |_, _| {}).unwrap_err();
    assert!(matches!(error, ExportError::Changed { .. }), "{error}");
    runs.export_with(&options);
    assert_eq!(rows(&table(&out, "runs")), 4);
}

#[test]
fn a_folder_has_one_format_and_one_redaction() {
    let runs = Runs::new();
    runs.login("r1", NOON);
    let (out, _) = runs.export(Format::Parquet, Redaction::None);
    let found = cuebook_datalayer::RunDir::find(&[runs.path("r1")]).unwrap();
    let strict = Options {
        format: Format::Parquet,
        redaction: Redaction::Strict,
        out: out.clone(),
        rewrite: false,
        pictures: false,
    };
    let error = cuebook_export::export(&found, &strict, &mut |_, _| {}).unwrap_err();
    assert!(error.to_string().contains("redaction none"), "{error}");
    runs.export_with(&Options { rewrite: true, ..strict.clone() });
    assert!(!format!("{:?}", table(&out, "steps")).contains(PERSONAL));
    let own = runs.out("own");
    fs::create_dir(&own).unwrap();
    fs::write(own.join("thesis.txt"), "mine").unwrap();
    let error = cuebook_export::export(&found, &Options { out: own.clone(), rewrite: true, ..strict }, &mut |_, _| {});
    assert!(matches!(error, Err(ExportError::OtherExport { .. })));
    assert_eq!(files(&own).len(), 1, "nothing of others is touched");
}

#[test]
fn what_cannot_be_read_is_said_and_the_rest_is_exported() {
    let runs = Runs::new();
    runs.login("r1", NOON);
    runs.log("empty", &[]);
    runs.log(
        "../runs/odd",
        &[json!({ "entry": "header", "schemaVersion": "1.0", "runId": "../../../etc/x", "tsMs": u64::MAX,
        "cuebook": "0", "command": "run" })],
    );
    let log = runs.path("r1").join("log.jsonl");
    let text = fs::read_to_string(&log).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    fs::write(&log, format!("{}\nnonsense\n{}\n", lines[..5].join("\n"), lines[5])).unwrap();
    fs::remove_dir_all(runs.path("r1").join("artifacts")).unwrap();
    let (out, exported) = runs.export(Format::Parquet, Redaction::None);
    assert_eq!((exported.runs, exported.unreadable.len()), (2, 2), "{exported:?}");
    assert!(exported.unreadable.iter().any(|problem| problem.contains("line 6")), "{exported:?}");
    assert_eq!(rows(&table(&out, "steps")), 1);
    assert!(texts(&table(&out, "runs"), "unreadable").iter().any(|problem| problem.contains("line 6")));
    assert!(exported.written.iter().all(|name| !name.contains("..")), "{exported:?}");
    assert!(exported.written.iter().any(|name| name.contains("date=9999-12-31")), "{exported:?}");
    let (strict, _) = runs.export(Format::Parquet, Redaction::Strict);
    assert!(texts(&table(&strict, "runs"), "unreadable").contains(&"[redacted]".to_owned()), "it may quote the log");
}
