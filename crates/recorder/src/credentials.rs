//! Names for the secrets that a person types: pure.

use std::collections::BTreeMap;

use cuebook_grammar::candidate::Candidate;
use cuebook_grammar::id::CredentialRef;

use crate::target::Pointed;

/// The secrets of a recording by name.
pub(crate) struct Credentials {
    /// Names that the person gave, by field.
    given: Vec<(String, CredentialRef)>,
    /// The origin and the field of each secret that is named.
    known: BTreeMap<CredentialRef, (String, String)>,
}

impl Credentials {
    pub(crate) const fn new(given: Vec<(String, CredentialRef)>) -> Self {
        Self { given, known: BTreeMap::new() }
    }

    /// The name that the person gave to what goes into a field.
    pub(crate) fn given(
        &mut self,
        pointed: &Pointed,
        candidate: Option<&Candidate>,
        origin: String,
    ) -> Option<CredentialRef> {
        let is_called = |field: &str| {
            pointed.field_names(candidate).any(|name| name.trim().to_lowercase() == field.trim().to_lowercase())
        };
        let (field, reference) = self.given.iter().find(|(field, _)| is_called(field))?.clone();
        self.known.insert(reference.clone(), (origin, field));
        Some(reference)
    }

    /// A name for the secret of a field: that of the field, with a number where another field has it already.
    pub(crate) fn derived(
        &mut self,
        pointed: &Pointed,
        candidate: Option<&Candidate>,
        origin: String,
    ) -> CredentialRef {
        let field = candidate.map(|it| it.name.clone()).filter(|name| !name.is_empty());
        let field = field.or_else(|| pointed.field_names(None).next().map(str::to_owned)).unwrap_or_default();
        let whose = (origin, field);
        if let Some((known, _)) = self.known.iter().find(|(_, other)| **other == whose) {
            return known.clone();
        }
        let plain = slug(&whose.1);
        let numbered = (2..).map(|number: u32| format!("{plain}_{number}"));
        let mut free = std::iter::once(plain.clone()).chain(numbered).map(CredentialRef::new);
        let reference = free.find(|name| !self.known.contains_key(name)).unwrap_or(CredentialRef::new(plain.clone()));
        self.known.insert(reference.clone(), whose);
        reference
    }

    /// The field that a secret is for.
    pub(crate) fn field(&self, reference: &CredentialRef) -> Option<&String> {
        self.known.get(reference).map(|(_, field)| field)
    }
}

/// `card_number` of `Card number:`.
fn slug(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars().take(100) {
        if c.is_ascii_alphanumeric() {
            out.push(c.to_ascii_lowercase());
        } else if !out.ends_with('_') && !out.is_empty() {
            out.push('_');
        }
    }
    let trimmed = out.trim_end_matches('_');
    if trimmed.is_empty() { "secret".to_owned() } else { trimmed.chars().take(40).collect() }
}
