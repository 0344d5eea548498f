//! Typing, logging in, searching, setting.

use super::fixture::*;

const LOGIN: &str = r#"
    textbox "Username" form=login
    textbox "Password" password form=login
    button "Log in" form=login
    link "Forgot password?" to=/forgot
"#;

#[test]
fn a_login_is_understood_in_many_wordings() {
    let expected = "type c1 ann; type c2 correct-horse; click c3";
    let page = page(LOGIN);
    let sentences = [
        "Log in as ann with password correct-horse",
        "Log in as ann with the password correct-horse.",
        "log in as \"ann\" with password \"correct-horse\"",
        "Sign in with username ann and password correct-horse",
        "Sign in as user ann, password correct-horse",
        "Please log in using username ann and password correct-horse",
        "Could you please log in with ann / correct-horse?",
        "login using user ann, password correct-horse",
        "Login: ann, password: correct-horse",
        "Log in to the shop as ann with password correct-horse",
        "Log in with password correct-horse and username ann",
        "Enter the username \"ann\" and the password \"correct-horse\" into the text fields and press login.",
        "Enter username ann and password correct-horse, then click Log in",
        "Type ann in Username and correct-horse in Password and press Log in",
        "Fill in the username with ann and the password with correct-horse, then log in",
        "Fill out the login form with username ann and password correct-horse and log in",
        "Type «ann» as username, type «correct-horse» as password, and log in",
        "Put ann into the user name field; put correct-horse into the password field; hit the log in button",
        "I want to log in as ann with password correct-horse",
    ];
    assert_plans(&page, &sentences.map(|sentence| (sentence, expected)));
}

#[test]
fn fields_without_names_are_told_by_their_kind_and_order() {
    let page = page("textbox \"\"\n textbox \"\" password\n button \"Login\"");
    assert_plans(
        &page,
        &[
            ("Enter the username \"kim\" and the password \"x1\" into the text fields and press login.", "?"),
            ("Log in as kim with password x1", "type c1 kim; type c2 x1; click c3"),
        ],
    );
}

#[test]
fn labels_beside_nameless_fields_name_them() {
    let page = page("textbox \"\" label=\"Password\" password\n textbox \"\" label=\"Username\"\n button \"Login\"");
    assert_plans(
        &page,
        &[(
            "Enter the username \"kim\" and the password \"x1\" into the text fields and press login.",
            "type c2 kim; type c1 x1; click c3",
        )],
    );
}

#[test]
fn both_fields_get_the_value() {
    for lines in [
        "textbox \"Password\" password\n textbox \"Verify password\" password\n button \"Submit\"",
        "textbox \"\" password\n textbox \"\" password\n button \"Submit\"",
    ] {
        assert_plans(
            &page(lines),
            &[
                (
                    "Enter the password \"q7\" into both text fields and press submit.",
                    "type c1 q7; type c2 q7; click c3",
                ),
                ("Type \"q7\" in both fields, then submit", "type c1 q7; type c2 q7; click c3"),
                ("Type q7 into all text fields", "type c1 q7; type c2 q7"),
            ],
        );
    }
}

#[test]
fn the_only_field_needs_no_name() {
    let page = page("textbox \"\"\n button \"Submit\"");
    let expected = "type c1 Myra; click c2";
    let sentences = [
        "Enter \"Myra\" into the text field and press Submit.",
        "Type \"Myra\" and click submit",
        "type Myra in the box and hit the Submit button",
        "Write 'Myra' in the textbox, then submit",
        "Key in “Myra” and press Submit",
        "Put Myra in the input field and then click on the Submit button please",
        "Insert Myra and submit it",
    ];
    assert_plans(&page, &sentences.map(|sentence| (sentence, expected)));
}

const CONTACT: &str = r#"
    textbox "First name" form=contact
    textbox "Name" form=contact
    textbox "E-mail address" form=contact
    textbox "" placeholder="Phone number" form=contact
    textbox "Comments" multiline form=contact
    combobox "Country" options=Angola|Belgium form=contact
    checkbox "Subscribe" form=contact
    button "Send" form=contact
"#;

