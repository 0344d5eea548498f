//! The outcome of a step: expected failure is data.
//!
//! Invariant: a failure's cause comes from a closed list and carries the facts on which it was judged. Nothing inspects
//! a message.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::action::{Action, ActionKind};
use crate::condition::Condition;
use crate::facts::{DialogFact, DownloadFact, Facts, RequestFact};
use crate::geometry::{Point, Rect};
use crate::id::{PageId, TargetRef};
use crate::policy::Rule;
use crate::render::{cut, one_line};
use crate::verdict::Verdict;
use crate::wire::{is_default, words};

/// The stage at which a step failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum Stage {
    /// Binding it to the current observation.
    Bind,
    /// Asking a person for consent.
    Confirm,
    /// Finding the element that its target names.
    Resolve,
    /// Judging its preconditions, before any input.
    Precondition,
    /// Making sure that the target can be acted on.
    Actionability,
    /// Performing the action itself.
    Act,
    /// Waiting for its postconditions to come true.
    Postcondition,
}

words! {
    /// Why a step failed. The list is closed (spec 4.5).
    #[non_exhaustive]
    pub enum Cause {
        /// No element matches the target.
        TargetNotFound = "targetNotFound",
        /// Several elements match where one was expected; `matches` lists the first ten.
        TargetAmbiguous = "targetAmbiguous",
        /// It is no longer what was observed.
        TargetStale = "targetStale",
        /// No box, or `visibility: hidden`.
        NotVisible = "notVisible",
        /// The target keeps moving, or moved away from the input.
        NotStable = "notStable",
        /// The target is disabled and takes no input.
        NotEnabled = "notEnabled",
        /// It accepts no text now.
        NotEditable = "notEditable",
        /// It cannot be scrolled into view.
        NotInView = "notInView",
        /// Something else would get the event; `blocker` says what.
        Covered = "covered",
        /// No option of the target matches the choice.
        OptionNotFound = "optionNotFound",
        /// The page could not be loaded.
        NavigationFailed = "navigationFailed",
        /// The server answered with an error.
        HttpError = "httpError",
        /// A precondition does not hold.
        PreconditionFailed = "preconditionFailed",
        /// A stated postcondition did not come true.
        PostconditionFailed = "postconditionFailed",
        /// The deadline of the step passed, or leaves too little time.
        DeadlineExceeded = "deadlineExceeded",
        /// The policy forbids it; `rule` says which.
        PolicyBlocked = "policyBlocked",
        /// No consent was given; `grant` says what would have sufficed.
        ConfirmationDenied = "confirmationDenied",
        /// A JavaScript dialog blocks the page.
        DialogOpen = "dialogOpen",
        /// The page's process died.
        PageCrashed = "pageCrashed",
        /// The browser is gone.
        BrowserGone = "browserGone",
        /// A parameter makes no sense for this target.
        InvalidArgument = "invalidArgument",
        /// This program cannot do it.
        Unsupported = "unsupported",
        /// It is unknown whether a stated postcondition came true.
        EffectUnknown = "effectUnknown",
        /// The input of an earlier step is no longer there.
        InputLost = "inputLost",
        /// A request of the run that changes something is not answered.
        EffectPending = "effectPending",
        /// The task is said to be done, and nothing shows it: the goal does not hold, or the answer stands nowhere.
        Unproven = "unproven",
    }
}

impl Cause {
    /// Returns `true` if the run stopped because of policy or a missing confirmation.
    #[must_use]
    pub const fn is_block(self) -> bool {
        matches!(self, Self::PolicyBlocked | Self::ConfirmationDenied)
    }
}

/// Facts on which a failure was judged; those that do not apply are absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct FailureFacts {
    /// The target as the step names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<TargetRef>,
    /// Element that covers the target, such as `div#overlay`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocker: Option<String>,
    /// Box of the element that covers the target, in the tab's viewport. Not serialised: it is a hint for what closes
    /// it.
    #[serde(skip)]
    #[schemars(skip)]
    pub cover: Option<Rect>,
    /// Matches where one was expected, the first ten.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub matches: Vec<String>,
    /// Description of what was expected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected: Option<String>,
    /// Description of what was seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seen: Option<String>,
    /// The action that enters a lost value once more. Not serialised: it is a hint for the repair.
    #[serde(skip)]
    #[schemars(skip)]
    pub again: Option<Box<Action>>,
    /// The rule of the policy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<Rule>,
    /// The missing grant, in the form of `--grant`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grant: Option<String>,
    /// HTTP status of the response.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// The facts on which the conditions were judged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conditions: Option<Facts>,
}

