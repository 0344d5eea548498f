//! What the tests share: a small browser each, pages on the loopback interface, deadlines that only a hang meets.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read as _, Write};
use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cuebook_cdp::{Browser, Frame, LaunchOptions, Navigated, Page, PageEvent, SearchPlaces, WaitUntil, find_chrome};
use serde_json::Value;

/// Far beyond what anything here takes: only a hang meets it.
pub(crate) fn soon() -> Instant {
    Instant::now() + Duration::from_secs(40)
}

#[expect(clippy::disallowed_methods, reason = "a test is its own composition root")]
pub(crate) fn environment(name: &str) -> Option<std::ffi::OsString> {
    std::env::var_os(name)
}

pub(crate) fn options(root: &Path) -> LaunchOptions {
    let places = SearchPlaces {
        chrome_variable: environment("CHROME"),
        path: environment("PATH"),
        home: environment("HOME").map(Into::into),
        ..SearchPlaces::default()
    };
    LaunchOptions::new(find_chrome(&places).unwrap(), root)
}

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

/// Serves fixed pages on the loopback interface. `127.0.0.1` and `localhost` are two sites, so a frame of
/// the one in the other is out of process. `PORT` in a page stands for the server's port.
pub(crate) fn serve(pages: &[(&str, &str)]) -> u16 {
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
                if path == "/endless.bin" {
                    let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\n\r\n");
                    // The client says no more: each read waits for its time, which bounds the pace.
                    stream.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
                    while stream.write_all(&[0; 64 << 10]).is_ok() {
                        let _ = stream.read(&mut [0]);
                    }
                    return;
                }
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
