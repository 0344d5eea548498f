//! Reading a page without a model.

use cuebook_grammar::action::{FindElements, ResolveSelector, SearchPage};
use cuebook_grammar::geometry::Rect;
use cuebook_grammar::observation::Scope;
use cuebook_grammar::seam::{Finding, Query};
use serde_json::{Value, json};

use crate::stage::{Stage, named, serve};

pub(crate) fn search(query: &str) -> SearchPage {
    serde_json::from_value(json!({ "query": query })).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_is_searched_and_its_elements_are_found() {
    let mut stage = Stage::on(
        "<p>Order 4711 is ready</p><ul><li id=li>Invoice 7 <a href=/seven>Open</a><li>Invoice 8 <a href=/eight>Open</a></ul><button id=go><span>Go</span></button><button id=no style='display:none'>No</button>",
    )
    .await;
    let seen = stage.observe(Scope::View).await;
    let query: SearchPage = serde_json::from_value(json!({ "query": "Invoice \\d", "regex": true })).unwrap();
    let Finding::Data(hits) = stage.explore(Query::Search(query)).await else { panic!("no data") };
    assert_eq!(hits["total"], 2);
    assert_eq!(hits["hits"][1]["match"], "Invoice 8");
    assert_eq!(hits["hits"][1]["nearest"], seen.candidates[1].id.to_string());
    let query: FindElements = serde_json::from_value(json!({ "selector": "a", "attributes": ["href"] })).unwrap();
    let Finding::Data(found) = stage.explore(Query::Find(query)).await else { panic!("no data") };
    assert_eq!(found["total"], 2);
    assert!(found["elements"][0]["attributes"]["href"].as_str().unwrap().ends_with("/seven"), "{found}");
    let query: FindElements = serde_json::from_value(json!({ "selector": "button" })).unwrap();
    let Finding::Data(buttons) = stage.explore(Query::Find(query)).await else { panic!("no data") };
    let go: Option<Rect> = serde_json::from_value(buttons["elements"][0]["box"].clone()).unwrap();
    assert_eq!(go, named(&seen, "Go").rect, "{buttons}");
    assert_eq!(buttons["elements"][1].get("box"), None, "{buttons}");
    let resolve = |value: Value| -> ResolveSelector { serde_json::from_value(value).unwrap() };
    let go = named(&seen, "Go").id;
    assert_eq!(stage.explore(Query::Resolve(resolve(json!({ "css": "#go" })))).await, Finding::Candidate(go));
    for refused in [json!({ "css": "a" }), json!({ "css": "#no" }), json!({ "css": "p[" }), json!({ "xpath": "//x[" })]
    {
        let finding = stage.explore(Query::Resolve(resolve(refused.clone()))).await;
        assert!(matches!(finding, Finding::Refused(_)), "{refused}: {finding:?}");
    }
    let Finding::Data(Value::String(text)) = stage.explore(Query::Snapshot(Scope::View)).await else {
        panic!("no text")
    };
    assert!(text.contains("- button \"Go\""), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn elements_are_found_within_a_candidate() {
    let mut stage =
        Stage::on("<button id=go><b>Go</b> <b>now</b></button><button><b>Later</b></button><b>Never</b>").await;
    let seen = stage.observe(Scope::View).await;
    let mut totals = Vec::new();
    for within in [None, Some(named(&seen, "Go now").id), Some(named(&seen, "Later").id)] {
        let query = json!({ "selector": "b", "within": within.map(|id| id.to_string()) });
        let Finding::Data(found) = stage.explore(Query::Find(serde_json::from_value(query).unwrap())).await else {
            panic!("no data")
        };
        totals.push(found["total"].as_u64().unwrap());
    }
    assert_eq!(totals, [4, 2, 1]);
    let gone: FindElements = serde_json::from_value(json!({ "selector": "b", "within": "c99" })).unwrap();
    assert!(matches!(stage.explore(Query::Find(gone)).await, Finding::Refused(why) if why.contains("`c99`")));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_found_in_a_frame_is_tagged_with_it() {
    let frame = "<iframe src='http://localhost:PORT/inner?a=1' width=300 height=200></iframe>";
    let port = serve(vec![
        ("/", format!("<p>Invoice 7</p><a href=/x>Open</a>{frame}")),
        ("/inner", "<p>Invoice 8</p><a href=/y>Open</a>".to_owned()),
    ]);
    let mut stage = Stage::at(&format!("http://127.0.0.1:{port}/")).await;
    stage.observe(Scope::View).await;
    let url = format!("http://localhost:{port}/inner?a=1");
    let find: FindElements = serde_json::from_value(json!({ "selector": "a" })).unwrap();
    for (query, list) in [(Query::Search(search("Invoice")), "hits"), (Query::Find(find), "elements")] {
        let Finding::Data(found) = stage.explore(query).await else { panic!("no data") };
        let tags: Vec<_> =
            found[list].as_array().unwrap().iter().map(|hit| (&hit["frame"], &hit["frameUrl"])).collect();
        assert_eq!(tags, [(&json!(0), &Value::Null), (&json!(1), &json!(url))], "{found}");
    }
}
