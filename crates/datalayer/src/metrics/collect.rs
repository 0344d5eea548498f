//! Counts the numbers of a `Summary` from the entries of logs.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use cuebook_grammar::facts::RequestFact;
use cuebook_grammar::id::RunId;
use cuebook_grammar::outcome::Stage;
use cuebook_grammar::planning::{CallEnd, PlanningCall};
use cuebook_grammar::record::{CasePart, LoggedEvent, RunHeader, StepOrigin, StepRecord, StepResult};
use cuebook_grammar::render::cut;
use cuebook_grammar::report::RunResult;
use hdrhistogram::Histogram;

use super::summary::{
    Cost, FailedRun, FailedStep, Mixed, ModelUse, Plans, Postconditions, Preconditions, Quantiles, Repairs, RunLine,
    Runs, Slow, Steps, Summary, Verb, share,
};
use crate::in_words;
use crate::log::Entry;

/// The most targets and the most conditions that are told apart. Further ones are not counted for flakiness.
const APART: usize = 10_000;
/// The most steps and the most addresses of which durations are kept.
const TIMED: usize = 1_000;
/// How many things of a kind are named.
const NAMED: usize = 20;
/// How many models are told apart.
const MODELS: usize = 50;
/// How many runs of one thing are named.
const RUNS: usize = 5;
/// How many runs have a line, the latest.
const LINES: usize = 500;

/// Takes runs, and says what they come to. A test case that was carried out is one of them, however many runs it took:
/// it ended well if the expectations of its last attempt did.
///
/// ```
/// use cuebook_datalayer::metrics::Collector;
/// use cuebook_datalayer::{Entries, RunDir};
///
/// # fn stats(paths: &[std::path::PathBuf]) -> Result<(), cuebook_datalayer::DataError> {
/// let mut collector = Collector::default();
/// for run in RunDir::find(paths)? {
///     collector.add_run(Entries::open(&run.log_path())?)?;
/// }
/// println!("{:?}", collector.summary().runs.success_rate);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Default)]
pub struct Collector {
    ends: Ends,
    /// By their first runs. In a folder their runs may lie between others.
    cases: BTreeMap<RunId, CaseEnd>,
    plans: Plans,
    preconditions: Preconditions,
    repairs: Repairs,
    postconditions: Postconditions,
    depth: Distribution,
    pub(super) latency: Distribution,
    /// Durations of all attempts.
    pub(super) took: Distribution,
    verbs: BTreeMap<&'static str, (u64, u64, Distribution)>,
    causes: BTreeMap<String, u64>,
    targets: BTreeMap<String, Tally>,
    conditions: BTreeMap<String, Tally>,
    /// By cause and step.
    failures: BTreeMap<(String, String), Tally>,
    steps: BTreeMap<String, Times>,
    endpoints: BTreeMap<String, Times>,
    lines: VecDeque<RunLine>,
    models: BTreeMap<String, ModelUse>,
    read_as_markdown: u64,
}

/// How runs and cases ended.
#[derive(Clone, Debug, Default)]
struct Ends {
    runs: Runs,
    success: [Distribution; 3],
    failed: Vec<FailedRun>,
}

/// How a run or a case ended, and what it took.
#[derive(Clone, Debug)]
struct End {
    run: String,
    /// `None` where it was cut off.
    result: Option<RunResult>,
    duration_ms: u64,
    tokens: u64,
    attempts: u64,
    failure: Option<(u32, String, String)>,
}

/// A case as far as its runs were added.
#[derive(Debug)]
struct CaseEnd {
    /// The attempt and the part that came last.
    last: (u32, CasePart),
    end: End,
}

impl CaseEnd {
    /// Adds a run to what the others took; the last one says how the case ended.
    fn add(&mut self, at: (u32, CasePart), end: End) {
        let is_later = (at.0, at.1 == CasePart::Expectations) >= (self.last.0, self.last.1 == CasePart::Expectations);
        let (mut later, other) = if is_later { (end, &self.end) } else { (self.end.clone(), &end) };
        later.duration_ms = later.duration_ms.saturating_add(other.duration_ms);
        later.tokens = later.tokens.saturating_add(other.tokens);
        later.attempts = later.attempts.saturating_add(other.attempts);
        self.end = later;
        self.last = if is_later { at } else { self.last };
    }

    /// How the case ended. One whose expectations were not judged did not end well.
    fn ended(&self) -> End {
        let mut end = self.end.clone();
        if self.last.1 == CasePart::Steps && end.result == Some(RunResult::Ok) {
            end.result = Some(RunResult::Failed);
            let message =
                "the expectations of the case were not judged: its steps cannot be replayed, or it was stopped";
            end.failure = Some((0, String::new(), message.to_owned()));
        }
        end
    }
}

