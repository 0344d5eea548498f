//! Several browsers work off one list of cases.
//!
//! Invariant: a case that breaks the machinery fails by itself; the worker goes on with a fresh browser.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result};
use cuebook_cdp::ChromeBinary;

use crate::conformance::case::{Case, Kind};
use crate::conformance::kinds::{action, aria, condition, locate, role_name};
use crate::conformance::stage::Stage;
use crate::conformance::verdict::{Bucket, Counted, Ending, Failure};

/// No case takes longer.
const CASE_LIMIT: Duration = Duration::from_secs(90);

/// A case and the file that it is from.
#[derive(Clone, Debug)]
pub(crate) struct Work {
    pub(crate) kind: Kind,
    pub(crate) case: Case,
}

/// Carries out all cases; the answers come in their order.
///
/// # Errors
/// If a browser cannot be started.
pub(crate) async fn run(chrome: &ChromeBinary, work: Vec<Work>, jobs: usize) -> Result<Vec<Counted>> {
    let work = Arc::new(work);
    let next = Arc::new(AtomicUsize::new(0));
    let workers: Vec<_> = (0..jobs.min(work.len()))
        .map(|_| {
            let (chrome, work, next) = (chrome.clone(), Arc::clone(&work), Arc::clone(&next));
            tokio::spawn(async move { worker(&chrome, &work, &next).await })
        })
        .collect();
    let mut all = Vec::new();
    for worker in workers {
        all.extend(worker.await.context("a worker ended early")??);
    }
    all.sort_by_key(|(index, _)| *index);
    Ok(all.into_iter().flat_map(|(_, counted)| counted).collect())
}

async fn worker(chrome: &ChromeBinary, work: &[Work], next: &AtomicUsize) -> Result<Vec<(usize, Vec<Counted>)>> {
    let mut stage = Stage::open(chrome).await?;
    let mut done = Vec::new();
    loop {
        let index = next.fetch_add(1, Ordering::Relaxed);
        let Some(work) = work.get(index) else { break };
        let counted = tokio::time::timeout(CASE_LIMIT, one(&mut stage, work)).await;
        let broken = match counted {
            Ok(Ok(counted)) => {
                done.push((index, counted));
                continue;
            }
            Ok(Err(error)) => format!("{error:#}"),
            Err(_) => format!("no end within {} s", CASE_LIMIT.as_secs()),
        };
        let failure = Failure::new(Bucket::Broken, work.case.title.clone(), broken);
        done.push((index, vec![whole(work, failure.into())]));
        let fresh = Stage::open(chrome).await?;
        std::mem::replace(&mut stage, fresh).close().await;
    }
    stage.close().await;
    Ok(done)
}

async fn one(stage: &mut Stage, work: &Work) -> Result<Vec<Counted>> {
    if work.case.entries().any(|entry| entry.force == Some(true)) {
        // Nothing is clicked through what is in the way: that is the product, not a gap.
        return Ok(vec![whole(work, Ending::Excluded("`force` is out of scope by design"))]);
    }
    if let Err(error) = stage.show(&work.case, work.kind).await {
        let failure = Failure::new(Bucket::PageUnopened, work.case.title.clone(), format!("{error:#}"));
        return Ok(vec![whole(work, failure.into())]);
    }
    let case = &work.case;
    let ending = match work.kind {
        Kind::RoleName => return role_name::run(stage, case).await,
        Kind::Action => action::run(stage, case).await?,
        Kind::Locate => locate::run(stage, case).await?,
        Kind::Condition => condition::run(stage, case).await?,
        Kind::Aria => aria::run(stage, case).await?,
    };
    Ok(vec![whole(work, ending)])
}

/// A case that is one counted thing.
fn whole(work: &Work, ending: Ending) -> Counted {
    Counted {
        figure: work.kind.name(),
        id: work.case.id.clone(),
        source: format!("{} {}", work.case.source, work.case.title),
        is_vacuous: work.case.vacuous_without_action,
        ending,
        chromium: None,
        playwright: None,
    }
}
