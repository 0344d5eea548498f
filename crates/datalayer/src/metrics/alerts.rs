//! Alerts: rules on the rates of the latest runs, and the state that says which of them are broken.
//!
//! Invariants:
//! - Pure: files, clocks and messages are the caller's.
//! - An alert waits in the state to be delivered once when it begins, and once when it has recovered. As the state is a
//!   document, that holds across restarts.
//! - The state is bounded: numbers of the latest 500 runs, and the names of the folders that exist.

use std::collections::{BTreeMap, BTreeSet};

use cuebook_grammar::record::{CasePart, RunHeader};
use serde::{Deserialize, Serialize};
use thiserror::Error;
use toml::Spanned;

use super::collect::Collector;
use super::group::By;
use super::summary::{Measure, Rate, Summary, share};
use crate::log::Entry;

/// How many runs are kept, the latest.
const KEPT: usize = 500;
/// The most runs that a rule may look back on, so that as many are left to compare with.
const MAX_LAST: usize = 200;
/// Runs that a rule looks back on by default, and how many of them it needs.
const LAST: usize = 20;
const MIN_RUNS: usize = 5;
/// How many folders of runs an alert names.
const EVIDENCE: usize = 10;
const VERSION: u32 = 1;
const KEYS: [&str; 9] = ["rule", "name", "rate", "min", "max", "drop", "last", "min_runs", "by"];

/// Rules of a file, in its order.
#[derive(Clone, Debug, PartialEq)]
pub struct Rules(Vec<Rule>);

/// A limit on one rate over the latest runs.
#[derive(Clone, Debug, PartialEq)]
struct Rule {
    name: String,
    rate: &'static str,
    measure: Measure,
    limit: Limit,
    last: usize,
    min_runs: usize,
    by: Option<By>,
}

/// Limit of a rate: a share from 0 to 1, or milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Limit {
    /// The rate is at least this.
    Min(f64),
    /// The rate is at most this.
    Max(f64),
    /// How much worse than in the runs before it may be: for shares the difference, for latencies a share of the value.
    Drop(f64),
}

/// A file of rules with a mistake.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("line {line}: {message}")]
pub struct BadRules {
    /// 1-based number of the line.
    pub line: usize,
    /// Expected and seen text, and the nearest known name.
    pub message: String,
}

