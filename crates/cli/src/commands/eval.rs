//! `cuebook eval`: episodes of suites, judged by their applications, in numbers.

use std::collections::BTreeMap;
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use cuebook::measured::Agents;
use cuebook::{AgentBuilder, Engine, PlannerConfig, PromptSource};
use cuebook_datalayer::metrics::{Collector, Summary as Metrics};
use cuebook_datalayer::{Entries, RunDir};
use cuebook_eval::{
    Assignment, BoxError, Comparison, EpisodeResult, EvalError, EvalResults, Options, Oracle, Progress, Quiet, Suite,
    Summary, run as evaluate,
};
use cuebook_export::{EpisodeRow, episodes};
use cuebook_grammar::report::ErrorCode;
use cuebook_grammar::seam::boxed::BoxedPlanner;
use cuebook_planner::OpenAiMode;
use cuebook_repair::Budgets;
use serde::{Deserialize, Serialize};

use crate::args::{EvalArgs, EvalCommand, EvalPlanner, EvalRunArgs, Goals, PlannerArg};
use crate::browser::launch_options;
use crate::engines;
use crate::exit::{Exit, Output, Refusal, print_json, print_text};
use crate::planner::AnyPlanner;
use crate::progress;
use crate::simulated::{Caught, Simulated, State, Tally};
use crate::spoken::Spoken;
use crate::text::{plain, with_sources};

/// The version of the document of `--json`, raised as those of records are.
const VERSION: &str = "1.0";
/// The directory of logs in that of results.
pub(super) const RUNS: &str = "runs";
/// The picture in the directory of results.
pub(super) const FIGURE: &str = "summary.svg";
const RELIABILITY: &str = "calibration.svg";
/// The file of results in their directory.
const RESULTS: &str = "episodes.jsonl";
/// The file of settings in the directory of results.
const SETTINGS: &str = "evaluation.json";
/// Lines of progress are at least this far apart.
const PACE: Duration = Duration::from_secs(2);

/// Settings that results depend on besides the episodes: `evaluation.json` in their directory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Settings {
    planner: String,
    /// How its server gets the grammar; absent for the default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    engine_mode: Option<OpenAiMode>,
    /// Prompts that are not the usual ones: `compact`, or a directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    prompt: Option<String>,
    repair: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    drift: Option<String>,
    /// The kinds of errors that were put into answers, and their share.
    #[serde(default, skip_serializing_if = "Option::is_none", rename = "modelErrors")]
    errors: Option<String>,
    /// Goals of the planner `oracle`; absent if it states none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    goals: Option<String>,
}

/// Document that `--json` prints, and `summary.json` holds.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Document<'a> {
    schema_version: &'static str,
    program: &'static str,
    #[serde(flatten)]
    settings: &'a Settings,
    #[serde(skip_serializing_if = "Option::is_none")]
    seeds: Option<(u64, u64)>,
    #[serde(flatten)]
    summary: &'a Summary,
    /// Errors that were put into answers, and how many of them were refused before anything ran.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    errors: BTreeMap<String, Caught>,
    /// Metrics from the logs of the runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    metrics: Option<Metrics>,
    #[serde(skip_serializing_if = "Option::is_none")]
    comparison: Option<Comparison>,
}

pub(crate) async fn run(args: EvalArgs, output: Output) -> Exit {
    let done = match &args.command {
        Some(EvalCommand::Compare { before, after }) => compare(before, after, output),
        Some(EvalCommand::Merge { parts, out }) => merge(parts, out, output),
        None => Box::pin(measure(&args.run, output)).await,
    };
    done.unwrap_or_else(|refusal| refusal.print(output))
}

