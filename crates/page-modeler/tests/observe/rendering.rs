//! The sketch, and observations as text.

use cuebook_grammar::observation::{Observation, Scope};
use cuebook_grammar::render::{TextOptions, text, yaml};

use serde_json::json;

use crate::stage::Stage;

#[tokio::test(flavor = "multi_thread")]
async fn the_page_is_sketched_and_rendered() {
    let mut stage = Stage::on(
        "<html lang=de><title>Shop</title><meta name=description content='All of it'><meta property=og:type content=website>
         <h1>Users</h1><form id=login><input aria-label=User value=me><input type=password aria-label=Pass><select aria-label=Size><option>S<option selected>M</select></form>
         <table id=results><caption>Last <b>results</b></caption><tr><th>a<th>b<tr><td>1<td>2<tr><td>3<td>4</table><div role=alert>Saved</div><button disabled>Go \"now\"</button>",
    )
    .await;
    let seen = stage.observe(Scope::View).await;
    let sketch = &seen.sketch;
    assert_eq!((sketch.page_type.as_deref(), sketch.language.as_deref()), (Some("website"), Some("de")));
    let landmarks: Vec<_> = sketch.landmarks.iter().map(|l| l.summary.as_str()).collect();
    assert_eq!(landmarks, ["form#login: 3 inputs", "table#results \"Last results\": 2 cols, 2 rows"]);
    assert_eq!(sketch.headings[0].text, "Users");
    assert_eq!((sketch.live[0].kind.as_str(), sketch.live[0].text.as_str()), ("alert", "Saved"));
    let text = text(&seen, &TextOptions::default());
    for line in [
        "- textbox \"User\" [c1] value=\"me\"",
        "- combobox \"Size\" [c3] value=\"M\" options=\"S\"|\"M\"",
        "- h1 \"Users\"",
        "landmarks form#login: 3 inputs; table#results 'Last results': 2 cols, 2 rows",
        "- button \"Go \\\"now\\\"\" [c4] [disabled]",
        "alert \"Saved\"",
    ] {
        assert!(text.contains(line), "{line} in\n{text}");
    }
    assert!(
        yaml(&seen, &TextOptions::default()).contains("- textbox \"User\" [c1]: \"me\""),
        "{}",
        yaml(&seen, &TextOptions::default())
    );
    let back: Observation = serde_json::from_str(&serde_json::to_string(&seen).unwrap()).unwrap();
    assert_eq!(back.fingerprint, seen.fingerprint);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_page_states_about_its_subject_is_sketched_and_not_rendered() {
    let stated = async |html: &str| {
        let seen = Stage::on(html).await.observe(Scope::View).await;
        let text = text(&seen, &TextOptions::default());
        assert!(!text.contains("12.50") && !text.contains("Ann"), "{text}");
        serde_json::to_value(seen.sketch.stated).unwrap()
    };
    let linked = r#"<script type="application/ld+json">{"@type":"WebSite","name":"Shop"}</script>
        <script type="application/ld+json">[1, {"</script><meta property="og:title" content="Other">
        <script type="application/ld+json">{"@graph":[{"@type":["Product","Thing"],"name":"Mug","author":[{"name":"Ann"}],
        "offers":[{"price":"12.50","priceCurrency":"EUR"}],"datePublished":"2026-01-31"}]}</script><button>Buy</button>"#;
    let product = json!({ "name": "Mug", "price": "12.50", "currency": "EUR", "author": "Ann", "date": "2026-01-31" });
    assert_eq!(stated(linked).await, product);
    let graph = "<meta property='og:title' content='Mug'><meta property='product:price:amount' content='12.50'>
        <meta property='product:price:currency' content='EUR'><meta property='article:author' content='Ann'>";
    assert_eq!(stated(graph).await, json!({ "name": "Mug", "price": "12.50", "currency": "EUR", "author": "Ann" }));
    let long =
        format!(r#"<script type="application/ld+json">{{"@type":"Product","name":"{}"}}</script>"#, "x".repeat(900));
    assert_eq!(stated(&long).await["name"].as_str().map(str::len), Some(200));
    assert_eq!(stated("<script type='application/ld+json'>{\"name\":{\"name\":{}}}</script>").await, json!({}));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_box_has_its_center_on_the_wire_and_only_there() {
    let mut stage = Stage::on("<body style='margin:0'><button style='position:absolute;left:10px;top:20px;width:50px;height:30px'>Go</button>").await;
    let seen = stage.observe(Scope::View).await;
    let written = serde_json::to_value(&seen).unwrap();
    let go = &written["candidates"][0];
    assert_eq!(go["box"], json!({ "x": 10.0, "y": 20.0, "width": 50.0, "height": 30.0 }));
    assert_eq!(go["center"], json!({ "x": 35.0, "y": 35.0 }));
    assert_eq!(serde_json::to_value(&seen.candidates[0]).unwrap().get("center"), None, "records keep the box alone");
    let mut boxless = seen.clone();
    boxless.candidates[0].rect = None;
    assert_eq!(serde_json::to_value(&boxless).unwrap()["candidates"][0].get("center"), None);
    let back: Observation = serde_json::from_value(written).unwrap();
    assert_eq!(serde_json::to_value(&back).unwrap(), serde_json::to_value(&seen).unwrap());
}
