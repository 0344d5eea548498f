//! Sessions that stay: `start`, `serve`, `sessions`, and the commands on an open one.

use std::io::Read as _;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use cuebook_datalayer::RunDir;
use cuebook_grammar::deadline::Deadline;
use cuebook_grammar::report::{ErrorCode, RunReport, RunResult};
use cuebook_grammar::seam::{Confirm as _, ConfirmReply, ConfirmRequest};
use cuebook_repair::now_ms;
use cuebook_session::{Answer, Client, Entry, Listener, Registry, Reply, serve};
use cuebook_view::Questions;
use serde_json::Map;

use super::mcp::Opening;
use super::place::{not_open, place, registry, unreadable};
use crate::args::{SessionName, StartArgs, VerbCall};
use crate::confirm::Terminal;
use crate::exit::{Exit, Output, Refusal, print_json, print_text};
use crate::interrupt::Signals;
use crate::progress::{counted, say};
use crate::text::{plain, plain_lines};
use crate::watch;

/// Time for a session to start: that of a browser, and some.
const STARTING: Duration = Duration::from_secs(45);
/// How often it is looked for.
const BEAT: Duration = Duration::from_millis(20);
/// The console of whoever starts a session, and what stops it, is not the session's.
#[cfg(windows)]
const DETACHED_PROCESS: u32 = 0x8;
#[cfg(windows)]
const CREATE_NEW_PROCESS_GROUP: u32 = 0x200;
/// Time for an answer to a question.
const PATIENCE: Duration = Duration::from_secs(60);

/// Starts a session with the flags of this command.
pub(crate) async fn start(args: StartArgs, output: Output) -> Exit {
    let started = async {
        let (registry, name) = place(&args.name)?;
        if registry.find(&name).is_some() {
            let why = format!("the session {name} is open already; `cuebook close -s {name}` ends it");
            return Err(Refusal::invalid(ErrorCode::Usage, why));
        }
        // The same words again, but for the command and the name.
        let flags: Vec<_> =
            std::env::args_os().skip_while(|word| word != "start" && word != "attach").skip(1).collect();
        if !spawn(&registry, &name, &flags).await? {
            let why = format!("the session {name} was opened by another command; `cuebook close -s {name}` ends it");
            return Err(Refusal::invalid(ErrorCode::Usage, why));
        }
        let view = registry.find(&name).and_then(|entry| entry.view);
        Ok((name, view))
    };
    match started.await {
        Ok((name, view)) => {
            print_text(&format!("{name}\n"));
            if let Some(view) = view {
                say(&format!("watch: {view}"));
            }
            Exit::OK
        }
        Err(refusal) => refusal.print(output),
    }
}

/// Serves a session in this process until it is closed.
pub(crate) async fn serve_here(args: StartArgs, output: Output) -> Exit {
    match served(args).await {
        Ok(()) => Exit::OK,
        Err(refusal) => refusal.print(output),
    }
}

async fn served(args: StartArgs) -> Result<(), Refusal> {
    // What stops the shell that it was started from does not stop it.
    #[cfg(unix)]
    rustix::process::setsid().ok();
    let (registry, name) = place(&args.name)?;
    let unusable = |error: std::io::Error| Refusal::unusable(ErrorCode::CannotWrite, error.to_string());
    let socket = registry.socket(&name).map_err(|error| Refusal::invalid(ErrorCode::Usage, error.to_string()))?;
    let is_attached = args.options.browser.cdp.is_some();
    let is_kept = args.options.browser.headed || is_attached;
    let idle = (!is_kept).then_some(args.idle);
    let page_asks = args.watch.watch.then(Questions::default);
    let opening = Opening { options: args.options, page_asks: page_asks.clone() };
    // Before the browser starts, which takes its time: who comes now waits for this session.
    let listener = Listener::at(socket).map_err(unusable)?;
    let opened = async {
        let handle = opening.session(Some(&name)).await?;
        let view = match handle.log().zip(page_asks) {
            Some((log, questions)) => {
                let dir = RunDir::open(Path::new(log)).map_err(|error| super::replay::unreadable(&error))?;
                Some(watch::open(&dir, &args.watch, questions).await?)
            }
            None => None,
        };
        let folder = std::env::current_dir().unwrap_or_default();
        let log = handle.log().map(str::to_owned);
        let page = view.as_ref().map(|view| view.url().to_owned());
        let entry = Entry { is_attached, log, view: page, ..Entry::of_this_process(name.clone(), folder, now_ms()) };
        registry.enter(&entry).map_err(unusable)?;
        Ok((handle, view))
    };
    let (handle, view) = match opened.await {
        Ok(opened) => opened,
        Err(refusal) => {
            listener.close();
            return Err(refusal);
        }
    };
    let mut signals = Signals::listen();
    let ended = serve(handle, listener, idle, async move { signals.next().await }).await;
    registry.leave(&name);
    if let Some(view) = view {
        view.end().await;
    }
    ended.map_err(unusable)
}

