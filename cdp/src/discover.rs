//! Where a Chrome may be installed.

use std::ffi::OsString;
use std::path::PathBuf;

/// Where to look. The caller reads the environment; this crate does not.
#[derive(Clone, Debug, Default)]
pub struct SearchPlaces {
    /// A path that the user gave; nothing else is tried.
    pub explicit: Option<PathBuf>,
    /// The value of `$CHROME`; nothing after it is tried.
    pub chrome_variable: Option<OsString>,
    /// The value of `$PATH`.
    pub path: Option<OsString>,
    /// The home directory.
    pub home: Option<PathBuf>,
}

/// Which rule found it, or named the place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PlaceKind {
    /// Given by the user.
    Explicit,
    /// `$CHROME`.
    Variable,
    /// A well-known name on `$PATH`.
    Path,
    /// Where the system's installers put it.
    System,
    /// Playwright's cache.
    Playwright,
    /// Puppeteer's cache.
    Puppeteer,
}

/// A browser that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChromeBinary {
    /// Its path.
    pub path: PathBuf,
    /// Which rule found it.
    pub found_by: PlaceKind,
}

/// No browser was found.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DiscoverError {
    /// Nothing that can be executed stood at any of the places.
    #[error("expected a Chrome or Chromium, looked at {} places", looked_at.len())]
    NotFound {
        /// Every place that was looked at, in order.
        looked_at: Vec<(PlaceKind, PathBuf)>,
    },
}

/// Finds a browser: explicit path, `$CHROME`, names on `$PATH`, the system's usual places, Playwright's
/// and Puppeteer's caches.
///
/// # Errors
/// [`DiscoverError::NotFound`] with every place looked at.
pub fn find_chrome(places: &SearchPlaces) -> Result<ChromeBinary, DiscoverError> {
    let _ = places;
    todo!()
}
