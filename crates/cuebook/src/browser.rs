//! A tab to work in, and whose the browser is.

use std::sync::Arc;
use std::time::Instant;

use cuebook_cdp::{Browser, LaunchOptions, SearchPlaces, find_chrome};
use cuebook_grammar::id::PageId;

use crate::environment::{self, FromEnv as _};
use crate::error::AgentError;

/// Where the browser comes from.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum BrowserSource {
    /// The one that the environment names, or else the first that is installed; headless.
    #[default]
    Installed,
    /// Launched as stated.
    Launch(Box<LaunchOptions>),
    /// Attached to: `http://host:port`, or its `ws://` address.
    Attach(String),
    /// A browser at hand, left open.
    Shared(Arc<Browser>),
}

impl From<LaunchOptions> for BrowserSource {
    fn from(options: LaunchOptions) -> Self {
        Self::Launch(Box::new(options))
    }
}

impl From<Arc<Browser>> for BrowserSource {
    fn from(browser: Arc<Browser>) -> Self {
        Self::Shared(browser)
    }
}

/// A tab of a browser.
#[derive(Debug)]
pub struct Tab {
    /// The browser.
    pub browser: Arc<Browser>,
    /// The tab.
    pub page: PageId,
    ending: Ending,
}

/// What is ended with a tab.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    /// The browser: it was launched for this tab.
    Browser,
    /// The tab.
    Tab,
    /// Nothing: it was there before.
    Nothing,
}

impl Tab {
    /// Launches or reaches a browser and opens a tab in it. A launched one has no other tab; profiles that killed
    /// browsers left under the same root are cleared first.
    ///
    /// # Errors
    /// [`AgentError::NoBrowser`], [`AgentError::Launch`], [`AgentError::Attach`], [`AgentError::Tab`].
    pub async fn open(source: BrowserSource, until: Instant) -> Result<Self, AgentError> {
        let (browser, ending) = match source {
            BrowserSource::Installed => {
                let binary = find_chrome(&SearchPlaces::from_env()).map_err(AgentError::NoBrowser)?;
                let options = LaunchOptions::new(binary, environment::profile_root());
                (launch(&options, until).await?, Ending::Browser)
            }
            BrowserSource::Launch(options) => (launch(&options, until).await?, Ending::Browser),
            BrowserSource::Attach(endpoint) => (Arc::new(Browser::attach(&endpoint, until).await?), Ending::Tab),
            BrowserSource::Shared(browser) => (browser, Ending::Tab),
        };
        let page = browser.new_page("about:blank", until).await?;
        if ending == Ending::Browser {
            // The tab that a browser opens by itself is nobody's.
            for other in browser.pages().into_iter().filter(|other| other.target_id() != page.target_id()) {
                other.close(until).await.ok();
            }
        }
        let page = PageId::new(page.target_id().as_str());
        Ok(Self { browser, page, ending })
    }

    /// As [`open`](Self::open), or `page` of a browser that was there before.
    pub(crate) async fn open_or_take(
        source: BrowserSource,
        page: Option<PageId>,
        until: Instant,
    ) -> Result<Self, AgentError> {
        match (source, page) {
            (BrowserSource::Shared(browser), Some(page)) => Ok(Self::of(browser, page)),
            (BrowserSource::Attach(endpoint), Some(page)) => {
                Ok(Self::of(Arc::new(Browser::attach(&endpoint, until).await?), page))
            }
            (source, _) => Self::open(source, until).await,
        }
    }

    /// A tab that is open already, and stays open.
    #[must_use]
    pub const fn of(browser: Arc<Browser>, page: PageId) -> Self {
        Self { browser, page, ending: Ending::Nothing }
    }

    /// Ends the browser if it was launched for this tab, else closes the tab if it was opened here.
    ///
    /// # Errors
    /// [`AgentError::Close`] if a launched browser had to be killed; [`AgentError::Tab`].
    pub async fn close(self, until: Instant) -> Result<(), AgentError> {
        match self.ending {
            Ending::Browser => Ok(self.browser.close(until).await?),
            Ending::Tab => {
                let pages = self.browser.pages();
                match pages.into_iter().find(|page| page.target_id().as_str() == self.page.as_str()) {
                    Some(page) => Ok(page.close(until).await?),
                    None => Ok(()),
                }
            }
            Ending::Nothing => Ok(()),
        }
    }
}

async fn launch(options: &LaunchOptions, until: Instant) -> Result<Arc<Browser>, AgentError> {
    if let Err(error) = cuebook_cdp::sweep(&options.profile_root) {
        tracing::warn!(%error, "what a former run left behind cannot be cleared");
    }
    Ok(Arc::new(Browser::launch(options, until).await?))
}
