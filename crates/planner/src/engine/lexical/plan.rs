//! The plan: the remaining clauses, up to a likely change of the page.
//!
//! Invariants:
//! - A clause is done when its last step has succeeded. The rest of the instruction is the state of the planner.
//! - The instruction is done when nothing of it is left, no dialog is open, and the page observed then shows no
//!   error.

use cuebook_grammar::action::{Action, ActionKind, AskUser, Direction, Fail, Finish, Scroll, WaitForIdle};
use cuebook_grammar::candidate::Candidate;
use cuebook_grammar::id::CandidateId;
use cuebook_grammar::observation::{LiveText, Observation};
use cuebook_grammar::plan::{Author, PlanDraft};
use cuebook_grammar::seam::{HistoryEntry, PlanRequest};
use cuebook_grammar::step::Step;
use cuebook_grammar::wire::{Millis, ShortText};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::engine::lexical::lexicon::Verb;
use crate::engine::lexical::page::{Page, is_text_field};
use crate::engine::lexical::read::{Clause, names_in, next_clause};
use crate::engine::lexical::serve::{means_dialog, serve};
use crate::engine::lexical::served::{Past, Served};
use crate::engine::lexical::text::{Span, tokens, words};

/// Upper bound of the steps of a plan.
const MAX_STEPS: usize = 12;
/// Upper bound of the failures of a clause, and of its questions.
const MAX_FAILURES: u32 = 2;
/// Upper bound of the steps that lead to a clause.
const MAX_WAYS: u32 = 24;

/// The state between two plans.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct State {
    /// The rest of the instruction. `None` before the first plan.
    left: Option<String>,
    /// [`PlanRequest::plan`] of the reply with the steps in `planned`.
    plan: u32,
    planned: Vec<Planned>,
    /// The number of entries of the history that were read.
    read: usize,
    past: Past,
    failures: u32,
    ways: u32,
    /// The search for a target has started at the top of the page.
    swept: bool,
    /// The planner has waited for a target to appear.
    waited: bool,
    asked: Option<PendingQuestion>,
    /// Questions about the next clause.
    questions: u32,
    chosen: Option<CandidateId>,
    /// Errors that the page showed before. `None` if they must be read again.
    complaints: Option<Vec<String>>,
    /// The dialog that was open before the last clause.
    modal: Option<String>,
    /// A secret was entered, and something was pressed after it.
    entered_secret: bool,
    sent_secret: bool,
    /// A sign that the last step did not work.
    doubt: Option<String>,
    /// The last clause opens things, or a person accepted the open dialog.
    may_be_open: bool,
}

/// A step of a reply.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Planned {
    /// The end in [`State::left`] of the clause that the step completes.
    end: Option<usize>,
    /// It enters a secret.
    is_secret: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
enum PendingQuestion {
    /// The choice of one of these candidates.
    Which(Vec<CandidateId>),
    /// Other words for the clause.
    Words,
    /// Permission to accept the dialog.
    Dialog,
    /// Permission to continue although the page shows an error.
    Concern,
}

/// Plans the next steps. Returns the state for the next request too.
pub(crate) fn plan(request: &PlanRequest<'_>) -> (PlanDraft, Json) {
    let mut state: State =
        request.state.and_then(|state| State::deserialize(state).ok()).unwrap_or_else(|| State::of(request));
    let mut out = Plan { request, steps: Vec::new(), planned: Vec::new(), base: 0 };
    match state.absorb(request) {
        Some(failure) => out.end(Action::Fail(Fail { reason: ShortText::cut(&failure) })),
        None => out.write(&mut state),
    }
    let draft = PlanDraft::of(Author::Model, out.steps);
    // A draft that the policy or the page does not allow becomes a failure with the reason.
    let draft = match draft.check(request.observation, request.policy) {
        Ok(_) => draft,
        Err(violations) => {
            let reason = violations.first().map(ToString::to_string).unwrap_or_default();
            let fail = Action::Fail(Fail { reason: ShortText::cut(&reason) });
            PlanDraft::of(Author::Model, vec![Step::from(fail)])
        }
    };
    state.planned = out.planned;
    state.plan = request.plan;
    (draft, serde_json::to_value(state).unwrap_or_default())
}

