//! Rows of Multimodal-Mind2Web: an action with the candidates of its page, the right one apart.
//!
//! Source: <https://huggingface.co/datasets/osunlp/Multimodal-Mind2Web>. Its `raw_html` and `cleaned_html` are of pages
//! that it archived; a log keeps candidates instead, so both are null. Candidates are ours, numbered as ours.

use std::collections::BTreeMap;

use cuebook_grammar::action::Action;
use cuebook_grammar::candidate::Candidate;
use cuebook_grammar::observation::Observation;
use cuebook_grammar::record::{StepOrigin, StepRecord, StepResult};
use serde::Serialize;
use serde_json::{Value, json};
use url::Url;

use crate::candidates::candidate;
use crate::error::ExportError;
use crate::job::{Lines, Out};
use crate::locating;
use crate::source::{ExportEntry, Pages, RunSource};

#[derive(Serialize)]
struct Row {
    action_uid: String,
    annotation_id: String,
    website: String,
    domain: Option<String>,
    subdomain: Option<String>,
    confirmed_task: String,
    raw_html: Option<String>,
    cleaned_html: Option<String>,
    screenshot: Option<String>,
    operation: Operation,
    pos_candidates: Vec<Entry>,
    neg_candidates: Vec<Entry>,
    target_action_index: usize,
    target_action_reprs: String,
    action_reprs: Vec<String>,
}

#[derive(Serialize)]
struct Operation {
    original_op: &'static str,
    op: &'static str,
    value: String,
}

#[derive(Serialize)]
struct Entry {
    tag: String,
    backend_node_id: String,
    is_original_target: bool,
    is_top_level_target: bool,
    /// JSON, as the original has it.
    attributes: String,
}

/// The format `mind2web`. The rows of a run are held until its end, because each lists all its actions.
#[derive(Default)]
pub(crate) struct Mind2Web {
    task: String,
    website: String,
    rows: Vec<Row>,
}

impl Lines for Mind2Web {
    fn take(
        &mut self,
        run: &RunSource,
        seen: ExportEntry,
        pages: &Pages,
        out: &mut Out<'_>,
    ) -> Result<(), ExportError> {
        match seen {
            ExportEntry::Header(header) => {
                let host = |url: &String| Some(Url::parse(url).ok()?.host_str()?.to_owned());
                self.website = header.url.as_ref().and_then(host).unwrap_or_default();
                self.task = header.task.unwrap_or_default();
            }
            ExportEntry::Step(record) if record.result == StepResult::Ok && record.origin != StepOrigin::Start => {
                let page = record.observation.and_then(|id| pages.get(id));
                if let Some(row) = page.and_then(|page| self.row(&record, page)) {
                    let screenshot = screenshot(run, &record, out)?;
                    self.rows.push(Row { screenshot, ..row });
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn end(&mut self, _run: &RunSource, out: &mut Out<'_>) -> Result<(), ExportError> {
        let rows = std::mem::take(&mut self.rows);
        let reprs: Vec<String> = rows.iter().map(|row| row.target_action_reprs.clone()).collect();
        for (index, row) in rows.into_iter().enumerate() {
            out.line(&Row { action_reprs: reprs.clone(), target_action_index: index, ..row })?;
        }
        Ok(())
    }
}

impl Mind2Web {
    fn row(&self, record: &StepRecord, page: &Observation) -> Option<Row> {
        let action = &record.action.action;
        let target = candidate(record, action.target()?, page)?;
        let operation = operation(action)?;
        let (role, name, op, value) = (target.role, &target.name, operation.op, &operation.value);
        let value = if value.is_empty() { String::new() } else { format!(": {value}") };
        let repr = format!("[{role}]  {name} -> {op}{value}");
        let is_target = |one: &&Candidate| one.id == target.id;
        Some(Row {
            action_uid: format!("{}-{}-{}", record.run_id, record.step_index, record.attempt),
            annotation_id: record.run_id.to_string(),
            website: self.website.clone(),
            domain: None,
            subdomain: None,
            confirmed_task: self.task.clone(),
            raw_html: None,
            cleaned_html: None,
            screenshot: None,
            operation,
            pos_candidates: vec![entry(target, true)],
            neg_candidates: page.candidates.iter().filter(|one| !is_target(one)).map(|one| entry(one, false)).collect(),
            target_action_index: 0,
            target_action_reprs: repr,
            action_reprs: Vec::new(),
        })
    }
}

/// The operation of the dataset that an action is; it has three.
fn operation(action: &Action) -> Option<Operation> {
    let (original_op, op, value) = match action {
        Action::Click(_) | Action::Check(_) | Action::Uncheck(_) => ("CLICK", "CLICK", String::new()),
        Action::Hover(_) => ("HOVER", "CLICK", String::new()),
        Action::Press(press) if press.keys.as_str() == "Enter" => ("ENTER", "CLICK", String::new()),
        Action::Type(_) | Action::SetValue(_) => ("TYPE", "TYPE", action.text()?.clear()?.to_owned()),
        Action::Select(select) => {
            let value = serde_json::to_value(&select.option).ok()?;
            ("SELECT", "SELECT", value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned))
        }
        _ => return None,
    };
    Some(Operation { original_op, op, value })
}

fn entry(candidate: &Candidate, is_target: bool) -> Entry {
    let rect = candidate.rect.unwrap_or_default();
    let attributes = BTreeMap::from([
        ("backend_node_id", Some(json!(candidate.id.to_string()))),
        ("bounding_box_rect", Some(json!(format!("{},{},{},{}", rect.x, rect.y, rect.width, rect.height)))),
        ("role", Some(json!(candidate.role))),
        ("aria_label", Some(json!(candidate.name))),
        ("data_testid", candidate.test_id.as_ref().map(|id| json!(id))),
        ("placeholder", candidate.placeholder.as_ref().map(|text| json!(text))),
        ("href", candidate.destination.as_ref().map(|url| json!(url))),
        ("input_value", candidate.value.as_ref().and_then(|value| value.clear()).map(|text| json!(text))),
    ]);
    let attributes: BTreeMap<&str, Value> =
        attributes.into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
    // Of the HTML tag, the end of the fingerprint's path is all that an observation keeps.
    let tag = candidate.fingerprint.path.rsplit(['/', '>', ' ']).next().unwrap_or_default();
    let tag: String = tag.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '-').collect();
    Entry {
        tag: if tag.is_empty() { candidate.role.to_string() } else { tag },
        backend_node_id: candidate.id.to_string(),
        is_original_target: is_target,
        is_top_level_target: is_target,
        attributes: serde_json::to_string(&attributes).unwrap_or_default(),
    }
}

/// The picture of the page before the step, copied next to the rows.
fn screenshot(run: &RunSource, record: &StepRecord, out: &mut Out<'_>) -> Result<Option<String>, ExportError> {
    locating::before(record).map_or(Ok(None), |picture| out.picture(run, picture, "screenshots"))
}
