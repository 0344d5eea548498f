//! Conditions before and after a step.

use std::time::Duration;

use cuebook_grammar::id::TargetRef;
use cuebook_grammar::outcome::Cause;
use cuebook_grammar::outcome::Stage;
use serde_json::json;

use crate::lab::{LOGGING, css_of, failed, lab, lab_with, quick, succeeded};

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
async fn requests_and_quiet_are_reported_where_a_condition_needs_them() {
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

#[tokio::test]
async fn a_failed_condition_says_what_was_seen_instead() {
    let page = "<title>Log in</title><form onsubmit=\"fetch('/login', {method: 'POST'}); return false\"><button id=go>Log in</button></form>";
    let mut lab = lab(&[("/", page), ("/login", "STATUS 422\nno")]).await;
    let step = json!({"type": "click", "targetRef": "go", "post": [{"kind": "urlChanges", "to": "/home"}]});
    let failure = failed(lab.step(json!({"go": css_of("#go")}), step).await);
    let expected = format!(
        "expected the URL to change with \"/home\", saw the URL unchanged, {}; POST /login answered 422",
        lab.url("/")
    );
    assert_eq!(failure.message, expected);
    assert!(failure.facts.seen.unwrap().ends_with("; POST /login answered 422"));
}

#[tokio::test]
async fn a_wait_for_one_of_several_says_how_many_there_are() {
    let mut lab = lab(&[("/", "<i class=row></i><i class=row></i><i class=row></i>")]).await;
    let wait = json!({"type": "waitFor", "timeoutMs": 300, "condition": {"kind": "visible", "target": "rows"}});
    let failure = failed(lab.step(json!({"rows": css_of(".row")}), wait).await);
    assert_eq!(failure.message, r#"expected css=".row" to be visible, saw 3 matches of css=".row""#);
}

#[tokio::test]
async fn a_wait_without_time_looks_once() {
    let mut lab = lab(&[("/", "<p id=there>x</p>")]).await;
    for (timeout, kind, holds) in [(0, "exists", true), (1, "exists", true), (0, "absent", false)] {
        let wait = json!({"type": "waitFor", "timeoutMs": timeout, "condition": {"kind": kind, "target": "it"}});
        let outcome = lab.step(json!({"it": css_of("#there")}), wait).await;
        if holds {
            succeeded(outcome);
        } else {
            assert_eq!(failed(outcome).cause, Cause::PostconditionFailed);
        }
    }
}

#[tokio::test]
async fn a_condition_has_the_time_that_it_states() {
    let page = "<button id=go onclick=\"setTimeout(() => { document.title = 'b' }, 1000)\">Go</button>";
    let mut options = quick();
    options.post_timeout = Duration::from_millis(300);
    let mut lab = lab_with(&[("/", page)], options).await;
    let step = |post: serde_json::Value| json!({"type": "click", "targetRef": "go", "post": [post]});
    let late = json!({"kind": "titleMatches", "pattern": "b"});
    let failure = failed(lab.step(json!({"go": css_of("#go")}), step(late.clone())).await);
    assert_eq!(failure.cause, Cause::PostconditionFailed);
    while lab.eval("document.title").await != "b" {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    lab.eval("document.title = 'a'").await;
    let mut patient = late;
    patient["timeoutMs"] = json!(5_000);
    succeeded(lab.step(json!({"go": css_of("#go")}), step(patient)).await);
}

#[tokio::test]
async fn the_time_of_the_server_is_not_the_time_of_a_condition() {
    let next = "WAIT 1500\n<script>setTimeout(() => { document.body.innerHTML = '<h1 id=head>Here</h1>' }, 500)</script><body>";
    let mut options = quick();
    options.post_timeout = Duration::from_millis(1_000);
    let pages = [("/", "<form action=/next><button id=go>Go</button></form>"), ("/next", next)];
    let mut lab = lab_with(&pages, options).await;
    let step = json!({"type": "click", "targetRef": "go", "post": [
        {"kind": "urlChanges", "to": "/next"}, {"kind": "elementTextEquals", "target": "head", "text": "Here"}]});
    succeeded(lab.step(json!({"go": css_of("#go"), "head": css_of("#head")}), step).await);
}

#[tokio::test]
async fn a_hidden_field_has_a_value_and_a_page_property_says_why_it_has_none() {
    let page = "<input id=it type=hidden value=42><script>it.foo = 1</script>";
    let mut lab = lab(&[("/", page)]).await;
    let it = json!({"it": css_of("#it")});
    let wait = |condition| json!({"type": "waitFor", "timeoutMs": 300, "condition": condition});
    succeeded(lab.step(it.clone(), wait(json!({"kind": "valueEquals", "target": "it", "value": "42"}))).await);
    let foo = json!({"kind": "propertyEquals", "target": "it", "name": "foo", "value": 1});
    let failure = failed(lab.step(it, wait(foo)).await);
    assert_eq!(failure.cause, Cause::EffectUnknown);
    let why = "what a script of the page put on the element cannot be read";
    assert!(failure.message.contains(why), "{}", failure.message);
}

#[tokio::test]
async fn a_click_into_a_document_without_an_element_leaves_a_record() {
    let mut lab = lab(&[("/", "<a id=go href=/next>Next</a>"), ("/next", "<!-- soon -->NEVER")]).await;
    let success = succeeded(lab.click("#go").await);
    assert!(success.evidence.input_sent && success.evidence.effects.unwrap().new_document);
}
