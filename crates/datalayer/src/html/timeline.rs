//! The steps of a run and the calls that planned them, a row each: what was done, what came of it, how long it took.

use cuebook_grammar::action::Action;
use cuebook_grammar::id::TargetRef;
use cuebook_grammar::outcome::{EffectRecord, remark};
use cuebook_grammar::planning::{CallEnd, CallPurpose};
use cuebook_grammar::record::{EventRecord, PlanningRecord, StepIntent, StepOrigin, StepRecord, StepResult};
use cuebook_grammar::render::one_line;
use maud::{Markup, html};
use serde::{Deserialize, Serialize};

use super::events;
use super::words::{counted, mark, seconds};
use crate::in_words;
use crate::log::Run;

/// The longest note of a row, in characters.
const NOTE: usize = 160;

/// A row of the timeline, by the position of its step, call or event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Item {
    Call(usize),
    Event(usize),
    Step(usize),
}

/// How much of a run was shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Shown {
    /// Number of steps that ended.
    pub steps: usize,
    /// Number of calls of models.
    pub calls: usize,
    /// Number of events between steps.
    pub events: usize,
}

impl Shown {
    /// All of a run.
    #[must_use]
    pub const fn all(run: &Run) -> Self {
        Self { steps: run.steps.len(), calls: run.calls.len(), events: run.events.len() }
    }
}

/// The rows after those that were shown: each call comes before the first of its steps, each event between those where it
/// came to pass.
pub(super) fn items(run: &Run, shown: Shown) -> Vec<Item> {
    let mut items = Vec::new();
    let mut next = shown.calls;
    let mut events = run.events.iter().enumerate().skip(shown.events).peekable();
    for (at, record) in run.steps.iter().enumerate().skip(shown.steps) {
        let planned = record.planning.and_then(|index| usize::try_from(index).ok());
        let calls = planned.map_or(next, |index| index.saturating_add(1).clamp(next, run.calls.len().max(next)));
        items.extend((next..calls).map(Item::Call));
        next = calls;
        while let Some((event, _)) = events.next_if(|(_, (after, _))| *after <= at) {
            items.push(Item::Event(event));
        }
        items.push(Item::Step(at));
    }
    items.extend((next..run.calls.len()).map(Item::Call));
    items.extend(events.map(|(event, _)| Item::Event(event)));
    items
}

pub(super) fn row(item: Item, run: &Run) -> Markup {
    html! {
        @match item {
            Item::Step(at) => @if let Some(record) = run.steps.get(at) { (step(at, record)) },
            Item::Event(at) => @if let Some((_, record)) = run.events.get(at) { (event(at, record)) },
            Item::Call(at) => @if let Some(record) = run.calls.get(at) { (call(at, record)) },
        }
    }
}

fn step(at: usize, record: &StepRecord) -> Markup {
    let (sign, word) = mark(record);
    let kind = if record.result == StepResult::Ok { "ok" } else { "bad" };
    let is_repair = record.origin == StepOrigin::Repair || record.attempt > 1;
    html! {
        li.row data-kind=(kind) data-repair[is_repair] {
            a href={ "#step-" (at) } {
                span class={ "sign " (word) } aria-hidden="true" { (sign) }
                span.what { span.number { (at + 1) } " " (title(record)) }
                span.took { (seconds(record.execution.duration_ms)) }
                span.note {
                    @if is_repair { span.pill { (repair(record)) } " " }
                    @else if record.origin == StepOrigin::Start { span.pill { "start" } " " }
                    @else if record.origin == StepOrigin::Person { span.pill { "person" } " " }
                    span class=(word) { (word) } @if let Some(note) = note(record) { (one_line(&note, NOTE)) }
                }
            }
        }
    }
}

/// A step in words, with what it enters if that is not typed text.
pub(super) fn title(record: &StepRecord) -> String {
    let words = in_words::step(record);
    match &record.action.action {
        Action::Navigate(navigate) => format!("{words} {}", one_line(&navigate.url, NOTE)),
        Action::Press(press) => format!("{words} {}", press.keys),
        action => match action.condition() {
            Some(condition) => {
                let name = |target: &TargetRef| in_words::target(record, target);
                format!("{words} {}", one_line(&condition.in_words_naming(&name), NOTE))
            }
            None => words,
        },
    }
}

/// Why a step ran that the plan does not have, or has once.
pub(super) fn repair(record: &StepRecord) -> String {
    if record.origin == StepOrigin::Repair { "repair".to_owned() } else { format!("attempt {}", record.attempt) }
}

