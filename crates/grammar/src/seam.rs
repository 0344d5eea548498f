//! The seams: what a layer must promise to be swapped for another.
//!
//! Invariants:
//! - No type of the wire, of a store or of a model's client appears here.
//! - An associated error means that the machinery broke. What a page, a model or a person does is data.
//! - Each future that waits has a [`Deadline`] and ends by it.

pub mod boxed;

use std::borrow::Cow;
use std::error::Error;
use std::fmt;
use std::future::Future;
use std::ops::Range;
use std::pin::Pin;
use std::time::Duration;

use serde_json::Value;

use crate::action::{FindElements, ResolveSelector, SearchPage};
use crate::deadline::Deadline;
use crate::filling::{FillReply, FillRequest};
use crate::id::{CandidateId, CredentialRef, PageId, RunId};
use crate::observation::{Observation, Scope};
use crate::outcome::{
    ArtifactRef, Cause, DeniedRequest, EffectRecord, Judged, Late, Stage, StepFailure, StepOutcome, remark,
};
use crate::plan::{BoundStep, PlanDraft};
use crate::planning::PlanningCall;
use crate::policy::{Policy, RegisteredAction};
use crate::record::{CaseRun, EventRecord, PlanningRecord, RecordedTarget, RunEnd, RunHeader, StepIntent, StepRecord};
use crate::report::Usage;
use crate::secret::Secret;
use crate::step::Step;
use crate::vision::VisionFeature;
use crate::wire::words;

/// A future on the heap.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Bounds of every seam's error.
pub trait SeamError: Error + Send + Sync + 'static {}
impl<E: Error + Send + Sync + 'static> SeamError for E {}

// ------------------------------------------------------------------------------------------ looking

/// Turns a live page, or a recorded one, into observations.
pub trait PageModeler: Send {
    /// A failure of the layer itself.
    type Error: SeamError;

    /// Observes the page. A candidate whose identity is unchanged keeps its id; ids are never reused. A page of which
    /// some part cannot be reached is observed without it, and `truncated` or `frames` says so.
    fn observe(
        &mut self,
        page: &PageId,
        scope: Scope,
        deadline: Deadline,
    ) -> impl Future<Output = Result<Observation, Self::Error>> + Send;

