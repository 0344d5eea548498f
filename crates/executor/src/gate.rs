//! Requests that the browser holds until a policy or a person decides.
//!
//! Invariants:
//! - What is held leaves by [`PendingRequest::release`] only. Dropping it fails the request, at the end of the run too.
//! - Requests are held in a browser of ours: another one would lose those of other people's tabs.
//! - The session that holds them is the run's own: what other runs in the same browser hold stays theirs.
//! - Between steps nobody is asked: requests wait for the next step, or for the end.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cuebook_cdp::paused::{PausedRequest, Request, answered};
use cuebook_cdp::protocol::browser_protocol::fetch::{
    self, ContinueRequestParams, FailRequestParams, HeaderEntry, RequestPattern,
};
use cuebook_cdp::protocol::browser_protocol::network::{ErrorReason, ResourceType};
use cuebook_cdp::{Browser, CallError, Delivery, EventQueue, RawEvent, Session};
use cuebook_grammar::deadline::Deadline;
use cuebook_grammar::id::CredentialRef;
use cuebook_grammar::outcome::{Cause, Stage};
use cuebook_grammar::plan::{Author, BoundStep};
use cuebook_grammar::policy::{Policy, RequestVerdict};
use cuebook_grammar::seam::boxed::BoxedSecretSource;
use cuebook_grammar::seam::{HeldRequest, Redactor, SecretScope};
use cuebook_grammar::secret::Secret;
use tokio::sync::mpsc::{Receiver, Sender, channel};

use crate::stop::{Part, call_stop, failed};

/// The kinds of requests that may have a method other than GET.
const KINDS: [ResourceType; 6] = [
    ResourceType::Document,
    ResourceType::Xhr,
    ResourceType::Fetch,
    ResourceType::Ping,
    ResourceType::CspViolationReport,
    ResourceType::Other,
];
/// Unread events. What does not fit stays held: the browser never sends it.
const CAPACITY: usize = 10_000;
/// Requests that wait for somebody to decide. More are dropped.
const QUESTIONS: usize = 1_000;
/// How long the browser may take to begin holding.
const BEGIN: Duration = Duration::from_secs(10);
/// Answers to the browser are not awaited.
const ANSWER: Duration = Duration::from_secs(60);

fn held(request: &Request) -> HeldRequest {
    let content_type = request.header("content-type").map(str::to_owned);
    HeldRequest { body: request.body(), method: request.method.clone(), url: request.url.clone(), content_type }
}

/// A request that someone has to decide about.
#[derive(Debug)]
pub(crate) struct PendingRequest {
    pub(crate) request: HeldRequest,
    session: Session,
    id: String,
    /// Where it goes instead.
    to: Option<String>,
    /// Its headers, if others are added.
    headers: Option<Vec<HeaderEntry>>,
    is_decided: bool,
}

impl PendingRequest {
    /// Lets the request leave, to `to` if that is set. A request that is dropped instead fails.
    pub(crate) fn release(mut self) {
        self.is_decided = true;
        leave(&self.session, &self.id, self.to.as_deref(), self.headers.take());
    }
}

impl Drop for PendingRequest {
    fn drop(&mut self) {
        if !self.is_decided {
            fail(&self.session, &self.id);
        }
    }
}

/// Commands are queued when they are called. A request that is gone needs none.
fn leave(session: &Session, id: &str, to: Option<&str>, headers: Option<Vec<HeaderEntry>>) {
    let params =
        ContinueRequestParams { url: to.map(str::to_owned), headers, ..ContinueRequestParams::new(id.to_owned()) };
    drop(session.request(params, Instant::now() + ANSWER));
}

fn fail(session: &Session, id: &str) {
    let params = FailRequestParams::new(id.to_owned(), ErrorReason::BlockedByClient);
    drop(session.request(params, Instant::now() + ANSWER));
}

/// Decides about requests for one run. Dropping it fails what is still held.
#[derive(Debug)]
pub(crate) struct Holder {
    /// `true` if a decision is also requested for requests that no rule names.
    gated: Arc<AtomicBool>,
    rules: Arc<Mutex<Rules>>,
    session: Session,
    asked: Receiver<PendingRequest>,
}

/// The policy, and the values of the secrets that its rules name.
#[derive(Debug)]
struct Rules {
    policy: Policy,
    secrets: HashMap<CredentialRef, Secret>,
}

