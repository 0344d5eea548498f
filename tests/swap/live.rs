//! The live world: the built-in site in a real browser, with one layer at a time replaced.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use cuebook_cdp::{Browser, LaunchOptions, SearchPlaces, find_chrome};
use cuebook_datalayer::{MemoryArtifacts, MemoryLog, ValueRedactor};
use cuebook_executor::{ExecutorOptions, LiveExecutor};
use cuebook_grammar::action::{Action, Click, Finish, TypeText};
use cuebook_grammar::deadline::Deadline;
use cuebook_grammar::id::{PageId, RunId};
use cuebook_grammar::observation::{Observation, Scope};
use cuebook_grammar::plan::{Author, PlanDraft};
use cuebook_grammar::policy::Policy;
use cuebook_grammar::report::{RunReport, RunResult};
use cuebook_grammar::seam::{
    DenyAll, Finding, NoSecrets, PageModeler, PlanReply, PlanRequest, PlanSink, Planner, Query, Redactor,
};
use cuebook_grammar::secret::{DigestKey, WireText};
use cuebook_grammar::step::Step;
use cuebook_page_modeler::{LivePageModeler, ModelerOptions};
use cuebook_planner::Lexical;
use cuebook_repair::{Controller, Ladder, Layers, RunRequest, Seams, Work};
use cuebook_site::{Site, SiteHandle};
use outside_agent::{FakeArtifacts, FakeConfirm, FakeLog, FakeRedactor, FakeRepair, FakeSecrets};
use tempfile::TempDir;

const TASK: &str = "Log in as ann with password correct-horse";

/// A browser on the login page of the built-in site.
struct Live {
    site: Arc<SiteHandle>,
    browser: Arc<Browser>,
    page: PageId,
    key: DigestKey,
    _profiles: TempDir,
}

impl Live {
    #[expect(clippy::disallowed_methods, reason = "a test is its own composition root")]
    async fn open() -> Result<Self> {
        let site = Arc::new(Site::builder().build().bind(0).await?);
        let places = SearchPlaces {
            chrome_variable: std::env::var_os("CHROME"),
            path: std::env::var_os("PATH"),
            ..SearchPlaces::default()
        };
        let profiles = TempDir::new()?;
        let until = Instant::now() + Duration::from_secs(60);
        let options = LaunchOptions::new(find_chrome(&places)?, profiles.path());
        let browser = Arc::new(Browser::launch(&options, until).await?);
        let page = PageId::new(browser.new_page("about:blank", until).await?.target_id().as_str());
        Ok(Self { site, browser, page, key: DigestKey::new([3; 32]), _profiles: profiles })
    }

    fn modeler(&self) -> LivePageModeler {
        LivePageModeler::new(self.browser.clone(), self.key.clone(), ModelerOptions::default())
    }

    fn executor(&self) -> LiveExecutor {
        let options = ExecutorOptions::default();
        LiveExecutor::new(self.browser.clone(), self.key.clone(), NoSecrets, MemoryArtifacts::default(), options)
    }

    async fn run(&self, layers: impl Seams, redactor: Arc<dyn Redactor>) -> Result<RunReport> {
        let url = self.site.url("/login");
        let request = RunRequest::new(
            RunId::new("swap"),
            Work::Task(TASK.to_owned()),
            self.page.clone(),
            Policy::default().starting_at(&url)?,
        )
        .starting_at(url);
        let report = Controller::new(layers, self.key.clone(), redactor).run(request).await;
        self.browser.close(Instant::now() + Duration::from_secs(5)).await.ok();
        Ok(report)
    }

    fn assert_logged_in(&self, report: &RunReport) {
        assert_eq!(report.result, RunResult::Ok, "{report:#?}");
        let logins = self.site.state()["logins"].clone();
        assert_eq!(logins, serde_json::json!([{ "user": "ann", "accepted": true }]));
    }
}

fn redactor() -> Arc<dyn Redactor> {
    Arc::new(ValueRedactor::default())
}

/// Plans the login by the names of what was observed.
struct ByName;

impl Planner for ByName {
    type Error = std::convert::Infallible;

    async fn plan(
        &self,
        request: &PlanRequest<'_>,
        _: &mut dyn PlanSink,
        _: Deadline,
    ) -> Result<PlanReply, Self::Error> {
        let find = |name: &str| request.observation.candidates.iter().find(|c| c.name == name).map(|c| c.id.into());
        let enter = |target_ref, text: &str| {
            let text = Some(WireText::cut(text));
            Step::from(Action::Type(TypeText { target_ref, text, credential_ref: None, delay_ms: None }))
        };
        let steps = match (find("Email"), find("Password"), find("Log in")) {
            (Some(email), Some(password), Some(button)) => vec![
                enter(email, "ann"),
                enter(password, "correct-horse"),
                Step::from(Action::Click(Click {
                    target_ref: button,
                    button: None,
                    count: None,
                    modifiers: None,
                    position: None,
                    dry_run: None,
                })),
            ],
            _ => vec![Step::from(Action::Finish(Finish { result: None, from: None }))],
        };
        Ok(PlanReply::of(PlanDraft::of(Author::Model, steps)))
    }
}

