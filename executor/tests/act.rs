//! What the executor promises, against real Chrome and the least pages that show it.
//!
//! Each test has its own small browser. Every wait has a deadline; none measures time.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "helpers of tests fail the test that calls them")]

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use cuebook_cdp::{Browser, LaunchOptions, Page, SearchPlaces, find_chrome};
use cuebook_executor::{ExecutorOptions, LiveExecutor, ScreenshotMode};
use cuebook_grammar::deadline::Deadline;
use cuebook_grammar::facts::Facts;
use cuebook_grammar::id::{CredentialRef, PageId};
use cuebook_grammar::observation::Observation;
use cuebook_grammar::outcome::{ArtifactRef, Cause, Evidence, Stage, StepFailure, StepOutcome, StepSuccess};
use cuebook_grammar::plan::{Author, PlanDraft};
use cuebook_grammar::policy::Policy;
use cuebook_grammar::profile::Profile;
use cuebook_grammar::seam::{ArtifactKind, ArtifactSink, Executor, SecretRefusal, SecretScope, SecretSource};
use cuebook_grammar::secret::{DigestKey, Secret};
use serde_json::{Value, json};

/// Far beyond what anything here takes: only a hang meets it.
fn soon() -> Instant {
    Instant::now() + Duration::from_secs(40)
}

#[expect(clippy::disallowed_methods, reason = "a test is its own composition root")]
fn environment(name: &str) -> Option<std::ffi::OsString> {
    std::env::var_os(name)
}

/// Knows one password, for the origin that it was told.
#[derive(Clone, Default)]
struct OneSecret {
    origin: String,
    asked: Arc<Mutex<Vec<SecretScope>>>,
}

const PASSWORD: &str = "correct horse battery";

impl SecretSource for OneSecret {
    async fn resolve(&self, reference: &CredentialRef, scope: &SecretScope) -> Result<Secret, SecretRefusal> {
        self.asked.lock().unwrap().push(scope.clone());
        if scope.origin == self.origin {
            return Ok(Secret::new(PASSWORD));
        }
        Err(SecretRefusal::OutOfScope { reference: reference.clone(), origin: scope.origin.clone() })
    }
}

/// Keeps what is stored by kind.
#[derive(Clone, Default)]
struct Shelf(Arc<Mutex<Vec<(ArtifactKind, Vec<u8>)>>>);

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

struct Lab {
    browser: Arc<Browser>,
    executor: LiveExecutor<OneSecret, Shelf>,
    secrets: OneSecret,
    shelf: Shelf,
    page: PageId,
    port: u16,
    _root: tempfile::TempDir,
}

fn quick() -> ExecutorOptions {
    ExecutorOptions {
        screenshots: ScreenshotMode::Off,
        ready_timeout: Duration::from_millis(1_500),
        post_timeout: Duration::from_millis(1_500),
        ..ExecutorOptions::default()
    }
}

/// A browser on these pages; `/` is open.
async fn lab(pages: &[(&str, &str)]) -> Lab {
    lab_with(pages, quick()).await
}

async fn lab_with(pages: &[(&str, &str)], options: ExecutorOptions) -> Lab {
    let port = serve(pages);
    let root = tempfile::tempdir().unwrap();
    let places = SearchPlaces {
        chrome_variable: environment("CHROME"),
        path: environment("PATH"),
        home: environment("HOME").map(Into::into),
        ..SearchPlaces::default()
    };
    let mut launch = LaunchOptions::new(find_chrome(&places).unwrap(), root.path());
    launch.accept_downloads = Some(root.path().join("downloads"));
    let browser = Arc::new(Browser::launch(&launch, soon()).await.unwrap());
    let tab = browser.pages().into_iter().next().unwrap();
    let page = PageId::new(tab.target_id().as_str());
    let secrets = OneSecret { origin: format!("http://127.0.0.1:{port}"), ..OneSecret::default() };
    let shelf = Shelf::default();
    let key = DigestKey::new([9; 32]);
    let executor = LiveExecutor::new(browser.clone(), key, secrets.clone(), shelf.clone(), options);
    let mut lab = Lab { browser, executor, secrets, shelf, page, port, _root: root };
    if pages.iter().any(|(path, _)| *path == "/") {
        let url = lab.url("/");
        succeeded(lab.step(json!({}), json!({"type": "navigate", "url": url})).await);
    }
    lab
}

