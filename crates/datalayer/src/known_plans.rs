//! Plans of earlier runs that worked, by the pages that they were for.
//!
//! Invariants:
//! - A plan counts only if its run succeeded and each of its steps did, at the first attempt, with an effect that was seen.
//!   One with a destructive step, or with a step that is not about the page's own controls, never does.
//! - A plan one of whose steps failed later, on the same controls for the same task, no longer counts until it works again.
//!   Of pages that are equally alike, the shortest plan comes first.
//! - What a page said cannot get in. The task is the operator's. A step keeps its verb and its target; a text that it
//!   enters, chooses or opens must be in the task; conditions, explanations and answers are left out.
//! - A plan is offered only on the origin that it ran on, on a page that is like the one that it was for, and only if each
//!   of its targets is found there. Its steps name the targets as that page's observation does.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::path::Path;
use std::sync::Arc;
use std::{fmt, fs, io};

use cuebook_grammar::action::{Action, OptionChoice};
use cuebook_grammar::candidate::Fingerprint;
use cuebook_grammar::effect::EffectClass;
use cuebook_grammar::id::{CandidateId, TargetRef};
use cuebook_grammar::observation::Observation;
use cuebook_grammar::record::{RecordedTarget, RunResult, StepOrigin, StepRecord, StepResult};
use cuebook_grammar::seam::{Exemplar, PlanMemory, Redactor};
use cuebook_grammar::secret::MASK;
use cuebook_grammar::step::Step;
use serde::{Deserialize, Serialize};

use crate::artifact::ArtifactStore;
use crate::embedding::{FUNCTION, sums_of_page};
use crate::error::{DataError, Doing};
use crate::lock::{FileLock, replace};
use crate::log::{Observations, Run};
use crate::replay::origin;
use crate::run_dir::RunDir;

/// Pages less alike than this are other pages. Those that have nothing in common are at about 0.
const ALIKE: f64 = 0.5;

/// The most plans that are kept: of more, those that were added last.
const MAX_PLANS: usize = 2_000;

/// The index of the plans in a folder of runs.
const INDEX: &str = "known-plans.json";
/// Its version, and that of what is remembered of a run: an index of another one is made anew.
const VERSION: u32 = 2;
/// The most runs that are indexed: the last by name.
const MAX_RUNS: usize = 5_000;

/// Plans of earlier runs that worked.
///
/// Memory: a few hundred bytes a step. A query costs a comparison of 64 bits for each plan of the origin, and the search
/// for the targets of those that are alike.
#[derive(Clone, Default)]
pub struct KnownPlans {
    plans: Vec<RememberedPlan>,
    redactor: Option<Arc<dyn Redactor>>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct RememberedPlan {
    origin: String,
    page: SimHash,
    task: String,
    steps: Vec<KnownStep>,
    /// The last of the steps failed: what it teaches is that plans that begin so do not work.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    failed: bool,
}

/// A step, and by what its targets are found again.
type KnownStep = (Step, Vec<(TargetRef, Fingerprint)>);

impl fmt::Debug for KnownPlans {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KnownPlans").field("plans", &self.plans).finish_non_exhaustive()
    }
}

impl KnownPlans {
    /// Offers no plan with a text that `redactor` would remove.
    #[must_use]
    pub fn with_redactor(mut self, redactor: Arc<dyn Redactor>) -> Self {
        self.redactor = Some(redactor);
        self
    }

    /// Adds the plans of a run that ended well, and takes out those of which a step failed in it. Runs are added in the order
    /// in which they ran. Blocks; costs one pass over the log, and reads the observation of each plan.
    ///
    /// # Errors
    /// [`DataError`] if the log or an observation cannot be read.
    pub fn add(&mut self, dir: &RunDir) -> Result<(), DataError> {
        self.add_all(remembered(&Run::read(&dir.log_path())?, dir)?);
        Ok(())
    }