    /// Does of an observation what can be done before it is asked for: waits for a document to settle, and looks at it. What
    /// changes until then is looked at again. Changes nothing that an observation states; a failure is left to that.
    fn prepare(
        &mut self,
        _page: &PageId,
        _scope: Scope,
        _deadline: Deadline,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send {
        async { Ok(()) }
    }

    /// Returns `true` if the page is still as `seen` states it, so that it can be acted on without another observation. May
    /// overlook what changes neither the document nor what is in view; a layer that cannot tell returns `false`.
    fn is_unchanged(
        &mut self,
        _seen: &Observation,
        _deadline: Deadline,
    ) -> impl Future<Output = Result<bool, Self::Error>> + Send {
        async { Ok(false) }
    }

    /// After an error: why there is nothing left to look at, if the page or the browser is gone. `None` if the layer
    /// itself failed.
    fn lost(&self) -> Option<Cause> {
        None
    }

    /// Answers a query without a model. If the page or the query makes that impossible, returns
    /// [`Finding::Refused`].
    fn explore(
        &mut self,
        page: &PageId,
        query: &Query,
        deadline: Deadline,
    ) -> impl Future<Output = Result<Finding, Self::Error>> + Send;

    /// Adds the page's text to an observation, for planners that read: `texts` and how many lines were left out. It is
    /// the text of now, with the candidates of the observation. A page that cannot be read has none; planning continues.
    fn read(
        &mut self,
        _observation: &mut Observation,
        _deadline: Deadline,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send {
        async { Ok(()) }
    }

    /// A picture of the tab for planners that accept images: candidates in view are outlined and labelled with their
    /// ids, and the content of password-like fields is painted over. `None` if there is no picture; planning continues
    /// without one.
    fn picture(
        &mut self,
        _page: &PageId,
        _observation: &Observation,
        _deadline: Deadline,
    ) -> impl Future<Output = Result<Option<Image>, Self::Error>> + Send {
        async { Ok(None) }
    }
}

/// A query about the page.
#[derive(Clone, Debug, PartialEq)]
pub enum Query {
    /// Where a text occurs.
    Search(SearchPage),
    /// Which elements match a selector.
    Find(FindElements),
    /// Which candidate a raw selector names.
    Resolve(ResolveSelector),
    /// The page as text.
    Snapshot(Scope),
}

/// The answer to a [`Query`].
#[derive(Clone, Debug, PartialEq)]
pub enum Finding {
    /// An answer as JSON.
    Data(Value),
    /// The candidate that a raw selector names.
    Candidate(CandidateId),
    /// No answer, and why.
    Refused(String),
    /// No answer until the dialog is answered that holds the page.
    DialogOpen,
}

// ----------------------------------------------------------------------------------------- planning

/// The input of a planner.
#[derive(Clone, Debug)]
pub struct PlanRequest<'a> {
    /// The task in words.
    pub task: &'a str,
    /// Observation of the current page.
    pub observation: &'a Observation,
    /// Policy that limits the plan.
    pub policy: &'a Policy,
    /// Steps that ran so far, oldest first.
    pub history: &'a [HistoryEntry],
    /// The failure that this plan is to repair, if it is one.
    pub failure: Option<&'a StepFailure>,
    /// Plans that worked on pages like this.
    pub exemplars: &'a [Exemplar],
    /// Pictures, where the profile allows them.
    pub images: &'a [Image],
    /// Features of the page's picture that a model which only looks found: data, as the page's text is.
    pub features: &'a [VisionFeature],
    /// Upper bound of the number of drafts.
    pub beam: usize,
    /// 0-based number of this request within the run, which [`HistoryEntry::planned`] refers to.
    pub plan: u32,
    /// [`PlanReply::state`] of the planner's last reply.
    pub state: Option<&'a Value>,
    /// [`PlanReply::memory`] of the last reply that had one: redacted, at most [`MEMORY`] characters.
    pub memory: Option<&'a str>,
    /// Extent to which the last plans repeat each other without changing the page.
    pub stuck: Stuck,
    /// The conditions of the failed step that did not hold, judged again on `observation`.
    pub failed_now: &'a [Judged],
    /// The time, in milliseconds since 1970; `None` if it does not matter.
    pub now_ms: Option<u64>,
    /// Remaining budgets of the run; `None` if it has none.
    pub left: Option<RemainingBudget>,
    /// The test case that the task belongs to, by which the result will be judged.
    pub case: Option<&'a CaseRun>,
}

/// The most characters of [`PlanRequest::memory`].
pub const MEMORY: usize = 300;

/// Remaining budgets of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RemainingBudget {
    /// Plans left, including the one that is asked for.
    pub plans: u32,
    /// Time left for the run.
    pub time: Duration,
}

impl<'a> PlanRequest<'a> {
    /// The first request of a run: no history, no failure, one draft.
    ///
    /// ```
    /// use cuebook_grammar::{observation::Observation, id::PageId, policy::Policy, seam::PlanRequest};
    /// let page = Observation::blank(PageId::new("tab"), "https://shop.test/");
    /// let policy = Policy::default();
    /// let request = PlanRequest { beam: 2, ..PlanRequest::new("Buy a pencil", &page, &policy) };
    /// assert!(request.history.is_empty());
    /// ```
    #[must_use]
    pub fn new(task: &'a str, observation: &'a Observation, policy: &'a Policy) -> Self {
        Self {
            task,
            observation,
            policy,
            history: &[],
            failure: None,
            exemplars: &[],
            images: &[],
            features: &[],
            beam: 1,
            plan: 0,
            state: None,
            memory: None,
            stuck: Stuck::No,
            failed_now: &[],
            now_ms: None,
            left: None,
            case: None,
        }
    }
}

/// How often a run has repeated itself: the same action on a page in the same state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stuck {
    /// Not at all, or too seldom for a hint.
    #[default]
    No,
    /// Often enough to mention it to the planner.
    Hint,
    /// The run ends soon unless the planner does something else.
    Warning,
    /// Often enough to end the run.
    Stop,
}

