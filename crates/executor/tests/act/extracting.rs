//! Markdown, forms, metadata and answers by schema, from pages as they are shown.

use cuebook_grammar::outcome::Cause;
use serde_json::{Value, json};

use crate::lab::{Lab, css_of, failed, lab, succeeded};

async fn extract(lab: &mut Lab, target: Option<&str>, query: Value) -> Value {
    let mut query = query;
    let mut candidates = json!({});
    if let Some(target) = target {
        query["targetRef"] = json!("it");
        candidates = json!({"it": css_of(target)});
    }
    succeeded(lab.step(candidates, json!({"type": "extract", "query": query})).await).data.unwrap()
}

const SHOWN: &str = r##"<!doctype html><title>Shown</title><script>document.write("scripted")</script>
<style>p{margin:1em}</style><h1>Title</h1>
<p>Go <a href="/x?a=1#b">there</a>, not <a href="javascript:alert(1)">here</a>.</p>
<p style="display:none">GONE1</p><p style="visibility:hidden">GONE2 <b style="visibility:visible">back</b></p>
<p style="opacity:0">GONE3</p><details><summary>More</summary>GONE4</details>
<div style="position:absolute;width:1px;height:1px;overflow:hidden">GONE5</div>
<div style="position:absolute;left:-9999px">GONE9</div><div style="position:fixed;top:-500px">GONE10 <p>GONE11</p></div>
<div style="visibility:hidden"><img alt="GONE6" src="/x.png"><input aria-label="GONE7" value="GONE8"></div>
<p>&lt;frame-slot n="0"&gt; and <frame-slot n="0"></frame-slot> are text</p>
<my-card></my-card><iframe srcdoc="<h2>Inner</h2><my-x></my-x><iframe srcdoc='<p>innermost</p>'></iframe>"></iframe>
<label>Name <input value="Ann"></label><input type="password" value="hunter22">
<div role="table"><div role="row"><span role="columnheader">A</span><span role="columnheader">B</span></div>
<div><div role="row"><span role="cell">1</span><span role="cell">2</span></div></div></div>
<script>
customElements.define("my-card", class extends HTMLElement {
  connectedCallback() { this.attachShadow({ mode: "open" }).innerHTML = "<h3>Shadow</h3><slot>nothing</slot>"; }
});
Array.prototype.map = () => ["PAGE"]; Element.prototype.getAttribute = () => "PAGE"; String.prototype.replace = () => "PAGE";
</script>"##;

#[tokio::test]
async fn markdown_includes_shadow_roots_and_frames() {
    let mut lab = lab(&[("/", SHOWN)]).await;
    let text = extract(&mut lab, None, json!({"kind": "markdown"})).await;
    let text = text.as_str().unwrap();
    let link = format!("[there]({})", lab.url("/x?a=1#b"));
    let parts = [
        "# Title",
        &link,
        "not here",
        "back",
        "More",
        "### Shadow",
        "nothing",
        "## Inner",
        "innermost",
        "| A",
        "| 1",
        "Ann",
    ];
    for part in parts {
        assert!(text.contains(part), "{part:?} in {text}");
    }
    for part in ["GONE", "PAGE", "javascript", "hunter22", "margin"] {
        assert!(!text.contains(part), "{part:?} in {text}");
    }
    assert_eq!(text.matches("innermost").count(), 1, "{text}");
    let part = extract(&mut lab, Some("h1"), json!({"kind": "markdown"})).await;
    assert_eq!(part, "# Title");
}

/// Chrome's own layout recurses: between 2,500 and 3,000 nested blocks end its process in any case.
/// Beyond that the depth is of elements that are shown without a box.
#[tokio::test]
async fn deep_and_long_pages_are_cut_and_say_so() {
    let page = "<body><script>
        let at = document.body;
        for (let i = 0; i < 10000; i++) {
            at = at.appendChild(document.createElement('div'));
            if (i >= 1000) at.style.display = 'contents';
        }
        at.textContent = 'the deepest';
        const p = document.createElement('p'); p.textContent = 'long '.repeat(1000000); document.body.append(p);
    </script>";
    let mut lab = lab(&[("/", page)]).await;
    let text = extract(&mut lab, None, json!({"kind": "markdown"})).await;
    let text = text.as_str().unwrap();
    assert!(text.starts_with("the deepest") && text.contains("\n[truncated: "), "{}", text.len());
    assert!(text.len() < 250_000, "{}", text.len());
}

