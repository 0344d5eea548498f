//! Where the sessions of this user are, and which of them a command means.

use std::path::{Path, PathBuf};

use cuebook::environment;
use cuebook_grammar::report::ErrorCode;
use cuebook_grammar::secret::DigestKey;
use cuebook_session::Registry;

use crate::args::SessionName;
use crate::exit::Refusal;

pub(crate) fn registry() -> Result<Registry, Refusal> {
    Registry::at(environment::session_root()).map_err(|error| unreadable(&error))
}

/// The registry, and the name of the session: as stated, or one for the project.
pub(crate) fn place(name: &SessionName) -> Result<(Registry, String), Refusal> {
    let name = name.session.clone().unwrap_or_else(|| named_by(&project()));
    Ok((registry()?, name))
}

/// The folder of the project: the next one up with a repository in it, else this one.
fn project() -> PathBuf {
    let here = std::env::current_dir().unwrap_or_default();
    here.ancestors().find(|folder| folder.join(".git").exists()).unwrap_or(&here).to_owned()
}

/// A name of a folder for people, and a digest of its path that every build computes alike.
fn named_by(folder: &Path) -> String {
    let digest = DigestKey::new([0; 32]).digest(&folder.to_string_lossy());
    let shown = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let shown: String = shown.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').take(20).collect();
    format!("{shown}-{}", digest.as_str().chars().take(8).collect::<String>())
}

/// Refusal of a command on a session that is not open.
pub(crate) fn not_open(registry: &Registry, name: &str) -> Result<Refusal, Refusal> {
    let open: Vec<String> =
        registry.sessions().map_err(|error| unreadable(&error))?.into_iter().map(|entry| entry.name).collect();
    let why = match open.is_empty() {
        true => format!("there is no open session {name}, nor another one; `cuebook start -s {name}` starts it"),
        false => format!("there is no open session {name}; open are {}", open.join(", ")),
    };
    Ok(Refusal::invalid(ErrorCode::Usage, why))
}

pub(crate) fn unreadable(error: &std::io::Error) -> Refusal {
    Refusal::unusable(ErrorCode::Unreadable, format!("the folder of sessions cannot be used: {error}"))
}
