//! A program as planner, in any language: a line of JSON to its standard input for each request, lines of JSON back.
//!
//! A request is a [`PlannerInput`](cuebook_grammar::planner_input::PlannerInput). An answer is a whole plan in one
//! line, in any form that `cuebook check` reads, or lines of these forms:
//!
//! | line | meaning |
//! |---|---|
//! | `{"drafts": [plan, plan, plan]}` | up to three plans, the best first, where the request has a failure; ends the answer |
//! | `{"type": "click", …}` or `{"tool": "click", "args": {…}}` | a step, as soon as it is known |
//! | `{"reasoning": "…"}` | a summary of the reasoning, for the log; after `Remember:`, for the next request |
//! | `{"usage": {"inputTokens": 1, "outputTokens": 2}}` | the tokens so far |
//! | `{"refusal": "…"}` | there is no plan, and why; ends the answer |
//! | `{"done": true}` | ends the answer; may hold `reasoning` and `usage` |
//!
//! Needs a Tokio runtime with its timer and I/O.
//!
//! Invariants:
//! - No shell reads the command. The program lives until the engine is dropped, and its process group dies with it, or
//!   with a plan that ends without an answer.
//! - A program that crashed is started once more in a run. One that ends with exit code 0 between two answers is
//!   started again each time.
//! - An answer never mixes with the one before: its rest is read or the program is ended.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use cuebook_decoding::read::{Form, form_of};
use cuebook_grammar::render::one_line;
use cuebook_grammar::wire;
use serde::Deserialize;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, ChildStdin, Command};
use tokio::sync::{OwnedMutexGuard, mpsc};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::converse::{ChatEngine, ChatEvent, ChatRequest, ChatStream, Dialect, EngineError, Finish};

/// Upper bound of a line in bytes.
const MAX_LINE: usize = 1 << 20;
/// Lines that are read ahead.
const AHEAD: usize = 16;
/// The last lines of standard error that an error states, and the most characters of each.
const SAID: (usize, usize) = (5, 200);
/// How long a program that closed its standard output may take to end.
const LAST: Duration = Duration::from_millis(300);

/// A program that plans.
#[derive(Debug)]
pub struct Process {
    words: Vec<String>,
    withheld: Vec<OsString>,
    shown: String,
    state: Arc<tokio::sync::Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    running: Option<Running>,
    crashes: u32,
}

/// The program while it runs. Dropping it ends its process group.
#[derive(Debug)]
struct Running {
    child: Child,
    #[cfg(unix)]
    group: Option<rustix::process::Pid>,
    stdin: ChildStdin,
    lines: mpsc::Receiver<Line>,
    /// The last lines of its standard error, and the task that reads it.
    said: Arc<Mutex<VecDeque<String>>>,
    listening: JoinHandle<()>,
    /// `true` if the last request still has to be answered.
    owes: bool,
}

#[derive(Debug)]
enum Line {
    Whole(Vec<u8>),
    TooLong,
}

impl Process {
    /// The program of these words: a program and its arguments. It starts with the first request, in the current
    /// directory, with the environment of this process but for the variables `withheld`.
    pub fn new(words: Vec<String>, withheld: impl IntoIterator<Item = OsString>) -> Self {
        // What follows a flag may be a key, and messages are logged.
        let shown = words.iter().take_while(|word| !word.starts_with('-')).map(String::as_str);
        let shown = one_line(&shown.collect::<Vec<_>>().join(" "), 120);
        Self { words, withheld: withheld.into_iter().collect(), shown, state: Arc::default() }
    }

    fn start(&self) -> Result<Running, EngineError> {
        let unstarted = |error: std::io::Error| EngineError::NotStarted(Box::new(error));
        let lost = || unstarted(std::io::Error::other("its pipes are missing"));
        let (program, arguments) =
            self.words.split_first().ok_or_else(|| unstarted(std::io::Error::other("the command is empty")))?;
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        for name in &self.withheld {
            command.env_remove(name);
        }
        // Ctrl-C in a terminal reaches only us; we end the group.
        #[cfg(unix)]
        command.process_group(0);
        let mut child = command.spawn().map_err(unstarted)?;
        let stdin = child.stdin.take().ok_or_else(lost)?;
        let (out, err) = (child.stdout.take().ok_or_else(lost)?, child.stderr.take().ok_or_else(lost)?);
        let (sender, lines) = mpsc::channel(AHEAD);
        tokio::spawn(async move {
            let mut out = BufReader::new(out);
            while let Some(line) = next_line(&mut out).await {
                let is_last = matches!(line, Line::TooLong);
                if sender.send(line).await.is_err() || is_last {
                    return;
                }
            }
        });
        let said = Arc::new(Mutex::new(VecDeque::new()));
        let kept = said.clone();
        let listening = tokio::spawn(async move {
            let mut err = BufReader::new(err);
            while let Some(line) = next_line(&mut err).await {
                let Line::Whole(line) = line else { continue };
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                kept.push_back(one_line(&String::from_utf8_lossy(&line), SAID.1));
                if kept.len() > SAID.0 {
                    kept.pop_front();
                }
            }
        });
        Ok(Running {
            #[cfg(unix)]
            group: child.id().and_then(|id| i32::try_from(id).ok()).and_then(rustix::process::Pid::from_raw),
            child,
            stdin,
            lines,
            said,
            listening,
            owes: false,
        })
    }
}

