//! From what a step names to one element, or a failure.

use cuebook_grammar::candidate::Candidate;
use cuebook_grammar::outcome::Cause;
use cuebook_grammar::secret::DigestKey;
use cuebook_probe::Ask;
use cuebook_probe::Probe;
use serde_json::json;

use crate::lab::{LOGGING, css_of, failed, lab, soon, succeeded};

#[tokio::test]
async fn a_target_is_found_once_or_the_step_fails() {
    let page = "<button>Edit</button><button>Edit</button>";
    let mut lab = lab(&[("/", page)]).await;
    let click = json!({"type": "click", "targetRef": "it"});
    let edit = json!({"it": {"strategy": "byRole", "role": "button", "name": "Edit"}});
    let failure = failed(lab.step(edit, click.clone()).await);
    assert_eq!(failure.cause, Cause::TargetAmbiguous);
    assert_eq!(failure.facts.matches, ["button \"Edit\"", "button \"Edit\""]);
    let failure = failed(lab.step(json!({"it": {"strategy": "byRole", "role": "link"}}), click.clone()).await);
    assert_eq!(failure.cause, Cause::TargetNotFound);
    succeeded(lab.step(json!({"it": {"strategy": "byRole", "role": "button", "name": "Edit", "nth": 1}}), click).await);
    assert_eq!(lab.eval("document.activeElement === document.querySelectorAll('button')[1]").await, true);
}

#[tokio::test]
async fn a_target_that_comes_late_is_waited_for() {
    let page = "<script>setTimeout(() => { document.body.innerHTML = '<button id=go onclick=\"document.title = 1\">Go</button>'; }, 300);</script><body>";
    let mut lab = lab(&[("/", page)]).await;
    succeeded(lab.click("#go").await);
    assert_eq!(lab.eval("document.title").await, "1");
}

#[tokio::test]
async fn an_observed_candidate_is_that_element_or_nothing() {
    let page = format!("{LOGGING}<button id=go class=x>Save</button>");
    let mut lab = lab(&[("/", &page)]).await;
    let probe = Probe::attach(lab.tab(), DigestKey::new([9; 32]), soon()).await.unwrap();
    let locator = serde_json::from_value(css_of("#go")).unwrap();
    let node = probe.locate(&locator, &Ask::default(), soon()).await.unwrap().unique().unwrap().key.clone();
    let mut observation = lab.observation();
    let mut candidate: Candidate = serde_json::from_value(json!({
        "id": "c1", "role": "button", "name": "Save", "locators": [css_of("#go")],
        "fingerprint": {"role": "button", "name": "Save", "path": "body button"},
    }))
    .unwrap();
    candidate.node = Some(node);
    observation.candidates = vec![candidate];
    let click = json!({"type": "click", "targetRef": "c1"});
    succeeded(lab.step_on(&observation, click.clone()).await);

    lab.eval("go.textContent = 'Delete'; log.length = 0").await;
    let failure = failed(lab.step_on(&observation, click.clone()).await);
    assert_eq!(failure.cause, Cause::TargetStale);
    assert!(failure.facts.seen.unwrap().contains("Delete"));

    lab.eval("document.body.innerHTML = '<button id=go>Save</button>'").await;
    let failure = failed(lab.step_on(&observation, click.clone()).await);
    assert_eq!(failure.cause, Cause::TargetStale);
    assert_eq!(lab.eval("log.length").await, 0);

    // A candidate that was read from a file has no node: its locators are followed.
    observation.candidates[0].node = None;
    succeeded(lab.step_on(&observation, click).await);
}

#[tokio::test]
async fn a_button_of_a_row_that_is_used_again_is_another_one() {
    let page = format!(
        "{LOGGING}<table><tr><td id=who>john@example.com</td><td><button id=go>Edit</button></td></tr></table>"
    );
    let mut lab = lab(&[("/", &page)]).await;
    let probe = Probe::attach(lab.tab(), DigestKey::new([9; 32]), soon()).await.unwrap();
    let locator = serde_json::from_value(css_of("#go")).unwrap();
    let node = probe.locate(&locator, &Ask::default(), soon()).await.unwrap().unique().unwrap().key.clone();
    let mut observation = lab.observation();
    let mut candidate: Candidate = serde_json::from_value(json!({
        "id": "c1", "role": "button", "name": "Edit", "context": "row: john@example.com", "locators": [css_of("#go")],
        "fingerprint": {"role": "button", "name": "Edit", "path": "body button"},
    }))
    .unwrap();
    candidate.node = Some(node);
    observation.candidates = vec![candidate];
    let click = json!({"type": "click", "targetRef": "c1"});
    succeeded(lab.step_on(&observation, click.clone()).await);
    lab.eval("log.length = 0; who.textContent = 'mary@example.com'").await;
    assert_eq!(failed(lab.step_on(&observation, click).await).cause, Cause::TargetStale);
    assert_eq!(lab.eval("log.length").await, 0);
}
