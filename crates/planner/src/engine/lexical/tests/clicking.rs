//! Clicking, opening, going, pressing keys.

use super::fixture::*;

#[test]
fn buttons_and_links_are_met_by_name() {
    let page = page(
        r#"
        button "Ok"
        button "ok"
        button "Cancel"
        link "justo" to=/justo
        link "Log in and set a new password" to=/reset
        link "Log in" to=/login
        button "Save and close"
        button "Save"
        link "Terms of Service" to=/tos
        button "Previous"
    "#,
    );
    assert_plans(
        &page,
        &[
            ("Click on the \"Ok\" button.", "click c1"),
            ("Click on the \"ok\" button.", "click c2"),
            ("Click the cancel button.", "click c3"),
            ("Press Cancel", "click c3"),
            ("tap on cancel please", "click c3"),
            ("Click on the link \"justo\".", "click c4"),
            ("Click the Log in link", "click c6"),
            ("Click \"Log in\"", "click c6"),
            ("Click Save and close", "click c7"),
            ("Press \"Save and close\".", "click c7"),
            ("Click Save", "click c8"),
            ("Save", "click c8"),
            ("Open the Terms of Service", "click c9"),
            ("Click the last link", "click c9"),
            ("Click the first link", "click c4"),
            ("Click the second to last link", "click c6"),
            ("Press the 2nd button", "click c2"),
            ("Click prevoius", "?"),
            ("Double-click Cancel", "click c3"),
            ("Click Cancel to leave", "?"),
        ],
    );
}

#[test]
fn clauses_follow_each_other() {
    let page = page("button \"ONE\"\n button \"TWO\"\n button \"THREE\"");
    let sentences = [
        "Click button ONE, then click button TWO.",
        "Click ONE and then press TWO",
        "Click ONE. Click TWO.",
        "click ONE; click TWO",
        "First click ONE, afterwards click TWO",
        "Please click button ONE and press button TWO",
    ];
    assert_plans(&page, &sentences.map(|sentence| (sentence, "click c1; click c2")));
}

const ROWS: &str = r#"
    button "Edit" [row: ann@example.com]
    button "Delete" [row: ann@example.com]
    button "Edit" [row: john@example.com]
    button "Delete" [row: john@example.com]
    button "Edit" [list item: Invoice 7]
    button "Edit" [list item: Invoice 71]
    button "Delete all"
"#;

#[test]
fn twins_are_distinguished_by_their_context() {
    assert_plans(
        &page(ROWS),
        &[
            ("Click on the Delete of john@example.com", "click c4"),
            ("Delete the row of john@example.com", "click c4"),
            ("Delete john@example.com", "click c4"),
            ("Click the Delete button in the row of ann@example.com", "click c2"),
            ("Click Delete for \"ann@example.com\"", "click c2"),
            ("Click the \"Delete\" button next to \"john@example.com\"", "click c4"),
            ("Edit Invoice 7", "click c5"),
            ("Edit the invoice 71", "click c6"),
            ("For the user john@example.com, click on the \"Edit\" button", "?"),
            ("Press the second Delete button", "click c4"),
            ("Click the last Edit button", "click c6"),
            ("Delete all", "click c7"),
            ("Remove ann@example.com", "?"),
        ],
    );
}

#[test]
fn equals_are_asked_about_with_their_contexts() {
    let seen = plan("Click Delete", &page(ROWS));
    assert!(seen.starts_with("askUser"), "{seen}");
    for part in ["ann@example.com", "john@example.com", "c2", "c4"] {
        assert!(seen.contains(part), "{part}: {seen}");
    }
    assert!(!seen.contains("Delete all"), "{seen}");
    let seen = plan("Press Go", &page("button \"Go\" ambiguous\n button \"Go\" ambiguous"));
    assert!(seen.starts_with("askUser"), "{seen}");
}

#[test]
fn a_missing_target_is_asked_about_with_the_clause_and_the_nearest() {
    let seen = plan("Click the purple elephant", &page("button \"Purple\"\n button \"Send\""));
    assert!(seen.starts_with("askUser") && seen.contains("purple elephant") && seen.contains("c1"), "{seen}");
    let seen = plan("If it rains, click Send", &page("button \"Send\""));
    assert!(seen.starts_with("askUser") && seen.contains("If it rains"), "{seen}");
    let seen = plan("", &page("button \"Send\""));
    assert!(seen.starts_with("fail"), "{seen}");
}

#[test]
fn menus_tabs_and_dialogs() {
    let page = page(
        r#"
        tab "Tab #1"
        tab "Tab #2"
        tab "Tab #3"
        tab "Orders"
        button "Orders"
        button "File" popup
        button "Close" [dialog: Settings]
        button "OK" [dialog: Settings]
        link "Home" to=/
        button "Details" collapsed
    "#,
    );
    assert_plans(
        &page,
        &[
            ("Click on Tab #2.", "click c2"),
            ("Switch to tab #3.", "click c3"),
            ("go to the Orders tab", "click c4"),
            ("Click the Orders button", "click c5"),
            ("open the menu File", "click c6"),
            ("Open the File menu", "click c6"),
            ("Close the dialog box by clicking the \"x\".", "click c7"),
            ("Close the dialog", "click c7"),
            ("Close the Settings dialog", "click c7"),
            ("Click the button in the dialog box labeled \"OK\".", "click c8"),
            ("In the Settings dialog, click OK", "?"),
            ("Go to Home", "click c9"),
            ("Go to the home page", "click c9"),
            ("Expand Details", "click c10"),
            ("Show the details", "?"),
        ],
    );
}

