//! Places in a JSON document, `orders[0].cents` or `invoices[number=INV-1003].status`: in placeholders of a task, and in
//! what the task has to change.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::error::Broken;

/// The name of a member, or which item of an array.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Part<'a> {
    Member(&'a str),
    Index(usize),
    /// The first item whose member has this text.
    Where(&'a str, &'a str),
}

/// The parts of a path. `None` if it is malformed.
fn parts(path: &str) -> Option<Vec<Part<'_>>> {
    let mut parts = Vec::new();
    for piece in path.split('.') {
        let (name, mut rest) = piece.split_at(piece.find('[').unwrap_or(piece.len()));
        let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
        if name.is_empty() || !name.chars().all(is_name) {
            return None;
        }
        parts.push(Part::Member(name));
        while let Some(opened) = rest.strip_prefix('[') {
            let (inner, after) = opened.split_once(']')?;
            parts.push(match inner.split_once('=') {
                Some((member, text)) => Part::Where(member, text),
                None => Part::Index(inner.parse().ok()?),
            });
            rest = after;
        }
        if !rest.is_empty() {
            return None;
        }
    }
    Some(parts)
}

/// Returns `true` if the path can be read.
pub(crate) fn is_path(path: &str) -> bool {
    parts(path).is_some()
}

/// The member of the document that a path begins with.
pub(crate) fn root(path: &str) -> &str {
    path.split(['.', '[']).next().unwrap_or(path)
}

fn position(items: &[Value], part: &Part<'_>) -> Option<usize> {
    match part {
        Part::Member(_) => None,
        Part::Index(index) => (*index < items.len()).then_some(*index),
        Part::Where(member, text) => items.iter().position(|item| plain(&item[*member]).as_deref() == Some(*text)),
    }
}

fn child<'v>(value: &'v Value, part: &Part<'_>) -> Option<&'v Value> {
    match (value, part) {
        (Value::Object(members), Part::Member(name)) => members.get(*name),
        (Value::Array(items), part) => items.get(position(items, part)?),
        _ => None,
    }
}

fn child_mut<'v>(value: &'v mut Value, part: &Part<'_>) -> Option<&'v mut Value> {
    match (value, part) {
        (Value::Object(members), Part::Member(name)) => members.get_mut(*name),
        (Value::Array(items), part) => {
            let index = position(items, part)?;
            items.get_mut(index)
        }
        _ => None,
    }
}

/// Returns the value at a path; `None` if there is none.
pub(crate) fn at<'v>(document: &'v Value, path: &str) -> Option<&'v Value> {
    parts(path)?.iter().try_fold(document, child)
}

fn at_mut<'v>(document: &'v mut Value, parts: &[Part<'_>]) -> Option<&'v mut Value> {
    parts.iter().try_fold(document, child_mut)
}

/// Removes what is at a path, if there is anything.
fn remove(document: &mut Value, path: &str) {
    let Some(parts) = parts(path) else { return };
    let Some((last, before)) = parts.split_last() else { return };
    match (at_mut(document, before), last) {
        (Some(Value::Object(members)), Part::Member(name)) => drop(members.remove(*name)),
        (Some(Value::Array(items)), part) => {
            if let Some(index) = position(items, part) {
                items.remove(index);
            }
        }
        _ => {}
    }
}

/// A string, a number or a bool as text.
fn plain(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Replaces each `{path}` of a text by what is there. Braces around anything but a path stay.
pub(crate) fn filled(text: &str, document: &Value) -> Result<String, Broken> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, opened)) = rest.split_once('{') {
        out.push_str(before);
        match opened.split_once('}') {
            Some((path, after)) if is_path(path) => {
                let value = at(document, path).and_then(plain);
                out.push_str(&value.ok_or_else(|| Broken::Placeholder(path.to_owned()))?);
                rest = after;
            }
            _ => {
                out.push('{');
                rest = opened;
            }
        }
    }
    out.push_str(rest);
    Ok(out)
}

/// Replaces the placeholders of all texts of a value.
pub(crate) fn filled_value(value: &Value, document: &Value) -> Result<Value, Broken> {
    Ok(match value {
        Value::String(text) => Value::String(filled(text, document)?),
        Value::Array(items) => items.iter().map(|item| filled_value(item, document)).collect::<Result<_, _>>()?,
        Value::Object(members) => Value::Object(
            members
                .iter()
                .map(|(name, value)| Ok((filled(name, document)?, filled_value(value, document)?)))
                .collect::<Result<_, Broken>>()?,
        ),
        other => other.clone(),
    })
}

/// Returns `true` if a value is as a pattern says. Members that an object of the pattern does not name may be anything;
/// arrays have exactly the items of the pattern.
pub(crate) fn fits(pattern: &Value, seen: &Value) -> bool {
    match (pattern, seen) {
        (Value::Object(pattern), Value::Object(seen)) => {
            pattern.iter().all(|(name, pattern)| seen.get(name).is_some_and(|seen| fits(pattern, seen)))
        }
        (Value::Array(pattern), Value::Array(seen)) => {
            pattern.len() == seen.len() && pattern.iter().zip(seen).all(|(pattern, seen)| fits(pattern, seen))
        }
        (Value::Number(pattern), Value::Number(seen)) => pattern.as_f64() == seen.as_f64(),
        (pattern, seen) => pattern == seen,
    }
}

