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
use cuebook_grammar::candidate::Candidate;
use cuebook_grammar::deadline::Deadline;
use cuebook_grammar::facts::Facts;
use cuebook_grammar::id::{CredentialRef, PageId, TargetRef};
use cuebook_grammar::observation::Observation;
use cuebook_grammar::outcome::{ArtifactRef, Cause, Evidence, Stage, StepFailure, StepOutcome, StepSuccess};
use cuebook_grammar::plan::{Author, PlanDraft};
use cuebook_grammar::policy::Policy;
use cuebook_grammar::profile::Profile;
use cuebook_grammar::seam::{ArtifactKind, ArtifactSink, Executor, SecretRefusal, SecretScope, SecretSource};
use cuebook_grammar::secret::{DigestKey, Secret};
use cuebook_probe::{Ask, Probe};
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
struct Shelf(Arc<Mutex<Vec<Picture>>>);

type Picture = (ArtifactKind, Vec<u8>);

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
        self.run(&observation, candidates, step, span).await
    }

    /// Runs one step on observed candidates.
    async fn step_on(&mut self, observation: &Observation, step: Value) -> StepOutcome {
        self.run(observation, json!({}), step, Duration::from_secs(20)).await
    }

    async fn run(&mut self, observation: &Observation, candidates: Value, step: Value, span: Duration) -> StepOutcome {
        let plan = json!({"version": "1.0", "candidates": candidates, "steps": [step]});
        let draft = PlanDraft::read(&plan.to_string(), Author::Operator).unwrap();
        let policy = Policy::new(Profile::Unleashed)
            .starting_at(&self.url("/"))
            .unwrap()
            .allowing("http://127.0.0.1:9")
            .unwrap()
            .allowing(&format!("http://localhost:{}", self.port))
            .unwrap();
        let bound = draft.check(observation, &policy).unwrap().bind(0, observation).unwrap();
        let deadline = Deadline::after(Instant::now(), span);
        let run = self.executor.run_step(&self.page, &bound, observation, deadline);
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
        StepOutcome::Failed(failure) => {
            panic!("{:?} at {:?}: {} {:?}", failure.cause, failure.stage, failure.message, failure.facts)
        }
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
    let success = succeeded(
        lab.step(
            json!({"go": {"strategy": "byRole", "role": "button", "name": "Go"}}),
            json!({"type": "click", "targetRef": "go", "post": [{"kind": "titleMatches", "pattern": "^clicked$"}]}),
        )
        .await,
    );
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
        assert!(
            matches!(failure.cause, Cause::NotStable | Cause::Covered),
            "{name}: {:?} {}",
            failure.cause,
            failure.message
        );
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
    let failure =
        failed(lab.step(json!({"i": css_of("#i")}), json!({"type": "type", "targetRef": "i", "text": "a1b2"})).await);
    assert_eq!(failure.cause, Cause::PostconditionFailed);
    assert_eq!(lab.eval("[i.value, keys.join('')]").await, json!(["12", "a1b2"]));
    succeeded(lab.step(json!({"i": css_of("#i")}), json!({"type": "type", "targetRef": "i", "text": "34"})).await);
    assert_eq!(lab.eval("i.value").await, "1234");
}

#[tokio::test]
async fn a_target_that_moves_away_by_timer_gets_no_wrong_click() {
    let page = format!(
        "<style>button{{position:absolute;top:0;width:100px;height:40px}}</style><button id=a style='left:0'>Save</button>\
         <button id=b style='left:300px'>Delete</button>{LOGGING}\
         <script>let there = false; const move = () => {{ there = !there; a.style.left = there ? '300px' : '0'; \
         b.style.left = there ? '0' : '300px'; setTimeout(move, 70); }}; move();</script>"
    );
    let mut lab = lab(&[("/", &page)]).await;
    for _ in 0..8 {
        let outcome = lab.click("#a").await;
        let wrong = lab.eval("log.filter((entry) => entry.endsWith(' b')).join()").await;
        assert_eq!(wrong, "", "{outcome:?}");
        let clicks = lab.eval("log.filter((entry) => entry === 'click a').length").await;
        let is_clicked = clicks.as_u64().unwrap() > 0;
        assert_eq!(matches!(outcome, StepOutcome::Succeeded(_)), is_clicked, "{outcome:?}");
        lab.eval("log.length = 0").await;
    }
}

#[tokio::test]
async fn a_document_that_comes_in_the_middle_of_a_gesture_gets_nothing() {
    let evil = format!(
        "<title>evil</title><button id=b style='position:fixed;inset:0;width:100%;height:100%'>Delete</button>{LOGGING}"
    );
    let start = "<button id=a style='position:fixed;inset:0;width:100%;height:100%' onmousedown=\"location.href = '/evil'\">Hold</button>";
    let mut lab = lab(&[("/", start), ("/evil", &evil)]).await;
    let step = json!({"type": "longPress", "targetRef": "a", "durationMs": 600});
    let failure = failed(lab.step(json!({"a": css_of("#a")}), step).await);
    assert_eq!(failure.cause, Cause::EffectUnknown, "{}", failure.message);
    assert!(failure.evidence.input_sent);
    assert_eq!(lab.eval("[document.title, log.join()]").await, json!(["evil", ""]));
}