/// A state that cannot be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum BadState {
    /// The text is no state.
    #[error("the state is damaged: {0}")]
    Damaged(#[from] serde_json::Error),
    /// Another version wrote it.
    #[error("the state is of version {0}, and version {VERSION} is read")]
    Version(u32),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRules {
    #[serde(default, rename = "rule")]
    rules: Vec<Spanned<RawRule>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRule {
    name: String,
    rate: Spanned<String>,
    min: Option<f64>,
    max: Option<f64>,
    drop: Option<f64>,
    last: Option<usize>,
    min_runs: Option<usize>,
    by: Option<Spanned<String>>,
}

impl Rules {
    /// Reads the rules of a TOML file.
    ///
    /// # Errors
    /// [`BadRules`] for unknown keys, rates and groups, limits out of range, a name that is taken, and a file without
    /// rules.
    pub fn parse(text: &str) -> Result<Self, BadRules> {
        let at = |offset: usize, message: String| {
            let line = text.bytes().take(offset).filter(|byte| *byte == b'\n').count() + 1;
            BadRules { line, message }
        };
        let raw: RawRules = toml::from_str(text).map_err(|error| {
            let span = error.span().unwrap_or_default();
            let key = text.get(span.clone()).unwrap_or_default();
            let is_key = error.message().starts_with("unknown field");
            let message = if is_key { unknown("key", key, &KEYS) } else { error.message().to_owned() };
            at(span.start, message)
        })?;
        let mut rules: Vec<Rule> = Vec::new();
        for raw in raw.rules {
            let start = raw.span().start;
            let rule = raw.into_inner().checked(start).map_err(|(offset, message)| at(offset, message))?;
            if rules.iter().any(|other| other.name == rule.name) {
                return Err(at(start, format!("two rules have the name {:?}", rule.name)));
            }
            rules.push(rule);
        }
        if rules.is_empty() {
            return Err(at(0, "expected a rule, such as [[rule]] with name, rate and min".to_owned()));
        }
        Ok(Self(rules))
    }

    /// The rules as alerting rules of Prometheus, in YAML, on the metrics of `stats --prometheus`. There the runs are
    /// those that its files count, and `drop` compares with the day before.
    #[must_use]
    pub fn to_prometheus(&self) -> String {
        // A string of JSON is one of YAML.
        let quoted = |text: &str| serde_json::Value::from(text).to_string();
        let rule = |rule: &Rule| {
            let labels = match rule.by {
                Some(by) => format!("{}!=\"\"", by.name()),
                None => By::ALL.map(|by| format!("{}=\"\"", by.name())).join(","),
            };
            let metric = match rule.rate {
                "postconditions.latencyMs.p90" => {
                    format!("cuebook_postcondition_milliseconds{{quantile=\"0.9\",{labels}}}")
                }
                "steps.durationMs.p90" => format!("cuebook_step_milliseconds{{quantile=\"0.9\",{labels}}}"),
                rate => format!("cuebook_rate_ratio{{rate=\"{rate}\",{labels}}}"),
            };
            let judged = match (rule.limit, rule.measure) {
                (Limit::Min(limit), _) => format!("{metric} < {limit}"),
                (Limit::Max(limit), _) => format!("{metric} > {limit}"),
                (Limit::Drop(by), Measure::Successes) => format!("{metric} < ({metric} offset 1d) - {by}"),
                (Limit::Drop(by), Measure::Failures) => format!("{metric} > ({metric} offset 1d) + {by}"),
                (Limit::Drop(by), Measure::Milliseconds) => format!("{metric} > ({metric} offset 1d) * {}", 1.0 + by),
            };
            let by = rule.by.map_or("", By::name);
            let enough = format!("and on({by}) (sum by({by}) (cuebook_runs{{{labels}}}) >= {})", rule.min_runs);
            let summary = format!("{} is {{{{ $value }}}}", rule.rate);
            format!(
                "      - alert: {}\n        expr: {}\n        annotations:\n          summary: {}\n",
                quoted(&rule.name),
                quoted(&format!("{judged} {enough}")),
                quoted(&summary)
            )
        };
        format!("groups:\n  - name: cuebook\n    rules:\n{}", self.0.iter().map(rule).collect::<String>())
    }
}

impl RawRule {
    /// The rule, or where it is wrong and how.
    fn checked(self, start: usize) -> Result<Rule, (usize, String)> {
        let wrong = |message: String| Err((start, message));
        let rates = Summary::default().rates();
        let Some(rate) = rates.iter().find(|rate| rate.name == self.rate.get_ref()) else {
            let names = rates.map(|rate| rate.name);
            return Err((self.rate.span().start, unknown("rate", self.rate.get_ref(), &names)));
        };
        let by = match &self.by {
            None => None,
            Some(by) => match [By::Site, By::Task].into_iter().find(|known| known.name() == by.get_ref()) {
                Some(known) => Some(known),
                None => return Err((by.span().start, unknown("group", by.get_ref(), &["site", "task"]))),
            },
        };
        if self.name.trim().is_empty() || self.name.chars().count() > 100 {
            return wrong("expected a name of 1 to 100 characters".to_owned());
        }
        let limit = match (self.min, self.max, self.drop) {
            (Some(min), None, None) => Limit::Min(min),
            (None, Some(max), None) => Limit::Max(max),
            (None, None, Some(drop)) => Limit::Drop(drop),
            _ => return wrong(format!("rule {:?}: expected one of `min`, `max` and `drop`", self.name)),
        };
        let (Limit::Min(number) | Limit::Max(number) | Limit::Drop(number)) = limit;
        let most = if rate.measure == Measure::Milliseconds { f64::MAX } else { 1.0 };
        if !(0.0..=most).contains(&number) {
            let unit = if rate.measure == Measure::Milliseconds { "0 or more" } else { "from 0 to 1" };
            return wrong(format!("rule {:?}: {number} is no limit {unit} for {}", self.name, rate.name));
        }
        let last = self.last.unwrap_or(LAST);
        let min_runs = self.min_runs.unwrap_or(MIN_RUNS.min(last));
        if !(1..=MAX_LAST).contains(&last) || !(1..=last).contains(&min_runs) {
            let expected = format!("expected 1 <= min_runs <= last <= {MAX_LAST}");
            return wrong(format!("rule {:?}: {expected}, saw min_runs = {min_runs}, last = {last}", self.name));
        }
        Ok(Rule { name: self.name, rate: rate.name, measure: rate.measure, limit, last, min_runs, by })
    }
}

fn unknown(kind: &str, seen: &str, known: &[&str]) -> String {
    let likeness = |name: &&&str| strsim::jaro_winkler(name, seen);
    let nearest = known.iter().max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
    let nearest = nearest.map_or_else(String::new, |name| format!(", the nearest is `{name}`"));
    let seen: String = seen.chars().take(100).collect();
    format!("unknown {kind} {seen:?}{nearest}; known: {}", known.join(", "))
}

impl Rule {
    fn is_broken(&self, now: f64, before: Option<f64>) -> bool {
        // Sums of decimal fractions are not exact.
        const ROUNDING: f64 = 1e-9;
        match (self.limit, self.measure) {
            (Limit::Min(limit), _) => now < limit - ROUNDING,
            (Limit::Max(limit), _) => now > limit + ROUNDING,
            (Limit::Drop(by), measure) => before.is_some_and(|before| match measure {
                Measure::Successes => now < before - by - ROUNDING,
                Measure::Failures => now > before + by + ROUNDING,
                Measure::Milliseconds => now > before * (1.0 + by) + ROUNDING,
            }),
        }
    }

    /// The rate over these runs, and the number of things that it counts.
    fn value(&self, runs: &[&RunFacts]) -> (Option<f64>, u64) {
        if self.measure != Measure::Milliseconds {
            let counted = runs.iter().filter_map(|run| run.shares.get(self.rate));
            let (part, of) =
                counted.fold((0_u64, 0_u64), |(part, of), one| (part.saturating_add(one.0), of.saturating_add(one.1)));
            return (share(part, of), of);
        }
        let mut times: BTreeMap<u64, u64> = BTreeMap::new();
        runs.iter().filter_map(|run| run.times.get(self.rate)).for_each(|more| add_all(&mut times, more));
        let count: u64 = times.values().fold(0, |sum, one| sum.saturating_add(*one));
        let mut below = 0_u64;
        let p90 = times.iter().find(|(_, count_at)| {
            below = below.saturating_add(**count_at);
            u128::from(below) * 10 >= u128::from(count) * 9
        });
        (p90.and_then(|(value, _)| share(*value, 1)), count)
    }

    /// The folders of these runs that are worst by the rate, and of equal ones the latest.
    fn evidence(&self, runs: &[&RunFacts]) -> Vec<String> {
        let worse = |run: &&RunFacts| {
            let value = self.value(&[run]).0.unwrap_or_default();
            if self.measure == Measure::Successes { -value } else { value }
        };
        let mut runs: Vec<&RunFacts> = runs.iter().rev().copied().collect();
        runs.sort_by(|a, b| worse(b).total_cmp(&worse(a)));
        runs.into_iter().take(EVIDENCE).map(|run| run.folder.clone()).collect()
    }
}

/// Numbers of one run that rules judge.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunFacts {
    folder: String,
    started_ms: u64,
    site: String,
    task: String,
    /// The case that it is a part of, its attempt and part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    case: Option<(String, u32, CasePart)>,
    /// By rate: what the share counts, and of how many.
    shares: BTreeMap<String, (u64, u64)>,
    /// By rate: how often each latency occurred, to two digits.
    times: BTreeMap<String, BTreeMap<u64, u64>>,
    #[serde(skip)]
    has_end: bool,
}

impl RunFacts {
    /// Reads a log. An error of `entries` comes with what stands before it, as a run that was cut off.
    pub fn read<E>(folder: &str, entries: impl IntoIterator<Item = Result<Entry, E>>) -> (Self, Result<(), E>) {
        let mut header: Option<RunHeader> = None;
        let mut has_end = false;
        let mut collector = Collector::default();
        let read = collector.add_run(entries.into_iter().inspect(|entry| match entry {
            Ok(Entry::Header(found)) => header = Some((**found).clone()),
            Ok(Entry::End(_)) => has_end = true,
            _ => {}
        }));
        let summary = collector.summary();
        let of_share = |rate: Rate| (rate.name.to_owned(), (rate.amount, rate.count));
        let is_share = |rate: &Rate| rate.measure != Measure::Milliseconds && rate.count > 0;
        let shares = summary.rates().into_iter().filter(is_share).map(of_share).collect();
        let case = header.as_ref().and_then(|header| header.case.as_ref());
        let mut times: BTreeMap<String, BTreeMap<u64, u64>> = BTreeMap::new();
        let counted = [
            ("postconditions.latencyMs.p90", collector.latency.counted().collect::<Vec<_>>()),
            ("steps.durationMs.p90", collector.took.counted().collect()),
        ];
        for (rate, values) in counted {
            for (value, count) in values {
                *times.entry(rate.to_owned()).or_default().entry(two_digits(value)).or_default() += count;
            }
        }
        let group = |by: By| header.as_ref().map_or_else(|| super::group::NONE.to_owned(), |header| by.group(header));
        let facts = Self {
            folder: folder.to_owned(),
            started_ms: header.as_ref().map_or(0, |header| header.ts_ms),
            site: group(By::Site),
            task: group(By::Task),
            case: case.map(|case| (case.id.as_str().to_owned(), case.attempt, case.part)),
            shares,
            times,
            has_end,
        };
        (facts, read)
    }

    /// Returns `true` if the log has its last entry.
    #[must_use]
    pub const fn has_end(&self) -> bool {
        self.has_end
    }

    fn group(&self, by: Option<By>) -> Option<&str> {
        match by? {
            By::Site => Some(&self.site),
            By::Task | By::Day => Some(&self.task),
        }
    }

    /// Adds another run of the same case. The later one says how it ended.
    fn merge(&mut self, other: Self) {
        let order =
            |facts: &Self| facts.case.as_ref().map(|(_, attempt, part)| (*attempt, *part == CasePart::Expectations));
        let is_later = order(&other) >= order(self);
        let (later, earlier) = if is_later { (other, self.clone()) } else { (self.clone(), other) };
        *self = Self { started_ms: later.started_ms.min(earlier.started_ms), ..later };
        for (rate, (part, of)) in earlier.shares.into_iter().filter(|(rate, _)| rate != "runs.successRate") {
            let sum = self.shares.entry(rate).or_default();
            *sum = (sum.0.saturating_add(part), sum.1.saturating_add(of));
        }
        for (rate, times) in earlier.times {
            add_all(self.times.entry(rate).or_default(), &times);
        }
    }
}

fn add_all(times: &mut BTreeMap<u64, u64>, more: &BTreeMap<u64, u64>) {
    for (value, count) in more {
        let sum = times.entry(*value).or_default();
        *sum = sum.saturating_add(*count);
    }
}

/// Rounds down to two significant digits, which bounds how many different values there are.
fn two_digits(value: u64) -> u64 {
    let unit = 10_u64.pow(value.checked_ilog10().unwrap_or_default().saturating_sub(1));
    value / unit * unit
}

/// Says that a rule is broken, or that it no longer is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Alert {
    /// Name of the rule.
    pub rule: String,
    /// `false` once it has recovered.
    pub active: bool,
    /// The rate, as a summary names it.
    pub rate: String,
    /// Its unit, and which direction is worse.
    pub measure: Measure,
    /// The site or task; absent if the rule judges all runs together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Limit that the rate must keep to.
    pub limit: Limit,
    /// The rate at present; absent if no run of the group is left.
    pub now: Option<f64>,
    /// The rate in the runs before, as it was when the alert began; absent if there were too few.
    pub before: Option<f64>,
    /// Number of runs at present.
    pub runs: usize,
    /// Number of things that `now` counts.
    pub count: u64,
    /// When it began: milliseconds since 1970.
    pub since_ms: u64,
    /// When this was found: milliseconds since 1970.
    pub at_ms: u64,
    /// Folders of the runs at present that are worst by the rate, at most ten.
    pub evidence: Vec<String>,
    /// Reason why it ended, if not by a rate that keeps to the limit again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub withdrawn: Option<String>,
}

