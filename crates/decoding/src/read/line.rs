//! The line form: a verb and its arguments a line, with an optional condition on either side.
//!
//! Lines that begin with `#` are the reasoning, those with `goal:` conditions that will hold when the task is done; blank lines mean nothing. See `line_form` for the syntax.

use cuebook_grammar::action::ActionKind;
use cuebook_grammar::plan::{Author, MAX_GOAL, MAX_STEPS, PlanDraft, Violations};
use cuebook_grammar::wire::{self, LongText};
use serde_json::{Map, Value};

use super::json;
use super::malformed::malformed;
use crate::line_form::{GOAL, GOAL_REASON, positional, positional_of_condition};

/// Deviation of a dialect from the line form that the reader accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Habit {
    /// Numbers are ids of candidates: `click(223)` means `c223`.
    NumbersAreIds,
}

/// Where and why a line is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected {expected} at column {column}, saw {saw}")]
pub(super) struct LineError {
    expected: String,
    /// From 1, in characters.
    column: usize,
    saw: String,
}

pub(super) fn read(text: &str, author: Author) -> Result<PlanDraft, Violations> {
    let mut steps = Vec::new();
    let mut goal = Vec::new();
    let mut reason = None;
    let mut reasoning = String::new();
    let mut violations = Vec::new();
    for line in text.trim_start_matches('\u{feff}').lines() {
        let line = line.trim();
        if line.is_empty() || line.starts_with("```") {
            continue;
        }
        if let Some(thought) = line.strip_prefix('#') {
            if !reasoning.is_empty() {
                reasoning.push('\n');
            }
            reasoning.push_str(thought.trim());
            continue;
        }
        if let Some(stated) = line.strip_prefix(GOAL) {
            if goal.len() > MAX_GOAL {
                continue;
            }
            match condition(stated) {
                Ok(condition) => goal.push(condition),
                Err(error) => violations.push(malformed(format!("/goal/{}", goal.len()), error.to_string())),
            }
            continue;
        }
        if let Some(stated) = line.strip_prefix(GOAL_REASON) {
            match serde_json::from_str::<String>(stated.trim()) {
                Ok(said) => reason = Some(said),
                Err(error) => violations.push(malformed("/goalReason", format!("expected a JSON string: {error}"))),
            }
            continue;
        }
        let index = steps.len() + violations.len();
        if index > MAX_STEPS {
            break;
        }
        match step(line, &[]) {
            Ok(step) => steps.push(step),
            Err(error) => violations.push(malformed(format!("/steps/{index}"), error.to_string())),
        }
    }
    if !violations.is_empty() {
        return Err(violations.into());
    }
    if steps.is_empty() {
        return Err(vec![malformed("/steps", "there is no line with a step")].into());
    }
    let mut plan = Map::from_iter([("steps".to_owned(), steps.into())]);
    if !goal.is_empty() {
        plan.insert("goal".to_owned(), goal.into());
    }
    if let Some(reason) = reason {
        plan.insert("goalReason".to_owned(), reason.into());
    }
    let mut draft = json::draft(Value::Object(plan), author)?;
    draft.reasoning_summary = (!reasoning.is_empty()).then(|| LongText::cut(&reasoning));
    Ok(draft)
}

/// The word before the first bracket, if the first line that says something begins with one.
pub(super) fn first_verb(text: &str) -> Option<&str> {
    let (verb, _) = text.lines().map(str::trim).find(|line| is_step_line(line))?.split_once('(')?;
    let verb = verb.trim_end();
    (!verb.is_empty() && verb.chars().all(is_word)).then_some(verb)
}

/// Returns `true` if a line of the line form is a step: no thought, no goal, no fence, and not empty.
#[must_use]
pub fn is_step_line(line: &str) -> bool {
    let line = line.trim();
    !line.is_empty() && !line.starts_with('#') && !is_goal(line) && !line.starts_with("```")
}

/// Returns `true` if a line is about the goal.
pub(crate) fn is_goal(line: &str) -> bool {
    line.starts_with(GOAL) || line.starts_with(GOAL_REASON)
}

