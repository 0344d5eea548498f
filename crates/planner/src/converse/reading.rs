//! Reads an answer while it is written, and checks each step as soon as it is complete.
//!
//! Invariants:
//! - A returned step has passed the check, together with all steps before it.
//! - An answer that can no longer become a valid plan is rejected at that point, not at its end.

use cuebook_decoding::emit::Target;
use cuebook_decoding::read::{self, Form};
use cuebook_decoding::{GrammarSpec, PlanStream, StreamError, TokenProbability, confidences};
use cuebook_grammar::action::Action;
use cuebook_grammar::arguments::Shape;
use cuebook_grammar::geometry::ViewportSize;
use cuebook_grammar::observation::Observation;
use cuebook_grammar::plan::{Author, PlanDraft, Violation, ViolationCode, Violations};
use cuebook_grammar::policy::Policy;
use cuebook_grammar::render::quoted;
use cuebook_grammar::step::Step;
use cuebook_grammar::wire::{LongText, Probability, ReadError};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::chat::Dialect;
use super::memory::{memory_in, summary_in, thought_in};
use crate::pointing::{self, Answer, Space};

/// Upper bound of an answer in bytes.
const MAX_BYTES: usize = 1 << 20;

/// Upper bound of the tool calls in one answer.
const MAX_CALLS: usize = 64;

/// Reads an answer in pieces.
pub(super) struct Reader<'a> {
    observation: &'a Observation,
    policy: &'a Policy,
    form: Reading<'a>,
    /// The form of the answer is not known in advance.
    is_prompted: bool,
    /// Upper bound of the steps of a plan.
    most_steps: usize,
    text: String,
    /// The byte at which the answer starts, once known.
    begins_at: Option<usize>,
    /// The bytes that were read.
    fed: usize,
    steps: Vec<Step>,
    tokens: Vec<TokenProbability>,
}

enum Reading<'a> {
    /// A plan as JSON.
    Plan(Box<PlanStream<'a>>),
    /// Tool calls. Text beside them is reasoning.
    Calls(Vec<Call>),
    /// One step per line.
    Lines,
    /// Any form, read once the answer is complete.
    Whole,
    /// Actions on a picture, read once the answer is complete.
    Actions { space: Space, picture: Option<ViewportSize>, calls: Vec<Call> },
    /// An object that is no plan, as text or as the arguments of a tool. It has no steps.
    Object,
}

#[derive(Default)]
struct Call {
    name: String,
    arguments: String,
    is_read: bool,
}

fn malformed(message: impl Into<String>) -> Violations {
    vec![Violation::new(ViolationCode::Malformed, "", message)].into()
}

impl<'a> Reader<'a> {
    pub(super) fn new(
        dialect: Dialect,
        spec: &'a GrammarSpec,
        observation: &'a Observation,
        policy: &'a Policy,
    ) -> Self {
        let is_prompted = matches!(dialect, Dialect::Prompted | Dialect::Document);
        let form = match dialect {
            // Strict dialects write null for absent members, which the grammar itself does not have.
            Dialect::Plan(Target::OpenAi | Target::Gemini) | Dialect::Prompted | Dialect::Document => {
                Reading::Plan(Box::new(PlanStream::unconstrained()))
            }
            Dialect::Plan(Target::Line) => Reading::Lines,
            Dialect::Plan(_) => Reading::Plan(Box::new(PlanStream::new(spec.document()))),
            Dialect::Calls(_) => Reading::Calls(Vec::new()),
            Dialect::Pointing(space) => Reading::Actions { space, picture: None, calls: Vec::new() },
        };
        // Stops a server that ignores the grammar.
        let most_steps = match dialect {
            Dialect::Plan(_) => usize::try_from(spec.caps().steps).unwrap_or(usize::MAX),
            Dialect::Calls(_) | Dialect::Prompted | Dialect::Document | Dialect::Pointing(_) => usize::MAX,
        };
        Self {
            observation,
            policy,
            form,
            is_prompted,
            most_steps,
            text: String::new(),
            begins_at: None,
            fed: 0,
            steps: Vec::new(),
            tokens: Vec::new(),
        }
    }