/// An alert that is still to be delivered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Pending {
    /// The alert to be delivered.
    pub alert: Alert,
    /// `true` once the command has taken it, if there is another place to deliver it to.
    pub executed: bool,
}

/// Knowledge of runs and alerts from one look to the next.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AlertState {
    version: u32,
    /// Folders of runs that were read.
    read: BTreeSet<String>,
    /// The latest, by their start.
    runs: Vec<RunFacts>,
    active: Vec<Alert>,
    /// Alerts to deliver, the oldest first.
    pub pending: Vec<Pending>,
}

impl Default for AlertState {
    fn default() -> Self {
        Self { version: VERSION, read: BTreeSet::new(), runs: Vec::new(), active: Vec::new(), pending: Vec::new() }
    }
}

impl AlertState {
    /// Reads what [`Self::to_json`] wrote.
    ///
    /// # Errors
    /// [`BadState`]
    pub fn from_json(text: &str) -> Result<Self, BadState> {
        #[derive(Deserialize)]
        struct Versioned {
            version: u32,
        }
        match serde_json::from_str::<Versioned>(text)?.version {
            VERSION => Ok(serde_json::from_str(text)?),
            other => Err(BadState::Version(other)),
        }
    }

    /// The state as a document.
    ///
    /// # Errors
    /// None for states that this type makes.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string(self)
    }

    /// Returns `true` if the run of this folder was added.
    #[must_use]
    pub fn has_read(&self, folder: &str) -> bool {
        self.read.contains(folder)
    }

    /// Forgets which runs were read where their folders are gone.
    pub fn retain_read(&mut self, exists: impl Fn(&str) -> bool) {
        self.read.retain(|folder| exists(folder));
    }

    /// Adds a run that has ended. One that was added changes nothing.
    pub fn add(&mut self, facts: RunFacts) {
        if !self.read.insert(facts.folder.clone()) {
            return;
        }
        let id = |facts: &RunFacts| facts.case.as_ref().map(|(id, ..)| id.clone());
        match self.runs.iter_mut().find(|known| id(known).is_some() && id(known) == id(&facts)) {
            Some(known) => known.merge(facts),
            None => self.runs.push(facts),
        }
        self.runs.sort_by(|a, b| (a.started_ms, &a.folder).cmp(&(b.started_ms, &b.folder)));
        self.runs.drain(..self.runs.len().saturating_sub(KEPT));
    }

    /// Alerts that began and have not recovered.
    #[must_use]
    pub fn active(&self) -> &[Alert] {
        &self.active
    }

    /// Judges the runs, and adds what begins and what has recovered to those that are to be delivered. While an alert
    /// is active, `drop` compares with what was before it began. Alerts of rules that are gone are withdrawn.
    pub fn judge(&mut self, rules: &Rules, now_ms: u64) {
        let mut were = std::mem::take(&mut self.active);
        let mut said = Vec::new();
        for rule in &rules.0 {
            let is_counted = |run: &&RunFacts| run.shares.contains_key(rule.rate) || run.times.contains_key(rule.rate);
            let mut groups: BTreeMap<Option<String>, Vec<&RunFacts>> = BTreeMap::new();
            for alert in were.iter().filter(|alert| alert.rule == rule.name && alert.rate == rule.rate) {
                groups.entry(alert.group.clone()).or_default();
            }
            for run in self.runs.iter().filter(is_counted) {
                groups.entry(run.group(rule.by).map(str::to_owned)).or_default().push(run);
            }
            for (group, runs) in groups {
                let is_same =
                    |alert: &Alert| alert.rule == rule.name && alert.rate == rule.rate && alert.group == group;
                let was = were.iter().position(is_same).map(|at| were.swap_remove(at));
                let (former, latest) = runs.split_at(runs.len().saturating_sub(rule.last));
                let value = |runs: &[&RunFacts]| {
                    if runs.len() >= rule.min_runs { rule.value(runs) } else { (None, 0) }
                };
                let (now, count) = value(latest);
                let before = was.as_ref().map_or_else(|| value(former).0, |was| was.before);
                let is_broken = match now {
                    Some(now) => rule.is_broken(now, before),
                    // Too few runs say nothing; none at all end it.
                    None => was.is_some() && !runs.is_empty(),
                };
                let since_ms = was.as_ref().map_or(now_ms, |was| was.since_ms);
                let alert = Alert {
                    rule: rule.name.clone(),
                    active: is_broken,
                    rate: rule.rate.to_owned(),
                    measure: rule.measure,
                    group,
                    limit: rule.limit,
                    now,
                    before,
                    runs: latest.len(),
                    count,
                    since_ms,
                    at_ms: now_ms,
                    evidence: rule.evidence(latest),
                    withdrawn: None,
                };
                if is_broken != was.is_some() {
                    said.push(Pending { alert: alert.clone(), executed: false });
                }
                self.active.extend(was.filter(|_| is_broken).or_else(|| is_broken.then_some(alert)));
            }
        }
        said.extend(were.into_iter().map(|was| {
            let why = match rules.0.iter().find(|rule| rule.name == was.rule) {
                Some(rule) => format!("the rule now judges {}", rule.rate),
                None => "the rules no longer have this rule".to_owned(),
            };
            let (evidence, withdrawn) = (Vec::new(), Some(why));
            let alert =
                Alert { active: false, now: None, runs: 0, count: 0, at_ms: now_ms, evidence, withdrawn, ..was };
            Pending { alert, executed: false }
        }));
        self.pending.extend(said);
    }
}

