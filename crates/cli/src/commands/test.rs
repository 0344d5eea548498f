//! `cuebook test`: the cases of a suite, recorded first and replayed from then on.
//!
//! Invariants:
//! - What is wrong with the suite, a plan or a recording is refused before a browser is started.
//! - Every browser is closed, however a case ends.
//! - A case has a browser to itself while it runs, and no case sees what another one left, unless both are shared.
//! - No one is asked for consent: what needs it is denied unless a plan or a flag grants it.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use cuebook::Tab;
use cuebook::secrets::Secrets;
use cuebook_datalayer::replay::{Aspect, Divergence, DivergenceKind, Likeness, Recording, compare, compare_pictures};
use cuebook_datalayer::{Run, RunDir};
use cuebook_grammar::action::{Action, WaitFor};
use cuebook_grammar::condition::Condition;
use cuebook_grammar::id::{CredentialRef, PageId};
use cuebook_grammar::observation::Observation;
use cuebook_grammar::plan::{Author, PlanDraft};
use cuebook_grammar::policy::{Policy, VolatileParts};
use cuebook_grammar::record::{CasePart, CaseRun};
use cuebook_grammar::report::{ErrorCode, RunError, RunFailure, RunReport, RunResult};
use cuebook_grammar::secret::WireText;
use cuebook_grammar::step::Step;
use cuebook_grammar::wire::Millis;
use cuebook_repair::Interrupt;
use futures_util::future::join_all;
use futures_util::{StreamExt as _, stream};

use crate::args::{RunOptions, TestArgs};
use crate::browser::fit_viewport;
use crate::commands::replay::{divergence_in_words, unreadable};
use crate::compose::{self, Job, Ready, perform};
use crate::engines;
use crate::exit::{Exit, Output, Refusal, print_json, print_text};
use crate::ground;
use crate::input;
use crate::interrupt::interrupt_on_signals;
use crate::kept::{KeptBrowser, Turns};
use crate::suite::{Case, CaseResult, Context, How, Recordings, Results, Status, Suite, junit};
use crate::text::{plain, with_sources};
use crate::traffic::Traffic;

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
    let chosen = chosen(&suite.cases, &args);
    let cases: Result<Vec<Ripe<'_>>, Refusal> =
        chosen.into_iter().map(|case| ripe(case, &recordings, &args.options)).collect();
    let cases = cases?;
    if cases.is_empty() && args.shard.is_none() {
        let filter = args.filter.as_deref().unwrap_or_default();
        return Err(Refusal::invalid(ErrorCode::Usage, format!("no case has {filter:?} in its name")));
    }
    let interrupt = Interrupt::default();
    tokio::spawn(interrupt_on_signals(interrupt.clone()));
    let name = args.suite.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
    let stopped = AtomicBool::new(false);
    let idle: Mutex<Vec<KeptBrowser>> = Mutex::default();
    let groups = groups(&cases).into_iter().map(async |group| {
        let browser = unlocked(&idle).pop().unwrap_or_else(|| KeptBrowser::new(Turns::OneByOne));
        let stage = Stage {
            args: &args,
            suite: &name,
            recordings: &recordings,
            volatile: &suite.volatile,
            interrupt: interrupt.clone(),
            browser: &browser,
            shared: None,
            stopped: &stopped,
        };
        let end = Box::pin(stage.run_all(group, output)).await;
        unlocked(&idle).push(browser);
        end
    });
    let ended: Vec<GroupEnd> = stream::iter(groups).buffer_unordered(usize::from(args.jobs)).collect().await;
    let browsers = std::mem::take(&mut *unlocked(&idle));
    join_all(browsers.iter().map(KeptBrowser::close)).await;
    let mut results = Results::of(name.clone());
    let (done, refusals): (Vec<_>, Vec<_>) = ended.into_iter().map(|end| (end.done, end.refusal)).unzip();
    let mut done: Vec<_> = done.into_iter().flatten().collect();
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().for_each(|(_, result)| results.add(result));
    let stopped = refusals.into_iter().flatten().next();
    if let Some(path) = &args.junit {
        write_junit(path, &results)?;
    }
    if let Some(path) = &args.html {
        let page = results.page(&cases.iter().map(|ripe| ripe.case).collect::<Vec<_>>(), &recordings);
        fs::write(path, page).map_err(|error| cannot_write(path, &error))?;
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

fn unlocked(idle: &Mutex<Vec<KeptBrowser>>) -> MutexGuard<'_, Vec<KeptBrowser>> {
    idle.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The cases of the filter and the shard. Shared cases build on one another: with one come those before it.
fn chosen<'a>(cases: &'a [Case], args: &TestArgs) -> Vec<&'a Case> {
    let is_named = |case: &Case| args.filter.as_ref().is_none_or(|text| case.name.contains(text));
    let last_shared = cases.iter().rposition(|case| case.context == Context::Shared && is_named(case));
    let is_needed =
        |at: usize, case: &Case| case.context == Context::Shared && last_shared.is_some_and(|last| at < last);
    let is_in_part = |case: &Case| args.shard.is_none_or(|(part, of)| case.shard(of) == part);
    let chosen =
        cases.iter().enumerate().filter(|(at, case)| (is_named(case) || is_needed(*at, case)) && is_in_part(case));
    chosen.map(|(_, case)| case).collect()
}

