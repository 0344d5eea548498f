//! One worker's browser and server: opens the page of a trial, lets the whole loop do its step, and asks the page and
//! the server what came of it.
//!
//! Invariant: the program under trial gets its own connection to the browser, a slow one if a delay is stated. The page
//! is asked, and a person's input is sent, past the delay.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use cuebook::Live;
use cuebook_cdp::protocol::browser_protocol::input::{DispatchMouseEventParams, DispatchMouseEventType, MouseButton};
use cuebook_cdp::protocol::js_protocol::runtime::EvaluateParams;
use cuebook_cdp::{AttachOptions, Browser, ChromeBinary, DialogAnswer, LaunchOptions, Page, Transport, WaitUntil};
use cuebook_datalayer::{MemoryArtifacts, MemoryLog, ValueRedactor};
use cuebook_executor::{ExecutorOptions, ScreenshotMode};
use cuebook_grammar::candidate::About;
use cuebook_grammar::deadline::Deadline;
use cuebook_grammar::id::{PageId, RunId, TargetRef};
use cuebook_grammar::observation::Observation;
use cuebook_grammar::plan::{Author, PlanDraft};
use cuebook_grammar::policy::Policy;
use cuebook_grammar::report::RunResult;
use cuebook_grammar::seam::{DenyAll, NoSecrets, PlanReply, PlanRequest, PlanSink, Planner};
use cuebook_grammar::secret::DigestKey;
use cuebook_grammar::step::Step;
use cuebook_page_modeler::ModelerOptions;
use cuebook_repair::{Interrupt, Ladder, Layers, Listener, RunEvent, RunRequest, Work};
use serde::Deserialize;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::pages::Case;
use super::server::Server;
use super::{link, mixed};
use crate::endpoint;
use crate::script::Script;

const PATIENCE: Duration = Duration::from_secs(20);
/// How long a page is left to itself after the step, beside the link's delays.
const QUIET: Duration = Duration::from_millis(250);
/// By when a person is heard again.
const PERSON: Duration = Duration::from_secs(3);
const POLL: Duration = Duration::from_millis(50);
/// The shortest time of a step that ends in the middle of a gesture, in milliseconds, and how much longer it may be.
const LIMIT: (u64, u64) = (740, 240);

/// Account of the page and the server.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Account {
    pub(crate) did: Vec<Did>,
    /// Trusted events that reached a decoy.
    pub(crate) decoys: Vec<String>,
    /// Trusted events after the step was over, without releases.
    pub(crate) late: Vec<String>,
    /// The last trusted events.
    pub(crate) events: Vec<String>,
    /// A button or a drag that is still held.
    pub(crate) held: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Did {
    pub(crate) what: String,
    /// After the step was over.
    pub(crate) late: bool,
}

/// Results of a trial as the program and the page report them.
#[derive(Debug)]
pub(crate) struct Trial {
    pub(crate) result: RunResult,
    pub(crate) message: String,
    /// The records of the step, one for each attempt.
    pub(crate) records: Vec<Value>,
    pub(crate) account: Account,
    /// `true` if a person's input arrives afterwards. `None` if there is no person.
    pub(crate) hears: Option<bool>,
}

/// A browser with one tab at a time.
pub(crate) struct Stage {
    direct: Arc<Browser>,
    browser: Arc<Browser>,
    server: Server,
    delay: Duration,
    _profiles: TempDir,
}

/// Lets the page begin once the plan is made.
#[derive(Clone)]
struct Begin {
    page: Page,
    interrupt: Option<(Interrupt, Duration)>,
}

impl Begin {
    async fn now(&self) {
        evaluate(&self.page, "account.begin()").await.ok();
        if let Some((interrupt, after)) = self.interrupt.clone() {
            tokio::spawn(async move {
                tokio::time::sleep(after).await;
                interrupt.trigger();
            });
        }
    }
}

/// A planner that knows its one line. The page may change between its answer and the step. Asked again, it reads the
/// page as a model would: it does not say its line about something else.
struct Rehearsed {
    script: Script,
    begin: Begin,
    /// Subject of the target when the line was first said; `None` where the page may change that by itself.
    meant: Option<Mutex<Option<About>>>,
}

impl Rehearsed {
    fn is_as_meant(&self, step: &Step, observation: &Observation) -> bool {
        let Some(meant) = &self.meant else { return true };
        let id = step.action.target().and_then(TargetRef::candidate_id);
        let about = id.and_then(|id| observation.candidate(id)).and_then(|candidate| candidate.about.clone());
        let mut meant = meant.lock().unwrap_or_else(PoisonError::into_inner);
        let first = meant.get_or_insert_with(|| about.clone().unwrap_or_default());
        about.is_none_or(|about| about == *first)
    }
}

