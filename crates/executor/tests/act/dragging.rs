//! Dragging: with mouse events and with HTML drag and drop, within a frame and between frames.

use cuebook_grammar::outcome::Cause;
use serde_json::{Value, json};

use crate::lab::{Labs, css_of, failed, lab, lab_in, quick, succeeded};

const SOURCE: &str = "<style>div{width:80px;height:60px;background:#ccc;margin:4px}</style>\
    <div id=card draggable=true>card</div><script>window.log = [];\
    for (const t of ['dragstart', 'drag', 'dragend']) card.addEventListener(t, (e) => { if (log.at(-1) !== t) log.push(t); });\
    card.addEventListener('dragstart', (e) => { e.dataTransfer.setData('text/plain', 'seven'); e.dataTransfer.effectAllowed = 'move'; });</script>";
const ZONE: &str = "<style>#zone{width:160px;height:90px;background:#eee;margin:4px}</style><div id=zone>zone</div><script>\
    zone.addEventListener('dragover', (e) => { e.preventDefault(); zone.dataset.over = 'yes'; });\
    zone.addEventListener('drop', (e) => { e.preventDefault(); zone.textContent = e.dataTransfer.getData('text/plain') + ' dropped'; });</script>";

fn drag(post: Value) -> Value {
    json!({"type": "dragTo", "targetRef": "from", "to": "to", "post": post})
}

fn ends() -> Value {
    json!({"from": css_of("#card"), "to": css_of("#zone")})
}

#[tokio::test]
async fn html_drag_carries_its_data_and_ends() {
    let mut lab = lab(&[("/", &format!("{SOURCE}{ZONE}"))]).await;
    let post = json!([{"kind": "elementTextEquals", "target": "to", "text": "seven dropped"}]);
    succeeded(lab.step(ends(), drag(post)).await);
    assert_eq!(lab.eval("log.join()").await, "dragstart,drag,dragend");
    assert_eq!(lab.eval("zone.dataset.over").await, "yes");
}

#[tokio::test]
async fn a_zone_that_accepts_no_drop_fails_the_postcondition() {
    let page = format!("{SOURCE}<div id=zone>zone</div>");
    let mut lab = lab(&[("/", &page)]).await;
    let post = json!([{"kind": "elementTextContains", "target": "to", "text": "dropped"}]);
    assert_eq!(failed(lab.step(ends(), drag(post)).await).cause, Cause::PostconditionFailed);
    assert_eq!(lab.eval("log.at(-1)").await, "dragend");
}

#[tokio::test]
async fn a_drag_goes_from_frame_to_frame_of_either_process() {
    for host in ["127.0.0.1", "localhost"] {
        let outer = format!(
            "<iframe src='/from' style='width:300px;height:150px'></iframe><iframe src='http://{host}:PORT/to' style='width:300px;height:150px;border:5px solid'></iframe>"
        );
        // A headless shell carries no data from one process to another.
        let pages = [("/", &*outer), ("/from", SOURCE), ("/to", ZONE)];
        let mut lab = lab_in(cuebook_testkit::whole_browser, &pages, quick()).await;
        let post = json!([{"kind": "elementTextEquals", "target": "to", "text": "seven dropped"}]);
        succeeded(lab.step(ends(), drag(post)).await);
    }
}

#[tokio::test]
async fn a_drag_leaves_the_outer_document_for_a_frame() {
    let outer = format!("{SOURCE}<iframe src='/to' style='width:300px;height:150px'></iframe>");
    let mut lab = lab(&[("/", &outer), ("/to", ZONE)]).await;
    let post = json!([{"kind": "elementTextEquals", "target": "to", "text": "seven dropped"}]);
    succeeded(lab.step(ends(), drag(post)).await);
}

#[tokio::test]
async fn a_zone_that_is_covered_while_dragging_gets_no_drop() {
    let page = format!(
        "{SOURCE}{ZONE}<div id=veil style='display:none;position:fixed;inset:0;width:auto;height:auto;margin:0'></div><script>\
        card.addEventListener('drag', () => {{ veil.style.display = 'block'; }}); window.wrong = 0;\
        veil.addEventListener('dragover', (e) => e.preventDefault()); veil.addEventListener('drop', () => {{ wrong++; }});</script>"
    );
    let mut lab = lab(&[("/", &page)]).await;
    let failure = failed(lab.step(ends(), drag(json!([]))).await);
    assert_eq!(failure.cause, Cause::Covered);
    assert_eq!(failure.facts.blocker.as_deref(), Some("div#veil"));
    assert_eq!(lab.eval("wrong").await, 0);
    assert_eq!(lab.eval("zone.textContent").await, "zone");
}

