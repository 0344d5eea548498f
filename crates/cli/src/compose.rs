//! From flags to an agent of the facade, and its run.
//!
//! Order matters: what can be rejected without a browser is rejected before one is started, and the directory of the log
//! exists before anything can act.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use cuebook::egress::reach;
use cuebook::secrets::Secrets;
use cuebook::{Agent, SETTLING, Tab, fresh, upload_roots};
use cuebook_datalayer::replay::Recording;
use cuebook_datalayer::traffic::FixtureRules;
use cuebook_datalayer::{ArtifactStore, JsonlLog, KnownPlans, RunDir, StepClock, ValueRedactor};
use cuebook_executor::{ExecutorOptions, ScreenshotMode};
use cuebook_grammar::id::{PageId, RunId};
use cuebook_grammar::observation::Observation;
use cuebook_grammar::plan::PlanDraft;
use cuebook_grammar::policy::Policy;
use cuebook_grammar::record::CaseRun;
use cuebook_grammar::report::{ErrorCode, RunError, RunReport, RunResult};
use cuebook_grammar::secret::DigestKey;
use cuebook_page_modeler::ModelerOptions;
use cuebook_planner::Remembering;
use cuebook_repair::{Budgets, Interrupt, NoPlanner, Recall, RunRequest, Rung, Sight, Work};
use cuebook_view::Questions;
use url::Url;

use crate::args::{EngineArgs, RunOptions, SessionOptions, WatchArgs};
use crate::browser::{close_tab, open_contained};
use crate::confirm::Terminal;
use crate::downloads;
use crate::exit::{Exit, Output, Refusal, print_json, print_text};
use crate::explain::Explainer;
use crate::ground;
use crate::interrupt::interrupt_on_signals;
use crate::kept::KeptBrowser;
use crate::new_file::NewFile;
use crate::planner::AnyPlanner;
use crate::progress::{self, Narrator};
use crate::results;
use crate::text::{plain, plain_lines, with_sources};
use crate::traffic::{self, Offline, Tapped, Traffic};
use crate::wait_for::WaitFor;
use crate::watch;

fn run_budgets(options: &RunOptions) -> Budgets {
    let budgets = budgets(&options.session);
    if options.no_repair { Budgets { repairs_per_step: 0, repairs_per_run: 0, ..budgets } } else { budgets }
}

pub(crate) fn budgets(options: &SessionOptions) -> Budgets {
    let mut budgets = Budgets::default();
    if let Some(timeout) = options.timeout {
        budgets.step = timeout;
        budgets.step_limit = timeout;
        budgets.observation = budgets.observation.min(timeout);
    }
    budgets
}

fn executor_options(options: &RunOptions, policy: &Policy) -> ExecutorOptions {
    let screenshots = if options.record { ScreenshotMode::Every } else { ScreenshotMode::FirstFailurePageChange };
    let download_dir = options.session.browser.downloads.clone();
    ExecutorOptions { screenshots, upload_roots: upload_roots(policy), download_dir, ..ExecutorOptions::default() }
}

/// A planner sees a settled page, and so does a plan that was written for one; the other steps of a plan wait for their own conditions.
fn modeler_options(work: &Work, is_observed: bool) -> ModelerOptions {
    match work {
        Work::Task(_) => ModelerOptions { settling: SETTLING, ..ModelerOptions::default() },
        Work::Plan(_) if is_observed => ModelerOptions { settling: SETTLING, ..ModelerOptions::default() },
        Work::Plan(_) | Work::Replay(_) | Work::Session => ModelerOptions::default(),
    }
}

/// A key for the digests of one run.
pub(crate) fn digest_key() -> Result<DigestKey, Refusal> {
    fresh::digest_key().map_err(Refusal::no_randomness)
}

/// Creates the directory of a new run.
pub(crate) fn run_dir(options: &RunOptions) -> Result<(RunDir, RunId), Refusal> {
    let run_id = fresh::run_id().map_err(Refusal::no_randomness)?;
    let dir = RunDir::create(&options.session.out, &run_id)
        .map_err(|error| Refusal::invalid(ErrorCode::LogUnavailable, with_sources(&error)))?;
    Ok((dir, run_id))
}