#[tokio::test]
async fn what_cannot_be_acted_on_says_why() {
    let page = "<button id=off disabled>Off</button><button id=gone style='visibility:hidden'>Gone</button>\
        <div style='position:relative'><button id=moving style='position:absolute'>Moving</button></div><input id=fixed readonly>\
        <button id=far style='position:fixed;top:-500px'>Far</button>\
        <script>let x = 0; const go = () => { moving.style.left = (x++ % 300) + 'px'; requestAnimationFrame(go); }; go();</script>";
    let mut lab = lab(&[("/", page)]).await;
    for (target, cause) in [
        ("#off", Cause::NotEnabled),
        ("#gone", Cause::NotVisible),
        ("#moving", Cause::NotStable),
        ("#far", Cause::NotInView),
    ] {
        let failure = failed(lab.click(target).await);
        assert_eq!((failure.stage, failure.cause), (Stage::Actionability, cause), "{target}: {}", failure.message);
        assert!(!failure.evidence.input_sent);
    }
    let failure = failed(
        lab.step(json!({"it": css_of("#fixed")}), json!({"type": "type", "targetRef": "it", "text": "x"})).await,
    );
    assert_eq!(failure.cause, Cause::NotEditable);
}

#[tokio::test]
async fn a_target_is_found_once_or_the_step_fails() {
    let page = "<button>Edit</button><button>Edit</button>";
    let mut lab = lab(&[("/", page)]).await;
    let click = json!({"type": "click", "targetRef": "it"});
    let edit = json!({"it": {"strategy": "byRole", "role": "button", "name": "Edit"}});
    let failure = failed(lab.step(edit, click.clone()).await);
    assert_eq!(failure.cause, Cause::TargetAmbiguous);
    assert_eq!(failure.facts.matches, ["button \"Edit\"", "button \"Edit\""]);
    let failure = failed(lab.step(json!({"it": {"strategy": "byRole", "role": "link"}}), click.clone()).await);
    assert_eq!(failure.cause, Cause::TargetNotFound);
    succeeded(lab.step(json!({"it": {"strategy": "byRole", "role": "button", "name": "Edit", "nth": 1}}), click).await);
    assert_eq!(lab.eval("document.activeElement === document.querySelectorAll('button')[1]").await, true);
}

#[tokio::test]
async fn a_target_that_comes_late_is_waited_for() {
    let page = "<script>setTimeout(() => { document.body.innerHTML = '<button id=go onclick=\"document.title = 1\">Go</button>'; }, 300);</script><body>";
    let mut lab = lab(&[("/", page)]).await;
    succeeded(lab.click("#go").await);
    assert_eq!(lab.eval("document.title").await, "1");
}

#[tokio::test]
async fn scrolling_brings_a_target_from_under_a_sticky_header() {
    let page = "<div style='position:fixed;top:0;left:0;right:0;height:200px;background:red' id=head></div>\
        <div style='height:3000px'></div><button id=go onclick='document.title = \"hit\"'>Go</button><div style='height:3000px'></div>\
        <script>addEventListener('load', () => scrollTo(0, 3050));</script>";
    let mut lab = lab(&[("/", page)]).await;
    succeeded(lab.click("#go").await);
    assert_eq!(lab.eval("document.title").await, "hit");
}

#[tokio::test]
async fn clicks_have_buttons_counts_modifiers_and_positions() {
    let page = "<div id=it style='width:200px;height:100px;background:gray'>x</div><script>let seen = []; \
        for (const t of ['click', 'dblclick', 'contextmenu', 'auxclick']) it.addEventListener(t, (e) => { e.preventDefault(); \
        seen.push([t, e.button, e.shiftKey, Math.round(e.offsetX), Math.round(e.offsetY)].join(' ')); });</script>";
    let mut lab = lab(&[("/", page)]).await;
    let it = json!({"it": css_of("#it")});
    for (more, expected) in [
        (json!({"count": 2, "modifiers": ["Shift"]}), "click 0 true 100 50,click 0 true 100 50,dblclick 0 true 100 50"),
        (json!({"position": {"x": 10, "y": 20}}), "click 0 false 10 20"),
        (json!({"button": "right"}), "contextmenu 2 false 100 50,auxclick 2 false 100 50"),
        (json!({"button": "middle"}), "auxclick 1 false 100 50"),
        (json!({"dryRun": true}), ""),
    ] {
        let mut step = json!({"type": "click", "targetRef": "it"});
        step.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        succeeded(lab.step(it.clone(), step).await);
        assert_eq!(lab.eval("seen.splice(0).join()").await, expected, "{more}");
    }
}

#[tokio::test]
async fn a_label_stands_for_its_hidden_check_box() {
    let page = "<style>#box{position:absolute;opacity:0;width:0;height:0}</style><label>Agree <input type=checkbox id=box></label>\
        <input type=radio id=r1 name=r><input type=radio id=r2 name=r checked>\
        <div role=switch aria-checked=false id=sw tabindex=0 onclick=\"this.setAttribute('aria-checked', this.getAttribute('aria-checked') !== 'true')\">S</div><p id=p>x</p>";
    let mut lab = lab(&[("/", page)]).await;
    let on = |id: &str| (json!({"it": css_of(id)}), json!({"type": "check", "targetRef": "it"}));
    for id in ["#box", "#r1", "#sw"] {
        let (candidates, step) = on(id);
        succeeded(lab.step(candidates.clone(), step.clone()).await);
        // Twice is once.
        let again = succeeded(lab.step(candidates, step).await);
        assert!(!again.evidence.input_sent, "{id}");
    }
    assert_eq!(lab.eval("[box.checked, r1.checked, sw.ariaChecked]").await, json!([true, true, "true"]));
    succeeded(lab.step(json!({"it": css_of("#box")}), json!({"type": "uncheck", "targetRef": "it"})).await);
    assert_eq!(lab.eval("box.checked").await, false);
    let (candidates, step) = on("#p");
    assert_eq!(failed(lab.step(candidates, step).await).cause, Cause::InvalidArgument);
}

