//! `cuebook record`: a person acts in a browser over a connection of their own, and what was recorded is done again on a
//! fresh site.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use cuebook_cdp::{Browser, Page, Transport};
use cuebook_tests::{CliOutput, Person, Shop, command, endpoint};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::runtime::Runtime;

/// A person thinks about as long between two actions.
const THINKS: Duration = Duration::from_millis(700);
const PASSWORD: &str = "hunter2";

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(40)
}

/// A browser with a port, and a recording in it.
struct Scene {
    browser: Browser,
    runtime: Runtime,
    recording: Child,
    plan: PathBuf,
    folder: TempDir,
    _profiles: TempDir,
}

impl Drop for Scene {
    fn drop(&mut self) {
        let _ = self.recording.kill();
        let _inside = self.runtime.enter();
    }
}

impl Scene {
    fn open(url: &str, flags: &[&str]) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let profiles = TempDir::new()?;
        let mut options = cuebook_testkit::browser(profiles.path());
        options.transport = Transport::WebSocket;
        let browser = runtime.block_on(Browser::launch(&options, soon()))?;
        let (port, path) = endpoint(profiles.path())?;
        let folder = TempDir::new()?;
        let plan = folder.path().join("recorded.json");
        let mut command = command()?;
        command.args(["record", url, "--cdp", &format!("ws://127.0.0.1:{port}{path}"), "--json", "-o"]).arg(&plan);
        command.args(flags).env("TMPDIR", folder.path());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let recording = command.spawn()?;
        Ok(Self { browser, runtime, recording, plan, folder, _profiles: profiles })
    }

    /// The tab at an address, once it is there and a person has looked at it.
    fn tab(&self, url: &str) -> Result<Page> {
        let until = soon();
        loop {
            if let Some(page) = self.browser.pages().into_iter().find(|page| page.url() == url) {
                self.think();
                return Ok(page);
            }
            ensure!(Instant::now() < until, "no tab shows {url}");
            self.runtime.block_on(async { tokio::time::sleep(Duration::from_millis(20)).await });
        }
    }

    fn person(&self, url: &str) -> Result<Person> {
        Ok(Person::at(self.tab(url)?))
    }

    fn think(&self) {
        self.runtime.block_on(async { tokio::time::sleep(THINKS).await });
    }

    /// Something that a person does, and what they see of it.
    fn does<T>(&self, does: impl Future<Output = Result<T>>) -> Result<T> {
        let done = self.runtime.block_on(does)?;
        self.think();
        Ok(done)
    }

    /// Ends the recording as Ctrl-C does.
    fn end(self) -> Result<Recording> {
        Command::new("kill").args(["-INT", &self.recording.id().to_string()]).status()?;
        self.ended()
    }

    /// Waits for the end of the recording.
    fn ended(mut self) -> Result<Recording> {
        let until = soon();
        while self.recording.try_wait()?.is_none() {
            ensure!(Instant::now() < until, "the recording does not end");
            self.runtime.block_on(async { tokio::time::sleep(Duration::from_millis(20)).await });
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
struct Recording {
    output: CliOutput,
    file: Option<String>,
    /// Entries of its temporary directory, with the plan.
    left: usize,
}

impl Recording {
    fn plan(&self) -> Result<Value> {
        let file = self.file.as_deref().with_context(|| format!("no plan was written: {:?}", self.output))?;
        Ok(serde_json::from_str(file)?)
    }

    /// The verbs of its steps.
    fn verbs(&self) -> Result<Vec<String>> {
        let plan = self.plan()?;
        let steps = plan["steps"].as_array().context("expected steps")?;
        Ok(steps.iter().map(|step| step["type"].as_str().unwrap_or_default().to_owned()).collect())
    }
}

/// Runs a recorded plan on fresh sites, each time in a fresh browser, and asks the server what happened.
fn repeats(recording: &Recording, path: &str, flags: &[&str], holds: impl Fn(&Shop) -> bool) -> Result<()> {
    let plan = recording.plan()?;
    for _ in 0..3 {
        let shop = Shop::open()?;
        let file = shop.runs().join("plan.json");
        std::fs::write(&file, plan.to_string())?;
        let out = shop.runs().join("runs");
        let mut command = command()?;
        command.arg("exec").arg(&file).args(["--url", &shop.url(path), "--json", "--no-repair", "--out"]).arg(&out);
        command
            .args(flags)
            .env("CUEBOOK_SECRET_PASSWORD", PASSWORD)
            .env("CUEBOOK_SECRET_CARD_NUMBER", "4111111111111111");
        let output = command.stdin(Stdio::null()).output()?;
        let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        ensure!(output.status.code() == Some(0), "{plan:#}\n{stderr}{stdout}");
        ensure!(shop.eventually(&holds), "the site saw something else: {:#}", shop.state());
    }
    Ok(())
}

#[test]
fn a_login_is_repeated_with_the_password_by_name() -> Result<()> {
    let shop = Shop::open()?;
    let scene = Scene::open(&shop.url("/login"), &[])?;
    let person = scene.person(&shop.url("/login"))?;
    scene.does(person.enters("email", "user@example.com"))?;
    scene.does(person.enters("password", PASSWORD))?;
    scene.does(person.clicks("button", "log in"))?;
    scene.tab(&shop.url("/dashboard"))?;
    let recording = scene.end()?;
    assert_eq!(recording.verbs()?, ["setValue", "setValue", "click"], "{:?}", recording.file);
    let plan = recording.plan()?;
    assert_eq!(plan["steps"][0]["value"], "user@example.com");
    assert_eq!((&plan["steps"][1]["credentialRef"], &plan["steps"][1]["value"]), (&json!("password"), &Value::Null));
    assert_eq!(plan["steps"][2]["post"][0], json!({ "kind": "urlChanges", "to": "/dashboard" }));
    assert_eq!(recording.output.json()?["credentials"], json!([{ "name": "password", "field": "Password" }]));
    assert!(!format!("{:?}{:?}", recording.file, recording.output).contains(PASSWORD));
    assert_eq!(recording.left, 1, "nothing is left but the plan");
    repeats(&recording, "/login", &[], |shop| shop.state()["logins"][0]["accepted"] == json!(true))
}

#[test]
fn an_order_with_lists_a_box_and_a_card_is_repeated() -> Result<()> {
    let shop = Shop::open()?;
    let scene = Scene::open(&shop.url("/shop"), &[])?;
    let person = scene.person(&shop.url("/shop"))?;
    scene.does(person.chooses_by_arrows("#notebook-size", 1))?;
    scene.does(person.clicks_near("button", "add to cart", "notebook"))?;
    scene.does(person.clicks("link", "check out"))?;
    scene.does(person.enters("full name", "Ann Archer"))?;
    scene.does(person.enters("email", "ann@example.com"))?;
    scene.does(person.enters("card number", "4111111111111111"))?;
    scene.does(person.clicks("field", "i accept the terms"))?;
    let recording = scene.end()?;
    assert_eq!(
        recording.verbs()?,
        ["select", "click", "click", "setValue", "setValue", "setValue", "check"],
        "{:?}",
        recording.file
    );
    let plan = recording.plan()?;
    assert_eq!(plan["steps"][5]["credentialRef"], "card_number");
    assert!(!format!("{:?}{:?}", recording.file, recording.output).contains("4111"));
    let ordered = |shop: &Shop| shop.state()["requestsByPath"]["/cart/add"] == json!(1);
    repeats(&recording, "/shop", &[], ordered)
}

#[test]
fn a_recording_in_which_nothing_was_done_writes_no_plan() -> Result<()> {
    let shop = Shop::open()?;
    let scene = Scene::open(&shop.url("/login"), &[])?;
    scene.tab(&shop.url("/login"))?;
    let recording = scene.end()?;
    assert_eq!((recording.output.code, recording.file.is_none()), (1, true), "{:?}", recording.output);
    assert!(recording.output.stderr.contains("nothing was done"), "{:?}", recording.output);
    Ok(())
}

#[test]
fn what_a_page_does_by_itself_is_no_step() -> Result<()> {
    const FORGED: &str = "(() => {
        const field = document.querySelector('#email'), button = document.querySelector('button[type=submit]');
        field.focus();
        document.execCommand('insertText', false, 'forged');
        field.dispatchEvent(new InputEvent('input', { bubbles: true }));
        field.dispatchEvent(new Event('change', { bubbles: true }));
        for (const type of ['pointerdown', 'mousedown', 'pointerup', 'mouseup', 'click']) {
            button.dispatchEvent(new PointerEvent(type, { bubbles: true, button: 0 }));
        }
        document.querySelector('input[type=checkbox]').click();
        return field.value;
    })()";
    let shop = Shop::open()?;
    let scene = Scene::open(&shop.url("/login"), &[])?;
    let person = scene.person(&shop.url("/login"))?;
    assert_eq!(scene.does(person.reads(FORGED))?, json!("forged"), "the page did act");
    let recording = scene.end()?;
    assert_eq!((recording.output.code, &recording.file), (1, &None), "{:?}", recording.output);
    Ok(())
}

#[test]
fn a_tab_that_is_closed_ends_the_recording_and_what_was_done_is_kept() -> Result<()> {
    let shop = Shop::open()?;
    let scene = Scene::open(&shop.url("/login"), &[])?;
    let person = scene.person(&shop.url("/login"))?;
    scene.does(person.enters("email", "user@example.com"))?;
    let tab = scene.tab(&shop.url("/login"))?;
    scene.does(async { Ok(tab.close(soon()).await?) })?;
    let recording = scene.ended()?;
    assert_eq!(recording.verbs()?, ["setValue"], "{:?}", recording.output);
    repeats(&recording, "/login", &[], |shop| shop.state()["logins"] == json!([]))
}