/// Cases that must run one after another, in the order of the file, with their positions: the shared ones.
fn groups<'a>(cases: &'a [Ripe<'a>]) -> Vec<Vec<(usize, &'a Ripe<'a>)>> {
    let is_shared = |(_, ripe): &(usize, &Ripe<'_>)| ripe.case.context == Context::Shared;
    let (shared, fresh): (Vec<_>, Vec<_>) = cases.iter().enumerate().partition(is_shared);
    let mut groups: Vec<Vec<_>> = fresh.into_iter().map(|case| vec![case]).collect();
    if let Some((first, _)) = shared.first() {
        let before = groups.iter().filter(|group| group.iter().all(|(at, _)| at < first)).count();
        groups.insert(before, shared);
    }
    groups
}

/// Results of cases that ran one after another.
struct GroupEnd {
    done: Vec<(usize, CaseResult)>,
    /// The reason for which the suite ends; `None` if it goes on.
    refusal: Option<Refusal>,
}

/// Refuses what can be refused without a browser.
fn ripe<'a>(case: &'a Case, recordings: &Recordings, options: &RunOptions) -> Result<Ripe<'a>, Refusal> {
    let of_case = |mut refusal: Refusal| {
        refusal.error.message = format!("case {:?}: {}", case.name, refusal.error.message);
        refusal
    };
    let prepare = || {
        let policy = ground::policy(&options.session.policy, &options.session.grant, Some(&case.url))?;
        compose::secrets(&options.session, Some(&case.url))?;
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

/// Stage on which the cases of a suite run.
struct Stage<'a> {
    args: &'a TestArgs,
    /// The name of the suite.
    suite: &'a str,
    recordings: &'a Recordings,
    /// Parts of requests and answers that the suite leaves out.
    volatile: &'a VolatileParts,
    interrupt: Interrupt,
    /// The browser that the cases have to themselves, each in a context of its own.
    browser: &'a KeptBrowser,
    /// The tab of the shared cases.
    shared: Option<Tab>,
    /// An error ended the suite: no other case begins.
    stopped: &'a AtomicBool,
}

