//! Reads of text, values and HTML, and pictures in every mode.

use cuebook_executor::ExecutorOptions;
use cuebook_executor::ScreenshotMode;
use serde_json::json;

use crate::lab::{css_of, lab, lab_with, quick, succeeded};

#[tokio::test]
async fn reading_returns_text_values_and_html() {
    let page = "<div id=d>one <b>two</b></div><input id=i value=v><input id=p type=password value=hidden1>";
    let mut lab = lab(&[("/", page)]).await;
    for (target, kind, expected) in
        [("#d", "text", json!("one two")), ("#d", "html", json!("one <b>two</b>")), ("#i", "value", json!("v"))]
    {
        let step = json!({"type": "extract", "query": {"targetRef": "it", "kind": kind}});
        assert_eq!(succeeded(lab.step(json!({"it": css_of(target)}), step).await).data, Some(expected));
    }
    let step = json!({"type": "extract", "query": {"targetRef": "it", "kind": "value"}});
    let told = succeeded(lab.step(json!({"it": css_of("#p")}), step).await).data.unwrap();
    assert!(told["redacted"].is_string() && !told.to_string().contains("hidden1"));
    let dom = succeeded(lab.step(json!({}), json!({"type": "getDom"})).await).data.unwrap();
    assert!(dom.as_str().unwrap().contains("<b>two</b>") && !dom.as_str().unwrap().contains("hidden1"), "{dom}");
    let part = json!({"type": "getDom", "targetRef": "it"});
    let part = succeeded(lab.step(json!({"it": css_of("#d")}), part).await).data.unwrap();
    assert!(part.as_str().unwrap().contains("<b>two</b>") && !part.as_str().unwrap().contains("<input"), "{part}");
}

#[tokio::test]
async fn what_is_longer_than_an_answer_is_cut_and_says_so() {
    let page = "<div id=d></div><textarea id=t></textarea><script>
        d.textContent = 'word '.repeat(50000) + 'end'; t.value = d.textContent;
    </script>";
    let mut lab = lab(&[("/", page)]).await;
    for (target, kind) in [("#d", "text"), ("#d", "html"), ("#t", "value")] {
        let step = json!({"type": "extract", "query": {"targetRef": "it", "kind": kind}});
        let told = succeeded(lab.step(json!({"it": css_of(target)}), step).await).data.unwrap();
        let text = told.as_str().unwrap();
        assert!(
            text.ends_with("of 250003 characters]") && text.len() < 201_000,
            "{kind}: {}",
            &text[text.len() - 80..]
        );
    }
    let dom = succeeded(lab.step(json!({}), json!({"type": "getDom"})).await).data.unwrap();
    assert!(dom.as_str().unwrap().contains("\n[truncated: 200000 of "), "{}", dom.as_str().unwrap().len());
}

#[tokio::test]
async fn pictures_are_taken_as_the_mode_says() {
    let options = ExecutorOptions { screenshots: ScreenshotMode::Every, ..quick() };
    let mut lab = lab_with(&[("/", "<button id=go>Go</button>")], options).await;
    lab.shelf.0.lock().unwrap().clear();
    let success = succeeded(lab.click("#go").await);
    assert_eq!(success.evidence.artifacts.len(), 2);
    let success =
        succeeded(lab.step(json!({"go": css_of("#go")}), json!({"type": "screenshot", "targetRef": "go"})).await);
    assert_eq!(success.data.unwrap()["kind"], "screenshot");
    let kept = lab.shelf.0.lock().unwrap();
    assert!(kept.iter().all(|(_, bytes)| bytes.starts_with(b"\x89PNG")));
}
