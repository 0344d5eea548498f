//! `cuebook save`: what was done in a session, as a plan.

use std::path::Path;

use cuebook_datalayer::{ArtifactStore, Run, RunDir};
use cuebook_grammar::action::ActionKind;

use super::place::{not_open, place};
use super::replay::{recording, unreadable};
use crate::args::SaveArgs;
use crate::exit::{Exit, Output, Refusal};
use crate::new_file::NewFile;
use crate::progress::{counted, say};
use crate::text::plain;

/// Steps that only look something up.
const LOOKS: [ActionKind; 3] = [ActionKind::ResolveSelector, ActionKind::SearchPage, ActionKind::FindElements];

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
    // How something was looked up is no part of what was done.
    run.steps.retain(|record| !LOOKS.contains(&record.action.action.kind()));
    let last = args.last.map_or(usize::MAX, |last| usize::try_from(last).unwrap_or(usize::MAX));
    let plan = recording(&run, &ArtifactStore::new(&dir, None), &args.credential, last)?.plan;
    let text = serde_json::to_string_pretty(&plan).map_err(|error| unreadable(&error))?;
    NewFile::at(&args.plan, false, "name another file")?.write(&(text + "\n"))?;
    Ok(plan.steps.len())
}
