//! Going somewhere, and what can go wrong.

use std::time::Duration;

use cuebook_cdp::protocol::browser_protocol::page::CrashParams;
use cuebook_grammar::outcome::Cause;
use serde_json::json;

use crate::lab::{failed, lab, soon, succeeded};

#[tokio::test]
async fn navigation_reports_why_it_failed() {
    let mut lab = lab(&[("/", "start"), ("/slow", "<title>Slow</title><p>there</p>NEVER")]).await;
    let refused = failed(lab.step(json!({}), json!({"type": "navigate", "url": "http://127.0.0.1:9/"})).await);
    assert_eq!(refused.cause, Cause::NavigationFailed);
    assert!(refused.facts.seen.unwrap().starts_with("net::ERR_"), "{}", refused.message);
    let missing = failed(lab.step(json!({}), json!({"type": "navigate", "url": lab.url("/missing")})).await);
    assert_eq!((missing.cause, missing.facts.status), (Cause::HttpError, Some(404)));
    let url = lab.url("/never");
    let never =
        failed(lab.step_within(json!({}), json!({"type": "navigate", "url": url}), Duration::from_secs(2)).await);
    assert_eq!(never.cause, Cause::DeadlineExceeded);
    let url = lab.url("/slow");
    succeeded(lab.step(json!({}), json!({"type": "navigate", "url": url})).await);
    assert_eq!(lab.eval("document.title").await, "Slow");
}

#[tokio::test]
async fn a_status_that_the_step_accepts_is_no_failure() {
    let pages = [("/", "start"), ("/gone", "STATUS 410\nIt is gone"), ("/bare", "STATUS 404\n")];
    let mut lab = lab(&pages).await;
    for (path, status, seen) in [
        ("/gone", json!("any"), None),
        ("/gone", json!([404, 410]), None),
        ("/bare", json!("any"), None),
        ("/bare", json!([404]), None),
        ("/gone", json!(null), Some(410)),
        ("/bare", json!(null), Some(404)),
        ("/gone", json!([404]), Some(410)),
        ("/", json!([404]), Some(200)),
    ] {
        let step = json!({"type": "navigate", "url": lab.url(path), "status": status});
        let outcome = lab.step(json!({}), step).await;
        match seen {
            None => drop(succeeded(outcome)),
            Some(seen) => {
                let failure = failed(outcome);
                assert_eq!((failure.cause, failure.facts.status), (Cause::HttpError, Some(seen)), "{path} {status}");
            }
        }
    }
    lab.eval("document.body.innerHTML = '<a id=go href=/gone>Go</a>'").await;
    succeeded(lab.click("#go").await);
}

#[tokio::test]
async fn the_history_goes_back_and_forward() {
    let mut lab = lab(&[("/", "<title>One</title>"), ("/two", "<title>Two</title>")]).await;
    let url = lab.url("/two");
    succeeded(lab.step(json!({}), json!({"type": "navigate", "url": url})).await);
    succeeded(
        lab.step(json!({}), json!({"type": "goBack", "post": [{"kind": "titleMatches", "pattern": "One"}]})).await,
    );
    succeeded(
        lab.step(json!({}), json!({"type": "goForward", "post": [{"kind": "titleMatches", "pattern": "Two"}]})).await,
    );
    succeeded(lab.step(json!({}), json!({"type": "reload"})).await);
    assert_eq!(failed(lab.step(json!({}), json!({"type": "goForward"})).await).cause, Cause::NavigationFailed);
}

#[tokio::test]
async fn a_renderer_that_crashes_in_a_step_is_reported_and_navigated_again() {
    let mut lab = lab(&[("/", "<button id=go>Go</button>")]).await;
    let tab = lab.tab();
    let crash = async {
        tokio::time::sleep(Duration::from_millis(400)).await;
        drop(tab.session().request(CrashParams {}, soon()).await);
    };
    let wait = json!({"type": "waitFor", "condition": {"kind": "titleMatches", "pattern": "never"}});
    let (outcome, ()) = tokio::join!(lab.step(json!({}), wait), crash);
    assert_eq!(failed(outcome).cause, Cause::PageCrashed);
    let url = lab.url("/");
    succeeded(lab.step(json!({}), json!({"type": "navigate", "url": url})).await);
    succeeded(lab.click("#go").await);
}
