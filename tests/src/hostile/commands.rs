//! Trials of the program as a user runs it: commands, files, and a server that knows what reached it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result};

use super::desk::{Desk, Turn};
use super::tally::{Came, Tally};
use super::{Kind, downloads, ids};

/// No trial takes longer.
const TRIAL_LIMIT: Duration = Duration::from_secs(120);

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
    desk.close().await;
    Ok(tally)
}
