//! The recordings of a suite: one file a case, in a folder beside the suite, to be committed with it.

use std::fs;
use std::path::{Path, PathBuf};

use cuebook_datalayer::replay::Recording;
use cuebook_grammar::report::ErrorCode;
use cuebook_grammar::wire::ShortText;

use super::file::{Case, slug, stable_hash};
use crate::exit::Refusal;
use crate::input;
use crate::text::plain;

/// Folder of a suite's recordings, created at the first write.
pub(crate) struct Recordings {
    folder: PathBuf,
}

impl Recordings {
    /// Of `checkout.toml` it is `checkout.recordings`.
    pub(crate) fn beside(suite: &Path) -> Self {
        Self { folder: suite.with_extension("recordings") }
    }

    pub(crate) fn path(&self, case: &Case) -> PathBuf {
        self.folder.join(slug(&case.name) + ".json")
    }

    /// The recording of a case; `None` if there is none, or if the case told another story when it was made.
    pub(crate) fn read(&self, case: &Case) -> Result<Option<Recording>, Refusal> {
        let path = self.path(case);
        if !path.exists() {
            return Ok(None);
        }
        let recording = Recording::read(&input::text(&path)?).map_err(|error| {
            let message = format!("{} is not a recording: {error}; delete it to record again", path.display());
            Refusal::invalid(ErrorCode::Malformed, plain(&message))
        })?;
        let is_own = recording.plan.plan_id.as_ref().is_some_and(|id| id.as_str() == story(case));
        Ok(is_own.then(|| recording.starting_on(&case.url)))
    }

    /// Writes the recording of a case, in one move.
    pub(crate) fn write(&self, case: &Case, mut recording: Recording) -> Result<(), Refusal> {
        recording.plan.plan_id = Some(ShortText::cut(&story(case)));
        let path = self.path(case);
        let write = || {
            fs::create_dir_all(&self.folder)?;
            let part = path.with_extension("part");
            fs::write(&part, serde_json::to_string_pretty(&recording)? + "\n")?;
            fs::rename(&part, &path)
        };
        write().map_err(|error: std::io::Error| {
            Refusal::unusable(ErrorCode::CannotWrite, plain(&format!("{}: {error}", path.display())))
        })
    }
}

/// Stands for what a recording was made from: with another narrative or plan, a case is recorded again.
fn story(case: &Case) -> String {
    let plan = case.plan.as_ref().and_then(|plan| fs::read(plan).ok()).unwrap_or_default();
    let told = [case.narrative.as_bytes(), &plan].join(&0);
    format!("case-{:016x}", stable_hash(&told))
}
