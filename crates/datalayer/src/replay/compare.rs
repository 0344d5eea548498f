//! Differences between a replay and its recording.

use std::collections::{BTreeMap, BTreeSet};

use cuebook_grammar::id::RunId;
use cuebook_grammar::record::{RecordedTarget, StepOrigin, StepRecord, StepResult};
use cuebook_grammar::render::cut;
use serde::{Deserialize, Serialize};

use super::recording::{Recording, is_opening};
use super::trace::{StepTrace, TracedBody, add_traffic};
use super::urls::{Aspect, Likeness, Side};
use crate::error::DataError;
use crate::in_words;
use crate::log::Run;
use crate::run_dir::RunDir;

/// The version of the comparison's format, raised by the same rule as that of the record.
pub const COMPARISON_VERSION: &str = "1.1";

/// The differences of a replay, in the order of its steps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Comparison {
    /// Version of the format: [`COMPARISON_VERSION`] when written.
    pub schema_version: String,
    /// The run that was recorded.
    pub recorded: Option<RunId>,
    /// The run that replayed it.
    pub replayed: Option<RunId>,
    /// Steps of the plan.
    pub steps: u32,
    /// The differences. The first is the first divergence.
    pub divergences: Vec<Divergence>,
}

/// One difference between a step's replay and its recording.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Divergence {
    /// 1-based step of the plan; 0 for the opening of the start URL.
    pub step: u32,
    /// The step in words.
    pub action: String,
    /// The kind of the difference.
    pub kind: DivergenceKind,
    /// Details that the recording has and the replay does not.
    pub recorded: Vec<String>,
    /// Details that the replay has and the recording does not.
    pub replayed: Vec<String>,
    /// Picture of the places where two screenshots differ, as a file in the folder of the replay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub picture: Option<String>,
}

/// Kind of a difference between a replay and its recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum DivergenceKind {
    /// The target was found by other means than the first locator.
    Target,
    /// The step needed a repair.
    Repair,
    /// The step was not reached.
    Missing,
    /// The result or the cause differs.
    Outcome,
    /// The URL after the step.
    Url,
    /// Requests by method, URL and status.
    Requests,
    /// Bodies of requests and responses.
    Bodies,
    /// Console errors and uncaught exceptions.
    Console,
    /// A screenshot differs from the recorded one.
    Picture,
}

impl DivergenceKind {
    /// Returns `true` if the replay got there nevertheless: the plan has drifted, the page may be right.
    #[must_use]
    pub const fn is_drift(self) -> bool {
        matches!(self, Self::Target | Self::Repair)
    }

    /// The name in documents.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Target => "target",
            Self::Repair => "repair",
            Self::Missing => "missing",
            Self::Outcome => "outcome",
            Self::Url => "url",
            Self::Requests => "requests",
            Self::Bodies => "bodies",
            Self::Console => "console",
            Self::Picture => "picture",
        }
    }
}

impl Comparison {
    /// Returns `true` if the replay has no difference from the recording.
    #[must_use]
    pub fn is_equal(&self) -> bool {
        self.divergences.is_empty()
    }

    /// Adds differences, and sorts all by step.
    pub fn add(&mut self, more: impl IntoIterator<Item = Divergence>) {
        self.divergences.extend(more);
        self.divergences.sort_by_key(|divergence| (divergence.step, divergence.kind));
    }

    /// Only the differences in targets and repairs.
    pub fn drift(&self) -> impl Iterator<Item = &Divergence> {
        self.divergences.iter().filter(|divergence| divergence.kind.is_drift())
    }
}

