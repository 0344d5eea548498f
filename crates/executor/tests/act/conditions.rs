//! Conditions before and after a step.

use std::time::Duration;

use cuebook_grammar::id::TargetRef;
use cuebook_grammar::outcome::Cause;
use cuebook_grammar::outcome::Stage;
use serde_json::json;

use crate::lab::{LOGGING, css_of, failed, lab, succeeded};

#[tokio::test]
async fn a_toast_of_five_milliseconds_counts_as_seen() {
    let page = "<button id=go onclick=\"setTimeout(() => { const t = document.createElement('div'); t.id = 'toast'; \
        t.setAttribute('role', 'status'); t.textContent = 'Saved 3 items'; document.body.append(t); setTimeout(() => t.remove(), 5); }, 30)\">Go</button>";
    let mut lab = lab(&[("/", page)]).await;
    let candidates = json!({"go": css_of("#go"), "toast": css_of("#toast")});
    for condition in [
        json!({"kind": "appears", "target": "toast"}),
        json!({"kind": "exists", "target": "toast"}),
        json!({"kind": "elementTextContains", "target": "toast", "text": "Saved"}),
    ] {
        let step = json!({"type": "click", "targetRef": "go", "post": [condition]});
        let success = succeeded(lab.step(candidates.clone(), step).await);
        assert!(!success.evidence.post[0].vacuous);
        let facts = success.evidence.post_facts.unwrap();
        let toast = TargetRef::new("toast").unwrap();
        assert_eq!(facts.before.unwrap().targets[&toast].matches, Some(0));
        assert!(facts.samples.iter().any(|sample| sample.targets[&toast].matches == Some(1)));
    }
}

#[tokio::test]
async fn a_wrong_postcondition_fails_with_the_facts() {
    let mut lab = lab(&[("/", "<button id=go onclick=\"document.title = 'b'\">Go</button>")]).await;
    let step = json!({"type": "click", "targetRef": "go", "post": [{"kind": "titleMatches", "pattern": "^c$"}]});
    let failure = failed(lab.step(json!({"go": css_of("#go")}), step).await);
    assert_eq!((failure.stage, failure.cause), (Stage::Postcondition, Cause::PostconditionFailed));
    let facts = failure.facts.conditions.unwrap();
    assert_eq!(facts.samples.last().unwrap().title, "b");
    assert!(failure.evidence.input_sent);
}

#[tokio::test]
async fn what_held_before_is_vacuous_and_no_failure() {
    let mut lab = lab(&[("/", "<button id=go>Go</button>")]).await;
    let step = json!({"type": "click", "targetRef": "go", "post": [{"kind": "visible", "target": "go"}]});
    let success = succeeded(lab.step(json!({"go": css_of("#go")}), step).await);
    assert!(success.evidence.post[0].vacuous);
}

#[tokio::test]
async fn a_url_change_before_the_click_does_not_count() {
    let page = "<button id=go>Go</button><script>setTimeout(() => history.pushState({}, '', '/early'), 100);</script>";
    let mut lab = lab(&[("/", page)]).await;
    while !lab.tab().url().ends_with("/early") {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let step = json!({"type": "click", "targetRef": "go", "post": [{"kind": "urlChanges"}]});
    let failure = failed(lab.step(json!({"go": css_of("#go")}), step).await);
    assert_eq!(failure.cause, Cause::PostconditionFailed);
}

#[tokio::test]
async fn a_link_leads_to_another_document_that_is_watched() {
    let pages = [("/", "<a id=go href='/next'>Next</a>"), ("/next", "<title>Next</title><h1 id=head>Here</h1>")];
    let mut lab = lab(&pages).await;
    let step = json!({"type": "click", "targetRef": "go", "post": [{"kind": "urlChanges", "to": "/next"},
        {"kind": "elementTextEquals", "target": "head", "text": "Here"}, {"kind": "absent", "target": "go"}]});
    let candidates = json!({"go": css_of("#go"), "head": css_of("#head")});
    let success = succeeded(lab.step(candidates, step).await);
    let effects = success.evidence.effects.unwrap();
    assert!(effects.new_document);
    assert!(effects.url_after.unwrap().ends_with("/next"));
}

#[tokio::test]
async fn a_click_without_effect_says_so() {
    let page = "<div id=it style='width:50px;height:50px' onmousedown='event.preventDefault()'>x</div>";
    let mut lab = lab(&[("/", page)]).await;
    let success = succeeded(lab.click("#it").await);
    assert!(success.evidence.no_observed_effect, "{:?}", success.evidence.effects);
}

#[tokio::test]
async fn preconditions_are_judged_before_anything_is_sent() {
    let page = format!("{LOGGING}<button id=go>Go</button>");
    let mut lab = lab(&[("/", &page)]).await;
    let step = json!({"type": "click", "targetRef": "go", "pre": [{"kind": "exists", "target": "dialog"}]});
    let failure =
        failed(lab.step(json!({"go": css_of("#go"), "dialog": {"strategy": "byRole", "role": "dialog"}}), step).await);
    assert_eq!((failure.stage, failure.cause), (Stage::Precondition, Cause::PreconditionFailed));
    assert_eq!(failure.evidence.pre.len(), 1);
    assert_eq!(lab.eval("log.length").await, 0);
}

#[tokio::test]
async fn requests_and_quiet_are_told_where_a_condition_asks() {
    let pages = [
        ("/", "<button id=go onclick=\"fetch('/data', {method: 'POST'}).then((r) => r.text())\">Go</button>"),
        ("/data", "ok"),
    ];
    let mut lab = lab(&pages).await;
    let step = json!({"type": "click", "targetRef": "go", "post": [
        {"kind": "requestObserved", "method": "POST", "url": "/data$", "status": 200}, {"kind": "networkIdle", "timeoutMs": 5000}]});
    let success = succeeded(lab.step(json!({"go": css_of("#go")}), step).await);
    assert_eq!(success.evidence.effects.unwrap().requests.len(), 1);
}

#[tokio::test]
async fn wait_for_and_assert_state_conditions() {
    let page = "<script>setTimeout(() => { const d = document.createElement('div'); d.id = 'late'; d.textContent = 'Done'; document.body.append(d); }, 300);</script><body>";
    let mut lab = lab(&[("/", page)]).await;
    let late = json!({"late": css_of("#late")});
    let there = json!({"kind": "elementTextEquals", "target": "late", "text": "Done"});
    succeeded(lab.step(late.clone(), json!({"type": "waitFor", "condition": there})).await);
    succeeded(lab.step(late.clone(), json!({"type": "assert", "condition": there})).await);
    let not_there = json!({"kind": "absent", "target": "late"});
    let failure = failed(lab.step(late.clone(), json!({"type": "assert", "condition": not_there})).await);
    assert_eq!(failure.cause, Cause::PostconditionFailed);
    assert!(failure.facts.conditions.is_some());
    let failure = failed(lab.step(late, json!({"type": "waitFor", "timeoutMs": 300, "condition": not_there})).await);
    assert_eq!(failure.cause, Cause::PostconditionFailed);
    let idle = succeeded(lab.step(json!({}), json!({"type": "waitForIdle", "quietMs": 100})).await);
    assert_eq!(idle.data, Some(json!({"idle": true})));
}
