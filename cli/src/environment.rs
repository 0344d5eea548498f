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
