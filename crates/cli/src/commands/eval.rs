//! `cuebook eval`: episodes of suites, judged by their applications, in numbers.

use std::collections::BTreeMap;
use std::io::IsTerminal as _;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use cuebook::measured::Agents;
use cuebook::{AgentBuilder, Engine, PlannerConfig};
use cuebook_datalayer::metrics::{Collector, Summary as Metrics};
use cuebook_datalayer::{Entries, RunDir};
use cuebook_eval::{
    Assignment, BoxError, Comparison, EpisodeResult, EvalError, EvalResults, Options, Oracle, Progress, Quiet, Suite,
    Summary, run as evaluate,
};
use cuebook_grammar::report::ErrorCode;
use cuebook_grammar::seam::boxed::BoxedPlanner;
use cuebook_repair::Budgets;
use serde::Serialize;
use serde_json::{Value, json};

use crate::args::{EvalArgs, EvalCommand, EvalPlanner, EvalRunArgs, PlannerArg};
use crate::browser::launch_options;
use crate::engines;
use crate::exit::{Exit, Output, Refusal, print_json, print_text};
use crate::progress;
use crate::simulated::{Caught, Simulated, State, Tally};
use crate::text::{plain, with_sources};

/// The version of the document of `--json`, raised as those of records are.
const VERSION: &str = "1.0";
/// Lines of progress are at least this far apart.
const PACE: Duration = Duration::from_secs(2);

/// What `--json` prints, and `summary.json` holds.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Document<'a> {
    schema_version: &'static str,
    program: &'static str,
    planner: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    seeds: Option<(u64, u64)>,
    repair: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    drift: Option<String>,
    #[serde(flatten)]
    summary: &'a Summary,
    /// Errors that were put into answers, and how many of them were refused before anything ran.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    errors: BTreeMap<String, Caught>,
    /// What the logs of the runs say.
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
    let before = args.baseline.as_deref().map(|path| EvalResults::read([path])).transpose().map_err(refused)?;
    if args.fresh && args.out.exists() {
        std::fs::remove_dir_all(&args.out).map_err(|error| cannot_write(&args.out, &error))?;
    }
    keep_settings(args, &source.name())?;
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
    let (runs, budgets) = (args.out.join("runs"), budgets(args.no_repair));
    let layers = |builder: AgentBuilder, assignment: &Assignment| -> Result<AgentBuilder, BoxError> {
        let planner = source.planner(assignment)?;
        let builder = builder.runs_in(&runs).budgets(budgets);
        Ok(match &args.errors {
            None => builder.planner(planner),
            Some(errors) => builder.planner(Simulated {
                planner,
                errors: errors.clone(),
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
        planner: source.name(),
        seeds: Some((args.seeds.start, args.seeds.end)),
        repair: !args.no_repair,
        drift: args.drift.as_ref().map(ToString::to_string),
        summary: &results.summary(),
        errors,
        metrics: Some(metrics(&results)),
        comparison: before.map(|before| Comparison::of(&before, &results)),
    };
    let is_worse = document.comparison.as_ref().is_some_and(Comparison::is_worse);
    finish(&document, &results, &args.out, output)?;
    Ok(if is_worse { Exit::FAILED } else { Exit::OK })
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
        Some(_) => Err(Refusal::invalid(ErrorCode::Usage, "--queue needs a build with the feature `remote`")),
        None => Ok(()),
    }
}

fn budgets(no_repair: bool) -> Budgets {
    let budgets = Budgets::default();
    if no_repair { Budgets { repairs_per_step: 0, repairs_per_run: 0, ..budgets } } else { budgets }
}

/// Notes what the results depend on. Results with other settings in the same directory would be taken for these.
fn keep_settings(args: &EvalRunArgs, planner: &str) -> Result<(), Refusal> {
    let drift = args.drift.as_ref().map(ToString::to_string);
    let errors = args.errors.as_ref().map(ToString::to_string);
    let settings = json!({ "planner": planner, "repair": !args.no_repair, "drift": drift, "errors": errors });
    let (path, out) = (args.out.join("evaluation.json"), plain(&args.out.display().to_string()));
    let other = |what: &str| {
        let message = format!("{out} holds results {what}: use another --out, or --fresh to start over");
        Err(Refusal::invalid(ErrorCode::Usage, message))
    };
    match std::fs::read_to_string(&path) {
        Ok(text) if serde_json::from_str::<Value>(&text).is_ok_and(|known| known == settings) => Ok(()),
        Ok(text) => other(&format!("of an evaluation with other settings, {}", plain(text.trim()))),
        Err(_) if args.out.join("episodes.jsonl").exists() => other("whose settings are not known"),
        Err(_) => std::fs::create_dir_all(&args.out)
            .and_then(|()| std::fs::write(&path, format!("{settings}\n")))
            .map_err(|error| cannot_write(&args.out, &error)),
    }
}

/// The built-in suite of this name, or a file.
fn suite(name: &str) -> Result<Suite, Refusal> {
    let path = Path::new(name);
    let is_file = path.extension().is_some() || name.contains(std::path::MAIN_SEPARATOR);
    if is_file { Suite::read(path) } else { Suite::built_in(name) }.map_err(refused)
}

/// Where planners come from.
enum Source {
    /// What the suite says.
    Oracle,
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
            Ok(Source::Oracle)
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
            // What is wrong with it is wrong with every episode.
            config.planner().map_err(engines::refusal)?;
            Ok(Source::Config(Box::new(config)))
        }
    }
}

impl Source {
    fn planner(&self, assignment: &Assignment) -> Result<Box<dyn BoxedPlanner>, BoxError> {
        match (self, &assignment.script, &assignment.suite.planner) {
            (Self::Config(config), _, _) => Ok(config.planner()?),
            (Self::Oracle, Some(script), _) => {
                Ok(Box::new(Oracle::new(script.clone()).knowing(&assignment.suite.alike)))
            }
            (Self::Oracle, None, Some(words)) => {
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
            (Self::Oracle, None, None) => Err("the suite does not say how the task is done".into()),
        }
    }

    fn name(&self) -> String {
        match self {
            Self::Oracle => "oracle".to_owned(),
            Self::Config(config) => match config.model() {
                Some(model) => format!("{} {}", config.engine.as_str(), plain(model)),
                None => config.engine.as_str().to_owned(),
            },
        }
    }
}

/// What the logs of the episodes say. A log that cannot be read is left out with a note.
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

fn merge(parts: &[std::path::PathBuf], out: &Path, output: Output) -> Result<Exit, Refusal> {
    let results = EvalResults::read(parts.iter().map(AsRef::as_ref)).map_err(refused)?;
    let lines: Result<Vec<String>, _> = results.episodes.iter().map(serde_json::to_string).collect();
    let lines = lines.map_err(|error| cannot_write(out, &error.into()))?;
    let write = || {
        std::fs::create_dir_all(out)?;
        std::fs::write(out.join("episodes.jsonl"), format!("{}\n", lines.join("\n")))
    };
    write().map_err(|error| cannot_write(out, &error))?;
    let document = Document {
        schema_version: VERSION,
        program: env!("CARGO_PKG_VERSION"),
        planner: "merged".to_owned(),
        seeds: None,
        repair: true,
        drift: None,
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
        std::fs::write(out.join("summary.svg"), document.summary.to_svg())?;
        std::fs::write(out.join("summary.md"), &text)
    };
    write().map_err(|error| cannot_write(out, &error))?;
    if output.json {
        print_json(document);
    } else {
        print_text(&plain_text(&text));
    }
    Ok(())
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
