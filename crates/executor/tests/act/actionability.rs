//! Tests of actionability, and of small changes of the page that affect it.

use cuebook_cdp::protocol::browser_protocol::emulation::SetDeviceMetricsOverrideParams;
use cuebook_grammar::outcome::{Cause, Stage};
use serde_json::json;

use crate::lab::{LOGGING, Lab, Labs, css_of, failed, lab, succeeded};

/// Opens a page that was served under another path.
async fn open(lab: &mut Lab, path: &str) {
    let url = lab.url(path);
    succeeded(lab.step(json!({}), json!({"type": "navigate", "url": url})).await);
}

/// The target of `css` is clicked on the first page; on the second nothing is sent, for this reason.
async fn clicked_or(works: &str, fails: &str, css: &str, cause: Cause) {
    clicked_or_in(&Labs::open().await, works, fails, css, cause).await;
}

async fn clicked_or_in(labs: &Labs, works: &str, fails: &str, css: &str, cause: Cause) {
    let works = format!("{LOGGING}{works}");
    let fails = format!("{LOGGING}{fails}");
    let mut lab = labs.lab(&[("/", &works), ("/fails", &fails)]).await;
    succeeded(lab.click(css).await);
    assert_eq!(lab.eval("log.filter((entry) => entry.startsWith('click ')).length").await, 1, "{works}");
    open(&mut lab, "/fails").await;
    let failure = failed(lab.click(css).await);
    assert_eq!((failure.stage, failure.cause), (Stage::Actionability, cause), "{}", failure.message);
    assert!(!failure.evidence.input_sent);
    assert_eq!(lab.eval("log.length").await, 0);
}

#[tokio::test]
async fn a_button_with_a_covered_middle_is_clicked_at_a_free_edge() {
    let button = "<button id=go style='position:absolute;left:0;top:0;width:200px;height:100px'>Go</button>";
    let veil = |style: &str| format!("{button}<div id=veil style='position:absolute;background:red;{style}'></div>");
    clicked_or(
        &veil("left:40px;top:20px;width:120px;height:60px"),
        &veil("left:0;top:0;width:200px;height:100px"),
        "#go",
        Cause::Covered,
    )
    .await;
}

#[tokio::test]
async fn a_stated_position_is_clicked_there_or_nowhere() {
    let page = "<button id=go style='position:absolute;left:0;top:0;width:200px;height:100px;border:10px solid'>Go</button>\
        <div id=veil style='position:absolute;left:0;top:0;width:100px;height:100px;background:red'></div>\
        <script>go.addEventListener('click', (e) => { document.title = [e.offsetX, e.offsetY].join(); });</script>";
    let mut lab = lab(&[("/", page)]).await;
    let at = |x: u32, y: u32| json!({"type": "click", "targetRef": "go", "position": {"x": x, "y": y}});
    let go = json!({"go": css_of("#go")});
    succeeded(lab.step(go.clone(), at(150, 20)).await);
    assert_eq!(lab.eval("document.title").await, "150,20");
    assert_eq!(failed(lab.step(go.clone(), at(50, 20)).await).cause, Cause::Covered);
    // The far end of something larger than the window is brought into view.
    lab.eval("veil.remove(), go.style.width = go.style.height = '4000px'").await;
    succeeded(lab.step(go, at(3900, 3800)).await);
    assert_eq!(lab.eval("document.title").await, "3900,3800");
}

#[tokio::test]
async fn a_part_of_a_button_counts_as_the_button() {
    let button = |more: &str| {
        format!(
            "<button style='position:relative' {more}><span id=go>Go</span><i style='position:absolute;inset:0'></i></button>"
        )
    };
    clicked_or(&button(""), &button("disabled"), "#go", Cause::NotEnabled).await;
}

#[tokio::test]
async fn a_label_and_its_control_count_as_one() {
    let page = |more: &str| {
        format!(
            "<label id=go style='position:relative;display:inline-block'>Agree <input id=box type=checkbox {more} style='position:absolute;inset:0;width:100%;height:100%;opacity:0'></label>"
        )
    };
    let (works, fails) = (page(""), page("disabled"));
    let mut lab = lab(&[("/", &works), ("/fails", &fails)]).await;
    // The box lies over the label that was meant, and is what the label is for.
    succeeded(lab.click("#go").await);
    assert_eq!(lab.eval("box.checked").await, true);
    open(&mut lab, "/fails").await;
    assert_eq!(failed(lab.click("#go").await).cause, Cause::NotEnabled);
}

