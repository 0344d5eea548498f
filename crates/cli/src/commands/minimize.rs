//! `cuebook minimize`: the fewest steps and recorded responses with which a run still fails the same way.
//!
//! Invariants:
//! - What is written has failed with the same signature three times in a row, each time in a fresh browser.
//! - The search replays in fresh contexts of one browser, which is closed however it ends.
//! - Nothing is written if the failure cannot be shown again.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs::{self, DirBuilder};
use std::path::Path;
use std::time::Instant;

use cuebook_datalayer::replay::{Recording, Reduction, Signature};
use cuebook_datalayer::traffic::{self, Exchanges, FixtureRules};
use cuebook_datalayer::{ArtifactStore, Run, RunDir};
use cuebook_export::{Format, Options, Redaction, export};
use cuebook_grammar::id::RunId;
use cuebook_grammar::record::StepOrigin;
use cuebook_grammar::report::{ErrorCode, RunError, RunResult};
use cuebook_grammar::step::Step;
use serde::Serialize;
use tempfile::TempDir;

use crate::args::{MinimizeArgs, RunOptions};
use crate::browser::fit_viewport;
use crate::commands::replay::{recording, unreadable, write};
use crate::compose::{self, Job};
use crate::exit::{Exit, Output, Refusal, print_json, print_text};
use crate::exporting::refusal;
use crate::kept::{KeptBrowser, Turns};
use crate::progress::{self, counted};
use crate::text::{json_plain, plain};

/// The version of `repro.json`.
const REPRO_VERSION: &str = "1.0";
/// How often the result has to fail.
const CONFIRMATIONS: u32 = 3;
const PLAN: &str = "plan.json";

/// Document that `repro.json` holds and `--json` prints.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Repro {
    schema_version: &'static str,
    /// The run that was recorded.
    recorded: Option<RunId>,
    signature: Signature,
    /// To be run in the folder.
    command: Vec<String>,
    steps: Size,
    /// Recorded responses that answer a replay; absent unless it replays offline.
    #[serde(skip_serializing_if = "Option::is_none")]
    responses: Option<Size>,
    /// The steps that are not needed, by their number in the recording.
    left_out: Vec<String>,
    replays: u32,
    /// `true` if each step and each response that is left was tried without.
    is_minimal: bool,
}

#[derive(Clone, Copy, Serialize)]
struct Size {
    was: usize,
    is: usize,
}

/// Which steps and which exchanges of the recording a replay has.
#[derive(Clone)]
struct Part {
    steps: Vec<usize>,
    exchanges: Option<BTreeSet<usize>>,
}

/// Replays parts of a recording.
struct Trials<'a> {
    recording: &'a Recording,
    /// The run whose traffic answers.
    recorded: &'a RunDir,
    /// The browser of the search.
    browser: &'a KeptBrowser,
    options: RunOptions,
    /// When the search ends.
    until: Instant,
    max_replays: u32,
    replays: u32,
    /// The exchanges that the last replay asked for.
    asked: BTreeSet<usize>,
    /// Parts that failed as the whole did, each smaller than the one before.
    failed: Vec<Part>,
    /// The last replay, which is kept until another one begins.
    last: Option<RunDir>,
}

pub(crate) async fn run(args: MinimizeArgs, output: Output) -> Exit {
    match Box::pin(minimized(args, output)).await {
        Ok(exit) => exit,
        Err(refusal) => refusal.print(output),
    }
}

