//! Every page of the built-in site does its main job by plans that name observed candidates only: no locator, no
//! css. The server is the oracle.

mod controls;
mod shopping;
mod together;
mod weather;

use serde_json::{Value, json};

fn click(target: &str) -> Value {
    json!({ "type": "click", "targetRef": target })
}

fn click_to(target: &str, url: &str) -> Value {
    json!({ "type": "click", "targetRef": target, "post": [{ "kind": "urlChanges", "to": url }] })
}

fn set(target: &str, value: &str) -> Value {
    json!({ "type": "setValue", "targetRef": target, "value": value })
}

fn enter(target: &str, text: &str) -> Value {
    json!({ "type": "type", "targetRef": target, "text": text })
}

fn select(target: &str, option: &str) -> Value {
    json!({ "type": "select", "targetRef": target, "option": option })
}

fn check(target: &str) -> Value {
    json!({ "type": "check", "targetRef": target })
}

fn press(target: &str, keys: &str) -> Value {
    json!({ "type": "press", "targetRef": target, "keys": keys })
}

/// From the cart to an order of Ann Lee's.
fn check_out() -> Vec<Value> {
    vec![
        click_to("link \"Check out\"", "/checkout"),
        enter("textbox \"Full name\"", "Ann Lee"),
        enter("textbox \"Email\"", "ann@example.com"),
        set("textbox \"Delivery date\"", "2027-03-03"),
        enter("textbox \"Card number\"", "4242 4242 4242 4242"),
        enter("textbox \"Notes for the courier\"", "Ring twice"),
        check("checkbox \"I accept the terms\""),
        click_to("button \"Place order\"", "/order/"),
    ]
}