#[tokio::test]
async fn a_hidden_box_is_clicked_by_its_label() {
    let page = |label: &str| format!("<input id=go type=checkbox style='display:none'>{label}");
    let (works, fails) = (page("<label for=go>Agree</label>"), page("<label>Agree</label>"));
    let mut lab = lab(&[("/", &works), ("/fails", &fails)]).await;
    succeeded(lab.click("#go").await);
    assert_eq!(lab.eval("go.checked").await, true);
    open(&mut lab, "/fails").await;
    assert_eq!(failed(lab.click("#go").await).cause, Cause::NotVisible);
}

#[tokio::test]
async fn transforms_move_the_point_along() {
    let labs = Labs::open().await;
    let under = |style: &str, more: &str| {
        format!(
            "<div style='padding:150px;{style}'><button id=go style='width:160px;height:40px'>Go</button></div>{more}"
        )
    };
    for style in [
        "transform:rotate(30deg)",
        "transform:scale(0.4)",
        "transform:scale(1.5) rotate(-70deg)",
        "transform:perspective(400px) rotateY(50deg)",
        "zoom:2",
        "transform:matrix3d(1,0,0,0.001,0,1,0,0.001,0,0,1,0,0,0,0,1)",
    ] {
        clicked_or_in(
            &labs,
            &under(style, ""),
            &under(style, "<div style='position:fixed;inset:0'></div>"),
            "#go",
            Cause::Covered,
        )
        .await;
    }
}

#[tokio::test]
async fn frames_under_transforms_take_the_click() {
    let labs = Labs::open().await;
    let inner = format!("{LOGGING}<button id=go style='margin:40px'>Go</button>");
    for (host, style) in [
        ("127.0.0.1", "transform:scale(0.5);border:9px solid"),
        ("localhost", "transform:scale(0.5);border:9px solid"),
        ("localhost", "zoom:1.5;margin:30px"),
        ("127.0.0.1", "transform:rotate(20deg);transform-origin:top left;margin:100px"),
    ] {
        let outer =
            format!("<iframe src='http://{host}:PORT/inner' style='{style}'></iframe><button id=go2>x</button>");
        let mut lab = labs.lab(&[("/", &outer), ("/inner", &inner)]).await;
        let go = json!({"it": {"strategy": "css", "selector": "#go", "frame": [css_of("iframe")]}});
        succeeded(lab.step(go, json!({"type": "click", "targetRef": "it"})).await);
    }
}

#[tokio::test]
async fn a_closed_shadow_root_is_no_obstacle_and_no_way_around() {
    let page = |cover: &str| {
        format!(
            "{LOGGING}<div id=host></div><script>const root = host.attachShadow({{mode: 'closed'}}); root.innerHTML = \
             `<button id=in style='width:90px'>In</button>{cover}`; root.getElementById('in').onclick = () => {{ document.title = 'in'; }};</script>"
        )
    };
    let (works, fails) = (page(""), page("<div style='position:fixed;inset:0'></div>"));
    let mut lab = lab(&[("/", &works), ("/fails", &fails)]).await;
    let button = json!({"it": {"strategy": "byRole", "role": "button", "name": "In"}});
    let click = json!({"type": "click", "targetRef": "it"});
    succeeded(lab.step(button.clone(), click.clone()).await);
    assert_eq!(lab.eval("document.title").await, "in");
    open(&mut lab, "/fails").await;
    assert_eq!(failed(lab.step(button, click).await).cause, Cause::Covered);
    assert_eq!(lab.eval("log.length").await, 0);
}

#[tokio::test]
async fn scroll_containers_are_scrolled_even_if_they_change_while_scrolling() {
    let nested = |scroll: &str| {
        format!(
            "<style>*{{scroll-behavior:smooth}}</style><div style='height:150px;overflow:{scroll}'><div style='height:900px'></div>\
             <div style='height:100px;overflow:{scroll}'><div style='height:500px'></div><button id=go>Go</button></div></div>"
        )
    };
    // What `overflow: clip` cuts off below the window no scrolling brings back.
    clicked_or(&nested("auto"), &nested("clip"), "#go", Cause::NotInView).await;
}

#[tokio::test]
async fn a_sticky_header_is_scrolled_away_from() {
    let page = |height: &str| {
        format!(
            "<header style='position:sticky;top:0;height:{height};background:red'>H</header><div style='height:2000px'></div>\
             <button id=go>Go</button><div style='height:2000px'></div><script>addEventListener('load', () => scrollTo(0, 2150));</script>"
        )
    };
    clicked_or(&page("300px"), &page("100vh"), "#go", Cause::Covered).await;
}