/// Compares the run of a recording's plan with what came of it when it was recorded, step by step. Of a recording of
/// version 1.0, which does not say, only drift and steps that were not reached are found. Bodies are compared if `likeness`
/// asks for it, and both runs recorded their traffic: that of `replayed` is in `dir`. Costs a pass over both; blocks.
///
/// How often a request was made is not compared, as pages poll; nor which of two neighbouring steps it came in.
///
/// # Errors
/// [`DataError`] of traffic that cannot be read.
pub fn compare(
    recording: &Recording,
    replayed: &Run,
    dir: Option<&RunDir>,
    likeness: &Likeness,
) -> Result<Comparison, DataError> {
    let header = replayed.header.as_ref();
    let recorded = recording.recorded.as_ref();
    let start = recorded.and_then(|recorded| recorded.url.as_deref()).or(recording.url.as_deref());
    let likeness = likeness.clone().starting_on(start, header.and_then(|header| header.url.as_deref()));
    let mut comparison = Comparison {
        schema_version: COMPARISON_VERSION.to_owned(),
        recorded: recorded.map(|recorded| recorded.run_id.clone()),
        replayed: header.map(|header| header.run_id.clone()),
        steps: u32::try_from(recording.plan.steps.len()).unwrap_or(u32::MAX),
        divergences: Vec::new(),
    };
    let mut pairs = pairs(recording, replayed);
    if let Some(dir) = dir.filter(|_| likeness.compares(Aspect::Body)) {
        let mut traces: Vec<StepTrace> = pairs.iter().filter_map(|pair| pair.trace.clone()).collect();
        add_traffic(&mut traces, dir)?;
        let mut traces = traces.into_iter();
        for pair in pairs.iter_mut().filter(|pair| pair.trace.is_some()) {
            pair.trace = traces.next();
        }
    }
    let traffic: Vec<_> = pairs.iter().map(|pair| pair.traffic(&likeness)).collect();
    for (index, pair) in pairs.iter().enumerate() {
        let Some(now) = pair.replayed else {
            comparison.add([pair.divergence(DivergenceKind::Missing, Vec::new(), Vec::new())]);
            break;
        };
        comparison.add(pair.drift(recording, now, replayed));
        if let (Some(then), Some(now)) = (pair.recorded, &pair.trace) {
            comparison.add(pair.differences(then, now, &likeness));
            comparison.add(pair.bodies(then, now, &likeness));
            let around = index.saturating_sub(1)..=index + 1;
            let near: Vec<_> =
                traffic.get(*around.start()..(*around.end() + 1).min(traffic.len())).into_iter().flatten().collect();
            comparison.add(traffic.get(index).and_then(|own| pair.requests(own, &near)));
        }
    }
    Ok(comparison)
}

/// A step of the plan in both runs.
pub(super) struct Pair<'a> {
    /// 1-based; 0 for the start URL.
    pub(super) number: u32,
    words: String,
    pub(super) recorded: Option<&'a StepTrace>,
    pub(super) replayed: Option<&'a StepRecord>,
    /// Trace of the step in the replay.
    trace: Option<StepTrace>,
}

type Requests = BTreeMap<String, BTreeSet<u16>>;

/// The requests of both runs.
struct Traffic {
    recorded: Requests,
    replayed: Requests,
}

/// The steps of the plan, and the opening of the start URL before them.
pub(super) fn pairs<'a>(recording: &'a Recording, replayed: &'a Run) -> Vec<Pair<'a>> {
    let traced = |number: u32| recording.traces.iter().find(|trace| trace.step == number);
    let pair = |number: u32, words: String, now: Option<&'a StepRecord>| Pair {
        number,
        words,
        recorded: traced(number),
        replayed: now,
        trace: now.and_then(|now| StepTrace::of(number, now)),
    };
    let opening = replayed.steps.iter().rev().find(|record| is_opening(record));
    let opened = opening.map(|now| pair(0, in_words::step(now), Some(now)));
    let steps = recording.plan.steps.iter().enumerate().map(|(index, step)| {
        let position = u32::try_from(index).ok();
        let now = replayed
            .steps
            .iter()
            .rev()
            .find(|record| record.origin == StepOrigin::Plan && record.plan_index == position);
        let number = position.unwrap_or(u32::MAX).saturating_add(1);
        let verb = || {
            let target = step.action.target().map_or_else(String::new, |target| format!(" {target}"));
            format!("{}{target}", step.action.kind().meta().name)
        };
        let words = traced(number).map(|then| then.action.clone()).or_else(|| now.map(in_words::step));
        pair(number, words.unwrap_or_else(verb), now)
    });
    opened.into_iter().chain(steps).collect()
}