    fn add_all(&mut self, plans: Vec<RememberedPlan>) {
        for plan in plans {
            self.plans.retain(|known| if plan.failed { !plan.refutes(known) } else { *known != plan });
            if !plan.failed {
                self.plans.push(plan);
            }
        }
        let surplus = self.plans.len().saturating_sub(MAX_PLANS);
        self.plans.drain(..surplus);
    }

    /// Adds the plans of the last 5,000 runs in a folder, or of the run whose folder it is, as [`Self::add`] does in the
    /// order of their names. Returns what cannot be read, each with its folder. An index, `known-plans.json` in the folder,
    /// remembers the plans of each run, so that a log is read once unless it grows; it is made anew if it is damaged, and
    /// nothing but time is lost where it cannot be written. Blocks; a process that updates the index is waited for.
    ///
    /// # Errors
    /// [`DataError`] if the folder cannot be read, or holds no run.
    pub fn add_indexed(&mut self, folder: &Path) -> Result<Vec<(RunDir, DataError)>, DataError> {
        let mut problems = Vec::new();
        let runs = RunDir::find(&[folder.to_owned()])?;
        if let [run] = runs.as_slice()
            && run.path() == folder
        {
            problems.extend(self.add(run).err().map(|error| (run.clone(), error)));
            return Ok(problems);
        }
        let path = folder.join(INDEX);
        // Without a lock, the index may be that of another process, and is whole.
        let lock = FileLock::wait(&path).ok();
        let mut index = Index::read(&path);
        let mut there = BTreeMap::new();
        let mut is_news = false;
        for run in runs.iter().rev().take(MAX_RUNS).rev() {
            let name = run.path().file_name().and_then(|name| name.to_str()).map(str::to_owned);
            let known = name.as_ref().and_then(|name| index.runs.remove(name)).filter(|known| known.is_current(run));
            let indexed = match known.map_or_else(|| Indexed::of(run).inspect(|_| is_news = true), Ok) {
                Ok(indexed) => indexed,
                Err(error) => {
                    problems.push((run.clone(), error));
                    continue;
                }
            };
            self.add_all(indexed.plans.clone());
            there.extend(name.map(|name| (name, indexed)));
        }
        // Runs that were removed leave the index.
        if is_news || !index.runs.is_empty() {
            Index { runs: there, ..index }.write(&path, lock.as_ref());
        }
        Ok(problems)
    }

    /// Removes the plans of runs that are gone from the index of a folder, if it has one.
    ///
    /// # Errors
    /// [`DataError::Io`] if the index cannot be written.
    pub fn forget_removed(folder: &Path) -> Result<(), DataError> {
        let path = folder.join(INDEX);
        if !path.is_file() {
            return Ok(());
        }
        let forget = || {
            let lock = FileLock::wait(&path)?;
            let mut index = Index::read(&path);
            index.runs.retain(|name, _| folder.join(name).is_dir());
            index.replace(&path, &lock)
        };
        forget().map_err(DataError::io(Doing::Write, &path))
    }

    /// Returns the number of known plans.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.plans.len()
    }

    /// Returns `true` if no plan is known.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.plans.is_empty()
    }

    /// Returns `true` if no part of the plan is a known secret at present. The texts of its steps are in its task.
    fn may_show(&self, known: &RememberedPlan) -> bool {
        self.redactor.as_ref().is_none_or(|redactor| redactor.redact(&known.task) == known.task)
    }
}

/// The plans of the runs in a folder, by the names of their folders.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Index {
    version: u32,
    /// The function of the pages' hashes.
    function: String,
    runs: BTreeMap<String, Indexed>,
}

/// A run as it was read.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Indexed {
    /// The length of its log.
    bytes: u64,
    plans: Vec<RememberedPlan>,
}

impl Index {
    /// Reads an index; an empty one if there is none that this version wrote.
    fn read(path: &Path) -> Self {
        let read = fs::read(path).ok().and_then(|text| serde_json::from_slice::<Self>(&text).ok());
        let new = || Self { version: VERSION, function: FUNCTION.to_owned(), runs: BTreeMap::new() };
        read.filter(|read| (read.version, read.function.as_str()) == (VERSION, FUNCTION)).unwrap_or_else(new)
    }

