//! `cuebook test`: the cases of a suite, recorded first and replayed from then on.
//!
//! Invariants:
//! - What is wrong with the suite, a plan or a recording is refused before a browser is started.
//! - Every browser is closed, however a case ends.
//! - No one is asked for consent: what needs it is denied unless a plan or a flag grants it.

use std::fs;
use std::path::Path;
use std::time::Instant;

use cuebook::Tab;
use cuebook_datalayer::Run;
use cuebook_datalayer::replay::{Likeness, Recording, compare};
use cuebook_grammar::action::{Action, WaitFor};
use cuebook_grammar::condition::Condition;
use cuebook_grammar::id::PageId;
use cuebook_grammar::observation::Observation;
use cuebook_grammar::plan::{Author, PlanDraft};
use cuebook_grammar::policy::Policy;
use cuebook_grammar::report::{ErrorCode, RunError, RunReport, RunResult};
use cuebook_grammar::step::Step;
use cuebook_grammar::wire::Millis;
use cuebook_repair::Interrupt;

use crate::args::{RunOptions, TestArgs};
use crate::browser::{close_tab, fit_viewport, open_contained};
use crate::commands::replay::divergence_in_words;
use crate::compose::{self, Job, Ready, perform};
use crate::engines;
use crate::exit::{Exit, Output, Refusal, print_json, print_text};
use crate::ground;
use crate::input;
use crate::interrupt::interrupt_on_signals;
use crate::suite::{Case, CaseResult, Context, How, Recordings, Results, Status, Suite, junit};
use crate::text::{plain, with_sources};

/// Time for an expectation to come true.
const EXPECTATION: u32 = 5_000;

/// No one watches a run of a suite, and no one is asked.
const ALONE: Output = Output { json: true, quiet: true };

pub(crate) async fn run(args: TestArgs, output: Output) -> Exit {
    match Box::pin(tested(args, output)).await {
        Ok(exit) => exit,
        Err(refusal) => refusal.print(output),
    }
}

/// Where the steps of a case come from.
enum Script {
    Recorded(Box<Recording>),
    Given(Box<PlanDraft>),
    Planned,
}

/// A case that may run.
struct Ripe<'a> {
    case: &'a Case,
    script: Script,
    policy: Policy,
    expectations: PlanDraft,
}

async fn tested(args: TestArgs, output: Output) -> Result<Exit, Refusal> {
    let suite = Suite::read(&args.suite, args.url.as_deref())?;
    let recordings = Recordings::beside(&args.suite);
    let is_chosen = |case: &&Case| {
        args.filter.as_ref().is_none_or(|text| case.name.contains(text))
            && args.shard.is_none_or(|(part, of)| case.shard(of) == part)
    };
    let cases: Result<Vec<Ripe<'_>>, Refusal> =
        suite.cases.iter().filter(is_chosen).map(|case| ripe(case, &recordings, &args.options)).collect();
    let cases = cases?;
    if cases.is_empty() && args.shard.is_none() {
        let filter = args.filter.as_deref().unwrap_or_default();
        return Err(Refusal::invalid(ErrorCode::Usage, format!("no case has {filter:?} in its name")));
    }
    let interrupt = Interrupt::default();
    tokio::spawn(interrupt_on_signals(interrupt.clone()));
    let name = args.suite.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
    let mut stage = Stage { args: &args, recordings, interrupt, shared: None };
    let mut results = Results::of(name);
    let mut stopped = None;
    for ripe in &cases {
        let began = Instant::now();
        let mut result = CaseResult::of(ripe.case);
        let end = Box::pin(stage.run(ripe, &mut result)).await;
        result.took(began.elapsed());
        match end {
            Ok(()) => {
                if !output.json {
                    print_text(&in_words(&result));
                }
                results.add(result);
            }
            Err(refusal) => {
                stopped = Some(refusal);
                break;
            }
        }
    }
    if let Some(tab) = stage.shared.take() {
        close_tab(tab).await;
    }
    if let Some(path) = &args.junit {
        write_junit(path, &results)?;
    }
    if let Some(refusal) = stopped {
        return Err(refusal);
    }
    if output.json {
        print_json(&results);
    } else {
        print_text(&format!("{}\n", results.in_words()));
    }
    Ok(if results.counts.failed == 0 { Exit::OK } else { Exit::FAILED })
}

