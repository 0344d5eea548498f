//! The live page of a run in a browser: it follows the run, answers its questions, and shows its pictures.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use cuebook_cdp::protocol::js_protocol::runtime::EvaluateParams;
use cuebook_cdp::{Browser, Page, WaitUntil};
use cuebook_tests::{Shop, command, cuebook};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::runtime::Runtime;

/// A command that serves a page. It is killed when this is dropped.
struct Served {
    child: Child,
    url: String,
}

impl Served {
    /// Starts a command, and reads the address from the line that begins with `prefix`.
    fn start(args: &[&str], prefix: &str) -> Result<Self> {
        let mut child =
            command()?.args(args).stdin(Stdio::null()).stderr(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let (out, err) = (child.stdout.take().context("no output")?, child.stderr.take().context("no messages")?);
        let (sender, lines) = std::sync::mpsc::channel();
        for source in [Box::new(out) as Box<dyn std::io::Read + Send>, Box::new(err)] {
            let sender = sender.clone();
            std::thread::spawn(move || {
                for line in BufReader::new(source).lines().map_while(Result::ok) {
                    sender.send(line).ok();
                }
            });
        }
        let mut served = Self { child, url: String::new() };
        while served.url.is_empty() {
            let line = lines.recv_timeout(Duration::from_secs(60)).context("no address")?;
            // What it says on standard error may come first.
            let url = line.strip_prefix(prefix).filter(|url| url.starts_with("http://"));
            served.url = url.unwrap_or_default().to_owned();
        }
        Ok(served)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(60)
}

async fn shown(url: &str) -> Result<(Browser, Page, TempDir)> {
    let profiles = TempDir::new()?;
    let mut options = cuebook_testkit::browser(profiles.path());
    options.viewport = (1280, 720);
    let browser = Browser::launch(&options, soon()).await?;
    let page = browser.pages().into_iter().next().context("expected a tab")?;
    page.goto(url, WaitUntil::Load, soon()).await?;
    Ok((browser, page, profiles))
}

async fn asked(page: &Page, expression: &str) -> Result<Value> {
    let asked =
        EvaluateParams { return_by_value: Some(true), await_promise: Some(true), ..EvaluateParams::new(expression) };
    let reply: Value = page.session().request(asked, soon()).await?.parse()?;
    ensure!(reply.get("exceptionDetails").is_none(), "{expression}: {reply}");
    Ok(reply["result"]["value"].clone())
}

/// Waits until an expression is true on the page.
async fn until(page: &Page, expression: &str) -> Result<()> {
    let end = soon();
    while asked(page, expression).await? != json!(true) {
        if Instant::now() > end {
            bail!("{expression}: {}", asked(page, "document.body.innerText").await?);
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Ok(())
}

#[test]
fn a_run_is_watched_and_its_questions_are_answered_in_the_page() -> Result<()> {
    let (shop, runtime) = (Shop::open()?, Runtime::new()?);
    let plan = json!({
        "version": "1.0", "candidates": { "button": { "strategy": "byRole", "role": "button", "name": "Count" } },
        "steps": [{ "type": "click", "targetRef": "button" }, { "type": "click", "targetRef": "button" }],
    });
    let file = shop.runs().join("plan.json");
    std::fs::write(&file, plan.to_string())?;
    let (file, url) = (file.to_string_lossy().into_owned(), shop.url("/counter"));
    let out = shop.runs().join("watched").to_string_lossy().into_owned();
    let args = ["exec", &file, "--url", &url, "--gate", "effects", "--watch", "--out", &out];
    let mut run = Served::start(&args, "watch: ")?;
    let (_browser, page, _profiles) = runtime.block_on(shown(&run.url))?;
    let mut hits = Vec::new();
    for number in 0..2 {
        let button = format!("document.querySelector('#question [data-number=\"{number}\"] button[value=yes]')");
        runtime.block_on(until(&page, &format!("{button}?.disabled === false")))?;
        hits.push(shop.hits("counter"));
        runtime.block_on(asked(&page, &format!("{button}.click()")))?;
    }
    assert_eq!(hits, [0, 1], "each click waits for an answer");
    runtime.block_on(until(&page, "document.querySelector('#head .badge').textContent.includes('ok')"))?;
    let ended = run.child.wait()?;
    ensure!(ended.success(), "{ended}");
    assert_eq!(shop.hits("counter"), 2);
    let seen = runtime.block_on(asked(
        &page,
        "[document.querySelectorAll('#rows .row').length, document.querySelectorAll('#strip li').length,
          document.querySelectorAll('.step .before .target').length, document.title.startsWith('ok: plan.json on ')]",
    ))?;
    assert_eq!(seen, json!([3, 3, 2, true]), "rows, pictures, marked targets");
    runtime.block_on(until(
        &page,
        "document.querySelector('#state').textContent === 'This page is not served any more.'",
    ))?;
    Ok(())
}

#[test]
fn the_newest_step_stays_in_view_unless_a_person_scrolls_or_chooses() -> Result<()> {
    let (shop, runtime) = (Shop::open()?, Runtime::new()?);
    let check = json!({ "type": "assert", "condition": { "kind": "urlMatches", "pattern": "counter" } });
    let click = json!({ "type": "click", "targetRef": "button" });
    let mut steps = vec![check; 30];
    steps.extend(vec![click; 4]);
    let plan = json!({
        "version": "1.0", "candidates": { "button": { "strategy": "byRole", "role": "button", "name": "Count" } },
        "steps": steps,
    });
    let file = shop.runs().join("plan.json");
    std::fs::write(&file, plan.to_string())?;
    let (file, url) = (file.to_string_lossy().into_owned(), shop.url("/counter"));
    let out = shop.runs().join("watched").to_string_lossy().into_owned();
    let args = ["exec", &file, "--url", &url, "--gate", "effects", "--watch", "--out", &out];
    let run = Served::start(&args, "watch: ")?;
    let (_browser, page, _profiles) = runtime.block_on(shown(&run.url))?;
    let allow = |number: usize| -> Result<()> {
        let button = format!("document.querySelector('#question [data-number=\"{number}\"] button[value=yes]')");
        runtime.block_on(until(&page, &format!("{button}?.disabled === false")))?;
        runtime.block_on(asked(&page, &format!("{button}.click()")))?;
        runtime.block_on(until(&page, &format!("rows().length === {}", 32 + number)))
    };
    let place = "(() => {
        const [row, list] = [rows().at(-1), $('rows')].map((one) => one.getBoundingClientRect());
        const isSeen = row.top >= list.top && row.bottom <= Math.min(list.bottom, innerHeight) + 1;
        return [isSeen, isChosen(rows().at(-1)), $('rows').scrollTop === 0, $('follow').checked];
    })()";
    let placed = || runtime.block_on(asked(&page, place));
    runtime.block_on(until(&page, "rows().length === 31 && !!document.querySelector('#question button')"))?;
    assert_eq!(runtime.block_on(asked(&page, "$('follow').checkVisibility()"))?, true);
    assert_eq!(placed()?, json!([true, true, false, true]), "the newest of many");
    allow(0)?;
    assert_eq!(placed()?, json!([true, true, false, true]), "the one that came");
    runtime.block_on(asked(&page, "$('rows').scrollTop = 0"))?;
    allow(1)?;
    assert_eq!(placed()?, json!([false, true, true, true]), "a list that was scrolled stays");
    // An update that comes in the very moment of the click.
    let chosen = "rows()[3].firstElementChild.click();
        take({ replaced: [], added: [], isRunning: true, shown: JSON.parse(document.body.dataset.shown) });
        [$('follow').checked, isChosen(rows()[3])]";
    assert_eq!(runtime.block_on(asked(&page, chosen))?, json!([false, true]), "who chooses is not taken away");
    runtime.block_on(asked(&page, "$('rows').scrollTop = $('rows').scrollHeight"))?;
    allow(2)?;
    assert_eq!(runtime.block_on(asked(&page, "isChosen(rows()[3])"))?, true, "what was chosen stays");
    assert_eq!(placed()?[2], false, "and does not pull the list back to it");
    runtime.block_on(asked(&page, "$('follow').click()"))?;
    allow(3)?;
    assert_eq!(placed()?, json!([true, true, false, true]), "it is followed again");
    runtime.block_on(until(&page, "!$('follow').checkVisibility()"))?;
    Ok(())
}

#[test]
fn a_run_that_has_ended_is_shown_with_its_pictures() -> Result<()> {
    let (shop, runtime) = (Shop::open()?, Runtime::new()?);
    let ended = shop.run("/login", "log in as ann with password correct-horse", &["--record"])?;
    let dir = ended.run_dir()?.to_string_lossy().into_owned();
    let view = Served::start(&["view", &dir], "")?;
    let (_browser, page, _profiles) = runtime.block_on(shown(&view.url))?;
    runtime.block_on(until(&page, "document.querySelector('#head .badge').textContent.includes('ok')"))?;
    assert_eq!(runtime.block_on(asked(&page, "$('follow').checkVisibility()"))?, false, "there is nothing to follow");
    let loaded = "(async () => {
        const images = Array.from(document.querySelectorAll('.panel image')).map((image) => image.href.baseVal);
        const sizes = images.map((src) => new Promise((done) => {
            const image = new Image();
            image.onload = () => done(image.width > 100);
            image.onerror = () => done(false);
            image.src = src;
        }));
        return images.length >= 4 && (await Promise.all(sizes)).every(Boolean);
    })()";
    assert_eq!(runtime.block_on(asked(&page, loaded))?, true);
    // Neither a script of the page's text nor a foreign server would be loaded.
    let foreign = "fetch('http://127.0.0.1:9/').then(() => 'sent', (error) => error.message)";
    assert_eq!(runtime.block_on(asked(&page, foreign))?, "Failed to fetch");
    Ok(())
}

#[test]
fn what_is_neither_a_run_nor_a_session_is_refused() -> Result<()> {
    let shop = Shop::open()?;
    let folder = shop.runs().to_string_lossy().into_owned();
    for (named, expected) in [("no-such-thing", "no-such-thing is neither"), (folder.as_str(), "has no log.jsonl")] {
        let refused = cuebook(&["view", named, "--json"])?;
        assert_eq!(refused.code, 2, "{refused:?}");
        let message = refused.json()?["error"]["message"].as_str().context("no message")?.to_owned();
        assert!(message.contains(expected), "{message}");
    }
    Ok(())
}
