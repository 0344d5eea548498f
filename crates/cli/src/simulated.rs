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
    pub(crate) errors: Errors,
    pub(crate) tally: Tally,
    pub(crate) state: Mutex<State>,
}

/// State that a simulated model keeps between answers.
#[derive(Default)]
pub(crate) struct State {
    pub(crate) random: u64,
    /// The last plan before errors, for [`ModelError::StalePlan`]; `None` before the first answer.
    last: Option<Value>,
}

impl State {
    pub(crate) const fn seeded(seed: u64) -> Self {
        Self { random: seed, last: None }
    }

    /// A number below `limit`. Source: `SplitMix64` (Steele, Lea and Flood, 2014).
    const fn below(&mut self, limit: u64) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.random;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        if limit == 0 { 0 } else { mixed % limit }
    }

    fn pick<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        items.get(usize::try_from(self.below(items.len() as u64)).ok()?)
    }
}

impl Simulated {
    /// The error of this answer, if it has one, and its text.
    fn erring(&self, plan: &Value, page: &Observation) -> Option<(ModelError, String)> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let last = state.last.replace(plan.clone());
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share from 0 to 1")]
        let threshold = (self.errors.share * 1_000_000.0) as u64;
        if state.below(1_000_000) >= threshold {
            return None;
        }
        let kind = *state.pick(&self.errors.kinds)?;
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
            ModelError::EarlyFinish => wrong["steps"] = json!([{ "type": "finish", "result": "done" }]),
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
        let plan = serde_json::to_value(draft).map_err(BoxError::new)?;
        let Some((kind, text)) = self.erring(&plan, request.observation) else { return Ok(reply) };
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