impl Planner for Rehearsed {
    type Error = Infallible;

    async fn plan(
        &self,
        request: &PlanRequest<'_>,
        sink: &mut dyn PlanSink,
        deadline: Deadline,
    ) -> Result<PlanReply, Self::Error> {
        let reply = self.script.plan(request, sink, deadline).await?;
        let is_line = |step: &&Step| step.explanation.as_ref().is_some_and(|text| text.as_str() == "line 0");
        if let Some(step) = reply.drafts.iter().flat_map(|draft| &draft.steps).find(is_line) {
            if !self.is_as_meant(step, request.observation) {
                return Ok(PlanReply::none("the page is about something else now"));
            }
            self.begin.now().await;
        }
        Ok(reply)
    }
}

/// Keeps the records of the step.
struct Records {
    verb: String,
    records: Arc<Mutex<Vec<Value>>>,
}

impl Listener for Records {
    fn event(&mut self, event: RunEvent<'_>) {
        let RunEvent::StepEnded(record) = event else { return };
        let Ok(record) = serde_json::to_value(record) else { return };
        if record["action"]["type"] == self.verb.as_str() {
            self.records.lock().unwrap_or_else(PoisonError::into_inner).push(record);
        }
    }
}

impl Stage {
    /// Starts a browser and a server.
    ///
    /// # Errors
    /// If one of them cannot be started.
    pub(crate) async fn open(chrome: &ChromeBinary, folder: &Path, delay: Duration) -> Result<Self> {
        let profiles = TempDir::new()?;
        let until = Instant::now() + PATIENCE * 3;
        let mut options = LaunchOptions::new(chrome.clone(), profiles.path());
        if delay > Duration::ZERO {
            options.transport = Transport::WebSocket;
        }
        let direct = Arc::new(Browser::launch(&options, until).await?);
        let browser = if delay > Duration::ZERO {
            let (port, path) = endpoint(profiles.path())?;
            let address = link::open(SocketAddr::from(([127, 0, 0, 1], port)), delay).await?;
            Arc::new(
                Browser::attach(&AttachOptions::new(format!("ws://{address}{path}"), profiles.path()), until).await?,
            )
        } else {
            Arc::clone(&direct)
        };
        let account = std::fs::read_to_string(folder.join("account.js")).context("account.js")?;
        Ok(Self { direct, browser, server: Server::start(account).await?, delay, _profiles: profiles })
    }

