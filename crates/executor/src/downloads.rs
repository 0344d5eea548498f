//! Downloads: whose they are, how they end, and what is kept of them.
//!
//! Invariants:
//! - A name that a server or a page suggests is never a path: a file is found by the browser's guid alone.
//! - What a step waits for here is bounded, and ends with the step.

use std::path::Path;
use std::time::{Duration, Instant};

use cuebook_cdp::{FrameId, GoneReason};
use cuebook_grammar::ledger::downloads::Downloads;
use cuebook_grammar::outcome::{ArtifactRef, Stage};
use cuebook_grammar::seam::ArtifactKind;
use cuebook_grammar::seam::boxed::BoxedArtifactSink;

use crate::error::ExecutorError;
use crate::late::{download, is_of_another};
use crate::run::StepRun;
use crate::seen::Event;
use crate::stop::{Part, gone_stop};

/// How long a step waits for a download to begin, and for more of one that has begun.
const PATIENCE: Duration = Duration::from_millis(1_500);
/// The largest file that goes to the artifacts.
const KEPT: u64 = 64 * 1024 * 1024;

impl StepRun<'_> {
    pub(crate) fn download_started(&mut self, guid: String, url: &str, filename: &str, frame: &FrameId) {
        let is_of_another_tab = self.tabs.iter().any(|tab| *tab != self.page && tab.frame(frame).is_some());
        if is_of_another_tab || is_of_another(self.browser, &self.page, frame) {
            return;
        }
        self.saw(Event::DownloadStarted { guid, fact: download(url, filename) });
    }

    /// Waits for the download that the browser announces after it cancelled a navigation for it; `false` if none comes.
    pub(crate) async fn download_begins(&mut self) -> Part<bool> {
        let by = self.within(PATIENCE);
        while self.seen.downloads.of_step().next().is_none() && Instant::now() < by {
            self.next_of_browser(by).await?;
        }
        Ok(self.seen.downloads.of_step().next().is_some())
    }

    /// Waits until no download of the step is under way, as long as the bytes of one keep coming.
    pub(crate) async fn finish_downloads(&mut self) -> Part<()> {
        loop {
            let until = self.seen.downloads.of_step().filter_map(|one| one.awaited_until(PATIENCE)).max();
            let Some(by) = until.map(|until| until.min(self.answer_by())) else { return Ok(()) };
            if Instant::now() >= by {
                return Ok(());
            }
            self.next_of_browser(by).await?;
        }
    }

    async fn next_of_browser(&mut self, by: Instant) -> Part<()> {
        match tokio::time::timeout_at(by.into(), self.lanes.browser.next()).await {
            Ok(None) => Err(gone_stop(GoneReason::BrowserGone, Stage::Postcondition)),
            Ok(event) => self.note_browser(event, Stage::Postcondition),
            Err(_) => Ok(()),
        }
    }

    /// Stores the files that are complete.
    pub(crate) async fn keep_downloads(&mut self, artifacts: &dyn BoxedArtifactSink) -> Result<(), ExecutorError> {
        let stored = keep(self.seen.downloads, self.options.download_dir.as_deref(), artifacts).await?;
        self.evidence.artifacts.extend(stored);
        Ok(())
    }
}

/// Moves complete files from the browser's folder to the artifacts, where they are found by their digests.
pub(crate) async fn keep(
    downloads: &mut Downloads,
    folder: Option<&Path>,
    artifacts: &dyn BoxedArtifactSink,
) -> Result<Vec<ArtifactRef>, ExecutorError> {
    let mut kept = Vec::new();
    let Some(folder) = folder else { return Ok(kept) };
    for one in downloads.complete().filter(|one| is_guid(&one.guid)) {
        let path = folder.join(&one.guid);
        let read = tokio::task::spawn_blocking(move || {
            let is_small = std::fs::metadata(&path).is_ok_and(|file| file.is_file() && file.len() <= KEPT);
            let bytes = is_small.then(|| std::fs::read(&path).ok()).flatten()?;
            // The artifact stands for it from here on.
            let _ = std::fs::remove_file(&path);
            Some(bytes)
        });
        // A file that was removed meanwhile does not fail the step.
        let Ok(Some(bytes)) = read.await else { continue };
        let stored = artifacts
            .store(ArtifactKind::Download, "application/octet-stream", bytes)
            .await
            .map_err(|error| ExecutorError::Artifact(Box::new(error)))?;
        one.fact.sha256 = Some(stored.sha256.clone());
        kept.push(stored);
    }
    Ok(kept)
}

fn is_guid(text: &str) -> bool {
    !text.is_empty() && text.len() <= 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
}

#[cfg(test)]
mod tests {
    use super::is_guid;

    #[test]
    fn only_a_guid_names_a_file() {
        assert!(is_guid("3f0c9d6e-1a2b-4c3d-8e9f-0a1b2c3d4e5f"));
        for text in ["", "..", "../../etc/passwd", "a/b", "name.txt", "3f0c\\9d"] {
            assert!(!is_guid(text), "{text}");
        }
    }
}
