//! Files and folders: settings, sockets of sessions, secrets, logs, and the files of clients.

use std::io;
use std::path::{Path, PathBuf};

use cuebook::environment;
use cuebook::secrets::Secrets;

use super::check::Check;
use crate::args::Client;
use crate::clients::{self, Entered, LIMIT, Scope};
use crate::commands::install::{folders, this_program};
use crate::config::edit::{Readers, replace};
use crate::config::fields::Table;
use crate::config::files::{Places, Settings, is_inside, text};
use crate::text::{plain, with_sources};

/// Free space under which logs soon cannot be written, in bytes.
const SPACE: u64 = 500_000_000;

fn shown(path: &Path) -> String {
    plain(&path.display().to_string())
}

/// The files of the configuration.
pub(super) fn configuration(table: &Table, fix: bool) -> Check {
    const NAME: &str = "configuration";
    let places = Places::of_this_process();
    let look = || {
        let settings = match Settings::read(&places, table) {
            Ok(settings) => settings,
            Err(fault) => {
                return Check::fail(NAME, fault.to_string(), "correct the file; CUEBOOK_CONFIG=none reads none");
            }
        };
        let files: Vec<String> = settings.layers.iter().map(|layer| shown(&layer.path)).collect();
        let files = if files.is_empty() { "no file".to_owned() } else { files.join(", ") };
        if let Some(open) = settings.layers.iter().find(|layer| layer.is_trusted && is_open_to_writers(&layer.path)) {
            let detail = format!("{} can be written by others, who can widen what a run may do", shown(&open.path));
            return Check::fail(NAME, detail, "take the permission away").fixable();
        }
        if settings.ignored.is_empty() {
            return Check::ok(NAME, files);
        }
        let keys: Vec<String> = settings.ignored.iter().map(|one| plain(&one.key)).collect();
        let advice = "read the file; `cuebook config trust` lets it set them";
        Check::warn(NAME, format!("{files}; no effect, since the folder is not trusted: {}", keys.join(", ")), advice)
    };
    Check::mended(look, fix, || {
        let settings = Settings::read(&places, table).map_err(|fault| io::Error::other(fault.to_string()))?;
        settings.layers.iter().filter(|layer| layer.is_trusted).try_for_each(|layer| close_to(&layer.path, 0o022))
    })
}

/// The sockets of sessions, without those of dead ones.
pub(super) fn sessions(fix: bool) -> Check {
    use cuebook_session::Registry;

    const NAME: &str = "sessions";
    let root = environment::session_root();
    let look = || match Registry::at(root.clone()).and_then(|registry| registry.sessions()) {
        // Looking removes what dead ones left.
        Ok(alive) => Check::ok(NAME, format!("{}; {} open", shown(&root), alive.len())),
        Err(error) => {
            Check::fail(NAME, plain(&error.to_string()), "make it a folder that you alone can enter").fixable()
        }
    };
    Check::mended(look, fix, || close_to(&root, 0o077))
}

/// The file of secrets.
pub(super) fn secrets(path: &Path, fix: bool) -> Check {
    const NAME: &str = "secrets";
    let look = || match Secrets::on(None).with_file(path) {
        Ok(_) => Check::ok(NAME, shown(path)),
        Err(error) => {
            let check = Check::fail(NAME, with_sources(&error), "correct the file, and close it to others (chmod 600)");
            if is_open(path, 0o077) { check.fixable() } else { check }
        }
    };
    Check::mended(look, fix, || close_to(path, 0o077))
}

/// The folder of logs, or the next one up that exists, and the space there.
pub(super) fn out(path: &Path) -> Check {
    const NAME: &str = "out";
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let existing = whole.ancestors().find(|folder| folder.exists()).unwrap_or(Path::new("."));
    let writable =
        tempfile::Builder::new().prefix(".cuebook-").tempfile_in(existing).and_then(tempfile::NamedTempFile::close);
    if let Err(error) = writable {
        let advice = "make the folder writable, or name another one by --out";
        return Check::fail(NAME, format!("{}: {error}", shown(existing)), advice);
    }
    match free(existing) {
        Some(free) if free < SPACE => {
            let detail = format!("{}: {} MB free", shown(&whole), free / 1_000_000);
            Check::warn(NAME, detail, "make room: `cuebook prune` removes old runs")
        }
        Some(free) => Check::ok(NAME, format!("{}; {} GB free", shown(&whole), free / 1_000_000_000)),
        None => Check::ok(NAME, shown(&whole)),
    }
}

