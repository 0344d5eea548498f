//! JavaScript dialogs: how they are answered, and how they interrupt steps.

use cuebook_executor::{BeforeUnload, ExecutorOptions};
use cuebook_grammar::facts::DialogKind;
use cuebook_grammar::outcome::Cause;
use serde_json::{Value, json};

use crate::lab::{css_of, failed, lab, lab_with, quick, succeeded};

fn click(post: Value) -> Value {
    json!({"type": "click", "targetRef": "go", "post": post})
}

fn go() -> Value {
    json!({"go": css_of("#go"), "p": css_of("p")})
}

#[tokio::test]
async fn a_prompt_is_accepted_with_text_with_its_default_or_dismissed() {
    for (answer, seen) in [
        (json!({"type": "acceptDialog", "text": "Ada"}), "Ada"),
        (json!({"type": "acceptDialog"}), "nobody"),
        (json!({"type": "dismissDialog"}), "null"),
    ] {
        let page = "<button id=go onclick=\"document.title = 'said ' + prompt('Who?', 'nobody')\">Go</button>";
        let mut lab = lab(&[("/", page)]).await;
        let asked = json!([{"kind": "dialogOpened", "dialog": "prompt", "text": "Who"}]);
        succeeded(lab.step(go(), click(asked)).await);
        let mut answer = answer;
        answer["post"] = json!([{"kind": "titleMatches", "pattern": format!("^said {seen}$")}]);
        let success = succeeded(lab.step(json!({}), answer).await);
        assert_eq!(success.evidence.effects.unwrap().dialogs[0].kind, DialogKind::Prompt);
    }
}

#[tokio::test]
async fn another_dialog_than_the_stated_one_fails() {
    let mut lab = lab(&[("/", "<button id=go onclick=\"alert('x')\">Go</button>")]).await;
    let failure = failed(lab.step(go(), click(json!([{"kind": "dialogOpened", "dialog": "confirm"}]))).await);
    assert_eq!(failure.cause, Cause::DialogOpen);
}

#[tokio::test]
async fn a_dialog_of_a_frame_of_either_process_is_reported_and_answered() {
    for host in ["127.0.0.1", "localhost"] {
        let outer = format!("<iframe src='http://{host}:PORT/inner'></iframe>");
        let inner = "<button id=go onclick=\"document.querySelector('p').textContent = String(confirm('Inner?'))\">Go</button><p></p>";
        let mut lab = lab(&[("/", &outer), ("/inner", inner)]).await;
        let asked = json!([{"kind": "dialogOpened", "dialog": "confirm", "text": "Inner"}]);
        succeeded(lab.step(go(), click(asked)).await);
        let step =
            json!({"type": "acceptDialog", "post": [{"kind": "elementTextEquals", "target": "p", "text": "true"}]});
        succeeded(lab.step(go(), step).await);
    }
}

#[tokio::test]
async fn a_dialog_that_opens_late_ends_the_waiting_and_not_the_browser() {
    let page = "<button id=go onclick=\"setTimeout(() => alert('late'), 200)\">Go</button>";
    let mut lab = lab(&[("/", page)]).await;
    let failure = failed(lab.step(go(), click(json!([{"kind": "titleMatches", "pattern": "never"}]))).await);
    assert_eq!(failure.cause, Cause::DialogOpen);
    assert_eq!(failure.evidence.effects.unwrap().dialogs[0].message, "late");
    succeeded(lab.step(json!({}), json!({"type": "acceptDialog"})).await);
    succeeded(lab.step(go(), click(json!([{"kind": "dialogOpened", "text": "late"}]))).await);
}

#[tokio::test]
async fn a_dialog_between_two_keys_ends_typing() {
    let page = "<input id=go oninput=\"if (value === 'ab') alert('stop')\">";
    let mut lab = lab(&[("/", page)]).await;
    let failure = failed(lab.step(go(), json!({"type": "type", "targetRef": "go", "text": "abcd"})).await);
    assert_eq!(failure.cause, Cause::DialogOpen);
    succeeded(lab.step(json!({}), json!({"type": "dismissDialog"})).await);
}

#[tokio::test]
async fn dialogs_that_follow_one_another_are_answered_one_by_one() {
    let page = "<button id=go onclick=\"alert('one'); alert('two'); document.title = 'through'\">Go</button>";
    let mut lab = lab(&[("/", page)]).await;
    succeeded(lab.step(go(), click(json!([{"kind": "dialogOpened", "text": "one"}]))).await);
    let success = succeeded(
        lab.step(json!({}), json!({"type": "acceptDialog", "post": [{"kind": "dialogOpened", "text": "two"}]})).await,
    );
    let told: Vec<String> =
        success.evidence.effects.unwrap().dialogs.into_iter().map(|dialog| dialog.message).collect();
    assert_eq!(told, ["one", "two"]);
    let step = json!({"type": "acceptDialog", "post": [{"kind": "titleMatches", "pattern": "through"}]});
    succeeded(lab.step(json!({}), step).await);
}

#[tokio::test]
async fn a_dialog_that_opens_before_the_step_acts_fails_it() {
    for step in [
        json!({"type": "click", "targetRef": "go"}),
        json!({"type": "extract", "query": {"kind": "text", "targetRef": "go"}}),
    ] {
        let mut lab = lab(&[("/", "nothing to click")]).await;
        lab.eval("setTimeout(() => alert('first'), 400); 0").await;
        let failure = failed(lab.step(go(), step).await);
        assert_eq!(failure.cause, Cause::DialogOpen);
        assert!(!failure.evidence.input_sent && failure.message.contains("first"), "{}", failure.message);
    }
}

const HOLDS: &str = "<button id=go>Touch</button><a id=away href='/next'>Away</a><script>addEventListener('beforeunload', (e) => { e.preventDefault(); e.returnValue = 'x'; });</script>";

#[tokio::test]
async fn a_page_that_asks_before_it_is_left_is_left_by_a_step_that_says_so() {
    let mut lab = lab(&[("/", HOLDS), ("/next", "<title>Next</title>")]).await;
    succeeded(lab.click("#go").await);
    let url = lab.url("/next");
    let success = succeeded(lab.step(json!({}), json!({"type": "navigate", "url": url})).await);
    assert_eq!(success.evidence.effects.unwrap().dialogs[0].kind, DialogKind::BeforeUnload);
}

#[tokio::test]
async fn the_dialog_stays_open_where_chosen_or_the_step_does_not_navigate() {
    let options = ExecutorOptions { before_unload: BeforeUnload::KeepOpen, ..quick() };
    let mut lab = lab_with(&[("/", HOLDS), ("/next", "<title>Next</title>")], options).await;
    succeeded(lab.click("#go").await);
    let url = lab.url("/next");
    let failure = failed(lab.step(json!({}), json!({"type": "navigate", "url": url})).await);
    assert_eq!(failure.cause, Cause::DialogOpen);
    succeeded(lab.step(json!({}), json!({"type": "dismissDialog"})).await);
    assert_eq!(lab.eval("location.pathname").await, "/");
    // A link says no less that the page is left, but the person behind it may want to stay.
    let away = json!({"go": css_of("#away")});
    succeeded(lab.step(away, click(json!([{"kind": "dialogOpened", "dialog": "beforeUnload"}]))).await);
    let step = json!({"type": "acceptDialog", "post": [{"kind": "urlChanges", "to": "/next"}]});
    succeeded(lab.step(json!({}), step).await);
}
