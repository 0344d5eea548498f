//! The loop: what is done is not done again, and what is left waits for its page.

use super::fixture::{SimulatedRun, ends, page, run, short};

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
fn a_plan_ends_where_the_page_may_change() {
    let page = "button \"ONE\"\n button \"TWO\"";
    assert_eq!(run("Click ONE, then click TWO.", &[page]), ["click c1", "click c2", "finish"]);
}

#[test]
fn a_clause_that_is_done_is_not_done_again_when_the_rest_was_dropped() {
    let observation = page("textbox \"Name\"\n checkbox \"Staff\"\n button \"Save\"");
    let mut run = SimulatedRun::of("Type Bob into Name, tick Staff and press Save");
    let first = run.plan(&observation);
    assert_eq!(short(&first), "type c1 Bob; check c2; click c3");
    run.did(&first, 0, &observation, |_| ());
    assert_eq!(short(&run.plan(&observation)), "check c2; click c3");
}

#[test]
fn steps_of_repairs_count_for_nothing() {
    let observation = page("button \"Close\"\n button \"Save\"");
    let mut run = SimulatedRun::of("Press Save");
    let first = run.plan(&observation);
    run.did(&first, 0, &observation, |entry| entry.planned = None);
    assert_eq!(short(&run.plan(&observation)), "click c2");
}

#[test]
fn a_foreign_state_is_ignored() {
    let observation = page("button \"Save\"");
    let mut run = SimulatedRun::of("Press Save");
    run.plan(&observation);
    run.with_state(serde_json::json!({ "left": 7 }));
    assert_eq!(short(&run.plan(&observation)), "click c1");
}

#[test]
fn a_target_that_never_appears_fails_with_the_clause() {
    let said = run("Open Orders, then click Refund", &[HOME, ORDERS]);
    assert_eq!(said.first().map(String::as_str), Some("click c2"));
    assert!(said.last().is_some_and(|last| last.starts_with("fail") && last.contains("Refund")), "{said:?}");
}

#[test]
fn a_step_that_failed_before_input_is_retried_once() {
    let observation = page("button \"Go\"");
    let mut run = SimulatedRun::of("Click Go");
    for expected in ["click c1", "click c1", "fail covered: div#overlay"] {
        let draft = run.plan(&observation);
        assert_eq!(short(&draft), expected);
        run.did(&draft, 0, &observation, |entry| entry.failure = Some("covered: div#overlay".to_owned()));
    }
}

#[test]
fn a_step_that_failed_after_input_is_not_retried() {
    let observation = page("button \"Pay\"");
    let mut run = SimulatedRun::of("Click Pay");
    let first = run.plan(&observation);
    run.did(&first, 0, &observation, |entry| entry.failure = Some("deadlineExceeded: no answer".to_owned()));
    assert_eq!(short(&run.plan(&observation)), "fail deadlineExceeded: no answer");
}

#[test]
fn an_answer_settles_its_question() {
    let observation = page("button \"Delete\" [row: ann]\n button \"Delete\" [row: john]");
    for answer in ["2", "c2", "press Delete of john"] {
        let mut run = SimulatedRun::of("Press Delete");
        let first = run.plan(&observation);
        assert!(ends(&first), "{}", short(&first));
        run.answered(&first, &observation, answer);
        assert_eq!(short(&run.plan(&observation)), "click c2", "{answer}");
    }
}

#[test]
fn a_useless_answer_is_asked_for_once_more() {
    let observation = page("button \"Delete\" [row: ann]\n button \"Delete\" [row: john]");
    let mut run = SimulatedRun::of("Press Delete");
    let mut said = Vec::new();
    for _ in 0..4 {
        let draft = run.plan(&observation);
        said.push(short(&draft));
        run.answered(&draft, &observation, "hm");
    }
    assert!(said.iter().any(|said| said.starts_with("fail")), "{said:?}");
    assert!(said.iter().all(|said| !said.starts_with("click")), "{said:?}");
}

#[test]
fn other_words_or_skip_take_the_place_of_what_was_not_understood() {
    let observation = page("button \"Save\"\n button \"Go\"");
    for (answer, expected) in [("press Go", "click c2"), ("skip", "click c1")] {
        let mut run = SimulatedRun::of("Make tea. Press Save");
        let first = run.plan(&observation);
        assert!(short(&first).contains("not understood"), "{}", short(&first));
        run.answered(&first, &observation, answer);
        assert_eq!(short(&run.plan(&observation)), expected, "{answer}");
    }
}

#[test]
fn a_page_is_searched_from_its_top_before_something_counts_as_missing() {
    let mut observation = page("button \"Up\"");
    observation.truncated = Some(cuebook_grammar::observation::Truncation { off_view: 3, ..Default::default() });
    observation.viewport.page_height = 2_000.0;
    observation.viewport.scroll_y = 700.0;
    let mut run = SimulatedRun::of("Press Save");
    let first = run.plan(&observation);
    assert_eq!(short(&first), "scroll Top");
    run.did_all(&first, &observation);
    observation.viewport.scroll_y = 0.0;
    assert_eq!(short(&run.plan(&observation)), "scroll Down");
    assert!(short(&SimulatedRun::of("Press the last button").plan(&observation)).starts_with("scroll"));
}