/// Replays observations that were recorded as JSON, by URL: no node handles, only what the language holds.
struct Recorded {
    by_path: BTreeMap<&'static str, String>,
    site: Arc<SiteHandle>,
}

impl PageModeler for Recorded {
    type Error = serde_json::Error;

    async fn observe(&mut self, page: &PageId, _: Scope, _: Deadline) -> Result<Observation, Self::Error> {
        let is_in = self.site.state()["logins"].as_array().is_some_and(|logins| !logins.is_empty());
        // Any page without the form will do for what comes after it.
        let path = if is_in { "/shop" } else { "/login" };
        let text = self.by_path.get(path).map_or("null", String::as_str);
        let mut observation: Observation = serde_json::from_str(text)?;
        observation.page = page.clone();
        Ok(observation)
    }

    async fn explore(&mut self, _: &PageId, _: &Query, _: Deadline) -> Result<Finding, Self::Error> {
        Ok(Finding::Refused("a recording answers no questions".to_owned()))
    }
}

#[tokio::test]
async fn all_layers_live() -> Result<()> {
    let live = Live::open().await?;
    let layers = Layers {
        modeler: live.modeler(),
        planner: Arc::new(Lexical),
        executor: live.executor(),
        repair: Ladder::default(),
        log: MemoryLog::default(),
        confirm: DenyAll,
    };
    let report = live.run(layers, redactor()).await?;
    live.assert_logged_in(&report);
    Ok(())
}

#[tokio::test]
async fn another_planner() -> Result<()> {
    let live = Live::open().await?;
    let layers = Layers {
        modeler: live.modeler(),
        planner: Arc::new(ByName),
        executor: live.executor(),
        repair: Ladder::default(),
        log: MemoryLog::default(),
        confirm: DenyAll,
    };
    let report = live.run(layers, redactor()).await?;
    live.assert_logged_in(&report);
    Ok(())
}

#[tokio::test]
async fn a_recorded_page_instead_of_the_page_modeler() -> Result<()> {
    let live = Live::open().await?;
    let mut by_path = BTreeMap::new();
    for path in ["/login", "/shop"] {
        // Recorded beforehand, and kept as text: the candidates lose their node handles.
        let mut modeler = live.modeler();
        let target = live.browser.pages().into_iter().find(|page| page.target_id().as_str() == live.page.as_str());
        let target = target.context("the tab is gone")?;
        let deadline = Deadline::after(Instant::now(), Duration::from_secs(20));
        target.goto(&live.site.url(path), cuebook_cdp::WaitUntil::Load, deadline.instant()).await?;
        let observation = loop {
            let observation = modeler.observe(&live.page, Scope::Full, deadline).await?;
            if observation.url.ends_with(path) && observation.candidates.len() > 8 {
                break observation;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        };
        by_path.insert(path, serde_json::to_string(&observation)?);
    }
    let layers = Layers {
        modeler: Recorded { by_path, site: live.site.clone() },
        planner: Arc::new(ByName),
        executor: live.executor(),
        repair: Ladder::default(),
        log: MemoryLog::default(),
        confirm: DenyAll,
    };
    let report = live.run(layers, redactor()).await?;
    live.assert_logged_in(&report);
    Ok(())
}

#[tokio::test]
async fn another_repair_policy_log_confirmer_and_redactor() -> Result<()> {
    let live = Live::open().await?;
    let log = FakeLog::default();
    let layers = Layers {
        modeler: live.modeler(),
        planner: Arc::new(Lexical),
        executor: live.executor(),
        repair: FakeRepair::default(),
        log: log.clone(),
        confirm: FakeConfirm::answering([]),
    };
    let report = live.run(layers, Arc::new(FakeRedactor::default())).await?;
    live.assert_logged_in(&report);
    assert_eq!(log.steps().len(), report.steps.len());
    Ok(())
}

#[tokio::test]
async fn other_stores_behind_the_executor() -> Result<()> {
    let live = Live::open().await?;
    let artifacts = FakeArtifacts::default();
    let executor = LiveExecutor::new(
        live.browser.clone(),
        live.key.clone(),
        FakeSecrets::of_the_shop(),
        artifacts.clone(),
        ExecutorOptions::default(),
    );
    let layers = Layers {
        modeler: live.modeler(),
        planner: Arc::new(Lexical),
        executor,
        repair: Ladder::default(),
        log: MemoryLog::default(),
        confirm: DenyAll,
    };
    let report = live.run(layers, redactor()).await?;
    live.assert_logged_in(&report);
    assert!(artifacts.count() > 0, "pictures of the first step and of the page change");
    Ok(())
}