/// The secrets of the flags and of the environment, for a run that starts on `start`.
pub(crate) fn secrets(options: &SessionOptions, start: Option<&str>) -> Result<Secrets, Refusal> {
    secrets_in(options.secrets.as_deref(), start)
}

/// The secrets of a file and of the environment, for a page at `start`.
pub(crate) fn secrets_in(file: Option<&Path>, start: Option<&str>) -> Result<Secrets, Refusal> {
    let secrets = Secrets::on(start.and_then(origin));
    match file {
        Some(path) => secrets.with_file(path).map_err(|error| {
            Refusal::invalid(ErrorCode::Unreadable, format!("--secrets: {}", plain(&with_sources(&error))))
        }),
        None => Ok(secrets),
    }
}

/// `https://shop.test`; of an address without a host there is none.
fn origin(url: &str) -> Option<String> {
    Url::parse(url)
        .ok()
        .map(|url| url.origin())
        .filter(url::Origin::is_tuple)
        .map(|origin| origin.ascii_serialization())
}

/// Failed steps of one run that a planner may mend. The switch is the one for new plans.
pub(crate) fn planned_repairs(options: &RunOptions) -> u32 {
    let may_plan = options.repair_rungs.as_ref().is_none_or(|rungs| rungs.allow(Rung::Replan));
    if may_plan && !options.no_repair { 5 } else { 0 }
}

/// Calls of a model in one run with --fill-by-model.
pub(crate) const FILLS: u32 = 20;

/// A run, before the flags of [`RunOptions`].
pub(crate) struct Job {
    pub(crate) work: Work,
    pub(crate) planner: AnyPlanner,
    pub(crate) secrets: Secrets,
    /// The page to start on.
    pub(crate) url: Option<String>,
    /// The observation whose ids the plan names.
    pub(crate) observed: Option<Box<Observation>>,
    /// Failed steps that the planner may mend.
    pub(crate) planned_repairs: u32,
    /// Calls of the planner's model for what an `extract` by a schema leaves open.
    pub(crate) fills: u32,
    /// Time limit of one plan. `None` for that of the controller.
    pub(crate) plan_timeout: Option<Duration>,
    /// `true` if each plan is explained.
    pub(crate) explain: bool,
    /// Form in which the planner gets a page.
    pub(crate) sight: Sight,
    /// Condition to wait for on the page to start on.
    pub(crate) wait_for: Option<WaitFor>,
    /// Known facts about the targets of a recorded plan.
    pub(crate) recall: Recall,
    /// Plans of earlier runs, for the planner.
    pub(crate) known_plans: KnownPlans,
    /// The run whose recorded traffic answers every request.
    pub(crate) fixtures: Option<(RunDir, FixtureRules)>,
    /// The name of the file of its plan.
    pub(crate) plan: Option<String>,
    /// The test case that it is a part of.
    pub(crate) case: Option<CaseRun>,
    /// The page that shows it while it goes on, if one is asked for.
    pub(crate) watch: Option<WatchArgs>,
}

impl Job {
    fn of(work: Work, planner: AnyPlanner, secrets: Secrets, url: Option<String>) -> Self {
        Self {
            work,
            planner,
            secrets,
            url,
            observed: None,
            planned_repairs: 0,
            fills: 0,
            plan_timeout: None,
            explain: false,
            sight: Sight::Words,
            wait_for: None,
            recall: Recall::default(),
            known_plans: KnownPlans::default(),
            fixtures: None,
            plan: None,
            case: None,
            watch: None,
        }
    }

    /// A plan, which needs no planner.
    pub(crate) fn plan(draft: PlanDraft, secrets: Secrets, url: Option<String>) -> Self {
        Self::of(Work::Plan(Box::new(draft)), AnyPlanner::plain(NoPlanner), secrets, url)
    }

    /// A task in words.
    pub(crate) fn task(task: String, planner: AnyPlanner, secrets: Secrets, url: String, engine: &EngineArgs) -> Self {
        Self {
            plan_timeout: Some(engine.plan_timeout),
            sight: engine.sight(),
            ..Self::of(Work::Task(task), planner, secrets, Some(url))
        }
    }

