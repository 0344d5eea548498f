//! Getting, filtering, repeating: what shops and tables are asked for.

use super::fixture::{assert_plans, page, plan, run};

const SHELF: &str = r#"
    combobox "Size" options=Small|Large [article: Blue mug]
    spinbutton "Quantity" value=1 [article: Blue mug]
    checkbox "Gift wrap" [article: Blue mug]
    radio "Express" [article: Blue mug]
    button "Add to cart" [article: Blue mug]
    spinbutton "Quantity" value=1 [article: Kettle]
    checkbox "Gift wrap" [article: Kettle]
    button "Add to cart" [article: Kettle]
    link "Cart (0)" to=/cart
"#;

#[test]
fn how_many_and_of_which_sort_is_set_before_the_button() {
    assert_plans(
        &page(SHELF),
        &[
            ("Add the kettle to the cart", "click c8"),
            ("Add three blue mugs to my basket", "setValue c2 3; click c5"),
            ("Buy 2 kettles", "setValue c6 2; click c8"),
            ("Order a kettle with gift wrap", "check c7; click c8"),
            (
                "Add the blue mug in size Large with gift wrap and express delivery to the cart",
                "select c1 Large; check c3; check c4; click c5",
            ),
        ],
    );
}

#[test]
fn a_sort_that_is_not_sold_is_not_left_out() {
    let seen = plan("Add the kettle in size Large to the cart", &page(SHELF));
    assert!(seen.starts_with("fail"), "{seen}");
}

#[test]
fn what_is_bought_is_looked_for_in_the_shop_and_not_in_the_cart() {
    let home = "link \"Cart (0)\" to=/cart\n link \"Help\" to=/help\n link \"Shop\" to=/shop\n button \"Order\"";
    assert_eq!(run("Add the kettle to the cart", &[home, SHELF, SHELF]), ["click c3", "click c8", "finish"]);
    let said = run("Add the teapot to the cart", &[home, home, home]);
    assert_eq!(said.iter().filter(|step| step.starts_with("click")).count(), 1, "{said:?}");
    assert!(said.last().is_some_and(|last| last.starts_with("fail")), "{said:?}");
}

#[test]
fn a_button_of_something_else_gets_nothing() {
    let page = page("button \"Order\" [region: Quick order]\n spinbutton \"Quantity\" value=1 [region: Quick order]");
    let seen = plan("Order 2 kettles", &page);
    assert!(seen.starts_with("fail"), "{seen}");
}

#[test]
fn what_is_clicked_by_name_is_not_looked_for_in_the_shop() {
    let seen = plan("Click the Terms link", &page("link \"Shop\" to=/shop\n link \"Cart\" to=/cart"));
    assert!(seen.starts_with("fail"), "{seen}");
}

#[test]
fn a_number_tells_things_of_a_kind_apart() {
    let table = page(
        r#"
        link "Booking" to=/start?sort=booking
        button "Edit" [row: BK-501]
        button "Delete" [row: BK-501]
        button "Edit" [row: BK-502]
        button "Delete" [row: BK-502]
    "#,
    );
    assert_plans(
        &table,
        &[
            ("Delete booking 502", "click c5"),
            ("Click Edit for booking 501", "click c2"),
            ("Edit the first booking", "click c2"),
            ("Edit the last booking", "click c4"),
        ],
    );
    // Another order of the same table is no way to what is not in it.
    let seen = plan("Delete booking 777", &table);
    assert!(seen.starts_with("fail"), "{seen}");
}

#[test]
fn a_table_is_filtered_by_the_list_that_is_named() {
    let page = page(
        "combobox \"State\" options=Any|Open|Closed form=f\n button \"Apply\" form=f\n link \"State\" to=/start?sort=state",
    );
    assert_plans(&page, &[("Filter the tickets by state Open", "select c1 Open; click c2")]);
}

#[test]
fn a_clause_may_be_meant_several_times() {
    let page = page("button \"Ring\"\n button \"Stop\"");
    assert_plans(
        &page,
        &[
            ("Press Ring three times", "click c1; click c1; click c1"),
            ("Click Ring twice, then Stop", "click c1; click c1; click c2"),
            ("Click \"Ring\" 2 times", "click c1; click c1"),
        ],
    );
}

#[test]
fn a_way_is_no_part_of_a_name() {
    let closed = "button \"File\" popup";
    let open = "button \"File\" popup\n menuitem \"Export as PDF\"";
    assert_eq!(run("Export as PDF via the File menu", &[closed, open, closed]), ["click c1", "click c2", "finish"]);
}

#[test]
fn a_name_may_look_like_a_purpose() {
    let page = page("button \"Ask to confirm\"\n button \"Ask for help\"\n button \"Cancel\"");
    assert_plans(&page, &[("Click Ask to confirm", "click c1"), ("Click Cancel to leave", "click c3")]);
}

#[test]
fn a_value_without_a_field_goes_into_the_form_of_its_verb() {
    let page = page(
        "textbox \"Search\" form=q\n textbox \"E-mail\" form=news\n button \"Subscribe\" form=news\n button \"Go\" form=q",
    );
    assert_plans(&page, &[("Subscribe with kim@x.test", "type c2 kim@x.test; click c3")]);
}

