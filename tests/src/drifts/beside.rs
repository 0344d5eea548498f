//! Comparison of several sides on identical jobs under identical drift in one run: cuebook with and without repairs,
//! and peers.
//!
//! Invariants: every side gets the job, the drift and the time for a step of the others, a browser process of its own
//! with a fresh context or tab for each job, and a server that has forgotten everything; who begins changes from trial
//! to trial; the oracle is the site's own state, whatever a side reports.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow, ensure};
use cuebook::Live;
use cuebook_cdp::{AttachOptions, Browser, SearchPlaces, find_chrome};
use cuebook_datalayer::{MemoryArtifacts, MemoryLog, ValueRedactor};
use cuebook_executor::ExecutorOptions;
use cuebook_grammar::id::{PageId, RunId};
use cuebook_grammar::plan::{Author, PlanDraft};
use cuebook_grammar::policy::Policy;
use cuebook_grammar::report::RunReport;
use cuebook_grammar::seam::{DenyAll, NoSecrets};
use cuebook_grammar::secret::DigestKey;
use cuebook_network::drift::{Drift, DriftKind, Drifter};
use cuebook_page_modeler::ModelerOptions;
use cuebook_repair::{Budgets, Ladder, Layers, RunRequest, Work};
use serde_json::{Map, Value, json};
use tempfile::TempDir;

use super::peer::Peer;
pub use super::peer::PeerScript;
use super::{Ending, Job, Verdict, counted, declared, drawn, jobs, judged};
use crate::script::Script;
use crate::{Person, Stage};

/// Name of the side that repairs; the others are compared with it.
pub const REPAIRING: &str = "cuebook";
const UNREPAIRED: &str = "cuebook --no-repair";

const PATIENCE: Duration = Duration::from_secs(60);
/// Time in which requests of a closed tab may still arrive.
const ARRIVED: Duration = Duration::from_millis(100);
/// A page whose texts the drift changes at once.
const LOOKED_AT: &str = "/login";

/// One side's run of a trial.
#[derive(Clone, Debug)]
pub struct Turn {
    /// 0-based number of the trial.
    pub number: u64,
    /// Name of the side: cuebook, cuebook without repairs, or a peer.
    pub side: String,
    /// Name of the job that was run.
    pub job: &'static str,
    /// The kinds of the drift.
    pub kinds: Vec<DriftKind>,
    /// Judgement by the site's own state, not by the side's account alone.
    pub verdict: Verdict,
    /// Why it failed, or what was wrong.
    pub note: String,
    /// From opening the page to the side's own account of its end.
    pub took: Duration,
}

/// The site, and all sides with their browsers.
#[derive(Debug)]
pub struct Contest {
    stage: Stage,
    peers: Vec<Peer>,
    records: TempDir,
}

impl Contest {
    /// Starts everything. Peers find their packages in `modules`.
    ///
    /// # Errors
    /// If there is no browser or no Node, or a peer does not start.
    #[expect(clippy::disallowed_methods, reason = "the program's composition root")]
    pub async fn open(peers: &[PeerScript], modules: &Path) -> Result<Self> {
        let places = SearchPlaces {
            chrome_variable: std::env::var_os("CHROME"),
            path: std::env::var_os("PATH"),
            ..SearchPlaces::default()
        };
        let chrome = find_chrome(&places)?;
        let started = peers.iter().map(|peer| Peer::start(peer, modules, &chrome.path)).collect::<Result<_>>()?;
        Ok(Self { stage: Stage::open().await?, peers: started, records: TempDir::new()? })
    }

    /// The names of the sides, cuebook's first.
    #[must_use]
    pub fn sides(&self) -> Vec<String> {
        let peers = self.peers.iter().map(|peer| peer.name.clone());
        [REPAIRING, UNREPAIRED].map(ToOwned::to_owned).into_iter().chain(peers).collect()
    }