impl Pair<'_> {
    pub(super) fn divergence(&self, kind: DivergenceKind, recorded: Vec<String>, replayed: Vec<String>) -> Divergence {
        Divergence { step: self.number, action: self.words.clone(), kind, recorded, replayed, picture: None }
    }

    fn drift(&self, recording: &Recording, now: &StepRecord, replayed: &Run) -> Vec<Divergence> {
        let mut found = Vec::new();
        let planned =
            self.number.checked_sub(1).and_then(|index| recording.plan.steps.get(usize::try_from(index).ok()?));
        if let Some(planned) = planned.filter(|_| now.result == StepResult::Ok) {
            for (was, is) in planned.action.targets().into_iter().zip(now.action.action.targets()) {
                if let Some(RecordedTarget::Observed(_)) = now.candidates.get(is) {
                    let declared = recording.plan.candidates.get(was).map(ToString::to_string);
                    let seen = in_words::target(now, is);
                    found.push(self.divergence(DivergenceKind::Target, declared.into_iter().collect(), vec![seen]));
                }
            }
        }
        let repairs = repairs_of(now, replayed);
        let is_found_again = found.is_empty();
        if now.attempt > 1 && now.result == StepResult::Ok && (is_found_again || !repairs.is_empty()) {
            let mut done: Vec<String> = repairs.into_iter().map(in_words::step).collect();
            if done.is_empty() {
                done.push(format!("attempt {}", now.attempt));
            }
            found.push(self.divergence(DivergenceKind::Repair, Vec::new(), done));
        }
        found
    }

    fn differences(&self, then: &StepTrace, now: &StepTrace, likeness: &Likeness) -> Vec<Divergence> {
        let mut found = Vec::new();
        let mut differ = |kind, recorded: Option<String>, replayed: Option<String>| {
            if recorded != replayed {
                found.push(self.divergence(kind, recorded.into_iter().collect(), replayed.into_iter().collect()));
            }
        };
        differ(DivergenceKind::Outcome, Some(then.outcome.clone()), Some(now.outcome.clone()));
        let urls = [(Side::Recorded, then), (Side::Replayed, now)].map(|(side, trace)| likeness.url(side, &trace.url));
        let [was, is] = urls;
        if was.is_some() && is.is_some() {
            differ(DivergenceKind::Url, was, is);
        }
        let (gone, came) = apart(&errors(Side::Recorded, then, likeness), &errors(Side::Replayed, now, likeness));
        if !gone.is_empty() || !came.is_empty() {
            found.push(self.divergence(DivergenceKind::Console, gone, came));
        }
        found
    }

    fn traffic(&self, likeness: &Likeness) -> Traffic {
        let side = |side: Side, trace: Option<&StepTrace>| {
            let mut seen = Requests::new();
            let all = trace.into_iter().flat_map(|trace| &trace.requests);
            for (request, status) in all.filter_map(|traced| likeness.request(side, &traced.request)) {
                seen.entry(request).or_default().extend(status);
            }
            seen
        };
        Traffic { recorded: side(Side::Recorded, self.recorded), replayed: side(Side::Replayed, self.trace.as_ref()) }
    }

    /// Bodies of requests that both runs made in this step, where both have them: each that was recorded came again.
    fn bodies(&self, then: &StepTrace, now: &StepTrace, likeness: &Likeness) -> Option<Divergence> {
        if !likeness.compares(Aspect::Body) {
            return None;
        }
        let side = |side: Side, trace: &StepTrace| {
            let mut seen: BTreeMap<(String, &str), Vec<String>> = BTreeMap::new();
            for traced in &trace.requests {
                let Some((request, _)) = likeness.request(side, &traced.request) else { continue };
                let parts = [("sent", &traced.request_body), ("answered", &traced.body)];
                for (part, body) in parts.into_iter().filter_map(|(part, body)| Some((part, body.as_ref()?))) {
                    seen.entry((request.clone(), part)).or_default().push(compared(body, likeness));
                }
            }
            seen
        };
        let (was, is) = (side(Side::Recorded, then), side(Side::Replayed, now));
        let (mut gone, mut came) = (Vec::new(), Vec::new());
        for ((request, part), bodies) in &was {
            let Some(others) = is.get(&(request.clone(), part)) else { continue };
            let Some(body) = bodies.iter().find(|body| !others.contains(body)) else { continue };
            let other = others.iter().find(|other| !bodies.contains(other)).or(others.last());
            let (body, other) = around_difference(body, other.map_or("", String::as_str));
            gone.push(format!("{request} {part} {body}"));
            came.push(format!("{request} {part} {other}"));
        }
        (!gone.is_empty()).then(|| self.divergence(DivergenceKind::Bodies, gone, came))
    }

    /// A request counts as made if the other run made it in this step or a step beside it.
    fn requests(&self, own: &Traffic, near: &[&Traffic]) -> Option<Divergence> {
        let missing = |mine: &Requests, of: fn(&Traffic) -> &Requests| -> Vec<String> {
            let lacks = |(request, statuses): &(&String, &BTreeSet<u16>)| {
                let others: Vec<&BTreeSet<u16>> = near.iter().filter_map(|traffic| of(traffic).get(*request)).collect();
                // An answer that did not arrive during the step has no status.
                let fits =
                    |other: &&BTreeSet<u16>| other.is_empty() || statuses.is_empty() || !other.is_disjoint(statuses);
                !others.iter().any(fits)
            };
            let with_status = |(request, statuses): (&String, &BTreeSet<u16>)| {
                let statuses: Vec<String> = statuses.iter().map(u16::to_string).collect();
                if statuses.is_empty() { request.clone() } else { format!("{request} {}", statuses.join(" ")) }
            };
            mine.iter().filter(lacks).map(with_status).collect()
        };
        let gone = missing(&own.recorded, |traffic| &traffic.replayed);
        let came = missing(&own.replayed, |traffic| &traffic.recorded);
        (!gone.is_empty() || !came.is_empty()).then(|| self.divergence(DivergenceKind::Requests, gone, came))
    }
}

