//! The commands of a suite: its server, what resets it, and what judges.
//!
//! Invariants: no shell reads a command; a process that is started here ends with what holds it; every wait has a limit.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::AsyncReadExt as _;
use tokio::net::{TcpListener, TcpStream};
use tokio::process::{Child, Command};
use tokio::time::{sleep, timeout};

use crate::error::BoxError;
use crate::error::Broken;

/// Time limit of a reset or an oracle.
const LIMIT: Duration = Duration::from_secs(60);
/// Time for a server to listen.
const STARTING: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(50);
/// Upper bound of the output that is read, in bytes.
const OUTPUT: u64 = 64 << 10;

/// How a command ended.
pub(crate) struct CommandExit {
    pub(crate) code: Option<i32>,
    /// The first line of its standard output.
    pub(crate) said: String,
}

fn command(words: &[String], directory: &Path) -> Result<Command, Broken> {
    let (program, arguments) =
        words.split_first().ok_or(Broken::Command { command: "command", message: "it is empty".to_owned() })?;
    let mut command = Command::new(program);
    command.args(arguments).current_dir(directory).kill_on_drop(true).stdin(Stdio::null());
    Ok(command)
}

/// Runs a command to its end, with variables.
pub(crate) async fn run(
    what: &'static str,
    words: &[String],
    directory: &Path,
    variables: &[(&str, String)],
) -> Result<CommandExit, Broken> {
    let broken = |message: String| Broken::Command { command: what, message };
    let mut command = command(words, directory)?;
    command.envs(variables.iter().map(|(name, value)| (name, value))).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().map_err(|error| broken(format!("{}: {error}", words[0])))?;
    let out = child.stdout.take();
    let ended = async {
        let mut bytes = Vec::new();
        if let Some(out) = out {
            out.take(OUTPUT).read_to_end(&mut bytes).await?;
        }
        child.wait().await.map(|status| (status, bytes))
    };
    let (status, bytes) = timeout(LIMIT, ended)
        .await
        .map_err(|_| broken(format!("it did not end within {} s", LIMIT.as_secs())))?
        .map_err(|error| broken(error.to_string()))?;
    let said = String::from_utf8_lossy(&bytes).lines().next().unwrap_or_default().trim().to_owned();
    Ok(CommandExit { code: status.code(), said })
}

/// A server that was started. Dropping it ends it.
#[derive(Debug)]
pub(crate) struct Served {
    _child: Child,
    pub(crate) port: u16,
}

impl Served {
    /// Starts a server on a free port, which replaces `{port}` in its words, and waits until it listens.
    pub(crate) async fn start(
        words: &[String],
        directory: &Path,
        variables: &[(&str, String)],
    ) -> Result<Self, BoxError> {
        // The port is free when it is given back; whoever takes it in between makes the start fail, not lie.
        let port = TcpListener::bind(("127.0.0.1", 0)).await?.local_addr()?.port();
        let words: Vec<String> = words.iter().map(|word| word.replace("{port}", &port.to_string())).collect();
        let mut command = command(&words, directory)?;
        command.envs(variables.iter().map(|(name, value)| (name, value)));
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().map_err(|error| format!("{}: {error}", words[0]))?;
        let listening = async {
            while TcpStream::connect(("127.0.0.1", port)).await.is_err() {
                if let Some(status) = child.try_wait()? {
                    return Err(format!("{} ended before it listened: {status}", words[0]).into());
                }
                sleep(POLL).await;
            }
            Ok::<(), BoxError>(())
        };
        let waited = timeout(STARTING, listening).await;
        waited.map_err(|_| format!("{} did not listen on port {port}", words[0]))??;
        Ok(Self { _child: child, port })
    }
}
