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
use crate::done::{Done, Failed, content, refused, shown};

/// Reads a file; text comes as text.
pub(crate) async fn read(policy: &Policy, path: &str, limit: usize, until: Instant) -> Done {
    let outside = policy.outside();
    let roots: Vec<String> = outside.read_roots.iter().chain(&outside.write_roots).cloned().collect();
    let path = path.to_owned();
    blocking(until, move |_| {
        let (root, path) = find(&roots, &path)?;
        let about = root.metadata(&path).map_err(|error| unusable(&error))?;
        if !about.is_file() {
            return refused(Delivery::NotSent, Cause::InvalidArgument, "expected a file, saw something else");
        }
        let most = u64::try_from(limit).unwrap_or(u64::MAX);
        let mut bytes = Vec::new();
        let file = root.open(&path).map_err(|error| unusable(&error))?;
        file.take(most.saturating_add(1)).read_to_end(&mut bytes).map_err(|error| unusable(&error))?;
        if bytes.len() > limit {
            let message = format!("expected a file of at most {limit} bytes, saw {}", about.len());
            return refused(Delivery::NotSent, Cause::InvalidArgument, message);
        }
        Ok((Delivery::NotSent, content(bytes)))
    })
    .await
}

/// Writes a file whole: whoever reads it meanwhile sees the old content or the new.
pub(crate) async fn write(policy: &Policy, path: &str, content: &str, until: Instant) -> Done {
    let roots = policy.outside().write_roots.clone();
    let (path, content) = (path.to_owned(), content.to_owned());
    blocking(until, move |gate| replace(&roots, &path, content.as_bytes(), gate)).await
}

fn replace(roots: &[String], path: &str, content: &[u8], gate: &Gate) -> Done {
    let (root, path) = place(roots, path)?;
    if root.metadata(&path).is_ok_and(|about| !about.is_file()) {
        let message = "expected a file or nothing yet, saw something else";
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

/// A name beside `path` that nobody else uses.
fn draft_of(path: &Path) -> PathBuf {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let next = NEXT.fetch_add(1, Ordering::Relaxed);
    path.with_file_name(format!(".cuebook-{}-{next}.tmp", std::process::id()))
}

/// The root under which the file is there; the first root where it is nowhere.
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

/// The root under which the file belongs: the first.
fn place(roots: &[String], path: &str) -> Result<(Dir, PathBuf), Failed> {
    candidates(roots, path)?.into_iter().next().ok_or_else(|| out_of_reach(path))
}

/// Each root, opened, under which the path may lie, and the path from there.
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
            // The path may name the root as it was declared, or as it is without links.
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
                "expected a file, saw the declared directory itself",
            );
        }
        let root = Dir::open_ambient_dir(root, ambient_authority()).map_err(|error| {
            let message = format!("expected a declared directory that can be opened: {error}");
            Failed::new(Delivery::NotSent, Cause::InvalidArgument, message)
        })?;
        found.push((root, below));
    }
    Ok(found)
}

fn out_of_reach(path: &str) -> Failed {
    let shown = shown(path, 100);
    let message = format!("expected a path below a declared directory, saw `{shown}`");
    Failed::blocked(Delivery::NotSent, Denied { rule: Rule::Root, message })
}

fn unusable(error: &std::io::Error) -> Failed {
    // The system's own refusals have a number; what leads out of a root has none.
    if error.kind() == ErrorKind::PermissionDenied && error.raw_os_error().is_none() {
        let message = "expected a path that stays below the declared directory, saw one that leads out".to_owned();
        return Failed::blocked(Delivery::NotSent, Denied { rule: Rule::Root, message });
    }
    let message = format!("expected a file that can be used: {error}");
    Failed::new(Delivery::NotSent, Cause::InvalidArgument, message)
}