/// Lists the open sessions.
pub(crate) fn list(output: Output) -> Exit {
    let sessions = match registry().and_then(|registry| registry.sessions().map_err(|error| unreadable(&error))) {
        Ok(sessions) => sessions,
        Err(refusal) => return refusal.print(output),
    };
    if output.json {
        print_json(&sessions);
        return Exit::OK;
    }
    for entry in &sessions {
        let minutes = now_ms().saturating_sub(entry.since_ms) / 60_000;
        let folder = plain(&entry.folder.display().to_string());
        print_text(&format!("{}  process {}  {minutes} min  {folder}\n", entry.name, entry.process));
    }
    if !output.quiet {
        say(&counted(sessions.len(), "session"));
    }
    Exit::OK
}

/// Carries out a command on an open session. Any but `close` starts one if there is none.
pub(crate) async fn call(call: VerbCall, output: Output) -> Exit {
    match called(call, output).await {
        Ok(exit) => exit,
        Err(refusal) => refusal.print(output),
    }
}

async fn called(call: VerbCall, output: Output) -> Result<Exit, Refusal> {
    let (registry, name) = place(&call.name)?;
    if call.is_for_all {
        let sessions = registry.sessions().map_err(|error| unreadable(&error))?;
        for entry in &sessions {
            close(&registry, &entry.name, output).await?;
        }
        return Ok(Exit::OK);
    }
    let socket = registry.socket(&name).map_err(|error| Refusal::invalid(ErrorCode::Usage, error.to_string()))?;
    let mut client = match Client::connect(&socket).await {
        Ok(client) => client,
        Err(_) if call.tool == "browser_close" => {
            return Err(not_open(&registry, &name)?);
        }
        Err(_) => {
            let is_ours = spawn(&registry, &name, &[]).await?;
            if is_ours && !output.quiet {
                say(&format!("started the session {name}; `cuebook close` ends it"));
            }
            Client::connect(&socket).await.map_err(|error| unreadable(&error))?
        }
    };
    let mut reply = client.call(call.tool, call.arguments).await.map_err(|error| gone(&name, &error))?;
    loop {
        match reply {
            Reply::Question { number, text, grant } => {
                let answer = asked(&text, grant, output);
                reply = client.answer(number, answer).await.map_err(|error| gone(&name, &error))?;
            }
            Reply::Answer(answer) => return Ok(print(&answer, output)),
            Reply::Ended(log) => {
                if let Some(log) = log.filter(|_| !output.quiet) {
                    say(&format!("log: {}", plain(&log)));
                }
                return Ok(Exit::OK);
            }
            Reply::Refused(why) => return Err(Refusal::invalid(ErrorCode::Usage, why)),
            _ => return Err(Refusal::invalid(ErrorCode::Usage, "an answer of another version")),
        }
    }
}

/// Ends a session whose browser stays.
pub(crate) async fn detach(name: &SessionName, output: Output) -> Exit {
    let detached = async {
        let (registry, name) = place(name)?;
        match registry.find(&name) {
            None => Err(not_open(&registry, &name)?),
            Some(entry) if !entry.is_attached => {
                let why = format!("the browser of {name} is its own: `cuebook close -s {name}` ends both");
                Err(Refusal::invalid(ErrorCode::Usage, why))
            }
            Some(_) => close(&registry, &name, output).await,
        }
    };
    match detached.await {
        Ok(()) => Exit::OK,
        Err(refusal) => refusal.print(output),
    }
}