    /// The versions of the peers and of the browsers.
    ///
    /// # Errors
    /// If a peer does not answer.
    pub async fn versions(&mut self) -> Result<Value> {
        let mut versions = Map::new();
        versions.insert("browser".to_owned(), json!(self.stage.browser().version().product));
        for peer in &mut self.peers {
            versions.insert(peer.name.clone(), peer.about().await?["version"].clone());
        }
        Ok(Value::Object(versions))
    }

    /// Checks that drift reaches the pages of every peer: each reads the texts that cuebook's browser shows under the
    /// same drift, and others than without it.
    ///
    /// # Errors
    /// If a peer reads anything else.
    pub async fn check_reach(&mut self, seed: u64) -> Result<()> {
        let drift = Drift::of(&[DriftKind::ChangedTexts], seed);
        let url = self.stage.url(LOOKED_AT);
        let expected = {
            let _drifter = Drifter::begin(self.stage.browser(), drift.clone(), Instant::now() + PATIENCE).await?;
            shown(self.stage.browser(), &url).await?
        };
        for peer in &mut self.peers {
            let endpoint = peer.begin().await?;
            let calm = peer.look(&url).await?;
            let browser = attached(&endpoint, self.records.path()).await?;
            let drifter = Drifter::begin(&browser, drift.clone(), Instant::now() + PATIENCE).await?;
            let drifted = peer.look(&url).await?;
            let name = &peer.name;
            ensure!(
                drifted != calm,
                "the drift does not reach the pages of {name}: it reads {calm:?} with and without"
            );
            ensure!(drifted == expected, "{name} reads {drifted:?}, where cuebook's browser shows {expected:?}");
            drop(drifter);
            peer.end().await?;
        }
        Ok(())
    }

    /// Every job by every side without drift.
    ///
    /// # Errors
    /// If a browser, a peer or the site breaks.
    pub async fn calm(&mut self, seed: u64) -> Result<Vec<Turn>> {
        let mut turns = Vec::new();
        for (number, job) in (0..).zip(jobs()) {
            for side in 0..self.sides().len() {
                turns.push(self.turn(side, seed, number, &job, None).await?);
            }
        }
        Ok(turns)
    }

    /// The trial of this number by every side.
    ///
    /// # Errors
    /// If a browser, a peer or the site breaks, or the drift touched no document.
    pub async fn turns(&mut self, seed: u64, number: u64) -> Result<Vec<Turn>> {
        let (job, drift) = drawn(seed, number)?;
        let mut order: Vec<usize> = (0..self.sides().len()).collect();
        let shift = usize::try_from(number)? % order.len();
        order.rotate_left(shift);
        let mut turns = Vec::new();
        for side in order {
            turns.push(self.turn(side, seed, number, &job, Some(&drift)).await?);
        }
        Ok(turns)
    }

    async fn turn(&mut self, side: usize, seed: u64, number: u64, job: &Job, drift: Option<&Drift>) -> Result<Turn> {
        let name = self.sides().get(side).cloned().context("no such side")?;
        self.stage.reset(seed);
        let played = match side {
            0 => cuebook(&self.stage, job, drift, Budgets::default()).await,
            1 => {
                let budgets = Budgets { repairs_per_step: 0, repairs_per_run: 0, ..Budgets::default() };
                cuebook(&self.stage, job, drift, budgets).await
            }
            _ => {
                let peer = self.peers.get_mut(side - 2).context("no such peer")?;
                by_peer(peer, &self.stage, self.records.path(), job, drift).await
            }
        };
        let (verdict, note, took) = played.with_context(|| format!("trial {number} by {name}: {}", job.name))?;
        tokio::time::sleep(ARRIVED).await;
        let kinds = drift.into_iter().flat_map(|drift| drift.kinds().map(|(kind, _)| kind)).collect();
        Ok(Turn { number, side: name, job: job.name, kinds, verdict, note, took })
    }

    /// Ends the peers.
    ///
    /// # Errors
    /// If one does not end.
    pub async fn close(self) -> Result<()> {
        for peer in self.peers {
            peer.close().await?;
        }
        Ok(())
    }
}

