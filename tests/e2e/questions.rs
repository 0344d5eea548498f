//! Tests that a model's view of a page is enough to answer questions about what the page says.
//!
//! The model is a program that reads only its prompt: it looks a value up as a person would, and where the prompt does
//! not say it, searches the page and reads what the search returned.

use std::sync::Arc;

use anyhow::{Result, ensure};
use cuebook::Live;
use cuebook_datalayer::{MemoryArtifacts, MemoryLog, ValueRedactor};
use cuebook_executor::ExecutorOptions;
use cuebook_grammar::id::{PageId, RunId};
use cuebook_grammar::policy::Policy;
use cuebook_grammar::report::{RunReport, RunResult};
use cuebook_grammar::seam::{DenyAll, NoSecrets};
use cuebook_grammar::secret::DigestKey;
use cuebook_page_modeler::ModelerOptions;
use cuebook_planner::{ModelPlanner, OpenAi};
use cuebook_repair::{Ladder, Layers, RunRequest, Work};
use cuebook_tests::Stage;
use regex::Regex;
use serde_json::{Value, json};

use super::engines::prompt;
use super::engines::servers::{Dialect, Request, Server};

/// How an answer is looked up.
#[derive(Clone, Copy, Debug)]
enum Question {
    /// The cell after this one.
    Beside(&'static str),
    /// The cell of a row in a column.
    Cell(&'static str, &'static str),
    /// The sum of two rows' cells in a column.
    Sum(&'static str, &'static str, &'static str),
    /// The row with the largest cell in a column.
    Most(&'static str),
    /// The match of the pattern's group, in what is shown or, searched for by these words, in what is read.
    Says(&'static str, &'static str),
}
use Question::{Beside, Cell, Most, Says, Sum};

/// Questions: the text, the way to look the answer up, the answer, and the number of plans that takes.
const QUESTIONS: [(&str, Question, &str, usize); 20] = [
    ("Who is the harbour master?", Beside("Harbour master"), "Ines Halvorsen", 1),
    ("How many berths are there?", Beside("Berths"), "214", 1),
    ("What does a week ticket cost?", Beside("Week ticket"), "€ 31.00", 1),
    ("What does a day ticket cost?", Beside("Day ticket"), "€ 7.40", 1),
    ("How high is the evening tide at Old Quay?", Cell("Old Quay", "Evening"), "1.20", 1),
    ("How high is the morning tide at Lighthouse?", Cell("Lighthouse", "Morning"), "4.45", 1),
    ("Add the morning tides of Northpier and Old Quay", Sum("Northpier", "Old Quay", "Morning"), "7.95", 1),
    ("Where is the evening tide highest?", Most("Evening"), "Lighthouse", 1),
    ("Which ferry is late?", Says(r"Ferry (\d+) is delayed", "delayed"), "12", 1),
    ("How late is it?", Says(r"delayed by (\d+ minutes)", "delayed"), "25 minutes", 1),
    ("Up to which age do children travel free?", Says(r"below the age of (\w+) travel", "age"), "six", 1),
    ("Where does one change?", Says(r#"\* "Change at (\w+)""#, "Change at"), "Sundholm", 1),
    ("Where is the kiosk?", Says(r#"\(picture "Map: the kiosk is ([\w ]+)"\)"#, "kiosk"), "beside the crane", 1),
    ("What is the door code?", Says(r"Door code: (\d+)", "Door code"), "8841", 1),
    ("How strong is the wind?", Says(r"Wind: [\w-]+, (force \d)", "Wind"), "force 6", 1),
    ("How warm is the water?", Says(r"Water: (\d+ degrees)", "Water"), "11 degrees", 1),
    ("Which line goes to Ebbsand?", Says(r#""(\d+) to Ebbsand""#, "Ebbsand"), "47", 1),
    ("From where does one depart?", Says(r#""Depart from" \[c\d+\] value="([^"]+)""#, "Depart"), "Berth 19", 1),
    ("What is the secret ingredient?", Says(r"secret ingredient is (\w+)", "secret ingredient"), "juniper", 2),
    ("Who founded the harbour?", Says(r"founded in 1687 by ([A-Z]\w+ [A-Z]\w+)", "founded"), "Karl Brandt", 2),
];

/// The cells of each line of the page that a prompt shows.
fn lines(prompt: &str) -> Vec<Vec<String>> {
    let shown = prompt.lines().filter_map(|line| line.strip_prefix("| "));
    let plain = |cell: &str| cell.trim().trim_start_matches("row ").trim_matches('"').to_owned();
    shown.map(|line| line.trim().split(" | ").map(plain).collect()).collect()
}

fn cell<'a>(lines: &'a [Vec<String>], row: &str, column: &str) -> Option<&'a str> {
    let head = lines.iter().find(|line| line.iter().any(|cell| cell == column))?;
    let at = head.iter().position(|cell| cell == column)?;
    lines.iter().find(|line| line.first().is_some_and(|cell| cell == row))?.get(at).map(String::as_str)
}

fn number(text: &str) -> Option<f64> {
    text.parse().ok()
}

/// The next steps of a model that was asked this.
fn answer(question: Question, prompt: &str) -> Option<Value> {
    let lines = lines(prompt);
    let mut from = Vec::new();
    let found = match question {
        Beside(label) => {
            let line = lines.iter().find(|line| line.iter().any(|cell| cell == label))?;
            line.get(line.iter().position(|cell| cell == label)? + 1).cloned()
        }
        Cell(row, column) => cell(&lines, row, column).map(str::to_owned),
        Sum(one, other, column) => {
            let parts = [cell(&lines, one, column)?, cell(&lines, other, column)?];
            let sum = number(parts[0])? + number(parts[1])?;
            from.extend(parts.map(str::to_owned));
            Some(format!("{sum:.2}"))
        }
        Most(column) => {
            let names = lines.iter().filter_map(|line| line.first());
            let rows = names.filter_map(|name| Some((number(cell(&lines, name, column)?)?, name)));
            rows.max_by(|(one, _), (other, _)| one.total_cmp(other)).map(|(_, name)| name.clone())
        }
        Says(pattern, words) => {
            let data: String = prompt.lines().filter(|line| line.starts_with("| ")).collect::<Vec<_>>().join("\n");
            match Regex::new(pattern).ok()?.captures(&data).and_then(|found| found.get(1)) {
                Some(found) => Some(found.as_str().to_owned()),
                None => return Some(json!({ "type": "searchPage", "query": words, "context": 200 })),
            }
        }
    };
    let mut finish = json!({ "type": "finish", "result": found? });
    if !from.is_empty() {
        finish["from"] = json!(from);
    }
    Some(finish)
}

fn asked(request: &Request) -> Option<Value> {
    let prompt = prompt(request);
    let (_, question, ..) = QUESTIONS.into_iter().find(|(task, ..)| prompt.contains(task))?;
    answer(question, &prompt)
}

async fn ask(stage: &Stage, server: &Server, task: &str) -> Result<RunReport> {
    let live = Live::new(stage.browser().clone(), DigestKey::new([7; 32]), Arc::new(ValueRedactor::default()));
    let engine = OpenAi::new(&format!("{}/v1", server.origin()), "tiny")?;
    let layers = Layers {
        modeler: live.modeler(ModelerOptions::default()),
        planner: Arc::new(ModelPlanner::new(engine)),
        executor: live.executor(NoSecrets, MemoryArtifacts::default(), ExecutorOptions::default()),
        repair: Ladder::default(),
        log: MemoryLog::default(),
        confirm: DenyAll,
    };
    let url = stage.url("/almanac");
    let tab = stage.tab().ok_or_else(|| anyhow::anyhow!("the stage has a tab"))?;
    let request = RunRequest::new(
        RunId::new("questions"),
        Work::Task(task.to_owned()),
        PageId::new(tab.target_id().as_str()),
        Policy::default().starting_at(&url)?,
    )
    .starting_at(url);
    Ok(live.controller(layers).run(request).await)
}

#[tokio::test]
async fn twenty_questions_about_a_page_are_answered_by_the_prompt_or_one_search() -> Result<()> {
    let stage = Stage::open().await?;
    let dialect = Dialect::OwnServer;
    let server = Server::choosing(move |_, request| {
        let steps = asked(request).unwrap_or_else(|| json!({ "type": "fail", "reason": "it is not said" }));
        Some(dialect.saying(&dialect.plan(&[steps])))
    })
    .await;
    for (task, _, expected, plans) in QUESTIONS {
        let before = server.requests().len();
        let report = ask(&stage, &server, task).await?;
        let prompt = server.requests().last().map(prompt).unwrap_or_default();
        ensure!(report.result == RunResult::Ok, "{task} {report:#?}\n{prompt}");
        ensure!(report.answer.as_deref() == Some(expected), "{task}: {:?}\n{prompt}", report.answer);
        assert_eq!(server.requests().len() - before, plans, "{task}");
    }
    Ok(())
}
