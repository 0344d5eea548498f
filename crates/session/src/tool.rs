//! A tool: what it is called, which arguments it takes, and what a call of it means.

use serde_json::{Map, Value, json};

use crate::arguments::{Argument, Arguments, Form, may, needed, schema};
use crate::call::{Call, Request};

/// The meaning of a call of a tool.
#[derive(Debug)]
#[non_exhaustive]
pub enum Order {
    /// A call of the session.
    Call(Request),
    /// The answer to a question that is open.
    Confirm {
        /// Id of the question.
        id: String,
        /// `true` to allow what was asked.
        is_agreed: bool,
    },
    /// The session is to end.
    Close,
}

/// Effect of a tool on the world, for whoever decides whether to ask first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hint {
    /// It looks, and no more.
    Reads,
    /// Goes elsewhere, and changes nothing.
    Moves,
    /// It may change something.
    Acts,
}

/// How a tool is called in a shell.
#[derive(Clone, Copy, Debug)]
pub struct Verb {
    /// Its name as typed.
    pub name: &'static str,
    /// Names that it has elsewhere.
    pub aliases: &'static [&'static str],
    /// Arguments that are given by their place, in order. The others are flags.
    pub places: &'static [&'static str],
}

/// Something that a session can do.
#[derive(Debug)]
pub struct Tool {
    /// Its name for models.
    pub name: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// Its purpose, in one or a few sentences.
    pub about: &'static str,
    /// Its effect on the world.
    pub hint: Hint,
    /// Its name in a shell, if it has one.
    pub verb: Option<Verb>,
    /// The arguments that it takes.
    pub arguments: &'static [Argument],
    pub(crate) order: fn(&Arguments) -> Result<Order, String>,
}

pub(crate) const fn verb(
    name: &'static str,
    aliases: &'static [&'static str],
    places: &'static [&'static str],
) -> Option<Verb> {
    Some(Verb { name, aliases, places })
}

pub(crate) const ELEMENT: Argument = may("element", Form::Text, "What it is in words, for the person who may be asked");
pub(crate) const TARGET: Argument = needed(
    "target",
    Form::Text,
    "Id of the element in the snapshot, such as c3; or role=button[name=\"Log in\"], text=…, label=…, css=…",
);
pub(crate) const TAB: Argument = may("tab", Form::Text, "The tab, such as t2; by default the current one");

impl Tool {
    /// The JSON Schema of its arguments: one flat object.
    #[must_use]
    pub fn schema(&self) -> Map<String, Value> {
        schema(self.arguments)
    }

    /// The meaning of a call with these arguments.
    ///
    /// # Errors
    /// The argument that does not fit, and what the tool takes.
    pub fn order(&self, sent: Map<String, Value>) -> Result<Order, String> {
        let given = Arguments::read(self.name, self.arguments, sent)?;
        let mut order = (self.order)(&given)?;
        if let Order::Call(request) = &mut order {
            // A tool for tabs names the tab that it is about, not the one to work in.
            let of_tab = !matches!(request.call, Call::SelectTab(_) | Call::CloseTab(_) | Call::NewTab(_) | Call::Tabs);
            request.tab = given.text("tab").filter(|_| of_tab).map(str::to_owned);
        }
        Ok(order)
    }
}

pub(crate) fn text(given: &Arguments, name: &str) -> String {
    given.text(name).unwrap_or_default().to_owned()
}

/// A call, which shows the whole page afterwards or what changed.
pub(crate) fn call(call: Call, shows_all: bool) -> Result<Order, String> {
    Ok(Order::Call(Request { shows_all, ..Request::of(call) }))
}

pub(crate) fn act(steps: Vec<Value>) -> Result<Order, String> {
    call(Call::Act(steps), false)
}

/// A step on the target of a call, explained by the words for it.
pub(crate) fn step(verb: &str, given: &Arguments) -> Map<String, Value> {
    let mut step = Map::from_iter([("type".to_owned(), json!(verb))]);
    if let Some(target) = given.text("target").or_else(|| given.text("selector")) {
        step.insert("targetRef".to_owned(), json!(target));
    }
    if let Some(element) = given.text("element").or_else(|| given.text("name")) {
        step.insert("explanation".to_owned(), json!(element));
    }
    step
}

/// With the text that is entered, or the name of the secret.
pub(crate) fn entered(
    mut step: Map<String, Value>,
    member: &str,
    from: &str,
    given: &Arguments,
) -> Result<Map<String, Value>, String> {
    let credential = given.text("credential").or_else(|| given.text("credential_ref"));
    match (given.text(from), credential) {
        (Some(text), None) => step.insert(member.to_owned(), json!(text)),
        (None, Some(name)) => step.insert("credentialRef".to_owned(), json!(name)),
        _ => return Err(format!("give one of {from} and a credential")),
    };
    Ok(step)
}

/// Reads the page or an element. A schema that states nothing is read as Markdown.
pub(crate) fn read(given: &Arguments, mode: Option<&str>) -> Result<Order, String> {
    let schema = given.value("schema").filter(|schema| schema.as_object().is_none_or(|members| !members.is_empty()));
    let mut query = match schema {
        Some(schema) => json!({ "kind": "schema", "schema": schema }),
        None => json!({ "kind": mode.unwrap_or("markdown") }),
    };
    let mut step = json!({ "type": "extract" });
    if let (Some(target), Some(query)) =
        (given.text("target").or_else(|| given.text("selector")), query.as_object_mut())
    {
        query.insert("targetRef".to_owned(), json!(target));
    }
    step["query"] = query;
    act(vec![step])
}
