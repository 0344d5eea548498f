//! Neutral targets as locators of the language.

use serde_json::{Map, Value, json};

use crate::conformance::case::Target;

/// A target that the language cannot say.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected a strategy of the neutral form with its text, saw `{strategy}`")]
pub(crate) struct Unsayable {
    strategy: String,
}

/// The locator, as a plan declares it.
///
/// # Errors
/// [`Unsayable`]
pub(crate) fn locator(target: &Target) -> Result<Value, Unsayable> {
    let unsayable = || Unsayable { strategy: target.strategy.clone() };
    let mut object = Map::new();
    let mut put = |name: &str, value: Value| drop(object.insert(name.to_owned(), value));
    let words = |text: &Option<Value>| text.clone().ok_or_else(unsayable);
    // The neutral form, as Playwright does, takes a substring where nothing else is said.
    let exact = Value::Bool(target.exact.unwrap_or(false));
    match target.strategy.as_str() {
        "css" => {
            put("strategy", "css".into());
            put("selector", target.selector.clone().ok_or_else(unsayable)?.into());
        }
        "xpath" => {
            put("strategy", "xpath".into());
            put("expression", target.xpath.clone().or_else(|| target.selector.clone()).ok_or_else(unsayable)?.into());
        }
        "testid" => {
            put("strategy", "byTestId".into());
            put("testId", words(&target.testid)?);
        }
        "role" => {
            put("strategy", "byRole".into());
            put("role", target.role.clone().ok_or_else(unsayable)?.into());
            if let Some(name) = &target.name {
                put("name", name.clone());
                put("exact", exact);
            }
            let mut states = Map::new();
            let mut state = |name: &str, value: Option<Value>| {
                if let Some(value) = value {
                    states.insert(name.to_owned(), value);
                }
            };
            state("checked", target.checked.clone());
            state("pressed", target.pressed.clone());
            state("selected", target.selected.map(Value::from));
            state("expanded", target.expanded.map(Value::from));
            state("disabled", target.disabled.map(Value::from));
            state("level", target.level.map(Value::from));
            if !states.is_empty() {
                put("states", Value::Object(states));
            }
            if let Some(include) = target.include_hidden {
                put("includeHidden", include.into());
            }
        }
        other => {
            let (strategy, text) = match other {
                "text" => ("text", &target.text),
                "label" => ("byLabel", &target.label),
                "placeholder" => ("byPlaceholder", &target.placeholder),
                "alt" => ("byAltText", &target.alt),
                "title" => ("byTitle", &target.title),
                _ => return Err(unsayable()),
            };
            put("strategy", strategy.into());
            put("text", words(text)?);
            put("exact", exact);
        }
    }
    for (name, inner) in [("within", &target.within), ("has", &target.has), ("hasNot", &target.has_not)] {
        if let Some(inner) = inner {
            put(name, locator(inner)?);
        }
    }
    for (name, text) in [("hasText", &target.has_text), ("hasNotText", &target.has_not_text)] {
        if let Some(text) = text {
            put(name, text.clone());
        }
    }
    if let Some(visible) = target.visible {
        put("visible", visible.into());
    }
    if let Some(nth) = target.nth {
        put("nth", nth.into());
    }
    if !target.frame.is_empty() {
        put("frame", target.frame.iter().map(|css| json!({ "strategy": "css", "selector": css })).collect());
    }
    Ok(Value::Object(object))
}

/// Returns the target at another position among its matches.
pub(crate) fn at(target: &Target, nth: usize) -> Target {
    Target { nth: i64::try_from(nth).ok(), ..target.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_neutral_target_reads_as_a_locator_of_the_language() {
        let target: Target = serde_json::from_value(json!({
            "strategy": "role", "role": "button", "name": {"regex": "^Go", "flags": "i"}, "pressed": true,
            "within": {"strategy": "css", "selector": "form"}, "frame": ["iframe"], "nth": -1,
        }))
        .unwrap();
        let written = locator(&target).unwrap();
        let read: cuebook_grammar::locator::Locator = serde_json::from_value(written).unwrap();
        assert_eq!(read.frame.len(), 1);
        assert_eq!(read.nth.map(cuebook_grammar::wire::Nth::get), Some(-1));
        assert!(read.within.is_some());
    }

    #[test]
    fn a_strategy_without_its_text_is_unsayable() {
        let target = Target { strategy: "label".to_owned(), ..Target::default() };
        assert!(locator(&target).is_err());
    }
}