/// A condition of the goal.
fn condition(text: &str) -> Result<Value, LineError> {
    let mut cursor = Cursor { text, at: 0, habits: &[] };
    let condition = cursor.condition(0)?;
    cursor.space();
    if cursor.rest().is_empty() { Ok(condition) } else { Err(cursor.error("the end of the line")) }
}

/// One line, as a step object.
pub(super) fn step(line: &str, habits: &[Habit]) -> Result<Value, LineError> {
    let mut cursor = Cursor { text: line, at: 0, habits };
    let verb = cursor.word("a verb")?;
    let Some(kind) = ActionKind::ALL.iter().find(|kind| kind.meta().name == verb) else {
        cursor.at = 0;
        return Err(cursor.error("a verb of the grammar"));
    };
    let mut object = Map::from_iter([("type".to_owned(), Value::from(verb))]);
    cursor.arguments(positional(*kind), &mut object)?;
    let mut before = Vec::new();
    while cursor.eat_word("if") {
        before.push(cursor.condition(0)?);
    }
    let mut after = Vec::new();
    while cursor.eat("=>") {
        after.push(cursor.condition(0)?);
    }
    for (side, conditions) in [("pre", before), ("post", after)] {
        if !conditions.is_empty() && object.insert(side.to_owned(), conditions.into()).is_some() {
            return Err(cursor.error(&format!("`{side}` once only")));
        }
    }
    cursor.space();
    if cursor.eat(";") {
        cursor.space();
    }
    if cursor.rest().is_empty() { Ok(Value::Object(object)) } else { Err(cursor.error("the end of the line")) }
}

struct Cursor<'a> {
    text: &'a str,
    at: usize,
    habits: &'a [Habit],
}

/// Conditions within conditions, arrays within arrays.
const DEPTH: usize = 6;

