//! Counts, from entries.

use std::collections::BTreeMap;

use cuebook_grammar::planning::CallEnd;
use cuebook_grammar::record::{RunHeader, StepOrigin, StepRecord, StepResult};
use cuebook_grammar::render::cut;
use cuebook_grammar::report::RunResult;
use hdrhistogram::Histogram;

use super::summary::{
    Cost, FailedRun, Mixed, Plans, Postconditions, Preconditions, Quantiles, Repairs, Runs, Summary, Verb, share,
};
use crate::in_words;
use crate::log::Entry;

/// The most targets and the most conditions that are told apart. Further ones are not counted for flakiness.
const APART: usize = 10_000;
/// How many flaky things and failed runs are named.
const NAMED: usize = 20;

/// Takes runs, and says what they come to.
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
    runs: Runs,
    plans: Plans,
    preconditions: Preconditions,
    repairs: Repairs,
    postconditions: Postconditions,
    depth: Distribution,
    latency: Distribution,
    success: [Distribution; 3],
    verbs: BTreeMap<&'static str, (u64, u64, Distribution)>,
    causes: BTreeMap<String, u64>,
    targets: BTreeMap<String, (u64, u64)>,
    conditions: BTreeMap<String, (u64, u64)>,
    failed: Vec<FailedRun>,
}

/// What is known of the run that is being read.
#[derive(Default)]
struct Current {
    header: Option<RunHeader>,
    tokens: u64,
    attempts: u64,
    /// The step that failed and was not recovered so far, with the depth of its repairs.
    failing: Option<(u32, u64)>,
    last_failure: Option<(u32, String, String)>,
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
                    self.plans.calls += 1;
                    match record.call.end {
                        CallEnd::Accepted => self.plans.valid += 1,
                        CallEnd::Invalid { .. } => self.plans.invalid += 1,
                        CallEnd::Failed { .. } => self.plans.failed += 1,
                    }
                }
                Entry::Begin(_) | Entry::Observed(_) => {}
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

    fn add_step(&mut self, record: &StepRecord, current: &mut Current) {
        let is_ok = record.result == StepResult::Ok;
        current.attempts += 1;
        let (attempts, failed, took) = self.verbs.entry(record.action.action.kind().meta().name).or_default();
        *attempts += 1;
        *failed += u64::from(!is_ok);
        took.add(record.execution.duration_ms);
        if let Some(failure) = &record.failure {
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
                count(&mut self.targets, cut(&in_words::step(record), 200), is_ok);
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
        for judged in record.post_check.iter().filter(|judged| !judged.vacuous) {
            let holds = judged.verdict.holds();
            self.postconditions.judged += 1;
            self.postconditions.held += u64::from(holds);
            if let Some(latency) = judged.latency_ms.filter(|_| holds) {
                self.latency.add(u64::from(latency));
            }
            let what = judged.condition.in_words_naming(&|target| in_words::target(record, target));
            count(&mut self.conditions, cut(&what, 200), holds);
        }
    }

    fn ended(&mut self, current: &Current, end: Option<(RunResult, u64)>) {
        self.runs.total += 1;
        let counter = match end.map(|(result, _)| result) {
            Some(RunResult::Ok) => &mut self.runs.ok,
            Some(RunResult::Failed) => &mut self.runs.failed,
            Some(RunResult::Blocked) => &mut self.runs.blocked,
            Some(RunResult::Invalid) => &mut self.runs.invalid,
            Some(RunResult::Error) => &mut self.runs.error,
            Some(RunResult::Interrupted) => &mut self.runs.interrupted,
            None => &mut self.runs.cut_off,
        };
        *counter += 1;
        let header = current.header.as_ref();
        if let (Some((RunResult::Ok, end_ms)), Some(header)) = (end, header) {
            let values = [end_ms.saturating_sub(header.ts_ms), current.tokens, current.attempts];
            for (distribution, value) in self.success.iter_mut().zip(values) {
                distribution.add(value);
            }
        } else if self.failed.len() < NAMED {
            let result = end.and_then(|(result, _)| serde_json::to_value(result).ok());
            let result = result.as_ref().and_then(serde_json::Value::as_str).unwrap_or("cutOff").to_owned();
            let failure = current.last_failure.clone();
            self.failed.push(FailedRun {
                run_id: header.map_or_else(String::new, |header| header.run_id.as_str().to_owned()),
                result,
                step_index: failure.as_ref().map(|(index, ..)| *index),
                cause: failure.as_ref().map(|(_, cause, _)| cause.clone()),
                message: failure.map(|(.., message)| message),
            });
        }
    }

    /// What all runs so far come to.
    #[must_use]
    pub fn summary(&self) -> Summary {
        let [duration, tokens, steps] = &self.success;
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
            runs: Runs { success_rate: share(self.runs.ok, self.runs.total), ..self.runs.clone() },
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
                latency_ms: self.latency.quantiles(),
                ..self.postconditions.clone()
            },
            success: Cost { duration_ms: duration.quantiles(), tokens: tokens.quantiles(), steps: steps.quantiles() },
            verbs,
            causes: self.causes.clone(),
            flaky_targets: flaky(&self.targets),
            flaky_conditions: flaky(&self.conditions),
            failed: self.failed.clone(),
        }
    }
}