/// A step of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlannedStep {
    /// [`PlanRequest::plan`] of the request.
    pub plan: u32,
    /// 0-based position in the draft.
    pub step: u32,
}

/// One step of the past.
#[derive(Clone, Debug, PartialEq)]
pub struct HistoryEntry {
    /// The step that ran, redacted.
    pub step: Step,
    /// Target of the step, in words.
    pub target: Option<String>,
    /// The cause and message of its failure; absent if it succeeded.
    pub failure: Option<String>,
    /// Effects of the step, and a remark on its result: `+dialog "Delete?", POST /cart answered 201`, or `no effect seen, but
    /// POST /save answered 500`.
    pub remark: Option<String>,
    /// Data that the step read.
    pub data: Option<Value>,
    /// `true` if the page was another one afterwards.
    pub changed_page: bool,
    /// `true` if the action ran, and nothing that it did could be seen.
    pub no_effect: bool,
    /// The response by which a server refused the step's request: `POST /login answered 422`.
    pub refused: Option<String>,
    /// The planned step that it is; `None` if a repair or the start of the run added it.
    pub planned: Option<PlannedStep>,
}

impl HistoryEntry {
    /// A step that succeeded, read nothing and left the page as it was.
    #[must_use]
    pub fn of(step: Step) -> Self {
        Self {
            step,
            target: None,
            failure: None,
            remark: None,
            data: None,
            changed_page: false,
            no_effect: false,
            refused: None,
            planned: None,
        }
    }

    /// The entry of a step that ran, from its record.
    #[must_use]
    pub fn of_record(record: &StepRecord, planned: Option<PlannedStep>) -> Self {
        let effects = record.effects.as_ref();
        let target = record.action.action.target().and_then(|name| record.candidates.get(name));
        let title = target.map(|target| match target {
            RecordedTarget::Observed(candidate) => candidate.title(),
            // Of an operator's plan only.
            RecordedTarget::Declared(locator) => locator.to_string(),
        });
        let failure = record.failure.as_ref();
        Self {
            target: title,
            failure: failure.map(|failure| format!("{}: {}", failure.cause.as_str(), failure.message)),
            remark: {
                let seen = effects.and_then(EffectRecord::in_words);
                let kind = record.action.action.kind();
                let remark = remark(kind, record.no_observed_effect, &record.post_check, effects);
                let parts: Vec<String> = seen.into_iter().chain(remark.filter(|_| failure.is_none())).collect();
                (!parts.is_empty()).then(|| parts.join(", "))
            },
            data: record.data.clone(),
            changed_page: effects.is_some_and(EffectRecord::changes_page),
            no_effect: record.no_observed_effect,
            refused: effects.and_then(EffectRecord::refused),
            planned,
            ..Self::of(record.action.clone())
        }
    }
}

/// A plan that worked.
#[derive(Clone, Debug, PartialEq)]
pub struct Exemplar {
    /// Task of the plan, in words.
    pub task: String,
    /// Its steps. They name candidates of the observation that the plan is offered for.
    pub steps: Vec<Step>,
    /// Similarity of its page to the current one, from 0 to 1.
    pub likeness: f64,
}

/// A picture for a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// `image/png` or another type.
    pub media_type: String,
    /// Bytes of the encoded picture.
    pub bytes: Vec<u8>,
}

/// A picture to look at.
#[derive(Clone, Copy, Debug)]
pub struct LookRequest<'a> {
    /// Picture of the viewport.
    pub image: &'a Image,
}

/// Receives steps while a plan is still being written.
pub trait PlanSink: Send {
    /// Step `index` of draft `draft` is complete. It is not checked yet.
    fn step_ready(&mut self, draft: usize, index: usize, step: &Step);

    /// A call of a model begins: the steps that follow are of it.
    fn call_begun(&mut self) {}

    /// A call of a model has ended. Called for every call, even if `plan` then returns an error or its future is
    /// dropped. The steps of a reply are in the output of the last accepted call.
    fn call_ended(&mut self, call: PlanningCall) {
        drop(call);
    }

    /// Receives the [`PlanReply::memory`] of the reply, once that is known: it is kept even if the rest of the answer
    /// is not waited for.
    fn remember(&mut self, memory: &str) {
        let _ = memory;
    }

