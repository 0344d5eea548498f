//! Evaluations: what the server saw counts, errors of models are caught, and results are compared.

use std::fs;
use std::path::Path;

use anyhow::Result;
use cuebook_tests::cuebook;
use serde_json::{Value, json};

/// An evaluation of a task of the built-in site, and its document.
fn evaluated(task: &str, more: &[&str]) -> Result<(i32, Value)> {
    let out = tempfile::tempdir()?;
    let path = out.path().join("out").to_string_lossy().into_owned();
    let mut args = vec!["eval", "--task", task, "--seeds", "0..1", "--jobs", "1", "--out", &path, "--json"];
    args.extend(more);
    let ended = cuebook(&args)?;
    Ok((ended.code, ended.json()?))
}

#[test]
fn what_the_server_saw_decides_and_results_are_kept_and_compared() -> Result<()> {
    let out = tempfile::tempdir()?;
    let path = out.path().join("out").to_string_lossy().into_owned();
    let eval = || cuebook(&["eval", "--task", "cookies", "--seeds", "0..2", "--out", &path, "--json"]);
    let first = eval()?.json()?;
    assert_eq!((&first["totals"]["episodes"], &first["totals"]["succeeded"]), (&json!(4), &json!(4)), "{first:#}");
    assert_eq!((&first["totals"]["silentWrong"], &first["tasks"][0]["suite"]), (&json!(0), &json!("site")));
    assert_eq!(first["metrics"]["runs"]["ok"], 4, "the logs of the runs say the same");
    for file in ["episodes.jsonl", "episodes.parquet", "summary.json", "summary.md", "summary.svg"] {
        assert!(out.path().join("out").join(file).is_file(), "{file}");
    }
    let page = cuebook(&["report", &path])?;
    assert_eq!(page.code, 0, "{page:?}");
    let page = fs::read_to_string(out.path().join("out/report.html"))?;
    assert!(page.contains("src=\"data:image/svg+xml;base64,"), "the page of the runs shows the episodes");
    let again = eval()?.json()?;
    assert_eq!(again["totals"]["episodes"], 4);
    assert_eq!(again["episodesPerMinute"], Value::Null, "nothing was run again");

    let other = cuebook(&["eval", "--task", "cookies", "--seeds", "0..2", "--out", &path, "--no-repair", "--json"])?;
    assert_eq!((other.code, &other.json()?["error"]["code"]), (2, &json!("usage")), "results of another evaluation");

    // The same episodes, of which one was lost and one is silently wrong now.
    let worse = out.path().join("worse");
    fs::create_dir(&worse)?;
    let lines = fs::read_to_string(out.path().join("out/episodes.jsonl"))?;
    let lines = lines.replacen(r#""outcome":"solved""#, r#""outcome":"silentlyWrong""#, 1);
    fs::write(worse.join("episodes.jsonl"), lines)?;
    let worse = worse.to_string_lossy().into_owned();
    let compared = cuebook(&["eval", "compare", &path, &worse, "--json"])?;
    assert_eq!(compared.code, 1, "{compared:?}");
    assert_eq!(compared.json()?["silentWrong"], json!([0, 1]));
    assert_eq!(cuebook(&["eval", "compare", &path, &path])?.code, 0);
    Ok(())
}

#[test]
fn a_baseline_only_moves_forward() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let baseline = path("baseline");
    let against = |out: &str, seeds: &str, more: &[&str]| {
        let (out, mut args) = (path(out), vec!["eval", "--task", "toast", "--jobs", "1", "--json", "--ratchet"]);
        args.extend(["--seeds", seeds, "--baseline", &baseline, "--out", &out].iter().chain(more));
        cuebook(&args)
    };
    assert_eq!(against("first", "0..2", &[])?.code, 0, "there is no baseline yet");
    let kept = || fs::read_to_string(folder.path().join("baseline/episodes.jsonl"));
    let first = kept()?;
    assert_eq!((first.lines().count(), first.contains("runDir")), (2, false), "{first}");

    assert_eq!(against("more", "1..3", &[])?.code, 0);
    let more = kept()?;
    assert_eq!(more.lines().count(), 3, "episodes that were not run now stay");

    let other = against("other", "0..1", &["--no-repair"])?;
    assert_eq!((other.code, &other.json()?["error"]["code"]), (2, &json!("usage")), "other settings");

    // As if one had been solved that is not.
    let baseline = folder.path().join("baseline/episodes.jsonl");
    let lied = more.replace(r#""outcome":"solved""#, r#""outcome":"failed""#);
    fs::write(&baseline, &lied)?;
    assert_eq!(against("better", "0..3", &[])?.code, 0);
    assert_eq!(kept()?.matches(r#""outcome":"solved""#).count(), 3, "better results replace it");
    Ok(())
}

#[test]
fn parts_of_one_evaluation_are_merged_and_of_two_are_not() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let part = |out: &str, seeds: &str, more: &[&str]| {
        let (out, mut args) = (path(out), vec!["eval", "--task", "toast", "--jobs", "1", "--json"]);
        args.extend(["--seeds", seeds, "--out", &out].iter().chain(more));
        cuebook(&args)
    };
    assert_eq!(part("a", "0..1", &[])?.code, 0);
    assert_eq!(part("b", "1..2", &[])?.code, 0);
    assert_eq!(part("c", "2..3", &["--no-repair"])?.code, 0);
    let merged = cuebook(&["eval", "merge", &path("a"), &path("b"), "--out", &path("whole"), "--json"])?.json()?;
    assert_eq!((&merged["planner"], &merged["repair"]), (&json!("oracle"), &json!(true)));
    assert_eq!(merged["totals"]["succeeded"], 2);
    let refused = cuebook(&["eval", "merge", &path("a"), &path("c"), "--out", &path("mixed"), "--json"])?;
    assert_eq!((refused.code, &refused.json()?["error"]["code"]), (2, &json!("usage")));
    Ok(())
}

/// The empty document that a frame begins with may pass its window on to the document that is loaded then, with
/// constructors that are not those of its elements: fields were no fields there.
#[test]
fn fields_in_frames_are_fields_however_their_document_came() -> Result<()> {
    let (_, document) = evaluated("frame: ", &[])?;
    assert_eq!(
        (&document["totals"]["episodes"], &document["totals"]["succeeded"]),
        (&json!(4), &json!(4)),
        "{document:#}"
    );
    Ok(())
}

/// A document that drift answers has no address: Chrome takes it for a public one, which may not load a frame of another
/// site from this machine.
#[test]
fn frames_of_other_sites_load_under_drift() -> Result<()> {
    let (_, document) = evaluated("frame: cross", &["--drift", "changed-texts"])?;
    assert_eq!(document["totals"]["succeeded"], 1, "{document:#}");
    Ok(())
}

#[test]
fn a_task_that_the_planner_cannot_do_is_not_solved() -> Result<()> {
    let (code, document) = evaluated("read: founder", &["--planner", "lexical"])?;
    assert_eq!(code, 0, "a result is no error");
    assert_eq!((&document["totals"]["episodes"], &document["totals"]["succeeded"]), (&json!(1), &json!(0)));
    Ok(())
}

#[test]
fn answers_that_are_no_plan_for_the_page_are_refused_before_anything_runs() -> Result<()> {
    for kind in ["invented-element", "invalid-json"] {
        let (_, document) = evaluated("toast", &["--errors", &format!("{kind}:1")])?;
        assert_eq!(document["totals"]["succeeded"], 1, "{document:#}");
        let caught = &document["errors"][kind];
        assert!(caught["injected"].as_u64() > Some(0), "{document:#}");
        assert_eq!(caught["injected"], caught["refused"], "{kind}");
    }
    let (_, finished) = evaluated("toast", &["--errors", "early-finish:1"])?;
    let totals = &finished["totals"];
    assert_eq!((&totals["silentWrong"], &totals["succeeded"]), (&json!(0), &json!(0)), "nothing was done: {totals:#}");
    Ok(())
}

#[test]
fn wrong_flags_and_files_are_refused() -> Result<()> {
    for (args, code) in [
        (&["eval", "--suite", "nowhere", "--json"][..], "malformed"),
        (&["eval", "--suite", "no/such.toml", "--json"], "unreadable"),
        (&["eval", "--seeds", "5..3", "--json"], "usage"),
        (&["eval", "--planner", "scripted", "--json"], "usage"),
        (&["eval", "--errors", "lies", "--json"], "usage"),
        (&["eval", "compare", "no/such", "dir", "--json"], "unreadable"),
    ] {
        let ended = cuebook(args)?;
        assert_eq!(ended.code, 2, "{args:?}: {ended:?}");
        assert_eq!(ended.json()?["error"]["code"], code, "{args:?}");
    }
    Ok(())
}

/// The conversations of the runs below a folder: what a model was sent, and what it answered.
fn sent(runs: &Path) -> Result<Vec<(String, String)>> {
    let mut calls = Vec::new();
    for run in fs::read_dir(runs)? {
        for line in fs::read_to_string(run?.path().join("log.jsonl"))?.lines() {
            let entry: Value = serde_json::from_str(line)?;
            if entry["entry"] == "planning" {
                let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
                calls.push((text(&entry["call"]["input"][1]["text"]), text(&entry["call"]["output"])));
            }
        }
    }
    Ok(calls)
}

#[test]
fn training_data_is_what_a_model_is_sent_byte_for_byte() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let (out, data) = (path("out"), path("data"));
    let tasks = ["rename a customer", "late arrival", "combobox", "basket", "suggestions"];
    let named = tasks.iter().flat_map(|task| ["--task", task]);
    let eval = ["eval", "--prompt", "compact", "--seeds", "0..1", "--jobs", "2", "--out", &out, "--json"];
    let ended = cuebook(&eval.into_iter().chain(named).collect::<Vec<_>>())?.json()?;
    assert_eq!(ended["totals"]["episodes"], ended["totals"]["succeeded"], "{ended:#}");
    assert_eq!(ended["prompt"], "compact");

    let sent = sent(&folder.path().join("out/runs"))?;
    let exported = cuebook(&["export", &path("out/runs"), "--to", "sft", "--redact", "none", "--out", &data])?;
    assert_eq!(exported.code, 0, "{exported:?}");
    let examples = fs::read_to_string(folder.path().join("data/sft.jsonl"))?;
    for line in examples.lines() {
        let example: Value = serde_json::from_str(line)?;
        let text = |at: usize| example["messages"][at]["content"].as_str().unwrap_or_default().to_owned();
        assert!(sent.contains(&(text(1), text(2))), "{}\n{}", text(1), text(2));
    }
    // Some plans had a step that failed at first.
    assert!(examples.lines().count() * 10 >= sent.len() * 8, "{} of {}", examples.lines().count(), sent.len());
    Ok(())
}