async fn measure(args: &EvalRunArgs, output: Output) -> Result<Exit, Refusal> {
    let suites: Result<Vec<Suite>, Refusal> = args.suites.iter().map(|name| suite(name)).collect();
    let suites = suites?;
    let source = source(args, &suites, output).await?;
    let before = baseline(args)?;
    if args.fresh && args.out.exists() {
        std::fs::remove_dir_all(&args.out).map_err(|error| cannot_write(&args.out, &error))?;
    }
    let settings = Settings {
        planner: source.name(),
        engine_mode: source.mode(),
        prompt: source.prompt(),
        repair: !args.no_repair,
        drift: args.drift.as_ref().map(ToString::to_string),
        errors: args.errors.as_ref().map(ToString::to_string),
        goals: args.goals.map(|goals| goals.to_string()),
    };
    keep_settings(&args.out, &settings)?;
    if let Some(dir) = args.baseline.as_deref().filter(|_| args.ratchet) {
        // Before anything runs: results with other settings could not replace it.
        keep_settings(dir, &settings)?;
    }
    let mut options = Options::default();
    options.seeds = args.seeds.clone();
    options.tasks.clone_from(&args.tasks);
    options.split.clone_from(&args.split);
    options.jobs = usize::from(args.jobs);
    options.limit = args.limit;
    options.shard = args.shard;
    options.out = Some(args.out.clone());
    set_queue(&mut options, args)?;
    let tally = Tally::default();
    let (runs, budgets) = (args.out.join(RUNS), budgets(args));
    let layers = |builder: AgentBuilder, assignment: &Assignment| -> Result<AgentBuilder, BoxError> {
        let planner = source.planner(assignment, args.goals)?;
        let builder = builder.runs_in(&runs).budgets(budgets);
        let wrong_goals = args.goals.map_or(0.0, |goals| goals.wrong);
        Ok(match &args.errors {
            None if wrong_goals <= 0.0 => builder.planner(planner),
            errors => builder.planner(Simulated {
                planner,
                errors: errors.clone(),
                wrong_goals,
                tally: tally.clone(),
                state: Mutex::new(State::seeded(assignment.mixed_seed())),
            }),
        })
    };
    let agents = Agents::launching(launch_options(&args.browser)?, layers).under(args.drift.clone());
    let narrator = Narrator::default();
    let listener: &dyn Progress = if output.quiet { &Quiet } else { &narrator };
    let results = evaluate(&agents, &suites, &options, listener).await;
    agents.close().await;
    let results = results.map_err(refused)?;
    let errors = tally.lock().unwrap_or_else(PoisonError::into_inner);
    let errors = errors.iter().map(|(kind, caught)| (kind.as_str().to_owned(), *caught)).collect();
    let document = Document {
        schema_version: VERSION,
        program: env!("CARGO_PKG_VERSION"),
        settings: &settings,
        seeds: Some((args.seeds.start, args.seeds.end)),
        summary: &results.summary(),
        errors,
        metrics: Some(metrics(&results)),
        comparison: before.as_ref().map(|before| Comparison::of(before, &results)),
    };
    let is_worse = document.comparison.as_ref().is_some_and(Comparison::is_worse);
    finish(&document, &results, &args.out, output)?;
    if is_worse {
        return Ok(Exit::FAILED);
    }
    if let Some(dir) = args.baseline.as_deref().filter(|_| args.ratchet) {
        results.without_runs().or(&before.unwrap_or_default()).write(dir).map_err(refused)?;
    }
    Ok(Exit::OK)
}

/// The results to compare with. With `--ratchet` there may be none yet.
fn baseline(args: &EvalRunArgs) -> Result<Option<EvalResults>, Refusal> {
    let Some(dir) = args.baseline.as_deref().filter(|dir| !args.ratchet || dir.join(RESULTS).exists()) else {
        return Ok(None);
    };
    EvalResults::read([dir]).map(Some).map_err(refused)
}

#[cfg(feature = "remote")]
fn set_queue(options: &mut Options, args: &EvalRunArgs) -> Result<(), Refusal> {
    if let Some(url) = &args.queue {
        let settings = cuebook::environment::variables(&["AWS_", "GOOGLE_", "AZURE_"]);
        options.queue = Some(cuebook_eval::Queue::open(url, settings, args.limit * 2).map_err(refused)?);
    }
    Ok(())
}

#[cfg(not(feature = "remote"))]
fn set_queue(_: &mut Options, args: &EvalRunArgs) -> Result<(), Refusal> {
    match args.queue {
        Some(_) => Err(Refusal::invalid(
            ErrorCode::Usage,
            "--queue: this build has no queues (cargo install cuebook-cli --features remote)",
        )),
        None => Ok(()),
    }
}

fn budgets(args: &EvalRunArgs) -> Budgets {
    let budgets = Budgets { planning: args.engine.plan_timeout, ..Budgets::default() };
    if args.no_repair { Budgets { repairs_per_step: 0, repairs_per_run: 0, ..budgets } } else { budgets }
}