impl Ends {
    fn add(&mut self, end: End) {
        self.runs.total += 1;
        let counter = match end.result {
            Some(RunResult::Ok) => &mut self.runs.ok,
            Some(RunResult::Failed) => &mut self.runs.failed,
            Some(RunResult::Blocked) => &mut self.runs.blocked,
            Some(RunResult::Invalid) => &mut self.runs.invalid,
            Some(RunResult::Error) => &mut self.runs.error,
            Some(RunResult::Unproven) => &mut self.runs.unproven,
            Some(RunResult::Interrupted) => &mut self.runs.interrupted,
            None => &mut self.runs.cut_off,
        };
        *counter += 1;
        if end.result == Some(RunResult::Ok) {
            let values = [end.duration_ms, end.tokens, end.attempts];
            for (distribution, value) in self.success.iter_mut().zip(values) {
                distribution.add(value);
            }
        } else if self.failed.len() < NAMED {
            let (step_index, cause, message) = match end.failure {
                Some((_, cause, message)) if cause.is_empty() => (None, None, Some(message)),
                Some((index, cause, message)) => (Some(index), Some(cause), Some(message)),
                None => (None, None, None),
            };
            self.failed.push(FailedRun { run_id: end.run, result: name_of(end.result), step_index, cause, message });
        }
    }
}

fn name_of(result: Option<RunResult>) -> String {
    let result = result.and_then(|result| serde_json::to_value(result).ok());
    result.as_ref().and_then(serde_json::Value::as_str).unwrap_or("cutOff").to_owned()
}

/// How often something went well and did not.
#[derive(Debug, Default)]
struct Tally {
    ok: u64,
    failed: u64,
    /// Where it did not.
    runs: Vec<String>,
}

/// How long something takes.
#[derive(Debug, Default)]
struct Times {
    failed: u64,
    took: Distribution<2>,
    slowest: (u64, String),
}

/// State of the run that is being read.
#[derive(Default)]
struct Current {
    header: Option<RunHeader>,
    tokens: u64,
    attempts: u64,
    /// The step that failed and was not recovered so far, with the depth of its repairs.
    failing: Option<(u32, u64)>,
    last_failure: Option<(u32, String, String)>,
    /// Calls whose output was no valid plan, and calls of which a step ran.
    invalid: BTreeSet<u32>,
    began: BTreeSet<u32>,
}

impl Current {
    fn run(&self) -> &str {
        self.header.as_ref().map_or("", |header| header.run_id.as_str())
    }
}

impl Collector {
    /// Adds one run. A log that was cut off counts as such.
    ///
    /// # Errors
    /// The first error of `entries`. What came before it is counted, as a run that was cut off.
    pub fn add_run<E>(&mut self, entries: impl IntoIterator<Item = Result<Entry, E>>) -> Result<(), E> {
        let mut current = Current::default();
        for entry in entries {
            let entry = entry.inspect_err(|_| self.ended(&current, None))?;
            match entry {
                Entry::Header(header) => current.header = Some(*header),
                Entry::Planning(record) => {
                    current.tokens =
                        current.tokens.saturating_add(record.call.input_tokens + record.call.output_tokens);
                    self.add_call(&record.call);
                    match &record.call.end {
                        // No plan was asked for.
                        _ if !record.call.purpose.is_for_plan() => {}
                        CallEnd::Accepted => self.plans.valid += 1,
                        CallEnd::Invalid { violations } => {
                            self.plans.invalid += 1;
                            current.invalid.insert(record.planning_index);
                            let codes: BTreeSet<&str> = violations.iter().map(|one| one.code.as_str()).collect();
                            for code in codes {
                                *self.plans.violations.entry(code.to_owned()).or_default() += 1;
                            }
                        }
                        CallEnd::Failed { .. } => self.plans.failed += 1,
                    }
                }
                Entry::Event(record) => {
                    self.read_as_markdown += u64::from(matches!(record.event, LoggedEvent::ReadAsMarkdown { .. }));
                }
                Entry::Begin(_) | Entry::Observed(_) => {}
                // Steps of people say nothing of how well steps are carried out.
                Entry::Commit(record) if record.origin == StepOrigin::Person => {}
                Entry::Commit(record) => self.add_step(&record, &mut current),
                Entry::End(end) => {
                    self.ended(&current, Some((end.result, end.ts_ms)));
                    return Ok(());
                }
            }
        }
        self.ended(&current, None);
        Ok(())
    }