/// A condition with its verdict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Judged {
    /// The condition, redacted where it names sensitive text.
    pub condition: Condition,
    /// Verdict on the condition.
    pub verdict: Verdict,
    /// `true` if it held before the action.
    #[serde(default)]
    pub vacuous: bool,
    /// `true` if the check added it.
    #[serde(default)]
    pub default: bool,
    /// Milliseconds from the input to the verdict; absent where it never held.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_ms: Option<u32>,
}

impl Judged {
    /// Judges the condition on `facts` by the rule that holds for it: a default about a target must have lasted, any
    /// other condition must have held at one moment.
    #[must_use]
    pub fn judge(&self, facts: &Facts) -> Verdict {
        if self.default { self.condition.evaluate_lasting(facts) } else { self.condition.evaluate(facts) }
    }
}

/// How much of the document changed, summarised.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct MutationSummary {
    /// Elements that were added.
    pub added: u32,
    /// Elements that were removed.
    pub removed: u32,
    /// Number of attribute changes, repeated ones included.
    pub attributes: u32,
    /// Number of changes to text nodes: edited, inserted or removed.
    pub texts: u32,
    /// The notable ones in words, such as `+dialog "Settings"`; the first ten.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notable: Vec<String>,
    /// Changes to what kept changing by itself before the step began, such as a clock. They are no effect, and the
    /// other numbers exclude them.
    #[serde(skip_serializing_if = "is_default")]
    pub background: u32,
}

/// Effects of a step, as far as they could be seen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct EffectRecord {
    /// The URL before, if it changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url_before: Option<String>,
    /// The URL after, if it changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url_after: Option<String>,
    /// `true` if a new document was loaded.
    #[serde(skip_serializing_if = "is_default")]
    pub new_document: bool,
    /// Changes of the document.
    pub mutations: MutationSummary,
    /// The target's value or state changed.
    #[serde(skip_serializing_if = "is_default")]
    pub target_changed: bool,
    /// Element that the focus moved to, if not to the target.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub focus: Option<String>,
    /// The target got the focus, which alone is no effect.
    #[serde(skip_serializing_if = "is_default")]
    pub target_focused: bool,
    /// States that changed, in words, such as `button "Menu": expanded false → true`; the first ten.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub states: Vec<String>,
    /// `true` if something scrolled during the step.
    #[serde(skip_serializing_if = "is_default")]
    pub scrolled: bool,
    /// Requests, the first 50, without those that the page repeated before the step began.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub requests: Vec<RequestFact>,
    /// Requests that the proxy denied during the step, the first 50, without those of the browser itself.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub denied: Vec<DeniedRequest>,
    /// Problems in the page because of the step, the first ten. The step may have succeeded nevertheless.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<Problem>,
    /// Console errors and uncaught exceptions, the first ten, 300 characters each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub console_errors: Vec<String>,
    /// JavaScript dialogs that opened during the step.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub dialogs: Vec<DialogFact>,
    /// Downloads that began during the step, complete or not.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub downloads: Vec<DownloadFact>,
    /// URLs of new tabs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub new_tabs: Vec<String>,
    /// URLs of tabs that closed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub closed_tabs: Vec<String>,
    /// Tabs that were closed at once, because pages had opened as many as may be open.
    #[serde(skip_serializing_if = "is_default")]
    pub refused_tabs: u32,
    /// Consequences of earlier steps that came once these had ended.
    #[serde(skip_serializing_if = "Late::is_empty")]
    pub late: Late,
}

/// Consequences of steps that came once these had ended: after the last record, and before this one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Late {
    /// Requests that change something and were refused: they failed, or their status is 400 or more; the first ten.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub requests: Vec<RequestFact>,
    /// Downloads that ended, or that began without a step.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub downloads: Vec<DownloadFact>,
    /// URLs of new tabs, the first ten.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub new_tabs: Vec<String>,
}