    /// Called before a planner writes the plan of this request again: the steps that it sent are forgotten. Returns
    /// `false` if one of them runs or has run. In that case it must not write the plan again: it ends with an error,
    /// and is asked again with the steps that ran as history.
    fn restart(&mut self) -> bool {
        true
    }
}

/// A sink that ignores everything.
#[derive(Clone, Copy, Debug, Default)]
pub struct IgnoreSteps;

impl PlanSink for IgnoreSteps {
    fn step_ready(&mut self, _: usize, _: usize, _: &Step) {}
}

/// The output of a planner.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlanReply {
    /// At most `beam` drafts, best first. Empty if the planner has no plan; then `note` says why.
    pub drafts: Vec<PlanDraft>,
    /// Calls and tokens that the reply cost.
    pub usage: Usage,
    /// The planner's words, for the log.
    pub note: Option<String>,
    /// Passed back as [`PlanRequest::state`] of the next request. The controller keeps it for the run and neither reads
    /// nor records it.
    pub state: Option<Value>,
    /// Text that the planner wants to read again in its next requests; `None` keeps the former one.
    pub memory: Option<String>,
}

impl PlanReply {
    /// A reply of one draft that cost nothing.
    #[must_use]
    pub fn of(draft: PlanDraft) -> Self {
        Self { drafts: vec![draft], ..Self::default() }
    }

    /// No plan, and why.
    #[must_use]
    pub fn none(note: impl Into<String>) -> Self {
        Self { note: Some(note.into()), ..Self::default() }
    }
}

/// Turns a task and an observation into drafts.
pub trait Planner: Send + Sync {
    /// A failure of the layer itself: a server that cannot be reached, a file that cannot be read. For a task that cannot
    /// be planned, return a reply without drafts, or a draft whose step is `fail` or `askUser`.
    type Error: SeamError;

    /// Plans. Steps may be sent to `sink` as they become complete; the reply contains all of them.
    fn plan(
        &self,
        request: &PlanRequest<'_>,
        sink: &mut dyn PlanSink,
        deadline: Deadline,
    ) -> impl Future<Output = Result<PlanReply, Self::Error>> + Send;

    /// Quotes values from a page's text. A planner without a model has no answer. Calls of a model are reported to `sink`,
    /// which gets no steps.
    fn fill(
        &self,
        _request: &FillRequest<'_>,
        _sink: &mut dyn PlanSink,
        _deadline: Deadline,
    ) -> impl Future<Output = Result<FillReply, Self::Error>> + Send {
        std::future::ready(Ok(FillReply::none("the planner has no model that reads")))
    }

    /// Lists what a picture shows, in the form that [`features`](crate::vision::features) reads. A planner without a
    /// model has no answer. Calls of a model are reported to `sink`, which gets no steps.
    fn look(
        &self,
        _request: &LookRequest<'_>,
        _sink: &mut dyn PlanSink,
        _deadline: Deadline,
    ) -> impl Future<Output = Result<FillReply, Self::Error>> + Send {
        std::future::ready(Ok(FillReply::none("the planner has no model that looks")))
    }
}

/// Remembers plans that worked.
pub trait PlanMemory: Send {
    /// A failure of the layer itself.
    type Error: SeamError;

    /// At most `k` plans whose pages are most similar to this one, most similar first. Only those that name its candidates.
    fn nearest(
        &self,
        observation: &Observation,
        k: usize,
    ) -> impl Future<Output = Result<Vec<Exemplar>, Self::Error>> + Send;
}

// ------------------------------------------------------------------------------------------- acting

/// Requests that a proxy below the pages denied, for an executor to join to steps. Synchronous: nothing is awaited.
pub trait Denials: fmt::Debug + Send + Sync {
    /// The position after the last decision.
    fn position(&self) -> u64;
    /// Returns the requests that were denied at `position` and later, oldest first. Their `url` is absent.
    fn since(&self, position: u64) -> Vec<DeniedRequest>;
    /// The servers that could not be reached at `position` and later, oldest first: to the tab, a proxy hides why.
    fn unreached(&self, _position: u64) -> Vec<UnreachedServer> {
        Vec::new()
    }
}

