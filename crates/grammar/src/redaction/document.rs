//! Redacts documents before they leave the process.
//!
//! Invariants:
//! - The result is JSON that reads back as the same type.
//! - Text of a page, a person or a model is always redacted. Words of a closed vocabulary and digests of this crate stay,
//!   even if a secret is spelled like one of them.
//! - Data of a step is truncated below the nesting that readers accept.

use std::borrow::Cow;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::seam::Redactor;

/// The field of records and reports for data that a step read: any JSON.
const FREE_FIELD: &str = "data";
/// Readers accept 128 levels, of which the document itself needs a few.
const MAX_DEPTH: usize = 100;
const TOO_DEEP: &str = "[nested too deeply]";

/// Why a document cannot be redacted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RedactError {
    /// A value cannot be written as JSON, or the redacted one cannot be read.
    #[error("the value cannot be written as JSON")]
    Encode(#[from] serde_json::Error),
    /// A secret is in a place that allows no other value.
    #[error("the secret at {pointer} cannot be redacted: the document would not be readable")]
    Unredactable {
        /// JSON pointer to it.
        pointer: String,
    },
}

/// `body` without the secrets that `redactor` knows. Costs nothing while it knows none, else a copy as JSON.
///
/// # Errors
/// [`RedactError`].
pub fn redacted<T: Serialize + DeserializeOwned>(body: T, redactor: &dyn Redactor) -> Result<T, RedactError> {
    match changed(&body, Some(redactor))? {
        Some(value) => Ok(serde_json::from_value(value)?),
        None => Ok(body),
    }
}

/// The JSON text of `body`, redacted. Fields keep the order of the type unless a value was redacted.
///
/// # Errors
/// [`RedactError`].
pub fn redacted_json<T: Serialize + DeserializeOwned>(
    body: &T,
    redactor: Option<&dyn Redactor>,
) -> Result<String, RedactError> {
    match changed(body, redactor)? {
        Some(value) => Ok(serde_json::to_string(&value)?),
        None => Ok(serde_json::to_string(body)?),
    }
}

/// The redacted document, if there was anything to redact.
fn changed<T: Serialize + DeserializeOwned>(
    body: &T,
    redactor: Option<&dyn Redactor>,
) -> Result<Option<Value>, RedactError> {
    if redactor.is_some_and(Redactor::is_idle) {
        return Ok(None);
    }
    let value = serde_json::to_value(body)?;
    let mut changes = Vec::new();
    collect(&value, &mut String::new(), redactor, &mut changes);
    if changes.is_empty() {
        return Ok(None);
    }
    let reads_back = |value: &Value| serde_json::from_value::<T>(value.clone()).is_ok();
    let all_at_once = changes.iter().fold(value.clone(), |mut value, change| {
        change.apply(&mut value, change.to.clone());
        value
    });
    if reads_back(&all_at_once) {
        return Ok(Some(all_at_once));
    }
    let mut redacted = value;
    for change in &changes {
        redacted = change.one(redacted, &reads_back)?;
    }
    Ok(Some(redacted))
}

/// Data of a step, or any other JSON without a fixed type, redacted.
pub fn redacted_data(value: &Value, redactor: Option<&dyn Redactor>) -> Value {
    free_at(value, redactor, 0)
}

struct Change {
    pointer: String,
    from: Value,
    to: Value,
}

impl Change {
    fn apply(&self, document: &mut Value, to: Value) {
        if let Some(place) = document.pointer_mut(&self.pointer) {
            *place = to;
        }
    }

    /// Applies this change, or the nearest one that leaves the document readable.
    fn one(&self, document: Value, reads_back: &dyn Fn(&Value) -> bool) -> Result<Value, RedactError> {
        let mut options = vec![self.to.clone()];
        if let (Value::String(from), Value::String(to)) = (&self.from, &self.to) {
            // Bounded text: the mark may be longer than the secret.
            options.push(to.chars().take(from.chars().count()).collect::<String>().into());
            if is_word(from) {
                options.push(self.from.clone());
            }
        }
        for option in options {
            let mut changed = document.clone();
            self.apply(&mut changed, option);
            if reads_back(&changed) {
                return Ok(changed);
            }
        }
        Err(RedactError::Unredactable { pointer: self.pointer.clone() })
    }
}

/// Returns `true` if the text has the form of a word of a vocabulary, a digest or the name of a target.
fn is_word(text: &str) -> bool {
    text.len() <= 64 && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"_.:-".contains(&b))
}

fn redact<'a>(redactor: Option<&dyn Redactor>, text: &'a str) -> Cow<'a, str> {
    redactor.map_or(Cow::Borrowed(text), |redactor| redactor.redact(text))
}

fn collect(value: &Value, pointer: &mut String, redactor: Option<&dyn Redactor>, changes: &mut Vec<Change>) {
    let mut below = |segment: &str, child: &Value, is_free: bool| {
        let length = pointer.len();
        pointer.push('/');
        pointer.push_str(&segment.replace('~', "~0").replace('/', "~1"));
        if is_free {
            let to = redacted_data(child, redactor);
            if to != *child {
                changes.push(Change { pointer: pointer.clone(), from: child.clone(), to });
            }
        } else {
            collect(child, pointer, redactor, changes);
        }
        pointer.truncate(length);
    };
    match value {
        Value::String(text) => {
            let to = redact(redactor, text);
            if to != text.as_str() {
                let to = Value::String(to.into_owned());
                changes.push(Change { pointer: pointer.clone(), from: value.clone(), to });
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                below(&index.to_string(), item, false);
            }
        }
        Value::Object(fields) => {
            for (name, field) in fields {
                if !is_own_digest(fields, name) {
                    below(name, field, name == FREE_FIELD);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Returns `true` if the field is the digest of an artifact, or its path: hexadecimal digits that may contain a short
/// secret by chance.
fn is_own_digest(fields: &Map<String, Value>, name: &str) -> bool {
    let text = |name: &str| fields.get(name).and_then(Value::as_str);
    let Some((digest, path)) = text("sha256").zip(text("path")) else { return false };
    let is_digest = digest.len() == 64 && digest.bytes().all(|b| b.is_ascii_hexdigit());
    is_digest && (name == "sha256" || (name == "path" && is_path_of(path, digest)))
}

/// Returns `true` for the form `artifacts/ab/abcd….png`, where `abcd…` is the digest.
fn is_path_of(path: &str, digest: &str) -> bool {
    let rest = path.strip_prefix("artifacts/").and_then(|rest| rest.split_once('/'));
    rest.is_some_and(|(folder, name)| {
        let extension = name.strip_prefix(digest).and_then(|rest| rest.strip_prefix('.'));
        digest.starts_with(folder) && extension.is_some_and(|extension| extension.len() <= 5)
    })
}

fn free_at(value: &Value, redactor: Option<&dyn Redactor>, depth: usize) -> Value {
    match value {
        Value::Array(_) | Value::Object(_) if depth >= MAX_DEPTH => TOO_DEEP.into(),
        Value::String(text) => redact(redactor, text).into_owned().into(),
        Value::Number(number) => {
            let text = number.to_string();
            match redact(redactor, &text) {
                redacted if redacted != text.as_str() => redacted.into_owned().into(),
                _ => value.clone(),
            }
        }
        Value::Array(items) => items.iter().map(|item| free_at(item, redactor, depth + 1)).collect(),
        Value::Object(fields) => fields
            .iter()
            .map(|(name, field)| (redact(redactor, name).into_owned(), free_at(field, redactor, depth + 1)))
            .collect(),
        Value::Null | Value::Bool(_) => value.clone(),
    }
}