const FORM: &str = r#"<form id=f name=order action=/go method=post>
<label>Name <input name=name value=Ann required></label><label>Pin <input type=password name=pin value=1234567></label>
<label><input type=checkbox name=news value=yes checked> News</label>
<label><input type=radio name=size value=s> Small</label><label><input type=radio name=size value=l checked> Large</label>
<label>Land <select name=land><option value=ch>Swiss<option value=it selected>Italy</select></label>
<label>Tags <select name=tags multiple><option selected>a<option>b<option selected>c</select></label>
<textarea name=note aria-label=Note>Hi</textarea><input type=hidden name=id value=7><button>Send</button></form>
<label>Search <input form=f name=outer value=o></label><label>Loose <input value=l></label>"#;

#[tokio::test]
async fn forms_are_returned_by_field_with_secrets_as_digests() {
    let mut lab = lab(&[("/", FORM)]).await;
    let form = extract(&mut lab, Some("#f"), json!({"kind": "form"})).await;
    assert_eq!((&form["name"], &form["method"]), (&json!("order"), &json!("post")));
    assert_eq!(form["action"], lab.url("/go"));
    let field = |name: &str| {
        let fields = form["fields"].as_array().unwrap();
        fields.iter().filter(|field| field["name"] == name).cloned().collect::<Vec<_>>()
    };
    assert_eq!(
        field("name"),
        [json!({"label": "Name", "type": "text", "name": "name", "value": "Ann", "required": true})]
    );
    assert!(field("pin")[0]["value"]["redacted"].is_string(), "{form}");
    assert_eq!((&field("news")[0]["checked"], &field("news")[0]["value"]), (&json!(true), &json!("yes")));
    let sizes: Vec<Value> = field("size").iter().map(|size| json!([size["label"], size["checked"]])).collect();
    assert_eq!(sizes, [json!(["Small", false]), json!(["Large", true])]);
    assert_eq!(field("land")[0]["value"], "it");
    assert_eq!(field("land")[0]["options"][1], json!({"value": "it", "label": "Italy", "selected": true}));
    assert_eq!(field("tags")[0]["value"], json!(["a", "c"]));
    assert_eq!((&field("note")[0]["value"], &field("id")[0]["value"]), (&json!("Hi"), &json!("7")));
    assert_eq!(field("outer").len(), 1, "a field elsewhere that belongs to the form: {form}");
    let all = extract(&mut lab, None, json!({"kind": "form"})).await;
    let names: Vec<&Value> = all["forms"].as_array().unwrap().iter().map(|form| &form["name"]).collect();
    assert_eq!(names, [&json!("order"), &Value::Null], "{all}");
    assert!(!all.to_string().contains("1234567"));
}

#[tokio::test]
async fn markup_and_attributes_come_as_the_document_has_them_but_for_secrets() {
    let page = "<div id=d data-x='1 &amp; 2'><i>a</i></div><p id=p><input type=password value=hunter22></p>";
    let mut lab = lab(&[("/", page)]).await;
    let outer = extract(&mut lab, Some("#d"), json!({"kind": "outerHtml"})).await;
    assert_eq!(outer, "<div id=\"d\" data-x=\"1 &amp; 2\"><i>a</i></div>");
    assert_eq!(extract(&mut lab, Some("#d"), json!({"kind": "attribute", "name": "data-x"})).await, "1 & 2");
    assert_eq!(extract(&mut lab, Some("#d"), json!({"kind": "attribute", "name": "data-y"})).await, Value::Null);
    let inner = extract(&mut lab, Some("#p"), json!({"kind": "html"})).await;
    assert_eq!(inner, "<input type=\"password\" value=\"[redacted]\">");
    let value = extract(&mut lab, Some("input"), json!({"kind": "attribute", "name": "value"})).await;
    assert!(value["redacted"].is_string(), "{value}");
}

