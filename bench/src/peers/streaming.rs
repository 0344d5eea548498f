//! A plan that runs while it is written, beside the same plan that runs when it is whole.
//!
//! A model of our own writes five steps at 50 tokens a second on a page whose server takes a while for each step. In
//! sequence, the model takes the same time and sends everything at its end: client, page and plan are the same.
//!
//! Invariants:
//! - All times are those of one clock, that of the server: it sends the tokens, gets what each click causes, and gets
//!   the next prompt.
//! - Both ways take turns.

mod model;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use model::{Event, Model, Way};
use serde_json::{Value, json};
use tiktoken_rs::o200k_base;
use xtask::chrome;
use xtask::commands::{build_cuebook, output_of, root};

use super::{Arguments, DOCUMENT, document};

/// Time that the server of the page takes for each step.
const DELAYS: [Duration; 3] = [Duration::ZERO, Duration::from_millis(200), Duration::from_millis(400)];

/// How much slower the sequence has to be where steps take about as long as they take to write.
const SLOWER: f64 = 1.3;

/// Times of one measurement, in milliseconds.
struct Times {
    first_input: f64,
    next_prompt: f64,
    whole: f64,
    process: f64,
}

const TITLES: [(&str, &str); 4] = [
    ("firstTokenToFirstInput", "first token to first input"),
    ("lastInputToNextPrompt", "last input to next prompt"),
    ("promptToNextPrompt", "prompt to next prompt"),
    ("process", "whole command, browser included"),
];

impl Times {
    const fn all(&self) -> [f64; 4] {
        [self.first_input, self.next_prompt, self.whole, self.process]
    }
}

/// Measures, prints, writes what was asked for, and fails if the sequence is not slower by enough.
pub(super) fn run(arguments: &Arguments) -> Result<()> {
    let chrome = chrome::find_or_install()?;
    let cuebook = build_cuebook()?;
    let folder = root().join("target/bench/streaming");
    fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let tokenizer = o200k_base().context("cannot read the tokenizer")?;
    let mut rows = Vec::new();
    for delay in DELAYS {
        let mut streamed = Vec::new();
        let mut in_sequence = Vec::new();
        // The first round of each warms up.
        for round in 0..=arguments.rounds {
            for (way, times) in [(Way::Streamed, &mut streamed), (Way::InSequence, &mut in_sequence)] {
                let model = Model::start(way, delay, tokenizer.clone())?;
                let measured = one(&cuebook, &chrome, &folder, &model)?;
                if round > 0 {
                    times.push(measured);
                }
            }
        }
        let medians =
            |times: &[Times]| -> Vec<f64> { (0..4).map(|n| median(times.iter().map(|t| t.all()[n]))).collect() };
        rows.push((delay, medians(&streamed), medians(&in_sequence)));
    }
    let text = format!("{}\n\n{}", setting(&chrome, arguments.rounds)?, table(&rows));
    println!("\n{text}");
    if let Some(file) = &arguments.json {
        fs::write(file, format!("{:#}\n", to_json(&rows)))
            .with_context(|| format!("cannot write {}", file.display()))?;
    }
    if arguments.docs {
        document::write_block(&root().join(DOCUMENT), "streaming", &text)?;
    }
    let slower = rows.last().map_or(0.0, |(_, streamed, in_sequence)| in_sequence[2] / streamed[2]);
    ensure!(slower >= SLOWER, "the sequence is only {slower:.2} times slower, not {SLOWER}");
    Ok(())
}

