//! `cuebook completions` and `cuebook man`: what a shell and `man` know of the command line.

use cuebook_grammar::report::ErrorCode;

use crate::args::{CompletionsArgs, ManArgs, line};
use crate::config::apply::with_variables;
use crate::exit::{Exit, Output, Refusal, print_text};
use crate::progress::{counted, say};
use crate::text::plain;

/// Name of the program in completions and pages.
const NAME: &str = "cuebook";

pub(crate) fn print(args: &CompletionsArgs) -> Exit {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut line(), NAME, &mut script);
    print_text(&String::from_utf8_lossy(&script));
    Exit::OK
}

/// Writes a page for each command.
pub(crate) fn write_manual(args: &ManArgs, output: Output) -> Exit {
    let written = std::fs::create_dir_all(&args.dir)
        .and_then(|()| clap_mangen::generate_to(with_variables(line()), &args.dir))
        .and_then(|()| Ok(std::fs::read_dir(&args.dir)?.count()));
    let shown = plain(&args.dir.display().to_string());
    match written {
        Ok(pages) => {
            if !output.quiet {
                say(&format!("{shown}: {}; `man -l {shown}/{NAME}.1` shows the first", counted(pages, "page")));
            }
            Exit::OK
        }
        Err(error) => Refusal::invalid(ErrorCode::CannotWrite, format!("{shown}: {error}")).print(output),
    }
}
