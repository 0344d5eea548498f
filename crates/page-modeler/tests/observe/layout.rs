//! Where things lie: scrolled, sticky, without a box, zoomed.

use cuebook_cdp::protocol::browser_protocol::emulation::SetDeviceMetricsOverrideParams;
use cuebook_cdp::protocol::browser_protocol::input::{DispatchMouseEventParams, DispatchMouseEventType, MouseButton};
use cuebook_grammar::candidate::Placement;
use cuebook_grammar::observation::Scope;

use crate::stage::{Stage, check, lines_of, named, until};

#[tokio::test(flavor = "multi_thread")]
async fn a_scroll_container_holds_what_can_be_scrolled_to() {
    let mut stage = Stage::on(
        "<div id=s style='height:80px;width:200px;overflow:auto'><button>Top</button><div style='height:400px'></div><button>End</button></div>
         <div style='height:80px;overflow:hidden'><div style='height:200px'></div><button>Cut off</button></div>",
    )
    .await;
    let seen = stage.observe(Scope::View).await;
    assert_eq!(lines_of(&seen), ["button \"Top\"", "button \"End\" off view"]);
    assert_eq!(named(&seen, "End").scroll_container.as_deref(), Some("div#s"));
    stage.page_script("s.scrollTop = 1000; 0").await;
    assert_eq!(lines_of(&stage.observe(Scope::View).await), ["button \"Top\" off view", "button \"End\""]);
}

