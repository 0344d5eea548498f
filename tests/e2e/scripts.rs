//! The scripts for pages: rules that their source keeps, and the unit tests of their modules, which run in Chrome.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use cuebook_bundle::{Token, TokenKind, tokens};
use cuebook_cdp::protocol::js_protocol::runtime::EvaluateParams;
use cuebook_tests::Stage;
use serde_json::{Value, json};

/// Variables that never hold a node, and the properties of theirs that share a name with one of a form or a document.
/// Everything else with such a name is read through its prototype: see `crates/probe/src/js/tree.js`.
const PLAIN: &[(&str, &str)] = &[
    ("act", "focus open scrollBy"),
    ("arrival", "after before"),
    ("ask", "attributes"),
    ("before", "all scroll title"),
    ("called", "name"),
    ("cb", "*"),
    ("clip", "before"),
    ("effect", "target"),
    ("entry", "part"),
    ("facts", "attributes name title"),
    ("field", "id name"),
    ("file", "name"),
    ("filter", "role"),
    ("gesture", "target"),
    ("globalThis", "*"),
    ("info", "id role style"),
    ("inner", "role target"),
    ("into", "children role"),
    ("level", "close"),
    ("limits", "elements"),
    ("memo", "*"),
    ("need", "scroll"),
    ("node", "children name"),
    ("now", "all scroll target title"),
    ("one", "name role"),
    ("options", "elements"),
    ("other", "elements"),
    ("outer", "role"),
    ("own", "id"),
    ("parent", "role"),
    ("part", "id"),
    ("port1", "close"),
    ("proto", "*"),
    ("prototype", "*"),
    ("range", "getBoundingClientRect"),
    ("record", "target"),
    ("row", "attributes name role"),
    ("rule", "style"),
    ("spec", "id"),
    ("run", "title"),
    ("state", "hidden"),
    ("summary", "attributes"),
    ("this", "id role style"),
    ("wanted", "id name"),
    ("watch", "focus scroll title"),
];

fn scripts() -> Result<Vec<PathBuf>> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates");
    let mut folders = vec![];
    for entry in std::fs::read_dir(crates)? {
        folders.push(entry?.path().join("src"));
    }
    let mut found = vec![];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten() {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "js") {
                found.push(path);
            }
        }
    }
    // The site and the report have scripts too, but those run in pages of ours.
    found.retain(|path| ["probe", "page-modeler", "executor"].iter().any(|one| path.iter().any(|part| part == *one)));
    found.sort();
    Ok(found)
}

/// The properties of forms and documents in this browser: a page can put an element in the place of each, by its name.
async fn clobberable(stage: &Stage) -> Result<BTreeSet<String>> {
    let expression = "(() => { const names = new Set(); \
        for (let holder of [HTMLFormElement.prototype, Document.prototype]) \
        for (; holder && holder !== Object.prototype; holder = Object.getPrototypeOf(holder)) \
        for (const name of Object.getOwnPropertyNames(holder)) names.add(name); \
        return [...names]; })()";
    let tab = stage.tab().context("no tab")?;
    let params = EvaluateParams { return_by_value: Some(true), ..EvaluateParams::new(expression) };
    let until = Instant::now() + Duration::from_secs(30);
    let reply: Value = tab.session().request(params, until).await?.parse()?;
    Ok(serde_json::from_value(reply["result"]["value"].clone())?)
}

/// Reads of properties with these names that are not in [`PLAIN`], with their lines.
fn read_through(source: &str, names: &BTreeSet<String>) -> Vec<String> {
    let all = tokens(source);
    let offends = |of: &Token<'_>, dot: &Token<'_>, name: &Token<'_>| {
        let is_member = matches!(dot.text, "." | "?.") && name.kind == TokenKind::Name;
        // The length of texts and lists is asked for everywhere, that of forms nowhere.
        let is_plain = of.kind == TokenKind::Text
            || name.text == "length"
            || PLAIN.iter().any(|(plain, members)| {
                *plain == of.text && (*members == "*" || members.split(' ').any(|member| member == name.text))
            });
        is_member && names.contains(name.text) && !is_plain
    };
    let windows = all.windows(3).filter_map(|three| match three {
        [of, dot, name] if offends(of, dot, name) => Some(format!("{}: {}.{}", name.line, of.text, name.text)),
        _ => None,
    });
    windows.collect()
}

#[tokio::test]
async fn scripts_read_nothing_through_what_a_page_can_name() -> Result<()> {
    let names = clobberable(&Stage::open().await?).await?;
    assert!(names.len() > 300 && names.contains("parentNode") && names.contains("createRange"), "{names:?}");
    assert_eq!(
        read_through("a.parentNode;\nf(x)?.children; 'a'.title; row.name", &names),
        ["1: a.parentNode", "2: ).children"]
    );
    let scripts = scripts()?;
    assert!(scripts.len() > 20, "{scripts:?}");
    let mut offending = vec![];
    for path in scripts {
        let source = std::fs::read_to_string(&path)?;
        let reads = read_through(&source, &names);
        offending.extend(reads.into_iter().map(|read| format!("{}:{read}", path.display())));
    }
    assert_eq!(offending, [""; 0], "read these through their prototypes, as tree.js does");
    Ok(())
}

#[tokio::test]
async fn unit_tests_of_modules_pass_in_a_browser() -> Result<()> {
    let stage = Stage::open().await?;
    let tab = stage.tab().context("no tab")?;
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates");
    let core = cuebook_bundle::join(&crates.join("probe/src/js/core.js"))?.function;
    let mut ran = 0;
    for folder in ["probe", "page-modeler"] {
        for entry in std::fs::read_dir(crates.join(folder).join("tests/js"))? {
            let path = entry?.path();
            let tests = cuebook_bundle::join(&path)?.function;
            let expression = format!(
                "(() => {{ const {{ tests }} = ({tests})(({core})()); const failed = []; \
                 for (const [name, test] of Object.entries(tests)) \
                 try {{ test(); }} catch (error) {{ failed.push(`${{name}}: ${{error.stack}}`); }} \
                 return {{ ran: Object.keys(tests).length, failed }}; }})()"
            );
            let params = EvaluateParams { return_by_value: Some(true), ..EvaluateParams::new(expression) };
            let until = Instant::now() + Duration::from_secs(30);
            let reply: Value = tab.session().request(params, until).await?.parse()?;
            let report = &reply["result"]["value"];
            assert_eq!(report["failed"], json!([]), "{}: {reply:#}", path.display());
            ran += report["ran"].as_u64().unwrap_or(0);
        }
    }
    assert!(ran >= 8, "{ran} ran");
    Ok(())
}

#[test]
fn scripts_are_type_checked_and_have_lines_of_at_most_120_columns() -> Result<()> {
    for path in scripts()? {
        let source = std::fs::read_to_string(&path)?;
        assert!(source.starts_with("// @ts-check\n"), "{}", path.display());
        let long: Vec<usize> =
            (1..).zip(source.lines()).filter(|(_, line)| line.chars().count() > 120).map(|(n, _)| n).collect();
        assert_eq!(long, [0; 0], "{}: lines of more than 120 characters", path.display());
    }
    Ok(())
}
