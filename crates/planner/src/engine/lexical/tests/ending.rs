//! Where a task is not done although all of its steps were carried out, and where a sentence is not carried out.

use cuebook_grammar::facts::{DialogFact, DialogKind};
use cuebook_grammar::observation::Observation;
use cuebook_grammar::seam::HistoryEntry;

use super::fixture::{SimulatedRun, assert_plans, page, plan, short};

/// Returns the plan after everything planned for the first page was carried out, and the second page is there.
fn then(task: &str, before: &Observation, with: impl Fn(&mut HistoryEntry), after: &Observation) -> String {
    let mut run = SimulatedRun::of(task);
    let draft = run.plan(before);
    for at in 0..draft.steps.len() {
        run.did(&draft, at, before, &with);
    }
    short(&run.plan(after))
}

const LOGIN: &str = "textbox \"Email\" form=f\n textbox \"Password\" password form=f\n button \"Log in\" form=f";

#[test]
fn a_login_that_the_page_refuses_is_not_done() {
    let task = "Log in as ann with password wrong";
    let login = page(LOGIN);
    assert!(then(task, &login, |_| (), &login).starts_with("askUser the page still asks for a password"));
    let refused = page(&format!("{LOGIN}\n alert That email and password do not belong together."));
    let seen = then(task, &login, |_| (), &refused);
    assert!(seen.starts_with("askUser") && seen.contains("do not belong together"), "{seen}");
    assert_eq!(then(task, &login, |_| (), &page("link \"Log out\"")), "finish");
}

#[test]
fn an_error_on_the_page_is_asked_about() {
    let before = page("button \"Save\"");
    for after in [
        "button \"Save\"\n error Name is too long",
        "button \"Save\"\n alert Could not save: try again",
        "heading 500 Internal Server Error",
        "heading Page not found\n link \"Home\"",
    ] {
        let seen = then("Press Save", &before, |_| (), &page(after));
        assert!(seen.starts_with("askUser the page says"), "{after}: {seen}");
    }
    for after in [
        "button \"Save\"\n status Saved.",
        "heading Room 404",
        "heading Orders\n alert Welcome back!",
        "status Cookies declined",
    ] {
        assert_eq!(then("Press Save", &before, |_| (), &page(after)), "finish", "{after}");
    }
    // What the page said before is no answer.
    let sore = page("button \"Save\"\n alert Your trial has expired");
    assert_eq!(then("Press Save", &sore, |_| (), &sore), "finish");
}

#[test]
fn a_server_that_refuses_is_asked_about() {
    let saved = page("button \"Save\"");
    let refused = |entry: &mut HistoryEntry| entry.refused = Some("POST /save answered 500".to_owned());
    assert!(then("Press Save", &saved, refused, &saved).contains("POST /save answered 500"));
}

#[test]
fn a_click_without_effect_is_asked_about() {
    let observation = page("textbox \"City\"\n button \"Go\"");
    let idle = |entry: &mut HistoryEntry| entry.no_effect = true;
    for task in ["Press Go", "Type Rome into City and press Enter"] {
        let seen = then(task, &observation, idle, &observation);
        assert!(seen.starts_with("askUser nothing on the page changed"), "{task}: {seen}");
    }
}

#[test]
fn a_person_may_say_that_it_is_done_anyway() {
    let observation = page("button \"Go\"");
    let mut run = SimulatedRun::of("Press Go");
    let first = run.plan(&observation);
    run.did(&first, 0, &observation, |entry| entry.no_effect = true);
    let second = run.plan(&observation);
    run.answered(&second, &observation, "yes");
    assert_eq!(short(&run.plan(&observation)), "finish");
}

#[test]
fn nothing_goes_on_behind_an_open_dialog() {
    let mut observation = page("button \"Delete\"\n button \"Go\"");
    let before = observation.clone();
    observation.dialog = Some(DialogFact { kind: DialogKind::Confirm, message: "Really?".into() });
    let seen = then("Press Delete", &before, |_| (), &observation);
    assert!(seen.starts_with("askUser") && seen.contains("Really?"), "{seen}");
    let seen = then("Press Delete, then press Go", &before, |_| (), &observation);
    assert!(seen.starts_with("askUser") && seen.contains("Really?"), "{seen}");
    assert_eq!(then("Press Delete and accept the dialog", &before, |_| (), &observation), "acceptDialog");
    assert_eq!(then("Press Delete and dismiss the alert", &before, |_| (), &observation), "dismissDialog");
    assert_eq!(then("Press Go and answer with Zoe", &before, |_| (), &observation), "acceptDialog Zoe");
    let mut run = SimulatedRun::of("Press Delete");
    let first = run.plan(&before);
    run.did_all(&first, &before);
    let question = run.plan(&observation);
    run.answered(&question, &observation, "no");
    assert_eq!(short(&run.plan(&observation)), "dismissDialog");
}