type Played = (Verdict, String, Duration);

/// Holds what a browser gets, if there is a drift.
async fn drifting(browser: &Arc<Browser>, drift: Option<&Drift>) -> Result<Option<Drifter>> {
    let Some(drift) = drift else { return Ok(None) };
    Ok(Some(Drifter::begin(browser, drift.clone(), Instant::now() + PATIENCE).await?))
}

fn check_touched(drifter: Option<&Drifter>) -> Result<()> {
    let documents = drifter.map(|drifter| drifter.drifted().documents);
    ensure!(documents != Some(0), "the drift touched no document");
    Ok(())
}

async fn by_peer(peer: &mut Peer, stage: &Stage, records: &Path, job: &Job, drift: Option<&Drift>) -> Result<Played> {
    let endpoint = peer.begin().await?;
    let browser = attached(&endpoint, records).await?;
    let drifter = drifting(&browser, drift).await?;
    let began = Instant::now();
    let ending = match peer.play(&stage.url(job.path), &job.steps).await? {
        Ok(()) => Ending::Done { is_repaired: false },
        Err(why) => Ending::Failed(why),
    };
    let took = began.elapsed();
    let (verdict, note) = judged(stage, job, &ending).await;
    check_touched(drifter.as_ref())?;
    drop(drifter);
    peer.end().await?;
    Ok((verdict, note, took))
}

/// A connection of ours to a peer's browser, beside the peer's own.
async fn attached(endpoint: &str, records: &Path) -> Result<Arc<Browser>> {
    let options = AttachOptions::new(endpoint, records);
    Ok(Arc::new(Browser::attach(&options, Instant::now() + PATIENCE).await?))
}

async fn cuebook(stage: &Stage, job: &Job, drift: Option<&Drift>, budgets: Budgets) -> Result<Played> {
    let browser = stage.browser();
    let until = Instant::now() + PATIENCE;
    let context = browser.new_context(None, until).await?;
    let tab = browser.new_page_in(&context, "about:blank", until).await?;
    let drifter = drifting(browser, drift).await?;
    let began = Instant::now();
    let report = executed(stage, &PageId::new(tab.target_id().as_str()), job, budgets).await?;
    let took = began.elapsed();
    let (verdict, note) = judged(stage, job, &Ending::of(&report)).await;
    check_touched(drifter.as_ref())?;
    drop(drifter);
    browser.dispose(&context, Instant::now() + PATIENCE).await?;
    Ok((verdict, note, took))
}

/// Executes the job as an operator's plan of declared locators.
async fn executed(stage: &Stage, page: &PageId, job: &Job, budgets: Budgets) -> Result<RunReport> {
    let draft = PlanDraft::read_value(declared(&job.steps), Author::Operator).map_err(|why| anyhow!("{why:?}"))?;
    let url = stage.url(job.path);
    let origin = stage.url("/").trim_end_matches('/').to_owned();
    let mut policy = Policy::default().starting_at(&url)?;
    for class in ["credential", "send", "money", "destructive"] {
        policy = policy.granting(&format!("{class}@{origin}"))?;
    }
    let live = Live::new(stage.browser().clone(), DigestKey::new([5; 32]), Arc::new(ValueRedactor::default()));
    let layers = Layers {
        modeler: live.modeler(ModelerOptions::default()),
        planner: Arc::new(Script::new(&Value::Null)),
        executor: live.executor(NoSecrets, MemoryArtifacts::default(), ExecutorOptions::default()),
        repair: Ladder::default(),
        log: MemoryLog::default(),
        confirm: DenyAll,
    };
    let request =
        RunRequest::new(RunId::new("beside"), Work::Plan(Box::new(draft)), page.clone(), policy).starting_at(url);
    Ok(live.controller(layers).with_budgets(budgets).run(request).await)
}

