//! The browser context of an agent: its settings, its permissions, and its current page on paper.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cuebook_cdp::protocol::browser_protocol::page::{CrashParams, PrintToPdfParams};
use cuebook_cdp::protocol::js_protocol::runtime::{EvaluateParams, TerminateExecutionParams};
use cuebook_cdp::{Browser, CallError, Emulation, Page, PageError, TargetId};
use cuebook_grammar::seam::boxed::BoxError;
use serde::Deserialize;

use crate::browser::Tab;
use crate::error::AgentError;
use crate::journal::{ConsoleMessage, Journal, PageRequest, PageRequestDetails};

/// Time limit of a setting.
const SETTING: Duration = Duration::from_secs(10);
/// Time limit for the end of a script.
const ENDING: Duration = Duration::from_secs(1);
/// Time in which a page whose script was ended begins the next one.
const AGAIN: Duration = Duration::from_millis(100);
/// Time limit of a page on paper.
const PRINTING: Duration = Duration::from_secs(60);

/// The browser context of an agent: what all of its tabs share. Clones are the same context.
///
/// ```no_run
/// use cuebook::{ColorScheme, Device, Emulation};
///
/// # async fn run(agent: &cuebook::Agent) -> Result<(), Box<dyn std::error::Error>> {
/// let context = agent.context()?;
/// context
///     .emulate(Emulation {
///         device: Device::named("Pixel 7"),
///         timezone: Some("Europe/Berlin".to_owned()),
///         color_scheme: Some(ColorScheme::Dark),
///         ..Emulation::default()
///     })
///     .await?;
/// for cookie in context.cookies().await? {
///     println!("{} of {}", cookie.name, cookie.domain);
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct BrowserContext {
    pub(crate) browser: Arc<Browser>,
    /// The tab whose turn it is.
    pub(crate) page: Page,
    /// Origins whose local storage was restored.
    pub(crate) restored: Arc<Mutex<Vec<String>>>,
    pub(crate) journal: Option<Arc<Journal>>,
}

impl Tab {
    /// The browser context of the tab.
    ///
    /// # Errors
    /// [`PageError::Gone`]
    pub fn context(&self) -> Result<BrowserContext, PageError> {
        let page = self.browser.page(&TargetId::from(self.page.as_str())).ok_or(PageError::Gone)?;
        Ok(BrowserContext { browser: self.browser.clone(), page, restored: Arc::default(), journal: None })
    }
}

impl BrowserContext {
    /// Gives these settings to all pages, present and future, in place of earlier ones.
    ///
    /// # Errors
    /// [`AgentError::Emulation`] if the browser does not know a value. Earlier settings hold then.
    pub async fn emulate(&self, emulation: Emulation) -> Result<(), AgentError> {
        let until = Instant::now() + SETTING;
        Ok(self.browser.emulate(&self.page, emulation, until).await?)
    }

    /// The settings of all pages.
    #[must_use]
    pub fn emulation(&self) -> Emulation {
        self.browser.emulation(&self.page)
    }

    /// Grants or denies a permission to an origin; `permission` is a name of the Permissions API, such as `geolocation`,
    /// `notifications` or `clipboard-read`.
    ///
    /// # Errors
    /// [`AgentError::Refused`] if the browser does not know the permission.
    pub async fn permit(&self, permission: &str, origin: &str, is_granted: bool) -> Result<(), AgentError> {
        let until = Instant::now() + SETTING;
        let set = self.browser.permit(&self.page, permission, origin, is_granted, until).await;
        set.map_err(AgentError::Refused)
    }

    /// The messages of the consoles of all tabs, the first 2,000 characters of each, at most 1,000; and the number of
    /// reports that were lost because there were too many. None unless the [builder](crate::AgentBuilder::journal) asked
    /// for them.
    #[must_use]
    pub fn console(&self) -> (Vec<ConsoleMessage>, u64) {
        self.journal.as_ref().map(|journal| journal.messages()).unwrap_or_default()
    }

    /// The requests of all tabs, at most 1,000; and the number of reports that were lost. As [`console`](Self::console).
    #[must_use]
    pub fn requests(&self) -> (Vec<PageRequest>, u64) {
        self.journal.as_ref().map(|journal| journal.requests()).unwrap_or_default()
    }

    /// A request with headers and bodies, by its number. The browser keeps bodies until a page is left, some 10 MB of
    /// them.
    pub async fn request_details(&self, index: u64) -> Option<PageRequestDetails> {
        self.journal.as_ref()?.details(index).await
    }

    /// The address of the current page.
    #[must_use]
    pub fn url(&self) -> String {
        self.page.url()
    }

    /// Returns `true` if an open JavaScript dialog holds the current page, which answers nothing until it is closed.
    #[must_use]
    pub fn has_dialog(&self) -> bool {
        self.page.dialog().is_some()
    }

    /// Returns `false` if the current page does not answer for as long as `patience`, because a script in it does not let go.
    /// A page with an open dialog waits for whoever answers that, and counts as one that answers.
    pub async fn answers(&self, patience: Duration) -> bool {
        if self.has_dialog() {
            return true;
        }
        let asked = self.page.session().call(EvaluateParams::new("1"), Instant::now() + patience).await;
        !matches!(asked, Err(CallError::DeadlineExceeded { .. })) || self.has_dialog()
    }

    /// Makes a page that is about to be left let go, if it does not answer within `patience`: its script is ended and, if it
    /// begins another one at once, its process. A document of the same site would wait for it.
    pub async fn make_let_go(&self, patience: Duration) {
        if self.answers(patience).await {
            return;
        }
        let session = self.page.session();
        let ended = session.call(TerminateExecutionParams {}, Instant::now() + ENDING).await;
        tokio::time::sleep(AGAIN).await;
        if ended.is_ok() && self.answers(patience * 2).await {
            return;
        }
        tracing::debug!("the process of a page that hangs is ended");
        // The answer is that the page is gone.
        session.call(CrashParams {}, Instant::now() + ENDING).await.ok();
    }

    /// Returns `true` if the process of the current page is gone. It can be opened again, and not be looked at.
    #[must_use]
    pub fn is_crashed(&self) -> bool {
        self.page.crashed()
    }

    /// Closes the current page without asking it.
    ///
    /// # Errors
    /// [`PageError`]
    pub async fn close_page(&self) -> Result<(), PageError> {
        self.page.close(Instant::now() + SETTING).await
    }

    /// The page on paper, as a PDF with backgrounds, on the paper size that its style sheet states, else US letter. Fields
    /// with secrets are as the page shows them. A browser with a window cannot.
    ///
    /// # Errors
    /// [`AgentError::Refused`] if the browser does not print.
    pub async fn pdf(&self) -> Result<Vec<u8>, AgentError> {
        #[derive(Deserialize)]
        struct Printed {
            data: String,
        }
        let params = PrintToPdfParams {
            print_background: Some(true),
            prefer_css_page_size: Some(true),
            ..PrintToPdfParams::default()
        };
        let reply =
            self.page.session().request(params, Instant::now() + PRINTING).await.map_err(AgentError::Refused)?;
        let printed: Printed = reply.parse().map_err(AgentError::Refused)?;
        STANDARD.decode(printed.data).map_err(|error| AgentError::Layer(BoxError::new(error)))
    }
}
