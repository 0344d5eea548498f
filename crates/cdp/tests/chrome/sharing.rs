//! A browser of somebody else: which tabs are seen, which are closed, and what a killed process leaves.

use std::net::TcpListener;
use std::path::Path;
use std::time::Duration;

use cuebook_cdp::{
    AttachError, AttachOptions, Browser, BrowserEvent, LaunchOptions, OpenTab, Page, TargetId, Transport, WaitUntil,
};

use crate::lab::{environment, eventually, main_world, open, options, serve, soon};

/// Somebody's browser, with two tabs.
struct Theirs {
    browser: Browser,
    /// A page that opens tabs.
    opener: Page,
    port: u16,
    endpoint: String,
    root: tempfile::TempDir,
}

const OPENER: &str = "<title>Opener</title><a id=link target=_blank href=/popup.html>open</a>";

async fn theirs() -> Theirs {
    let root = tempfile::tempdir().unwrap();
    let options = LaunchOptions { transport: Transport::WebSocket, ..options(root.path()) };
    let browser = Browser::launch(&options, soon()).await.unwrap();
    let profile =
        std::fs::read_dir(root.path()).unwrap().map(|entry| entry.unwrap().path()).find(|path| path.is_dir()).unwrap();
    let active = std::fs::read_to_string(profile.join("DevToolsActivePort")).unwrap();
    let (port, path) = active.split_once('\n').unwrap();
    let endpoint = format!("ws://127.0.0.1:{port}{}", path.trim());
    let port = serve(&[
        ("/opener.html", OPENER),
        ("/popup.html", "<title>Popup</title><a id=link target=_blank href=/popup.html>again</a>"),
        ("/private.html", "<title>Private</title>"),
    ]);
    let opener = browser.pages().into_iter().next().unwrap();
    open(&opener, &format!("http://127.0.0.1:{port}/opener.html")).await;
    let private = browser.new_page("about:blank", soon()).await.unwrap();
    open(&private, &format!("http://127.0.0.1:{port}/private.html")).await;
    Theirs { browser, opener, port, endpoint, root }
}

impl Theirs {
    fn records(&self) -> std::path::PathBuf {
        self.root.path().join("records")
    }

    fn alone(&self) -> AttachOptions {
        AttachOptions::new(self.endpoint.clone(), self.records())
    }

    fn handed(&self, tab: &str) -> AttachOptions {
        let mut options = self.alone();
        options.tab = Some(OpenTab::Named(tab.to_owned()));
        options
    }

    fn tabs(&self) -> Vec<TargetId> {
        self.browser.pages().iter().map(|page| page.target_id().clone()).collect()
    }
}

async fn click_link(page: &Page) {
    main_world(page).await.evaluate::<()>("document.getElementById('link').click()", soon()).await.unwrap();
}

