//! Tests of the check: its refusals, and its additions to a plan.

use serde_json::{Value, json};

use crate::action::{Action, ScrollUntil};
use crate::condition::Condition;
use crate::id::{CandidateId, PageId, TargetRef};
use crate::observation::{FrameSummary, Observation};
use crate::plan::{Author, BoundTarget, Plan, PlanDraft, ViolationCode, Violations};
use crate::policy::{Consent, Policy, PolicyFile};
use crate::sample;

fn candidate(id: &str, role: &str, name: &str, control: &str, more: &Value) -> Value {
    let mut candidate = json!({
        "id": id, "role": role, "name": name, "control": control,
        "fingerprint": { "role": role, "name": name, "path": "main" }
    });
    if let (Some(candidate), Some(more)) = (candidate.as_object_mut(), more.as_object()) {
        candidate.extend(more.clone());
    }
    candidate
}

fn page() -> Observation {
    let mut page = Observation::blank(crate::id::PageId::new("tab"), "https://shop.test/cart");
    let frame = |origin: &str| FrameSummary {
        parent: None,
        url: format!("{origin}/"),
        origin: origin.to_owned(),
        name: String::new(),
        out_of_process: false,
        omitted: None,
    };
    page.frames = vec![frame("https://shop.test"), frame("https://ads.test")];
    let candidates = json!([
        candidate("c1", "button", "Order", "plain", &json!({})),
        candidate("c2", "textbox", "Name", "text", &json!({ "states": { "editable": true } })),
        candidate(
            "c3",
            "combobox",
            "Size",
            "select",
            &json!({ "options": [
            { "value": "s", "label": "Small" }, { "value": "l", "label": "Large" } ] })
        ),
        candidate("c4", "button", "Edit", "plain", &json!({ "ambiguous": true })),
        candidate("c5", "button", "Edit", "plain", &json!({ "ambiguous": true })),
        candidate("c6", "button", "Win", "plain", &json!({ "frame": 1 })),
        candidate("c7", "radio", "Express", "check", &json!({})),
        candidate("c8", "textbox", "Password", "password", &json!({ "states": { "editable": true } })),
        candidate("c9", "button", "Delete", "plain", &json!({})),
    ]);
    page.candidates = serde_json::from_value(candidates).unwrap();
    page
}

fn policy() -> Policy {
    Policy::default().starting_at("https://shop.test/").unwrap()
}

fn check(author: Author, plan: &Value) -> Result<Plan, Violations> {
    PlanDraft::read_value(plan.clone(), author)?.check(&page(), &policy())
}

fn codes(author: Author, steps: Value) -> Vec<ViolationCode> {
    let plan = json!({ "version": "1.0", "steps": steps });
    check(author, &plan).err().into_iter().flatten().map(|violation| violation.code).collect()
}

