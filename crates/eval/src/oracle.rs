//! The planner `oracle`: does what the suite says, with the candidates that it sees.
//!
//! It stands in for a model that never errs about the task, so that what is measured is everything else: the page model,
//! the check, the executor and the repairs. It reads the observation and the history only.
//!
//! A target is described as `@ROLE NAME`, with `| CONTEXT` where several have the name: `@button Delete | INV-1003`. On a
//! page whose texts changed, the most similar candidate of the role is meant, if there is exactly one.

use std::convert::Infallible;

use cuebook_grammar::action::Action;
use cuebook_grammar::candidate::{Candidate, Placement};
use cuebook_grammar::deadline::Deadline;
use cuebook_grammar::observation::Observation;
use cuebook_grammar::plan::{Author, PlanDraft};
use cuebook_grammar::render::{self, TextOptions};
use cuebook_grammar::role::Role;
use cuebook_grammar::seam::{HistoryEntry, PlanReply, PlanRequest, PlanSink, Planner};
use serde_json::{Value, json};

use crate::error::Broken;
use crate::goal::{self, leads_away};
use crate::paths;

/// Names this alike mean the same: between 0 and 1.
const ALIKE: f64 = 0.55;
/// By this much the best must be better than the second.
const MARGIN: f64 = 0.1;
/// Plans in a row that look for a target before it is given up.
const PATIENCE: u64 = 5;
/// Steps of a plan.
const STEPS: usize = 6;
/// Characters of an answer.
const ANSWER: usize = 400;

/// How a task is done: steps of the language, with descriptions in place of ids.
#[derive(Clone, Debug, PartialEq)]
pub struct Script(Vec<Value>);

impl Script {
    /// Reads steps.
    ///
    /// # Errors
    /// The description of the problem with the first step that is none.
    pub fn of(steps: Vec<Value>) -> Result<Self, String> {
        for (index, step) in steps.iter().enumerate() {
            let id = |_: &str| Some("c1".to_owned());
            let read = replaced(step, &id)
                .ok_or("a target is not described")
                .and_then(|step| draft(vec![step]).map(drop).map_err(|_| "it is no step of the language"));
            read.map_err(|why| format!("step {}: {why}: {step}", index + 1))?;
        }
        Ok(Self(steps))
    }

    /// The script for one state of the application.
    pub(crate) fn filled(&self, state: &Value) -> Result<Self, Broken> {
        self.0.iter().map(|step| paths::filled_value(step, state)).collect::<Result<_, _>>().map(Self)
    }
}

fn draft(steps: Vec<Value>) -> Result<PlanDraft, ()> {
    PlanDraft::read_value(json!({ "version": "1.0", "steps": steps }), Author::Model).map_err(drop)
}

/// The step with each description replaced. `None` if `find` does not know one.
fn replaced(value: &Value, find: &impl Fn(&str) -> Option<String>) -> Option<Value> {
    Some(match value {
        Value::String(text) => match text.strip_prefix('@') {
            Some(described) => Value::String(find(described)?),
            None => value.clone(),
        },
        Value::Array(items) => items.iter().map(|item| replaced(item, find)).collect::<Option<_>>()?,
        Value::Object(members) => Value::Object(
            members.iter().map(|(name, value)| Some((name.clone(), replaced(value, find)?))).collect::<Option<_>>()?,
        ),
        other => other.clone(),
    })
}

/// Plans by a script.
#[derive(Clone, Debug)]
pub struct Oracle {
    script: Script,
    alike: Vec<Vec<String>>,
    states_goals: bool,
}

impl Oracle {
    /// A planner for one task.
    #[must_use]
    pub const fn new(script: Script) -> Self {
        Self { script, alike: Vec::new(), states_goals: false }
    }

    /// The names of each group mean the same.
    #[must_use]
    pub fn knowing(self, groups: &[Vec<String>]) -> Self {
        let plain = |group: &Vec<String>| group.iter().map(|name| normal(name)).collect();
        Self { alike: groups.iter().map(plain).collect(), ..self }
    }

