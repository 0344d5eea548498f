//! Finding Chrome as `cuebook` does, or installing it where that is safe to do unasked.
//!
//! Invariant: nothing is installed except by a root user of a Debian-like system, from its own
//! package source. On other systems an error says how to install it.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::commands::{environment, output_of, stage};

const NAMES: [&str; 6] =
    ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "chrome-headless-shell"];

const SHELLS: [&str; 3] = ["chromium-headless-shell", "chrome-headless-shell", "headless_shell"];

const USUAL_PLACES: [&str; 6] = [
    "/usr/bin/chromium",
    "/opt/google/chrome/chrome",
    "/snap/bin/chromium",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe",
];

/// Where an installed Chrome is; installs Chromium if there is none and this may.
///
/// # Errors
/// If `$CHROME` names no file, or there is no Chrome and it could not be installed.
pub fn find_or_install() -> Result<PathBuf> {
    if let Some(chrome) = find()? {
        return Ok(chrome);
    }
    install()?;
    find()?.context("Chromium was installed and still cannot be found")
}

/// Where an installed headless shell is, in which most tests run: it starts in a quarter of Chrome's time.
/// Installs one where [`find_or_install`] would install Chromium. `None` if there is none, or if `$CHROME` says what to
/// test with.
#[must_use]
pub fn headless_shell() -> Option<PathBuf> {
    if environment("CHROME").is_some() {
        return None;
    }
    let path = environment("PATH").unwrap_or_default();
    let directories: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let find = || on_path(&SHELLS, &directories).into_iter().find(|place| place.is_file());
    find().or_else(|| {
        if may_install() {
            // The tests run without it, too.
            let _ = apt("headless shell", "chromium-headless-shell");
        }
        find()
    })
}

fn find() -> Result<Option<PathBuf>> {
    if let Some(named) = environment("CHROME") {
        let named = PathBuf::from(named);
        if !named.is_file() {
            bail!("$CHROME is {}, which is not a file", named.display());
        }
        return Ok(Some(named));
    }
    let path = environment("PATH").unwrap_or_default();
    let cache = environment("HOME").map(|home| Path::new(&home).join(".cache/ms-playwright"));
    let mut places = on_path(&NAMES, &std::env::split_paths(&path).collect::<Vec<_>>());
    places.extend(USUAL_PLACES.map(PathBuf::from));
    places.extend(cache.map(|cache| cached(&cache)).unwrap_or_default());
    Ok(places.into_iter().find(|place| place.is_file()))
}

/// Every name in every directory; a name that comes first wins over a directory that does.
fn on_path(names: &[&str], directories: &[PathBuf]) -> Vec<PathBuf> {
    let places_of = |name: &&str| {
        let file = format!("{name}{}", std::env::consts::EXE_SUFFIX);
        directories.iter().map(move |directory| directory.join(&file)).collect::<Vec<_>>()
    };
    names.iter().flat_map(places_of).collect()
}

/// Returns the browsers that Playwright may have downloaded.
fn cached(cache: &Path) -> Vec<PathBuf> {
    let Ok(entries) = cache.read_dir() else {
        return Vec::new();
    };
    entries
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.to_string_lossy().contains("chromium-"))
        .flat_map(|path| [path.join("chrome-linux/chrome"), path.join("chrome-linux64/chrome")])
        .collect()
}

fn install() -> Result<()> {
    if !may_install() {
        bail!("{}", advice(is_debian()));
    }
    println!("No Chrome found; installing Chromium.");
    apt("Chromium", "chromium")
}

/// Packages may be installed unasked by root of a Debian-like system only.
fn may_install() -> bool {
    is_debian() && output_of(Command::new("id").arg("-u")).is_ok_and(|id| id.trim() == "0")
}

fn is_debian() -> bool {
    std::fs::read_to_string("/etc/os-release").is_ok_and(|text| is_debian_like(&text))
}

fn apt(name: &str, package: &str) -> Result<()> {
    let noninteractive = ("DEBIAN_FRONTEND", "noninteractive");
    // Without a network it fails soon.
    let soon = ["-o", "Acquire::Retries=0", "-o", "Acquire::http::Timeout=20"];
    stage("package lists", Command::new("apt-get").args(soon).arg("update").envs([noninteractive]))?;
    let install = ["install", "-y", "--no-install-recommends", package];
    stage(name, Command::new("apt-get").args(soon).args(install).envs([noninteractive]))
}

fn advice(debian: bool) -> &'static str {
    if debian {
        "no Chrome found. Run `sudo apt-get update && sudo apt-get install -y --no-install-recommends \
         chromium`, or set CHROME to the path of a Chrome or Chromium, then repeat this"
    } else {
        "no Chrome found. Install Google Chrome (https://www.google.com/chrome/) or Chromium, or set \
         CHROME to the path of one, then repeat this"
    }
}

/// Returns `true` if `os-release` names Debian or a distribution made from it.
fn is_debian_like(os_release: &str) -> bool {
    os_release
        .lines()
        .filter_map(|line| line.split_once('='))
        .filter(|(key, _)| matches!(*key, "ID" | "ID_LIKE"))
        .flat_map(|(_, value)| value.trim_matches(['"', '\'']).split_whitespace())
        .any(|id| id == "debian")
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::{NAMES, is_debian_like, on_path};

    #[test]
    fn debian_and_its_children_are_recognised() {
        assert!(is_debian_like("NAME=x\nID=debian\n"));
        assert!(is_debian_like("ID=linuxmint\nID_LIKE=\"ubuntu debian\"\n"));
        assert!(!is_debian_like("ID=fedora\nPRETTY_NAME=\"not debian\"\n"));
        assert!(!is_debian_like(""));
    }

    #[test]
    fn a_preferred_name_wins_over_an_early_directory() {
        let places = on_path(&NAMES, &[PathBuf::from("/a"), PathBuf::from("/b")]);
        assert_eq!(places.len(), 2 * NAMES.len());
        assert!(places[0].starts_with("/a") && places[1].starts_with("/b"));
        assert_eq!(places[0].file_stem(), places[1].file_stem());
    }
}