/// The repairs that were made for a step: they are committed between its attempts.
pub(super) fn repairs_of<'a>(record: &StepRecord, run: &'a Run) -> Vec<&'a StepRecord> {
    let is_own = |other: &&StepRecord| other.step_index == record.step_index;
    let first = run.steps.iter().position(|other| is_own(&other)).unwrap_or(0);
    let last = run.steps.iter().rposition(|other| is_own(&other)).unwrap_or(0);
    let between = run.steps.get(first..=last).unwrap_or_default().iter();
    between.filter(|other| other.origin == StepOrigin::Repair && other.result == StepResult::Ok).collect()
}

/// A body as it is compared: JSON with its members in order and without volatile parts, other texts as they are, and
/// the digest of what is no text.
fn compared(body: &TracedBody, likeness: &Likeness) -> String {
    match &body.text {
        Some(text) => match serde_json::from_str(text) {
            Ok(mut value) => {
                likeness.volatile().strip(&mut value);
                value.sort_all_objects();
                value.to_string()
            }
            Err(_) => text.clone(),
        },
        None => format!("{} bytes, SHA-256 {}", body.bytes, cut(&body.sha256, 16)),
    }
}

/// Where two texts begin to differ, with what stands around it.
fn around_difference(one: &str, other: &str) -> (String, String) {
    let same = one.chars().zip(other.chars()).take_while(|(a, b)| a == b).count();
    let part = |text: &str| {
        let from = same.saturating_sub(40);
        let shown: String = text.chars().skip(from).take(100).collect();
        let is_whole = from == 0 && shown.len() == text.len();
        if is_whole { shown } else { format!("…{shown}…") }
    };
    (part(one), part(other))
}

/// By their texts without numbers: ports, lines, times and ids differ from run to run. What Chrome says of a resource that
/// did not load is about a request, and left out where that is.
fn errors<'a>(side: Side, trace: &'a StepTrace, likeness: &Likeness) -> BTreeMap<String, &'a str> {
    let plain = |text: &str| text.split(|c: char| c.is_ascii_digit()).collect::<String>();
    let keyed = |error: &'a String| {
        let key = match unloaded(error) {
            Some((text, url)) => format!("{} {}", plain(text), likeness.resource(side, url)?),
            None => plain(error),
        };
        Some((key, error.as_str()))
    };
    trace.console_errors.iter().filter_map(keyed).collect()
}

/// The parts of Chrome's message about a resource: what happened, and the URL.
fn unloaded(error: &str) -> Option<(&str, &str)> {
    let (text, url) = error.strip_suffix(')')?.rsplit_once(" (")?;
    text.starts_with("Failed to load resource").then_some((text, url))
}

fn apart(was: &BTreeMap<String, &str>, is: &BTreeMap<String, &str>) -> (Vec<String>, Vec<String>) {
    let only = |a: &BTreeMap<String, &str>, b: &BTreeMap<String, &str>| {
        a.iter().filter(|(key, _)| !b.contains_key(*key)).map(|(_, text)| (*text).to_owned()).collect()
    };
    (only(was, is), only(is, was))
}

/// Kinds of the differences in requests and bodies of steps, one by one.
#[cfg(test)]
pub(super) fn differences_of(then: &[StepTrace], now: &[StepTrace], likeness: &Likeness) -> Vec<DivergenceKind> {
    let found = then.iter().zip(now).flat_map(|(then, now)| {
        let pair =
            Pair { number: 1, words: String::new(), recorded: Some(then), replayed: None, trace: Some(now.clone()) };
        let own = pair.traffic(likeness);
        pair.requests(&own, &[&own]).into_iter().chain(pair.bodies(then, now, likeness)).collect::<Vec<_>>()
    });
    found.map(|divergence| divergence.kind).collect()
}
