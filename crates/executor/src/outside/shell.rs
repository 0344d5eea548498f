//! Declared commands.

use std::ffi::OsStr;
use std::process::Stdio;
use std::time::{Duration, Instant};

use cuebook_grammar::outcome::{Cause, Stage, StepFailure};
use cuebook_grammar::policy::{CommandLine, Policy};
use serde_json::json;
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::{Child, Command};

use super::{Done, blocked, failure, out_of_time, told};

/// How long the output of a command is read after its end: what it left running may hold it open.
const GRACE: Duration = Duration::from_millis(500);

/// Runs a command, and tells its exit code and outputs.
pub(super) async fn run(policy: &Policy, line: &str, path: Option<&OsStr>, limit: usize, until: Instant) -> Done {
    let outside = policy.outside();
    let mut command = match outside.command(line).map_err(blocked)? {
        CommandLine::Program { program, args } => {
            let mut command = Command::new(program);
            command.args(args);
            command
        }
        CommandLine::Shell(line) => shell(&line),
    };
    command.env_clear().stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    if let Some(path) = path {
        command.env("PATH", path);
    }
    if let Some(root) = outside.write_roots.iter().chain(&outside.read_roots).next() {
        command.current_dir(root);
    }
    #[cfg(unix)]
    command.process_group(0);
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => {
            return failure(Cause::InvalidArgument, format!("expected a command that can be started: {error}"));
        }
    };
    let group = Group::of(&child);
    let outputs = (child.stdout.take(), child.stderr.take());
    let mut reading = Box::pin(async {
        let (out, err) = tokio::join!(kept(outputs.0, limit), kept(outputs.1, limit));
        (out, err)
    });
    // The outputs are read while the command runs: one that is full would hold it up.
    let mut read = None;
    let status = loop {
        tokio::select! {
            status = child.wait() => break status,
            told = &mut reading, if read.is_none() => read = Some(told),
            () = tokio::time::sleep_until(until.into()) => {
                drop(group);
                return out_of_time();
            }
        }
    };
    let end = until.min(Instant::now() + GRACE);
    if read.is_none() {
        read = tokio::time::timeout_at(end.into(), &mut reading).await.ok();
    }
    drop(group);
    let status = match status {
        Ok(status) => status,
        Err(error) => return failure(Cause::EffectUnknown, format!("expected a command that ends: {error}")),
    };
    let was_held = read.is_none();
    let (out, err) = read.unwrap_or_default();
    if !status.success() {
        let seen = status.code().map_or_else(|| "a signal".to_owned(), |code| format!("exit code {code}"));
        let start: String = String::from_utf8_lossy(&err.bytes).chars().take(500).collect();
        let mut failed =
            StepFailure::new(Stage::Act, Cause::PostconditionFailed, format!("expected exit code 0, saw {seen}"));
        failed.facts.expected = Some("exit code 0".to_owned());
        failed.facts.seen = Some(if start.is_empty() { seen } else { format!("{seen}: {start}") });
        return Err(Box::new(failed));
    }
    let left_out = out.left_out.saturating_add(err.left_out);
    let mut data = json!({ "exitCode": status.code(), "stdout": told(out.bytes), "stderr": told(err.bytes) });
    if left_out > 0 || was_held {
        data["truncated"] = json!({ "bytes": left_out, "stillOpen": was_held });
    }
    Ok(data)
}

#[cfg(unix)]
fn shell(line: &str) -> Command {
    let mut command = Command::new("/bin/sh");
    command.arg("-c").arg(line);
    command
}

#[cfg(not(unix))]
fn shell(line: &str) -> Command {
    let mut command = Command::new("cmd");
    command.arg("/C").arg(line);
    command
}

/// One output: its beginning, and how much came after.
#[derive(Debug, Default)]
struct Output {
    bytes: Vec<u8>,
    left_out: u64,
}

async fn kept(stream: Option<impl AsyncRead + Unpin>, limit: usize) -> Output {
    let mut output = Output::default();
    let Some(mut stream) = stream else { return output };
    let mut chunk = vec![0; 16 << 10];
    while let Ok(count @ 1..) = stream.read(&mut chunk).await {
        let room = limit.saturating_sub(output.bytes.len()).min(count);
        output.bytes.extend(chunk.iter().take(room));
        output.left_out = output.left_out.saturating_add(u64::try_from(count - room).unwrap_or(u64::MAX));
    }
    output
}

/// Everything that a command started, ended when this is dropped.
struct Group {
    #[cfg(unix)]
    leader: Option<rustix::process::Pid>,
}

impl Group {
    #[cfg(unix)]
    fn of(child: &Child) -> Self {
        let leader = child.id().and_then(|id| i32::try_from(id).ok()).and_then(rustix::process::Pid::from_raw);
        Self { leader }
    }

    #[cfg(not(unix))]
    fn of(_: &Child) -> Self {
        Self {}
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        #[cfg(unix)]
        if let Some(leader) = self.leader {
            // Nobody of the group may be left; that is no error.
            let _ = rustix::process::kill_process_group(leader, rustix::process::Signal::KILL);
        }
    }
}
