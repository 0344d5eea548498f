//! `--cdp`: a browser that somebody else uses. What other tabs are called, and where they are, is nobody's business.

use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use cuebook::{BrowserSource, Containment, Tab};
use cuebook_cdp::protocol::js_protocol::runtime::EvaluateParams;
use cuebook_cdp::{Browser, Transport, WaitUntil};
use cuebook_tests::{Shop, command, endpoint};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use super::replay::Changing;
use super::shell::Shell;

const PRIVATE: &str = "data:text/html,<title>Bank of Ann</title><p>balance";

/// Somebody's browser: the shop's tabs page, and a tab that is private.
struct Theirs {
    browser: Browser,
    runtime: Runtime,
    address: String,
    /// Temporary files of the runs.
    temporary: TempDir,
    _profiles: TempDir,
}

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(40)
}

impl Theirs {
    fn open(url: &str) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let profiles = TempDir::new()?;
        let mut options = cuebook_testkit::browser(profiles.path());
        options.transport = Transport::WebSocket;
        let browser = runtime.block_on(async {
            let browser = Browser::launch(&options, soon()).await?;
            let page = browser.pages().into_iter().next().context("a page")?;
            page.goto(url, WaitUntil::Load, soon()).await?;
            browser.new_page(PRIVATE, soon()).await?;
            anyhow::Ok(browser)
        })?;
        let (port, path) = endpoint(profiles.path())?;
        let address = format!("ws://127.0.0.1:{port}{path}");
        Ok(Self { browser, runtime, address, temporary: TempDir::new()?, _profiles: profiles })
    }

    fn tabs(&self) -> Vec<String> {
        self.browser.pages().iter().map(|page| page.target_id().as_str().to_owned()).collect()
    }

    fn eventually(&self, tabs: &[String]) -> bool {
        let until = Instant::now() + Duration::from_secs(10);
        while self.tabs() != tabs {
            if Instant::now() > until {
                return false;
            }
            self.runtime.block_on(async { tokio::time::sleep(Duration::from_millis(20)).await });
        }
        true
    }

    fn exec(&self, shop: &Shop, plan: &Value, flags: &[&str]) -> Result<Command> {
        let file = shop.runs().join("plan.json");
        std::fs::write(&file, plan.to_string())?;
        let mut command = command()?;
        command.arg("exec").arg(file).args(["--json", "-vv", "--out"]).arg(shop.runs()).args(["--cdp", &self.address]);
        command.args(flags).env("TMPDIR", self.temporary.path()).stdin(Stdio::null());
        Ok(command)
    }
}

impl Drop for Theirs {
    fn drop(&mut self) {
        let _inside = self.runtime.enter();
    }
}

fn tabs_plan(steps: &Value) -> Value {
    json!({
        "version": "1.0",
        "candidates": { "link": { "strategy": "css", "selector": "a[rel=noopener]" } },
        "steps": steps,
    })
}

/// Returns `true` if any file below a folder holds a text.
fn holds(folder: &std::path::Path, text: &str) -> Result<bool> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let found = if path.is_dir() {
            holds(&path, text)?
        } else {
            String::from_utf8_lossy(&std::fs::read(&path)?).contains(text)
        };
        if found {
            return Ok(true);
        }
    }
    Ok(false)
}

#[test]
fn a_session_is_detached_from_a_browser_that_stays() -> Result<()> {
    let shop = Shop::open()?;
    let theirs = Theirs::open(&shop.url("/counter"))?;
    let tabs = theirs.tabs();
    let shell = Shell { shop: &shop, name: "detached" };
    shell.run(&["start", "--cdp", &theirs.address])?;
    shell.run(&["open", &shop.url("/counter")])?;
    shell.run(&["detach"])?;
    anyhow::ensure!(theirs.eventually(&tabs), "{:?}", theirs.tabs());
    let (code, said) = shell.fails(&["detach"])?;
    anyhow::ensure!(code == 2 && said.contains("no open session detached"), "{code} {said}");
    Ok(())
}

