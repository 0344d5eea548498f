//! Facts about sensitive targets, reduced to what verdicts need.
//!
//! Invariant: a condition that is reduced in the same way gives the same verdict on the reduced facts.

use cuebook_grammar::facts::{ElementFacts, Sample, TargetFacts};
use cuebook_grammar::id::TargetRef;
use cuebook_grammar::secret::{DigestKey, FactText};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// The replacement of a secret.
pub(crate) const MASK: &str = "[redacted]";

/// Shorter texts are not searched for elsewhere: they would garble everything.
const SHORTEST: usize = 4;

/// Reduces the values of a sensitive element; comparisons with the texts of `compared` stay possible.
pub(crate) fn reduce(facts: &mut ElementFacts, compared: &[&str], key: &DigestKey) {
    let live = facts.value.as_ref().and_then(FactText::clear).filter(|live| !live.is_empty()).map(str::to_owned);
    let reveals = |text: &str| live.as_deref().is_some_and(|live| text.contains(live));
    let reduced = |text: &FactText| text.redact(key, compared.iter().copied());
    for (name, attribute) in &mut facts.attributes {
        if let Some(text) = attribute
            && (name == "value" || text.clear().is_some_and(reveals))
        {
            *text = reduced(text);
        }
    }
    for (name, property) in &mut facts.properties {
        let text = match &*property {
            Value::String(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            _ => continue,
        };
        if name == "value" {
            // The condition's own value is reduced to the bare digest.
            *property = Value::from(key.digest(&text).as_str());
        } else if matches!(name.as_str(), "defaultValue" | "valueAsNumber") || reveals(&text) {
            *property = Value::from(MASK);
        }
    }
    facts.value = facts.value.as_ref().map(reduced);
    facts.text = facts.text.as_ref().map(reduced);
    if reveals(&facts.name) {
        facts.name = MASK.to_owned();
    }
    facts.sensitive = true;
}

/// Reduces one target in a sample.
pub(crate) fn reduce_in(sample: &mut Sample, target: &TargetRef, compared: &[&str], key: &DigestKey) {
    if let Some(TargetFacts { element: Some(element), .. }) = sample.targets.get_mut(target)
        && !is_reduced(element)
    {
        reduce(element, compared, key);
    }
}

fn is_reduced(facts: &ElementFacts) -> bool {
    matches!(facts.value, Some(FactText::Redacted { .. })) || matches!(facts.text, Some(FactText::Redacted { .. }))
}

/// Whether the facts hold one of these texts in the clear.
pub(crate) fn holds_any(facts: &ElementFacts, secrets: &[String]) -> bool {
    let clear = |text: &Option<FactText>| text.as_ref().and_then(FactText::clear).unwrap_or("").to_owned();
    let value = clear(&facts.value);
    let text = clear(&facts.text);
    secrets.iter().any(|secret| {
        !secret.is_empty()
            && (value.contains(secret.as_str())
                || (secret.chars().count() >= SHORTEST && text.contains(secret.as_str())))
    })
}

/// Replaces the secrets in all texts of a value. A value that cannot be decoded afterwards becomes the default: nothing
/// leaks.
pub(crate) fn scrub<T: Serialize + DeserializeOwned + Default>(value: T, secrets: &[String]) -> T {
    let secrets: Vec<&str> =
        secrets.iter().map(String::as_str).filter(|secret| secret.chars().count() >= SHORTEST).collect();
    if secrets.is_empty() {
        return value;
    }
    let Ok(mut json) = serde_json::to_value(value) else { return T::default() };
    scrub_json(&mut json, &secrets, 0);
    serde_json::from_value(json).unwrap_or_default()
}

fn scrub_json(value: &mut Value, secrets: &[&str], depth: usize) {
    if depth > 64 {
        return;
    }
    match value {
        Value::String(text) => {
            for secret in secrets {
                if let Some(masked) = masked(text, secret) {
                    *text = masked;
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| scrub_json(item, secrets, depth + 1)),
        Value::Object(members) => members.values_mut().for_each(|member| scrub_json(member, secrets, depth + 1)),
        _ => {}
    }
}

/// The text without the secret and without the beginnings of it that a page may echo while it is typed;
/// `None` if the text holds none of it.
fn masked(text: &str, secret: &str) -> Option<String> {
    let start: String = secret.chars().take(SHORTEST).collect();
    let mut rest = text;
    let mut clean = String::new();
    while let Some((before, after)) = rest.split_once(&start) {
        clean.push_str(before);
        clean.push_str(MASK);
        let shared = secret.chars().skip(SHORTEST).zip(after.chars()).take_while(|(a, b)| a == b);
        rest = after.get(shared.map(|(a, _)| a.len_utf8()).sum::<usize>()..).unwrap_or("");
    }
    (rest.len() != text.len()).then(|| clean + rest)
}

/// The same for one text.
pub(crate) fn scrub_text(text: &str, secrets: &[String]) -> String {
    secrets
        .iter()
        .filter(|secret| secret.chars().count() >= SHORTEST)
        .fold(text.to_owned(), |text, secret| masked(&text, secret).unwrap_or(text))
}

#[cfg(test)]
mod tests {
    use cuebook_grammar::condition::Condition;
    use cuebook_grammar::facts::Facts;
    use serde_json::json;

    use super::*;

    fn target() -> TargetRef {
        TargetRef::new("field").unwrap()
    }

    fn facts(value: &str) -> Facts {
        let element = serde_json::from_value(json!({
            "role": "textbox", "name": "Password", "tag": "input", "value": value, "text": value, "sensitive": true,
            "attributes": { "value": value, "type": "password", "data-copy": format!("x{value}") },
            "properties": { "value": value, "valueAsNumber": 5 },
            "states": { "editable": true },
        }))
        .unwrap();
        let sample = Sample { targets: [(target(), TargetFacts::one(element))].into(), ..Sample::default() };
        Facts { before: Some(Sample::default()), samples: vec![sample], ..Facts::default() }
    }

    /// Reduced conditions on reduced facts give the verdicts that the clear ones give.
    #[test]
    fn reducing_changes_no_verdict() {
        let key = DigestKey::new([3; 32]);
        let conditions = [
            json!({"kind": "valueEquals", "target": "field", "value": "hunter2"}),
            json!({"kind": "valueEquals", "target": "field", "value": "hunter"}),
            json!({"kind": "valueContains", "target": "field", "value": "unter"}),
            json!({"kind": "valueContains", "target": "field", "value": "other"}),
            json!({"kind": "elementTextContains", "target": "field", "text": "hunt"}),
            json!({"kind": "elementTextEquals", "target": "field", "text": "hunter2"}),
            json!({"kind": "attrEquals", "target": "field", "name": "value", "value": "hunter2"}),
            json!({"kind": "attrEquals", "target": "field", "name": "type", "value": "password"}),
            json!({"kind": "propertyEquals", "target": "field", "name": "value", "value": "hunter2"}),
            json!({"kind": "propertyEquals", "target": "field", "name": "value", "value": "nope"}),
            json!({"kind": "not", "condition": {"kind": "valueEquals", "target": "field", "value": "hunter2"}}),
            json!({"kind": "allOf", "conditions": [
                {"kind": "valueContains", "target": "field", "value": "er2"}, {"kind": "editable", "target": "field"}]}),
        ];
        for value in ["hunter2", "another"] {
            let clear = facts(value);
            for condition in &conditions {
                let condition: Condition = serde_json::from_value(condition.clone()).unwrap();
                let mut reduced = clear.clone();
                let compared = condition.compared_texts(&target());
                for sample in &mut reduced.samples {
                    reduce_in(sample, &target(), &compared, &key);
                }
                let json = serde_json::to_string(&reduced).unwrap();
                assert!(!json.contains(value), "{json}");
                let hidden = condition.redacted(&|name| *name == target(), &key);
                assert_eq!(hidden.evaluate(&reduced), condition.evaluate(&clear), "{condition:?} on {value}");
            }
        }
    }

    #[test]
    fn a_secret_is_scrubbed_from_every_text() {
        let evidence = cuebook_grammar::outcome::EffectRecord {
            url_before: Some("http://a.test/?q=hunt&b=hunter2&c=hun".into()),
            url_after: Some("http://a.test/?q=hunter22".into()),
            ..Default::default()
        };
        let scrubbed = scrub(evidence, &["hunter22".to_owned()]);
        assert_eq!(scrubbed.url_after.as_deref(), Some("http://a.test/?q=[redacted]"));
        // What was typed so far is a beginning of it.
        assert_eq!(scrubbed.url_before.as_deref(), Some("http://a.test/?q=[redacted]&b=[redacted]&c=hun"));
    }
}