async fn open_popup(guest: &Browser, page: &Page) -> Page {
    let before = guest.pages().len();
    click_link(page).await;
    eventually("the popup is ours", || guest.pages().len() > before).await;
    guest.pages().pop().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn only_tabs_of_our_own_context_are_seen_and_they_go_with_the_connection() {
    let theirs = theirs().await;
    let before = theirs.tabs();
    let address: url::Url = theirs.endpoint.parse().unwrap();
    let http = format!("http://127.0.0.1:{}", address.port().unwrap());
    for endpoint in [http, theirs.endpoint.clone()] {
        let guest = Browser::attach(&AttachOptions::new(endpoint, theirs.records()), soon()).await.unwrap();
        assert_eq!((guest.process_id(), guest.version(), guest.pages().len()), (None, theirs.browser.version(), 0));
        let mut events = guest.events();
        let page = guest.new_page("about:blank", soon()).await.unwrap();
        open(&page, &format!("http://127.0.0.1:{}/opener.html", theirs.port)).await;
        let popup = open_popup(&guest, &page).await;
        assert_eq!(popup.opener(), Some(page.target_id()));
        // Somebody else's tab, opened meanwhile, is neither held nor seen.
        click_link(&theirs.opener).await;
        eventually("their tab opens", || theirs.tabs().len() == before.len() + 3).await;
        let last = theirs.browser.pages().pop().unwrap();
        assert_eq!(main_world(&last).await.evaluate::<u8>("1 + 1", soon()).await.unwrap(), 2);
        last.close(soon()).await.unwrap();
        assert_eq!(guest.pages(), [page.clone(), popup]);
        let mut opened = 0;
        while let Ok(Some(event)) = tokio::time::timeout(Duration::from_millis(200), events.next()).await {
            match event {
                BrowserEvent::PageOpened { .. } => opened += 1,
                event => panic!("saw {event:?}"),
            }
        }
        assert_eq!(opened, 2);
        drop(guest);
        assert!(page.closed());
        eventually("our tabs are gone", || theirs.tabs() == before).await;
    }
    let guest = Browser::attach(&theirs.alone(), soon()).await.unwrap();
    guest.new_page("about:blank", soon()).await.unwrap();
    guest.close(soon()).await.unwrap();
    eventually("our tab is closed", || theirs.tabs() == before).await;
    assert!(!theirs.records().exists(), "nothing needs a record");

    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    for wrong in [format!("http://127.0.0.1:{closed}"), "ftp://x".to_owned(), "nonsense".to_owned()] {
        let options = AttachOptions::new(wrong, theirs.records());
        assert!(Browser::attach(&options, soon()).await.is_err(), "{options:?} is no browser");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tab_that_is_handed_over_stays_open_and_what_it_opened_goes() {
    let theirs = theirs().await;
    // Opened by the tab before it was handed over: not ours.
    click_link(&theirs.opener).await;
    eventually("their popup opens", || theirs.tabs().len() == 3).await;
    let before = theirs.tabs();
    let guest = Browser::attach(&theirs.handed("Opener"), soon()).await.unwrap();
    assert_eq!(guest.handed_over().as_ref(), Some(theirs.opener.target_id()));
    let page = guest.pages().pop().unwrap();
    assert_eq!((guest.pages().len(), page.target_id()), (1, theirs.opener.target_id()));
    let popup = open_popup(&guest, &page).await;
    popup.goto(&format!("http://127.0.0.1:{}/popup.html", theirs.port), WaitUntil::Load, soon()).await.unwrap();
    let grandchild = open_popup(&guest, &popup).await;
    assert_eq!(grandchild.opener(), Some(popup.target_id()));
    let made = guest.new_page("about:blank", soon()).await.unwrap();
    assert_eq!(guest.pages(), [page, popup, grandchild, made]);
    assert_eq!(std::fs::read_dir(theirs.records()).unwrap().count(), 1);
    guest.close(soon()).await.unwrap();
    eventually("only their tabs are left", || theirs.tabs() == before).await;
    assert_eq!(std::fs::read_dir(theirs.records()).unwrap().count(), 0);
    assert_eq!(main_world(&theirs.opener).await.evaluate::<u8>("3", soon()).await.unwrap(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tab_that_cannot_be_identified_is_refused_with_counts_only() {
    let theirs = theirs().await;
    for (wanted, matching) in [("127.0.0.1", 2), ("Bank", 0)] {
        let error = Browser::attach(&theirs.handed(wanted), soon()).await.unwrap_err();
        let AttachError::NoSuchTab { matching: saw, open: 2, .. } = error else { panic!("saw {error:?}") };
        assert_eq!(saw, matching);
        assert!(!error.to_string().contains("Private"), "{error}");
    }
    assert_eq!(theirs.tabs().len(), 2);
}

/// Not a specification: the process that the next test kills. By default it does nothing.
#[tokio::test(flavor = "multi_thread")]
async fn helper_that_attaches_and_waits_to_be_killed() {
    let Some(root) = environment("CUEBOOK_CDP_TEST_ATTACH") else { return };
    let root = Path::new(&root);
    let endpoint = std::fs::read_to_string(root.join("endpoint")).unwrap();
    let mut options = AttachOptions::new(endpoint, root.join("records"));
    if environment("CUEBOOK_CDP_TEST_TAB").is_some() {
        options.tab = Some(OpenTab::Named("Opener".to_owned()));
    }
    let guest = Browser::attach(&options, soon()).await.unwrap();
    let page = match guest.pages().pop() {
        Some(page) => page,
        None => guest.new_page("about:blank", soon()).await.unwrap(),
    };
    let url = std::fs::read_to_string(root.join("url")).unwrap();
    open(&page, &url).await;
    open_popup(&guest, &page).await;
    std::fs::write(root.join("started"), "").unwrap();
    tokio::time::sleep(Duration::from_secs(120)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_killed_process_opened_the_browser_or_the_next_start_closes() {
    let theirs = theirs().await;
    let before = theirs.tabs();
    let root = theirs.root.path();
    std::fs::write(root.join("endpoint"), &theirs.endpoint).unwrap();
    std::fs::write(root.join("url"), format!("http://127.0.0.1:{}/opener.html", theirs.port)).unwrap();
    for is_handed_over in [false, true] {
        let mut helper = std::process::Command::new(std::env::current_exe().unwrap());
        helper.args(["--exact", "sharing::helper_that_attaches_and_waits_to_be_killed"]);
        helper.env("CUEBOOK_CDP_TEST_ATTACH", root).stdout(std::process::Stdio::null());
        if is_handed_over {
            helper.env("CUEBOOK_CDP_TEST_TAB", "1");
        }
        let mut helper = helper.spawn().unwrap();
        let started = root.join("started");
        eventually("the helper opens a popup", || started.exists()).await;
        assert!(theirs.tabs().len() > before.len());
        if is_handed_over {
            // Another run beside it closes nothing of a live one.
            let beside = Browser::attach(&theirs.alone(), soon()).await.unwrap();
            assert!(theirs.tabs().len() > before.len());
            beside.close(soon()).await.unwrap();
        }
        helper.kill().unwrap();
        helper.wait().unwrap();
        std::fs::remove_file(started).unwrap();
        if is_handed_over {
            assert!(theirs.tabs().len() > before.len(), "its tab is nobody's context");
            Browser::attach(&theirs.alone(), soon()).await.unwrap();
            assert_eq!(std::fs::read_dir(theirs.records()).unwrap().count(), 0);
        }
        eventually("only their tabs are left", || theirs.tabs() == before).await;
    }
}