impl State {
    fn of(request: &PlanRequest<'_>) -> Self {
        Self {
            left: Some(request.task.to_owned()),
            read: request.history.len(),
            complaints: Some(complaints(request.observation)),
            modal: request.observation.sketch.modal.clone(),
            ..Self::default()
        }
    }

    /// Reads the results of the last plan. Returns the reason if the planner cannot continue.
    fn absorb(&mut self, request: &PlanRequest<'_>) -> Option<String> {
        let entries = request.history.get(self.read..).unwrap_or_default();
        self.read = request.history.len();
        let mut done = None;
        let mut failure = None;
        for entry in entries {
            let Some(planned) = entry.planned.filter(|planned| planned.plan == self.plan) else { continue };
            failure = entry.failure.clone();
            if failure.is_some() {
                continue;
            }
            let step = usize::try_from(planned.step).ok().and_then(|step| self.planned.get(step)).copied();
            done = step.and_then(|step| step.end).or(done);
            self.entered_secret |= step.is_some_and(|step| step.is_secret);
            self.note(entry);
        }
        if let Some(failure) = failure {
            self.failures += 1;
            let again = ["target", "not", "covered", "option", "precondition", "dialogOpen"];
            let is_safe = again.iter().any(|cause| failure.starts_with(cause));
            if !is_safe || self.failures >= MAX_FAILURES {
                return Some(failure);
            }
        }
        if let Some(end) = done {
            let left = self.left.take().unwrap_or_default();
            self.left = Some(left.get(end..).unwrap_or_default().to_owned());
            self.begin();
        }
        None
    }

    /// Resets the state for the next clause.
    fn begin(&mut self) {
        self.past = Past { field: self.past.field, ..Past::default() };
        (self.ways, self.failures, self.questions) = (0, 0, 0);
        (self.swept, self.waited, self.chosen) = (false, false, None);
    }

    fn note(&mut self, entry: &HistoryEntry) {
        let action = &entry.step.action;
        let target = action.target().and_then(|target| target.candidate_id());
        self.doubt = entry.refused.as_ref().map(|refused| format!("the server refused: {refused}"));
        match action.kind() {
            ActionKind::Type | ActionKind::SetValue => {
                (self.past.field, self.past.entered) = (target, true);
            }
            ActionKind::Select | ActionKind::Check | ActionKind::Uncheck | ActionKind::Clear => {
                self.past.field = target;
            }
            ActionKind::Click | ActionKind::Press => {
                self.past.followed = true;
                self.sent_secret |= self.entered_secret;
                if entry.no_effect {
                    self.doubt = Some("nothing on the page changed".to_owned());
                }
            }
            ActionKind::SearchPage => {
                self.past.looks += 1;
                let total = entry.data.as_ref().and_then(|data| data.get("total")).and_then(Json::as_u64);
                self.past.seen = Some(total.unwrap_or(0) > 0);
            }
            ActionKind::AskUser => self.answered(entry.data.as_ref().and_then(Json::as_str).unwrap_or_default()),
            _ => {}
        }
    }

    /// Reads the answer of a person.
    fn answered(&mut self, answer: &str) {
        let answer = answer.trim();
        let lower = answer.to_lowercase();
        match self.asked.take() {
            Some(PendingQuestion::Which(choices)) => {
                let id = CandidateId::parse(lower.trim_start_matches('@').trim_start_matches("ref="));
                let number = lower.trim_end_matches(['.', ')']).parse::<usize>().ok();
                let numbered = number.and_then(|number| choices.get(number.checked_sub(1)?)).copied();
                let only = if let [only] = choices[..] { Some(only) } else { None };
                let agreed = only.filter(|_| matches!(lower.as_str(), "yes" | "y" | "ok"));
                self.chosen = id.filter(|id| choices.contains(id)).or(numbered).or(agreed);
                if self.chosen.is_none() && !answer.is_empty() {
                    self.say_instead(answer);
                }
            }
            Some(PendingQuestion::Words) if !answer.is_empty() => self.say_instead(answer),
            Some(PendingQuestion::Dialog) => {
                let no = ["no", "n", "cancel", "dismiss"].contains(&lower.as_str());
                let yes = ["yes", "y", "ok", "accept"].contains(&lower.as_str());
                if yes || no {
                    let left = self.left.take().unwrap_or_default();
                    self.left = Some(format!("{} the dialog. {left}", if yes { "accept" } else { "dismiss" }));
                }
            }
            Some(PendingQuestion::Concern) if matches!(lower.as_str(), "yes" | "y" | "ok" | "go on") => {
                (self.complaints, self.doubt, self.questions) = (None, None, 0);
                (self.entered_secret, self.sent_secret, self.may_be_open) = (false, false, true);
            }
            _ => {}
        }
    }

