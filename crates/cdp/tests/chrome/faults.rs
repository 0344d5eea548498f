//! Faults of Chrome and of networks that a client must survive: each ends in a typed error or the right answer.

use std::pin::Pin;
use std::time::{Duration, Instant};

use cuebook_cdp::protocol::browser_protocol::page::NavigateParams;
use cuebook_cdp::wire::dom::Described;
use cuebook_cdp::wire::remote::Returned;
use cuebook_cdp::{
    Browser, BrowserEvent, CallError, Delivery, Domain, GoneReason, LaunchError, LaunchOptions, Page, PageEvent,
    Transport, WorldError,
};
use serde_json::{Value, json};

use crate::lab::{FOREVER, group_members, kill, lab, main_world, next_matching, open, options, signal, soon};

#[tokio::test(flavor = "multi_thread")]
async fn a_renderer_crash_fails_pending_calls_and_the_page_can_be_brought_back() {
    let lab = lab().await;
    let page = lab.page();
    let mut events = page.events();
    let world = main_world(&page).await;
    let pending = tokio::spawn(async move { world.call::<Value>(FOREVER, &[], soon()).await });
    let crash = page.session().call(NavigateParams::new("chrome://crash"), soon());
    let error = pending.await.unwrap().unwrap_err();
    assert!(
        matches!(&error, WorldError::Call(call) if call.gone() == Some(GoneReason::Crashed)),
        "expected a crash, saw {error:?}"
    );
    next_matching(&mut events, |event| matches!(event, PageEvent::Crashed { .. }).then_some(())).await;
    assert!(page.crashed() && !page.closed());
    let later = page.session().call_raw("Runtime.evaluate", json!({"expression": "1"}), soon()).await;
    assert_eq!(later.unwrap_err().gone(), Some(GoneReason::Crashed));
    let _ = crash.await;

    open(&page, "data:text/html,back").await;
    assert!(!page.crashed());
    let text: String = main_world(&page).await.evaluate("document.body.textContent", soon()).await.unwrap();
    assert_eq!(text, "back");
}

#[tokio::test(flavor = "multi_thread")]
async fn killing_the_browser_fails_all_pending_calls_and_ends_all_lanes() {
    let lab = lab().await;
    let page = lab.page();
    let (mut events, mut browser_events) = (page.events(), lab.browser.events());
    let mut raw = page.session().events(&["Page.loadEventFired"], 4);
    let world = main_world(&page).await;
    let pending: Vec<_> = (0..3)
        .map(|_| {
            let world = world.clone();
            tokio::spawn(async move { world.call::<Value>(FOREVER, &[], soon()).await })
        })
        .collect();
    tokio::task::yield_now().await;
    kill(lab.browser.process_id().unwrap());
    for call in pending {
        let error = call.await.unwrap().unwrap_err();
        assert!(
            matches!(&error, WorldError::Call(call) if call.gone() == Some(GoneReason::BrowserGone)),
            "expected the browser to be gone, saw {error:?}"
        );
    }
    next_matching(&mut events, |event| matches!(event, PageEvent::Closed).then_some(())).await;
    assert!(events.next().await.is_none());
    assert!(raw.next().await.is_none());
    while let Some(event) = browser_events.next().await {
        assert!(matches!(event, BrowserEvent::PageClosed { .. } | BrowserEvent::Gone));
    }
    assert!(!lab.browser.is_alive() && lab.browser.pages().is_empty());
    let call = lab.browser.session().call_raw("Browser.getVersion", json!({}), soon()).await;
    assert_eq!(call.unwrap_err().gone(), Some(GoneReason::BrowserGone));
}

/// On both transports; the message names which.
async fn on_both_transports(test: AsyncTest) {
    for transport in [Transport::Pipe, Transport::WebSocket] {
        let root = tempfile::tempdir().unwrap();
        let options = LaunchOptions { transport, ..options(root.path()) };
        let browser = Browser::launch(&options, soon()).await.unwrap();
        let page = browser.pages().remove(0);
        test(page).await;
        assert!(browser.is_alive(), "{transport:?} survives");
    }
}

/// A debug build parses 100 MB for many seconds; only a hang meets this.
fn in_the_end() -> Instant {
    soon() + Duration::from_secs(200)
}

type AsyncTest = fn(Page) -> Pin<Box<dyn Future<Output = ()> + Send>>;

#[tokio::test(flavor = "multi_thread")]
async fn a_reply_of_100_mb_arrives_whole() {
    on_both_transports(|page| {
        Box::pin(async move {
            let world = main_world(&page).await;
            let large = world.call_raw("() => 'x'.repeat(100_000_000) + 'end'", &[], in_the_end()).await.unwrap();
            let text: Returned<'_> = large.parse().unwrap();
            let text = text.result.value.unwrap().get();
            assert_eq!(text.len(), 100_000_005);
            assert!(text.ends_with("xend\""));
            let echoed: usize =
                world.call("text => text.length", &[json!("y".repeat(10_000_000))], in_the_end()).await.unwrap();
            assert_eq!(echoed, 10_000_000);
        })
    })
    .await;
}

/// So many messages to the console.
fn messages(count: u32) -> String {
    format!("() => {{ for (let i = 0; i < {count}; i++) console.log('message', i); return 'done' }}")
}

