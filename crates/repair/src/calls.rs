//! Calls of models on their way from a planner into the log.
//!
//! Invariants:
//! - Every call that a planner reports is kept, even if its planning fails.
//! - No kept text contains what the redactor knows, what the task calls a password, or what the drafts type into
//!   sensitive fields. It is removed before any of it was typed, so before the redactor has learnt it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cuebook_grammar::observation::Observation;
use cuebook_grammar::plan::{PlanDraft, Violation};
use cuebook_grammar::planning::{CallEnd, PlanningCall};
use cuebook_grammar::report::Usage;
use cuebook_grammar::seam::{PlanSink, Redactor};
use cuebook_grammar::secret::{MASK, WireText};
use cuebook_grammar::step::Step;

use tokio::sync::mpsc;

use crate::recording::now_ms;
use crate::task_words;

/// Texts shorter than this are not searched for, as with a [`Redactor`].
const SHORTEST: usize = 4;

/// Words that stand after `password` without being one.
const ORDINARY: [&str; 12] =
    ["field", "fields", "input", "button", "form", "page", "link", "manager", "reset", "again", "below", "then"];

/// Collects the calls of one planning, with the time when each ended.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    ended: Vec<(u64, PlanningCall)>,
    /// A call is under way.
    is_calling: bool,
    /// The steps of all answers.
    written: Vec<Step>,
    /// The planner's memory: the note that it wants to read again.
    memory: Option<String>,
    live: Option<Live>,
}

/// The most steps that wait while another one runs; further ones run when the answer has ended.
const WAITING: usize = 32;

/// A complete step of an answer that is still arriving.
#[derive(Debug)]
pub(crate) struct Ready {
    /// The number of its call within this planning; `None` if no model wrote it.
    pub(crate) call: Option<u32>,
    /// 0-based position in the plan.
    pub(crate) index: usize,
    pub(crate) step: Step,
    attempt: u32,
}

/// Hands steps to the controller.
#[derive(Debug)]
struct Live {
    ready: mpsc::Sender<Ready>,
    state: Arc<Mutex<StreamState>>,
    /// A step found no place: it runs when the answer has ended, and so do those behind it.
    is_full: bool,
}

#[derive(Debug, Default)]
struct StreamState {
    /// Number of times that the planner rewrote the plan.
    attempt: u32,
    /// `true` once a step has been taken up.
    is_taken: bool,
}

/// Receiving end of the steps of a plan that is still being written.
#[derive(Debug)]
pub(crate) struct Arriving {
    ready: mpsc::Receiver<Ready>,
    state: Arc<Mutex<StreamState>>,
}

impl Arriving {
    /// The next step. Never returns once planning has ended.
    pub(crate) async fn next(&mut self) -> Ready {
        loop {
            match self.ready.recv().await {
                Some(ready) if ready.attempt == lock(&self.state).attempt => return ready,
                Some(_) => {}
                None => std::future::pending().await,
            }
        }
    }

    /// From now on the plan cannot be written anew.
    pub(crate) fn take_up(&self) {
        lock(&self.state).is_taken = true;
    }
}

fn lock(state: &Mutex<StreamState>) -> MutexGuard<'_, StreamState> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Calls {
    /// Calls whose steps are handed on as they become complete.
    pub(crate) fn live() -> (Self, Arriving) {
        let (sender, ready) = mpsc::channel(WAITING);
        let state = Arc::<Mutex<StreamState>>::default();
        let live = Live { ready: sender, state: state.clone(), is_full: false };
        (Self { live: Some(live), ..Self::default() }, Arriving { ready, state })
    }

    /// The steps of all answers, for what they type.
    pub(crate) fn take_written(&mut self) -> Vec<Step> {
        std::mem::take(&mut self.written)
    }

    /// Takes the planner's memory, the note that it wants to read again, if it was reported before the reply.
    pub(crate) fn take_memory(&mut self) -> Option<String> {
        self.memory.take()
    }

    /// Returns the violations for which the last answer is no valid plan, if that is how it ended.
    pub(crate) fn refused(&self) -> Option<Vec<Violation>> {
        let (_, last) = self.ended.iter().rfind(|(_, call)| call.purpose.is_for_plan())?;
        match &last.end {
            CallEnd::Invalid { violations } => Some(violations.clone()),
            _ => None,
        }
    }

    /// Makes a draft the output of the last call, if it is one of those beside it. `at` counts the valid ones.
    pub(crate) fn take_draft(&mut self, at: usize) {
        let Some((_, call)) = self.ended.last_mut() else { return };
        let Some(beside) = at.checked_sub(1) else { return };
        let mut valid = call.others.iter_mut().filter(|other| other.end == CallEnd::Accepted);
        if let Some(other) = valid.nth(beside) {
            std::mem::swap(&mut call.output, &mut other.output);
        }
    }

    pub(crate) fn into_ended(self) -> Vec<(u64, PlanningCall)> {
        self.ended
    }

    /// Returns the usage of all ended calls together.
    pub(crate) fn usage(&self) -> Usage {
        let mut usage = Usage::default();
        for (_, call) in &self.ended {
            usage.add(Usage { planner_calls: 1, input_tokens: call.input_tokens, output_tokens: call.output_tokens });
        }
        usage
    }
}