    /// Replaces the next clause by an answer; `skip` removes it.
    fn say_instead(&mut self, answer: &str) {
        let left = self.left.take().unwrap_or_default();
        let all = tokens(&left);
        let end = next_clause(Span { source: &left, tokens: &all }, &[]).map_or(left.len(), |clause| clause.end);
        let rest = left.get(end..).unwrap_or_default();
        let instead = if answer.eq_ignore_ascii_case("skip") { "" } else { answer };
        self.left = Some(format!("{instead}\n{rest}"));
    }

    /// A reason not to continue: an error on the page, or a password field that is still there.
    fn concern(&mut self, observation: &Observation) -> Option<String> {
        let now = complaints(observation);
        let known = self.complaints.get_or_insert_with(|| now.clone());
        if let Some(new) = now.iter().find(|text| !known.contains(text)) {
            return Some(format!("the page says {new:?}"));
        }
        let asks = |candidate: &Candidate| candidate.is_sensitive() && is_text_field(candidate);
        if self.sent_secret && observation.candidates.iter().any(asks) {
            return Some("the page still asks for a password".to_owned());
        }
        self.doubt.clone().filter(|doubt| doubt.starts_with("the server"))
    }
}

/// Texts of the page that indicate an error.
fn complaints(observation: &Observation) -> Vec<String> {
    const SIGNS: &[&str] = &[
        "error",
        "invalid",
        "incorrect",
        "wrong",
        "fail",
        "denied",
        "unable",
        "cannot",
        "can't",
        "could not",
        "couldn't",
        "not found",
        "not allowed",
        "forbidden",
        "unauthorized",
        "try again",
        "not valid",
        "does not",
        "doesn't",
    ];
    // Other live regions may have these words without an error.
    const SIGNS_OF_ALERTS: &[&str] = &[
        "required",
        "missing",
        "must",
        "sorry",
        "expired",
        "do not",
        "too many",
        "unavailable",
        "not available",
        "problem",
        "already",
        "rejected",
        "declined",
        "please enter",
        "please fill",
        "please select",
    ];
    let has = |text: &str, signs: &[&str]| signs.iter().any(|sign| text.to_lowercase().contains(sign));
    let sounds = |live: &LiveText| match live.kind.as_str() {
        "error" => true,
        "alert" => has(&live.text, SIGNS) || has(&live.text, SIGNS_OF_ALERTS),
        _ => has(&live.text, SIGNS),
    };
    let sketch = &observation.sketch;
    let said = sketch.live.iter().filter(|live| sounds(live));
    let heads = std::iter::once(&observation.title).chain(sketch.headings.iter().take(2).map(|heading| &heading.text));
    // An error page has it in its title or headings, usually with the status.
    let is_error = |text: &&String| {
        let number = words(text).into_iter().find_map(|word| word.parse::<u16>().ok());
        let signs = ["not found", "forbidden", "server error", "went wrong", "denied", "bad gateway", "unavailable"];
        has(text, &signs) || (has(text, SIGNS) && number.is_some_and(|number| (400..600).contains(&number)))
    };
    let fields = observation.candidates.iter().filter(|candidate| candidate.states.invalid);
    let invalid = fields.map(|candidate| format!("{} is invalid", candidate.title()));
    let status = observation.status.filter(|status| *status >= 400).map(|status| format!("status {status}"));
    said.map(|live| live.text.clone()).chain(heads.filter(is_error).cloned()).chain(invalid).chain(status).collect()
}

struct Plan<'a> {
    request: &'a PlanRequest<'a>,
    steps: Vec<Step>,
    planned: Vec<Planned>,
    /// The byte at which the first clause starts that does not hold yet.
    base: usize,
}

