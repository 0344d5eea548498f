//! Trials of the program as a user runs it: commands, files, and a server that knows what reached it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use cuebook_cdp::{Browser, ChromeBinary, LaunchOptions, Page, Transport};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::tally::{Came, Tally};
use super::{Kind, downloads, ids};
use crate::{Ended, cuebook, endpoint};

const PATIENCE: Duration = Duration::from_secs(20);
/// No trial takes longer.
const TRIAL_LIMIT: Duration = Duration::from_secs(120);

/// What one trial is of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Turn {
    /// Its position in the work.
    pub(crate) number: usize,
    /// What it draws from.
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
    async fn open(chrome: &ChromeBinary) -> Result<Self> {
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
    let params = json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
    let until = Instant::now() + Duration::from_secs(5);
    let reply: Value = page.session().call_raw("Runtime.evaluate", params, until).await?.parse()?;
    anyhow::ensure!(reply.get("exceptionDetails").is_none(), "{reply}");
    Ok(reply["result"]["value"].clone())
}

/// Runs `cuebook` without holding up the runtime.
pub(crate) async fn called(arguments: Vec<String>) -> Result<Ended> {
    let run = move || cuebook(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
    tokio::task::spawn_blocking(run).await.context("a command was lost")?
}

/// What trials share with their server: something for each trial.
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

/// The server of a kind.
#[derive(Clone)]
enum Server {
    Ids(ids::Server),
    Downloads(downloads::Server),
}

impl Server {
    async fn trial(&self, desk: &Desk, turn: Turn) -> (String, Result<Came>) {
        match self {
            Self::Ids(server) => server.trial(desk, turn).await,
            Self::Downloads(server) => server.trial(desk, turn).await,
        }
    }
}

/// Runs the trials of a kind.
///
/// # Errors
/// If no browser or no server can be started.
pub(crate) async fn run(trials: &super::Trials, kind: Kind) -> Result<Tally> {
    let server = match kind {
        Kind::Downloads => Server::Downloads(downloads::Server::start(&trials.names).await?),
        _ => Server::Ids(ids::Server::start(&trials.folder, &trials.names).await?),
    };
    let next = Arc::new(AtomicUsize::new(0));
    let workers: Vec<_> = (0..trials.jobs.clamp(1, trials.trials.max(1)))
        .map(|_| tokio::spawn(worker(trials.clone(), server.clone(), Arc::clone(&next))))
        .collect();
    let mut tally = Tally::default();
    for worker in workers {
        tally.add(worker.await.context("a worker ended early")??);
    }
    Ok(tally)
}

async fn worker(trials: super::Trials, server: Server, next: Arc<AtomicUsize>) -> Result<Tally> {
    let desk = Desk::open(&trials.chrome).await?;
    let mut tally = Tally::default();
    loop {
        let number = next.fetch_add(1, Ordering::Relaxed);
        if number >= trials.trials {
            break;
        }
        let turn = Turn { number, seed: trials.seed };
        match tokio::time::timeout(TRIAL_LIMIT, server.trial(&desk, turn)).await {
            Ok((name, Ok(came))) => tally.came(&name, came),
            Ok((name, Err(error))) => tally.broken(&name, &format!("{error:#}")),
            Err(_) => tally.broken(&format!("trial {number}"), "no end"),
        }
    }
    desk.browser.close(Instant::now() + PATIENCE).await.ok();
    Ok(tally)
}
