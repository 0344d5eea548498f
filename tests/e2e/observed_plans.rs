//! Plans from files that name ids of an observation: what they name is found again, or they are refused. What stands in
//! the same place, has the same number or merely looks alike is never acted on.

use anyhow::{Context as _, Result};
use cuebook::prelude::*;
use cuebook_repair::Budgets;
use cuebook_tests::cuebook;
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;

/// A table of people with a button in each row. Its title says whose row was deleted.
fn page(rows: &[&str]) -> String {
    let row = |name: &&str| format!("<tr><td>{name}<td><button onclick='document.title = {name:?}'>Delete</button>");
    format!(
        "<!doctype html><title>none</title><h1>People</h1><table>{}</table>",
        rows.iter().map(row).collect::<String>()
    )
}

/// Change of the rows, where one of them is the target.
type Change = for<'a> fn(Vec<&'a str>, usize) -> Vec<&'a str>;

/// Changes of the list since it was observed, and if the target is still there.
const CHANGES: [(&str, Change, bool); 6] = [
    ("as it was", |rows, _| rows, true),
    (
        "the target was deleted",
        |mut rows, at| {
            rows.remove(at);
            rows
        },
        false,
    ),
    (
        "another one was deleted",
        |mut rows, at| {
            rows.remove((at + 1) % 5);
            rows
        },
        true,
    ),
    (
        "one came before it",
        |mut rows, at| {
            rows.insert(at, "Zoe");
            rows
        },
        true,
    ),
    (
        "it was sorted the other way",
        |mut rows, _| {
            rows.reverse();
            rows
        },
        true,
    ),
    ("another page of the list", |_, _| vec!["Fay", "Gus", "Hal", "Ida", "Jon"], false),
];

#[tokio::test]
async fn ids_of_a_file_follow_their_rows_or_are_refused() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("people.html");
    let url = format!("file://{}", file.display());
    let opened = Policy::default().opening_pages(folder.path().display().to_string());
    let budgets = Budgets { step: Duration::from_secs(2), ..Budgets::default() };
    let agent = || Agent::builder().policy(opened.clone()).budgets(budgets);
    let (mut looking, mut acting) = (agent().build().await?, agent().build().await?);
    for at in [0, 2, 4] {
        let rows = vec!["Ann", "Bob", "Cid", "Dan", "Eve"];
        std::fs::write(&file, page(&rows))?;
        looking.open(&url).await?;
        let observed = looking.observe(Scope::Full).await?.with_meanings();
        let buttons: Vec<_> = observed.candidates.iter().filter(|one| one.name == "Delete").collect();
        let id = buttons.get(at).context("no button")?.id;
        let observed = Observation::read(&serde_json::to_string(&observed)?)?;
        for (what, change, stays) in CHANGES {
            std::fs::write(&file, page(&change(rows.clone(), at)))?;
            acting.open(&url).await?;
            let plan = PlanDraft::of(Author::Operator, vec![Click::on(id).into()]);
            let report = RunReport::from_result(acting.follow_observed(plan, observed.clone()).await);
            let deleted = acting.observe(Scope::View).await?.title;
            let (result, expected) = if stays { (RunResult::Ok, rows[at]) } else { (RunResult::Invalid, "none") };
            assert_eq!((report.result, deleted.as_str()), (result, expected), "{} of {what}: {report:?}", rows[at]);
        }
    }
    looking.close().await?;
    acting.close().await?;
    Ok(())
}

/// The exit code and the JSON document of a command.
fn called(args: &[&str]) -> Result<(i32, Value)> {
    let ended = cuebook(args)?;
    Ok((ended.code, ended.json()?))
}

fn text(path: &Path) -> Result<&str> {
    path.to_str().context("a path of UTF-8")
}

#[test]
fn exec_and_check_want_the_observation_that_ids_are_from() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let at = |name: &str| folder.path().join(name);
    let (file, seen, plan) = (at("people.html"), at("seen.json"), at("plan.json"));
    let (root, url) = (text(folder.path())?.to_owned(), format!("file://{}", file.display()));
    std::fs::write(&file, page(&["Ann", "Bob"]))?;
    let (code, observed) = called(&["observe", &url, "--file-root", &root, "--json"])?;
    assert_eq!(code, 0);
    std::fs::write(&seen, observed.to_string())?;
    let bob = &observed["candidates"][1];
    assert_eq!(bob["context"], "row: Bob", "{observed}");
    std::fs::write(
        &plan,
        json!({ "version": "1.0", "steps": [{ "type": "click", "targetRef": bob["id"] }] }).to_string(),
    )?;

    let (plan, seen) = (text(&plan)?, text(&seen)?);
    let run = ["exec", plan, "--url", &url, "--file-root", &root, "--out", &root, "--json"];
    for args in [&run[..], &["check", plan, "--json"]] {
        let (code, report) = called(args)?;
        let message = report["error"]["violations"][0]["message"].as_str().unwrap_or_default();
        assert_eq!(code, 2, "{report}");
        assert!(message.contains("--observation FILE") && message.contains("locator"), "{message}");
    }
    std::fs::write(&file, page(&["Abe", "Ann", "Bob"]))?;
    let observation = ["--observation", seen];
    let (code, report) = called(&[&run[..], &observation].concat())?;
    assert_eq!((code, &report["steps"][1]["result"]), (0, &json!("ok")), "{report}");
    assert_eq!(called(&["check", plan, "--observation", seen, "--file-root", &root, "--json"])?.0, 0);

    std::fs::write(&file, page(&["Ann", "Carl"]))?;
    let (code, report) = called(&[&run[..], &observation, &["--timeout", "1s"]].concat())?;
    let message = report["error"]["message"].as_str().unwrap_or_default();
    assert_eq!(code, 2, "{report}");
    assert!(message.contains("row: Bob") && message.contains("byRole"), "{message}");
    Ok(())
}
