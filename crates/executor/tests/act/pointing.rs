//! The pointer beyond clicks: hovering, holding, dragging, scrolling.

use cuebook_cdp::protocol::browser_protocol::input::{DispatchMouseEventParams, DispatchMouseEventType};
use cuebook_grammar::outcome::{Cause, StepOutcome};
use serde_json::json;

use crate::lab::{LOGGING, Labs, css_of, failed, lab, soon, succeeded};

#[tokio::test]
async fn dragging_works_with_mouse_events_and_with_html_drag_and_drop() {
    let page = "<style>div{width:80px;height:80px;position:absolute;top:20px}</style><div id=a style='left:10px;background:red'>a</div>\
        <div id=b style='left:300px;background:blue'>b</div><div id=c draggable=true style='left:10px;top:200px;background:green'>c</div>\
        <div id=d style='left:300px;top:200px;background:gray'>d</div><script>let from = null; a.onmousedown = () => { from = 'a'; };\
        b.onmouseup = () => { document.title = from + ' on b'; }; c.ondragstart = (e) => e.dataTransfer.setData('text/plain', 'c');\
        d.ondragover = (e) => e.preventDefault(); d.ondrop = (e) => { e.preventDefault(); document.title = e.dataTransfer.getData('text/plain') + ' on d'; };</script>";
    let mut lab = lab(&[("/", page)]).await;
    for (from, to) in [("a", "b"), ("c", "d")] {
        let candidates = json!({"from": css_of(&format!("#{from}")), "to": css_of(&format!("#{to}"))});
        let post = json!([{"kind": "titleMatches", "pattern": format!("{from} on {to}")}]);
        succeeded(lab.step(candidates, json!({"type": "dragTo", "targetRef": "from", "to": "to", "post": post})).await);
    }
}

#[tokio::test]
async fn the_pointer_hovers_holds_and_points() {
    let page = "<style>#tip{display:none} #it:hover + #tip{display:block}</style><button id=it>It</button><div id=tip>Tip</div>\
        <script>let held = 0; it.addEventListener('mousedown', () => { held = performance.now(); }); it.addEventListener('mouseup', () => { document.title = performance.now() - held > 150 ? 'held' : 'clicked'; });</script>";
    let mut lab = lab(&[("/", page)]).await;
    let it = json!({"it": css_of("#it"), "tip": css_of("#tip")});
    succeeded(
        lab.step(
            it.clone(),
            json!({"type": "hover", "targetRef": "it", "post": [{"kind": "appears", "target": "tip"}]}),
        )
        .await,
    );
    succeeded(lab.step(it.clone(), json!({"type": "longPress", "targetRef": "it", "durationMs": 200, "post": [{"kind": "titleMatches", "pattern": "held"}]})).await);
    succeeded(lab.step(it, json!({"type": "clickPoint", "point": {"x": 15, "y": 15}, "post": [{"kind": "titleMatches", "pattern": "clicked"}]})).await);
}

/// Two buttons in one place, of which the second comes with the pointer.
fn swapping(how: &str, style: &str) -> String {
    format!(
        "<style>button {{ position: absolute; left: 20px; top: 20px; width: 120px; height: 40px }} {style}</style>\
         <div id=box><button id=a>Keep</button><button id=b hidden>Delete</button></div>{LOGGING}<script>{how}</script>"
    )
}

#[tokio::test]
async fn what_comes_to_a_point_with_the_pointer_is_not_pressed() {
    let labs = Labs::open().await;
    let by_style = "#b[hidden] { display: block; visibility: hidden } #box:hover #b { visibility: visible }";
    let pages = [
        swapping("", by_style),
        swapping("a.onmouseenter = () => { b.hidden = false };", ""),
        swapping("a.onpointermove = () => { a.remove(); b.hidden = false };", ""),
        swapping("a.onmouseover = () => { a.textContent = 'Delete' };", ""),
        swapping(
            "a.onmouseenter = () => { const f = document.createElement('iframe'); f.style = 'position:fixed;inset:0'; document.body.append(f) };",
            "",
        ),
    ];
    for page in &pages {
        let point = json!({"x": 60, "y": 40});
        for action in [
            json!({"type": "clickPoint", "point": point}),
            json!({"type": "longPressPoint", "point": point, "durationMs": 20}),
        ] {
            let mut lab = labs.lab(&[("/", page)]).await;
            let failure = failed(lab.step(json!({}), action).await);
            assert!(matches!(failure.cause, Cause::Covered | Cause::TargetStale), "{page}: {}", failure.message);
            assert!(failure.evidence.input_sent, "the pointer is there now: {page}");
            assert_eq!(lab.eval("log.join()").await, "", "{page}");
        }
    }
}

