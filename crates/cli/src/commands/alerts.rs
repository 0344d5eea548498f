//! `cuebook watch`: says when the rates of recorded runs break a rule, and when they recover.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use std::{fs, io};

use cuebook_datalayer::metrics::{Alert, AlertState, Limit, Rules, RunFacts};
use cuebook_datalayer::{DataError, Entries, FileLock, RunDir};
use cuebook_grammar::report::ErrorCode;
use serde::Serialize;
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;
use tokio::time::timeout;

use super::stats::value;
use crate::args::AlertsArgs;
use crate::config::edit::{Readers, replace};
use crate::exit::{Exit, Output, Refusal, print_json, print_text};
use crate::input;
use crate::progress::say;
use crate::text::{plain, with_sources};

/// How long a command or a server may take for one alert.
const LIMIT: Duration = Duration::from_secs(10);
/// The state, beside the runs.
const STATE: &str = "cuebook-watch.json";

/// Document that `--once --json` prints.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Looked {
    /// Those that began or recovered since the last look.
    alerts: Vec<Alert>,
    active: Vec<Alert>,
    /// Alerts that could not be delivered, which the next look tries again.
    undelivered: usize,
}

pub(crate) async fn run(args: AlertsArgs, output: Output) -> Exit {
    match watched(&args, output).await {
        Ok(exit) => exit,
        Err(refusal) => refusal.print(output),
    }
}

async fn watched(args: &AlertsArgs, output: Output) -> Result<Exit, Refusal> {
    let shown = |path: &Path| plain(&path.display().to_string());
    let malformed = |path: &Path, error: &dyn std::fmt::Display| {
        Refusal::invalid(ErrorCode::Malformed, format!("{}: {}", shown(path), plain(&error.to_string())))
    };
    let text = input::text(&args.rules)?;
    let rules = Rules::parse(&text).map_err(|error| malformed(&args.rules, &error))?;
    if args.prometheus {
        print_text(&rules.to_prometheus());
        return Ok(Exit::OK);
    }
    #[cfg(not(any(feature = "fetch", feature = "models")))]
    if args.webhook.is_some() {
        let message = "--webhook needs a build with the feature `fetch` or `models`: this one has no HTTP client";
        return Err(Refusal::invalid(ErrorCode::Usage, message));
    }
    let Some(first) = args.runs.first() else {
        return Err(Refusal::invalid(ErrorCode::Usage, "expected directories of runs, or --prometheus"));
    };
    let path = args.state.clone().unwrap_or_else(|| first.join(STATE));
    let locked = FileLock::beside(&path).map_err(|error| {
        let message = format!("cannot lock the state {}: {error}", shown(&path));
        Refusal::unusable(ErrorCode::CannotWrite, message)
    })?;
    let Some(_lock) = locked else {
        let message = format!(
            "another `cuebook watch` keeps its state in {}: stop it, or give each a file by --state",
            shown(&path)
        );
        return Err(Refusal::unusable(ErrorCode::CannotWrite, message));
    };
    let mut state = match fs::read_to_string(&path) {
        Ok(text) => AlertState::from_json(&text).map_err(|error| {
            let how = "remove it to begin anew: all runs are then read again, and active alerts said again";
            malformed(&path, &format!("{error} ({how})"))
        })?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => AlertState::default(),
        Err(error) => return Err(malformed(&path, &error)),
    };
    loop {
        let pending = state.pending.len();
        look(&args.runs, &rules, &mut state)?;
        let said: Vec<Alert> = state.pending.iter().skip(pending).map(|pending| pending.alert.clone()).collect();
        save(&path, &state)?;
        if !state.pending.is_empty() {
            let delivered = deliver(args, output, &mut state).await;
            save(&path, &state)?;
            if let Err(error) = delivered {
                say(&format!("error: {}; the next look tries again", plain(&error)));
            }
        }
        if args.once {
            let is_well = state.active().is_empty() && state.pending.is_empty();
            if output.json {
                let undelivered = state.pending.len();
                print_json(&Looked { alerts: said, active: state.active().to_vec(), undelivered });
            } else {
                state.active().iter().for_each(|alert| say(&format!("active: {}", in_words(alert))));
            }
            return Ok(if is_well { Exit::OK } else { Exit::FAILED });
        }
        tokio::time::sleep(args.every).await;
    }
}

/// Reads the runs that have ended since, and judges.
fn look(paths: &[PathBuf], rules: &Rules, state: &mut AlertState) -> Result<(), Refusal> {
    let unreadable = |error: DataError| Refusal::invalid(ErrorCode::Unreadable, with_sources(&error));
    let mut found = Vec::new();
    for path in paths {
        match RunDir::find(std::slice::from_ref(path)) {
            // The first run is still to come.
            Err(DataError::NoRun { .. }) => {}
            runs => found.extend(runs.map_err(unreadable)?),
        }
    }
    // Absolute, so that another working directory reads nothing again.
    let folder = |run: &RunDir| run.path().canonicalize().ok().map(|path| path.display().to_string());
    let found: Vec<(String, RunDir)> = found.into_iter().filter_map(|run| Some((folder(&run)?, run))).collect();
    for (folder, run) in found.iter().filter(|(folder, _)| !state.has_read(folder)).collect::<Vec<_>>() {
        // A test case counts once it is over.
        if run.is_held() {
            continue;
        }
        // Asked first: a run that ends meanwhile is read at the next look.
        let is_running = run.is_running();
        let Ok(entries) = Entries::open(&run.log_path()) else { continue };
        let (facts, read) = RunFacts::read(folder, entries);
        if is_running && !facts.has_end() {
            continue;
        }
        if let Err(error) = read {
            say(&format!("note: {}: {}", plain(folder), with_sources(&error)));
        }
        state.add(facts);
    }
    state.retain_read(|read| found.iter().any(|(folder, _)| folder == read) || Path::new(read).exists());
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
    state.judge(rules, u64::try_from(now).unwrap_or(u64::MAX));
    Ok(())
}

