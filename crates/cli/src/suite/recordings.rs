//! The recordings of a suite: one file a case, in a folder beside the suite, to be committed with it.

use std::fs;
use std::path::{Path, PathBuf};

use cuebook_datalayer::replay::{Divergence, DivergenceKind, Recording};
use cuebook_datalayer::{ArtifactStore, RunDir};
use cuebook_grammar::outcome::ArtifactRef;
use cuebook_grammar::report::ErrorCode;
use cuebook_grammar::seam::ArtifactKind;
use cuebook_grammar::wire::ShortText;

use super::file::{Case, slug, stable_hash};
use crate::exit::Refusal;
use crate::input;
use crate::text::{plain, with_sources};

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

    /// The pictures of the recording of a case.
    pub(crate) fn pictures(&self, case: &Case) -> Result<ArtifactStore, Refusal> {
        let path = self.folder.join(slug(&case.name));
        let made = fs::create_dir_all(&path).map_err(|error| cannot_write(&path, &error));
        let dir = made.and_then(|()| {
            RunDir::open(&path).map_err(|error| Refusal::unusable(ErrorCode::Unreadable, with_sources(&error)))
        })?;
        Ok(ArtifactStore::new(&dir, None))
    }

    /// The pictures of a difference: as recorded, now, and where they differ, as far as they are there. `run` is the folder
    /// of the replay.
    pub(crate) fn shown(&self, case: &Case, run: Option<&Path>, one: &Divergence) -> [Option<Vec<u8>>; 3] {
        if one.kind != DivergenceKind::Picture {
            return [None, None, None];
        }
        // The words of a picture of the replay say how it differs, after its name.
        let name = |words: Option<&String>| words.and_then(|words| words.split(' ').next()).map(str::to_owned);
        let read = |folder: &Path, name: Option<String>| fs::read(folder.join(name?)).ok();
        let now = |name| read(run?, name);
        [
            read(&self.folder.join(slug(&case.name)), name(one.recorded.first())),
            now(name(one.replayed.first())),
            now(one.picture.clone()),
        ]
    }

    /// Writes the recording of a case, which is from `run`, in one move; its pictures before it, if the case compares any.
    pub(crate) fn write(&self, case: &Case, mut recording: Recording, run: &RunDir) -> Result<(), Refusal> {
        recording.plan.plan_id = Some(ShortText::cut(&story(case)));
        if case.requests.is_empty() {
            recording.traces.iter_mut().for_each(|trace| trace.requests.clear());
        }
        self.write_pictures(case, &mut recording, run)?;
        let path = self.path(case);
        let write = || {
            fs::create_dir_all(&self.folder)?;
            let part = path.with_extension("part");
            fs::write(&part, serde_json::to_string_pretty(&recording)? + "\n")?;
            fs::rename(&part, &path)
        };
        write().map_err(|error: std::io::Error| cannot_write(&path, &error))
    }

    /// Copies the pictures of the pages, and forgets all others: of a recording that is committed, each is there.
    fn write_pictures(&self, case: &Case, recording: &mut Recording, run: &RunDir) -> Result<(), Refusal> {
        let folder = self.folder.join(slug(&case.name));
        if folder.exists() {
            fs::remove_dir_all(&folder).map_err(|error| cannot_write(&folder, &error))?;
        }
        let store = ArtifactStore::new(run, None);
        for trace in &mut recording.traces {
            let is_compared = |picture: &ArtifactRef| {
                case.pictures.is_some() && picture.kind != ArtifactKind::ScreenshotTarget.as_str()
            };
            trace.pictures.retain(is_compared);
            for picture in &trace.pictures {
                let bytes = store.read(picture);
                let bytes = bytes.map_err(|error| Refusal::unusable(ErrorCode::Unreadable, with_sources(&error)))?;
                let path = folder.join(&picture.path);
                let beside = path.parent().unwrap_or(&folder);
                let written = fs::create_dir_all(beside).and_then(|()| fs::write(&path, bytes));
                written.map_err(|error| cannot_write(&path, &error))?;
            }
        }
        Ok(())
    }
}

fn cannot_write(path: &Path, error: &std::io::Error) -> Refusal {
    Refusal::unusable(ErrorCode::CannotWrite, plain(&format!("{}: {error}", path.display())))
}

/// Stands for what a recording was made from: with another narrative or plan, a case is recorded again.
fn story(case: &Case) -> String {
    let plan = case.plan.as_ref().and_then(|plan| fs::read(plan).ok()).unwrap_or_default();
    let told = [case.narrative.as_bytes(), &plan].join(&0);
    format!("case-{:016x}", stable_hash(&told))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `cargo xtask gen-schema` writes it.
    #[test]
    fn published_schema_of_recordings_is_that_of_the_types() {
        let schema = schemars::schema_for!(Recording);
        let text = serde_json::to_string_pretty(&schema).unwrap() + "\n";
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../schemas/recording.schema.json");
        if cuebook::environment::variable("UPDATE_SCHEMAS").is_some() {
            fs::write(path, &text).unwrap();
        }
        let written = fs::read_to_string(path).unwrap_or_default();
        assert!(written == text, "run `cargo xtask gen-schema`");
    }
}
