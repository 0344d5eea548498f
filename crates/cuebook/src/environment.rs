//! The environment of the process: locations of browsers and profiles, keys and secrets.
//!
//! No other file of the libraries reads it. The layers below get their values from here.

#![expect(clippy::disallowed_methods, reason = "the one place that reads the environment")]

use std::ffi::OsString;
use std::path::PathBuf;

use cuebook_cdp::SearchPlaces;
use cuebook_grammar::deadline::Deadline;
use cuebook_grammar::id::CredentialRef;
use cuebook_grammar::seam::{SecretRefusal, SecretScope, SecretSource};
use cuebook_grammar::secret::Secret;

/// Adds [`from_env`](FromEnv::from_env) to [`SearchPlaces`], whose own crate does not read the environment.
///
/// ```
/// use cuebook::cdp::SearchPlaces;
/// use cuebook::environment::FromEnv;
///
/// let places = SearchPlaces { explicit: Some("/opt/chrome".into()), ..SearchPlaces::from_env() };
/// ```
pub trait FromEnv {
    /// The places in `$CHROME`, `$PATH` and the home directory.
    #[must_use]
    fn from_env() -> Self;
}

impl FromEnv for SearchPlaces {
    fn from_env() -> Self {
        let home = std::env::var_os("HOME").or_else(|| std::env::var_os("USERPROFILE"));
        let chrome_variable = std::env::var_os("CHROME");
        Self { explicit: None, chrome_variable, path: path(), home: home.map(PathBuf::from) }
    }
}

/// Value of `$PATH`; `None` if it is not set.
#[must_use]
pub fn path() -> Option<OsString> {
    std::env::var_os("PATH")
}

/// The directory for temporary browser profiles. It is the same for every run of a user, so that the next run finds the
/// profile that a killed one left behind.
#[must_use]
pub fn profile_root() -> PathBuf {
    std::env::temp_dir().join(format!("cuebook-{}", user()))
}

/// The directory for the sockets of sessions, which the user alone can enter.
#[must_use]
pub fn session_root() -> PathBuf {
    let shared = || std::env::temp_dir().join(format!("cuebook-{}-sessions", user()));
    variable("XDG_RUNTIME_DIR").map_or_else(shared, |run| PathBuf::from(run).join("cuebook"))
}

/// Who runs this program: its number, which nobody else has. A variable may be unset, or that of whoever became root.
#[cfg(unix)]
fn user() -> String {
    rustix::process::geteuid().as_raw().to_string()
}

#[cfg(not(unix))]
fn user() -> String {
    let user = variable("USERNAME").unwrap_or_else(|| "user".to_owned());
    user.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-' || *c == '_').collect()
}

/// The value of a variable. `None` if it is unset or blank.
#[must_use]
pub fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.trim().is_empty())
}

/// The variables whose names begin with one of `prefixes`, with their values.
#[must_use]
pub fn variables(prefixes: &[&str]) -> Vec<(String, String)> {
    let all =
        std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    all.filter(|(name, _)| prefixes.iter().any(|prefix| name.starts_with(prefix))).collect()
}

/// The names of the available secrets as plans write them: `CUEBOOK_SECRET_SHOP_PASSWORD` is `shop_password`.
#[must_use]
pub fn secret_names() -> Vec<String> {
    let variables = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    let mut names: Vec<String> =
        variables.filter_map(|name| Some(name.strip_prefix(SECRET)?.to_ascii_lowercase())).collect();
    names.retain(|name| !name.is_empty());
    names.sort();
    names
}

const SECRET: &str = "CUEBOOK_SECRET_";

/// The variables whose names say that they hold a secret. A browser that is launched does not inherit them.
pub(crate) fn confidential() -> impl Iterator<Item = OsString> {
    const ENDS: [&str; 5] = ["_KEY", "_TOKEN", "_SECRET", "_PASSWORD", "_CREDENTIALS"];
    let is_confidential = |name: &OsString| {
        let name = name.to_string_lossy().to_ascii_uppercase();
        name.starts_with(SECRET) || ENDS.iter().any(|end| name.ends_with(end))
    };
    std::env::vars_os().map(|(name, _)| name).filter(is_confidential)
}

/// Secrets from variables, for password-like fields of one origin only. The secret `shop` is `CUEBOOK_SECRET_SHOP`: in capitals, with `_` for
/// everything but letters and digits.
///
/// ```no_run
/// use cuebook::environment::EnvironmentSecrets;
/// use cuebook::prelude::*;
///
/// # async fn run() -> Result<(), AgentError> {
/// let secrets = EnvironmentSecrets::on(Some("https://shop.example".to_owned()));
/// let agent = Agent::builder().secrets(secrets).build().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct EnvironmentSecrets {
    origin: Option<String>,
}

impl EnvironmentSecrets {
    /// For fields on pages of `origin`, such as `https://shop.test`. With `None`, every secret is refused.
    #[must_use]
    pub const fn on(origin: Option<String>) -> Self {
        Self { origin }
    }
}

/// Name of the variable that holds a secret: `CUEBOOK_SECRET_SHOP` for `shop`.
pub(crate) fn variable_of(reference: &CredentialRef) -> String {
    let in_capitals = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
    SECRET.chars().chain(reference.as_str().chars().map(in_capitals)).collect()
}

/// Returns `true` if a text is the value of this secret of the environment.
pub(crate) fn secret_is(reference: &CredentialRef, text: &str) -> bool {
    std::env::var_os(variable_of(reference)).is_some_and(|value| value == text)
}

impl SecretSource for EnvironmentSecrets {
    async fn resolve(
        &self,
        reference: &CredentialRef,
        scope: &SecretScope,
        _: Deadline,
    ) -> Result<Secret, SecretRefusal> {
        let bound_here = self.origin.as_deref() == Some(scope.origin.as_str()) && scope.page_origin == scope.origin;
        if !bound_here {
            return Err(SecretRefusal::OutOfScope { reference: reference.clone(), origin: scope.origin.clone() });
        }
        if !scope.is_password_field {
            return Err(SecretRefusal::NotHidden { reference: reference.clone() });
        }
        let value = std::env::var(variable_of(reference)).ok();
        value.map(Secret::new).ok_or_else(|| SecretRefusal::Unknown(reference.clone()))
    }

    fn holds(&self, text: &str) -> bool {
        let is_secret = |name: OsString| name.into_string().is_ok_and(|name| name.starts_with(SECRET));
        std::env::vars_os().any(|(name, value)| value == text && is_secret(name))
    }
}