async fn minimized(args: MinimizeArgs, output: Output) -> Result<Exit, Refusal> {
    let dir = RunDir::open(&args.run).map_err(|error| unreadable(&error))?;
    let run = Run::read(&dir.log_path()).map_err(|error| unreadable(&error))?;
    let Some(recorded) = Signature::of(&run) else {
        let message = "the run did not end with a step that failed";
        return Err(Refusal::invalid(ErrorCode::InvalidPlan, message));
    };
    let recording = recording(&run, &ArtifactStore::new(&dir, None), &args.credential, usize::MAX)?;
    let exchanges = if args.offline { Some(exchanges(&dir)?) } else { None };
    let mut options = args.options;
    let folder = std::mem::take(&mut options.session.out);
    refuse_occupied(&folder)?;
    fit_viewport(&mut options.session.browser, &recording.plan);
    let logs = TempDir::with_prefix("cuebook-minimize-")
        .map_err(|error| cannot_write(Path::new("the temporary directory"), &error))?;
    options.session.out = logs.path().to_owned();

    let browser = KeptBrowser::new(Turns::OneByOne);
    let mut trials = Trials {
        recording: &recording,
        recorded: &dir,
        browser: &browser,
        options,
        until: Instant::now() + args.time_limit,
        max_replays: args.max_replays,
        replays: 0,
        asked: BTreeSet::new(),
        failed: Vec::new(),
        last: None,
    };
    let whole = Part {
        steps: (0..recording.plan.steps.len()).collect(),
        exchanges: exchanges.as_ref().map(|all| all.iter().map(|(position, _)| *position).collect()),
    };
    let signature = match trials.replay(&whole, None).await? {
        Some(seen) if seen.resembles(&recorded) => seen,
        seen => return Err(not_reproduced(&recorded, seen.as_ref())),
    };
    let say = |line: &str| {
        if !output.quiet {
            progress::say(line);
        }
    };
    say(&format!("replay 1: the whole run fails as it did: {}", in_words(&signature)));
    trials.failed.push(whole.clone());
    // What came during the step that failed is what that failed on.
    let failed_at =
        run.steps.iter().rfind(|step| step.origin == StepOrigin::Plan).map_or(0, |step| step.execution.ts_ms);
    let is_free = |(position, ts_ms): &(usize, u64)| (*ts_ms < failed_at).then_some(*position);
    let free: Vec<usize> = exchanges.iter().flatten().filter_map(is_free).collect();
    let searched = trials.search(&signature, &free, &say).await;
    browser.close().await;
    let is_whole_search = searched?;

    let found = trials.failed.len();
    let part = loop {
        let Some(part) = trials.failed.last().cloned() else {
            let message = format!("the failure does not show {CONFIRMATIONS} times in a row: {}", in_words(&signature));
            return Err(Refusal { result: RunResult::Failed, error: RunError::new(ErrorCode::NotReproduced, message) });
        };
        if trials.confirm(&part, &signature).await? {
            break part;
        }
        say("  the result does not fail every time: what was left out last is needed");
        trials.failed.pop();
    };
    let size = |of: fn(&Part) -> Option<usize>| Some(Size { was: of(&whole)?, is: of(&part)? });
    let repro = Repro {
        schema_version: REPRO_VERSION,
        recorded: run.header.as_ref().map(|header| header.run_id.clone()),
        signature,
        command: command(&recording, part.exchanges.is_some(), args.stated),
        steps: Size { was: whole.steps.len(), is: part.steps.len() },
        responses: size(|part| part.exchanges.as_ref().map(BTreeSet::len)),
        left_out: left_out(&recording, &part),
        replays: trials.replays,
        is_minimal: is_whole_search && trials.failed.len() == found,
    };
    write_folder(&folder, &repro, &recording.keeping(&part.steps), &dir, &part)?;
    if let Some(failed) = &trials.last {
        if let Some(only) = &part.exchanges {
            traffic::copy(&dir, only, failed).map_err(|error| unreadable(&error))?;
        }
        write_evidence(&folder, failed, logs.path())?;
    }
    if output.json {
        print_json(&repro);
    } else {
        print_text(&summary(&repro, &folder));
    }
    Ok(Exit::OK)
}