impl Late {
    /// Returns `true` if nothing came late.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self == &Self::default()
    }

    /// In words, one for each.
    pub fn in_words(&self) -> impl Iterator<Item = String> {
        let requests = self.requests.iter().map(RequestFact::in_words);
        let downloads = self.downloads.iter().map(DownloadFact::in_words);
        let tabs = self.new_tabs.iter().map(|url| format!("a tab opened: {}", cut(url, 200)));
        requests.chain(downloads).chain(tabs)
    }
}

/// A request that the proxy denied: nothing of it was sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeniedRequest {
    /// The port of the proxy, which stands for the run.
    pub listener: u16,
    /// Position among the decisions of the proxy, from 0.
    pub sequence: u64,
    /// When it was denied: milliseconds since 1970.
    pub ts_ms: u64,
    /// The method; `CONNECT` for a tunnel, which carries TLS or a WebSocket.
    pub method: String,
    /// The host; empty if the request named none.
    pub host: String,
    /// The port; 0 if the request named none.
    pub port: u16,
    /// The rule of the policy that decided, as [`Rule`] spells it; `browserInternal` for a name that the browser contacts
    /// by itself, too, and `closed` while there is no policy.
    pub rule: String,
    /// The URL of the failed request of the tab that it is, at most 2,000 characters. Absent where none fits: then a
    /// worker, another tab or the browser asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

impl DeniedRequest {
    /// In words: `GET http://evil.test/ was denied by rule origin`.
    #[must_use]
    pub fn in_words(&self) -> String {
        let place = || format!("{} {}:{}", self.method, self.host, self.port);
        let what = self.url.clone().unwrap_or_else(place);
        format!("{what} was denied by rule {}", self.rule)
    }
}

/// Something that went wrong in the page because of a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Problem {
    /// Kind of the problem.
    pub kind: ProblemKind,
    /// In words, such as `POST /save answered 500`, at most 300 characters.
    pub message: String,
}

/// Kind of a problem in the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum ProblemKind {
    /// A request failed, or its status is 400 or more.
    Request,
    /// The step led to another page than requested.
    Redirect,
    /// A field does not accept its value.
    Validation,
    /// An alert or an error message of the page.
    Alert,
    /// A part of the gesture did not reach the target.
    Gesture,
}

/// Notable changes, and requests, that a description of effects names.
const NOTABLE: usize = 4;

impl EffectRecord {
    /// Returns `true` if there was any effect. Requests alone do not count, because pages poll; nor does the target's
    /// focus.
    #[must_use]
    pub fn is_any(&self) -> bool {
        let quiet = Self {
            requests: Vec::new(),
            denied: Vec::new(),
            console_errors: Vec::new(),
            problems: Vec::new(),
            target_focused: false,
            late: Late::default(),
            mutations: MutationSummary { background: 0, ..self.mutations.clone() },
            ..self.clone()
        };
        quiet != Self::default()
    }

    /// The effects in a few words, without problems and addresses: `+dialog "Delete?", POST /orders answered 201`, or
    /// `2 added, 3 attributes`. `None` if there are none.
    ///
    /// ```
    /// use cuebook_grammar::outcome::EffectRecord;
    /// use serde_json::{from_value, json};
    ///
    /// let request = |method, status| json!({ "method": method, "url": "https://shop.test/cart?id=7", "status": status });
    /// let of = |mutations, requests| {
    ///     let effects: EffectRecord = from_value(json!({ "mutations": mutations, "requests": requests })).unwrap();
    ///     effects.in_words()
    /// };
    /// let seen = of(json!({ "added": 3, "notable": ["+dialog \"Delete?\""] }), json!([request("POST", 201)]));
    /// assert_eq!(seen.as_deref(), Some("+dialog \"Delete?\", POST /cart answered 201"));
    /// assert_eq!(of(json!({ "added": 2, "attributes": 3 }), json!([])).as_deref(), Some("2 added, 3 attributes"));
    /// // Reading, and what went wrong: the latter is for `remark`.
    /// assert_eq!(of(json!({}), json!([request("GET", 200), request("POST", 500)])), None);
    /// ```
    #[must_use]
    pub fn in_words(&self) -> Option<String> {
        let MutationSummary { added, removed, attributes, texts, notable, .. } = &self.mutations;
        let counts = [(added, "added"), (removed, "removed"), (texts, "texts"), (attributes, "attributes")];
        let counted = counts.iter().filter(|(count, _)| **count > 0).map(|(count, what)| format!("{count} {what}"));
        let changed: Vec<String> = match notable.len() {
            0 => counted.collect(),
            some => {
                let more = (some > NOTABLE).then(|| "…".to_owned());
                notable.iter().take(NOTABLE).map(|change| one_line(change, 80)).chain(more).collect()
            }
        };
        // One that was cancelled says nothing.
        let is_said = |request: &&RequestFact| request.changes() && request.failure.is_none() && !request.is_problem();
        let sent = self.requests.iter().filter(is_said);
        let parts: Vec<String> = changed.into_iter().chain(sent.take(NOTABLE).map(RequestFact::in_words)).collect();
        (!parts.is_empty()).then(|| parts.join(", "))
    }

