//! A browser on a few pages, and the steps that run in it.

use std::io::Write as _;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use cuebook_cdp::protocol::js_protocol::runtime::EvaluateParams;
use cuebook_cdp::{Browser, LaunchOptions, Page};
use cuebook_executor::{ExecutorOptions, LiveExecutor, ScreenshotMode, TraceSink};
use cuebook_grammar::deadline::Deadline;
use cuebook_grammar::facts::Facts;
use cuebook_grammar::id::{CredentialRef, PageId};
use cuebook_grammar::observation::Observation;
use cuebook_grammar::outcome::{ArtifactRef, Evidence, StepFailure, StepOutcome, StepSuccess};
use cuebook_grammar::plan::{Author, BoundStep, PlanDraft};
use cuebook_grammar::policy::{Outside, Policy};
use cuebook_grammar::profile::Profile;
use cuebook_grammar::seam::{ArtifactKind, ArtifactSink, DenyAll, Executor, SecretRefusal, SecretScope, SecretSource};
use cuebook_grammar::secret::{DigestKey, Secret};
use cuebook_testkit::serve;
use serde_json::{Value, json};
use tempfile::TempDir;

pub(crate) use cuebook_testkit::{environment, soon};

/// Knows one password, for one origin.
#[derive(Clone, Default)]
pub(crate) struct OneSecret {
    origin: String,
    pub(crate) asked: Arc<Mutex<Vec<SecretScope>>>,
}

pub(crate) const PASSWORD: &str = "correct horse battery";

impl SecretSource for OneSecret {
    async fn resolve(
        &self,
        reference: &CredentialRef,
        scope: &SecretScope,
        _: Deadline,
    ) -> Result<Secret, SecretRefusal> {
        self.asked.lock().unwrap().push(scope.clone());
        if scope.origin == self.origin {
            return Ok(Secret::new(PASSWORD));
        }
        Err(SecretRefusal::OutOfScope { reference: reference.clone(), origin: scope.origin.clone() })
    }

    fn holds(&self, text: &str) -> bool {
        text == PASSWORD
    }
}

/// Keeps what is stored by kind.
#[derive(Clone, Default)]
pub(crate) struct Shelf(pub(crate) Arc<Mutex<Vec<Picture>>>);

pub(crate) type Picture = (ArtifactKind, Vec<u8>);

impl ArtifactSink for Shelf {
    type Error = std::io::Error;
    async fn store(&self, kind: ArtifactKind, media_type: &str, bytes: Vec<u8>) -> Result<ArtifactRef, Self::Error> {
        let reference = ArtifactRef {
            kind: kind.as_str().to_owned(),
            sha256: "0".repeat(64),
            media_type: media_type.to_owned(),
            bytes: bytes.len() as u64,
            path: "shelf".to_owned(),
        };
        self.0.lock().unwrap().push((kind, bytes));
        Ok(reference)
    }
}

pub(crate) struct Lab {
    pub(crate) browser: Arc<Browser>,
    pub(crate) executor: LiveExecutor,
    pub(crate) secrets: OneSecret,
    pub(crate) shelf: Shelf,
    pub(crate) page: PageId,
    pub(crate) port: u16,
    _root: Arc<TempDir>,
}

pub(crate) fn quick() -> ExecutorOptions {
    ExecutorOptions {
        screenshots: ScreenshotMode::Off,
        ready_timeout: Duration::from_millis(1_500),
        post_timeout: Duration::from_millis(1_500),
        ..ExecutorOptions::default()
    }
}

/// A browser on these pages; `/` is open. A headless shell says of each page that it loads that the pointer is at 0, 0:
/// what a page does when the pointer comes is for other places.
pub(crate) async fn lab(pages: &[(&str, &str)]) -> Lab {
    lab_with(pages, quick()).await
}

pub(crate) async fn lab_with(pages: &[(&str, &str)], options: ExecutorOptions) -> Lab {
    Labs::open().await.lab_with(pages, options).await
}

/// A lab in the browser that `launch` says.
pub(crate) async fn lab_in(
    launch: impl Fn(&Path) -> LaunchOptions,
    pages: &[(&str, &str)],
    options: ExecutorOptions,
) -> Lab {
    Labs::launched(launch).await.lab_with(pages, options).await
}

