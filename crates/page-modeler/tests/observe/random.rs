//! An observation on a cache equals one without, on random pages under random changes.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cuebook_grammar::deadline::Deadline;
use cuebook_grammar::id::{CandidateId, NodeKey};
use cuebook_grammar::observation::{Observation, Scope};
use cuebook_grammar::seam::PageModeler as _;
use cuebook_grammar::secret::DigestKey;
use cuebook_page_modeler::{LivePageModeler, Memory, ModelerOptions};
use serde_json::{Value, json};

use crate::stage::Stage;

const RANDOM_PAGE: &str = include_str!("random_page.js");
const PAGES: u64 = 8;
const CHANGES: u64 = 10;

/// All of an observation but the ids and the history.
fn comparable(seen: &Observation) -> Value {
    let mut candidates = seen.candidates.clone();
    for candidate in &mut candidates {
        candidate.id = CandidateId(0);
    }
    json!({
        "candidates": candidates, "sketch": seen.sketch, "title": seen.title, "url": seen.url,
        "viewport": seen.viewport, "truncated": seen.truncated, "frames": seen.frames, "print": seen.fingerprint,
    })
}

async fn uncached(stage: &Stage, scope: Scope) -> Observation {
    let options = ModelerOptions { memory: Memory::None, ..ModelerOptions::default() };
    let mut fresh = LivePageModeler::new(Arc::clone(&stage.browser), DigestKey::new([5; 32]), options);
    let deadline = Deadline::after(Instant::now(), Duration::from_secs(60));
    fresh.observe(&stage.id, scope, deadline).await.unwrap()
}

/// Every node that was ever a candidate keeps its ids to itself.
fn check_ids(owners: &mut HashMap<CandidateId, NodeKey>, seen: &Observation, change: &str) {
    for candidate in &seen.candidates {
        let node = candidate.node.clone().unwrap();
        let owner = owners.entry(candidate.id).or_insert_with(|| node.clone());
        assert_eq!(*owner, node, "{} was another element's: {change}", candidate.id);
    }
}

async fn run(seeds: std::ops::Range<u64>) {
    let mut stage = Stage::on("<!doctype html><title>Random</title><body></body>").await;
    stage.page_script(RANDOM_PAGE).await;
    let mut owners = HashMap::new();
    for seed in seeds {
        stage.page_script(&format!("randomPage.build({seed}); 0")).await;
        let mut changes = Vec::new();
        for step in 0..CHANGES {
            if step > 0 {
                changes.push(stage.page_script("randomPage.change()").await.as_str().unwrap_or_default().to_owned());
            }
            let scopes = if step % 3 == 1 { [Scope::View, Scope::Full] } else { [Scope::Full, Scope::View] };
            for (at, scope) in scopes.into_iter().enumerate() {
                // A look before the page changes once more is no difference.
                if at == 0 && step % 2 == 1 {
                    stage.prepare(scope).await;
                    changes
                        .push(stage.page_script("randomPage.change()").await.as_str().unwrap_or_default().to_owned());
                }
                let built = stage.observe(scope).await;
                let change = format!("seed {seed}, {scope:?}, after {changes:?}");
                check_ids(&mut owners, &built, &change);
                assert_eq!(comparable(&built), comparable(&uncached(&stage, scope).await), "{change}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn observations_of_a_changing_page_equal_observations_from_scratch() {
    run(1..1 + PAGES).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn observations_of_another_changing_page_equal_observations_from_scratch() {
    run(500..500 + PAGES).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_that_once_distinguished_the_two_do_not_any_more() {
    for seed in [52, 103, 111, 207] {
        run(seed..seed + 1).await;
    }
}
