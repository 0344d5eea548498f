//! The layers on a real browser, over the built-in site, in this process.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow, ensure};
use cuebook::Live;
use cuebook_cdp::Browser;
use cuebook_datalayer::{MemoryArtifacts, MemoryLog, ValueRedactor};
use cuebook_executor::ExecutorOptions;
use cuebook_grammar::id::{PageId, RunId};
use cuebook_grammar::plan::{Author, PlanDraft};
use cuebook_grammar::policy::{Outside, Policy};
use cuebook_grammar::report::{RunReport, RunResult};
use cuebook_grammar::seam::{Confirm, DenyAll, NoSecrets};
use cuebook_grammar::secret::DigestKey;
use cuebook_page_modeler::ModelerOptions;
use cuebook_repair::{Ladder, Layers, RunRequest, Work};
use cuebook_site::{Site, SiteHandle};
use serde_json::Value;
use tempfile::TempDir;

use crate::script::Script;

const PATIENCE: Duration = Duration::from_secs(60);

/// A browser and the built-in site.
#[derive(Debug)]
pub struct Stage {
    site: SiteHandle,
    browser: Arc<Browser>,
    page: PageId,
    files: TempDir,
    _profiles: TempDir,
}

impl Stage {
    /// Opens both.
    ///
    /// # Errors
    /// If there is no browser, no port or no folder.
    pub async fn open() -> Result<Self> {
        let profiles = TempDir::new()?;
        Self::of(cuebook_testkit::shared_browser(profiles.path()).await, profiles).await
    }

    /// As [`open`](Self::open), with a browser of its own: only in that one a policy can hold requests.
    ///
    /// # Errors
    /// If there is no browser, no port or no folder.
    pub async fn launched() -> Result<Self> {
        let profiles = TempDir::new()?;
        let options = cuebook_testkit::browser(profiles.path());
        Self::of(Browser::launch(&options, Instant::now() + PATIENCE).await?, profiles).await
    }

    async fn of(browser: Browser, profiles: TempDir) -> Result<Self> {
        let site = Site::builder().build().bind(0).await?;
        let until = Instant::now() + PATIENCE;
        let files = TempDir::new()?;
        let downloads = files.path().join("downloads");
        std::fs::create_dir(&downloads)?;
        browser.accept_downloads(None, &downloads, until).await?;
        let page = PageId::new(browser.new_page("about:blank", until).await?.target_id().as_str());
        Ok(Self { site, browser: Arc::new(browser), page, files, _profiles: profiles })
    }

    /// Browser that the plays run in, with a profile that is removed afterwards.
    #[must_use]
    pub fn browser(&self) -> &Arc<Browser> {
        &self.browser
    }

    /// The tab that plays begin in.
    #[must_use]
    pub fn tab(&self) -> Option<cuebook_cdp::Page> {
        self.browser.pages().into_iter().find(|page| page.target_id().as_str() == self.page.as_str())
    }

    /// The site's URL for a path.
    #[must_use]
    pub fn url(&self, path: &str) -> String {
        self.site.url(path)
    }

    /// Returns the server's account of the events so far.
    #[must_use]
    pub fn state(&self) -> Value {
        self.site.state()
    }

    /// Returns the number of times that something reported itself under this name.
    #[must_use]
    pub fn hits(&self, name: &str) -> u64 {
        self.state()["hits"][name].as_u64().unwrap_or(0)
    }

    /// The fields of the last report of a form that never left its page.
    #[must_use]
    pub fn reported(&self, form: &str) -> Value {
        let state = self.state();
        let all = state["submissions"].as_array().cloned().unwrap_or_default();
        all.into_iter().rev().find(|said| said["form"] == form).map(|said| said["fields"].clone()).unwrap_or_default()
    }

    /// Has the site forget everything and start over from a seed.
    pub fn reset(&self, seed: u64) {
        self.site.reset(seed);
    }

    /// Waits until something comes true: what a page reported may still be on its way.
    ///
    /// # Errors
    /// If it does not within five seconds.
    pub async fn eventually(&self, holds: impl Fn(&Self) -> bool) -> Result<()> {
        let until = Instant::now() + Duration::from_secs(5);
        while !holds(self) {
            ensure!(Instant::now() < until, "the server never saw it: {:#}", self.state());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(())
    }

    /// A file that may be uploaded.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn file(&self, name: &str, content: &str) -> Result<PathBuf> {
        let path = self.files.path().join(name);
        std::fs::write(&path, content)?;
        Ok(path)
    }