#[tokio::test(flavor = "multi_thread")]
async fn of_100_000_console_messages_a_subscriber_gets_each_or_the_missed_count() {
    on_both_transports(|page| {
        Box::pin(async move {
            let world = main_world(&page).await;
            let mut console = page.session_events(&["Runtime.consoleAPICalled"], 100);
            let _runtime = page.require(Domain::Runtime);
            assert_eq!(world.call::<String>(&messages(100_000), &[], in_the_end()).await.unwrap(), "done");
            assert_eq!(world.evaluate::<u8>("1", in_the_end()).await.unwrap(), 1);
            let (mut seen, mut missed) = (0, 0);
            while seen + missed < 100_000 {
                match tokio::time::timeout_at(in_the_end().into(), console.next()).await.unwrap().unwrap() {
                    Delivery::Event(event) => {
                        let params: Value = event.parse().unwrap();
                        assert_eq!(params["type"], "log");
                        seen += 1;
                    }
                    Delivery::Lagged(count) => missed += count,
                }
            }
            assert!(missed > 0, "a full queue says what it dropped");
            assert_eq!(seen + missed, 100_000);
        })
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_console_message_arrives_without_a_subscriber() {
    on_both_transports(|page| {
        Box::pin(async move {
            let world = main_world(&page).await;
            let mut console = page.session_events(&["Runtime.consoleAPICalled"], 100);
            assert_eq!(world.call::<String>(&messages(1_000), &[], in_the_end()).await.unwrap(), "done");
            assert_eq!(world.evaluate::<u8>("1", in_the_end()).await.unwrap(), 1);
            // The domain is off, so Chrome never sends them, which costs nothing.
            assert!(console.try_next().is_none());
        })
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_browser_costs_a_deadline_and_answers_once_it_continues() {
    let lab = lab().await;
    let page = lab.page();
    let world = main_world(&page).await;
    let group = lab.browser.process_id().unwrap();
    signal("-STOP", format!("-{group}"));
    let short = Instant::now() + Duration::from_millis(300);
    let stopped = world.evaluate::<u8>("1", short).await;
    let root = lab.browser.session().call_raw("Browser.getVersion", json!({}), short).await;
    let closing = page.close(Instant::now() + Duration::from_millis(300)).await;
    signal("-CONT", format!("-{group}"));
    assert!(matches!(stopped, Err(WorldError::Call(CallError::DeadlineExceeded { .. }))), "saw {stopped:?}");
    assert!(matches!(root, Err(CallError::DeadlineExceeded { .. })), "saw {root:?}");
    assert!(closing.is_err(), "nothing is claimed of a tab that may still be there");
    lab.browser.session().call_raw("Browser.getVersion", json!({}), soon()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_browser_is_ended_and_leaves_nothing() {
    let lab = lab().await;
    let group = lab.browser.process_id().unwrap();
    signal("-STOP", format!("-{group}"));
    let closed = lab.browser.close(Instant::now() + Duration::from_millis(300)).await;
    assert!(matches!(closed, Err(CallError::DeadlineExceeded { .. })), "it had to be killed, saw {closed:?}");
    assert_eq!(group_members(group), 0);
    assert_eq!(std::fs::read_dir(lab.root.path()).unwrap().count(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_never_answers_is_no_browser() {
    let root = tempfile::tempdir().unwrap();
    let program = root.path().join("silent");
    std::fs::write(&program, "#!/bin/sh\nexec sleep 600\n").unwrap();
    std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    for transport in [Transport::Pipe, Transport::WebSocket] {
        let mut options = LaunchOptions { transport, ..options(&root.path().join("profiles")) };
        options.binary.path.clone_from(&program);
        let error = Browser::launch(&options, Instant::now() + Duration::from_millis(300)).await.unwrap_err();
        assert!(matches!(error, LaunchError::DeadlineExceeded { .. }), "{transport:?}: saw {error:?}");
        assert_eq!(std::fs::read_dir(&options.profile_root).unwrap().count(), 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_beyond_the_depth_of_any_parser_is_still_answered() {
    let lab = lab().await;
    let page = lab.page();
    let world = main_world(&page).await;
    let deepen = "() => { let at = document.body; for (let i = 0; i < 300; i++) \
                  at = at.appendChild(document.createElement('p')); at.textContent = 'bottom' }";
    world.call::<Value>(deepen, &[], soon()).await.unwrap();
    // Chrome's own encoder gives up at some 150 levels (and its renderer crashes at some 5,000): an error of
    // this one call.
    let refused = page.session().call_raw("DOM.getDocument", json!({"depth": -1}), soon()).await;
    assert!(matches!(refused, Err(CallError::Protocol { .. })), "saw {refused:?}");
    // What it still sends is deeper than a parser that recurses may go: an error of this one reply.
    let part = page.session().call_raw("DOM.getDocument", json!({"depth": 100}), soon()).await.unwrap();
    assert!(matches!(part.parse::<Value>(), Err(CallError::Decode { .. })));
    let nodes = world.call_for_nodes("() => [document.querySelector('p:empty, p:not(:has(p))')]", &[], soon()).await;
    let described = json!({"backendNodeId": nodes.unwrap()[0], "depth": 0});
    let described = page.session().call_raw("DOM.describeNode", described, soon()).await.unwrap();
    assert_eq!(described.parse::<Described<'_>>().unwrap().node.local_name, "p");
    let snapshot = json!({"computedStyles": ["display"]});
    let snapshot = page.session().call_raw("DOMSnapshot.captureSnapshot", snapshot, soon()).await.unwrap();
    assert!(snapshot.json().windows(8).any(|text| text == b"\"bottom\""));
}