    fn add_call(&mut self, call: &PlanningCall) {
        self.plans.calls += 1;
        let model = cut(call.model.as_deref().unwrap_or_default(), 100);
        if self.models.len() >= MODELS && !self.models.contains_key(&model) {
            return;
        }
        let used = self.models.entry(model.clone()).or_insert_with(|| ModelUse { model, ..ModelUse::default() });
        used.calls += 1;
        used.input_tokens = used.input_tokens.saturating_add(call.input_tokens);
        used.output_tokens = used.output_tokens.saturating_add(call.output_tokens);
    }

    fn add_step(&mut self, record: &StepRecord, current: &mut Current) {
        let is_ok = record.result == StepResult::Ok;
        current.attempts += 1;
        current.began.extend(record.planning);
        let (attempts, failed, took) = self.verbs.entry(record.action.action.kind().meta().name).or_default();
        *attempts += 1;
        *failed += u64::from(!is_ok);
        took.add(record.execution.duration_ms);
        self.took.add(record.execution.duration_ms);
        let what = cut(&in_words::step(record), 200);
        time(&mut self.steps, what.clone(), current.run(), record.execution.duration_ms, !is_ok);
        for request in record.effects.iter().flat_map(|effects| &effects.requests) {
            if let Some(took) = request.duration_ms {
                time(&mut self.endpoints, endpoint(request), current.run(), took.into(), request.is_problem());
            }
        }
        if let Some(failure) = &record.failure {
            count(&mut self.failures, (failure.cause.as_str().to_owned(), what.clone()), false, current.run());
            *self.causes.entry(failure.cause.as_str().to_owned()).or_default() += 1;
            let message = cut(&failure.message, 300);
            current.last_failure = Some((record.step_index, failure.cause.as_str().to_owned(), message));
        }
        if record.attempt == 1 && record.origin != StepOrigin::Repair {
            self.repairs.steps += 1;
            if !record.pre_check.is_empty() {
                self.preconditions.steps += 1;
                self.preconditions.satisfied += u64::from(record.pre_check.iter().all(|judged| judged.verdict.holds()));
            }
            if !record.action.action.targets().is_empty() {
                count(&mut self.targets, what, is_ok, current.run());
            }
            current.failing = (!is_ok).then_some((record.step_index, 0));
            self.repairs.needed += u64::from(!is_ok);
        } else if let Some((failing, depth)) = &mut current.failing {
            *depth += 1;
            if *failing == record.step_index && is_ok {
                self.repairs.recovered += 1;
                self.depth.add(*depth);
                current.failing = None;
            }
        }
        let waited_in_vain = record.failure.as_ref().is_some_and(|failure| failure.stage == Stage::Postcondition);
        for judged in record.post_check.iter().filter(|judged| !judged.vacuous) {
            let holds = judged.verdict.holds();
            self.postconditions.stated += u64::from(!judged.default);
            self.postconditions.timed_out += u64::from(!judged.default && !holds && waited_in_vain);
            self.postconditions.judged += 1;
            self.postconditions.held += u64::from(holds);
            if let Some(latency) = judged.latency_ms.filter(|_| holds) {
                self.latency.add(u64::from(latency));
            }
            let what = judged.condition.in_words_naming(&|target| in_words::target(record, target));
            count(&mut self.conditions, cut(&what, 200), holds, current.run());
        }
    }

    fn ended(&mut self, current: &Current, end: Option<(RunResult, u64)>) {
        let header = current.header.as_ref();
        self.plans.refused_whole += current.invalid.difference(&current.began).count() as u64;
        let result = end.map(|(result, _)| result);
        let started_ms = header.map_or(0, |header| header.ts_ms);
        let duration_ms = end.map(|(_, end_ms)| end_ms.saturating_sub(started_ms));
        if self.lines.len() == LINES {
            self.lines.pop_front();
        }
        self.lines.push_back(RunLine {
            run_id: current.run().to_owned(),
            result: name_of(result),
            task: header.and_then(|header| header.task.as_deref()).map(|task| cut(task, 200)),
            title: header.map(|header| cut(&in_words::run(header), 200)),
            started_ms,
            duration_ms,
            attempts: current.attempts,
            tokens: current.tokens,
            cause: current.last_failure.as_ref().map(|(_, cause, _)| cause.clone()),
        });
        let end = End {
            run: current.run().to_owned(),
            result,
            duration_ms: duration_ms.unwrap_or(0),
            tokens: current.tokens,
            attempts: current.attempts,
            failure: current.last_failure.clone(),
        };
        let Some(case) = header.and_then(|header| header.case.as_ref()) else { return self.ends.add(end) };
        let at = (case.attempt, case.part);
        match self.cases.get_mut(&case.id) {
            Some(known) => known.add(at, end),
            None => drop(self.cases.insert(case.id.clone(), CaseEnd { last: at, end })),
        }
    }

