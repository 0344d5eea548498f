//! The results of an evaluation on disk: a line of JSON for each episode.
//!
//! Invariant: a result is durable before the next episode of its worker begins. What was interrupted has none and is run
//! again.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};

use crate::episode::{EpisodeKey, EpisodeResult};
use crate::error::EvalError;

/// The file of results in the directory of an evaluation.
const RESULTS: &str = "episodes.jsonl";

/// The results so far, in memory and on disk.
pub(crate) struct Ledger {
    file: Option<(PathBuf, File)>,
    pub(crate) results: Vec<EpisodeResult>,
    pub(crate) done: BTreeSet<EpisodeKey>,
    /// How many were added.
    pub(crate) fresh: usize,
}

impl Ledger {
    pub(crate) fn open(out: Option<&Path>) -> Result<Self, EvalError> {
        let mut ledger = Self { file: None, results: Vec::new(), done: BTreeSet::new(), fresh: 0 };
        let Some(out) = out else { return Ok(ledger) };
        let failed = |source| EvalError::File { path: out.to_owned(), source };
        std::fs::create_dir_all(out).map_err(failed)?;
        let path = out.join(RESULTS);
        if path.exists() {
            for result in read_results(&path)? {
                ledger.remember(result, &path)?;
            }
        }
        let file = OpenOptions::new().create(true).append(true).open(&path).map_err(failed)?;
        // A line that was cut off by a crash is not continued.
        ledger.file = Some((path, file));
        if let Some((path, file)) = &mut ledger.file
            && !ends_with_newline(path)
        {
            file.write_all(b"\n").map_err(failed)?;
        }
        Ok(ledger)
    }

    fn remember(&mut self, result: EpisodeResult, path: &Path) -> Result<(), EvalError> {
        if !self.done.insert(result.key()) {
            return Err(EvalError::Twice { key: result.key().to_string(), path: path.to_owned() });
        }
        self.results.push(result);
        Ok(())
    }

    pub(crate) fn add(&mut self, result: EpisodeResult) -> Result<(), EvalError> {
        let path = self.file.as_ref().map_or_else(PathBuf::new, |(path, _)| path.clone());
        if let Some((path, file)) = &mut self.file {
            let failed = |source: std::io::Error| EvalError::File { path: path.clone(), source };
            let mut line = serde_json::to_vec(&result).map_err(|error| failed(error.into()))?;
            line.push(b'\n');
            file.write_all(&line).and_then(|()| file.sync_data()).map_err(failed)?;
        }
        self.fresh += 1;
        self.remember(result, &path)
    }
}

fn ends_with_newline(path: &Path) -> bool {
    std::fs::read(path).is_ok_and(|bytes| bytes.last().is_none_or(|last| *last == b'\n'))
}

/// Writes `episodes.jsonl` in a directory, whole or not at all.
pub(crate) fn write_results(dir: &Path, results: &[EpisodeResult]) -> Result<(), EvalError> {
    let path = dir.join(RESULTS);
    let write = || {
        std::fs::create_dir_all(dir)?;
        let lines: Result<Vec<String>, _> = results.iter().map(serde_json::to_string).collect();
        let new = path.with_extension("new");
        std::fs::write(&new, lines?.join("\n") + "\n")?;
        std::fs::rename(&new, &path)
    };
    write().map_err(|source: std::io::Error| EvalError::File { path: path.clone(), source })
}

/// The results in a file, or in `episodes.jsonl` of a directory. A last line that a crash cut off is left out: its episode
/// has no result.
pub(crate) fn read_results(path: &Path) -> Result<Vec<EpisodeResult>, EvalError> {
    let path = if path.is_dir() { path.join(RESULTS) } else { path.to_owned() };
    let failed = |source| EvalError::File { path: path.clone(), source };
    let lines: Result<Vec<String>, _> = BufReader::new(File::open(&path).map_err(failed)?).lines().collect();
    let lines = lines.map_err(failed)?;
    let mut results = Vec::new();
    for (index, line) in lines.iter().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        match serde_json::from_str(line) {
            Ok(result) => results.push(result),
            Err(error) if error.is_eof() => tracing::warn!(line = index + 1, "a result was cut off"),
            Err(source) => return Err(EvalError::Result { path: path.clone(), line: index + 1, source }),
        }
    }
    Ok(results)
}