fn one(cuebook: &Path, chrome: &Path, folder: &Path, model: &Model) -> Result<Times> {
    let out: PathBuf = folder.join("runs");
    let began = Instant::now();
    let output = Command::new(cuebook)
        .args(["--json", "run", "Save all five", "--url", &model.origin(), "--planner", "openai"])
        .args(["--base-url", &format!("{}/v1", model.origin()), "--model", "tiny", "--engine-mode", "schema"])
        .arg("--out")
        .arg(&out)
        .arg("--chrome")
        .arg(chrome)
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("cannot run {}", cuebook.display()))?;
    let process = began.elapsed();
    ensure!(output.status.success(), "cuebook failed: {}", String::from_utf8_lossy(&output.stderr));
    let events = model.events();
    let first = |wanted: Event| events.iter().find(|(event, _)| *event == wanted).map(|(_, at)| *at);
    let inputs: Vec<Instant> = events.iter().filter(|(event, _)| *event == Event::Input).map(|(_, at)| *at).collect();
    ensure!(inputs.len() == 5, "there were {} inputs, not five", inputs.len());
    let mut prompts = events.iter().filter(|(event, _)| *event == Event::Prompt).map(|(_, at)| *at);
    let (Some(prompt), Some(next)) = (prompts.next(), prompts.next()) else { anyhow::bail!("expected two prompts") };
    let token = first(Event::Token).context("the model wrote nothing")?;
    let (Some(first), Some(last)) = (inputs.first(), inputs.last()) else { anyhow::bail!("expected inputs") };
    Ok(Times {
        first_input: ms(*first - token),
        next_prompt: ms(next - *last),
        whole: ms(next - prompt),
        process: ms(process),
    })
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1_000.0
}

fn median(numbers: impl Iterator<Item = f64>) -> f64 {
    let mut sorted: Vec<f64> = numbers.collect();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}

fn setting(chrome: &Path, rounds: u32) -> Result<String> {
    let chrome = output_of(Command::new(chrome).arg("--version"))?;
    let chrome: Vec<&str> = chrome.split_whitespace().take_while(|word| *word != "built").collect();
    let cores = std::thread::available_parallelism().map_or(0, std::num::NonZero::get);
    let system = format!("{} {}", std::env::consts::OS, std::env::consts::ARCH);
    Ok(format!(
        "Medians of {rounds} rounds; {cores} cores, {system}; {}; cuebook in a development build, its log durable.",
        chrome.join(" ")
    ))
}

type Row = (Duration, Vec<f64>, Vec<f64>);

fn table(rows: &[Row]) -> String {
    let mut text = "| ms | the page's server takes | while it is written | in sequence | in sequence ÷ streamed |\n\
                    | --- | ---: | ---: | ---: | ---: |\n"
        .to_owned();
    for (delay, streamed, in_sequence) in rows {
        for (n, (_, title)) in TITLES.iter().enumerate() {
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "| {title} | {} | **{:.0}** | **{:.0}** | {:.2} |",
                delay.as_millis(),
                streamed[n],
                in_sequence[n],
                in_sequence[n] / streamed[n],
            );
        }
    }
    text
}

fn to_json(rows: &[Row]) -> Value {
    let rows = rows.iter().flat_map(|(delay, streamed, in_sequence)| {
        TITLES.iter().enumerate().map(move |(n, (name, _))| {
            let round = |number: f64| (number * 10.0).round() / 10.0;
            json!({
                "metric": name, "serverMs": u64::try_from(delay.as_millis()).unwrap_or(u64::MAX),
                "streamed": round(streamed[n]), "inSequence": round(in_sequence[n]), "unit": "ms",
            })
        })
    });
    Value::Array(rows.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_and_the_document_have_every_metric_for_every_delay() {
        let rows = [(Duration::from_millis(200), vec![1.0, 2.0, 3.0, 4.0], vec![2.0, 2.0, 6.0, 5.0])];
        assert!(table(&rows).contains("| prompt to next prompt | 200 | **3** | **6** | 2.00 |"));
        let json = to_json(&rows);
        assert_eq!(
            json[2],
            json!({
                "metric": "promptToNextPrompt", "serverMs": 200, "streamed": 3.0, "inSequence": 6.0, "unit": "ms",
            })
        );
        assert_eq!(median([3.0, 1.0, 2.0].into_iter()), 2.0);
    }
}
