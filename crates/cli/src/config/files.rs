//! The files of a configuration: where they are, what they say, and which of them are trusted.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Component, Path, PathBuf};

use cuebook::environment;
use cuebook_grammar::report::ErrorCode;
use toml_edit::{DocumentMut, Item};

use super::fields::{Table, canonical};
use super::reach::Reach;
use super::value;
use crate::exit::Refusal;
use crate::text::plain;

/// Name of the file of a project.
pub(crate) const PROJECT_FILE: &str = "cuebook.toml";
/// The largest file that is read, in bytes.
const LIMIT: u64 = 256 * 1024;
/// Key of the user's file: folders whose own files may widen what a run may do.
pub(crate) const TRUST: &str = "trust";

/// Where a file stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    User,
    Project,
}

impl Kind {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Project => "project",
        }
    }
}

/// Where to look for files.
#[derive(Clone, Debug, Default)]
pub(crate) struct Places {
    /// The user's file, which may be missing.
    pub(crate) user: Option<PathBuf>,
    /// `true` if the file must be there, since a variable names it.
    pub(crate) is_named: bool,
    /// The folder of the project's file, which may be missing.
    pub(crate) project: Option<PathBuf>,
    pub(crate) home: Option<PathBuf>,
}

impl Places {
    /// The usual places, or those that `CUEBOOK_CONFIG` names: a file for the user, or `none` for no file at all.
    pub(crate) fn of_this_process() -> Self {
        let home = dirs::home_dir();
        let here = std::env::current_dir().and_then(|here| here.canonicalize()).ok();
        let project = here.map(|here| project_of(&here));
        match environment::variable("CUEBOOK_CONFIG") {
            Some(named) if named == "none" => Self { home, ..Self::default() },
            Some(named) => Self { user: Some(named.into()), is_named: true, project, home },
            None => {
                let user = dirs::config_dir().map(|folder| folder.join("cuebook").join("config.toml"));
                Self { user, is_named: false, project, home }
            }
        }
    }

    /// The file of the project, which may be missing.
    pub(crate) fn project_file(&self) -> Option<PathBuf> {
        self.project.as_ref().map(|folder| folder.join(PROJECT_FILE))
    }
}

/// The folder with the file of a project: this one or the next one up that has one, within the repository; without a
/// repository this one.
fn project_of(here: &Path) -> PathBuf {
    let has_file = |folder: &&Path| folder.join(PROJECT_FILE).symlink_metadata().is_ok();
    let Some(root) = here.ancestors().find(|folder| folder.join(".git").exists()) else { return here.to_owned() };
    let found = here.ancestors().take_while(|folder| folder.starts_with(root)).find(has_file);
    found.unwrap_or(root).to_owned()
}

/// Why a file cannot be used.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) path: PathBuf,
    pub(crate) why: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", plain(&self.path.display().to_string()), plain(&self.why))
    }
}

impl From<Fault> for Refusal {
    fn from(fault: Fault) -> Self {
        Self::invalid(ErrorCode::Usage, fault.to_string())
    }
}

/// A file that was read.
#[derive(Clone, Debug)]
pub(crate) struct Layer {
    pub(crate) path: PathBuf,
    pub(crate) kind: Kind,
    /// `true` if it may widen what a run may do.
    pub(crate) is_trusted: bool,
}

/// A value of a file.
#[derive(Clone, Debug)]
pub(crate) struct Setting {
    /// The key as the file has it: `timeout`, or `run.timeout` in the table of a command.
    pub(crate) key: String,
    /// The words that stand for it on a command line.
    pub(crate) words: Vec<String>,
    /// Index of its file: a later one outweighs an earlier one.
    pub(crate) layer: usize,
}

/// A key of a file that has no effect.
#[derive(Clone, Debug)]
pub(crate) struct Ignored {
    pub(crate) key: String,
    pub(crate) path: PathBuf,
    pub(crate) why: &'static str,
}

/// The values of all files.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    pub(crate) layers: Vec<Layer>,
    pub(crate) settings: Vec<Setting>,
    pub(crate) ignored: Vec<Ignored>,
    /// Folders that the user trusts, as written.
    pub(crate) trusted: Vec<PathBuf>,
}

