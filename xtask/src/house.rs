//! Checks that the repository is what `CONTRIBUTING.md` and the registry of crates want: paths that exist, verbs and
//! conditions that stand in each of their places, packages that are whole, and security cases with tests that exist.

use std::fs;

use cargo_metadata::{DependencyKind, MetadataCommand};
use xtask::commands::root;

fn text(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The quoted names of a table in a Rust file, such as `    Press(Press) = "press", Executor, …`, with their variants
/// and what follows.
fn rows(path: &str) -> Vec<(String, String, String)> {
    let rows = text(path);
    let rows = rows.lines().filter_map(|line| {
        let (head, rest) = line.trim_start().split_once(") = \"")?;
        let (variant, _) = head.split_once('(')?;
        let (name, rest) = rest.split_once('"')?;
        let is_variant = variant.starts_with(char::is_uppercase) && variant.chars().all(char::is_alphanumeric);
        is_variant.then(|| (variant.to_owned(), name.to_owned(), rest.to_owned()))
    });
    rows.collect()
}

/// Returns `true` if a file names it as a word, by its variant or by its name on the wire.
fn names(text: &str, variant: &str, name: &str) -> bool {
    text.split(|c: char| !c.is_alphanumeric()).any(|word| word == variant || word == name)
}

#[test]
fn every_path_that_the_documents_for_contributors_name_exists() {
    for document in ["CONTRIBUTING.md", "ARCHITECTURE.md", "docs/versions.md"] {
        let text = text(document);
        let quoted = text.split('`').skip(1).step_by(2);
        let roots = ["crates/", "docs/", "schemas/", "tests/", "examples/", "xtask/"];
        let paths: Vec<&str> =
            quoted.filter(|path| roots.iter().any(|root| path.starts_with(root)) && !path.contains('*')).collect();
        for path in &paths {
            let is_there = root().join(path).exists();
            assert!(is_there, "{document} names {path}, which does not exist");
        }
        assert!(document == "docs/versions.md" || paths.len() > 10, "{document}: saw only {paths:?}");
    }
}

#[test]
fn every_verb_stands_in_each_of_its_places() {
    let verbs = rows("crates/grammar/src/action.rs");
    assert!(verbs.len() > 40, "{verbs:?}");
    let places = [
        "crates/decoding/src/shapes.rs",
        "crates/decoding/src/line_form.rs",
        "docs/acting.md",
        "schemas/plan.schema.json",
    ];
    for place in places {
        let text = text(place);
        let absent: Vec<_> = verbs.iter().filter(|(variant, name, _)| !names(&text, variant, name)).collect();
        assert!(absent.is_empty(), "{place} lacks {absent:?}");
    }
    let actions = text("crates/executor/src/actions/dispatch.rs");
    let owned = verbs.iter().filter(|(_, _, rest)| rest.starts_with(", Executor,"));
    let absent: Vec<_> = owned.filter(|(variant, name, _)| !names(&actions, variant, name)).collect();
    assert!(absent.is_empty(), "the executor lacks {absent:?}");
}

#[test]
fn every_condition_stands_in_each_of_its_places() {
    let conditions = rows("crates/grammar/src/condition.rs");
    assert!(conditions.len() > 20, "{conditions:?}");
    for place in ["crates/grammar/src/condition/evaluate.rs", "docs/conditions.md", "schemas/plan.schema.json"] {
        let text = text(place);
        let absent: Vec<_> = conditions.iter().filter(|(variant, name, _)| !names(&text, variant, name)).collect();
        assert!(absent.is_empty(), "{place} lacks {absent:?}");
    }
}

#[test]
fn every_column_of_an_export_is_documented() {
    let columns = text("crates/export/src/parquet/columns.txt");
    let document = text("docs/export.md");
    let names: Vec<&str> =
        columns.lines().filter_map(|line| line.split_once(": ")?.0.split_once('.')).map(|(_, column)| column).collect();
    assert!(names.len() > 150, "{names:?}");
    let own = names.iter().filter(|name| !name.contains('.'));
    let absent: Vec<_> = own.filter(|name| !document.contains(&format!("`{name}`"))).collect();
    assert!(absent.is_empty(), "docs/export.md lacks {absent:?}");
}

#[test]
fn every_package_is_whole() {
    let metadata = MetadataCommand::new().current_dir(root()).no_deps().exec().unwrap();
    let mut published = 0;
    for package in metadata.workspace_packages() {
        if package.publish.as_ref().is_some_and(Vec::is_empty) {
            continue;
        }
        published += 1;
        let name = &package.name;
        let folder = package.manifest_path.parent().unwrap();
        for (what, is_there) in [
            ("description", package.description.is_some()),
            ("documentation", package.documentation.is_some()),
            ("license", package.license.is_some()),
            ("keywords", (1..=5).contains(&package.keywords.len())),
            ("categories", !package.categories.is_empty()),
        ] {
            assert!(is_there, "{name} has no {what}");
        }
        let readme = fs::read_to_string(folder.join("README.md")).unwrap_or_default();
        assert!(readme.lines().count() >= 10 && readme.starts_with(&format!("# {name}\n")), "{name}: {readme}");
        for license in ["LICENSE-MIT", "LICENSE-APACHE"] {
            assert_eq!(fs::read_to_string(folder.join(license)).ok(), Some(text(license)), "{name}: {license}");
        }
        // What is outside of a package's folder is not in the package.
        for target in &package.targets {
            let path = target.src_path.as_std_path();
            assert!(path.starts_with(folder.as_std_path()), "{name}: {} is outside of the package", path.display());
        }
        for dependency in package.dependencies.iter().filter(|one| one.path.is_some()) {
            // Cargo leaves what only tests need, and has no version, out of a package.
            let is_of_tests = dependency.kind == DependencyKind::Development;
            let is_versioned = dependency.req.to_string() != "*" || is_of_tests;
            assert!(is_versioned, "{name} depends on {} by path alone", dependency.name);
        }
    }
    assert_eq!(published, 23);
}

#[test]
fn every_security_case_has_tests_that_exist_or_says_why_not() {
    let tests = crate::coverage::tests().unwrap();
    assert!(tests.len() > 1_000, "{}", tests.len());
    let page = text("docs/security-cases.md");
    let mut numbers = Vec::new();
    for row in page.lines().filter(|line| line.starts_with("| S-")) {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let [_, number, attack, answer, shown, _] = cells[..] else { panic!("there are not four cells: {row}") };
        assert!(!attack.is_empty() && !answer.is_empty(), "{row}");
        numbers.push(number.to_owned());
        let named: Vec<&str> = shown.split('`').skip(1).step_by(2).collect();
        let absent: Vec<_> = named.iter().filter(|name| !tests.contains(**name)).collect();
        assert!(absent.is_empty(), "{number} names tests that do not exist: {absent:?}");
        let reasons = ["**Not built**: ", "**Not tested**: ", "**Open**: "];
        let has_reason = reasons.iter().any(|reason| answer.contains(reason));
        assert!(!named.is_empty() || has_reason, "{number} has neither a test nor a reason");
    }
    let expected: Vec<String> = (1..=90).map(|number| format!("S-{number:02}")).collect();
    assert_eq!(numbers, expected);
    let model = text("docs/security.md");
    let promises = model.lines().filter(|line| line.ends_with("` |") && line.matches(" | ").count() == 2);
    let mut shown = 0;
    for name in promises.flat_map(|row| row.rsplit(" | ").next().unwrap_or_default().split('`').skip(1).step_by(2)) {
        shown += 1;
        assert!(tests.contains(name), "docs/security.md names a test that does not exist: {name}");
    }
    assert!(shown > 20, "{shown}");
    // A test that says which cases it shows is named by their rows.
    for test in &tests {
        let stated = test.split('_').map_while(|part| part.strip_prefix('s')?.parse::<u8>().ok().filter(|n| *n > 0));
        for number in stated {
            let row = page.lines().find(|line| line.starts_with(&format!("| S-{number:02} |"))).unwrap_or_default();
            assert!(row.contains(&format!("`{test}`")) || test.contains("_to_"), "S-{number:02} does not name {test}");
        }
    }
}