#[tokio::test]
async fn an_observed_candidate_is_that_element_or_nothing() {
    let page = format!("{LOGGING}<button id=go class=x>Save</button>");
    let mut lab = lab(&[("/", &page)]).await;
    let probe = Probe::attach(lab.tab(), DigestKey::new([9; 32]), soon()).await.unwrap();
    let locator = serde_json::from_value(css_of("#go")).unwrap();
    let node = probe.locate(&locator, &Ask::default(), soon()).await.unwrap().unique().unwrap().key.clone();
    let mut observation = lab.observation();
    let mut candidate: Candidate = serde_json::from_value(json!({
        "id": "c1", "role": "button", "name": "Save", "locators": [css_of("#go")],
        "fingerprint": {"role": "button", "name": "Save", "path": "body button"},
    }))
    .unwrap();
    candidate.node = Some(node);
    observation.candidates = vec![candidate];
    let click = json!({"type": "click", "targetRef": "c1"});
    succeeded(lab.step_on(&observation, click.clone()).await);

    lab.eval("go.textContent = 'Delete'; log.length = 0").await;
    let failure = failed(lab.step_on(&observation, click.clone()).await);
    assert_eq!(failure.cause, Cause::TargetStale);
    assert!(failure.facts.seen.unwrap().contains("Delete"));

    lab.eval("document.body.innerHTML = '<button id=go>Save</button>'").await;
    let failure = failed(lab.step_on(&observation, click.clone()).await);
    assert_eq!(failure.cause, Cause::TargetStale);
    assert_eq!(lab.eval("log.length").await, 0);

    // A candidate that was read from a file has no node: its locators are followed.
    observation.candidates[0].node = None;
    succeeded(lab.step_on(&observation, click).await);
}

// ------------------------------------------------------------------------------------ postconditions

#[tokio::test]
async fn a_toast_of_five_milliseconds_counts_as_seen() {
    let page = "<button id=go onclick=\"setTimeout(() => { const t = document.createElement('div'); t.id = 'toast'; \
        t.setAttribute('role', 'status'); t.textContent = 'Saved 3 items'; document.body.append(t); setTimeout(() => t.remove(), 5); }, 30)\">Go</button>";
    let mut lab = lab(&[("/", page)]).await;
    let candidates = json!({"go": css_of("#go"), "toast": css_of("#toast")});
    for condition in [
        json!({"kind": "appears", "target": "toast"}),
        json!({"kind": "exists", "target": "toast"}),
        json!({"kind": "elementTextContains", "target": "toast", "text": "Saved"}),
    ] {
        let step = json!({"type": "click", "targetRef": "go", "post": [condition]});
        let success = succeeded(lab.step(candidates.clone(), step).await);
        assert!(!success.evidence.post[0].vacuous);
        let facts = success.evidence.post_facts.unwrap();
        let toast = TargetRef::new("toast").unwrap();
        assert_eq!(facts.before.unwrap().targets[&toast].matches, Some(0));
        assert!(facts.samples.iter().any(|sample| sample.targets[&toast].matches == Some(1)));
    }
}

#[tokio::test]
async fn a_wrong_postcondition_fails_with_the_facts() {
    let mut lab = lab(&[("/", "<button id=go onclick=\"document.title = 'b'\">Go</button>")]).await;
    let step = json!({"type": "click", "targetRef": "go", "post": [{"kind": "titleMatches", "pattern": "^c$"}]});
    let failure = failed(lab.step(json!({"go": css_of("#go")}), step).await);
    assert_eq!((failure.stage, failure.cause), (Stage::Postcondition, Cause::PostconditionFailed));
    let facts = failure.facts.conditions.unwrap();
    assert_eq!(facts.samples.last().unwrap().title, "b");
    assert!(failure.evidence.input_sent);
}

#[tokio::test]
async fn what_held_before_is_vacuous_and_no_failure() {
    let mut lab = lab(&[("/", "<button id=go>Go</button>")]).await;
    let step = json!({"type": "click", "targetRef": "go", "post": [{"kind": "visible", "target": "go"}]});
    let success = succeeded(lab.step(json!({"go": css_of("#go")}), step).await);
    assert!(success.evidence.post[0].vacuous);
}