    /// Where files of this stage lie.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.files.path()
    }

    /// Plays a script from a page of the site on, through every layer, everything granted, repairs on.
    ///
    /// # Errors
    /// If the policy refuses the site.
    pub async fn play(&self, path: &str, steps: &Value) -> Result<RunReport> {
        self.play_in(&self.page, path, steps).await
    }

    /// Plays a script in its own tab and layers. Others may run in the same browser.
    ///
    /// # Errors
    /// If no tab opens, or the policy refuses the site.
    pub async fn play_beside(&self, path: &str, steps: &Value) -> Result<RunReport> {
        let tab = self.browser.new_page("about:blank", Instant::now() + PATIENCE).await?;
        let report = self.play_in(&PageId::new(tab.target_id().as_str()), path, steps).await;
        tab.close(Instant::now() + PATIENCE).await?;
        report
    }

    /// Executes a plan of an operator's in its own tab and layers.
    ///
    /// # Errors
    /// If no tab opens, or the policy refuses the site.
    pub async fn exec_beside(&self, path: &str, plan: &Value) -> Result<RunReport> {
        let tab = self.browser.new_page("about:blank", Instant::now() + PATIENCE).await?;
        let page = PageId::new(tab.target_id().as_str());
        let draft = PlanDraft::read_value(plan.clone(), Author::Operator).map_err(|why| anyhow!("{why:?}"))?;
        let url = self.site.url(path);
        let policy = self.policy(&url)?;
        let report = self.work(&page, url, policy, Work::Plan(Box::new(draft)), &Value::Null, DenyAll).await;
        tab.close(Instant::now() + PATIENCE).await?;
        Ok(report)
    }

    /// Plays a script from a URL on under a policy, with nobody to ask.
    ///
    /// # Errors
    /// If no tab opens.
    pub async fn play_under(&self, policy: Policy, url: &str, steps: &Value) -> Result<RunReport> {
        self.play_asking(DenyAll, policy, url, steps).await
    }

    /// Like [`Self::play_under`], with this person to ask.
    ///
    /// # Errors
    /// If no tab opens.
    pub async fn play_asking(
        &self,
        person: impl Confirm,
        policy: Policy,
        url: &str,
        steps: &Value,
    ) -> Result<RunReport> {
        let tab = self.browser.new_page("about:blank", Instant::now() + PATIENCE).await?;
        let page = PageId::new(tab.target_id().as_str());
        let report = self.play_from(&page, url.to_owned(), policy, steps, person).await;
        tab.close(Instant::now() + PATIENCE).await?;
        Ok(report)
    }

    async fn play_in(&self, page: &PageId, path: &str, steps: &Value) -> Result<RunReport> {
        let url = self.site.url(path);
        let policy = self.policy(&url)?;
        Ok(self.play_from(page, url, policy, steps, DenyAll).await)
    }

    /// Everything of the site is granted.
    fn policy(&self, url: &str) -> Result<Policy> {
        let folder = self.files.path().to_str().context("expected a temporary folder with a name in UTF-8")?;
        let readable = Outside { read_roots: vec![folder.to_owned()], ..Outside::default() };
        let mut policy = Policy::default().starting_at(url)?.allowing(self.site.second_origin())?.opening(readable);
        for origin in [self.site.origin(), self.site.second_origin()] {
            for class in ["credential", "send", "money", "destructive"] {
                policy = policy.granting(&format!("{class}@{origin}"))?;
            }
        }
        Ok(policy)
    }

    async fn play_from(
        &self,
        page: &PageId,
        url: String,
        policy: Policy,
        steps: &Value,
        confirm: impl Confirm,
    ) -> RunReport {
        self.work(page, url, policy, Work::Task("play".to_owned()), steps, confirm).await
    }

    async fn work(
        &self,
        page: &PageId,
        url: String,
        policy: Policy,
        work: Work,
        steps: &Value,
        confirm: impl Confirm,
    ) -> RunReport {
        let live = Live::new(self.browser.clone(), DigestKey::new([5; 32]), Arc::new(ValueRedactor::default()));
        let options =
            ExecutorOptions { upload_roots: vec![self.files.path().to_owned()], ..ExecutorOptions::default() };
        let artifacts = MemoryArtifacts::default();
        let layers = Layers {
            modeler: live.modeler(ModelerOptions::default()),
            planner: Arc::new(Script::new(steps)),
            executor: live.executor(NoSecrets, artifacts, options),
            repair: Ladder::default(),
            log: MemoryLog::default(),
            confirm,
        };
        let request = RunRequest::new(RunId::new("stage"), work, page.clone(), policy).starting_at(url);
        live.controller(layers).run(request).await
    }

    /// Plays a script that must come to its end.
    ///
    /// # Errors
    /// If it does not; the message holds the report.
    pub async fn plays(&self, path: &str, steps: &Value) -> Result<RunReport> {
        let report = self.play(path, steps).await?;
        ensure!(report.result == RunResult::Ok, "{}", serde_json::to_string_pretty(&report)?);
        Ok(report)
    }
}