impl Trials<'_> {
    /// The signature of what a part of the recording ends with, in a fresh browser or a fresh context of `kept`; `None` if
    /// it ends well, or cannot be run.
    async fn replay(&mut self, part: &Part, kept: Option<&KeptBrowser>) -> Result<Option<Signature>, Refusal> {
        self.replays += 1;
        let recording = self.recording.keeping(&part.steps);
        let secrets = compose::secrets(&self.options.session, recording.url.as_deref())?;
        let mut job = Job::plan(recording.plan, secrets, recording.url);
        if let Some(only) = &part.exchanges {
            let rules = FixtureRules { only: Some(only.clone()), ..FixtureRules::default() };
            job.fixtures = Some((self.recorded.clone(), rules));
        }
        // As `exec` runs it, but in silence, and nobody is asked.
        let ended = compose::drive(job, &self.options, Output { json: true, quiet: true }, kept).await?;
        if ended.report.result == RunResult::Interrupted {
            let error = RunError::new(ErrorCode::Interrupted, "the search was interrupted, and nothing is written");
            return Err(Refusal { result: RunResult::Interrupted, error });
        }
        self.asked = ended.offline.map(|offline| offline.served).unwrap_or_default();
        let run = Run::read(&ended.dir.log_path()).map_err(|error| unreadable(&error))?;
        // The folder of all replays is removed in the end.
        if let Some(before) = self.last.replace(ended.dir) {
            let _ = fs::remove_dir_all(before.path());
        }
        Ok(Signature::of(&run))
    }

    /// Returns `true` if a part fails as the whole does, in the search; `None` if the search has no more time or
    /// replays.
    async fn tried(&mut self, part: Part, like: &Signature, say: &impl Fn(&str)) -> Result<Option<bool>, Refusal> {
        if self.replays >= self.max_replays || Instant::now() >= self.until {
            say("  the search ends at its limit (--max-replays, --time-limit)");
            return Ok(None);
        }
        let is_same = self.replay(&part, Some(self.browser)).await?.as_ref() == Some(like);
        let responses =
            part.exchanges.as_ref().map_or_else(String::new, |all| format!(" and {}", counted(all.len(), "response")));
        let ends = if is_same { "fails the same way" } else { "does not" };
        say(&format!("replay {}: {}{responses}: {ends}", self.replays, counted(part.steps.len(), "step")));
        if is_same {
            self.failed.push(part);
        }
        Ok(Some(is_same))
    }

    /// Leaves out steps, then exchanges of those at the positions `free`. False if a limit ended the search.
    async fn search(&mut self, like: &Signature, free: &[usize], say: &impl Fn(&str)) -> Result<bool, Refusal> {
        let Some(Part { steps, exchanges }) = self.failed.last().cloned() else { return Ok(true) };
        let mut asked = self.asked.clone();
        // The last one is the step that fails.
        let mut reduction = Reduction::of(steps.len().saturating_sub(1));
        while let Some(mut kept) = reduction.candidate() {
            kept.extend(steps.last());
            let part = Part { steps: kept, exchanges: exchanges.clone() };
            match self.tried(part, like, say).await? {
                Some(is_enough) => {
                    reduction.judge(is_enough);
                    if is_enough {
                        asked = self.asked.clone();
                    }
                }
                None => return Ok(false),
            }
        }
        let (Some(all), Some(steps)) = (exchanges, self.failed.last().map(|part| part.steps.clone())) else {
            return Ok(true);
        };
        let bound: BTreeSet<usize> = all.iter().copied().filter(|position| !free.contains(position)).collect();
        let mut exchanges: Vec<usize> = free.to_vec();
        // Those that the steps that are left did not ask for, at once.
        let needed: BTreeSet<usize> = bound.union(&asked).copied().collect();
        if needed.len() < all.len() {
            match self.tried(Part { steps: steps.clone(), exchanges: Some(needed) }, like, say).await? {
                Some(true) => exchanges.retain(|position| asked.contains(position)),
                Some(false) => {}
                None => return Ok(false),
            }
        }
        let mut reduction = Reduction::of(exchanges.len());
        while let Some(kept) = reduction.candidate() {
            let kept = kept.iter().filter_map(|index| exchanges.get(*index).copied());
            let part = Part { steps: steps.clone(), exchanges: Some(bound.iter().copied().chain(kept).collect()) };
            match self.tried(part, like, say).await? {
                Some(is_enough) => reduction.judge(is_enough),
                None => return Ok(false),
            }
        }
        Ok(true)
    }

    async fn confirm(&mut self, part: &Part, like: &Signature) -> Result<bool, Refusal> {
        for _ in 0..CONFIRMATIONS {
            if self.replay(part, None).await?.as_ref() != Some(like) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// The exchanges of a recording, by position and time.
fn exchanges(dir: &RunDir) -> Result<Vec<(usize, u64)>, Refusal> {
    let Some((_, exchanges)) = Exchanges::open(dir).map_err(|error| unreadable(&error))? else {
        let message =
            "the traffic of this run was not recorded: record it with --record-network, or leave out --offline";
        return Err(Refusal::invalid(ErrorCode::Unreadable, message));
    };
    let exchanges: Result<Vec<_>, _> = exchanges.collect();
    let exchanges = exchanges.map_err(|error| unreadable(&error))?;
    Ok(exchanges.iter().enumerate().map(|(position, exchange)| (position, exchange.ts_ms)).collect())
}

fn not_reproduced(recorded: &Signature, seen: Option<&Signature>) -> Refusal {
    let seen = seen.map_or_else(|| "none".to_owned(), in_words);
    let message = format!("the failure does not show again: it was {}, and is {seen}", in_words(recorded));
    Refusal { result: RunResult::Failed, error: RunError::new(ErrorCode::NotReproduced, message) }
}

/// `click button "Save": postconditionFailed`.
fn in_words(signature: &Signature) -> String {
    let target = signature.target.as_ref().map_or_else(String::new, |target| format!(" {}", plain(target)));
    format!("{}{target}: {}", signature.verb, signature.cause.as_str())
}

fn cannot_write(path: &Path, error: &std::io::Error) -> Refusal {
    Refusal::invalid(ErrorCode::CannotWrite, format!("cannot write {}: {error}", plain(&path.display().to_string())))
}

fn refuse_occupied(folder: &Path) -> Result<(), Refusal> {
    match fs::read_dir(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(cannot_write(folder, &error)),
        Ok(mut entries) => match entries.next() {
            None => Ok(()),
            Some(_) => {
                let folder = plain(&folder.display().to_string());
                let message = format!("{folder} is not empty: remove it, or name another directory with --out");
                Err(Refusal::invalid(ErrorCode::CannotWrite, message))
            }
        },
    }
}

fn command(recording: &Recording, is_offline: bool, stated: Vec<String>) -> Vec<String> {
    let mut command = vec!["cuebook".to_owned(), "exec".to_owned(), PLAN.to_owned()];
    command.extend(recording.url.as_ref().map(|url| format!("--url={url}")));
    command.extend(is_offline.then(|| "--fixtures=.".to_owned()));
    command.extend(stated);
    command
}

/// A word of a command line, for POSIX shells.
fn quoted(word: &str) -> String {
    let is_safe = |byte: u8| byte.is_ascii_alphanumeric() || b"-_=./:@,".contains(&byte);
    if word.bytes().all(is_safe) { word.to_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

fn command_line(repro: &Repro) -> String {
    repro.command.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

fn left_out(recording: &Recording, part: &Part) -> Vec<String> {
    let in_words = |(index, step): (usize, &Step)| {
        let target = step.action.target().map_or_else(String::new, |target| format!(" {target}"));
        format!("step {}: {}{target}", index + 1, step.action.kind().meta().name)
    };
    let steps = recording.plan.steps.iter().enumerate();
    steps.filter(|(index, _)| !part.steps.contains(index)).map(in_words).collect()
}

fn sizes(repro: &Repro) -> String {
    let mut text = format!("{} of {}", repro.steps.is, counted(repro.steps.was, "step"));
    if let Some(Size { was, is }) = repro.responses {
        let _ = write!(text, " and {is} of {}", counted(was, "response"));
    }
    text
}

fn summary(repro: &Repro, folder: &Path) -> String {
    let mut text = format!("{}: {} are enough\n", in_words(&repro.signature), sizes(repro));
    for left_out in &repro.left_out {
        let _ = writeln!(text, "  not needed: {}", plain(left_out));
    }
    if !repro.is_minimal {
        text.push_str("not all of what is left was tried without\n");
    }
    let folder = plain(&folder.display().to_string());
    let _ = writeln!(text, "{folder}: {}", plain(&command_line(repro)));
    text
}

/// The plan, what answers it, and how to run it.
fn write_folder(
    folder: &Path,
    repro: &Repro,
    recording: &Recording,
    recorded: &RunDir,
    part: &Part,
) -> Result<(), Refusal> {
    let mut builder = DirBuilder::new();
    // It holds text of pages.
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(folder).map_err(|error| cannot_write(folder, &error))?;
    if let Some(only) = &part.exchanges {
        let to = RunDir::open(folder).map_err(|error| unreadable(&error))?;
        traffic::copy(recorded, only, &to).map_err(|error| unreadable(&error))?;
    }
    write(&folder.join(PLAN), &recording.plan)?;
    write(&folder.join("repro.json"), repro)?;
    let signature = serde_json::to_string_pretty(&repro.signature).unwrap_or_default();
    let indented: String = json_plain(&signature).lines().map(|line| format!("    {line}\n")).collect();
    let run = repro.recorded.as_ref().map_or("a run", |run| run.as_str());
    let page = format!(
        "# A failure, minimised\n\nRun this in here; it ends with exit code 1:\n\n    {}\n\nThe last step fails with\n\
         \n{indented}\nFound by `cuebook minimize` in {run}: {} are enough, and failed {CONFIRMATIONS} times in a row.\n",
        plain(&command_line(repro)),
        sizes(repro),
    ) + "`traffic.har` has what a failing replay requested, the pictures show its steps.\n";
    let path = folder.join("README.md");
    fs::write(&path, page).map_err(|error| cannot_write(&path, &error))
}

/// Writes the requests of a replay that failed, and its pictures.
fn write_evidence(folder: &Path, failed: &RunDir, scratch: &Path) -> Result<(), Refusal> {
    let out = scratch.join("har");
    let options =
        Options { format: Format::Har, redaction: Redaction::None, out: out.clone(), rewrite: false, pictures: false };
    let exported = export(std::slice::from_ref(failed), &options, &mut |_, _| {}).map_err(refusal)?;
    if let Some(har) = exported.written.iter().find(|name| name.ends_with(".har")) {
        let to = folder.join("traffic.har");
        fs::copy(out.join(har), &to).map_err(|error| cannot_write(&to, &error))?;
    }
    let run = Run::read(&failed.log_path()).map_err(|error| unreadable(&error))?;
    let store = ArtifactStore::new(failed, None);
    for record in &run.steps {
        for picture in record.artifacts.iter().filter(|artifact| artifact.kind.as_str().starts_with("screenshot")) {
            let bytes = store.read(picture).map_err(|error| unreadable(&error))?;
            let to = folder.join(format!("step-{}-{}.png", record.step_index, picture.kind.as_str()));
            fs::write(&to, bytes).map_err(|error| cannot_write(&to, &error))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_a_shell_would_read_are_quoted() {
        assert_eq!(quoted("--url=http://a.test/b"), "--url=http://a.test/b");
        assert_eq!(quoted("--url=http://a.test/?a=1&b"), "'--url=http://a.test/?a=1&b'");
        assert_eq!(quoted("it's $(x)"), r"'it'\''s $(x)'");
    }
}
