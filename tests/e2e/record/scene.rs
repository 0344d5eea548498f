//! A browser of a test, a recording in it, and the plan that comes of it.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use cuebook_cdp::{Browser, Page, Transport};
use cuebook_tests::{CliOutput, Person, Shop, command, endpoint, finished, in_shared_browser};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::runtime::Runtime;

/// A person thinks about as long between two actions.
const THINKS: Duration = Duration::from_millis(700);
pub(super) const PASSWORD: &str = "hunter2";
pub(super) const CARD: &str = "4111111111111111";

pub(super) fn soon() -> Instant {
    Instant::now() + Duration::from_secs(40)
}

/// A browser with a port.
pub(super) struct Desk {
    browser: Browser,
    endpoint: String,
    runtime: Runtime,
    _profiles: TempDir,
}

impl Drop for Desk {
    fn drop(&mut self) {
        let _inside = self.runtime.enter();
    }
}

impl Desk {
    pub(super) fn open() -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let profiles = TempDir::new()?;
        let mut options = cuebook_testkit::browser(profiles.path());
        options.transport = Transport::WebSocket;
        let browser = runtime.block_on(Browser::launch(&options, soon()))?;
        let (port, path) = endpoint(profiles.path())?;
        Ok(Self { browser, endpoint: format!("ws://127.0.0.1:{port}{path}"), runtime, _profiles: profiles })
    }
}

/// A recording in a browser.
pub(super) struct Scene {
    desk: Arc<Desk>,
    recording: Child,
    plan: PathBuf,
    folder: TempDir,
}

impl Drop for Scene {
    fn drop(&mut self) {
        let _ = self.recording.kill();
    }
}

impl Scene {
    /// A recording in a browser of its own.
    pub(super) fn open(url: &str) -> Result<Self> {
        Self::at(&Arc::new(Desk::open()?), url)
    }

    pub(super) fn at(desk: &Arc<Desk>, url: &str) -> Result<Self> {
        let folder = TempDir::new()?;
        let plan = folder.path().join("recorded.json");
        let mut command = command()?;
        command.args(["record", url, "--cdp", &desk.endpoint, "--json", "-o"]).arg(&plan);
        command.env("TMPDIR", folder.path());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let recording = command.spawn()?;
        Ok(Self { desk: desk.clone(), recording, plan, folder })
    }

    /// The browser's process dies. Its number may be that of a script around it.
    pub(super) fn crashes(&self) {
        let crash = self.desk.browser.session().call_raw("Browser.crash", json!({}), soon());
        // What is dead does not answer.
        let _ = self.desk.runtime.block_on(crash);
    }

    /// The tab at an address, once it is there and a person has looked at it.
    pub(super) fn tab(&self, url: &str) -> Result<Page> {
        let until = soon();
        loop {
            if let Some(page) = self.desk.browser.pages().into_iter().find(|page| page.url() == url) {
                self.think();
                return Ok(page);
            }
            ensure!(Instant::now() < until, "no tab shows {url}");
            self.desk.runtime.block_on(async { tokio::time::sleep(Duration::from_millis(20)).await });
        }
    }

    pub(super) fn person(&self, url: &str) -> Result<Person> {
        Ok(Person::at(self.tab(url)?))
    }

    pub(super) fn think(&self) {
        self.desk.runtime.block_on(async { tokio::time::sleep(THINKS).await });
    }

    /// Something that a person does, and what they see of it.
    pub(super) fn does<T>(&self, does: impl Future<Output = Result<T>>) -> Result<T> {
        let done = self.desk.runtime.block_on(does)?;
        self.think();
        Ok(done)
    }

    /// Ends the recording as Ctrl-C does.
    pub(super) fn end(self) -> Result<Recording> {
        Command::new("kill").args(["-INT", &self.recording.id().to_string()]).status()?;
        self.ended()
    }

    /// Waits for the end of the recording.
    pub(super) fn ended(mut self) -> Result<Recording> {
        let until = soon();
        while self.recording.try_wait()?.is_none() {
            ensure!(Instant::now() < until, "the recording does not end");
            self.desk.runtime.block_on(async { tokio::time::sleep(Duration::from_millis(20)).await });
        }
        let read = |pipe: Option<&mut dyn std::io::Read>| -> Result<String> {
            let mut text = String::new();
            pipe.context("expected a pipe")?.read_to_string(&mut text)?;
            Ok(text)
        };
        let stdout = read(self.recording.stdout.as_mut().map(|pipe| pipe as _))?;
        let stderr = read(self.recording.stderr.as_mut().map(|pipe| pipe as _))?;
        let code = self.recording.wait()?.code().unwrap_or(-1);
        let file = std::fs::read_to_string(&self.plan).ok();
        let left = std::fs::read_dir(self.folder.path())?.count();
        Ok(Recording { output: CliOutput { code, stdout, stderr }, file, left })
    }
}

/// The files and words that a recording left.
pub(super) struct Recording {
    pub(super) output: CliOutput,
    pub(super) file: Option<String>,
    /// Entries of its temporary directory, with the plan.
    pub(super) left: usize,
}

impl Recording {
    pub(super) fn plan(&self) -> Result<Value> {
        let file = self.file.as_deref().with_context(|| format!("no plan was written: {:?}", self.output))?;
        Ok(serde_json::from_str(file)?)
    }

    /// The verbs of its steps.
    pub(super) fn verbs(&self) -> Result<Vec<String>> {
        let plan = self.plan()?;
        let steps = plan["steps"].as_array().context("expected steps")?;
        Ok(steps.iter().map(|step| step["type"].as_str().unwrap_or_default().to_owned()).collect())
    }
}

/// Runs a recorded plan on a fresh site in a fresh browser, and asks the server what happened.
pub(super) fn repeats(recording: &Recording, path: &str, holds: impl Fn(&Shop) -> bool) -> Result<()> {
    let shop = Shop::open()?;
    repeat(&shop, path, &recording.plan()?, &["--no-repair"])?;
    ensure!(shop.eventually(holds), "the site saw something else: {:#}", shop.state());
    Ok(())
}

/// Runs a recorded plan in a context of its own.
pub(super) fn repeat(shop: &Shop, path: &str, plan: &Value, flags: &[&str]) -> Result<CliOutput> {
    let file = shop.runs().join("plan.json");
    std::fs::write(&file, plan.to_string())?;
    let mut command = command()?;
    command.arg("exec").arg(&file).args(["--url", &shop.url(path), "--json", "--out"]).arg(shop.runs().join("runs"));
    command.args(flags).env("CUEBOOK_SECRET_PASSWORD", PASSWORD).env("CUEBOOK_SECRET_CARD_NUMBER", CARD);
    let output = finished(in_shared_browser(&mut command))?;
    ensure!(output.code == 0, "{plan:#}\n{}{}", output.stderr, output.stdout);
    Ok(output)
}
