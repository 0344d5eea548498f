//! A browser that stays open for one piece of work after another, each in a browser context of its own.
//!
//! Invariants:
//! - What a piece of work leaves is gone before the next begins in the same browser: its context is disposed of, with
//!   everything that its pages stored or have open, and so is the clipboard, which is the browser's.
//! - A browser that died, does not answer or does not dispose of a context is replaced, and is not an error of the next
//!   piece of work.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use cuebook::{Contexts, Tab};
use cuebook_cdp::TargetId;
use cuebook_cdp::protocol::js_protocol::runtime::EvaluateParams;
use cuebook_datalayer::traffic::Setting;
use cuebook_grammar::policy::Policy;
use cuebook_grammar::report::ErrorCode;
use serde::Deserialize;
use tokio::sync::Mutex;

use crate::args::{BrowserArgs, SessionOptions};
use crate::browser::{BROWSER_PATIENCE, CLOSING_PATIENCE, VIEWPORT, emulated, launch_options, open_contained, refused};
use crate::exit::Refusal;
use crate::text::with_sources;

/// Time limit for a browser to open a context that nobody else uses: it takes some 200 ms.
const ANSWERING: Duration = Duration::from_secs(5);

/// Copies an empty text, in a page that has nothing else to copy.
const EMPTY_CLIPBOARD: &str = r#"
addEventListener("copy", event => { event.clipboardData.setData("text/plain", ""); event.preventDefault(); }, { once: true });
document.execCommand("copy")"#;

/// Use of a browser by more than one piece of work.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Turns {
    /// One after another: the browser is that of one alone, while it has it.
    OneByOne,
    /// At the same time. They share the clipboard.
    AtOnce,
}

/// A browser that is started for the first tab and replaced when it has to be. The options of its tabs differ in their
/// viewport, downloads and policy at most.
pub(crate) struct KeptBrowser {
    turns: Turns,
    launched: Mutex<Option<Arc<Launched>>>,
}

struct Launched {
    contexts: Contexts,
    viewport: (u32, u32),
    setting: Option<Setting>,
    has_opened: AtomicBool,
}

impl Launched {
    async fn start(options: &SessionOptions) -> Result<Self, Refusal> {
        let args = &options.browser;
        // A context refuses downloads until it is given a folder of its own.
        let launch = launch_options(&BrowserArgs { downloads: None, ..args.clone() })?;
        let until = Instant::now() + BROWSER_PATIENCE;
        let contexts = Contexts::launch(launch, options.containment.containment(), until).await;
        Ok(Self {
            contexts: contexts.map_err(|error| refused(&error))?,
            viewport: args.viewport.unwrap_or(VIEWPORT),
            setting: args.wire.setting.clone(),
            has_opened: AtomicBool::new(false),
        })
    }

    fn fits(&self, args: &BrowserArgs) -> bool {
        self.viewport == args.viewport.unwrap_or(VIEWPORT) && self.setting == args.wire.setting
    }

    /// Returns `true` if the next tab follows one that was closed.
    fn is_next(&self, turns: Turns) -> bool {
        turns == Turns::OneByOne && self.has_opened.load(Ordering::Relaxed)
    }

    /// Opens a tab in a new context.
    async fn tab(&self, args: &BrowserArgs, turns: Turns) -> Result<Tab, Refusal> {
        let is_next = self.is_next(turns);
        let until = Instant::now() + if is_next { ANSWERING } else { BROWSER_PATIENCE };
        let tab = self.contexts.tab(until).await.map_err(|error| refused(&error))?;
        // A browser with a window has the clipboard of the person at the machine, whichever browser it is.
        if is_next && !args.headed && !empties_clipboard(&tab, until).await {
            return Err(Refusal::unusable(ErrorCode::NoBrowser, "the clipboard of the browser cannot be emptied"));
        }
        self.has_opened.store(true, Ordering::Relaxed);
        Ok(tab)
    }
}

impl KeptBrowser {
    pub(crate) fn new(turns: Turns) -> Self {
        Self { turns, launched: Mutex::new(None) }
    }

