//! Which metric of one side stands beside which of another, as a table and as JSON.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Value, json};

use super::measure::{Metrics, Side, Spread};

/// One line of the comparison. Metrics have the same name on all sides; only a first observation is one thing
/// to the others and two to us.
struct Metric {
    name: &'static str,
    /// Title of the metric, for people.
    title: &'static str,
    /// Name of the metric in the results of the others.
    theirs: &'static str,
    unit: &'static str,
}

const fn metric(name: &'static str, title: &'static str, unit: &'static str) -> Metric {
    Metric { name, title, theirs: name, unit }
}

const METRICS: [Metric; 11] = [
    Metric { name: "observe.view", title: "first observation, view", theirs: "observe", unit: "ms" },
    Metric { name: "observe.full", title: "first observation, full", theirs: "observe", unit: "ms" },
    metric("observe.delta", "full observation after one change", "ms"),
    Metric { name: "observe.viewDelta", title: "view after one change", theirs: "observe.delta", unit: "ms" },
    metric("loop", "look, click, look again", "ms"),
    metric("observe.bytes", "bytes of the full observation as text", "bytes"),
    metric("observe.tokens", "tokens of the same (o200k_base)", "tokens"),
    metric("click", "click", "ms"),
    metric("setValue", "setting a value", "ms"),
    metric("type20", "typing 20 characters", "ms"),
    metric("rss", "peak memory of the process", "MiB"),
];

/// One line with its numbers.
pub(super) struct Row {
    metric: &'static Metric,
    elements: u32,
    cuebook: Option<Spread>,
    playwright: Option<Spread>,
    agent_browser: Option<Spread>,
}

/// Puts the figures of one metric side by side. Metrics without a measurement are omitted.
pub(super) fn compare(elements: u32, sides: &BTreeMap<Side, Metrics>) -> Vec<Row> {
    let of = |side: Side, name: &str| sides.get(&side).and_then(|metrics| metrics.get(name)).copied();
    METRICS
        .iter()
        .map(|metric| Row {
            metric,
            elements,
            cuebook: of(Side::Cuebook, metric.name),
            playwright: of(Side::Playwright, metric.theirs),
            agent_browser: of(Side::AgentBrowser, metric.theirs),
        })
        .filter(|row| row.cuebook.is_some())
        .collect()
}

/// A Markdown table: medians, with the least and the most in brackets, and ratios of medians.
pub(super) fn table(rows: &[Row]) -> String {
    let mut text = "| median (least–most) | cuebook | playwright-core | agent-browser | playwright ÷ cuebook |\n\
                    | --- | ---: | ---: | ---: | ---: |\n"
        .to_owned();
    for row in rows {
        let ratio = match (row.cuebook, row.playwright) {
            (Some(ours), Some(theirs)) if ours.median > 0.0 => format!("{:.2}", theirs.median / ours.median),
            _ => "–".to_owned(),
        };
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "| {}, {} | {} | {} | {} | {ratio} |",
            row.metric.title,
            row.metric.unit,
            shown(row.cuebook),
            shown(row.playwright),
            shown(row.agent_browser),
        );
    }
    text
}

/// The median, with the least and the most in brackets.
pub(super) fn shown(spread: Option<Spread>) -> String {
    spread.map_or_else(
        || "–".to_owned(),
        |spread| match spread {
            Spread { median, least, most, .. } if most <= least => format!("**{median:.0}**"),
            Spread { median, least, most, .. } => format!("**{median:.1}** ({least:.1}–{most:.1})"),
        },
    )
}

/// `[{metric, elements, cuebook, playwright, agentBrowser, unit}]`: medians, null where there is none.
pub(super) fn to_json(rows: &[Row]) -> Value {
    let median = |spread: Option<Spread>| spread.map(|spread| (spread.median * 100.0).round() / 100.0);
    rows.iter()
        .map(|row| {
            json!({
                "metric": row.metric.name,
                "elements": row.elements,
                "cuebook": median(row.cuebook),
                "playwright": median(row.playwright),
                "agentBrowser": median(row.agent_browser),
                "unit": row.metric.unit,
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::super::measure::{Metrics, Side, Spread};
    use super::{compare, table, to_json};

    fn metrics(named: &[(&str, f64)]) -> Metrics {
        let spread = |median: f64| Spread { median, least: median - 1.0, most: median + 1.0, rounds: 2 };
        named.iter().map(|(name, median)| ((*name).to_owned(), spread(*median))).collect()
    }

    #[test]
    fn a_side_that_was_not_measured_is_null_and_not_zero() {
        let sides = BTreeMap::from([
            (Side::Cuebook, metrics(&[("observe.view", 20.0), ("click", 16.0)])),
            (Side::Playwright, metrics(&[("observe", 100.0), ("click", 32.0)])),
        ]);
        let rows = compare(1_000, &sides);
        assert_eq!(
            to_json(&rows)[0],
            json!({
                "metric": "observe.view", "elements": 1_000, "cuebook": 20.0, "playwright": 100.0,
                "agentBrowser": null, "unit": "ms",
            })
        );
        let text = table(&rows);
        assert!(
            text.contains("| first observation, view, ms | **20.0** (19.0–21.0) | **100.0** (99.0–101.0) | – | 5.00 |")
        );
        assert!(!text.contains("first observation, full"));
    }
}