#[tokio::test]
async fn a_point_is_pressed_where_only_looks_follow_the_pointer() {
    let labs = Labs::open().await;
    let inner = "<button style='position:absolute;left:20px;top:20px;width:120px;height:40px' onclick=\"parent.document.title = 'hit'\">In</button>";
    let framed = format!(
        "<iframe srcdoc=\"{}\" style='position:fixed;inset:0;border:0'></iframe>",
        inner.replace('"', "&quot;")
    );
    let pages = [
        swapping("a.onclick = () => { document.title = 'hit' };", "#a:hover { background: red }"),
        swapping(
            "a.onclick = () => { document.title = 'hit' }; a.onmouseenter = () => { const tip = document.createElement('i'); \
             tip.setAttribute('role', 'tooltip'); tip.textContent = 'Keeps it'; tip.style.position = 'absolute'; a.append(tip) };",
            "",
        ),
        // Drawn again by its page.
        swapping(
            "document.onclick = (e) => { if (e.target.id === 'a') document.title = 'hit' }; \
             document.onmouseover = () => { box.innerHTML = box.innerHTML; document.onmouseover = null };",
            "",
        ),
        "<canvas width=300 height=200 onclick=\"document.title = 'hit'\"></canvas>".to_owned(),
        // A shape that swells brings its own words below the pointer.
        "<style>svg:hover circle { r: 20px } text { pointer-events: all }</style><svg width=300 height=200 \
         onclick=\"document.title = 'hit'\"><text x=40 y=50 font-size=40>Slice</text><circle cx=60 cy=40 r=60 /></svg>"
            .to_owned(),
        framed,
    ];
    for page in &pages {
        let mut lab = labs.lab(&[("/", page)]).await;
        let post = json!([{"kind": "titleMatches", "pattern": "hit"}]);
        succeeded(lab.step(json!({}), json!({"type": "clickPoint", "point": {"x": 60, "y": 40}, "post": post})).await);
    }
}

/// In a frame: by what a press at this very place finds, wherever else the pointer of a person is meanwhile. Chrome itself
/// tells each new document that the pointer is at 0, 0.
#[tokio::test]
async fn a_point_is_judged_by_what_the_pointer_found_there() {
    let labs = Labs::open().await;
    for (page, expected) in [
        (swapping("", ""), "click a"),
        (swapping("a.onpointermove = (e) => { if (e.clientX < 50) return; a.remove(); b.hidden = false };", ""), ""),
    ] {
        let framed = "<iframe src=/inner style='position:fixed;inset:0;border:0'></iframe>";
        let mut lab = labs.lab(&[("/", framed), ("/inner", &page)]).await;
        let tab = lab.tab();
        let elsewhere = async {
            for at in (0..).map(|count| count % 10) {
                let event = DispatchMouseEventParams::new(DispatchMouseEventType::MouseMoved, at, 2);
                tab.session().request(event, soon()).await.unwrap();
            }
        };
        let pressed = tokio::select! {
            _ = elsewhere => unreachable!(),
            done = lab.step(json!({}), json!({"type": "clickPoint", "point": {"x": 60.5, "y": 40.25}})) => done,
        };
        assert_eq!(matches!(pressed, StepOutcome::Succeeded(_)), !expected.is_empty(), "{pressed:?}");
        assert_eq!(lab.eval("frames[0].log.at(-1) ?? ''").await, expected);
    }
}

#[tokio::test]
async fn scrolling_moves_pages_containers_and_targets() {
    let page = "<div id=box style='height:100px;overflow:auto'><div style='height:900px'></div><p id=end>end</p></div><div style='height:3000px'></div><p id=far>far</p>";
    let mut lab = lab(&[("/", page)]).await;
    let all = json!({"box": css_of("#box"), "far": css_of("#far")});
    succeeded(lab.step(all.clone(), json!({"type": "scroll", "targetRef": "box", "deltaY": 200})).await);
    assert_eq!(lab.eval("box.scrollTop").await, 200);
    succeeded(
        lab.step(
            all.clone(),
            json!({"type": "scroll", "targetRef": "far", "post": [{"kind": "inViewport", "target": "far"}]}),
        )
        .await,
    );
    succeeded(lab.step(all, json!({"type": "scroll", "direction": "top"})).await);
    assert_eq!(lab.eval("scrollY").await, 0);
}

#[tokio::test]
async fn what_scrolls_without_a_target_is_the_pane_where_the_page_cannot() {
    let page = "<style>html, body { margin: 0; height: 100%; overflow: hidden }</style><div id=side style='position:absolute;right:0;width:20%;height:100%;overflow:auto'><div style='height:900px'></div></div><div id=pane style='width:80%;height:100%;overflow:auto'><div style='height:3000px'></div></div>";
    let mut lab = lab(&[("/", page)]).await;
    succeeded(lab.step(json!({}), json!({"type": "scroll", "deltaY": 200})).await);
    assert_eq!(lab.eval("pane.scrollTop").await, 200);
    assert_eq!(lab.eval("side.scrollTop").await, 0);
    succeeded(lab.step(json!({}), json!({"type": "scroll", "direction": "top"})).await);
    assert_eq!(lab.eval("pane.scrollTop").await, 0);
}
