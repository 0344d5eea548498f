//! `cuebook stats`: metrics of recorded runs, and a gate for CI.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use cuebook_datalayer::metrics::{
    By, Collector, Measure, ModelUse, Quantiles, Regression, Slow, Summary, Tolerance, to_prometheus,
};
use cuebook_datalayer::{DataError, Entries, Entry, RunDir};
use cuebook_export::{ExportedTables, Redaction};
use cuebook_grammar::report::ErrorCode;
use serde::Serialize;

use crate::args::{Price, StatsArgs};
use crate::exit::{Exit, Output, Refusal, print_json, print_text};
use crate::progress;
use crate::text::{plain, with_sources};

/// Document that `--json` prints for the metrics of runs.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Stats {
    #[serde(flatten)]
    summary: Summary,
    /// By the names of the groups; absent unless `--by` names what they are.
    #[serde(skip_serializing_if = "Option::is_none")]
    groups: Option<Groups>,
    /// Absent unless `--price` states a price.
    #[serde(skip_serializing_if = "Option::is_none")]
    costs: Option<Costs>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    regressions: Vec<Regression>,
    /// Logs with a line that cannot be read. What stands before it is counted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unreadable: Vec<String>,
    /// Where an export does not tell apart what its logs did.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

/// The most groups that are told apart. The runs of further ones are in `(others)`.
const GROUPS: usize = 100;

/// Metrics of each day, site or task.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Groups {
    by: By,
    metrics: Vec<Group>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Group {
    name: String,
    summary: Summary,
}

/// Costs of the models, in the currency of the prices.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Costs {
    /// Cost of all runs together.
    total: f64,
    /// All runs, for each one that ended well; absent if none did.
    per_success: Option<f64>,
    /// Models without a price, which are not in the total.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unpriced: Vec<String>,
}

impl Costs {
    fn of(summary: &Summary, prices: &[Price]) -> Option<Self> {
        if prices.is_empty() {
            return None;
        }
        let costs = summary.models.iter().map(|used| (used, cost(used, prices)));
        let (priced, unpriced): (Vec<_>, Vec<_>) = costs.partition(|(_, cost)| cost.is_some());
        let total: f64 = priced.iter().filter_map(|(_, cost)| *cost).sum();
        Some(Self {
            total,
            per_success: (summary.runs.ok > 0).then(|| total / float(summary.runs.ok)),
            unpriced: unpriced.into_iter().map(|(used, _)| used.model.clone()).collect(),
        })
    }
}

fn cost(used: &ModelUse, prices: &[Price]) -> Option<f64> {
    let price = prices.iter().find(|price| price.model == used.model)?;
    Some((float(used.input_tokens) * price.input + float(used.output_tokens) * price.output) / 1e6)
}

#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
const fn float(count: u64) -> f64 {
    count as f64
}

pub(crate) fn run(args: &StatsArgs, output: Output) -> Exit {
    match measured(args) {
        Ok(stats) => {
            if output.json {
                print_json(&stats);
            } else if args.prometheus {
                print_text(&scraped(&stats));
            } else {
                print_text(&table(&stats, &args.prices));
            }
            for problem in stats.unreadable.iter().chain(&stats.notes) {
                progress::say(&format!("note: {}", plain(problem)));
            }
            for one in &stats.regressions {
                let now = one.now.map_or_else(|| "not counted".to_owned(), |now| value(one.measure, now));
                let before = value(one.measure, one.baseline);
                progress::say(&format!("regression: {} is {now}, was {before}", one.rate));
            }
            if stats.regressions.is_empty() { Exit::OK } else { Exit::FAILED }
        }
        Err(refusal) => refusal.print(output),
    }
}