impl<'a> Cursor<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn space(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
    }

    fn eat(&mut self, token: &str) -> bool {
        self.space();
        let found = self.rest().starts_with(token);
        if found {
            self.at += token.len();
        }
        found
    }

    fn eat_word(&mut self, word: &str) -> bool {
        self.space();
        let Some(rest) = self.rest().strip_prefix(word) else { return false };
        let whole = !rest.starts_with(is_word);
        if whole {
            self.at += word.len();
        }
        whole
    }

    fn need(&mut self, token: &str) -> Result<(), LineError> {
        if self.eat(token) { Ok(()) } else { Err(self.error(&format!("`{token}`"))) }
    }

    fn error(&self, expected: &str) -> LineError {
        let column = self.text.get(..self.at).unwrap_or_default().chars().count() + 1;
        let rest: String = self.rest().chars().take(30).flat_map(char::escape_debug).collect();
        let saw = if rest.is_empty() { "the end of the line".to_owned() } else { format!("`{rest}`") };
        LineError { expected: expected.to_owned(), column, saw }
    }

    fn word(&mut self, what: &str) -> Result<&'a str, LineError> {
        self.space();
        let rest = self.rest();
        let length = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        if length == 0 {
            return Err(self.error(what));
        }
        self.at += length;
        Ok(rest.get(..length).unwrap_or_default())
    }

    /// `(value,name=value)`: those without names take their names from `order`.
    fn arguments(&mut self, order: &[&str], object: &mut Map<String, Value>) -> Result<(), LineError> {
        self.need("(")?;
        let mut unnamed = order.iter();
        if self.eat(")") {
            return Ok(());
        }
        loop {
            self.space();
            let from = self.at;
            let name = match self.word("") {
                Ok(name) if self.eat("=") && !self.rest().starts_with('>') => Some(name),
                _ => {
                    self.at = from;
                    None
                }
            };
            let (name, unnamed) = match name {
                Some(name) => (name, false),
                None => match unnamed.next() {
                    Some(name) => (*name, true),
                    None => return Err(self.error("`)` or a named argument")),
                },
            };
            let value = match name {
                "condition" => self.condition(0)?,
                "targetRef" | "to" | "target" if unnamed => self.reference()?,
                _ => self.value(0)?,
            };
            if object.insert(name.to_owned(), value).is_some() {
                return Err(self.error(&format!("`{name}` once only")));
            }
            if self.eat(")") {
                return Ok(());
            }
            self.need(",")?;
        }
    }

    fn reference(&mut self) -> Result<Value, LineError> {
        self.space();
        if self.rest().starts_with('{') {
            return self.value(0);
        }
        // `@c1` is what some are used to.
        self.eat("@");
        match self.value(0)? {
            Value::Number(number) if self.habits.contains(&Habit::NumbersAreIds) => Ok(format!("c{number}").into()),
            other => Ok(other),
        }
    }

    fn condition(&mut self, depth: usize) -> Result<Value, LineError> {
        if depth > DEPTH {
            return Err(self.error("conditions less deeply nested"));
        }
        let kind = self.word("a condition")?;
        let mut object = Map::from_iter([("kind".to_owned(), Value::from(kind))]);
        match kind {
            "not" | "becomes" => {
                self.need("(")?;
                object.insert("condition".to_owned(), self.condition(depth + 1)?);
                self.need(")")?;
            }
            "allOf" | "anyOf" => {
                self.need("(")?;
                let mut conditions = Vec::new();
                let mut is_first = true;
                // An empty group reads; that it cannot be judged is for `check` to say.
                while !self.eat(")") {
                    if !std::mem::take(&mut is_first) {
                        self.need(",")?;
                    }
                    if self.eat_word("timeoutMs") {
                        self.need("=")?;
                        if object.insert("timeoutMs".to_owned(), self.value(depth + 1)?).is_some() {
                            return Err(self.error("`timeoutMs` once only"));
                        }
                    } else {
                        conditions.push(self.condition(depth + 1)?);
                    }
                }
                object.insert("conditions".to_owned(), conditions.into());
            }
            _ => self.arguments(positional_of_condition(kind), &mut object)?,
        }
        Ok(Value::Object(object))
    }

    fn value(&mut self, depth: usize) -> Result<Value, LineError> {
        if depth > DEPTH {
            return Err(self.error("values less deeply nested"));
        }
        self.space();
        let rest = self.rest();
        match rest.chars().next() {
            Some('"' | '{') => self.json(),
            Some('[') => {
                self.need("[")?;
                let mut items = Vec::new();
                if self.eat("]") {
                    return Ok(items.into());
                }
                loop {
                    items.push(self.value(depth + 1)?);
                    if self.eat("]") {
                        return Ok(items.into());
                    }
                    self.need(",")?;
                }
            }
            Some(first) if first.is_ascii_digit() || first == '-' => self.number(),
            _ => Ok(match self.word("a value")? {
                "true" => Value::Bool(true),
                "false" => Value::Bool(false),
                "null" => Value::Null,
                word => word.into(),
            }),
        }
    }

    /// A JSON value that ends where it ends.
    fn json(&mut self) -> Result<Value, LineError> {
        let mut values = serde_json::Deserializer::from_str(self.rest()).into_iter::<serde::de::IgnoredAny>();
        match values.next() {
            Some(Ok(_)) => {
                let end = values.byte_offset();
                let value = wire::parse(self.rest().get(..end).unwrap_or_default())
                    .map_err(|_| self.error("a JSON object that names no member twice"))?;
                self.at += end;
                Ok(value)
            }
            _ => Err(self.error("a JSON string or object")),
        }
    }

    fn number(&mut self) -> Result<Value, LineError> {
        let rest = self.rest();
        let length = rest.find(|c: char| !(c.is_ascii_digit() || matches!(c, '-' | '.'))).unwrap_or(rest.len());
        let number = rest.get(..length).and_then(|text| serde_json::from_str::<Value>(text).ok());
        match number {
            Some(number) => {
                self.at += length;
                Ok(number)
            }
            None => Err(self.error("a number")),
        }
    }
}

const fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-' | '+')
}
