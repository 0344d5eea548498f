//! The events of the browser as a whole.
//!
//! Invariant: the lane never drops an event silently. A full one reports how many it dropped, and the state behind its
//! events can be read again (`Browser::pages`).

use crate::ids::{FrameId, TargetId};
use crate::page::Page;
use crate::queue::Events;

/// Event of the browser as a whole.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum BrowserEvent {
    /// A tab or popup opened and is set up.
    PageOpened {
        /// Page that opened, ready for use.
        page: Page,
        /// The page that opened it. Chromium 156 names it also where it was opened with `noopener`.
        opener: Option<TargetId>,
    },
    /// A page tried to open more tabs than may be open: this one was closed before anything of it loaded.
    PageRefused {
        /// URL that it would have shown.
        url: String,
        /// The page that opened it.
        opener: TargetId,
    },
    /// A page is gone.
    PageClosed {
        /// Target of the page that is gone.
        page: TargetId,
    },
    /// A download began; [`Self::DownloadProgress`] follows.
    DownloadStarted {
        /// Names the download, and its file under the download directory.
        guid: String,
        /// Where it comes from.
        url: String,
        /// The name that the server or the page suggests. Hostile: never a path.
        suggested_filename: String,
        /// The frame that caused it.
        frame: FrameId,
    },
    /// A download progressed or ended.
    DownloadProgress {
        /// `guid` of the download's [`BrowserEvent::DownloadStarted`].
        guid: String,
        /// In progress, completed, or cancelled.
        state: DownloadState,
        /// Bytes received so far.
        received: u64,
        /// Bytes expected; 0 when unknown.
        total: u64,
    },
    /// The browser exited or the connection broke. Nothing follows.
    Gone,
    /// This many events were dropped here, because none was read in time: read `Browser::pages` again.
    Lagged(u64),
}

/// The state of a download.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DownloadState {
    /// Bytes still arrive, or are awaited.
    InProgress,
    /// The file is there.
    Completed,
    /// Denied, cancelled or failed.
    Canceled,
}

/// The control events of the browser; `None` follows [`BrowserEvent::Gone`].
pub type BrowserEvents = Events<BrowserEvent>;