fn measured(args: &StatsArgs) -> Result<Stats, Refusal> {
    let unreadable = |message: String| Refusal::invalid(ErrorCode::Unreadable, message);
    // Before an hour of reading.
    let baseline = args.gate.as_deref().map(baseline).transpose().map_err(unreadable)?;
    let mut collector = Collector::default();
    let mut groups: BTreeMap<String, Collector> = BTreeMap::new();
    let (mut problems, mut notes, mut logs) = (Vec::new(), Vec::new(), Vec::new());
    for folder in &args.runs {
        let exported = ExportedTables::open(folder).map_err(|error| unreadable(with_sources(&error)))?;
        let Some(tables) = exported else {
            logs.push(folder.clone());
            continue;
        };
        let caseless = tables.each(&mut |entries| {
            let copies = args.by.map(|by| (by, entries.iter().cloned().map(Ok).collect::<Vec<_>>()));
            // Entries that were read have no errors.
            collector.add_run(entries.into_iter().map(Ok::<_, DataError>)).ok();
            if let Some((by, entries)) = copies {
                add_to_group(by, entries, &mut groups).ok();
            }
        });
        let folder = folder.display();
        match caseless.map_err(|error| unreadable(with_sources(&error)))? {
            0 => {}
            runs => notes.push(format!(
                "{folder}: tables before version 1.4 do not say to which test case a run belongs: {runs} runs of tests \
                 count one by one (export them again, with --rewrite)"
            )),
        }
        if tables.redaction() == Redaction::Strict {
            notes.push(format!(
                "{folder}: redacted: steps, conditions and tasks that differ in texts alone count as one"
            ));
        }
    }
    let runs = if logs.is_empty() { Ok(Vec::new()) } else { RunDir::find(&logs) };
    for run in runs.map_err(|error| unreadable(with_sources(&error)))? {
        let log = run.log_path();
        if let Err(error) = Entries::open(&log).and_then(|entries| collector.add_run(entries)) {
            problems.push(format!("{}: {}", log.display(), with_sources(&error)));
        }
        if let Some(by) = args.by {
            // A second reading needs no copy of each entry. Its errors are those of the first.
            Entries::open(&log).and_then(|entries| add_to_group(by, entries, &mut groups)).ok();
        }
    }
    let summary = collector.summary();
    let groups = args.by.map(|by| {
        let group = |(name, collector): (String, Collector)| Group { name, summary: collector.summary() };
        Groups { by, metrics: groups.into_iter().map(group).collect() }
    });
    let tolerance = Tolerance { share: args.tolerance, factor: args.slower };
    let regressions = baseline.map(|baseline| summary.regressions(&baseline, tolerance)).unwrap_or_default();
    let costs = Costs::of(&summary, &args.prices);
    Ok(Stats { summary, groups, costs, regressions, unreadable: problems, notes })
}

fn add_to_group(
    by: By,
    entries: impl IntoIterator<Item = Result<Entry, DataError>>,
    groups: &mut BTreeMap<String, Collector>,
) -> Result<(), DataError> {
    let mut entries = entries.into_iter().peekable();
    let name = match entries.peek() {
        Some(Ok(Entry::Header(header))) => by.group(header),
        _ => "(none)".to_owned(),
    };
    let is_apart = groups.len() < GROUPS || groups.contains_key(&name);
    groups.entry(if is_apart { name } else { "(others)".to_owned() }).or_default().add_run(entries)
}

fn scraped(stats: &Stats) -> String {
    let named = |group: &Group| (group.name.clone(), group.summary.clone());
    let groups = stats.groups.as_ref().map(|groups| (groups.by, groups.metrics.iter().map(named).collect::<Vec<_>>()));
    to_prometheus(&stats.summary, groups.as_ref().map(|(by, groups)| (*by, groups.as_slice())))
}

