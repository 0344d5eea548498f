//! `cuebook report`: a recorded run as one page of HTML.

use std::fs;
use std::path::PathBuf;

use cuebook_datalayer::{ArtifactStore, Run, RunDir, html};
use cuebook_grammar::report::{ErrorCode, RunReport};
use serde_json::json;

use crate::args::ReportArgs;
use crate::exit::{Exit, Output, Refusal, print_json, print_text};
use crate::progress;
use crate::text::{plain, with_sources};

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
    let dir = RunDir::open(&args.run).map_err(|error| Refusal::invalid(ErrorCode::Unreadable, with_sources(&error)))?;
    let run =
        Run::read(&dir.log_path()).map_err(|error| Refusal::invalid(ErrorCode::Unreadable, with_sources(&error)))?;
    // A run that was killed has none.
    let report = fs::read_to_string(dir.report_path()).ok().and_then(|text| RunReport::read(&text).ok());
    let page = html::page(&run, report.as_ref(), &ArtifactStore::new(&dir, None));
    let path = args.out.clone().unwrap_or_else(|| dir.path().join("report.html"));
    fs::write(&path, page)
        .map_err(|error| Refusal::unusable(ErrorCode::CannotWrite, format!("{}: {error}", path.display())))?;
    Ok(path)
}
