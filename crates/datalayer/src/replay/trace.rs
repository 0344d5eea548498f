//! Traces of the steps of a recording: the requests that each caused, its pictures, where it led.

use std::collections::{HashMap, VecDeque};

use cuebook_grammar::action::Action;
use cuebook_grammar::facts::RequestFact;
use cuebook_grammar::outcome::ArtifactRef;
use cuebook_grammar::record::{StepOrigin, StepRecord, StepResult};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::artifact::ArtifactStore;
use crate::artifact_name::is_text;
use crate::error::DataError;
use crate::in_words;
use crate::run_dir::RunDir;
use crate::traffic::{Exchange, Exchanges, Setting};

/// Texts of bodies up to this many bytes are in a recording; of others it has the digest.
const BODY: u64 = 64 << 10;

/// How a step was carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Method {
    /// On an element, a key of the page, or the browser.
    Dom,
    /// At a point that somebody saw on a picture.
    Coordinates,
}

impl Method {
    /// The way in which an action is carried out.
    #[must_use]
    pub const fn of(action: &Action) -> Self {
        match action {
            Action::ClickPoint(_) | Action::LongPressPoint(_) | Action::DragPoints(_) => Self::Coordinates,
            Action::Scroll(scroll) if scroll.point.is_some() => Self::Coordinates,
            _ => Self::Dom,
        }
    }
}

/// Outcome of one step, and all that it caused.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StepTrace {
    /// 1-based step of the plan; 0 for the opening of the start URL.
    pub step: u32,
    /// The `stepIndex` of its record.
    pub step_index: u32,
    /// The step in words.
    pub action: String,
    /// How it was carried out.
    pub method: Method,
    /// Its result, and the cause if it failed.
    pub outcome: String,
    /// URL of the page after it.
    pub url: String,
    /// Requests that it caused, the first 50.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requests: Vec<TracedRequest>,
    /// Console errors and uncaught exceptions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub console_errors: Vec<String>,
    /// Screenshots before and after it, and of its target.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pictures: Vec<ArtifactRef>,
}

/// A request that a step caused. All but `request` is there only if the traffic of the run was recorded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TracedRequest {
    /// Method, URL, status and duration.
    #[serde(flatten)]
    pub request: RequestFact,
    /// When its response began: milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ts_ms: Option<u64>,
    /// Names and values of its header fields, without those of credentials.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub request_headers: Vec<(String, String)>,
    /// The body that was sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_body: Option<TracedBody>,
    /// Names and values of the header fields of its response.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<(String, String)>,
    /// The body that came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<TracedBody>,
}

/// A body, without the secrets and tokens of the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TracedBody {
    /// Media type, without parameters.
    pub media_type: String,
    /// Size in bytes.
    pub bytes: u64,
    /// SHA-256 in lower-case hexadecimal digits.
    pub sha256: String,
    /// The text, of at most 64 KiB; absent for others and for what is no text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

impl StepTrace {
    /// Returns the trace of the step at `step` of a plan. `None` for what a person did: of it, only the step is known.
    pub(super) fn of(step: u32, record: &StepRecord) -> Option<Self> {
        if record.origin == StepOrigin::Person {
            return None;
        }
        let effects = record.effects.as_ref();
        let request = |request: &RequestFact| TracedRequest {
            request: request.clone(),
            ts_ms: None,
            request_headers: Vec::new(),
            request_body: None,
            headers: Vec::new(),
            body: None,
        };
        Some(Self {
            step,
            step_index: record.step_index,
            action: in_words::step(record),
            method: Method::of(&record.action.action),
            outcome: outcome(record),
            url: effects.and_then(|effects| effects.url_after.as_deref()).unwrap_or(&record.url).to_owned(),
            requests: effects.into_iter().flat_map(|effects| &effects.requests).map(request).collect(),
            console_errors: effects.map(|effects| effects.console_errors.clone()).unwrap_or_default(),
            pictures: record.artifacts.iter().filter(|it| it.media_type == "image/png").cloned().collect(),
        })
    }
}

fn outcome(record: &StepRecord) -> String {
    let result = match record.result {
        StepResult::Ok => "ok",
        StepResult::Failed => "failed",
        StepResult::Blocked => "blocked",
        StepResult::Skipped => "skipped",
    };
    record.failure.as_ref().map_or_else(|| result.to_owned(), |failure| format!("{result}: {}", failure.cause.as_str()))
}

/// Adds header fields, times and bodies to the requests of steps, in order, from the traffic of their run in `dir`, and
/// returns its setting; `None` if it was not recorded. Equal requests are taken in their order. Blocks.
pub(super) fn add_traffic(traces: &mut [StepTrace], dir: &RunDir) -> Result<Option<Setting>, DataError> {
    let Some((setting, exchanges)) = Exchanges::open(dir)? else { return Ok(None) };
    let store = ArtifactStore::new(dir, None);
    let mut left: HashMap<(String, String), VecDeque<Exchange>> = HashMap::new();
    for exchange in exchanges {
        let exchange = exchange?;
        left.entry((exchange.method.clone(), exchange.url.clone())).or_default().push_back(exchange);
    }
    for traced in traces.iter_mut().flat_map(|trace| &mut trace.requests) {
        let key = (traced.request.method.clone(), traced.request.url.clone());
        let Some(exchange) = left.get_mut(&key).and_then(VecDeque::pop_front) else { continue };
        let body = |body: Option<ArtifactRef>| body.map(|body| traced_body(&store, body));
        traced.ts_ms = Some(exchange.ts_ms);
        traced.request_headers = exchange.request_headers;
        traced.headers = exchange.headers;
        traced.request_body = body(exchange.request_body);
        traced.body = body(exchange.body);
    }
    Ok(Some(setting))
}

fn traced_body(store: &ArtifactStore, body: ArtifactRef) -> TracedBody {
    let is_short = is_text(&body.media_type) && body.bytes <= BODY;
    let text = is_short.then(|| store.read(&body).ok()).flatten().and_then(|bytes| String::from_utf8(bytes).ok());
    TracedBody { media_type: body.media_type, bytes: body.bytes, sha256: body.sha256, text }
}