#[tokio::test]
async fn a_mouse_drag_whose_end_is_covered_is_not_released_there() {
    let page = "<style>div{width:80px;height:60px;background:#ccc;margin:4px}</style><div id=card>card</div><div id=zone>zone</div>\
        <div id=veil style='display:none;position:fixed;inset:0;width:auto;height:auto;margin:0'></div><script>window.log = [];\
        card.onmousedown = () => { setTimeout(() => { veil.style.display = 'block'; }, 60); };\
        for (const [n, e] of Object.entries({zone, veil})) for (const t of ['pointerup', 'mouseup']) e.addEventListener(t, () => log.push(n));</script>";
    let mut lab = lab(&[("/", page)]).await;
    assert_eq!(failed(lab.step(ends(), drag(json!([]))).await).cause, Cause::Covered);
    assert_eq!(lab.eval("log.length").await, 0);
}

#[tokio::test]
async fn a_mouse_drag_crosses_frames_of_one_process() {
    let outer = "<style>div{width:80px;height:60px;background:#ccc}</style><div id=card>card</div><iframe src='/to' style='width:300px;height:150px'></iframe>\
        <script>window.log = []; card.onmousedown = () => log.push('down'); addEventListener('message', (e) => { document.title = e.data; });</script>";
    let inner = "<div id=zone style='width:100px;height:100px'>zone</div><script>zone.onmouseup = () => parent.postMessage('up', '*');</script>";
    let mut lab = lab(&[("/", outer), ("/to", inner)]).await;
    succeeded(lab.step(ends(), drag(json!([{"kind": "titleMatches", "pattern": "^up$"}]))).await);
    assert_eq!(lab.eval("log.join()").await, "down");
}

#[tokio::test]
async fn a_drag_lasts_as_long_as_stated() {
    let page = "<style>div{width:80px;height:60px;background:#ccc}</style><div id=card>card</div><div id=zone>zone</div><script>let since = 0;\
        card.onmousedown = () => { since = performance.now(); }; zone.onmouseup = () => { document.title = performance.now() - since >= 590 ? 'slow' : 'fast'; };</script>";
    let mut lab = lab(&[("/", page)]).await;
    let mut step = drag(json!([{"kind": "titleMatches", "pattern": "slow"}]));
    step["durationMs"] = json!(600);
    succeeded(lab.step(ends(), step).await);
    let step = drag(json!([{"kind": "titleMatches", "pattern": "fast"}]));
    succeeded(lab.step(ends(), step).await);
}

#[tokio::test]
async fn an_element_is_sorted_into_another_place_by_pointer_events() {
    let page = "<ul id=list>A</ul><style>li{height:30px;list-style:none;background:#ddd;margin:2px}</style><script>\
        for (const n of 'abc') { const li = document.createElement('li'); li.id = n; li.textContent = n; list.append(li); }\
        let held = null; list.addEventListener('pointerdown', (e) => { held = e.target; held.setPointerCapture(e.pointerId); });\
        list.addEventListener('pointerup', (e) => { const over = document.elementsFromPoint(e.clientX, e.clientY).find((x) => x.tagName === 'LI' && x !== held);\
        if (held && over) over.after(held); held = null; });</script>";
    let mut lab = lab(&[("/", page)]).await;
    let ends = json!({"from": css_of("#a"), "to": css_of("#c")});
    succeeded(lab.step(ends, drag(json!([]))).await);
    assert_eq!(lab.eval("[...list.querySelectorAll('li')].map((x) => x.id).join('')").await, "bca");
}

#[tokio::test]
async fn a_list_that_sorts_itself_during_a_drag_gets_the_release() {
    let page = "<ul id=list></ul><div id=veil style='display:none;position:fixed;inset:0'></div><style>li{height:30px;list-style:none;background:#ddd;margin:2px}</style><script>\
        for (const n of 'abc') { const li = document.createElement('li'); li.id = n; li.textContent = n; list.append(li); }\
        let held = null, ups = []; list.addEventListener('pointerdown', (e) => { held = e.target; });\
        list.addEventListener('pointermove', (e) => { const over = e.target.closest('li'); if (held && over && over !== held) over.after(held); });\
        addEventListener('pointerup', (e) => { ups.push(e.target.id); held = null; });</script>";
    let mut lab = lab(&[("/", page)]).await;
    let ends = json!({"from": css_of("#a"), "to": css_of("#c")});
    succeeded(lab.step(ends.clone(), drag(json!([]))).await);
    assert_eq!(lab.eval("[...list.querySelectorAll('li')].map((x) => x.id).join('') + ups").await, "bcaa");
    lab.eval("addEventListener('pointermove', () => { if (held) veil.style.display = 'block'; })").await;
    let ends = json!({"from": css_of("#b"), "to": css_of("#a")});
    assert_eq!(failed(lab.step(ends, drag(json!([]))).await).cause, Cause::Covered);
    assert_eq!(lab.eval("ups.join()").await, "a");
}

