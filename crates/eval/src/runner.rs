//! Runs episodes: in parallel, each once, with results that survive whatever ends the evaluation.
//!
//! Invariants:
//! - Which episodes a part has depends on their names and seeds alone.

use std::collections::BTreeSet;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
#[cfg(feature = "queue")]
use std::hash::{BuildHasher as _, RandomState};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::time::timeout;

use crate::episode::{Episode, EpisodeKey, EpisodeResult};
use crate::error::EvalError;
use crate::ledger::Ledger;
use crate::stage::{Opening, Stage};
use crate::subject::{Assignment, Subject as _, Subjects, fnv};
use crate::suite::Suite;
use crate::summary::EvalResults;

/// Attempts of an episode of which nothing can be said.
const ATTEMPTS: usize = 2;
/// The wait before episodes that other machines have claimed are looked at again.
const POLL: Duration = Duration::from_secs(1);

/// The tasks that are run, and the manner of running them.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// The seeds of each task.
    pub seeds: Range<u64>,
    /// Names of tasks, or parts of them; all if empty.
    pub tasks: Vec<String>,
    /// The split whose tasks are run; all if `None`.
    pub split: Option<String>,
    /// Episodes at a time.
    pub jobs: usize,
    /// Time limit of an episode.
    pub limit: Duration,
    /// The 1-based part of the episodes, and the number of parts.
    pub shard: Option<(u32, u32)>,
    /// The store that several machines take the episodes from, each one once. The results are those of all of them.
    #[cfg(feature = "queue")]
    pub queue: Option<crate::queue::Queue>,
    /// Where results are kept, in `episodes.jsonl`. Episodes that have one there are not run again.
    pub out: Option<PathBuf>,
}

impl Default for Options {
    fn default() -> Self {
        let limit = Duration::from_secs(180);
        Self {
            seeds: 0..10,
            tasks: Vec::new(),
            split: None,
            jobs: 1,
            limit,
            shard: None,
            #[cfg(feature = "queue")]
            queue: None,
            out: None,
        }
    }
}

impl Options {
    fn wants(&self, episode: &Episode) -> bool {
        let task = &episode.task;
        let is_named = self.tasks.is_empty() || self.tasks.iter().any(|name| task.name.contains(name.as_str()));
        let is_split = self.split.as_ref().is_none_or(|split| task.split == *split);
        is_named && is_split && self.shard.is_none_or(|(part, of)| part_of(&episode.key(), of) == part)
    }
}

/// Decision on running an episode here.
#[cfg_attr(not(feature = "queue"), expect(dead_code, reason = "without a queue, every episode is ours"))]
enum Taking {
    Ours,
    /// Not now: somebody else is at it.
    Later,
    Done,
}

#[cfg(feature = "queue")]
impl Options {
    async fn takes(&self, episode: &Episode) -> Result<Taking, EvalError> {
        let Some(queue) = &self.queue else { return Ok(Taking::Ours) };
        Ok(match queue.claim(&episode.key()).await? {
            crate::queue::Claim::Ours => Taking::Ours,
            crate::queue::Claim::Taken => Taking::Later,
            crate::queue::Claim::Done => Taking::Done,
        })
    }

    /// Machines that share a queue begin at different places, or each would find what the others just claimed.
    fn spread(&self, episodes: &mut [Episode]) {
        episodes.reverse();
        if self.queue.is_some() && !episodes.is_empty() {
            let random = RandomState::new().hash_one(0_u8);
            let at = usize::try_from(random % episodes.len() as u64).unwrap_or_default();
            episodes.rotate_left(at);
        }
    }

    /// Hands in a result, and returns `true` if it counts.
    async fn hands_in(&self, result: &EpisodeResult) -> Result<bool, EvalError> {
        match &self.queue {
            Some(queue) => queue.deliver(result).await,
            None => Ok(true),
        }
    }

    /// The results of all machines.
    async fn everyone(&self, own: Vec<EpisodeResult>) -> Result<Vec<EpisodeResult>, EvalError> {
        match &self.queue {
            Some(queue) => queue.results().await,
            None => Ok(own),
        }
    }
}

