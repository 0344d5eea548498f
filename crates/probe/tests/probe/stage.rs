//! A browser of its own for each test, and pages of a few lines.

use std::collections::HashMap;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use cuebook_cdp::{Browser, ChromeBinary, LaunchOptions, Page, PlaceKind, SearchPlaces, WaitUntil, find_chrome};
use cuebook_grammar::facts::ElementFacts;
use cuebook_grammar::locator::Locator;
use cuebook_grammar::secret::{DigestKey, FactText};
use cuebook_probe::{Ask, Located, Probe};
use serde_json::{Value, json};

/// Serves `pages` by path on a loopback port until the process ends.
pub(crate) fn serve(pages: Vec<(&'static str, String)>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let pages: HashMap<&str, String> =
        pages.into_iter().map(|(path, body)| (path, body.replace("PORT", &port.to_string()))).collect();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { continue };
            let pages = pages.clone();
            std::thread::spawn(move || {
                let mut buffer = [0; 4096];
                let Ok(read) = stream.read(&mut buffer) else { return };
                let request = String::from_utf8_lossy(&buffer[..read]).into_owned();
                let path = request.split(' ').nth(1).unwrap_or("/");
                let (status, body) = pages.get(path).map_or(("404 Not Found", ""), |body| ("200 OK", body));
                let head = format!(
                    "HTTP/1.1 {status}\r\ncontent-type: text/html; charset=utf-8\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
                    body.len()
                );
                let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body.as_bytes()));
            });
        }
    });
    port
}

pub(crate) fn until() -> Instant {
    Instant::now() + Duration::from_secs(30)
}

pub(crate) struct Stage {
    browser: Browser,
    _profiles: tempfile::TempDir,
}

pub(crate) async fn stage() -> Stage {
    let profiles = tempfile::tempdir().unwrap();
    let binary = find_chrome(&SearchPlaces::default())
        .unwrap_or_else(|_| ChromeBinary { path: PathBuf::from("/usr/bin/chromium"), found_by: PlaceKind::System });
    let browser = Browser::launch(&LaunchOptions::new(binary, profiles.path()), until()).await.unwrap();
    Stage { browser, _profiles: profiles }
}

impl Stage {
    pub(crate) async fn open(&self, url: &str) -> (Page, Probe) {
        let page = self.browser.new_page("about:blank", until()).await.unwrap();
        let probe = Probe::attach(page.clone(), DigestKey::new([3; 32]), until()).await.unwrap();
        page.goto(url, WaitUntil::Load, until()).await.unwrap();
        (page, probe)
    }

    pub(crate) async fn page_of(&self, html: &str) -> (Page, Probe) {
        let port = serve(vec![("/", html.to_owned())]);
        self.open(&format!("http://127.0.0.1:{port}/")).await
    }
}

pub(crate) async fn locate(probe: &Probe, locator: Value) -> Located {
    let locator: Locator = serde_json::from_value(locator).unwrap();
    probe.locate(&locator, &Ask::with_text(), until()).await.unwrap()
}

pub(crate) fn texts(located: &Located) -> Vec<&str> {
    located.matches.iter().map(|found| found.facts.text.as_ref().and_then(FactText::clear).unwrap_or("")).collect()
}

pub(crate) async fn only(probe: &Probe, selector: &str) -> ElementFacts {
    let located = locate(probe, json!({ "strategy": "css", "selector": selector })).await;
    located.unique().unwrap_or_else(|| panic!("{selector}: {}", located.matches.len())).facts.clone()
}
