//! Waiting for texts and verifying them.

use serde_json::json;

use super::fixture::{SimulatedRun, assert_plans, page, short};

#[test]
fn texts_are_looked_for() {
    assert_plans(
        &page("button \"Go\""),
        &[
            ("Wait for the page to load", "waitForIdle"),
            ("Verify that Order confirmed is shown", "?"),
            ("Wait 2 seconds, then click Go", "?"),
        ],
    );
}

#[test]
fn a_verification_holds_or_fails_by_what_the_search_found() {
    let page = page("button \"Go\"");
    let last = |task: &str, totals: &[u64]| {
        let mut run = SimulatedRun::of(task);
        let mut totals = totals.iter();
        loop {
            let draft = run.plan(&page);
            let said = short(&draft);
            if said.starts_with("finish") || said.starts_with("fail") {
                return said;
            }
            let searches = said.contains("searchPage");
            let total = *totals.next().unwrap_or(&0);
            for at in 0..draft.steps.len() {
                run.did(&draft, at, &page, |entry| {
                    entry.data = searches.then(|| json!({ "total": total, "hits": [] }))
                });
            }
        }
    };
    assert_eq!(last("Verify that \"Paid\" is shown", &[1]), "finish");
    assert!(last("Verify that \"Paid\" is shown", &[0]).starts_with("fail"));
    assert_eq!(last("Verify that \"Error\" is not shown", &[0]), "finish");
    assert!(last("Verify that \"Error\" is not shown", &[1]).starts_with("fail"));
    assert_eq!(last("Wait until \"Done\" appears", &[0, 0, 1]), "finish");
    assert!(last("Wait until \"Done\" appears", &[0]).starts_with("fail"));
    assert_eq!(last("Verify that \"A\" is shown and verify that \"B\" is not shown", &[1, 0]), "finish");
    assert!(last("Verify that \"A\" is shown and verify that \"B\" is shown", &[1, 0]).starts_with("fail"));
}