#[test]
fn cookies_of_others_are_neither_saved_nor_changed() -> Result<()> {
    let shop = Shop::open()?;
    let theirs = Theirs::open(&shop.url("/counter"))?;
    let page = theirs.browser.pages().into_iter().next().context("a page")?;
    let set = EvaluateParams::new("document.cookie = 'theirs=1'");
    theirs.runtime.block_on(page.session().call(set, soon()))?;
    let state = shop.runs().join("state.json");
    let file = state.to_str().context("a path")?;

    let login: Value = serde_json::from_str(include_str!("../../examples/plans/login.json"))?;
    let flags = ["--url", &shop.url("/login"), "--save-storage", file];
    anyhow::ensure!(theirs.exec(&shop, &login, &flags)?.status()?.success());
    let saved = std::fs::read_to_string(&state)?;
    anyhow::ensure!(saved.contains("cuebook-session") && !saved.contains("theirs"), "{saved}");

    let is_in = json!({ "version": "1.0", "steps": [
        { "type": "assert", "condition": { "kind": "urlMatches", "pattern": "^[^?]*/dashboard$" } } ] });
    let flags = ["--url", &shop.url("/dashboard"), "--storage", file];
    anyhow::ensure!(theirs.exec(&shop, &is_in, &flags)?.status()?.success());
    theirs.runtime.block_on(page.goto(&shop.url("/dashboard"), WaitUntil::Load, soon()))?;
    anyhow::ensure!(page.url().contains("/login"), "they are logged in as the run is: {}", page.url());
    Ok(())
}

#[test]
fn s35_tabs_of_others_are_in_no_report_log_or_plan_and_cannot_be_used() -> Result<()> {
    let shop = Shop::open()?;
    let theirs = Theirs::open(&shop.url("/tabs"))?;
    let before = theirs.tabs();
    for step in [json!({ "type": "closeTab", "tab": 1 }), json!({ "type": "switchTab", "tab": 2 })] {
        let plan = tabs_plan(&json!([step]));
        let url = shop.url("/tabs");
        let output = theirs.exec(&shop, &plan, &["--url", &url, "--no-repair", "--timeout", "3s"])?.output()?;
        let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert_eq!(output.status.code(), Some(1), "{stdout}{stderr}");
        assert!(!stdout.contains("Bank of Ann") && !stderr.contains("Bank of Ann"), "{stdout}{stderr}");
        assert!(theirs.eventually(&before), "{:?}", theirs.tabs());
    }
    let plan = tabs_plan(&json!([{ "type": "click", "targetRef": "link", "post": [{ "kind": "newTab" }] }]));
    let output = theirs.exec(&shop, &plan, &["--url", &shop.url("/tabs")])?.output()?;
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(theirs.eventually(&before), "a popup of ours stays: {:?}", theirs.tabs());
    assert!(!holds(shop.runs(), "Bank of Ann")?);
    Ok(())
}

#[test]
fn a_tab_that_is_handed_over_is_used_as_it_is_and_never_closed() -> Result<()> {
    let shop = Shop::open()?;
    let theirs = Theirs::open(&shop.url("/tabs"))?;
    let before = theirs.tabs();
    let url = shop.url("/tabs");
    let allow = shop.origin();
    // No --url: the page is the one that the tab shows.
    let plan = tabs_plan(&json!([{ "type": "click", "targetRef": "link", "post": [{ "kind": "newTab" }] }]));
    let output = theirs.exec(&shop, &plan, &["--tab", &url, "--allow", allow])?.output()?;
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stdout));
    assert!(theirs.eventually(&before), "{:?}", theirs.tabs());

    let plan = tabs_plan(&json!([{ "type": "closeTab" }]));
    let output = theirs.exec(&shop, &plan, &["--tab", &url, "--allow", allow, "--no-repair"])?.output()?;
    let report: Value = serde_json::from_slice(&output.stdout)?;
    assert_eq!(report["error"]["code"], "unsupported", "{report:#}");
    assert!(theirs.eventually(&before), "{:?}", theirs.tabs());

    for (wanted, code) in [("Nowhere", "0 among 2"), ("t", "2 among 2")] {
        let output = theirs.exec(&shop, &plan, &["--tab", wanted])?.output()?;
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{stderr}");
        assert!(stderr.contains(code) && !stderr.contains("Bank"), "{stderr}");
    }
    Ok(())
}

