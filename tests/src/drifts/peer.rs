//! A program of somebody else's that does jobs: a process that is asked by lines of JSON.
//!
//! Invariants: the peer launches its own browser, as its users do; what it is asked names elements as a person who
//! writes a script for it does, and nothing of cuebook's.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::str::FromStr;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, bail};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use super::Pick;

/// Upper bound of one answer; each step has ten seconds of its own.
const ANSWER: Duration = Duration::from_secs(300);
/// Time for a peer to close its browser.
const CLOSING: Duration = Duration::from_secs(30);

/// Script that drives a peer, written `NAME=SCRIPT`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerScript {
    /// The peer's name in results.
    pub name: String,
    /// The script, for Node.
    pub script: PathBuf,
}

impl FromStr for PeerScript {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        let (name, script) = text.split_once('=').with_context(|| format!("{text} is not NAME=SCRIPT"))?;
        Ok(Self { name: name.to_owned(), script: script.into() })
    }
}

/// A running peer. It ends, with its browser, when its input does.
#[derive(Debug)]
pub(super) struct Peer {
    pub(super) name: String,
    child: Child,
    input: ChildStdin,
    answers: Lines<BufReader<ChildStdout>>,
}

impl Peer {
    /// Starts the peer's script on packages from `modules`.
    pub(super) fn start(peer: &PeerScript, modules: &Path, chrome: &Path) -> Result<Self> {
        let mut child = Command::new("node")
            .arg(&peer.script)
            .arg("--modules")
            .arg(modules)
            .arg("--chrome")
            .arg(chrome)
            .args(["--viewport", "1280x720"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot run node")?;
        let input = child.stdin.take().context("node has no input")?;
        let output = child.stdout.take().context("node has no output")?;
        Ok(Self { name: peer.name.clone(), child, input, answers: BufReader::new(output).lines() })
    }

    /// Its version, and its browser's.
    pub(super) async fn about(&mut self) -> Result<Value> {
        self.must("about", json!({})).await
    }

    /// Opens a tab that knows nothing of former ones. The endpoint of its browser.
    pub(super) async fn begin(&mut self) -> Result<String> {
        let endpoint = self.must("begin", json!({})).await?;
        Ok(endpoint.as_str().context("expected an endpoint")?.to_owned())
    }

    /// The texts of the headings and buttons in the main part of a page, as the peer reads them.
    pub(super) async fn look(&mut self, url: &str) -> Result<Vec<String>> {
        let texts = self.must("look", json!({ "url": url })).await?;
        let texts = texts.as_array().context("expected a list of texts")?;
        Ok(texts.iter().filter_map(Value::as_str).map(ToOwned::to_owned).collect())
    }

    /// Does the steps from a page on; `Err` inside is what the peer's API throws.
    pub(super) async fn play(&mut self, url: &str, steps: &Value) -> Result<Result<(), String>> {
        let answer = self.ask("play", json!({ "url": url, "steps": told(steps) })).await?;
        Ok(answer.map(drop))
    }

    /// Makes the peer close its tab.
    pub(super) async fn end(&mut self) -> Result<()> {
        self.must("end", json!({})).await.map(drop)
    }

    /// Waits until the peer has closed its browser.
    pub(super) async fn close(self) -> Result<()> {
        let Self { name, mut child, input, answers } = self;
        drop(input);
        let ended = tokio::time::timeout(CLOSING, child.wait()).await;
        drop(answers);
        let status = ended.with_context(|| format!("{name} does not end"))??;
        if status.success() { Ok(()) } else { bail!("{name} ended with {status}") }
    }

    async fn must(&mut self, call: &str, params: Value) -> Result<Value> {
        let answer = self.ask(call, params).await?;
        answer.map_err(|why| anyhow!("{} cannot {call}: {why}", self.name))
    }

    async fn ask(&mut self, call: &str, mut params: Value) -> Result<Result<Value, String>> {
        params["call"] = json!(call);
        self.input.write_all(format!("{params}\n").as_bytes()).await?;
        let line = tokio::time::timeout(ANSWER, self.answers.next_line()).await;
        let line = line.with_context(|| format!("{} does not answer {call}", self.name))??;
        let answer: Value = serde_json::from_str(&line.with_context(|| format!("{} has ended", self.name))?)?;
        Ok(match answer["error"].as_str() {
            Some(why) => Err(why.to_owned()),
            None => Ok(answer["result"].clone()),
        })
    }
}

/// The steps as a peer gets them: `type`, `role`, `name`, and where stated `within`, `value` and the part of a `url` to
/// wait for.
fn told(steps: &Value) -> Value {
    let steps = steps.as_array().into_iter().flatten().map(|step| {
        let Pick { role, name, within } = Pick::read(step["targetRef"].as_str().unwrap_or_default());
        let mut told = json!({ "type": step["type"], "role": role, "name": name });
        let value = ["value", "text", "option"].into_iter().find_map(|field| step.get(field));
        let url = step.pointer("/post/0/to");
        for (field, stated) in
            [("within", within.map(|text| json!(text))), ("value", value.cloned()), ("url", url.cloned())]
        {
            if let Some(stated) = stated {
                told[field] = stated;
            }
        }
        told
    });
    steps.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drifts::jobs;

    #[test]
    fn a_peer_is_told_what_a_plan_says() {
        let jobs = jobs();
        let job = jobs.iter().find(|job| job.name == "order from the shop").unwrap();
        let told = told(&job.steps);
        let expected = json!([
            { "type": "select", "role": "combobox", "name": "Size", "within": "Scissors", "value": "Small" },
            { "type": "click", "role": "button", "name": "Add to cart", "within": "Scissors", "url": "/cart" },
            { "type": "click", "role": "link", "name": "Check out", "url": "/checkout" },
            { "type": "type", "role": "textbox", "name": "Full name", "value": "Ann Lee" },
        ]);
        assert_eq!(told.as_array().unwrap()[..4], expected.as_array().unwrap()[..]);
    }

    #[test]
    fn every_condition_of_a_job_is_one_that_peers_are_told() {
        for job in jobs() {
            for step in job.steps.as_array().unwrap() {
                let posts = step["post"].as_array().map_or(0, Vec::len);
                assert!(posts == 0 || posts == 1 && step["post"][0]["kind"] == "urlChanges", "{}: {step}", job.name);
            }
        }
    }
}