#[tokio::test]
async fn what_has_no_box_is_used_by_what_is_in_it() {
    clicked_or(
        "<a id=go href='#x' style='display:contents'><b>Go</b></a>",
        "<a id=go href='#x' style='display:contents'><b style='display:none'>Go</b></a>",
        "#go",
        Cause::NotVisible,
    )
    .await;
    clicked_or(
        "<div id=go style='width:0;height:0'><div style='width:80px;height:30px;background:red'>Go</div></div>",
        "<div id=go style='width:0;height:0;overflow:hidden'></div>",
        "#go",
        Cause::NotVisible,
    )
    .await;
}

#[tokio::test]
async fn what_lets_the_pointer_through_is_not_clicked() {
    clicked_or(
        "<div id=go>Go</div><div style='position:fixed;inset:0;pointer-events:none'></div>",
        "<div id=go style='pointer-events:none'>Go</div>",
        "#go",
        Cause::Covered,
    )
    .await;
}

#[tokio::test]
async fn a_transparent_overlay_covers() {
    let page =
        |veil: &str| format!("<button id=go>Go</button><div style='position:fixed;inset:0;opacity:0;{veil}'></div>");
    clicked_or(&page("visibility:hidden"), &page(""), "#go", Cause::Covered).await;
}

#[tokio::test]
async fn content_that_is_not_rendered_yet_is_brought_in() {
    let page = |how: &str| {
        format!(
            "<div style='height:3000px'></div><div style='content-visibility:{how};contain-intrinsic-size:500px'><button id=go>Go</button></div>"
        )
    };
    clicked_or(&page("auto"), &page("hidden"), "#go", Cause::NotVisible).await;
}

#[tokio::test]
async fn inert_content_is_not_enabled() {
    clicked_or(
        "<div><button id=go>Go</button></div>",
        "<div inert><button id=go>Go</button></div>",
        "#go",
        Cause::NotEnabled,
    )
    .await;
}

#[tokio::test]
async fn the_top_layer_covers_the_page_and_not_itself() {
    let page = |go: &str| {
        format!(
            "<button id=out>Out</button><dialog id=d><button id=in>In</button></dialog><div id=p popover><button id=pop>Pop</button></div><script>{go}</script>"
        )
    };
    let (modal, popover) = (page("d.showModal()"), page("p.showPopover()"));
    let mut lab = lab(&[("/", &modal), ("/popover", &popover)]).await;
    succeeded(lab.click("#in").await);
    let failure = failed(lab.click("#out").await);
    assert_eq!(failure.cause, Cause::Covered, "{}", failure.message);
    open(&mut lab, "/popover").await;
    succeeded(lab.click("#pop").await);
    succeeded(lab.click("#out").await);
    assert_eq!(failed(lab.click("#pop").await).cause, Cause::NotVisible);
}

#[tokio::test]
async fn what_never_stands_still_is_not_clicked() {
    let page = |times: &str| {
        format!(
            "<style>@keyframes slide {{ to {{ transform: translateX(200px) }} }} #go {{ animation: slide 0.4s linear {times} alternate }}</style><button id=go>Go</button>"
        )
    };
    clicked_or(&page("1"), &page("infinite"), "#go", Cause::NotStable).await;
}

#[tokio::test]
async fn what_creeps_by_less_than_a_pixel_a_frame_does_not_stand_still() {
    let page = |times: &str| {
        format!(
            "<style>body {{ margin: 0 }} @keyframes creep {{ to {{ margin-left: 100px }} }} #go {{ animation: creep {times} linear }}</style><button id=go>Go</button>"
        )
    };
    clicked_or(&page("0.3s"), &page("3s infinite"), "#go", Cause::NotStable).await;
}

#[tokio::test]
async fn a_target_that_is_rendered_again_meanwhile_is_found_again() {
    // A busy list renders itself again every few milliseconds, for a while or for good.
    let page = |times: u32| {
        format!(
            "{LOGGING}<div id=list></div><script>let left = {times}; const render = () => {{ list.innerHTML = '<button id=go>Go</button>'; \
             if (left-- > 0 && performance.now() < began + 400) setTimeout(render, 12); }}; \
             const began = performance.now(); render();</script>"
        )
    };
    let works = page(20);
    let mut lab = lab(&[("/", &works)]).await;
    succeeded(lab.click("#go").await);
    assert_eq!(lab.eval("log.at(-1)").await, "click go");
}