#[test]
fn an_unexpected_dialog_of_the_page_is_not_the_end() {
    let before = page("button \"Delete\"\n button \"Settings\"");
    let mut after = page("button \"Yes\"\n button \"No\"");
    after.sketch.modal = Some("Delete everything?".to_owned());
    let seen = then("Press Delete", &before, |_| (), &after);
    assert!(seen.starts_with("askUser the dialog \"Delete everything?\" is open"), "{seen}");
    assert_eq!(then("Open Settings", &before, |_| (), &after), "finish");
    assert_eq!(then("Press Delete, then press Yes", &before, |_| (), &after), "click c1");
}

#[test]
fn a_clause_that_is_not_understood_is_not_done() {
    let form = page(
        r#"
        searchbox "Search" form=q
        textbox "City" form=f
        textbox "Name" form=f
        textbox "Password" password form=f
        combobox "Size" options=Small|Large form=f
        checkbox "News" form=f
        button "Save" form=f
        button "Delete" [row: ann]
        button "Delete all"
        link "Orders"
    "#,
    );
    let table = [
        "Find the cheapest flight to Rome",
        "Search for the cheapest flight to Rome",
        "Log in as ann with password x and make me a sandwich",
        "Log in as ann with password x. Make me a sandwich",
        "Log in as ann with password x if you like",
        "Enter the password x quickly and quietly",
        "Replace its text by hello",
        "Replace the text of Name by hello",
        "Type hello",
        "Type \"hello into Name",
        "Type hello, world into Name",
        "Type hello into Name and City",
        "Type hello into Name quickly",
        "Type hello into the Name of the rose",
        "Set Name to Bob. Thanks a lot",
        "Set Size to Huge",
        "Select Large or Small",
        "Select Large if it is there",
        "Tick News unless it is ticked",
        "Don't tick News",
        "Do not press Save",
        "Never press Save",
        "If the name is Bob, press Save",
        "Press Save without publishing",
        "Press Save when Name is empty",
        "Save the whales",
        "Delete bob",
        "Delete ann's friends",
        "Remove ann",
        "Press Order",
        "Open the orders of last week",
        "Go back to the shop and buy milk",
        "Reload until it works",
        "Scroll down until you see Paris",
        "Wait for Godot",
        "Verify that the total is right",
        "What is the total?",
        "How much is the milk",
        "Buy milk",
        "Order two pens",
        "Make sure everything is fine",
        "Write a nice review",
        "Write a name to Bob",
        "Fill in the form",
        "Fill out the form with sensible values",
        "Upload the invoice",
        "Hover over the third one from the left",
        "Press Save twice or three times",
        "Löschen Sie alles",
        "asdf",
    ];
    assert_plans(&form, &table.map(|task| (task, "?")));
}

#[test]
fn a_question_lists_its_choices() {
    let observation = page("button \"Delete all\"\n button \"Save\"\n button \"Delete\" ambiguous");
    let seen = plan("Press \"Delete al\"", &observation);
    assert!(seen.contains("is button \"Delete all\" (c1) meant?"), "{seen}");
    let seen = plan("Press Delete", &observation);
    assert!(seen.starts_with("fail") && seen.contains("nothing distinguishes"), "{seen}");
    let seen = plan("Press \"Archive\"", &observation);
    assert!(seen.starts_with("fail") && !seen.contains("Save"), "{seen}");
}

#[test]
fn secrets_are_typed_and_never_shown() {
    let login = page(LOGIN);
    for task in [
        "Log in as ann with password correct-horse",
        "Enter the password \"correct-horse\" and press Log in",
        "Type correct-horse in Password",
        "Log in as ann with password correct-horse and make tea",
    ] {
        let draft = SimulatedRun::of(task).plan(&login);
        let shown = draft.steps.iter().filter_map(|step| step.explanation.as_ref()).map(ToString::to_string);
        let asked = short(&draft);
        let asked = if asked.starts_with("askUser") { asked } else { String::new() };
        let shown = shown.chain([asked]).collect::<String>();
        assert!(!shown.contains("correct-horse"), "{task}: {shown}");
    }
}