/// Refuses what can be refused without a browser.
fn ripe<'a>(case: &'a Case, recordings: &Recordings, options: &RunOptions) -> Result<Ripe<'a>, Refusal> {
    let of_case = |mut refusal: Refusal| {
        refusal.error.message = format!("case {:?}: {}", case.name, refusal.error.message);
        refusal
    };
    let prepare = || {
        let policy = ground::policy(&options.policy, &options.grant, Some(&case.url))?;
        compose::secrets(options, Some(&case.url))?;
        let expectations = expectations(case);
        let blank = Observation::blank(PageId::new("none"), &case.url);
        expectations.check(&blank, &policy)?;
        let given = match &case.plan {
            Some(path) => {
                let draft = input::plan(path, Author::Operator)?;
                draft.without_observation()?;
                Some(draft)
            }
            None => None,
        };
        let script = match (recordings.read(case)?, given) {
            (Some(recording), _) => Script::Recorded(Box::new(recording)),
            (None, Some(draft)) => Script::Given(Box::new(draft)),
            (None, None) => Script::Planned,
        };
        Ok(Ripe { case, script, policy, expectations })
    };
    prepare().map_err(of_case)
}

fn expectations(case: &Case) -> PlanDraft {
    let judged = |condition: &Condition| {
        let mut step = Step::from(Action::WaitFor(WaitFor { condition: condition.clone() }));
        step.timeout_ms = Some(Millis::clamped(EXPECTATION));
        step
    };
    let steps = case.expect.iter().map(judged).collect();
    PlanDraft { candidates: case.candidates.clone(), ..PlanDraft::of(Author::Operator, steps) }
}

/// What the cases of a suite run on.
struct Stage<'a> {
    args: &'a TestArgs,
    recordings: Recordings,
    interrupt: Interrupt,
    /// The browser of the shared cases.
    shared: Option<Tab>,
}

impl Stage<'_> {
    /// Runs a case until it passes or its attempts are used up. An error ends the suite.
    async fn run(&mut self, ripe: &Ripe<'_>, result: &mut CaseResult) -> Result<(), Refusal> {
        for _ in 0..=self.args.retries {
            result.attempts += 1;
            let tab = match self.shared.take() {
                Some(tab) if ripe.case.context == Context::Shared => tab,
                kept => {
                    self.shared = kept;
                    self.open(ripe).await?
                }
            };
            let ended = Box::pin(self.attempt(ripe, &tab, result)).await;
            let is_sound = matches!(&ended, Ok(None)) || matches!(&ended, Ok(Some(failed)) if failed.is_of_the_page);
            if ripe.case.context == Context::Shared && is_sound {
                self.shared = Some(tab);
            } else {
                close_tab(tab).await;
            }
            match ended? {
                None => {
                    result.pass();
                    return Ok(());
                }
                Some(failed) => result.failures.push(failed.error),
            }
        }
        Ok(())
    }

    async fn open(&self, ripe: &Ripe<'_>) -> Result<Tab, Refusal> {
        let mut options = self.args.options.clone();
        match &ripe.script {
            Script::Recorded(recording) => fit_viewport(&mut options.browser, &recording.plan),
            Script::Given(draft) => fit_viewport(&mut options.browser, draft),
            Script::Planned => {}
        }
        open_contained(&options, ripe.policy.clone()).await
    }

    /// Runs the steps of a case, then judges what it expects. `None` if it passed.
    async fn attempt(&self, ripe: &Ripe<'_>, tab: &Tab, result: &mut CaseResult) -> Result<Option<Failed>, Refusal> {
        let job = self.job(ripe, result).await?;
        let (report, page) = self.perform(job, ripe, tab, tab.page.clone(), &self.args.options, result).await?;
        if let Some(failed) = failed(report)? {
            return Ok(Some(failed));
        }
        let options = RunOptions { no_repair: true, ..self.args.options.clone() };
        let secrets = compose::secrets(&options, Some(&ripe.case.url))?;
        let job = Job::plan(ripe.expectations.clone(), secrets, None);
        let steps = result.runs.last().cloned();
        let (report, _) = self.perform(job, ripe, tab, page, &options, result).await?;
        if let Some(failed) = failed(report)? {
            return Ok(Some(failed));
        }
        match steps {
            Some(run) => self.keep(ripe, &run, result),
            None => Ok(None),
        }
    }

    async fn job(&self, ripe: &Ripe<'_>, result: &mut CaseResult) -> Result<Job, Refusal> {
        let case = ripe.case;
        let secrets = compose::secrets(&self.args.options, Some(&case.url))?;
        Ok(match &ripe.script {
            Script::Recorded(recording) => {
                result.how = How::Replayed;
                Job::replay(recording, secrets)
            }
            Script::Given(draft) => {
                result.how = How::Given;
                Job::plan((**draft).clone(), secrets, Some(case.url.clone()))
            }
            Script::Planned => {
                result.how = How::Planned;
                let engine = &self.args.engine;
                let output = Output { json: false, quiet: true };
                let planner = engines::planner(&self.args.planner, None, engine, secrets.names(), output).await?;
                Job::task(case.narrative.clone(), planner, secrets, case.url.clone(), engine)
            }
        })
    }

    async fn perform(
        &self,
        job: Job,
        ripe: &Ripe<'_>,
        tab: &Tab,
        page: PageId,
        options: &RunOptions,
        result: &mut CaseResult,
    ) -> Result<(RunReport, PageId), Refusal> {
        let ready = Ready::new(options)?;
        let (policy, interrupt) = (ripe.policy.clone(), self.interrupt.clone());
        let ended = Box::pin(perform(job, ready, tab, page, policy, interrupt, options, ALONE)).await;
        result.runs.push(ended.dir.path().to_owned());
        Ok((ended.report, ended.page))
    }

    /// Writes the recording of a case that passed, or compares it with the one that it has.
    fn keep(&self, ripe: &Ripe<'_>, run: &Path, result: &mut CaseResult) -> Result<Option<Failed>, Refusal> {
        let unreadable =
            |error: cuebook_datalayer::DataError| Refusal::unusable(ErrorCode::Unreadable, with_sources(&error));
        let log = cuebook_datalayer::RunDir::open(run).map_err(unreadable)?.log_path();
        let run = Run::read(&log).map_err(unreadable)?;
        let written = match &ripe.script {
            Script::Recorded(recording) => {
                let comparison = compare(recording, None, &run, &Likeness::default());
                result.drift = comparison.drift().cloned().collect();
                let healed = || recording.healed(&run);
                (!result.drift.is_empty() && self.args.update).then(healed).flatten()
            }
            Script::Given(_) | Script::Planned => match Recording::of(&run, &ripe.case.credentials) {
                Ok(mut recording) => {
                    recording.url = Some(ripe.case.url.clone());
                    if let (Script::Given(draft), Some(context)) = (&ripe.script, &mut recording.plan.context) {
                        context.viewport = draft.context.as_ref().and_then(|context| context.viewport);
                    }
                    Some(recording)
                }
                Err(error) => {
                    let hint = "; `credentials` of the case name secrets by step";
                    let error = RunError::new(ErrorCode::InvalidPlan, format!("{}{hint}", with_sources(&error)));
                    return Ok(Some(Failed { error, is_of_the_page: true }));
                }
            },
        };
        if let Some(recording) = written {
            self.recordings.write(ripe.case, recording)?;
            result.recording = Some(self.recordings.path(ripe.case));
        }
        Ok(None)
    }
}

