//! The file that declares secrets.
//!
//! Invariant: it is read only if nobody but its owner, who runs this program, may read or write it.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use cuebook_grammar::id::CredentialRef;
use cuebook_grammar::secret::{MASK, Secret};
use serde::Deserialize;
use zeroize::Zeroizing;

use super::declared::{Declared, Fields, Source};
use super::one_time::OneTime;

/// The most bytes of a file.
const LONGEST: usize = 1 << 20;

/// Why a file of secrets was refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SecretsError {
    /// It cannot be read.
    #[error("{} cannot be read", path.display())]
    Unreadable {
        /// File that could not be opened or read.
        path: PathBuf,
        /// I/O error, such as a missing file.
        source: std::io::Error,
    },
    /// Others may read or write it, or it is another user's.
    #[error(
        "{} is not yours alone: it has mode {mode:o} and user {owner} (`chmod 600` closes it)",
        path.display()
    )]
    Open {
        /// File whose mode or owner is refused.
        path: PathBuf,
        /// Unix permission bits, such as `0o644`; none may be set for group and others.
        mode: u32,
        /// Numeric user id of the owner.
        owner: u32,
    },
    /// It is not TOML, or not of this form.
    #[error("{}{}: {message}", path.display(), line.map(|line| format!(" line {line}")).unwrap_or_default())]
    Malformed {
        /// File that could not be parsed.
        path: PathBuf,
        /// 1-based line; `None` if it is about the whole.
        line: Option<usize>,
        /// Description of the problem, without any value.
        message: String,
    },
    /// A secret is declared in a way that makes no sense.
    #[error("{}: the secret `{name}`: {expected}", path.display())]
    Entry {
        /// File that declares the secret.
        path: PathBuf,
        /// Name of the secret.
        name: String,
        /// Description of a valid declaration.
        expected: &'static str,
    },
}

/// An entry as the file has it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    value: Option<String>,
    variable: Option<String>,
    command: Option<Vec<String>>,
    #[cfg(feature = "keyring")]
    keyring: Option<super::vault::Entry>,
    #[cfg(not(feature = "keyring"))]
    keyring: Option<toml::Value>,
    #[serde(default)]
    origins: Vec<String>,
    #[serde(default)]
    fields: Fields,
    #[serde(default)]
    totp: bool,
}

/// The secrets that the file declares.
pub(super) fn read(path: &Path) -> Result<BTreeMap<CredentialRef, Declared>, SecretsError> {
    let unreadable = |source| SecretsError::Unreadable { path: path.to_owned(), source };
    let malformed = |line, message| SecretsError::Malformed { path: path.to_owned(), line, message };
    let file = File::open(path).map_err(unreadable)?;
    closed(&file, path)?;
    // As large as it may become: a buffer that grows leaves copies behind.
    let mut text = Zeroizing::new(String::with_capacity(LONGEST + 1));
    file.take(LONGEST as u64 + 1).read_to_string(&mut text).map_err(unreadable)?;
    if text.len() > LONGEST {
        return Err(malformed(None, format!("expected at most {LONGEST} bytes")));
    }
    let entries: BTreeMap<String, Entry> = toml::from_str(&text).map_err(|error| {
        let line = error.span().and_then(|span| text.get(..span.start)).map(|before| before.lines().count().max(1));
        malformed(line, without_quotes(error.message()))
    })?;
    let declared = |(name, entry): (String, Entry)| {
        let reference = reference(&name);
        let declared = declared(entry).and_then(|declared| Ok((reference?, declared)));
        declared.map_err(|expected| SecretsError::Entry { path: path.to_owned(), name, expected })
    };
    entries.into_iter().map(declared).collect()
}

fn reference(name: &str) -> Result<CredentialRef, &'static str> {
    let is_name = !name.is_empty()
        && name.len() <= 100
        && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'_' | b'-' | b'.'));
    if is_name { Ok(CredentialRef::new(name)) } else { Err("expected a name of a-z, 0-9, `_`, `-` and `.`") }
}

fn declared(entry: Entry) -> Result<Declared, &'static str> {
    #[cfg(not(feature = "keyring"))]
    if entry.keyring.is_some() {
        return Err("this build reads no keyring: cargo install cuebook-cli --features keyring");
    }
    let sources = [
        entry.value.map(|value| Source::Value(Secret::new(value))),
        entry.variable.map(Source::Variable),
        entry.command.map(Source::Command),
        #[cfg(feature = "keyring")]
        entry.keyring.map(Source::Keyring),
    ];
    let mut sources = sources.into_iter().flatten();
    let (Some(source), None) = (sources.next(), sources.next()) else {
        return Err("expected exactly one of `value`, `variable`, `command` and `keyring`");
    };
    match &source {
        Source::Value(value) if value.expose().is_empty() => return Err("the value is empty"),
        Source::Command(words) if words.first().is_none_or(String::is_empty) => {
            return Err("the command is empty, not a list of words");
        }
        _ => {}
    }
    let is_origin = |text: &String| {
        let is_same =
            |url: url::Url| matches!(url.scheme(), "http" | "https") && url.origin().ascii_serialization() == *text;
        !text.contains('*') && url::Url::parse(text).is_ok_and(is_same)
    };
    if !entry.origins.iter().all(is_origin) {
        return Err("expected exact origins in `origins`, such as https://shop.example");
    }
    let one_time = entry.totp.then(OneTime::default);
    Ok(Declared { source, origins: entry.origins, fields: entry.fields, one_time })
}

/// Returns the message of a parser, without the parts of the file that it quotes.
fn without_quotes(message: &str) -> String {
    match (message.split_once('"'), message.rsplit_once('"')) {
        (Some((before, _)), Some((_, after))) => format!("{before}{MASK}{after}"),
        _ => message.to_owned(),
    }
}

/// Checks that the file is closed to all but its owner. It is judged as it was opened: another file may have its name
/// since then.
#[cfg(unix)]
fn closed(file: &File, path: &Path) -> Result<(), SecretsError> {
    use std::os::unix::fs::MetadataExt as _;

    let seen = file.metadata().map_err(|source| SecretsError::Unreadable { path: path.to_owned(), source })?;
    let (mode, owner) = (seen.mode() & 0o7777, seen.uid());
    if mode & 0o077 != 0 || owner != rustix::process::geteuid().as_raw() {
        return Err(SecretsError::Open { path: path.to_owned(), mode, owner });
    }
    Ok(())
}

/// The lists of access of other systems are not judged.
#[cfg(not(unix))]
fn closed(_: &File, _: &Path) -> Result<(), SecretsError> {
    Ok(())
}