async fn close(registry: &Registry, name: &str, output: Output) -> Result<(), Refusal> {
    let socket = registry.socket(name).map_err(|error| Refusal::invalid(ErrorCode::Usage, error.to_string()))?;
    let mut client = Client::connect(&socket).await.map_err(|error| gone(name, &error))?;
    if let Reply::Refused(why) = client.call("browser_close", Map::new()).await.map_err(|error| gone(name, &error))? {
        return Err(Refusal::invalid(ErrorCode::Usage, why));
    }
    if !output.quiet {
        say(&format!("closed {name}"));
    }
    Ok(())
}

/// Asks the person at the terminal. Without one, nobody here gives consent.
async fn asked(text: &str, grant: Option<String>, output: Output) -> ConfirmReply {
    let request = ConfirmRequest { question: text.to_owned(), grant };
    let deadline = Deadline::after(Instant::now(), PATIENCE);
    Terminal::new(output.json).confirm(&request, deadline).await
}

fn print(answer: &Answer, output: Output) -> Exit {
    if output.json {
        print_json(answer);
    } else {
        print_text(&plain_lines(&answer.to_string()));
        print_text("\n");
    }
    if answer.is_last() {
        say("the browser is gone and the session has ended; the next command starts a new one");
    }
    match (&answer.report, &answer.error) {
        (_, None) => Exit::OK,
        (_, Some(_)) if answer.is_last() => Exit::of(RunResult::Error),
        (Some(report), Some(_)) => Exit::of(RunReport::clone(report).result),
        (None, Some(_)) => Exit::of(RunResult::Invalid),
    }
}

/// Starts the server of a session as a process of its own, and waits until the session has started. Returns `false` if it
/// is another one that a command started in the same moment.
async fn spawn(registry: &Registry, name: &str, flags: &[std::ffi::OsString]) -> Result<bool, Refusal> {
    let unusable = |error: std::io::Error| Refusal::unusable(ErrorCode::NoBrowser, error.to_string());
    let socket = registry.socket(name).map_err(|error| Refusal::invalid(ErrorCode::Usage, error.to_string()))?;
    let messages = registry.messages(name).map_err(|error| Refusal::invalid(ErrorCode::Usage, error.to_string()))?;
    let program = std::env::current_exe().map_err(unusable)?;
    let mut server = std::process::Command::new(program);
    #[cfg(windows)]
    std::os::windows::process::CommandExt::creation_flags(&mut server, DETACHED_PROCESS | CREATE_NEW_PROCESS_GROUP);
    let mut server = server
        .arg("serve")
        .args(flags)
        .env("CUEBOOK_SESSION", name)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(std::fs::OpenOptions::new().append(true).create(true).open(&messages).map_err(unusable)?)
        .spawn()
        .map_err(unusable)?;
    let until = Instant::now() + STARTING;
    loop {
        if let Some(entry) = registry.find(name) {
            return Ok(entry.process == server.id());
        }
        let ended = server.try_wait().map_err(unusable)?;
        let is_starting = ended.is_none() || Client::connect(&socket).await.is_ok();
        if !is_starting || Instant::now() >= until {
            server.kill().ok();
            let mut said = String::new();
            let read = std::fs::File::open(&messages).map(|file| file.take(4_000).read_to_string(&mut said));
            read.ok();
            std::fs::remove_file(&messages).ok();
            let why = match (said.trim().trim_start_matches("error: "), ended) {
                ("", Some(status)) => format!("its process ended ({status})"),
                ("", None) => "it did not start in time".to_owned(),
                (said, _) => plain(said),
            };
            return Err(Refusal::unusable(ErrorCode::NoBrowser, format!("the session {name} did not start: {why}")));
        }
        // Each look at the socket is a connection that another process has to take.
        tokio::time::sleep(if ended.is_some() { BEAT * 10 } else { BEAT }).await;
    }
}

fn gone(name: &str, error: &std::io::Error) -> Refusal {
    // It was never sent.
    if error.kind() == std::io::ErrorKind::InvalidInput {
        return Refusal::invalid(ErrorCode::Usage, error.to_string());
    }
    let why = format!("the session {name} ended meanwhile: {error}; the next command starts a new one");
    Refusal::unusable(ErrorCode::BrowserGone, why)
}
