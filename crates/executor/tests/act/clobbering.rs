//! Acting in forms whose fields are called like the properties of forms, on pages whose images are called like those
//! of documents.

use serde_json::json;

use crate::lab::{css_of, lab, succeeded};

const PAGE: &str = "<form id=f style='height: 300px; overflow: auto' onsubmit='return false'>\
    <label for=t>Mail</label><input id=t><select id=s><option>One<option>Two</select><input type=checkbox id=c>\
    <div contenteditable id=e>x</div><span id=w style='display: contents' onclick='w.title = 1'>words</span>\
    <p style='margin-top: 2000px'><button type=button id=b onclick='b.title = 1'>Go</button></form>\
    <script>
    const names = new Set();
    for (let holder of [HTMLFormElement.prototype, Document.prototype]) {
      for (; holder && holder !== Object.prototype; holder = Object.getPrototypeOf(holder)) {
        for (const name of Object.getOwnPropertyNames(holder)) names.add(name);
      }
    }
    const add = Element.prototype.insertAdjacentHTML;
    const fields = [...names].map((name) => `<input type=hidden name='${name}'>`).join('');
    const loose = [...names].map((name) => `<img hidden name='${name}'>`).join('');
    add.call(f, 'beforeend', fields);
    add.call(f, 'afterend', `<div hidden>${loose}</div>`);
    </script>";

#[tokio::test]
async fn forms_and_documents_that_are_called_like_their_properties_are_acted_on() {
    let mut lab = lab(&[("/", PAGE)]).await;
    for (step, target, read, expected) in [
        (json!({"type": "click", "targetRef": "it"}), "#w", "w.title", json!("1")),
        (json!({"type": "type", "targetRef": "it", "text": "ab"}), "#t", "t.value", json!("ab")),
        (json!({"type": "select", "targetRef": "it", "option": "Two"}), "#s", "s.value", json!("Two")),
        (json!({"type": "check", "targetRef": "it"}), "#c", "c.checked", json!(true)),
        (json!({"type": "setValue", "targetRef": "it", "value": "y"}), "#e", "e.textContent", json!("y")),
        (json!({"type": "click", "targetRef": "it"}), "#b", "b.title", json!("1")),
        (json!({"type": "scroll", "targetRef": "it", "direction": "top"}), "#f", "t.value", json!("ab")),
    ] {
        succeeded(lab.step(json!({"it": css_of(target)}), step.clone()).await);
        assert_eq!(lab.eval(read).await, expected, "{step}");
    }
    for step in [
        json!({"type": "getDom"}),
        json!({"type": "extract", "query": {"kind": "markdown"}}),
        json!({"type": "extract", "query": {"kind": "metadata"}}),
    ] {
        succeeded(lab.step(json!({}), step).await);
    }
}