impl Plan<'_> {
    fn push(&mut self, mut step: Step, explanation: &str, end: Option<usize>) {
        step.explanation = Some(ShortText::cut(explanation));
        let target = step.action.target().and_then(|target| target.candidate_id());
        let candidate = target.and_then(|id| self.request.observation.candidate(id));
        let is_secret = candidate.is_some_and(Candidate::is_sensitive) && step.action.kind() != ActionKind::Press;
        self.planned.push(Planned { end, is_secret });
        self.steps.push(step);
    }

    fn end(&mut self, action: Action) {
        self.planned.push(Planned { end: None, is_secret: false });
        self.steps.push(Step::from(action));
    }

    fn fail(&mut self, reason: &str) {
        self.end(Action::Fail(Fail { reason: ShortText::cut(reason) }));
    }

    fn ask(&mut self, state: &mut State, question: &str, asked: PendingQuestion) {
        state.questions += 1;
        if state.questions > MAX_FAILURES {
            return self.fail(&format!("no answer to the question: {question}"));
        }
        state.asked = Some(asked);
        self.end(Action::AskUser(AskUser { question: ShortText::cut(question) }));
    }

    fn write(&mut self, state: &mut State) {
        let observation = self.request.observation;
        let left = state.left.clone().unwrap_or_default();
        let all = tokens(&left);
        let span = Span { source: &left, tokens: &all };
        let page = Page::new(observation, state.chosen);
        let options = observation.candidates.iter().flat_map(|candidate| &candidate.options);
        let shown = observation.candidates.iter().map(|candidate| candidate.name.as_str());
        let names = names_in(&left, shown.chain(options.map(|option| option.label.as_str())));
        let mut rest = span;
        let mut next = next_clause(rest, &names);
        if left.len() > crate::engine::lexical::text::MAX_CHARACTERS
            || (next.is_none() && words(self.request.task).is_empty())
        {
            return self.fail("expected an instruction of at most 20,000 characters");
        }
        if let Some(dialog) = observation.dialog.as_ref().filter(|_| !next.as_ref().is_some_and(means_dialog)) {
            let message: String = dialog.message.chars().take(300).collect();
            let question = format!("a dialog is open that says {message:?}: accept or dismiss?");
            return self.ask(state, &question, PendingQuestion::Dialog);
        }
        if let Some(concern) = state.concern(observation) {
            return self.ask(state, &format!("{concern}: continue anyway?"), PendingQuestion::Concern);
        }
        while let Some(clause) = next {
            rest = rest.from(rest.position(|token| token.start >= clause.end).unwrap_or(usize::MAX));
            let after = next_clause(rest, &names);
            let waits_for_dialog = means_dialog(&clause) && !self.steps.is_empty();
            if waits_for_dialog || !self.take(&page, state, &clause, after.as_ref()) || self.steps.len() >= MAX_STEPS {
                break;
            }
            next = after;
        }
        if self.steps.is_empty() {
            self.finish(state);
        }
        state.left = left.get(self.base..).map(str::to_owned);
    }

    /// Serves one clause. Returns whether the plan can continue after it.
    fn take(&mut self, page: &Page<'_>, state: &mut State, clause: &Clause<'_>, next: Option<&Clause<'_>>) -> bool {
        let is_first = self.steps.is_empty();
        let served = serve(page, clause, &self.past(state), next);
        let (steps, leaves, done) = match served {
            Served::Steps(steps) => (steps, false, true),
            Served::Leaves(steps) => (steps, true, true),
            Served::OnTheWay(steps) => (steps, true, false),
            _ if !is_first => return false,
            Served::Ask(question) => {
                self.ask(state, &format!("{}: {question}", clause.shown()), PendingQuestion::Words);
                return false;
            }
            Served::Which { question, choices } => {
                self.ask(state, &format!("{}: {question}", clause.shown()), PendingQuestion::Which(choices));
                return false;
            }
            Served::NotUnderstood => {
                let how = "say it in other words, with quotation marks around names and values, or skip";
                self.ask(state, &format!("{:?} is not understood: {how}", clause.shown()), PendingQuestion::Words);
                return false;
            }
            Served::Missing { what, nearest } => {
                self.missing(page, state, clause, &what, nearest);
                return false;
            }
            Served::Cannot(why) => {
                self.fail(&format!("{}: {why}", clause.shown()));
                return false;
            }
        };
        if !done {
            state.ways += 1;
            if !is_first {
                return false;
            }
            if state.ways > MAX_WAYS {
                self.fail(&format!("{}: its target was not reached", clause.shown()));
                return false;
            }
        }
        if !is_first && self.steps.len() + steps.len() > MAX_STEPS {
            return false;
        }
        if steps.is_empty() && is_first {
            self.base = clause.end;
            state.begin();
            return true;
        }
        let count = steps.len();
        for (at, step) in steps.into_iter().take(MAX_STEPS).enumerate() {
            self.push(step, &clause.shown(), (done && at + 1 == count).then_some(clause.end - self.base));
        }
        if leaves {
            state.modal.clone_from(&page.observation.sketch.modal);
            state.may_be_open = clause.verb == Verb::Open;
        }
        !leaves && count <= MAX_STEPS
    }

    /// Returns the state of the clause that is served next: what was done for it so far.
    fn past(&self, state: &State) -> Past {
        if self.steps.is_empty() {
            return state.past.clone();
        }
        let enters = |step: &&Step| !matches!(step.action.kind(), ActionKind::Click | ActionKind::Press);
        let field = self.steps.iter().rev().filter(enters).find_map(|step| step.action.target()?.candidate_id());
        Past { field: field.or(state.past.field), ..Past::default() }
    }

    /// Scrolls and waits for a missing target, then asks about the nearest ones.
    fn missing(
        &mut self,
        page: &Page<'_>,
        state: &mut State,
        clause: &Clause<'_>,
        what: &str,
        nearest: Vec<(CandidateId, String)>,
    ) {
        let viewport = &page.observation.viewport;
        let is_more_below = viewport.scroll_y + viewport.height + 1.0 < viewport.page_height;
        let direction = if !state.swept && viewport.scroll_y > 1.0 { Direction::Top } else { Direction::Down };
        state.ways += 1;
        if !page.is_whole() && state.ways <= MAX_WAYS && (is_more_below || direction == Direction::Top) {
            state.swept = true;
            let scroll =
                Scroll { target_ref: None, direction: Some(direction), delta_y: None, delta_x: None, point: None };
            return self.push(Step::from(Action::Scroll(scroll)), &clause.shown(), None);
        }
        if !state.waited && state.read > 0 {
            state.waited = true;
            let wait = Action::WaitForIdle(WaitForIdle { quiet_ms: Some(Millis::clamped(500)) });
            return self.push(Step::from(wait), &clause.shown(), None);
        }
        let named: Vec<String> = nearest.iter().map(|(id, title)| format!("{title} ({id})")).collect();
        let choices = nearest.iter().map(|(id, _)| *id).collect();
        let beyond = page.observation.truncated.and_then(|cut| cut.beyond());
        let beyond = beyond
            .map_or_else(String::new, |beyond| format!(" as far as the page was seen, and {beyond} lie beyond that"));
        let none = format!("{}: nothing here is called {what:?}{beyond}", clause.shown());
        match named.len() {
            0 => self.fail(&none),
            1 => self.ask(state, &format!("{none}; is {} meant?", named[0]), PendingQuestion::Which(choices)),
            _ => self.ask(
                state,
                &format!("{none}; which of these is meant: {}?", named.join(", ")),
                PendingQuestion::Which(choices),
            ),
        }
    }

    /// Ends the plan, unless the page raises doubts.
    fn finish(&mut self, state: &mut State) {
        let modal = self.request.observation.sketch.modal.as_ref();
        let is_new = modal.is_some() && modal != state.modal.as_ref() && !state.may_be_open;
        let doubt = match modal.filter(|_| is_new) {
            Some(modal) => Some(format!("the dialog {modal:?} is open")),
            None => state.doubt.clone(),
        };
        match doubt {
            Some(doubt) => self.ask(state, &format!("{doubt}: is the task done anyway?"), PendingQuestion::Concern),
            None => self.end(Action::Finish(Finish { result: None, from: None })),
        }
    }
}