#[cfg(test)]
mod tests {
    use cuebook_grammar::record::RECORD_VERSION;
    use serde_json::json;

    use super::*;
    use crate::error::DataError;

    /// The log of a run of one step that took so long.
    fn log(
        run: &str,
        ts_ms: u64,
        result: &str,
        took_ms: u64,
        more: &serde_json::Value,
    ) -> Vec<Result<Entry, DataError>> {
        let mut header = json!({ "entry": "header", "schemaVersion": RECORD_VERSION, "runId": run, "tsMs": ts_ms,
            "cuebook": "0.1.0", "command": "run", "url": "https://shop.test/", "task": "buy" });
        header.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let step = json!({ "entry": "commit", "schemaVersion": RECORD_VERSION, "runId": run, "stepIndex": 0,
            "origin": "plan", "attempt": 1, "action": { "type": "click", "targetRef": "go" }, "url": "https://shop.test/",
            "candidates": { "go": { "declared": { "strategy": "css", "selector": "#go" } } }, "risk": "write",
            "effectClass": "reversible", "execution": { "tsMs": 2, "durationMs": took_ms }, "preCheck": [],
            "postCheck": [], "result": "ok" });
        let end = json!({ "entry": "end", "runId": run, "tsMs": ts_ms + 5, "result": result });
        [header, step, end].iter().filter_map(|line| Entry::read(line.to_string().as_bytes()).transpose()).collect()
    }

