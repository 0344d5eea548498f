//! Tabs and popups: opened, stated, switched to and closed.

use cuebook_grammar::outcome::Cause;
use serde_json::{Value, json};

use crate::lab::{Lab, css_of, failed, lab, succeeded};

const OTHER: (&str, &str) = ("/other", "<title>Other</title><button id=shut onclick='window.close()'>Close</button>");

fn click(post: Value) -> Value {
    json!({"type": "click", "targetRef": "go", "post": post})
}

fn go() -> Value {
    json!({"go": css_of("#go")})
}

async fn on(page: &str) -> Lab {
    lab(&[("/", page), OTHER]).await
}

#[tokio::test]
async fn links_and_popups_open_tabs_with_an_opener_or_without() {
    for page in [
        "<a id=go href=/other target=_blank>Go</a>",
        "<a id=go href=/other target=_blank rel=noopener>Go</a>",
        "<a id=go href=/other target=named>Go</a>",
        "<button id=go onclick=\"window.open('/other')\">Go</button>",
        "<button id=go onclick=\"window.open('/other', '', 'width=300,height=200')\">Go</button>",
        "<button id=go onclick=\"window.open('/other', '', 'noopener')\">Go</button>",
        "<form action=/other target=_blank><button id=go>Go</button></form>",
    ] {
        let mut lab = on(page).await;
        let success = succeeded(lab.step(go(), click(json!([{"kind": "newTab", "url": "/other"}]))).await);
        assert!(success.page.is_some_and(|page| page != lab.page), "{page}");
        let effects = success.evidence.effects.unwrap();
        assert_eq!(effects.new_tabs.len(), 1, "{page}");
        assert!(effects.new_tabs[0].contains("/other"), "{page}: {:?}", effects.new_tabs);
    }
}

#[tokio::test]
async fn a_popup_that_the_browser_blocks_is_no_new_tab() {
    // A click allows a popup for five seconds; the browser ours is may have no blocker at all.
    let mut lab = on("<button id=late onclick=\"setTimeout(() => { document.title = window.open('/other') ? 'open' : 'blocked'; }, 5600)\">Late</button>").await;
    let late = json!({"go": css_of("#late")});
    let mut step = click(
        json!([{"kind": "titleMatches", "pattern": "blocked"}, {"kind": "not", "condition": {"kind": "newTab"}}]),
    );
    step["timeoutMs"] = json!(12_000);
    let outcome = lab.step(late, step).await;
    let failure = failed(outcome);
    assert_eq!(failure.cause, Cause::PostconditionFailed);
    assert!(failure.evidence.effects.unwrap().new_tabs.is_empty());
}

#[tokio::test]
async fn another_url_in_the_new_tab_fails_the_condition() {
    let mut lab = on("<a id=go href=/other target=_blank>Go</a>").await;
    let failure = failed(lab.step(go(), click(json!([{"kind": "newTab", "url": "/elsewhere"}]))).await);
    assert_eq!(failure.cause, Cause::PostconditionFailed);
}

#[tokio::test]
async fn tabs_are_switched_to_and_closed_by_their_position() {
    let mut lab = on("<a id=go href=/other target=_blank>Go</a>").await;
    succeeded(lab.step(go(), click(json!([]))).await);
    let first = lab.page.clone();
    let success = succeeded(lab.step(json!({}), json!({"type": "switchTab", "tab": 1})).await);
    let second = success.page.unwrap();
    assert_ne!(second, first);
    let success = succeeded(lab.step(json!({}), json!({"type": "closeTab", "tab": 1})).await);
    let effects = success.evidence.effects.unwrap();
    assert_eq!(effects.closed_tabs.len(), 1);
    assert!(effects.closed_tabs[0].ends_with("/other"));
    assert_eq!(success.page, None);
    let failure = failed(lab.step(json!({}), json!({"type": "switchTab", "tab": 7})).await);
    assert_eq!(failure.cause, Cause::InvalidArgument);
}

#[tokio::test]
async fn a_page_that_closes_itself_ends_its_step_well_and_names_the_opener() {
    let mut lab = on("<button id=go onclick=\"window.open('/other')\">Go</button>").await;
    let opener = lab.page.clone();
    let success = succeeded(lab.step(go(), click(json!([{"kind": "newTab"}]))).await);
    lab.page = success.page.unwrap();
    let success = succeeded(lab.step(json!({"go": css_of("#shut")}), click(json!([]))).await);
    assert_eq!(success.page, Some(opener));
    assert!(success.evidence.effects.unwrap().closed_tabs[0].ends_with("/other"));
}

#[tokio::test]
async fn the_effect_on_a_page_that_closed_itself_is_unknown() {
    let mut lab = on("<button id=go onclick=\"window.open('/other')\">Go</button>").await;
    let success = succeeded(lab.step(go(), click(json!([{"kind": "newTab"}]))).await);
    lab.page = success.page.unwrap();
    let step = click(json!([{"kind": "titleMatches", "pattern": "never"}]));
    let failure = failed(lab.step(json!({"go": css_of("#shut")}), step).await);
    assert!(matches!(failure.cause, Cause::PostconditionFailed | Cause::EffectUnknown), "{:?}", failure.cause);
    assert!(failure.evidence.input_sent);
}

#[tokio::test]
async fn a_step_on_a_tab_that_is_gone_says_so() {
    let mut lab = on("<a id=go href=/other target=_blank>Go</a>").await;
    let success = succeeded(lab.step(go(), click(json!([{"kind": "newTab"}]))).await);
    let first = std::mem::replace(&mut lab.page, success.page.unwrap());
    let observation = lab.observation();
    let gone = lab.page.clone();
    succeeded(lab.step(json!({}), json!({"type": "closeTab"})).await);
    lab.page = gone;
    let outcome = lab.run(&observation, go(), click(json!([])), std::time::Duration::from_secs(10)).await;
    assert_eq!(failed(outcome).cause, Cause::PageCrashed);
    lab.page = first;
    succeeded(lab.step(go(), click(json!([]))).await);
}
