//! Where a Chrome may be installed.
//!
//! Invariants: the environment is read by the caller; an explicit wish is never replaced by something
//! else; the error names every place that was searched.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

/// Where to look. The caller reads the environment; this crate does not.
#[derive(Clone, Debug, Default)]
pub struct SearchPlaces {
    /// A path that the user gave; nothing else is tried.
    pub explicit: Option<PathBuf>,
    /// The value of `$CHROME`; nothing after it is tried.
    pub chrome_variable: Option<OsString>,
    /// The value of `$PATH`.
    pub path: Option<OsString>,
    /// Home directory, which holds the caches of Playwright and Puppeteer; without it, neither is searched.
    pub home: Option<PathBuf>,
}

/// Which rule found it, or named the place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PlaceKind {
    /// Given by the user.
    Explicit,
    /// Named by `$CHROME`, as a path or as a bare name.
    Variable,
    /// A well-known name on `$PATH`.
    Path,
    /// Where the system's installers put it.
    System,
    /// In Playwright's cache, highest version first.
    Playwright,
    /// In Puppeteer's cache, highest version first.
    Puppeteer,
}

/// A browser that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChromeBinary {
    /// Path of the executable as it was found: symbolic links are not resolved.
    pub path: PathBuf,
    /// Which rule found it.
    pub found_by: PlaceKind,
}

/// No browser was found.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DiscoverError {
    /// Nothing that can be executed stood at any of the places.
    #[error("{}", not_found(looked_at))]
    NotFound {
        /// Every place that was searched, in order.
        looked_at: Vec<(PlaceKind, PathBuf)>,
    },
}

fn not_found(looked_at: &[(PlaceKind, PathBuf)]) -> String {
    let named = match looked_at.last() {
        Some((PlaceKind::Explicit, path)) => Some(("given explicitly", path)),
        Some((PlaceKind::Variable, path)) => Some(("the value of $CHROME", path)),
        _ => None,
    };
    match named {
        Some((how, path)) => {
            format!("there is no executable file at {} ({how}): name a Chrome or Chromium", path.display())
        }
        None => format!("expected a Chrome or Chromium, looked at {} places", looked_at.len()),
    }
}

/// Names on `$PATH`, those of the user's own full browsers first.
const NAMES: [&str; 13] = [
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "google-chrome-beta",
    "google-chrome-unstable",
    "microsoft-edge",
    "microsoft-edge-stable",
    "msedge",
    "brave-browser",
    "chrome-headless-shell",
    "headless-shell",
];

#[cfg(target_os = "linux")]
const SYSTEM: &[&str] = &[
    "/usr/bin/chromium",
    "/usr/bin/chromium-browser",
    "/usr/bin/google-chrome",
    "/usr/bin/google-chrome-stable",
    "/opt/google/chrome/chrome",
    "/opt/chromium/chrome",
    "/opt/microsoft/msedge/msedge",
    "/snap/bin/chromium",
    "/usr/lib/chromium/chromium",
    "/headless-shell/headless-shell",
];
#[cfg(target_os = "macos")]
const SYSTEM: &[&str] = &[
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Google Chrome Beta.app/Contents/MacOS/Google Chrome Beta",
    "/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge",
    "/opt/homebrew/bin/chromium",
];
#[cfg(windows)]
const SYSTEM: &[&str] = &[
    r"C:\Program Files\Google\Chrome\Application\chrome.exe",
    r"C:\Program Files (x86)\Google\Chrome\Application\chrome.exe",
    r"C:\Program Files\Chromium\Application\chrome.exe",
    r"C:\Program Files (x86)\Microsoft\Edge\Application\msedge.exe",
    r"C:\Program Files\Microsoft\Edge\Application\msedge.exe",
];
#[cfg(not(any(target_os = "linux", target_os = "macos", windows)))]
const SYSTEM: &[&str] = &["/usr/local/bin/chrome", "/usr/local/bin/chromium"];

/// Under the home directory.
#[cfg(target_os = "macos")]
const HOME: &[&str] = &["Applications/Google Chrome.app/Contents/MacOS/Google Chrome"];
#[cfg(windows)]
const HOME: &[&str] = &[r"AppData\Local\Google\Chrome\Application\chrome.exe"];
#[cfg(not(any(target_os = "macos", windows)))]
const HOME: &[&str] = &[];

#[cfg(target_os = "macos")]
const PLAYWRIGHT: &str = "Library/Caches/ms-playwright";
#[cfg(windows)]
const PLAYWRIGHT: &str = r"AppData\Local\ms-playwright";
#[cfg(not(any(target_os = "macos", windows)))]
const PLAYWRIGHT: &str = ".cache/ms-playwright";

const PUPPETEER: &str = ".cache/puppeteer";

/// File names of browsers inside a cache.
const CACHED: [&str; 8] = [
    "chrome",
    "chrome.exe",
    "Google Chrome for Testing",
    "Chromium",
    "chrome-headless-shell",
    "chrome-headless-shell.exe",
    "headless_shell",
    "headless_shell.exe",
];

