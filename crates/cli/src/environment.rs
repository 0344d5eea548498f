//! The one place that reads the environment.

#![expect(clippy::disallowed_methods, reason = "this crate is the composition root, and this its only such file")]

use std::path::PathBuf;

use cuebook_cdp::SearchPlaces;

/// Where a browser may be, as this machine tells.
pub(crate) fn search_places(explicit: Option<PathBuf>) -> SearchPlaces {
    SearchPlaces { explicit, chrome_variable: std::env::var_os("CHROME"), path: std::env::var_os("PATH"), home: home() }
}

fn home() -> Option<PathBuf> {
    std::env::var_os("HOME").or_else(|| std::env::var_os("USERPROFILE")).map(PathBuf::from)
}

/// Where commands are looked for.
pub(crate) fn path() -> Option<std::ffi::OsString> {
    std::env::var_os("PATH")
}

/// Where fresh browser profiles are made. The same for every run of a user, so that the next start finds what a
/// killed one left behind.
pub(crate) fn profile_root() -> PathBuf {
    let user = std::env::var("USER").or_else(|_| std::env::var("USERNAME")).unwrap_or_else(|_| "user".to_owned());
    let safe: String = user.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-' || *c == '_').collect();
    std::env::temp_dir().join(format!("cuebook-{safe}"))
}

/// The secret called `name`: the variable `CUEBOOK_SECRET_NAME`, in capitals, with `_` for what is no letter or digit.
pub(crate) fn secret(name: &str) -> Option<String> {
    let variable: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' }).collect();
    std::env::var(format!("CUEBOOK_SECRET_{variable}")).ok()
}

/// A variable of the environment that is neither unset nor empty.
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.trim().is_empty())
}

/// The names of the secrets that there are, as plans write them: `CUEBOOK_SECRET_SHOP_PASSWORD` is `shop_password`.
pub(crate) fn secret_names() -> Vec<String> {
    let variables = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    let mut names: Vec<String> =
        variables.filter_map(|name| Some(name.strip_prefix("CUEBOOK_SECRET_")?.to_ascii_lowercase())).collect();
    names.retain(|name| !name.is_empty());
    names.sort();
    names
}
