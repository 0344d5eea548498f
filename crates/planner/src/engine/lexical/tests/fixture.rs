//! Plans read as text, and runs over pages written as text.

use std::time::{Duration, Instant};

use cuebook_grammar::action::{Action, OptionChoice};
use cuebook_grammar::candidate::Candidate;
use cuebook_grammar::deadline::Deadline;
use cuebook_grammar::id::TargetRef;
use cuebook_grammar::observation::Observation;
use cuebook_grammar::plan::PlanDraft;
use cuebook_grammar::policy::Policy;
pub(super) use cuebook_grammar::sample::page;
use cuebook_grammar::seam::{HistoryEntry, IgnoreSteps, PlanRequest, PlannedStep, Planner};
use cuebook_grammar::step::Step;
use cuebook_grammar::text_match::collapse_white_space;
use serde_json::{Value, json};

use crate::engine::lexical::Lexical;

/// A run of the planner without a browser: the pages and what becomes of steps are the test's.
pub(super) struct SimulatedRun {
    task: String,
    policy: Policy,
    history: Vec<HistoryEntry>,
    state: Option<Value>,
    plan: u32,
}

impl SimulatedRun {
    pub(super) fn of(task: &str) -> Self {
        let policy = Policy::default().starting_at(cuebook_grammar::sample::HERE).unwrap();
        Self { task: task.to_owned(), policy, history: Vec::new(), state: None, plan: 0 }
    }

    /// The next plan. Every draft has to pass the check.
    pub(super) fn plan(&mut self, observation: &Observation) -> PlanDraft {
        let request = PlanRequest {
            history: &self.history,
            plan: self.plan,
            state: self.state.as_ref(),
            ..PlanRequest::new(&self.task, observation, &self.policy)
        };
        let deadline = Deadline::after(Instant::now(), Duration::from_secs(5));
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let reply = runtime.block_on(Lexical.plan(&request, &mut IgnoreSteps, deadline)).unwrap();
        self.state = reply.state;
        self.plan += 1;
        let [draft] = reply.drafts.try_into().unwrap();
        if let Err(violations) = PlanDraft::check(&draft, observation, &self.policy) {
            panic!("{}: {violations:?}", self.task);
        }
        draft
    }

    pub(super) fn with_state(&mut self, state: Value) {
        self.state = Some(state);
    }

    /// A step of the last plan was carried out, with what the test says of it.
    pub(super) fn did(
        &mut self,
        draft: &PlanDraft,
        at: usize,
        observation: &Observation,
        with: impl Fn(&mut HistoryEntry),
    ) {
        let step = draft.steps[at].clone();
        let candidate = step.action.target().and_then(TargetRef::candidate_id).and_then(|id| observation.candidate(id));
        let mut entry = HistoryEntry {
            target: candidate.map(Candidate::title),
            planned: Some(PlannedStep { plan: self.plan - 1, step: u32::try_from(at).unwrap() }),
            ..HistoryEntry::of(step)
        };
        with(&mut entry);
        self.history.push(entry);
    }

    /// All steps of the last plan succeeded.
    pub(super) fn did_all(&mut self, draft: &PlanDraft, observation: &Observation) {
        (0..draft.steps.len()).for_each(|at| self.did(draft, at, observation, |_| ()));
    }

    /// The question of the last plan was answered.
    pub(super) fn answered(&mut self, draft: &PlanDraft, observation: &Observation, answer: &str) {
        self.did(draft, 0, observation, |entry| entry.data = Some(json!(answer)));
    }
}

/// Returns `true` if the plan ends the run, or waits for a person.
pub(super) fn ends(draft: &PlanDraft) -> bool {
    draft.steps.iter().any(|step| matches!(step.action, Action::Finish(_) | Action::Fail(_) | Action::AskUser(_)))
}

/// A plan in short, one step after the other.
pub(super) fn short(draft: &PlanDraft) -> String {
    draft.steps.iter().map(text).collect::<Vec<_>>().join("; ")
}

