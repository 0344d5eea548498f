//! The folder that an export writes, and what in it is whole.
//!
//! Invariants:
//! - The first line of the list states the format and the redaction; a folder has one of each.
//! - A unit is listed without its inputs before its files get their names, and with them afterwards. A unit without is one
//!   that was interrupted: its files are removed.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write as _};
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::ExportError;
use crate::format::{Format, Redaction};

/// The list. Readers of data folders skip names that begin with `_`.
pub(crate) const LIST: &str = "_cuebook-export.jsonl";

/// The list as it stands.
#[derive(Default)]
pub(crate) struct List {
    pub(crate) text: String,
}

impl List {
    /// The list of a folder; empty if there is none.
    pub(crate) fn read(root: &Path) -> Result<Self, ExportError> {
        let path = root.join(LIST);
        match fs::read_to_string(&path) {
            Ok(text) => Ok(Self { text }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(ExportError::io(&path)(error)),
        }
    }

    /// Its lines, without one that is torn.
    pub(crate) fn lines(&self) -> impl Iterator<Item = &str> {
        self.text.split_inclusive('\n').filter(|line| line.ends_with('\n'))
    }

    fn head(&self) -> Option<Head> {
        self.lines().next().and_then(|line| serde_json::from_str(line).ok())
    }

    /// The format and the redaction of the export; `None` if the folder holds none, or an unreadable list.
    pub(crate) fn holds(&self) -> Option<(Format, Redaction)> {
        self.head().map(|head| (head.format, head.redaction))
    }

    /// The units that have files, by name.
    pub(crate) fn units(&self) -> BTreeMap<String, Unit> {
        let units = self.lines().skip(1).filter_map(|line| serde_json::from_str::<Unit>(line).ok());
        let mut units: BTreeMap<String, Unit> = units.map(|unit| (unit.name.clone(), unit)).collect();
        units.retain(|_, unit| !unit.files.is_empty());
        units
    }
}

#[derive(PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Head {
    format: Format,
    redaction: Redaction,
}

/// Files that are written together, or not at all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Unit {
    /// Its name in the list.
    pub(crate) name: String,
    /// Stands for everything that it was made from; empty while its files get their names.
    pub(crate) inputs: String,
    /// Its files, relative to the folder. None if it was removed.
    pub(crate) files: Vec<String>,
    /// The ids of its runs and the lengths of their logs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) runs: Vec<(String, u64)>,
}

pub(crate) struct Folder {
    root: PathBuf,
    list: File,
    units: BTreeMap<String, Unit>,
}

impl Folder {
    /// Opens the folder, which is created if it is missing. With `rewrite`, an export that is there is removed.
    pub(crate) fn open(root: &Path, format: Format, redaction: Redaction, rewrite: bool) -> Result<Self, ExportError> {
        fs::create_dir_all(root).map_err(ExportError::io(root))?;
        let path = root.join(LIST);
        let head = Head { format, redaction };
        let list = List::read(root)?;
        let (there, mut units) = (list.head(), list.units());
        if path.is_file() {
            if rewrite {
                remove(root, units.values())?;
                fs::remove_file(&path).map_err(ExportError::io(&path))?;
                units.clear();
            } else if there.as_ref() != Some(&head) {
                let seen = there.map_or_else(
                    || "an unreadable list".to_owned(),
                    |there| format!("a {} export with redaction {}", there.format.as_str(), there.redaction.as_str()),
                );
                return Err(other(root, &head, seen));
            } else {
                // A torn line must not become a part of the next one.
                let whole = list.text.rfind('\n').map_or(0, |end| end + 1) as u64;
                let list = OpenOptions::new().write(true).open(&path).map_err(ExportError::io(&path))?;
                list.set_len(whole).map_err(ExportError::io(&path))?;
                remove(root, units.values().filter(|unit| unit.inputs.is_empty()))?;
                units.retain(|_, unit| !unit.inputs.is_empty());
            }
        } else if fs::read_dir(root).map_err(ExportError::io(root))?.next().is_some() {
            return Err(other(root, &head, "other files".to_owned()));
        }
        let is_new = !path.exists();
        let list = OpenOptions::new().append(true).create(true).open(&path).map_err(ExportError::io(&path))?;
        let mut folder = Self { root: root.to_owned(), list, units };
        if is_new {
            folder.say(&head)?;
        }
        Ok(folder)
    }

    /// Returns the units that are whole.
    pub(crate) fn units(&self) -> impl Iterator<Item = &Unit> {
        self.units.values()
    }

    /// Returns `true` if a unit is there with all its files, made from the same inputs.
    pub(crate) fn has(&self, name: &str, inputs: &str) -> bool {
        let unit = self.units.get(name).filter(|unit| unit.inputs == inputs);
        unit.is_some_and(|unit| unit.files.iter().all(|file| self.root.join(file).is_file()))
    }