#[tokio::test(flavor = "multi_thread")]
async fn where_containers_and_frames_are_scrolled_to_is_observed() {
    let mut stage = Stage::on(
        "<pre id=log style='height:60px;overflow:auto'></pre><textarea rows=2></textarea><button>Next</button>
         <iframe srcdoc='<div style=height:2000px>Text</div>'></iframe>",
    )
    .await;
    stage.page_script("log.append(...Array.from({length: 40}, () => { const p = document.createElement('p'); p.append('Line'); return p })); document.querySelector('textarea').value = 'x\\n'.repeat(40); 0").await;
    assert_eq!(stage.observe(Scope::View).await.scrolled, []);
    let scroll = "log.scrollTop = 100; document.querySelector('textarea').scrollTop = 30;
        document.querySelector('iframe').contentWindow.scrollTo(0, 50); 0";
    stage.page_script(scroll).await;
    let seen = stage.observe(Scope::View).await.scrolled;
    let seen: Vec<_> = seen.iter().map(|part| (part.container.as_str(), part.frame, part.y)).collect();
    assert_eq!(seen, [("pre#log", 0, 100), ("textarea", 0, 30), ("", 1, 50)]);
    stage.page_script("log.scrollTop = 200; 0").await;
    assert_eq!(stage.observe(Scope::View).await.scrolled[0].y, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn panes_in_view_say_what_they_do_not_show() {
    let mut stage = Stage::on(
        "<style>div, pre { height:100px; overflow:auto; margin:0 }</style>
         <div id=list><button>Row</button><p style='height:379px;margin:0'></p></div>
         <pre id=wide style='width:200px;height:auto'><i style='display:block;width:500px'>Log</i></pre>
         <div id=fits></div><iframe srcdoc='<body style=margin:0><p style=height:2000px;margin:0>' height=150></iframe>
         <p style='height:3000px'></p><div id=below><p style='height:400px'></p></div>",
    )
    .await;
    stage
        .page_script(
            "list.querySelector('button').style.cssText = 'display:block;height:21px'; list.scrollTop = 120; 0",
        )
        .await;
    let seen = stage.observe(Scope::View).await;
    let panes: Vec<_> = seen.panes.iter().map(|it| (it.container.as_str(), it.frame, it.above, it.below)).collect();
    assert_eq!(panes, [("div#list", 0, 120, 180), ("pre#wide", 0, 0, 0), ("", 1, 0, 1850)]);
    assert_eq!((seen.panes[1].left, seen.panes[1].right), (0, 300));
    assert_eq!(seen.in_pane(&seen.panes[0]), Some(named(&seen, "Row").id));
    let text = cuebook_grammar::render::text(&seen, &Default::default());
    let line = format!("pane of [{}]: 120 px above, 180 px below", named(&seen, "Row").id);
    assert!(text.contains(&line), "{text}");
    stage.page_script("list.scrollTop = 0; list.lastElementChild.style.height = '100px'; 0").await;
    let seen = stage.observe(Scope::View).await;
    assert_eq!((seen.panes[0].above, seen.panes[0].below), (0, 21));
}

#[tokio::test(flavor = "multi_thread")]
async fn at_most_ten_panes_are_named() {
    let mut stage = Stage::on(
        "<script>for (let n = 0; n < 40; n++) document.write(
        `<div style='height:9px;overflow:auto'><p style='height:99px'>`)</script>",
    )
    .await;
    let seen = stage.observe(Scope::View).await;
    assert!(!seen.panes.is_empty() && seen.panes.len() <= 10, "{:?}", seen.panes);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_below_the_fold_is_counted_in_a_view_and_offered_in_full() {
    let mut stage = Stage::on("<button>First</button><div style='height:4000px'></div><button>Last</button>").await;
    assert_eq!(lines_of(&stage.observe(Scope::Full).await), ["button \"First\"", "button \"Last\" off view"]);
    let view = stage.observe(Scope::View).await;
    assert_eq!(lines_of(&view), ["button \"First\""]);
    assert_eq!(view.truncated.unwrap().off_view, 1);
    stage.page_script("scrollTo(0, 4000); 0").await;
    assert_eq!(lines_of(&stage.observe(Scope::View).await), ["button \"Last\""]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sticky_header_covers_what_scrolls_under_it() {
    check(
        "<body style='margin:0'><header style='position:sticky;top:0;height:60px;background:#eee'><a href=#>Home</a></header>
         <p style='margin:0'><button style='height:40px'>Row</button></p><div style='height:3000px'></div>",
        &["link \"Home\"", "button \"Row\""],
        "scrollTo(0, 50)",
        &["link \"Home\"", "button \"Row\" covered"],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn elements_without_a_box_of_their_own_do_not_hide_their_children() {
    check(
        "<div style='display:contents'><button>Contents</button></div><div style='width:0;height:0;margin-bottom:40px'><button>Spills</button></div>
         <div id=cut style='width:0;height:0;overflow:visible'><button>Cut</button></div>",
        &["button \"Contents\"", "button \"Spills\"", "button \"Cut\""],
        "cut.style.overflow = 'hidden'",
        &["button \"Contents\"", "button \"Spills\""],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_candidate_without_a_box_is_offered_through_what_it_shows() {
    check(
        "<a href=#x style='display:contents'><span id=t>Contents link</span></a><a href=#y><div style='float:left'>Floating</div></a>",
        &["link \"Contents link\"", "link \"Floating\""],
        "t.hidden = true",
        &["link \"Floating\""],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn content_that_the_browser_skips_until_it_is_scrolled_to_is_offered() {
    check(
        "<div style='height:3000px'></div><section style='content-visibility:auto;contain-intrinsic-size:300px'><button>Skipped</button></section>
         <section id=h style='content-visibility:hidden'><button>Hidden</button></section>",
        &["button \"Skipped\" off view"],
        "h.style.contentVisibility = 'visible'; scrollTo(0, 3000)",
        &["button \"Skipped\"", "button \"Hidden\""],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn zoom_and_device_scale_factors_leave_boxes_where_the_pointer_finds_them() {
    let mut stage = Stage::on(
        "<body style='margin:0'><div style='zoom:2'><button style='position:absolute;left:20px;top:10px;width:50px;height:20px' onclick='this.textContent = \"Hit\"'>Zoomed</button></div>",
    )
    .await;
    for factor in [1, 2, 3] {
        let metrics = SetDeviceMetricsOverrideParams::new(800, 600, factor, false);
        stage.page.session().request(metrics, until()).await.unwrap();
        stage.page_script("document.querySelector('button').textContent = 'Zoomed'; 0").await;
        let seen = stage.observe(Scope::View).await;
        let button = named(&seen, "Zoomed");
        let rect = button.rect.unwrap();
        assert_eq!((rect.x, rect.y, rect.width, rect.height), (40.0, 20.0, 100.0, 40.0), "factor {factor}");
        assert_eq!(seen.viewport.device_pixel_ratio, f64::from(factor));
        let at = button.center().unwrap();
        for kind in [DispatchMouseEventType::MousePressed, DispatchMouseEventType::MouseReleased] {
            let event = DispatchMouseEventParams {
                button: Some(MouseButton::Left),
                click_count: Some(1),
                ..DispatchMouseEventParams::new(kind, at.x, at.y)
            };
            stage.page.session().request(event, until()).await.unwrap();
        }
        assert_eq!(lines_of(&stage.observe(Scope::View).await), ["button \"Hit\""], "factor {factor}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_virtualised_row_that_is_recycled_is_another_candidate() {
    let mut stage = Stage::on(
        "<ul id=l style='height:90px;overflow:auto'></ul><script>
         const show = (from) => { for (let i = 0; i < 3; i++) { const row = l.children[i] ?? l.appendChild(Object.assign(document.createElement('li'), { innerHTML: '<span></span> <button>Open</button>' })); row.firstChild.textContent = 'Item ' + (from + i); } };
         show(0);</script>",
    )
    .await;
    let first = stage.observe(Scope::View).await;
    let items = |from: u32| -> Vec<String> {
        (from..from + 3).map(|i| format!("button \"Open\" [list item: Item {i}]")).collect()
    };
    assert_eq!(lines_of(&first), items(0));
    stage.page_script("show(1); 0").await;
    let second = stage.observe(Scope::View).await;
    assert_eq!(lines_of(&second), items(1));
    let old: Vec<_> = first.candidates.iter().map(|c| c.id).collect();
    assert!(second.candidates.iter().all(|c| !old.contains(&c.id)), "an id stayed with a node, not with its row");
    assert_eq!(first.candidates[1].node, second.candidates[1].node);
    // A fingerprint follows the row, not the node.
    assert_eq!(second.rebind(&first.candidates[1].fingerprint).unwrap().id, second.candidates[0].id);
    assert!(second.rebind(&first.candidates[0].fingerprint).is_err());
    assert!(second.candidates.iter().all(|c| c.placement == Placement::InView));
}