impl Settings {
    /// Reads the files.
    ///
    /// # Errors
    /// The first one that cannot be read or used. A file that is missing is fine, unless a variable names it.
    pub(crate) fn read(places: &Places, table: &Table) -> Result<Self, Fault> {
        let mut settings = Self::default();
        if let Some(path) = &places.user {
            match document(path)? {
                Some(document) => settings.add(path, Kind::User, &document, places, table)?,
                None if places.is_named => {
                    let why = "CUEBOOK_CONFIG names this file, which does not exist".to_owned();
                    return Err(Fault { path: path.clone(), why });
                }
                None => {}
            }
        }
        if let Some(path) = places.project_file()
            && let Some(document) = document(&path)?
        {
            settings.add(&path, Kind::Project, &document, places, table)?;
        }
        Ok(settings)
    }

    /// The value for a key in a command: that of the later file, and in it that of the command's own table.
    pub(crate) fn find(&self, command: &str, key: &str) -> Option<&Setting> {
        let own = format!("{command}.{key}");
        let found = self.settings.iter().filter(|setting| setting.key == key || setting.key == own);
        found.max_by_key(|setting| (setting.layer, setting.key == own))
    }

    /// Notes about keys that have no effect on a command that has them: a line for each file.
    pub(crate) fn notes(&self, command: &str, table: &Table) -> Vec<String> {
        let concerns = |ignored: &&Ignored| match ignored.key.split_once('.') {
            Some((section, _)) => section == canonical(command),
            None => table
                .fields
                .get(&ignored.key)
                .is_none_or(|field| field.commands.is_empty() || field.commands.contains(canonical(command))),
        };
        let mut keys: BTreeMap<&Path, Vec<String>> = BTreeMap::new();
        for ignored in self.ignored.iter().filter(concerns) {
            keys.entry(&ignored.path).or_default().push(format!("`{}`", plain(&ignored.key)));
        }
        let note = |(path, keys): (&Path, Vec<String>)| {
            let path = plain(&path.display().to_string());
            let keys = keys.join(", ");
            format!("note: {path} has no effect on {keys}: this folder is not trusted (`cuebook config show` says why)")
        };
        keys.into_iter().map(note).collect()
    }

    fn add(
        &mut self,
        path: &Path,
        kind: Kind,
        document: &DocumentMut,
        places: &Places,
        table: &Table,
    ) -> Result<(), Fault> {
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        let is_trusted = kind == Kind::User || self.trusted.contains(&folder);
        let layer = self.layers.len();
        self.layers.push(Layer { path: path.to_owned(), kind, is_trusted });
        let fault = |why: String| Fault { path: path.to_owned(), why };
        for (name, item) in document.as_table() {
            if name == TRUST {
                match kind {
                    Kind::User => self.trusted = trusted(item, places).map_err(fault)?,
                    Kind::Project => {
                        let why = "only the file of the user says which folders are trusted";
                        self.ignored.push(Ignored { key: name.to_owned(), path: path.to_owned(), why });
                    }
                }
                continue;
            }
            if item.is_table_like() && canonical(name) != name {
                let why = format!("the settings of `cuebook {name}` stand in [{}], not in [{name}]", canonical(name));
                return Err(fault(why));
            }
            let entries = match item.as_table_like().filter(|_| table.sections.contains(name)) {
                Some(inner) => inner.iter().map(|(key, item)| (format!("{name}.{key}"), item)).collect(),
                None if table.sections.contains(name) => {
                    return Err(fault(format!("[{name}] is the table of a command, and it is no table here")));
                }
                None => vec![(name.to_owned(), item)],
            };
            for (key, item) in entries {
                self.set(key, item, layer, &folder, places, table).map_err(fault)?;
            }
        }
        Ok(())
    }