    /// A file of a unit that is being written. `name` is relative, of plain parts.
    pub(crate) fn file(&self, name: &str) -> Result<Part, ExportError> {
        Part::create(&self.root, name)
    }

    /// Gives the files their names, in order, and lists the unit.
    pub(crate) fn add(&mut self, mut unit: Unit, parts: Vec<Part>) -> Result<(), ExportError> {
        unit.files = parts.iter().map(|part| part.name.clone()).collect();
        self.say(&Unit { inputs: String::new(), ..unit.clone() })?;
        parts.into_iter().try_for_each(Part::finish)?;
        self.say(&unit)?;
        self.units.insert(unit.name.clone(), unit);
        Ok(())
    }

    /// Removes a unit and its files; does nothing if the list has no such unit.
    pub(crate) fn remove(&mut self, name: &str) -> Result<(), ExportError> {
        let Some(unit) = self.units.remove(name) else { return Ok(()) };
        self.say(&Unit { files: Vec::new(), ..unit.clone() })?;
        remove(&self.root, [&unit])
    }

    fn say(&mut self, line: &impl Serialize) -> Result<(), ExportError> {
        let mut text = serde_json::to_vec(line)?;
        text.push(b'\n');
        let path = self.root.join(LIST);
        self.list.write_all(&text).and_then(|()| self.list.sync_data()).map_err(ExportError::io(&path))
    }
}

fn other(root: &Path, head: &Head, seen: String) -> ExportError {
    let (format, redaction) = (head.format.as_str(), head.redaction.as_str());
    ExportError::OtherExport { path: root.to_owned(), format, redaction, seen }
}

/// Returns `true` if a name is that of a file below the folder.
pub(crate) fn is_below(name: &str) -> bool {
    Path::new(name).components().all(|part| matches!(part, Component::Normal(_)))
}

/// Removes files that a list names, if they are below the folder.
fn remove<'a>(root: &Path, units: impl IntoIterator<Item = &'a Unit>) -> Result<(), ExportError> {
    for file in units.into_iter().flat_map(|unit| &unit.files) {
        let path = root.join(file);
        if is_below(file) && path.is_file() {
            fs::remove_file(&path).map_err(ExportError::io(&path))?;
        }
    }
    Ok(())
}

/// A file under a temporary name. Dropped before its end, it leaves nothing.
pub(crate) struct Part {
    name: String,
    path: PathBuf,
    temporary: PathBuf,
    writer: Option<BufWriter<File>>,
}

impl Part {
    fn create(root: &Path, name: &str) -> Result<Self, ExportError> {
        let path = root.join(name);
        let folder = path.parent().unwrap_or(root);
        fs::create_dir_all(folder).map_err(ExportError::io(folder))?;
        let last = path.file_name().unwrap_or_default().to_string_lossy();
        let temporary = folder.join(format!("_{last}.part"));
        let file = File::create(&temporary).map_err(ExportError::io(&temporary))?;
        Ok(Self { name: name.to_owned(), path, temporary, writer: Some(BufWriter::with_capacity(1 << 16, file)) })
    }

    /// A second handle of the same file, for writers that own theirs.
    pub(crate) fn handle(&self) -> Result<File, ExportError> {
        OpenOptions::new().write(true).open(&self.temporary).map_err(ExportError::io(&self.temporary))
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), ExportError> {
        let path = &self.temporary;
        self.writer.as_mut().map_or(Ok(()), |writer| writer.write_all(bytes)).map_err(ExportError::io(path))
    }

    /// One line of JSON.
    pub(crate) fn line(&mut self, value: &impl Serialize) -> Result<(), ExportError> {
        let mut text = serde_json::to_vec(value)?;
        text.push(b'\n');
        self.write(&text)
    }

    /// Its final name, relative to the folder.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Without an open file: for many that wait for their names.
    pub(crate) fn closed(mut self) -> Result<Self, ExportError> {
        self.close()?;
        Ok(self)
    }

    fn close(&mut self) -> Result<(), ExportError> {
        let Some(mut writer) = self.writer.take() else { return Ok(()) };
        let synced = writer.flush().and_then(|()| writer.get_ref().sync_data());
        synced.map_err(ExportError::io(&self.temporary))
    }

    fn finish(mut self) -> Result<(), ExportError> {
        self.close()?;
        fs::rename(&self.temporary, &self.path).map_err(ExportError::io(&self.path))
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        // The name is gone once the file has its own. What cannot be removed is overwritten by the next export.
        let _ = fs::remove_file(&self.temporary);
    }
}
