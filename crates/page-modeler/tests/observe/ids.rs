//! Properties of ids and fingerprints on pages that change at random, against the browser's own node ids.

use std::collections::HashMap;

use cuebook_grammar::candidate::Candidate;
use cuebook_grammar::id::CandidateId;
use cuebook_grammar::observation::{Observation, Scope};
use cuebook_grammar::secret::DigestKey;
use cuebook_probe::Probe;
use serde::Deserialize;

use crate::corpus::corpus;
use crate::stage::{Stage, until};

/// Basis of a candidate's identity, from the page's script and the browser.
#[derive(Clone, Debug, PartialEq)]
struct Ground {
    /// Chrome's own number of the node.
    backend: i64,
    words: Words,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
struct Words {
    role: String,
    name: String,
    /// Digest of its meaning, as the executor asks for it.
    about: String,
}

async fn grounds(stage: &Stage, seen: &Observation) -> HashMap<CandidateId, Ground> {
    let probe = Probe::attach(stage.page.clone(), DigestKey::new([5; 32]), until()).await.unwrap();
    let world = probe.world(&stage.page.main_frame().id, until()).await.unwrap();
    let nodes: Vec<u64> = seen.candidates.iter().filter_map(|c| c.node.as_ref().map(|key| key.node)).collect();
    let backends =
        world.nodes("(cb, ids) => ids.map((id) => cb.byId(id))", &[nodes.clone().into()], until()).await.unwrap();
    let words = "(cb, ids) => cb.once(() => ids.map((id) => {
        const element = cb.byId(id);
        return { role: cb.roleOf(element), name: cb.nameOf(element) || cb.contentOf(element), about: cb.meaningOf(element).key };
    }))";
    let words: Vec<Words> = world.call(words, &[nodes.into()], until()).await.unwrap();
    assert_eq!((seen.candidates.len(), backends.len()), (words.len(), words.len()));
    for (candidate, words) in seen.candidates.iter().zip(&words) {
        let about = candidate.about.as_ref().map(|about| about.key.as_str());
        assert_eq!(about, Some(words.about.as_str()), "the walk and the probe differ on {}", candidate.title());
    }
    let grounds = backends.into_iter().zip(words).map(|(backend, words)| Ground { backend, words });
    seen.candidates.iter().map(|c| c.id).zip(grounds).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_id_is_one_node_for_ever_and_stays_while_the_node_says_the_same() {
    let mut stage = Stage::on("<body></body>").await;
    stage.page_script(&format!("{}; 0", include_str!("random_page.js"))).await;
    let mut owners: HashMap<CandidateId, i64> = HashMap::new();
    let (mut kept, mut renewed) = (0, 0);
    for seed in 1..=8 {
        stage.page_script(&format!("randomPage.build({seed}); 0")).await;
        let mut before: Option<HashMap<CandidateId, Ground>> = None;
        for turn in 0..12 {
            let seen = stage.observe(if turn % 3 == 0 { Scope::View } else { Scope::Full }).await;
            let now = grounds(&stage, &seen).await;
            for (id, ground) in &now {
                let owner = *owners.entry(*id).or_insert(ground.backend);
                assert_eq!(owner, ground.backend, "seed {seed}, turn {turn}: {id} was given to another node");
            }
            if let Some(before) = &before {
                let old: HashMap<i64, (CandidateId, &Words)> =
                    before.iter().map(|(id, ground)| (ground.backend, (*id, &ground.words))).collect();
                for (id, ground) in &now {
                    let Some((was, words)) = old.get(&ground.backend) else { continue };
                    // What distinguishes twins beyond the digest changes with the twins.
                    let has_twin = |grounds: &HashMap<CandidateId, Ground>| {
                        grounds.values().filter(|other| other.words.about == ground.words.about).count() > 1
                    };
                    if has_twin(&now) || has_twin(before) {
                        continue;
                    }
                    if *words == &ground.words {
                        assert_eq!(was, id, "seed {seed}, turn {turn}: {ground:?} got another id");
                        kept += 1;
                    } else if was != id {
                        renewed += 1;
                    }
                }
            }
            before = Some(now);
            stage.page_script("randomPage.change(); 0").await;
        }
    }
    assert!(kept > 500 && renewed > 3, "the pages changed too little to tell: {kept} kept, {renewed} renewed");
}

#[tokio::test(flavor = "multi_thread")]
async fn fingerprints_survive_reloads_reordering_and_inserted_siblings() {
    let (mut stage, addresses) = corpus().await;
    let insert = "for (const one of [...document.body.querySelectorAll('button,a,input,td,li,p')]) if (!['TR', 'UL', 'OL'].includes(one.parentElement.tagName)) one.before(document.createElement('span'))";
    let reorder = "for (const list of document.querySelectorAll('tbody,ul,ol,.cards,#cards')) list.append(...[...list.children].reverse())";
    for (name, address) in addresses.into_iter().filter(|(name, _)| ["admin", "shop", "mail", "form"].contains(name)) {
        stage.go(&address).await;
        let first = stage.observe(Scope::Full).await;
        for change in ["location.reload", insert, reorder] {
            if change == "location.reload" {
                stage.go("about:blank").await;
                stage.go(&address).await;
            } else {
                stage.page_script(&format!("{change}; 0")).await;
            }
            let now = stage.observe(Scope::Full).await;
            let mut found = 0;
            for candidate in first.candidates.iter().filter(|c| !c.ambiguous && !c.name.is_empty()) {
                let rebound = now.rebind(&candidate.fingerprint);
                let words = |found: &Candidate| {
                    // What it stands after may be something else now.
                    let context = found.context.clone().filter(|context| !context.starts_with("after "));
                    (found.role, found.name.clone(), found.destination.clone(), context)
                };
                let rebound = rebound.as_ref().map(|found| words(found)).map_err(Vec::len);
                assert_eq!(rebound, Ok(words(candidate)), "{name} after {change}");
                found += 1;
            }
            assert!(found > 12, "{name}: only {found} candidates");
        }
    }
}