    /// A recorded plan, with the fingerprints and locators by which its targets are found again.
    pub(crate) fn replay(recording: &Recording, secrets: Secrets) -> Self {
        let known = recording.targets.clone().into_iter();
        Self {
            work: Work::Replay(Box::new(recording.plan.clone())),
            recall: known.fold(Recall::default(), |recall, (target, former)| {
                let place = former.place(recording.plan.candidates.get(&target));
                recall.knowing(target, former.fingerprint, former.locators, place)
            }),
            ..Self::plan(recording.plan.clone(), secrets, recording.url.clone())
        }
    }
}

/// A run that ended.
pub(crate) struct FinishedRun {
    pub(crate) report: RunReport,
    pub(crate) dir: RunDir,
    /// The tab in which it ended.
    pub(crate) page: PageId,
    /// Requests of a replay without a network; `None` for other runs.
    pub(crate) offline: Option<Offline>,
}

/// Runs a task or a plan, and prints the report.
pub(crate) async fn run(job: Job, options: &RunOptions, output: Output) -> Exit {
    // What a planner reads is on its way to an answer; what a plan reads is what it was written for.
    let is_given = matches!(job.work, Work::Plan(_));
    match drive(job, options, output, None).await {
        Ok(ended) => {
            if is_given && !output.json {
                print_text(&results::in_words(&ended.report.steps, ended.dir.path()));
            }
            if let Some(offline) = ended.offline.as_ref().filter(|_| !output.quiet) {
                progress::say(offline.in_words().trim_end());
            }
            print(&ended.report, output)
        }
        Err(refusal) => refusal.print(output),
    }
}

/// Runs a task or a plan in a browser that is opened for it, or in a new context of one that is kept.
pub(crate) async fn drive(
    job: Job,
    options: &RunOptions,
    output: Output,
    kept: Option<&KeptBrowser>,
) -> Result<FinishedRun, Refusal> {
    let policy = ground::policy(&options.session.policy, &options.session.grant, job.url.as_deref())?;
    // Before anything is made that would have to be removed.
    let interrupt = Interrupt::default();
    tokio::spawn(interrupt_on_signals(interrupt.clone()));
    let ready = Ready::new(options)?;
    let mut options = options.clone();
    options.session.browser.downloads = std::path::absolute(ready.dir.path().join("downloads")).ok();
    let questions = job.watch.as_ref().map(|_| Questions::default());
    let view = match job.watch.as_ref().zip(questions.clone()) {
        Some((flags, questions)) => Some(watch::open(&ready.dir, flags, questions).await?),
        None => None,
    };
    options.record |= view.is_some();
    let volatile = ground::volatile([policy.volatile()])?;
    let with_rules =
        |(dir, rules): &'_ (RunDir, FixtureRules)| (dir.clone(), FixtureRules { volatile, ..rules.clone() });
    let fixtures = job.fixtures.as_ref().map(with_rules);
    let fixtures = fixtures.as_ref().map(|(dir, rules)| (dir, rules.clone()));
    let traffic = Traffic::new(&mut options, fixtures, &ready.dir, ready.redactor.clone(), ready.clock())?;
    let reach = reach(&policy, &job.work);
    let tab = match kept {
        Some(browser) => browser.open(&options.session, reach).await?,
        None => open_contained(&options.session, reach).await?,
    };
    let drifter = traffic::drift(&options, &tab).await;
    let ended = match (traffic.begin(&tab).await, drifter) {
        (Ok(running), Ok(_drifter)) => {
            let page = tab.page.clone();
            let ended = perform(job, ready, &tab, page, policy, interrupt, &options, output, questions).await;
            let offline = running.end(output.quiet).await;
            ended.map(|ended| FinishedRun { offline, ..ended })
        }
        (Err(refusal), _) | (_, Err(refusal)) => Err(refusal),
    };
    match kept {
        Some(browser) => browser.close_tab(tab).await,
        None => close_tab(tab).await,
    }
    if let Some(view) = view {
        view.end().await;
    }
    ended
}

/// The log of a run that has not begun: it exists before a browser is started.
pub(crate) struct Ready {
    dir: RunDir,
    run_id: RunId,
    digest: DigestKey,
    redactor: Arc<ValueRedactor>,
    log: JsonlLog,
}

impl Ready {
    pub(crate) fn run_id(&self) -> &RunId {
        &self.run_id
    }

    pub(crate) fn dir(&self) -> &RunDir {
        &self.dir
    }