/// A server that a proxy could not reach.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnreachedServer {
    /// Its host in the canonical form of URLs.
    pub host: String,
    /// Port of the server.
    pub port: u16,
    /// The error that the browser reports where it connects by itself: `net::ERR_CONNECTION_REFUSED`.
    pub error: &'static str,
}

/// Denials of a browser without a proxy: always none.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoDenials;

impl Denials for NoDenials {
    fn position(&self) -> u64 {
        0
    }

    fn since(&self, _: u64) -> Vec<DeniedRequest> {
        Vec::new()
    }
}

/// A request that is held before it leaves the browser.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeldRequest {
    /// HTTP method of the request.
    pub method: String,
    /// The URL that would be requested.
    pub url: String,
    /// The media type of the body, as the page states it.
    pub content_type: Option<String>,
    /// The body, as far as the browser shows it: files are left out.
    pub body: Option<Vec<u8>>,
}

/// Decides about requests that a step causes and that are held: see [`Policy::requesting`]. Is notified of the step's
/// progress.
pub trait EffectGate: Send {
    /// Decides whether a request may leave. Waits for a person, and a failure says why it may not.
    fn judge<'a>(
        &'a mut self,
        step: &'a BoundStep,
        request: &'a HeldRequest,
    ) -> BoxFuture<'a, Result<(), Box<StepFailure>>>;

    /// The step waits, and the page may be looked at meanwhile: the page had time to answer the input, or all conditions hold.
    /// Called once for each.
    fn settling(&mut self) {}

    /// Returns `true` if [`fill`](Self::fill) may ask a model.
    fn fills(&self) -> bool {
        false
    }

    /// Has a model quote values from the page's text. Waits for the model; without an answer, the reply says why. The
    /// caller believes only what stands in the text that it gave.
    fn fill<'a>(&'a mut self, _request: &'a FillRequest<'a>) -> BoxFuture<'a, FillReply> {
        Box::pin(std::future::ready(FillReply::none("no model is asked in this run")))
    }
}

/// Runs one bound step on a page.
pub trait Executor: Send {
    /// A failure of the layer itself; a page that crashes or a browser that exits is an outcome.
    type Error: SeamError;

    /// Resolves the target, checks preconditions, arms postconditions, acts, awaits them and gathers evidence. After the
    /// deadline, the step sends no more input. `page` is the current tab. Requests that the policy asks about are held
    /// until `gate` decides; the time that this takes does not count.
    fn run_step(
        &mut self,
        page: &PageId,
        step: &BoundStep,
        ground: &Observation,
        gate: &mut dyn EffectGate,
        deadline: Deadline,
    ) -> impl Future<Output = Result<StepOutcome, Self::Error>> + Send;

    /// Does of a step what can be done before it may run: attaches to the tab, and waits until its targets are there, visible
    /// and enabled. Sends no input and changes nothing; may be dropped at any time; a failure is left to the step.
    fn prepare(
        &mut self,
        _page: &PageId,
        _step: &BoundStep,
        _deadline: Deadline,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send {
        async { Ok(()) }
    }

    /// Before a run ends well: what its steps entered is compared once more, and their requests that change something, and
    /// their downloads, are waited for. Unless the run `goes_on`, with the next call of a session, the field that was
    /// entered last is left first, as a person does who is done.
    fn finish(
        &mut self,
        _page: &PageId,
        _goes_on: bool,
        _deadline: Deadline,
    ) -> impl Future<Output = Result<Finished, Self::Error>> + Send {
        async { Ok(Finished::default()) }
    }
}

/// How the steps of a run look once more at its end.
#[derive(Clone, Debug, Default)]
pub struct Finished {
    /// Reason against a good end; `None` if there is none.
    pub against: Option<Box<StepFailure>>,
    /// Consequences of the steps that no record has.
    pub late: Late,
}

/// Performs actions outside the page: registered actions, `fetch`, files, shell.
pub trait ActionHandler: Send {
    /// A failure of the layer itself.
    type Error: SeamError;

    /// The registered actions, for the policy and the planner.
    fn actions(&self) -> Vec<RegisteredAction>;

