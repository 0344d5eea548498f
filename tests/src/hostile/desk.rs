//! One worker's desk: a browser that commands attach to, a folder, and what trials share with their server.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use cuebook_cdp::protocol::js_protocol::runtime::EvaluateParams;
use cuebook_cdp::{Browser, ChromeBinary, LaunchOptions, Page, Transport};
use serde_json::Value;
use tempfile::TempDir;

use crate::{CliOutput, cuebook, endpoint};

const PATIENCE: Duration = Duration::from_secs(20);

/// Identity of one trial: its number and its seed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Turn {
    /// Its position in the work.
    pub(crate) number: usize,
    /// Seed from which it draws.
    pub(crate) seed: u64,
}

/// One worker's browser, that commands attach to, and its folder.
pub(crate) struct Desk {
    browser: Browser,
    endpoint: String,
    folder: TempDir,
    _profiles: TempDir,
}

impl Desk {
    pub(crate) async fn open(chrome: &ChromeBinary) -> Result<Self> {
        let (profiles, folder) = (TempDir::new()?, TempDir::new()?);
        let mut options = LaunchOptions::new(chrome.clone(), profiles.path());
        options.transport = Transport::WebSocket;
        let browser = Browser::launch(&options, Instant::now() + PATIENCE * 3).await?;
        let (port, path) = endpoint(profiles.path())?;
        Ok(Self { browser, endpoint: format!("ws://127.0.0.1:{port}{path}"), folder, _profiles: profiles })
    }

    /// The address that commands attach to.
    pub(crate) fn endpoint(&self) -> &str {
        &self.endpoint
    }

    /// A path in the worker's folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Closes the browser; errors in closing are ignored.
    pub(crate) async fn close(self) {
        self.browser.close(Instant::now() + PATIENCE).await.ok();
    }

    /// A tab with a page; the others are closed.
    pub(crate) async fn tab(&self, url: &str) -> Result<Page> {
        let until = Instant::now() + PATIENCE;
        let tab = self.browser.new_page(url, until).await?;
        for old in self.browser.pages() {
            if old.target_id() != tab.target_id() {
                old.close(until).await.ok();
            }
        }
        Ok(tab)
    }
}

/// Evaluates in the page's own world.
pub(crate) async fn evaluate(page: &Page, expression: &str) -> Result<Value> {
    let params =
        EvaluateParams { return_by_value: Some(true), await_promise: Some(true), ..EvaluateParams::new(expression) };
    let until = Instant::now() + Duration::from_secs(5);
    let reply: Value = page.session().request(params, until).await?.parse()?;
    anyhow::ensure!(reply.get("exceptionDetails").is_none(), "{reply}");
    Ok(reply["result"]["value"].clone())
}

/// Runs `cuebook` without holding up the runtime.
pub(crate) async fn called(arguments: Vec<String>) -> Result<CliOutput> {
    let run = move || cuebook(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
    tokio::task::spawn_blocking(run).await.context("a command was lost")?
}

/// State that trials share with their server: one value for each trial.
#[derive(Debug, Default)]
pub(crate) struct Shared<T>(Arc<Mutex<BTreeMap<usize, T>>>);

impl<T> Clone for Shared<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Shared<T> {
    pub(crate) fn lock(&self) -> MutexGuard<'_, BTreeMap<usize, T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