    /// Opens a tab under a policy: in a new context of this browser, or in a browser of its own if it cannot share one.
    pub(crate) async fn open(&self, options: &SessionOptions, policy: Policy) -> Result<Tab, Refusal> {
        let args = &options.browser;
        if !can_share(args) {
            return open_contained(options, policy).await;
        }
        let launched = self.launched(options, None).await?;
        let tab = match launched.tab(args, self.turns).await {
            // It died since it was looked at, or it does not answer any more.
            Err(error) if !launched.contexts.is_alive() || launched.is_next(self.turns) => {
                tracing::debug!("the browser is replaced: {}", error.error.message);
                self.launched(options, Some(&launched)).await?.tab(args, self.turns).await?
            }
            opened => opened?,
        };
        let tab = if args.wire.is_offline { tab.offline() } else { tab };
        if let Some(folder) = &args.downloads
            && let Err(error) = tab.accept_downloads(folder, Instant::now() + ANSWERING).await
        {
            self.close_tab(tab).await;
            return Err(Refusal::unusable(ErrorCode::NoBrowser, with_sources(&error)));
        }
        tab.reach(policy);
        emulated(tab, args).await
    }

    /// The browser, which is started if there is none that fits, or only `other`.
    async fn launched(
        &self,
        options: &SessionOptions,
        other: Option<&Arc<Launched>>,
    ) -> Result<Arc<Launched>, Refusal> {
        let mut kept = self.launched.lock().await;
        if let Some(found) = kept.take() {
            let is_other = other.is_some_and(|other| Arc::ptr_eq(other, &found));
            if !is_other && found.fits(&options.browser) && found.contexts.is_alive() {
                return Ok(kept.insert(found).clone());
            }
            // One that others have tabs in goes with the last of them.
            if self.turns == Turns::OneByOne && !is_other {
                close(&found.contexts).await;
            }
        }
        Ok(kept.insert(Arc::new(Launched::start(options).await?)).clone())
    }

    /// Closes a tab of [`open`](Self::open). A browser that does not dispose of it in time is not used again.
    pub(crate) async fn close_tab(&self, tab: Tab) {
        if let Err(error) = tab.close(Instant::now() + CLOSING_PATIENCE).await {
            tracing::debug!(%error, "the browser did not close a tab");
            self.close().await;
        }
    }

    /// Closes the browser. The next tab starts another one.
    pub(crate) async fn close(&self) {
        if let Some(launched) = self.launched.lock().await.take() {
            close(&launched.contexts).await;
        }
    }
}

async fn close(contexts: &Contexts) {
    if let Err(error) = contexts.close(Instant::now() + CLOSING_PATIENCE).await {
        tracing::debug!(%error, "the browser did not close cleanly");
    }
}

/// Returns `true` if a tab with these options may be one of several contexts.
fn can_share(args: &BrowserArgs) -> bool {
    // A browser that runs anyway is not ours to keep, another context of one has nothing of its profile, and what drifts is
    // the browser as a whole. A recording of traffic has a seed of its own, and so does not fit the browser of another.
    args.cdp.is_none() && args.copy_profile.is_none() && !args.wire.is_drifting
}

/// Empties the clipboard of a browser without a window, which all of its contexts share (Chromium 156). False if that did
/// not work.
async fn empties_clipboard(tab: &Tab, until: Instant) -> bool {
    #[derive(Deserialize)]
    struct Evaluated {
        result: Answer,
    }
    #[derive(Deserialize)]
    struct Answer {
        value: bool,
    }
    let Some(page) = tab.browser.page(&TargetId::from(tab.page.as_str())) else { return false };
    // A page may copy only in answer to a person.
    let copy = EvaluateParams { user_gesture: Some(true), ..EvaluateParams::new(EMPTY_CLIPBOARD) };
    let reply = page.session().request(copy, until).await;
    reply.is_ok_and(|reply| reply.parse::<Evaluated>().is_ok_and(|evaluated| evaluated.result.value))
}
