//! Selectors and texts in shadow roots.

use serde_json::json;

use crate::stage::{locate, stage, texts};

const PAGE: &str = "<section><div id=host><b>light</b></div></section><button>out</button><script>\
    host.attachShadow({mode: 'open'}).innerHTML = '<p class=in>shade <span id=inner></span></p><slot></slot>';\
    host.shadowRoot.getElementById('inner').attachShadow({mode: 'open'}).innerHTML = '<button>deep</button>';</script>";

#[tokio::test(flavor = "multi_thread")]
async fn combinators_and_negations_see_through_the_boundary() {
    let stage = stage().await;
    let (_page, probe) = stage.page_of(PAGE).await;
    let cases = [
        ("button", 2),
        ("section button", 1),
        ("#host > p", 1),
        ("section > p", 0),
        ("p > span > button", 1),
        ("#host > .in, body > button", 2),
        ("button:not(#host button)", 1),
        ("button:not(:not(#host button))", 1),
        (":is(section, nav) button", 1),
        ("div:has(button)", 1),
        ("section:has(> div .in + slot)", 1),
        ("div:has(> button)", 0),
        ("p + slot", 1),
        ("p ~ slot", 1),
        ("[class=\"in\"] span", 1),
        ("nav, :host", 0),
    ];
    for (selector, count) in cases {
        let located = locate(&probe, json!({ "strategy": "css", "selector": selector })).await;
        assert_eq!(located.matches.len(), count, "{selector}: {:?}", texts(&located));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tree_comes_before_the_shadow_trees_of_its_hosts() {
    let stage = stage().await;
    let (_page, probe) = stage.page_of(PAGE).await;
    let located = locate(&probe, json!({ "strategy": "byRole", "role": "button" })).await;
    assert_eq!(texts(&located), ["out", "deep"]);
    let light = locate(&probe, json!({ "strategy": "text", "text": "light" })).await;
    assert_eq!(light.unique().map(|found| found.facts.tag.as_str()), Some("b"), "{:?}", texts(&light));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_selector_of_countless_parts_is_refused() {
    let stage = stage().await;
    let (_page, probe) = stage.page_of(PAGE).await;
    let selector = format!("p{}", ",p".repeat(600));
    let locator = serde_json::from_value(json!({ "strategy": "css", "selector": selector })).unwrap();
    let located = probe.locate(&locator, &cuebook_probe::Ask::default(), crate::stage::until()).await;
    assert!(matches!(located, Err(cuebook_probe::ProbeError::BadSelector { .. })), "{located:?}");
}
