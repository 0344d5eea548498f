//! Verdicts of an evaluation about its runs: a run that says it did its task may not have.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use cuebook_datalayer::RunDir;
use serde::Deserialize;

/// The results of an evaluation, in the folder that holds the folder of its runs.
const RESULTS: &str = "episodes.jsonl";

/// The members of a result that are read.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Episode {
    outcome: String,
    run_dir: Option<PathBuf>,
}

/// Evaluations that were read, by folder: the names of their silently wrong runs.
#[derive(Default)]
pub(crate) struct Judged(HashMap<PathBuf, HashSet<PathBuf>>);

impl Judged {
    /// Returns `true` if a run is of an evaluation whose judges found that its task was not done, though it says so.
    ///
    /// # Errors
    /// Results that cannot be read, in words.
    pub(crate) fn refutes(&mut self, run: &RunDir) -> Result<bool, String> {
        let path = run.path();
        let (Some(name), Some(evaluation)) = (path.file_name(), path.parent().and_then(Path::parent)) else {
            return Ok(false);
        };
        if !self.0.contains_key(evaluation) {
            self.0.insert(evaluation.to_owned(), silently_wrong(&evaluation.join(RESULTS))?);
        }
        Ok(self.0.get(evaluation).is_some_and(|wrong| wrong.contains(Path::new(name))))
    }
}

/// The folders' names of the runs that a file of results calls silently wrong; a line that is cut off says nothing.
fn silently_wrong(results: &Path) -> Result<HashSet<PathBuf>, String> {
    if !results.is_file() {
        return Ok(HashSet::new());
    }
    let text = fs::read_to_string(results).map_err(|error| format!("{}: {error}", results.display()))?;
    let episodes = text.lines().filter_map(|line| serde_json::from_str::<Episode>(line).ok());
    let wrong = episodes.filter(|episode| episode.outcome == "silentlyWrong");
    Ok(wrong.filter_map(|episode| Some(episode.run_dir?.file_name()?.into())).collect())
}
