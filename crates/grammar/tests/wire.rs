//! The wire formats: round trips, published schemas, and agreement of schema and serde.

use std::path::Path;

use cuebook_grammar::arbitrary;
use cuebook_grammar::observation::Observation;
use cuebook_grammar::plan::{Author, PlanDraft};
use cuebook_grammar::policy::PolicyFile;
use cuebook_grammar::record::{PlanningRecord, StepRecord};
use cuebook_grammar::report::{ErrorCode, RunError, RunReport, RunResult};
use cuebook_grammar::{Document, sample, schema_of, wire};
use jsonschema::Validator;
use proptest::prelude::*;
use proptest::test_runner::Config;
use serde_json::{Value, json};
use std::sync::LazyLock;

static PLAN: LazyLock<Validator> = LazyLock::new(|| validator(Document::Plan));
static OBSERVATION: LazyLock<Validator> = LazyLock::new(|| validator(Document::Observation));
static RECORD: LazyLock<Validator> = LazyLock::new(|| validator(Document::StepRecord));
static REPORT: LazyLock<Validator> = LazyLock::new(|| validator(Document::Report));
static PLANNING: LazyLock<Validator> = LazyLock::new(|| validator(Document::PlanningRecord));

fn validator(document: Document) -> Validator {
    jsonschema::draft202012::new(&schema_of(document)).expect("our schemas are schemas")
}

