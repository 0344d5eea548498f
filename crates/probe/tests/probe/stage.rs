//! A context of its own for each test, and pages of a few lines.

use std::time::{Duration, Instant};

use cuebook_cdp::{Browser, Page, WaitUntil};
use cuebook_grammar::facts::ElementFacts;
use cuebook_grammar::locator::Locator;
use cuebook_grammar::secret::{DigestKey, FactText};
use cuebook_probe::{Ask, Located, Probe};
use serde_json::{Value, json};

pub(crate) use cuebook_testkit::serve;

pub(crate) fn until() -> Instant {
    Instant::now() + Duration::from_secs(30)
}

pub(crate) struct Stage {
    browser: Browser,
    _profiles: tempfile::TempDir,
}

pub(crate) async fn stage() -> Stage {
    let profiles = tempfile::tempdir().unwrap();
    let browser = cuebook_testkit::shared_browser(profiles.path()).await;
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
