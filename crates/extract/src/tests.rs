//! Tests of the values found on pages, and of those that must not be.

use serde_json::{Value, json};

use crate::{Metadata, fill};

fn filled(schema: &Value, body: &str) -> Value {
    fill(schema, &format!("<body>{body}</body>"), &Metadata::default(), "https://a.test/page").data()
}

fn object(properties: Value) -> Value {
    let required: Vec<String> = properties.as_object().unwrap().keys().cloned().collect();
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}

#[test]
fn a_table_becomes_objects_by_its_headings() {
    let rows = object(
        json!({ "name": { "type": "string" }, "unitPrice": { "type": "number" }, "inStock": { "type": "boolean" } }),
    );
    let schema = object(json!({ "products": { "type": "array", "items": rows } }));
    let body = "<table><thead><tr><th>Product name</th><th>Unit price</th><th>In stock</th></tr></thead><tbody>\
        <tr><td>Mug</td><td>$1,204.50</td><td>yes</td></tr><tr><td>Pot</td><td>$9</td><td>no</td></tr></tbody></table>";
    let wanted = json!({ "products": [
        { "name": "Mug", "unitPrice": 1204.5, "inStock": true }, { "name": "Pot", "unitPrice": 9.0, "inStock": false } ] });
    assert_eq!(filled(&schema, body), wanted);
}

#[test]
fn repeated_cards_become_objects_by_what_their_parts_are_called() {
    let rows = object(
        json!({ "title": { "type": "string" }, "price": { "type": "number" }, "url": { "type": "string", "format": "uri" } }),
    );
    let schema = object(json!({ "items": { "type": "array", "items": rows } }));
    let card = |name: &str, price: &str| {
        format!(
            "<div class=card><h3><a href=\"https://a.test/{name}\">{name}</a></h3><span class=price>{price}</span></div>"
        )
    };
    let body = format!(
        "<nav><ul><li>Home</li><li>Cart</li></ul></nav><div>{}{}</div>",
        card("Mug", "3,50 €"),
        card("Pot", "12 €")
    );
    let wanted = json!({ "items": [
        { "title": "Mug", "price": 3.5, "url": "https://a.test/Mug" }, { "title": "Pot", "price": 12.0, "url": "https://a.test/Pot" } ] });
    assert_eq!(filled(&schema, &body), wanted);
}

#[test]
fn labels_of_every_kind_name_their_contents() {
    let schema = object(json!({
        "orderNumber": { "type": "string" }, "total": { "type": "number" }, "status": { "enum": ["open", "shipped"] },
        "email": { "type": "string", "format": "email" }, "date": { "type": "string", "format": "date" },
        "color": { "type": "string" }, "quantity": { "type": "integer" },
    }));
    let body = "<dl><dt>Order number</dt><dd>A-17</dd></dl><p><strong>Total:</strong> 12.50</p>\
        <table><tr><th>Status</th><td>Shipped today</td></tr></table><a href=\"mailto:me@a.test?subject=x\">Write</a>\
        <p>Date: <time datetime=\"2024-03-05\">yesterday</time></p><span itemprop=\"color\">Red</span>\
        <output aria-label=\"Quantity\">3</output>";
    let wanted = json!({ "orderNumber": "A-17", "total": 12.5, "status": "shipped", "email": "me@a.test",
        "date": "2024-03-05", "color": "Red", "quantity": 3 });
    assert_eq!(filled(&schema, body), wanted);
}

#[test]
fn plain_lists_are_found_by_what_they_are_called() {
    let schema = object(json!({
        "ingredients": { "type": "array", "items": { "type": "string" } },
        "tags": { "type": "array", "items": { "type": "string" } },
    }));
    let body = "<ul><li>Home</li></ul><h2>Ingredients</h2><ul><li>Salt</li><li>Flour</li></ul><p>Tags: old, new</p>";
    assert_eq!(filled(&schema, body), json!({ "ingredients": ["Salt", "Flour"], "tags": ["old", "new"] }));
}

#[test]
fn what_nothing_is_called_by_is_said_and_not_guessed() {
    let schema = object(json!({ "name": { "type": "string" }, "isbn": { "type": "string" } }));
    let data = filled(&schema, "<h1>A book</h1><p>Nothing of the kind.</p>");
    assert_eq!(data["name"], "A book");
    assert!(data.get("isbn").is_none());
    assert_eq!(data["$unfilled"], json!(["/isbn"]));
    assert_eq!(data["$invalid"].as_array().map(Vec::len), Some(1), "{data}");
}

#[test]
fn optional_members_that_may_be_null_are_null() {
    let schema = json!({ "type": "object", "properties": { "isbn": { "type": ["string", "null"] } } });
    assert_eq!(filled(&schema, "<h1>A book</h1>"), json!({ "isbn": null, "$unfilled": ["/isbn"] }));
}

#[test]
fn what_a_page_states_for_machines_counts() {
    let schema =
        object(json!({ "name": { "type": "string" }, "price": { "type": "number" }, "brand": { "type": "string" } }));
    let metadata = Metadata {
        json_ld: vec![
            r#"{"@type":"Product","name":"Mug","brand":{"name":"Acme"},"offers":{"price":"3.50"}}"#.to_owned(),
        ],
        ..Metadata::default()
    };
    let data = fill(&schema, "<body><p>Buy it</p></body>", &metadata, "https://a.test/").data();
    assert_eq!(data, json!({ "name": "Mug", "price": 3.5, "brand": "Acme" }));
}

#[test]
fn nested_objects_are_filled_from_the_part_with_their_name() {
    let address = object(json!({ "city": { "type": "string" } }));
    let schema = object(json!({ "billing": address, "shipping": { "$ref": "#/properties/billing" } }));
    let body = "<section id=shipping><dl><dt>City</dt><dd>Bern</dd></dl></section>\
        <section id=billing><dl><dt>City</dt><dd>Rome</dd></dl></section>";
    assert_eq!(filled(&schema, body), json!({ "billing": { "city": "Rome" }, "shipping": { "city": "Bern" } }));
}

#[test]
fn an_array_at_the_root_is_returned_as_it_is() {
    let schema = json!({ "type": "array", "items": object(json!({ "name": { "type": "string" }, "age": { "type": "integer" } })) });
    let body = "<table><tr><th>Name</th><th>Age</th></tr><tr><td>Ann</td><td>3</td></tr><tr><td>Bob</td><td>4</td></tr></table>";
    assert_eq!(filled(&schema, body), json!([{ "name": "Ann", "age": 3 }, { "name": "Bob", "age": 4 }]));
}

#[test]
fn schemas_and_pages_without_end_come_to_one() {
    let schema = json!({ "type": "object", "properties": { "next": { "$ref": "#" }, "name": { "type": "string" } } });
    let deep = format!("{}<h1>Name</h1>{}", "<div class=next>".repeat(100), "</div>".repeat(100));
    let data = filled(&schema, &deep);
    assert_eq!(data["$truncated"], json!(["depth"]));
    let cells = "<td colspan=9999999 rowspan=9999999>x</td>".repeat(50);
    let table = format!(
        "<table><tr>{}</tr>{}</table>",
        "<th colspan=99999>Name</th>".repeat(50),
        format!("<tr>{cells}</tr>").repeat(50)
    );
    let schema = json!({ "type": "array", "items": object(json!({ "name": { "type": "string" } })) });
    assert!(filled(&schema, &table).to_string().contains("\"x\""));
}
