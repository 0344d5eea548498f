//! Frames of either process, and shadow roots.

use cuebook_grammar::outcome::Cause;
use serde_json::json;

use crate::lab::{css_of, failed, lab, succeeded};

#[tokio::test]
async fn frames_of_either_process_take_clicks_and_text() {
    let inner = "<button id=go onclick=\"this.textContent = 'done'\">Go</button><input id=i>";
    for host in ["127.0.0.1", "localhost"] {
        let outer = format!(
            "<div style='height:1500px'></div><iframe src='http://{host}:PORT/inner' style='border:7px solid;padding:9px'></iframe>"
        );
        let mut lab = lab(&[("/", &outer), ("/inner", inner)]).await;
        let candidates =
            json!({"go": css_of("#go"), "i": {"strategy": "css", "selector": "#i", "frame": [css_of("iframe")]}});
        let step = json!({"type": "click", "targetRef": "go", "post": [{"kind": "elementTextEquals", "target": "go", "text": "done"}]});
        succeeded(lab.step(candidates.clone(), step).await);
        succeeded(lab.step(candidates.clone(), json!({"type": "type", "targetRef": "i", "text": "hé"})).await);
        let success = succeeded(
            lab.step(candidates, json!({"type": "extract", "query": {"targetRef": "i", "kind": "value"}})).await,
        );
        assert_eq!(success.data, Some(json!("hé")), "{host}");
    }
}

#[tokio::test]
async fn an_overlay_in_the_outer_document_covers_what_is_in_a_frame() {
    let outer = "<iframe src='/inner'></iframe><div id=veil style='position:fixed;inset:0'></div>";
    let mut lab = lab(&[("/", outer), ("/inner", "<button id=go>Go</button>")]).await;
    let failure = failed(lab.click("#go").await);
    assert_eq!(failure.cause, Cause::Covered);
    assert_eq!(failure.facts.blocker.as_deref(), Some("div#veil"));
}

#[tokio::test]
async fn shadow_roots_are_no_obstacle() {
    let page = "<div id=host></div><script>const r = host.attachShadow({mode: 'open'}); r.innerHTML = '<button>In</button><input><p></p>'; \
        r.querySelector('button').onclick = () => { r.querySelector('p').textContent = 'clicked'; };</script>";
    let mut lab = lab(&[("/", page)]).await;
    let candidates =
        json!({"go": {"strategy": "byRole", "role": "button", "name": "In"}, "i": css_of("input"), "p": css_of("p")});
    let step = json!({"type": "click", "targetRef": "go", "post": [{"kind": "elementTextEquals", "target": "p", "text": "clicked"}]});
    succeeded(lab.step(candidates.clone(), step).await);
    succeeded(lab.step(candidates, json!({"type": "type", "targetRef": "i", "text": "deep"})).await);
    assert_eq!(lab.eval("r.querySelector('input').value").await, "deep");
}

#[tokio::test]
async fn a_document_that_is_an_editor_gets_the_focus_by_being_typed_into() {
    let inner = "<body id=it contenteditable><p><br></p></body>";
    let mut lab = lab(&[("/", "<input autofocus><iframe src='/inner'></iframe>"), ("/inner", inner)]).await;
    let it = json!({"it": {"strategy": "css", "selector": "#it", "frame": [css_of("iframe")]}});
    succeeded(lab.step(it, json!({"type": "type", "targetRef": "it", "text": "hello"})).await);
    assert_eq!(lab.eval("frames[0].it.innerText.trim()").await, "hello");
}

#[tokio::test]
async fn parts_of_a_shadow_tree_that_lie_over_it_are_no_tips() {
    let page = "<style>x-option { display: block; width: 200px; padding: 20px; position: relative }</style>\
        <x-option id=it role=option>Graz</x-option><script>const root = it.attachShadow({mode: 'open'}); \
        root.innerHTML = '<span style=\"position: absolute; right: 0\">Graz</span><slot></slot>'; \
        it.onclick = () => { document.title = 'chosen' };</script>";
    let mut lab = lab(&[("/", page)]).await;
    let step = json!({"type": "click", "targetRef": "it", "post": [{"kind": "titleMatches", "pattern": "chosen"}]});
    succeeded(lab.step(json!({"it": css_of("#it")}), step).await);
}
