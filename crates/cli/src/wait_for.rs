//! The value of `--wait-for`: a selector, a text, a part of the URL, or a condition.

use cuebook_grammar::plan::{Author, PlanDraft};
use serde_json::{Value, json};

use crate::text::plain;

/// A plan of one step that waits.
#[derive(Clone, Debug)]
pub(crate) struct WaitFor(pub(crate) PlanDraft);

/// Parses `css=…`, `text=…`, `url=…`, or a condition in JSON.
pub(crate) fn wait_for(text: &str) -> Result<WaitFor, String> {
    let shown = |strategy: &str, key: &str, wanted: &str| {
        let locator = json!({ "strategy": strategy, key: wanted, "visible": true, "nth": 0 });
        (json!({ "awaited": locator }), json!({ "kind": "exists", "target": "awaited" }))
    };
    let named = text.split_once('=').filter(|(_, wanted)| !wanted.trim().is_empty());
    let (candidates, condition) = match named {
        Some(("css", selector)) => shown("css", "selector", selector),
        Some(("text", words)) => shown("text", "text", words),
        Some(("url", part)) => (json!({}), json!({ "kind": "urlMatches", "pattern": literal(part) })),
        _ => match serde_json::from_str(text) {
            Ok(condition @ Value::Object(_)) => (json!({}), condition),
            _ => {
                let text = plain(text.get(..100).unwrap_or(text));
                return Err(format!("`{text}` is not css=…, text=…, url=… or a condition in JSON"));
            }
        },
    };
    let plan = json!({
        "version": "1.0",
        "candidates": candidates,
        "steps": [{ "type": "waitFor", "condition": condition }],
    });
    let draft = PlanDraft::read(&plan.to_string(), Author::Operator).map_err(|violations| {
        violations.into_iter().next().map_or_else(String::new, |violation| plain(&violation.message))
    })?;
    for condition in draft.steps.iter().filter_map(|step| step.action.condition()) {
        condition.validate().map_err(|error| plain(&error.to_string()))?;
    }
    Ok(WaitFor(draft))
}

/// A pattern that matches `text` literally.
fn literal(text: &str) -> String {
    let mut pattern = String::new();
    for c in text.chars() {
        if c.is_ascii_punctuation() {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_selector_a_text_a_url_or_a_condition_is_awaited() {
        for good in ["css=.row > a", "text=Loaded = ok", "url=/inbox?x=1", r#"{"kind":"titleMatches","pattern":"In"}"#]
        {
            let WaitFor(draft) = wait_for(good).unwrap();
            assert_eq!(draft.steps.len(), 1, "{good}");
        }
        for wrong in ["", "css=", "Loaded", "[]", r#"{"kind":"nothing"}"#, r#"{"kind":"urlMatches","pattern":"("}"#] {
            assert!(wait_for(wrong).is_err(), "{wrong}");
        }
        assert_eq!(literal("/a.b?c=é"), r"\/a\.b\?c\=é");
    }
}
