//! Ids, fingerprints and deltas.

use std::collections::{HashMap, HashSet};

use cuebook_grammar::observation::{Observation, Scope};

use crate::stage::{Stage, named, names};

#[tokio::test(flavor = "multi_thread")]
async fn ids_stay_with_their_elements_and_are_never_reused() {
    let mut stage = Stage::on(
        "<ul id=list><li><button>One</button></li><li><button>Two</button></li><li><button>Three</button></li></ul>",
    )
    .await;
    let first = stage.observe(Scope::View).await;
    let id = |seen: &Observation, name: &str| named(seen, name).id;
    stage.page_script("list.append(list.firstElementChild)").await;
    let moved = stage.observe(Scope::View).await;
    for name in ["One", "Two", "Three"] {
        assert_eq!(id(&moved, name), id(&first, name), "{name}");
    }
    assert_eq!(names(&moved), ["Two", "Three", "One"]);
    let delta = moved.delta.clone().unwrap();
    assert!(delta.came.is_empty() && delta.went.is_empty() && delta.changed.is_empty(), "{delta:?}");
    stage
        .page_script("list.querySelector('button').remove(); list.querySelectorAll('button')[0].disabled = true")
        .await;
    let removed = stage.observe(Scope::View).await;
    let delta = removed.delta.clone().unwrap();
    assert_eq!((delta.went, delta.changed), (vec![id(&first, "Two")], vec![id(&first, "Three")]));
    assert_eq!(removed.recent.iter().map(|c| c.id).collect::<Vec<_>>(), [id(&first, "Two")]);
    stage.page_script("list.innerHTML = list.innerHTML").await;
    let rebuilt = stage.observe(Scope::View).await;
    let before: HashSet<_> = first.candidates.iter().map(|c| c.id).collect();
    assert!(rebuilt.candidates.iter().all(|c| !before.contains(&c.id)));
    stage.page_script("list.querySelector('button').textContent = 'Renamed'").await;
    let renamed = stage.observe(Scope::View).await;
    let seen: HashSet<_> = rebuilt.candidates.iter().map(|c| c.id).collect();
    assert!(!seen.contains(&id(&renamed, "Renamed")));
    assert_eq!(renamed.fingerprint, rebuilt.fingerprint);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_and_what_identifies_its_element_are_of_one_moment() {
    let mut stage = Stage::on(
        "<button id=b>Keep it</button><script>setInterval(() => { \
            b.textContent = b.textContent === 'Keep it' ? 'Delete it' : 'Keep it' }, 3)</script>",
    )
    .await;
    let mut meanings: HashMap<String, HashSet<String>> = HashMap::new();
    for _ in 0..60 {
        for candidate in stage.observe(Scope::View).await.candidates {
            meanings.entry(candidate.name).or_default().insert(candidate.about.unwrap().key);
        }
    }
    assert!(meanings.values().all(|keys| keys.len() == 1), "{meanings:?}");
}
