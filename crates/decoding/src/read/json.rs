//! A plan as JSON: alone, in a code fence or within prose, with its last step apart or among the others.

use cuebook_grammar::plan::{Author, PlanDraft, Violation, Violations};
use cuebook_grammar::wire::{self, ReadError};
use serde::de::IgnoredAny;
use serde_json::{Map, Value};

use super::likeness::is_tool_call;
use super::malformed::malformed;

pub(super) fn read(text: &str, author: Author) -> Result<PlanDraft, Violations> {
    let (plan, last) = folded(value(text, author)?)?;
    let read = match author {
        Author::Model => draft(without_nulls(plan), author),
        // What is wrong is reported as it was written.
        Author::Operator | Author::Controller => {
            draft(plan.clone(), author).or_else(|error| match draft(without_nulls(plan), author) {
                Ok(draft) => Ok(draft),
                Err(_) => Err(error),
            })
        }
    };
    match last {
        None => read,
        Some(index) => {
            read.map_err(|violations| violations.into_iter().map(|one| in_last(one, index)).collect::<Vec<_>>().into())
        }
    }
}

/// A draft of what was read, in which no member is named twice: in camelCase and in snake_case, say.
pub(super) fn draft(plan: Value, author: Author) -> Result<PlanDraft, Violations> {
    let mut violations = Vec::new();
    find_twice(&plan, "", &mut violations);
    if violations.is_empty() { PlanDraft::read_value(plan, author) } else { Err(violations.into()) }
}

fn find_twice(value: &Value, path: &str, violations: &mut Vec<Violation>) {
    match value {
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                find_twice(item, &format!("{path}/{index}"), violations);
            }
        }
        Value::Object(object) => {
            for (name, member) in object {
                let plain = plain_name(name);
                if plain.as_ref().is_some_and(|plain| plain != name && object.contains_key(plain)) {
                    let plain = plain.unwrap_or_default();
                    let message = format!("`{plain}` appears twice, once as `{name}`");
                    violations.push(malformed(format!("{path}/{name}"), message));
                }
                let at = format!("{path}/{name}");
                match (&**name, member) {
                    // Their names are those of others.
                    ("args" | "schema" | "headers", _) => {}
                    ("candidates", Value::Object(declared)) => {
                        for (name, locator) in declared {
                            find_twice(locator, &format!("{at}/{name}"), violations);
                        }
                    }
                    _ => find_twice(member, &at, violations),
                }
            }
        }
        _ => {}
    }
}

/// The name that a member in snake_case is read as.
fn plain_name(name: &str) -> Option<String> {
    let alone = || camel(Value::Object(Map::from_iter([(name.to_owned(), Value::Null)])));
    if name.contains('_') { alone().as_object()?.keys().next().cloned() } else { None }
}

/// Puts the `last` step behind the others. With it, its position among them.
fn folded(value: Value) -> Result<(Value, Option<usize>), Violations> {
    let Value::Object(mut plan) = value else { return Ok((value, None)) };
    // Strict dialects write null for what is left out.
    let Some(last) = plan.remove("last").filter(|last| !last.is_null()) else { return Ok((Value::Object(plan), None)) };
    if plan.get("steps").is_some_and(Value::is_null) {
        plan.remove("steps");
    }
    let index = match plan.entry("steps").or_insert_with(|| Value::Array(Vec::new())) {
        Value::Array(steps) => {
            steps.push(last);
            steps.len() - 1
        }
        other => {
            let message = format!("must be an array of steps, not {}", wire::shape(other));
            return Err(vec![malformed("/steps", message)].into());
        }
    };
    Ok((Value::Object(plan), Some(index)))
}

/// Of the plan as of its steps.
fn without_nulls(value: Value) -> Value {
    let Value::Object(mut plan) = value else { return value };
    plan.retain(|_, value| !value.is_null());
    if let Some(Value::Array(steps)) = plan.get_mut("steps") {
        for step in steps.iter_mut().filter_map(Value::as_object_mut) {
            step.retain(|_, value| !value.is_null());
        }
    }
    Value::Object(plan)
}

/// A violation of the last step, at the path where that was written.
fn in_last(mut violation: Violation, index: usize) -> Violation {
    if let Some(rest) = violation.path.strip_prefix(&format!("/steps/{index}"))
        && (rest.is_empty() || rest.starts_with('/'))
    {
        violation.path = format!("/last{rest}");
    }
    violation
}

/// A JSON document within a text.
#[derive(Clone, Copy)]
pub(super) struct Document<'a> {
    pub(super) before: &'a str,
    pub(super) text: &'a str,
    pub(super) after: &'a str,
}

/// The JSON document in a text: all of it, or the plan among what stands in code fences and in prose. No member may be
/// named twice, and there may be no second plan.
///
/// # Errors
/// A [`Violation`] that says where the text stops being JSON.
pub(super) fn value(text: &str, author: Author) -> Result<Value, Violations> {
    wire::parse(find(text, author)?.text).map_err(refused)
}