    /// States in each plan what the page will show once the plan is done, as a model can that knows what it is about to
    /// do. It does not know how the suite judges the task.
    #[must_use]
    pub fn stating_goals(self) -> Self {
        Self { states_goals: true, ..self }
    }

    fn plan_now(&self, request: &PlanRequest<'_>) -> PlanReply {
        let steps = &self.script.0;
        let memory = Memory::of(request.state);
        let done = memory.done(request.history, steps.len());
        if let ([.., last], true) = (&steps[..], done == steps.len() && found_nothing(request.history)) {
            return memory.reading_again(request.plan, done - 1, last);
        }
        if done == steps.len() {
            let mut finish = json!({ "type": "finish" });
            if let (Some(answer), Value::Object(members)) = (answer(request.history), &mut finish) {
                members.insert("result".to_owned(), answer.into());
            }
            // An end that is not believed is no reason to begin anew.
            return PlanReply { state: request.state.cloned(), ..PlanReply::of(said(finish)) };
        }
        // A step that failed after its input was sent may have acted: to repeat it would be a guess.
        if request.failure.is_some_and(|failure| failure.evidence.input_sent) && !is_repeatable(&steps[done]) {
            return PlanReply::of(said(json!({ "type": "fail", "reason": "a step failed after its input was sent" })));
        }
        let find = |described: &str| {
            best(described, &self.alike, request.observation).map(|candidate| candidate.id.to_string())
        };
        let rest = steps[done..].iter().take(STEPS);
        // What follows a new page is found there.
        let last = rest.clone().position(leads_away).map_or(STEPS, |last| last + 1);
        let ready: Vec<Value> = rest.take(last).map_while(|step| replaced(step, &find)).collect();
        if ready.is_empty() {
            return memory.looking(request.plan, done, &steps[done], request.observation);
        }
        let is_end = done + ready.len() == steps.len();
        let goal = if self.states_goals { goal::of(&ready, is_end, request.observation) } else { Vec::new() };
        let Ok(draft) = draft(ready) else { return PlanReply::none("a step of the script is not understood") };
        let mut reply = PlanReply::of(PlanDraft { goal, ..draft });
        reply.state = Some(memory.planning(request.plan, done, 0));
        reply
    }
}

impl Planner for Oracle {
    type Error = Infallible;

    async fn plan(
        &self,
        request: &PlanRequest<'_>,
        _: &mut dyn PlanSink,
        _: Deadline,
    ) -> Result<PlanReply, Infallible> {
        Ok(self.plan_now(request))
    }
}

fn said(step: Value) -> PlanDraft {
    draft(vec![step]).unwrap_or_else(|()| PlanDraft::of(Author::Model, Vec::new()))
}

/// Returns the data of the last step that read anything, as the answer.
fn answer(history: &[HistoryEntry]) -> Option<String> {
    match history.iter().rev().find_map(|entry| entry.data.as_ref()) {
        None | Some(Value::Null) => None,
        Some(Value::String(text)) => Some(text.chars().take(ANSWER).collect()),
        Some(data) => Some(data.to_string().chars().take(ANSWER).collect()),
    }
}

/// Returns `true` if the last step was a search, and its text is not on the page.
fn found_nothing(history: &[HistoryEntry]) -> bool {
    let last = history.last().filter(|last| matches!(last.step.action, Action::SearchPage(_)));
    let data = last.and_then(|last| last.data.as_ref());
    data.is_some_and(|data| data["total"] == 0)
}

/// Returns `true` if doing a step twice has the same effect as doing it once.
fn is_repeatable(step: &Value) -> bool {
    let kind = step["type"].as_str().unwrap_or_default();
    ["setValue", "select", "check", "uncheck", "hover", "focus", "waitFor", "navigate", "scroll", "clear"]
        .contains(&kind)
}

