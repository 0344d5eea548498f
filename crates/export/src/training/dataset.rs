//! Writers of examples: one chat a line, and a folder that `datasets` loads.

use std::collections::BTreeMap;

use cuebook_grammar::outcome::ArtifactRef;
use serde::Serialize;
use serde_json::json;

use super::classes::{self, Class, Counts};
use super::lessons::{Lessons, TrainingExample};
use super::{Message, answered, asked};
use crate::error::ExportError;
use crate::job::{Lines, Options, Out};
use crate::source::{ExportEntry, Pages, RunSource, digest};

fn chat(request: String, answer: String) -> Vec<Message> {
    asked(request).into_iter().chain([answered(answer)]).collect()
}

/// The folder of the pictures.
const IMAGES: &str = "images";

/// The chat for models that see: each content is a list of parts, and the picture, if there is one, is the first part of
/// the request.
fn seeing(
    chat: Vec<Message>,
    picture: Option<&ArtifactRef>,
    run: &RunSource,
    out: &mut Out<'_>,
) -> Result<Vec<Message>, ExportError> {
    let path = picture.map_or(Ok(None), |picture| out.picture(run, picture, IMAGES))?;
    let parts = |message: Message| {
        let image = path.as_ref().filter(|_| message.role == "user");
        let image = image.map(|path| json!({ "type": "image", "image": path }));
        let text = json!({ "type": "text", "text": message.content });
        Message { content: image.into_iter().chain([text]).collect(), ..message }
    };
    Ok(chat.into_iter().map(parts).collect())
}

/// An example as the fine-tuning API of OpenAI reads it.
#[derive(Serialize)]
struct Example {
    messages: Vec<Message>,
}

/// Writer of the format `sft`: one chat per line.
#[derive(Default)]
pub(crate) struct Examples {
    pictures: bool,
    lessons: Lessons,
    counts: Counts,
}

impl Examples {
    pub(crate) fn of(options: &Options) -> Self {
        Self { pictures: options.pictures, ..Self::default() }
    }
}

impl Lines for Examples {
    fn take(
        &mut self,
        run: &RunSource,
        seen: ExportEntry,
        pages: &Pages,
        out: &mut Out<'_>,
    ) -> Result<(), ExportError> {
        for TrainingExample { request, answer, classes, picture, .. } in self.lessons.take(run, &seen, pages) {
            self.counts.add(&classes);
            let messages = chat(request, answer);
            let messages = if self.pictures { seeing(messages, picture.as_ref(), run, out)? } else { messages };
            out.line(&Example { messages })?;
        }
        Ok(())
    }

    fn variant(&self) -> &'static str {
        variant(self.pictures)
    }

    fn finish(&mut self, out: &mut Out<'_>) -> Result<(), ExportError> {
        write_classes(&self.counts, out)
    }
}

const fn variant(pictures: bool) -> &'static str {
    if pictures { "+pictures" } else { "" }
}

fn write_classes(counts: &Counts, out: &mut Out<'_>) -> Result<(), ExportError> {
    let mut text = serde_json::to_vec_pretty(&counts.shares())?;
    text.push(b'\n');
    out.file(classes::FILE, &text)
}

const SPLITS: [&str; 3] = ["train", "validation", "test"];

/// 8 of 10 tasks train, one validates, one tests.
fn split(site: &str, task: &str) -> usize {
    let task = task.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
    match digest([site.as_bytes(), task.as_bytes()]).bytes().map(u64::from).fold(0, |sum, byte| (sum * 31 + byte) % 10)
    {
        0 => 1,
        1 => 2,
        _ => 0,
    }
}

/// A row of the dataset.
#[derive(Serialize)]
struct Row<'a> {
    messages: Vec<Message>,
    site: &'a str,
    task: &'a str,
    classes: Vec<Class>,
    run_id: &'a str,
    /// Absent for the end of the task.
    step_index: Option<u32>,
}

/// Writer of the format `hf`: rows in a file per split, and a card at the end.
#[derive(Default)]
pub(crate) struct Dataset {
    pictures: bool,
    lessons: Lessons,
    counts: Counts,
    rows: [u64; 3],
    sites: BTreeMap<String, u64>,
}

