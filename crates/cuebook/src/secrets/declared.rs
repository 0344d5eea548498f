//! A declared secret: where its value is, and what it is bound to.

use std::fmt;

use cuebook_grammar::deadline::Deadline;
use cuebook_grammar::id::CredentialRef;
use cuebook_grammar::seam::{SecretRefusal, SecretScope};
use cuebook_grammar::secret::Secret;
use serde::Deserialize;

use super::command;
use super::one_time::OneTime;
#[cfg(feature = "keyring")]
use super::vault;
use crate::environment;

/// A secret of a file.
#[derive(Debug)]
pub(super) struct Declared {
    pub(super) source: Source,
    /// The origins of its fields; empty for the start origin.
    pub(super) origins: Vec<String>,
    pub(super) fields: Fields,
    /// For a seed, from which codes are made.
    pub(super) one_time: Option<OneTime>,
}

/// Where a value is.
pub(super) enum Source {
    Value(Secret),
    Variable(String),
    Command(Vec<String>),
    #[cfg(feature = "keyring")]
    Keyring(vault::Entry),
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The words of a command may be private.
        f.write_str(match self {
            Self::Value(_) => "Value",
            Self::Variable(_) => "Variable",
            Self::Command(_) => "Command",
            #[cfg(feature = "keyring")]
            Self::Keyring(_) => "Keyring",
        })
    }
}

/// The fields that may receive a secret.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Fields {
    /// Password-like fields only; the default.
    #[default]
    Password,
    /// All fields, password-like or not.
    Any,
}

impl Declared {
    /// Its value, or a code made of it, if `scope` is what it is bound to. `start` is the start origin.
    pub(super) async fn resolve(
        &self,
        reference: &CredentialRef,
        scope: &SecretScope,
        start: Option<&str>,
        deadline: Deadline,
    ) -> Result<Secret, SecretRefusal> {
        let is_bound = |origin: &str| match &*self.origins {
            [] => start == Some(origin),
            origins => origins.iter().any(|bound| bound == origin),
        };
        if !is_bound(&scope.origin) || !is_bound(&scope.page_origin) {
            return Err(SecretRefusal::OutOfScope { reference: reference.clone(), origin: scope.origin.clone() });
        }
        if self.fields == Fields::Password && !scope.is_password_field {
            return Err(SecretRefusal::NotHidden { reference: reference.clone() });
        }
        let unavailable = |reason| SecretRefusal::Unavailable { reference: reference.clone(), reason };
        let value = match &self.source {
            Source::Value(value) => value.clone(),
            Source::Variable(name) => environment::variable(name)
                .map(Secret::new)
                .ok_or_else(|| unavailable(format!("the variable {name} is not set")))?,
            Source::Command(words) => command::output(words, deadline).await.map_err(unavailable)?,
            #[cfg(feature = "keyring")]
            Source::Keyring(entry) => entry.read(deadline).await.map_err(unavailable)?,
        };
        match &self.one_time {
            Some(one_time) => one_time.code(&value, reference, deadline).await,
            None => Ok(value),
        }
    }

    /// Returns `true` if `text` is its value, as far as that is known without waiting.
    pub(super) fn is(&self, text: &str) -> bool {
        match &self.source {
            Source::Value(value) => value.expose() == text,
            Source::Variable(name) => environment::variable(name).is_some_and(|value| value == text),
            _ => false,
        }
    }
}