#[test]
fn each_fault_has_its_code() {
    use ViolationCode as V;
    let cases: &[(Value, &[ViolationCode])] = &[
        (json!([]), &[V::EmptyPlan]),
        (json!([{ "type": "click", "targetRef": "c99" }]), &[V::UnknownTarget]),
        (json!([{ "type": "click", "targetRef": "submit" }]), &[V::UnknownTarget]),
        (json!([{ "type": "click", "targetRef": "c4" }]), &[V::AmbiguousTarget]),
        (json!([{ "type": "type", "targetRef": "c1", "text": "x" }]), &[V::UnsupportedVerb]),
        (json!([{ "type": "finish" }, { "type": "reload" }]), &[V::AfterEnd]),
        (json!([{ "type": "fail", "reason": "x" }, { "type": "finish" }]), &[V::AfterEnd]),
        (json!(vec![json!({ "type": "waitForIdle" }); 21]), &[V::TooManySteps]),
        (json!([{ "type": "uncheck", "targetRef": "c7" }]), &[V::UnsupportedVerb]),
        (json!([{ "type": "select", "targetRef": "c3", "option": "Huge" }]), &[V::OptionNotFound]),
        (json!([{ "type": "select", "targetRef": "c3", "option": "Large" }]), &[]),
        (json!([{ "type": "select", "targetRef": "c3", "option": 1 }]), &[]),
        (json!([{ "type": "type", "targetRef": "c2" }]), &[V::InvalidArgument]),
        (json!([{ "type": "scroll" }]), &[V::InvalidArgument]),
        (json!([{ "type": "scroll", "direction": "down", "deltaY": 100 }]), &[V::InvalidArgument]),
        (json!([{ "type": "scrollUntil" }]), &[V::InvalidArgument]),
        (json!([{ "type": "scrollUntil", "text": " " }]), &[V::VacuousCondition]),
        (json!([{ "type": "scrollUntil", "text": "Row", "targetRef": "c1" }]), &[V::InvalidArgument]),
        (json!([{ "type": "scrollUntil", "text": "Row", "direction": "bottom" }]), &[V::InvalidArgument]),
        (json!([{ "type": "scrollUntil", "text": "Row", "container": "c99" }]), &[V::UnknownTarget]),
        (json!([{ "type": "scrollUntil", "condition": { "kind": "visible", "target": "c99" } }]), &[V::UnknownTarget]),
        (
            json!([{ "type": "scrollUntil", "condition": { "kind": "networkIdle", "timeoutMs": 9 } }]),
            &[V::InvalidCondition],
        ),
        (json!([{ "type": "navigate", "url": "nowhere" }]), &[V::InvalidArgument]),
        (json!([{ "type": "navigate", "url": "https://evil.test/" }]), &[V::PolicyBlocked]),
        (json!([{ "type": "click", "targetRef": "c6" }]), &[V::PolicyBlocked]),
        (json!([{ "type": "shell", "command": "ls" }]), &[V::PolicyBlocked]),
        (json!([{ "type": "clickPoint", "point": { "x": 1.0, "y": 1.0 } }]), &[V::PolicyBlocked]),
        (json!([{ "type": "call", "name": "unheardOf" }]), &[V::UnknownAction]),
        (
            json!([{ "type": "click", "targetRef": "c1", "post": [{ "kind": "urlMatches", "pattern": ".*" }] }]),
            &[V::VacuousCondition],
        ),
        (
            json!([{ "type": "click", "targetRef": "c1", "post": [
                { "kind": "visible", "target": "c2" }, { "kind": "hidden", "target": "c2" }] }]),
            &[V::ContradictoryConditions],
        ),
        (
            json!([{ "type": "waitFor", "condition": { "kind": "urlMatches", "pattern": "(?=x)" } }]),
            &[V::InvalidCondition],
        ),
        (json!([{ "type": "waitFor", "condition": { "kind": "allOf", "conditions": [] } }]), &[V::InvalidCondition]),
        (
            json!([{ "type": "click", "targetRef": "c1",
                "pre": [{ "kind": "visible", "target": "c2", "timeoutMs": 500 }] }]),
            &[V::InvalidCondition],
        ),
        (
            json!([{ "type": "assert", "condition": { "kind": "networkIdle", "timeoutMs": 500 } }]),
            &[V::InvalidCondition],
        ),
        (json!([{ "type": "waitFor", "condition": { "kind": "visible", "target": "c2", "timeoutMs": 500 } }]), &[]),
        (
            json!([{ "type": "click", "targetRef": "c1", "post": [{ "kind": "urlChanges" }] },
                   { "type": "click", "targetRef": "c2" }]),
            &[V::AfterPageChange],
        ),
    ];
    for (steps, expected) in cases {
        assert_eq!(codes(Author::Model, steps.clone()), *expected, "{steps}");
    }
}

#[test]
fn an_address_without_a_host_is_on_the_page_that_the_run_starts_on() {
    let of = |author, url: &str, start: &str| {
        let plan = json!({ "version": "1.0", "steps": [{ "type": "navigate", "url": url }] });
        let page = Observation::blank(PageId::new("tab"), "https://shop.test/a/b");
        let policy = Policy::default().starting_at(start).unwrap();
        let plan = PlanDraft::read_value(plan, author).unwrap().check(&page, &policy);
        plan.map(|plan| match &plan.steps()[0].step.action {
            Action::Navigate(navigate) => navigate.url.to_string(),
            other => panic!("{other:?}"),
        })
    };
    assert_eq!(of(Author::Operator, "/files", "https://docs.test/x/").unwrap(), "https://docs.test/files");
    assert_eq!(of(Author::Operator, "./files?q", "https://docs.test/x/").unwrap(), "https://docs.test/x/files?q");
    assert_eq!(of(Author::Model, "/files", "https://shop.test/").unwrap(), "https://shop.test/files");
    assert_eq!(of(Author::Operator, "https://docs.test/", "https://docs.test/").unwrap(), "https://docs.test/");
    let elsewhere = of(Author::Model, "//127.0.0.1/files", "https://shop.test/").unwrap_err();
    assert_eq!(elsewhere[0].rule.as_deref(), Some("privateAddress"));
    assert!(of(Author::Operator, "http://", "https://docs.test/").is_err());
    assert!(of(Author::Operator, "docs.test", "https://docs.test/").is_err(), "a host and no path");
}