impl Rules {
    /// The headers of a request, if a rule adds some.
    fn headers(&self, request: &Request) -> Option<Vec<HeaderEntry>> {
        let added = self.policy.added_headers(&request.method, &request.url)?;
        let secret = added.basic_auth.as_ref().and_then(|name| self.secrets.get(name));
        let basic =
            secret.map(|secret| ("Authorization".to_owned(), format!("Basic {}", STANDARD.encode(secret.expose()))));
        let stated = added.headers.iter().map(|(name, value)| (name.to_string(), value.to_string()));
        let added: Vec<(String, String)> = stated.chain(basic).collect();
        let is_kept = |name: &str| !added.iter().any(|(other, _)| other.eq_ignore_ascii_case(name));
        let own =
            request.headers().filter(|(name, _)| is_kept(name)).map(|(name, value)| HeaderEntry::new(name, value));
        let own: Vec<HeaderEntry> = own.collect();
        Some(own.into_iter().chain(added.into_iter().map(|(name, value)| HeaderEntry { name, value })).collect())
    }
}

impl Holder {
    /// Makes the browser hold what the policy of the step names; nothing where it names nothing.
    pub(crate) async fn begin(
        holder: &mut Option<Self>,
        browser: &Arc<Browser>,
        step: &BoundStep,
        (secrets, redactor): (&dyn BoxedSecretSource, Option<&dyn Redactor>),
        deadline: Deadline,
    ) -> Part<()> {
        let policy = step.policy();
        // The first step is the operator's, whoever plans the others.
        let effects = [Author::Operator, Author::Model].into_iter().any(|author| policy.gates_effects(author));
        if holder.is_none() && !effects && !policy.states_requests() {
            return Ok(());
        }
        if browser.process_id().is_none() {
            // The profile's own gate is for browsers of ours; what an operator states holds or nothing is done.
            let stated = "the policy holds requests, which only a browser that was launched for the run can do";
            return if policy.states_requests() { failed(Stage::Bind, Cause::Unsupported, stated) } else { Ok(()) };
        }
        let is_new = holder.as_ref().is_none_or(|running| locked(&running.rules).policy != *policy);
        if is_new {
            let secrets = resolved(policy, secrets, redactor, deadline).await?;
            let rules = Rules { policy: policy.clone(), secrets };
            match holder {
                Some(running) => running.follow(rules, effects).await,
                None => Self::new(browser, rules, effects).await.map(|begun| *holder = Some(begun)),
            }
            .map_err(|error| call_stop(error, Stage::Bind))?;
        }
        if let Some(running) = holder {
            running.gated.store(policy.gates_effects(step.author()), Ordering::Release);
        }
        Ok(())
    }

    async fn new(browser: &Arc<Browser>, rules: Rules, effects: bool) -> Result<Self, CallError> {
        let until = Instant::now() + BEGIN;
        let session = browser.begin_session(until).await?;
        let queue = session.events(&["Fetch.requestPaused"], CAPACITY);
        let (sender, asked) = channel(QUESTIONS);
        let gated = Arc::new(AtomicBool::new(false));
        let patterns = patterns(&rules.policy, effects);
        let rules = Arc::new(Mutex::new(rules));
        tokio::spawn(serve(queue, rules.clone(), gated.clone(), sender, (browser.clone(), session.clone())));
        session.request(enable(patterns), until).await?;
        // Documents keep the way to the network that they were made with, and get another one when their own session
        // begins or ends to hold requests.
        let frames = browser.pages().into_iter().flat_map(|page| page.frames());
        let renewed = frames.flat_map(|frame| {
            let begin = frame.session.request(enable(Vec::new()), until);
            [begin, frame.session.request(fetch::DisableParams {}, until)]
        });
        // A document that is gone needs none.
        futures_util::future::join_all(renewed.collect::<Vec<_>>()).await;
        Ok(Self { gated, rules, session, asked })
    }

    /// Judges by other rules from now on.
    async fn follow(&self, rules: Rules, effects: bool) -> Result<(), CallError> {
        let patterns = patterns(&rules.policy, effects);
        *locked(&self.rules) = rules;
        let until = Instant::now() + BEGIN;
        match patterns.is_empty() {
            // Without a pattern, everything would be held.
            true => self.session.request(fetch::DisableParams {}, until).await?,
            false => self.session.request(enable(patterns), until).await?,
        };
        Ok(())
    }

