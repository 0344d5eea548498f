//! Frames: searched together, entered by a path, placed on the page.

use cuebook_grammar::geometry::Point;
use serde_json::json;

use crate::stage::{locate, serve, stage, texts, until};

#[tokio::test(flavor = "multi_thread")]
async fn frames_are_searched_and_placed_across_processes() {
    let inner = "<body style='margin:0'><button style='position:absolute;left:10px;top:20px;width:60px;height:20px'>In</button>";
    let port = serve(vec![
        (
            "/",
            "<body style='margin:0'><button>Out</button>
             <iframe name=one src='http://localhost:PORT/middle' style='position:absolute;left:100px;top:50px;width:400px;height:300px;border:5px solid'></iframe>"
                .to_owned(),
        ),
        (
            "/middle",
            "<body style='margin:0'><iframe name=two src='http://127.0.0.1:PORT/inner' style='position:absolute;left:7px;top:9px;width:200px;height:100px;border:0;padding:3px'></iframe>"
                .to_owned(),
        ),
        ("/inner", inner.to_owned()),
    ]);
    let stage = stage().await;
    let (page, probe) = stage.open(&format!("http://127.0.0.1:{port}/")).await;
    assert_eq!(page.frames().len(), 3);
    assert!(page.frames().iter().filter(|frame| frame.is_session_root).count() >= 2);
    // A frame can neither take the place of what the page itself has nor make it ambiguous.
    let outermost = locate(&probe, json!({ "strategy": "byRole", "role": "button" })).await;
    assert_eq!(texts(&outermost), ["Out"]);
    let elsewhere = locate(&probe, json!({ "strategy": "byRole", "role": "button", "name": "In" })).await;
    assert_eq!(texts(&elsewhere), ["In"]);
    let path = json!([{ "strategy": "css", "selector": "iframe" , "nth": 0 }, { "strategy": "css", "selector": "[name=two]" }]);
    let inside = locate(&probe, json!({ "strategy": "byRole", "role": "button", "frame": path })).await;
    let found = inside.unique().unwrap();
    let frame = page.frames()[2].id.clone();
    assert_eq!(found.key.frame, frame.as_str());
    let placement = probe.frame_offset(&frame, until()).await.unwrap();
    assert_eq!(placement.origin, Point { x: 100.0 + 5.0 + 7.0 + 3.0, y: 50.0 + 5.0 + 9.0 + 3.0 });
    let rect = placement.rect(found.facts.rect.unwrap());
    assert_eq!((rect.x, rect.y), (125.0, 87.0));
}
