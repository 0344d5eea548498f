//! Options, check boxes, radio buttons.

use super::fixture::*;

#[test]
fn options_are_chosen_in_the_list_that_has_them() {
    let page = page(
        r#"
        combobox "Size" options=Small|Medium|Large form=order
        combobox "Country" options=Angola|Bosnia_and_Herzegovina|Chad form=order
        button "Order" form=order
        button "Cancel" form=order
    "#
        .replace('_', " ")
        .replace("Bosnia and Herzegovina", "Bosnia_and_Herzegovina")
        .as_str(),
    );
    let mut page = page;
    for option in &mut page.candidates[1].options {
        option.label = option.label.replace('_', " ");
    }
    assert_plans(
        &page,
        &[
            ("Select Large and press Order", "select c1 Large; click c3"),
            ("Choose \"Large\" from the size list, then order", "select c1 Large; click c3"),
            ("Change the size to Medium", "select c1 Medium"),
            ("Set size to medium", "select c1 Medium"),
            ("pick Medium for Size", "select c1 Medium"),
            ("Choose size Small", "select c1 Small"),
            ("Choose Large as the size and click the button labeled \"Order\".", "select c1 Large; click c3"),
            ("Select Angola from the list and click Order.", "select c2 Angola; click c3"),
            (
                "Select Bosnia and Herzegovina from the list and click Order.",
                "select c2 Bosnia and Herzegovina; click c3",
            ),
            ("Choose Chad from the dropdown, then click the button labeled \"Cancel\".", "select c2 Chad; click c4"),
            ("Select the second option from the size list", "select c1 Medium"),
            ("Select Small and Chad, then order", "select c1 Small; select c2 Chad; click c3"),
            (
                "Select Large and then submit",
                "select c1 Large; waitForIdle; askUser submit: nothing here is called \"submit\"; which of these is meant: button \"Order\" (c3), button \"Cancel\" (c4)?",
            ),
        ],
    );
    let seen = plan("Select Huge from the size list", &page);
    assert!(seen.starts_with("askUser") && seen.contains("Small, Medium, Large"), "{seen}");
}

#[test]
fn an_option_in_two_lists_is_asked_about() {
    let page = page("combobox \"From\" options=Oslo|Rome\n combobox \"To\" options=Oslo|Rome");
    let seen = plan("Select Oslo", &page);
    assert!(seen.starts_with("askUser") && seen.contains("From") && seen.contains("To"), "{seen}");
    assert_plans(&page, &[("Select Oslo for To", "select c2 Oslo"), ("Set From to Rome", "select c1 Rome")]);
}

const BOXES: &str = r#"
    checkbox "A"
    checkbox "B" checked
    checkbox "C"
    checkbox "Newsletter" checked
    switch "Notifications"
    button "Submit"
"#;

#[test]
fn boxes_are_ticked_where_their_state_differs() {
    assert_plans(
        &page(BOXES),
        &[
            ("Check the boxes for A and C, then submit", "check c1; check c3; click c6"),
            ("Select A, C and click Submit.", "check c1; check c3; click c6"),
            ("Tick A, B, and C", "check c1; check c3"),
            ("Tick the A checkbox", "check c1"),
            ("Check the checkbox labeled \"A\"", "check c1"),
            ("Select words A, C and click Submit.", "?"),
            ("Select nothing and click Submit.", "click c6"),
            ("Untick newsletter", "uncheck c4"),
            ("Uncheck the Newsletter box and press Submit", "uncheck c4; click c6"),
            ("Enable notifications", "check c5"),
            ("Turn on notifications", "check c5"),
            ("Disable the newsletter", "uncheck c4"),
            ("Set Notifications to on", "check c5"),
            ("Tick all", "check c1; check c3; check c5"),
            ("Check all the checkboxes", "check c1; check c3; check c5"),
            ("Uncheck everything except B", "uncheck c4"),
            ("Tick everything but C", "check c1; check c5"),
            ("Tick all boxes, but don't tick C", "?"),
            ("Tick A but do not tick C", "?"),
            ("Don't tick B. Tick C", "?"),
            ("Tick only A", "?"),
            ("Click the second checkbox", "click c2"),
            ("Tick the first checkbox", "check c1"),
            ("Tick B", "finish"),
        ],
    );
}

#[test]
fn boxes_with_random_names_are_met_letter_by_letter() {
    let page = page("checkbox \"Z5b\"\n checkbox \"z5B\"\n checkbox \"M1A\"\n button \"Submit\"");
    assert_plans(
        &page,
        &[
            ("Select Z5b, M1A and click Submit.", "check c1; check c3; click c4"),
            ("Select z5B and click Submit.", "check c2; click c4"),
        ],
    );
}

#[test]
fn radio_buttons_are_checked() {
    let page = page(
        "radio \"Small\" [group: Size]\n radio \"Medium\" [group: Size]\n radio \"Medium\" [group: Heat]\n button \"Submit\"",
    );
    assert_plans(
        &page,
        &[
            ("Select Small and click Submit.", "check c1; click c4"),
            ("pick Medium for Size", "check c2"),
            ("Choose Medium heat", "check c3"),
            ("Select the small radio button", "check c1"),
        ],
    );
    assert!(plan("Choose Medium", &page).starts_with("askUser"));
}

#[test]
fn lists_of_options_in_a_multiple_select_are_one_step() {
    let page = page("listbox \"Colours\" options=Red|Green|Blue multi\n button \"Submit\"");
    assert_plans(&page, &[("Select Red, Blue from the scroll list and click Submit.", "select c1 Red+Blue; click c2")]);
}

#[test]
fn names_with_verbs_and_conjunctions_are_met_whole() {
    let page = page("checkbox \"Read and write\"\n checkbox \"Read\"\n button \"Save\"");
    assert_plans(
        &page,
        &[
            ("Tick Read and write, then save", "check c1; click c3"),
            ("Tick \"Read\" and press Save", "check c2; click c3"),
        ],
    );
}

#[test]
fn custom_lists_are_chosen_from_by_name() {
    let page = page("combobox \"Assignee\" value=\"\"\n button \"Save\"");
    let seen = plan("Set assignee to Ann", &page);
    assert!(seen.contains("c1 Ann"), "{seen}");
}