#[tokio::test]
async fn a_list_that_moves_its_entries_aside_gets_the_release_in_their_gap() {
    // What is dragged takes no events, and is drawn at the pointer by a copy; the others are moved by transforms.
    let page = "<ul id=list style='padding:0;width:200px'></ul><style>li{height:38px;list-style:none;background:#ddd}</style><script>\
        for (const n of 'abc') { const li = document.createElement('li'); li.id = n; li.textContent = n; list.append(li); }\
        let held = null, order = []; list.onpointerdown = (e) => { held = e.target; order = [...list.children]; };\
        const put = () => order.forEach((x, k) => { x.style.transform = `translateY(${(k - [...list.children].indexOf(x)) * 38}px)`; });\
        document.onpointermove = (e) => { if (!held) return; held.style.pointerEvents = 'none'; held.style.opacity = 0;\
        const at = Math.max(0, Math.min(2, Math.floor((e.clientY - list.getBoundingClientRect().y) / 38)));\
        order = order.filter((x) => x !== held); order.splice(at, 0, held); put(); };\
        document.onpointerup = () => { if (!held) return; for (const x of order) { x.style = ''; list.append(x); } held = null; };</script>";
    let mut lab = lab(&[("/", page)]).await;
    let sorted = "[...list.children].map((x) => x.id).join('')";
    for (from, to, expected) in [("#a", "#c", "bca"), ("#c", "#b", "cba")] {
        succeeded(lab.step(json!({"from": css_of(from), "to": css_of(to)}), drag(json!([]))).await);
        assert_eq!(lab.eval(sorted).await, expected, "{from} {to}");
    }
}

#[tokio::test]
async fn a_zone_that_moves_to_another_row_during_a_drag_gets_no_drop() {
    let page = |over: &str| {
        format!(
            "<button id=card>Card</button><ul style='margin:90px'><li><span>Drafts</span> <b id=zone>Here</b>\
             <li><span>Trash</span> <b>Here</b></ul><script>let held = false; window.log = [];\
             card.onmousedown = () => {{ held = true; }};\
             addEventListener('mouseup', (e) => {{ if (held) log.push(e.target === zone ? 'dropped' : 'left'); held = false; }});\
             addEventListener('mousemove', () => {{ if (held) {{ {over} }} }});</script>"
        )
    };
    let moved = page("document.querySelector('span').textContent = 'Trash'");
    let called = page(
        "if (zone.textContent === 'Here') { zone.textContent = 'Let go'; const a = document.createElement('i'); a.textContent = ' a card'; zone.after(a) }",
    );
    let mut lab = lab(&[("/", &moved), ("/called", &called)]).await;
    let failure = failed(lab.step(ends(), drag(json!([]))).await);
    assert_eq!(failure.cause, Cause::TargetStale, "{failure:?}");
    assert_eq!(lab.eval("log.join()").await, "left");
    // What the zone itself says to who hovers over it is no other place.
    let url = lab.url("/called");
    succeeded(lab.step(json!({}), json!({"type": "navigate", "url": url})).await);
    succeeded(lab.step(ends(), drag(json!([]))).await);
    assert_eq!(lab.eval("log.join()").await, "dropped");
}