    pub(crate) fn redactor(&self) -> Arc<ValueRedactor> {
        self.redactor.clone()
    }

    pub(crate) fn clock(&self) -> StepClock {
        self.log.clock()
    }

    pub(crate) fn new(options: &RunOptions) -> Result<Self, Refusal> {
        // Where the run is to leave something, it can.
        if let Some(path) = &options.save_storage {
            NewFile::at(path, true, "")?;
        }
        if let Some(into) = &options.downloads {
            std::fs::create_dir_all(into).map_err(|error| {
                let shown = plain(&into.display().to_string());
                Refusal::unusable(ErrorCode::CannotWrite, format!("{shown}: {error}"))
            })?;
            NewFile::at(&into.join("download"), true, "")?;
        }
        let (dir, run_id) = run_dir(options)?;
        let digest = digest_key()?;
        let redactor = Arc::new(ValueRedactor::default());
        let log = JsonlLog::create(&dir, Some(redactor.clone()))
            .map_err(|error| Refusal::invalid(ErrorCode::LogUnavailable, with_sources(&error)))?;
        Ok(Self { dir, run_id, digest, redactor, log })
    }
}

/// Runs a task or a plan in an open tab, which stays open, and writes the report.
#[expect(clippy::too_many_arguments, reason = "the parts of a run; each caller has all of them at hand")]
pub(crate) async fn perform(
    job: Job,
    ready: Ready,
    tab: &Tab,
    page: PageId,
    policy: Policy,
    interrupt: Interrupt,
    options: &RunOptions,
    output: Output,
    questions: Option<Questions>,
) -> Result<FinishedRun, Refusal> {
    let Job {
        work,
        planner,
        secrets,
        url,
        observed,
        planned_repairs,
        fills,
        plan_timeout,
        explain,
        sight,
        wait_for,
        recall,
        known_plans,
        fixtures: _,
        plan,
        case,
        watch: _,
    } = job;
    let Ready { dir, run_id, digest, redactor, log } = ready;
    // Who hands over a tab names its page as others do by --url.
    let handed_over = options.session.browser.tab.as_ref().and_then(|_| origin(&tab.url()?));
    let secrets = match handed_over {
        Some(origin) => secrets.or_on(origin),
        None => secrets,
    };
    let policy = secrets.bind(policy);
    let mut budgets = Budgets { planned_repairs, fills, ..run_budgets(options) };
    if let Some(time) = plan_timeout {
        budgets.planning = time;
    }
    let mut builder = Agent::builder()
        .browser(tab.clone())
        .digest(digest.clone())
        .redactor(redactor.clone())
        .budgets(budgets)
        .sight(sight)
        .interrupt(interrupt)
        .modeler_options(modeler_options(&work, observed.is_some()))
        .executor_options(executor_options(options, &policy))
        .policy(policy)
        .planner(Remembering::new(planner, known_plans.with_redactor(redactor.clone())))
        .repair(recall.with(options.repair_rungs.clone().unwrap_or_default()))
        .artifacts(ArtifactStore::new(&dir, Some(redactor.clone())))
        .log(log)
        .secrets(secrets);
    if let Some(storage) = &options.session.storage {
        builder = builder.storage(storage);
    }
    let terminal = Terminal::new(output.json);
    builder = match questions {
        Some(page) => builder.confirm(page.beside(terminal)),
        None => builder.confirm(terminal),
    };
    builder = match (!output.quiet).then_some(Narrator) {
        narrator if explain => builder.listener(Explainer::new(narrator, digest)),
        Some(narrator) => builder.listener(narrator),
        None => builder,
    };
    let _tapped = Tapped::begin(options, &dir, tab, redactor.clone())?;
    let mut agent =
        builder.build().await.map_err(|error| Refusal::unusable(ErrorCode::NoBrowser, with_sources(&error)))?;
    let request = RunRequest {
        run_dir: Some(dir.path().display().to_string()),
        observed,
        start_url: url,
        opening: wait_for.map(|WaitFor(draft)| draft),
        sight,
        plan_file: plan,
        case,
        ..RunRequest::new(run_id, work, page, agent.policy().clone())
    };
    let mut report = agent.carry_out(request).await;
    let page = agent.page().clone();
    let mut lost = None;
    // A good state is never replaced by that of a login which failed.
    if let Some(path) = options.save_storage.as_ref().filter(|_| report.result == RunResult::Ok)
        && let Err(error) = agent.save_storage(path).await
    {
        lost = Some(format!("the storage cannot be saved: {}", plain(&with_sources(&error))));
    }
    if let Some(into) = &options.downloads
        && let Err(error) = downloads::copy(&report, dir.path(), into)
    {
        lost = Some(format!("a download cannot be copied to {}: {error}", plain(&into.display().to_string())));
    }
    match lost {
        Some(lost) if report.result == RunResult::Ok => {
            report.result = RunResult::Error;
            report.error = Some(RunError::new(ErrorCode::CannotWrite, lost));
        }
        Some(lost) => progress::say(&format!("note: {lost}")),
        None => {}
    }
    drop(agent);
    if let Some(egress) = tab.egress().filter(|_| !output.quiet) {
        progress::say_denied(&egress.decisions().take());
    }
    if let Err(error) = cuebook_datalayer::write_report(&dir, &report, Some(redactor.as_ref())) {
        progress::say(&format!("note: the report cannot be written: {}", with_sources(&error)));
    }
    Ok(FinishedRun { report, dir, page, offline: None })
}

