//! Metrics as Prometheus' text format, version 0.0.4.

use std::fmt::Write as _;

use super::summary::{Quantiles, Summary};

impl Summary {
    /// The metrics as text that Prometheus' node exporter and Pushgateway take. Rates without a count are left out.
    #[must_use]
    pub fn to_prometheus(&self) -> String {
        let mut out = String::new();
        let runs = [
            ("ok", self.runs.ok),
            ("failed", self.runs.failed),
            ("blocked", self.runs.blocked),
            ("invalid", self.runs.invalid),
            ("error", self.runs.error),
            ("unproven", self.runs.unproven),
            ("interrupted", self.runs.interrupted),
            ("cutOff", self.runs.cut_off),
        ];
        head(&mut out, "cuebook_runs", "Runs by how they ended.");
        for (result, count) in runs {
            line(&mut out, "cuebook_runs", &[("result", result)], count);
        }
        head(&mut out, "cuebook_rate_ratio", "Rates of the summary, from 0 to 1.");
        for (rate, value) in self.rates() {
            if let Some(value) = value {
                line(&mut out, "cuebook_rate_ratio", &[("rate", rate)], value);
            }
        }
        head(&mut out, "cuebook_attempts", "Attempts of steps by verb and result.");
        for verb in &self.verbs {
            let ok = verb.attempts.saturating_sub(verb.failed);
            for (result, count) in [("ok", ok), ("failed", verb.failed)] {
                line(&mut out, "cuebook_attempts", &[("verb", &verb.verb), ("result", result)], count);
            }
        }
        head(&mut out, "cuebook_failures", "Failed attempts by cause.");
        for (cause, count) in &self.causes {
            line(&mut out, "cuebook_failures", &[("cause", cause)], *count);
        }
        head(&mut out, "cuebook_read_as_markdown", "Reads whose schema asked for nothing.");
        line(&mut out, "cuebook_read_as_markdown", &[], self.read_as_markdown);
        head(&mut out, "cuebook_tokens", "Tokens that models read and wrote, by model.");
        for used in &self.models {
            for (direction, count) in [("input", used.input_tokens), ("output", used.output_tokens)] {
                line(&mut out, "cuebook_tokens", &[("model", &used.model), ("direction", direction)], count);
            }
        }
        let distributions = [
            ("cuebook_postcondition_milliseconds", "From the input to the verdict.", self.postconditions.latency_ms),
            ("cuebook_success_milliseconds", "Duration of a run that ended well.", self.success.duration_ms),
            ("cuebook_success_tokens", "Tokens of a run that ended well.", self.success.tokens),
            ("cuebook_repair_depth", "Further attempts and inserted steps until recovery.", self.repairs.depth),
        ];
        for (name, help, quantiles) in distributions {
            head(&mut out, name, help);
            let Quantiles { p50, p90, p99, max, .. } = quantiles;
            for (quantile, value) in [("0.5", p50), ("0.9", p90), ("0.99", p99), ("1", max)] {
                line(&mut out, name, &[("quantile", quantile)], value);
            }
        }
        out
    }
}

fn head(out: &mut String, name: &str, help: &str) {
    // Writing to a string cannot fail, here and below.
    let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} gauge");
}

fn line(out: &mut String, name: &str, labels: &[(&str, &str)], value: impl std::fmt::Display) {
    let escaped = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    let labels: Vec<String> = labels.iter().map(|(name, text)| format!("{name}=\"{}\"", escaped(text))).collect();
    let _ = writeln!(out, "{name}{{{}}} {value}", labels.join(","));
}
