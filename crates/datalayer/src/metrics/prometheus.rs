//! Metrics as Prometheus' text format, version 0.0.4.

use super::group::By;
use super::summary::{Measure, Quantiles, Summary};

/// Metrics of all runs, and if they are grouped, those of each group with its name as a label, as text that Prometheus'
/// node exporter and Pushgateway take. Rates and distributions without a count are left out.
#[must_use]
pub fn to_prometheus(all: &Summary, groups: Option<(By, &[(String, Summary)])>) -> String {
    let mut metrics = of(all, None);
    for (by, (name, summary)) in groups.iter().flat_map(|(by, groups)| groups.iter().map(move |one| (by, one))) {
        for (metric, more) in metrics.iter_mut().zip(of(summary, Some((by.name(), name)))) {
            metric.lines.extend(more.lines);
        }
    }
    let text =
        |Metric { name, help, lines }: Metric| format!("# HELP {name} {help}\n# TYPE {name} gauge\n{}", lines.concat());
    metrics.into_iter().map(text).collect()
}

struct Metric {
    name: &'static str,
    help: &'static str,
    lines: Vec<String>,
}

/// Metrics in an order that is equal for every summary, some of them without lines.
fn of(summary: &Summary, group: Option<(&str, &str)>) -> Vec<Metric> {
    let mut metrics: Vec<Metric> = Vec::new();
    let mut metric = |name: &'static str, help: &'static str, values: Vec<(Vec<(&str, &str)>, String)>| {
        let line = |(labels, value): &(Vec<(&str, &str)>, String)| {
            let labels = group.iter().chain(labels).map(|(name, text)| format!("{name}=\"{}\"", escaped(text)));
            format!("{name}{{{}}} {value}\n", labels.collect::<Vec<_>>().join(","))
        };
        metrics.push(Metric { name, help, lines: values.iter().map(line).collect() });
    };
    let runs = [
        ("ok", summary.runs.ok),
        ("failed", summary.runs.failed),
        ("blocked", summary.runs.blocked),
        ("invalid", summary.runs.invalid),
        ("error", summary.runs.error),
        ("unproven", summary.runs.unproven),
        ("interrupted", summary.runs.interrupted),
        ("cutOff", summary.runs.cut_off),
    ];
    let runs = runs.map(|(result, count)| (vec![("result", result)], count.to_string()));
    metric("cuebook_runs", "Runs by how they ended.", runs.into());
    let shares = summary.rates().into_iter().filter(|rate| rate.measure != Measure::Milliseconds);
    let shares = shares.filter_map(|rate| Some((vec![("rate", rate.name)], rate.value?.to_string())));
    metric("cuebook_rate_ratio", "Rates of the summary, from 0 to 1.", shares.collect());
    let attempts = summary.verbs.iter().flat_map(|verb| {
        let ends = [("ok", verb.attempts.saturating_sub(verb.failed)), ("failed", verb.failed)];
        ends.map(|(result, count)| (vec![("verb", verb.verb.as_str()), ("result", result)], count.to_string()))
    });
    metric("cuebook_attempts", "Attempts of steps by verb and result.", attempts.collect());
    let causes = summary.causes.iter().map(|(cause, count)| (vec![("cause", cause.as_str())], count.to_string()));
    metric("cuebook_failures", "Failed attempts by cause.", causes.collect());
    let reads = vec![(Vec::new(), summary.read_as_markdown.to_string())];
    metric("cuebook_read_as_markdown", "Reads whose schema asked for nothing.", reads);
    let tokens = summary.models.iter().flat_map(|used| {
        let directions = [("input", used.input_tokens), ("output", used.output_tokens)];
        directions.map(|(name, count)| (vec![("model", used.model.as_str()), ("direction", name)], count.to_string()))
    });
    metric("cuebook_tokens", "Tokens that models read and wrote, by model.", tokens.collect());
    let distributions = [
        ("cuebook_postcondition_milliseconds", "From the input to the verdict.", summary.postconditions.latency_ms),
        ("cuebook_step_milliseconds", "Duration of an attempt of a step.", summary.steps.duration_ms),
        ("cuebook_success_milliseconds", "Duration of a run that ended well.", summary.success.duration_ms),
        ("cuebook_success_tokens", "Tokens of a run that ended well.", summary.success.tokens),
        ("cuebook_repair_depth", "Further attempts and inserted steps until recovery.", summary.repairs.depth),
    ];
    for (name, help, Quantiles { count, p50, p90, p99, max }) in distributions {
        let quantiles = [("0.5", p50), ("0.9", p90), ("0.99", p99), ("1", max)].into_iter().filter(|_| count > 0);
        let quantiles = quantiles.map(|(quantile, value)| (vec![("quantile", quantile)], value.to_string()));
        metric(name, help, quantiles.collect());
    }
    metrics
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
