//! Answers of a model, before any wire format.

use serde_json::Value;

/// A part of a model's answer, in order.
#[derive(Clone, Debug)]
pub(crate) enum Part {
    /// Text of its answer.
    Text(String),
    /// Its thoughts, where the server tells them apart.
    Reasoning(String),
    /// A call of a tool; the arguments as the model wrote them, valid or not.
    Call(String, String),
    /// Its words of refusal.
    Refusal(String),
}

/// How the answer ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// The model was done.
    Done,
    /// It had no tokens left.
    Length,
    /// The provider or the model refused to answer.
    Refused,
    /// The stream does not say.
    Unsaid,
}

/// An answer of a model.
#[derive(Clone, Debug)]
pub(crate) struct ScriptedReply {
    /// Its parts, in order.
    pub(crate) parts: Vec<Part>,
    /// Reason of the end, as the server states it.
    pub(crate) end: End,
    /// Tokens read and written.
    pub(crate) usage: (u64, u64),
}

impl ScriptedReply {
    /// These parts, and a proper end.
    pub(crate) fn of(parts: impl IntoIterator<Item = Part>) -> Self {
        Self { parts: parts.into_iter().collect(), end: End::Done, usage: (472, 89) }
    }

    /// This text and nothing else.
    pub(crate) fn text(text: &str) -> Self {
        Self::of([Part::Text(text.to_owned())])
    }

    /// Returns the answer with another end.
    pub(crate) fn ending(mut self, end: End) -> Self {
        self.end = end;
        self
    }

    /// Returns the answer with `part` before it.
    pub(crate) fn after(mut self, part: Part) -> Self {
        self.parts.insert(0, part);
        self
    }

    /// Returns the answer with `part` after it.
    pub(crate) fn and(mut self, part: Part) -> Self {
        self.parts.push(part);
        self
    }
}

/// The plan's text: every step but the last one in `steps`.
pub(super) fn plan_text(steps: &[Value]) -> String {
    let (last, steps) = steps.split_last().expect("a plan has a step");
    serde_json::json!({ "version": "1.0", "steps": steps, "last": last }).to_string()
}

/// The step as a call of the tool that is named as its verb.
pub(super) fn call(step: &Value) -> Part {
    let mut arguments = step.as_object().cloned().unwrap_or_default();
    let name = arguments.shift_remove("type");
    let name = name.as_ref().and_then(Value::as_str).unwrap_or_default().to_owned();
    Part::Call(name, Value::Object(arguments).to_string())
}

/// The text in pieces of about a token's size, never within a character: servers hold back what is no character
/// yet.
pub(super) fn tokens(text: &str) -> Vec<String> {
    const SIZE: usize = 5;
    let characters: Vec<char> = text.chars().collect();
    characters.chunks(SIZE).map(|piece| piece.iter().collect()).collect()
}