/// Notes what the results in a directory depend on. Results with other settings in it would be mistaken for these.
fn keep_settings(dir: &Path, settings: &Settings) -> Result<(), Refusal> {
    let (path, shown) = (dir.join(SETTINGS), plain(&dir.display().to_string()));
    let other = |what: &str| {
        let message = format!("{shown} holds results {what}: use another directory, or --fresh to start over");
        Err(Refusal::invalid(ErrorCode::Usage, message))
    };
    let text = serde_json::to_string(settings).unwrap_or_default();
    match std::fs::read_to_string(&path) {
        Ok(known) if serde_json::from_str::<Settings>(&known).is_ok_and(|known| known == *settings) => Ok(()),
        Ok(known) => other(&format!("of an evaluation with other settings, {}", plain(known.trim()))),
        Err(_) if dir.join(RESULTS).exists() => other("whose settings are not known"),
        Err(_) => std::fs::create_dir_all(dir)
            .and_then(|()| std::fs::write(&path, text + "\n"))
            .map_err(|error| cannot_write(dir, &error)),
    }
}

/// The settings that all parts have in common.
fn common_settings(parts: &[PathBuf]) -> Result<Settings, Refusal> {
    let mut common: Option<Settings> = None;
    for part in parts {
        let path = part.join(SETTINGS);
        let unreadable = |error: std::io::Error| {
            let message = format!("{}: {error}", plain(&path.display().to_string()));
            Refusal::invalid(ErrorCode::Unreadable, message)
        };
        let text = std::fs::read_to_string(&path).map_err(unreadable)?;
        let settings = serde_json::from_str(&text).map_err(|error| unreadable(error.into()))?;
        match &common {
            Some(first) if *first != settings => {
                let message = format!(
                    "{} holds results with other settings than {}: they cannot be merged",
                    plain(&part.display().to_string()),
                    parts.first().map(|first| plain(&first.display().to_string())).unwrap_or_default()
                );
                return Err(Refusal::invalid(ErrorCode::Usage, message));
            }
            _ => common = Some(settings),
        }
    }
    common.ok_or_else(|| Refusal::invalid(ErrorCode::Usage, "expected the directory of at least one part"))
}

/// The built-in suite of this name, or a file.
fn suite(name: &str) -> Result<Suite, Refusal> {
    let path = Path::new(name);
    let is_file = path.extension().is_some() || name.contains(std::path::MAIN_SEPARATOR);
    if is_file { Suite::read(path) } else { Suite::built_in(name) }.map_err(refused)
}

/// Where planners come from.
enum Source {
    /// The script of each task in the suite; kept as the answers of a model that is asked by these prompts, if any.
    Oracle(Option<PromptSource>),
    Config(Box<PlannerConfig>),
}

async fn source(args: &EvalRunArgs, suites: &[Suite], output: Output) -> Result<Source, Refusal> {
    match &args.planner {
        EvalPlanner::Oracle => {
            for suite in suites.iter().filter(|suite| suite.planner.is_none()) {
                if let Some(task) = suite.tasks.iter().find(|task| task.script.is_none()) {
                    let message = format!(
                        "the suite {} says neither by a `plan` of {:?} nor by a `planner` how it is done; measure \
                         another planner with --planner",
                        suite.name, task.name
                    );
                    return Err(Refusal::invalid(ErrorCode::Usage, plain(&message)));
                }
            }
            Ok(Source::Oracle(args.engine.prompt.clone().map(PromptSource::from)))
        }
        EvalPlanner::Of(_) if args.engine.vision_features.is_some() => {
            let message = "--vision-features is of run, exec and test: episodes of eval take no pictures";
            Err(Refusal::invalid(ErrorCode::Usage, message))
        }
        EvalPlanner::Of(arg) => {
            let mut config = engines::settings(arg, &args.engine);
            if matches!(arg, PlannerArg::Auto) {
                let found = config.detected().await;
                if !output.quiet {
                    progress::say(&format!("planner: {}", engines::described(&found)));
                }
                config = found.config;
            }
            config = engines::fitted(config, output).await;
            // What is wrong with it is wrong with every episode.
            config.planner().map_err(engines::refusal)?;
            Ok(Source::Config(Box::new(config)))
        }
    }
}

impl Source {
    fn planner(&self, assignment: &Assignment, goals: Option<Goals>) -> Result<Box<dyn BoxedPlanner>, BoxError> {
        match self {
            Self::Config(config) => Ok(Box::new(AnyPlanner::advised(config.planner()?, engines::advice(config)))),
            Self::Oracle(None) => oracle(assignment, goals),
            Self::Oracle(Some(prompts)) => Ok(Box::new(Spoken::of(oracle(assignment, goals)?, prompts)?)),
        }
    }