/// Why an attempt failed.
struct Failed {
    error: RunError,
    /// The browser can be used further.
    is_of_the_page: bool,
}

/// `None` if the run ended well; an error if it was interrupted.
fn failed(report: RunReport) -> Result<Option<Failed>, Refusal> {
    let result = report.result;
    let Err(error) = report.into_result() else { return Ok(None) };
    if result == RunResult::Interrupted {
        return Err(Refusal { result, error });
    }
    Ok(Some(Failed { error, is_of_the_page: result != RunResult::Error }))
}

fn write_junit(path: &Path, results: &Results) -> Result<(), Refusal> {
    let cannot = |error: &dyn std::error::Error| {
        Refusal::unusable(ErrorCode::CannotWrite, plain(&format!("{}: {error}", path.display())))
    };
    let xml = junit(results).map_err(|error| cannot(&error))?;
    fs::write(path, xml).map_err(|error| cannot(&error))
}

/// One line, and what there is to say below it.
fn in_words(result: &CaseResult) -> String {
    let seconds = std::time::Duration::from_millis(result.duration_ms).as_secs_f64();
    let status = result.status.as_str();
    let mut out = format!("{status:<8} {} ({}, {seconds:.1} s)\n", plain(&result.name), result.how.as_str());
    let mut say = |line: String| out.push_str(&format!("         {line}\n"));
    for (attempt, error) in result.failures.iter().enumerate() {
        say(format!("attempt {}: {}: {}", attempt + 1, error.code, plain(&error.message)));
    }
    result.drift.iter().map(divergence_in_words).for_each(&mut say);
    match (&result.recording, result.drift.is_empty()) {
        (Some(path), _) => say(format!("recorded: {}", plain(&path.display().to_string()))),
        (None, false) => say("--update accepts it".to_owned()),
        (None, true) => {}
    }
    if result.status == Status::Failed
        && let Some(run) = result.runs.last()
    {
        say(format!("log: {}", plain(&run.display().to_string())));
    }
    out
}
