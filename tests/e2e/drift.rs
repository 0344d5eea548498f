//! Drift: the same seed gives the same document, and a person still does the site's main jobs under each kind.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use cuebook_network::drift::{Drift, DriftKind, Drifter};
use cuebook_tests::{Person, Stage};
use serde_json::json;

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(30)
}

/// Words that a person takes for these.
mod words {
    pub(super) const EMAIL: &str = "(your )?e ?mail( address)?";
    pub(super) const PASSWORD: &str = "(your |secret )?password";
    pub(super) const LOG_IN: &str = "(log|sign) (in|on)( now)?";
    pub(super) const LOG_OUT: &str = "(log|sign) (out|off)";
    pub(super) const ADD: &str = "(add|put) (to|in) (cart|basket|bag)";
    pub(super) const CHECK_OUT: &str = "((go|proceed) to )?check ?out";
    pub(super) const NAME: &str = "(your )?full name|name in full";
    pub(super) const DATE: &str = "delivery date|date of delivery|deliver on";
    pub(super) const CARD: &str = "(credit )?card number|number of the card";
    pub(super) const TERMS: &str = "i (accept|agree to) the terms|accept the terms";
    pub(super) const PLACE: &str = "(place|submit) (your )?order|order now";
    pub(super) const DELETE: &str = "delete( this)?|erase";
    pub(super) const YES: &str = "yes delete it";
}

async fn logs_in_and_out(person: &Person, stage: &Stage) -> Result<()> {
    person.opens(&stage.url("/login")).await?;
    person.enters(words::EMAIL, "ann").await?;
    person.enters(words::PASSWORD, "correct-horse").await?;
    person.clicks("button", words::LOG_IN).await?;
    person.clicks("button", words::LOG_OUT).await?;
    stage.eventually(|stage| stage.state()["logouts"] == 1).await?;
    ensure!(stage.state()["logins"] == json!([{ "user": "ann", "accepted": true }]), "{:#}", stage.state());
    Ok(())
}

async fn orders(person: &Person, stage: &Stage) -> Result<()> {
    person.opens(&stage.url("/shop")).await?;
    person.clicks_near("button", words::ADD, "Scissors").await?;
    person.clicks("link", words::CHECK_OUT).await?;
    person.enters(words::NAME, "Ann Lee").await?;
    person.enters(words::EMAIL, "ann@example.com").await?;
    person.enters(words::CARD, "4242424242424242").await?;
    person.clicks("field", words::TERMS).await?;
    // A press in the middle of a date picks its month, day or year, wherever the middle is.
    person.enters_date(words::DATE, "2027-03-03").await?;
    person.clicks("button", words::PLACE).await?;
    stage.eventually(|stage| stage.state()["orders"].as_array().is_some_and(|all| all.len() == 1)).await?;
    let order = stage.state()["orders"][0].clone();
    ensure!(order["lines"][0]["name"] == "Scissors" && order["delivery"]["date"] == "2027-03-03", "{order:#}");
    Ok(())
}

async fn deletes_an_invoice(person: &Person, stage: &Stage) -> Result<()> {
    person.opens(&stage.url("/orders?confirm=dialog")).await?;
    person.clicks_near("button", words::DELETE, "INV-1005").await?;
    person.clicks("button", words::YES).await?;
    stage.eventually(|stage| stage.state()["deleted"] == json!(["INV-1005"])).await
}

async fn uses_widgets(person: &Person, stage: &Stage) -> Result<()> {
    person.opens(&stage.url("/menus")).await?;
    person.clicks("button", "actions").await?;
    person.clicks("item", "archive").await?;
    stage.eventually(|stage| stage.reported("menu")["choice"] == "Archive").await?;
    person.clicks("item", "reviews").await?;
    person.clicks("button", "write a review").await?;
    stage.eventually(|stage| stage.hits("menus.review") == 1).await?;
    person.opens(&stage.url("/newsletter")).await?;
    person.clicks("button", "continue|go on|proceed|continue now").await?;
    stage.eventually(|stage| stage.hits("newsletter.continue") == 1).await?;
    person.opens(&stage.url("/virtual")).await?;
    person.clicks("button", "reserve seat 5").await?;
    stage.eventually(|stage| stage.reported("seat")["seat"] == "5").await
}

async fn does_everything_under(drift: Drift) -> Result<()> {
    let stage = Stage::open().await?;
    let drifter = Drifter::begin(stage.browser(), drift, soon()).await?;
    let person = Person::at(stage.tab().context("no tab")?);
    logs_in_and_out(&person, &stage).await.context("logging in")?;
    orders(&person, &stage).await.context("ordering")?;
    deletes_an_invoice(&person, &stage).await.context("deleting")?;
    uses_widgets(&person, &stage).await.context("widgets")?;
    assert!(drifter.drifted().documents >= 8, "{:?}", drifter.drifted());
    Ok(())
}