/// Memory between plans: where in the script each plan began.
struct Memory {
    began: Vec<(u64, usize)>,
    looked: u64,
}

impl Memory {
    fn of(state: Option<&Value>) -> Self {
        let pair = |pair: &Value| Some((pair[0].as_u64()?, usize::try_from(pair[1].as_u64()?).ok()?));
        let began = state.and_then(|state| state["began"].as_array());
        Self {
            began: began.into_iter().flatten().filter_map(pair).collect(),
            looked: state.and_then(|state| state["looked"].as_u64()).unwrap_or_default(),
        }
    }

    /// How many steps of the script are done.
    fn done(&self, history: &[HistoryEntry], most: usize) -> usize {
        let ends = history.iter().filter(|entry| entry.failure.is_none()).filter_map(|entry| {
            let planned = entry.planned?;
            let (_, began) = self.began.iter().find(|(plan, _)| *plan == u64::from(planned.plan))?;
            Some(began + usize::try_from(planned.step).ok()? + 1)
        });
        ends.max().unwrap_or_default().min(most)
    }

    fn planning(&self, plan: u32, done: usize, looked: u64) -> Value {
        let own = [(u64::from(plan), done)];
        json!({ "began": self.began.iter().chain(&own).collect::<Vec<_>>(), "looked": looked })
    }

    /// Searches once more for what is to be read: it may show late.
    fn reading_again(&self, plan: u32, done: usize, search: &Value) -> PlanReply {
        if self.looked >= PATIENCE {
            return PlanReply::of(said(json!({ "type": "fail", "reason": format!("nothing was found by {search}") })));
        }
        let state = Some(self.planning(plan, done, self.looked + 1));
        PlanReply { state, ..PlanReply::of(said(search.clone())) }
    }

    /// Looks for the target of a step: first by waiting, then below what lies over the page, then further down.
    fn looking(&self, plan: u32, done: usize, step: &Value, page: &Observation) -> PlanReply {
        if self.looked >= PATIENCE {
            return PlanReply::of(said(json!({ "type": "fail", "reason": format!("nothing fits {step}") })));
        }
        let look = match (self.looked % 2, closes(page)) {
            (0, _) => json!({ "type": "waitForIdle", "timeoutMs": 2000 }),
            (_, Some(button)) => json!({ "type": "click", "targetRef": button.id.to_string() }),
            (_, None) => json!({ "type": "scroll", "direction": "down" }),
        };
        let mut reply = PlanReply::of(said(look));
        // Its steps are none of the script's: the plan is not remembered.
        let mut state = self.planning(plan, done, self.looked + 1);
        if let Some(began) = state["began"].as_array_mut() {
            began.pop();
        }
        reply.state = Some(state);
        reply
    }
}

/// Beginnings of the names of buttons that remove a cover over a page, and agree to nothing.
const CLOSING: [&str; 8] =
    ["close", "dismiss", "no thanks", "not now", "maybe later", "reject", "only necessary", "decline"];

/// The one button in view that takes something away which lies over the page.
fn closes(page: &Observation) -> Option<&Candidate> {
    let mut closing = page.candidates.iter().filter(|candidate| {
        let name = normal(&candidate.name);
        candidate.role == Role::Button
            && candidate.placement == Placement::InView
            && candidate.occlusion.is_none()
            && CLOSING.iter().any(|said| name.starts_with(said))
    });
    let only = closing.next();
    only.filter(|_| closing.next().is_none())
}