    /// Adds runs with these results, judges, and returns what there is to say.
    fn look(state: &mut AlertState, rules: &Rules, results: &[&str]) -> Vec<Alert> {
        for result in results {
            let at = state.read.len() as u64;
            let (facts, read) = RunFacts::read(&format!("r{at}"), log("r", at, result, 40, &json!({})));
            read.unwrap();
            state.add(facts);
        }
        state.judge(rules, 7);
        // Every look starts from the document, as after a restart.
        *state = AlertState::from_json(&state.to_json().unwrap()).unwrap();
        std::mem::take(&mut state.pending).into_iter().map(|pending| pending.alert).collect()
    }

    fn rules(limit: &str) -> Rules {
        Rules::parse(&format!(
            "[[rule]]\nname = \"ends\"\nrate = \"runs.successRate\"\nlast = 4\nmin_runs = 2\n{limit}"
        ))
        .unwrap()
    }

    #[test]
    fn an_alert_begins_once_and_recovers_once() {
        let (mut state, rules) = (AlertState::default(), rules("min = 0.75"));
        assert_eq!(look(&mut state, &rules, &["failed"]), [], "one run is too few");
        assert_eq!(look(&mut state, &rules, &["ok", "ok", "ok"]), [], "three of four");
        let begun = look(&mut state, &rules, &["ok", "failed", "failed"]);
        let [alert] = begun.as_slice() else { panic!("{begun:?}") };
        assert_eq!((alert.active, alert.now, alert.before), (true, Some(0.5), Some(2.0 / 3.0)));
        assert_eq!((alert.runs, alert.count, alert.limit), (4, 4, Limit::Min(0.75)));
        assert_eq!(alert.evidence, ["r6", "r5", "r4", "r3"], "those that failed first");
        assert_eq!(look(&mut state, &rules, &[]), [], "it is said once");
        assert_eq!(look(&mut state, &rules, &["failed"]), []);
        assert_eq!(state.active().len(), 1);
        let ended = look(&mut state, &rules, &["ok", "ok", "ok"]);
        assert_eq!(ended.iter().map(|alert| (alert.active, alert.now)).collect::<Vec<_>>(), [(false, Some(0.75))]);
        assert_eq!((look(&mut state, &rules, &[]), state.active().len()), (vec![], 0));
    }

