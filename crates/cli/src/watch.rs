//! The page of a run, served beside it.

use cuebook_datalayer::RunDir;
use cuebook_grammar::report::ErrorCode;
use cuebook_view::{Questions, View, ViewError};

use crate::args::WatchArgs;
use crate::exit::Refusal;
use crate::progress::say;
use crate::text::with_sources;

/// Serves the page of a run, and says where.
pub(crate) async fn open(dir: &RunDir, flags: &WatchArgs, asks: Questions) -> Result<View, Refusal> {
    let view = serve(dir, flags.port, asks).await?;
    say(&format!("watch: {}", view.url()));
    if flags.open {
        open_page(view.url());
    }
    Ok(view)
}

pub(crate) async fn serve(dir: &RunDir, port: Option<u16>, asks: Questions) -> Result<View, Refusal> {
    View::open(dir, port.unwrap_or(0), asks).await.map_err(|error| match &error {
        ViewError::Log(_) => Refusal::invalid(ErrorCode::Unreadable, with_sources(&error)),
        _ => Refusal::unusable(ErrorCode::SiteUnavailable, with_sources(&error)),
    })
}

pub(crate) fn open_page(url: &str) {
    if let Err(error) = open::that_detached(url) {
        say(&format!("note: the system has no browser to open the page with: {error}"));
    }
}