impl Stage<'_> {
    /// Runs cases one after another, and closes what they shared.
    async fn run_all(mut self, cases: Vec<(usize, &Ripe<'_>)>, output: Output) -> GroupEnd {
        let mut end = GroupEnd { done: Vec::new(), refusal: None };
        for (at, ripe) in cases {
            if self.stopped.load(Ordering::Relaxed) {
                break;
            }
            let began = Instant::now();
            let mut result = CaseResult::of(ripe.case);
            let ended = Box::pin(self.run(ripe, &mut result)).await;
            // The last run first: an earlier one is never seen alone.
            result.held.drain(..).rev().for_each(drop);
            result.took(began.elapsed());
            if let Err(refusal) = ended {
                self.stopped.store(true, Ordering::Relaxed);
                end.refusal = Some(refusal);
                break;
            }
            if !output.json {
                print_text(&in_words(&result));
            }
            end.done.push((at, result));
        }
        if let Some(tab) = self.shared.take() {
            self.browser.close_tab(tab).await;
        }
        end
    }

    /// Runs a case until it passes or its attempts are used up. An error ends the suite.
    async fn run(&mut self, ripe: &Ripe<'_>, result: &mut CaseResult) -> Result<(), Refusal> {
        for _ in 0..=self.args.retries {
            result.attempts += 1;
            let ready = Ready::new(&self.args.options)?;
            let mut options = self.options(ripe);
            let traffic = Traffic::new(&mut options, None, ready.dir(), ready.redactor(), ready.clock())?;
            let tab = match self.shared.take() {
                Some(tab) if ripe.case.context == Context::Shared => tab,
                kept => {
                    self.shared = kept;
                    self.browser.open(&options.session, ripe.policy.clone()).await?
                }
            };
            let ended = Box::pin(self.attempt(ripe, &tab, (ready, traffic, options), result)).await;
            let is_sound = matches!(&ended, Ok(None)) || matches!(&ended, Ok(Some(failed)) if failed.is_of_the_page);
            if ripe.case.context == Context::Shared && is_sound {
                self.shared = Some(tab);
            } else {
                self.browser.close_tab(tab).await;
            }
            if !is_sound {
                self.browser.close().await;
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

    /// The options of the steps of a case: its viewport, and evidence of what is compared.
    fn options(&self, ripe: &Ripe<'_>) -> RunOptions {
        let mut options = self.args.options.clone();
        match &ripe.script {
            Script::Recorded(recording) => {
                fit_viewport(&mut options.session.browser, &recording.plan);
                options.session.browser.wire.setting =
                    recording.recorded.as_ref().and_then(|recorded| recorded.setting.clone());
            }
            Script::Given(draft) => fit_viewport(&mut options.session.browser, draft),
            Script::Planned => {}
        }
        options.record |= ripe.case.pictures.is_some();
        options.record_network |= ripe.case.requests.contains(&Aspect::Body);
        options
    }

    /// Runs the steps of a case, then judges what it expects. `None` if it passed.
    async fn attempt(
        &self,
        ripe: &Ripe<'_>,
        tab: &Tab,
        (ready, traffic, options): (Ready, Traffic, RunOptions),
        result: &mut CaseResult,
    ) -> Result<Option<Failed>, Refusal> {
        let job = self.job(ripe, result).await?;
        let page = tab.page.clone();
        let recording = traffic.begin(tab).await?;
        let performed = self.perform(job, ripe, tab, page, (ready, &options), CasePart::Steps, result).await;
        recording.end(true).await;
        let (report, page) = performed?;
        result.steps = result.runs.last().cloned();
        if let Some(failed) = failed(report)? {
            return Ok(Some(failed));
        }
        let run = result.runs.last().map(|run| RunDir::open(run)).transpose().map_err(|error| unreadable(&error))?;
        let outcome = match run.map(|run| self.read(ripe, &run)).transpose()? {
            Some(Err(failed)) => return Ok(Some(failed)),
            Some(Ok(outcome)) => outcome,
            None => Outcome::default(),
        };
        let options = RunOptions { no_repair: true, ..self.args.options.clone() };
        let secrets = compose::secrets(&options.session, Some(&ripe.case.url))?;
        let job = Job::plan(ripe.expectations.clone(), secrets, None);
        let ready = (Ready::new(&options)?, &options);
        let (report, _) = self.perform(job, ripe, tab, page, ready, CasePart::Expectations, result).await?;
        if let Some(failed) = failed(report)? {
            return Ok(Some(failed));
        }
        result.drift = outcome.drift;
        result.differences = outcome.differences;
        if let Some((recording, run)) = outcome.recording {
            self.recordings.write(ripe.case, recording, &run)?;
            result.recording = Some(self.recordings.path(ripe.case));
        } else if !result.differences.is_empty() {
            return Ok(Some(differing(&result.differences)));
        }
        Ok(None)
    }

    async fn job(&self, ripe: &Ripe<'_>, result: &mut CaseResult) -> Result<Job, Refusal> {
        let case = ripe.case;
        let secrets = compose::secrets(&self.args.options.session, Some(&case.url))?;
        Ok(match &ripe.script {
            Script::Recorded(recording) => {
                result.how = How::Replayed;
                Job::replay(recording, secrets)
            }
            Script::Given(draft) => {
                result.how = How::Given;
                Job::plan(naming_secrets(draft, case, &secrets), secrets, Some(case.url.clone()))
            }
            Script::Planned => {
                result.how = How::Planned;
                let engine = &self.args.engine;
                let output = Output { json: false, quiet: true };
                let planner = engines::planner(&self.args.planner, None, engine, secrets.names(), output).await?;
                let task = narrative(case, &|name, text| secrets.is(name, text));
                Job::task(task, planner, secrets, case.url.clone(), engine)
            }
        })
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of a run; each caller has all of them at hand")]
    async fn perform(
        &self,
        mut job: Job,
        ripe: &Ripe<'_>,
        tab: &Tab,
        page: PageId,
        (ready, options): (Ready, &RunOptions),
        part: CasePart,
        result: &mut CaseResult,
    ) -> Result<(RunReport, PageId), Refusal> {
        job.case = Some(CaseRun {
            id: result.first_run.get_or_insert_with(|| ready.run_id().clone()).clone(),
            suite: self.suite.to_owned(),
            name: ripe.case.name.clone(),
            attempt: result.attempts,
            part,
            priority: Some(ripe.case.priority.as_str().to_owned()),
            expect: ripe.case.expected(),
        });
        result.held.extend(ready.dir().hold());
        let (policy, interrupt) = (ripe.policy.clone(), self.interrupt.clone());
        let ended = Box::pin(perform(job, ready, tab, page, policy, interrupt, options, ALONE, None)).await?;
        result.runs.push(ended.dir.path().to_owned());
        Ok((ended.report, ended.page))
    }

    /// Makes the recording of the steps of a case, or compares them with the one that it has. What cannot be recorded
    /// failed: the next time, nothing could be replayed.
    fn read(&self, ripe: &Ripe<'_>, dir: &RunDir) -> Result<Result<Outcome, Failed>, Refusal> {
        let run = Run::read(&dir.log_path()).map_err(|error| unreadable(&error))?;
        if let Script::Recorded(recording) = &ripe.script {
            let differences = self.differences(ripe, recording, &run, dir)?;
            let (drift, differences): (Vec<_>, Vec<_>) =
                differences.into_iter().partition(|divergence| divergence.kind.is_drift());
            let is_other = !drift.is_empty() || !differences.is_empty();
            let healed = (is_other && self.args.update).then(|| recording.healed(&run)).flatten();
            let healed =
                healed.map(|healed| healed.with_traffic(dir)).transpose().map_err(|error| unreadable(&error))?;
            return Ok(Ok(Outcome { drift, differences, recording: healed.map(|healed| (healed, dir.clone())) }));
        }
        match Recording::of(&run, &ripe.case.credentials) {
            Ok(recording) => {
                let mut recording = recording.with_traffic(dir).map_err(|error| unreadable(&error))?;
                recording.url = Some(ripe.case.url.clone());
                if let (Script::Given(draft), Some(context)) = (&ripe.script, &mut recording.plan.context) {
                    context.viewport = draft.context.as_ref().and_then(|context| context.viewport);
                }
                Ok(Ok(Outcome { recording: Some((recording, dir.clone())), ..Outcome::default() }))
            }
            Err(error) => {
                let hint = "; `credentials` of the case name secrets by step";
                let error = RunError::new(ErrorCode::InvalidPlan, format!("{}{hint}", with_sources(&error)));
                Ok(Err(Failed { error, is_of_the_page: true }))
            }
        }
    }

    /// Drift, and the differences that the case asks for.
    fn differences(
        &self,
        ripe: &Ripe<'_>,
        recording: &Recording,
        run: &Run,
        dir: &RunDir,
    ) -> Result<Vec<Divergence>, Refusal> {
        let volatile = ground::volatile([ripe.policy.volatile(), self.volatile])?;
        let aspects = ripe.case.requests.clone();
        let is_asked = |divergence: &Divergence| match divergence.kind {
            DivergenceKind::Requests | DivergenceKind::Bodies => !ripe.case.requests.is_empty(),
            kind => kind.is_drift(),
        };
        let likeness = Likeness::default().comparing(aspects).without(volatile);
        let mut comparison = compare(recording, run, Some(dir), &likeness).map_err(|error| unreadable(&error))?;
        if let Some(least) = ripe.case.pictures {
            let pictures = self.recordings.pictures(ripe.case)?;
            comparison.add(compare_pictures(recording, &pictures, (run, dir), least));
        }
        let is_picture = |divergence: &Divergence| divergence.kind == DivergenceKind::Picture;
        comparison.divergences.retain(|divergence| is_asked(divergence) || is_picture(divergence));
        Ok(comparison.divergences)
    }
}

/// Failure that names the differences from the recording.
fn differing(differences: &[Divergence]) -> Failed {
    let listed: Vec<String> = differences.iter().take(5).map(divergence_in_words).collect();
    let more = differences.len().checked_sub(5).filter(|more| *more > 0).map(|more| format!("; and {more} more"));
    let message = format!("differs from its recording: {}{}", listed.join("; "), more.unwrap_or_default());
    Failed { error: RunError::new(ErrorCode::DiffersFromRecording, message), is_of_the_page: true }
}

/// Replaces a text where it is no part of a longer word.
fn replace_words(text: &str, from: &str, to: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(from) {
        let is_part = before.ends_with(char::is_alphanumeric) || after.starts_with(char::is_alphanumeric);
        out.push_str(before);
        out.push_str(if is_part { from } else { to });
        rest = after;
    }
    out + rest
}

/// Outcome of the steps of a case.
#[derive(Default)]
struct Outcome {
    drift: Vec<Divergence>,
    /// Requests and pictures that are not as they were recorded.
    differences: Vec<Divergence>,
    /// The recording that is written if the case passes, and the run that it is from.
    recording: Option<(Recording, RunDir)>,
}

/// The plan with the secrets that the case names, where it states their values.
fn naming_secrets(draft: &PlanDraft, case: &Case, secrets: &Secrets) -> PlanDraft {
    let mut draft = draft.clone();
    for (number, name) in &case.credentials {
        let at = usize::try_from(*number).ok().and_then(|number| number.checked_sub(1));
        let Some(step) = at.and_then(|at| draft.steps.get_mut(at)) else { continue };
        let is_secret = |text: &Option<WireText>| {
            text.as_ref().and_then(WireText::clear).is_some_and(|text| secrets.is(name, text))
        };
        match &mut step.action {
            Action::Type(typed) if is_secret(&typed.text) => {
                (typed.text, typed.credential_ref) = (None, Some(name.clone()));
            }
            Action::SetValue(set) if is_secret(&set.value) => {
                (set.value, set.credential_ref) = (None, Some(name.clone()));
            }
            _ => {}
        }
    }
    draft
}

/// The narrative with the names of the secrets of the case, where it states their values: no planner reads these.
fn narrative(case: &Case, is: &dyn Fn(&CredentialRef, &str) -> bool) -> String {
    let mut told = case.narrative.clone();
    let quoted = case.narrative.split(['"', '\'', '“', '”', '‘', '’', '`']);
    let words = case.narrative.split_whitespace().map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()));
    let bare = case.narrative.split_whitespace();
    let parts: BTreeSet<&str> = quoted.chain(words).chain(bare).filter(|part| !part.is_empty()).collect();
    for name in case.credentials.values() {
        for value in parts.iter().filter(|part| is(name, part)) {
            let named = format!("credential {name}");
            for (open, close) in [("\"", "\""), ("'", "'"), ("“", "”"), ("‘", "’"), ("`", "`")] {
                told = told.replace(&format!("{open}{value}{close}"), &named);
            }
            told = replace_words(&told, value, &named);
        }
    }
    told
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
    let Err(RunFailure { error, .. }) = report.into_result() else { return Ok(None) };
    if result == RunResult::Interrupted {
        return Err(Refusal { result, error });
    }
    Ok(Some(Failed { error, is_of_the_page: result != RunResult::Error }))
}

fn cannot_write(path: &Path, error: &dyn std::error::Error) -> Refusal {
    Refusal::unusable(ErrorCode::CannotWrite, plain(&format!("{}: {error}", path.display())))
}

fn write_junit(path: &Path, results: &Results) -> Result<(), Refusal> {
    let xml = junit(results).map_err(|error| cannot_write(path, &error))?;
    fs::write(path, xml).map_err(|error| cannot_write(path, &error))
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
    // Those of a case that failed are in its message.
    let accepted = result.differences.iter().filter(|_| result.status != Status::Failed);
    result.drift.iter().chain(accepted).map(divergence_in_words).for_each(&mut say);
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

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    fn cases(text: &str) -> Vec<Case> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("suite.toml");
        fs::write(&path, format!("url = \"http://shop.test/\"\n{text}")).unwrap();
        Suite::read(&path, None).unwrap_or_else(|refusal| panic!("{}", refusal.error.message)).cases
    }

    fn case(name: &str, more: &str) -> String {
        format!(
            "[[case]]\nname = \"{name}\"\nexpect = [{{ kind = \"urlMatches\", pattern = \"/\" }}]\nplan = \"p.json\"\n{more}\n"
        )
    }

    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        args: TestArgs,
    }

    fn chosen_of(cases: &[Case], flags: &[&str]) -> Vec<String> {
        let line = Line::try_parse_from([&["test", "suite.toml"], flags].concat());
        let args = line.unwrap_or_else(|error| panic!("{error}")).args;
        chosen(cases, &args).into_iter().map(|case| case.name.clone()).collect()
    }

    #[test]
    fn a_filter_takes_the_shared_cases_before_a_shared_one_along() {
        let shared = "context = \"shared\"";
        let cases = cases(
            &[case("Log in", shared), case("Alone", ""), case("Order", shared), case("Log out", shared)].concat(),
        );
        assert_eq!(chosen_of(&cases, &["--filter", "Order"]), ["Log in", "Order"]);
        assert_eq!(chosen_of(&cases, &["--filter", "Alone"]), ["Alone"]);
        assert_eq!(chosen_of(&cases, &[]).len(), 4);
    }

    #[test]
    fn a_narrative_names_the_secrets_of_its_case() {
        let credentials =
            "narrative = 'Type \"hunter2\" into Password, and hunter2. Not hunter22'\ncredentials = { 1 = \"shop\" }";
        let cases = cases(&case("Log in", credentials));
        let is = |name: &CredentialRef, text: &str| name.as_str() == "shop" && text == "hunter2";
        assert_eq!(narrative(&cases[0], &is), "Type credential shop into Password, and credential shop. Not hunter22");
        assert_eq!(narrative(&cases[0], &|_, _| false), cases[0].narrative);
    }
}
