//! A planner that knows its lines: each step names its targets as an observation titles its candidates.
//!
//! It stands in for a model that reads well: it sees what a planner sees, may name nothing but observed ids,
//! scrolls where what it wants lies below, and waits a moment for what is late. No locator, no css.

use cuebook_grammar::action::{Action, Direction, Scroll, WaitForIdle};
use cuebook_grammar::candidate::Candidate;
use cuebook_grammar::deadline::Deadline;
use cuebook_grammar::observation::Observation;
use cuebook_grammar::plan::{Author, PlanDraft};
use cuebook_grammar::report::Usage;
use cuebook_grammar::seam::{PlanReply, PlanRequest, PlanSink, Planner};
use cuebook_grammar::step::Step;
use cuebook_grammar::wire::Millis;
use serde_json::{Value, json};

/// How often a page is scrolled, and waited for, in search of one candidate.
const MAX_WAYS: usize = 12;
const MAX_WAITS: usize = 6;

/// Steps whose targets are picks: `button "Save"`, `button "Edit" [row: ann]`, `textbox "Item" @2` for the second.
#[derive(Clone, Debug)]
pub struct Script {
    lines: Vec<Value>,
}

impl Script {
    /// A script of these steps, an array in the wire form of a plan's steps.
    #[must_use]
    pub fn new(steps: &Value) -> Self {
        Self { lines: steps.as_array().cloned().unwrap_or_default() }
    }
}

/// Why a line cannot be spoken yet.
enum Stuck {
    Missing(String),
    Several(String),
}

impl Planner for Script {
    type Error = std::convert::Infallible;

    async fn plan(
        &self,
        request: &PlanRequest<'_>,
        _: &mut dyn PlanSink,
        _: Deadline,
    ) -> Result<PlanReply, Self::Error> {
        Ok(self.reply(request))
    }
}

impl Script {
    fn reply(&self, request: &PlanRequest<'_>) -> PlanReply {
        let none = |note: String| PlanReply::none(note);
        if request.failure.is_some() {
            return none("the line failed".to_owned());
        }
        let said = |entry: &cuebook_grammar::seam::HistoryEntry| {
            entry.step.explanation.as_ref().map(|text| text.as_str().to_owned()).unwrap_or_default()
        };
        let spoken = request
            .history
            .iter()
            .filter(|entry| entry.failure.is_none())
            .filter_map(|entry| said(entry).strip_prefix("line ")?.split(';').next()?.parse::<usize>().ok())
            .max();
        let next = spoken.map_or(0, |line| line + 1);
        let Some(line) = self.lines.get(next) else {
            return one(Step::from(Action::Finish(cuebook_grammar::action::Finish { result: None, from: None })));
        };
        let way = format!("to line {next}");
        let ways = request.history.iter().filter(|entry| said(entry) == way).count();
        let mut line = line.clone();
        let resolved = resolve(&mut line, request.observation);
        let wait = || Action::WaitForIdle(WaitForIdle { quiet_ms: Some(Millis::clamped(300)) });
        let (action, limit) = match resolved {
            Ok(()) => {
                line["explanation"] = json!(format!("line {next}"));
                let draft = PlanDraft::read_value(json!({ "version": "1.0", "steps": [line] }), Author::Model);
                return match draft {
                    Ok(draft) => PlanReply::of(draft),
                    Err(violations) => none(format!("line {next} cannot be read: {violations:?}")),
                };
            }
            Err(Stuck::Several(why)) => return none(format!("line {next}: {why}")),
            Err(Stuck::Missing(why)) => {
                let below = request.observation.viewport.scroll_y + request.observation.viewport.height + 2.0
                    < request.observation.viewport.page_height;
                let scrolls = below && ways < MAX_WAYS;
                if !scrolls && ways >= MAX_WAITS && !below || ways >= MAX_WAYS {
                    return none(format!("line {next}: {why}"));
                }
                let down = Scroll {
                    target_ref: None,
                    direction: Some(Direction::Down),
                    delta_y: None,
                    delta_x: None,
                    point: None,
                };
                (if scrolls { Action::Scroll(down) } else { wait() }, why)
            }
        };
        let mut step = Step::from(action);
        step.explanation = Some(cuebook_grammar::wire::ShortText::cut(&way));
        PlanReply { note: Some(limit), ..one(step) }
    }
}

fn one(step: Step) -> PlanReply {
    let usage = Usage { planner_calls: 1, ..Usage::default() };
    PlanReply { usage, ..PlanReply::of(PlanDraft::of(Author::Model, vec![step])) }
}

/// Replaces picks by ids, wherever a target may stand.
fn resolve(value: &mut Value, observation: &Observation) -> Result<(), Stuck> {
    match value {
        Value::Object(object) => {
            for (name, value) in object.iter_mut() {
                let is_target = matches!(name.as_str(), "targetRef" | "target" | "to" | "within");
                match value {
                    Value::String(pick) if is_target && pick.contains(" \"") => {
                        *pick = picked(pick, observation)?.id.to_string();
                    }
                    other => resolve(other, observation)?,
                }
            }
            Ok(())
        }
        Value::Array(items) => items.iter_mut().try_for_each(|item| resolve(item, observation)),
        _ => Ok(()),
    }
}

/// The one candidate that a pick means.
fn picked<'a>(pick: &str, observation: &'a Observation) -> Result<&'a Candidate, Stuck> {
    let (role, rest) = pick.split_once(" \"").unwrap_or((pick, ""));
    let (name, rest) = rest.rsplit_once('"').unwrap_or((rest, ""));
    let context = rest.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map(|(context, _)| context);
    let nth = rest.split_once('@').and_then(|(_, nth)| nth.trim().parse::<usize>().ok());
    let fits = |candidate: &&Candidate| {
        candidate.role.as_str() == role
            && candidate.name == name
            && context.is_none_or(|context| candidate.context.as_deref().is_some_and(|seen| seen.contains(context)))
    };
    let found: Vec<&Candidate> = observation.candidates.iter().filter(fits).collect();
    match (found.as_slice(), nth) {
        ([only], None) => Ok(*only),
        (several, Some(nth)) if nth >= 1 && nth <= several.len() => Ok(several[nth - 1]),
        ([], _) => Err(Stuck::Missing(format!("there is no {pick}: {}", titles(&observation.candidates)))),
        (several, _) => {
            let several: Vec<Candidate> = several.iter().map(|&candidate| candidate.clone()).collect();
            Err(Stuck::Several(format!("several match {pick}: {}", titles(&several))))
        }
    }
}

fn titles(candidates: &[Candidate]) -> String {
    candidates.iter().map(Candidate::title).collect::<Vec<_>>().join(", ")
}
