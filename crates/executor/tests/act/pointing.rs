//! The pointer beyond clicks: hovering, holding, dragging, scrolling.

use serde_json::json;

use crate::lab::{css_of, lab, succeeded};

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
