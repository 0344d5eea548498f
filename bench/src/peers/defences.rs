//! Costs of the proxy, the effect gate and masked pictures: `cuebook` beside itself.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use xtask::commands::root;
use xtask::site::Site;

use super::measure::{Metrics, merge};
use super::{Arguments, Bench, DOCUMENT, document, order, setting};

/// The flags that differ, and what they stand for.
const MODES: [(&str, &[&str]); 3] =
    [("neither", &["--direct"]), ("proxy", &[]), ("proxy and gate", &["--gate", "effects"])];

const METRICS: [(&str, &str); 7] = [
    ("navigate", "opening the page"),
    ("observe.view", "first observation, view"),
    ("observe.prepared", "the same, prepared while its step settled"),
    ("click", "click"),
    ("loop", "look, click, look again"),
    ("picture", "picture of the page"),
    ("picture.masked", "picture in which a secret is masked"),
];

/// Measures each mode in turn, prints a table, and writes what was asked for.
pub(super) fn run(bench: &mut Bench, site: &Site, arguments: &Arguments) -> Result<()> {
    let mut text = setting(&bench.chrome, &bench.packages, arguments, &[])?;
    let mut rows = Vec::new();
    for elements in &arguments.elements {
        bench.url = format!("{}/grid?n={elements}", site.origin());
        let mut batches = Vec::new();
        for batch in 0..arguments.batches {
            for mode in order(&[0, 1, 2], batch) {
                let Some((name, flags)) = MODES.get(mode) else { continue };
                println!("\n== {elements} elements, batch {} of {}: {name}", batch + 1, arguments.batches);
                let metrics = bench.measured(bench.cuebook(flags)).with_context(|| (*name).to_owned())?;
                batches.push((mode, metrics));
            }
        }
        let merged = merge(&batches);
        write!(text, "\n\n### {elements} elements, with and without the defences\n\n{}", table(&merged))?;
        rows.extend(to_json(*elements, &merged));
    }
    println!("\n{text}");
    if let Some(file) = &arguments.json {
        fs::write(file, format!("{:#}\n", Value::Array(rows)))
            .with_context(|| format!("cannot write {}", file.display()))?;
    }
    if arguments.docs {
        document::write_block(&root().join(DOCUMENT), "defences", &text)?;
    }
    Ok(())
}

/// Medians in milliseconds, with the least and the most in brackets.
fn table(merged: &BTreeMap<usize, Metrics>) -> String {
    let mut text = "| median (least–most), ms |".to_owned();
    text.extend(MODES.iter().map(|(name, _)| format!(" {name} |")));
    text.push_str("\n| --- |");
    text.push_str(&" ---: |".repeat(MODES.len()));
    for (metric, title) in METRICS {
        text.push_str(&format!("\n| {title} |"));
        for mode in 0..MODES.len() {
            let cell = merged.get(&mode).and_then(|metrics| metrics.get(metric)).map_or_else(
                || "–".to_owned(),
                |spread| format!("**{:.1}** ({:.1}–{:.1})", spread.median, spread.least, spread.most),
            );
            text.push_str(&format!(" {cell} |"));
        }
    }
    text
}

/// `[{metric, elements, neither, proxy, "proxy and gate", unit}]`: medians.
fn to_json(elements: u32, merged: &BTreeMap<usize, Metrics>) -> Vec<Value> {
    let row = |(metric, _): &(&str, &str)| {
        let mut row = json!({ "metric": metric, "elements": elements, "unit": "ms" });
        for (mode, (name, _)) in MODES.iter().enumerate() {
            let spread = merged.get(&mode).and_then(|metrics| metrics.get(*metric));
            row[*name] = json!(spread.map(|spread| (spread.median * 100.0).round() / 100.0));
        }
        row
    };
    METRICS.iter().map(row).collect()
}