/// Any condition may say how long it may take.
#[test]
fn a_condition_with_a_limit_is_a_group_of_one() {
    use cuebook_grammar::condition::Condition;
    let read = |text: &str| serde_json::from_str::<Condition>(text);
    let short = read(r#"{ "kind": "urlChanges", "to": "/home", "timeoutMs": 8000 }"#).unwrap();
    let long = r#"{ "kind": "allOf", "timeoutMs": 8000, "conditions": [{ "kind": "urlChanges", "to": "/home" }] }"#;
    assert_eq!(short, read(long).unwrap());
    assert_eq!(short.limit().map(|limit| limit.get()), Some(8_000));
    let idle = read(r#"{ "kind": "networkIdle", "timeoutMs": 100 }"#).unwrap();
    assert!(matches!(idle, Condition::NetworkIdle(_)) && idle.limit().is_some());
    assert!(read(r#"{ "kind": "urlChanges", "timeoutMs": "soon" }"#).is_err());
}

#[test]
fn statuses_are_any_or_a_list() {
    use cuebook_grammar::action::Statuses;
    let read = |text: &str| serde_json::from_str::<Statuses>(text).ok();
    assert_eq!(read("\"any\""), Some(Statuses::Any));
    assert_eq!(read("[404, 410]"), Some(Statuses::Of(vec![404, 410])));
    for bad in ["\"all\"", "[]", "404", "[99]", "[600]", "null"] {
        assert_eq!(read(bad), None, "{bad}");
    }
}

/// The checked-in schemas are what the types say. `UPDATE_SCHEMAS=1` updates them.
#[test]
#[expect(clippy::disallowed_methods, reason = "a test's switch")]
fn published_schemas_are_those_of_the_types() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas");
    for document in Document::ALL {
        let path = folder.join(document.file_name());
        let text = format!("{}\n", serde_json::to_string_pretty(&schema_of(document)).unwrap());
        if std::env::var_os("UPDATE_SCHEMAS").is_some() {
            std::fs::write(&path, &text).unwrap();
        }
        let published = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(published == text, "{} is out of date: cargo xtask gen-schema writes it", path.display());
    }
}

#[test]
fn the_login_plan_reads_and_is_a_plan_by_its_schema() {
    let text = include_str!("../../../examples/plans/login.json");
    let value: Value = serde_json::from_str(text).unwrap();
    assert!(PLAN.is_valid(&value));
    let draft = PlanDraft::read(text, Author::Operator).unwrap();
    assert_eq!(draft.steps.len(), 4);
    assert_eq!(serde_json::to_value(&draft).unwrap(), value);
}

#[test]
fn a_list_of_fields_is_not_an_object() {
    let directories_opened = PolicyFile::read(r#"{ "roots": [["/tmp"], []] }"#).unwrap_err();
    assert_eq!(directories_opened.to_string(), "expected a policy: at /roots: must be an object, not an array");
    for (plan, path) in [
        (r#"[ "1.0" ]"#, ""),
        (r#"{ "version": "1.0", "steps": [["click", "c1"]] }"#, "/steps/0"),
        (
            r#"{ "version": "1.0", "steps": [{ "type": "click", "targetRef": "c1", "position": [1, 2] }] }"#,
            "/steps/0/position",
        ),
    ] {
        let violations = PlanDraft::read(plan, Author::Operator).unwrap_err();
        assert_eq!(violations[0].path, path, "{violations:?}");
    }
}

#[test]
fn a_duplicate_member_is_an_error_at_any_depth() {
    for text in [r#"{ "roots": {}, "roots": { "read": ["/"] } }"#, r#"{ "roots": { "read": [], "read": ["/"] } }"#] {
        let error = PolicyFile::read(text).unwrap_err().to_string();
        assert!(error.contains("` appears twice") && error.contains("line 1"), "{error}");
    }
    let plan = r#"{ "version": "1.0", "steps": [{ "type": "click", "type": "press", "keys": "Enter" }] }"#;
    assert!(PlanDraft::read(plan, Author::Model).unwrap_err()[0].message.contains("`type` appears twice"));
}

/// Returns the document with one member more in it and in each of its objects at `pointers`.
fn with_later_members(mut document: Value, pointers: &[&str]) -> Value {
    for pointer in std::iter::once(&"").chain(pointers) {
        let object = document.pointer_mut(pointer).and_then(Value::as_object_mut);
        object.unwrap_or_else(|| panic!("{pointer}")).insert("later".into(), json!({ "a": [1] }));
    }
    document
}

#[test]
fn members_of_a_later_minor_version_are_ignored_and_another_major_refused() {
    let page = sample::page("textbox \"Email\"\nbutton \"Log in\"");
    let own = serde_json::to_value(&page).unwrap();
    let inner = ["/viewport", "/frames/0", "/candidates/0", "/candidates/0/fingerprint", "/sketch"];
    let mut later = with_later_members(own.clone(), &inner);
    later["schemaVersion"] = "1.999".into();
    assert!(OBSERVATION.is_valid(&later));
    let read = Observation::read(&later.to_string()).unwrap();
    assert_eq!(read, Observation { schema_version: "1.999".into(), ..page });
    later["candidates"][0]["locators"] = json!([{ "strategy": "css", "selector": "a", "later": 1 }]);
    let error = Observation::read(&later.to_string()).unwrap_err();
    assert!(error.path.starts_with("/candidates/0/locators/0") && error.message.contains("later"), "{error}");

    let report = RunReport::without_run(RunResult::Failed, Some(RunError::new(ErrorCode::Stuck, "saw it again")));
    let mut later = with_later_members(serde_json::to_value(&report).unwrap(), &["/error", "/usage"]);
    later["schemaVersion"] = "1.999".into();
    let read = RunReport::read(&later.to_string()).unwrap();
    assert_eq!(read, RunReport { schema_version: "1.999".into(), ..report });

    for version in ["2.0", "0.9", "1", "1.", "1.x", "01.0", ""] {
        later["schemaVersion"] = version.into();
        later["steps"] = json!("of another form");
        let error = RunReport::read(&later.to_string()).unwrap_err().to_string();
        assert_eq!(error, format!("at /schemaVersion: version `{version}` cannot be read, only 1.x"));
        let mut other = own.clone();
        other["schemaVersion"] = version.into();
        assert!(!OBSERVATION.is_valid(&other), "{version}");
        assert_eq!(Observation::read(&other.to_string()).unwrap_err().to_string(), error);
        assert!(serde_json::from_value::<Observation>(other).unwrap_err().to_string().contains("read, only 1.x"));
    }
}

#[test]
fn an_unknown_member_of_a_plan_is_a_violation() {
    for (plan, path) in [
        (r#"{ "version": "1.0", "steps": [{ "type": "press", "keys": "Enter" }], "later": 1 }"#, ""),
        (r#"{ "version": "1.0", "steps": [{ "type": "press", "keys": "Enter", "later": 1 }] }"#, "/steps/0"),
    ] {
        let violations = PlanDraft::read(plan, Author::Operator).unwrap_err();
        assert!(violations[0].path.starts_with(path) && violations[0].message.contains("later"), "{violations:?}");
    }
}

fn serde_agrees_with(validator: &Validator, value: &Value, read: Result<(), String>) -> Result<(), TestCaseError> {
    let valid = validator.is_valid(value);
    prop_assert_eq!(valid, read.is_ok(), "schema says {}, serde says {:?}: {}", valid, read, value);
    Ok(())
}

fn read<T: serde::de::DeserializeOwned>(value: &Value) -> Result<(), String> {
    wire::read::<T>(value.clone()).map(drop).map_err(|error| error.to_string())
}

proptest! {
    #![proptest_config(Config { cases: 300, max_shrink_iters: 200, failure_persistence: None, ..Config::default() })]

    #[test]
    fn plans_survive_the_wire(draft in arbitrary::any::<PlanDraft>()) {
        let value = serde_json::to_value(&draft).unwrap();
        prop_assert!(PLAN.is_valid(&value), "{value}");
        prop_assert_eq!(&wire::read::<PlanDraft>(value.clone()).unwrap(), &draft);
        prop_assert_eq!(&PlanDraft::read_value(value, Author::Model).unwrap(), &draft);
    }

    #[test]
    fn observations_survive_the_wire(observation in arbitrary::any::<Observation>()) {
        let value = serde_json::to_value(&observation).unwrap();
        prop_assert!(OBSERVATION.is_valid(&value), "{value}");
        prop_assert_eq!(wire::read::<Observation>(value).unwrap(), observation);
    }

    #[test]
    fn records_survive_the_wire_and_judge_the_same(record in arbitrary::any::<StepRecord>()) {
        let value = serde_json::to_value(&record).unwrap();
        prop_assert!(RECORD.is_valid(&value), "{value}");
        let again: StepRecord = wire::read(value).unwrap();
        if let (Some(facts), Some(facts_again)) = (&record.post_facts, &again.post_facts) {
            for (judged, judged_again) in record.post_check.iter().zip(&again.post_check) {
                prop_assert_eq!(judged.condition.evaluate(facts), judged_again.condition.evaluate(facts_again));
            }
        }
        prop_assert_eq!(again, record);
    }

    #[test]
    fn reports_survive_the_wire(report in arbitrary::any::<RunReport>()) {
        let value = serde_json::to_value(&report).unwrap();
        prop_assert!(REPORT.is_valid(&value), "{value}");
        prop_assert_eq!(wire::read::<RunReport>(value).unwrap(), report);
    }

    #[test]
    fn schema_and_serde_refuse_the_same_plans(
        value in arbitrary::any::<PlanDraft>().prop_flat_map(|draft| arbitrary::mutated(serde_json::to_value(draft).unwrap()))
    ) {
        serde_agrees_with(&PLAN, &value, read::<PlanDraft>(&value))?;
    }

    #[test]
    fn schema_and_serde_refuse_the_same_records(
        value in arbitrary::any::<StepRecord>().prop_flat_map(|record| arbitrary::mutated(serde_json::to_value(record).unwrap()))
    ) {
        serde_agrees_with(&RECORD, &value, read::<StepRecord>(&value))?;
    }

    #[test]
    fn records_of_calls_survive_the_wire(record in arbitrary::any::<PlanningRecord>()) {
        let value = serde_json::to_value(&record).unwrap();
        prop_assert!(PLANNING.is_valid(&value), "{value}");
        prop_assert_eq!(wire::read::<PlanningRecord>(value).unwrap(), record);
    }

    #[test]
    fn schema_and_serde_refuse_the_same_records_of_calls(
        value in arbitrary::any::<PlanningRecord>()
            .prop_flat_map(|record| arbitrary::mutated(serde_json::to_value(record).unwrap()))
    ) {
        serde_agrees_with(&PLANNING, &value, read::<PlanningRecord>(&value))?;
    }

    #[test]
    fn reading_never_panics(text in "\\PC{0,200}") {
        drop(PlanDraft::read(&text, Author::Model));
    }

    #[test]
    fn checking_and_binding_never_panic(draft in arbitrary::any::<PlanDraft>(), observation in arbitrary::page()) {
        let policy = cuebook_grammar::policy::Policy::default();
        if let Ok(plan) = draft.check(&observation, &policy) {
            for index in 0..plan.steps().len() {
                drop(plan.bind(index, &observation));
            }
        }
    }
}
