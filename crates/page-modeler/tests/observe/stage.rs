//! A context, a page and a modeler of its own for each test.

use std::sync::Arc;
use std::time::{Duration, Instant};

use cuebook_cdp::protocol::js_protocol::runtime::EvaluateParams;
use cuebook_cdp::{Browser, Page, WaitUntil};
use cuebook_grammar::candidate::{Candidate, Placement};
use cuebook_grammar::deadline::Deadline;
use cuebook_grammar::id::PageId;
use cuebook_grammar::observation::{Observation, Scope};
use cuebook_grammar::seam::{Finding, PageModeler as _, Query};
use cuebook_grammar::secret::DigestKey;
use cuebook_page_modeler::{LivePageModeler, ModelerOptions};
use serde_json::Value;

pub(crate) use cuebook_testkit::serve;

pub(crate) fn until() -> Instant {
    Instant::now() + Duration::from_secs(30)
}

pub(crate) struct Stage {
    pub(crate) page: Page,
    pub(crate) id: PageId,
    pub(crate) modeler: LivePageModeler,
    pub(crate) browser: Arc<Browser>,
    _profiles: tempfile::TempDir,
}

impl Stage {
    pub(crate) async fn at(url: &str) -> Self {
        let profiles = tempfile::tempdir().unwrap();
        Self::of(cuebook_testkit::shared_browser(profiles.path()).await, profiles, url).await
    }

    /// In a browser of its own, of which every tab is seen.
    pub(crate) async fn alone(url: &str) -> Self {
        let profiles = tempfile::tempdir().unwrap();
        let browser = Browser::launch(&cuebook_testkit::browser(profiles.path()), until()).await.unwrap();
        Self::of(browser, profiles, url).await
    }

    async fn of(browser: Browser, profiles: tempfile::TempDir, url: &str) -> Self {
        let browser = Arc::new(browser);
        let page = browser.new_page("about:blank", until()).await.unwrap();
        let modeler = LivePageModeler::new(Arc::clone(&browser), DigestKey::new([5; 32]), ModelerOptions::default());
        let stage = Self { id: PageId::new(page.target_id().as_str()), page, modeler, browser, _profiles: profiles };
        stage.go(url).await;
        stage
    }

    pub(crate) async fn on(html: &str) -> Self {
        let port = serve(vec![("/", html.to_owned())]);
        Self::at(&format!("http://127.0.0.1:{port}/")).await
    }

    pub(crate) async fn go(&self, url: &str) {
        self.page.goto(url, WaitUntil::Load, until()).await.unwrap();
    }

    pub(crate) async fn observe(&mut self, scope: Scope) -> Observation {
        let deadline = Deadline::after(Instant::now(), Duration::from_secs(30));
        self.modeler.observe(&self.id.clone(), scope, deadline).await.unwrap()
    }

    pub(crate) async fn is_unchanged(&mut self, seen: &Observation) -> bool {
        let deadline = Deadline::after(Instant::now(), Duration::from_secs(30));
        self.modeler.is_unchanged(seen, deadline).await.unwrap()
    }

    pub(crate) async fn prepare(&mut self, scope: Scope) {
        let deadline = Deadline::after(Instant::now(), Duration::from_secs(30));
        self.modeler.prepare(&self.id.clone(), scope, deadline).await.unwrap();
    }

    /// An observation with the page's text.
    pub(crate) async fn read(&mut self, scope: Scope) -> Observation {
        let mut seen = self.observe(scope).await;
        let deadline = Deadline::after(Instant::now(), Duration::from_secs(30));
        self.modeler.read(&mut seen, deadline).await.unwrap();
        seen
    }

    pub(crate) async fn explore(&mut self, query: Query) -> Finding {
        let deadline = Deadline::after(Instant::now(), Duration::from_secs(30));
        self.modeler.explore(&self.id.clone(), &query, deadline).await.unwrap()
    }

    /// Runs an expression in the page's own world.
    pub(crate) async fn page_script(&self, expression: &str) -> Value {
        let params = EvaluateParams {
            return_by_value: Some(true),
            await_promise: Some(true),
            ..EvaluateParams::new(expression)
        };
        let reply = self.page.session().request(params, until()).await.unwrap();
        let value: Value = reply.parse().unwrap();
        assert_eq!(value.get("exceptionDetails"), None, "{expression}");
        value["result"]["value"].clone()
    }
}

pub(crate) fn names(observation: &Observation) -> Vec<&str> {
    observation.candidates.iter().map(|c| c.name.as_str()).collect()
}

pub(crate) fn named<'a>(observation: &'a Observation, name: &str) -> &'a Candidate {
    let found: Vec<_> = observation.candidates.iter().filter(|c| c.name == name).collect();
    assert_eq!(found.len(), 1, "{name} in {:?}", names(observation));
    found[0]
}

/// The candidates in reading order: `button "Save"`, with context, placement, cover and doubt where there is any.
pub(crate) fn lines_of(observation: &Observation) -> Vec<String> {
    observation
        .candidates
        .iter()
        .map(|candidate| {
            let mut line = candidate.title();
            for (on, word) in [
                (candidate.states.disabled, " disabled"),
                (candidate.placement == Placement::OffView, " off view"),
                (candidate.occlusion.is_some(), " covered"),
                (candidate.ambiguous, " ambiguous"),
            ] {
                line.push_str(if on { word } else { "" });
            }
            line
        })
        .collect()
}

/// A page offers `before`; after `change`, a script of the page's own world, it offers `after`.
pub(crate) async fn check(html: &str, before: &[&str], change: &str, after: &[&str]) {
    let mut stage = Stage::on(html).await;
    assert_eq!(lines_of(&stage.observe(Scope::Full).await), before);
    stage.page_script(&format!("{change}; 0")).await;
    assert_eq!(lines_of(&stage.observe(Scope::Full).await), after, "after {change}");
}