macro_rules! each_kind {
    ($($name:ident $kind:ident,)*) => {
        $(#[tokio::test]
        async fn $name() -> Result<()> {
            for seed in [1, 2] {
                does_everything_under(Drift::of(&[DriftKind::$kind], seed)).await.context(format!("seed {seed}"))?;
            }
            Ok(())
        })*
        #[test]
        fn each_kind_has_a_test() {
            let tested = [$(DriftKind::$kind),*];
            assert!(DriftKind::ALL.iter().all(|kind| tested.contains(kind)));
        }
    };
}

each_kind! {
    a_person_works_under_renamed_names RenamedNames,
    a_person_works_under_reordered_elements ReorderedElements,
    a_person_works_under_changed_texts ChangedTexts,
    a_person_works_under_late_rendering LateRendering,
    a_person_works_under_moved_targets MovedTargets,
    a_person_works_under_overlays Overlays,
    a_person_works_under_consent_banners ConsentBanners,
    a_person_works_under_recycled_nodes RecycledNodes,
    a_person_works_under_sorted_lists SortedLists,
    a_person_works_under_slow_requests SlowRequests,
    a_person_works_under_failing_requests FailingRequests,
}

#[tokio::test]
async fn a_person_works_under_mixed_drift() -> Result<()> {
    for seed in 1..=4 {
        does_everything_under(Drift::mixed(seed)).await.context(format!("seed {seed}"))?;
    }
    Ok(())
}

#[tokio::test]
async fn a_person_presses_again_what_a_cover_took() -> Result<()> {
    const PAGE: &str = "data:text/html,<title>0</title><button onclick='document.title++'>Go</button><script>\
        addEventListener('mousedown', () => document.body.insertAdjacentHTML('beforeend', \
        '<div style=\"position:fixed;inset:0\"><button onclick=\"this.parentNode.remove()\">Close</button></div>'), { once: true })\
        </script>";
    let stage = Stage::open().await?;
    let person = Person::at(stage.tab().context("no tab")?);
    person.opens(PAGE).await?;
    person.clicks("button", "go").await?;
    assert_eq!(person.reads("document.title").await?, json!("1"));
    Ok(())
}

/// The document as it is when `is_ready` is true of it, or four seconds later.
async fn document(stage: &Stage, person: &Person, path: &str, is_ready: impl Fn(&str) -> bool) -> Result<String> {
    person.opens(&stage.url(path)).await?;
    let until = Instant::now() + Duration::from_secs(4);
    loop {
        tokio::time::sleep(Duration::from_millis(100)).await;
        let seen = person.reads("document.readyState === 'complete' && document.documentElement.outerHTML").await;
        let html = seen.unwrap_or_default().as_str().map(|html| html.replace(&stage.url("/"), "/")).unwrap_or_default();
        if !html.is_empty() && (is_ready(&html) || Instant::now() >= until) {
            return Ok(html);
        }
    }
}

#[tokio::test]
async fn each_kind_changes_a_page_or_its_requests() -> Result<()> {
    const PAGE: &str = "/shop";
    let stage = Stage::open().await?;
    let person = Person::at(stage.tab().context("no tab")?);
    let plain = document(&stage, &person, PAGE, |_| true).await?;
    for kind in DriftKind::ALL {
        let mut changed = false;
        // One seed alone may leave this page out.
        for seed in 1..=4 {
            person.opens("about:blank").await?;
            let drifter = Drifter::begin(stage.browser(), Drift::of(&[kind], seed), soon()).await?;
            changed = match kind {
                DriftKind::SlowRequests | DriftKind::FailingRequests => {
                    document(&stage, &person, PAGE, |_| true).await?;
                    drifter.drifted().delayed + drifter.drifted().failed > 0
                }
                _ => document(&stage, &person, PAGE, |html| html != plain).await? != plain,
            };
            if changed {
                break;
            }
        }
        ensure!(changed, "{kind} changes nothing");
    }
    assert_eq!(document(&stage, &person, PAGE, |html| html == plain).await?, plain, "a drift that is dropped ends");
    Ok(())
}

#[tokio::test]
async fn the_same_seed_gives_the_same_document() -> Result<()> {
    let stage = Stage::open().await?;
    let person = Person::at(stage.tab().context("no tab")?);
    let mut seen = Vec::new();
    for seed in [1, 1, 2] {
        person.opens("about:blank").await?;
        let kinds: Vec<DriftKind> =
            DriftKind::ALL.into_iter().filter(|kind| *kind != DriftKind::MovedTargets).collect();
        let drifter = Drifter::begin(stage.browser(), Drift::of(&kinds, seed), soon()).await?;
        person.opens(&stage.url("/login")).await?;
        person.reads("sessionStorage.clear()").await?;
        seen.push(document(&stage, &person, "/shop", |_| false).await?);
        drop(drifter);
    }
    assert_eq!(seen[0], seen[1]);
    assert_ne!(seen[0], seen[2]);
    Ok(())
}