#[test]
fn ids_of_a_tab_count_again_once_a_plan_is_back_in_it() {
    let mut page = page();
    let tab =
        |name: &str, current| json!({ "page": name, "url": "https://shop.test/", "title": "", "current": current });
    page.tabs = serde_json::from_value(json!([tab("a", false), tab("b", true), tab("c", false)])).unwrap();
    let codes = |steps: Value| {
        let plan = json!({ "version": "1.0", "steps": steps });
        let draft = PlanDraft::read_value(plan, Author::Model).unwrap();
        let checked = draft.check(&page, &Policy::default().starting_at("https://shop.test/").unwrap());
        checked.err().map_or_else(Vec::new, |all| all.iter().map(|one| one.code).collect::<Vec<_>>())
    };
    let opens = json!({ "type": "click", "targetRef": "c1", "post": [{ "kind": "newTab" }] });
    let click = json!({ "type": "click", "targetRef": "c1" });
    let to = |tab: u32| json!({ "type": "switchTab", "tab": tab });
    let stale = [ViolationCode::AfterPageChange];
    assert_eq!(codes(json!([opens, to(1), click])), []);
    assert_eq!(codes(json!([opens, { "type": "reload" }, to(1), click])), []);
    assert_eq!(codes(json!([to(0), to(1), click])), []);
    assert_eq!(codes(json!([opens, click])), stale);
    assert_eq!(codes(json!([to(0), click])), stale);
    assert_eq!(codes(json!([opens, to(2), click])), stale);
    assert_eq!(codes(json!([{ "type": "reload" }, to(0), to(1), click])), stale);
}

#[test]
fn only_an_operator_declares_locators() {
    let plan = json!({ "version": "1.0",
        "candidates": { "go": { "strategy": "css", "selector": "#go" } },
        "steps": [{ "type": "click", "targetRef": "go" }] });
    assert!(check(Author::Operator, &plan).is_ok());
    let violations = check(Author::Model, &plan).unwrap_err();
    assert_eq!(violations[0].code, ViolationCode::DeclaredByModel);
    assert_eq!(violations[0].path, "/candidates/go");
}

#[test]
fn a_state_changing_step_never_lacks_a_postcondition() {
    let plan = json!({ "version": "1.0", "steps": [
        { "type": "click", "targetRef": "c1" },
        { "type": "type", "targetRef": "c2", "text": "Ann" },
        { "type": "select", "targetRef": "c3", "option": "Large" },
        { "type": "check", "targetRef": "c7" },
        { "type": "press", "keys": "Enter" },
        { "type": "scroll", "direction": "down" }
    ] });
    let plan = check(Author::Model, &plan).unwrap();
    let kinds: Vec<Option<&str>> =
        plan.steps().iter().map(|step| step.post.first().map(|post| post.condition.tag())).collect();
    assert_eq!(
        kinds,
        [Some("anyEffect"), Some("valueContains"), Some("selectedValues"), Some("checked"), Some("anyEffect"), None]
    );
    assert!(plan.steps().iter().flat_map(|step| &step.post).all(|post| post.is_default));
}

#[test]
fn a_text_that_is_scrolled_for_is_found_by_a_locator_of_its_own() {
    let step = json!({ "type": "scrollUntil", "text": "Row 80", "container": "c1" });
    let plan = check(Author::Model, &json!({ "version": "1.0", "steps": [step] })).unwrap();
    let bound = plan.bind(0, &page()).unwrap();
    let name = TargetRef::new(ScrollUntil::TEXT).unwrap();
    let BoundTarget::Declared(locator) = &bound.targets()[&name] else { panic!("expected a locator") };
    assert_eq!(locator.to_string(), "text=\"Row 80\" visible=true nth=0");
    let post = &bound.post()[0];
    assert!(post.is_default && post.condition.tag() == "inViewport" && post.condition.target() == Some(&name));
    assert!(bound.targets()[&TargetRef::from(CandidateId(1))].candidate().is_some());
    let taken = json!({ "version": "1.0", "candidates": { "_text": { "strategy": "css", "selector": "p" } },
        "steps": [{ "type": "goBack" }] });
    assert_eq!(check(Author::Operator, &taken).unwrap_err()[0].code, ViolationCode::InvalidLocator);
}