fn baseline(path: &Path) -> Result<Summary, String> {
    let text = fs::read_to_string(path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    let summary: Summary = serde_json::from_str(&text)
        .map_err(|error| format!("{}: expected the output of `cuebook stats --json`: {error}", path.display()))?;
    // Every member is optional, so that a file of an earlier version is read; one without runs is another document.
    if summary.runs.total == 0 {
        return Err(format!("{} has no runs: it is not the output of `cuebook stats --json`", path.display()));
    }
    Ok(summary)
}

/// How many of the slowest steps and addresses the table names.
const SLOWEST: usize = 5;

fn table(stats: &Stats, prices: &[Price]) -> String {
    let Stats { summary, costs, .. } = stats;
    let mut out = String::new();
    let runs = &summary.runs;
    let mut row = |what: &str, rate: Option<f64>, detail: String| {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{what:<28}{:>7}  {detail}", rate.map_or_else(|| "–".to_owned(), percent));
    };
    let ends = [
        ("failed", runs.failed),
        ("blocked", runs.blocked),
        ("invalid", runs.invalid),
        ("error", runs.error),
        ("unproven", runs.unproven),
        ("interrupted", runs.interrupted),
        ("cut off", runs.cut_off),
    ];
    let ends = ends.iter().filter(|(_, count)| *count > 0).map(|(name, count)| format!(", {count} {name}"));
    row(
        "runs that ended well",
        runs.success_rate,
        format!("{} of {}{}", runs.ok, runs.total, ends.collect::<String>()),
    );
    let plans = &summary.plans;
    let violations: Vec<String> = plans.violations.iter().map(|(code, count)| format!("{count} {code}")).collect();
    let violations = if violations.is_empty() { String::new() } else { format!(" ({})", violations.join(", ")) };
    let outputs = plans.valid + plans.invalid;
    row("valid plans of models", plans.validity, format!("{} of {outputs} outputs{violations}", plans.valid));
    let pre = &summary.preconditions;
    row("preconditions at once", pre.first_try_rate, format!("{} of {} steps", pre.satisfied, pre.steps));
    let repairs = &summary.repairs;
    row("steps that failed at first", repairs.rate, format!("{} of {}", repairs.needed, repairs.steps));
    let depth = format!("{} of {}, depth {}", repairs.recovered, repairs.needed, spread(repairs.depth, ""));
    row("  of these recovered", repairs.recovery_rate, depth);
    let post = &summary.postconditions;
    let latency = format!("{} of {}, {}", post.held, post.judged, spread(post.latency_ms, " ms"));
    row("postconditions that held", post.rate, latency);
    row("  of stated timed out", post.timeout_rate, format!("{} of {}", post.timed_out, post.stated));
    let success = &summary.success;
    let _ = writeln!(out, "\na success takes              {}", spread(success.duration_ms, " ms"));
    let _ = writeln!(out, "  tokens                     {}", spread(success.tokens, ""));
    let _ = writeln!(out, "  steps                      {}", spread(success.steps, ""));
    if let Some(costs) = costs {
        let each = costs.per_success.map_or_else(|| "–".to_owned(), |each| format!("{each:.4}"));
        let _ = writeln!(out, "  costs                      {each}: {:.4} for all runs", costs.total);
    }
    if let Some(Groups { by, metrics }) = &stats.groups {
        let _ = writeln!(
            out,
            "\n{:>7}{:>9}{:>9}{:>9}{:>9}{:>9}  {}",
            "runs",
            "well",
            "valid",
            "post",
            "late",
            "p90 ms",
            by.name()
        );
        let shown = |rate: Option<f64>| rate.map_or_else(|| "–".to_owned(), percent);
        for Group { name, summary } in metrics {
            let post = &summary.postconditions;
            let rates = [summary.runs.success_rate, summary.plans.validity, post.rate, post.timeout_rate].map(shown);
            let [well, valid, held, late] = rates;
            let (total, p90, name) = (summary.runs.total, post.latency_ms.p90, plain(name));
            let _ = writeln!(out, "{total:>7}{well:>9}{valid:>9}{held:>9}{late:>9}{p90:>9}  {name}");
        }
    }
    if !summary.models.is_empty() {
        let _ = writeln!(out, "\n{:<28}{:>7}{:>12}{:>12}  cost", "model", "calls", "read", "written");
        for used in &summary.models {
            let ModelUse { model, calls, input_tokens, output_tokens, .. } = used;
            let model = if model.is_empty() { "(not named)".to_owned() } else { plain(model) };
            let cost = cost(used, prices).map_or_else(|| "–".to_owned(), |cost| format!("{cost:.4}"));
            let _ = writeln!(out, "{model:<28}{calls:>7}{input_tokens:>12}{output_tokens:>12}  {cost}");
        }
    }
    if !summary.verbs.is_empty() {
        let _ = writeln!(out, "\n{:<20}{:>9}{:>9}  duration", "verb", "attempts", "failed");
        for verb in &summary.verbs {
            let took = spread(verb.duration_ms, " ms");
            let _ = writeln!(out, "{:<20}{:>9}{:>9}  {took}", verb.verb, verb.attempts, verb.failed);
        }
    }
    for (title, slow) in [("slowest steps", &summary.slow_steps), ("slowest requests", &summary.slow_endpoints)] {
        if !slow.is_empty() {
            let _ = writeln!(out, "\n{title}");
        }
        for Slow { what, duration_ms: took, slowest_run, .. } in slow.iter().take(SLOWEST) {
            let (what, run) = (plain(what), plain(slowest_run));
            let _ = writeln!(out, "  p90 {} ms, max {} ms in {run}: {what}", took.p90, took.max);
        }
    }
    let flaky = [("flaky targets", &summary.flaky_targets), ("flaky conditions", &summary.flaky_conditions)];
    for (title, mixed) in flaky.into_iter().filter(|(_, mixed)| !mixed.is_empty()) {
        let _ = writeln!(out, "\n{title}");
        for one in mixed {
            let _ = writeln!(out, "  {} of {} failed: {}", one.failed, one.ok + one.failed, plain(&one.what));
        }
    }
    if !summary.failed.is_empty() {
        let _ = writeln!(out, "\nruns that did not end well");
        for run in &summary.failed {
            let step = run.step_index.map_or_else(String::new, |index| format!(", stepIndex {index}"));
            let why = run.cause.iter().chain(&run.message).map(|text| format!(": {}", plain(text))).collect::<String>();
            let _ = writeln!(out, "  {} {}{step}{why}", plain(&run.run_id), run.result);
        }
    }
    out
}

pub(super) fn value(measure: Measure, value: f64) -> String {
    match measure {
        Measure::Milliseconds => format!("{value:.0} ms"),
        Measure::Successes | Measure::Failures => percent(value),
    }
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

fn spread(quantiles: Quantiles, unit: &str) -> String {
    let Quantiles { count, p50, p90, p99, max } = quantiles;
    if count == 0 {
        return "–".to_owned();
    }
    format!("p50 {p50}{unit}, p90 {p90}{unit}, p99 {p99}{unit}, max {max}{unit}")
}

#[cfg(test)]
mod tests {
    use cuebook_datalayer::metrics::Summary;

    use super::Costs;
    use crate::args::Price;

    #[test]
    fn all_runs_are_paid_by_those_that_ended_well() {
        let used =
            |model: &str| serde_json::json!({ "model": model, "inputTokens": 3_000_000, "outputTokens": 100_000 });
        let summary = serde_json::json!({ "runs": { "ok": 2 }, "models": [used("a"), used("b")] });
        let summary: Summary = serde_json::from_value(summary).unwrap();
        assert!(Costs::of(&summary, &[]).is_none());
        let costs = Costs::of(&summary, &[Price { model: "a".to_owned(), input: 1.5, output: 5.0 }]).unwrap();
        assert!((costs.total - 5.0).abs() < 1e-9, "{}", costs.total);
        assert_eq!(costs.per_success.map(f64::round), Some(3.0));
        assert_eq!(costs.unpriced, ["b"]);
    }
}