#[cfg(not(feature = "queue"))]
#[expect(clippy::unused_async, clippy::unused_self, reason = "as with the feature `queue`")]
impl Options {
    fn spread(&self, episodes: &mut [Episode]) {
        episodes.reverse();
    }

    async fn takes(&self, _: &Episode) -> Result<Taking, EvalError> {
        Ok(Taking::Ours)
    }

    async fn hands_in(&self, _: &EpisodeResult) -> Result<bool, EvalError> {
        Ok(true)
    }

    async fn everyone(&self, own: Vec<EpisodeResult>) -> Result<Vec<EpisodeResult>, EvalError> {
        Ok(own)
    }
}

/// Hears of an evaluation as it goes on.
pub trait Progress: Send + Sync {
    /// An episode ended: its result, how many have one now, and how many there are.
    fn ended(&self, result: &EpisodeResult, done: usize, of: usize);
}

/// A [`Progress`] that ignores every event.
#[derive(Clone, Copy, Debug)]
pub struct Quiet;

impl Progress for Quiet {
    fn ended(&self, _: &EpisodeResult, _: usize, _: usize) {}
}

/// Episodes without a result.
struct Pending {
    /// The next one is the last.
    next: Vec<Episode>,
    /// Claimed by other machines when they were looked at.
    later: Vec<Episode>,
}

impl Pending {
    fn look_again(&mut self) {
        self.next.append(&mut self.later);
    }
}

/// The 1-based part that an episode belongs to: the same on every machine and in every version.
fn part_of(key: &EpisodeKey, of: u32) -> u32 {
    let hash = fnv(key.to_string().into_bytes(), 0);
    // The low bits of neighbouring seeds differ in a pattern; the high ones do not.
    u32::try_from((hash ^ (hash >> 32)) % u64::from(of.max(1))).unwrap_or_default() + 1
}

/// Runs the episodes of some suites, and returns the results of all that have one.
///
/// # Errors
/// [`EvalError::Server`] if an application does not start; [`EvalError::File`], [`EvalError::Result`] and
/// [`EvalError::Twice`] if results cannot be kept or read. Results that were written stay.
pub async fn run<S: Subjects>(
    subjects: &S,
    suites: &[Suite],
    options: &Options,
    progress: &dyn Progress,
) -> Result<EvalResults, EvalError> {
    let began = Instant::now();
    let mut ledger = Ledger::open(options.out.as_deref())?;
    let mut wanted: Vec<Episode> = Vec::new();
    for suite in suites {
        let suite = Arc::new(suite.clone());
        for task in &suite.tasks {
            let of = |seed| Episode { suite: suite.clone(), task: task.clone(), seed };
            wanted.extend(options.seeds.clone().map(of).filter(|episode| options.wants(episode)));
        }
    }
    let keys: BTreeSet<EpisodeKey> = wanted.iter().map(Episode::key).collect();
    let resumed = ledger.results.iter().filter(|result| keys.contains(&result.key())).count();
    let all = wanted.len();
    wanted.retain(|episode| !ledger.done.contains(&episode.key()));
    options.spread(&mut wanted);
    let queue = Mutex::new(Pending { next: wanted, later: Vec::new() });
    let ledger_lock = Mutex::new(&mut ledger);
    let failed: Mutex<Option<EvalError>> = Mutex::new(None);
    // Episodes of a suite follow each other, so that a worker keeps its application.
    let worker = async |number: usize| {
        let mut stages: HashMap<String, Stage> = HashMap::new();
        loop {
            let is_over = lock(&failed).is_some();
            let next = lock(&queue).next.pop();
            let Some(episode) = next.filter(|_| !is_over) else {
                // What others claimed is left. They may have died.
                if is_over || lock(&queue).later.is_empty() {
                    return;
                }
                tokio::time::sleep(POLL).await;
                lock(&queue).look_again();
                continue;
            };
            match options.takes(&episode).await {
                Ok(Taking::Ours) => {}
                Ok(Taking::Done) => continue,
                Ok(Taking::Later) => {
                    lock(&queue).later.push(episode);
                    continue;
                }
                Err(error) => {
                    lock(&failed).get_or_insert(error);
                    return;
                }
            }
            if !stages.contains_key(&episode.suite.name) {
                // An application that is no longer needed costs memory.
                stages.clear();
            }
            let stage = match stages.entry(episode.suite.name.clone()) {
                Entry::Occupied(stage) => stage.into_mut(),
                Entry::Vacant(place) => match Stage::open(episode.suite.clone(), number).await {
                    Ok(stage) => place.insert(stage),
                    Err(source) => {
                        let suite = episode.suite.name.clone();
                        lock(&failed).get_or_insert(EvalError::Server { suite, source });
                        return;
                    }
                },
            };
            let mut result = attempt(subjects, stage, &episode, number, options.limit).await;
            for _ in 1..ATTEMPTS {
                if result.outcome == crate::Outcome::Broken {
                    result = attempt(subjects, stage, &episode, number, options.limit).await;
                }
            }
            match options.hands_in(&result).await {
                Ok(true) => {}
                // Somebody else took it after our lease, and was first.
                Ok(false) => continue,
                Err(error) => {
                    lock(&failed).get_or_insert(error);
                    return;
                }
            }
            let mut ledger = lock(&ledger_lock);
            if let Err(error) = ledger.add(result) {
                lock(&failed).get_or_insert(error);
                return;
            }
            if let Some(result) = ledger.results.last() {
                progress.ended(result, ledger.fresh + resumed, all);
            }
        }
    };
    futures(options.jobs.max(1), &worker).await;
    if let Some(error) = failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Err(error);
    }
    let fresh = ledger.fresh as u64;
    let results = options.everyone(ledger.results).await?;
    let results = results.into_iter().filter(|result| keys.contains(&result.key())).collect();
    Ok(EvalResults::new(results).having_run(fresh, began.elapsed()))
}

