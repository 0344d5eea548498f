//! Downloads: whose they are, how they end, and what is kept of them.
//!
//! Invariants:
//! - A name that a server or a page suggests is never a path: a file is found by the browser's guid alone.
//! - What a step waits for here is bounded, and ends with the step.

use std::time::{Duration, Instant};

use cuebook_cdp::{DownloadState, FrameId, GoneReason};
use cuebook_grammar::facts::{DownloadEnd, DownloadFact};
use cuebook_grammar::outcome::Stage;
use cuebook_grammar::render::cut;
use cuebook_grammar::seam::{ArtifactKind, ArtifactSink};

use crate::activity::{Downloading, LONGEST};
use crate::error::ExecutorError;
use crate::run::Run;
use crate::stop::{Part, gone_stop};

/// How long a step waits for a download to begin, and for more of one that has begun.
const PATIENCE: Duration = Duration::from_millis(1_500);
/// The largest file that goes to the artifacts.
const KEPT: u64 = 64 * 1024 * 1024;
/// The most downloads of one step that are recorded.
const MAX_DOWNLOADS: usize = 50;

impl Run<'_> {
    pub(crate) fn download_started(&mut self, guid: String, url: &str, filename: &str, frame: &FrameId) {
        let is_of_another_tab = self.tabs.iter().any(|tab| *tab != self.page && tab.frame(frame).is_some());
        if is_of_another_tab || self.seen.activity.downloads.len() >= MAX_DOWNLOADS {
            return;
        }
        let filename = cut(filename, 300);
        let fact = DownloadFact { filename, url: cut(url, LONGEST), end: None, bytes: None, sha256: None };
        self.seen.activity.downloads.push(Downloading { guid, fact, received: 0, came_at: Instant::now() });
        self.sampled();
    }

    pub(crate) fn download_went_on(&mut self, guid: &str, state: DownloadState, received: u64) {
        let Some(one) = self.seen.activity.downloads.iter_mut().find(|one| one.guid == guid) else { return };
        if received > one.received {
            one.received = received;
            one.came_at = Instant::now();
        }
        match state {
            DownloadState::Completed => {
                one.fact.end = Some(DownloadEnd::Completed);
                one.fact.bytes = Some(received);
            }
            DownloadState::Canceled => one.fact.end = Some(DownloadEnd::Canceled),
            _ => {}
        }
    }

    /// The downloads so far, as conditions and records carry them.
    pub(crate) fn downloads(&self) -> Vec<DownloadFact> {
        self.seen.activity.downloads.iter().map(|one| one.fact.clone()).collect()
    }

    /// Whether bytes of a download of the step keep coming.
    pub(crate) fn is_downloading(&self) -> bool {
        let mut under_way = self.seen.activity.downloads.iter().filter(|one| one.fact.end.is_none());
        under_way.any(|one| one.came_at.elapsed() < PATIENCE)
    }

    /// Waits for the download that the browser announces after it cancelled a navigation for it; `false` if none comes.
    pub(crate) async fn download_begins(&mut self) -> Part<bool> {
        let by = self.within(PATIENCE);
        while self.seen.activity.downloads.is_empty() && Instant::now() < by {
            self.next_of_browser(by).await?;
        }
        Ok(!self.seen.activity.downloads.is_empty())
    }

    /// Waits until no download of the step is under way, as long as the bytes of one keep coming.
    pub(crate) async fn finish_downloads(&mut self) -> Part<()> {
        loop {
            let under_way = self.seen.activity.downloads.iter().filter(|one| one.fact.end.is_none());
            let Some(last) = under_way.map(|one| one.came_at).max() else { return Ok(()) };
            let by = (last + PATIENCE).min(self.answer_by());
            if Instant::now() >= by {
                return Ok(());
            }
            self.next_of_browser(by).await?;
        }
    }

    async fn next_of_browser(&mut self, by: Instant) -> Part<()> {
        match tokio::time::timeout_at(by.into(), self.browser_lane.next()).await {
            Ok(None) => Err(gone_stop(GoneReason::BrowserGone, Stage::Postcondition)),
            Ok(event) => self.note_browser(event, Stage::Postcondition),
            Err(_) => Ok(()),
        }
    }

    /// Stores the files that are complete.
    pub(crate) async fn keep_downloads<A: ArtifactSink>(&mut self, artifacts: &A) -> Result<(), ExecutorError> {
        let Some(folder) = self.options.download_dir.clone() else { return Ok(()) };
        for one in &mut self.seen.activity.downloads {
            if one.fact.end != Some(DownloadEnd::Completed) || !is_guid(&one.guid) {
                continue;
            }
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
            self.evidence.artifacts.push(stored);
        }
        Ok(())
    }
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
