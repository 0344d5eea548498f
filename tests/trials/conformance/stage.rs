//! One worker's browser, server and executor: opens the page of a case and runs steps on it.
//!
//! Invariant: everything goes through what a user of the crates has: a plan in text, its check, its binding, and
//! the executor. Only the JavaScript of the cases themselves is evaluated beside that.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use cuebook_cdp::protocol::browser_protocol::emulation::SetDeviceMetricsOverrideParams;
use cuebook_cdp::protocol::js_protocol::runtime::EvaluateParams;
use cuebook_cdp::{Browser, ChromeBinary, LaunchOptions, Page, Sandbox};
use cuebook_executor::{ExecutorOptions, LiveExecutor, ScreenshotMode};
use cuebook_grammar::deadline::Deadline;
use cuebook_grammar::id::{CredentialRef, PageId};
use cuebook_grammar::locator::Locator;
use cuebook_grammar::observation::Observation;
use cuebook_grammar::outcome::{ArtifactRef, StepOutcome};
use cuebook_grammar::plan::{Author, PlanDraft};
use cuebook_grammar::policy::{Outside, Policy};
use cuebook_grammar::profile::Profile;
use cuebook_grammar::seam::{
    ArtifactKind, ArtifactSink, DenyAll, Executor as _, SecretRefusal, SecretScope, SecretSource,
};
use cuebook_grammar::secret::{DigestKey, Secret};
use cuebook_page_modeler::{LivePageModeler, ModelerOptions};
use cuebook_probe::Probe;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::conformance::case::{Case, ChosenFile, Kind, Viewport};
use crate::conformance::server::Server;

/// The most that anything beside steps may take.
const PATIENCE: Duration = Duration::from_secs(15);
/// How long JavaScript that must become true is asked again.
const JS_PATIENCE: Duration = Duration::from_millis(500);
const JS_POLL: Duration = Duration::from_millis(25);
/// The time of a step whose case says none.
pub(crate) const STEP_MS: u64 = 6_000;
const USUAL_VIEWPORT: Viewport = Viewport { width: 1280, height: 720 };

/// There are no secrets in these cases.
#[derive(Clone, Copy, Debug)]
struct NoSecrets;

impl SecretSource for NoSecrets {
    async fn resolve(&self, reference: &CredentialRef, _: &SecretScope, _: Deadline) -> Result<Secret, SecretRefusal> {
        Err(SecretRefusal::Unknown(reference.clone()))
    }
}

/// Artifact sink that keeps nothing.
#[derive(Clone, Copy, Debug)]
struct Nowhere;

impl ArtifactSink for Nowhere {
    type Error = std::io::Error;
    async fn store(&self, kind: ArtifactKind, media_type: &str, bytes: Vec<u8>) -> Result<ArtifactRef, Self::Error> {
        Ok(ArtifactRef {
            kind: kind.as_str().to_owned(),
            sha256: String::new(),
            media_type: media_type.to_owned(),
            bytes: bytes.len() as u64,
            path: String::new(),
        })
    }
}

/// Result of one step.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "one exists at a time, and what ran is the common one")]
pub(crate) enum Stepped {
    /// The plan was refused: codes and messages.
    Refused(String),
    /// The step ran, with this outcome.
    Ended(StepOutcome),
}

/// A browser with one tab at a time.
pub(crate) struct Stage {
    browser: Arc<Browser>,
    executor: LiveExecutor,
    pub(crate) server: Server,
    page: Option<Page>,
    /// `true` if the tab's page opened, and nothing is done with it but looking.
    has_only_looked: bool,
    folder: TempDir,
}

impl Stage {
    /// Starts a browser and a server.
    ///
    /// # Errors
    /// If one of them cannot be started.
    pub(crate) async fn open(chrome: &ChromeBinary) -> Result<Self> {
        let folder = TempDir::new()?;
        let uploads = folder.path().join("uploads");
        std::fs::create_dir(&uploads)?;
        let mut options = LaunchOptions::new(chrome.clone(), folder.path().join("profiles"));
        options.viewport = (USUAL_VIEWPORT.width, USUAL_VIEWPORT.height);
        options.sandbox = Sandbox::Default;
        options.accept_downloads = Some(folder.path().join("downloads"));
        let browser = Arc::new(Browser::launch(&options, Instant::now() + PATIENCE * 2).await?);
        let options = ExecutorOptions {
            screenshots: ScreenshotMode::Off,
            upload_roots: vec![uploads],
            ..ExecutorOptions::default()
        };
        let key = DigestKey::new([3; 32]);
        let executor = LiveExecutor::new(browser.clone(), key, NoSecrets, Nowhere, options);
        Ok(Self { browser, executor, server: Server::start().await?, page: None, has_only_looked: false, folder })
    }