#[test]
fn reading_is_lenient_in_form() {
    let plan = json!({ "plan_id": "p1", "reasoning_summary": "because", "steps": [
        { "type": "click", "target_ref": "@c1", "estimated_risk": "low" },
        { "type": "click", "targetRef": "ref=c9", "timeout_ms": 500 }
    ] });
    let plan_of_camels = json!({ "steps": [
        { "type": "dragTo", "targetRef": "c1", "to": "@c2", "post": [{ "kind": "urlChanges", "to": "@ann" }] }
    ] });
    let drag = &PlanDraft::read_value(plan_of_camels, Author::Model).unwrap().steps[0];
    assert_eq!(drag.action.targets().last().unwrap().to_string(), "c2", "where a drag ends is a reference");
    assert_eq!(drag.post[0].in_words(), r#"the URL to change with "@ann""#, "what a URL changes to is none");
    let draft = PlanDraft::read_value(plan, Author::Model).unwrap();
    assert_eq!(draft.plan_id.unwrap().as_str(), "p1");
    let targets: Vec<_> = draft.steps.iter().filter_map(|step| step.action.target()).map(ToString::to_string).collect();
    assert_eq!(targets, ["c1", "c9"]);
}

#[test]
fn every_malformed_step_is_reported_with_its_place() {
    let plan = json!({ "version": "1.0", "steps": [
        { "type": "fly" },
        { "type": "click" },
        { "type": "click", "targetRef": "c1", "post": [{ "kind": "visible" }] },
        { "type": "click", "targetRef": "c1", "speed": 3 },
        { "type": "waitFor", "condition": { "kind": "not", "condition": { "kind": "count", "target": "c1", "equals": -1 } } }
    ] });
    let violations = PlanDraft::read_value(plan, Author::Model).unwrap_err();
    let paths: Vec<&str> = violations.iter().map(|violation| violation.path.as_str()).collect();
    assert_eq!(
        paths,
        ["/steps/0/type", "/steps/1", "/steps/2/post/0", "/steps/3/speed", "/steps/4/condition/condition/equals"]
    );
    let version = PlanDraft::read(r#"{"version":"9.0","steps":[]}"#, Author::Model).unwrap_err();
    assert_eq!(version[0].code, ViolationCode::UnsupportedVersion);
}

#[test]
fn consent_follows_what_the_page_shows() {
    let plan = json!({ "version": "1.0", "steps": [
        { "type": "click", "targetRef": "c1" },
        { "type": "click", "targetRef": "c9" },
        { "type": "type", "targetRef": "c8", "text": "x" },
        { "type": "type", "targetRef": "c2", "text": "x", "estimatedRisk": "high" }
    ] });
    let asked = |author| {
        let plan = check(author, &plan).unwrap();
        (0..4)
            .map(|index| match plan.bind(index, &page()).unwrap().consent().clone() {
                Consent::Ask { grant } => grant,
                Consent::Granted => String::new(),
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(
        asked(Author::Model),
        ["money@https://shop.test", "destructive@https://shop.test", "", "write@https://shop.test"]
    );
    assert_eq!(asked(Author::Operator), ["", "", "", ""], "a file grants exactly its steps");
}

#[test]
fn an_amended_step_is_no_longer_covered_by_the_file() {
    let plan = json!({ "version": "1.0", "steps": [{ "type": "click", "targetRef": "c2" }] });
    let plan = check(Author::Operator, &plan).unwrap();
    let mut step = plan.steps()[0].step.clone();
    step.retarget(&|_| crate::id::CandidateId(9).into());
    let amended = plan.amend(0, step, &page()).unwrap();
    assert_ne!(*amended.bind(0, &page()).unwrap().consent(), Consent::Granted);
}

#[test]
fn a_stale_id_says_what_to_do() {
    let plan = json!({ "version": "1.0", "steps": [{ "type": "click", "targetRef": "c1" }] });
    let plan = check(Author::Model, &plan).unwrap();
    let mut later = page();
    later.candidates.retain(|candidate| candidate.id.0 != 1);
    let violations = plan.bind(0, &later).unwrap_err();
    assert_eq!(violations[0].message, "c1 is not in the current observation; observe again");
}

#[test]
fn what_was_true_in_between_counts_as_seen() {
    let facts = |visible: &[bool]| {
        let sample = |visible: bool| {
            json!({ "atMs": 1, "url": "https://a.test/", "title": "", "targets": {
                "toast": if visible { json!({ "matches": 1, "element": { "role": "status", "name": "", "tag": "div",
                    "states": {}, "visible": true } }) } else { json!({ "matches": 0 }) } } })
        };
        let samples: Vec<Value> = visible.iter().map(|visible| sample(*visible)).collect();
        serde_json::from_value::<crate::facts::Facts>(json!({ "before": sample(false), "samples": samples })).unwrap()
    };
    let appears: Condition = serde_json::from_value(json!({ "kind": "appears", "target": "toast" })).unwrap();
    assert!(appears.evaluate(&facts(&[false, true, false])).holds());
    assert!(!appears.evaluate(&facts(&[false, false])).holds());
    assert!(!appears.was_vacuous(&facts(&[true])));
}

#[test]
fn outside_actions_need_the_profile_and_a_declaration() {
    use crate::policy::PolicyFile;
    use crate::profile::Profile;
    let file = json!({
        "hosts": ["https://api.test"], "roots": { "read": ["/data"] }, "commands": ["date"],
        "deny": ["clickPoint"], "confirm": ["shell"],
    });
    let file = PolicyFile::read(&file.to_string()).unwrap();
    let closed = policy().with_file(&file).unwrap();
    let open = Policy::new(Profile::Unleashed).starting_at("https://shop.test/").unwrap();
    let declared = open.clone().with_file(&file).unwrap();
    let rule = |policy: &Policy, step: Value| -> Option<String> {
        let plan = json!({ "version": "1.0", "steps": [step] });
        let draft = PlanDraft::read_value(plan, Author::Operator).unwrap();
        draft.check(&page(), policy).err().and_then(|violations| violations[0].rule.clone())
    };
    let steps = [
        (json!({ "type": "fetch", "url": "https://api.test/x" }), Some("origin"), None),
        (json!({ "type": "fetch", "url": "https://evil.test/x" }), Some("origin"), Some("origin")),
        (json!({ "type": "fetch", "url": "http://169.254.169.254/" }), Some("privateAddress"), Some("privateAddress")),
        (json!({ "type": "fetch", "url": "file:///etc/passwd" }), Some("scheme"), Some("scheme")),
        (json!({ "type": "readFile", "path": "a" }), Some("root"), None),
        (json!({ "type": "writeFile", "path": "a", "content": "" }), Some("root"), Some("root")),
        (json!({ "type": "shell", "command": "date" }), Some("command"), None),
        (json!({ "type": "shell", "command": "date; id" }), Some("command"), Some("command")),
        (json!({ "type": "evaluate", "script": "1" }), None, None),
        (json!({ "type": "clickPoint", "point": { "x": 1, "y": 1 } }), None, Some("action")),
    ];
    for (step, undeclared, with_file) in steps {
        if step["type"] != "clickPoint" {
            assert_eq!(rule(&closed, step.clone()).as_deref(), Some("profile"), "{step}");
        }
        assert_eq!(rule(&open, step.clone()).as_deref(), undeclared, "{step}");
        assert_eq!(rule(&declared, step.clone()).as_deref(), with_file, "{step}");
    }
    let plan = json!({ "version": "1.0", "steps": [{ "type": "shell", "command": "date" }] });
    let draft = PlanDraft::read_value(plan, Author::Operator).unwrap();
    let consent = |policy: &Policy| draft.check(&page(), policy).unwrap().bind(0, &page()).unwrap().consent().clone();
    let asks = Consent::Ask { grant: "destructive@https://shop.test".into() };
    assert_eq!(consent(&declared), asks);
    assert_eq!(consent(&declared.granting("destructive@https://shop.test").unwrap()), Consent::Granted);
}

#[test]
fn conditions_of_the_page_do_not_fit_steps_outside_of_it() {
    let step = json!({ "type": "shell", "command": "date", "post": [{ "kind": "urlChanges" }] });
    assert!(codes(Author::Operator, json!([step])).contains(&ViolationCode::InvalidCondition));
}

#[test]
fn a_list_of_open_verbs_closes_the_others_but_reading() {
    use crate::policy::PolicyFile;
    let file = PolicyFile::read(r#"{ "allow": ["click"] }"#).unwrap();
    let policy = policy().with_file(&file).unwrap();
    let is_open = |step: Value| {
        let plan = json!({ "version": "1.0", "steps": [step] });
        PlanDraft::read_value(plan, Author::Operator).unwrap().check(&page(), &policy).is_ok()
    };
    assert!(is_open(json!({ "type": "click", "targetRef": "c1" })));
    assert!(is_open(json!({ "type": "screenshot" })));
    assert!(is_open(json!({ "type": "navigate", "url": "https://shop.test/" })));
    assert!(!is_open(json!({ "type": "navigate", "url": "https://shop.test/other" })));
    assert!(!is_open(json!({ "type": "check", "targetRef": "c7" })));
}

#[test]
fn s43_a_secret_reference_stands_only_where_text_is_entered() {
    use crate::action::Action;
    for entering in ["type", "setValue"] {
        assert_eq!(codes(Author::Model, json!([{ "type": entering, "targetRef": "c8", "credentialRef": "shop" }])), []);
    }
    for mut step in [
        json!({ "type": "navigate", "url": "https://shop.test/" }),
        json!({ "type": "fetch", "url": "https://shop.test/" }),
        json!({ "type": "click", "targetRef": "c1" }),
        json!({ "type": "select", "targetRef": "c3", "option": "Large" }),
        json!({ "type": "press", "keys": "Enter" }),
        json!({ "type": "upload", "targetRef": "c2", "files": ["a"] }),
        json!({ "type": "extract", "query": { "kind": "metadata" } }),
        json!({ "type": "searchPage", "query": "a" }),
        json!({ "type": "evaluate", "script": "1" }),
        json!({ "type": "shell", "command": "date" }),
        json!({ "type": "writeFile", "path": "a", "content": "" }),
        json!({ "type": "acceptDialog", "text": "a" }),
        json!({ "type": "call", "name": "mail" }),
        json!({ "type": "finish" }),
    ] {
        let read = |step: &Value| {
            PlanDraft::read_value(json!({ "version": "1.0", "steps": [step] }), Author::Model)
                .map_err(|violations| violations[0].path.clone())
        };
        assert!(read(&step).is_ok(), "{step}");
        step["credentialRef"] = json!("shop");
        assert_eq!(read(&step).err().as_deref(), Some("/steps/0/credentialRef"), "{step}");
    }
    // In the middle of a text, a name is a name.
    let plan = json!({ "version": "1.0", "steps": [
        { "type": "navigate", "url": "https://shop.test/?x=credentialRef:shop" },
        { "type": "type", "targetRef": "c2", "text": "credentialRef:shop" } ] });
    let draft = PlanDraft::read_value(plan, Author::Model).unwrap();
    let Action::Type(typed) = &draft.steps[1].action else { panic!("{draft:?}") };
    assert_eq!(typed.text.as_ref().and_then(|text| text.clear()), Some("credentialRef:shop"));
    assert_eq!(typed.credential_ref, None);
}

#[test]
fn a_registered_action_costs_what_was_registered_with_it() {
    use crate::effect::EffectClass;
    use crate::policy::RegisteredAction;
    use crate::profile::Profile;
    let plan = json!({ "version": "1.0", "steps": [{ "type": "call", "name": "mail" }] });
    for (effect, asks) in [
        (EffectClass::ReadOnly, false),
        (EffectClass::Idempotent, false),
        (EffectClass::Reversible, false),
        (EffectClass::Destructive, true),
    ] {
        let policy = Policy::new(Profile::Auto).starting_at("https://shop.test/").unwrap();
        let policy = policy.registering(RegisteredAction::new("mail", "Mails", effect, json!({ "type": "object" })));
        let draft = PlanDraft::read_value(plan.clone(), Author::Model).unwrap();
        let bound = draft.check(&page(), &policy).unwrap().bind(0, &page()).unwrap();
        assert_eq!((bound.effect(), *bound.consent() != Consent::Granted), (effect, asks));
    }
}

#[test]
fn a_model_restricts_itself_and_is_told_what_it_could_have_named() {
    let to = |domains: Value, step: Value| {
        let plan = json!({ "version": "1.0", "context": { "allowedDomains": domains }, "steps": [step] });
        check(Author::Model, &plan).err().map(|violations| violations.into_vec().remove(0))
    };
    let click = || json!({ "type": "click", "targetRef": "c1" });
    assert_eq!(to(json!(["shop.test"]), click()), None);
    assert_eq!(to(json!(["evil.test"]), click()).unwrap().rule.as_deref(), Some("origin"));
    let navigate = json!({ "type": "navigate", "url": "https://evil.test/" });
    assert_eq!(to(json!(["evil.test"]), navigate).unwrap().rule.as_deref(), Some("origin"));
    assert_eq!(to(json!(["a b"]), click()).unwrap().path, "/context/allowedDomains/0");
    let unknown = to(json!(["shop.test"]), json!({ "type": "select", "targetRef": "c999", "option": "x" })).unwrap();
    assert!(unknown.message.starts_with("`c999` is no candidate; those for `select` are c3 "), "{unknown}");
    let wrong = to(json!(["shop.test"]), json!({ "type": "select", "targetRef": "c1", "option": "x" })).unwrap();
    assert!(wrong.message.starts_with("c1 ") && wrong.message.contains("; those for `select` are c3 "), "{wrong}");
}

#[test]
fn a_doubtful_step_is_asked_about_where_the_policy_says_so() {
    let consents = |least: Option<f64>, author| -> Vec<bool> {
        let policy = Policy::default().starting_at("https://shop.test/").unwrap();
        let file = PolicyFile::read(&json!({ "askBelow": least }).to_string()).unwrap();
        let policy = policy.with_file(&file).unwrap();
        let steps = [Some(0.0), Some(0.49), Some(0.5), None].map(|confidence| {
            let mut step = json!({ "type": "scroll", "deltaY": 100 });
            if let Some(confidence) = confidence {
                step["confidence"] = json!(confidence);
            }
            step
        });
        let plan = PlanDraft::read_value(json!({ "version": "1.0", "steps": steps }), author).unwrap();
        let plan = plan.check(&page(), &policy).unwrap();
        (0..4).map(|index| *plan.bind(index, &page()).unwrap().consent() == Consent::Granted).collect()
    };
    assert_eq!(consents(Some(0.5), Author::Model), [false, false, true, true]);
    assert_eq!(consents(None, Author::Model), [true; 4]);
    assert_eq!(consents(Some(0.5), Author::Operator), [true; 4]);
}

#[test]
fn s60_what_a_model_claims_about_itself_opens_nothing() {
    use crate::plan::MAX_STEPS;
    let claiming = |step: Value| json!({ "version": "1.0", "autonomyLevel": "unleashed", "steps": [step] });
    for step in [
        json!({ "type": "shell", "command": "ls", "estimatedRisk": "low" }),
        json!({ "type": "evaluate", "script": "1", "estimatedRisk": "low" }),
        json!({ "type": "clickPoint", "point": { "x": 1, "y": 1 }, "estimatedRisk": "low" }),
    ] {
        let violations = check(Author::Model, &claiming(step)).unwrap_err();
        assert_eq!(violations[0].rule.as_deref(), Some("profile"), "{violations:?}");
    }
    let delete = claiming(json!({ "type": "click", "targetRef": "c9", "estimatedRisk": "low" }));
    let bound = check(Author::Model, &delete).unwrap().bind(0, &page()).unwrap();
    assert_eq!(*bound.consent(), Consent::Ask { grant: "destructive@https://shop.test".into() });
    assert!(
        !check(Author::Model, &delete).unwrap().steps()[0].post.is_empty(),
        "it did not leave out the postcondition"
    );
    assert_eq!(codes(Author::Model, json!([{ "type": "transferMoney" }])), [ViolationCode::Malformed]);
    let many = vec![json!({ "type": "click", "targetRef": "c1" }); 1_000];
    assert!(many.len() > MAX_STEPS && !codes(Author::Model, json!(many)).is_empty());
}

#[test]
fn steps_that_undo_one_are_read_and_checked_as_steps() {
    let page = sample::page(r#"button "Save""#);
    let plan = |undo: Value| {
        let step = json!({ "type": "click", "targetRef": "c1", "undo": undo });
        PlanDraft::read_value(json!({ "version": "1.0", "steps": [step] }), Author::Operator)
    };
    let policy = Policy::default().starting_at(sample::HERE).unwrap();
    let read = plan(json!([{ "type": "press", "keys": "Escape" }])).unwrap();
    assert_eq!(serde_json::to_value(&read.steps[0]).unwrap()["undo"][0]["keys"], "Escape");
    assert!(read.check(&page, &policy).is_ok());
    let nested = json!([{ "type": "goBack", "undo": [{ "type": "goForward" }] }]);
    assert!(plan(nested).unwrap_err().to_string().contains("cannot be undone itself"));
    let many = Value::Array(vec![json!({ "type": "goBack" }); 6]);
    assert!(plan(many).unwrap_err().to_string().contains("more than the limit of 5"));
    for (undo, path) in [
        (json!([{ "type": "goBack" }, { "type": "click", "targetRef": "c9" }]), "/steps/0/undo/1"),
        (json!([{ "type": "finish" }]), "/steps/0/undo/0/type"),
    ] {
        let violations = plan(undo).unwrap().check(&page, &policy).unwrap_err();
        assert_eq!(violations[0].path, path, "{violations:?}");
    }
}

#[test]
fn a_plan_lowers_its_own_autonomy_and_never_raises_it() {
    use crate::profile::Profile;
    let of = |level: &str, step: Value| {
        let plan = json!({ "version": "1.0", "autonomyLevel": level, "steps": [step] });
        let unleashed = Policy::new(Profile::Unleashed).starting_at("https://shop.test/").unwrap();
        PlanDraft::read_value(plan, Author::Model).unwrap().check(&page(), &unleashed)
    };
    let types = || json!({ "type": "type", "targetRef": "c2", "text": "x" });
    for (level, asks) in [("assisted", true), ("semiAuto", true), ("auto", false), ("unleashed", false)] {
        let bound = of(level, types()).unwrap().bind(0, &page()).unwrap();
        assert_eq!(*bound.consent() != Consent::Granted, asks, "{level}");
    }
    let script = json!({ "type": "evaluate", "script": "1" });
    assert_eq!(of("auto", script.clone()).unwrap_err()[0].rule.as_deref(), Some("profile"));
    assert!(of("unleashed", script).is_ok());
}

#[test]
fn a_secret_is_refused_where_it_is_known_to_be_foreign() {
    let shop = vec!["https://shop.test".to_owned()];
    let policy = policy().allowing("https://pay.test").unwrap().binding(crate::id::CredentialRef::new("shop"), shop);
    let refused = |author, steps: Value| {
        let declared = if author == Author::Operator {
            json!({ "code": { "strategy": "css", "selector": "input" } })
        } else {
            json!({})
        };
        let plan = json!({ "version": "1.0", "candidates": declared, "steps": steps });
        let checked = PlanDraft::read_value(plan, author).unwrap().check(&page(), &policy);
        checked.err().into_iter().flatten().map(|it| (it.path, it.rule, it.message)).collect::<Vec<_>>()
    };
    let enters =
        |target: &str, secret: &str| json!({ "type": "setValue", "targetRef": target, "credentialRef": secret });
    let goes = |url: &str| json!({ "type": "navigate", "url": url });
    assert_eq!(refused(Author::Model, json!([enters("c8", "shop")])), []);
    assert_eq!(refused(Author::Operator, json!([goes("https://shop.test/login"), enters("code", "shop")])), []);
    let foreign = refused(Author::Operator, json!([goes("https://pay.test/"), enters("code", "shop")]));
    let [(path, rule, message)] = &foreign[..] else { panic!("{foreign:?}") };
    assert_eq!((path.as_str(), rule.as_deref()), ("/steps/1/credentialRef", Some("secretScope")));
    assert!(
        message.starts_with("the secret `shop` is bound to https://shop.test, and the step enters it on https://pay")
    );
    // A frame of another origin is foreign as well; what is not known is judged when the step runs.
    let framed = refused(Author::Operator, json!([enters("c6", "shop")]));
    assert!(
        framed.iter().any(|(_, rule, message)| rule.as_deref() == Some("secretScope") && message.contains("ads.test"))
    );
    for unknown in [
        json!([goes("https://pay.test/"), enters("code", "other")]),
        json!([goes("https://pay.test/"), { "type": "goBack" }, enters("code", "shop")]),
        json!([{ "type": "navigate", "url": "https://pay.test/", "post": [{ "kind": "urlMatches", "pattern": "shop" }] },
               enters("code", "shop")]),
    ] {
        assert_eq!(refused(Author::Operator, unknown.clone()), [], "{unknown}");
    }
}