/// How a state differs from the one that a task wants.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Difference {
    /// Changes that should have happened and did not.
    pub(crate) missing: Vec<String>,
    /// Changes that should not have happened.
    pub(crate) unwanted: Vec<String>,
}

/// Compares the state of an application after an episode with the one before, where `wanted` and `removed` name all that
/// the task changes. Members in `ignored` do not count.
pub(crate) fn difference(
    before: &Value,
    after: &Value,
    wanted: &BTreeMap<String, Value>,
    removed: &[String],
    ignored: &[String],
) -> Difference {
    let mut difference = Difference::default();
    let mut expected = before.clone();
    for (path, pattern) in wanted {
        match at(after, path) {
            Some(seen) if fits(pattern, seen) => {
                if let Some(place) = parts(path).and_then(|parts| at_mut(&mut expected, &parts)) {
                    *place = seen.clone();
                }
            }
            seen => {
                let seen = seen.map_or_else(|| "nothing".to_owned(), shown);
                difference.missing.push(format!("{path}: expected {}, saw {seen}", shown(pattern)));
            }
        }
    }
    for path in removed {
        if at(after, path).is_some() {
            difference.missing.push(format!("{path}: it is still there"));
        } else {
            remove(&mut expected, path);
        }
    }
    let (Value::Object(expected), Value::Object(after)) = (&expected, after) else { return difference };
    for (member, seen) in after {
        let is_missed = difference.missing.iter().any(|missed| root(missed) == member);
        let before = expected.get(member).unwrap_or(&Value::Null);
        if !ignored.contains(member) && !is_missed && before != seen {
            difference.unwanted.push(format!("{member}: expected {}, saw {}", shown(before), shown(seen)));
        }
    }
    difference
}

/// A value in a message: at most 200 characters.
fn shown(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(200) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_path_leads_to_a_member_an_item_or_the_item_with_a_text() {
        let state =
            json!({ "orders": [{ "cents": 5 }], "invoices": [{ "number": "A" }, { "number": "B", "s": "due" }] });
        assert_eq!(at(&state, "orders[0].cents"), Some(&json!(5)));
        assert_eq!(at(&state, "invoices[number=B].s"), Some(&json!("due")));
        assert_eq!(at(&state, "invoices[number=C].s"), None);
        for malformed in ["", "a..b", "a[", "a[x]", "a[0]b"] {
            assert!(!is_path(malformed), "{malformed}");
        }
    }

    #[test]
    fn placeholders_are_filled_and_other_braces_stay() {
        let state = json!({ "a": [{ "n": 7, "t": "x{y}" }] });
        let text = filled("{a[0].n} {} { {a[0].t}", &state).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(text, "7 {} { x{y}");
        assert!(filled("{b}", &state).is_err());
    }

    #[test]
    fn only_what_is_wanted_may_change() {
        let before = json!({ "deleted": [], "rows": [{ "n": 1, "s": "due" }, { "n": 2, "s": "due" }], "requests": 1 });
        let ignored = ["requests".to_owned()];
        let judge = |after: Value, wanted: &[(&str, Value)], removed: &[&str]| {
            let wanted = wanted.iter().map(|(path, value)| ((*path).to_owned(), value.clone())).collect();
            let removed: Vec<String> = removed.iter().map(|path| (*path).to_owned()).collect();
            difference(&before, &after, &wanted, &removed, &ignored)
        };
        let paid = json!({ "deleted": [], "rows": [{ "n": 1, "s": "paid" }, { "n": 2, "s": "due" }], "requests": 9 });
        assert_eq!(judge(paid.clone(), &[("rows[n=1].s", json!("paid"))], &[]), Difference::default());
        assert_eq!(judge(paid.clone(), &[], &[]).unwanted.len(), 1, "nothing was to change");
        assert_eq!(judge(paid.clone(), &[("rows[n=2].s", json!("paid"))], &[]).missing.len(), 1);
        let both = json!({ "deleted": [], "rows": [{ "n": 1, "s": "paid" }, { "n": 2, "s": "paid" }], "requests": 9 });
        assert_eq!(judge(both, &[("rows[n=1].s", json!("paid"))], &[]).unwanted.len(), 1, "one too many");
        let gone = json!({ "deleted": ["1"], "rows": [{ "n": 2, "s": "due" }], "requests": 2 });
        assert_eq!(judge(gone.clone(), &[("deleted", json!(["1"]))], &["rows[n=1]"]), Difference::default());
        assert_eq!(judge(gone, &[("deleted", json!(["1"]))], &["rows[n=2]"]).missing.len(), 1);
    }

    #[test]
    fn a_pattern_names_only_what_matters_of_an_object_but_every_item() {
        assert!(fits(&json!([{ "a": 1 }]), &json!([{ "a": 1.0, "b": 2 }])));
        assert!(!fits(&json!([{ "a": 1 }]), &json!([{ "a": 1 }, { "a": 1 }])));
        assert!(!fits(&json!({ "a": 1 }), &json!({ "b": 1 })));
    }
}