    /// Opens the page of a case, and runs the setup.
    ///
    /// # Errors
    /// If the page does not open.
    pub(crate) async fn show(&mut self, case: &Case, kind: Kind) -> Result<()> {
        self.server.show(case)?;
        let viewport = case.viewport.unwrap_or(USUAL_VIEWPORT);
        let only_looks = kind != Kind::Action && viewport == USUAL_VIEWPORT;
        self.take_tab(viewport, only_looks).await?;
        let url = format!("{}{}", self.server.origin(), case.path);
        let step = json!({ "type": "navigate", "url": url, "timeoutMs": 10_000, "post": [{ "kind": "anyEffect" }] });
        match self.step(&json!({}), &step).await? {
            Stepped::Ended(StepOutcome::Succeeded(_)) => {}
            Stepped::Ended(StepOutcome::Failed(failure)) => bail!("{}: {}", failure.cause.as_str(), failure.message),
            Stepped::Refused(why) => bail!("{why}"),
        }
        let loaded = "new Promise((done) => { if (document.readyState === 'complete') done(true); \
            else addEventListener('load', () => done(true), { once: true }); })";
        self.evaluate(loaded).await.context("the page did not load")?;
        for script in &case.setup {
            self.execute(&self.server.fill(script)).await.context("setup")?;
        }
        self.has_only_looked = only_looks;
        Ok(())
    }

    /// Takes a tab for a case and closes all others. It is a fresh one, which costs more than most cases, unless both this
    /// case and the one before it, whose page did open, only look at their page.
    async fn take_tab(&mut self, viewport: Viewport, only_looks: bool) -> Result<()> {
        let until = Instant::now() + PATIENCE;
        let is_reusable = std::mem::take(&mut self.has_only_looked) && only_looks;
        let page = match self.page.take().filter(|_| is_reusable) {
            Some(page) => page,
            None => self.browser.new_page("about:blank", until).await?,
        };
        for old in self.browser.pages() {
            if old.target_id() != page.target_id() {
                old.close(until).await.ok();
            }
        }
        if viewport != USUAL_VIEWPORT {
            let metrics = SetDeviceMetricsOverrideParams::new(viewport.width, viewport.height, 1, false);
            page.session().request(metrics, until).await?;
        }
        self.page = Some(page);
        Ok(())
    }

    /// Runs one step of an operator's plan with these declared candidates.
    ///
    /// # Errors
    /// If the machinery breaks.
    pub(crate) async fn step(&mut self, candidates: &Value, step: &Value) -> Result<Stepped> {
        let page = PageId::new(self.tab()?.target_id().as_str());
        let plan = json!({ "version": "1.0", "candidates": candidates, "steps": [step] });
        let refused = |violations: Vec<cuebook_grammar::plan::Violation>| {
            Stepped::Refused(violations.iter().map(|one| format!("{one:?}")).collect::<Vec<_>>().join("; "))
        };
        let draft = match PlanDraft::read(&plan.to_string(), Author::Operator) {
            Ok(draft) => draft,
            Err(violations) => return Ok(refused(violations.into_vec())),
        };
        let policy = Policy::new(Profile::Unleashed)
            .starting_at(&self.server.origin())
            .map_err(anyhow::Error::new)?
            .allowing(&self.server.second_origin())?
            .opening(self.readable()?);
        let ground = self.ground(&page)?;
        let plan = match draft.check(&ground, &policy) {
            Ok(plan) => plan,
            Err(violations) => return Ok(refused(violations.into_vec())),
        };
        let bound = match plan.bind(0, &ground) {
            Ok(bound) => bound,
            Err(violations) => return Ok(refused(violations.into_vec())),
        };
        let deadline = Deadline::after(Instant::now(), PATIENCE * 2);
        let outcome =
            tokio::time::timeout(PATIENCE * 3, self.executor.run_step(&page, &bound, &ground, &mut DenyAll, deadline))
                .await
                .context("expected the step to end by its deadline")??;
        Ok(Stepped::Ended(outcome))
    }

    /// The folder of the files that uploads choose.
    fn readable(&self) -> Result<Outside> {
        let uploads = self.folder.path().join("uploads");
        let uploads = uploads.to_str().context("expected a temporary folder with a name in UTF-8")?;
        Ok(Outside { read_roots: vec![uploads.to_owned()], ..Outside::default() })
    }