    #[test]
    fn a_drop_is_measured_against_what_was_before_it_began() {
        let (mut state, rules) = (AlertState::default(), rules("drop = 0.3"));
        assert_eq!(look(&mut state, &rules, &["ok"; 8]), []);
        let begun = look(&mut state, &rules, &["failed"; 4]);
        assert_eq!(begun.iter().map(|alert| (alert.now, alert.before)).collect::<Vec<_>>(), [(Some(0.0), Some(1.0))]);
        assert_eq!(look(&mut state, &rules, &["failed"; 20]), [], "it does not recover by getting used to it");
        assert_eq!(look(&mut state, &rules, &["ok"; 4]).len(), 1);
    }

    #[test]
    fn an_alert_of_a_rule_that_is_gone_is_withdrawn_once() {
        let (mut state, mine) = (AlertState::default(), rules("min = 0.75"));
        assert_eq!(look(&mut state, &mine, &["failed", "failed"]).len(), 1);
        let rule = |name: &str, rate: &str| {
            Rules::parse(&format!("[[rule]]\nname = \"{name}\"\nrate = \"{rate}\"\nmin = 0.1")).unwrap()
        };
        let mut other = state.clone();
        for (state, rules, why) in [
            (&mut state, rule("else", "plans.validity"), "no longer have this rule"),
            (&mut other, rule("ends", "plans.validity"), "now judges plans.validity"),
        ] {
            let ended = look(state, &rules, &[]);
            let [alert] = ended.as_slice() else { panic!("{ended:?}") };
            assert_eq!((alert.active, alert.rate.as_str(), alert.limit), (false, "runs.successRate", Limit::Min(0.75)));
            assert!(alert.withdrawn.as_ref().unwrap().contains(why), "{alert:?}");
            assert_eq!((look(state, &rules, &[]), state.active().len()), (vec![], 0), "it is said once");
        }
    }

