//! The candidate that a call names by a description.

use cuebook_decoding::read::ElementName;
use cuebook_grammar::candidate::{Candidate, ControlKind};
use cuebook_grammar::id::CandidateId;
use cuebook_grammar::observation::Observation;
use cuebook_grammar::render::quoted;

/// Candidates that an error names.
const MOST_NAMED: usize = 10;

/// The candidate that is meant; `None` for a selector, which only the page can tell.
///
/// # Errors
/// Elements that are there instead.
pub(crate) fn find(name: &ElementName, page: &Observation) -> Result<Option<CandidateId>, String> {
    match name {
        ElementName::Id(id) => Ok(Some(*id)),
        ElementName::Css(_) => Ok(None),
        ElementName::Role(role, Some(name)) => page
            .find(*role, name)
            .map(|found| Some(found.id))
            .or_else(|error| shown_as(page, name, &|it| it.role == *role).ok_or_else(|| error.to_string())),
        ElementName::Role(role, None) => only(page, &|it| it.role == *role, &format!("{role}")),
        ElementName::TestId(id) => {
            only(page, &|it| it.test_id.as_ref() == Some(id), &format!("test id {}", quoted(id, 80)))
        }
        ElementName::Label(label) => {
            let is_called = |it: &Candidate| it.label.as_ref().unwrap_or(&it.name) == label || it.name == *label;
            let is_field = |it: &Candidate| it.control != ControlKind::Plain;
            let is_labelled = |it: &Candidate| is_called(it) && is_field(it);
            only(page, &is_labelled, &format!("field {}", quoted(label, 80)))
                .or_else(|error| shown_as(page, label, &is_field).ok_or(error))
        }
        ElementName::Text(text) => {
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

/// The only candidate of a kind that people call so: with or without the colon or the asterisk at its end, or by its label.
fn shown_as(page: &Observation, name: &str, is_kind: &dyn Fn(&Candidate) -> bool) -> Option<Option<CandidateId>> {
    let bare = |text: &str| text.trim_end_matches([':', '\u{ff1a}', '*', ' ', '\u{a0}']).to_owned();
    let sought = bare(name);
    let is_called =
        |it: &Candidate| bare(&it.name) == sought || it.label.as_deref().is_some_and(|it| bare(it) == sought);
    only(page, &|it| is_kind(it) && is_called(it), name).ok().filter(|_| !sought.is_empty())
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
    fn a_description_means_one_candidate_or_none() {
        let page = page("button \"Save\"\nlink \"Save all\"\nbutton \"Drop\"\nbutton \"Drop\"");
        let found = |text: &str| ElementName::read(text).and_then(|name| find(&name, &page));
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
