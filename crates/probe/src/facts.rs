//! Facts as the script reports them, and their redaction.
//!
//! Invariant: what leaves this module holds no text of a password-like field.

use cuebook_grammar::facts::ElementFacts;
use cuebook_grammar::secret::{DigestKey, FactText};
use serde_json::Value;

use crate::ask::Ask;

/// Replaces what a password-like field holds by digests; facts of other elements pass.
pub(crate) fn redacted(mut facts: ElementFacts, ask: &Ask, key: &DigestKey) -> ElementFacts {
    if !facts.sensitive {
        return facts;
    }
    let asked = || ask.compare.iter().map(String::as_str);
    let live = facts.value.as_ref().and_then(FactText::clear).filter(|value| !value.is_empty()).map(str::to_owned);
    let tells = |text: &str| live.as_deref().is_some_and(|live| text.contains(live));
    for (name, attribute) in &mut facts.attributes {
        if let Some(text) = attribute
            && (name == "value" || text.clear().is_some_and(tells))
        {
            *text = text.redact(key, asked());
        }
    }
    for (name, property) in &mut facts.properties {
        let hidden = matches!(name.as_str(), "value" | "defaultValue" | "valueAsNumber");
        let text = match &*property {
            Value::String(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            _ => continue,
        };
        if hidden || tells(&text) {
            let reduced = FactText::Clear(text).redact(key, asked());
            *property = serde_json::to_value(reduced).unwrap_or(Value::Null);
        }
    }
    if let Some(text) = &mut facts.text
        && (text.clear().is_some_and(tells) || facts.tag != "input")
    {
        *text = text.redact(key, asked());
    }
    facts.value = facts.value.map(|value| value.redact(key, asked()));
    if tells(&facts.name) {
        facts.name = String::new();
    }
    facts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_field_keeps_nothing_of_its_value() {
        let key = DigestKey::new([7; 32]);
        let mut facts: ElementFacts = serde_json::from_value(serde_json::json!({
            "role": "textbox", "name": "Password", "tag": "input", "value": "hunter2",
            "attributes": { "value": "hunter2", "data-copy": "hunter2!", "type": "password" },
            "properties": { "value": "hunter2", "type": "password" },
            "sensitive": true,
        }))
        .unwrap();
        let ask = Ask { compare: vec!["hunter".into(), "x".into()], ..Ask::default() };
        let told = redacted(facts.clone(), &ask, &key);
        let json = serde_json::to_string(&told).unwrap();
        assert!(!json.contains("hunter2"), "{json}");
        assert!(json.contains("\"type\":\"password\""), "{json}");
        assert!(matches!(&told.value, Some(FactText::Redacted { contains, .. }) if contains.len() == 1));
        facts.sensitive = false;
        assert_eq!(redacted(facts.clone(), &ask, &key), facts);
    }
}
