//! Work that all formats share: which files they make of which runs, and which of them are there.

use std::collections::BTreeMap;
use std::path::PathBuf;

use cuebook_grammar::outcome::ArtifactRef;
use serde::Serialize;

use crate::error::ExportError;
use crate::folder::{Folder, Part, Unit};
use crate::format::{Format, Redaction};
use crate::locating;
use crate::source::{ExportEntry, Pages, Reader, RunSource, digest};

/// Options of an export and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The format of the export.
    pub format: Format,
    /// Redaction: which data is removed.
    pub redaction: Redaction,
    /// The folder: empty, missing, or one that an export of this format and redaction wrote.
    pub out: PathBuf,
    /// Removes an export that is there, and makes it again.
    pub rewrite: bool,
    /// Chats of training data have the picture of the page, where the run kept one. Other formats ignore it.
    pub pictures: bool,
}

/// Result of an export: counts and problems.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Exported {
    /// Runs that are in the export now.
    pub runs: usize,
    /// Files that were written, relative to the folder.
    pub written: Vec<String>,
    /// Files that were whole already.
    pub kept: usize,
    /// Descriptions of runs and entries that could not be read. Entries before the unreadable one in its log are
    /// exported.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unreadable: Vec<String>,
}

/// A format of which a line is a record.
pub(crate) trait Lines {
    /// Writes the records of the next entry of a run, and any files that go with them.
    fn take(&mut self, run: &RunSource, seen: ExportEntry, pages: &Pages, out: &mut Out<'_>)
    -> Result<(), ExportError>;

    /// Distinguishes exports of the same runs that differ by an option; empty for the usual one.
    fn variant(&self) -> &'static str {
        ""
    }

    /// Writes the records that remain at the end of a run.
    fn end(&mut self, _run: &RunSource, _out: &mut Out<'_>) -> Result<(), ExportError> {
        Ok(())
    }

    /// Writes the records that remain at the end of all runs.
    fn finish(&mut self, _out: &mut Out<'_>) -> Result<(), ExportError> {
        Ok(())
    }
}

/// Destination of records: the file of lines, and further files of the same unit.
pub(crate) struct Out<'a> {
    folder: &'a Folder,
    lines: &'a mut Part,
    /// Other files of the unit, by name.
    others: &'a mut BTreeMap<String, Part>,
    redaction: Redaction,
}

impl Out<'_> {
    pub(crate) fn line(&mut self, value: &impl Serialize) -> Result<(), ExportError> {
        self.lines.line(value)
    }

    /// Text in the place of lines.
    pub(crate) fn text(&mut self, text: &str) -> Result<(), ExportError> {
        self.lines.write(text.as_bytes())
    }

    /// A line of another file. `name` is of plain parts.
    pub(crate) fn append(&mut self, name: &str, value: &impl Serialize) -> Result<(), ExportError> {
        if !self.others.contains_key(name) {
            self.others.insert(name.to_owned(), self.folder.file(name)?);
        }
        self.others.get_mut(name).map_or(Ok(()), |part| part.line(value))
    }

    /// Returns the redaction that says which data is removed.
    pub(crate) const fn redaction(&self) -> Redaction {
        self.redaction
    }

    /// Copies a picture of a run into a folder, by its digest. Returns its path; `None` if it cannot be read or the
    /// redaction removes it.
    pub(crate) fn picture(
        &mut self,
        run: &RunSource,
        picture: &ArtifactRef,
        folder: &str,
    ) -> Result<Option<String>, ExportError> {
        let kept = Some(picture).filter(|_| self.redaction == Redaction::None);
        let Some(bytes) = kept.and_then(|picture| run.picture(picture)) else { return Ok(None) };
        // The digest was compared with the content, so it is a plain name.
        let name = format!("{folder}/{}.{}", picture.sha256, locating::extension(&picture.media_type));
        self.file(&name, &bytes)?;
        Ok(Some(name))
    }

    /// Another file, written once. `name` is of plain parts.
    pub(crate) fn file(&mut self, name: &str, content: &[u8]) -> Result<(), ExportError> {
        if !self.others.contains_key(name) {
            let mut part = self.folder.file(name)?;
            part.write(content)?;
            self.others.insert(name.to_owned(), part.closed()?);
        }
        Ok(())
    }
}