#[test]
fn a_key_that_is_also_a_button_means_the_button() {
    let seen = plan("Press Delete", &page("button \"Delete\" [row: a]\n button \"Delete\" [row: b]"));
    assert!(seen.starts_with("askUser") && seen.contains("c1") && seen.contains("c2"), "{seen}");
    assert_plans(&page("button \"Delete\""), &[("Press Delete", "click c1")]);
    assert_plans(&page("textbox \"Note\""), &[("Press Delete", "press Delete")]);
}

#[test]
fn a_longer_name_does_not_stand_in_the_way_of_the_exact_one() {
    assert_plans(
        &page("link \"Order desk\" to=/desk\n button \"Order\"\n button \"Pay now\""),
        &[("Press Order", "click c2"), ("Click Order desk", "click c1")],
    );
    let seen = plan("Press Order", &page("button \"Pay now\""));
    assert!(seen.starts_with("fail"), "{seen}");
}

#[test]
fn the_next_page_is_the_one_behind_next() {
    let page = page(
        "link \"1\" to=/start\n link \"2\" to=/start?page=2\n link \"Next\" to=/start?page=2\n link \"Shop\" to=/shop",
    );
    assert_plans(
        &page,
        &[("Go to the next page", "click c3"), ("Go to page 2", "click c2"), ("Open the next page", "click c3")],
    );
}

#[test]
fn a_dialog_is_answered_once_it_is_open() {
    let page = page("button \"Ask for a name\"\n button \"Accept cookies\"");
    assert_plans(
        &page,
        &[
            ("Click \"Ask for a name\" and answer with Zoe", "click c1"),
            ("Click \"Ask for a name\" and accept the dialog", "click c1"),
        ],
    );
}

#[test]
fn a_purchase_goes_on_to_the_checkout_and_ends_where_the_page_says_that_it_is_ordered() {
    let cart = "button \"Remove\" [row: Kettle]\n link \"Check out\" to=/checkout\n link \"Cart (1)\" to=/cart";
    let pay = "link \"Help\"\n textbox \"Name\" value=Ann form=f\n button \"Place order\" form=f";
    let placed = "heading Thank you for your order\n link \"Shop\" to=/shop";
    assert_eq!(
        run("Buy the kettle", &[SHELF, cart, pay, placed]),
        ["click c8", "click c2", "click c3", "finish"],
        "the shelf, the cart, the checkout, the thanks"
    );
    assert_eq!(
        run("Buy the kettle, check out and place the order", &[SHELF, cart, pay, placed]).last().unwrap(),
        "finish"
    );
}

#[test]
fn a_purchase_that_ends_in_the_cart_is_not_done() {
    let stuck = "button \"Remove\" [row: Kettle]\n link \"Continue shopping\" to=/start";
    for task in ["Buy the kettle", "Order the kettle and log out"] {
        let said = run(task, &[SHELF, stuck]);
        assert!(said.last().is_some_and(|last| last.starts_with("fail")), "{task}: {said:?}");
    }
    // What was only to be added is done when it is added.
    assert_eq!(run("Add the kettle to the cart", &[SHELF, stuck]), ["click c8", "finish"]);
}

#[test]
fn a_checkout_that_wants_more_than_was_said_asks_for_it() {
    let pay = "textbox \"Full name\" value=\"\" required form=f\n checkbox \"I accept the terms\" required form=f\n \
               button \"Place order\" form=f";
    let said = run("Buy the kettle", &[SHELF, pay]);
    let asked = said.last().unwrap();
    assert!(asked.starts_with("askUser") && asked.contains("Full name") && asked.contains("terms"), "{said:?}");
}

#[test]
fn a_button_that_buys_by_itself_is_believed() {
    let page = "button \"Buy\" [article: Kettle]\n button \"Buy\" [article: Pot]";
    assert_eq!(run("Buy the kettle", &[page, "button \"Close\""]), ["click c1", "finish"]);
    // A cart or a checkout on the next page is believed more.
    let said = run("Buy the kettle", &[page, "link \"Checkout\" to=/checkout", "button \"Close\""]);
    assert!(said.last().is_some_and(|last| last.starts_with("fail")), "{said:?}");
}

#[test]
fn what_stands_only_in_a_list_is_got_from_the_list() {
    let desk = page(
        "combobox \"Product\" options=Notebook|Kettle form=q\n combobox \"Size\" options=Small|Large form=q\n \
         spinbutton \"Quantity\" value=1 form=q\n button \"Order\" form=q",
    );
    assert_plans(
        &desk,
        &[
            ("Order a kettle", "select c1 Kettle; click c4"),
            ("Order 2 kettles in size Large", "select c1 Kettle; select c2 Large; setValue c3 2; click c4"),
        ],
    );
}

#[test]
fn values_go_where_their_shape_belongs() {
    let page = page(
        "textbox \"Full name\" form=f\n textbox \"Email\" email form=f\n textbox \"Card number\" form=f\n \
         textbox \"Delivery date\" date form=f\n button \"Pay\" form=f",
    );
    assert_plans(
        &page,
        &[
            ("Pay as Bob, b@x.org", "type c1 Bob; type c2 b@x.org; click c5"),
            ("Pay with b@x.org, 4242 4242 4242 4242", "type c2 b@x.org; type c3 4242 4242 4242 4242; click c5"),
        ],
    );
    let seen = plan("Pay as Bob, Ann", &page);
    assert!(seen.starts_with("fail"), "two names and one field: {seen}");
}