    fn mode(&self) -> Option<OpenAiMode> {
        match self {
            Self::Oracle(_) => None,
            Self::Config(config) => config.mode,
        }
    }

    fn prompt(&self) -> Option<String> {
        match (self, self.prompts()?) {
            (_, PromptSource::Compact) => Some("compact".to_owned()),
            (_, PromptSource::Folder(path)) => Some(path.display().to_string()),
            (Self::Oracle(_), _) => Some("full".to_owned()),
            // The usual ones of a model.
            (Self::Config(_), _) => None,
        }
    }

    const fn prompts(&self) -> Option<&PromptSource> {
        match self {
            Self::Oracle(prompts) => prompts.as_ref(),
            Self::Config(config) => config.prompts.as_ref(),
        }
    }

    fn name(&self) -> String {
        match self {
            Self::Oracle(_) => "oracle".to_owned(),
            Self::Config(config) => match config.model() {
                Some(model) => format!("{} {}", config.engine.as_str(), plain(model)),
                None => config.engine.as_str().to_owned(),
            },
        }
    }
}

/// The planner that does the task of an episode as the suite says.
fn oracle(assignment: &Assignment, goals: Option<Goals>) -> Result<Box<dyn BoxedPlanner>, BoxError> {
    match (&assignment.script, &assignment.suite.planner) {
        (Some(script), _) => {
            let oracle = Oracle::new(script.clone()).knowing(&assignment.suite.alike);
            Ok(Box::new(if goals.is_some() { oracle.stating_goals() } else { oracle }))
        }
        (None, Some(words)) => {
            let mut config = PlannerConfig::new(Engine::Process);
            let directory = &assignment.suite.directory;
            // Files of the suite lie beside it.
            let beside = |word: &String| match directory.join(word) {
                file if file.is_file() => file.display().to_string(),
                _ => word.clone(),
            };
            config.command = Some(words.iter().map(beside).collect());
            Ok(config.planner()?)
        }
        (None, None) => Err("the suite does not say how the task is done".into()),
    }
}

/// Returns the metrics from the logs of the episodes. A log that cannot be read is left out with a note.
fn metrics(results: &EvalResults) -> Metrics {
    let mut collector = Collector::default();
    for dir in results.episodes.iter().filter_map(|result| result.run_dir.as_deref()) {
        let read = RunDir::open(Path::new(dir)).and_then(|dir| Entries::open(&dir.log_path()));
        if let Err(error) = read.and_then(|entries| collector.add_run(entries)) {
            progress::say(&format!("note: {}: {}", plain(dir), plain(&with_sources(&error))));
        }
    }
    collector.summary()
}

fn compare(before: &Path, after: &Path, output: Output) -> Result<Exit, Refusal> {
    let before = EvalResults::read([before]).map_err(refused)?;
    let after = EvalResults::read([after]).map_err(refused)?;
    let comparison = Comparison::of(&before, &after);
    if output.json {
        print_json(&comparison);
    } else {
        print_text(&comparison.to_markdown());
    }
    Ok(if comparison.is_worse() { Exit::FAILED } else { Exit::OK })
}

fn merge(parts: &[PathBuf], out: &Path, output: Output) -> Result<Exit, Refusal> {
    let settings = common_settings(parts)?;
    let results = EvalResults::read(parts.iter().map(AsRef::as_ref)).map_err(refused)?;
    keep_settings(out, &settings)?;
    results.write(out).map_err(refused)?;
    let document = Document {
        schema_version: VERSION,
        program: env!("CARGO_PKG_VERSION"),
        settings: &settings,
        seeds: None,
        summary: &results.summary(),
        errors: BTreeMap::new(),
        metrics: Some(metrics(&results)),
        comparison: None,
    };
    finish(&document, &results, out, output)?;
    Ok(Exit::OK)
}

/// Writes the files of an evaluation, and prints it.
fn finish(document: &Document<'_>, results: &EvalResults, out: &Path, output: Output) -> Result<(), Refusal> {
    let mut text = document.summary.to_markdown();
    text.push_str("\nUnsolved episodes:\n\n");
    text.push_str(&results.failures_to_markdown());
    if let Some(comparison) = &document.comparison {
        text.push_str("\nAgainst the baseline:\n\n");
        text.push_str(&comparison.to_markdown());
    }
    let write = || {
        std::fs::write(out.join("summary.json"), serde_json::to_string_pretty(document)? + "\n")?;
        std::fs::write(out.join(FIGURE), document.summary.to_svg())?;
        if let Some(calibration) = &document.summary.calibration {
            std::fs::write(out.join(RELIABILITY), calibration.to_svg())?;
        }
        std::fs::write(out.join("summary.md"), &text)
    };
    write().map_err(|error| cannot_write(out, &error))?;
    write_table(document.settings, results, out)?;
    if output.json {
        print_json(document);
    } else {
        print_text(&plain_text(&text));
    }
    Ok(())
}

