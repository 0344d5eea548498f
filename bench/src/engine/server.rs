//! `llama-server` as a child process that never outlives this one's interest in it.

use std::fs::File;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::build::Engine;

/// How long the server may take to load its model.
const START: Duration = Duration::from_secs(60);
/// Between two looks at it.
const POLL: Duration = Duration::from_millis(100);
/// Tokens that a prompt and its answer may take together, for each run at a time.
const CONTEXT: u32 = 65_536;

/// The running server. Dropping this stops it.
#[derive(Debug)]
pub(super) struct Server {
    child: Child,
    port: u16,
}

impl Server {
    /// Starts it on a free port and waits until it answers.
    #[expect(clippy::disallowed_methods, reason = "a poll interval, in a program without a runtime")]
    pub(super) fn start(engine: &Engine, seed: u32, jobs: u32) -> Result<Self> {
        let port = free_port()?;
        let log = engine.folder.join("server.log");
        let output = File::create(&log).with_context(|| format!("cannot write {}", log.display()))?;
        let child = Command::new(&engine.server)
            .arg("-m")
            .arg(&engine.model)
            .args(["--host", "127.0.0.1", "--port", &port.to_string(), "--alias", "noise", "--jinja", "--no-webui"])
            .args(["-c", &(CONTEXT * jobs).to_string(), "-np", &jobs.to_string(), "-t", "1"])
            .args(["--seed", &seed.to_string(), "--top-k", "0", "--top-p", "1", "--min-p", "0"])
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output)
            .spawn()
            .with_context(|| format!("cannot run {}", engine.server.display()))?;
        // From here on an early return drops, and so stops, the child.
        let mut server = Self { child, port };
        let began = Instant::now();
        while !server.is_healthy() {
            if let Some(status) = server.child.try_wait()? {
                bail!("llama-server ended with {status}; see {}", log.display());
            }
            if began.elapsed() > START {
                bail!("llama-server did not answer within {} s; see {}", START.as_secs(), log.display());
            }
            thread::sleep(POLL);
        }
        Ok(server)
    }

    /// Base URL of its API, `http://127.0.0.1:PORT/v1`.
    pub(super) fn base_url(&self) -> String {
        format!("http://127.0.0.1:{}/v1", self.port)
    }

    fn is_healthy(&self) -> bool {
        let answer = || -> std::io::Result<String> {
            let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
            stream.set_read_timeout(Some(START))?;
            write!(stream, "GET /health HTTP/1.0\r\nhost: 127.0.0.1\r\n\r\n")?;
            let mut answer = String::new();
            stream.read_to_string(&mut answer)?;
            Ok(answer)
        };
        answer().is_ok_and(|answer| answer.lines().next().is_some_and(|line| line.contains(" 200 ")))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself, which is as good.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A port that was free a moment ago.
fn free_port() -> Result<u16> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}
