//! All secrets of a run.

use std::collections::BTreeMap;
use std::path::Path;

use cuebook_grammar::deadline::Deadline;
use cuebook_grammar::id::CredentialRef;
use cuebook_grammar::policy::Policy;
use cuebook_grammar::seam::{SecretRefusal, SecretScope, SecretSource};
use cuebook_grammar::secret::Secret;

use super::declared::Declared;
use super::file::{self, SecretsError};
use crate::environment::{self, EnvironmentSecrets};

/// The secrets of a file and, after them, those of the environment.
///
/// ```no_run
/// use cuebook::prelude::*;
/// use cuebook::secrets::Secrets;
///
/// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
/// let secrets = Secrets::on(Some("https://shop.example".to_owned())).with_file("secrets.toml".as_ref())?;
/// let agent = Agent::builder().secrets(secrets).build().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Secrets {
    start: Option<String>,
    declared: BTreeMap<CredentialRef, Declared>,
    environment: EnvironmentSecrets,
}

impl Secrets {
    /// The secrets of the environment. They, and those of a file that names no origins, are for fields on pages of
    /// `origin`, such as `https://shop.test`. With `None` they are refused.
    #[must_use]
    pub fn on(origin: Option<String>) -> Self {
        Self { environment: EnvironmentSecrets::on(origin.clone()), start: origin, declared: BTreeMap::new() }
    }

    /// For pages of `origin`, unless they are for those of another one already.
    #[must_use]
    pub fn or_on(mut self, origin: String) -> Self {
        if self.start.is_none() {
            self.environment = EnvironmentSecrets::on(Some(origin.clone()));
            self.start = Some(origin);
        }
        self
    }

    /// Adds the secrets that a TOML file declares.
    ///
    /// # Errors
    /// [`SecretsError`], also if others than its owner may read or write the file.
    pub fn with_file(mut self, path: &Path) -> Result<Self, SecretsError> {
        self.declared.extend(file::read(path)?);
        Ok(self)
    }

    /// The names of all secrets as plans write them, in order.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        let declared = self.declared.keys().map(|name| name.as_str().to_owned());
        let mut names: Vec<String> = declared.chain(environment::secret_names()).collect();
        names.sort();
        names.dedup();
        names
    }

    /// The policy with the origins that each secret is bound to; of the values it learns nothing.
    #[must_use]
    pub fn bind(&self, policy: Policy) -> Policy {
        let start: Vec<String> = self.start.iter().cloned().collect();
        let of_environment = environment::secret_names().into_iter().map(|name| (CredentialRef::new(&*name), &start));
        let of_file = self
            .declared
            .iter()
            .map(|(name, secret)| (name.clone(), if secret.origins.is_empty() { &start } else { &secret.origins }));
        of_environment.chain(of_file).fold(policy, |policy, (name, origins)| match origins.is_empty() {
            true => policy,
            false => policy.binding(name, origins.clone()),
        })
    }

    /// Returns `true` if a text is the value of this secret. Returns `false` for one whose value is not known without
    /// waiting.
    #[must_use]
    pub fn is(&self, reference: &CredentialRef, text: &str) -> bool {
        match self.declared.get(reference) {
            Some(declared) => declared.is(text),
            None => environment::secret_is(reference, text),
        }
    }
}

impl SecretSource for Secrets {
    async fn resolve(
        &self,
        reference: &CredentialRef,
        scope: &SecretScope,
        deadline: Deadline,
    ) -> Result<Secret, SecretRefusal> {
        match self.declared.get(reference) {
            Some(declared) => declared.resolve(reference, scope, self.start.as_deref(), deadline).await,
            None => self.environment.resolve(reference, scope, deadline).await,
        }
    }

    fn holds(&self, text: &str) -> bool {
        self.environment.holds(text) || self.declared.values().any(|declared| declared.is(text))
    }
}