#[tokio::test]
async fn a_url_change_before_the_click_does_not_count() {
    let page = "<button id=go>Go</button><script>setTimeout(() => history.pushState({}, '', '/early'), 100);</script>";
    let mut lab = lab(&[("/", page)]).await;
    while !lab.tab().url().ends_with("/early") {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let step = json!({"type": "click", "targetRef": "go", "post": [{"kind": "urlChanges"}]});
    let failure = failed(lab.step(json!({"go": css_of("#go")}), step).await);
    assert_eq!(failure.cause, Cause::PostconditionFailed);
}

#[tokio::test]
async fn a_link_leads_to_another_document_that_is_watched() {
    let pages = [("/", "<a id=go href='/next'>Next</a>"), ("/next", "<title>Next</title><h1 id=head>Here</h1>")];
    let mut lab = lab(&pages).await;
    let step = json!({"type": "click", "targetRef": "go", "post": [{"kind": "urlChanges", "to": "/next"},
        {"kind": "elementTextEquals", "target": "head", "text": "Here"}, {"kind": "absent", "target": "go"}]});
    let candidates = json!({"go": css_of("#go"), "head": css_of("#head")});
    let success = succeeded(lab.step(candidates, step).await);
    let effects = success.evidence.effects.unwrap();
    assert!(effects.new_document);
    assert!(effects.url_after.unwrap().ends_with("/next"));
}

#[tokio::test]
async fn a_click_without_effect_says_so() {
    let page = "<div id=it style='width:50px;height:50px' onmousedown='event.preventDefault()'>x</div>";
    let mut lab = lab(&[("/", page)]).await;
    let success = succeeded(lab.click("#it").await);
    assert!(success.evidence.no_observed_effect, "{:?}", success.evidence.effects);
}

#[tokio::test]
async fn preconditions_are_judged_before_anything_is_sent() {
    let page = format!("{LOGGING}<button id=go>Go</button>");
    let mut lab = lab(&[("/", &page)]).await;
    let step = json!({"type": "click", "targetRef": "go", "pre": [{"kind": "exists", "target": "dialog"}]});
    let failure =
        failed(lab.step(json!({"go": css_of("#go"), "dialog": {"strategy": "byRole", "role": "dialog"}}), step).await);
    assert_eq!((failure.stage, failure.cause), (Stage::Precondition, Cause::PreconditionFailed));
    assert_eq!(failure.evidence.pre.len(), 1);
    assert_eq!(lab.eval("log.length").await, 0);
}

#[tokio::test]
async fn requests_and_quiet_are_told_where_a_condition_asks() {
    let pages = [
        ("/", "<button id=go onclick=\"fetch('/data', {method: 'POST'}).then((r) => r.text())\">Go</button>"),
        ("/data", "ok"),
    ];
    let mut lab = lab(&pages).await;
    let step = json!({"type": "click", "targetRef": "go", "post": [
        {"kind": "requestObserved", "method": "POST", "url": "/data$", "status": 200}, {"kind": "networkIdle", "timeoutMs": 5000}]});
    let success = succeeded(lab.step(json!({"go": css_of("#go")}), step).await);
    assert_eq!(success.evidence.effects.unwrap().requests.len(), 1);
}

#[tokio::test]
async fn wait_for_and_assert_state_conditions() {
    let page = "<script>setTimeout(() => { const d = document.createElement('div'); d.id = 'late'; d.textContent = 'Done'; document.body.append(d); }, 300);</script><body>";
    let mut lab = lab(&[("/", page)]).await;
    let late = json!({"late": css_of("#late")});
    let there = json!({"kind": "elementTextEquals", "target": "late", "text": "Done"});
    succeeded(lab.step(late.clone(), json!({"type": "waitFor", "condition": there})).await);
    succeeded(lab.step(late.clone(), json!({"type": "assert", "condition": there})).await);
    let not_there = json!({"kind": "absent", "target": "late"});
    let failure = failed(lab.step(late.clone(), json!({"type": "assert", "condition": not_there})).await);
    assert_eq!(failure.cause, Cause::PostconditionFailed);
    assert!(failure.facts.conditions.is_some());
    let failure = failed(lab.step(late, json!({"type": "waitFor", "timeoutMs": 300, "condition": not_there})).await);
    assert_eq!(failure.cause, Cause::PostconditionFailed);
    let idle = succeeded(lab.step(json!({}), json!({"type": "waitForIdle", "quietMs": 100})).await);
    assert_eq!(idle.data, Some(json!({"idle": true})));
}

// ----------------------------------------------------------------------------------------- entering

#[tokio::test]
async fn values_are_typed_set_and_cleared() {
    let page = "<input id=t value='ab'><input id=m type=email value='a@b.c'><textarea id=x>one</textarea><input id=d type=date><input id=c type=color>\
        <input id=r type=range min=0 max=10><div id=e contenteditable>old</div><input id=n type=number value=5>\
        <script>let heard = []; for (const t of ['input', 'change']) document.addEventListener(t, (e) => heard.push(t + ' ' + e.target.id));</script>";
    let mut lab = lab(&[("/", page)]).await;
    let cases = [
        (json!({"type": "type", "targetRef": "it", "text": "cé😀"}), "#t", "t.value", "abcé😀"),
        (json!({"type": "type", "targetRef": "it", "text": "om"}), "#m", "m.value", "a@b.com"),
        (json!({"type": "type", "targetRef": "it", "text": "\ntwo"}), "#x", "x.value", "one\ntwo"),
        (json!({"type": "type", "targetRef": "it", "text": "er"}), "#e", "e.textContent", "older"),
        (json!({"type": "setValue", "targetRef": "it", "value": "new"}), "#t", "t.value", "new"),
        (json!({"type": "setValue", "targetRef": "it", "value": "new"}), "#e", "e.textContent", "new"),
        (json!({"type": "setValue", "targetRef": "it", "value": "42"}), "#n", "n.value", "42"),
        (json!({"type": "setValue", "targetRef": "it", "value": "2025-01-31"}), "#d", "d.value", "2025-01-31"),
        (json!({"type": "setValue", "targetRef": "it", "value": "#AABBCC"}), "#c", "c.value", "#aabbcc"),
        (json!({"type": "setValue", "targetRef": "it", "value": "7"}), "#r", "r.value", "7"),
        (json!({"type": "clear", "targetRef": "it"}), "#t", "t.value", ""),
        (json!({"type": "clear", "targetRef": "it"}), "#e", "e.textContent", ""),
        (json!({"type": "clear", "targetRef": "it"}), "#d", "d.value", ""),
    ];
    for (mut step, target, read, expected) in cases {
        if target == "#c" {
            step["post"] = json!([{"kind": "valueEquals", "target": "it", "value": "#aabbcc"}]);
        }
        succeeded(lab.step(json!({"it": css_of(target)}), step.clone()).await);
        assert_eq!(lab.eval(read).await, expected, "{step}");
    }
    assert_eq!(lab.eval("heard.includes('input d') && heard.includes('change d')").await, true);
    let bad = json!({"type": "setValue", "targetRef": "it", "value": "yesterday"});
    assert_eq!(failed(lab.step(json!({"it": css_of("#d")}), bad).await).cause, Cause::InvalidArgument);
}

#[tokio::test]
async fn a_stolen_focus_gets_no_character() {
    let page = "<input id=a><input id=b><script>a.addEventListener('input', () => { if (a.value.length === 2) b.focus(); });</script>";
    let mut lab = lab(&[("/", page)]).await;
    let failure =
        failed(lab.step(json!({"a": css_of("#a")}), json!({"type": "type", "targetRef": "a", "text": "abcdef"})).await);
    assert_eq!(failure.cause, Cause::NotEditable, "{}", failure.message);
    assert!(failure.evidence.input_sent);
    assert_eq!(lab.eval("[a.value, b.value]").await, json!(["ab", ""]));
}

#[tokio::test]
async fn keys_and_chords_arrive() {
    let page = "<form onsubmit=\"document.title = 'sent'; return false\"><input id=i value=text></form>\
        <script>let keys = []; addEventListener('keydown', (e) => keys.push([e.ctrlKey, e.shiftKey, e.key, e.code].join(' ')));</script>";
    let mut lab = lab(&[("/", page)]).await;
    let i = json!({"i": css_of("#i")});
    succeeded(lab.step(i.clone(), json!({"type": "press", "targetRef": "i", "keys": "Enter", "post": [{"kind": "titleMatches", "pattern": "sent"}]})).await);
    succeeded(lab.step(i.clone(), json!({"type": "press", "keys": "Control+Shift+K"})).await);
    assert_eq!(lab.eval("keys.at(-1)").await, "true true K KeyK");
    succeeded(lab.step(i.clone(), json!({"type": "press", "targetRef": "i", "keys": "Control+a"})).await);
    assert_eq!(lab.eval("i.selectionEnd - i.selectionStart").await, 4);
    assert_eq!(failed(lab.step(i, json!({"type": "press", "keys": "Hyper+q"})).await).cause, Cause::InvalidArgument);
}

#[tokio::test]
async fn a_password_is_in_no_evidence() {
    let page = "<input id=p type=password><input id=user><p id=echo></p><script>p.addEventListener('input', () => { \
        echo.textContent = 'you typed ' + p.value; document.title = p.value; history.replaceState({}, '', '?q=' + encodeURIComponent(p.value).replace(/%20/g, '+')); });</script>";
    let mut lab = lab(&[("/", page)]).await;
    let p = json!({"p": css_of("#p"), "echo": css_of("#echo")});
    let step = json!({"type": "type", "targetRef": "p", "text": "hunter2secret", "post": [
        {"kind": "valueEquals", "target": "p", "value": "hunter2secret"}, {"kind": "valueContains", "target": "p", "value": "er2sec"},
        {"kind": "visible", "target": "echo"}]});
    let success = succeeded(lab.step(p.clone(), step).await);
    let told = serde_json::to_string(&success.evidence).unwrap();
    assert!(!told.contains("hunter2secret") && !told.contains("er2sec"), "{told}");
    assert!(success.evidence.sensitive.iter().any(|target| target.as_str() == "p"));

    let step = json!({"type": "setValue", "targetRef": "p", "credentialRef": "shop", "post": [{"kind": "changed", "target": "p"}]});
    let success = succeeded(lab.step(p.clone(), step).await);
    assert!(!serde_json::to_string(&success.evidence).unwrap().contains(PASSWORD));
    assert_eq!(lab.eval("p.value").await, PASSWORD);
    let asked = lab.secrets.asked.lock().unwrap().clone();
    assert_eq!(asked.len(), 1);
    assert!(asked[0].is_password_field);

    let failing = json!({"type": "setValue", "targetRef": "p", "value": "hunter2again", "post": [{"kind": "valueEquals", "target": "p", "value": "other2again"}]});
    let failure = failed(lab.step(p, failing).await);
    assert_eq!(failure.cause, Cause::PostconditionFailed);
    let told = format!("{failure:?}{}", serde_json::to_string(&failure.evidence).unwrap());
    assert!(!told.contains("hunter2again") && !told.contains("other2again"), "{told}");
}

#[tokio::test]
async fn a_secret_is_not_given_to_another_origin() {
    let mut lab =
        lab(&[("/", "<iframe src='http://localhost:PORT/inner'></iframe>"), ("/inner", "<input id=p type=password>")])
            .await;
    let step = json!({"type": "type", "targetRef": "p", "credentialRef": "shop"});
    let failure = failed(lab.step(json!({"p": css_of("#p")}), step).await);
    assert_eq!(failure.cause, Cause::PolicyBlocked, "{}", failure.message);
    assert!(!failure.evidence.input_sent);
    let asked = lab.secrets.asked.lock().unwrap().clone();
    assert_eq!(asked[0].origin, format!("http://localhost:{}", lab.port));
    assert_eq!(asked[0].page_origin, format!("http://127.0.0.1:{}", lab.port));
}

#[tokio::test]
async fn options_are_chosen_or_listed() {
    let page = "<select id=s><option value=a>Apple</option><option value=b>Banana</option><option value=c disabled>Cherry</option></select>\
        <select id=m multiple><option>One</option><option>Two</option><option>Three</option></select>\
        <div id=combo role=combobox aria-expanded=false aria-controls=list tabindex=0>Pick</div><ul id=list role=listbox hidden>\
        <li role=option>Red</li><li role=option>Green</li></ul>\
        <script>let heard = []; s.addEventListener('change', () => heard.push(s.value)); combo.addEventListener('click', () => { list.hidden = false; combo.ariaExpanded = 'true'; });\
        for (const o of list.children) o.addEventListener('mousedown', () => { combo.textContent = o.textContent; list.hidden = true; combo.ariaExpanded = 'false'; });</script>";
    let mut lab = lab(&[("/", page)]).await;
    let choose = |id: &str, option: Value| {
        (json!({"it": css_of(id)}), json!({"type": "select", "targetRef": "it", "option": option}))
    };
    for (id, option, read, expected) in [
        ("#s", json!("b"), "s.value", json!("b")),
        ("#s", json!("Apple"), "s.value", json!("a")),
        ("#s", json!(1), "s.value", json!("b")),
        (
            "#m",
            json!(["One", {"label": "Three"}]),
            "[...m.selectedOptions].map((o) => o.label)",
            json!(["One", "Three"]),
        ),
        ("#combo", json!("Green"), "combo.textContent", json!("Green")),
    ] {
        let (candidates, step) = choose(id, option);
        succeeded(lab.step(candidates, step).await);
        assert_eq!(lab.eval(read).await, expected);
    }
    assert_eq!(lab.eval("heard.join()").await, "b,a,b");
    let (candidates, step) = choose("#s", json!("Kiwi"));
    let failure = failed(lab.step(candidates, step).await);
    assert_eq!(failure.cause, Cause::OptionNotFound);
    assert_eq!(failure.facts.matches, ["Apple", "Banana", "Cherry"]);
    let (candidates, step) = choose("#s", json!("Cherry"));
    assert_eq!(failed(lab.step(candidates, step).await).cause, Cause::OptionNotFound);
}

#[tokio::test]
async fn files_come_from_declared_directories_only() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("note.txt"), "hello").unwrap();
    let options = ExecutorOptions { upload_roots: vec![folder.path().to_owned()], ..quick() };
    let page = "<input id=f type=file><script>f.addEventListener('change', () => { document.title = f.files[0].name; });</script>";
    let mut lab = lab_with(&[("/", page)], options).await;
    let f = json!({"f": css_of("#f")});
    let step = json!({"type": "upload", "targetRef": "f", "files": ["note.txt"], "post": [{"kind": "titleMatches", "pattern": "note"}]});
    succeeded(lab.step(f.clone(), step).await);
    let failure = failed(lab.step(f, json!({"type": "upload", "targetRef": "f", "files": ["/etc/hostname"]})).await);
    assert_eq!(failure.cause, Cause::PolicyBlocked);
}

