//! Questions with JSON Schemas on pages that were written for them (`eval/extract`), asked of an agent, and judged by what
//! the pages say.
//!
//! Invariant: what counts as found on a page is decided by its source alone, without the product's code.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use cuebook::Agent;
use cuebook::grammar::action::{Extract, ExtractKind, ExtractQuery};
use cuebook::grammar::report::Usage;
use regex::Regex;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// A question to one page.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// Name of the page's file, without its extension.
    pub page: String,
    /// A few words for people.
    pub name: String,
    /// JSON Schema that is filled.
    pub schema: Map<String, Value>,
    /// Values that the page states; other members are missing.
    pub expected: Value,
    /// JSON pointers to members that the page does not state, or not visibly.
    #[serde(default)]
    pub absent: BTreeSet<String>,
}

/// Who fills a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Way {
    /// Labels of the page alone.
    Labels,
    /// A model's quotes: members get names that no page has, and their own names as descriptions.
    Model,
    /// The labels, and for the rest a model's quotes.
    Both,
}

/// Counts of members, or what they sum up to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Counts {
    /// Members with the expected value.
    pub right: usize,
    /// Members with another value, or with one that the page does not state.
    pub wrong: usize,
    /// Members without a value that the page states.
    pub unfilled: usize,
    /// Members without a value, as the page states none.
    pub withheld: usize,
    /// Values, right or wrong, that are not on the page.
    pub invented: usize,
    /// Quotes of the model that the product refused.
    pub refused: usize,
    /// Calls of the model that gave no answer that can be read.
    pub failed: usize,
    /// Tokens that the model read and wrote.
    pub tokens: (u64, u64),
    /// Time for all questions.
    pub took: Duration,
}

/// One question, answered and judged.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Judged {
    page: String,
    name: String,
    /// Counts of this question alone.
    pub counts: Counts,
    /// Each member that is not as expected: its pointer, and what is wrong.
    pub faults: Vec<String>,
    /// Data that the step returned.
    pub data: Value,
}

/// The questions and the pages that they are about.
#[derive(Debug)]
pub struct Questions {
    /// The questions, in order.
    pub all: Vec<Question>,
    pages: BTreeMap<String, String>,
}

/// The folder of the questions in this repository.
#[must_use]
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../eval/extract")
}

impl Questions {
    /// Reads the questions and their pages.
    ///
    /// # Errors
    /// If a file cannot be read, a question has no page, or a member of a schema is neither expected nor absent.
    pub fn read() -> Result<Self> {
        let folder = folder();
        let file = folder.join("questions.json");
        let text = std::fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
        let all: Vec<Question> = serde_json::from_str(&text)?;
        let mut pages = BTreeMap::new();
        for entry in std::fs::read_dir(folder.join("pages"))? {
            let path = entry?.path();
            let name = path.file_stem().and_then(|stem| stem.to_str()).context("a page without a name")?;
            pages.insert(name.to_owned(), std::fs::read_to_string(&path)?);
        }
        for question in &all {
            ensure!(pages.contains_key(&question.page), "there is no page called {}", question.page);
            let members = question.schema.get("properties").and_then(Value::as_object).context("no properties")?;
            for member in members.keys() {
                let is_covered =
                    question.expected.get(member).is_some() || question.absent.contains(&format!("/{member}"));
                ensure!(is_covered, "{}: {member} is neither expected nor absent", question.name);
            }
        }
        Ok(Self { all, pages })
    }

    /// Serves the pages on loopback until the process ends, and returns the origin.
    #[must_use]
    pub fn serve(&self) -> String {
        let pages = self.pages.iter().map(|(name, html)| (format!("/{name}.html"), html));
        format!("http://127.0.0.1:{}", cuebook_testkit::serve(pages))
    }

    /// Asks one question in one way. The agent asks its model only as its budget allows.
    ///
    /// # Errors
    /// If the page cannot be opened, or the step fails.
    pub async fn ask(&self, agent: &mut Agent, origin: &str, question: &Question, way: Way) -> Result<Judged> {
        agent.open(&format!("{origin}/{}.html", question.page)).await?;
        let mut names = BTreeMap::new();
        let mut schema = Value::Object(question.schema.clone());
        if way == Way::Model {
            unname(&mut schema, &mut names);
        }
        let schema = schema.as_object().cloned();
        let query = ExtractQuery { target_ref: None, kind: ExtractKind::Schema, name: None, pattern: None, schema };
        let begun = Instant::now();
        let report = agent.act(Extract { query }).await?;
        let took = begun.elapsed();
        let data = report.steps.last().and_then(|step| step.data.clone()).context("the step has no data")?;
        let mut judged = self.judge(question, rename(data, &names));
        let Usage { input_tokens, output_tokens, .. } = report.usage;
        judged.counts.tokens = (input_tokens, output_tokens);
        judged.counts.took = took;
        Ok(judged)
    }