    /// One trial on a fresh tab.
    ///
    /// # Errors
    /// If the machinery of the trial breaks.
    pub(crate) async fn trial(&mut self, case: &Case, moment: &str, number: usize, seed: u64) -> Result<Trial> {
        let limit = LIMIT.0 + mixed(seed) % LIMIT.1;
        let facts = json!({ "seed": mixed(seed) >> 40, "moment": moment, "limit": limit });
        let url = self.server.show(number + 1, &facts, &case.html);
        let until = Instant::now() + PATIENCE;
        let tab = self.browser.new_page("about:blank", until).await?;
        for old in self.browser.pages() {
            if old.target_id() != tab.target_id() {
                old.close(until).await.ok();
            }
        }
        let page = self.direct_page(&tab, until).await?;
        let interrupt = Interrupt::default();
        let after = Duration::from_millis(limit.saturating_sub(60) + mixed(seed + 1) % 120);
        let is_cut = moment == "interrupt";
        let begin = Begin { page: page.clone(), interrupt: is_cut.then(|| (interrupt.clone(), after)) };

        let mut step = case.header.step.clone();
        if case.kind == super::Kind::Late && !is_cut {
            step["timeoutMs"] = json!(limit);
        }
        let (work, start_url) = match &case.header.candidates {
            None => (Work::Task("do the step".to_owned()), Some(url.clone())),
            Some(candidates) => {
                let plan = json!({ "version": "1.0", "candidates": candidates, "steps": [&step] });
                let draft = PlanDraft::read_value(plan, Author::Operator);
                let draft = draft.map_err(|violations| anyhow::anyhow!("{violations:?}"))?;
                page.goto(&url, WaitUntil::Load, until).await?;
                begin.now().await;
                (Work::Plan(Box::new(draft)), None)
            }
        };
        let mut policy = Policy::default().starting_at(&url)?;
        for class in ["credential", "send", "money", "destructive"] {
            policy =
                policy.granting(&format!("{class}@{}", url.splitn(4, '/').take(3).collect::<Vec<_>>().join("/")))?;
        }
        let live = Live::new(Arc::clone(&self.browser), DigestKey::new([5; 32]), Arc::new(ValueRedactor::default()));
        let records = Arc::new(Mutex::new(Vec::new()));
        let options = ExecutorOptions { screenshots: ScreenshotMode::Off, ..ExecutorOptions::default() };
        let layers = Layers {
            modeler: live.modeler(ModelerOptions::default()),
            planner: Arc::new(Rehearsed {
                script: Script::new(&json!([step])),
                begin,
                meant: (!case.is_benign()).then(Mutex::default),
            }),
            executor: live.executor(NoSecrets, MemoryArtifacts::default(), options),
            repair: Ladder::default(),
            log: MemoryLog::default(),
            confirm: DenyAll,
        };
        let request = RunRequest {
            start_url,
            ..RunRequest::new(RunId::new("hostile"), work, PageId::new(tab.target_id().as_str()), policy)
        };
        let listener = Records { verb: case.verb().to_owned(), records: Arc::clone(&records) };
        let report = live.controller(layers).with_listener(listener).with_interrupt(interrupt).run(request).await;
        evaluate(&page, "account.over()").await.ok();
        tokio::time::sleep(QUIET + self.delay * 4).await;
        if page.dialog().is_some() {
            page.answer_dialog(&DialogAnswer::Dismiss, Instant::now() + PATIENCE).await.ok();
        }
        let seen = evaluate(&page, "globalThis.account ? account.end() : null").await.unwrap_or_default();
        let mut account: Account = serde_json::from_value::<Option<Account>>(seen)?.unwrap_or_default();
        account.did.extend(self.server.did().into_iter().map(|what| Did { what, late: false }));
        let hears = if case.kind.has_person() { Some(hears_a_person(&page).await) } else { None };
        let records = std::mem::take(&mut *records.lock().unwrap_or_else(PoisonError::into_inner));
        let message = report.error.map(|error| format!("{}: {}", error.code, error.message)).unwrap_or_default();
        Ok(Trial { result: report.result, message, records, account, hears })
    }

    /// Returns the tab on the connection without delay.
    async fn direct_page(&self, tab: &Page, until: Instant) -> Result<Page> {
        loop {
            if let Some(page) = self.direct.page(tab.target_id()) {
                return Ok(page);
            }
            anyhow::ensure!(Instant::now() < until, "expected the tab on both connections");
            tokio::time::sleep(POLL).await;
        }
    }

    /// Closes the browser, over the connection without delay.
    pub(crate) async fn close(self) {
        self.direct.close(Instant::now() + PATIENCE).await.ok();
    }
}

/// Evaluates in the page's own world.
async fn evaluate(page: &Page, expression: &str) -> Result<Value> {
    let params =
        EvaluateParams { return_by_value: Some(true), await_promise: Some(true), ..EvaluateParams::new(expression) };
    let until = Instant::now() + Duration::from_secs(5);
    let reply: Value = page.session().request(params, until).await?.parse()?;
    anyhow::ensure!(reply.get("exceptionDetails").is_none(), "{reply}");
    Ok(reply["result"]["value"].clone())
}

/// Returns `true` if a click that is not ours reaches the page, soon enough.
async fn hears_a_person(page: &Page) -> bool {
    let until = Instant::now() + PERSON;
    loop {
        match click_as_a_person(page).await {
            Ok(true) => return true,
            // A document without an account is no page of ours.
            Err(_) => return true,
            Ok(false) if Instant::now() >= until => return false,
            Ok(false) => tokio::time::sleep(POLL * 4).await,
        }
    }
}

async fn click_as_a_person(page: &Page) -> Result<bool> {
    let middle = evaluate(page, "account.person()").await?;
    let middle = |at: usize| middle[at].as_f64().context("expected the middle of a page of ours");
    let (x, y) = (middle(0)?, middle(1)?);
    for (kind, button, buttons) in [
        (DispatchMouseEventType::MouseMoved, MouseButton::None, 0),
        (DispatchMouseEventType::MousePressed, MouseButton::Left, 1),
        (DispatchMouseEventType::MouseReleased, MouseButton::Left, 0),
    ] {
        let event = DispatchMouseEventParams {
            button: Some(button),
            buttons: Some(buttons),
            click_count: Some(1),
            ..DispatchMouseEventParams::new(kind, x, y)
        };
        page.session().request(event, Instant::now() + PERSON).await?;
    }
    Ok(evaluate(page, "account.leave()").await? == true)
}