#[test]
fn a_killed_run_leaves_no_tab_after_the_next_start() -> Result<()> {
    let shop = Shop::open()?;
    let theirs = Theirs::open(&shop.url("/tabs"))?;
    let before = theirs.tabs();
    let wait = json!({ "type": "waitFor", "condition": { "kind": "urlMatches", "pattern": "never" } });
    let click = json!({ "type": "click", "targetRef": "link", "post": [{ "kind": "newTab" }] });
    let plan = tabs_plan(&json!([click, wait]));
    let url = shop.url("/tabs");
    for tab in [None, Some(url.as_str())] {
        let start = match tab {
            Some(tab) => vec!["--tab", tab, "--allow", shop.origin(), "--timeout", "60s"],
            None => vec!["--url", &url, "--timeout", "60s"],
        };
        let mut run = theirs.exec(&shop, &plan, &start)?;
        let mut child = run.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        let until = soon();
        // The link's tab, and the run's own unless it was handed one.
        let expected = before.len() + if tab.is_some() { 1 } else { 2 };
        while theirs.tabs().len() < expected {
            anyhow::ensure!(Instant::now() < until && child.try_wait()?.is_none(), "no tab was opened");
            theirs.runtime.block_on(async { tokio::time::sleep(Duration::from_millis(20)).await });
        }
        child.kill()?;
        child.wait()?;
        let next = theirs.exec(&shop, &tabs_plan(&json!([{ "type": "reload" }])), &["--url", &url])?.output()?;
        assert_eq!(next.status.code(), Some(0), "{}", String::from_utf8_lossy(&next.stderr));
        assert!(theirs.eventually(&before), "{:?}", theirs.tabs());
    }
    Ok(())
}

#[tokio::test]
async fn a_tab_of_a_shared_browser_closes_with_what_it_opened_and_nothing_else() -> Result<()> {
    let site = cuebook_site::Site::builder().build().bind(0).await?;
    let profiles = TempDir::new()?;
    let browser = Arc::new(Browser::launch(&cuebook_testkit::browser(profiles.path()), soon()).await?);
    let theirs = browser.new_page(&site.url("/tabs"), soon()).await?;
    let tab = Tab::open(BrowserSource::Shared(browser.clone()), Containment::None, soon()).await?;
    let ours = browser.pages().pop().context("a tab")?;
    ours.goto(&site.url("/tabs"), WaitUntil::Load, soon()).await?;
    let before = browser.pages();
    for page in [&theirs, &ours] {
        let click = EvaluateParams::new("document.querySelector('a[rel=noopener]').click()");
        page.session().request(EvaluateParams { user_gesture: Some(true), ..click }, soon()).await?;
    }
    let until = soon();
    while browser.pages().len() < before.len() + 2 {
        anyhow::ensure!(Instant::now() < until, "expected two more tabs, saw {:?}", browser.pages());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    tab.close(soon()).await?;
    let left = browser.pages();
    assert_eq!(left.len(), before.len(), "{left:?}");
    assert!(!left.contains(&ours) && left.contains(&theirs));
    assert!(left.iter().any(|page| page.opener() == Some(theirs.target_id())), "what others opened stays");
    Ok(())
}

/// Loaded again, the page would show another number.
#[test]
fn a_tab_is_observed_as_it_is() -> Result<()> {
    let site = Changing::open()?;
    site.put("/", "<script>document.write(`<button>${Math.random()}</button>`)</script>");
    let theirs = Theirs::open(&site.origin)?;
    let look = || {
        let mut command = command()?;
        command.args(["observe", "--json", "--cdp", &theirs.address, "--tab", &site.origin]);
        let output = command.env("TMPDIR", theirs.temporary.path()).stdin(Stdio::null()).output()?;
        let seen: Value = serde_json::from_slice(&output.stdout).context(String::from_utf8(output.stderr)?)?;
        anyhow::Ok(seen["candidates"][0]["name"].clone())
    };
    let (first, second) = (look()?, look()?);
    assert!(first.as_str().is_some_and(|name| name.starts_with("0.")), "{first}");
    assert_eq!(first, second);
    Ok(())
}