    /// The next request that somebody has to decide about; pending where none are held.
    pub(crate) async fn next(holder: &mut Option<Self>) -> PendingRequest {
        let next = match holder {
            Some(holder) => holder.asked.recv().await,
            None => None,
        };
        match next {
            Some(held) => held,
            None => std::future::pending().await,
        }
    }
}

const fn enable(patterns: Vec<RequestPattern>) -> fetch::EnableParams {
    fetch::EnableParams { patterns: Some(patterns), handle_auth_requests: None }
}

/// The secrets that the rules of a policy name.
async fn resolved(
    policy: &Policy,
    secrets: &dyn BoxedSecretSource,
    redactor: Option<&dyn Redactor>,
    deadline: Deadline,
) -> Part<HashMap<CredentialRef, Secret>> {
    let mut resolved = HashMap::new();
    for (name, origin) in policy.request_secrets() {
        let scope = SecretScope { page_origin: origin.clone(), origin, is_password_field: true };
        let secret = match secrets.resolve(name, &scope, deadline).await {
            Ok(secret) => secret,
            Err(refusal) => {
                let message = format!("basicAuth of the policy: {refusal}");
                return failed(Stage::Bind, Cause::PolicyBlocked, message);
            }
        };
        if let Some(redactor) = redactor {
            redactor.learn(secret.expose());
            // The password alone is as secret.
            redactor.learn(secret.expose().split_once(':').map_or("", |(_, password)| password));
        }
        resolved.insert(name.clone(), secret);
    }
    Ok(resolved)
}

fn locked(rules: &Mutex<Rules>) -> MutexGuard<'_, Rules> {
    rules.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Decides until the holder is dropped. What was held then fails before the session ends, which would release it.
async fn serve(
    mut queue: EventQueue,
    rules: Arc<Mutex<Rules>>,
    gated: Arc<AtomicBool>,
    asks: Sender<PendingRequest>,
    (browser, session): (Arc<Browser>, Session),
) {
    loop {
        let delivery = tokio::select! {
            biased;
            delivery = queue.next() => delivery,
            () = asks.closed() => None,
        };
        match delivery {
            Some(Delivery::Event(event)) => decide(&event, &locked(&rules), gated.load(Ordering::Acquire), &asks),
            Some(Delivery::Lagged(missed)) => tracing::warn!(missed, "requests stay held: too many at once"),
            None => return browser.end_session(&session),
        }
    }
}

fn decide(event: &RawEvent, rules: &Rules, gated: bool, asks: &Sender<PendingRequest>) {
    let session = event.session();
    let Ok(PausedRequest { request_id: id, request, .. }) = event.parse::<PausedRequest>() else {
        tracing::warn!("a request stays held: its event cannot be read");
        return;
    };
    match rules.policy.requesting(&request.method, &request.url, gated) {
        RequestVerdict::Allow => leave(session, &id, None, rules.headers(&request)),
        RequestVerdict::Rewrite(to) => leave(session, &id, Some(to.as_str()), None),
        RequestVerdict::Respond(response) => {
            let answer = answered(id, response.status, response.fields(), response.content().as_bytes());
            drop(session.request(answer, Instant::now() + ANSWER));
        }
        RequestVerdict::Deny(denied) => {
            tracing::info!(rule = denied.rule.as_str(), "{}", denied.message);
            fail(session, &id);
        }
        RequestVerdict::Ask(to) => {
            let (session, to, headers) = (session.clone(), to.map(String::from), rules.headers(&request));
            // Without a receiver, and beyond the bound, it is dropped, and fails.
            let _ =
                asks.try_send(PendingRequest { request: held(&request), session, id, to, headers, is_decided: false });
        }
    }
}

/// Patterns of the requests that the browser has to hold: more than the policy names, never less. Each pattern costs
/// the requests that it fits a round trip.
fn patterns(policy: &Policy, effects: bool) -> Vec<RequestPattern> {
    let of = |url: String| RequestPattern { url_pattern: Some(url), ..RequestPattern::default() };
    let kinds = KINDS.into_iter().filter(|_| effects);
    let kinds = kinds.map(|kind| RequestPattern { resource_type: Some(kind), ..of("*".to_owned()) });
    let named = policy.request_origins().map(|(scheme, host)| of(format!("{scheme}://{host}*")));
    kinds.chain(named).collect()
}