#[tokio::test]
async fn a_page_that_moves_when_the_pointer_comes_is_clicked_where_it_went() {
    let page = |moves: &str| {
        format!(
            "{LOGGING}<style>#go{{position:absolute;left:0}}</style><button id=go>Go</button><script>let x = 0; \
             go.addEventListener('mousemove', () => {{ {moves} }});</script>"
        )
    };
    let (works, fails) = (page("go.style.left = '150px'"), page("x += 150; go.style.left = `${x}px`"));
    let mut lab = lab(&[("/", &works), ("/fails", &fails)]).await;
    succeeded(lab.click("#go").await);
    assert_eq!(lab.eval("log.join()").await, "pointerdown go,mousedown go,pointerup go,mouseup go,click go");
    open(&mut lab, "/fails").await;
    let failure = failed(lab.click("#go").await);
    assert_eq!((failure.stage, failure.cause), (Stage::Act, Cause::NotStable), "{}", failure.message);
    assert_eq!(lab.eval("log.length").await, 0);
}

#[tokio::test]
async fn screens_of_any_density_are_hit() {
    let page = format!("{LOGGING}<div style='height:1200px'></div><button id=go style='margin-left:300px'>Go</button>");
    let mut lab = lab(&[("/", &page)]).await;
    for (scale, width) in [(3.0, 390), (0.75, 1600), (1.5, 800)] {
        let metrics = SetDeviceMetricsOverrideParams::new(width, 640, scale, false);
        lab.tab().session().request(metrics, crate::lab::soon()).await.unwrap();
        succeeded(lab.click("#go").await);
        assert_eq!(lab.eval("log.splice(0).at(-1)").await, "click go", "{scale}");
    }
}

#[tokio::test]
async fn text_that_is_slotted_into_a_control_is_a_part_of_it() {
    let labs = Labs::open().await;
    for mode in ["open", "closed"] {
        let page = |inner: &str| {
            format!(
                "{LOGGING}<x-link id=host>Go there</x-link><script>host.attachShadow({{mode: '{mode}'}}).innerHTML = \
                 `<a id=go href='#there' style='display:inline-block'><slot></slot></a><label><input type=checkbox id=box><slot name=other></slot></label>{inner}`;</script>"
            )
        };
        let (works, fails) = (page(""), page("<div style='position:fixed;inset:0'></div>"));
        let mut lab = labs.lab(&[("/", &works), ("/fails", &fails)]).await;
        let link = json!({"it": {"strategy": "byRole", "role": "link"}});
        let click = json!({"type": "click", "targetRef": "it"});
        succeeded(lab.step(link.clone(), click.clone()).await);
        assert_eq!(lab.eval("location.hash").await, "#there", "{mode}");
        open(&mut lab, "/fails").await;
        assert_eq!(failed(lab.step(link, click).await).cause, Cause::Covered, "{mode}");
    }
}

#[tokio::test]
async fn a_disabled_control_in_a_label_disables_nothing_else_there() {
    let page = "<label><input type=checkbox id=off disabled> Agree to the <a id=terms href='#terms'>terms</a> <input id=name></label>";
    let mut lab = lab(&[("/", page)]).await;
    succeeded(lab.click("#terms").await);
    assert_eq!(lab.eval("location.hash").await, "#terms");
    succeeded(lab.step(json!({"it": css_of("#name")}), json!({"type": "type", "targetRef": "it", "text": "x"})).await);
    assert_eq!(failed(lab.click("label").await).cause, Cause::NotEnabled);
}

#[tokio::test]
async fn what_has_no_box_is_scrolled_to_by_what_it_renders() {
    let labs = Labs::open().await;
    for inner in ["<b>Go</b>", "Go"] {
        let page = format!(
            "{LOGGING}<div style='height:3000px'></div><a id=go href='#x' style='display:contents'>{inner}</a><div style='height:3000px'></div>"
        );
        let mut lab = labs.lab(&[("/", &page)]).await;
        succeeded(lab.click("#go").await);
        assert_eq!(lab.eval("location.hash").await, "#x", "{inner}");
    }
}

#[tokio::test]
async fn a_pressed_mouse_has_the_pressure_of_a_mouse() {
    let page = "<button id=go>Go</button><script>window.seen = []; for (const t of ['pointermove', 'pointerdown', 'pointerup']) \
        go.addEventListener(t, (e) => { seen.push(e.pressure); });</script>";
    let mut lab = lab(&[("/", page)]).await;
    succeeded(lab.click("#go").await);
    assert_eq!(lab.eval("seen").await, json!([0, 0.5, 0]));
}