/// A browser in which one lab follows another: for the rows of a table.
pub(crate) struct Labs {
    browser: Arc<Browser>,
    root: Arc<TempDir>,
}

impl Labs {
    pub(crate) async fn open() -> Self {
        let root = tempfile::tempdir().unwrap();
        Self::of(cuebook_testkit::shared_browser(root.path()).await, root).await
    }

    async fn launched(launch: impl Fn(&Path) -> LaunchOptions) -> Self {
        let root = tempfile::tempdir().unwrap();
        Self::of(Browser::launch(&launch(root.path()), soon()).await.unwrap(), root).await
    }

    async fn of(browser: Browser, root: TempDir) -> Self {
        let downloads = root.path().join("downloads");
        std::fs::create_dir(&downloads).unwrap();
        browser.accept_downloads(None, &downloads, soon()).await.unwrap();
        Self { browser: Arc::new(browser), root: Arc::new(root) }
    }

    /// As [`lab`], with a tab and an executor of its own. The tabs of the lab before are closed.
    pub(crate) async fn lab(&self, pages: &[(&str, &str)]) -> Lab {
        self.lab_with(pages, quick()).await
    }

    async fn tab(&self) -> Page {
        let tab = self.browser.new_page("about:blank", soon()).await.unwrap();
        for old in self.browser.pages().into_iter().filter(|old| *old != tab) {
            old.close(soon()).await.unwrap();
        }
        tab
    }

    async fn lab_with(&self, pages: &[(&str, &str)], options: ExecutorOptions) -> Lab {
        let tab = self.tab().await;
        let port = serve(pages.iter().copied());
        let options = ExecutorOptions { download_dir: Some(self.root.path().join("downloads")), ..options };
        let browser = Arc::clone(&self.browser);
        let page = PageId::new(tab.target_id().as_str());
        let secrets = OneSecret { origin: format!("http://127.0.0.1:{port}"), ..OneSecret::default() };
        let shelf = Shelf::default();
        let key = DigestKey::new([9; 32]);
        let executor = LiveExecutor::new(browser.clone(), key, secrets.clone(), shelf.clone(), options);
        let executor = match environment("CUEBOOK_TRACES") {
            Some(folder) => executor.traced(trace_into(Path::new(&folder))),
            None => executor,
        };
        let mut lab = Lab { browser, executor, secrets, shelf, page, port, _root: Arc::clone(&self.root) };
        if pages.iter().any(|(path, _)| *path == "/") {
            let url = lab.url("/");
            succeeded(lab.step(json!({}), json!({"type": "navigate", "url": url})).await);
        }
        lab
    }
}

/// Records the steps of this test; see `traces/README.md`.
fn trace_into(folder: &Path) -> TraceSink {
    let name = std::thread::current().name().unwrap_or("test").replace("::", ".");
    let path = folder.join(format!("{name}.jsonl"));
    let file = Mutex::new(std::fs::OpenOptions::new().create(true).append(true).open(path).unwrap());
    TraceSink::new(move |line| writeln!(file.lock().unwrap(), "{line}").unwrap())
}

impl Lab {
    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    pub(crate) fn tab(&self) -> Page {
        self.browser.page(&self.page.as_str().into()).unwrap()
    }

    pub(crate) fn observation(&self) -> Observation {
        let url = self.tab().url();
        serde_json::from_value(json!({
            "schemaVersion": "1.0", "id": 1, "page": self.page, "scope": "view", "url": url, "title": "",
            "viewport": {"width": 1280, "height": 720, "scrollX": 0, "scrollY": 0, "pageWidth": 1280,
                "pageHeight": 720, "devicePixelRatio": 1},
            "frames": [{"url": url, "origin": format!("http://127.0.0.1:{}", self.port)}],
            "candidates": [], "fingerprint": "0000000000000000",
        }))
        .unwrap()
    }

    /// Runs one step of an operator's plan with these declared candidates.
    pub(crate) async fn step(&mut self, candidates: Value, step: Value) -> StepOutcome {
        self.step_within(candidates, step, Duration::from_secs(20)).await
    }

    pub(crate) async fn step_within(&mut self, candidates: Value, step: Value, span: Duration) -> StepOutcome {
        let observation = self.observation();
        self.run(&observation, candidates, step, span).await
    }

