//! Tests of the elements that each strategy and each narrowing part of a locator finds.

use cuebook_grammar::locator::Locator;
use cuebook_probe::{Ask, ProbeError};
use serde_json::json;

use crate::stage::{locate, stage, texts, until};

#[tokio::test(flavor = "multi_thread")]
async fn locators_find_what_they_name() {
    let stage = stage().await;
    let (_page, probe) = stage
        .page_of(
            r#"<main><h2>People</h2>
            <table><tr><td>john@example.com</td><td><button>Edit</button></td></tr>
                   <tr><td>jane@example.com</td><td><button>Edit</button></td></tr></table>
            <label for=m>E-mail</label><input id=m placeholder="you@host" data-testid=mail>
            <p>Total: <b>5</b></p><img alt="A cat" src=x><span title="Hint">?</span>
            <button>Log in</button><button>Log in and set a password</button>
            <div id=host></div></main>
            <script>host.attachShadow({mode:'open'}).innerHTML='<button class=deep>Deep</button>'</script>"#,
        )
        .await;
    let cases = [
        (json!({ "strategy": "byTestId", "testId": "mail" }), 1),
        (json!({ "strategy": "byRole", "role": "button", "name": "Edit" }), 2),
        (json!({ "strategy": "byRole", "role": "button", "name": "Edit", "nth": 1 }), 1),
        (json!({ "strategy": "byRole", "role": "button", "name": "log in" }), 1),
        (json!({ "strategy": "byRole", "role": "button", "name": "log in", "exact": false }), 2),
        (json!({ "strategy": "byRole", "role": "button", "name": { "regex": "^Log in$" } }), 1),
        (json!({ "strategy": "byRole", "role": "heading", "states": { "level": 2 } }), 1),
        (json!({ "strategy": "byLabel", "text": "E-mail" }), 1),
        (json!({ "strategy": "byPlaceholder", "text": "you@" }), 1),
        (json!({ "strategy": "byAltText", "text": "a cat" }), 1),
        (json!({ "strategy": "byTitle", "text": "Hint" }), 1),
        (json!({ "strategy": "text", "text": "total: 5" }), 1),
        (json!({ "strategy": "text", "text": { "regex": "^Total: \\d$" } }), 1),
        (json!({ "strategy": "css", "selector": "button.deep" }), 1),
        (json!({ "strategy": "xpath", "expression": "//table//button" }), 2),
        (
            json!({ "strategy": "byRole", "role": "button", "within": { "strategy": "byRole", "role": "row", "hasText": "jane@example.com" } }),
            1,
        ),
        (
            json!({ "strategy": "byRole", "role": "row", "has": { "strategy": "byRole", "role": "button", "name": "Edit" } }),
            2,
        ),
        (json!({ "strategy": "byRole", "role": "button", "name": "Nothing" }), 0),
    ];
    for (locator, count) in cases {
        let located = locate(&probe, locator.clone()).await;
        assert_eq!(located.matches.len(), count, "{locator}: {:?}", texts(&located));
    }
    let total = locate(&probe, json!({ "strategy": "text", "text": "Total" })).await;
    assert_eq!(total.unique().unwrap().facts.tag, "p");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_is_found_from_wherever_it_comes() {
    let stage = stage().await;
    let (_page, probe) = stage
        .page_of(
            "<style>.a::before { content: 'Save ' } .b::after { content: ' all' }</style>
             <button>Save \u{ad}all</button><button>Other</button><button></button>
             <button class=a>all</button><button class=b>Save</button><button aria-label='Save all'>x</button>
             <span id=s>Save all</span><button aria-labelledby=s>x</button><button title='Save all'></button>
             <button id=l>x</button><label for=l>Save all</label><button aria-owns=s></button>
             <button><img alt='Save all' src=x></button><input type=submit value='Save all'>
             <div role=button>Save<!-- not --> all</div><div role=button id=host></div>
             <script>host.attachShadow({ mode: 'open' }).innerHTML = 'Save all'</script>",
        )
        .await;
    let located = locate(&probe, json!({ "strategy": "byRole", "role": "button", "name": "Save all" })).await;
    assert_eq!(located.matches.len(), 12, "{:?}", texts(&located));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_selector_that_the_browser_refuses_is_said_to_be_bad() {
    let stage = stage().await;
    let (_page, probe) = stage.page_of("<p>x").await;
    for locator in
        [json!({ "strategy": "css", "selector": "p[" }), json!({ "strategy": "xpath", "expression": "//p[" })]
    {
        let locator: Locator = serde_json::from_value(locator).unwrap();
        let error = probe.locate(&locator, &Ask::default(), until()).await.unwrap_err();
        assert!(matches!(error, ProbeError::BadSelector { .. }), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_text_means_the_innermost_element_or_the_outer_one_that_has_it_itself() {
    let stage = stage().await;
    let (_page, probe) = stage
        .page_of(
            "<section><div id=a>pattern <b>here</b></div><div id=b>other</div><p id=c>pattern</p></section>\
             <input type=submit value='Send it'><script>var pattern;</script>",
        )
        .await;
    let div = json!({ "strategy": "css", "selector": "div" });
    let cases = [
        (json!({ "strategy": "text", "text": "pattern here" }), 1),
        (json!({ "strategy": "text", "text": "pattern", "exact": false }), 2),
        (json!({ "strategy": "text", "text": "pattern", "exact": true }), 1),
        (json!({ "strategy": "text", "text": "pattern", "exact": false, "within": div }), 1),
        (json!({ "strategy": "text", "text": "Send it" }), 1),
        (json!({ "strategy": "css", "selector": "div", "hasText": "pattern" }), 1),
        (json!({ "strategy": "css", "selector": "div", "hasNotText": "pattern" }), 1),
        (json!({ "strategy": "css", "selector": "div", "hasNotText": { "regex": "^(pattern|other)" } }), 0),
        (json!({ "strategy": "css", "selector": "div", "has": { "strategy": "css", "selector": "b" } }), 1),
        (json!({ "strategy": "css", "selector": "div, p", "hasNot": { "strategy": "css", "selector": "b" } }), 2),
    ];
    for (locator, count) in cases {
        let located = locate(&probe, locator.clone()).await;
        assert_eq!(located.matches.len(), count, "{locator}: {:?}", texts(&located));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_assistive_technology_skips_is_found_by_role_only_on_request() {
    let stage = stage().await;
    let (_page, probe) = stage
        .page_of(
            "<button>Go</button><button hidden>Go</button><div aria-hidden=true><button>Go</button></div>\
             <div style='opacity:0'><button>Go</button></div>",
        )
        .await;
    let go = json!({ "strategy": "byRole", "role": "button", "name": "Go" });
    let mut all = go.clone();
    all["includeHidden"] = true.into();
    let mut seen = all.clone();
    seen["visible"] = true.into();
    let mut unseen = all.clone();
    unseen["visible"] = false.into();
    for (locator, count) in [(go, 2), (all, 4), (seen, 3), (unseen, 1)] {
        assert_eq!(locate(&probe, locator.clone()).await.matches.len(), count, "{locator}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn partly_on_is_neither_on_nor_off() {
    let stage = stage().await;
    let (_page, probe) = stage
        .page_of(
            "<input type=checkbox checked><input type=checkbox><input type=checkbox id=m><div role=checkbox>x</div>\
             <button aria-pressed=mixed>x</button><button>y</button><script>m.indeterminate = true</script>",
        )
        .await;
    let count = async |role: &str, states: serde_json::Value| {
        let locator = json!({ "strategy": "byRole", "role": role, "states": states });
        locate(&probe, locator).await.matches.len()
    };
    assert_eq!(count("checkbox", json!({ "checked": true })).await, 1);
    assert_eq!(count("checkbox", json!({ "checked": false })).await, 2);
    assert_eq!(count("checkbox", json!({ "checked": "mixed" })).await, 1);
    assert_eq!(count("button", json!({ "pressed": false })).await, 1);
    assert_eq!(count("button", json!({ "pressed": "mixed" })).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_xpath_is_relative_to_the_element_that_it_is_searched_in() {
    let stage = stage().await;
    let (_page, probe) = stage.page_of("<div><p>1</p></div><div><p>2</p><p>3</p></div>").await;
    let within = json!({ "strategy": "css", "selector": "div", "nth": 1 });
    for (expression, count) in [("//p", 2), ("./p[1]", 1), (".", 1), ("p", 2)] {
        let locator = json!({ "strategy": "xpath", "expression": expression, "within": within });
        assert_eq!(locate(&probe, locator).await.matches.len(), count, "{expression}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_inner_expression_may_start_from_the_element_around_it() {
    let stage = stage().await;
    let (_page, probe) = stage.page_of("<div><b>x</b></div><div><p><b>x</b></p></div><div><span>y</span></div>").await;
    let within = |name: &str, inner: serde_json::Value| json!({ "strategy": "css", "selector": "div", name: inner });
    let css = json!({ "strategy": "css", "selector": ":scope > b" });
    let xpath = json!({ "strategy": "xpath", "expression": "./b" });
    for inner in [css, xpath] {
        for (name, count) in [("has", 1), ("hasNot", 2)] {
            let locator = within(name, inner.clone());
            assert_eq!(locate(&probe, locator.clone()).await.matches.len(), count, "{locator}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_does_not_say_that_it_expands_is_not_collapsed() {
    let stage = stage().await;
    let (_page, probe) = stage
        .page_of("<button aria-expanded=false>a</button><button aria-expanded=true>b</button><button>c</button>")
        .await;
    for (expanded, name) in [(false, "a"), (true, "b")] {
        let located =
            locate(&probe, json!({ "strategy": "byRole", "role": "button", "states": { "expanded": expanded } })).await;
        let names: Vec<_> = located.matches.iter().map(|found| found.facts.name.as_str()).collect();
        assert_eq!(names, [name]);
    }
}