fn save(path: &Path, state: &AlertState) -> Result<(), Refusal> {
    let text = state.to_json().map_err(io::Error::from);
    text.and_then(|text| replace(path, &text, Readers::Owner)).map_err(|error| {
        let message = format!("cannot write the state {}: {error}", plain(&path.display().to_string()));
        Refusal::unusable(ErrorCode::CannotWrite, message)
    })
}

/// Delivers what is pending, the oldest first, until something fails.
async fn deliver(args: &AlertsArgs, output: Output, state: &mut AlertState) -> Result<(), String> {
    while let Some(pending) = state.pending.first_mut() {
        let alert = &pending.alert;
        let document = serde_json::to_string(alert).map_err(|error| error.to_string())?;
        if let Some(words) = args.exec.as_ref().filter(|_| !pending.executed) {
            execute(&words.0, &document).await?;
            pending.executed = true;
        }
        if let Some(url) = &args.webhook {
            post(url, document).await?;
        } else if args.exec.is_none() && !output.json {
            print_text(&format!("{}\n", in_words(alert)));
        } else if args.exec.is_none() && !args.once {
            print_text(&format!("{}\n", crate::text::json_plain(&document)));
        }
        state.pending.remove(0);
    }
    Ok(())
}

/// Runs a command with the alert on its standard input. Its standard output is dropped, and errors are shown.
async fn execute(words: &[String], document: &str) -> Result<(), String> {
    let (program, arguments) = words.split_first().ok_or("--exec: expected a command")?;
    let failed = |why: String| format!("--exec {program}: {why}");
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::null()).kill_on_drop(true);
    let mut child = command.spawn().map_err(|error| failed(error.to_string()))?;
    let ended = async {
        if let Some(mut stdin) = child.stdin.take() {
            // A command need not read it.
            stdin.write_all(document.as_bytes()).await.ok();
        }
        child.wait().await
    };
    match timeout(LIMIT, ended).await {
        Err(_) => Err(failed(format!("it took longer than {} s", LIMIT.as_secs()))),
        Ok(Err(error)) => Err(failed(error.to_string())),
        Ok(Ok(status)) if !status.success() => Err(failed(status.to_string())),
        Ok(Ok(_)) => Ok(()),
    }
}

/// Posts the alert. The URL may hold a secret, and no message names it.
#[cfg(any(feature = "fetch", feature = "models"))]
async fn post(url: &str, document: String) -> Result<(), String> {
    let failed = |error: reqwest::Error| format!("--webhook: {}", with_sources(&error.without_url()));
    let redirect = reqwest::redirect::Policy::none();
    let client = reqwest::Client::builder().timeout(LIMIT).redirect(redirect).build().map_err(failed)?;
    let request = client.post(url).header("content-type", "application/json").body(document);
    let status = request.send().await.map_err(failed)?.status();
    if status.is_success() { Ok(()) } else { Err(format!("--webhook: the server answered with status {status}")) }
}

#[cfg(not(any(feature = "fetch", feature = "models")))]
async fn post(_: &str, _: String) -> Result<(), String> {
    Err("--webhook: this build has no HTTP client".to_owned())
}

fn in_words(alert: &Alert) -> String {
    let shown = |rate: Option<f64>| rate.map_or_else(|| "not counted".to_owned(), |rate| value(alert.measure, rate));
    let limit = match alert.limit {
        Limit::Min(limit) => format!("at least {}", value(alert.measure, limit)),
        Limit::Max(limit) => format!("at most {}", value(alert.measure, limit)),
        Limit::Drop(by) => format!("worse by at most {:.1} %", by * 100.0),
    };
    let group = alert.group.as_ref().map_or_else(String::new, |group| format!(" of {group}"));
    let (rule, rate, now, before) = (&alert.rule, &alert.rate, shown(alert.now), shown(alert.before));
    if let Some(why) = &alert.withdrawn {
        return plain(&format!("withdrawn: {rule}: {rate}{group} (limit: {limit}): {why}"));
    }
    let state = if alert.active { "alert" } else { "recovered" };
    let mut text = plain(&format!(
        "{state}: {rule}: {rate}{group} is {now} in {} runs, was {before} (limit: {limit})",
        alert.runs
    ));
    for folder in alert.evidence.iter().filter(|_| alert.active) {
        text.push_str("\n  ");
        text.push_str(&plain(folder));
    }
    text
}
