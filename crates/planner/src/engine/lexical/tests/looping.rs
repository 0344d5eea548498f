//! The loop: what is done is not done again, and what is left waits for its page.

use serde_json::json;

use super::fixture::{done, draft, page, run, text};

const HOME: &str = "link \"Log in\" to=/login\n link \"Orders\" to=/orders";
const LOGIN: &str = "textbox \"E-mail\" form=f\n textbox \"Password\" password form=f\n button \"Sign in\" form=f";
const ORDERS: &str = "link \"Order 7\" to=/orders/7\n link \"Order 8\" to=/orders/8";
const ORDER: &str = "button \"Cancel order\"\n link \"Back\" to=/orders";

#[test]
fn a_login_is_reached_by_its_link() {
    assert_eq!(
        run("Log in as a@b.c with password pw, then open Orders and open order 7", &[HOME, LOGIN, HOME, ORDERS, ORDER]),
        ["click c1", "type c1 a@b.c; type c2 pw; click c3", "click c2", "click c1", "finish"]
    );
}

#[test]
fn a_login_on_two_pages_goes_on_with_the_password() {
    let first = "textbox \"E-mail\" form=f\n button \"Next\" form=f";
    let second = "textbox \"Password\" password form=f\n button \"Sign in\" form=f";
    assert_eq!(
        run("Log in as a@b.c with password pw", &[first, second, ORDERS]),
        ["type c1 a@b.c; click c2", "type c1 pw; click c2", "finish"]
    );
}

#[test]
fn a_menu_opens_before_its_entry_is_there() {
    assert_eq!(
        run(
            "Open the menu File and choose Save",
            &["button \"File\" popup", "button \"File\" popup\n menuitem \"Save\"", "button \"File\" popup"]
        ),
        ["click c1", "click c2", "finish"]
    );
}

#[test]
fn long_lists_are_done_in_several_plans() {
    let boxes: String = (1..=9).map(|n| format!("checkbox \"Box {n}\"\n")).collect();
    let task = "Tick all and press Done";
    let observation = page(&format!("{boxes}button \"Done\""));
    let first = draft(task, &observation, &[]);
    assert_eq!(first.steps.len(), 6);
    let history: Vec<_> = first.steps.iter().map(|step| done(step, &observation)).collect();
    let second = draft(task, &observation, &history);
    assert_eq!(second.steps.iter().map(text).collect::<Vec<_>>().join("; "), "check c7; check c8; check c9; click c10");
}

#[test]
fn a_target_behind_a_tab_is_reached_through_it() {
    let first = "tab \"Users\"\n tab \"Groups\"";
    let users = "tab \"Users\"\n tab \"Groups\"\n button \"Delete\" [row: john]\n button \"Delete\" [row: ann]";
    assert_eq!(run("Delete john of the users", &[first, users, first]), ["click c1", "click c3", "finish"]);
}

#[test]
fn what_never_comes_ends_in_a_failure_that_names_the_clause() {
    let said = run("Open Orders, then click Refund", &[HOME, ORDERS]);
    assert_eq!(said.first().map(String::as_str), Some("click c2"));
    assert!(said.last().is_some_and(|last| last.starts_with("fail") && last.contains("Refund")), "{said:?}");
}

#[test]
fn a_clause_that_fails_twice_is_given_up() {
    let observation = page("button \"Go\"");
    let first = draft("Click Go", &observation, &[]);
    let mut entry = done(&first.steps[0], &observation);
    entry.failure = Some("covered: div#overlay".to_owned());
    let second = draft("Click Go", &observation, &[entry.clone()]);
    assert_eq!(text(&second.steps[0]), "click c1");
    let third = draft("Click Go", &observation, &[entry.clone(), entry]);
    assert!(text(&third.steps[0]).contains("overlay"), "{third:?}");
}

#[test]
fn an_answer_settles_what_was_asked() {
    let observation = page("button \"Delete\" [row: ann]\n button \"Delete\" [row: john]");
    let first = draft("Press Delete", &observation, &[]);
    for answer in ["john", "2", "c2", "the one of John"] {
        let mut entry = done(&first.steps[0], &observation);
        entry.data = Some(json!(answer));
        let second = draft("Press Delete", &observation, &[entry]);
        assert_eq!(text(&second.steps[0]), "click c2", "{answer}");
    }
}

#[test]
fn steps_that_do_not_say_what_they_serve_are_recognised() {
    let observation = page("textbox \"Name\"\n button \"Save\"");
    let task = "Type Bob into Name, then press Save";
    let mut history: Vec<_> =
        draft(task, &observation, &[]).steps.iter().map(|step| done(step, &observation)).collect();
    for entry in &mut history {
        entry.step.explanation = None;
    }
    assert_eq!(text(&draft(task, &observation, &history[..1]).steps[0]), "click c2");
    assert_eq!(text(&draft(task, &observation, &history).steps[0]), "finish");
}

#[test]
fn steps_carry_their_clause_confidence_and_risk() {
    let observation = page("button \"Delete\"\n button \"Save\"");
    let step = &draft("Press Delete", &observation, &[]).steps[0];
    assert_eq!(step.explanation.as_ref().map(|text| text.as_str()), Some("clause 1 of 1, part 1 of 1: Press Delete"));
    assert!(step.confidence.is_some_and(|confidence| confidence.get() > 0.8));
    assert_eq!(step.estimated_risk, Some(cuebook_grammar::step::RiskLevel::High));
}