/// Runs `jobs` workers on this task: they share what it has borrowed.
async fn futures(jobs: usize, worker: &impl AsyncFn(usize)) {
    let mut workers: Vec<_> = (0..jobs).map(|number| Box::pin(worker(number))).collect();
    std::future::poll_fn(|context| {
        workers.retain_mut(|worker| worker.as_mut().poll(context).is_pending());
        if workers.is_empty() { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    })
    .await;
}

async fn attempt<S: Subjects>(
    subjects: &S,
    stage: &mut Stage,
    episode: &Episode,
    worker: usize,
    limit: Duration,
) -> EpisodeResult {
    let began = Instant::now();
    let running = play(subjects, stage, episode, worker);
    let result = match timeout(limit, running).await {
        Ok(Ok(result)) => return result,
        Ok(Err(why)) => EpisodeResult::broken(episode, &why, began.elapsed()),
        Err(_) => {
            let why = format!("it did not end within {} s", limit.as_secs());
            EpisodeResult::broken(episode, &why, began.elapsed())
        }
    };
    subjects.distrust(worker).await;
    result
}

async fn play<S: Subjects>(
    subjects: &S,
    stage: &mut Stage,
    episode: &Episode,
    worker: usize,
) -> Result<EpisodeResult, String> {
    let broken = |error: crate::error::Broken| error.to_string();
    let opening = stage.begin(&episode.task, episode.seed).await.map_err(broken)?;
    let assignment = Assignment {
        worker,
        suite: stage.suite().clone(),
        task: episode.task.clone(),
        seed: episode.seed,
        url: opening.url.clone(),
        grants: grants(stage.suite(), &opening),
        allow: opening.allow.clone(),
        script: opening.script.clone(),
    };
    let in_words = |error: crate::error::BoxError| with_sources(error.as_ref());
    let mut subject = subjects.subject(&assignment).await.map_err(in_words)?;
    subject.open(&opening.url).await.map_err(in_words)?;
    let instruction = stage.instruction(&episode.task, &opening).await.map_err(broken)?;
    let began = Instant::now();
    let report = subject.run(&instruction).await;
    let took = began.elapsed();
    let judgement = stage.judge(&episode.task, episode.seed, &opening, &report, &mut subject).await.map_err(broken)?;
    subject.close().await.map_err(in_words)?;
    Ok(EpisodeResult::of(episode, &report, judgement, took))
}

/// The consents of a suite, on the origin of its application and on the others that it names.
fn grants(suite: &Suite, opening: &Opening) -> Vec<String> {
    let origins: Vec<&String> = std::iter::once(&opening.origin).chain(&opening.allow).collect();
    suite.grants.iter().flat_map(|class| origins.iter().map(move |origin| format!("{class}@{origin}"))).collect()
}

fn with_sources(error: &(dyn std::error::Error + 'static)) -> String {
    let sources = std::iter::successors(Some(error), |error| error.source());
    sources.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use cuebook_grammar::plan::PlanDraft;
    use cuebook_grammar::report::{RunReport, RunResult};

    use super::*;
    use crate::episode::Outcome;
    use crate::error::BoxError;
    use crate::subject::Subject;

    fn key(seed: u64) -> EpisodeKey {
        EpisodeKey { suite: "site".to_owned(), task: "log in".to_owned(), seed }
    }

    const SUITE: &str = "name = \"own\"\nurl = \"http://app.test/\"\n";

    fn suite(tasks: &[&str]) -> Suite {
        let task = |name: &&str| format!("[[task]]\nname = \"{name}\"\ninstruction = \"{name}\"\nanswer = \"yes\"\n");
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("own.toml");
        std::fs::write(&path, format!("{SUITE}{}", tasks.iter().map(task).collect::<String>())).unwrap();
        Suite::read(&path).unwrap_or_else(|error| panic!("{error}"))
    }

    /// Does what the name of the task says.
    struct Fakes {
        made: std::sync::atomic::AtomicUsize,
        distrusted: std::sync::atomic::AtomicUsize,
    }

    impl Fakes {
        const fn new() -> Self {
            let zero = std::sync::atomic::AtomicUsize::new;
            Self { made: zero(0), distrusted: zero(0) }
        }

        fn made(&self) -> usize {
            self.made.load(std::sync::atomic::Ordering::Relaxed)
        }
    }

    struct Fake;

    impl Subject for Fake {
        async fn open(&mut self, _: &str) -> Result<(), BoxError> {
            Ok(())
        }

        async fn run(&mut self, instruction: &str) -> RunReport {
            if instruction == "hang" {
                std::future::pending::<()>().await;
            }
            let result = if instruction == "admit" { RunResult::Failed } else { RunResult::Ok };
            let answer = if instruction == "solve" { "yes" } else { "no" };
            RunReport { answer: Some(answer.to_owned()), ..RunReport::without_run(result, None) }
        }

        async fn follow(&mut self, _: PlanDraft) -> RunReport {
            RunReport::without_run(RunResult::Ok, None)
        }

        async fn close(self) -> Result<(), BoxError> {
            Ok(())
        }
    }

    impl Subjects for Fakes {
        type Subject = Fake;

        async fn subject(&self, assignment: &Assignment) -> Result<Fake, BoxError> {
            self.made.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            if assignment.task.name == "break" { Err("no browser".into()) } else { Ok(Fake) }
        }

        async fn distrust(&self, _: usize) {
            self.distrusted.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        }
    }

    #[tokio::test]
    async fn an_episode_has_one_result_whatever_its_agent_does() {
        let suites = [suite(&["solve", "admit", "lie", "hang", "break"])];
        let options = Options { seeds: 0..3, jobs: 4, limit: Duration::from_millis(300), ..Options::default() };
        let fakes = Fakes::new();
        let results = run(&fakes, &suites, &options, &Quiet).await.unwrap();
        let outcomes = |task: &str| -> Vec<Outcome> {
            let of = results.episodes.iter().filter(|result| result.task == task);
            of.map(|result| result.outcome).collect()
        };
        assert_eq!(outcomes("solve"), [Outcome::Solved; 3]);
        assert_eq!(outcomes("admit"), [Outcome::Failed; 3]);
        assert_eq!(outcomes("lie"), [Outcome::SilentlyWrong; 3]);
        assert_eq!((outcomes("hang"), outcomes("break")), (vec![Outcome::Broken; 3], vec![Outcome::Broken; 3]));
        let totals = results.summary().totals;
        assert_eq!((totals.episodes, totals.broken, totals.silent_wrong), (9, 6, 3));
        assert_eq!(fakes.distrusted.into_inner(), 12, "each attempt that broke");
    }

    #[tokio::test]
    async fn what_has_a_result_is_not_run_again_and_a_cut_off_line_is() {
        let (suites, out) = ([suite(&["solve", "admit"])], tempfile::tempdir().unwrap());
        let options = Options { seeds: 0..2, out: Some(out.path().to_owned()), ..Options::default() };
        let first = run(&Fakes::new(), &suites, &options, &Quiet).await.unwrap();
        let again = Fakes::new();
        let second = run(&again, &suites, &options, &Quiet).await.unwrap();
        assert_eq!((again.made(), &second.episodes), (0, &first.episodes));
        let path = out.path().join("episodes.jsonl");
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, &text[..text.len() - 10]).unwrap();
        let third = Fakes::new();
        let ended = run(&third, &suites, &options, &Quiet).await.unwrap();
        assert_eq!((third.made(), ended.episodes.len()), (1, 4));
        assert_eq!(EvalResults::read([out.path()]).unwrap().episodes.len(), 4);
    }

    #[tokio::test]
    async fn parts_have_every_episode_once() {
        let (suites, out) = ([suite(&["solve", "admit"])], tempfile::tempdir().unwrap());
        let mut folders = Vec::new();
        for part in 1..=3 {
            let folder = out.path().join(part.to_string());
            let options =
                Options { seeds: 0..20, shard: Some((part, 3)), out: Some(folder.clone()), ..Options::default() };
            run(&Fakes::new(), &suites, &options, &Quiet).await.unwrap();
            folders.push(folder);
        }
        let whole = EvalResults::read(folders.iter().map(PathBuf::as_path)).unwrap();
        assert_eq!(whole.episodes.len(), 40);
        folders.push(out.path().join("1"));
        assert!(EvalResults::read(folders.iter().map(PathBuf::as_path)).is_err(), "one part twice");
    }

    #[cfg(feature = "queue")]
    #[tokio::test]
    async fn machines_share_the_episodes_of_a_queue() {
        let (suites, folder) = ([suite(&["solve", "admit", "lie"])], tempfile::tempdir().unwrap());
        let url = url::Url::from_directory_path(folder.path()).unwrap();
        let options = || {
            let queue = crate::queue::Queue::open(&url, [], Duration::from_secs(60)).unwrap();
            Options { seeds: 0..10, jobs: 2, queue: Some(queue), ..Options::default() }
        };
        let machines = [Fakes::new(), Fakes::new(), Fakes::new()];
        let (first, second, third) = (options(), options(), options());
        let (first, second, third) = tokio::join!(
            run(&machines[0], &suites, &first, &Quiet),
            run(&machines[1], &suites, &second, &Quiet),
            run(&machines[2], &suites, &third, &Quiet),
        );
        let made: usize = machines.iter().map(Fakes::made).sum();
        assert_eq!(made, 30, "each episode was run once");
        for results in [first, second, third] {
            assert_eq!(results.unwrap().episodes.len(), 30);
        }
    }

    #[test]
    fn parts_are_disjoint_stable_and_alike_in_size() {
        let mut sizes = [0; 4];
        for seed in 0..1_000 {
            sizes[usize::try_from(part_of(&key(seed), 4)).unwrap() - 1] += 1;
        }
        assert!(sizes.iter().all(|size| (200..300).contains(size)), "{sizes:?}");
        assert_eq!(part_of(&key(0), 1), 1);
    }
}