    /// Writes the index, if this process has its lock. It is there to save time: what cannot be written is read again.
    fn write(&self, path: &Path, lock: Option<&FileLock>) {
        let _ = lock.map(|lock| self.replace(path, lock));
    }

    fn replace(&self, path: &Path, _: &FileLock) -> io::Result<()> {
        replace(path, &serde_json::to_vec(self)?)
    }
}

impl Indexed {
    /// Reads a run. One that goes on has no plans yet, and a longer log later.
    fn of(run: &RunDir) -> Result<Self, DataError> {
        let bytes = bytes(run)?;
        Ok(Self { bytes, plans: remembered(&Run::read(&run.log_path())?, run)? })
    }

    /// `true` if the log, which only grows, has not changed since it was read.
    fn is_current(&self, run: &RunDir) -> bool {
        bytes(run).is_ok_and(|bytes| bytes == self.bytes)
    }
}

fn bytes(run: &RunDir) -> Result<u64, DataError> {
    let log = run.log_path();
    fs::metadata(&log).map(|file| file.len()).map_err(DataError::io(Doing::Read, &log))
}

/// The plans of a run that count: those that worked, if it ended well, and those of which a step failed.
fn remembered(run: &Run, dir: &RunDir) -> Result<Vec<RememberedPlan>, DataError> {
    let Some((end, task)) = run.end.as_ref().zip(run.header.as_ref().and_then(|header| header.task.as_deref())) else {
        return Ok(Vec::new());
    };
    let mut plans = Vec::new();
    let mut pages = Observations::new(&run.observations, ArtifactStore::new(dir, None));
    let planned: Vec<&StepRecord> = run.steps.iter().filter(|step| step.origin != StepOrigin::Start).collect();
    for records in planned.chunk_by(|step, next| continues(step, next)) {
        let was_mended =
            |place: u32| records.iter().any(|later| later.plan_index == Some(place) && later.result == StepResult::Ok);
        let has_failed =
            |record: &&StepRecord| record.result == StepResult::Failed && !record.plan_index.is_some_and(was_mended);
        let failing = records.iter().position(has_failed);
        let records = failing.and_then(|last| records.get(..=last)).unwrap_or(records);
        let failed = failing.is_some();
        let Some(steps) = steps(records, task).filter(|steps| !steps.is_empty()) else { continue };
        if !failed && end.result != RunResult::Ok {
            continue;
        }
        let page = records.iter().find_map(|step| step.observation).map(|id| pages.read(id)).transpose()?.flatten();
        if let Some((page, origin)) = page.and_then(|page| Some((SimHash::of(&page)?, origin(&page.url)?))) {
            plans.push(RememberedPlan { origin, page, task: task.to_owned(), steps, failed });
        }
    }
    Ok(plans)
}

impl PlanMemory for KnownPlans {
    type Error = Infallible;

    async fn nearest(&self, observation: &Observation, k: usize) -> Result<Vec<Exemplar>, Infallible> {
        let Some((page, origin)) = SimHash::of(observation).zip(origin(&observation.url)) else {
            return Ok(Vec::new());
        };
        let of_origin = self.plans.iter().rev().filter(|known| known.origin == origin);
        let mut alike: Vec<(&RememberedPlan, f64)> =
            of_origin.map(|known| (known, known.page.likeness(page))).collect();
        alike.retain(|(known, likeness)| *likeness >= ALIKE && self.may_show(known));
        // Stable: of plans that are equally short, the last run's comes first.
        alike.sort_by(|(plan, one), (rival, other)| {
            other.total_cmp(one).then_with(|| plan.steps.len().cmp(&rival.steps.len()))
        });
        let mut nearest: Vec<Exemplar> = Vec::new();
        for (known, likeness) in alike {
            let Some(steps) = known.on(observation) else { continue };
            if !nearest.iter().any(|other| other.task == known.task && other.steps == steps) {
                nearest.push(Exemplar { task: known.task.clone(), steps, likeness });
            }
            if nearest.len() >= k {
                break;
            }
        }
        Ok(nearest)
    }
}