    /// Reads an object that is no plan.
    pub(super) fn of_object(self) -> Self {
        Self { form: Reading::Object, is_prompted: false, ..self }
    }

    /// Reads actions of this space on a picture of this size.
    pub(super) fn of_actions(self, space: Space, picture: Option<ViewportSize>) -> Self {
        Self { form: Reading::Actions { space, picture, calls: Vec::new() }, ..self }
    }

    /// Adds text. Returns the steps that it completes.
    pub(super) fn text(&mut self, piece: &str) -> Result<Vec<Step>, Violations> {
        if self.text.len().saturating_add(piece.len()) > MAX_BYTES {
            return Err(malformed(format!("expected an answer of at most {MAX_BYTES} bytes")));
        }
        self.text.push_str(piece);
        let Some(from) = self.after_thoughts() else { return Ok(Vec::new()) };
        let fresh = from.max(std::mem::replace(&mut self.fed, self.text.len()));
        // Prose, lines, calls as text, thoughts and actions are read once the answer is complete.
        let begins = self.text.get(from..).unwrap_or_default().trim_start();
        if self.is_prompted && !begins.is_empty() && (!begins.starts_with('{') || offers_drafts(begins)) {
            self.form = Reading::Whole;
        }
        if matches!(self.form, Reading::Lines) {
            return self.whole_lines(from, fresh);
        }
        let Reading::Plan(stream) = &mut self.form else { return Ok(Vec::new()) };
        let piece = self.text.get(fresh..).unwrap_or_default();
        match stream.push(piece.as_bytes()) {
            Ok(steps) => self.judged(steps),
            // Steps of the form `{"tool", "args"}` are read once the answer is complete.
            Err(StreamError::BadStep { .. }) if self.text.contains("\"tool\"") => {
                self.form = Reading::Whole;
                Ok(Vec::new())
            }
            Err(error) => Err(refused(&error)),
        }
    }

    /// The byte at which the answer starts: after the thoughts that some servers include. `None` if not known yet.
    fn after_thoughts(&mut self) -> Option<usize> {
        const BEGIN: &str = "<think>";
        const END: &str = "</think>";
        if let Some(from) = self.begins_at {
            return Some(from);
        }
        let text = self.text.trim_start();
        let skipped = self.text.len() - text.len();
        let from = if text.starts_with(BEGIN) {
            skipped + text.find(END)? + END.len()
        } else if BEGIN.starts_with(text) {
            return None;
        } else {
            0
        };
        self.begins_at = Some(from);
        Some(from)
    }

    /// Adds tokens of the text. No more than the text may have.
    pub(super) fn tokens(&mut self, tokens: Vec<TokenProbability>) {
        if self.tokens.len() <= MAX_BYTES {
            self.tokens.extend(tokens);
        }
    }

    /// Sets the confidences of the steps from `index` on that were measured, in place of those that the model states. None
    /// if the text has fewer steps, as if it was read otherwise, or more than `most`.
    fn measure(&self, steps: &mut [Step], index: usize, most: usize) {
        let form = match self.form {
            Reading::Lines => Form::Lines,
            Reading::Plan(_) => Form::Plan,
            _ => return,
        };
        let measured = confidences(&self.text, form, &self.tokens);
        if (index + steps.len()..=most).contains(&measured.len()) {
            for (step, confidence) in steps.iter_mut().zip(measured.into_iter().skip(index)) {
                step.confidence = Some(Probability::clamped(confidence));
            }
        }
    }