    /// The latest 500 runs, in the order in which they were added.
    pub fn runs(&self) -> impl Iterator<Item = &RunLine> {
        self.lines.iter()
    }

    /// Returns the metrics of all runs so far.
    #[must_use]
    pub fn summary(&self) -> Summary {
        let mut ends = self.ends.clone();
        self.cases.values().for_each(|case| ends.add(case.ended()));
        let [duration, tokens, steps] = &ends.success;
        let mut verbs: Vec<Verb> = self
            .verbs
            .iter()
            .map(|(verb, (attempts, failed, took))| Verb {
                verb: (*verb).to_owned(),
                attempts: *attempts,
                failed: *failed,
                duration_ms: took.quantiles(),
            })
            .collect();
        verbs.sort_by_key(|verb| std::cmp::Reverse(verb.attempts));
        Summary {
            runs: Runs { success_rate: share(ends.runs.ok, ends.runs.total), ..ends.runs },
            plans: Plans {
                validity: share(self.plans.valid, self.plans.valid + self.plans.invalid),
                ..self.plans.clone()
            },
            preconditions: Preconditions {
                first_try_rate: share(self.preconditions.satisfied, self.preconditions.steps),
                ..self.preconditions.clone()
            },
            repairs: Repairs {
                rate: share(self.repairs.needed, self.repairs.steps),
                recovery_rate: share(self.repairs.recovered, self.repairs.needed),
                depth: self.depth.quantiles(),
                ..self.repairs.clone()
            },
            postconditions: Postconditions {
                rate: share(self.postconditions.held, self.postconditions.judged),
                timeout_rate: share(self.postconditions.timed_out, self.postconditions.stated),
                latency_ms: self.latency.quantiles(),
                ..self.postconditions.clone()
            },
            steps: Steps { duration_ms: self.took.quantiles() },
            success: Cost { duration_ms: duration.quantiles(), tokens: tokens.quantiles(), steps: steps.quantiles() },
            models: self.models.values().cloned().collect(),
            verbs,
            read_as_markdown: self.read_as_markdown,
            causes: self.causes.clone(),
            flaky_targets: flaky(&self.targets),
            flaky_conditions: flaky(&self.conditions),
            failed: ends.failed,
            failures: failures(&self.failures),
            slow_steps: slow(&self.steps),
            slow_endpoints: slow(&self.endpoints),
        }
    }
}

fn count<K: Ord>(counts: &mut BTreeMap<K, Tally>, what: K, is_ok: bool, run: &str) {
    if counts.len() >= APART && !counts.contains_key(&what) {
        return;
    }
    let tally = counts.entry(what).or_default();
    *(if is_ok { &mut tally.ok } else { &mut tally.failed }) += 1;
    if !is_ok && tally.runs.len() < RUNS && tally.runs.last().is_none_or(|last| last != run) {
        tally.runs.push(run.to_owned());
    }
}

fn time(times: &mut BTreeMap<String, Times>, what: String, run: &str, took_ms: u64, is_failure: bool) {
    if times.len() >= TIMED && !times.contains_key(&what) {
        return;
    }
    let times = times.entry(what).or_default();
    times.took.add(took_ms);
    times.failed += u64::from(is_failure);
    if took_ms >= times.slowest.0 {
        times.slowest = (took_ms, run.to_owned());
    }
}

/// `GET https://shop.test/orders/*`: without its query, and `*` for what looks like an id.
fn endpoint(request: &RequestFact) -> String {
    let url = request.url.split(['?', '#']).next().unwrap_or_default();
    let (origin, path) = match url.find("://").and_then(|at| Some(at + 3 + url.get(at + 3..)?.find('/')?)) {
        Some(at) => url.split_at(at),
        None => (url, ""),
    };
    let is_id = |part: &str| {
        let digits = part.bytes().filter(u8::is_ascii_digit).count();
        digits > 0 && (digits == part.len() || part.len() >= 8 && digits > 1 && !part.contains('.'))
    };
    let path: Vec<&str> = path.split('/').map(|part| if is_id(part) { "*" } else { part }).collect();
    cut(&format!("{} {origin}{}", request.method, path.join("/")), 200)
}

fn failures(counts: &BTreeMap<(String, String), Tally>) -> Vec<FailedStep> {
    let of = |((cause, what), tally): (&(String, String), &Tally)| FailedStep {
        cause: cause.clone(),
        what: what.clone(),
        count: tally.failed,
        runs: tally.runs.clone(),
    };
    let mut failures: Vec<FailedStep> = counts.iter().map(of).collect();
    failures.sort_by_key(|failure| std::cmp::Reverse(failure.count));
    failures.truncate(NAMED);
    failures
}