// ------------------------------------------------------------------------------------------ dragging

#[tokio::test]
async fn dragging_works_with_mouse_events_and_with_html_drag_and_drop() {
    let page = "<style>div{width:80px;height:80px;position:absolute;top:20px}</style><div id=a style='left:10px;background:red'>a</div>\
        <div id=b style='left:300px;background:blue'>b</div><div id=c draggable=true style='left:10px;top:200px;background:green'>c</div>\
        <div id=d style='left:300px;top:200px;background:gray'>d</div><script>let from = null; a.onmousedown = () => { from = 'a'; };\
        b.onmouseup = () => { document.title = from + ' on b'; }; c.ondragstart = (e) => e.dataTransfer.setData('text/plain', 'c');\
        d.ondragover = (e) => e.preventDefault(); d.ondrop = (e) => { e.preventDefault(); document.title = e.dataTransfer.getData('text/plain') + ' on d'; };</script>";
    let mut lab = lab(&[("/", page)]).await;
    for (from, to) in [("a", "b"), ("c", "d")] {
        let candidates = json!({"from": css_of(&format!("#{from}")), "to": css_of(&format!("#{to}"))});
        let post = json!([{"kind": "titleMatches", "pattern": format!("{from} on {to}")}]);
        succeeded(lab.step(candidates, json!({"type": "dragTo", "targetRef": "from", "to": "to", "post": post})).await);
    }
}