    /// Evaluates in the page's own world, and awaits promises.
    ///
    /// # Errors
    /// If the script throws, or the page does not answer.
    pub(crate) async fn evaluate(&self, expression: &str) -> Result<Value> {
        self.ask(expression, true).await
    }

    /// Evaluates for what it does: its value may be anything, `window` too.
    ///
    /// # Errors
    /// As [`Stage::evaluate`].
    pub(crate) async fn execute(&self, expression: &str) -> Result<()> {
        self.ask(expression, false).await.map(drop)
    }

    async fn ask(&self, expression: &str, by_value: bool) -> Result<Value> {
        let params = EvaluateParams {
            return_by_value: Some(by_value),
            await_promise: Some(true),
            user_gesture: Some(true),
            ..EvaluateParams::new(expression)
        };
        let reply = self.tab()?.session().request(params, Instant::now() + PATIENCE).await?;
        let reply: Value = reply.parse()?;
        if let Some(thrown) = reply.get("exceptionDetails") {
            let text = thrown["exception"]["description"].as_str().or_else(|| thrown["text"].as_str());
            bail!("the script threw: {}", text.unwrap_or_default());
        }
        Ok(reply["result"]["value"].clone())
    }

    /// Waits for JavaScript to become true within half a second; returns its last value if it does not.
    pub(crate) async fn becomes_true(&self, js: &str) -> Result<(), String> {
        let js = self.server.fill(js);
        let until = Instant::now() + JS_PATIENCE;
        loop {
            let last = match self.evaluate(&js).await {
                Ok(Value::Bool(true)) => return Ok(()),
                Ok(other) => other.to_string(),
                Err(error) => format!("{error:#}"),
            };
            if Instant::now() >= until {
                return Err(last);
            }
            tokio::time::sleep(JS_POLL).await;
        }
    }

    /// A probe on the present tab.
    ///
    /// # Errors
    /// If the tab is gone.
    pub(crate) async fn probe(&self) -> Result<Probe> {
        Ok(Probe::attach(self.tab()?.clone(), DigestKey::new([3; 32]), Instant::now() + PATIENCE).await?)
    }

    /// The part of the page that a locator means, as an ARIA snapshot.
    ///
    /// # Errors
    /// If it means no element or several, or the machinery breaks.
    pub(crate) async fn aria_snapshot(&self, within: &Locator) -> Result<String> {
        let key = DigestKey::new([3; 32]);
        let mut modeler = LivePageModeler::new(self.browser.clone(), key, ModelerOptions::default());
        let page = PageId::new(self.tab()?.target_id().as_str());
        Ok(modeler.aria_snapshot(&page, Some(within), Self::until()).await?.yaml)
    }

    /// When to give up on a call.
    pub(crate) fn until() -> Instant {
        Instant::now() + PATIENCE
    }

    /// Writes the files that an upload chooses and returns their paths.
    ///
    /// # Errors
    /// If they cannot be written.
    pub(crate) fn write_files(&self, files: &[ChosenFile]) -> Result<Vec<PathBuf>> {
        use base64::Engine as _;
        files
            .iter()
            .map(|file| {
                let name = Path::new(&file.name).file_name().context("expected a file name")?;
                let path = self.folder.path().join("uploads").join(name);
                std::fs::write(&path, base64::engine::general_purpose::STANDARD.decode(&file.base64)?)?;
                Ok(path)
            })
            .collect()
    }

    /// Closes the browser; errors in closing are ignored.
    pub(crate) async fn close(self) {
        self.browser.close(Instant::now() + PATIENCE).await.ok();
    }

    fn tab(&self) -> Result<&Page> {
        self.page.as_ref().context("expected an open tab")
    }

    /// An observation without candidates: the plans declare what they mean.
    fn ground(&self, page: &PageId) -> Result<Observation> {
        let url = self.tab()?.url();
        Ok(serde_json::from_value(json!({
            "schemaVersion": "1.0", "id": 1, "page": page, "scope": "view", "url": url, "title": "",
            "viewport": {"width": 1280, "height": 720, "scrollX": 0, "scrollY": 0, "pageWidth": 1280,
                "pageHeight": 720, "devicePixelRatio": 1},
            "frames": [{"url": url, "origin": self.server.origin()}],
            "candidates": [], "fingerprint": "0000000000000000",
        }))?)
    }
}
