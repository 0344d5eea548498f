//! Accounts, orders and the table of invoices.

use anyhow::Result;
use cuebook_grammar::report::RunResult;
use cuebook_tests::Stage;
use serde_json::{Value, json};

use super::{check, check_out, click, click_to, enter, select, set};

fn log_in() -> Vec<Value> {
    vec![
        enter("textbox \"Email\"", "ann"),
        enter("textbox \"Password\"", "correct-horse"),
        click_to("button \"Log in\"", "/dashboard"),
    ]
}

fn then(mut first: Vec<Value>, more: &[Value]) -> Value {
    first.extend_from_slice(more);
    Value::Array(first)
}

#[tokio::test]
async fn login_and_logout() -> Result<()> {
    let stage = Stage::open().await?;
    stage.plays("/login", &then(log_in(), &[click("button \"Log out\"")])).await?;
    assert_eq!(stage.state()["logins"], json!([{ "user": "ann", "accepted": true }]));
    assert_eq!(stage.state()["logouts"], 1);
    Ok(())
}

#[tokio::test]
async fn a_login_that_is_refused_fails_its_postcondition() -> Result<()> {
    let stage = Stage::open().await?;
    let report = stage
        .play(
            "/login",
            &json!([
                enter("textbox \"Email\"", "ann"),
                enter("textbox \"Password\"", "wrong"),
                click_to("button \"Log in\"", "/dashboard")
            ]),
        )
        .await?;
    assert_eq!(report.result, RunResult::Failed, "{report:#?}");
    assert_eq!(report.error.map(|error| error.code.to_string()).as_deref(), Some("postconditionFailed"));
    assert_eq!(stage.state()["logins"], json!([{ "user": "ann", "accepted": false }]), "and it is tried once");
    Ok(())
}

#[tokio::test]
async fn the_dashboard_orders() -> Result<()> {
    let stage = Stage::open().await?;
    let steps = then(log_in(), &[select("combobox \"Size\"", "Large"), click_to("button \"Order\"", "/order/")]);
    stage.plays("/login", &steps).await?;
    assert_eq!(stage.state()["orders"][0]["lines"][0]["size"], "Large");
    Ok(())
}

#[tokio::test]
async fn from_the_shop_through_cart_and_checkout_to_an_order() -> Result<()> {
    let stage = Stage::open().await?;
    let steps = json!(
        [
            vec![
                select("combobox \"Size\" [Desk lamp]", "Small"),
                set("spinbutton \"Quantity\" [Desk lamp]", "2"),
                check("checkbox \"Gift wrap\" [Desk lamp]"),
                check("radio \"Express\" [Desk lamp]"),
                click_to("button \"Add to cart\" [Desk lamp]", "/cart"),
                click_to("link \"Continue shopping\"", "/shop"),
                click_to("button \"Add to cart\" [Scissors]", "/cart"),
                click("button \"Remove\" [Scissors]")
            ],
            check_out()
        ]
        .concat()
    );
    stage.plays("/shop", &steps).await?;
    let order = &stage.state()["orders"][0];
    assert_eq!(order["lines"].as_array().map_or(0, Vec::len), 1, "{order:#}");
    let line = &order["lines"][0];
    assert_eq!(
        json!([line["name"], line["size"], line["quantity"], line["giftWrap"], line["delivery"]]),
        json!(["Desk lamp", "Small", 2, true, "Express"])
    );
    assert_eq!(order["delivery"]["date"], "2027-03-03");
    assert_eq!(order["delivery"]["notes"], "Ring twice");
    Ok(())
}

#[tokio::test]
async fn a_checkout_without_the_terms_is_told_by_the_page_and_mended() -> Result<()> {
    let stage = Stage::open().await?;
    let steps = json!([
        click_to("button \"Add to cart\" [Notebook]", "/cart"),
        click_to("link \"Check out\"", "/checkout"),
        enter("textbox \"Full name\"", "Ann"),
        enter("textbox \"Email\"", "ann@example.com"),
        set("textbox \"Delivery date\"", "2027-03-03"),
        set("textbox \"Card number\"", "4242424242424242"),
        click("button \"Place order\""),
        { "type": "assert", "condition": { "kind": "errorMessageEquals", "target": "checkbox \"I accept the terms\"",
            "text": "Accept the terms to place the order." } },
        check("checkbox \"I accept the terms\""),
        set("textbox \"Card number\"", "4242424242424242"),
        click_to("button \"Place order\"", "/order/")
    ]);
    stage.plays("/shop", &steps).await?;
    assert_eq!(stage.state()["orders"].as_array().map_or(0, Vec::len), 1);
    Ok(())
}

#[tokio::test]
async fn an_invoice_is_searched_edited_and_saved() -> Result<()> {
    let stage = Stage::open().await?;
    let steps = json!([
        select("combobox \"Status\"", "Paid"),
        click("button \"Apply\""),
        click_to("link \"Order desk\"", "/orders"),
        enter("searchbox \"Search invoices\"", "INV-1003"),
        click_to("button \"Apply\"", "INV-1003"),
        click_to("button \"Edit\"", "/edit"),
        set("textbox \"Customer\"", "Kim Park"),
        select("combobox \"Status\"", "Refunded"),
        click_to("button \"Save changes\"", "done=saved")
    ]);
    stage.plays("/orders", &steps).await?;
    let state = stage.state();
    assert_eq!(state["edited"], json!(["INV-1003"]));
    let saved = state["invoices"].as_array().into_iter().flatten().find(|invoice| invoice["number"] == "INV-1003");
    assert_eq!(saved.map(|invoice| invoice["customer"].clone()), Some(json!("Kim Park")));
    Ok(())
}

#[tokio::test]
async fn an_invoice_is_deleted_after_the_browser_asked() -> Result<()> {
    let stage = Stage::open().await?;
    let steps = json!([
        { "type": "click", "targetRef": "button \"Delete\" [INV-1004]", "post": [{ "kind": "dialogOpened" }] },
        { "type": "acceptDialog", "post": [{ "kind": "urlChanges", "to": "done=deleted" }] }
    ]);
    stage.plays("/orders", &steps).await?;
    assert_eq!(stage.state()["deleted"], json!(["INV-1004"]));
    Ok(())
}

#[tokio::test]
async fn an_invoice_is_kept_when_the_browsers_question_is_dismissed() -> Result<()> {
    let stage = Stage::open().await?;
    let steps = json!([
        { "type": "click", "targetRef": "button \"Delete\" [INV-1004]", "post": [{ "kind": "dialogOpened" }] },
        { "type": "dismissDialog" }
    ]);
    stage.plays("/orders", &steps).await?;
    assert_eq!(stage.state()["deleted"], json!([]));
    Ok(())
}

#[tokio::test]
async fn an_invoice_is_deleted_after_the_page_asked() -> Result<()> {
    let stage = Stage::open().await?;
    let steps = json!([
        click("button \"Delete\" [INV-1002]"),
        click("button \"Keep it\""),
        click("button \"Delete\" [INV-1005]"),
        click_to("button \"Yes, delete it\"", "done=deleted")
    ]);
    stage.plays("/orders?confirm=dialog", &steps).await?;
    assert_eq!(stage.state()["deleted"], json!(["INV-1005"]));
    Ok(())
}

#[tokio::test]
async fn the_table_is_sorted_and_paged() -> Result<()> {
    let stage = Stage::open().await?;
    let steps = json!([
        click_to("link \"Total\"", "sort="),
        click_to("link \"Next\"", "page=2"),
        click_to("link \"3\"", "page=3")
    ]);
    stage.plays("/orders", &steps).await?;
    Ok(())
}
