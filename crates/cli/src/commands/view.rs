//! `cuebook view`: the page of a run, served while it goes on.

use std::path::Path;

use cuebook_datalayer::RunDir;
use cuebook_grammar::report::ErrorCode;
use cuebook_view::Questions;
use serde_json::json;

use super::place::{not_open, place};
use crate::args::{SessionName, ViewArgs};
use crate::exit::{Exit, Output, Refusal, print_text};
use crate::interrupt::Signals;
use crate::progress::say;
use crate::text::plain;
use crate::watch::{open_page, serve};

pub(crate) async fn run(args: ViewArgs, output: Output) -> Exit {
    match shown(&args, output).await {
        Ok(()) => Exit::OK,
        Err(refusal) => refusal.print(output),
    }
}

async fn shown(args: &ViewArgs, output: Output) -> Result<(), Refusal> {
    let dir = match &args.run {
        Some(run) => named(run)?,
        None => session(&args.name)?,
    };
    let mut signals = Signals::listen();
    let view = serve(&dir, args.port, Questions::default()).await?;
    if output.json {
        // One line, flushed: the parent process waits for it.
        print_text(&format!("{}\n", json!({ "url": view.url(), "run": dir.path() })));
    } else {
        print_text(&format!("{}\n", view.url()));
        if !output.quiet {
            say("anyone who has this address can see the run; Ctrl-C ends the page");
        }
    }
    if args.open {
        open_page(view.url());
    }
    signals.next().await;
    view.end().await;
    Ok(())
}

/// The run that is meant: a folder, or the log of an open session with its name.
fn named(run: &Path) -> Result<RunDir, Refusal> {
    let refused = |why: String| Refusal::invalid(ErrorCode::Unreadable, why);
    let dir = RunDir::open(run).ok();
    if let Some(dir) = dir.as_ref().filter(|dir| dir.log_path().is_file()) {
        return Ok(dir.clone());
    }
    let shown = plain(&run.display().to_string());
    match dir {
        Some(_) => match RunDir::find(&[run.to_owned()]).ok().and_then(|runs| runs.last().cloned()) {
            Some(last) => {
                let last = plain(&last.path().display().to_string());
                Err(refused(format!("{shown} holds several runs: name the directory of one; the last is {last}")))
            }
            None => Err(refused(format!("{shown} has no log.jsonl: name the directory of a run"))),
        },
        None => session(&SessionName { session: Some(run.to_string_lossy().into_owned()) }).map_err(|refusal| {
            let is_missing = refusal.error.code == ErrorCode::Usage;
            if is_missing {
                refused(format!("{shown} is neither the directory of a run nor an open session"))
            } else {
                refusal
            }
        }),
    }
}

/// The run of an open session.
fn session(name: &SessionName) -> Result<RunDir, Refusal> {
    let (registry, found) = place(name)?;
    let Some(entry) = registry.find(&found) else { return Err(not_open(&registry, &found)?) };
    let refused = |why: String| Refusal::invalid(ErrorCode::Unreadable, why);
    let log = entry.log.ok_or_else(|| refused(format!("the session {found} keeps no log")))?;
    RunDir::open(Path::new(&log)).map_err(|error| super::replay::unreadable(&error))
}