    /// Runs one step on observed candidates.
    pub(crate) async fn step_on(&mut self, observation: &Observation, step: Value) -> StepOutcome {
        self.run(observation, json!({}), step, Duration::from_secs(20)).await
    }

    pub(crate) async fn run(
        &mut self,
        observation: &Observation,
        candidates: Value,
        step: Value,
        span: Duration,
    ) -> StepOutcome {
        let bound = self.bound(observation, candidates, step);
        let deadline = Deadline::after(Instant::now(), span);
        let mut nobody = DenyAll;
        let run = self.executor.run_step(&self.page, &bound, observation, &mut nobody, deadline);
        tokio::time::timeout(Duration::from_secs(40), run).await.expect("a step ends by its deadline").unwrap()
    }

    /// Has the executor do of a step what can be done before it may run.
    pub(crate) async fn prepare(&mut self, candidates: Value, step: Value) {
        let bound = self.bound(&self.observation(), candidates, step);
        self.executor
            .prepare(&self.page, &bound, Deadline::after(Instant::now(), Duration::from_secs(20)))
            .await
            .unwrap();
    }

    fn bound(&self, observation: &Observation, candidates: Value, step: Value) -> BoundStep {
        let plan = json!({"version": "1.0", "candidates": candidates, "steps": [step]});
        let draft = PlanDraft::read(&plan.to_string(), Author::Operator).unwrap();
        let policy = Policy::new(Profile::Unleashed)
            .starting_at(&self.url("/"))
            .unwrap()
            .allowing("http://127.0.0.1:9")
            .unwrap()
            .allowing(&format!("http://localhost:{}", self.port))
            .unwrap()
            // Which files a step may use is for the executor's own options to say here.
            .opening(Outside { read_roots: vec!["/".to_owned()], ..Outside::default() });
        draft.check(observation, &policy).unwrap().bind(0, observation).unwrap()
    }

    pub(crate) async fn click(&mut self, css: &str) -> StepOutcome {
        self.step(json!({"it": css_of(css)}), json!({"type": "click", "targetRef": "it"})).await
    }

    /// Evaluates in the page's own world.
    pub(crate) async fn eval(&self, expression: &str) -> Value {
        let params = EvaluateParams {
            return_by_value: Some(true),
            await_promise: Some(true),
            ..EvaluateParams::new(expression)
        };
        let reply = self.tab().session().request(params, soon()).await.unwrap();
        let reply: Value = reply.parse().unwrap();
        reply["result"]["value"].clone()
    }
}

pub(crate) fn css_of(selector: &str) -> Value {
    json!({"strategy": "css", "selector": selector})
}

#[track_caller]
pub(crate) fn succeeded(outcome: StepOutcome) -> StepSuccess {
    match outcome {
        StepOutcome::Succeeded(success) => {
            judged_again(&success.evidence);
            success
        }
        StepOutcome::Failed(failure) => {
            panic!("{:?} at {:?}: {} {:?}", failure.cause, failure.stage, failure.message, failure.facts)
        }
    }
}

#[track_caller]
pub(crate) fn failed(outcome: StepOutcome) -> StepFailure {
    match outcome {
        StepOutcome::Failed(failure) => {
            judged_again(&failure.evidence);
            *failure
        }
        StepOutcome::Succeeded(success) => panic!("expected a failure, saw {:?}", success.evidence),
    }
}

/// Recorded facts, judged again after a round trip through JSON, give the recorded verdicts.
#[track_caller]
pub(crate) fn judged_again(evidence: &Evidence) {
    let facts: Option<Facts> = evidence.post_facts.as_ref().map(|facts| serde_json::from_value(json!(facts)).unwrap());
    for judged in &evidence.post {
        let facts = facts.as_ref().unwrap();
        assert_eq!(judged.judge(facts), judged.verdict, "{:?} on {facts:?}", judged.condition);
        assert_eq!(judged.condition.was_vacuous(facts), judged.vacuous, "{:?} on {facts:?}", judged.condition);
    }
}

/// Logs the events of a gesture.
pub(crate) const LOGGING: &str = "<script>window.log = []; for (const t of ['pointerdown', 'mousedown', 'pointerup', \
    'mouseup', 'click']) document.addEventListener(t, (e) => log.push(t + ' ' + (e.target.id || e.target.tagName)), true);</script>";