impl RememberedPlan {
    /// Returns `true` if another plan begins with the steps of which the last failed.
    fn refutes(&self, known: &Self) -> bool {
        self.failed
            && (&self.origin, &self.task) == (&known.origin, &known.task)
            && known.steps.starts_with(&self.steps)
    }

    /// The steps with the ids of a page; `None` if it lacks a target, or has it twice.
    fn on(&self, page: &Observation) -> Option<Vec<Step>> {
        let on_page = |(step, targets): &KnownStep| {
            let found: Option<Vec<(&TargetRef, TargetRef)>> = targets
                .iter()
                .map(|(former, print)| Some((former, TargetRef::from(page.rebind(print).ok()?.id))))
                .collect();
            let found = found?;
            let mut step = step.clone();
            step.retarget(&|former| {
                found.iter().find(|(known, _)| *known == former).map_or_else(|| former.clone(), |(_, now)| now.clone())
            });
            Some(step)
        };
        self.steps.iter().map(on_page).collect()
    }
}

/// Returns `true` if `next` is a step of the plan that `step` is of.
fn continues(step: &StepRecord, next: &StepRecord) -> bool {
    step.planning == next.planning && step.plan_id == next.plan_id && step.plan_index <= next.plan_index
}

/// The steps of a plan without what a page may have said, their targets numbered by their order; `None` if the plan is not
/// to be remembered.
fn steps(records: &[&StepRecord], task: &str) -> Option<Vec<KnownStep>> {
    let mut steps = Vec::new();
    let mut numbers: Vec<TargetRef> = Vec::new();
    for record in records {
        let has_failed = record.result == StepResult::Failed;
        let is_planned = record.origin == StepOrigin::Plan && record.attempt <= 1;
        let has_worked = record.result == StepResult::Ok && !record.no_observed_effect;
        if !(is_planned && (has_worked || has_failed)) || record.effect_class == EffectClass::Destructive {
            return None;
        }
        let action = match of_task(&record.action.action, task) {
            Retain::Yes => record.action.action.clone(),
            Retain::LeftOut if !has_failed => continue,
            Retain::LeftOut | Retain::Plan => return None,
        };
        let print = |target: &TargetRef| match record.candidates.get(target)? {
            RecordedTarget::Observed(candidate) => Some((target.clone(), candidate.fingerprint.clone())),
            RecordedTarget::Declared(_) => None,
        };
        let targets: Option<Vec<_>> = action.targets().into_iter().map(print).collect();
        let mut targets = targets?;
        for (target, _) in &targets {
            if !numbers.contains(target) {
                numbers.push(target.clone());
            }
        }
        let numbered = |target: &TargetRef| {
            let numbered = numbers.iter().zip(1..).find(|(known, _)| *known == target);
            numbered.map_or_else(|| target.clone(), |(_, number)| TargetRef::from(CandidateId(number)))
        };
        let mut step = Step::from(action);
        step.retarget(&numbered);
        targets.iter_mut().for_each(|(target, _)| *target = numbered(target));
        steps.push((step, targets));
    }
    Some(steps)
}

/// Consequence of a step for the remembered plan that it belongs to.
enum Retain {
    /// The step is kept.
    Yes,
    /// It says nothing about how the task is done.
    LeftOut,
    /// The whole plan is dropped.
    Plan,
}

