//! How an executor goes about its work.

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

/// What to do when a page asks whether it may be left, and the step is one that leaves it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BeforeUnload {
    /// Leave: the step says so.
    #[default]
    Leave,
    /// Keep the question open; the step fails with `dialogOpen`.
    KeepOpen,
}

/// Whether people use the browser too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PeopleInput {
    /// Between gestures of ours, their input reaches the page.
    #[default]
    Between,
    /// Nobody does: what reaches a page without a gesture of ours is late or astray, and stopped.
    Never,
}

/// Bounds and choices. All spans lie within the deadline of the step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExecutorOptions {
    /// Pictures.
    pub screenshots: ScreenshotMode,
    /// How long a step may take that does not say so itself.
    pub step_timeout: Duration,
    /// How long a target may take to appear and to become ready for input.
    pub ready_timeout: Duration,
    /// How long a postcondition may take to come true.
    pub post_timeout: Duration,
    /// How long to look for an effect of any kind, where nothing else was stated. It never fails, so
    /// waiting longer only costs time.
    pub effect_timeout: Duration,
    /// How long, after a navigation was committed, to wait until the document has been read to its end.
    pub load_timeout: Duration,
    /// People at the same browser.
    pub people: PeopleInput,
    /// Pages that ask before they are left.
    pub before_unload: BeforeUnload,
    /// The directories from which files may be chosen in file fields. None: no uploads.
    pub upload_roots: Vec<PathBuf>,
    /// Where the browser puts downloads, each under its guid. Where it is stated, a file that is complete by
    /// the end of its step, up to 64 MiB, goes to the artifacts.
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
