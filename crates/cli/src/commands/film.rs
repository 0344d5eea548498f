//! `cuebook film`: the pictures of a run, one after another.

use std::fs::File;
use std::io::BufWriter;

use cuebook_datalayer::film::{Film, FilmError, film};
use cuebook_datalayer::{ArtifactStore, Run, RunDir};
use cuebook_grammar::report::ErrorCode;
use serde_json::json;

use super::replay::unreadable;
use crate::args::FilmArgs;
use crate::exit::{Exit, Output, Refusal, print_json, print_text};
use crate::progress::{counted, say};
use crate::text::{plain, with_sources};
use crate::watch::open_page;

const FILM: &str = "film.png";

pub(crate) fn run(args: &FilmArgs, output: Output) -> Exit {
    let path = args.out.clone().unwrap_or_else(|| args.run.join(FILM));
    let written = match filmed(args, &path) {
        Ok(film) => film,
        Err(refusal) => return refusal.print(output),
    };
    let Film { frames, width, height, duration_ms } = written;
    if output.json {
        let film = json!({
            "film": path, "frames": frames, "width": width, "height": height, "durationMs": duration_ms,
        });
        print_json(&film);
    } else {
        print_text(&format!("{}\n", plain(&path.display().to_string())));
        if !output.quiet {
            say(&format!("{} in {} s", counted(frames, "picture"), duration_ms.div_ceil(1_000)));
        }
    }
    if args.open {
        open_page(&path.display().to_string());
    }
    Exit::OK
}

fn filmed(args: &FilmArgs, path: &std::path::Path) -> Result<Film, Refusal> {
    let dir = RunDir::open(&args.run).map_err(|error| unreadable(&error))?;
    let run = Run::read(&dir.log_path()).map_err(|error| unreadable(&error))?;
    let refused = |error: &FilmError| match error {
        FilmError::Write(_) => {
            Refusal::unusable(ErrorCode::CannotWrite, format!("{}: {}", path.display(), with_sources(error)))
        }
        _ => Refusal::invalid(ErrorCode::Unreadable, error.to_string()),
    };
    // A film that cannot be made leaves no file, and an earlier one as it is.
    let beside = path.with_extension("part");
    let file = File::create(&beside).map_err(|error| refused(&FilmError::Write(error)))?;
    let written = film(&run, &ArtifactStore::new(&dir, None), BufWriter::new(file));
    let moved = written.and_then(|film| std::fs::rename(&beside, path).map(|()| film).map_err(FilmError::Write));
    moved.map_err(|error| {
        // It may be gone.
        std::fs::remove_file(&beside).ok();
        refused(&error)
    })
}
