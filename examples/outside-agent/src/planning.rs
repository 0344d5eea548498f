//! The planner, and its memory of plans that worked.

use cuebook_grammar::action::{Action, Click, Fail, Finish, TypeText};
use cuebook_grammar::candidate::{Candidate, ControlKind};
use cuebook_grammar::condition::{Condition, UrlChanges};
use cuebook_grammar::deadline::Deadline;
use cuebook_grammar::id::CredentialRef;
use cuebook_grammar::observation::Observation;
use cuebook_grammar::plan::{Author, PlanDraft};
use cuebook_grammar::planning::{CallEnd, CallPurpose, MessageRole, PlanningCall, PromptMessage};
use cuebook_grammar::report::Usage;
use cuebook_grammar::seam::{Exemplar, PlanMemory, PlanReply, PlanRequest, PlanSink, Planner};
use cuebook_grammar::secret::WireText;
use cuebook_grammar::step::Step;
use cuebook_grammar::wire::{LongText, ShortText, UrlText};

use crate::shop::{PASSWORD_REF, Thing, USER};
use crate::{FakeError, Shared};

/// Plans page by page: fill every field, then click the button that leads on.
#[derive(Clone, Debug, Default)]
pub struct FakePlanner {
    requests: Shared<Vec<String>>,
}

impl FakePlanner {
    /// The task of each request.
    #[must_use]
    pub fn requests(&self) -> Vec<String> {
        self.requests.lock().clone()
    }
}

impl Planner for FakePlanner {
    type Error = FakeError;

    async fn plan(
        &self,
        request: &PlanRequest<'_>,
        sink: &mut dyn PlanSink,
        _: Deadline,
    ) -> Result<PlanReply, FakeError> {
        self.requests.lock().push(request.task.to_owned());
        let usage = Usage { planner_calls: 1, ..Usage::default() };
        if request.beam == 0 {
            return Ok(PlanReply { usage, ..PlanReply::none("expected a beam of at least 1, saw 0") });
        }
        let steps = steps(request.observation);
        for (index, step) in steps.iter().enumerate() {
            sink.step_ready(0, index, step);
        }
        sink.call_ended(call(request, &steps));
        Ok(PlanReply { usage, ..PlanReply::of(PlanDraft::of(Author::Model, steps)) })
    }
}

/// The record of a call of a model: its prompt and answer.
fn call(request: &PlanRequest<'_>, steps: &[Step]) -> PlanningCall {
    let asked = format!("{}\n{}", request.task, request.observation.url);
    PlanningCall {
        engine: "fake".into(),
        model: None,
        purpose: if request.failure.is_some() { CallPurpose::Repair } else { CallPurpose::Plan },
        input: vec![PromptMessage { role: MessageRole::User, text: asked }],
        output: serde_json::to_string(steps).unwrap_or_default(),
        reasoning: None,
        confidence: None,
        input_tokens: 0,
        output_tokens: 0,
        latency_ms: 0,
        first_step_ms: None,
        attempts: 1,
        end: CallEnd::Accepted,
        others: Vec::new(),
        features: Vec::new(),
    }
}

fn steps(observation: &Observation) -> Vec<Step> {
    let leads_on = [Thing::LogIn, Thing::Buy];
    let button = observation.candidates.iter().find(|candidate| leads_on.iter().any(|t| t.name() == candidate.name));
    let mut steps: Vec<Step> = observation.candidates.iter().filter_map(fill).collect();
    if let Some(button) = button {
        steps.push(press(button));
    } else if observation.candidates.iter().any(|candidate| candidate.name == Thing::BackToShop.name()) {
        let result = Some(LongText::cut(&observation.title));
        steps.push(Action::Finish(Finish { result, from: None }).into());
    } else {
        steps.push(Action::Fail(Fail { reason: ShortText::cut("this is not the shop") }).into());
    }
    steps
}

fn fill(field: &Candidate) -> Option<Step> {
    let mut action = TypeText { target_ref: field.id.into(), text: None, credential_ref: None, delay_ms: None };
    match field.control {
        ControlKind::Text => action.text = Some(WireText::cut(USER)),
        ControlKind::Password => action.credential_ref = Some(CredentialRef::new(PASSWORD_REF)),
        _ => return None,
    }
    Some(Action::Type(action).into())
}

fn press(button: &Candidate) -> Step {
    let click = Click {
        target_ref: button.id.into(),
        button: None,
        count: None,
        modifiers: None,
        position: None,
        dry_run: None,
    };
    let to = if button.name == Thing::Buy.name() { "/confirmation" } else { "/shop" };
    let post = vec![Condition::UrlChanges(UrlChanges { to: Some(UrlText::cut(to)) })];
    Step { post, ..Action::Click(click).into() }
}

/// Remembers plans by the fingerprint of the page they started on.
#[derive(Clone, Debug, Default)]
pub struct FakeMemory {
    plans: Shared<Vec<(String, Exemplar)>>,
}

impl FakeMemory {
    /// Remembers a plan that worked on pages like this.
    pub fn remember(&self, page: &Observation, task: &str, steps: Vec<Step>) {
        let exemplar = Exemplar { task: task.to_owned(), steps, likeness: 1.0 };
        self.plans.lock().push((page.fingerprint.clone(), exemplar));
    }
}

impl PlanMemory for FakeMemory {
    type Error = FakeError;

    async fn nearest(&self, observation: &Observation, k: usize) -> Result<Vec<Exemplar>, FakeError> {
        let plans = self.plans.lock();
        let likeness = |fingerprint: &String| if *fingerprint == observation.fingerprint { 1.0 } else { 0.0 };
        let mut nearest: Vec<Exemplar> = plans
            .iter()
            .map(|(fingerprint, exemplar)| Exemplar { likeness: likeness(fingerprint), ..exemplar.clone() })
            .collect();
        nearest.sort_by(|a, b| b.likeness.total_cmp(&a.likeness));
        nearest.truncate(k);
        Ok(nearest)
    }
}
