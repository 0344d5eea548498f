//! Questions to a person before a step that needs consent.

use serde_json::Value;
use unicode_security::MixedScript as _;

use super::quoted;
use crate::action::Action;
use crate::candidate::{Activation, Candidate, SentField};
use crate::plan::BoundStep;
use crate::risk;
use crate::seam::HeldRequest;
use crate::secret::WireText;

/// How much of a text of the page stands in a question.
const TEXT: usize = 200;

/// One line: the verb, the target, what it would request and send, what is asked around it, the origin and the risk.
/// Texts of the page and of the planner stand in quotes that they cannot end.
#[must_use]
pub fn question(step: &BoundStep) -> String {
    let action = step.action();
    let mut line = action.kind().meta().name.to_owned();
    if let Some(dialog) = step.dialog() {
        line.push_str(&format!(" {}", quoted(dialog, TEXT)));
    }
    let target = step.main_target().and_then(|(_, target)| target.candidate());
    if let Some(target) = target {
        line.push(' ');
        line.push_str(&format!("{} {}", target.role, quoted(&target.name, TEXT)));
        if mixes_scripts(&target.name) {
            line.push_str(" (in letters of several scripts, which may look like others)");
        }
        if let Some(context) = &target.context {
            line.push_str(&format!(" in {}", quoted(context, TEXT)));
        }
    }
    line.push_str(&format!(" on {}", step.origin()));
    line.extend(details(action, target).iter().map(|detail| format!(", {detail}")));
    let why = risk::why(action, target, step.risk()).map_or_else(String::new, |why| format!(", {why}"));
    line.push_str(&format!("? It counts as {}{why}.", step.risk().as_str()));
    line
}

/// Returns `true` if a word has letters of several scripts, as no language writes them: `Pаy` with a Cyrillic `а`.
fn mixes_scripts(text: &str) -> bool {
    text.split(|letter: char| !letter.is_alphanumeric()).any(|word| !word.is_single_script())
}

/// The most fields of a request that stand in a question.
const FIELDS: usize = 20;
/// How much of a field.
const FIELD: usize = 60;
/// Words in the names of fields whose content must not be readable over a shoulder.
const SENSITIVE: [&str; 18] = [
    "pass",
    "password",
    "passwd",
    "passphrase",
    "passcode",
    "pwd",
    "secret",
    "token",
    "otp",
    "totp",
    "cvv",
    "cvc",
    "csc",
    "card",
    "iban",
    "pin",
    "ssn",
    "csrf",
];

/// Returns `true` if a word of a field's name is sensitive: `cardNumber` and `card_number` are, `shipping` is not.
fn is_sensitive(name: &str) -> bool {
    let mut spaced = String::new();
    for letter in name.chars().take(FIELD) {
        if letter.is_uppercase() {
            spaced.push(' ');
        }
        spaced.extend(letter.to_lowercase());
    }
    // Capitals throughout are one word, too.
    [spaced, name.to_lowercase()].iter().any(|name| {
        let mut words = name.split(|letter: char| !letter.is_alphabetic());
        words.any(|word| SENSITIVE.contains(&word) || word.ends_with("password") || word.ends_with("token"))
    })
}

/// One line about a request that is held: its method, URL and fields, and the step that causes it.
#[must_use]
pub fn question_of_request(step: &BoundStep, request: &HeldRequest) -> String {
    let mut line = format!("{} {}", quoted(&request.method, 20), quoted(&request.url, TEXT * 2));
    let fields = fields(request);
    let more = fields.len().saturating_sub(FIELDS);
    let shown = fields.iter().take(FIELDS).map(|(name, value)| {
        let value = if is_sensitive(name) { "hidden".to_owned() } else { quoted(value, FIELD) };
        format!(" {}={value}", quoted(name, FIELD))
    });
    if fields.is_empty() {
        line.push_str(&request.body.as_ref().map_or_else(String::new, |body| format!(", {} bytes", body.len())));
    } else {
        line.push_str(" with");
        line.extend(shown);
        line.push_str(&if more > 0 { format!(" and {more} more") } else { String::new() });
    }
    line.push_str(&format!(", while {} acts", step.action().kind().meta().name));
    if let Some(target) = step.main_target().and_then(|(_, target)| target.candidate()) {
        line.push_str(&format!(" on {} {}", target.role, quoted(&target.name, TEXT)));
    }
    line.push('?');
    line
}