/// Finds a browser: explicit path, `$CHROME`, names on `$PATH`, the system's usual places, Playwright's
/// and Puppeteer's caches (their newest first). An explicit path or `$CHROME` that is not an executable file
/// is an error rather than a reason to take another browser. Costs a few dozen file look-ups.
///
/// # Errors
/// [`DiscoverError::NotFound`] with every place that was searched.
pub fn find_chrome(places: &SearchPlaces) -> Result<ChromeBinary, DiscoverError> {
    let mut looked_at = Vec::new();
    let mut look = |found_by: PlaceKind, path: PathBuf| {
        if is_executable(&path) {
            return Some(ChromeBinary { path, found_by });
        }
        looked_at.push((found_by, path));
        None
    };

    let named = match (&places.explicit, &places.chrome_variable) {
        (Some(path), _) => Some((PlaceKind::Explicit, path.clone())),
        (None, Some(value)) if !value.is_empty() => Some((PlaceKind::Variable, PathBuf::from(value))),
        _ => None,
    };
    if let Some((kind, named)) = named {
        // A bare name is looked up as a shell would.
        let is_bare = named.components().count() == 1;
        let found = match &places.path {
            Some(path) if is_bare => std::env::split_paths(path).find_map(|folder| look(kind, folder.join(&named))),
            _ => None,
        };
        return found.or_else(|| look(kind, named)).ok_or(DiscoverError::NotFound { looked_at });
    }

    let path = places.path.iter().flat_map(std::env::split_paths).collect::<Vec<_>>();
    let on_path = NAMES.iter().flat_map(|name| {
        let name = format!("{name}{}", std::env::consts::EXE_SUFFIX);
        path.iter().map(move |folder| (PlaceKind::Path, folder.join(&name)))
    });
    let home = places.home.as_deref();
    let system = SYSTEM
        .iter()
        .map(PathBuf::from)
        .chain(home.into_iter().flat_map(|home| HOME.iter().map(|place| home.join(place))))
        .map(|path| (PlaceKind::System, path));
    if let Some(found) = on_path.chain(system).find_map(|(kind, path)| look(kind, path)) {
        return Ok(found);
    }
    for (kind, cache) in [(PlaceKind::Playwright, PLAYWRIGHT), (PlaceKind::Puppeteer, PUPPETEER)] {
        let Some(cache) = home.map(|home| home.join(cache)) else { continue };
        let mut cached = Vec::new();
        collect_cached(&cache, 5, &mut cached);
        if cached.is_empty() {
            look(kind, cache);
            continue;
        }
        if let Some(found) = cached.into_iter().find_map(|path| look(kind, path)) {
            return Ok(found);
        }
    }
    Err(DiscoverError::NotFound { looked_at })
}

/// Browsers in a cache, at most `depth` folders down; names with higher versions first.
fn collect_cached(folder: &Path, depth: u8, found: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    let mut entries: Vec<PathBuf> = entries.filter_map(Result::ok).map(|entry| entry.path()).collect();
    entries.sort_by_key(|path| std::cmp::Reverse(version_key(path)));
    for entry in entries {
        if entry.is_dir() {
            if depth > 0 {
                collect_cached(&entry, depth - 1, found);
            }
        } else if entry.file_name().is_some_and(|name| CACHED.iter().any(|known| name == *known)) {
            found.push(entry);
        }
    }
}

/// Full browsers before headless shells, then the numbers in the name, so that 1200 comes after 999.
fn version_key(path: &Path) -> (bool, Vec<u64>) {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let numbers =
        name.split(|character: char| !character.is_ascii_digit()).filter_map(|digits| digits.parse().ok()).collect();
    (!name.contains("headless"), numbers)
}

#[cfg(unix)]
fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(path).is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_executable(path: &Path) -> bool {
    path.is_file()
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::path::{Path, PathBuf};

    use super::{DiscoverError, PlaceKind, SearchPlaces, find_chrome};

    fn executable(root: &Path, name: &str) -> PathBuf {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "#!/bin/sh\n").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    #[test]
    fn an_explicit_path_wins_and_is_never_replaced() {
        let root = tempfile::tempdir().unwrap();
        let mine = executable(root.path(), "mine");
        executable(root.path(), "bin/chromium");
        let mut places = SearchPlaces {
            explicit: Some(mine.clone()),
            path: Some(root.path().join("bin").into()),
            ..SearchPlaces::default()
        };
        let found = find_chrome(&places).unwrap();
        assert_eq!((found.path, found.found_by), (mine, PlaceKind::Explicit));
        places.explicit = Some(root.path().join("absent"));
        let DiscoverError::NotFound { looked_at } = find_chrome(&places).unwrap_err();
        assert_eq!(looked_at, [(PlaceKind::Explicit, root.path().join("absent"))]);
    }

    #[test]
    fn the_variable_may_be_a_bare_name_on_the_path() {
        let root = tempfile::tempdir().unwrap();
        let odd = executable(root.path(), "odd-chrome");
        let places = SearchPlaces {
            chrome_variable: Some("odd-chrome".into()),
            path: Some(root.path().into()),
            ..SearchPlaces::default()
        };
        let found = find_chrome(&places).unwrap();
        assert_eq!((found.path, found.found_by), (odd, PlaceKind::Variable));
    }

    #[test]
    fn names_on_the_path_come_in_their_order_and_must_be_executable() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("chromium"), "not executable").unwrap();
        executable(root.path(), "msedge");
        let chrome = executable(root.path(), "google-chrome");
        let places = SearchPlaces { path: Some(root.path().into()), ..SearchPlaces::default() };
        assert_eq!(find_chrome(&places).unwrap().path, chrome);
    }

    #[test]
    fn caches_prefer_the_newest_full_browser() {
        let root = tempfile::tempdir().unwrap();
        let cache = ".cache/ms-playwright";
        executable(root.path(), &format!("{cache}/chromium-999/chrome-linux/chrome"));
        let newest = executable(root.path(), &format!("{cache}/chromium-1200/chrome-linux/chrome"));
        executable(root.path(), &format!("{cache}/chromium_headless_shell-1300/x/headless_shell"));
        let mut found = Vec::new();
        super::collect_cached(&root.path().join(cache), 5, &mut found);
        assert_eq!(found.first(), Some(&newest));
    }
}
