//! Logs of every version, as their program wrote them: readers take them as they are, and the version is raised when the
//! format changes.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use cuebook_datalayer::{Entry, Run, judge};
use cuebook_grammar::record::RECORD_VERSION;
use cuebook_grammar::{Document, schema_of};
use serde_json::{Value, json};

/// `VERSION.jsonl` is the log of a run on the built-in site. That of 1.3 was made from that of 1.4, without what 1.4 added;
/// those of 1.7 to 1.14 from those before them.
fn golden() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

/// An entry as it is written, without its tag.
fn written(entry: &Entry) -> Value {
    match entry {
        Entry::Header(body) => json!(body),
        Entry::Planning(body) => json!(body),
        Entry::Observed(body) => json!(body),
        Entry::Event(body) => json!(body),
        Entry::Begin(body) => json!(body),
        Entry::Commit(body) => json!(body),
        Entry::End(body) => json!(body),
        other => panic!("expected an entry of a known kind, saw {other:?}"),
    }
}

#[test]
fn logs_of_every_version_are_read_whole_and_judged_as_they_were() {
    let mut versions = BTreeSet::new();
    for file in fs::read_dir(golden()).unwrap() {
        let path = file.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "jsonl") {
            continue;
        }
        let version = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let run = Run::read(&path).unwrap_or_else(|error| panic!("{version}: {error}"));
        assert_eq!(run.header.as_ref().unwrap().schema_version, version);
        assert!(run.steps.len() > 1 && run.end.is_some() && run.torn.is_none(), "{version}");
        assert!(judge(&run).differences.is_empty(), "{version}");
        for line in fs::read_to_string(&path).unwrap().lines() {
            let entry = Entry::read(line.as_bytes()).unwrap().unwrap();
            let mut original: Value = serde_json::from_str(line).unwrap();
            original.as_object_mut().unwrap().remove("entry");
            assert_eq!(written(&entry), original, "{version}: nothing is lost or added");
        }
        versions.insert(version);
    }
    assert!(versions.contains(RECORD_VERSION), "expected {RECORD_VERSION}.jsonl among {versions:?}");
}

/// `Type.member` for every member of the records.
fn members(schema: &Value, within: &str, found: &mut BTreeSet<String>) {
    let Value::Object(parts) = schema else {
        if let Value::Array(items) = schema {
            items.iter().for_each(|item| members(item, within, found));
        }
        return;
    };
    for (name, part) in parts {
        match (name.as_str(), part) {
            ("$defs", Value::Object(types)) => types.iter().for_each(|(name, part)| members(part, name, found)),
            ("properties", Value::Object(properties)) => {
                found.extend(properties.keys().map(|name| format!("{within}.{name}")));
                properties.values().for_each(|part| members(part, within, found));
            }
            _ => members(part, within, found),
        }
    }
}

#[test]
fn a_record_with_other_members_has_another_version() {
    let mut found = BTreeSet::new();
    members(&schema_of(Document::StepRecord), "StepRecord", &mut found);
    members(&schema_of(Document::PlanningRecord), "PlanningRecord", &mut found);
    let now: String = found.iter().map(|member| format!("{member}\n")).collect();
    let path = golden().join(format!("{RECORD_VERSION}.members.txt"));
    let known = fs::read_to_string(&path).unwrap_or_default();
    let added: Vec<_> = found.iter().filter(|member| !known.lines().any(|line| line == *member)).collect();
    let gone: Vec<_> = known.lines().filter(|line| !found.contains(*line)).collect();
    assert!(
        known == now,
        "the records changed: raise RECORD_VERSION (the minor one for members that were added, the major one for others), \
         and add a log and the members of the new version to {}. Added: {added:?}. Gone: {gone:?}",
        golden().display()
    );
}