    /// Describes in words what went wrong, dialogs of the page included.
    #[must_use]
    pub fn problems_in_words(&self) -> Vec<String> {
        let dialogs = self.dialogs.iter().map(|dialog| format!("a dialog says {:?}", dialog.message));
        self.problems.iter().map(|problem| problem.message.clone()).chain(dialogs).collect()
    }

    /// Returns `true` if the page differs from the one that was observed.
    #[must_use]
    pub fn changes_page(&self) -> bool {
        self.new_document || self.url_after.is_some()
    }

    /// The first answer from 400 to what the step asked for: a document, or a request that changes something. What a page
    /// fetches beside them fails all day.
    #[must_use]
    pub fn refused(&self) -> Option<String> {
        let is_document = |url: &str| self.changes_page() && self.url_after.as_deref() == Some(url);
        self.requests.iter().find_map(|request| {
            let status = request.status.filter(|status| *status >= 400)?;
            let is_reading = matches!(request.method.as_str(), "GET" | "HEAD" | "OPTIONS");
            (!is_reading || is_document(&request.url))
                .then(|| format!("{} {} answered {status}", request.method, request.url))
        })
    }
}

/// A remark on a step's result: `no effect seen`, what proves nothing, or what went wrong in the page. The dialog that a
/// step answers is its target, and no problem.
#[must_use]
pub fn remark(
    action: ActionKind,
    no_observed_effect: bool,
    post: &[Judged],
    effects: Option<&EffectRecord>,
) -> Option<String> {
    let answers = matches!(action, ActionKind::AcceptDialog | ActionKind::DismissDialog);
    let problems = effects.map_or_else(Vec::new, |effects| match (answers, &effects.dialogs[..]) {
        (true, [_, later @ ..]) => EffectRecord { dialogs: later.to_vec(), ..effects.clone() }.problems_in_words(),
        _ => effects.problems_in_words(),
    });
    let focused = effects.is_some_and(|effects| effects.target_focused);
    let nothing = if focused { "no effect seen beyond the focus" } else { "no effect seen" };
    let nothing = no_observed_effect.then(|| nothing.to_owned());
    let problems = (!problems.is_empty()).then(|| format!("but {}", problems.join("; ")));
    let late: Vec<String> = effects.iter().flat_map(|effects| effects.late.in_words()).collect();
    let late = (!late.is_empty()).then(|| format!("meanwhile, of an earlier step: {}", late.join("; ")));
    let mut stated = post.iter().filter(|judged| !judged.default).peekable();
    let is_empty_proof = no_observed_effect && stated.peek().is_some() && stated.all(|judged| judged.vacuous);
    let empty_proof = is_empty_proof.then(|| "what was stated held before and proves nothing".to_owned());
    let parts: Vec<String> = nothing.into_iter().chain(empty_proof).chain(problems).chain(late).collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// A stored file that belongs to a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ArtifactRef {
    /// Kind of the file: `screenshotBefore`, `screenshotAfter`, `screenshot`, `axSubtree`, `domDiff`, `download`,
    /// `har`, `cdpLog`.
    pub kind: String,
    /// SHA-256 of its content, hexadecimal.
    pub sha256: String,
    /// Its media type, such as `image/png`.
    pub media_type: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// Path relative to the run's folder.
    pub path: String,
}