fn slow(times: &BTreeMap<String, Times>) -> Vec<Slow> {
    let of = |(what, times): (&String, &Times)| Slow {
        what: what.clone(),
        failed: times.failed,
        duration_ms: times.took.quantiles(),
        slowest_run: times.slowest.1.clone(),
    };
    let mut slow: Vec<Slow> = times.iter().map(of).collect();
    slow.sort_by_key(|one| std::cmp::Reverse(one.duration_ms.p90));
    slow.truncate(NAMED);
    slow
}

fn flaky(counts: &BTreeMap<String, Tally>) -> Vec<Mixed> {
    let mixed = counts.iter().filter(|(_, tally)| tally.ok > 0 && tally.failed > 0);
    let of = |(what, tally): (&String, &Tally)| Mixed {
        what: what.clone(),
        ok: tally.ok,
        failed: tally.failed,
        runs: tally.runs.clone(),
    };
    let mut mixed: Vec<Mixed> = mixed.map(of).collect();
    // By the share that failed: a/b > c/d as a·d > c·b.
    mixed.sort_by(|a, b| (b.failed * (a.ok + a.failed)).cmp(&(a.failed * (b.ok + b.failed))));
    mixed.truncate(NAMED);
    mixed
}

/// Values of which quantiles are wanted, in constant memory, to so many digits.
#[derive(Clone, Debug, Default)]
pub(super) struct Distribution<const DIGITS: u8 = 3>(Option<Histogram<u64>>);

impl<const DIGITS: u8> Distribution<DIGITS> {
    fn add(&mut self, value: u64) {
        if self.0.is_none() {
            // Five digits are the most that it can hold.
            self.0 = Histogram::new(DIGITS).ok();
        }
        if let Some(histogram) = &mut self.0 {
            // It grows as needed, up to 2^63.
            histogram.record(value.min(u64::MAX / 2)).ok();
        }
    }

    /// Each value that was counted, to the digits that are kept, and how often.
    pub(super) fn counted(&self) -> impl Iterator<Item = (u64, u64)> {
        let recorded = self.0.iter().flat_map(|histogram| histogram.iter_recorded());
        recorded.map(|at| (at.value_iterated_to(), at.count_at_value()))
    }

    fn quantiles(&self) -> Quantiles {
        let Some(histogram) = &self.0 else { return Quantiles::default() };
        let at = |quantile| histogram.lowest_equivalent(histogram.value_at_quantile(quantile));
        Quantiles { count: histogram.len(), p50: at(0.5), p90: at(0.9), p99: at(0.99), max: at(1.0) }
    }
}

#[cfg(test)]
mod tests {
    use cuebook_grammar::record::RECORD_VERSION;
    use serde_json::{Value, json};

    use super::*;
    use crate::error::DataError;
    use crate::metrics::{By, Tolerance, to_prometheus};

    fn entries(lines: &[Value]) -> Vec<Result<Entry, DataError>> {
        lines.iter().filter_map(|line| Entry::read(line.to_string().as_bytes()).transpose()).collect()
    }

    fn header(run: &str) -> Value {
        json!({ "entry": "header", "schemaVersion": RECORD_VERSION, "runId": run, "tsMs": 1000, "cuebook": "0.1.0",
                "command": "run" })
    }

    fn end(run: &str, result: &str) -> Value {
        json!({ "entry": "end", "runId": run, "tsMs": 3500, "result": result })
    }

    fn call(run: &str, end: &Value) -> Value {
        json!({ "entry": "planning", "schemaVersion": RECORD_VERSION, "runId": run, "planningIndex": 0, "tsMs": 2,
                "call": { "engine": "ollama", "purpose": "plan", "input": [], "output": "", "inputTokens": 90,
                          "outputTokens": 10, "latencyMs": 30, "attempts": 1, "end": end } })
    }

    fn step(run: &str, (index, attempt): (u32, u32), origin: &str, result: &str, post: &[Value]) -> Value {
        let mut record = json!({
            "entry": "commit", "schemaVersion": RECORD_VERSION, "runId": run, "stepIndex": index, "origin": origin,
            "attempt": attempt, "action": { "type": "click", "targetRef": "go" }, "url": "https://shop.test/",
            "candidates": { "go": { "declared": { "strategy": "css", "selector": "#go" } } },
            "risk": "write", "effectClass": "reversible", "execution": { "tsMs": 2, "durationMs": 40 },
            "preCheck": [{ "condition": { "kind": "visible", "target": "go" },
                           "verdict": if result == "ok" { "holds" } else { "fails" } }],
            "postCheck": post, "result": result,
        });
        if result != "ok" {
            record["failure"] =
                json!({ "stage": "actionability", "cause": "covered", "message": "expected it in the open" });
        }
        record
    }

