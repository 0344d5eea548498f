//! The layers over a live browser, which have to agree about keys, redaction and denials.

use std::sync::Arc;

use cuebook_cdp::Browser;
use cuebook_executor::{ExecutorOptions, LiveExecutor};
use cuebook_grammar::seam::{ArtifactSink, Denials, NoDenials, Redactor, SecretSource};
use cuebook_grammar::secret::DigestKey;
use cuebook_page_modeler::{LivePageModeler, ModelerOptions};
use cuebook_recorder::Recorder;
use cuebook_repair::{Controller, Seams};

use crate::browser::Tab;

/// Makes the page modeler, the executor and the controller of one browser, with the same key for the digests of sensitive
/// text, the same redactor and the denials of its proxy. [`Agent`](crate::Agent) uses it; so does a program that keeps the
/// types of its layers.
///
/// ```no_run
/// use std::sync::Arc;
/// use cuebook::datalayer::{MemoryArtifacts, MemoryLog, ValueRedactor};
/// use cuebook::grammar::seam::{DenyAll, NoSecrets};
/// use cuebook::repair::{Ladder, Layers};
///
/// # fn example(tab: &cuebook::Tab) -> std::io::Result<()> {
/// let live = cuebook::Live::on(tab, cuebook::fresh::digest_key()?, Arc::new(ValueRedactor::default()));
/// let controller = live.controller(Layers {
///     modeler: live.modeler(Default::default()),
///     planner: Arc::new(cuebook::planner::Lexical),
///     executor: live.executor(NoSecrets, MemoryArtifacts::default(), Default::default()),
///     repair: Ladder::default(),
///     log: MemoryLog::default(),
///     confirm: DenyAll,
/// });
/// # Ok(())
/// # }
/// ```
pub struct Live {
    browser: Arc<Browser>,
    digest: DigestKey,
    redactor: Arc<dyn Redactor>,
    denials: Arc<dyn Denials>,
}

impl std::fmt::Debug for Live {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Live").field("browser", &self.browser).finish_non_exhaustive()
    }
}

impl Live {
    /// Layers over a browser without a proxy of ours.
    #[must_use]
    pub fn new(browser: Arc<Browser>, digest: DigestKey, redactor: Arc<dyn Redactor>) -> Self {
        Self { browser, digest, redactor, denials: Arc::new(NoDenials) }
    }

    /// Layers over the browser of a tab, with the denials of its proxy.
    #[must_use]
    pub fn on(tab: &Tab, digest: DigestKey, redactor: Arc<dyn Redactor>) -> Self {
        Self { denials: tab.denials(), ..Self::new(tab.browser.clone(), digest, redactor) }
    }

    /// A page modeler with these options.
    #[must_use]
    pub fn modeler(&self, options: ModelerOptions) -> LivePageModeler {
        LivePageModeler::new(self.browser.clone(), self.digest.clone(), options).with_redactor(self.redactor.clone())
    }

    /// An executor. Pages that open from now on carry its guard from their first document on.
    pub fn executor(
        &self,
        secrets: impl SecretSource + 'static,
        artifacts: impl ArtifactSink + 'static,
        options: ExecutorOptions,
    ) -> LiveExecutor {
        LiveExecutor::new(self.browser.clone(), self.digest.clone(), secrets, artifacts, options)
            .with_redactor(self.redactor.clone())
            .with_denials(self.denials.clone())
    }

    /// A recorder of what a person does in the tabs, with a page modeler of these options.
    #[must_use]
    pub fn recorder(&self, options: ModelerOptions) -> Recorder<LivePageModeler> {
        Recorder::new(self.browser.clone(), self.modeler(options), self.redactor.clone(), self.digest.clone())
    }

    /// A controller over layers that share the key and the redactor.
    pub fn controller<L: Seams>(&self, layers: L) -> Controller<L> {
        Controller::new(layers, self.digest.clone(), self.redactor.clone())
    }
}