/// The fields of a body, as far as its type has any.
fn fields(request: &HeldRequest) -> Vec<(String, String)> {
    let Some(body) = &request.body else { return Vec::new() };
    let kind = request.content_type.as_deref().unwrap_or_default().to_ascii_lowercase();
    if kind.starts_with("application/x-www-form-urlencoded") {
        return url::form_urlencoded::parse(body).into_owned().collect();
    }
    if kind.starts_with("multipart/form-data") {
        // Its parts without files; the names are enough.
        let text = String::from_utf8_lossy(body);
        let named = text.split("form-data; name=\"").skip(1).filter_map(|part| part.split('"').next());
        return named.map(|name| (name.to_owned(), "\u{2026}".to_owned())).collect();
    }
    let mut fields = Vec::new();
    if let Ok(value) = serde_json::from_slice(body) {
        leaves("", &value, &mut fields);
    }
    fields
}

/// The members of a document, those of inner ones under their path.
fn leaves(path: &str, value: &Value, fields: &mut Vec<(String, String)>) {
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                leaves(&if path.is_empty() { name.clone() } else { format!("{path}.{name}") }, value, fields);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| leaves(path, item, fields)),
        _ if path.is_empty() => {}
        Value::String(text) => fields.push((path.to_owned(), text.clone())),
        other => fields.push((path.to_owned(), other.to_string())),
    }
}

fn details(action: &Action, target: Option<&Candidate>) -> Vec<String> {
    let mut details = Vec::new();
    if let Some(text) = action.text().and_then(WireText::clear).filter(|_| !target.is_some_and(Candidate::is_sensitive))
    {
        details.push(format!("with the text {}", quoted(text, TEXT)));
    }
    match action {
        Action::Press(press) => details.push(format!("with the keys {}", quoted(&press.keys, TEXT))),
        Action::Select(select) => {
            details.extend(
                select
                    .option
                    .choices
                    .iter()
                    .filter_map(|choice| choice.name())
                    .map(|name| format!("choosing {}", quoted(name.as_str(), TEXT))),
            );
        }
        _ => {}
    }
    let Some(target) = target else { return details };
    let Activation { method, url, sends, button, .. } = &target.activation;
    details.extend(button.as_ref().map(|name| format!("which presses {}", quoted(name, TEXT))));
    let address = url.as_ref().or(target.destination.as_ref());
    if let Some(address) = address {
        details.push(format!("requesting {} {}", method.as_deref().unwrap_or("GET"), quoted(address, TEXT)));
    }
    details.extend(sends.iter().map(|field| {
        let what = match field {
            SentField::Card => "data of a payment card",
            SentField::Password => "a password",
            SentField::OneTimeCode => "a one-time code",
        };
        format!("sending {what}")
    }));
    let said = [("described as", &target.description), ("where it says", &target.surroundings)];
    details
        .extend(said.into_iter().filter_map(|(how, text)| Some(format!("{how} {}", quoted(text.as_deref()?, TEXT)))));
    details
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(content_type: &str, body: &str) -> String {
        let content_type = Some(content_type.to_owned());
        let body = Some(body.as_bytes().to_vec());
        let request =
            HeldRequest { method: "POST".to_owned(), url: "https://shop.test/".to_owned(), content_type, body };
        fields(&request).iter().map(|(name, value)| format!("{name}={value};")).collect()
    }

    #[test]
    fn fields_are_read_from_forms_and_documents() {
        assert_eq!(shown("application/x-www-form-urlencoded; charset=UTF-8", "a=1+2&b=%C3%A9"), "a=1 2;b=é;");
        assert_eq!(
            shown("application/json", r#"{"to":{"name":"Ann"},"n":[1,2],"on":true}"#),
            "to.name=Ann;n=1;n=2;on=true;"
        );
        let form = "--x\r\ncontent-disposition: form-data; name=\"file\"\r\n\r\nabc\r\n--x--";
        assert_eq!(shown("multipart/form-data; boundary=x", form), "file=\u{2026};");
        for (kind, body) in [("text/plain", "a=b"), ("application/json", "[1]"), ("application/json", "{")] {
            assert_eq!(shown(kind, body), "", "{kind} {body}");
        }
    }

    #[test]
    fn s54_a_word_in_letters_of_several_scripts_is_flagged() {
        for text in ["P\u{430}y", "Delete \u{430}ccount", "\u{420}ay now"] {
            assert!(mixes_scripts(text), "{text}");
        }
        // A brand beside a word of another script, and scripts that a language mixes.
        for text in ["Pay", "Купить iPhone", "東京タワー", "서울 漢字", "Größe 42", "½ € 3", "", "日本語のテスト"]
        {
            assert!(!mixes_scripts(text), "{text}");
        }
    }

    #[test]
    fn what_is_typed_in_secret_is_not_shown() {
        for name in
            ["password", "newPassword", "user.passwd", "card_number", "cardNumber", "PIN", "otp-1", "accesstoken"]
        {
            assert!(is_sensitive(name), "{name}");
        }
        for name in ["shipping", "author", "passenger", "q", "cardinality", "spinner", ""] {
            assert!(!is_sensitive(name), "{name}");
        }
    }
}
