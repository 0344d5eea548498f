//! `cuebook save`: what was done in a session, as a plan.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;

use cuebook_datalayer::{ArtifactStore, Run, RunDir};
use cuebook_grammar::action::ActionKind;
use cuebook_grammar::report::ErrorCode;

use super::place::{not_open, place};
use super::replay::{recording, unreadable};
use crate::args::SaveArgs;
use crate::exit::{Exit, Output, Refusal};
use crate::progress::{counted, say};
use crate::text::plain;

pub(crate) fn run(args: &SaveArgs, output: Output) -> Exit {
    match saved(args) {
        Ok(steps) => {
            if !output.quiet {
                say(&format!("{} in {}", counted(steps, "step"), plain(&args.plan.display().to_string())));
            }
            Exit::OK
        }
        Err(refusal) => refusal.print(output),
    }
}

/// Writes the plan, and returns the number of its steps.
fn saved(args: &SaveArgs) -> Result<usize, Refusal> {
    let (registry, name) = place(&args.name)?;
    let Some(entry) = registry.find(&name) else { return Err(not_open(&registry, &name)?) };
    let dir = RunDir::open(Path::new(&entry.log.unwrap_or_default())).map_err(|error| unreadable(&error))?;
    let mut run = Run::read(&dir.log_path()).map_err(|error| unreadable(&error))?;
    // How a selector was looked up is no part of what was done.
    run.steps.retain(|record| record.action.action.kind() != ActionKind::ResolveSelector);
    let recording = recording(&run, &ArtifactStore::new(&dir, None), &args.credential)?;
    let all = recording.plan.steps.len();
    let first = args.last.map_or(0, |last| all.saturating_sub(usize::try_from(last).unwrap_or(usize::MAX)));
    let plan = recording.keeping(&(first..all).collect::<Vec<_>>()).plan;
    let text = serde_json::to_string_pretty(&plan).map_err(|error| unreadable(&error))?;
    let written = OpenOptions::new().write(true).create_new(true).open(&args.plan);
    written.and_then(|mut file| writeln!(file, "{text}")).map_err(|error| {
        let shown = plain(&args.plan.display().to_string());
        Refusal::unusable(ErrorCode::CannotWrite, format!("{shown}: {error}"))
    })?;
    Ok(plan.steps.len())
}
