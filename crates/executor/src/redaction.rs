//! Secrets that a step typed, wherever the page shows them.

use cuebook_grammar::facts::ElementFacts;
use cuebook_grammar::secret::{FactText, MASK, SEARCHED_FROM, Secret, is_searched_for};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Returns `true` if the facts hold one of these secrets in the clear.
pub(crate) fn holds_any(facts: &ElementFacts, secrets: &[Secret]) -> bool {
    let clear = |text: &Option<FactText>| text.as_ref().and_then(FactText::clear).unwrap_or("").to_owned();
    let value = clear(&facts.value);
    let text = clear(&facts.text);
    secrets.iter().map(Secret::expose).any(|secret| {
        !secret.is_empty() && (value.contains(secret) || (is_searched_for(secret) && text.contains(secret)))
    })
}

/// Replaces the secrets in all texts of a value. A value that cannot be decoded afterwards becomes the default: nothing
/// leaks.
pub(crate) fn scrub<T: Serialize + DeserializeOwned + Default>(value: T, secrets: &[Secret]) -> T {
    let secrets: Vec<&str> = searched(secrets).collect();
    if secrets.is_empty() {
        return value;
    }
    let Ok(mut json) = serde_json::to_value(value) else { return T::default() };
    scrub_json(&mut json, &secrets, 0);
    serde_json::from_value(json).unwrap_or_default()
}

fn searched(secrets: &[Secret]) -> impl Iterator<Item = &str> {
    secrets.iter().map(Secret::expose).filter(|secret| is_searched_for(secret))
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
    let start: String = secret.chars().take(SEARCHED_FROM).collect();
    let mut rest = text;
    let mut clean = String::new();
    while let Some((before, after)) = rest.split_once(&start) {
        clean.push_str(before);
        clean.push_str(MASK);
        let shared = secret.chars().skip(SEARCHED_FROM).zip(after.chars()).take_while(|(a, b)| a == b);
        rest = after.get(shared.map(|(a, _)| a.len_utf8()).sum::<usize>()..).unwrap_or("");
    }
    (rest.len() != text.len()).then(|| clean + rest)
}

/// Like `scrub`, for one text.
pub(crate) fn scrub_text(text: &str, secrets: &[Secret]) -> String {
    searched(secrets).fold(text.to_owned(), |text, secret| masked(&text, secret).unwrap_or(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_scrubbed_from_every_text() {
        let evidence = cuebook_grammar::outcome::EffectRecord {
            url_before: Some("http://a.test/?q=hunt&b=hunter2&c=hun".into()),
            url_after: Some("http://a.test/?q=hunter22".into()),
            ..Default::default()
        };
        let scrubbed = scrub(evidence, &[Secret::new("hunter22")]);
        assert_eq!(scrubbed.url_after.as_deref(), Some("http://a.test/?q=[redacted]"));
        // What was typed so far is a beginning of it.
        assert_eq!(scrubbed.url_before.as_deref(), Some("http://a.test/?q=[redacted]&b=[redacted]&c=hun"));
    }
}
