//! Set-up shared by the tests: a small browser each, pages on the loopback interface, deadlines that only a hang meets.

use std::time::{Duration, Instant};

use cuebook_cdp::{Browser, Frame, Navigated, Page, PageEvent, WaitUntil};
use serde_json::Value;

pub(crate) use cuebook_testkit::{environment, soon, whole_browser as options};

pub(crate) struct Lab {
    pub(crate) browser: Browser,
    pub(crate) root: tempfile::TempDir,
}

pub(crate) async fn lab() -> Lab {
    let root = tempfile::tempdir().unwrap();
    let browser = Browser::launch(&options(root.path()), soon()).await.unwrap();
    Lab { browser, root }
}

impl Lab {
    pub(crate) fn page(&self) -> Page {
        self.browser.pages().into_iter().next().expect("the first page is listed after the launch")
    }
}

/// The pages of [`cuebook_testkit::serve`].
pub(crate) fn serve(pages: &[(&str, &str)]) -> u16 {
    cuebook_testkit::serve(pages.iter().copied())
}

/// Polls a condition; the message names what never came true.
pub(crate) async fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let until = soon();
    while !holds() {
        assert!(Instant::now() < until, "{what}: not within the deadline");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

pub(crate) async fn next_matching<T>(
    events: &mut cuebook_cdp::PageEvents,
    mut wanted: impl FnMut(PageEvent) -> Option<T>,
) -> T {
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

/// Goes to a new document and waits for its load event.
pub(crate) async fn open(page: &Page, url: &str) {
    let navigated = page.goto(url, WaitUntil::Load, soon()).await.unwrap();
    assert_ne!(navigated, Navigated::SameDocument, "{url}");
}

pub(crate) async fn main_world(page: &Page) -> cuebook_cdp::World {
    page.world(&page.main_frame().id, soon()).await.unwrap()
}

pub(crate) fn frame_at(page: &Page, url_end: &str) -> Option<Frame> {
    page.frames().into_iter().find(|frame| frame.url.ends_with(url_end))
}

pub(crate) async fn await_frame(page: &Page, url_end: &str) -> Frame {
    eventually(url_end, || frame_at(page, url_end).is_some()).await;
    frame_at(page, url_end).unwrap()
}

pub(crate) const FOREVER: &str = "() => new Promise(() => {})";

pub(crate) async fn eventually_value(world: &cuebook_cdp::World, expression: &str, wanted: &Value) {
    let until = soon();
    while world.evaluate::<Value>(expression, until).await.unwrap() != *wanted {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

pub(crate) fn kill(pid: u32) {
    signal("-9", pid);
}

/// Sends a signal to a process, or to a group by its negated id.
pub(crate) fn signal(name: &str, target: impl ToString) {
    let status = std::process::Command::new("kill").args([name, "--", &target.to_string()]).status().unwrap();
    assert!(status.success());
}

/// Processes of a group that still run; those that ended and were not reaped do not count.
pub(crate) fn group_members(group: u32) -> usize {
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
