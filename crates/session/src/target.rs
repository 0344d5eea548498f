//! How a call names an element: by the id of a candidate, or by a description.

use cuebook_grammar::candidate::{Candidate, ControlKind};
use cuebook_grammar::id::CandidateId;
use cuebook_grammar::observation::Observation;
use cuebook_grammar::render::quoted;
use cuebook_grammar::role::Role;

/// Forms that a target may have, for errors.
const FORMS: &str = "name an element by its id (c3), or as role=button[name=\"Log in\"], text=Log in, label=User, \
                     testid=login or css=#login";
/// Candidates that an error names.
const MOST_NAMED: usize = 10;

/// An element, as a call names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Target {
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

impl Target {
    /// Reads a target.
    ///
    /// # Errors
    /// The forms that it may have.
    pub(crate) fn read(text: &str) -> Result<Self, String> {
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

    /// The candidate that is meant; `None` for a selector, which only the page can tell.
    ///
    /// # Errors
    /// Elements that are there instead.
    pub(crate) fn find(&self, page: &Observation) -> Result<Option<CandidateId>, String> {
        match self {
            Self::Id(id) => Ok(Some(*id)),
            Self::Css(_) => Ok(None),
            Self::Role(role, Some(name)) => page
                .find(*role, name)
                .map(|found| Some(found.id))
                .or_else(|error| shown_as(page, name, &|it| it.role == *role).ok_or_else(|| error.to_string())),
            Self::Role(role, None) => only(page, &|it| it.role == *role, &format!("{role}")),
            Self::TestId(id) => {
                only(page, &|it| it.test_id.as_ref() == Some(id), &format!("test id {}", quoted(id, 80)))
            }
            Self::Label(label) => {
                let is_called = |it: &Candidate| it.label.as_ref().unwrap_or(&it.name) == label || it.name == *label;
                let is_field = |it: &Candidate| it.control != ControlKind::Plain;
                let is_labelled = |it: &Candidate| is_called(it) && is_field(it);
                only(page, &is_labelled, &format!("field {}", quoted(label, 80)))
                    .or_else(|error| shown_as(page, label, &is_field).ok_or(error))
            }
            Self::Text(text) => {
                let described = format!("element {}", quoted(text, 80));
                let whole = only(page, &|it| it.name == *text, &described);
                if whole.is_ok() || page.candidates.iter().any(|it| it.name == *text) {
                    return whole;
                }
                let sought = text.to_lowercase();
                only(page, &|it| it.name.to_lowercase().contains(&sought), &described)
            }
        }
    }
}

/// The only candidate of a kind that people call so: with or without the colon or the asterisk at its end, or by its label.
fn shown_as(page: &Observation, name: &str, is_kind: &dyn Fn(&Candidate) -> bool) -> Option<Option<CandidateId>> {
    let bare = |text: &str| text.trim_end_matches([':', '\u{ff1a}', '*', ' ', '\u{a0}']).to_owned();
    let sought = bare(name);
    let is_called =
        |it: &Candidate| bare(&it.name) == sought || it.label.as_deref().is_some_and(|it| bare(it) == sought);
    only(page, &|it| is_kind(it) && is_called(it), name).ok().filter(|_| !sought.is_empty())
}

fn unquoted(text: &str) -> String {
    let text = text.trim();
    let inner = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    inner.or_else(|| text.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\''))).unwrap_or(text).to_owned()
}

/// `button`, `button "Log in"`, `button[name="Log in"]`.
fn role_of(text: &str) -> Option<Target> {
    let end = text.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(text.len());
    let (role, rest) = text.split_at(end);
    let role = Role::parse(role)?;
    let rest = rest.trim();
    if rest.is_empty() {
        return Some(Target::Role(role, None));
    }
    let named = rest.strip_prefix("[name=").and_then(|name| name.strip_suffix(']'));
    let is_quoted = rest.len() > 1 && (rest.starts_with('"') && rest.ends_with('"'));
    let name = named.or_else(|| is_quoted.then_some(rest))?;
    Some(Target::Role(role, Some(unquoted(name))))
}

fn only(
    page: &Observation,
    is_meant: &dyn Fn(&Candidate) -> bool,
    described: &str,
) -> Result<Option<CandidateId>, String> {
    let found: Vec<&Candidate> = page.candidates.iter().filter(|it| is_meant(it)).collect();
    match found[..] {
        [only] if !only.ambiguous => Ok(Some(only.id)),
        [] => Err(format!("there is no {described} on the page")),
        _ => {
            let named: Vec<String> =
                found.iter().take(MOST_NAMED).map(|it| format!("{} ({})", it.title(), it.id)).collect();
            Err(format!("{} elements are {described}: {}; name one by its id", found.len(), named.join(", ")))
        }
    }
}

#[cfg(test)]
mod tests {
    use cuebook_grammar::sample::page;

    use super::*;

    #[test]
    fn ids_and_descriptions_are_read_in_the_forms_that_people_write() {
        let id = Target::Id(CandidateId(3));
        for text in ["c3", "@c3", "[c3]", "ref=c3", " c3 "] {
            assert_eq!(Target::read(text).as_ref(), Ok(&id), "{text}");
        }
        let button = Target::Role(Role::Button, Some("Log in".to_owned()));
        for text in ["role=button[name=\"Log in\"]", "button \"Log in\"", "role=button \"Log in\""] {
            assert_eq!(Target::read(text).as_ref(), Ok(&button), "{text}");
        }
        for text in ["#a > b", "button[type=submit]", "input:checked"] {
            assert_eq!(Target::read(text), Ok(Target::Css(text.to_owned())));
        }
        assert_eq!(Target::read("text='Pay now'"), Ok(Target::Text("Pay now".to_owned())));
        for text in ["", "the login button", "role=window[name=\"x\"]", "button Log in", "e12"] {
            assert!(Target::read(text).unwrap_err().contains("name an element by its id"), "{text}");
        }
    }

    #[test]
    fn a_description_means_one_candidate_or_none() {
        let page = page("button \"Save\"\nlink \"Save all\"\nbutton \"Drop\"\nbutton \"Drop\"");
        let found = |text: &str| Target::read(text).and_then(|target| target.find(&page));
        assert_eq!(found("text=Save"), Ok(Some(CandidateId(1))), "the whole name counts first");
        assert_eq!(found("text=ALL"), Ok(Some(CandidateId(2))));
        assert_eq!(found("link"), Ok(Some(CandidateId(2))));
        assert!(found("text=Drop").unwrap_err().ends_with("(c3), button \"Drop\" (c4); name one by its id"));
        assert_eq!(found("button \"Save:\""), Ok(Some(CandidateId(1))));
        assert!(found("button \"Drop *\"").is_err(), "two are called so");
        assert!(found("text=Buy").unwrap_err().contains("there is no element"));
        assert!(found("button \"Send\"").unwrap_err().contains("there is button \"Save\" (c1)"));
    }
}
