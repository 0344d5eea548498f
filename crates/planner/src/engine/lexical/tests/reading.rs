//! Reading, waiting, verifying, dialogs.

use cuebook_grammar::facts::{DialogFact, DialogKind};
use serde_json::json;

use super::fixture::{assert_plans, done, draft, page, plan, text};

#[test]
fn questions_are_answered_from_the_text_of_the_page() {
    let page = page("link \"Cart\" to=/cart");
    for task in [
        "What is the total?",
        "Read the total",
        "Tell me the total.",
        "Can you tell me what the total is?",
        "How much is the total?",
    ] {
        let first = draft(task, &page, &[]);
        assert_eq!(first.steps.iter().map(text).collect::<Vec<_>>(), ["extract"], "{task}");
        let mut entry = done(&first.steps[0], &page);
        entry.data = Some(json!("# Cart\n\n- Pen: 2 €\n- Total: 14 €\n\nThanks"));
        let second = draft(task, &page, &[entry]);
        assert_eq!(second.steps.iter().map(text).collect::<Vec<_>>(), ["finish 14 €"], "{task}");
    }
    let first = draft("What is the discount?", &page, &[]);
    let mut entry = done(&first.steps[0], &page);
    entry.data = Some(json!("# Cart\n\n- Pen: 2 €\n- Total: 14 €"));
    let second = draft("What is the discount?", &page, &[entry]);
    assert!(text(&second.steps[0]).starts_with("fail"), "{second:?}");
}

#[test]
fn the_value_of_a_field_is_read_from_the_field() {
    let page = page("textbox \"Total\" value=14\n textbox \"Name\" value=Bob");
    assert_plans(
        &page,
        &[
            ("What is the total?", "extract c1"),
            ("Read the name", "extract c2"),
            ("What is the page title?", "finish Start"),
        ],
    );
}

#[test]
fn texts_are_looked_for_and_decided_upon() {
    let page = page("button \"Go\"\n status \"Order confirmed\"");
    assert_plans(
        &page,
        &[
            ("Verify that \"Order confirmed\" is shown", "assert"),
            ("Check that \"Payment due\" is shown", "searchPage Payment due"),
            ("Make sure the title contains Start", "assert"),
            ("Wait until \"Done\" appears", "searchPage Done"),
            ("Wait until Order confirmed appears", "waitFor"),
            ("Wait for the page to load", "waitForIdle"),
            ("Wait 2 seconds, then click Go", "waitForIdle"),
        ],
    );
}

#[test]
fn a_verification_holds_or_fails_by_what_the_search_found() {
    let page = page("button \"Go\"");
    let verdict = |task: &str, data: serde_json::Value| {
        let mut history = Vec::new();
        for _ in 0..10 {
            let draft = draft(task, &page, &history);
            let last = draft.steps.last().unwrap();
            if matches!(last.action.kind().meta().name, "finish" | "fail") {
                return last.action.kind().meta().name;
            }
            for step in &draft.steps {
                let mut entry = done(step, &page);
                entry.data = (step.action.kind().meta().name == "searchPage").then(|| data.clone());
                history.push(entry);
            }
        }
        panic!("expected {task} to end");
    };
    assert_eq!(verdict("Verify that \"Paid\" is shown", json!({"matches": [{"text": "Paid"}]})), "finish");
    assert_eq!(verdict("Verify that \"Paid\" is shown", json!({"matches": []})), "fail");
    assert_eq!(verdict("Verify that \"Error\" is not shown", json!({"matches": []})), "finish");
    assert_eq!(verdict("Verify that \"Error\" is not shown", json!({"matches": [1]})), "fail");
}

#[test]
fn dialogs_are_answered_as_told_and_asked_about_otherwise() {
    let mut page = page("button \"Go\"");
    page.dialog = Some(DialogFact { kind: DialogKind::Confirm, message: "Really?".into() });
    assert_plans(&page, &[("Accept the dialog", "acceptDialog"), ("dismiss the alert", "dismissDialog")]);
    let seen = plan("Click Go", &page);
    assert!(seen.starts_with("askUser") && seen.contains("Really?"), "{seen}");
}