/// The candidate that a description means: the only one of its role, or by far the most similar.
fn best<'o>(described: &str, groups: &[Vec<String>], observation: &'o Observation) -> Option<&'o Candidate> {
    let (target, context) = match described.split_once('|') {
        Some((target, context)) => (target.trim(), Some(normal(context))),
        None => (described.trim(), None),
    };
    let (role, name) = target.split_once(' ').unwrap_or((target, ""));
    let name = normal(name);
    let mut graded: Vec<(f64, &Candidate)> = observation
        .candidates
        .iter()
        .filter(|candidate| candidate.role.as_str() == role)
        .map(|candidate| (likeness(&name, groups, candidate), candidate))
        .filter(|(grade, _)| *grade >= ALIKE)
        .collect();
    if let Some(wanted) = context {
        // What is alone of its name has no context; the page says what it is about.
        let is_alone = graded.len() == 1 && graded[0].1.context.is_none();
        let is_named = || normal(&render::text(observation, &TextOptions::default())).contains(&wanted);
        if !(is_alone && is_named()) {
            let around = |candidate: &Candidate| {
                let texts = [&candidate.context, &candidate.surroundings, &candidate.description];
                texts.into_iter().flatten().map(|text| normal(text)).collect::<Vec<String>>()
            };
            let is_exact = graded.iter().any(|(_, candidate)| around(candidate).contains(&wanted));
            graded.retain(|(_, candidate)| {
                around(candidate).iter().any(|text| if is_exact { *text == wanted } else { text.contains(&wanted) })
            });
        }
    }
    graded.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    match graded.as_slice() {
        [] => None,
        [(_, only)] => Some(only),
        [(first, best), (second, _), ..] => {
            (*first - *second >= MARGIN || *first >= 1.0 && *second < 1.0).then_some(best)
        }
    }
}

/// 1 if a name is the one that is wanted, or none is.
fn likeness(wanted: &str, groups: &[Vec<String>], candidate: &Candidate) -> f64 {
    if wanted.is_empty() {
        return 1.0;
    }
    let names = [Some(&candidate.name), candidate.label.as_ref(), candidate.placeholder.as_ref()];
    let means_the_same = |seen: &String| {
        let both = |group: &&Vec<String>| group.iter().any(|own| own == wanted) && group.contains(seen);
        groups.iter().any(|group| both(&group))
    };
    let grade = |seen: String| if means_the_same(&seen) { 0.98 } else { alike(wanted, &seen) };
    names.into_iter().flatten().map(|name| grade(normal(name))).fold(0.0, f64::max)
}

fn alike(wanted: &str, seen: &str) -> f64 {
    if wanted == seen {
        return 1.0;
    }
    let (wanted_words, seen_words): (Vec<&str>, Vec<&str>) = (wanted.split(' ').collect(), seen.split(' ').collect());
    let shared = wanted_words.iter().filter(|word| seen_words.contains(word)).count();
    #[expect(clippy::cast_precision_loss, reason = "names have few words")]
    let contained = if shared == wanted_words.len() {
        0.7 + 0.25 * (shared as f64 / seen_words.len() as f64)
    } else {
        (shared as f64 * 2.0) / (wanted_words.len() + seen_words.len()) as f64
    };
    contained.max(strsim::normalized_levenshtein(wanted, seen)).min(0.99)
}

/// Lower case, and only letters and digits between single spaces.
fn normal(text: &str) -> String {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_texts_are_alike_and_others_are_not() {
        for (wanted, seen) in [("log in", "log in now"), ("log in", "sign in"), ("email", "e mail"), ("save", "save")] {
            assert!(alike(wanted, seen) >= ALIKE, "{wanted} / {seen}: {}", alike(wanted, seen));
        }
        for (wanted, seen) in [("delete", "edit"), ("email", "password"), ("buy", "cancel")] {
            assert!(alike(wanted, seen) < ALIKE, "{wanted} / {seen}: {}", alike(wanted, seen));
        }
    }

    #[test]
    fn a_script_is_made_of_steps() {
        assert!(Script::of(vec![json!({ "type": "click", "targetRef": "@button Log in" })]).is_ok());
        assert!(Script::of(vec![json!({ "type": "clik", "targetRef": "@button Log in" })]).is_err());
    }
}
