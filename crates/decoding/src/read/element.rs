//! How calls and people name an element: by the id of a candidate, or by a description.

use cuebook_grammar::id::CandidateId;
use cuebook_grammar::render::quoted;
use cuebook_grammar::role::Role;
use serde_json::{Value, json};

/// Forms that a target may have, for errors.
const FORMS: &str = "name an element by its id (c3), or as role=button[name=\"Log in\"], text=Log in, label=User, \
                     testid=login or css=#login";
/// An element, as a call names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ElementName {
    /// A candidate that was shown.
    Id(CandidateId),
    /// The only candidate with this role and, where stated, this name.
    Role(Role, Option<String>),
    /// The only candidate of this name; without one, the only one whose name has this text in it, ignoring case.
    Text(String),
    /// The only field with this label, or name.
    Label(String),
    /// The only candidate with this test id.
    TestId(String),
    /// The only element that a selector matches.
    Css(String),
}

impl ElementName {
    /// Reads a target.
    ///
    /// # Errors
    /// The forms that it may have.
    pub fn read(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let bare = text.trim_start_matches('@').trim_start_matches("ref=").trim_matches(['[', ']']);
        if let Some(id) = CandidateId::parse(bare) {
            return Ok(Self::Id(id));
        }
        let unknown = || format!("{} names no element; {FORMS}", quoted(text, 80));
        let stripped = |names: &[&str]| names.iter().find_map(|name| text.strip_prefix(name)).map(unquoted);
        if let Some(role) = text.strip_prefix("role=") {
            return role_of(role).ok_or_else(unknown);
        }
        if let Some(words) = stripped(&["text="]) {
            return Ok(Self::Text(words));
        }
        if let Some(label) = stripped(&["label="]) {
            return Ok(Self::Label(label));
        }
        if let Some(id) = stripped(&["testid=", "data-testid="]) {
            return Ok(Self::TestId(id));
        }
        if let Some(selector) = text.strip_prefix("css=") {
            return Ok(Self::Css(selector.to_owned()));
        }
        if text.starts_with(['#', '.', '[']) {
            return Ok(Self::Css(text.to_owned()));
        }
        role_of(text)
            // `button[type=submit]`: no name of a role, and no words of a sentence.
            .or_else(|| text.contains(['#', '[', '>', ':']).then(|| Self::Css(text.to_owned())))
            .ok_or_else(unknown)
    }

    /// The locator that finds it, as plans declare it; `None` for an id, which a plan names by itself.
    #[must_use]
    pub fn locator(&self) -> Option<Value> {
        Some(match self {
            Self::Id(_) => return None,
            Self::Role(role, None) => json!({ "strategy": "byRole", "role": role }),
            Self::Role(role, Some(name)) => json!({ "strategy": "byRole", "role": role, "name": name }),
            Self::Text(text) => json!({ "strategy": "text", "text": text }),
            Self::Label(label) => json!({ "strategy": "byLabel", "text": label }),
            Self::TestId(id) => json!({ "strategy": "byTestId", "testId": id }),
            Self::Css(selector) => json!({ "strategy": "css", "selector": selector }),
        })
    }
}

fn unquoted(text: &str) -> String {
    let text = text.trim();
    let inner = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    inner.or_else(|| text.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\''))).unwrap_or(text).to_owned()
}

/// `button`, `button "Log in"`, `button[name="Log in"]`.
fn role_of(text: &str) -> Option<ElementName> {
    let end = text.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(text.len());
    let (role, rest) = text.split_at(end);
    let role = Role::parse(role)?;
    let rest = rest.trim();
    if rest.is_empty() {
        return Some(ElementName::Role(role, None));
    }
    let named = rest.strip_prefix("[name=").and_then(|name| name.strip_suffix(']'));
    let is_quoted = rest.len() > 1 && (rest.starts_with('"') && rest.ends_with('"'));
    let name = named.or_else(|| is_quoted.then_some(rest))?;
    Some(ElementName::Role(role, Some(unquoted(name))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_and_descriptions_are_read_in_the_forms_that_people_write() {
        let id = ElementName::Id(CandidateId(3));
        for text in ["c3", "@c3", "[c3]", "ref=c3", " c3 "] {
            assert_eq!(ElementName::read(text).as_ref(), Ok(&id), "{text}");
        }
        let button = ElementName::Role(Role::Button, Some("Log in".to_owned()));
        for text in ["role=button[name=\"Log in\"]", "button \"Log in\"", "role=button \"Log in\""] {
            assert_eq!(ElementName::read(text).as_ref(), Ok(&button), "{text}");
        }
        for text in ["#a > b", "button[type=submit]", "input:checked"] {
            assert_eq!(ElementName::read(text), Ok(ElementName::Css(text.to_owned())));
        }
        assert_eq!(ElementName::read("text='Pay now'"), Ok(ElementName::Text("Pay now".to_owned())));
        for text in ["", "the login button", "role=window[name=\"x\"]", "button Log in", "e12"] {
            assert!(ElementName::read(text).unwrap_err().contains("name an element by its id"), "{text}");
        }
    }
}