    /// Adds a piece of a call. Returns the steps of the calls that it completes, which are earlier ones.
    pub(super) fn call(&mut self, index: usize, name: Option<&str>, arguments: &str) -> Result<Vec<Step>, Violations> {
        if matches!(self.form, Reading::Object) {
            return self.text(arguments);
        }
        if !matches!(self.form, Reading::Calls(_) | Reading::Actions { .. }) {
            self.form = Reading::Calls(Vec::new());
        }
        let (Reading::Calls(calls) | Reading::Actions { calls, .. }) = &mut self.form else { return Ok(Vec::new()) };
        if index >= MAX_CALLS {
            return Err(malformed(format!("expected at most {MAX_CALLS} calls")));
        }
        while calls.len() <= index {
            calls.push(Call::default());
        }
        let total: usize = calls.iter().map(|call| call.arguments.len()).sum();
        if total.saturating_add(arguments.len()) > MAX_BYTES {
            return Err(malformed(format!("expected calls of at most {MAX_BYTES} bytes")));
        }
        if let Some(call) = calls.get_mut(index) {
            if let Some(name) = name {
                call.name.push_str(name);
            }
            call.arguments.push_str(arguments);
        }
        self.whole_calls(index)
    }

    /// Returns `true` if the plan is complete. Text that follows is ignored.
    pub(super) const fn is_done(&self) -> bool {
        matches!(&self.form, Reading::Plan(stream) if stream.is_done())
    }

    /// The output so far, with calls as JSON.
    pub(super) fn output(&self) -> String {
        match &self.form {
            Reading::Calls(calls) | Reading::Actions { calls, .. } if !calls.is_empty() => {
                let mut text = self.text.clone();
                if !text.is_empty() {
                    text.push('\n');
                }
                text.push_str(&Value::Array(calls.iter().map(as_json).collect()).to_string());
                text
            }
            _ => self.text.clone(),
        }
    }

    /// Returns the memory in the answer so far, for the model to read again. Complete once a step is.
    pub(super) fn memory(&self) -> Option<String> {
        let answer = self.text.get(self.begins_at.unwrap_or(0)..).unwrap_or_default();
        match &self.form {
            Reading::Plan(_) => memory_in(&summary_in(answer)?),
            Reading::Calls(calls) => {
                let mut thoughts = vec![answer.to_owned()];
                thoughts.extend(calls.iter().filter_map(|call| thought_in(&call.arguments)));
                memory_in(&thoughts.join("\n\n"))
            }
            Reading::Lines => {
                let thoughts: Vec<&str> = answer.lines().filter_map(|line| line.trim().strip_prefix('#')).collect();
                memory_in(&thoughts.join("\n"))
            }
            Reading::Actions { .. } => memory_in(answer),
            Reading::Whole | Reading::Object => None,
        }
    }

    /// Ends the answer. Returns the steps of the first draft that were not returned yet, and at most `most` drafts, which
    /// have passed the check.
    pub(super) fn finish(&mut self, most: usize) -> Result<(Vec<Step>, Vec<PlanDraft>), Violations> {
        let answer = self.text.get(self.begins_at.unwrap_or(0)..).unwrap_or_default();
        if matches!(self.form, Reading::Object) {
            let seen = || malformed(format!("expected a JSON object, saw {}", quoted(answer, 200)));
            return object_in(answer).map(|_| (Vec::new(), Vec::new())).ok_or_else(seen);
        }
        if !self.is_prompted || !offers_drafts(answer) {
            let (rest, mut draft) = self.finish_one()?;
            let count = draft.steps.len();
            self.measure(&mut draft.steps, 0, count);
            return Ok((rest, vec![draft]));
        }
        let Drafts { drafts: offered } = serde_json::from_str(answer).map_err(|error| malformed(error.to_string()))?;
        let mut drafts = Vec::new();
        let mut refused = malformed("there is no plan in `drafts`");
        for draft in offered.iter().take(most.max(1)).rev() {
            let read = read::read(&draft.to_string(), Author::Model);
            match read.and_then(|draft| self.check(&draft).map(|()| draft)) {
                Ok(draft) => drafts.insert(0, draft),
                Err(violations) => refused = violations,
            }
        }
        match drafts.first() {
            Some(first) => Ok((first.steps.clone(), drafts)),
            None => Err(refused),
        }
    }

