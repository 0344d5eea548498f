//! Sentences of all sorts on one page of a shop.

use super::fixture::*;

const SHOP: &str = r#"
    link "Home" to=/
    link "Cart (2)" to=/cart
    link "My account" to=/account
    searchbox "" placeholder="Search the shop"
    button "Search"
    combobox "Sort by" options=Price|Name|Newest
    link "Blue pen" to=/p/1
    button "Add to cart" [list item: Blue pen]
    link "Red pen" to=/p/2
    button "Add to cart" [list item: Red pen]
    spinbutton "Quantity" [list item: Red pen] value=1
    checkbox "In stock only"
    radio "Express" [group: Delivery]
    radio "Standard" [group: Delivery] checked
    textbox "Gift message" multiline
    button "Checkout"
    button "Remove" [list item: Red pen]
    link "Next page" to=/?p=2
    button "Close" [dialog: Cookies]
    button "Accept all" [dialog: Cookies]
    link "Contact us" to=/contact
"#;

#[test]
fn a_shop_is_used_in_plain_words() {
    assert_plans(
        &page(SHOP),
        &[
            ("Add the red pen to the cart", "?"),
            ("Add Blue pen to the basket", "?"),
            ("Add the blue pen to my shopping cart, please.", "?"),
            ("Put the red pen in the cart", "?"),
            ("Open the cart", "click c2"),
            ("Go to my account", "click c3"),
            ("View the red pen", "?"),
            ("Open Blue pen", "click c7"),
            ("Sort by Price", "?"),
            ("Sort the list by newest", "?"),
            ("Show only items in stock: tick In stock only", "?"),
            ("Tick \"In stock only\"", "check c12"),
            ("Choose express delivery", "check c13"),
            ("Select Express as the delivery", "check c13"),
            ("Set the quantity of the red pen to 4", "setValue c11 4"),
            ("Change quantity to 4, then press Checkout", "setValue c11 4; click c16"),
            (
                "Write \"Happy birthday, Ann & Bob!\" in the gift message and press Checkout",
                "type c15 Happy birthday, Ann & Bob!; click c16",
            ),
            ("Remove the red pen", "click c17"),
            ("Remove the red pen from the cart", "?"),
            ("Go to the next page", "click c18"),
            ("Accept all cookies", "click c20"),
            ("Close the cookies dialog", "click c19"),
            ("Search for blue pens", "type c4 blue pens; press c4 Enter"),
            ("Search the shop for blue pens", "?"),
            ("Find \"blue pen\"", "?"),
            ("Click on Contact us", "click c21"),
            ("Contact us", "click c21"),
            ("Buy: click Checkout", "?"),
            ("Now please click the 'Checkout' button!", "click c16"),
            ("would you kindly click Checkout?", "click c16"),
            ("CLICK CHECKOUT", "click c16"),
            ("Click the chekout button", "?"),
            ("Enter 5 in the quantity field", "setValue c11 5"),
            ("Quantity: 5", "setValue c11 5"),
            ("Let's open the cart", "click c2"),
            ("You should now tick in stock only and then select Price under Sort by", "check c12; select c6 Price"),
        ],
    );
}

#[test]
fn settings_are_changed_in_plain_words() {
    let settings = page(
        r#"
        textbox "Display name" value="Ann"
        textbox "E-mail" value="a@b.c"
        textbox "Current password" password
        textbox "New password" password
        textbox "Confirm new password" password
        combobox "Language" options=English|German|French
        combobox "Time zone" options=UTC|CET
        switch "Dark mode"
        checkbox "Send me the newsletter" checked
        checkbox "I agree to the terms"
        radio "Yes" [group: Public profile]
        radio "No" [group: Public profile] checked
        button "Save changes"
        button "Cancel"
        button "Delete account"
    "#,
    );
    assert_plans(
        &settings,
        &[
            ("Change the display name to Ann Lee and save changes", "setValue c1 Ann Lee; click c13"),
            ("Update the e-mail to x@y.z, then click Save changes", "setValue c2 x@y.z; click c13"),
            (
                "Enter the current password \"old1\", enter the new password \"new1\", and type \"new1\" into Confirm new password",
                "type c3 old1; type c4 new1; type c5 new1",
            ),
            (
                "Set language to German and time zone to CET. Save changes.",
                "select c6 German; select c7 CET; click c13",
            ),
            ("Switch the language to French", "?"),
            ("Turn on dark mode", "check c8"),
            ("Enable dark mode and disable \"Send me the newsletter\"", "check c8; uncheck c9"),
            ("Unsubscribe from the newsletter by unchecking \"Send me the newsletter\"", "uncheck c9"),
            ("Agree to the terms", "?"),
            ("Accept the terms", "?"),
            ("Tick 'I agree to the terms' and press Save changes", "check c10; click c13"),
            ("Select Yes for Public profile", "check c11"),
            ("Set public profile to yes", "check c11"),
            ("Delete the account", "click c15"),
            ("Save the changes", "click c13"),
            ("Cancel", "click c14"),
            ("Choose German as language", "select c6 German"),
            ("Pick the option UTC in Time zone", "select c7 UTC"),
        ],
    );
}

#[test]
fn nothing_is_guessed_where_the_words_do_not_fit() {
    let page =
        page("button \"Delete\" [row: ann, invoice 7]\n button \"Yes\"\n link \"Help\" to=/help\n textbox \"Name\"");
    for task in [
        "Delete the invoice of john",
        "Agree to the terms",
        "Enter 5 in the quantity field",
        "Tick the newsletter",
        "Choose Large",
        "Remove bob",
    ] {
        let seen = super::fixture::plan(task, &page);
        assert!(seen.starts_with("fail") || seen.starts_with("askUser"), "{task}: {seen}");
    }
}