fn of_task(action: &Action, task: &str) -> Retain {
    let is_of_task = |text: &str| task.contains(text) && !text.contains(MASK);
    let is_kept = match action {
        Action::Click(_) | Action::Check(_) | Action::Uncheck(_) | Action::Clear(_) | Action::Hover(_) => true,
        Action::Focus(_) | Action::DragTo(_) | Action::LongPress(_) | Action::Press(_) | Action::GoBack(_) => true,
        Action::Type(_) | Action::SetValue(_) => match (action.text(), action.credential()) {
            (Some(text), _) => text.clear().is_some_and(is_of_task),
            (None, credential) => credential.is_some(),
        },
        Action::Select(select) => select.option.choices.iter().all(|choice| match choice {
            OptionChoice::Text(text) | OptionChoice::Value(text) | OptionChoice::Label(text) => {
                is_of_task(text.as_str())
            }
            OptionChoice::Index(_) => true,
            OptionChoice::Every(_) => false,
        }),
        Action::Navigate(navigate) => is_of_task(navigate.url.as_str()),
        Action::WaitFor(_) | Action::WaitForIdle(_) | Action::Scroll(_) | Action::Extract(_) => return Retain::LeftOut,
        Action::ScrollUntil(_) | Action::Snapshot(_) | Action::Screenshot(_) => return Retain::LeftOut,
        Action::GetDom(_) => return Retain::LeftOut,
        Action::SearchPage(_) | Action::FindElements(_) | Action::Assert(_) => return Retain::LeftOut,
        Action::Finish(_) => return Retain::LeftOut,
        _ => false,
    };
    if is_kept { Retain::Yes } else { Retain::Plan }
}

/// A hash of a page's controls of which most bits stay when few of them change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct SimHash(u64);

impl SimHash {
    /// The signs of the page's vector. `None` for a page without candidates.
    fn of(page: &Observation) -> Option<Self> {
        sums_of_page(page).map(|sums| Self(sums.signs()))
    }

