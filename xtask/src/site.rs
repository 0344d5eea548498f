//! `cuebook site` as a child process that never outlives this one's interest in it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::Value;

/// How long the site may take to say where it is.
const START: Duration = Duration::from_secs(30);

/// How long the server may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// The running site. Dropping this stops it.
#[derive(Debug)]
pub struct Site {
    child: Child,
    origin: String,
}

impl Site {
    /// Starts the site on a free port.
    ///
    /// # Errors
    /// If it cannot be started or does not say its origin in time.
    pub fn start(cuebook: &Path) -> Result<Self> {
        let mut child = Command::new(cuebook)
            .args(["site", "--port", "0", "--json"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot run {}", cuebook.display()))?;
        let output = child.stdout.take();
        // From here on an early return drops, and so stops, the child.
        let mut site = Self { child, origin: String::new() };
        let output = output.context("the site has no standard output")?;
        let (sender, receiver) = mpsc::sync_channel(1);
        std::thread::spawn(move || {
            let mut output = BufReader::new(output);
            let mut line = String::new();
            let read = output.read_line(&mut line);
            // The receiver is gone if this came too late to matter.
            let _ = sender.send(read.map(|_| line));
            // A closed pipe would end the site at its next line.
            let _ = std::io::copy(&mut output, &mut std::io::sink());
        });
        let line = receiver.recv_timeout(START).context("the site did not start in time")??;
        site.origin = origin(&line).with_context(|| format!("expected {{\"origin\": …}} of the site, saw {line:?}"))?;
        Ok(site)
    }

    /// Origin of the running site, `http://127.0.0.1:PORT`.
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// Returns the server's account of the events so far.
    ///
    /// # Errors
    /// If it does not answer with its state.
    pub fn state(&self) -> Result<Value> {
        let host = self.origin.trim_start_matches("http://");
        let mut stream = TcpStream::connect(host).with_context(|| format!("cannot reach {host}"))?;
        stream.set_read_timeout(Some(PATIENCE))?;
        // HTTP/1.0, so that the answer ends where the connection does and is not chunked.
        write!(stream, "GET /state HTTP/1.0\r\nhost: {host}\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        let (_, body) = answer.split_once("\r\n\r\n").context("the server's answer has no body")?;
        serde_json::from_str(body).context("the server's state is not JSON")
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        // It may have ended by itself, which is as good.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn origin(line: &str) -> Option<String> {
    let value: Value = serde_json::from_str(line).ok()?;
    value["origin"].as_str().filter(|origin| origin.starts_with("http://")).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::origin;

    #[test]
    fn only_a_line_with_an_origin_counts() {
        assert_eq!(origin("{\"origin\": \"http://127.0.0.1:1\"}\n").as_deref(), Some("http://127.0.0.1:1"));
        for other in ["", "listening", "{}", "{\"origin\": 4}", "{\"origin\": \"file:///\"}"] {
            assert_eq!(origin(other), None, "{other}");
        }
    }
}
