//! Dialogs, tabs and downloads.

use cuebook_grammar::outcome::Cause;
use cuebook_grammar::outcome::Stage;
use serde_json::json;

use crate::lab::{css_of, failed, lab, succeeded};

#[tokio::test]
async fn dialogs_end_a_step_and_are_answered_by_the_next() {
    let page = "<button id=a onclick=\"alert('Careful'); document.title = 'after'\">A</button>\
        <button id=p onclick=\"document.title = prompt('Name?', 'x')\">P</button><button id=c onclick=\"document.title = confirm('Sure?')\">C</button>";
    let mut lab = lab(&[("/", page)]).await;
    let all = json!({"a": css_of("#a"), "p": css_of("#p"), "c": css_of("#c")});
    let success = succeeded(lab.step(all.clone(), json!({"type": "click", "targetRef": "a"})).await);
    assert_eq!(success.evidence.effects.unwrap().dialogs[0].message, "Careful");
    let failure = failed(lab.step(all.clone(), json!({"type": "click", "targetRef": "p"})).await);
    assert_eq!((failure.stage, failure.cause), (Stage::Precondition, Cause::DialogOpen));
    succeeded(lab.step(all.clone(), json!({"type": "acceptDialog"})).await);
    assert_eq!(lab.eval("document.title").await, "after");

    let step = json!({"type": "click", "targetRef": "p", "post": [{"kind": "dialogOpened", "dialog": "prompt", "text": "Name"}]});
    succeeded(lab.step(all.clone(), step).await);
    succeeded(
        lab.step(
            all.clone(),
            json!({"type": "acceptDialog", "text": "Ada", "post": [{"kind": "titleMatches", "pattern": "Ada"}]}),
        )
        .await,
    );

    let step = json!({"type": "click", "targetRef": "c", "post": [{"kind": "titleMatches", "pattern": "true"}]});
    assert_eq!(failed(lab.step(all.clone(), step).await).cause, Cause::DialogOpen);
    succeeded(
        lab.step(all.clone(), json!({"type": "dismissDialog", "post": [{"kind": "titleMatches", "pattern": "false"}]}))
            .await,
    );
    assert_eq!(failed(lab.step(all, json!({"type": "dismissDialog"})).await).cause, Cause::InvalidArgument);
}

#[tokio::test]
async fn a_new_tab_is_current_only_if_it_was_stated() {
    let pages = [
        ("/", "<a id=go href='/other' target=_blank>Go</a>"),
        ("/other", "<title>Other</title><button id=here onclick=\"document.title='hit'\">Here</button>"),
    ];
    let mut lab = lab(&pages).await;
    let go = json!({"go": css_of("#go")});
    let success = succeeded(lab.step(go.clone(), json!({"type": "click", "targetRef": "go"})).await);
    assert_eq!(success.page, None);
    let step = json!({"type": "click", "targetRef": "go", "post": [{"kind": "newTab", "url": "/other"}]});
    let success = succeeded(lab.step(go, step).await);
    let first = lab.page.clone();
    lab.page = success.page.unwrap();
    let step = json!({"type": "click", "targetRef": "here", "post": [{"kind": "titleMatches", "pattern": "hit"}]});
    succeeded(lab.step(json!({"here": css_of("#here")}), step).await);
    let success = succeeded(lab.step(json!({}), json!({"type": "closeTab"})).await);
    assert_eq!(success.page, Some(first));
}

#[tokio::test]
async fn a_download_is_an_effect() {
    let pages = [("/", "<a id=go href='/file.bin' download>Get</a>"), ("/file.bin", "data")];
    let mut lab = lab(&pages).await;
    let step = json!({"type": "click", "targetRef": "go", "post": [{"kind": "downloadStarted", "filename": "file"}]});
    succeeded(lab.step(json!({"go": css_of("#go")}), step).await);
}
