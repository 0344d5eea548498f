//! The tab of an agent, and what is closed with it.

use std::sync::Arc;
use std::time::Instant;

use cuebook_cdp::{Browser, LaunchOptions, SearchPlaces, find_chrome};
use cuebook_grammar::id::PageId;

use crate::environment::{self, FromEnv as _};
use crate::error::AgentError;

/// The source of a browser.
///
/// ```no_run
/// use cuebook::prelude::*;
///
/// # async fn run() -> Result<(), AgentError> {
/// let source = BrowserSource::Attach("http://127.0.0.1:9222".to_owned());
/// let agent = Agent::builder().browser(source).build().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum BrowserSource {
    /// Launched headless: the browser that the environment names, else the first installed one.
    #[default]
    Installed,
    /// Launched with these options.
    Launch(Box<LaunchOptions>),
    /// Attached to, at `http://host:port` or a `ws://` address.
    Attach(String),
    /// Already connected. It stays open.
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

/// What is closed with a tab.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    /// The browser, which was launched for this tab.
    Browser,
    /// The tab.
    Tab,
    /// Nothing: the tab existed before.
    Nothing,
}

impl Tab {
    /// Launches or attaches to a browser and opens a tab in it. A launched browser has no other tab. Profiles that
    /// killed browsers left under the same root are removed first.
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
            // The browser opened a tab by itself.
            for other in browser.pages().into_iter().filter(|other| other.target_id() != page.target_id()) {
                other.close(until).await.ok();
            }
        }
        let page = PageId::new(page.target_id().as_str());
        Ok(Self { browser, page, ending })
    }

    /// As [`open`](Self::open), or takes `page` of a browser that was not launched here.
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

    /// An open tab, which stays open.
    #[must_use]
    pub const fn of(browser: Arc<Browser>, page: PageId) -> Self {
        Self { browser, page, ending: Ending::Nothing }
    }

    /// Closes the browser if it was launched for this tab, else the tab if it was opened here.
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
        tracing::warn!(%error, "profiles of earlier runs cannot be removed");
    }
    Ok(Arc::new(Browser::launch(options, until).await?))
}
