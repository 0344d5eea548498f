//! One launched browser for any number of agents, each in a browser context of its own.

use std::sync::Arc;
use std::time::Instant;

use cuebook_cdp::{Browser, CallError, LaunchOptions, Namespace, PageError};
use cuebook_grammar::seam::BoxFuture;
use cuebook_network::Egress;

use crate::browser::{Containment, Isolation, Tab, behind_proxy, launch, proxy};
use crate::egress::self_test;
use crate::environment;
use crate::error::AgentError;

/// A launched browser whose tabs share its process and clipboard, and nothing else: each has cookies, storage and cache of
/// its own, and, in a contained browser, a proxy of its own with a policy of its own.
///
/// ```no_run
/// use std::time::{Duration, Instant};
/// use cuebook::{Containment, Contexts};
/// use cuebook::prelude::*;
///
/// # async fn run(options: cuebook::cdp::LaunchOptions) -> Result<(), Box<dyn std::error::Error>> {
/// let soon = || Instant::now() + Duration::from_secs(30);
/// let contexts = Contexts::launch(options, Containment::default(), soon()).await?;
/// let ann = Agent::builder().browser(contexts.tab(soon()).await?).build().await?;
/// let bob = Agent::builder().browser(contexts.tab(soon()).await?).build().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Contexts {
    browser: Arc<Browser>,
    /// The proxy of the browser itself, which has no policy and so denies everything; and its network namespace.
    contained: Option<(Egress, Option<Arc<Namespace>>)>,
}

impl Contexts {
    /// Launches the browser. Profiles that killed browsers left under the same root are removed first.
    ///
    /// # Errors
    /// [`AgentError::Launch`], [`AgentError::Uncontained`].
    pub async fn launch(
        mut options: LaunchOptions,
        containment: Containment,
        until: Instant,
    ) -> Result<Self, AgentError> {
        options.withheld_variables.extend(environment::confidential());
        if !containment.is_of(&options) {
            return Ok(Self { browser: launch(&options, until).await?, contained: None });
        }
        let (browser, egress, namespace) = behind_proxy(options, containment, until).await?;
        Ok(Self { browser, contained: Some((egress, namespace)) })
    }

    /// Opens a tab in a new context, which is disposed of when the tab is closed. It is proven that nothing gets past the
    /// proxy of this context, which takes some 100 ms.
    ///
    /// # Errors
    /// [`AgentError::Uncontained`], [`AgentError::Tab`].
    pub fn tab(&self, until: Instant) -> BoxFuture<'_, Result<Tab, AgentError>> {
        Box::pin(self.open_tab(until))
    }

    async fn open_tab(&self, until: Instant) -> Result<Tab, AgentError> {
        let contained = match &self.contained {
            Some((_, namespace)) => Some((Arc::new(proxy(namespace.as_deref())?), namespace.as_deref())),
            None => None,
        };
        let address = contained.as_ref().map(|(egress, _)| egress.address());
        let context = self.browser.new_context(address, until).await.map_err(PageError::from)?;
        let opened = async {
            if let Some((egress, namespace)) = &contained {
                self_test(&self.browser, Some(&context), egress, *namespace, until).await?;
            }
            let egress = contained.clone().map(|(egress, namespace)| (egress, Isolation::by(namespace)));
            Ok(Tab::in_context(self.browser.clone(), context.clone(), egress, until).await?)
        };
        let opened = opened.await;
        if opened.is_err() {
            self.browser.dispose(&context, until).await.ok();
        }
        opened
    }

    /// Returns `false` once the browser is gone, with all of its contexts.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        self.browser.is_alive()
    }

    /// Closes the browser, and with it all of its contexts.
    ///
    /// # Errors
    /// [`CallError`] if it had to be killed.
    pub async fn close(&self, until: Instant) -> Result<(), CallError> {
        self.browser.close(until).await
    }
}
