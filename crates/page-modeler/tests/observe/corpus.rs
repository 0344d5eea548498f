//! The committed corpus of pages: whose roles and names the walk gives, and what an observation costs.

use std::collections::HashSet;

use cuebook_grammar::id::NodeKey;
use cuebook_grammar::observation::Scope;
use cuebook_grammar::role::Role;
use cuebook_grammar::secret::DigestKey;
use cuebook_grammar::text_match::collapse_white_space;
use cuebook_probe::Probe;
use serde::Deserialize;

use crate::stage::{Stage, serve, until};

/// Page by page: its name, its HTML, and what Playwright 1.65.1 writes of it with
/// `page.ariaSnapshot({ mode: 'ai' })` in a viewport of 1280 × 720.
macro_rules! pages {
    ($($name:literal),*) => {
        [$((
            $name,
            concat!("/", $name),
            include_str!(concat!("../pages/", $name, ".html")),
            include_str!(concat!("../pages/", $name, ".playwright.yaml")),
        )),*]
    };
}
pub(crate) const PAGES: [(&str, &str, &str, &str); 7] =
    pages!["admin", "article", "calendar", "form", "mail", "shop", "widgets"];

/// A stage that has all pages of the corpus, and the address of each.
pub(crate) async fn corpus() -> (Stage, Vec<(&'static str, String)>) {
    let port = serve(PAGES.iter().map(|(_, path, html, _)| (path, html)));
    let addresses = PAGES.iter().map(|(name, path, ..)| (*name, format!("http://127.0.0.1:{port}{path}"))).collect();
    (Stage::at("about:blank").await, addresses)
}

/// Report of the walk on one element.
#[derive(Deserialize)]
struct Walked {
    node: u64,
    html: String,
    role: String,
    name: String,
}

/// Result of a comparison of one page.
#[derive(Default)]
struct Compared {
    elements: usize,
    differing: usize,
    candidates: usize,
    /// Of candidates; what else differs is only counted.
    differences: Vec<String>,
}

/// Compares the walk with the browser's own tree for every element of the page that the tree shows.
async fn compared(stage: &mut Stage) -> Compared {
    let offered: HashSet<NodeKey> =
        stage.observe(Scope::Full).await.candidates.into_iter().filter_map(|candidate| candidate.node).collect();
    let probe = Probe::attach(stage.page.clone(), DigestKey::new([5; 32]), until()).await.unwrap();
    let world = probe.world(&stage.page.main_frame().id, until()).await.unwrap();
    let list = "(cb) => cb.once(() => { const all = []; cb.everyElement((element) => { all.push({ node: cb.idOf(element), html: element.cloneNode(false).outerHTML.slice(0, 100), role: cb.roleOf(element), name: cb.nameOf(element) }); }); return all; })";
    let walked: Vec<Walked> = world.call(list, &[], until()).await.unwrap();
    let keys: Vec<_> = walked.iter().map(|one| world.key(one.node)).collect();
    let browser = probe.browser_names(&keys, until()).await.unwrap();
    let mut seen = Compared::default();
    for (one, key) in walked.iter().zip(&keys) {
        let Some(facts) = browser.get(key).filter(|facts| !facts.ignored) else { continue };
        // A role of Chromium's own making has no counterpart to be compared with.
        let Some(role) = facts.role else { continue };
        let is_candidate = offered.contains(key);
        seen.elements += 1;
        seen.candidates += usize::from(is_candidate);
        let same_role = role.as_str() == one.role || [role.as_str(), &one.role].iter().all(|role| is_nothing(role));
        // The browser leaves white space around what it reads from generated content.
        if same_role && collapse_white_space(&facts.name) == one.name {
            continue;
        }
        seen.differing += 1;
        if is_candidate {
            let (own, theirs) = (&one.name, &facts.name);
            seen.differences.push(format!("walk {} {own:?}, browser {role} {theirs:?}: {}", one.role, one.html));
        }
    }
    seen
}

/// `generic` and `none` say the same: nothing.
fn is_nothing(role: &str) -> bool {
    [Role::Generic, Role::None, Role::Presentation].iter().any(|nothing| nothing.as_str() == role)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_walks_roles_and_names_are_the_browsers_on_99_of_100_candidates() {
    let (mut stage, addresses) = corpus().await;
    let mut total = Compared::default();
    for (name, address) in addresses {
        stage.go(&address).await;
        let seen = compared(&mut stage).await;
        assert!(seen.candidates > 15, "{name}: only {} candidates were compared", seen.candidates);
        total.elements += seen.elements;
        total.differing += seen.differing;
        total.candidates += seen.candidates;
        total.differences.extend(seen.differences.iter().map(|line| format!("{name}: {line}")));
    }
    let share = |differing: usize, of: usize| 100.0 * (1.0 - differing as f64 / of as f64);
    let candidates = share(total.differences.len(), total.candidates);
    let all = share(total.differing, total.elements);
    // `docs/observing.md` explains what is left.
    assert!(candidates >= 99.0 && all >= 96.0, "{candidates:.2} %, {all:.2} %: {:#?}", total.differences);
}