    #[test]
    fn latencies_are_judged_for_each_site() {
        let text = "[[rule]]\nname = \"slow\"\nrate = \"steps.durationMs.p90\"\nmax = 500\nmin_runs = 1\nby = \"site\"";
        let (mut state, rules) = (AlertState::default(), Rules::parse(text).unwrap());
        for (at, (site, took)) in [("a", 100), ("b", 900), ("a", 120), ("b", 1234)].into_iter().enumerate() {
            let url = json!({ "url": format!("https://{site}.test/x") });
            state.add(RunFacts::read(&format!("r{at}"), log("r", at as u64, "ok", took, &url)).0);
        }
        state.judge(&rules, 7);
        let said: Vec<_> = state.pending.iter().map(|one| (one.alert.group.as_deref(), one.alert.now)).collect();
        assert_eq!(said, [(Some("https://b.test"), Some(1200.0))]);
    }

    #[test]
    fn a_case_is_judged_by_its_last_expectations() {
        let mut state = AlertState::default();
        let mut add = |at: u64, attempt: u32, part: &str, result: &str| {
            let case = json!({ "case": { "id": "c", "suite": "s", "name": "n", "attempt": attempt, "part": part } });
            state.add(RunFacts::read(&format!("r{at}"), log("r", at, result, 40, &case)).0);
            state.runs.iter().map(|run| run.shares.get("runs.successRate").copied()).collect::<Vec<_>>()
        };
        assert_eq!(add(1, 1, "steps", "ok"), [Some((0, 1))], "its expectations were never judged");
        assert_eq!(add(2, 1, "expectations", "failed"), [Some((0, 1))]);
        assert_eq!(add(4, 2, "expectations", "ok"), [Some((1, 1))]);
        assert_eq!(add(3, 2, "steps", "ok"), [Some((1, 1))], "whatever the order");
    }

