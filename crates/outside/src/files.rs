//! Files below declared directories.

use std::io::{ErrorKind, Read as _, Write as _};
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions};
use cuebook_grammar::Delivery;
use cuebook_grammar::outcome::Cause;
use cuebook_grammar::policy::{Denied, Policy, Rule};
use serde_json::json;

use crate::blocking::{Gate, blocking};
use crate::done::{ActionResult, Failed, content, refused, shown};

/// Reads a file. UTF-8 is returned as a string.
pub(crate) async fn read(policy: &Policy, path: &str, limit: usize, until: Instant) -> ActionResult {
    let outside = policy.outside();
    let roots: Vec<String> = outside.read_roots.iter().chain(&outside.write_roots).cloned().collect();
    let path = path.to_owned();
    blocking(until, move |_| {
        let (root, path) = find(&roots, &path)?;
        let about = root.metadata(&path).map_err(|error| unusable(&error))?;
        if !about.is_file() {
            return refused(Delivery::NotSent, Cause::InvalidArgument, "the path is not a regular file");
        }
        let most = u64::try_from(limit).unwrap_or(u64::MAX);
        let mut bytes = Vec::new();
        let file = root.open(&path).map_err(|error| unusable(&error))?;
        file.take(most.saturating_add(1)).read_to_end(&mut bytes).map_err(|error| unusable(&error))?;
        if bytes.len() > limit {
            let message = format!("a file of {} bytes is larger than the limit of {limit}", about.len());
            return refused(Delivery::NotSent, Cause::InvalidArgument, message);
        }
        Ok((Delivery::NotSent, content(bytes)))
    })
    .await
}

/// Replaces a file atomically: a concurrent reader sees the old content or the new.
pub(crate) async fn write(policy: &Policy, path: &str, content: &str, until: Instant) -> ActionResult {
    let roots = policy.outside().write_roots.clone();
    let (path, content) = (path.to_owned(), content.to_owned());
    blocking(until, move |gate| replace(&roots, &path, content.as_bytes(), gate)).await
}

fn replace(roots: &[String], path: &str, content: &[u8], gate: &Gate) -> ActionResult {
    let (root, path) = place(roots, path)?;
    if root.metadata(&path).is_ok_and(|about| !about.is_file()) {
        let message = "the path exists and is not a regular file";
        return refused(Delivery::NotSent, Cause::InvalidArgument, message);
    }
    let draft = draft_of(&path);
    let written = (|| {
        let mut file = root.open_with(&draft, OpenOptions::new().write(true).create_new(true))?;
        file.write_all(content)?;
        file.sync_all()
    })();
    let renamed = written.map_err(|error| unusable(&error)).and_then(|()| {
        gate.pass()?;
        root.rename(&draft, &root, &path).map_err(|error| unusable(&error))
    });
    if let Err(failed) = renamed {
        root.remove_file(&draft).ok();
        return Err(failed);
    }
    Ok((Delivery::Sent, json!({ "path": path, "bytes": content.len() })))
}

/// A unique name beside `path`.
fn draft_of(path: &Path) -> PathBuf {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let next = NEXT.fetch_add(1, Ordering::Relaxed);
    path.with_file_name(format!(".cuebook-{}-{next}.tmp", std::process::id()))
}

/// The first root that has the file; the first root if none has it.
fn find(roots: &[String], path: &str) -> Result<(Dir, PathBuf), Failed> {
    let mut first = None;
    for (root, path) in candidates(roots, path)? {
        match root.metadata(&path) {
            Ok(_) => return Ok((root, path)),
            Err(error) if error.kind() == ErrorKind::NotFound => drop(first.get_or_insert((root, path))),
            Err(error) => return Err(unusable(&error)),
        }
    }
    first.ok_or_else(|| out_of_reach(path))
}

/// The first root that the path may lie under.
fn place(roots: &[String], path: &str) -> Result<(Dir, PathBuf), Failed> {
    candidates(roots, path)?.into_iter().next().ok_or_else(|| out_of_reach(path))
}

/// Each root that the path may lie under, opened, and the path relative to it.
fn candidates(roots: &[String], path: &str) -> Result<Vec<(Dir, PathBuf)>, Failed> {
    let wanted = Path::new(path);
    let drive = path.chars().nth(1) == Some(':') && path.starts_with(|c: char| c.is_ascii_alphabetic());
    let is_plain = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir | Component::RootDir);
    if path.is_empty() || path.contains(['\0', '\\']) || drive || !wanted.components().all(is_plain) {
        return Err(out_of_reach(path));
    }
    let mut found = Vec::new();
    for root in roots {
        let below = if wanted.is_absolute() {
            // The path may name the root as it was declared, or with its links resolved.
            let real = Path::new(root).canonicalize().ok();
            let below = wanted.strip_prefix(root).ok().or_else(|| wanted.strip_prefix(real.as_deref()?).ok());
            match below {
                Some(below) => below,
                None => continue,
            }
        } else {
            wanted
        };
        let below: PathBuf = below.components().filter(|part| matches!(part, Component::Normal(_))).collect();
        if below.as_os_str().is_empty() {
            return refused(
                Delivery::NotSent,
                Cause::InvalidArgument,
                "the path is the declared directory itself, not a file in it",
            );
        }
        let root = Dir::open_ambient_dir(root, ambient_authority()).map_err(|error| {
            let message = format!("a declared directory cannot be opened: {error}");
            Failed::new(Delivery::NotSent, Cause::InvalidArgument, message)
        })?;
        found.push((root, below));
    }
    Ok(found)
}

fn out_of_reach(path: &str) -> Failed {
    let shown = shown(path, 100);
    let message = format!("`{shown}` is not below a declared directory");
    Failed::blocked(Delivery::NotSent, Denied { rule: Rule::Root, message })
}

fn unusable(error: &std::io::Error) -> Failed {
    // Errors of the system have a number; a path that leads out of a root has none.
    if error.kind() == ErrorKind::PermissionDenied && error.raw_os_error().is_none() {
        let message = "the path leads out of the declared directory".to_owned();
        return Failed::blocked(Delivery::NotSent, Denied { rule: Rule::Root, message });
    }
    let message = format!("the file cannot be used: {error}");
    Failed::new(Delivery::NotSent, Cause::InvalidArgument, message)
}