#[tokio::test]
async fn the_pointer_hovers_holds_and_points() {
    let page = "<style>#tip{display:none} #it:hover + #tip{display:block}</style><button id=it>It</button><div id=tip>Tip</div>\
        <script>let held = 0; it.addEventListener('mousedown', () => { held = performance.now(); }); it.addEventListener('mouseup', () => { document.title = performance.now() - held > 150 ? 'held' : 'clicked'; });</script>";
    let mut lab = lab(&[("/", page)]).await;
    let it = json!({"it": css_of("#it"), "tip": css_of("#tip")});
    succeeded(
        lab.step(
            it.clone(),
            json!({"type": "hover", "targetRef": "it", "post": [{"kind": "appears", "target": "tip"}]}),
        )
        .await,
    );
    succeeded(lab.step(it.clone(), json!({"type": "longPress", "targetRef": "it", "durationMs": 200, "post": [{"kind": "titleMatches", "pattern": "held"}]})).await);
    succeeded(lab.step(it, json!({"type": "clickPoint", "point": {"x": 15, "y": 15}, "post": [{"kind": "titleMatches", "pattern": "clicked"}]})).await);
}

// ---------------------------------------------------------------------------------- dialogs and tabs

#[tokio::test]
async fn dialogs_end_a_step_and_are_answered_by_the_next() {
    let page = "<button id=a onclick=\"alert('Careful'); document.title = 'after'\">A</button>\
        <button id=p onclick=\"document.title = prompt('Name?', 'x')\">P</button><button id=c onclick=\"document.title = confirm('Sure?')\">C</button>";
    let mut lab = lab(&[("/", page)]).await;
    let all = json!({"a": css_of("#a"), "p": css_of("#p"), "c": css_of("#c")});
    let success = succeeded(lab.step(all.clone(), json!({"type": "click", "targetRef": "a"})).await);
    assert_eq!(success.evidence.effects.unwrap().dialogs[0].message, "Careful");
    let failure = failed(lab.step(all.clone(), json!({"type": "click", "targetRef": "p"})).await);
    assert_eq!((failure.stage, failure.cause), (Stage::Precondition, Cause::DialogOpen));
    succeeded(lab.step(all.clone(), json!({"type": "acceptDialog"})).await);
    assert_eq!(lab.eval("document.title").await, "after");

    let step = json!({"type": "click", "targetRef": "p", "post": [{"kind": "dialogOpened", "dialog": "prompt", "text": "Name"}]});
    succeeded(lab.step(all.clone(), step).await);
    succeeded(
        lab.step(
            all.clone(),
            json!({"type": "acceptDialog", "text": "Ada", "post": [{"kind": "titleMatches", "pattern": "Ada"}]}),
        )
        .await,
    );

    let step = json!({"type": "click", "targetRef": "c", "post": [{"kind": "titleMatches", "pattern": "true"}]});
    assert_eq!(failed(lab.step(all.clone(), step).await).cause, Cause::DialogOpen);
    succeeded(
        lab.step(all.clone(), json!({"type": "dismissDialog", "post": [{"kind": "titleMatches", "pattern": "false"}]}))
            .await,
    );
    assert_eq!(failed(lab.step(all, json!({"type": "dismissDialog"})).await).cause, Cause::InvalidArgument);
}

