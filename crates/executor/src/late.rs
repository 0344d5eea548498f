//! Consequences of steps that come once these have ended: what a run has of the browser's events between two steps, and
//! before its end.
//!
//! Invariant: each is told once, in the next record or with the end of the run.

use std::fmt;
use std::time::Instant;

use cuebook_cdp::{Browser, BrowserEvent, BrowserEvents, DownloadState, FrameId, Page};
use cuebook_grammar::facts::{DownloadEnd, DownloadFact};
use cuebook_grammar::ledger::downloads::Downloads;
use cuebook_grammar::outcome::Late;
use cuebook_grammar::render::cut;
use futures_util::FutureExt as _;

use crate::activity::LONGEST;

const MAX_TABS: usize = 10;

/// A run's view of its browser, from its first step to its end.
pub(crate) struct Watch {
    pub(crate) lane: BrowserEvents,
    pub(crate) downloads: Downloads,
    pub(crate) new_tabs: Vec<String>,
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch").field("downloads", &self.downloads).finish_non_exhaustive()
    }
}

impl Watch {
    pub(crate) fn new(lane: BrowserEvents) -> Self {
        Self { lane, downloads: Downloads::default(), new_tabs: Vec::new() }
    }

    /// Takes in what came since the last step in `page`.
    pub(crate) fn catch_up(&mut self, browser: &Browser, page: &Page) {
        // The end of the browser is noticed by the next step itself.
        while let Some(Some(event)) = self.lane.next().now_or_never() {
            self.note(browser, page, event);
        }
    }

    /// One event between two steps, or at the end of a run.
    pub(crate) fn note(&mut self, browser: &Browser, page: &Page, event: BrowserEvent) {
        match event {
            BrowserEvent::PageOpened { page: new, opener: Some(opener) }
                if opener == *page.target_id() && new.is_beside(page) && self.new_tabs.len() < MAX_TABS =>
            {
                self.new_tabs.push(cut(&new.url(), LONGEST));
            }
            BrowserEvent::DownloadStarted { guid, url, suggested_filename, frame }
                if !is_of_another(browser, page, &frame) =>
            {
                self.downloads.started(guid, download(&url, &suggested_filename), false, Instant::now());
            }
            BrowserEvent::DownloadProgress { guid, state, received, .. } => {
                self.downloads.went_on(&guid, end_of(state), received, Instant::now());
            }
            _ => {}
        }
    }

    /// All that no record has yet, apart from requests.
    pub(crate) fn take_late(&mut self) -> Late {
        Late {
            requests: Vec::new(),
            downloads: self.downloads.take_late(),
            new_tabs: std::mem::take(&mut self.new_tabs),
        }
    }
}

/// Returns `true` if a frame belongs to a tab of another browser context.
pub(crate) fn is_of_another(browser: &Browser, page: &Page, frame: &FrameId) -> bool {
    browser.pages().iter().any(|other| !other.is_beside(page) && other.frame(frame).is_some())
}

/// A download that begins.
pub(crate) fn download(url: &str, filename: &str) -> DownloadFact {
    DownloadFact { filename: cut(filename, 300), url: cut(url, LONGEST), end: None, bytes: None, sha256: None }
}

pub(crate) const fn end_of(state: DownloadState) -> Option<DownloadEnd> {
    match state {
        DownloadState::Completed => Some(DownloadEnd::Completed),
        DownloadState::Canceled => Some(DownloadEnd::Canceled),
        _ => None,
    }
}