    #[test]
    fn mistakes_in_rules_are_named_with_their_line() {
        let rule = "[[rule]]\nname = \"a\"\nrate = \"plans.validity\"\n";
        for (text, line, said) in [
            ("[[rule]]\nname = \"a\"\nrat = \"x\"\n".to_owned(), 3, "the nearest is `rate`"),
            (rule.replace("validity", "valid"), 3, "the nearest is `plans.validity`"),
            (format!("{rule}min = 0.5\nmax = 1"), 1, "one of `min`, `max` and `drop`"),
            (format!("{rule}min = 90"), 1, "from 0 to 1"),
            (format!("{rule}min = 0.9\nby = \"day\""), 5, "site, task"),
            (format!("{rule}min = 0.9\nlast = 201"), 1, "last <= 200"),
            (format!("{rule}min = 0.9\n{rule}max = 1"), 5, "two rules"),
            (String::new(), 1, "[[rule]]"),
            ("[[rule]]\nname = ".to_owned(), 2, ""),
        ] {
            let error = Rules::parse(&text).unwrap_err();
            assert!(error.line == line && error.message.contains(said), "{text}: {error}");
        }
    }

    #[test]
    fn a_damaged_state_is_an_error() {
        assert!(matches!(AlertState::from_json("{\"version\":1,"), Err(BadState::Damaged(_))));
        assert!(matches!(AlertState::from_json("{\"version\":1}"), Err(BadState::Damaged(_))));
        assert!(matches!(AlertState::from_json("{\"version\":2}"), Err(BadState::Version(2))));
    }

    #[test]
    fn prometheus_gets_the_same_rules() {
        let text = "[[rule]]\nname = \"a \\\"b\\\"\"\nrate = \"steps.durationMs.p90\"\ndrop = 0.5\nby = \"site\"";
        let yaml = Rules::parse(text).unwrap().to_prometheus();
        let metric = r#"cuebook_step_milliseconds{quantile=\"0.9\",site!=\"\"}"#;
        let enough = r#"and on(site) (sum by(site) (cuebook_runs{site!=\"\"}) >= 5)"#;
        assert!(yaml.contains(&format!("expr: \"{metric} > ({metric} offset 1d) * 1.5 {enough}\"\n")), "{yaml}");
        assert!(yaml.contains(r#"- alert: "a \"b\"""#), "{yaml}");
        let yaml = rules("min = 0.75").to_prometheus();
        let plain = r#"cuebook_rate_ratio{rate=\"runs.successRate\",day=\"\",site=\"\",task=\"\"} < 0.75 and on()"#;
        assert!(yaml.contains(plain), "{yaml}");
    }
}
