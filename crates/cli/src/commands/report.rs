//! `cuebook report`: a recorded run, or many, as one page of HTML.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use cuebook_datalayer::metrics::Collector;
use cuebook_datalayer::replay::Comparison;
use cuebook_datalayer::{ArtifactStore, Entries, Run, RunDir, html};
use cuebook_grammar::report::{ErrorCode, RunReport};
use serde_json::json;
use url::Url;

use super::eval::{FIGURE, RUNS};
use super::replay::COMPARISON;
use crate::args::ReportArgs;
use crate::exit::{Exit, Output, Refusal, print_json, print_text};
use crate::progress;
use crate::text::{plain, with_sources};

const PAGE: &str = "report.html";
/// How many pages of single runs are written beside that of many.
const PAGES: usize = 100;

pub(crate) fn run(args: &ReportArgs, output: Output) -> Exit {
    match written(args) {
        Ok(path) => {
            if output.json {
                print_json(&json!({ "report": path }));
            } else {
                print_text(&format!("{}\n", plain(&path.display().to_string())));
            }
            if args.open
                && let Err(error) = open::that_detached(&path)
            {
                progress::say(&format!("note: the system has no browser to open it with: {error}"));
            }
            Exit::OK
        }
        Err(refusal) => refusal.print(output),
    }
}

fn written(args: &ReportArgs) -> Result<PathBuf, Refusal> {
    // The logs of an evaluation lie one level deeper.
    let place = |folder: &PathBuf| match folder.join(RUNS) {
        runs if runs.is_dir() && folder.join(FIGURE).is_file() => runs,
        _ => folder.clone(),
    };
    let places: Vec<PathBuf> = args.runs.iter().map(place).collect();
    let runs = RunDir::find(&places).map_err(|error| unreadable(&error))?;
    let out = |folder: &Path| args.out.clone().unwrap_or_else(|| folder.join(PAGE));
    match (args.runs.as_slice(), runs.as_slice()) {
        ([named], [run]) if named == run.path() => write(&out(named), page(run)?),
        ([folder], _) => many(&runs, fs::read_to_string(folder.join(FIGURE)).ok().as_deref(), &out(folder)),
        (folders, _) => match &args.out {
            Some(path) => many(&runs, None, path),
            None => {
                let message = format!("expected --out FILE for the page of {} folders", folders.len());
                Err(Refusal::invalid(ErrorCode::Unreadable, message))
            }
        },
    }
}

/// The page of one run.
fn page(dir: &RunDir) -> Result<String, Refusal> {
    let run = Run::read(&dir.log_path()).map_err(|error| unreadable(&error))?;
    // A run that was killed has no report, and only a replay has a comparison.
    let report = fs::read_to_string(dir.report_path()).ok().and_then(|text| RunReport::read(&text).ok());
    let comparison = fs::read(dir.path().join(COMPARISON)).ok();
    let comparison = comparison.and_then(|json| serde_json::from_slice::<Comparison>(&json).ok());
    let beside = html::Beside { report: report.as_ref(), comparison: comparison.as_ref() };
    Ok(html::page(&run, beside, &ArtifactStore::new(dir, None)))
}

/// The page of many runs, and those of the runs that it names for a reason, where they are missing.
fn many(runs: &[RunDir], figure: Option<&str>, path: &Path) -> Result<PathBuf, Refusal> {
    let mut collector = Collector::default();
    let mut folders = BTreeMap::new();
    for dir in runs {
        let log = dir.log_path();
        let note =
            |error| progress::say(&format!("note: {}: {}", plain(&log.display().to_string()), with_sources(&error)));
        let entries = match Entries::open(&log) {
            Ok(entries) => entries,
            Err(error) => {
                note(error);
                continue;
            }
        };
        // What stands before a line that cannot be read is counted.
        if let Err(error) = collector.add_run(entries) {
            note(error);
        }
        if let Some(line) = collector.runs().last() {
            folders.insert(line.run_id.clone(), dir);
        }
    }
    let summary = collector.summary();
    let failed = summary.failed.iter().map(|run| &run.run_id);
    let mixed = summary.flaky_targets.iter().chain(&summary.flaky_conditions).flat_map(|mixed| &mixed.runs);
    let slow = summary.slow_steps.iter().chain(&summary.slow_endpoints).map(|slow| &slow.slowest_run);
    let named = failed.chain(summary.failures.iter().flat_map(|failure| &failure.runs)).chain(mixed).chain(slow);
    let named: BTreeSet<&String> = named.collect();
    for dir in named.into_iter().filter_map(|id| folders.get(id)).take(PAGES) {
        let page_path = dir.path().join(PAGE);
        if !page_path.exists()
            && let Ok(page) = page(dir)
        {
            write(&page_path, page)?;
        }
    }
    let base = path.parent().and_then(address);
    let link = |id: &str| {
        let page = folders.get(id)?.path().join(PAGE);
        let (page, base) = (Url::from_file_path(fs::canonicalize(page).ok()?).ok()?, base.as_ref()?);
        // With a dot, so that the name of a folder is never read as a scheme.
        base.make_relative(&page).map(|path| format!("./{path}"))
    };
    write(path, html::overview(&collector, figure, &link))
}

/// The address of a folder.
fn address(folder: &Path) -> Option<Url> {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    Url::from_directory_path(fs::canonicalize(folder).ok()?).ok()
}

fn write(path: &Path, page: String) -> Result<PathBuf, Refusal> {
    fs::write(path, page)
        .map_err(|error| Refusal::unusable(ErrorCode::CannotWrite, format!("{}: {error}", path.display())))?;
    Ok(path.to_owned())
}

fn unreadable(error: &(dyn std::error::Error + 'static)) -> Refusal {
    Refusal::invalid(ErrorCode::Unreadable, with_sources(error))
}
