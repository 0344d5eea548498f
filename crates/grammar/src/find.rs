//! Finding a candidate of an observation by what a person would call it.

use std::fmt;

use crate::candidate::Candidate;
use crate::id::TargetRef;
use crate::observation::Observation;
use crate::role::Role;
use crate::text_match::collapse_white_space;

/// Upper bound of the candidates that an error names.
const MOST_NAMED: usize = 10;

/// The candidate that was asked for is not there, or not alone. Names the candidates of the same role, or else of the
/// same name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FindError {
    role: Role,
    name: String,
    /// The number of candidates that are called so: none, or more than one.
    matches: usize,
    /// `button "Log in" (c3)`, at most ten.
    there: Vec<String>,
    /// The number of further ones.
    more: usize,
}

impl fmt::Display for FindError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { role, name, matches, there, more } = self;
        match matches {
            0 => write!(f, "there is no {role} {name:?}")?,
            several => write!(f, "{several} candidates are {role} {name:?}")?,
        }
        match (there.is_empty(), more) {
            (true, _) => write!(f, ", and nothing else of this role or name"),
            (false, 0) => write!(f, ": there is {}", there.join(", ")),
            (false, more) => write!(f, ": there is {} and {more} more", there.join(", ")),
        }
    }
}

impl std::error::Error for FindError {}

impl Observation {
    /// The only candidate with this role and, letter by letter, this name; white space is collapsed.
    ///
    /// ```
    /// # use cuebook_grammar::{id::PageId, observation::Observation, role::Role};
    /// # let page = Observation::blank(PageId::new("page"), "https://shop.test/");
    /// let error = page.find(Role::Button, "Save").unwrap_err();
    /// assert_eq!(error.to_string(), "there is no button \"Save\", and nothing else of this role or name");
    /// ```
    ///
    /// # Errors
    /// [`FindError`] if there is none, more than one, or one that nothing distinguishes from its twin. It names what is
    /// there instead.
    pub fn find(&self, role: Role, name: &str) -> Result<&Candidate, FindError> {
        let is_called = |it: &&Candidate| collapse_white_space(&it.name) == collapse_white_space(name);
        let has_role = |it: &&Candidate| it.role == role;
        let found: Vec<&Candidate> = self.candidates.iter().filter(has_role).filter(is_called).collect();
        if let [only] = found[..]
            && !only.ambiguous
        {
            return Ok(only);
        }
        let matches = found.len();
        let nearest: Vec<&Candidate> = match matches {
            0 if self.candidates.iter().any(|it| has_role(&it)) => self.candidates.iter().filter(has_role).collect(),
            0 => self.candidates.iter().filter(is_called).collect(),
            _ => found,
        };
        let there = nearest.iter().take(MOST_NAMED).map(|it| format!("{} ({})", it.title(), it.id)).collect();
        let more = nearest.len().saturating_sub(MOST_NAMED);
        Err(FindError { role, name: name.to_owned(), matches, there, more })
    }
}

impl From<&Candidate> for TargetRef {
    fn from(candidate: &Candidate) -> Self {
        candidate.id.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::page;

    #[test]
    fn a_candidate_is_found_by_role_and_name() {
        let page = page("button \"Save  all\"\nlink \"Save\"\nbutton \"Save\"");
        let found = page.find(Role::Button, "Save").unwrap();
        assert_eq!(TargetRef::from(found).as_str(), "c3");
        assert_eq!(page.find(Role::Button, " Save all").unwrap().id.to_string(), "c1");
    }

    #[test]
    fn an_error_names_what_is_there_instead() {
        let of_a_role = page("button \"Log in\"\nlink \"Save\"");
        let error = of_a_role.find(Role::Button, "Save").unwrap_err();
        assert_eq!(error.to_string(), "there is no button \"Save\": there is button \"Log in\" (c1)");
        let error = of_a_role.find(Role::Tab, "Save").unwrap_err();
        assert_eq!(error.to_string(), "there is no tab \"Save\": there is link \"Save\" (c2)");
        let twins = page("button \"Delete\" ambiguous\nbutton \"Delete\" ambiguous");
        let error = twins.find(Role::Button, "Delete").unwrap_err();
        assert!(error.to_string().starts_with("2 candidates are button \"Delete\": there is"), "{error}");
        let many = page(&"button \"Row\"\n".repeat(12));
        assert!(many.find(Role::Button, "Save").unwrap_err().to_string().ends_with(" and 2 more"));
    }
}
