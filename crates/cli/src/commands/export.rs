//! `cuebook export`: recorded runs in the formats of other software.

use std::path::Path;

use cuebook_export::{Exported, Format, Options, Redaction, export, missing};
use cuebook_grammar::report::ErrorCode;
use url::Url;

use crate::args::ExportArgs;
#[cfg(feature = "remote")]
use crate::elsewhere;
use crate::exit::{Exit, Output, Refusal, print_json, print_text};
use crate::exporting::{self, refusal};
use crate::progress::{self, counted};
use crate::text::plain;

pub(crate) async fn run(args: &ExportArgs, output: Output) -> Exit {
    match exported(args, output).await {
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
            if args.check { checked(args, output) } else { Exit::OK }
        }
        Err(refusal) => refusal.print(output),
    }
}

/// Fails if a class of steps has no example in the data set that was exported.
fn checked(args: &ExportArgs, output: Output) -> Exit {
    match missing(&args.out) {
        Ok(classes) if classes.is_empty() => Exit::OK,
        Ok(classes) => {
            let out = plain(&args.out.display().to_string());
            progress::say(&format!("{out} has no example of: {}; add runs that have them", classes.join(", ")));
            Exit::FAILED
        }
        Err(error) => refusal(error).print(output),
    }
}

async fn exported(args: &ExportArgs, output: Output) -> Result<Exported, Refusal> {
    let Some(redaction) = args.redact else {
        let message = "an export may hold texts of pages, typed values, URLs and pictures of people: \
                       --redact strict removes them, --redact none keeps them";
        return Err(Refusal::invalid(ErrorCode::Usage, message));
    };
    let address = address(&args.out)?;
    if args.check && (!matches!(args.to, Format::Sft | Format::HuggingFace) || address.is_some()) {
        let message = "--check needs --to sft or --to hf, and a directory as --out";
        return Err(Refusal::invalid(ErrorCode::Usage, message));
    }
    let runs = exporting::runs(&args.runs)?;
    if args.pictures && (!matches!(args.to, Format::Sft | Format::HuggingFace) || redaction != Redaction::None) {
        let message = "--pictures needs --to sft or --to hf, and --redact none: a picture shows what strict removes";
        return Err(Refusal::invalid(ErrorCode::Usage, message));
    }
    let out = args.out.clone();
    let options = Options { format: args.to, redaction, out, rewrite: args.rewrite, pictures: args.pictures };
    match address {
        #[cfg(feature = "remote")]
        Some(url) => elsewhere::exported(&url, runs, options, output).await,
        #[cfg(not(feature = "remote"))]
        Some(_) => {
            let message = "--out: this build writes directories only (cargo install cuebook-cli --features remote)";
            Err(Refusal::invalid(ErrorCode::Usage, message))
        }
        None => export(&runs, &options, &mut exporting::progress(output)).map_err(refusal),
    }
}

/// The URL that stands in the place of a folder.
fn address(out: &Path) -> Result<Option<Url>, Refusal> {
    let Some(text) = out.to_str() else { return Ok(None) };
    // A drive of Windows is one letter.
    if text.split_once("://").is_none_or(|(scheme, _)| scheme.len() < 2) {
        return Ok(None);
    }
    let invalid = |error| Refusal::invalid(ErrorCode::Usage, format!("--out: expected a directory or a URL: {error}"));
    Url::parse(text).map(Some).map_err(invalid)
}