/// Where a step's time went, in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Timings {
    /// Finding the target and checking preconditions.
    pub resolve_ms: u32,
    /// Waiting until the target can be acted on.
    pub actionable_ms: u32,
    /// From the first input to the end of the action.
    pub act_ms: u32,
    /// Awaiting postconditions and downloads after the action.
    pub post_ms: u32,
}

/// Selectors by which other tools would find the element that a step acted on, where it has them; each text of at most
/// 200 characters. Nothing is found by them but, at last and in a replay, by the point.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Selectors {
    /// Value of its `id` attribute.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Value of its `name` attribute.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// CSS path from the nearest element with a unique id; none within shadow roots.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub css: Option<String>,
    /// XPath 1.0 from the root of its document; none within shadow roots.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub xpath: Option<String>,
    /// Value of its `aria-label` attribute.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aria_label: Option<String>,
    /// Its text; none of a field.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Middle of its box in CSS pixels of the page, from its beginning; only in the main frame.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub point: Option<Point>,
}

/// Evidence that was gathered while a step ran, whether it succeeded or not.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Evidence {
    /// Preconditions and their verdicts.
    pub pre: Vec<Judged>,
    /// Postconditions and their verdicts.
    pub post: Vec<Judged>,
    /// The facts on which the preconditions were judged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pre_facts: Option<Facts>,
    /// The facts on which the postconditions were judged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub post_facts: Option<Facts>,
    /// Effects of the step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effects: Option<EffectRecord>,
    /// The action ran without a visible effect.
    #[serde(skip_serializing_if = "is_default")]
    pub no_observed_effect: bool,
    /// `true` if input was sent, even if the step failed. A gesture that was stopped before the page received a press,
    /// a release or a click of it does not count, if its target still meant the same then.
    #[serde(skip_serializing_if = "is_default")]
    pub input_sent: bool,
    /// Targets whose text must not be kept.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sensitive: Vec<TargetRef>,
    /// Box of what receives the input, in the tab's viewport, when it was ready for it; absent outside of the main frame.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_box: Option<Rect>,
    /// Selectors of that element.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selectors: Option<Selectors>,
    /// Files stored for the step.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<ArtifactRef>,
    /// Where the time went.
    pub timings: Timings,
    /// Number of wire events that were processed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cdp_events: Option<u64>,
}

/// A step that succeeded.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StepSuccess {
    /// Evidence gathered while the step ran.
    pub evidence: Evidence,
    /// Data that the action read, if it reads.
    pub data: Option<Value>,
    /// The new current tab, if it changed.
    pub page: Option<PageId>,
}

/// A step that failed.
#[derive(Clone, Debug, PartialEq)]
pub struct StepFailure {
    /// Stage at which the step failed.
    pub stage: Stage,
    /// Cause of the failure.
    pub cause: Cause,
    /// For people: what is wrong, what was seen, what to do.
    pub message: String,
    /// The facts on which it was judged.
    pub facts: FailureFacts,
    /// Evidence gathered before the step failed.
    pub evidence: Evidence,
}

impl StepFailure {
    /// A failure with a message and nothing else yet.
    pub fn new(stage: Stage, cause: Cause, message: impl Into<String>) -> Self {
        Self { stage, cause, message: message.into(), facts: FailureFacts::default(), evidence: Evidence::default() }
    }

    /// A dialog holds the page before its target is looked for.
    #[must_use]
    pub fn dialog_open() -> Self {
        Self::new(Stage::Resolve, Cause::DialogOpen, "a dialog is open; accept or dismiss it")
    }
}

/// The outcome of a step. An `Err` instead means that the machinery broke.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "one exists at a time, and success is the common one")]
pub enum StepOutcome {
    /// The action ran, and the stated postconditions came true.
    Succeeded(StepSuccess),
    /// It failed for one of the closed list of causes.
    Failed(Box<StepFailure>),
}

impl StepOutcome {
    /// Returns the evidence gathered while the step ran.
    #[must_use]
    pub fn evidence(&self) -> &Evidence {
        match self {
            Self::Succeeded(success) => &success.evidence,
            Self::Failed(failure) => &failure.evidence,
        }
    }
}