/// The next line without its end; `None` at the end of the stream.
async fn next_line(stream: &mut BufReader<impl AsyncRead + Unpin>) -> Option<Line> {
    let mut line = Vec::new();
    let bound = u64::try_from(MAX_LINE).unwrap_or(u64::MAX).saturating_add(1);
    let count = stream.take(bound).read_until(b'\n', &mut line).await.unwrap_or(0);
    if count == 0 {
        return None;
    }
    if line.last() == Some(&b'\n') {
        line.pop();
    } else if count > MAX_LINE {
        return Some(Line::TooLong);
    }
    Some(Line::Whole(line))
}

impl State {
    /// Takes note that the program is gone.
    async fn exited(&mut self) -> EngineError {
        let Some(mut running) = self.running.take() else { return EngineError::Cut };
        let status = timeout(LAST, running.child.wait()).await.ok().and_then(Result::ok);
        // What it wrote last may still be on its way; a process that it left running may hold the pipe open.
        drop(timeout(LAST, &mut running.listening).await);
        let is_clean = status.is_some_and(|status| status.success());
        self.crashes = self.crashes.saturating_add(u32::from(!is_clean));
        let said = running.said.lock().unwrap_or_else(PoisonError::into_inner);
        let said = said.iter().map(String::as_str).collect::<Vec<_>>().join(" / ");
        EngineError::Exited { how: how(status), said, restarts: self.crashes <= 1 }
    }
}

fn how(status: Option<ExitStatus>) -> String {
    match status.map(|status| status.code()) {
        Some(Some(code)) => format!("exit code {code}"),
        Some(None) => "by a signal".to_owned(),
        None => "it closed its standard output".to_owned(),
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        #[cfg(unix)]
        if let Some(leader) = self.group {
            // An empty group is not an error.
            let _ = rustix::process::kill_process_group(leader, rustix::process::Signal::KILL);
        }
    }
}

impl ChatEngine for Process {
    type Stream = ProcessStream;

    fn name(&self) -> &'static str {
        "process"
    }

    fn model(&self) -> Option<&str> {
        None
    }

    fn address(&self) -> Option<&str> {
        Some(&self.shown)
    }

    fn dialect(&self) -> Dialect {
        Dialect::Document
    }

    async fn open(&self, request: &ChatRequest<'_>) -> Result<ProcessStream, EngineError> {
        let line = line_of(request)?;
        let mut stream = ProcessStream {
            state: self.state.clone().lock_owned().await,
            events: VecDeque::new(),
            steps: 0,
            reasoning: Vec::new(),
        };
        // One that ended of itself between two answers takes one request at a time.
        if let Some(running) = &mut stream.state.running
            && !running.owes
            && matches!(running.child.try_wait(), Ok(Some(status)) if status.success())
        {
            stream.state.running = None;
        }
        while stream.state.running.as_ref().is_some_and(|running| running.owes) {
            stream.read().await?;
            stream.events.clear();
            stream.steps = 0;
        }
        let running = match &mut stream.state.running {
            Some(running) => running,
            none => none.insert(self.start()?),
        };
        while running.lines.try_recv().is_ok() {}
        running.owes = true;
        let written = async {
            running.stdin.write_all(line.as_bytes()).await?;
            running.stdin.flush().await
        };
        match written.await {
            Ok(()) => Ok(stream),
            Err(_) => Err(stream.state.exited().await),
        }
    }

    fn abandon(&self) {
        if let Ok(mut state) = self.state.try_lock() {
            state.running = None;
        }
    }
}

/// The document, with the picture if there is one.
fn line_of(request: &ChatRequest<'_>) -> Result<String, EngineError> {
    let unfit = |error: serde_json::Error| EngineError::Request(Box::new(error));
    let Some(message) = request.messages.last() else { return Ok("\n".to_owned()) };
    let Some(image) = message.images.first() else { return Ok(format!("{}\n", message.text)) };
    let mut document: Value = serde_json::from_str(&message.text).map_err(unfit)?;
    let bytes = base64::engine::general_purpose::STANDARD.encode(&image.bytes);
    // Beside the features, if there are any.
    document["context"]["visual"]["screenshot"] = bytes.into();
    document["context"]["visual"]["media_type"] = image.media_type.as_str().into();
    Ok(format!("{document}\n"))
}