/// Like [`value`], but returns where the document is, unparsed.
pub(super) fn find(text: &str, author: Author) -> Result<Document<'_>, Violations> {
    let text = plain(text);
    if is_json(text) {
        return Ok(Document { before: "", text, after: "" });
    }
    let whole = match wire::parse(text) {
        Ok(_) => ReadError::new("expected a JSON document"),
        Err(error) => error,
    };
    let found = documents(text);
    // What begins as JSON is JSON: what stands within, or behind what a bracket too many ends, is no plan of its own.
    let begins = text.starts_with(['{', '[']);
    let is_broken = begins && found.first().is_none_or(|first| !first.before.is_empty());
    if is_broken && opens_json(text) || begins && !is_broken && author != Author::Model {
        return Err(refused(whole));
    }
    let mut plans = found.iter().filter(|document| document.is_plan());
    let first = plans.next();
    if plans.next().is_some() {
        return Err(vec![malformed("", "there is more than one plan")].into());
    }
    if let Some(document) = first.or(found.first()) {
        return Ok(*document);
    }
    let start = text.find(['{', '[']).and_then(|at| text.get(at..));
    let message = match start.map(serde_json::from_str::<IgnoredAny>) {
        Some(Err(error)) => format!("expected a JSON document: {error}"),
        _ if text.is_empty() => whole.message,
        _ => format!("`{}` is not a JSON document", seen(text)),
    };
    Err(vec![malformed("", message)].into())
}

/// Returns `true` if a plan stands anywhere in the text.
pub(super) fn holds_plan(text: &str) -> bool {
    documents(text).iter().any(Document::is_plan)
}

impl Document<'_> {
    fn is_plan(&self) -> bool {
        serde_json::from_str(self.text).is_ok_and(|value| looks_like_plan(&value))
    }
}

/// The documents that are whole, none within another. Those in fences come first.
fn documents(text: &str) -> Vec<Document<'_>> {
    /// Prose has few brackets; beyond these it is no prose.
    const STARTS: usize = 50;
    let mut found = Vec::new();
    let mut taken: Vec<(usize, usize)> = Vec::new();
    let mut take = |from: usize, end: usize| {
        if taken.iter().any(|(start, stop)| (*start..*stop).contains(&from)) {
            return;
        }
        let part = text.get(from..end).unwrap_or_default();
        let mut values = serde_json::Deserializer::from_str(part).into_iter::<IgnoredAny>();
        if let Some(Ok(_)) = values.next() {
            let end = from + values.byte_offset();
            let [before, document, after] =
                [text.get(..from), text.get(from..end), text.get(end..)].map(Option::unwrap_or_default);
            taken.push((from, end));
            found.push(Document { before, text: document, after });
        }
    };
    if !text.starts_with(['{', '[']) {
        // Every second part of a text that is split at fences stands in one, after the name of its language.
        let mut at = 0;
        for (index, part) in text.split("```").enumerate() {
            if index % 2 == 1
                && let Some(start) = part.find(['{', '['])
            {
                take(at + start, at + part.len());
            }
            at += part.len() + "```".len();
        }
    }
    for (from, _) in text.match_indices(['{', '[']).take(STARTS) {
        take(from, text.len());
    }
    found
}

/// Returns `true` if the document is a plan, or tool calls, in any of the forms.
fn looks_like_plan(value: &Value) -> bool {
    let has = |value: &Value, names: &[&str]| names.iter().any(|name| value.get(name).is_some());
    let is_step = |value: &Value| has(value, &["type", "tool"]);
    match value {
        Value::Array(items) => items.iter().any(is_step) || is_tool_call(value),
        _ => has(value, &["steps", "last"]) || is_step(value) || is_tool_call(value),
    }
}

/// Returns `true` if the text begins with an object or an array of objects, rather than a word in brackets.
fn opens_json(text: &str) -> bool {
    let mut characters = text.chars().filter(|c| !c.is_whitespace());
    match (characters.next(), characters.next()) {
        (Some('{'), None | Some('"' | '}' | '\'')) | (Some('['), None | Some('{' | ']')) => true,
        // A name without quotes.
        (Some('{'), Some(_)) => text.get(1..).and_then(|rest| rest.split_once(':')).is_some_and(|(name, _)| {
            let name = name.trim();
            !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        }),
        _ => false,
    }
}

/// Without a byte order mark and blanks around.
pub(super) fn plain(text: &str) -> &str {
    text.trim_start_matches('\u{feff}').trim()
}

/// The beginning of a text, for an error.
pub(super) fn seen(text: &str) -> String {
    text.chars().take(60).flat_map(char::escape_debug).collect()
}

fn refused(error: ReadError) -> Violations {
    vec![malformed(error.path, error.message)].into()
}

/// Returns `true` if the text is JSON in form, whatever its objects hold.
fn is_json(text: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(text).is_ok()
}

/// Member names in camelCase, as the reader of whole plans makes them.
pub(crate) fn camel(value: Value) -> Value {
    cuebook_grammar::plan::lenient(value)
}