    /// Judges data that the step returned.
    #[must_use]
    pub fn judge(&self, question: &Question, data: Value) -> Judged {
        let source = Source::of(&self.pages, &question.page);
        let (mut expected, mut found) = (BTreeMap::new(), BTreeMap::new());
        leaves(&question.expected, "", &mut expected);
        leaves(&data, "", &mut found);
        found.retain(|path, _| !path.starts_with("/$"));
        let mut counts = Counts::default();
        let mut faults = Vec::new();
        for (path, wanted) in &expected {
            match found.get(path) {
                None => {
                    counts.unfilled += 1;
                    faults.push(format!("{path}: unfilled, not {wanted}"));
                }
                Some(seen) if is_same(seen, wanted) => counts.right += 1,
                Some(seen) => {
                    counts.wrong += 1;
                    faults.push(format!("{path}: {seen}, not {wanted}"));
                }
            }
        }
        for (path, seen) in found.iter().filter(|(path, _)| !expected.contains_key(*path)) {
            counts.wrong += 1;
            faults.push(format!("{path}: {seen}, which the page does not state"));
        }
        let is_below = |path: &&String| found.keys().any(|one| one == *path || one.starts_with(&format!("{path}/")));
        counts.withheld = question.absent.iter().filter(|path| !is_below(path)).count();
        for (path, seen) in &found {
            let quote = data["$byModel"][path]["quote"].as_str();
            let is_there = quote.map_or_else(|| source.has(seen), |quote| source.says(quote));
            if !is_there {
                counts.invented += 1;
                faults.push(format!("{path}: {seen} is not on the page"));
            }
        }
        counts.refused = data["$refused"].as_object().map_or(0, Map::len);
        counts.failed = usize::from(data["$note"].is_string());
        Judged { page: question.page.clone(), name: question.name.clone(), counts, faults, data }
    }
}

impl Counts {
    /// Adds the counts of another question.
    pub fn add(&mut self, other: &Self) {
        self.right += other.right;
        self.wrong += other.wrong;
        self.unfilled += other.unfilled;
        self.withheld += other.withheld;
        self.invented += other.invented;
        self.refused += other.refused;
        self.failed += other.failed;
        self.tokens = (self.tokens.0 + other.tokens.0, self.tokens.1 + other.tokens.1);
        self.took += other.took;
    }
}

/// Gives members names that no page has; their own become descriptions.
fn unname(schema: &mut Value, names: &mut BTreeMap<String, String>) {
    match schema {
        Value::Array(all) => all.iter_mut().for_each(|one| unname(one, names)),
        Value::Object(members) => {
            if let Some(Value::Object(properties)) = members.get_mut("properties") {
                for (name, mut member) in std::mem::take(properties) {
                    let unnamed = format!("q{}", names.len() + 1);
                    names.insert(unnamed.clone(), name.clone());
                    unname(&mut member, names);
                    let title = member["title"].as_str().unwrap_or(&name);
                    let about = match member["description"].as_str() {
                        Some(more) => format!("{title}, {more}"),
                        None => title.to_owned(),
                    };
                    if let Value::Object(member) = &mut member {
                        member.remove("title");
                        member.insert("description".to_owned(), about.into());
                    }
                    properties.insert(unnamed, member);
                }
            }
            if let Some(items) = members.get_mut("items") {
                unname(items, names);
            }
        }
        _ => {}
    }
}

/// Gives members their own names again, also in pointers.
fn rename(data: Value, names: &BTreeMap<String, String>) -> Value {
    let own = |name: &str| names.get(name).map_or(name, String::as_str).to_owned();
    match data {
        Value::Array(items) => items.into_iter().map(|item| rename(item, names)).collect(),
        Value::Object(members) => members
            .into_iter()
            .map(|(name, member)| (name.split('/').map(own).collect::<Vec<_>>().join("/"), rename(member, names)))
            .collect(),
        other => other,
    }
}

/// Values by their pointers; null is none.
fn leaves(value: &Value, path: &str, out: &mut BTreeMap<String, Value>) {
    match value {
        Value::Null => {}
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                leaves(item, &format!("{path}/{at}"), out);
            }
        }
        Value::Object(members) => {
            for (name, member) in members {
                leaves(member, &format!("{path}/{name}"), out);
            }
        }
        other => drop(out.insert(path.to_owned(), other.clone())),
    }
}

fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::String(one), Value::String(other)) => folded(one) == folded(other),
        _ => match (one.as_f64(), other.as_f64()) {
            (Some(one), Some(other)) => (one - other).abs() < 1e-9,
            _ => one == other,
        },
    }
}

