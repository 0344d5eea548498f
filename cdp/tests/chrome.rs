//! What the wire promises, against the real Chrome that is found on the PATH.
//!
//! Each test has its own small browser. Every wait has a deadline; none measures time.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "helpers of tests fail the test that calls them")]

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cuebook_cdp::protocol::browser_protocol::page::NavigateParams;
use cuebook_cdp::{
    Browser, BrowserEvent, CallError, Delivery, DetachKind, DialogAnswer, DialogKind, Domain, DownloadState, Frame,
    FrameId, GoneReason, LaunchError, LaunchOptions, Page, PageEvent, SearchPlaces, SessionKind, Transport, WorldError,
    find_chrome, sweep,
};
use serde_json::{Value, json};

/// Far beyond what anything here takes: only a hang meets it.
fn soon() -> Instant {
    Instant::now() + Duration::from_secs(40)
}

#[expect(clippy::disallowed_methods, reason = "a test is its own composition root")]
fn environment(name: &str) -> Option<std::ffi::OsString> {
    std::env::var_os(name)
}

fn options(root: &Path) -> LaunchOptions {
    let places = SearchPlaces {
        chrome_variable: environment("CHROME"),
        path: environment("PATH"),
        home: environment("HOME").map(Into::into),
        ..SearchPlaces::default()
    };
    LaunchOptions::new(find_chrome(&places).unwrap(), root)
}

struct Lab {
    browser: Browser,
    root: tempfile::TempDir,
}

async fn lab() -> Lab {
    let root = tempfile::tempdir().unwrap();
    let browser = Browser::launch(&options(root.path()), soon()).await.unwrap();
    Lab { browser, root }
}

impl Lab {
    fn page(&self) -> Page {
        self.browser.pages().into_iter().next().expect("the first page is listed after the launch")
    }
}

/// Serves fixed pages on the loopback interface. `127.0.0.1` and `localhost` are two sites, so a frame of
/// the one in the other is out of process. `PORT` in a page stands for the server's port.
fn serve(pages: &[(&str, &str)]) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let pages: Arc<HashMap<String, String>> = Arc::new(
        pages.iter().map(|(path, body)| ((*path).to_owned(), body.replace("PORT", &port.to_string()))).collect(),
    );
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { continue };
            let pages = pages.clone();
            std::thread::spawn(move || {
                let mut reader = BufReader::new(stream.try_clone().unwrap());
                let mut request = String::new();
                if reader.read_line(&mut request).is_err() {
                    return;
                }
                let mut header = String::new();
                while reader.read_line(&mut header).is_ok_and(|read| read > 2) {
                    header.clear();
                }
                let path = request.split(' ').nth(1).unwrap_or("/");
                let (status, body) = match pages.get(path) {
                    Some(body) => ("200 OK", body.as_str()),
                    None => ("404 Not Found", ""),
                };
                let kind = if path.ends_with(".bin") { "application/octet-stream" } else { "text/html" };
                let _ = write!(
                    stream,
                    "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
                    body.len()
                );
            });
        }
    });
    port
}

