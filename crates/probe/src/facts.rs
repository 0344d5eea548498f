//! Facts as the script reports them, and their redaction.
//!
//! Invariant: what leaves this module holds no text of a password-like field.

use cuebook_grammar::facts::ElementFacts;
use cuebook_grammar::secret::DigestKey;

use crate::ask::Ask;

/// Replaces what a password-like field holds by digests; facts of other elements pass.
pub(crate) fn redacted(mut facts: ElementFacts, ask: &Ask, key: &DigestKey) -> ElementFacts {
    if facts.sensitive {
        let compared: Vec<&str> = ask.compare.iter().map(String::as_str).collect();
        facts.redact(&compared, key);
    }
    facts
}

#[cfg(test)]
mod tests {
    use cuebook_grammar::secret::FactText;

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