/// Prints the report: the document with `--json`, else the answer and how the run ended.
fn print(report: &RunReport, output: Output) -> Exit {
    if output.json {
        print_json(report);
    } else if let Some(answer) = &report.answer {
        print_text(&format!("{}\n", plain_lines(answer)));
    }
    conclude(report, output);
    Exit::of(report.result)
}

/// Says how the run ended.
pub(crate) fn conclude(report: &RunReport, output: Output) {
    if !output.quiet {
        progress::say(&conclusion(report));
        report.late.in_words().for_each(|line| progress::say(&format!("after the last step: {}", plain(&line))));
        // The only one is the message; those of a planner were printed when its plan was rejected.
        let is_listed = |all: &&Vec<_>| all.len() > 1 && report.result != RunResult::Failed;
        let violations = report.error.iter().map(|error| &error.violations).filter(is_listed);
        progress::say_violations(violations.flatten());
        if let Some(dir) = &report.run_dir {
            progress::say(&format!("log: {dir}"));
        }
    }
}

/// How the run ended. A message that the line of the last step already stated is not repeated.
fn conclusion(report: &RunReport) -> String {
    let result = match report.result {
        RunResult::Ok => "done",
        RunResult::Failed => "failed",
        RunResult::Blocked => "blocked",
        RunResult::Invalid => "invalid",
        RunResult::Error => "error",
        RunResult::Unproven => "unproven",
        RunResult::Interrupted => "interrupted",
    };
    let Some(error) = &report.error else { return result.to_owned() };
    let last = report.steps.last();
    match last.filter(|step| step.failure.as_ref().is_some_and(|failure| failure.message == error.message)) {
        Some(step) => match step.plan_index {
            Some(index) => format!("{result}: {} in step {}", error.code, index + 1),
            None => format!("{result}: {}", error.code),
        },
        None => format!("{result}: {}", error.message),
    }
}

#[cfg(test)]
mod tests {
    use cuebook_grammar::report::REPORT_VERSION;
    use serde_json::json;

    use super::*;

    fn failed(error: &str, step: &str) -> String {
        let failure = json!({ "stage": "postcondition", "cause": "postconditionFailed", "message": step });
        let step = json!({
            "index": 1, "planIndex": 0, "origin": "plan", "action": { "type": "reload" }, "result": "failed",
            "failure": failure, "data": null, "post": [], "effects": null, "repairs": 0, "durationMs": 5,
        });
        let error = json!({ "code": "postconditionFailed", "message": error });
        let report = json!({
            "schemaVersion": REPORT_VERSION, "runId": "r", "runDir": null, "result": "failed", "error": error,
            "steps": [step], "usage": {}, "enforcement": "navigation",
        });
        conclusion(&serde_json::from_value(report).unwrap())
    }

    #[test]
    fn the_message_of_the_last_step_is_not_printed_again() {
        let alert = "the URL did not change; an alert says \"wrong password\"";
        assert_eq!(failed(alert, alert), "failed: postconditionFailed in step 1");
        assert_eq!(failed("no plan is left", alert), "failed: no plan is left");
    }
}