/// The texts of the headings and buttons in the main part of a page, shown in a tab of its own.
async fn shown(browser: &Arc<Browser>, url: &str) -> Result<Vec<String>> {
    const SHOWN: &str = "document.readyState === 'complete' && \
        Array.from(document.querySelectorAll('main :is(h1, button)'), (one) => one.innerText)";
    let tab = browser.new_page("about:blank", Instant::now() + PATIENCE).await?;
    let person = Person::at(tab.clone());
    person.opens(url).await?;
    let until = Instant::now() + PATIENCE;
    let texts = loop {
        if let Value::Array(texts) = person.reads(SHOWN).await? {
            break texts.iter().filter_map(Value::as_str).map(ToOwned::to_owned).collect::<Vec<_>>();
        }
        ensure!(Instant::now() < until, "{url} does not load");
        tokio::time::sleep(Duration::from_millis(30)).await;
    };
    tab.close(Instant::now() + PATIENCE).await?;
    ensure!(!texts.is_empty(), "{url} shows neither headings nor buttons");
    Ok(texts)
}

/// The figures of a contest.
#[must_use]
pub fn figures(seed: u64, versions: &Value, sides: &[String], calm: &[Turn], turns: &[Turn]) -> Value {
    let by_side = |of: &[Turn], fits: &dyn Fn(&Turn) -> bool| {
        let of = |side: &String| counted(of.iter().filter(|it| it.side == *side && fits(it)).map(|it| it.verdict));
        Value::Object(sides.iter().map(|side| (side.clone(), of(side))).collect())
    };
    let mut all = by_side(turns, &|_| true);
    for side in sides {
        let own = || turns.iter().filter(|turn| turn.side == *side);
        all[side]["medianMs"] = json!(median(own().filter(|it| is_done(it)).map(|it| it.took)));
        let mut causes: BTreeMap<&str, u64> = BTreeMap::new();
        for turn in own().filter(|turn| turn.verdict == Verdict::Failed) {
            *causes.entry(turn.note.split(':').next().unwrap_or_default()).or_default() += 1;
        }
        all[side]["causes"] = json!(causes);
    }
    let mut by_job = Map::new();
    for job in jobs() {
        by_job.insert(job.name.to_owned(), by_side(turns, &|turn| turn.job == job.name));
    }
    let mut kinds = Map::new();
    for kind in DriftKind::ALL {
        kinds.insert(kind.to_string(), by_side(turns, &|turn| turn.kinds.contains(&kind)));
    }
    let others = sides.iter().filter(|side| *side != REPAIRING);
    let paired: Map<String, Value> = others.map(|side| (side.clone(), paired(turns, side))).collect();
    let noted = |of: &[Turn], verdict: Verdict| {
        let of = of.iter().filter(|turn| turn.verdict == verdict);
        let note = |turn: &Turn| turn.note.lines().next().unwrap_or_default().to_owned();
        of.map(|it| json!({ "trial": it.number, "side": it.side, "job": it.job, "note": note(it) })).collect::<Value>()
    };
    json!({ "seed": seed, "trials": turns.len() / sides.len().max(1), "versions": versions,
        "withoutDrift": by_side(calm, &|_| true), "failedWithoutDrift": noted(calm, Verdict::Failed),
        "silentlyWrongWithoutDrift": noted(calm, Verdict::SilentlyWrong),
        "sides": all, "paired": paired, "jobs": by_job, "kinds": kinds,
        "silentlyWrong": noted(turns, Verdict::SilentlyWrong) })
}

const fn is_done(turn: &Turn) -> bool {
    matches!(turn.verdict, Verdict::Solved | Verdict::Repaired)
}

/// In how many trials cuebook with repairs, this side, both or neither did the job.
fn paired(turns: &[Turn], side: &str) -> Value {
    let done = |turn: &&Turn, side: &str| (turn.side == side).then(|| (turn.number, is_done(turn)));
    let ours: BTreeMap<u64, bool> = turns.iter().filter_map(|turn| done(&turn, REPAIRING)).collect();
    let theirs = turns.iter().filter_map(|turn| done(&turn, side));
    let mut count = [0; 4];
    for (number, theirs) in theirs {
        let ours = ours.get(&number).copied().unwrap_or_default();
        let at = usize::from(ours) * 2 + usize::from(theirs);
        count.iter_mut().skip(at).take(1).for_each(|count| *count += 1);
    }
    let [neither, only_theirs, only_ours, both] = count;
    json!({ "both": both, "onlyCuebook": only_ours, "onlyThis": only_theirs, "neither": neither })
}