impl Lab {
    fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    fn tab(&self) -> Page {
        self.browser.page(&self.page.as_str().into()).unwrap()
    }

    fn observation(&self) -> Observation {
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
    async fn step(&mut self, candidates: Value, step: Value) -> StepOutcome {
        self.step_within(candidates, step, Duration::from_secs(20)).await
    }

    async fn step_within(&mut self, candidates: Value, step: Value, span: Duration) -> StepOutcome {
        let observation = self.observation();
        let plan = json!({"version": "1.0", "candidates": candidates, "steps": [step]});
        let draft = PlanDraft::read(&plan.to_string(), Author::Operator).unwrap();
        let policy = Policy::new(Profile::Unleashed)
            .starting_at(&self.url("/"))
            .unwrap()
            .allowing("http://127.0.0.1:9")
            .unwrap()
            .allowing(&format!("http://localhost:{}", self.port))
            .unwrap();
        let bound = draft.check(&observation, &policy).unwrap().bind(0, &observation).unwrap();
        let deadline = Deadline::after(Instant::now(), span);
        let run = self.executor.run_step(&self.page, &bound, &observation, deadline);
        tokio::time::timeout(Duration::from_secs(40), run).await.expect("a step ends by its deadline").unwrap()
    }

    async fn click(&mut self, css: &str) -> StepOutcome {
        self.step(json!({"it": css_of(css)}), json!({"type": "click", "targetRef": "it"})).await
    }

    /// Evaluates in the page's own world.
    async fn eval(&self, expression: &str) -> Value {
        let params = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let reply = self.tab().session().call_raw("Runtime.evaluate", params, soon()).await.unwrap();
        let reply: Value = reply.parse().unwrap();
        reply["result"]["value"].clone()
    }
}

fn css_of(selector: &str) -> Value {
    json!({"strategy": "css", "selector": selector})
}

#[track_caller]
fn succeeded(outcome: StepOutcome) -> StepSuccess {
    match outcome {
        StepOutcome::Succeeded(success) => {
            judged_again(&success.evidence);
            success
        }
        StepOutcome::Failed(failure) => panic!("{:?} at {:?}: {} {:?}", failure.cause, failure.stage, failure.message, failure.facts),
    }
}

#[track_caller]
fn failed(outcome: StepOutcome) -> StepFailure {
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
fn judged_again(evidence: &Evidence) {
    let facts: Option<Facts> = evidence.post_facts.as_ref().map(|facts| serde_json::from_value(json!(facts)).unwrap());
    for judged in &evidence.post {
        let facts = facts.as_ref().unwrap();
        assert_eq!(judged.condition.evaluate(facts), judged.verdict, "{:?} on {facts:?}", judged.condition);
        assert_eq!(judged.condition.was_vacuous(facts), judged.vacuous, "{:?} on {facts:?}", judged.condition);
    }
}

/// Serves fixed pages on the loopback interface. `127.0.0.1` and `localhost` are two sites, so a frame of
/// the one in the other is out of process. `PORT` in a page stands for the server's port. `/never` is
/// never answered; a body that ends in `NEVER` never ends.
fn serve(pages: &[(&str, &str)]) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let pages: Arc<HashMap<String, String>> = Arc::new(
        pages.iter().map(|(path, body)| ((*path).to_owned(), body.replace("PORT", &port.to_string()))).collect(),
    );
    std::thread::spawn(move || {
        let mut kept = Vec::new();
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { continue };
            kept.push(stream.try_clone().unwrap());
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
                let path = request.split(' ').nth(1).unwrap_or("/").split('?').next().unwrap_or("/");
                if path == "/never" {
                    return;
                }
                let (status, body) = match pages.get(path) {
                    Some(body) => ("200 OK", body.as_str()),
                    None => ("404 Not Found", "nothing here"),
                };
                let kind = if path.ends_with(".bin") { "application/octet-stream" } else { "text/html; charset=utf-8" };
                let (body, length) = match body.strip_suffix("NEVER") {
                    Some(start) => (start, String::new()),
                    None => (body, format!("Content-Length: {}\r\nConnection: close\r\n", body.len())),
                };
                let _ = write!(stream, "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\n{length}\r\n{body}");
                if !length.is_empty() {
                    let _ = stream.shutdown(std::net::Shutdown::Both);
                }
            });
        }
    });
    port
}