    fn post(verdict: &str, latency_ms: u32) -> Value {
        json!({ "condition": { "kind": "urlMatches", "pattern": "^done" }, "verdict": verdict, "latencyMs": latency_ms })
    }

    fn sample() -> Collector {
        let mut collector = Collector::default();
        let accepted = json!("accepted");
        let unknown = json!({ "code": "unknownTarget", "path": "/steps/0", "message": "no c9" });
        let invalid = json!({ "invalid": { "violations": [unknown, unknown] } });
        let runs = [
            vec![
                header("a"),
                call("a", &accepted),
                step("a", (0, 1), "plan", "failed", &[]),
                step("a", (1, 1), "repair", "ok", &[]),
                step("a", (0, 2), "plan", "ok", &[post("holds", 120)]),
                step("a", (2, 1), "plan", "ok", &[post("holds", 80)]),
                end("a", "ok"),
            ],
            vec![
                header("b"),
                call("b", &invalid),
                step("b", (0, 1), "plan", "failed", &[post("fails", 0)]),
                end("b", "failed"),
            ],
            vec![header("c"), step("c", (0, 1), "plan", "ok", &[])],
        ];
        for run in runs {
            collector.add_run(entries(&run)).unwrap();
        }
        collector
    }

    #[test]
    fn rates_are_counted_over_runs() {
        let summary = sample().summary();
        let Runs { total, ok, failed, cut_off, success_rate, .. } = summary.runs;
        assert_eq!((total, ok, failed, cut_off, success_rate), (3, 1, 1, 1, Some(1.0 / 3.0)));
        assert_eq!((summary.plans.calls, summary.plans.validity), (2, Some(0.5)));
        assert_eq!(summary.plans.refused_whole, 1, "the steps of that run are of no call");
        assert_eq!(summary.plans.violations, BTreeMap::from([("unknownTarget".to_owned(), 1)]));
        // First attempts: two of four held.
        assert_eq!((summary.preconditions.steps, summary.preconditions.first_try_rate), (4, Some(0.5)));
        let repairs = &summary.repairs;
        assert_eq!((repairs.steps, repairs.needed, repairs.recovered), (4, 2, 1));
        assert_eq!((repairs.recovery_rate, repairs.depth.p50), (Some(0.5), 2), "one step inserted, one attempt more");
        assert_eq!((summary.postconditions.judged, summary.postconditions.held), (3, 2));
        let Quantiles { count, p50, max, .. } = summary.postconditions.latency_ms;
        assert_eq!((count, p50, max), (2, 80, 120));
        assert_eq!((summary.success.duration_ms.p50, summary.success.tokens.p50), (2500, 100));
        let used: Vec<_> =
            summary.models.iter().map(|used| (used.calls, used.input_tokens + used.output_tokens)).collect();
        assert_eq!(used, [(2, 200)]);
        assert_eq!(summary.causes, BTreeMap::from([("covered".to_owned(), 2)]));
        let (what, runs) = (r##"click css="#go""##.to_owned(), vec!["a".to_owned(), "b".to_owned()]);
        assert_eq!(summary.flaky_targets, [Mixed { what: what.clone(), ok: 2, failed: 2, runs: runs.clone() }]);
        assert_eq!(summary.failures, [FailedStep { cause: "covered".to_owned(), what, count: 2, runs }]);
        let failed: Vec<_> = summary.failed.iter().map(|run| (run.run_id.as_str(), run.result.as_str())).collect();
        assert_eq!(failed, [("b", "failed"), ("c", "cutOff")]);
    }

    #[test]
    fn what_is_slow_is_named_with_its_slowest_run() {
        let mut slow = step("b", (0, 1), "plan", "ok", &[]);
        slow["execution"]["durationMs"] = json!(4_000);
        let request = |url: &str, status: u16, took: u32| json!({ "method": "GET", "url": url, "status": status, "durationMs": took });
        slow["effects"] = json!({ "requests": [request("https://shop.test/api/orders/17?q=1", 200, 90),
            request("https://shop.test/api/orders/18", 500, 700), request("https://shop.test/app-1.js", 200, 5)] });
        let mut collector = Collector::default();
        collector.add_run(entries(&[header("a"), step("a", (0, 1), "plan", "ok", &[]), end("a", "ok")])).unwrap();
        collector.add_run(entries(&[header("b"), slow, end("b", "ok")])).unwrap();
        let summary = collector.summary();
        let named = |slow: &[Slow]| -> Vec<_> {
            slow.iter()
                .map(|one| (one.what.clone(), one.duration_ms.count, one.failed, one.slowest_run.clone()))
                .collect()
        };
        assert_eq!(named(&summary.slow_steps), [(r##"click css="#go""##.to_owned(), 2, 0, "b".to_owned())]);
        let endpoint =
            |path: &str, count, failed| (format!("GET https://shop.test{path}"), count, failed, "b".to_owned());
        assert_eq!(named(&summary.slow_endpoints), [endpoint("/api/orders/*", 2, 1), endpoint("/app-1.js", 1, 0)]);
        let lines: Vec<_> = collector.runs().map(|run| (run.run_id.as_str(), run.duration_ms, run.attempts)).collect();
        assert_eq!(lines, [("a", Some(2500), 1), ("b", Some(2500), 1)]);
    }

    fn of_case(run: &str, id: &str, attempt: u32, part: &str, result: &str) -> Vec<Result<Entry, DataError>> {
        let mut first = header(run);
        first["case"] = json!({ "id": id, "suite": "shop", "name": id, "attempt": attempt, "part": part });
        entries(&[first, end(run, result)])
    }

    #[test]
    fn a_case_is_one_unit_and_its_last_expectations_say_how_it_ended() {
        let mut collector = Collector::default();
        for run in [
            of_case("r1", "r1", 1, "steps", "ok"),
            of_case("r2", "r1", 1, "expectations", "ok"),
            // Its expectations did not hold; those of another case lie between its runs.
            of_case("r3", "r3", 1, "steps", "ok"),
            of_case("r4", "r4", 1, "steps", "failed"),
            of_case("r5", "r3", 1, "expectations", "failed"),
            // At the second attempt.
            of_case("r6", "r4", 2, "expectations", "ok"),
            of_case("r7", "r4", 2, "steps", "ok"),
            // It could not be recorded.
            of_case("r8", "r8", 1, "steps", "ok"),
        ] {
            collector.add_run(run).unwrap();
        }
        let summary = collector.summary();
        assert_eq!((summary.runs.ok, summary.runs.failed, summary.runs.total), (2, 2, 4), "{summary:?}");
        assert_eq!(summary.runs.success_rate, Some(0.5));
        assert_eq!(summary.success.duration_ms.count, 2);
        let failed: Vec<_> = summary.failed.iter().map(|run| run.run_id.as_str()).collect();
        assert_eq!(failed, ["r5", "r8"]);
        assert!(summary.failed[1].message.as_ref().unwrap().contains("not judged"));
    }

    #[test]
    fn a_log_that_breaks_off_in_an_error_counts_as_cut_off() {
        let mut collector = Collector::default();
        let broken = entries(&[header("a"), json!({ "entry": "nonsense" })]);
        assert!(collector.add_run(broken).is_err());
        assert_eq!((collector.summary().runs.total, collector.summary().runs.cut_off), (1, 1));
    }

    #[test]
    fn a_rate_that_falls_is_a_regression_and_what_was_never_counted_is_none() {
        let summary = sample().summary();
        let exact = Tolerance { share: 0.0, factor: 1.0 };
        assert_eq!(summary.regressions(&summary, exact), []);
        let mut better = summary.clone();
        (better.runs.success_rate, better.plans.validity) = (Some(0.9), Some(0.51));
        let found = summary.regressions(&better, Tolerance::default());
        assert_eq!(found.iter().map(|one| one.rate).collect::<Vec<_>>(), ["runs.successRate"]);
        assert_eq!(summary.regressions(&Summary::default(), exact), [], "nothing was counted in the baseline");
        let lost = Summary::default().regressions(&summary, exact);
        assert_eq!(lost.len(), 5, "time-outs and latencies need a count: {lost:?}");
        let read: Summary = serde_json::from_value(serde_json::to_value(&summary).unwrap()).unwrap();
        assert_eq!(read, summary);
    }

    /// One run with a number of steps, whose postconditions came true after so many milliseconds, or timed out.
    fn waited(steps: u32, outcome: Result<u32, ()>) -> Summary {
        let mut run = vec![header("a")];
        for index in 0..steps {
            let mut record = match outcome {
                Ok(latency) => step("a", (index, 1), "plan", "ok", &[post("holds", latency)]),
                Err(()) => step("a", (index, 1), "plan", "failed", &[post("fails", 0)]),
            };
            if outcome.is_err() {
                record["failure"] =
                    json!({ "stage": "postcondition", "cause": "postconditionFailed", "message": "no" });
            }
            record["execution"]["durationMs"] = json!(outcome.unwrap_or(0) + 40);
            run.push(record);
        }
        run.push(end("a", "ok"));
        let mut collector = Collector::default();
        collector.add_run(entries(&run)).unwrap();
        collector.summary()
    }

    #[test]
    fn slower_steps_and_postconditions_do_not_pass_the_gate() {
        let fell = |now: &Summary, before: &Summary| -> Vec<&str> {
            now.regressions(before, Tolerance::default()).iter().map(|one| one.rate).collect()
        };
        let (fast, slow) = (waited(20, Ok(100)), waited(20, Ok(300)));
        assert_eq!(fell(&slow, &fast), ["postconditions.latencyMs.p90", "steps.durationMs.p90"]);
        assert!(fell(&fast, &slow).is_empty(), "faster is not worse");
        assert!(fell(&waited(20, Ok(149)), &fast).is_empty(), "within one and a half times");
        assert!(fell(&waited(19, Ok(300)), &fast).is_empty(), "too few to judge");
        let lenient = Tolerance { factor: 4.0, ..Tolerance::default() };
        assert_eq!(slow.regressions(&fast, lenient), []);
        let late = waited(20, Err(()));
        assert_eq!((late.postconditions.stated, late.postconditions.timeout_rate), (20, Some(1.0)));
        assert!(fell(&late, &fast).contains(&"postconditions.timeoutRate"));
        assert!(!fell(&waited(19, Err(())), &fast).contains(&"postconditions.timeoutRate"));
        // A file of an earlier version has neither.
        let mut old = serde_json::to_value(&fast).unwrap();
        old.as_object_mut().unwrap().remove("steps");
        old["postconditions"].as_object_mut().unwrap().retain(|name, _| name == "rate" || name == "judged");
        let old: Summary = serde_json::from_value(old).unwrap();
        assert!(fell(&slow, &old).is_empty());
        assert_eq!(fell(&late, &old), ["preconditions.firstTryRate", "postconditions.rate"]);
    }

    #[test]
    fn runs_are_grouped_by_day_site_and_task() {
        let read = |more: Value| {
            let mut header = header("a");
            header.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            match entries(&[header]).remove(0).unwrap() {
                Entry::Header(header) => header,
                other => panic!("{other:?}"),
            }
        };
        let case = json!({ "id": "a", "suite": "shop", "name": "pays", "attempt": 1, "part": "steps" });
        let of_case =
            read(json!({ "tsMs": 1_764_288_000_000_u64 - 1, "url": "https://shop.test:8443/a?b=1", "case": case }));
        assert_eq!(By::Day.group(&of_case), "2025-11-27");
        assert_eq!(By::Site.group(&of_case), "https://shop.test:8443");
        assert_eq!(By::Task.group(&of_case), "pays");
        let of_task = read(json!({ "task": format!("buy {}", "x".repeat(500)), "url": "file:///tmp/a.html" }));
        assert_eq!((By::Site.group(&of_task), By::Task.group(&of_task).chars().count()), ("file:".to_owned(), 200));
        let bare = read(json!({ "url": "no URL" }));
        assert_eq!([By::Site, By::Task].map(|by| by.group(&bare)), ["(none)", "(none)"]);
    }

    #[test]
    fn groups_are_labelled_and_each_metric_is_announced_once() {
        let (all, hostile) = (sample().summary(), "a\"b\\\n# TYPE x gauge");
        let text = to_prometheus(&all, Some((By::Task, &[(hostile.to_owned(), all.clone())])));
        assert!(text.contains("\ncuebook_runs{result=\"ok\"} 1\n"), "{text}");
        let line = "\ncuebook_runs{task=\"a\\\"b\\\\\\n# TYPE x gauge\",result=\"ok\"} 1\n";
        assert!(text.contains(line), "{line} in {text}");
        let announced = text.lines().filter(|line| line.starts_with("# TYPE cuebook_runs ")).count();
        assert_eq!(announced, 1, "{text}");
    }

    #[test]
    fn prometheus_reads_the_text() {
        let text = to_prometheus(&sample().summary(), None);
        for line in [
            "cuebook_runs{result=\"cutOff\"} 1",
            "cuebook_rate_ratio{rate=\"plans.validity\"} 0.5",
            "cuebook_attempts{verb=\"click\",result=\"failed\"} 2",
            "cuebook_failures{cause=\"covered\"} 2",
            "cuebook_postcondition_milliseconds{quantile=\"0.5\"} 80",
        ] {
            assert!(text.lines().any(|seen| seen == line), "{line} in\n{text}");
        }
        let names = text.lines().filter_map(|line| line.strip_prefix("# TYPE "));
        let mut names: Vec<&str> = names.collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), 11, "each metric is announced once: {names:?}");
    }
}
