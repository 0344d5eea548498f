//! The browser that the flags select.

use std::time::{Duration, Instant};

use cuebook::egress::Uncontained;
use cuebook::environment::{self, FromEnv as _};
use cuebook::network::drift::DISABLED_FEATURES;
use cuebook::{AgentError, BrowserSource, Containment, Tab, launch_under};
use cuebook_cdp::{LaunchOptions, OpenTab, Sandbox, SearchPlaces, Window, find_chrome};
use cuebook_grammar::plan::PlanDraft;
use cuebook_grammar::policy::Policy;
use cuebook_grammar::report::ErrorCode;

use crate::args::{BrowserArgs, ContainmentArgs, SessionOptions};
use crate::exit::Refusal;
use crate::progress;
use crate::text::with_sources;

/// Time limit for starting a browser or attaching to one.
pub(crate) const BROWSER_PATIENCE: Duration = Duration::from_secs(30);
/// Time limit for closing it. A browser that is busy with a page is killed then: its profile is removed anyway, and a
/// command ends at most two seconds after its time limit.
pub(crate) const CLOSING_PATIENCE: Duration = Duration::from_millis(1_000);

/// The default viewport in CSS pixels.
pub(crate) const VIEWPORT: (u32, u32) = (1280, 720);

/// Starts the browser or attaches to it, and opens a tab. A browser that is started reaches what `policy` lets pages
/// load, and nothing else.
pub(crate) async fn open_contained(options: &SessionOptions, policy: Policy) -> Result<Tab, Refusal> {
    if options.browser.cdp.is_some() && policy.states_requests() {
        let message = "--gate effects and the `requests` of a policy need a browser that is started for the run; --cdp \
                       uses one that holds no requests for us";
        return Err(Refusal::invalid(ErrorCode::InvalidPolicy, message.to_owned()));
    }
    open_under(policy, &options.browser, &options.containment, BROWSER_PATIENCE).await
}

/// Starts the browser or attaches to it within a time limit, and opens a tab under a policy.
pub(crate) async fn open_under(
    policy: Policy,
    browser: &BrowserArgs,
    containment: &ContainmentArgs,
    limit: Duration,
) -> Result<Tab, Refusal> {
    let tab = open_tab_within(browser, containment.containment(), limit).await?;
    tab.reach(policy);
    Ok(tab)
}

/// Starts the browser or attaches to it, and opens a tab. A contained one reaches nothing yet.
pub(crate) async fn open_tab(args: &BrowserArgs, containment: Containment) -> Result<Tab, Refusal> {
    open_tab_within(args, containment, BROWSER_PATIENCE).await
}

/// The tab, whose pages see what the flags say. One that cannot be given that is closed.
pub(crate) async fn emulated(tab: Tab, args: &BrowserArgs) -> Result<Tab, Refusal> {
    let Some(emulation) = args.pages.emulation() else { return Ok(tab) };
    let set = match tab.context() {
        Ok(context) => context.emulate(emulation).await,
        Err(error) => Err(error.into()),
    };
    if let Err(error) = set {
        close_tab(tab).await;
        return Err(Refusal::invalid(ErrorCode::Usage, with_sources(&error)));
    }
    Ok(tab)
}

pub(crate) fn refused(error: &AgentError) -> Refusal {
    // One that died, or did not answer, says nothing against the proxy.
    let is_uncontained = matches!(error, AgentError::Uncontained(why) if !matches!(why,
        Uncontained::Page(_) | Uncontained::CommandLine(_) | Uncontained::Script(_) | Uncontained::Late));
    let hint = if is_uncontained { "; --direct starts it without the proxy" } else { "" };
    Refusal::unusable(ErrorCode::NoBrowser, format!("{}{hint}", with_sources(error)))
}

async fn open_tab_within(args: &BrowserArgs, containment: Containment, limit: Duration) -> Result<Tab, Refusal> {
    let until = Instant::now() + limit.min(BROWSER_PATIENCE);
    let source = match (&args.cdp, &args.tab) {
        (Some(endpoint), Some(tab)) => {
            BrowserSource::HandedOver { endpoint: endpoint.clone(), tab: OpenTab::Named(tab.clone()) }
        }
        (Some(endpoint), None) => BrowserSource::Attach(endpoint.clone()),
        (None, _) => launch_options(args)?.into(),
    };
    let tab = Tab::open(source, containment, until).await.map_err(|error| refused(&error))?;
    let tab = emulated(tab, args).await?;
    Ok(if args.wire.is_offline { tab.offline() } else { tab })
}

pub(crate) fn launch_options(args: &BrowserArgs) -> Result<LaunchOptions, Refusal> {
    let binary = find_chrome(&search_places(args)).map_err(|error| {
        let hint = match &args.chrome {
            Some(_) => "--chrome or CUEBOOK_CHROME names it (Debian: apt-get install chromium)",
            None => "install Chrome or Chromium (Debian: apt-get install chromium), set $CHROME, or use --chrome",
        };
        Refusal::unusable(ErrorCode::NoBrowser, format!("{}; {hint}", with_sources(&error)))
    })?;
    let mut options = LaunchOptions::new(binary, environment::profile_root());
    options.window = if args.headed { Window::Headed } else { Window::Headless };
    options.accept_downloads.clone_from(&args.downloads);
    options.viewport = args.viewport.unwrap_or(VIEWPORT);
    options.copied_profile.clone_from(&args.copy_profile);
    options.sandbox = if args.no_sandbox { Sandbox::Off } else { Sandbox::Default };
    if args.wire.is_drifting {
        options.disabled_features.extend(DISABLED_FEATURES.map(ToOwned::to_owned));
    }
    Ok(match &args.wire.setting {
        Some(setting) => launch_under(setting, options),
        None => options,
    })
}

/// Where to look for a browser.
pub(crate) fn search_places(args: &BrowserArgs) -> SearchPlaces {
    SearchPlaces { explicit: args.chrome.clone(), ..SearchPlaces::from_env() }
}

/// Closes the browser if we started it, else only our tabs.
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
