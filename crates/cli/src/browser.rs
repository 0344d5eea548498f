//! The browser that the flags select.

use std::time::{Duration, Instant};

use cuebook::environment::{self, FromEnv as _};
use cuebook::{BrowserSource, Tab};
use cuebook_cdp::{LaunchOptions, Sandbox, SearchPlaces, Window, find_chrome};
use cuebook_grammar::plan::PlanDraft;
use cuebook_grammar::report::ErrorCode;

use crate::args::BrowserArgs;
use crate::exit::Refusal;
use crate::progress;
use crate::text::with_sources;

/// Time limit for starting a browser or attaching to one.
const BROWSER_PATIENCE: Duration = Duration::from_secs(30);
/// Time limit for closing it.
const CLOSING_PATIENCE: Duration = Duration::from_secs(5);

/// The default viewport in CSS pixels.
const VIEWPORT: (u32, u32) = (1280, 720);

/// Starts the browser or attaches to it, and opens a tab.
pub(crate) async fn open_tab(args: &BrowserArgs) -> Result<Tab, Refusal> {
    let until = Instant::now() + BROWSER_PATIENCE;
    let source = match &args.cdp {
        Some(endpoint) => BrowserSource::Attach(endpoint.clone()),
        None => launch_options(args)?.into(),
    };
    Tab::open(source, until).await.map_err(|error| Refusal::unusable(ErrorCode::NoBrowser, with_sources(&error)))
}

fn launch_options(args: &BrowserArgs) -> Result<LaunchOptions, Refusal> {
    let binary = find_chrome(&search_places(args)).map_err(|error| {
        let hint = "install Chrome or Chromium (Debian: apt-get install chromium), set $CHROME, or use --chrome";
        Refusal::unusable(ErrorCode::NoBrowser, format!("{}; {hint}", with_sources(&error)))
    })?;
    let mut options = LaunchOptions::new(binary, environment::profile_root());
    options.window = if args.headed { Window::Headed } else { Window::Headless };
    options.viewport = args.viewport.unwrap_or(VIEWPORT);
    options.sandbox = if args.no_sandbox { Sandbox::Off } else { Sandbox::Default };
    Ok(options)
}

/// Where to look for a browser.
pub(crate) fn search_places(args: &BrowserArgs) -> SearchPlaces {
    SearchPlaces { explicit: args.chrome.clone(), ..SearchPlaces::from_env() }
}

/// Closes the browser if we started it, else only our tab.
pub(crate) async fn close_tab(tab: Tab) {
    if let Err(error) = tab.close(Instant::now() + CLOSING_PATIENCE).await {
        tracing::debug!(%error, "the browser did not close cleanly");
    }
}

/// Sets the viewport that the plan was written for, unless a flag sets another one. A note reports a mismatch.
pub(crate) fn fit_viewport(args: &mut BrowserArgs, draft: &PlanDraft) {
    let Some(wanted) = draft.context.as_ref().and_then(|context| context.viewport) else { return };
    let wanted = (wanted.width, wanted.height);
    let instead = match args.viewport {
        _ if args.cdp.is_some() => "the browser of --cdp keeps its own".to_owned(),
        Some((width, height)) if (width, height) != wanted => format!("--viewport sets {width}x{height}"),
        _ => {
            args.viewport = Some(wanted);
            return;
        }
    };
    progress::say(&format!("note: the plan was written for a viewport of {}x{}; {instead}", wanted.0, wanted.1));
}
