//! Test ids from recorded runs: what a change of the texts breaks, it no longer breaks once the source has them.

use std::fs;
use std::path::Path;

use anyhow::Result;
use cuebook_tests::{CliOutput, cuebook};
use serde_json::{Value, json};

use super::replay::{Changing, text};

const PAGE: &str = "<h1>Draft</h1>\n<form class=\"draft\" onsubmit=\"event.preventDefault(); said.textContent = 'kept'\">\n\
                    <label>Full name <input class=\"field\"></label>\n<p><b class=\"price\">10</b></p>\n\
                    <button class=\"btn primary\">Save draft</button>\n</form>\n<p id=\"said\"></p>\n";
const TASK: &str = "Type Ann into \"Full name\". Press \"Save draft\"";

/// Does what a redesign does: other texts, other classes, another order.
fn renamed(page: &str) -> String {
    let changes =
        [("Full name", "Your name"), ("Save draft", "Keep this version"), ("btn primary", "button-2"), ("field", "in")];
    let page = changes.iter().fold(page.to_owned(), |page, (from, to)| page.replace(from, to));
    page.replace("<h1>Draft</h1>", "<button>Menu</button>")
}

fn suggest(runs: &Path, source: &Path, flags: &[&str]) -> Result<CliOutput> {
    cuebook(&[&["suggest", text(runs)?, "--source", text(source)?], flags].concat())
}

fn replay(site: &Changing, run: &Path) -> Result<(i32, Value)> {
    let ended = site.cuebook(&["replay", text(run)?, "--timeout", "2s", "--similarity", "0"])?;
    Ok((ended.code, ended.json()?))
}

#[test]
fn with_suggested_ids_a_renamed_page_replays_without_a_repair() -> Result<()> {
    let site = Changing::open()?;
    let app = site.folder.path().join("app");
    let (index, runs) = (app.join("index.html"), site.folder.path().join("runs"));
    fs::create_dir(&app)?;
    fs::write(&index, PAGE)?;
    site.put("/", PAGE);
    let record = || site.cuebook(&["run", TASK, "--url", &site.origin]);
    let first = record()?;
    assert_eq!(first.code, 0, "{first:?}");

    // By texts alone, a renamed page is lost.
    site.put("/", &renamed(PAGE));
    let (code, report) = replay(&site, &first.run_dir()?)?;
    assert_eq!((code, &report["error"]["code"]), (1, &json!("targetNotFound")), "{report:#}");

    let dry = suggest(&runs, &app, &[])?;
    assert_eq!(dry.code, 0, "{dry:?}");
    assert_eq!(fs::read_to_string(&index)?, PAGE, "nothing is written unless asked for");
    for part in ["--- a/index.html\n+++ b/index.html\n", "+<button data-testid=\"save-draft\" class=\"btn primary\">"] {
        assert!(dry.stdout.contains(part), "{part} in {}", dry.stdout);
    }
    assert!(
        dry.stderr.contains("textbox \"Full name\" (not found, found by its text only): full-name at index.html:3"),
        "{dry:?}"
    );

    let written = suggest(&runs, &app, &["--write", "--json"])?.json()?;
    assert_eq!((&written["isWritten"], &written["files"]), (&json!(true), &json!(["index.html"])), "{written:#}");
    assert_eq!(written["patch"].as_str(), Some(dry.stdout.as_str()));
    let page = fs::read_to_string(&index)?;
    assert!(page.contains("<input data-testid=\"full-name\" class"), "{page}");
    let without = page.replace(" data-testid=\"full-name\"", "").replace(" data-testid=\"save-draft\"", "");
    assert_eq!(without, PAGE);

    site.put("/", &page);
    let second = record()?;
    assert_eq!(second.code, 0, "{second:?}");
    site.put("/", &renamed(&page));
    let (code, report) = replay(&site, &second.run_dir()?)?;
    assert_eq!(
        (code, &report["result"], &report["replay"]["divergences"]),
        (0, &json!("ok"), &json!([])),
        "{report:#}"
    );
    // What has ids is fragile no longer.
    let again = suggest(&second.run_dir()?, &app, &["--json"])?.json()?;
    assert_eq!((&again["suggestions"], &again["patch"]), (&json!([]), &json!("")), "{again:#}");
    Ok(())
}

#[test]
fn a_target_that_a_repair_found_is_named_with_what_it_was() -> Result<()> {
    let site = Changing::open()?;
    let app = site.folder.path().join("app");
    fs::create_dir(&app)?;
    let page = PAGE.replace("<button class", "<button id=save class");
    site.put("/", &page);
    let recorded = site.cuebook(&["run", TASK, "--url", &site.origin])?.run_dir()?;
    let drifted = page.replace("Save draft", "Keep this version");
    site.put("/", &drifted);
    fs::write(app.join("index.html"), &drifted)?;
    let replayed = site.cuebook(&["replay", text(&recorded)?, "--timeout", "3s", "--similarity", "0"])?;
    assert_eq!(replayed.json()?["result"], "ok", "{replayed:?}");
    let suggested = suggest(&replayed.run_dir()?, &app, &["--json", "--attribute", "data-qa"])?.json()?;
    let first = &suggested["suggestions"][0];
    assert_eq!(first["target"]["signs"][0]["kind"], "rebound", "{suggested:#}");
    let detail = first["target"]["signs"][0]["detail"].as_str().unwrap_or_default();
    assert!(detail.contains("name=\"Save draft\""), "{detail}");
    assert_eq!(first["outcome"]["testId"], "keep-this-version", "{first:#}");
    let evidence = &first["outcome"]["place"]["evidence"];
    assert!(evidence.to_string().contains("id \\\"save\\\""), "{evidence}");
    assert!(suggested["patch"].as_str().is_some_and(|patch| patch.contains("data-qa=")), "{suggested:#}");
    let wrong = suggest(&recorded, &app, &["--attribute", "data-x"])?;
    assert_eq!(wrong.code, 2, "{wrong:?}");
    let wrong = suggest(&recorded, &app.join("none"), &[])?;
    assert!(wrong.code == 2 && wrong.stderr.contains("cannot read the source folder"), "{wrong:?}");
    Ok(())
}
