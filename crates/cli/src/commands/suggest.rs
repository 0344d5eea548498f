//! `cuebook suggest`: a patch that gives fragile targets of recorded runs test ids in the source of their application.
//!
//! Invariants:
//! - Without `--write`, nothing is written, and standard output is the patch alone: `cuebook suggest … | git apply`.
//! - What became of each target is said on standard error.

use std::io::IsTerminal as _;

use cuebook_datalayer::RunDir;
use cuebook_datalayer::fragile::{Collector, FragileTarget};
use cuebook_grammar::report::ErrorCode;
use cuebook_probe::ProbeOptions;
use cuebook_suggest::{Attributes, Outcome, Place, Source, Suggestion, suggest};
use serde::Serialize;

use crate::args::SuggestArgs;
use crate::exit::{Exit, Output, Refusal, print_json, print_text};
use crate::progress::{self, counted};
use crate::text::{plain, with_sources};

/// Document that `--json` prints.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Suggested<'a> {
    /// One for each fragile target.
    suggestions: &'a [Suggestion],
    /// The changes as a unified diff; empty if there are none.
    patch: String,
    /// Files that the patch changes.
    files: Vec<&'a str>,
    /// `true` if the changes were written.
    is_written: bool,
    /// Files of the source that were not read: too large, generated, or not UTF-8.
    skipped: &'a [std::path::PathBuf],
    /// Logs with a line that cannot be read. What stands before it counts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unreadable: Vec<String>,
}

pub(crate) fn run(args: &SuggestArgs, output: Output) -> Exit {
    suggested(args, output).unwrap_or_else(|refusal| refusal.print(output))
}

fn suggested(args: &SuggestArgs, output: Output) -> Result<Exit, Refusal> {
    let unreadable = |message: String| Refusal::invalid(ErrorCode::Unreadable, message);
    let runs = RunDir::find(&args.runs).map_err(|error| unreadable(with_sources(&error)))?;
    let source = Source::read(&args.source).map_err(|error| unreadable(with_sources(&error)))?;
    let mut collector = Collector::default();
    let mut problems = Vec::new();
    for run in &runs {
        if let Err(error) = collector.add_run(run) {
            problems.push(format!("{}: {}", run.log_path().display(), with_sources(&error)));
        }
    }
    let fragile = collector.fragile();
    let unread = fragile.unread;
    let attributes = ProbeOptions::default().test_id_attributes;
    let proposal = suggest(&source, fragile, Attributes { chosen: &args.attribute, all: &attributes });
    if args.write {
        proposal.write().map_err(|error| Refusal::unusable(ErrorCode::CannotWrite, with_sources(&error)))?;
    }
    for suggestion in &proposal.suggestions {
        progress::say(&in_words(suggestion));
    }
    for problem in &problems {
        progress::say(&format!("note: {}", plain(problem)));
    }
    if unread > 0 {
        progress::say(&format!("note: {unread} observations were not read, as their files are gone"));
    }
    if !source.skipped.is_empty() {
        let files: Vec<String> = source.skipped.iter().take(5).map(|path| plain(&path.to_string_lossy())).collect();
        let count = counted(source.skipped.len(), "file");
        progress::say(&format!(
            "note: {count} not read whole, as too large, generated or not UTF-8: {}",
            files.join(", ")
        ));
    }
    let files: Vec<&str> = proposal.files().collect();
    let done = if args.write { "changed" } else { "to change (--write does it)" };
    let targets = counted(proposal.suggestions.len(), "fragile target");
    progress::say(&format!("{targets} in {}, {} {done}", counted(runs.len(), "run"), counted(files.len(), "file")));
    let patch = proposal.patch();
    if output.json {
        let suggestions = &proposal.suggestions[..];
        let skipped = &source.skipped[..];
        print_json(&Suggested { suggestions, patch, files, is_written: args.write, skipped, unreadable: problems });
    } else if std::io::stdout().is_terminal() {
        let line = |line: &str| line.split('\t').map(plain).collect::<Vec<_>>().join("\t") + "\n";
        print_text(&patch.lines().map(line).collect::<String>());
    } else {
        print_text(&patch);
    }
    Ok(Exit::OK)
}

/// `button "Place order" (found by its text only): checkout-place-order at index.html:7`.
fn in_words(suggestion: &Suggestion) -> String {
    let FragileTarget { role, name, locator, signs, .. } = &suggestion.target;
    let declared = locator.as_ref().filter(|_| name.is_empty()).map(ToString::to_string);
    let target = declared.unwrap_or_else(|| format!("{role} {name:?}"));
    let signs: Vec<&str> = signs.iter().map(|sign| sign.kind.in_words()).collect();
    let at = |place: &Place| format!("{}:{}", place.file, place.line);
    let all = |places: &[Place]| places.iter().map(at).collect::<Vec<_>>().join(", ");
    let outcome = match &suggestion.outcome {
        Outcome::Added { test_id, place } => format!("{test_id} at {}", at(place)),
        Outcome::Present { attribute, place } => format!("has {attribute} at {} already; record again", at(place)),
        Outcome::NotFound => "nothing in the source fits".to_owned(),
        Outcome::Ambiguous { places } => format!("several places fit: {}", all(places)),
        Outcome::Repeated { by, place } => {
            format!(
                "{} makes several elements ({by}), so one id would be many; write one that differs by item",
                at(place)
            )
        }
        Outcome::Component { places } => {
            let names: Vec<String> = places.iter().map(|place| format!("<{}> at {}", place.tag, at(place))).collect();
            format!("only a component has it, which may not pass the attribute on: {}", names.join(", "))
        }
        _ => "unknown outcome".to_owned(),
    };
    plain(&format!("{target} ({}): {outcome}", signs.join(", ")))
}