    /// Performs the action of the step outside the page, by the deadline.
    fn handle(
        &mut self,
        step: &BoundStep,
        deadline: Deadline,
    ) -> impl Future<Output = Result<StepOutcome, Self::Error>> + Send;
}

/// Where a secret is about to go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretScope {
    /// The origin of the document that the field is in.
    pub origin: String,
    /// The origin of the page.
    pub page_origin: String,
    /// `true` if the field hides what is typed.
    pub is_password_field: bool,
}

/// Why a secret was not resolved.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SecretRefusal {
    /// No secret of this name.
    #[error("no credential is called `{0}`")]
    Unknown(CredentialRef),
    /// It is bound to another origin.
    #[error(
        "the credential `{reference}` is not bound to {origin} (a credential of the environment is for the origin that the \
         run starts on, by --url or --tab; `origins` in a file of secrets names others)"
    )]
    OutOfScope {
        /// Name of the secret, as the step states it.
        reference: CredentialRef,
        /// Where it was about to go.
        origin: String,
    },
    /// It is bound to fields that hide what is typed, and this one does not.
    #[error("the credential `{reference}` is for password-like fields, and this field is none")]
    NotHidden {
        /// Name of the secret, as the step states it.
        reference: CredentialRef,
    },
    /// The one-time code of this time was given already.
    #[error(
        "the one-time code of `{reference}` was used already; the next one begins in {seconds} s, after the deadline of \
         the step (a longer `timeoutMs` allows to wait)"
    )]
    NotYet {
        /// Name of the secret, as the step states it.
        reference: CredentialRef,
        /// Seconds until the next code, at least 1.
        seconds: u64,
    },
    /// Its store cannot be read.
    #[error("the credential `{reference}` cannot be read: {reason}")]
    Unavailable {
        /// Name of the secret, as the step states it.
        reference: CredentialRef,
        /// Description of the error, in words that contain no part of the secret.
        reason: String,
    },
}

/// Resolves secrets, as late as possible.
pub trait SecretSource: Send + Sync {
    /// Returns the secret if it is bound to this scope. It may have to wait, for a program or for the next one-time code,
    /// and ends by the deadline.
    fn resolve(
        &self,
        reference: &CredentialRef,
        scope: &SecretScope,
        deadline: Deadline,
    ) -> impl Future<Output = Result<Secret, SecretRefusal>> + Send;

    /// Returns `true` if the text is a secret whose value is known without waiting. A plan that states it in the clear
    /// is refused.
    fn holds(&self, _text: &str) -> bool {
        false
    }
}

/// A source without secrets.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoSecrets;

impl SecretSource for NoSecrets {
    async fn resolve(&self, reference: &CredentialRef, _: &SecretScope, _: Deadline) -> Result<Secret, SecretRefusal> {
        Err(SecretRefusal::Unknown(reference.clone()))
    }
}

/// Removes secrets from text before it leaves the process, and finds them in what a picture shows. All sinks share one.
pub trait Redactor: Send + Sync {
    /// The text with every known secret, in every encoding that it knows, replaced.
    fn redact<'a>(&self, text: &'a str) -> Cow<'a, str>;
    /// Where known secrets are in the text, in bytes. By default the whole of a text that has any.
    fn find(&self, text: &str) -> Vec<Range<usize>> {
        if self.redact(text) == text { Vec::new() } else { std::iter::once(0..text.len()).collect() }
    }
    /// Redacts this text from now on, if [`is_searched_for`](crate::secret::is_searched_for).
    fn learn(&self, secret: &str);
    /// Returns `true` if there is nothing to redact yet, so that large documents need not be searched.
    fn is_idle(&self) -> bool {
        false
    }
}

impl fmt::Debug for dyn Redactor + '_ {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Redactor")
    }
}

// ---------------------------------------------------------------------------------------- repairing

/// Remaining budget for repairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RepairBudget {
    /// Attempts left for this step.
    pub step_attempts_left: u32,
    /// Repairs left in this run.
    pub run_repairs_left: u32,
    /// `true` if a new plan can be requested.
    pub can_replan: bool,
}

