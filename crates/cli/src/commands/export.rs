//! `cuebook export`: recorded runs in the formats of other software.

use std::io::IsTerminal as _;
use std::time::{Duration, Instant};

use cuebook_datalayer::RunDir;
use cuebook_export::{ExportError, Exported, Options, export};
use cuebook_grammar::report::ErrorCode;

use crate::args::ExportArgs;
use crate::exit::{Exit, Output, Refusal, print_json, print_text};
use crate::progress::{self, counted};
use crate::text::{plain, with_sources};

/// How often a terminal hears how far it is.
const PAUSE: Duration = Duration::from_secs(1);

pub(crate) fn run(args: &ExportArgs, output: Output) -> Exit {
    match exported(args, output) {
        Ok(exported) => {
            if output.json {
                print_json(&exported);
            } else {
                let (runs, written) = (counted(exported.runs, "run"), counted(exported.written.len(), "file"));
                let kept = if exported.kept == 0 { String::new() } else { format!(", {} kept", exported.kept) };
                let out = plain(&args.out.display().to_string());
                print_text(&format!("{runs}: {written} written{kept} in {out}\n"));
            }
            for problem in &exported.unreadable {
                progress::say(&format!("note: {}", plain(problem)));
            }
            Exit::OK
        }
        Err(refusal) => refusal.print(output),
    }
}

fn exported(args: &ExportArgs, output: Output) -> Result<Exported, Refusal> {
    let Some(redaction) = args.redact else {
        let message = "an export may hold texts of pages, typed values, URLs and pictures of people: \
                       --redact strict removes them, --redact none keeps them";
        return Err(Refusal::invalid(ErrorCode::Usage, message));
    };
    let runs =
        RunDir::find(&args.runs).map_err(|error| Refusal::invalid(ErrorCode::Unreadable, with_sources(&error)))?;
    let options = Options { format: args.to, redaction, out: args.out.clone(), rewrite: args.rewrite };
    let is_shown = !output.quiet && std::io::stderr().is_terminal();
    let mut said = Instant::now();
    let mut on_run = |read: usize, of: usize| {
        if is_shown && read < of && said.elapsed() >= PAUSE {
            progress::say(&format!("{read} of {of} runs"));
            said = Instant::now();
        }
    };
    export(&runs, &options, &mut on_run).map_err(|error| {
        let message = with_sources(&error);
        match error {
            ExportError::OtherExport { .. } | ExportError::Changed { .. } => {
                Refusal::invalid(ErrorCode::Usage, message)
            }
            ExportError::Data(_) | ExportError::Redact(_) => Refusal::invalid(ErrorCode::Unreadable, message),
            _ => Refusal::unusable(ErrorCode::CannotWrite, message),
        }
    })
}
