//! Options of an executor.

use std::path::PathBuf;
use std::time::Duration;

/// When pictures of the viewport are taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ScreenshotMode {
    /// Never, except where a step asks for one.
    Off,
    /// After the first step, after a failure, and after the page changed.
    #[default]
    FirstFailurePageChange,
    /// Before and after every step.
    Every,
}

/// Handling of the `beforeunload` dialog of a page that a navigation step leaves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BeforeUnload {
    /// Accept the dialog and leave the page.
    #[default]
    Leave,
    /// Keep the dialog open; the step fails with `dialogOpen`.
    KeepOpen,
}

/// Expected input of people who use the browser too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PeopleInput {
    /// People use the browser: between our gestures, their input reaches the page.
    #[default]
    Between,
    /// No person uses the browser: input outside our gestures is late or misdirected, and is stopped.
    Never,
}

/// Time limits and choices. Every time limit is also bounded by the deadline of the step.
///
/// ```
/// use std::time::Duration;
///
/// use cuebook_executor::{ExecutorOptions, ScreenshotMode};
///
/// let options = ExecutorOptions {
///     screenshots: ScreenshotMode::Off,
///     step_timeout: Duration::from_secs(20),
///     ..ExecutorOptions::default()
/// };
/// assert_eq!(options.post_timeout, Duration::from_secs(3));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExecutorOptions {
    /// When pictures are taken.
    pub screenshots: ScreenshotMode,
    /// The time of a step that states none.
    pub step_timeout: Duration,
    /// How long a target may take to appear and to become ready for input.
    pub ready_timeout: Duration,
    /// How long a postcondition may take to hold.
    pub post_timeout: Duration,
    /// How long to wait for an effect of any kind, where no condition is stated. Its absence is no failure, so a longer
    /// wait only costs time.
    pub effect_timeout: Duration,
    /// How long to wait, after a navigation was committed, until the document is loaded.
    pub load_timeout: Duration,
    /// Expected input of people who use the browser too.
    pub people: PeopleInput,
    /// Handling of `beforeunload` dialogs when a navigation step leaves a page.
    pub before_unload: BeforeUnload,
    /// The directories from which files may be uploaded. Empty: no uploads.
    pub upload_roots: Vec<PathBuf>,
    /// Where the browser stores downloads, each under its guid. A file that is complete when its step ends, up to 64 MiB,
    /// is stored as an artifact. `None`: downloads are not stored.
    pub download_dir: Option<PathBuf>,
}

impl Default for ExecutorOptions {
    fn default() -> Self {
        Self {
            screenshots: ScreenshotMode::default(),
            step_timeout: Duration::from_secs(10),
            ready_timeout: Duration::from_secs(5),
            post_timeout: Duration::from_secs(3),
            effect_timeout: Duration::from_millis(750),
            load_timeout: Duration::from_secs(5),
            people: PeopleInput::default(),
            before_unload: BeforeUnload::default(),
            upload_roots: Vec::new(),
            download_dir: None,
        }
    }
}