impl Lines for Dataset {
    fn take(
        &mut self,
        run: &RunSource,
        seen: ExportEntry,
        pages: &Pages,
        out: &mut Out<'_>,
    ) -> Result<(), ExportError> {
        for example in self.lessons.take(run, &seen, pages) {
            let TrainingExample { request, answer, classes, step_index, picture, is_whole: _ } = example;
            let (site, task) = (self.lessons.story.site(), self.lessons.story.task());
            let split = split(&site, task);
            self.counts.add(&classes);
            let messages = chat(request, answer);
            let messages = if self.pictures { seeing(messages, picture.as_ref(), run, out)? } else { messages };
            let row = Row { messages, site: &site, task, classes, run_id: &run.id, step_index };
            for (at, (name, count)) in SPLITS.iter().zip(&mut self.rows).enumerate() {
                if at == split {
                    out.append(&format!("data/{name}.jsonl"), &row)?;
                    *count += 1;
                }
            }
            *self.sites.entry(site).or_default() += 1;
        }
        Ok(())
    }

    fn variant(&self) -> &'static str {
        variant(self.pictures)
    }

    fn finish(&mut self, out: &mut Out<'_>) -> Result<(), ExportError> {
        write_classes(&self.counts, out)?;
        let card = self.card(out.redaction().as_str());
        let pictures =
            "\nEach content is a list of parts. A part of the type `image` names a picture of the page in `images`.\n";
        let card = if self.pictures { card + pictures } else { card };
        out.text(&card)
    }
}

/// Sites that the card lists.
const SITES: usize = 30;

impl Dataset {
    pub(crate) fn of(options: &Options) -> Self {
        Self { pictures: options.pictures, ..Self::default() }
    }

    /// The card. A split without examples is left out, because `datasets` reads no empty file.
    fn card(&self, redaction: &str) -> String {
        let splits: Vec<(&str, u64)> = SPLITS.into_iter().zip(self.rows).filter(|(_, count)| *count > 0).collect();
        let files: String = splits
            .iter()
            .map(|(name, _)| format!("      - split: {name}\n        path: data/{name}.jsonl\n"))
            .collect();
        let table: String = splits.iter().map(|(name, count)| format!("| {name} | {count} |\n")).collect();
        let classes: String = self
            .counts
            .shares()
            .into_iter()
            .map(|(class, share)| format!("| {} | {} | {} |\n", class.name(), share.examples, share.weight))
            .collect();
        let mut sites: Vec<(&String, &u64)> = self.sites.iter().collect();
        sites.sort_by(|a, b| b.1.cmp(a.1).then_with(|| a.0.cmp(b.0)));
        let more = sites.len().saturating_sub(SITES);
        let mut listed: String =
            sites.into_iter().take(SITES).map(|(site, count)| format!("| `{site}` | {count} |\n")).collect();
        if more > 0 {
            listed.push_str(&format!("| {more} more sites | |\n"));
        }
        format!(
            "---\n\
             pretty_name: Plans in web pages\n\
             task_categories:\n  - text-generation\n\
             tags:\n  - web-agents\n\
             configs:\n  - config_name: default\n    data_files:\n{files}\
             ---\n\n\
             # Plans in web pages\n\n\
             Each row is a task, a page and what worked there, as a chat: the request as `--prompt compact` of Cuebook\n\
             writes it, and a plan of one step a line. It was recorded by Cuebook, which checked the steps' conditions in\n\
             the browser, in a run that ended well or was given up with a reason.\n\n\
             | split | rows |\n|---|---|\n{table}\n\
             All runs of one task on one site are in one split.\n\n\
             | class of steps | rows with one | weight |\n|---|---|---|\n{classes}\n\
             `classes.json` has the same numbers. The weight of a class is 1 for the most frequent one, and the square\n\
             root of how much rarer another is, at most 8.\n\n\
             | site | rows |\n|---|---|\n{listed}\n\
             | column | holds |\n|---|---|\n\
             | `messages` | system, user and assistant |\n\
             | `site`, `task` | what the split is made by |\n\
             | `classes` | the classes of the plan's steps |\n\
             | `run_id`, `step_index` | where the plan's first step is in the logs |\n\n\
             Redaction profile: `{redaction}`. Pages may be under the rights of their owners.\n"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_is_in_one_split_however_it_is_spaced_and_all_splits_are_used() {
        assert_eq!(split("a.test", "Log  in "), split("a.test", "log in"));
        let mut counts = [0; 3];
        (0..1_000).for_each(|task| counts[split("a.test", &task.to_string())] += 1);
        assert!(counts.iter().all(|count| *count > 50), "{counts:?}");
    }
}