    /// From 0, for pages that share no more bits than any two do, to 1.
    fn likeness(self, other: Self) -> f64 {
        let apart = f64::from((self.0 ^ other.0).count_ones());
        (1.0 - 2.0 * apart / f64::from(u64::BITS)).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use cuebook_grammar::id::RunId;
    use serde_json::{Value, json};

    use super::*;

    /// A run that clicked a button of a page and ended well, or as `result`.
    fn write_run(out: &Path, name: &str, button: &str, result: &str) -> RunDir {
        write_clicks(out, name, button, &["ok"], result)
    }

    /// A run that clicked a button several times, with the results of the clicks.
    fn write_clicks(out: &Path, name: &str, button: &str, clicks: &[&str], result: &str) -> RunDir {
        let dir = RunDir::create(out, &RunId::new(name)).unwrap();
        let mut page = page(&[button, "help"]);
        page.url = "https://shop.test/orders".to_owned();
        let content = serde_json::to_vec(&page).unwrap();
        let digest = sha256(&content);
        let path = format!("artifacts/{}/{digest}.json", digest.get(..2).unwrap());
        fs::create_dir_all(dir.path().join(&path).parent().unwrap()).unwrap();
        fs::write(dir.path().join(&path), &content).unwrap();
        let artifact = json!({ "kind": "observation", "sha256": digest, "mediaType": "application/json",
                               "bytes": content.len(), "path": path });
        let own = |mut entry: Value| {
            entry["schemaVersion"] = json!("1.0");
            entry["runId"] = json!(name);
            format!("{entry}\n")
        };
        let click = json!({ "type": "click", "targetRef": "c1" });
        let mut text = vec![
            own(
                json!({ "entry": "header", "tsMs": 1, "cuebook": "0", "command": "run", "task": format!("press {button}"),
                        "url": "https://shop.test/" }),
            ),
            own(json!({ "entry": "observed", "tsMs": 2, "observation": 1, "url": page.url, "content": artifact })),
        ];
        for (at, outcome) in clicks.iter().enumerate() {
            text.push(own(json!({ "entry": "begin", "stepIndex": at, "planIndex": at, "origin": "plan", "attempt": 1,
                                  "action": click, "tsMs": 3 })));
            text.push(own(
                json!({ "entry": "commit", "stepIndex": at, "planIndex": at, "origin": "plan", "attempt": 1,
                                  "action": click, "observation": 1, "url": page.url, "risk": "write",
                                  "candidates": { "c1": { "observed": page.candidates.first() } },
                                  "effectClass": "reversible", "execution": { "tsMs": 3, "durationMs": 4 },
                                  "result": outcome, "inputSent": true }),
            ));
        }
        text.push(format!("{}\n", json!({ "entry": "end", "runId": name, "tsMs": 9, "result": result })));
        fs::write(dir.log_path(), text.concat()).unwrap();
        dir
    }

    fn sha256(bytes: &[u8]) -> String {
        use sha2::{Digest as _, Sha256};
        Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// The plans by reading every run.
    fn scanned(out: &Path) -> Vec<RememberedPlan> {
        let mut known = KnownPlans::default();
        for dir in RunDir::find(&[out.to_owned()]).unwrap() {
            drop(known.add(&dir));
        }
        known.plans
    }

    fn indexed(out: &Path) -> (Vec<RememberedPlan>, usize) {
        let mut known = KnownPlans::default();
        let problems = known.add_indexed(out).unwrap();
        (known.plans, problems.len())
    }

    fn hours_ago(path: &Path) {
        let then = std::time::SystemTime::now() - std::time::Duration::from_secs(7_200);
        fs::File::options().write(true).open(path).unwrap().set_modified(then).unwrap();
    }

    #[test]
    fn the_index_knows_what_a_scan_of_all_runs_knows() {
        let out = tempfile::tempdir().unwrap();
        let out = out.path();
        for (name, button, result) in [("r1", "pay", "ok"), ("r2", "pay", "ok"), ("r3", "send", "failed")] {
            write_run(out, name, button, result);
        }
        fs::write(write_run(out, "r4", "x", "ok").log_path(), "{}\n").unwrap();
        let plans = scanned(out);
        assert_eq!(plans.len(), 1, "two runs of one plan are one");
        assert_eq!(indexed(out), (plans.clone(), 1), "made, and the damaged run is said");
        assert_eq!(indexed(out), (plans, 1), "read");

        // What was indexed is not read again, what is new is, and what has grown.
        let index = out.join(INDEX);
        let text = fs::read_to_string(&index).unwrap();
        fs::write(&index, text.replace("press pay", "press PAY")).unwrap();
        write_run(out, "r5", "send", "ok");
        let (plans, _) = indexed(out);
        assert_eq!(plans.iter().map(|plan| plan.task.as_str()).collect::<Vec<_>>(), ["press PAY", "press send"]);
        let log = out.join("r2/log.jsonl");
        fs::write(&log, format!("{}\n\n", fs::read_to_string(&log).unwrap().trim_end())).unwrap();
        let (plans, problems) = indexed(out);
        assert_eq!((plans.len(), problems), (2, 2), "r2 has a damaged line now, and has no plan");

        // Runs that are gone leave the index, at once where they are pruned.
        fs::remove_dir_all(out.join("r5")).unwrap();
        KnownPlans::forget_removed(out).unwrap();
        assert!(!fs::read_to_string(&index).unwrap().contains("press send"));
        fs::remove_dir_all(out.join("r1")).unwrap();
        assert_eq!(indexed(out).0, []);
        assert!(!fs::read_to_string(&index).unwrap().contains("PAY"));
    }

    #[tokio::test]
    async fn a_plan_that_fails_later_is_not_offered_and_a_shorter_one_comes_first() {
        let out = tempfile::tempdir().unwrap();
        let out = out.path();
        let mut shop = page(&["pay", "help"]);
        shop.url = "https://shop.test/orders".to_owned();
        let offered = async || {
            let mut known = KnownPlans::default();
            known.add_indexed(out).unwrap();
            let nearest = known.nearest(&shop, 5).await.unwrap();
            nearest.iter().map(|exemplar| exemplar.steps.len()).collect::<Vec<_>>()
        };
        write_clicks(out, "r1", "pay", &["ok"], "ok");
        write_clicks(out, "r2", "pay", &["ok", "ok", "ok"], "ok");
        assert_eq!(offered().await, [1, 3], "the shortest first, though the other is newer");
        write_clicks(out, "r3", "pay", &["ok", "failed"], "failed");
        assert_eq!(offered().await, [1], "its second step failed");
        write_clicks(out, "r4", "pay", &["failed"], "failed");
        assert!(offered().await.is_empty());
        write_clicks(out, "r5", "pay", &["ok", "ok"], "ok");
        assert_eq!(offered().await, [2], "what works again counts again");
        write_clicks(out, "r6", "pay", &["ok"], "failed");
        assert_eq!(offered().await, [2], "the steps worked; the run failed for another reason");
    }

    #[test]
    fn a_damaged_or_older_index_is_made_anew() {
        let out = tempfile::tempdir().unwrap();
        let out = out.path();
        write_run(out, "r1", "pay", "ok");
        let (plans, _) = indexed(out);
        let index = out.join(INDEX);
        let whole = fs::read_to_string(&index).unwrap();
        let damaged = [
            String::new(),
            whole.get(..whole.len() / 2).unwrap().to_owned(),
            whole.replace("\"version\":2", "\"version\":1").replace("press pay", "press PAY"),
            whole.replace(FUNCTION, "other").replace("press pay", "press PAY"),
        ];
        for text in damaged {
            fs::write(&index, &text).unwrap();
            assert_eq!(indexed(out).0, plans, "{text}");
            assert_eq!(fs::read_to_string(&index).unwrap(), whole, "{text}");
        }
        hours_ago(&index);
        let before = fs::metadata(&index).unwrap().modified().unwrap();
        indexed(out);
        assert_eq!(fs::metadata(&index).unwrap().modified().unwrap(), before, "without news it is not written");
        assert_eq!(indexed(&out.join("r1")).0, plans, "one run needs no index");
        assert!(!out.join("r1").join(INDEX).exists());
    }

    #[test]
    fn processes_that_index_at_once_lose_nothing() {
        let out = tempfile::tempdir().unwrap();
        let out = out.path();
        write_run(out, "r00", "b", "ok");
        std::thread::scope(|scope| {
            for thread in 0..4_u8 {
                scope.spawn(move || {
                    for run in 0..5_u8 {
                        let letter = char::from(b'c' + thread * 5 + run);
                        write_run(out, &format!("r{}", 10 + thread * 5 + run), &letter.to_string(), "ok");
                        // Another thread may be writing a run meanwhile, whose page is not there yet.
                        indexed(out);
                    }
                });
            }
        });
        assert_eq!(indexed(out), (scanned(out), 0));
        let index = Index::read(&out.join(INDEX));
        assert_eq!(index.runs.len(), 21);
        assert!(!out.join("known-plans.part").exists());
    }

    fn page(names: &[&str]) -> Observation {
        cuebook_grammar::sample::page(&names.iter().map(|name| format!("button \"{name}\"\n")).collect::<String>())
    }

    #[test]
    fn pages_are_alike_if_most_of_their_controls_are() {
        let names: Vec<String> = (b'a'..=b'z').map(|letter| format!("{} order 7", char::from(letter))).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let hash = |names: &[&str]| SimHash::of(&page(names)).unwrap();
        let whole = hash(&names);
        let (most, other) = (hash(names.get(2..).unwrap()), hash(&["search", "home", "help", "terms", "sign in"]));
        assert!(whole.likeness(most) >= ALIKE, "{}", whole.likeness(most));
        assert!(whole.likeness(other) < ALIKE, "{}", whole.likeness(other));
        let later: Vec<String> = names.iter().map(|name| name.replace('7', "4711")).collect();
        assert_eq!(whole, hash(&later.iter().map(String::as_str).collect::<Vec<_>>()));
        assert_eq!(SimHash::of(&page(&[])), None);
    }
}