    fn set(
        &mut self,
        key: String,
        item: &Item,
        layer: usize,
        folder: &Path,
        places: &Places,
        table: &Table,
    ) -> Result<(), String> {
        let Some(field) = table.find(&key) else {
            let nearest = table.nearest(&key).map_or_else(String::new, |near| format!("; the nearest is `{near}`"));
            return Err(format!("unknown key `{key}`{nearest} (`cuebook config show --all` lists them)"));
        };
        let Some(Layer { path, is_trusted, .. }) = self.layers.get(layer) else { return Ok(()) };
        let ignored = |why: &'static str| Ignored { key: key.clone(), path: path.clone(), why };
        if let (Reach::Trusted(why), false) = (field.reach, is_trusted) {
            let ignored = ignored(why);
            self.ignored.push(ignored);
            return Ok(());
        }
        let in_key = |why: String| format!("`{key}`: {why}");
        let mut words = value::words(field, item).map_err(in_key)?;
        if field.is_path() {
            for word in &mut words {
                *word = resolved(word, folder, places.home.as_deref()).map_err(in_key)?;
                if field.reach == Reach::Inside && !is_trusted && !is_inside(Path::new(word), folder) {
                    let ignored = ignored("it leads out of the folder");
                    self.ignored.push(ignored);
                    return Ok(());
                }
            }
        }
        value::check(field, &words).map_err(in_key)?;
        self.settings.push(Setting { key, words, layer });
        Ok(())
    }
}

/// Reads a document; `None` if there is no such file.
pub(crate) fn document(path: &Path) -> Result<Option<DocumentMut>, Fault> {
    let fault = |why: String| Fault { path: path.to_owned(), why };
    let text = match text(path, LIMIT) {
        Ok(text) => text,
        Err(error) if is_missing(path, &error) => return Ok(None),
        Err(error) => return Err(fault(error.to_string())),
    };
    parsed(&text).map(Some).map_err(fault)
}

/// A file below a file is missing, too; a link that leads nowhere is not.
fn is_missing(path: &Path, error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) && path.symlink_metadata().is_err()
}

/// Reads a document of TOML.
pub(super) fn parsed(text: &str) -> Result<DocumentMut, String> {
    text.parse().map_err(|error: toml_edit::TomlError| {
        let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
        format!("line {}: not TOML: {}", before.matches('\n').count() + 1, error.message())
    })
}

/// Reads a file of text up to a size. Nothing but a file is opened, which a pipe might not be done with.
pub(crate) fn text(path: &Path, limit: u64) -> io::Result<String> {
    let refused = |why: String| io::Error::new(io::ErrorKind::InvalidData, why);
    if !path.metadata()?.is_file() {
        return Err(refused("it is not a file".to_owned()));
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Err(refused(format!("it is larger than {} kB", limit / 1024)));
    }
    String::from_utf8(bytes).map_err(|_| refused("it is not text in UTF-8".to_owned()))
}

fn trusted(item: &Item, places: &Places) -> Result<Vec<PathBuf>, String> {
    let expected = || format!("`{TRUST}`: expected an array of absolute paths");
    let paths = item.as_array().ok_or_else(expected)?.iter().map(|path| {
        let path = with_home(path.as_str().ok_or_else(expected)?, places.home.as_deref())?;
        if path.is_absolute() { Ok(path) } else { Err(expected()) }
    });
    paths.collect()
}

/// A path of a file: relative to its folder, and `~/` below the home of the user.
fn resolved(word: &str, folder: &Path, home: Option<&Path>) -> Result<String, String> {
    let path = folder.join(with_home(word, home)?);
    path.into_os_string().into_string().map_err(|path| format!("{} is not text", path.display()))
}

fn with_home(word: &str, home: Option<&Path>) -> Result<PathBuf, String> {
    match (word.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => Ok(home.join(rest)),
        (Some(_), None) => Err(format!("{word:?} is below the home of the user, and there is none")),
        (None, _) => Ok(word.into()),
    }
}

/// `true` if a path stays below a folder, through links too. What does not exist yet is as its nearest parent.
pub(crate) fn is_inside(path: &Path, folder: &Path) -> bool {
    let has_parent = path.components().any(|part| part == Component::ParentDir);
    let existing = path.ancestors().find(|part| part.symlink_metadata().is_ok());
    let (Ok(folder), Some(Ok(existing))) = (folder.canonicalize(), existing.map(Path::canonicalize)) else {
        return false;
    };
    !has_parent && existing.starts_with(folder)
}
