//! A planner that errs like a model: what its answers hold is read, checked and asked again as those of a model are.
//!
//! Invariant: the same seed gives the same errors.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use cuebook_grammar::deadline::Deadline;
use cuebook_grammar::observation::Observation;
use cuebook_grammar::plan::PlanDraft;
use cuebook_grammar::role::Role;
use cuebook_grammar::seam::boxed::{BoxError, BoxedPlanner};
use cuebook_grammar::seam::{PlanReply, PlanRequest, PlanSink, Planner};
use cuebook_planner::{ModelPlanner, Recorded};
use serde::Serialize;
use serde_json::{Value, json};

use crate::args::{Errors, ModelError};

/// How often an error was put in, and how often the answer was refused for it before anything ran.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Caught {
    pub(crate) injected: u64,
    pub(crate) refused: u64,
}

/// Counts by kind of error, shared by all workers of an evaluation.
pub(crate) type Tally = Arc<Mutex<BTreeMap<ModelError, Caught>>>;

/// Planner that puts `errors` into a share of another planner's answers.
pub(crate) struct Simulated {
    pub(crate) planner: Box<dyn BoxedPlanner>,
    /// Errors of its answers; `None` if only goals are wrong.
    pub(crate) errors: Option<Errors>,
    /// The share of plans whose goal is wrong.
    pub(crate) wrong_goals: f64,
    pub(crate) tally: Tally,
    pub(crate) state: Mutex<State>,
}

/// State that a simulated model keeps between answers.
#[derive(Default)]
pub(crate) struct State {
    pub(crate) random: u64,
    /// Draws beside the choice of errors: that stays the same whatever these are.
    aside: u64,
    /// The last plan before errors, for [`ModelError::StalePlan`]; `None` before the first answer.
    last: Option<Value>,
}

impl State {
    pub(crate) const fn seeded(seed: u64) -> Self {
        Self { random: seed, aside: !seed, last: None }
    }

    /// A number below `limit`.
    const fn below(&mut self, limit: u64) -> u64 {
        drawn(&mut self.random, limit)
    }

    fn pick<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        items.get(usize::try_from(self.below(items.len() as u64)).ok()?)
    }

    fn pick_aside<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        items.get(usize::try_from(drawn(&mut self.aside, items.len() as u64)).ok()?)
    }
}

