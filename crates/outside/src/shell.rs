//! Declared commands, and the programs of registered actions.

use std::ffi::OsStr;
use std::process::Stdio;
use std::time::{Duration, Instant};

use cuebook_grammar::Delivery;
use cuebook_grammar::action::Call;
use cuebook_grammar::arguments::Shape;
use cuebook_grammar::outcome::Cause;
use cuebook_grammar::policy::{CommandLine, Outside, Policy};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, Command};

use crate::done::{ActionResult, Failed, content, refused, shown};

/// How long output is read after a command has ended: a process that it left running may hold it open.
const GRACE: Duration = Duration::from_millis(500);

/// Runs a command, and returns its exit code and outputs.
pub(crate) async fn run(
    policy: &Policy,
    line: &str,
    path: Option<&OsStr>,
    limit: usize,
    until: Instant,
) -> ActionResult {
    let outside = policy.outside();
    let command = match outside.command(line).map_err(|denied| Failed::blocked(Delivery::NotSent, denied))? {
        CommandLine::Program { program, args } => {
            let mut command = Command::new(program);
            command.args(args);
            command
        }
        CommandLine::Shell(line) => shell(&line),
    };
    let CommandOutput { out, err, was_held } = ended(command, None, outside, path, limit, until).await?;
    let left_out = out.left_out.saturating_add(err.left_out);
    let mut data = json!({ "exitCode": 0, "stdout": content(out.bytes), "stderr": content(err.bytes) });
    if left_out > 0 || was_held {
        data["truncated"] = json!({ "bytes": left_out, "stillOpen": was_held });
    }
    Ok((Delivery::Sent, data))
}

/// Runs the program of a registered action on arguments that fit its schema, and returns the document that it prints.
pub(crate) async fn call(
    policy: &Policy,
    call: &Call,
    path: Option<&OsStr>,
    limit: usize,
    until: Instant,
) -> ActionResult {
    let name = call.name.as_str();
    let outside = policy.outside();
    let Some((registered, words)) = policy.registered(name).zip(outside.programs.get(name)) else {
        return refused(Delivery::NotSent, Cause::Unsupported, format!("no program carries out `{}`", shown(name, 60)));
    };
    let args = Value::Object(call.args.clone().unwrap_or_default());
    if let Some(misfit) = Shape::read(&registered.schema).and_then(|shape| shape.fit(&args).err()) {
        let message = format!("args{}: {}", misfit.path, misfit.message);
        return refused(Delivery::NotSent, Cause::InvalidArgument, message);
    }
    let mut words = words.iter();
    let mut command = Command::new(words.next().map_or("", String::as_str));
    command.args(words);
    let CommandOutput { out, .. } = ended(command, Some(args.to_string()), outside, path, limit, until).await?;
    let seen = || shown(&String::from_utf8_lossy(&out.bytes), 100);
    if out.left_out > 0 {
        let message = format!("`{name}` printed {} bytes more than the limit of {limit}", out.left_out);
        return refused(Delivery::Sent, Cause::PostconditionFailed, message);
    }
    match serde_json::from_slice(&out.bytes) {
        Ok(data) => Ok((Delivery::Sent, data)),
        Err(error) => {
            let message = format!("`{name}` printed no JSON document: `{}` ({error})", seen());
            refused(Delivery::Sent, Cause::PostconditionFailed, message)
        }
    }
}

/// Outputs of a command that succeeded.
struct CommandOutput {
    out: Output,
    err: Output,
    /// `true` if a process that it left running holds its outputs open.
    was_held: bool,
}

/// Runs a command until it succeeds, without the environment, in a process group of its own.
async fn ended(
    mut command: Command,
    input: Option<String>,
    outside: &Outside,
    path: Option<&OsStr>,
    limit: usize,
    until: Instant,
) -> ActionResult<CommandOutput> {
    let stdin = if input.is_some() { Stdio::piped() } else { Stdio::null() };
    command.env_clear().stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    if let Some(path) = path {
        command.env("PATH", path);
    }
    if let Some(root) = outside.write_roots.iter().chain(&outside.read_roots).next() {
        command.current_dir(root);
    }
    #[cfg(unix)]
    command.process_group(0);
    if Instant::now() >= until {
        return Err(Failed::late(Delivery::NotSent));
    }
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => {
            let message = format!("the command cannot be started: {error}");
            return refused(Delivery::NotSent, Cause::InvalidArgument, message);
        }
    };
    let group = Group::of(&child);
    let (stdin, outputs) = (child.stdin.take(), (child.stdout.take(), child.stderr.take()));
    let mut reading = Box::pin(async {
        let write = async {
            if let Some((mut stdin, input)) = stdin.zip(input) {
                // A program may end without reading its input.
                let _ = stdin.write_all(input.as_bytes()).await;
            }
        };
        let ((), out, err) = tokio::join!(write, kept(outputs.0, limit), kept(outputs.1, limit));
        (out, err)
    });
    // The outputs are read while the command runs: a full pipe would block it.
    let mut read = None;
    let status = loop {
        tokio::select! {
            status = child.wait() => break status,
            outputs = &mut reading, if read.is_none() => read = Some(outputs),
            () = tokio::time::sleep_until(until.into()) => {
                drop(group);
                return Err(Failed::late(Delivery::Sent));
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
        Err(error) => {
            let message = format!("the end of the command cannot be observed: {error}");
            return refused(Delivery::Sent, Cause::EffectUnknown, message);
        }
    };
    let was_held = read.is_none();
    let (out, err) = read.unwrap_or_default();
    if !status.success() {
        let seen = status.code().map_or_else(|| "a signal".to_owned(), |code| format!("exit code {code}"));
        let start: String = String::from_utf8_lossy(&err.bytes).chars().take(500).collect();
        let message = format!("the command ended with {seen}, not exit code 0");
        let mut failed = Failed::new(Delivery::Sent, Cause::PostconditionFailed, message);
        failed.failure.facts.expected = Some("exit code 0".to_owned());
        failed.failure.facts.seen = Some(if start.is_empty() { seen } else { format!("{seen}: {start}") });
        return Err(failed);
    }
    Ok(CommandOutput { out, err, was_held })
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

/// One output: its first bytes, and how many were dropped.
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

/// The process group of a command. Dropping it kills the group.
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
            // An empty group is not an error.
            let _ = rustix::process::kill_process_group(leader, rustix::process::Signal::KILL);
        }
    }
}