/// Polls a condition; the message names what never came true.
async fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let until = soon();
    while !holds() {
        assert!(Instant::now() < until, "{what}: not within the deadline");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

async fn next_matching<T>(events: &mut cuebook_cdp::PageEvents, mut wanted: impl FnMut(PageEvent) -> Option<T>) -> T {
    let search = async {
        loop {
            let event = events.next().await.expect("the page lives");
            if let Some(found) = wanted(event) {
                return found;
            }
        }
    };
    tokio::time::timeout_at(soon().into(), search).await.expect("the event comes")
}

/// Navigates and waits for the main document's load event.
async fn open(page: &Page, url: &str) {
    let mut events = page.events();
    let reply = page.session().call(NavigateParams::new(url), soon()).await.unwrap();
    assert_eq!(reply.error_text, None);
    let loader: String = reply.loader_id.unwrap().into();
    next_matching(&mut events, |event| match event {
        PageEvent::Lifecycle { document, name, .. } if name == "load" && document.as_str() == loader => Some(()),
        _ => None,
    })
    .await;
}

async fn main_world(page: &Page) -> cuebook_cdp::World {
    page.world(&page.main_frame().id, soon()).await.unwrap()
}

fn frame_at(page: &Page, url_end: &str) -> Option<Frame> {
    page.frames().into_iter().find(|frame| frame.url.ends_with(url_end))
}

async fn await_frame(page: &Page, url_end: &str) -> Frame {
    eventually(url_end, || frame_at(page, url_end).is_some()).await;
    frame_at(page, url_end).unwrap()
}

const FOREVER: &str = "() => new Promise(() => {})";

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

#[tokio::test(flavor = "multi_thread")]
async fn removing_an_out_of_process_frame_fails_its_pending_calls() {
    let port = serve(&[("/", r#"<iframe id=f src="http://localhost:PORT/inner"></iframe>"#), ("/inner", "inner")]);
    let lab = lab().await;
    let page = lab.page();
    open(&page, &format!("http://127.0.0.1:{port}/")).await;
    let frame = await_frame(&page, "/inner").await;
    assert!(frame.is_session_root && frame.session != *page.session());
    assert_eq!(page.sessions(), [page.session().clone(), frame.session.clone()]);

    let mut events = page.events();
    let world = page.world(&frame.id, soon()).await.unwrap();
    let pending = tokio::spawn(async move { world.call::<Value>(FOREVER, &[], soon()).await });
    let raw = frame.session.call_raw(
        "Runtime.evaluate",
        json!({"expression": "new Promise(() => {})", "awaitPromise": true}),
        soon(),
    );
    main_world(&page).await.evaluate::<Value>("document.querySelector('#f').remove()", soon()).await.unwrap();
    assert_eq!(raw.await.unwrap_err().gone(), Some(GoneReason::Detached));
    assert!(matches!(pending.await.unwrap(), Err(WorldError::ContextGone)));
    next_matching(&mut events, |event| match event {
        PageEvent::FrameDetached { frame: gone, kind: DetachKind::Removed } if gone == frame.id => Some(()),
        _ => None,
    })
    .await;
    assert_eq!(page.frames().len(), 1);
    eventually("the session is taken off the list", || page.sessions().len() == 1).await;
    assert!(matches!(page.world(&frame.id, soon()).await, Err(WorldError::FrameGone)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_frame_that_moves_between_processes_keeps_its_id() {
    let port = serve(&[("/", r#"<iframe id=f src="/near"></iframe>"#), ("/near", "near"), ("/far", "far")]);
    let lab = lab().await;
    let page = lab.page();
    open(&page, &format!("http://127.0.0.1:{port}/")).await;
    let near = await_frame(&page, "/near").await;
    assert_eq!(near.session, *page.session());
    let world = main_world(&page).await;
    let go = "url => { document.querySelector('#f').src = url }";

    world.call::<Value>(go, &[json!(format!("http://localhost:{port}/far"))], soon()).await.unwrap();
    let far = await_frame(&page, "/far").await;
    assert_eq!(far.id, near.id);
    assert_eq!(far.session.kind(), SessionKind::Frame);
    let far_world = page.world(&far.id, soon()).await.unwrap();
    assert_eq!(far_world.evaluate::<String>("document.body.textContent", soon()).await.unwrap(), "far");

    world.call::<Value>(go, &[json!("/near")], soon()).await.unwrap();
    let back = await_frame(&page, "/near").await;
    assert_eq!((back.id.clone(), &back.session), (near.id, page.session()));
    assert!(matches!(far_world.evaluate::<Value>("1", soon()).await, Err(WorldError::ContextGone)));
    let again = page.world(&back.id, soon()).await.unwrap();
    assert_eq!(again.evaluate::<String>("document.body.textContent", soon()).await.unwrap(), "near");
    assert_eq!(page.frames().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn nested_frames_across_processes_are_listed_parents_first() {
    let port = serve(&[
        ("/", r#"<iframe name=one src="http://localhost:PORT/one"></iframe><iframe name=plain></iframe>"#),
        ("/one", r#"<iframe name=two src="http://127.0.0.1:PORT/two"></iframe>"#),
        ("/two", r#"<iframe name=three src="http://localhost:PORT/three"></iframe>"#),
        ("/three", r#"<iframe name=four src="/four"></iframe>"#),
        ("/four", "innermost"),
    ]);
    let lab = lab().await;
    let page = lab.page();
    open(&page, &format!("http://127.0.0.1:{port}/")).await;
    let four = await_frame(&page, "/four").await;
    eventually("all frames are listed", || page.frames().len() == 6).await;
    let frames = page.frames();
    for (at, frame) in frames.iter().enumerate() {
        let parent_at = frames.iter().position(|other| Some(&other.id) == frame.parent.as_ref());
        assert_eq!(parent_at.is_none(), at == 0, "only the main frame has no parent");
        assert!(parent_at.is_none_or(|parent| parent < at), "parents come first");
    }
    let parent_of = |name: &str| {
        let frame = frames.iter().find(|frame| frame.name == name)?;
        frames.iter().find(|other| Some(&other.id) == frame.parent.as_ref()).map(|parent| parent.url.clone())
    };
    assert!(parent_of("two").is_some_and(|url| url.ends_with("/one")));
    assert!(parent_of("three").is_some_and(|url| url.ends_with("/two")));
    assert!(!four.is_session_root);
    let world = page.world(&four.id, soon()).await.unwrap();
    assert_eq!(world.evaluate::<String>("document.body.textContent", soon()).await.unwrap(), "innermost");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dialog_is_seen_and_answered_and_hangs_no_call_past_its_deadline() {
    let lab = lab().await;
    let page = lab.page();
    let mut events = page.events();
    let world = main_world(&page).await;
    let asking = {
        let world = world.clone();
        tokio::spawn(async move { world.evaluate::<Value>("prompt('Name?', 'nobody')", soon()).await })
    };
    let dialog = next_matching(&mut events, |event| match event {
        PageEvent::DialogOpening(dialog) => Some(dialog),
        _ => None,
    })
    .await;
    assert_eq!((dialog.kind, dialog.message.as_str()), (DialogKind::Prompt, "Name?"));
    assert_eq!(dialog.default_prompt, "nobody");
    let short = Instant::now() + Duration::from_millis(200);
    let blocked = world.evaluate::<Value>("1", short).await;
    assert!(matches!(blocked, Err(WorldError::Call(CallError::DeadlineExceeded { .. }))));

    assert!(page.dialog().is_some());
    page.answer_dialog(&DialogAnswer::Accept { text: Some("Ada".to_owned()) }, soon()).await.unwrap();
    assert_eq!(asking.await.unwrap().unwrap(), json!("Ada"));
    next_matching(&mut events, |event| matches!(event, PageEvent::DialogClosed { accepted: true }).then_some(())).await;
    assert!(page.dialog().is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_popup_is_seen_with_its_opener_and_runs_our_script_first() {
    let port = serve(&[("/", "opener"), ("/popup", "<script>dispatchEvent(new Event('early'))</script>popup")]);
    let lab = lab().await;
    lab.browser.add_world_script("addEventListener('early', () => { globalThis.heard = location.pathname })");
    let page = lab.page();
    open(&page, &format!("http://127.0.0.1:{port}/")).await;
    let mut events = lab.browser.events();
    let opening = json!({"expression": "void window.open('/popup')", "userGesture": true});
    page.session().call_raw("Runtime.evaluate", opening, soon()).await.unwrap();
    let event = tokio::time::timeout_at(soon().into(), events.next()).await.unwrap().unwrap();
    let BrowserEvent::PageOpened { page: popup, opener } = event else { panic!("expected a popup, saw {event:?}") };
    assert_eq!(opener.as_ref(), Some(page.target_id()));
    assert_eq!(popup.opener(), Some(page.target_id()));
    assert_eq!(lab.browser.page(popup.target_id()), Some(popup.clone()));
    // A popup starts with an empty document, which is replaced.
    let until = soon();
    let heard = loop {
        assert!(Instant::now() < until, "the popup is not loaded within the deadline");
        let world = main_world(&popup).await;
        let asked = world.evaluate::<(String, Value)>("[document.body?.textContent ?? '', globalThis.heard]", until);
        match asked.await {
            Ok((text, heard)) if text.ends_with("popup") => break heard,
            Ok(_) | Err(WorldError::ContextGone) => tokio::time::sleep(Duration::from_millis(10)).await,
            Err(error) => panic!("expected the popup's text, saw {error:?}"),
        }
    };
    assert_eq!(heard, json!("/popup"), "our listener hears what the page's first script does");

    popup.close(soon()).await.unwrap();
    assert!(popup.closed());
    assert_eq!(lab.browser.pages(), [page]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_world_script_runs_before_the_pages_own_scripts_in_every_process() {
    const PAGE: &str = "<script>document.documentElement.dataset.page = 'ran'</script>";
    let port =
        serve(&[("/", &format!(r#"{PAGE}<iframe src="http://localhost:PORT/inner"></iframe>"#)), ("/inner", PAGE)]);
    let lab = lab().await;
    let page = lab.page();
    let script = "globalThis.before = document.documentElement?.dataset.page ?? 'nothing yet'";
    page.add_world_script(script, soon()).await.unwrap();
    open(&page, &format!("http://127.0.0.1:{port}/")).await;
    let inner = await_frame(&page, "/inner").await;
    for frame in [page.main_frame().id, inner.id] {
        let world = page.world(&frame, soon()).await.unwrap();
        eventually_value(&world, "document.documentElement.dataset.page", &json!("ran")).await;
        let before: String = world.evaluate("globalThis.before", soon()).await.unwrap();
        assert_eq!(before, "nothing yet");
    }
    let seen = json!({"expression": "typeof before", "returnByValue": true});
    let reply = page.session().call_raw("Runtime.evaluate", seen, soon()).await.unwrap();
    let seen: Value = reply.parse().unwrap();
    assert_eq!(seen["result"]["value"], "undefined", "the page sees nothing of ours");
}

async fn eventually_value(world: &cuebook_cdp::World, expression: &str, wanted: &Value) {
    let until = soon();
    while world.evaluate::<Value>(expression, until).await.unwrap() != *wanted {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_isolated_world_survives_a_page_that_breaks_the_built_ins() {
    let port = serve(&[(
        "/",
        r"<p>one<p>two<div id=host></div><script>
            host.attachShadow({mode: 'closed'}).innerHTML = '<b>hidden</b>';
            Array.prototype.map = Array.prototype[Symbol.iterator] = () => { throw 'broken' };
            JSON.stringify = () => 'broken'; Object.prototype.toJSON = () => 'broken';
            Document.prototype.querySelectorAll = () => ['broken'];
            globalThis.Promise = null;
        </script>",
    )]);
    let lab = lab().await;
    let page = lab.page();
    open(&page, &format!("http://127.0.0.1:{port}/")).await;
    let world = main_world(&page).await;
    assert_eq!(main_world(&page).await.context(), world.context(), "one world per document");
    let texts = "async suffix => JSON.stringify([...document.querySelectorAll('p')].map(p => p.textContent + suffix))";
    let answer: String = world.call(texts, &[json!("!")], soon()).await.unwrap();
    assert_eq!(answer, r#"["one!","two!"]"#);

    let nodes = world.call_for_nodes("() => [...document.querySelectorAll('p, div')]", &[], soon()).await.unwrap();
    assert_eq!(nodes.len(), 3);
    let text: String = world.adopt(nodes[1], "(node, x) => node.textContent + x", &[json!(7)], soon()).await.unwrap();
    assert_eq!(text, "two7");
    let gone = world.adopt::<Value>(1_000_000, "node => 1", &[], soon()).await;
    assert!(matches!(gone, Err(WorldError::NodeGone)));
    let thrown = world.call::<Value>("() => { throw new Error('x'.repeat(9000)) }", &[], soon()).await;
    assert!(
        matches!(thrown, Err(WorldError::Exception { text }) if text.starts_with("Error: xxx") && text.len() == 2000)
    );
    let number: f64 = world.evaluate("1 + 1 // a comment", soon()).await.unwrap();
    assert!((number - 2.0).abs() < f64::EPSILON);
    let odd: String = world.evaluate(r"'a\ud800b'", soon()).await.unwrap();
    assert_eq!(odd, "a\u{fffd}b");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_world_never_outlives_its_document_also_in_another_process() {
    let port = serve(&[("/", "first"), ("/second", "second")]);
    let lab = lab().await;
    let page = lab.page();
    let mut old = Vec::new();
    for host in ["127.0.0.1", "localhost", "127.0.0.1"] {
        for path in ["/", "/second"] {
            open(&page, &format!("http://{host}:{port}{path}")).await;
            let world = main_world(&page).await;
            assert_eq!(*world.document(), page.main_frame().document);
            assert_eq!(world.evaluate::<String>("location.pathname", soon()).await.unwrap(), path);
            for gone in &old {
                let gone: &cuebook_cdp::World = gone;
                assert!(matches!(gone.evaluate::<Value>("1", soon()).await, Err(WorldError::ContextGone)));
            }
            old.push(world);
        }
    }
    assert!(matches!(page.world(&FrameId::from("nowhere"), soon()).await, Err(WorldError::FrameGone)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pending_evaluation_ends_when_its_document_is_left() {
    let lab = lab().await;
    let page = lab.page();
    open(&page, "data:text/html,one").await;
    let world = main_world(&page).await;
    let pending = tokio::spawn(async move { world.call::<Value>(FOREVER, &[], soon()).await });
    open(&page, "data:text/html,two").await;
    assert!(matches!(pending.await.unwrap(), Err(WorldError::ContextGone)));
}

#[tokio::test(flavor = "multi_thread")]
async fn dropping_the_browser_leaves_no_process_and_no_profile() {
    for transport in [Transport::Pipe, Transport::WebSocket] {
        let root = tempfile::tempdir().unwrap();
        let options = LaunchOptions { transport, ..options(root.path()) };
        let browser = Browser::launch(&options, soon()).await.unwrap();
        assert_eq!(browser.transport(), transport);
        let group = browser.process_id().unwrap();
        assert!(group_members(group) > 1);
        assert_eq!(sweep(root.path()).unwrap().in_use, 1, "the janitor leaves a live one alone");
        assert!(browser.is_alive());
        drop(browser);
        assert_eq!(group_members(group), 0);
        assert_eq!(std::fs::read_dir(root.path()).unwrap().count(), 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn closing_the_browser_is_orderly_and_leaves_nothing() {
    let lab = lab().await;
    let group = lab.browser.process_id().unwrap();
    let page = lab.page();
    lab.browser.close(soon()).await.unwrap();
    assert!(page.closed() && !lab.browser.is_alive());
    assert_eq!(group_members(group), 0);
    assert_eq!(std::fs::read_dir(lab.root.path()).unwrap().count(), 0);
    lab.browser.close(soon()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_start_explains_itself_and_leaves_nothing() {
    let root = tempfile::tempdir().unwrap();
    let mut options = options(root.path());
    options.binary.path = "/bin/ls".into();
    let error = Browser::launch(&options, soon()).await.unwrap_err();
    let LaunchError::Exited { stderr, .. } = &error else { panic!("expected an exit, saw {error:?}") };
    assert!(!stderr.is_empty(), "the end of its standard error is kept");
    assert_eq!(std::fs::read_dir(root.path()).unwrap().count(), 0);
    options.binary.path = root.path().join("absent");
    assert!(matches!(Browser::launch(&options, soon()).await, Err(LaunchError::Spawn { .. })));
}

/// Not a specification: the process that the janitor's tests kill. It does nothing unless told to.
#[tokio::test(flavor = "multi_thread")]
async fn helper_that_waits_to_be_killed() {
    let Some(root) = environment("CUEBOOK_CDP_TEST_LEAK") else { return };
    let root = Path::new(&root);
    let transport = if environment("CUEBOOK_CDP_TEST_PIPE").is_some() { Transport::Pipe } else { Transport::WebSocket };
    let options = LaunchOptions { transport, ..options(&root.join("profiles")) };
    let browser = Browser::launch(&options, soon()).await.unwrap();
    std::fs::write(root.join("part"), browser.process_id().unwrap().to_string()).unwrap();
    std::fs::rename(root.join("part"), root.join("started")).unwrap();
    tokio::time::sleep(Duration::from_secs(120)).await;
}

/// Starts a process of our own that launches a browser, kills it, and answers with the browser's group.
async fn leak(root: &Path, transport: Transport) -> u32 {
    let mut helper = std::process::Command::new(std::env::current_exe().unwrap());
    helper.args(["--exact", "helper_that_waits_to_be_killed"]).env("CUEBOOK_CDP_TEST_LEAK", root);
    if transport == Transport::Pipe {
        helper.env("CUEBOOK_CDP_TEST_PIPE", "1");
    }
    let mut helper = helper.stdout(std::process::Stdio::null()).spawn().unwrap();
    let started = root.join("started");
    eventually("the helper starts a browser", || started.exists()).await;
    helper.kill().unwrap();
    helper.wait().unwrap();
    std::fs::read_to_string(started).unwrap().parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_janitor_ends_a_browser_that_outlived_a_killed_owner() {
    let root = tempfile::tempdir().unwrap();
    let group = leak(root.path(), Transport::WebSocket).await;
    assert!(group_members(group) > 0, "a browser on a websocket outlives its owner");
    let report = sweep(&root.path().join("profiles")).unwrap();
    assert_eq!((report.killed, report.removed, report.in_use), (1, 1, 0));
    assert_eq!(group_members(group), 0);
    assert_eq!(std::fs::read_dir(root.path().join("profiles")).unwrap().count(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_browser_on_a_pipe_ends_with_its_killed_owner() {
    let root = tempfile::tempdir().unwrap();
    let group = leak(root.path(), Transport::Pipe).await;
    eventually("the browser exits by itself", || group_members(group) == 0).await;
    let report = sweep(&root.path().join("profiles")).unwrap();
    assert_eq!((report.killed, report.removed, report.in_use), (0, 1, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_browser_is_attached_to_by_http_and_ws_and_left_as_it_was() {
    let root = tempfile::tempdir().unwrap();
    let options = LaunchOptions { transport: Transport::WebSocket, ..options(root.path()) };
    let owner = Browser::launch(&options, soon()).await.unwrap();
    let profile =
        std::fs::read_dir(root.path()).unwrap().map(|entry| entry.unwrap().path()).find(|path| path.is_dir()).unwrap();
    let active = std::fs::read_to_string(profile.join("DevToolsActivePort")).unwrap();
    let (port, path) = active.split_once('\n').unwrap();
    for endpoint in [format!("http://127.0.0.1:{port}"), format!("ws://127.0.0.1:{port}{}", path.trim())] {
        let guest = Browser::attach(&endpoint, soon()).await.unwrap();
        assert_eq!(guest.process_id(), None);
        assert_eq!(guest.version(), owner.version());
        let page = guest.pages().into_iter().next().expect("the owner's page is seen");
        let two: u8 = main_world(&page).await.evaluate("1 + 1", soon()).await.unwrap();
        assert_eq!(two, 2);
        drop(guest);
        assert!(page.closed());
    }
    let page = owner.new_page("about:blank", soon()).await.unwrap();
    assert_eq!(owner.pages().len(), 2);
    assert_eq!(main_world(&page).await.evaluate::<u8>("3", soon()).await.unwrap(), 3);

    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    for wrong in [format!("http://127.0.0.1:{nobody}"), "ftp://x".to_owned(), "nonsense".to_owned()] {
        assert!(Browser::attach(&wrong, soon()).await.is_err(), "{wrong} is no browser");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_reply_and_a_flood_of_messages_end_in_right_answers() {
    for transport in [Transport::Pipe, Transport::WebSocket] {
        let root = tempfile::tempdir().unwrap();
        let options = LaunchOptions { transport, ..options(root.path()) };
        let browser = Browser::launch(&options, soon()).await.unwrap();
        let page = browser.pages().remove(0);
        let world = main_world(&page).await;
        let large: String = world.evaluate("'x'.repeat(20_000_000)", soon()).await.unwrap();
        assert_eq!(large.len(), 20_000_000);
        let echoed: usize = world.call("text => text.length", &[json!("y".repeat(10_000_000))], soon()).await.unwrap();
        assert_eq!(echoed, 10_000_000);

        let mut console = page.session_events(&["Runtime.consoleAPICalled"], 100);
        let runtime = page.require(Domain::Runtime);
        let flood = "() => { for (let i = 0; i < 20_000; i++) console.log('message', i); return 'done' }";
        assert_eq!(world.call::<String>(flood, &[], soon()).await.unwrap(), "done");
        assert_eq!(world.evaluate::<u8>("1", soon()).await.unwrap(), 1);
        let mut seen = 0;
        let mut missed = 0;
        while seen + missed < 20_000 {
            match tokio::time::timeout_at(soon().into(), console.next()).await.unwrap().unwrap() {
                Delivery::Event(event) => {
                    let params: Value = event.parse().unwrap();
                    assert_eq!(params["type"], "log");
                    seen += 1;
                }
                Delivery::Lagged(count) => missed += count,
            }
        }
        assert!(missed > 0, "a full queue says what it dropped");
        assert_eq!(seen + missed, 20_000);
        drop(runtime);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_domain_is_enabled_only_while_somebody_holds_a_guard() {
    let port = serve(&[("/", "page"), ("/one", "1"), ("/two", "2"), ("/three", "3")]);
    let lab = lab().await;
    let page = lab.page();
    open(&page, &format!("http://127.0.0.1:{port}/")).await;
    let world = main_world(&page).await;
    let mut requests = page.session_events(&["Network.requestWillBeSent"], 100);
    let fetch = "path => fetch(path).then(reply => reply.text())";
    let (first, second) = (page.require(Domain::Network), page.require(Domain::Network));
    drop(first);
    world.call::<String>(fetch, &[json!("/one")], soon()).await.unwrap();
    drop(second);
    world.call::<String>(fetch, &[json!("/two")], soon()).await.unwrap();
    let _third = page.require(Domain::Network);
    world.call::<String>(fetch, &[json!("/three")], soon()).await.unwrap();
    let mut seen = Vec::new();
    while let Some(Delivery::Event(event)) = requests.try_next() {
        let sent: cuebook_cdp::wire::network::RequestWillBeSent<'_> = event.parse().unwrap();
        seen.push(sent.request.url.rsplit('/').next().unwrap().to_owned());
    }
    assert_eq!(seen, ["one", "three"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn downloads_are_told_and_land_under_their_guid_or_are_refused() {
    let port = serve(&[("/", "<a href=/file.bin download>file</a>"), ("/file.bin", "content")]);
    for is_accepted in [true, false] {
        let root = tempfile::tempdir().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let accept_downloads = is_accepted.then(|| folder.path().to_owned());
        let options = LaunchOptions { accept_downloads, ..options(root.path()) };
        let browser = Browser::launch(&options, soon()).await.unwrap();
        let page = browser.pages().remove(0);
        open(&page, &format!("http://127.0.0.1:{port}/")).await;
        let mut events = browser.events();
        main_world(&page).await.evaluate::<Value>("document.querySelector('a').click()", soon()).await.unwrap();
        let mut started = None;
        let (guid, end) = loop {
            match tokio::time::timeout_at(soon().into(), events.next()).await.unwrap().unwrap() {
                BrowserEvent::DownloadStarted { guid, suggested_filename, .. } => {
                    assert_eq!(suggested_filename, "file.bin");
                    started = Some(guid);
                }
                BrowserEvent::DownloadProgress { state: DownloadState::InProgress, .. } => {}
                BrowserEvent::DownloadProgress { guid, state, .. } => break (guid, state),
                other => panic!("expected a download, saw {other:?}"),
            }
        };
        assert_eq!(started.as_ref(), Some(&guid));
        assert_eq!(end, if is_accepted { DownloadState::Completed } else { DownloadState::Canceled });
        let kept = std::fs::read_to_string(folder.path().join(&guid)).ok();
        assert_eq!(kept.as_deref(), is_accepted.then_some("content"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_chooser_is_told_with_its_input() {
    let lab = lab().await;
    let page = lab.page();
    open(&page, "data:text/html,<input type=file multiple>").await;
    let mut events = page.events();
    let click = json!({"expression": "document.querySelector('input').click()", "userGesture": true});
    page.session().call_raw("Runtime.evaluate", click, soon()).await.unwrap();
    let node = next_matching(&mut events, |event| match event {
        PageEvent::FileChooserOpened { backend_node_id, multiple: true, .. } => backend_node_id,
        _ => None,
    })
    .await;
    let kind: String = main_world(&page).await.adopt(node, "input => input.type", &[], soon()).await.unwrap();
    assert_eq!(kind, "file");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_is_attached_to_and_runs() {
    let port = serve(&[
        ("/", "<script>new Worker('/worker').onmessage = event => document.title = event.data</script>"),
        ("/worker", "postMessage('hello')"),
    ]);
    let lab = lab().await;
    let page = lab.page();
    open(&page, &format!("http://127.0.0.1:{port}/")).await;
    eventually("the worker is listed", || page.workers().len() == 1).await;
    assert_eq!(page.workers()[0].kind(), SessionKind::Worker);
    assert_eq!(page.sessions().len(), 1, "workers are no frames");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_viewport_is_what_was_asked_for_in_every_page() {
    let lab = lab().await;
    let other = lab.browser.new_page("about:blank", soon()).await.unwrap();
    for page in [lab.page(), other] {
        let size: (u32, u32) = main_world(&page).await.evaluate("[innerWidth, innerHeight]", soon()).await.unwrap();
        assert_eq!(size, (1280, 720));
    }
}

fn kill(pid: u32) {
    let status = std::process::Command::new("kill").args(["-9", &pid.to_string()]).status().unwrap();
    assert!(status.success());
}

/// Processes of a group that still run; those that ended and were not reaped do not count.
fn group_members(group: u32) -> usize {
    let output = std::process::Command::new("ps").args(["-A", "-o", "pgid=,stat="]).output().unwrap();
    String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .filter(|line| {
            let mut fields = line.split_whitespace();
            fields.next().and_then(|id| id.parse().ok()) == Some(group)
                && fields.next().is_some_and(|state| !state.starts_with('Z'))
        })
        .count()
}