fn folded(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Sources of a page and its frames.
struct Source {
    /// As they are written.
    raw: String,
    /// Without tags, and with a space for each. Of controls, what they show: the chosen option, what is entered.
    plain: [String; 2],
    numbers: Vec<f64>,
    digits: BTreeSet<u32>,
}

impl Source {
    fn of(pages: &BTreeMap<String, String>, page: &str) -> Self {
        let own = pages.iter().filter(|(name, _)| *name == page || name.starts_with(&format!("{page}-")));
        let raw: Vec<&str> = own.map(|(_, html)| html.as_str()).collect();
        let raw = raw.join("\n").replace("&amp;", "&").replace("&quot;", "\"");
        let shown = replaced(r"<option>[^<]*|<input type=.password[^>]*>", &raw, "");
        let shown = replaced(r#"<input [^>]*value="([^"]*)"[^>]*>"#, &shown, " $1 ");
        let plain = ["", " "].map(|instead| folded(&replaced(r"<[^>]*>", &shown, instead)));
        let numbers = found(r"\d[\d.,'’]*(?: \d{3}\b)*", &raw).flat_map(readings).collect();
        let digits = found(r"\d+", &raw).filter_map(|digits| digits.parse().ok()).collect();
        Self { raw, plain, numbers, digits }
    }

    fn says(&self, quote: &str) -> bool {
        self.plain.iter().any(|plain| plain.contains(&folded(quote)))
    }

    /// Returns `true` if a value is written here: numbers in any notation; of dates, the year and the day.
    fn has(&self, value: &Value) -> bool {
        let has_number = |wanted: f64| self.numbers.iter().any(|number| (number - wanted.abs()).abs() < 1e-9);
        match value {
            Value::String(text) => {
                let date: Vec<u32> = text.split('-').filter_map(|part| part.parse().ok()).collect();
                let is_date = text.len() == 10 && date.len() == 3;
                self.says(text)
                    || self.raw.contains(text.as_str())
                    || (is_date && self.digits.contains(&date[0]) && self.digits.contains(&date[2]))
            }
            Value::Number(number) => number.as_f64().is_some_and(has_number),
            // What a control or a word says is a truth, and no text.
            Value::Bool(_) => true,
            _ => false,
        }
    }
}

/// Values that a written number may have: with a point for decimals, with a comma, or without any.
fn readings(written: &str) -> Vec<f64> {
    let plain = written.trim_end_matches(['.', ',']).replace(['\'', '’', ' '], "");
    let point = plain.replace(',', "");
    let comma = plain.replace('.', "").replace(',', ".");
    [point, comma, plain.replace(['.', ','], "")].iter().filter_map(|text| text.parse().ok()).collect()
}

fn replaced(pattern: &str, text: &str, instead: &str) -> String {
    Regex::new(pattern).map(|pattern| pattern.replace_all(text, instead).into_owned()).unwrap_or_default()
}

fn found<'t>(pattern: &str, text: &'t str) -> impl Iterator<Item = &'t str> {
    let pattern = Regex::new(pattern).ok();
    let all: Vec<&str> = pattern.iter().flat_map(|pattern| pattern.find_iter(text)).map(|it| it.as_str()).collect();
    all.into_iter()
}

/// The counts of ways as a table.
#[must_use]
pub fn table(ways: &[(Way, Counts)]) -> String {
    let mut lines = vec!["| |".to_owned(), "| --- |".to_owned()];
    for (way, _) in ways {
        let title = match way {
            Way::Labels => "labels",
            Way::Model => "the model alone",
            Way::Both => "labels, then the model",
        };
        lines[0] += &format!(" {title} |");
        lines[1] += " ---: |";
    }
    type Cell = fn(&Counts) -> String;
    let rows: [(&str, Cell); 9] = [
        ("members right", |it| it.right.to_string()),
        ("… wrong", |it| it.wrong.to_string()),
        ("… unfilled, though on the page", |it| it.unfilled.to_string()),
        ("… unfilled, and not on the page", |it| it.withheld.to_string()),
        ("values that are not on the page (invented)", |it| it.invented.to_string()),
        ("quotes of the model that were refused", |it| it.refused.to_string()),
        ("answers of the model that could not be read", |it| it.failed.to_string()),
        ("seconds, all questions", |it| format!("{:.1}", it.took.as_secs_f64())),
        ("tokens, read + written", |it| format!("{} + {}", it.tokens.0, it.tokens.1)),
    ];
    for (title, cell) in rows {
        let cells: String = ways.iter().map(|(_, counts)| format!(" {} |", cell(counts))).collect();
        lines.push(format!("| {title} |{cells}"));
    }
    lines.join("\n")
}

/// Everything about one way, for a file.
#[must_use]
pub fn record(way: Way, counts: &Counts, judged: &[Judged]) -> Value {
    json!({ "way": way, "counts": counts, "questions": judged })
}