/// Writes `episodes.parquet` into `out`: one row per episode, with the settings of the evaluation.
fn write_table(settings: &Settings, results: &EvalResults, out: &Path) -> Result<(), Refusal> {
    let count = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    let row = |result: &EpisodeResult| EpisodeRow {
        suite: result.suite.clone(),
        task: result.task.clone(),
        seed: count(result.seed),
        split: result.split.clone(),
        planner: settings.planner.clone(),
        drift: settings.drift.clone(),
        repair: settings.repair,
        outcome: result.outcome.as_str().to_owned(),
        denied: result.denied,
        unwanted: result.unwanted.clone(),
        steps: count(result.steps),
        repairs: count(result.repairs),
        planner_calls: count(result.planner_calls),
        input_tokens: count(result.input_tokens),
        output_tokens: count(result.output_tokens),
        duration_ms: count(result.duration_ms),
        code: result.code.map(|code| code.to_string()),
        why: result.why.clone(),
        run_id: result.run_id().map(ToOwned::to_owned),
    };
    let rows: Vec<EpisodeRow> = results.episodes.iter().map(row).collect();
    let path = out.join("episodes.parquet");
    let file = std::fs::File::create(&path).map_err(|error| cannot_write(&path, &error))?;
    episodes(&rows, file).map_err(|error| {
        let message = format!("{}: {}", plain(&path.display().to_string()), with_sources(&error));
        Refusal::unusable(ErrorCode::CannotWrite, message)
    })
}

/// Without what would control a terminal.
fn plain_text(text: &str) -> String {
    crate::text::plain_lines(text)
}

fn refused(error: EvalError) -> Refusal {
    let code = match &error {
        EvalError::Suite { .. } | EvalError::Result { .. } | EvalError::Twice { .. } => ErrorCode::Malformed,
        EvalError::File { .. } => ErrorCode::Unreadable,
        EvalError::Queue { .. } => ErrorCode::CannotWrite,
        _ => ErrorCode::SiteUnavailable,
    };
    let message = plain(&with_sources(&error));
    match error {
        EvalError::Server { .. } | EvalError::Queue { .. } => Refusal::unusable(code, message),
        _ => Refusal::invalid(code, message),
    }
}

fn cannot_write(path: &Path, error: &std::io::Error) -> Refusal {
    Refusal::unusable(ErrorCode::CannotWrite, format!("{}: {error}", plain(&path.display().to_string())))
}

/// Says how an evaluation goes: on a terminal in one line, elsewhere a line now and then.
#[derive(Default)]
struct Narrator(Arc<Mutex<Pace>>);

#[derive(Default)]
struct Pace {
    began: Option<(Instant, usize)>,
    said: Option<Instant>,
    solved: usize,
    heard: usize,
}

impl Progress for Narrator {
    fn ended(&self, result: &EpisodeResult, done: usize, of: usize) {
        let mut pace = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let (began, at) = *pace.began.get_or_insert((now, done));
        pace.heard += 1;
        pace.solved += usize::from(result.is_solved());
        if !result.is_solved() {
            let why = result.why.as_deref().unwrap_or_default();
            progress::say(&plain(&format!("{}: {:?}: {why}", result.key(), result.outcome)));
        }
        let is_due = pace.said.is_none_or(|said| now - said >= PACE) || done == of;
        if !is_due {
            return;
        }
        pace.said = Some(now);
        #[expect(clippy::cast_precision_loss, reason = "counts of episodes are far below 2^52")]
        let per_second = (done - at) as f64 / (now - began).as_secs_f64().max(0.001);
        #[expect(clippy::cast_precision_loss, reason = "counts of episodes are far below 2^52")]
        let left = if per_second > 0.0 {
            format!(", {:.0} a minute, {:.0} s left", per_second * 60.0, (of - done) as f64 / per_second)
        } else {
            String::new()
        };
        let line = format!("{done} of {of}: {} of {} solved{left}", pace.solved, pace.heard);
        if std::io::stderr().is_terminal() && done < of {
            progress::say(&format!("\u{1b}[1A\u{1b}[2K{line}"));
        } else {
            progress::say(&line);
        }
    }
}