/// An answer of a program.
#[derive(Debug)]
pub struct ProcessStream {
    state: OwnedMutexGuard<State>,
    events: VecDeque<ChatEvent>,
    /// Steps that came in lines of their own.
    steps: usize,
    /// The reasoning that came in lines of its own, which is the plan's.
    reasoning: Vec<String>,
}

/// A line that is no plan and no step.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Remark {
    #[serde(default)]
    reasoning: Option<String>,
    #[serde(default)]
    usage: Option<Tokens>,
    #[serde(default)]
    refusal: Option<String>,
    #[serde(default)]
    done: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Tokens {
    #[serde(default)]
    input_tokens: u64,
    #[serde(default)]
    output_tokens: u64,
}

impl ProcessStream {
    /// Reads one line into events.
    async fn read(&mut self) -> Result<(), EngineError> {
        let line = match &mut self.state.running {
            Some(running) => running.lines.recv().await,
            None => None,
        };
        let line = match line {
            None => return Err(self.state.exited().await),
            Some(Line::TooLong) => {
                self.state.running = None;
                return Err(EngineError::TooLong { bound: MAX_LINE });
            }
            Some(Line::Whole(line)) => line,
        };
        let line = String::from_utf8_lossy(&line);
        let read = self.understood(line.trim());
        if read.is_err() {
            // Nobody knows where its next answer begins.
            self.state.running = None;
        }
        read
    }

    fn understood(&mut self, line: &str) -> Result<(), EngineError> {
        if line.is_empty() {
            self.events.push_back(ChatEvent::Alive);
            return Ok(());
        }
        let bad = |seen: String| EngineError::BadFormat {
            expected: "a line of JSON that is a plan, a step, or a remark (reasoning, usage, refusal, done)",
            seen,
        };
        let value = wire::parse(line).map_err(|error| bad(format!("`{}` ({error})", one_line(line, 120))))?;
        let has = |name: &str| value.get(name).is_some();
        if value.is_array() || has("steps") || has("last") || has("drafts") || form_of(line) == Form::ToolCalls {
            let is_silent = (has("steps") || has("last")) && !has("reasoningSummary") && !has("reasoning_summary");
            let text = match (self.reasoning.join("\n\n"), line.strip_prefix('{')) {
                (said, Some(rest)) if is_silent && !said.is_empty() => {
                    format!("{{\"reasoningSummary\":{},{rest}", Value::from(said))
                }
                _ => line.to_owned(),
            };
            self.events.push_back(ChatEvent::Text(text));
            self.end(Finish::Stop);
        } else if has("type") || has("tool") {
            let front = if self.steps == 0 { "{\"steps\":[" } else { "," };
            self.steps += 1;
            self.events.push_back(ChatEvent::Text(format!("{front}{line}")));
        } else {
            let remark: Remark =
                wire::read(value).map_err(|error| bad(format!("`{}` ({error})", one_line(line, 120))))?;
            self.remark(remark);
        }
        Ok(())
    }

    fn remark(&mut self, remark: Remark) {
        self.reasoning.extend(remark.reasoning.clone().filter(|said| !said.trim().is_empty()));
        self.events.extend(remark.reasoning.map(ChatEvent::Reasoning));
        let usage =
            remark.usage.map(|tokens| ChatEvent::Usage { input: tokens.input_tokens, output: tokens.output_tokens });
        self.events.extend(usage);
        if let Some(reason) = remark.refusal {
            self.events.push_back(ChatEvent::Refusal(reason));
            self.end(Finish::Refused);
        } else if remark.done {
            let end = if self.steps == 0 { "{\"steps\":[]" } else { "]" };
            let reasoning = match &*self.reasoning.join("\n\n") {
                "" => String::new(),
                said => format!(",\"reasoningSummary\":{}", Value::from(said)),
            };
            self.events.push_back(ChatEvent::Text(format!("{end}{reasoning}}}")));
            self.end(Finish::Stop);
        }
    }

    fn end(&mut self, finish: Finish) {
        self.events.push_back(ChatEvent::Done(finish));
        if let Some(running) = &mut self.state.running {
            running.owes = false;
        }
    }
}

impl ChatStream for ProcessStream {
    async fn next(&mut self) -> Result<Option<ChatEvent>, EngineError> {
        while self.events.is_empty() {
            self.read().await?;
        }
        Ok(self.events.pop_front())
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests;
