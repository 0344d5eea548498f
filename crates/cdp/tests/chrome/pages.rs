//! Events of a page, and what is enabled on it.

use std::io::{Read as _, Write as _};
use std::time::{Duration, Instant};

use cuebook_cdp::{
    Browser, BrowserEvent, CallError, Delivery, DialogAnswer, DialogKind, Domain, DownloadState, LaunchOptions,
    PageEvent, SessionKind, WorldError,
};
use serde_json::{Value, json};

use crate::lab::{eventually, lab, main_world, next_matching, open, options, serve, soon};

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
async fn s20_pages_open_no_more_than_twenty_tabs() {
    let port = serve(&[("/", "opener"), ("/popup", "popup")]);
    let lab = lab().await;
    let page = lab.page();
    open(&page, &format!("http://127.0.0.1:{port}/")).await;
    let mut events = lab.browser.events();
    let opening = json!({"expression": "for (let i = 0; i < 50; i++) open('/popup', '', i % 2 ? 'noopener' : '')"});
    page.session().call_raw("Runtime.evaluate", opening, soon()).await.unwrap();
    let (mut opened, mut refused) = (Vec::new(), 0);
    while opened.len() + refused < 50 {
        match tokio::time::timeout_at(soon().into(), events.next()).await.unwrap().unwrap() {
            BrowserEvent::PageOpened { page, .. } => opened.push(page),
            BrowserEvent::PageRefused { opener, .. } => {
                assert_eq!(opener, *page.target_id());
                refused += 1;
            }
            _ => {}
        }
    }
    assert_eq!((opened.len(), refused), (20, 30));
    // Ours do not count, and one that closes makes room.
    let ours = lab.browser.new_page("about:blank", soon()).await.unwrap();
    opened.remove(0).close(soon()).await.unwrap();
    page.session().call_raw("Runtime.evaluate", json!({"expression": "open('/popup')"}), soon()).await.unwrap();
    while !matches!(events.next().await.unwrap(), BrowserEvent::PageOpened { page, .. } if page != ours) {}
    // A refusal is told when the tab is told to close: Chrome may list it for a moment more.
    let until = soon();
    loop {
        let reply = lab.browser.session().call_raw("Target.getTargets", json!({}), until).await.unwrap();
        let targets: Value = reply.parse().unwrap();
        let pages = targets["targetInfos"].as_array().unwrap().iter().filter(|target| target["type"] == "page").count();
        if pages == 22 {
            break;
        }
        assert!(Instant::now() < until, "twenty of the page, the page and ours: expected 22, saw {pages}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn s31_downloads_write_no_more_than_they_may() {
    let port = serve(&[("/", "<a href=/endless.bin download>file</a>")]);
    let root = tempfile::tempdir().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut options = options(root.path());
    (options.accept_downloads, options.download_bytes) = (Some(folder.path().to_owned()), 1 << 20);
    let browser = Browser::launch(&options, soon()).await.unwrap();
    let page = browser.pages().remove(0);
    open(&page, &format!("http://127.0.0.1:{port}/")).await;
    let mut events = browser.events();
    let click = json!({"expression": "document.querySelector('a').click()"});
    page.session().call_raw("Runtime.evaluate", click, soon()).await.unwrap();
    let end = loop {
        match tokio::time::timeout_at(soon().into(), events.next()).await.unwrap().unwrap() {
            BrowserEvent::DownloadProgress { state: DownloadState::InProgress, .. } => {}
            BrowserEvent::DownloadProgress { state, .. } => break state,
            _ => {}
        }
    };
    assert_eq!(end, DownloadState::Canceled);
    eventually("nothing stays", || std::fs::read_dir(folder.path()).unwrap().count() == 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn downloads_of_a_context_that_is_gone_do_not_count() {
    // Half a second after its first part, a download reports that.
    let file = format!("{}PAUSEend", "x".repeat(700_000));
    let port = serve(&[("/", "<a href=/file download>file</a>"), ("/file", file.as_str())]);
    let (root, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut options = options(root.path());
    options.download_bytes = 1 << 20;
    let browser = Browser::launch(&options, soon()).await.unwrap();
    let mut events = browser.events();
    let mut ends = Vec::new();
    for is_kept in [false, true, true] {
        let context = browser.new_context(None, soon()).await.unwrap();
        browser.accept_downloads(Some(&context), folder.path(), soon()).await.unwrap();
        let page = browser.new_page_in(&context, "about:blank", soon()).await.unwrap();
        open(&page, &format!("http://127.0.0.1:{port}/")).await;
        let click = json!({"expression": "document.querySelector('a').click()"});
        page.session().call_raw("Runtime.evaluate", click, soon()).await.unwrap();
        ends.push(loop {
            match tokio::time::timeout_at(soon().into(), events.next()).await.unwrap().unwrap() {
                BrowserEvent::DownloadProgress { state: DownloadState::InProgress, .. } => {}
                BrowserEvent::DownloadProgress { state, .. } => break state,
                _ => {}
            }
        });
        if !is_kept {
            browser.dispose(&context, soon()).await.unwrap();
        }
    }
    assert_eq!(ends, [DownloadState::Completed, DownloadState::Completed, DownloadState::Canceled]);
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn a_launched_browser_does_not_inherit_what_is_withheld() {
    let root = tempfile::tempdir().unwrap();
    let mut options = options(root.path());
    options.withheld_variables = vec!["HOME".into()];
    let browser = Browser::launch(&options, soon()).await.unwrap();
    let environment = std::fs::read(format!("/proc/{}/environ", browser.process_id().unwrap())).unwrap();
    let variables: Vec<_> = environment.split(|byte| *byte == 0).collect();
    assert!(variables.iter().any(|variable| variable.starts_with(b"PATH=")));
    assert!(!variables.iter().any(|variable| variable.starts_with(b"HOME=")));
    assert_eq!(browser.program(), Some(options.binary.path.as_path()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_domain_is_enabled_only_while_a_guard_is_held() {
    let port = serve(&[("/", "<link rel=icon href=data:,>page"), ("/one", "1"), ("/two", "2"), ("/three", "3")]);
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
async fn downloads_are_reported_and_stored_under_their_guid_or_refused() {
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
async fn a_page_sends_what_it_kept_until_it_is_left_as_its_browser_closes() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut head = [0; 2_000];
            let read = stream.read(&mut head).unwrap();
            if head[..read].starts_with(b"POST /kept ") {
                let _ = tell.send(());
            }
            let page = "<script>addEventListener('pagehide', () => navigator.sendBeacon('/kept', 'x'))</script>";
            let length = page.len();
            let _ = write!(
                stream,
                "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{page}"
            );
        }
    });
    let root = tempfile::tempdir().unwrap();
    let browser = Browser::launch(&options(root.path()), soon()).await.unwrap();
    open(&browser.pages().remove(0), &format!("http://127.0.0.1:{port}/")).await;
    browser.close(soon()).await.unwrap();
    told.recv_timeout(Duration::from_secs(5)).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_chooser_is_reported_with_its_input() {
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