impl PlanSink for Calls {
    fn step_ready(&mut self, draft: usize, index: usize, step: &Step) {
        self.written.push(step.clone());
        let Some(live) = self.live.as_mut().filter(|live| draft == 0 && !live.is_full) else { return };
        let attempt = lock(&live.state).attempt;
        let call = self.is_calling.then(|| u32::try_from(self.ended.len()).unwrap_or(u32::MAX));
        live.is_full = live.ready.try_send(Ready { call, index, step: step.clone(), attempt }).is_err();
    }

    fn remember(&mut self, memory: &str) {
        self.memory = Some(memory.to_owned());
    }

    fn restart(&mut self) -> bool {
        let Some(live) = &self.live else { return true };
        let mut answer = lock(&live.state);
        answer.attempt += u32::from(!answer.is_taken);
        !answer.is_taken
    }

    fn call_begun(&mut self) {
        self.is_calling = true;
    }

    fn call_ended(&mut self, call: PlanningCall) {
        self.is_calling = false;
        self.ended.push((now_ms(), call));
    }
}

/// Removes secrets from the texts of calls.
pub(crate) struct Cleaner<'a> {
    redactor: &'a dyn Redactor,
    task: &'a str,
    /// The longest first, each as it is and as JSON writes it.
    hidden: Vec<String>,
}

impl<'a> Cleaner<'a> {
    pub(crate) fn new(
        redactor: &'a dyn Redactor,
        task: &'a str,
        observation: &Observation,
        drafts: &[PlanDraft],
        written: &[Step],
    ) -> Self {
        let named = task_words::passwords(task).into_iter().filter(|word| !ORDINARY.contains(word));
        let typed = drafts
            .iter()
            .flat_map(|draft| &draft.steps)
            .chain(written)
            .filter_map(|step| sensitive_text(step, observation));
        let mut hidden: Vec<String> = named
            .chain(typed)
            .filter(|text| text.trim().chars().count() >= SHORTEST)
            .flat_map(|text| [text.to_owned(), in_json(text)])
            .collect();
        hidden.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        hidden.dedup();
        Self { redactor, task, hidden }
    }

    pub(crate) fn clean(&self, text: &str) -> String {
        let mut text = self.redactor.redact(text).into_owned();
        if !self.task.trim().is_empty() {
            text = text.replace(self.task, &task_words::without_passwords(self.task));
        }
        self.hidden.iter().fold(text, |text, hidden| text.replace(hidden.as_str(), MASK))
    }
}

/// The clear text that a step enters where it may not be kept. A target that was not observed counts as such.
fn sensitive_text<'a>(step: &'a Step, observation: &Observation) -> Option<&'a str> {
    let text = step.action.text().and_then(WireText::clear)?;
    let observed = step.action.target()?.candidate_id().and_then(|id| observation.candidate(id));
    observed.is_none_or(|candidate| candidate.is_sensitive()).then_some(text)
}

fn in_json(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    quoted.trim_start_matches('"').strip_suffix('"').unwrap_or(&quoted).to_owned()
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use cuebook_grammar::id::PageId;
    use cuebook_grammar::plan::Author;
    use serde_json::json;

    use super::*;

    struct KnownSecret(&'static str);

    impl Redactor for KnownSecret {
        fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
            text.replace(self.0, MASK).into()
        }
        fn learn(&self, _: &str) {}
    }

    #[test]
    fn what_is_known_named_or_about_to_be_typed_is_removed() {
        let plan = json!({ "version": "1.0",
            "candidates": { "field": { "strategy": "byLabel", "text": "Key" } },
            "steps": [{ "type": "type", "targetRef": "field", "text": "typed \"value\"" }] });
        let draft = PlanDraft::read_value(plan, Author::Model).unwrap();
        let page = Observation::blank(PageId::new("page"), "https://shop.test/");
        let task = "Log in with password swordfish, then read the password field";
        let cleaner = Cleaner::new(&KnownSecret("canary"), task, &page, &[draft], &[]);
        let prompt = format!("Task: {task}\nThe last answer was `canary`; type swordfish into the text field");
        let kept = cleaner.clean(&prompt);
        assert_eq!(
            kept,
            "Task: Log in with password [redacted] then read the password [redacted]\n\
             The last answer was `[redacted]`; type [redacted] into the text field"
        );
        let output = r#"{"type":"type","targetRef":"c1","text":"typed \"value\""}"#;
        assert_eq!(cleaner.clean(output), r#"{"type":"type","targetRef":"c1","text":"[redacted]"}"#);
    }
}