    fn finish_one(&mut self) -> Result<(Vec<Step>, PlanDraft), Violations> {
        let returned = self.steps.len();
        let answer = self.text.get(self.begins_at.unwrap_or(0)..).unwrap_or_default();
        let draft = match &self.form {
            Reading::Actions { space, picture, calls } => {
                let calls = calls.iter().map(|call| (call.name.clone(), call.arguments.clone())).collect();
                let answer = Answer { text: answer.to_owned(), calls };
                let (acts, thought) = pointing::read(*space, &answer).map_err(malformed)?;
                let mut draft = pointing::plan(&acts, self.observation, self.policy, *picture)?;
                draft.reasoning_summary = (!thought.is_empty()).then(|| LongText::cut(&thought));
                draft
            }
            Reading::Calls(calls) if !calls.is_empty() => {
                let calls: Vec<Value> = calls.iter().map(as_json).collect();
                let mut draft = read::read_as(Form::ToolCalls, &Value::Array(calls).to_string(), Author::Model)?;
                let said = [answer.trim().to_owned(), thoughts_of_registered(&mut draft.steps, self.policy)];
                let thoughts = draft.reasoning_summary.take().map(|thoughts| thoughts.to_string());
                let said: Vec<String> = said.into_iter().chain(thoughts).filter(|said| !said.is_empty()).collect();
                draft.reasoning_summary = (!said.is_empty()).then(|| LongText::cut(&said.join("\n\n")));
                draft
            }
            Reading::Plan(stream) => match stream.clone().finish() {
                Ok(plan) if self.is_prompted => read::read(&String::from_utf8_lossy(&plan), Author::Model)?,
                Ok(plan) => read::read_as(Form::Plan, &String::from_utf8_lossy(&plan), Author::Model)?,
                Err(StreamError::NoPlan { .. }) if !answer.trim().is_empty() => read::read(answer, Author::Model)?,
                Err(error) => return Err(refused(&error)),
            },
            Reading::Lines if !answer.trim().is_empty() => read::read_as(Form::Lines, answer, Author::Model)?,
            Reading::Calls(_) | Reading::Lines | Reading::Whole | Reading::Object => {
                if answer.trim().is_empty() {
                    return Err(malformed("the answer is empty, not a plan"));
                }
                read::read(answer, Author::Model)?
            }
        };
        self.check(&draft)?;
        // Duplicate or reordered members make another plan than the one whose steps were returned.
        if !draft.steps.starts_with(&self.steps) {
            return Err(malformed("expected each member once, `steps` before `last`"));
        }
        let rest = draft.steps.get(returned..).unwrap_or_default().to_vec();
        Ok((rest, draft))
    }

    /// Reads the complete lines, if the new text completes one.
    fn whole_lines(&mut self, from: usize, fresh: usize) -> Result<Vec<Step>, Violations> {
        let is_new = self.text.get(fresh..).unwrap_or_default().contains('\n');
        let answer = self.text.get(from..).unwrap_or_default();
        let whole = answer.rfind('\n').and_then(|end| answer.get(..end)).unwrap_or_default();
        if !is_new || !whole.lines().any(read::is_step_line) {
            return Ok(Vec::new());
        }
        let steps = read::read_as(Form::Lines, whole, Author::Model)?.steps;
        let fresh = steps.get(self.steps.len()..).unwrap_or_default().to_vec();
        self.judged(fresh)
    }

    /// Reads the calls before `index` that were not read yet.
    fn whole_calls(&mut self, index: usize) -> Result<Vec<Step>, Violations> {
        let Reading::Calls(calls) = &mut self.form else { return Ok(Vec::new()) };
        let mut steps = Vec::new();
        for call in calls.iter_mut().take(index).filter(|call| !call.is_read) {
            call.is_read = true;
            let mut draft = read::read_as(Form::ToolCalls, &as_json(call).to_string(), Author::Model)?;
            thoughts_of_registered(&mut draft.steps, self.policy);
            steps.extend(draft.steps);
        }
        self.judged(steps)
    }