#[tokio::test]
async fn a_new_tab_is_current_only_if_it_was_stated() {
    let pages = [
        ("/", "<a id=go href='/other' target=_blank>Go</a>"),
        ("/other", "<title>Other</title><button id=here onclick=\"document.title='hit'\">Here</button>"),
    ];
    let mut lab = lab(&pages).await;
    let go = json!({"go": css_of("#go")});
    let success = succeeded(lab.step(go.clone(), json!({"type": "click", "targetRef": "go"})).await);
    assert_eq!(success.page, None);
    let step = json!({"type": "click", "targetRef": "go", "post": [{"kind": "newTab", "url": "/other"}]});
    let success = succeeded(lab.step(go, step).await);
    let first = lab.page.clone();
    lab.page = success.page.unwrap();
    let step = json!({"type": "click", "targetRef": "here", "post": [{"kind": "titleMatches", "pattern": "hit"}]});
    succeeded(lab.step(json!({"here": css_of("#here")}), step).await);
    let success = succeeded(lab.step(json!({}), json!({"type": "closeTab"})).await);
    assert_eq!(success.page, Some(first));
}

#[tokio::test]
async fn a_download_is_an_effect() {
    let pages = [("/", "<a id=go href='/file.bin' download>Get</a>"), ("/file.bin", "data")];
    let mut lab = lab(&pages).await;
    let step = json!({"type": "click", "targetRef": "go", "post": [{"kind": "downloadStarted", "filename": "file"}]});
    succeeded(lab.step(json!({"go": css_of("#go")}), step).await);
}

// ----------------------------------------------------------------------------------- frames and roots

#[tokio::test]
async fn frames_of_either_process_take_clicks_and_text() {
    let inner = "<button id=go onclick=\"this.textContent = 'done'\">Go</button><input id=i>";
    for host in ["127.0.0.1", "localhost"] {
        let outer = format!(
            "<div style='height:1500px'></div><iframe src='http://{host}:PORT/inner' style='border:7px solid;padding:9px'></iframe>"
        );
        let mut lab = lab(&[("/", &outer), ("/inner", inner)]).await;
        let candidates =
            json!({"go": css_of("#go"), "i": {"strategy": "css", "selector": "#i", "frame": [css_of("iframe")]}});
        let step = json!({"type": "click", "targetRef": "go", "post": [{"kind": "elementTextEquals", "target": "go", "text": "done"}]});
        succeeded(lab.step(candidates.clone(), step).await);
        succeeded(lab.step(candidates.clone(), json!({"type": "type", "targetRef": "i", "text": "hé"})).await);
        let success = succeeded(
            lab.step(candidates, json!({"type": "extract", "query": {"targetRef": "i", "kind": "value"}})).await,
        );
        assert_eq!(success.data, Some(json!("hé")), "{host}");
    }
}

#[tokio::test]
async fn an_overlay_in_the_outer_document_covers_what_is_in_a_frame() {
    let outer = "<iframe src='/inner'></iframe><div id=veil style='position:fixed;inset:0'></div>";
    let mut lab = lab(&[("/", outer), ("/inner", "<button id=go>Go</button>")]).await;
    let failure = failed(lab.click("#go").await);
    assert_eq!(failure.cause, Cause::Covered);
    assert_eq!(failure.facts.blocker.as_deref(), Some("div#veil"));
}

#[tokio::test]
async fn shadow_roots_are_no_obstacle() {
    let page = "<div id=host></div><script>const r = host.attachShadow({mode: 'open'}); r.innerHTML = '<button>In</button><input><p></p>'; \
        r.querySelector('button').onclick = () => { r.querySelector('p').textContent = 'clicked'; };</script>";
    let mut lab = lab(&[("/", page)]).await;
    let candidates =
        json!({"go": {"strategy": "byRole", "role": "button", "name": "In"}, "i": css_of("input"), "p": css_of("p")});
    let step = json!({"type": "click", "targetRef": "go", "post": [{"kind": "elementTextEquals", "target": "p", "text": "clicked"}]});
    succeeded(lab.step(candidates.clone(), step).await);
    succeeded(lab.step(candidates, json!({"type": "type", "targetRef": "i", "text": "deep"})).await);
    assert_eq!(lab.eval("r.querySelector('input').value").await, "deep");
}

#[tokio::test]
async fn a_page_that_rewrites_its_own_world_changes_nothing() {
    let page = "<script>const boom = () => { throw new Error('boom'); }; window.clicks = []; \
        const add = EventTarget.prototype.addEventListener; add.call(document, 'click', (e) => { clicks[clicks.length] = e.target.id; });\
        Array.prototype.push = boom; Array.prototype.map = boom; Array.prototype.filter = boom; JSON.stringify = boom; JSON.parse = boom;\
        Element.prototype.getBoundingClientRect = boom; Element.prototype.querySelectorAll = boom; Node.prototype.contains = boom;\
        EventTarget.prototype.addEventListener = boom; Event.prototype.composedPath = boom; Event.prototype.stopImmediatePropagation = boom;\
        window.requestAnimationFrame = boom; window.setTimeout = boom; window.MutationObserver = boom; window.Promise = boom; window.Symbol = boom;</script>\
        <form><input name=parentNode><input name=isConnected><button id=go type=button>Go</button></form><input id=i><img name=title><img name=body>";
    let mut lab = lab(&[("/", page)]).await;
    succeeded(lab.click("#go").await);
    assert_eq!(lab.eval("clicks[0]").await, "go");
    succeeded(lab.step(json!({"i": css_of("#i")}), json!({"type": "type", "targetRef": "i", "text": "fine"})).await);
}