/// Outcome of a step, in a few words.
fn note(record: &StepRecord) -> Option<String> {
    if let Some(failure) = &record.failure {
        return Some(format!(": {}", failure.cause.as_str()));
    }
    let effects = record.effects.as_ref();
    let seen = effects.and_then(effect).or_else(|| record.data.is_some().then(|| "read the page".to_owned()));
    let remark = remark(record.action.action.kind(), record.no_observed_effect, &record.post_check, effects);
    let parts: Vec<String> = seen.into_iter().chain(remark).collect();
    (!parts.is_empty()).then(|| format!(": {}", parts.join(", ")))
}

/// The effect that matters most.
pub(super) fn effect(effects: &EffectRecord) -> Option<String> {
    let first = |texts: &[String], before: &str| texts.first().map(|text| format!("{before}{text}"));
    let changes = &effects.mutations;
    let has_changes =
        [changes.added, changes.removed, changes.attributes, changes.texts].iter().any(|count| *count > 0);
    let address = effects.url_after.as_ref().map(|url| {
        let path = url::Url::parse(url).map_or_else(|_| url.clone(), |url| format!("{}{}", url.path(), query(&url)));
        format!("{} {path}", if effects.new_document { "loaded" } else { "went to" })
    });
    address
        .or_else(|| effects.new_document.then(|| "loaded the page again".to_owned()))
        .or_else(|| first(&effects.new_tabs, "opened a tab, "))
        .or_else(|| effects.downloads.first().map(|one| format!("downloaded {}", one.filename)))
        .or_else(|| first(&effects.states, ""))
        .or_else(|| effects.target_changed.then(|| "its value or state changed".to_owned()))
        .or_else(|| changes.notable.first().map(|change| notable(change)))
        .or_else(|| has_changes.then(|| "the page changed".to_owned()))
        .or_else(|| effects.scrolled.then(|| "scrolled".to_owned()))
}

/// A notable change: `+dialog "Settings"` as `dialog "Settings" appeared`.
pub(super) fn notable(change: &str) -> String {
    match (change.strip_prefix('+'), change.strip_prefix('-')) {
        (Some(what), _) => format!("{what} appeared"),
        (_, Some(what)) => format!("{what} disappeared"),
        _ => change.to_owned(),
    }
}

fn query(url: &url::Url) -> String {
    url.query().map(|query| format!("?{query}")).unwrap_or_default()
}

fn call(at: usize, record: &PlanningRecord) -> Markup {
    let call = &record.call;
    let (kind, sign, word) = match &call.end {
        CallEnd::Accepted => ("ok", "✓", "ok"),
        CallEnd::Invalid { .. } => ("bad", "✗", "failed"),
        CallEnd::Failed { .. } => ("bad", "✗", "failed"),
    };
    let end = match &call.end {
        CallEnd::Accepted => "accepted".to_owned(),
        CallEnd::Invalid { violations } => format!("no valid plan, {}", counted(violations.len(), "violation")),
        CallEnd::Failed { code, .. } => format!("failed, {code}"),
    };
    let model = call.model.as_deref().unwrap_or(&call.engine);
    html! {
        li.row.call data-kind=(kind) {
            a href={ "#call-" (at) } {
                span class={ "sign " (word) } aria-hidden="true" { (sign) }
                span.what { (purpose(call.purpose)) " by " (model) }
                span.took { (seconds(call.latency_ms)) }
                span.note {
                    span class=(word) { (one_line(&end, NOTE)) } ", "
                    (counted(call.input_tokens.saturating_add(call.output_tokens), "token"))
                }
            }
        }
    }
}

fn event(at: usize, record: &EventRecord) -> Markup {
    html! {
        li.row.call data-kind="ok" {
            a href={ "#event-" (at) } {
                span.sign aria-hidden="true" { "·" }
                span.what { (one_line(&events::title(&record.event), NOTE)) }
            }
        }
    }
}

pub(super) const fn purpose(purpose: CallPurpose) -> &'static str {
    match purpose {
        CallPurpose::Plan => "Plan",
        CallPurpose::Repair => "Plan after a failed step",
        CallPurpose::Reformulate => "Corrected output",
        CallPurpose::Fill => "Values from the page's text",
        CallPurpose::Look => "Features of the picture",
        _ => "Call",
    }
}

/// A step that was begun and has no record yet.
pub(super) fn open(intent: &StepIntent, is_running: bool) -> Markup {
    let verb = intent.action.action.kind().meta().name;
    let target = intent.action.action.targets().first().map(|target| format!(" {target}")).unwrap_or_default();
    html! {
        @if is_running {
            p.open { span.sign.running aria-hidden="true" { "●" } span.what { (verb) (target) } span.took data-since=(intent.ts_ms) { "running" } }
        } @else {
            p.open { span.sign.cutOff aria-hidden="true" { "!" } span.what { (verb) (target) }
                span.note { "begun and not finished: whether it sent input is unknown" } }
        }
    }
}
