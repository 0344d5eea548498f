//! `cuebook view`: the page of a run, served while it goes on.

use std::path::Path;

use cuebook_datalayer::RunDir;
use cuebook_grammar::report::ErrorCode;
use cuebook_view::Questions;
use serde_json::json;

use crate::args::ViewArgs;
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
    let dir = named(args.run.as_deref())?;
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
fn named(run: Option<&Path>) -> Result<RunDir, Refusal> {
    let refused = |why: String| Refusal::invalid(ErrorCode::Unreadable, why);
    let Some(run) = run else { return session(None) };
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
        None => session(Some(&run.to_string_lossy())),
    }
}

/// The run of an open session: of this name, or of the project.
fn session(name: Option<&str>) -> Result<RunDir, Refusal> {
    let place = crate::args::SessionName { session: name.map(str::to_owned) };
    let (registry, found) = super::place::place(&place)?;
    let refused = |why: String| Refusal::invalid(ErrorCode::Unreadable, why);
    let entry = registry.find(&found).ok_or_else(|| match name {
        Some(name) => refused(format!("{} is neither the directory of a run nor an open session", plain(name))),
        None => {
            refused(format!("the project has no open session ({found}): name the directory of a run, or a session"))
        }
    })?;
    let log = entry.log.ok_or_else(|| refused(format!("the session {found} keeps no log")))?;
    RunDir::open(Path::new(&log)).map_err(|error| super::replay::unreadable(&error))
}