// ---------------------------------------------------------------------------------------- navigation

#[tokio::test]
async fn navigation_tells_why_it_failed() {
    let mut lab = lab(&[("/", "start"), ("/slow", "<title>Slow</title><p>there</p>NEVER")]).await;
    let refused = failed(lab.step(json!({}), json!({"type": "navigate", "url": "http://127.0.0.1:9/"})).await);
    assert_eq!(refused.cause, Cause::NavigationFailed);
    assert!(refused.facts.seen.unwrap().starts_with("net::ERR_"), "{}", refused.message);
    let missing = failed(lab.step(json!({}), json!({"type": "navigate", "url": lab.url("/missing")})).await);
    assert_eq!((missing.cause, missing.facts.status), (Cause::HttpError, Some(404)));
    let url = lab.url("/never");
    let never =
        failed(lab.step_within(json!({}), json!({"type": "navigate", "url": url}), Duration::from_secs(2)).await);
    assert_eq!(never.cause, Cause::DeadlineExceeded);
    let url = lab.url("/slow");
    succeeded(lab.step(json!({}), json!({"type": "navigate", "url": url})).await);
    assert_eq!(lab.eval("document.title").await, "Slow");
}

#[tokio::test]
async fn the_history_goes_back_and_forward() {
    let mut lab = lab(&[("/", "<title>One</title>"), ("/two", "<title>Two</title>")]).await;
    let url = lab.url("/two");
    succeeded(lab.step(json!({}), json!({"type": "navigate", "url": url})).await);
    succeeded(
        lab.step(json!({}), json!({"type": "goBack", "post": [{"kind": "titleMatches", "pattern": "One"}]})).await,
    );
    succeeded(
        lab.step(json!({}), json!({"type": "goForward", "post": [{"kind": "titleMatches", "pattern": "Two"}]})).await,
    );
    succeeded(lab.step(json!({}), json!({"type": "reload"})).await);
    assert_eq!(failed(lab.step(json!({}), json!({"type": "goForward"})).await).cause, Cause::NavigationFailed);
}

#[tokio::test]
async fn a_renderer_that_dies_in_a_step_is_told_and_navigated_again() {
    let mut lab = lab(&[("/", "<button id=go>Go</button>")]).await;
    let tab = lab.tab();
    let crash = async {
        tokio::time::sleep(Duration::from_millis(400)).await;
        drop(tab.session().call_raw("Page.crash", json!({}), soon()).await);
    };
    let wait = json!({"type": "waitFor", "condition": {"kind": "titleMatches", "pattern": "never"}});
    let (outcome, ()) = tokio::join!(lab.step(json!({}), wait), crash);
    assert_eq!(failed(outcome).cause, Cause::PageCrashed);
    let url = lab.url("/");
    succeeded(lab.step(json!({}), json!({"type": "navigate", "url": url})).await);
    succeeded(lab.click("#go").await);
}

// ------------------------------------------------------------------------------- reading and pictures

#[tokio::test]
async fn reading_takes_text_values_and_html() {
    let page = "<div id=d>one <b>two</b></div><input id=i value=v><input id=p type=password value=hidden1>";
    let mut lab = lab(&[("/", page)]).await;
    for (target, kind, expected) in
        [("#d", "text", json!("one two")), ("#d", "html", json!("one <b>two</b>")), ("#i", "value", json!("v"))]
    {
        let step = json!({"type": "extract", "query": {"targetRef": "it", "kind": kind}});
        assert_eq!(succeeded(lab.step(json!({"it": css_of(target)}), step).await).data, Some(expected));
    }
    let step = json!({"type": "extract", "query": {"targetRef": "it", "kind": "value"}});
    let told = succeeded(lab.step(json!({"it": css_of("#p")}), step).await).data.unwrap();
    assert!(told["redacted"].is_string() && !told.to_string().contains("hidden1"));
    let dom = succeeded(lab.step(json!({}), json!({"type": "getDom"})).await).data.unwrap();
    assert!(dom.as_str().unwrap().contains("<b>two</b>") && !dom.as_str().unwrap().contains("hidden1"), "{dom}");
}

#[tokio::test]
async fn pictures_are_taken_as_the_mode_says() {
    let options = ExecutorOptions { screenshots: ScreenshotMode::Every, ..quick() };
    let mut lab = lab_with(&[("/", "<button id=go>Go</button>")], options).await;
    lab.shelf.0.lock().unwrap().clear();
    let success = succeeded(lab.click("#go").await);
    assert_eq!(success.evidence.artifacts.len(), 2);
    let success =
        succeeded(lab.step(json!({"go": css_of("#go")}), json!({"type": "screenshot", "targetRef": "go"})).await);
    assert_eq!(success.data.unwrap()["kind"], "screenshot");
    let kept = lab.shelf.0.lock().unwrap();
    assert!(kept.iter().all(|(_, bytes)| bytes.starts_with(b"\x89PNG")));
}

#[tokio::test]
async fn scrolling_moves_pages_containers_and_targets() {
    let page = "<div id=box style='height:100px;overflow:auto'><div style='height:900px'></div><p id=end>end</p></div><div style='height:3000px'></div><p id=far>far</p>";
    let mut lab = lab(&[("/", page)]).await;
    let all = json!({"box": css_of("#box"), "far": css_of("#far")});
    succeeded(lab.step(all.clone(), json!({"type": "scroll", "targetRef": "box", "deltaY": 200})).await);
    assert_eq!(lab.eval("box.scrollTop").await, 200);
    succeeded(
        lab.step(
            all.clone(),
            json!({"type": "scroll", "targetRef": "far", "post": [{"kind": "inViewport", "target": "far"}]}),
        )
        .await,
    );
    succeeded(lab.step(all, json!({"type": "scroll", "direction": "top"})).await);
    assert_eq!(lab.eval("scrollY").await, 0);
}
