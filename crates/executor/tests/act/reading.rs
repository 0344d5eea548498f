//! Reads of text, values and HTML, and pictures in every mode.

use cuebook_executor::ExecutorOptions;
use cuebook_executor::ScreenshotMode;
use cuebook_grammar::seam::ArtifactKind;
use cuebook_probe::picture::Canvas;
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
    let page = "<button id=go style='width:60px' onclick='this.textContent = `Gone`'>Go</button>";
    let mut lab = lab_with(&[("/", page)], options).await;
    lab.shelf.0.lock().unwrap().clear();
    let success = succeeded(lab.click("#go").await);
    let kinds: Vec<_> = success.evidence.artifacts.iter().map(|artifact| artifact.kind.as_str()).collect();
    assert_eq!(kinds, ["screenshotBefore", "screenshotTarget", "screenshotAfter", "axSubtree", "domDiff"]);
    {
        let kept = lab.shelf.0.lock().unwrap();
        assert_eq!(Canvas::read(&kept[1].1).unwrap().width(), 60, "the target alone");
        let diff = String::from_utf8_lossy(&kept[4].1);
        assert!(diff.contains("-  - button \"Go\"\n") && diff.contains("+  - button \"Gone\"\n"), "{diff}");
    }
    let success =
        succeeded(lab.step(json!({"go": css_of("#go")}), json!({"type": "screenshot", "targetRef": "go"})).await);
    assert_eq!(success.data.unwrap()["kind"], "screenshot");
    let kept = lab.shelf.0.lock().unwrap();
    let is_text = |kind: &ArtifactKind| matches!(kind, ArtifactKind::AxSubtree | ArtifactKind::DomDiff);
    assert!(kept.iter().all(|(kind, bytes)| is_text(kind) || bytes.starts_with(b"\x89PNG")));
}

#[tokio::test]
async fn a_step_keeps_the_selectors_of_its_target() {
    let page = "<body style='margin:0;height:3000px'><form id=f><input><svg><g><text id=t>x</text></g></svg>\
        <input id='' name=town aria-label=Town style='position:absolute;top:2000px;left:0;width:100px;height:20px;\
        box-sizing:border-box'></form>";
    let mut lab = lab(&[("/", page)]).await;
    let town = json!({"town": css_of("[name=town]")});
    let success = succeeded(lab.step(town, json!({"type": "click", "targetRef": "town"})).await);
    let seen = serde_json::to_value(success.evidence.selectors.unwrap()).unwrap();
    let expected = json!({
        "name": "town", "css": "#f > input:nth-of-type(2)", "xpath": "/html[1]/body[1]/form[1]/input[2]",
        "ariaLabel": "Town", "point": {"x": 50.0, "y": 2010.0},
    });
    assert_eq!(seen, expected);
    for (expression, selector) in [("document.querySelector", "css"), ("byPath", "xpath")] {
        let by_path = "const byPath = (x) => document.evaluate(x, document, null, 9).singleNodeValue;";
        let found = format!("(() => {{ {by_path} return {expression}({}).name }})()", seen[selector]);
        assert_eq!(lab.eval(&found).await, "town", "{selector}");
    }
    let text = json!({"t": css_of("#t")});
    let success = succeeded(lab.step(text, json!({"type": "hover", "targetRef": "t"})).await);
    let seen = success.evidence.selectors.unwrap();
    assert_eq!((seen.id.as_deref(), seen.text.as_deref(), seen.css.as_deref()), (Some("t"), Some("x"), Some("#t")));
    let by_path = format!("document.evaluate({:?}, document, null, 9).singleNodeValue.id", seen.xpath.unwrap());
    assert_eq!(lab.eval(&by_path).await, "t");
}