#[tokio::test]
async fn a_part_by_pattern_a_count_and_the_address() {
    let page = "<p id=p>Order no. 4711 of 2 May</p><ul><li>a<li>b</ul><input type=password value=hunter22>";
    let mut lab = lab(&[("/", page)]).await;
    let of = |pattern: &str| json!({"kind": "text", "pattern": pattern});
    assert_eq!(extract(&mut lab, Some("#p"), of(r"no\. (\d+)")).await, "4711");
    assert_eq!(extract(&mut lab, Some("#p"), of(r"\d+")).await, "4711");
    assert_eq!(extract(&mut lab, Some("#p"), of("x(y)?|Order")).await, Value::Null, "its group matched nothing");
    assert_eq!(extract(&mut lab, Some("#p"), of("absent")).await, Value::Null);
    let secret = extract(&mut lab, Some("input"), json!({"kind": "value", "pattern": "^hunter"})).await;
    assert!(secret["redacted"].is_string(), "no pattern tells what a password begins with: {secret}");
    assert_eq!(extract(&mut lab, Some("li"), json!({"kind": "count"})).await, 2);
    assert_eq!(extract(&mut lab, Some("table"), json!({"kind": "count"})).await, 0);
    let path = extract(&mut lab, None, json!({"kind": "url", "pattern": "^https?://[^/]+(/.*)"})).await;
    assert_eq!(path, "/");
}

const PRODUCTS: &str = r#"<html lang=en><title>Mugs</title><meta name=description content="All mugs">
<meta property="og:title" content="Mugs!"><link rel=canonical href=/mugs>
<script type="application/ld+json">{"@type":"CollectionPage","name":"Mug shop"}</script>
<main><h1>Mugs</h1><table><tr><th>Name<th>Price<th>In stock</tr><tr><td><a href=/1>Red</a><td>$3.50<td>yes</tr>
<tr><td><a href=/2>Blue</a><td>$4<td>no</tr></table></main><nav aria-label=Ways><a href=/>Home</a></nav>"#;

#[tokio::test]
async fn a_schema_is_filled_from_the_page_and_what_is_missing_is_said() {
    let mut lab = lab(&[("/", PRODUCTS)]).await;
    let mug = json!({"type": "object", "properties": {
        "name": {"type": "string"}, "price": {"type": "number"}, "inStock": {"type": "boolean"},
        "url": {"type": "string", "format": "uri"}}});
    let schema =
        json!({"type": "object", "properties": {"mugs": {"type": "array", "items": mug}}, "required": ["mugs"]});
    let data = extract(&mut lab, None, json!({"kind": "schema", "schema": schema})).await;
    let wanted = json!({"mugs": [
        {"name": "Red", "price": 3.5, "inStock": true, "url": lab.url("/1")},
        {"name": "Blue", "price": 4.0, "inStock": false, "url": lab.url("/2")}]});
    assert_eq!(data, wanted);
    let schema = json!({"type": "object", "properties": {"isbn": {"type": "string"}}, "required": ["isbn"]});
    let data = extract(&mut lab, None, json!({"kind": "schema", "schema": schema})).await;
    assert_eq!(data["$unfilled"], json!(["/isbn"]));
    let empty = extract(&mut lab, None, json!({"kind": "schema", "schema": {}})).await;
    assert!(empty["$note"].is_string() && empty["markdown"].as_str().unwrap().contains("# Mugs"), "{empty}");
    let bad = json!({"type": "extract", "query": {"kind": "schema", "schema": {"type": "objekt"}}});
    assert_eq!(failed(lab.step(json!({}), bad).await).cause, Cause::InvalidArgument);
}

#[tokio::test]
async fn the_metadata_of_a_page_is_returned() {
    let mut lab = lab(&[("/", PRODUCTS)]).await;
    let told = extract(&mut lab, None, json!({"kind": "metadata"})).await;
    assert_eq!(
        (&told["title"], &told["language"], &told["pageType"]),
        (&json!("Mugs"), &json!("en"), &json!("CollectionPage"))
    );
    assert_eq!(told["canonical"], lab.url("/mugs"));
    assert_eq!((&told["meta"]["description"], &told["openGraph"]["og:title"]), (&json!("All mugs"), &json!("Mugs!")));
    assert_eq!(told["headings"], json!([{"level": 1, "text": "Mugs"}]));
    let marks: Vec<Value> = told["landmarks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|mark| json!([mark["role"], mark["name"], mark["links"]]))
        .collect();
    assert_eq!(marks, [json!(["main", "", 2]), json!(["navigation", "Ways", 1])]);
}