/// In milliseconds; the upper of two in the middle.
fn median(times: impl Iterator<Item = Duration>) -> Option<u128> {
    let mut times: Vec<u128> = times.map(|time| time.as_millis()).collect();
    times.sort_unstable();
    times.get(times.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use cuebook_cdp::{LaunchOptions, Transport};

    use super::*;

    #[expect(clippy::disallowed_methods, reason = "a test is its own composition root")]
    async fn browser_with_a_port(profiles: &Path) -> Result<Arc<Browser>> {
        let places = SearchPlaces {
            chrome_variable: std::env::var_os("CHROME"),
            path: std::env::var_os("PATH"),
            ..SearchPlaces::default()
        };
        let options =
            LaunchOptions { transport: Transport::WebSocket, ..LaunchOptions::new(find_chrome(&places)?, profiles) };
        Ok(Arc::new(Browser::launch(&options, Instant::now() + PATIENCE).await?))
    }

    #[tokio::test]
    async fn drift_reaches_the_pages_of_another_connection() -> Result<()> {
        let stage = Stage::open().await?;
        let (profiles, records) = (TempDir::new()?, TempDir::new()?);
        let theirs = browser_with_a_port(profiles.path()).await?;
        let (port, _) = crate::endpoint(profiles.path())?;
        let url = stage.url(LOOKED_AT);
        let calm = shown(&theirs, &url).await?;
        let ours = attached(&format!("http://127.0.0.1:{port}"), records.path()).await?;
        let drift = Drift::of(&[DriftKind::ChangedTexts], 7);
        let drifter = Drifter::begin(&ours, drift.clone(), Instant::now() + PATIENCE).await?;
        let drifted = shown(&theirs, &url).await?;
        assert_ne!(drifted, calm);
        assert_eq!(drifter.drifted().documents, 1);
        let _own = Drifter::begin(stage.browser(), drift, Instant::now() + PATIENCE).await?;
        assert_eq!(drifted, shown(stage.browser(), &url).await?);
        Ok(())
    }

    fn turn(number: u64, side: &str, verdict: Verdict, note: &str) -> Turn {
        let took = Duration::from_millis(100 * (number + 1));
        Turn {
            number,
            side: side.to_owned(),
            job: "keep an invoice",
            kinds: vec![],
            verdict,
            note: note.to_owned(),
            took,
        }
    }

    #[test]
    fn sides_are_compared_trial_by_trial() {
        let sides = [REPAIRING.to_owned(), "peer".to_owned()];
        let turns = [
            turn(0, "peer", Verdict::Failed, "locator.click: late"),
            turn(0, REPAIRING, Verdict::Repaired, ""),
            turn(1, "peer", Verdict::Solved, ""),
            turn(1, REPAIRING, Verdict::Solved, ""),
            turn(2, "peer", Verdict::SilentlyWrong, "also happened: logout"),
            turn(2, REPAIRING, Verdict::Failed, "targetNotFound: gone"),
        ];
        let figures = figures(7, &json!({}), &sides, &[], &turns);
        assert_eq!(figures["trials"], 3);
        assert_eq!(figures["paired"]["peer"], json!({ "both": 1, "onlyCuebook": 1, "onlyThis": 0, "neither": 1 }));
        assert_eq!(figures["sides"]["peer"]["causes"], json!({ "locator.click": 1 }));
        assert_eq!(figures["sides"][REPAIRING]["medianMs"], 200);
        assert_eq!(figures["silentlyWrong"][0]["side"], "peer");
    }
}