#[cfg(unix)]
fn free(path: &Path) -> Option<u64> {
    let seen = rustix::fs::statvfs(path).ok()?;
    seen.f_bavail.checked_mul(seen.f_frsize)
}

#[cfg(not(unix))]
fn free(_: &Path) -> Option<u64> {
    None
}

/// The entries of MCP clients, whose programs must exist.
pub(super) fn clients(fix: bool) -> Check {
    const NAME: &str = "clients";
    let look = || {
        let (mut well, mut dead, mut broken) = (Vec::new(), Vec::new(), Vec::new());
        for (client, _, path, program) in entries() {
            match program {
                Ok(Some(program)) if is_there(&program) => well.push(client.title()),
                Ok(Some(program)) => dead.push(format!("{} starts {}", shown(&path), plain(&program))),
                Ok(None) => {}
                Err(why) => broken.push(format!("{}: {}", shown(&path), plain(&why))),
            }
        }
        if !dead.is_empty() {
            let detail = format!("{}, which does not exist", dead.join(", "));
            return Check::fail(NAME, detail, "`cuebook install --for CLIENT` corrects an entry").fixable();
        }
        if !broken.is_empty() {
            return Check::warn(NAME, broken.join(", "), "correct the file: its client may not read it either");
        }
        let detail = if well.is_empty() { "none has an entry".to_owned() } else { well.join(", ") };
        Check::ok(NAME, detail)
    };
    Check::mended(look, fix, || {
        let this = this_program().ok_or_else(|| io::Error::other("the path of this program is not known"))?;
        for (client, scope, path, program) in entries() {
            if !matches!(program, Ok(Some(program)) if !is_there(&program)) {
                continue;
            }
            // Others share the file of a project.
            let this = if scope == Scope::Project { clients::NAME } else { this.as_str() };
            let entered = clients::enter(client, &text(&path, LIMIT)?, this).map_err(io::Error::other)?;
            if let Entered::Changed(text) = entered {
                replace(&path, &text, Readers::Owner)?;
            }
        }
        Ok(())
    })
}

fn is_there(program: &str) -> bool {
    clients::is_there(program, environment::path().as_deref())
}

/// A file of a client, and the program of its entry.
type Entry = (Client, Scope, PathBuf, Result<Option<String>, String>);

/// The files of clients that are there, and the programs of their entries.
fn entries() -> Vec<Entry> {
    let folders = folders();
    let mut entries = Vec::new();
    for client in Client::ALL {
        for scope in [Scope::User, Scope::Project] {
            let Some(path) = client.file(scope, &folders).filter(|path| path.exists()) else { continue };
            // A link of a project may lead to a file that is none of its business.
            if scope == Scope::Project && !is_inside(&path, &folders.project) {
                continue;
            }
            let program = text(&path, LIMIT).map_err(|error| error.to_string());
            let program = program
                .and_then(|text| if text.trim().is_empty() { Ok(None) } else { clients::program(client, &text) });
            entries.push((client, scope, path, program));
        }
    }
    entries
}

#[cfg(unix)]
fn is_open(path: &Path, mask: u32) -> bool {
    use std::os::unix::fs::MetadataExt as _;

    path.metadata().is_ok_and(|seen| seen.mode() & mask != 0)
}

#[cfg(not(unix))]
fn is_open(_: &Path, _: u32) -> bool {
    false
}

/// `true` if others than the owner and its group can write a file.
fn is_open_to_writers(path: &Path) -> bool {
    is_open(path, 0o002)
}

/// Takes permissions away. Only the owner can.
#[cfg(unix)]
fn close_to(path: &Path, mask: u32) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

    let seen = path.symlink_metadata()?;
    if seen.is_symlink() {
        return Err(io::Error::other(format!("{} is a link", path.display())));
    }
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(seen.mode() & !mask & 0o7777))
}

#[cfg(not(unix))]
fn close_to(_: &Path, _: u32) -> io::Result<()> {
    Ok(())
}