#[test]
fn pages_keys_and_gestures() {
    let page = page(
        "link \"Products\" to=/products\n textbox \"Note\"\n button \"Next\"\n listitem \"Card A\"\n listitem \"Done\"",
    );
    assert_plans(
        &page,
        &[
            ("Go to /orders", "navigate http://shop.test/orders"),
            ("Open http://shop.test/x?y=1.", "navigate http://shop.test/x?y=1"),
            ("navigate to the page /a/b", "navigate http://shop.test/a/b"),
            ("go back", "goBack"),
            ("Go forward", "goForward"),
            ("reload the page", "reload"),
            ("Refresh", "reload"),
            ("Scroll down", "scroll Down"),
            ("scroll to the bottom of the page", "scroll Bottom"),
            ("Scroll to Next", "scroll c3"),
            ("Hover over Products", "hover c1"),
            ("Press Escape", "press Escape"),
            ("Press the Tab key", "press Tab"),
            ("Hit ctrl+a", "press Control+a"),
            ("Press Next", "click c3"),
            ("Focus the Note field", "focus c2"),
            ("Drag Card A to Done", "dragTo c4 c5"),
            ("Right-click Card A", "click c4"),
            ("Type hi into Note and press Enter", "type c2 hi; press c2 Enter"),
        ],
    );
    let seen = plan("Open https://evil.test/", &page);
    assert!(seen.starts_with("fail") && seen.contains("evil.test"), "{seen}");
}

#[test]
fn a_submit_without_a_name_is_the_button_of_the_form_last_touched() {
    let page = page(
        "textbox \"E-mail\" form=news\n button \"Go\" form=news\n textbox \"Message\" form=contact\n button \"Post it\" form=contact\n button \"Menu\"",
    );
    assert_plans(
        &page,
        &[
            ("Type hi into Message and submit", "type c3 hi; click c4"),
            ("Enter a@b.c as e-mail and submit the form", "type c1 a@b.c; click c2"),
        ],
    );
}

#[test]
fn links_to_the_same_place_are_one() {
    let page = page("link \"Cart\" to=/cart\n link \"Cart\" to=/cart\n link \"Help\" to=/a\n link \"Help\" to=/b");
    assert_eq!(plan("Open the cart", &page), "click c1");
    assert!(plan("Click Help", &page).starts_with("askUser"));
}

#[test]
fn what_only_looks_like_a_link_is_met_by_its_exact_name() {
    let drawn = page("generic \"eget\"\n generic \"Eget\"");
    assert_eq!(plan("Click on the link \"Eget\".", &drawn), "click c2");
    let both = page("generic \"Help\"\n link \"Help\" to=/help");
    assert_eq!(plan("Click on the link \"Help\".", &both), "click c2");
}

const PEOPLE: &str = r#"
    button "Delete" [row: Sally Field]
    button "Delete" [row: John Button]
    button "Delete" [row: Ann Miller]
    textbox "Field"
"#;

#[test]
fn a_name_that_is_a_word_for_a_control_is_a_name_where_it_is_one() {
    assert_plans(
        &page(PEOPLE),
        &[
            ("Click Delete for Sally Field", "click c1"),
            ("Click Delete for John Button", "click c2"),
            ("Click the Delete button for Ann Miller", "click c3"),
            ("Click Delete in the row of Sally Field", "click c1"),
        ],
    );
}

#[test]
fn a_row_is_known_by_what_stands_in_it() {
    let mut page = page(PEOPLE);
    let row = |name: &str, mail: &str, id: &str| {
        serde_json::json!({ "kind": "row", "cells": [[{ "text": name }], [{ "text": mail }], [{ "candidate": id }]],
                            "placement": "inView" })
    };
    page.texts = serde_json::from_value(serde_json::json!([
        row("Sally Field", "sally@mail.test", "c1"),
        row("John Button", "john@mail.test", "c2"),
        row("Ann Miller", "ann@mail.test", "c3"),
    ]))
    .unwrap();
    assert_plans(
        &page,
        &[
            ("Click Delete for john@mail.test", "click c2"),
            ("Click \"Delete\" in the row of ann@mail.test", "click c3"),
            ("Click Delete for Sally Field", "click c1"),
        ],
    );
    assert!(plan("Click Delete for tom@mail.test", &page).starts_with("askUser"));
}

#[test]
fn what_may_lie_beyond_the_page_that_was_seen_is_said() {
    let mut page = page(PEOPLE);
    page.truncated = Some(cuebook_grammar::observation::Truncation { candidates: 39_850, ..Default::default() });
    let seen = plan("Click Zebra", &page);
    assert!(seen.starts_with("fail") && seen.contains("39850 controls lie beyond"), "{seen}");
}