/// Response to a failed step.
#[derive(Clone, Debug, PartialEq)]
pub enum Repair {
    /// Run these steps, then the failed one again.
    Insert(Vec<Step>),
    /// Run the failed step again with another target.
    Retarget {
        /// The target as the step names it.
        from: crate::id::TargetRef,
        /// A candidate of the current observation.
        to: CandidateId,
    },
    /// Observe again, then run the failed step again.
    Reobserve(Scope),
    /// Run the failed step again in another way, such as typing slowly, after these steps.
    Rewrite {
        /// Steps to run first, such as clearing the field.
        before: Vec<Step>,
        /// Step to run instead of the failed one.
        step: Box<Step>,
    },
    /// Ask for a new plan.
    Replan,
    /// Give up; the failure stands.
    Abandon,
}

/// The input of a repair policy.
#[derive(Clone, Copy, Debug)]
pub struct RepairCase<'a> {
    /// Step that failed, as it was bound.
    pub step: &'a BoundStep,
    /// Failure that is to be repaired.
    pub failure: &'a StepFailure,
    /// Number of repairs made for this step so far.
    pub attempt: u32,
}

/// Decides what to do after a failure. Synchronous, and pure except for its own memory.
pub trait RepairPolicy: Send {
    /// The next repair; `Abandon` or `Replan` once the budget is used up.
    fn next(&mut self, case: &RepairCase<'_>, observation: &Observation, budget: &RepairBudget) -> Repair;

    /// Returns the name of the last repair for the log, such as `dismiss`; `None` unless the policy names it.
    fn rung(&self) -> Option<&'static str> {
        None
    }
}

/// A question to a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfirmRequest {
    /// Text of the question: the act that is about to happen, in one line, escaped.
    pub question: String,
    /// The grant that would have made the question unnecessary; absent for questions of the plan itself.
    pub grant: Option<String>,
}

/// Answer of a person, or the lack of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfirmReply {
    /// Do it; to a question, the answer.
    Yes(Option<String>),
    /// Do not do it.
    No,
    /// No person can be asked, or none answered in time.
    Unanswered,
}

/// Asks the person in charge.
pub trait Confirm: Send {
    /// Asks, and returns [`ConfirmReply::Unanswered`] if there is no answer by the deadline.
    fn confirm(&mut self, request: &ConfirmRequest, deadline: Deadline) -> impl Future<Output = ConfirmReply> + Send;
}

/// Answers every question with [`ConfirmReply::Unanswered`].
#[derive(Clone, Copy, Debug, Default)]
pub struct DenyAll;

impl Confirm for DenyAll {
    async fn confirm(&mut self, _: &ConfirmRequest, _: Deadline) -> ConfirmReply {
        ConfirmReply::Unanswered
    }
}

impl EffectGate for DenyAll {
    fn judge<'a>(
        &'a mut self,
        _: &'a BoundStep,
        request: &'a HeldRequest,
    ) -> BoxFuture<'a, Result<(), Box<StepFailure>>> {
        let message = format!("expected consent to {} {}, and there was no one to ask", request.method, request.url);
        let failure = StepFailure::new(Stage::Confirm, Cause::ConfirmationDenied, message);
        Box::pin(std::future::ready(Err(Box::new(failure))))
    }
}

// ------------------------------------------------------------------------------------------ keeping

/// A step that was begun: committed once, or left open in the log.
#[derive(Debug, PartialEq, Eq)]
pub struct StepTicket {
    /// 0-based position in order of execution.
    pub step_index: u32,
    /// 1-based number of the attempt at the step.
    pub attempt: u32,
}

/// The durable log of a run.
pub trait StepLog: Send {
    /// A failure of the log. No log, no action: the run ends on the first error.
    type Error: SeamError;

