//! `cuebook prune` and `delete-data`: removes old runs, or those of a session.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use cuebook_datalayer::retention::{Retention, StoredRun};
use cuebook_datalayer::{DataError, Entries, Entry, KnownPlans, RunDir};
use cuebook_grammar::report::ErrorCode;
use serde::Serialize;

use super::place::place;
use crate::args::{DeleteDataArgs, PruneArgs};
use crate::exit::{Exit, Output, Refusal, print_json, print_text};
use crate::progress::{self, counted};
use crate::text::{plain, with_sources};

/// Document that `--json` prints for removed runs.
#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Pruned {
    dry_run: bool,
    /// Folders of the removed runs, oldest first; with `--dry-run`, those that would be removed.
    removed: Vec<PathBuf>,
    /// Size of the removed folders in bytes.
    bytes: u64,
    kept: usize,
    /// Why folders were not looked at or not removed.
    notes: Vec<String>,
}

pub(crate) fn run(args: &PruneArgs, output: Output) -> Exit {
    print(pruned(args, &|_| true), output)
}

/// Removes what the closed sessions of a name keep: their runs, with pictures, downloads and files.
pub(crate) fn of_session(args: DeleteDataArgs, output: Output) -> Exit {
    let usage = |why: String| Refusal::invalid(ErrorCode::Usage, why);
    let removed = || {
        let (registry, name) = place(&args.name)?;
        if registry.find(&name).is_some() {
            return Err(usage(format!("the session {name} is open; `cuebook close -s {name}` ends it")));
        }
        let out = plain(&args.out.display().to_string());
        let args = PruneArgs { runs: vec![args.out], older: None, larger: None, keep: Some(0), dry_run: args.dry_run };
        let pruned = pruned(&args, &|log| is_of_session(log, &name))?;
        match pruned.removed.is_empty() && pruned.notes.is_empty() {
            true => Err(usage(format!("no session {name} has left a run in {out}; `--out` names another folder"))),
            false => Ok(pruned),
        }
    };
    print(removed(), output)
}

fn is_of_session(log: &Path, name: &str) -> bool {
    let first = Entries::open(log).ok().and_then(|mut entries| entries.next());
    matches!(first, Some(Ok(Entry::Header(header))) if header.session.as_deref() == Some(name))
}

fn print(pruned: Result<Pruned, Refusal>, output: Output) -> Exit {
    match pruned {
        Ok(pruned) => {
            for note in &pruned.notes {
                progress::say(&format!("note: {note}"));
            }
            if output.json {
                print_json(&pruned);
            } else {
                print_text(&in_words(&pruned));
            }
            Exit::OK
        }
        Err(refusal) => refusal.print(output),
    }
}

/// Removes runs with logs that are meant.
fn pruned(args: &PruneArgs, is_meant: &dyn Fn(&Path) -> bool) -> Result<Pruned, Refusal> {
    let mut pruned = Pruned { dry_run: args.dry_run, ..Pruned::default() };
    let mut runs = Vec::new();
    for path in &args.runs {
        let found = match RunDir::find(std::slice::from_ref(path)) {
            Err(DataError::NoRun { .. }) => Vec::new(),
            found => found.map_err(|error| Refusal::invalid(ErrorCode::Unreadable, with_sources(&error)))?,
        };
        for dir in found.into_iter().filter(|dir| is_meant(&dir.log_path())) {
            let shown = plain(&dir.path().display().to_string());
            match StoredRun::of(dir) {
                Ok(Ok(run)) => runs.push(run),
                Ok(Err(why)) => pruned.notes.push(format!("{shown} is kept: {why}")),
                Err(error) => pruned.notes.push(format!("{shown} is kept: {}", with_sources(&error))),
            }
        }
    }
    pruned.kept = runs.len();
    let retention = Retention { runs: args.keep, age: args.older, bytes: args.larger };
    for run in retention.superfluous(runs, SystemTime::now()) {
        let (path, bytes) = (run.dir.path().to_owned(), run.bytes);
        let removed = if args.dry_run { Ok(()) } else { run.remove() };
        match removed {
            Ok(()) => {
                pruned.kept -= 1;
                pruned.bytes += bytes;
                pruned.removed.push(path);
            }
            Err(error) => pruned.notes.push(with_sources(&error)),
        }
    }
    if !args.dry_run {
        // What was remembered of the removed runs goes with them.
        let forgotten = args.runs.iter().map(|path| KnownPlans::forget_removed(path));
        pruned.notes.extend(forgotten.filter_map(Result::err).map(|error| with_sources(&error)));
    }
    Ok(pruned)
}

fn in_words(pruned: &Pruned) -> String {
    let verb = if pruned.dry_run { "would remove" } else { "removed" };
    let lines = pruned.removed.iter().map(|path| format!("{verb} {}\n", plain(&path.display().to_string())));
    let (runs, kept) = (counted(pruned.removed.len(), "run"), counted(pruned.kept, "run"));
    lines.collect::<String>() + &format!("{verb} {runs} of {} bytes; {kept} kept\n", pruned.bytes)
}