fn count(counts: &mut BTreeMap<String, (u64, u64)>, what: String, is_ok: bool) {
    if counts.len() >= APART && !counts.contains_key(&what) {
        return;
    }
    let (ok, failed) = counts.entry(what).or_default();
    *(if is_ok { ok } else { failed }) += 1;
}

fn flaky(counts: &BTreeMap<String, (u64, u64)>) -> Vec<Mixed> {
    let mixed = counts.iter().filter(|(_, (ok, failed))| *ok > 0 && *failed > 0);
    let mut mixed: Vec<Mixed> =
        mixed.map(|(what, (ok, failed))| Mixed { what: what.clone(), ok: *ok, failed: *failed }).collect();
    // By the share that failed: a/b > c/d as a·d > c·b.
    mixed.sort_by(|a, b| (b.failed * (a.ok + a.failed)).cmp(&(a.failed * (b.ok + b.failed))));
    mixed.truncate(NAMED);
    mixed
}

/// Values of which quantiles are wanted, in constant memory.
#[derive(Debug, Default)]
struct Distribution(Option<Histogram<u64>>);

impl Distribution {
    fn add(&mut self, value: u64) {
        if self.0.is_none() {
            // Three digits are within what it can hold.
            self.0 = Histogram::new(3).ok();
        }
        if let Some(histogram) = &mut self.0 {
            // It grows as needed, up to 2^63.
            histogram.record(value.min(u64::MAX / 2)).ok();
        }
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
        let invalid = json!({ "invalid": { "violations": [] } });
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
        // First attempts: two of four held.
        assert_eq!((summary.preconditions.steps, summary.preconditions.first_try_rate), (4, Some(0.5)));
        let repairs = &summary.repairs;
        assert_eq!((repairs.steps, repairs.needed, repairs.recovered), (4, 2, 1));
        assert_eq!((repairs.recovery_rate, repairs.depth.p50), (Some(0.5), 2), "one step inserted, one attempt more");
        assert_eq!((summary.postconditions.judged, summary.postconditions.held), (3, 2));
        let Quantiles { count, p50, max, .. } = summary.postconditions.latency_ms;
        assert_eq!((count, p50, max), (2, 80, 120));
        assert_eq!((summary.success.duration_ms.p50, summary.success.tokens.p50), (2500, 100));
        assert_eq!(summary.causes, BTreeMap::from([("covered".to_owned(), 2)]));
        let flaky = Mixed { what: r##"click css="#go""##.to_owned(), ok: 2, failed: 2 };
        assert_eq!(summary.flaky_targets, [flaky]);
        let failed: Vec<_> = summary.failed.iter().map(|run| (run.run_id.as_str(), run.result.as_str())).collect();
        assert_eq!(failed, [("b", "failed"), ("c", "cutOff")]);
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
        assert_eq!(summary.regressions(&summary, 0.0), []);
        let mut better = summary.clone();
        (better.runs.success_rate, better.plans.validity) = (Some(0.9), Some(0.51));
        let found = summary.regressions(&better, 0.02);
        assert_eq!(found.iter().map(|one| one.rate).collect::<Vec<_>>(), ["runs.successRate"]);
        assert_eq!(summary.regressions(&Summary::default(), 0.0), [], "nothing was counted in the baseline");
        let lost = Summary::default().regressions(&summary, 0.0);
        assert_eq!(lost.len(), 5, "{lost:?}");
        let read: Summary = serde_json::from_value(serde_json::to_value(&summary).unwrap()).unwrap();
        assert_eq!(read, summary);
    }

    #[test]
    fn prometheus_reads_the_text() {
        let text = sample().summary().to_prometheus();
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
        assert_eq!(names.len(), 8, "each metric is announced once: {names:?}");
    }
}