    /// Writes the header; durable when it returns.
    fn open(&mut self, header: &RunHeader) -> impl Future<Output = Result<(), Self::Error>> + Send;
    /// Durable when it returns: only then may the step send input.
    fn begin(&mut self, intent: &StepIntent) -> impl Future<Output = Result<StepTicket, Self::Error>> + Send;
    /// Durable when it returns: only then may success be reported.
    fn commit(
        &mut self,
        ticket: StepTicket,
        record: &StepRecord,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send;
    /// Keeps a call of a model; durable when it returns. Comes before the steps that name it.
    fn planned(&mut self, record: &PlanningRecord) -> impl Future<Output = Result<(), Self::Error>> + Send;
    /// Keeps what was observed of a page, redacted, for who reads the log; it may come late or get lost. A log need not
    /// keep it.
    fn observed(
        &mut self,
        _run: &RunId,
        _ts_ms: u64,
        _observation: &Observation,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send {
        std::future::ready(Ok(()))
    }
    /// Keeps what came to pass between steps; durable when it returns. A log need not keep it.
    fn happened(&mut self, _record: &EventRecord) -> impl Future<Output = Result<(), Self::Error>> + Send {
        std::future::ready(Ok(()))
    }
    /// Writes the end of the run; durable when it returns.
    fn close(&mut self, end: &RunEnd) -> impl Future<Output = Result<(), Self::Error>> + Send;
}

words! {
    /// The kind of a stored file.
    #[non_exhaustive]
    pub enum ArtifactKind {
        /// The viewport before the step.
        ScreenshotBefore = "screenshotBefore",
        /// The viewport after the step.
        ScreenshotAfter = "screenshotAfter",
        /// A picture that a step requested.
        Screenshot = "screenshot",
        /// The target of the step before its input.
        ScreenshotTarget = "screenshotTarget",
        /// Part of the accessibility tree.
        AxSubtree = "axSubtree",
        /// Changes in the document.
        DomDiff = "domDiff",
        /// A file that the page offered for download.
        Download = "download",
        /// An observation, or the difference to another one.
        Observation = "observation",
        /// Body that a request sent.
        RequestBody = "requestBody",
        /// Body of a response.
        ResponseBody = "responseBody",
    }
}

/// Stores files, addressed by their content.
pub trait ArtifactSink: Send + Sync {
    /// A failure of the layer itself.
    type Error: SeamError;

    /// Stores the bytes. Equal content is stored once.
    fn store(
        &self,
        kind: ArtifactKind,
        media_type: &str,
        bytes: Vec<u8>,
    ) -> impl Future<Output = Result<ArtifactRef, Self::Error>> + Send;
}

/// A request of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpRequest {
    /// HTTP method of the request.
    pub method: String,
    /// The URL, without its fragment.
    pub url: String,
    /// Names and values of the header fields.
    pub headers: Vec<(String, String)>,
    /// The body; empty for none.
    pub body: Vec<u8>,
    /// Purpose of the request, as Chrome spells it: `Document`, `XHR`, `Image`, ….
    pub resource_type: String,
}

/// The response to an [`HttpRequest`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpResponse {
    /// HTTP status of the response.
    pub status: u16,
    /// Names and values of the header fields, without those of the transfer: the body is decoded.
    pub headers: Vec<(String, String)>,
    /// The body; `None` for a stream without an end, and beyond the bound.
    pub body: Option<Vec<u8>>,
}

/// Result of a request: its response, or the reason why there is none as Chrome spells it, such as `ConnectionRefused`.
pub type HttpReply = Result<HttpResponse, String>;

/// When the parts of an exchange came: milliseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExchangeTimes {
    /// The request was sent; `None` if the browser did not tell, as of workers.
    pub requested_ms: Option<u64>,
    /// The response began, or the request failed.
    pub responded_ms: u64,
    /// The body had come.
    pub ended_ms: u64,
}

/// Records the HTTP traffic of pages, one exchange at a time.
pub trait TrafficSink: Send + Sync {
    /// A failure of the layer itself.
    type Error: SeamError;
    /// Records one exchange of a page with a server.
    fn record(
        &self,
        request: HttpRequest,
        reply: HttpReply,
        times: ExchangeTimes,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send;
}

/// Answers in place of the network.
pub trait FixtureSource: Send + Sync {
    /// A failure of the layer itself.
    type Error: SeamError;
    /// The recorded reply; `None` is a miss, which fails the request. Equal requests are asked in their order.
    fn reply(&self, request: &HttpRequest) -> impl Future<Output = Result<Option<HttpReply>, Self::Error>> + Send;
}