#[tokio::test]
async fn a_copy_that_follows_the_pointer_is_carried_to_the_end() {
    let page = |put: &str, veil: &str| {
        format!(
            "<style>div{{width:80px;height:60px;background:#ccc;margin:4px}}</style><div id=card>card</div><div id=zone>zone</div>{veil}<script>\
             let copy = null; window.log = []; card.onmousedown = (e) => {{ e.preventDefault(); copy = card.cloneNode(true); copy.id = 'copy'; {put}; \
             Object.assign(copy.style, {{ position: 'absolute', margin: 0 }}); move(e); }}; \
             const move = (e) => {{ if (!copy) return; copy.style.left = e.pageX - 20 + 'px'; copy.style.top = e.pageY - 20 + 'px'; \
             if (document.getElementById('veil') && e.pageY > 90) veil.style.display = 'block'; }};\
             addEventListener('mousemove', move); addEventListener('mouseup', (e) => {{ if (!copy) return; copy.remove(); copy = null; \
             const box = zone.getBoundingClientRect(); log.push(e.clientX >= box.left && e.clientX < box.right && e.clientY >= box.top && e.clientY < box.bottom ? 'dropped' : 'left'); }});</script>"
        )
    };
    let veil = "<div id=veil style='display:none;position:fixed;inset:0;width:auto;height:auto;z-index:9'></div>";
    let put = "document.body.append(copy)";
    let wrapped = "const wrap = document.createElement('section'); wrap.append(copy); document.body.append(wrap)";
    let (plain, wrapped, veiled) = (page(put, ""), page(wrapped, ""), page(put, veil));
    let mut lab = lab(&[("/", &plain), ("/wrapped", &wrapped), ("/veiled", &veiled)]).await;
    succeeded(lab.step(ends(), drag(json!([]))).await);
    assert_eq!(lab.eval("log.join()").await, "dropped");
    let url = lab.url("/wrapped");
    succeeded(lab.step(json!({}), json!({"type": "navigate", "url": url})).await);
    succeeded(lab.step(ends(), drag(json!([]))).await);
    assert_eq!(lab.eval("log.join()").await, "dropped");
    let url = lab.url("/veiled");
    succeeded(lab.step(json!({}), json!({"type": "navigate", "url": url})).await);
    assert_eq!(failed(lab.step(ends(), drag(json!([]))).await).cause, Cause::Covered);
    // The page is not left in its drag.
    assert_eq!(lab.eval("log.join()").await, "left");
}

#[tokio::test]
async fn what_is_dropped_is_in_its_place_when_the_step_ends() {
    let page = "<style>div{width:200px;height:100px;background:#ccc}</style><div id=card>card</div><div id=zone>zone</div><script>\
        card.onmousedown = () => { const gap = document.createElement('p'); gap.textContent = 'gap'; document.body.append(gap) }; \
        zone.onmouseup = () => { card.style.transition = 'transform .3s'; card.style.transform = 'translateY(90px)' }; \
        card.ontransitionend = () => { document.title = 'there' }</script>";
    let mut lab = lab(&[("/", page)]).await;
    succeeded(lab.step(ends(), drag(json!([]))).await);
    assert_eq!(lab.eval("document.title").await, "there");
}

#[tokio::test]
async fn a_pointer_that_something_around_captures_is_released_where_it_is() {
    let page = "<style>div{width:200px}section,i{display:block;height:80px;background:#ccc}</style><div id=around><p><section id=card>card</section>\
        <section id=zone>zone</section></div><i id=aside>aside</i><script>let from = null; window.log = []; \
        card.onpointerdown = (e) => { from = e.pointerId }; addEventListener('pointermove', () => { if (from) CATCH.setPointerCapture(from) }); \
        addEventListener('pointerup', (e) => { const box = zone.getBoundingClientRect(); \
        log.push(e.target.id, e.clientY >= box.top && e.clientY < box.bottom); from = null; zone.append(card) })</script>";
    let (around, aside) = (page.replace("CATCH", "around"), page.replace("CATCH", "aside"));
    let mut lab = lab(&[("/", &around), ("/aside", &aside)]).await;
    succeeded(lab.step(ends(), drag(json!([]))).await);
    assert_eq!(lab.eval("log").await, json!(["around", true]));
    let url = lab.url("/aside");
    succeeded(lab.step(json!({}), json!({"type": "navigate", "url": url})).await);
    assert_eq!(failed(lab.step(ends(), drag(json!([]))).await).cause, Cause::Covered);
}