    /// The check of the language, and the arguments of registered actions, which that check does not cover.
    fn check(&self, draft: &PlanDraft) -> Result<(), Violations> {
        draft.check(self.observation, self.policy)?;
        let misfits: Vec<Violation> = draft.steps.iter().enumerate().filter_map(|(n, s)| self.misfit(n, s)).collect();
        if misfits.is_empty() { Ok(()) } else { Err(misfits.into()) }
    }

    fn misfit(&self, index: usize, step: &Step) -> Option<Violation> {
        let Action::Call(call) = &step.action else { return None };
        let registered = self.policy.registered(&call.name)?;
        let args = call.args.clone().map_or_else(|| Value::Object(Map::new()), Value::Object);
        let ReadError { path, message } = Shape::read(&registered.schema)?.fit(&args).err()?;
        Some(Violation::new(ViolationCode::InvalidArgument, format!("/steps/{index}/args{path}"), message))
    }

    fn judged(&mut self, mut steps: Vec<Step>) -> Result<Vec<Step>, Violations> {
        if steps.is_empty() {
            return Ok(steps);
        }
        let mut draft = PlanDraft::of(Author::Model, std::mem::take(&mut self.steps));
        draft.steps.extend(steps.iter().cloned());
        if draft.steps.len() > self.most_steps {
            let message = format!("expected at most {} steps", self.most_steps);
            return Err(vec![Violation::new(ViolationCode::TooManySteps, "/steps", message)].into());
        }
        let checked = self.check(&draft);
        self.steps = draft.steps;
        let first = self.steps.len() - steps.len();
        // The next line may have begun.
        self.measure(&mut steps, first, self.steps.len() + 1);
        checked.map(|()| steps)
    }
}

/// The JSON object in an answer, which may stand between other words.
pub(super) fn object_in(answer: &str) -> Option<Map<String, Value>> {
    let answer = answer.rsplit("</think>").next().unwrap_or(answer);
    let object = answer.get(answer.find('{')?..=answer.rfind('}')?)?;
    serde_json::from_str(object).ok()
}

/// Several whole plans in place of one, the best first.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Drafts {
    drafts: Vec<Value>,
}

/// Returns `true` if an answer, or its beginning, is several plans.
fn offers_drafts(answer: &str) -> bool {
    answer.trim_start().strip_prefix('{').is_some_and(|rest| rest.trim_start().starts_with("\"drafts\""))
}

/// Takes out the thoughts among the arguments of registered actions: those that are no arguments of theirs.
fn thoughts_of_registered(steps: &mut [Step], policy: &Policy) -> String {
    const THOUGHT: &str = "thought";
    let mut thoughts = Vec::new();
    for step in steps {
        let Action::Call(call) = &mut step.action else { continue };
        let is_own = |schema: &Value| schema.get("properties").is_some_and(|own| own.get(THOUGHT).is_some());
        if policy.registered(&call.name).is_none_or(|registered| is_own(&registered.schema)) {
            continue;
        }
        let Some(args) = &mut call.args else { continue };
        if args.get(THOUGHT).is_some_and(Value::is_string) {
            thoughts.extend(args.remove(THOUGHT).as_ref().and_then(Value::as_str).map(str::to_owned));
        }
    }
    thoughts.join("\n\n")
}

fn as_json(call: &Call) -> Value {
    json!({ "name": call.name, "arguments": call.arguments })
}

fn refused(error: &StreamError) -> Violations {
    let path = match error {
        StreamError::Misfit(misfit) => misfit.path.clone(),
        StreamError::BadStep { index, error } => format!("/steps/{index}{}", error.path),
        _ => String::new(),
    };
    vec![Violation::new(ViolationCode::Malformed, path, error.to_string())].into()
}