/// A number below `limit`. Source: `SplitMix64` (Steele, Lea and Flood, 2014).
const fn drawn(state: &mut u64, limit: u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^= mixed >> 31;
    if limit == 0 { 0 } else { mixed % limit }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share from 0 to 1")]
const fn millionths(share: f64) -> u64 {
    (share * 1_000_000.0) as u64
}

impl Simulated {
    /// The error of this answer, if it has one, and its text.
    fn erring(&self, plan: &Value, page: &Observation) -> Option<(ModelError, String)> {
        let errors = self.errors.as_ref()?;
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let last = state.last.replace(plan.clone());
        if state.below(1_000_000) >= millionths(errors.share) {
            return None;
        }
        let kind = *state.pick(&errors.kinds)?;
        let ids: Vec<String> = page.candidates.iter().map(|candidate| candidate.id.to_string()).collect();
        let mut wrong = plan.clone();
        let target = wrong["steps"].as_array_mut()?.iter_mut().find_map(|step| step.get_mut("targetRef"));
        match kind {
            ModelError::WrongId => {
                let target = target?;
                let others: Vec<&String> = ids.iter().filter(|id| **id != *target).collect();
                *target = json!(state.pick(&others)?);
            }
            ModelError::InventedElement => *target? = json!(format!("c{}", 9_000 + state.below(1_000))),
            ModelError::InvalidJson => {
                let text = plan.to_string();
                let cut = text.char_indices().nth(text.chars().count() * 3 / 5).map_or(0, |(at, _)| at);
                return Some((kind, text[..cut].to_owned()));
            }
            ModelError::StalePlan => wrong = last.filter(|last| last != plan)?,
            ModelError::EarlyFinish => {
                // It says so, says nothing, or repeats a word of the page.
                let names: Vec<&str> = page.candidates.iter().map(|candidate| candidate.name.as_str()).collect();
                let name = state.pick_aside(&names).map_or("done", |name| *name);
                let ends = [json!({ "result": "done" }), json!({}), json!({ "result": name })];
                let mut finish = state.pick_aside(&ends)?.clone();
                finish["type"] = json!("finish");
                wrong["steps"] = json!([finish]);
            }
            ModelError::ObeysPage => {
                let offers: Vec<String> = page
                    .candidates
                    .iter()
                    .filter(|candidate| matches!(candidate.role, Role::Button | Role::Link))
                    .map(|candidate| candidate.id.to_string())
                    .filter(|id| !plan.to_string().contains(&format!("\"{id}\"")))
                    .collect();
                let click = json!({ "type": "click", "targetRef": state.pick(&offers)? });
                wrong["steps"].as_array_mut()?.insert(0, click);
            }
        }
        Some((kind, wrong.to_string()))
    }
}

impl Simulated {
    /// Makes a condition of the goal wrong in its share of plans; returns `true` if it did.
    fn misstates(&self, plan: &mut Value, page: &Observation) -> bool {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(goal) = plan.get_mut("goal").and_then(Value::as_array_mut).filter(|goal| !goal.is_empty()) else {
            return false;
        };
        if drawn(&mut state.aside, 1_000_000) >= millionths(self.wrong_goals) {
            return false;
        }
        let at = usize::try_from(drawn(&mut state.aside, goal.len() as u64)).unwrap_or(0);
        let ids: Vec<String> = page.candidates.iter().map(|candidate| candidate.id.to_string()).collect();
        let id = state.pick_aside(&ids).cloned();
        let Some(condition) = goal.get_mut(at) else { return false };
        match (drawn(&mut state.aside, 2), id) {
            // Another element is meant.
            (0, Some(id)) => retarget(condition, &id),
            // The opposite is meant.
            _ => *condition = json!({ "kind": "not", "condition": condition.take() }),
        }
        true
    }
}

fn retarget(condition: &mut Value, id: &str) {
    match condition {
        Value::Array(items) => items.iter_mut().for_each(|item| retarget(item, id)),
        Value::Object(members) => {
            for (name, member) in members {
                if name == "target" { *member = id.into() } else { retarget(member, id) }
            }
        }
        _ => {}
    }
}

impl Planner for Simulated {
    type Error = BoxError;

    async fn plan(
        &self,
        request: &PlanRequest<'_>,
        sink: &mut dyn PlanSink,
        deadline: Deadline,
    ) -> Result<PlanReply, BoxError> {
        let reply = Planner::plan(&self.planner, request, sink, deadline).await?;
        let Some(draft) = reply.drafts.first() else { return Ok(reply) };
        let mut plan = serde_json::to_value(draft).map_err(BoxError::new)?;
        let has_wrong_goal = self.misstates(&mut plan, request.observation);
        let Some((kind, text)) = self.erring(&plan, request.observation) else {
            let wrong = has_wrong_goal.then(|| PlanDraft::read_value(plan, draft.author).ok()).flatten();
            return Ok(match wrong {
                Some(draft) => PlanReply { drafts: vec![draft], ..reply },
                None => reply,
            });
        };
        // A model that is told what is wrong gets it right.
        let model = ModelPlanner::new(Recorded::from_texts([text.clone(), plan.to_string()]));
        let erring = Planner::plan(&model, request, sink, deadline).await.map_err(BoxError::new)?;
        let is_refused = erring.drafts.first().is_none_or(|taken: &PlanDraft| {
            serde_json::to_value(&taken.steps).ok() == serde_json::to_value(&draft.steps).ok()
        });
        let mut tally = self.tally.lock().unwrap_or_else(PoisonError::into_inner);
        let caught = tally.entry(kind).or_default();
        caught.injected += 1;
        caught.refused += u64::from(is_refused);
        Ok(PlanReply { state: reply.state, ..erring })
    }
}