#[tokio::test]
async fn an_end_that_the_page_draws_anew_on_the_way_gets_the_drop() {
    let page = "<style>td{width:120px;height:80px;background:#ccc;vertical-align:top}.mirror{pointer-events:none;opacity:.5}</style>\
        <table><tr id=days></table><script>const at = { Meeting: 0, Lunch: 2 }; let held = null, over = null; const draw = () => { \
        days.innerHTML = ''; for (const day of [0, 1, 2]) { const cell = days.insertCell(); cell.id = 'day' + day; cell.innerHTML = `<b>${12 + day}</b>`; \
        const shown = Object.keys(at).filter((name) => name !== held && at[name] === day); if (held && over === day) shown.unshift(held); \
        for (const name of shown) { const one = document.createElement('div'); one.textContent = name; one.id = name; if (name === held) \
        one.className = 'mirror'; one.onpointerdown = () => { held = name; over = day }; cell.append(one) } } }; draw(); \
        const under = (e) => [...days.cells].findIndex((cell) => { const box = cell.getBoundingClientRect(); return e.clientX >= box.left && e.clientX <= box.right }); \
        addEventListener('pointermove', (e) => { if (held && under(e) !== over) { over = under(e); draw() } }); \
        addEventListener('pointerup', (e) => { if (held) { at[held] = under(e); held = over = null; draw() } })</script>";
    let labs = Labs::open().await;
    for (to, day) in [("#day1", 1), ("#Lunch", 2)] {
        let mut lab = labs.lab(&[("/", page)]).await;
        succeeded(lab.step(json!({"from": css_of("#Meeting"), "to": css_of(to)}), drag(json!([]))).await);
        assert_eq!(lab.eval("at.Meeting").await, day, "{to}");
    }
    // In the place of the 13th is the 131st.
    let turned = page.replace("${12 + day}", "${(held ? 130 : 12) + day}");
    assert_ne!(turned, page);
    let mut lab = labs.lab(&[("/", &turned)]).await;
    let step = json!({"from": css_of("#Meeting"), "to": css_of("#day1")});
    assert_eq!(failed(lab.step(step, drag(json!([]))).await).cause, Cause::EffectUnknown);
    assert_eq!(lab.eval("at.Meeting").await, 0);
}

#[tokio::test]
async fn a_drag_without_mouse_events_ends_with_the_pointer() {
    let page = "<style>li{width:200px;height:60px;background:#ccc}</style><ul id=list><li id=card>card</li><li id=mid>mid</li><li id=zone>zone</li></ul>\
        <script>let held = null; card.onpointerdown = (e) => { e.preventDefault(); held = card; card.setPointerCapture(e.pointerId) }; \
        list.onpointermove = (e) => { if (!held) return; const over = [...list.children].find((one) => { const box = one.getBoundingClientRect(); \
        return e.clientY > box.top && e.clientY < box.bottom }); if (over && over !== held) over.after(held) }; \
        list.onpointerup = () => { held = null; document.title = [...list.children].map((one) => one.id).join() }</script>";
    let mut lab = lab(&[("/", page)]).await;
    succeeded(lab.step(ends(), drag(json!([]))).await);
    assert_eq!(lab.eval("document.title").await, "mid,zone,card");
}

#[tokio::test]
async fn a_drag_ends_at_an_entry_that_the_page_has_the_pointer_pass_over() {
    let page = "<style>ul,li{width:200px}li{height:60px;background:#ccc}#list{min-height:200px}</style><ul><li id=card>card</li></ul>\
        <ul id=list><li id=zone>zone</li></ul><script>let held = false; const mute = (on) => { for (const one of document.querySelectorAll('li')) \
        one.style.pointerEvents = on ? 'none' : '' }; card.onmousedown = () => { held = true; mute(true) }; addEventListener('mouseup', (e) => { \
        if (held && list.contains(e.target)) list.prepend(card); held = false; mute(false) })</script>";
    let mut lab = lab(&[("/", page)]).await;
    succeeded(lab.step(ends(), drag(json!([]))).await);
    assert_eq!(lab.eval("list.firstChild.id").await, "card");
}

#[tokio::test]
async fn a_drag_that_nothing_came_of_fails() {
    let page = "<style>div{width:200px;height:100px;background:#ccc}</style><div id=card>card</div><div id=zone>zone</div>\
        <script>card.onpointerdown = () => card.setAttribute('draggable', 'false')</script>";
    let mut lab = lab(&[("/", page)]).await;
    let failure = failed(lab.step(ends(), drag(json!([]))).await);
    assert_eq!(failure.cause, Cause::PostconditionFailed, "{}", failure.message);
    assert!(failure.message.contains("durationMs"), "{}", failure.message);
}

#[tokio::test]
async fn a_drag_begins_and_ends_where_the_step_says() {
    let page = "<style>div{width:200px;height:100px;background:#ccc}</style><div id=card>card</div><div id=zone>zone</div><script>window.log = [];\
        card.onmousedown = (e) => log.push(e.offsetX, e.offsetY); zone.onmouseup = (e) => { log.push(e.offsetX, e.offsetY); zone.append(card); };</script>";
    let mut lab = lab(&[("/", page)]).await;
    let mut step = drag(json!([]));
    step["position"] = json!({"x": 10, "y": 20});
    step["toPosition"] = json!({"x": 150, "y": 90});
    succeeded(lab.step(ends(), step).await);
    assert_eq!(lab.eval("log").await, json!([10, 20, 150, 90]));
}