/// An export under way.
pub(crate) struct Job<'a> {
    pub(crate) folder: Folder,
    pub(crate) redaction: Redaction,
    pub(crate) exported: Exported,
    progress: &'a mut dyn FnMut(usize, usize),
    total: usize,
    read: usize,
}

impl<'a> Job<'a> {
    /// An export of so many runs into a folder.
    pub(crate) fn new(
        folder: Folder,
        redaction: Redaction,
        exported: Exported,
        progress: &'a mut dyn FnMut(usize, usize),
    ) -> Self {
        Self { folder, redaction, total: exported.runs, exported, progress, read: 0 }
    }
}

impl Job<'_> {
    /// Reads a run. What cannot be read is noted, and returned.
    pub(crate) fn read(&mut self, run: &RunSource, reader: &mut dyn Reader) -> Result<Option<String>, ExportError> {
        let problem = run.read(self.redaction, reader)?;
        self.exported.unreadable.extend(problem.clone());
        self.read += 1;
        (self.progress)(self.read, self.total);
        Ok(problem)
    }

    /// Runs that need not be read.
    pub(crate) fn skip(&mut self, runs: usize) {
        self.read += runs;
        (self.progress)(self.read, self.total);
    }

    /// Lists a unit whose files are complete.
    pub(crate) fn add(&mut self, unit: Unit, parts: Vec<Part>) -> Result<(), ExportError> {
        self.exported.written.extend(parts.iter().map(|part| part.name().to_owned()));
        self.folder.add(unit, parts)
    }

    /// One file of lines for all runs.
    pub(crate) fn lines(&mut self, runs: &[RunSource], name: &str, format: &mut dyn Lines) -> Result<(), ExportError> {
        let inputs = inputs(runs) + format.variant();
        let unit = Unit { name: name.to_owned(), inputs, ..Unit::default() };
        if self.is_kept(&unit, runs.len()) {
            return Ok(());
        }
        let mut lines = self.folder.file(name)?;
        let mut others = BTreeMap::new();
        let redaction = self.redaction;
        let mut out = Out { folder: &self.folder, lines: &mut lines, others: &mut others, redaction };
        for run in runs {
            let problem = run.read(redaction, &mut |seen, pages: &Pages| format.take(run, seen, pages, &mut out))?;
            format.end(run, &mut out)?;
            self.exported.unreadable.extend(problem);
            self.read += 1;
            (self.progress)(self.read, self.total);
        }
        format.finish(&mut out)?;
        self.folder.remove(name)?;
        self.add(unit, others.into_values().chain([lines]).collect())
    }

    /// One file for each run.
    pub(crate) fn each(
        &mut self,
        runs: &[RunSource],
        extension: &str,
        format: &dyn Fn(&mut Self, &RunSource, &mut Part) -> Result<(), ExportError>,
    ) -> Result<(), ExportError> {
        for run in runs {
            let name = format!("{}.{extension}", run.name());
            let unit = Unit { name: name.clone(), inputs: inputs([run]), ..Unit::default() };
            if !self.is_kept(&unit, 1) {
                let mut part = self.folder.file(&name)?;
                format(self, run, &mut part)?;
                self.add(unit, vec![part])?;
            }
        }
        Ok(())
    }

    /// Returns `true` if a unit is there already. Its files and runs are counted then.
    pub(crate) fn is_kept(&mut self, unit: &Unit, runs: usize) -> bool {
        let is_there = self.folder.has(&unit.name, &unit.inputs);
        if is_there {
            let files = self.folder.units().find(|there| there.name == unit.name).map_or(0, |there| there.files.len());
            self.exported.kept += files;
            self.skip(runs);
        }
        is_there
    }
}

/// Stands for the content of these runs.
pub(crate) fn inputs<'a>(runs: impl IntoIterator<Item = &'a RunSource>) -> String {
    let parts: Vec<Vec<u8>> = runs
        .into_iter()
        .flat_map(|run| [run.id.clone().into_bytes(), run.bytes.to_le_bytes().to_vec(), vec![run.is_refuted.into()]])
        .collect();
    // What an earlier version of this program wrote is not what this one writes.
    digest([env!("CARGO_PKG_VERSION").as_bytes()].into_iter().chain(parts.iter().map(Vec::as_slice)))
}
