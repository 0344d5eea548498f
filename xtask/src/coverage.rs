//! Checks the table of requirements, `docs/coverage.md`: the tests that it names exist, each state is one of four words,
//! no id stands twice, and the counts in its introduction are those of its rows.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use xtask::commands::root;

const PAGE: &str = "docs/coverage.md";
const STATES: [&str; 4] = ["works", "partly", "missing", "decided against"];

pub(crate) fn run() -> Result<()> {
    let page = fs::read_to_string(root().join(PAGE)).with_context(|| format!("{PAGE} cannot be read"))?;
    let found = problems(&page, &tests()?);
    ensure!(found.is_empty(), "{PAGE}:\n  {}", found.join("\n  "));
    println!("requirements: their tests exist");
    Ok(())
}

/// The names of all tests of the workspace.
pub(crate) fn tests() -> Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    for folder in ["crates", "tests", "xtask"] {
        add_tests(&root().join(folder), &mut names)?;
    }
    Ok(names)
}

/// Adds the names of the tests in the files below a folder.
fn add_tests(folder: &Path, names: &mut BTreeSet<String>) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let path = entry.path();
        if path.is_dir() && entry.file_name() != "target" {
            add_tests(&path, names)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path)?;
            let after_attributes = text.split("#[test]").skip(1).chain(text.split("#[tokio::test").skip(1));
            names.extend(after_attributes.filter_map(|rest| {
                let (_, rest) = rest.split_once("fn ")?;
                Some(rest.split_once('(')?.0.to_owned())
            }));
        }
    }
    Ok(())
}

fn problems(page: &str, tests: &BTreeSet<String>) -> Vec<String> {
    let mut problems = Vec::new();
    let mut ids = BTreeSet::new();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for row in page.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| id |")) {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let [id, requirement, state, held] = cells[..] else {
            problems.push(format!("a row has {} cells, not four: {row}", cells.len()));
            continue;
        };
        if !ids.insert(id) {
            problems.push(format!("{id} stands twice"));
        }
        if requirement.is_empty() || held.is_empty() {
            problems.push(format!("{id} has an empty cell"));
        }
        if !STATES.contains(&state) {
            problems.push(format!("{id}: the state `{state}` is none of {}", STATES.join(", ")));
        }
        *counts.entry(state).or_default() += 1;
        let named: Vec<&str> = held.split('`').skip(1).step_by(2).collect();
        if state == "works" {
            if named.is_empty() {
                problems.push(format!("{id} works, and names no test"));
            }
            let absent = named.iter().filter(|name| !tests.contains(**name));
            problems.extend(absent.map(|name| format!("{id} names a test that does not exist: {name}")));
        } else if let Some(name) = named.iter().find(|name| tests.contains(**name)) {
            problems.push(format!("{id} does not work, and names the test {name}"));
        }
    }
    let [works, partly, missing, against] = STATES.map(|state| counts.get(state).copied().unwrap_or(0));
    let all = ids.len();
    let said = format!(
        "Of {all} requirements, {works} work, {partly} work partly, {missing} are missing, and {against} were decided against."
    );
    if !page.contains(&said) {
        problems.push(format!("its introduction should say: {said}"));
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_requirements_is_true() {
        let tests = tests().unwrap();
        assert!(tests.len() > 1_000, "{}", tests.len());
        assert_eq!(problems(&fs::read_to_string(root().join(PAGE)).unwrap(), &tests), [""; 0]);
    }

    #[test]
    fn each_fault_of_the_table_is_named() {
        let tests = BTreeSet::from(["it_is_so".to_owned()]);
        let page = |rows: &str| {
            format!(
                "Of 1 requirements, 1 work, 0 work partly, 0 are missing, and 0 were decided against.\n| id | x |\n{rows}\n"
            )
        };
        let whole = "| A-01 | It is so | works | `it_is_so` |";
        assert_eq!(problems(&page(whole), &tests), [""; 0]);
        for (rows, fault) in [
            (format!("{whole}\n{whole}"), "A-01 stands twice"),
            (whole.replace("works", "mostly"), "is none of works, partly"),
            (whole.replace("it_is_so", "it_was_so"), "does not exist: it_was_so"),
            (whole.replace("`it_is_so`", "Believe it"), "names no test"),
            (whole.replace("works", "partly"), "does not work, and names the test it_is_so"),
            (whole.replace(" | It is so", ""), "a row has 3 cells, not four"),
            (whole.replace("works", "missing"), "should say: Of 1 requirements, 0 work, 0 work partly, 1 are missing"),
        ] {
            let found = problems(&page(&rows), &tests);
            assert!(found.iter().any(|problem| problem.contains(fault)), "{rows}: {found:?}");
        }
    }
}
