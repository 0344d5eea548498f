//! Shared by the tests of the layers: where their browser is, and a server of fixed pages.
#![expect(clippy::disallowed_methods, reason = "a test is its own composition root, and its server is slow on purpose")]
#![expect(clippy::unwrap_used, reason = "a test ends with what it cannot do")]

use std::collections::HashMap;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cuebook_cdp::{AttachOptions, Browser, LaunchOptions, SearchPlaces, find_chrome};

/// Far beyond what anything in a test takes: only a hang meets it.
#[must_use]
pub fn soon() -> Instant {
    Instant::now() + Duration::from_secs(40)
}

/// A variable of the environment.
#[must_use]
pub fn environment(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

/// How to launch a whole browser, with its profiles below `root`: `$CUEBOOK_TEST_BROWSER`, where `$CHROME` is a headless
/// shell.
///
/// # Panics
/// If there is no browser.
#[must_use]
pub fn whole_browser(root: &Path) -> LaunchOptions {
    launch(environment("CUEBOOK_TEST_BROWSER").or_else(|| environment("CHROME")), root)
}

/// How to launch the browser of the tests, with its profiles below `root`: `$CHROME`.
///
/// # Panics
/// If there is no browser.
#[must_use]
pub fn browser(root: &Path) -> LaunchOptions {
    launch(environment("CHROME"), root)
}

/// The address of the browser of the test's slot, if `cargo xtask test` opened browsers for the slots of its runner
/// (`$CUEBOOK_TEST_BROWSERS`: their addresses, by slot, between spaces), and no test has killed it.
#[must_use]
pub fn browser_of_slot() -> Option<String> {
    let of_slots = environment("CUEBOOK_TEST_BROWSERS")?.into_string().ok()?;
    let slot: usize = environment("NEXTEST_TEST_GLOBAL_SLOT")?.to_str()?.parse().ok()?;
    let address = of_slots.split_whitespace().nth(slot)?;
    let host = address.trim_start_matches("ws://").split('/').next()?;
    TcpStream::connect(host).is_ok().then(|| address.to_owned())
}

/// A browser for a test that does nothing to the browser as a whole: a context of its own in [the one of the test's
/// slot](browser_of_slot), else one of its own. Either has no tab but those that the test opens.
///
/// # Panics
/// If there is no browser.
pub async fn shared_browser(root: &Path) -> Browser {
    if let Some(endpoint) = browser_of_slot() {
        // One that a test has killed is replaced by one of this test's own.
        let until = Instant::now() + Duration::from_secs(10);
        if let Ok(browser) = Browser::attach(&AttachOptions::new(endpoint, root), until).await {
            return browser;
        }
    }
    Browser::launch(&browser(root), soon()).await.unwrap()
}

fn launch(named: Option<OsString>, root: &Path) -> LaunchOptions {
    let places = SearchPlaces {
        chrome_variable: named,
        path: environment("PATH"),
        home: environment("HOME").map(Into::into),
        ..SearchPlaces::default()
    };
    LaunchOptions::new(find_chrome(&places).unwrap(), root)
}

/// Serves fixed pages on a loopback port until the process ends. `127.0.0.1` and `localhost` are two sites, so a frame of
/// the one in the other is out of process. `PORT` in a page stands for the server's port.
///
/// A body may begin with lines that are not sent: `STATUS 500`, `LOCATION /path` (a redirect), `WAIT 400` (milliseconds
/// before the answer). It stops for a second at each `PAUSE`, and one that ends in `NEVER` does not end. `/never` is never
/// answered, and `/endless.bin` is sent as long as somebody reads it.
///
/// # Panics
/// If there is no port, or a `WAIT` is no number.
pub fn serve<P: AsRef<str>, B: AsRef<str>>(pages: impl IntoIterator<Item = (P, B)>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let page = |(path, body): (P, B)| (path.as_ref().to_owned(), body.as_ref().replace("PORT", &port.to_string()));
    let pages: Arc<HashMap<String, String>> = Arc::new(pages.into_iter().map(page).collect());
    std::thread::spawn(move || {
        let mut kept = Vec::new();
        for stream in listener.incoming() {
            let Ok(stream) = stream else { continue };
            kept.push(stream.try_clone().unwrap());
            let pages = pages.clone();
            std::thread::spawn(move || answer(stream, &pages));
        }
    });
    port
}

fn answer(mut stream: TcpStream, pages: &HashMap<String, String>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut request = String::new();
    if reader.read_line(&mut request).is_err() {
        return;
    }
    let mut header = String::new();
    while reader.read_line(&mut header).is_ok_and(|read| read > 2) {
        header.clear();
    }
    let asked = request.split(' ').nth(1).unwrap_or("/");
    let path = asked.split('?').next().unwrap_or("/");
    match path {
        "/never" => return,
        "/endless.bin" => return endless(stream),
        _ => {}
    }
    let (mut status, mut body) = match pages.get(asked).or_else(|| pages.get(path)) {
        Some(body) => ("200 OK".to_owned(), body.as_str()),
        None => ("404 Not Found".to_owned(), "nothing here"),
    };
    while let Some((line, rest)) = body.split_once('\n') {
        match line.split_once(' ') {
            Some(("STATUS", code)) => status = format!("{code} Stated"),
            Some(("LOCATION", to)) => status = format!("302 Found\r\nLocation: {to}"),
            Some(("WAIT", ms)) => std::thread::sleep(Duration::from_millis(ms.parse().unwrap())),
            _ => break,
        }
        body = rest;
    }
    let kind = match path {
        "/stream" => "text/event-stream",
        path if path.ends_with(".bin") => "application/octet-stream",
        _ => "text/html; charset=utf-8",
    };
    let (body, length) = match body.strip_suffix("NEVER") {
        Some(start) => (start, String::new()),
        None => {
            let length = body.replace("PAUSE", "").len();
            (body, format!("Content-Length: {length}\r\nConnection: close\r\n"))
        }
    };
    let _ = write!(stream, "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\n{length}\r\n");
    for (place, part) in body.split("PAUSE").enumerate() {
        if place > 0 {
            std::thread::sleep(Duration::from_secs(1));
        }
        let _ = stream.write_all(part.as_bytes());
    }
    if !length.is_empty() {
        let _ = stream.shutdown(std::net::Shutdown::Both);
    }
}

fn endless(mut stream: TcpStream) {
    let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\n\r\n");
    // The client says no more: each read waits for its time, which bounds the pace.
    stream.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
    while stream.write_all(&[0; 64 << 10]).is_ok() {
        let _ = stream.read(&mut [0]);
    }
}