// ---------------------------------------------------------------------------------------- clicking

const LOGGING: &str = "<script>window.log = []; for (const t of ['pointerdown', 'mousedown', 'pointerup', \
    'mouseup', 'click']) document.addEventListener(t, (e) => log.push(t + ' ' + (e.target.id || e.target.tagName)), true);</script>";

#[tokio::test]
async fn a_click_reaches_its_target_with_all_its_events() {
    let page = format!("{LOGGING}<button id=go onclick=\"document.title = 'clicked'\">Go</button>");
    let mut lab = lab(&[("/", &page)]).await;
    let success = succeeded(lab.step(
        json!({"go": {"strategy": "byRole", "role": "button", "name": "Go"}}),
        json!({"type": "click", "targetRef": "go", "post": [{"kind": "titleMatches", "pattern": "^clicked$"}]}),
    ).await);
    assert!(success.evidence.input_sent);
    assert_eq!(lab.eval("log.join()").await, "pointerdown go,mousedown go,pointerup go,mouseup go,click go");
}

#[tokio::test]
async fn a_covered_button_fails_and_names_the_blocker() {
    let page = format!(
        "{LOGGING}<button id=go>Go</button><div id=overlay style='position:fixed;inset:0'><span>Wait</span></div>"
    );
    let mut lab = lab(&[("/", &page)]).await;
    let failure = failed(lab.click("#go").await);
    assert_eq!((failure.stage, failure.cause), (Stage::Actionability, Cause::Covered), "{}", failure.message);
    assert_eq!(failure.facts.blocker.as_deref(), Some("div#overlay"));
    assert!(!failure.evidence.input_sent);
    assert_eq!(lab.eval("log.length").await, 0);
}

#[tokio::test]
async fn a_swapped_target_gets_no_event() {
    let swap = "const swap = () => { const a = document.getElementById('a'), b = document.getElementById('b'); \
        a.style.left = '300px'; b.style.left = '0'; };";
    for (name, trigger) in [
        ("pointermove", "document.addEventListener('pointermove', swap, true);"),
        ("mousemove", "document.addEventListener('mousemove', swap, true);"),
        ("pointerdown", "document.addEventListener('pointerdown', swap, true);"),
        ("mousedown", "document.addEventListener('mousedown', swap, true);"),
    ] {
        let page = format!(
            "<style>button{{position:absolute;top:0;width:100px;height:40px}}</style><button id=a style='left:0'>Save</button>\
             <button id=b style='left:300px'>Delete</button>{LOGGING}<script>{swap}{trigger}</script>"
        );
        let mut lab = lab(&[("/", &page)]).await;
        let failure = failed(lab.click("#a").await);
        assert!(matches!(failure.cause, Cause::NotStable | Cause::Covered), "{name}: {:?} {}", failure.cause, failure.message);
        assert!(failure.evidence.input_sent, "{name}");
        let wrong = lab.eval("log.filter((entry) => entry.endsWith(' b') || entry.startsWith('click')).join()").await;
        assert_eq!(wrong, "", "{name}");
    }
}

#[tokio::test]
async fn typing_reaches_a_field_that_listens_to_keys() {
    let page = "<input id=i><script>let keys = []; i.addEventListener('keydown', (e) => keys.push(e.key)); \
        i.addEventListener('keypress', (e) => { if (!/[0-9]/.test(e.key)) e.preventDefault(); });</script>";
    let mut lab = lab(&[("/", page)]).await;
    let failure = failed(lab.step(json!({"i": css_of("#i")}), json!({"type": "type", "targetRef": "i", "text": "a1b2"})).await);
    assert_eq!(failure.cause, Cause::PostconditionFailed);
    assert_eq!(lab.eval("[i.value, keys.join('')]").await, json!(["12", "a1b2"]));
    succeeded(lab.step(json!({"i": css_of("#i")}), json!({"type": "type", "targetRef": "i", "text": "34"})).await);
    assert_eq!(lab.eval("i.value").await, "1234");
}