/// The plan for a task on a page that nothing was done on.
pub(super) fn plan(task: &str, observation: &Observation) -> String {
    short(&SimulatedRun::of(task).plan(observation))
}

/// All plans on a page that stays as it is, but for the end of it.
pub(super) fn plans(task: &str, observation: &Observation) -> String {
    // A password that was sent is not asked for again.
    let mut after = observation.clone();
    after.candidates.retain(|candidate| !candidate.is_sensitive());
    let sends = |said: &[String]| said.last().is_some_and(|plan| plan.contains("type") && plan.contains("click"));
    let mut run = SimulatedRun::of(task);
    let mut said: Vec<String> = Vec::new();
    for _ in 0..12 {
        let observation = if sends(&said) { &after } else { observation };
        let draft = run.plan(observation);
        said.push(short(&draft));
        if ends(&draft) {
            break;
        }
        run.did_all(&draft, observation);
    }
    if said.len() > 1 && said.last().is_some_and(|last| last == "finish") {
        said.pop();
    }
    said.join("; ")
}

/// Runs a task over pages in turn: every plan's steps succeed, and after each plan the next page is there; the last one
/// stays. Ends with the step that ends the run.
pub(super) fn run(task: &str, pages: &[&str]) -> Vec<String> {
    let pages: Vec<Observation> = pages.iter().map(|lines| page(lines)).collect();
    let mut run = SimulatedRun::of(task);
    let mut said = Vec::new();
    for turn in 0..12 {
        let observation = &pages[turn.min(pages.len() - 1)];
        let draft = run.plan(observation);
        said.push(short(&draft));
        if ends(&draft) {
            return said;
        }
        run.did_all(&draft, observation);
    }
    panic!("{task:?} does not end: {said:?}");
}

/// A step in short: `type c1 ann`, `click c3`, `select c2 Large`.
fn text(step: &Step) -> String {
    let verb = step.action.kind().meta().name;
    let target = step.action.target().map(|target| format!(" {target}")).unwrap_or_default();
    let more = match &step.action {
        Action::Select(select) => {
            let texts = select.option.choices.iter().map(|choice| match choice {
                OptionChoice::Text(text) => text.to_string(),
                other => format!("{other:?}"),
            });
            format!(" {}", texts.collect::<Vec<_>>().join("+"))
        }
        Action::Press(press) => format!(" {}", press.keys.as_str()),
        Action::Navigate(navigate) => format!(" {}", navigate.url.as_str()),
        Action::Fail(fail) => format!(" {}", fail.reason.as_str()),
        Action::AskUser(ask) => format!(" {}", ask.question.as_str()),
        Action::SearchPage(search) => format!(" {}", search.query.as_str()),
        Action::AcceptDialog(accept) => accept.text.as_ref().map(|text| format!(" {text}")).unwrap_or_default(),
        Action::DragTo(drag) => format!(" {}", drag.to),
        Action::Scroll(scroll) => scroll.direction.map(|direction| format!(" {direction:?}")).unwrap_or_default(),
        Action::SwitchTab(switch) => format!(" {}", switch.tab.get()),
        action => {
            let typed = action.text().and_then(|text| text.clear()).map(|text| format!(" {text}"));
            typed.or_else(|| action.credential().map(|name| format!(" {{{name}}}"))).unwrap_or_default()
        }
    };
    format!("{verb}{target}{more}")
}

/// Asserts a table of tasks and all their plans on one page, and shows every line that differs. `?` stands for any
/// question or refusal.
pub(super) fn assert_plans(observation: &Observation, table: &[(&str, &str)]) {
    let wrong: Vec<String> = table
        .iter()
        .filter_map(|(task, expected)| {
            let seen = collapse_white_space(&plans(task, observation));
            let is_so = match *expected {
                "?" => seen.starts_with("askUser") || seen.starts_with("fail"),
                expected => seen == expected,
            };
            (!is_so).then(|| format!("{task}\n  expected {expected}\n  saw      {seen}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