#[test]
fn forms_are_filled_in_field_by_field() {
    assert_plans(
        &page(CONTACT),
        &[
            ("Fill in Name with Bob, Email with b@x.y and submit", "type c2 Bob; type c3 b@x.y; click c8"),
            ("Fill out the form: name Bob; email b@x.y", "type c2 Bob; type c3 b@x.y"),
            ("Fill out the form: Name: Bob, Email: b@x.y. Then send it.", "type c2 Bob; type c3 b@x.y; click c8"),
            (
                "Fill the form with name \"Bob Smith, Jr.\" and phone 555-0100",
                "type c2 Bob Smith, Jr.; type c4 555-0100",
            ),
            ("Enter Bob in Name and b@x.y in Email", "type c2 Bob; type c3 b@x.y"),
            ("Enter first name Ada and e-mail address a@b.c", "type c1 Ada; type c3 a@b.c"),
            ("Set Name to Bob and Country to Belgium", "setValue c2 Bob; select c6 Belgium"),
            ("Set First name = Ada", "setValue c1 Ada"),
            ("Write 'hi' in the comments", "type c5 hi"),
            ("Write salt and pepper in the comments", "?"),
            ("Write \"one, two; and three.\" into Comments", "type c5 one, two; and three."),
            ("Type hello into the third field", "type c3 hello"),
            ("Type hello into the first text field", "type c1 hello"),
            ("Enter \"a@b.c\" as the email", "type c3 a@b.c"),
            ("Enter a@b.c as email", "type c3 a@b.c"),
            ("Enter email as a@b.c", "type c3 a@b.c"),
            ("Put 555 in the field with the placeholder Phone number", "type c4 555"),
            ("Fill in the coments with hey", "?"),
            ("Enter {{shopmail}} into Email", "type c3 {shopmail}"),
            ("Enter credential shopmail into Email", "type c3 {shopmail}"),
        ],
    );
}

#[test]
fn an_unnamed_value_among_many_fields_is_asked_about() {
    let plan = plan("Type hello", &page("textbox \"A\"\n textbox \"B\""));
    assert!(plan.starts_with("askUser") && plan.contains("(c1)") && plan.contains("(c2)"), "{plan}");
}

#[test]
fn the_value_of_a_field_is_replaced() {
    let page = page(
        "spinbutton \"Quantity\" value=1\n textbox \"Name\" value=Bob\n textbox \"City\" value=Rome\n slider \"Volume\"\n textbox \"Due date\" date",
    );
    assert_plans(
        &page,
        &[
            ("Set quantity to 3", "setValue c1 3"),
            ("Change the quantity to 3", "setValue c1 3"),
            ("Set the qty to \"3\"", "?"),
            ("Enter 3 as the quantity", "setValue c1 3"),
            ("Enter Bob in Name", "finish"),
            ("Clear the city field", "clear c3"),
            ("Empty City", "clear c3"),
            ("Set the volume to 70", "setValue c4 70"),
            ("Set the due date to 2025-01-31", "setValue c5 2025-01-31"),
        ],
    );
}

#[test]
fn searching_types_and_sends() {
    let with_button = page(
        "searchbox \"Search\" form=q\n button \"Search\" form=q\n textbox \"Newsletter e-mail\"\n link \"Shoes\" to=/shoes",
    );
    let without = page("textbox \"\" placeholder=\"Find products\"\n link \"Shoes\" to=/shoes");
    assert_plans(
        &with_button,
        &[
            ("Search for red shoes", "type c1 red shoes; click c2"),
            ("Search for \"red shoes\" in the search box", "type c1 red shoes; click c2"),
            ("Look for salt and pepper", "?"),
            ("Type hello in the search box and hit Enter", "type c1 hello; press c1 Enter"),
            ("Search for hats and press Enter", "type c1 hats; press c1 Enter"),
            ("Type hats into the search field, then search", "type c1 hats; click c2"),
            ("Search for hats and click Shoes", "type c1 hats; click c2; click c4"),
            ("Click Search", "click c2"),
        ],
    );
    assert_plans(
        &without,
        &[
            ("Search for red shoes", "type c1 red shoes; press c1 Enter"),
            ("Look up shoes", "type c1 shoes; press c1 Enter"),
        ],
    );
}

#[test]
fn two_forms_do_not_mix() {
    let page = page(
        "textbox \"E-mail\" form=register\n textbox \"Password\" password form=register\n button \"Sign up\" form=register\n \
         textbox \"E-mail\" form=login\n textbox \"Password\" password form=login\n button \"Sign in\" form=login",
    );
    assert_plans(&page, &[("Log in with email a@b.c and password pw", "type c4 a@b.c; type c5 pw; click c6")]);
}

#[test]
fn a_date_field_gets_a_day_in_figures() {
    let page = page("textbox \"Delivery date\" date\n textbox \"Note\"");
    assert_plans(
        &page,
        &[
            ("Set the delivery date to 3 March 2027", "?"),
            ("Enter \"March 3, 2027\" into Delivery date", "?"),
            ("Set Delivery date to 2027-03-03", "setValue c1 2027-03-03"),
            ("Type \"3 March 2027\" into Note", "type c2 3 March 2027"),
        ],
    );
}
