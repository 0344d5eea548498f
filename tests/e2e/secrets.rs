//! A typed secret that the page repeats in every way it can is in nothing that leaves the process: prompts, progress,
//! logs, reports, artifacts, standard output.

use std::io::Read as _;
use std::path::Path as FilePath;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use aho_corasick::AhoCorasick;
use anyhow::{Context as _, Result, ensure};
use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::response::Html;
use axum::routing::{any, get};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cuebook::cdp::protocol::browser_protocol::target::CreateTargetParams;
use cuebook::cdp::protocol::js_protocol::runtime::EvaluateParams;
use cuebook::cdp::{Browser, Page, TargetId};
use cuebook::executor::ExecutorOptions;
use cuebook::grammar::deadline::Deadline;
use cuebook::grammar::id::{CredentialRef, PageId};
use cuebook::grammar::seam::{PlanReply, PlanRequest, PlanSink, Planner, SecretRefusal, SecretScope, SecretSource};
use cuebook::grammar::secret::Secret;
use cuebook::prelude::*;
use cuebook_repair::{Budgets, Listener, RunEvent};
use cuebook_tests::{Script, cuebook};
use serde_json::{Value, json};

const CANARY: &str = "CANARY-7f3a\"&é";

/// How a page writes the secret `v`.
const WAYS: [(&str, &str); 12] = [
    ("plain", "v"),
    ("JSON", "JSON.stringify({ v })"),
    ("a URL", "encodeURIComponent(v)"),
    ("a URL in a URL", "encodeURIComponent(encodeURIComponent(v))"),
    ("base64", "b64(v)"),
    ("base64 after one byte", "b64('u' + v)"),
    ("base64 after two bytes", "b64('u:' + v)"),
    ("hexadecimal", "[...new TextEncoder().encode(v)].map((b) => b.toString(16).padStart(2, '0')).join('')"),
    ("HTML", "[...v].map((c) => `&#${c.codePointAt(0)};`).join('')"),
    ("UTF-16", "[...v].map((c) => c + '\\0').join('')"),
    ("backwards", "[...v].reverse().join('')"),
    ("invisible characters between", "[...v].join('\\u200b')"),
];

/// Where it writes it: `x` is what was written, `out` an element.
const PLACES: [(&str, &str); 5] = [
    (
        "texts",
        "out.innerHTML = '<h2></h2><p role=alert></p>'; for (const e of out.children) e.textContent = x; \
        for (const c of x) out.appendChild(document.createElement('span')).textContent = c",
    ),
    (
        "controls",
        "out.innerHTML = '<button></button><a href=#>Go</a><select aria-label=Pick></select>'; \
        out.children[0].textContent = x; out.children[1].setAttribute('aria-label', x); out.children[2].add(new Option(x, x))",
    ),
    (
        "values",
        "out.innerHTML = '<input aria-label=Copy><textarea aria-label=Notes></textarea><input aria-invalid=true \
        aria-label=Bad aria-errormessage=e><p id=e></p>'; out.children[0].value = x; out.children[1].value = x; \
        out.children[0].setAttribute('data-copy', x); e.textContent = x",
    ),
    (
        "addresses",
        "document.title = x; history.pushState(0, '', '?q=' + encodeURIComponent(x)); \
        out.innerHTML = '<a>Go</a><iframe name=f src=about:blank></iframe>'; \
        out.firstChild.href = '/x?token=' + encodeURIComponent(x)",
    ),
    (
        "messages",
        "console.error(x); fetch('/x?token=' + encodeURIComponent(x), { method: 'POST', body: x }); \
        setTimeout(() => { throw new Error(x) }); out.textContent = 'sent'; sent = x",
    ),
];

/// The page of a way and a place.
fn page(number: usize) -> Option<String> {
    let (_, way) = WAYS.get(number / PLACES.len())?;
    let (_, place) = PLACES.get(number % PLACES.len())?;
    Some(format!(
        "<!doctype html><title>Log in</title><form onsubmit='return false'><label>Password <input type=password id=p>\
         </label><button onclick='show(p.value)'>Show</button></form><div id=out></div><script>let sent = ''; \
         const b64 = (text) => btoa(unescape(encodeURIComponent(text))); \
         const show = (v) => {{ const x = {way}; {place} }}</script>"
    ))
}

/// All that a page holds, decoded: where the controls look.
const HELD: &str = "[document.title, decodeURIComponent(location.href), sent, document.body.textContent, \
    ...[...document.querySelectorAll('*')].flatMap((e) => [e.value ?? '', ...[...e.attributes].map((a) => a.value)]), \
    ...[...document.links].map((a) => decodeURIComponent(a.href))].join('\\n')";

/// Returns the form of the secret that is written in each of [`WAYS`].
fn written(way: usize) -> String {
    let percent = |text: &str| -> String {
        let keeps = |c: char| c.is_ascii_alphanumeric() || "-_.!~*'()".contains(c);
        let escape = |c: char| c.to_string().bytes().map(|byte| format!("%{byte:02X}")).collect::<String>();
        text.chars().map(|c| if keeps(c) { c.to_string() } else { escape(c) }).collect()
    };
    match way {
        0 => CANARY.to_owned(),
        1 => json!({ "v": CANARY }).to_string(),
        2 => percent(CANARY),
        3 => percent(&percent(CANARY)),
        4 => STANDARD.encode(CANARY),
        5 => STANDARD.encode(format!("u{CANARY}")),
        6 => STANDARD.encode(format!("u:{CANARY}")),
        7 => CANARY.bytes().map(|byte| format!("{byte:02x}")).collect(),
        8 => CANARY.chars().map(|c| format!("&#{};", u32::from(c))).collect(),
        9 => CANARY.chars().map(|c| format!("{c}\0")).collect(),
        10 => CANARY.chars().rev().collect(),
        _ => CANARY.chars().map(String::from).collect::<Vec<_>>().join("\u{200b}"),
    }
}

/// Returns the bytes that would betray the secret in a file of any kind: parts of it in each encoding.
fn needles() -> Result<Needles> {
    let mut needles = Vec::new();
    for part in ["CANARY", "Y-7f3a"] {
        let mut add = |how: &str, bytes: Vec<u8>| needles.push((format!("{part:?} {how}"), bytes));
        let apart = |between: &str| part.chars().map(String::from).collect::<Vec<_>>().join(between).into_bytes();
        add("plain", part.into());
        add("backwards", part.chars().rev().collect::<String>().into());
        add("as HTML", part.chars().map(|c| format!("&#{};", u32::from(c))).collect::<String>().into());
        add("as UTF-16", part.encode_utf16().flat_map(u16::to_le_bytes).collect());
        for between in ["\u{200b}", "\0", " ", "\n", "\\u0000", "\\u200b", "\\n", "%00", "%E2%80%8B"] {
            add(&format!("with {between:?} between"), apart(between));
        }
        let hex: String = part.bytes().map(|byte| format!("{byte:02x}")).collect();
        add("in hexadecimal", hex.to_uppercase().into());
        add("in hexadecimal", hex.into());
    }
    // The digits that depend on the secret alone, wherever it begins in a group of three bytes.
    for (shift, skipped) in [(0, 0), (1, 2), (2, 3)] {
        let whole = STANDARD.encode(format!("{}CANARY-7f3a", "u".repeat(shift)));
        let own = whole.get(skipped..(shift + 11) * 8 / 6).unwrap_or_default();
        needles.push((format!("in base64 after {shift} bytes"), own.into()));
    }
    let search = AhoCorasick::new(needles.iter().map(|(_, bytes)| bytes))?;
    Ok(Needles { names: needles.into_iter().map(|(name, _)| name).collect(), search })
}

struct Needles {
    names: Vec<String>,
    search: AhoCorasick,
}

/// Returns the part of the secret that stands in `bytes`, and the bytes around it, also within compressed data.
fn found(bytes: &[u8], needles: &Needles) -> Option<String> {
    if bytes.starts_with(&[0x1f, 0x8b]) {
        let mut inflated = Vec::new();
        flate2::read::MultiGzDecoder::new(bytes).read_to_end(&mut inflated).ok()?;
        return found(&inflated, needles);
    }
    let hit = needles.search.find(bytes)?;
    let (name, at) = (needles.names.get(hit.pattern().as_usize())?, hit.start());
    let around = bytes.get(at.saturating_sub(80)..(at + 120).min(bytes.len())).unwrap_or_default();
    Some(format!("{name} in {:?}", String::from_utf8_lossy(around)))
}

/// Everything that left the process but for files.
#[derive(Clone, Default)]
struct CapturedOutput(Arc<Mutex<Vec<(String, String)>>>);

impl CapturedOutput {
    fn note(&self, how: &str, text: String) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push((how.to_owned(), text));
    }

    fn take(&self) -> Vec<(String, String)> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

struct Spied(Script, CapturedOutput);

impl Planner for Spied {
    type Error = std::convert::Infallible;

    async fn plan(
        &self,
        asked: &PlanRequest<'_>,
        sink: &mut dyn PlanSink,
        by: Deadline,
    ) -> Result<PlanReply, Self::Error> {
        self.1.note("observation", serde_json::to_string(asked.observation).unwrap_or_default());
        self.1.note("prompt", render::text(asked.observation, &TextOptions::default()));
        self.1.note("history", format!("{:?} {:?}", asked.history, asked.failure));
        self.0.plan(asked, sink, by).await
    }
}

impl Listener for CapturedOutput {
    fn event(&mut self, event: RunEvent<'_>) {
        self.note("event", format!("{event:?}"));
    }
}

/// Gives the canary to every field.
struct Canary;

impl SecretSource for Canary {
    async fn resolve(&self, _: &CredentialRef, _: &SecretScope, _: Deadline) -> Result<Secret, SecretRefusal> {
        Ok(Secret::new(CANARY))
    }
}

/// All files below a folder.
pub(super) fn files(folder: &FilePath) -> Result<Vec<std::path::PathBuf>> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() { all.extend(files(&path)?) } else { all.push(path) }
    }
    Ok(all)
}

async fn browser(profiles: &FilePath) -> Result<Arc<Browser>> {
    let mut options = cuebook_testkit::browser(profiles);
    options.viewport = (480, 400);
    Ok(Arc::new(Browser::launch(&options, Instant::now() + Duration::from_secs(30)).await?))
}

/// A tab in a window of its own: Chrome may take a minute for the picture of a tab behind another.
async fn window(browser: &Browser) -> Result<Page> {
    let until = Instant::now() + Duration::from_secs(30);
    let wanted = CreateTargetParams { new_window: Some(true), ..CreateTargetParams::new("about:blank") };
    let target = TargetId::from(browser.session().call(wanted, until).await?.target_id.inner().as_str());
    loop {
        if let Some(page) = browser.page(&target) {
            return Ok(page);
        }
        ensure!(Instant::now() < until, "the tab does not come");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Visits the pages and returns what leaked of each.
async fn leaks(browser: Arc<Browser>, origin: &str, numbers: Vec<usize>) -> Result<Vec<String>> {
    let until = || Instant::now() + Duration::from_secs(30);
    let steps = json!([
        { "type": "type", "targetRef": "textbox \"Password\"", "credentialRef": "canary" },
        { "type": "click", "targetRef": "button \"Show\"" },
        { "type": "waitForIdle", "quietMs": 100 },
        { "type": "getDom" },
        { "type": "searchPage", "query": "a" },
        { "type": "snapshot" },
        { "type": "findElements", "selector": "input, button, a, option, h2, p" },
        { "type": "screenshot" },
    ]);
    let needles = needles()?;
    let runs = tempfile::tempdir()?;
    let left = CapturedOutput::default();
    let tab = window(&browser).await?;
    let mut agent = Agent::builder()
        .browser(browser)
        .page(PageId::new(tab.target_id().as_str()))
        .planner(Spied(Script::new(&steps), left.clone()))
        // Debug builds on a busy machine take their time.
        .executor_options(ExecutorOptions { step_timeout: Duration::from_secs(60), ..ExecutorOptions::default() })
        .budgets(Budgets { step: Duration::from_secs(60), ..Budgets::default() })
        .secrets(Canary)
        .listener(left.clone())
        .runs_in(runs.path())
        .build()
        .await?;
    let mut leaks = Vec::new();
    for number in numbers {
        let (way, place) = (number / PLACES.len(), number % PLACES.len());
        let name = format!("{} in {}", WAYS[way].0, PLACES[place].0);
        agent.open(&format!("{origin}/{number}")).await?;
        let report = agent.run("do it").await.with_context(|| name.clone())?;

        // The control: it stands on the page, and the search knows it.
        let ask = EvaluateParams { return_by_value: Some(true), ..EvaluateParams::new(HELD) };
        let reply: Value = tab.session().request(ask, until()).await?.parse()?;
        let held = reply["result"]["value"].as_str().with_context(|| format!("{name}: {reply}"))?;
        ensure!(held.contains(&written(way)), "{name} shows no {:?}: {held:?}", written(way));
        ensure!(found(held.as_bytes(), &needles).is_some(), "{name}: the search finds nothing in {held:?}");

        let printed = serde_json::to_string(&report)?;
        let folder = std::path::PathBuf::from(report.run_dir.context("no folder")?);
        let kept: Value = serde_json::from_str(&std::fs::read_to_string(folder.join("report.json"))?)?;
        ensure!(kept == serde_json::from_str::<Value>(&printed)?, "{name}: the reports differ");
        left.note("report", printed);
        let mut pictures = 0;
        for path in files(&folder)? {
            pictures += usize::from(path.extension().is_some_and(|extension| extension == "png"));
            let bytes = std::fs::read(&path)?;
            leaks.extend(found(&bytes, &needles).map(|how| format!("{name}: {} has {how}", path.display())));
        }
        ensure!(pictures > 0, "{name}: no pictures");
        for (what, text) in left.take() {
            leaks.extend(found(text.as_bytes(), &needles).map(|how| format!("{name}: {what} has {how}")));
        }
    }
    agent.close().await?;
    Ok(leaks)
}

/// Each way once, and each place at least twice.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_page_repeats_of_a_secret_leaves_the_process_nowhere() -> Result<()> {
    nothing_leaks((0..WAYS.len()).map(|way| way * PLACES.len() + way % PLACES.len())).await
}

/// In the longer tier.
#[tokio::test(flavor = "multi_thread")]
async fn in_no_place_and_no_way_does_a_secret_leave_the_process() -> Result<()> {
    nothing_leaks(0..WAYS.len() * PLACES.len()).await
}

async fn nothing_leaks(pages: impl Iterator<Item = usize> + Clone) -> Result<()> {
    let serve = |Path(number): Path<usize>| async move { Html(page(number).unwrap_or_default()) };
    let router =
        Router::new().route("/{number}", get(serve)).route("/x", any(|| async { "" })).fallback(|| async { "" });
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let origin = format!("http://{}", listener.local_addr()?);
    tokio::spawn(async move { axum::serve(listener, router).await });

    let profiles = tempfile::tempdir()?;
    let browser = browser(profiles.path()).await?;
    // Three windows at once: a visit is mostly waiting.
    let tabs: Vec<_> = (0..3)
        .map(|tab| {
            let (browser, origin) = (browser.clone(), origin.clone());
            let numbers = pages.clone().skip(tab).step_by(3).collect();
            let runtime = tokio::runtime::Handle::current();
            std::thread::spawn(move || runtime.block_on(leaks(browser, &origin, numbers)))
        })
        .collect();
    let mut all = Vec::new();
    for tab in tabs {
        let leaks = tokio::task::block_in_place(|| tab.join());
        all.extend(leaks.map_err(|_| anyhow::anyhow!("a tab's thread panicked"))??);
    }
    assert!(all.is_empty(), "{} leaks: {:#?}", all.len(), all.get(..all.len().min(20)));
    Ok(())
}

/// A page that sends what is typed, and says it.
const LOGIN: &str = "<!doctype html><title>Log in</title><label>Password <input type=password id=p></label>\
    <label>Search <input id=s></label><button onclick='fetch(\"/typed\", { method: \"POST\", body: p.value }); \
    out.textContent = `no such password: ${p.value}`; console.error(p.value)'>Log in</button><p id=out role=alert></p>";

/// Runs `cuebook exec` on the page: what the server was sent, and how it ended.
async fn typed(
    secrets: &str,
    steps: Value,
    by: Option<&str>,
) -> Result<(Vec<String>, cuebook_tests::CliOutput, Vec<u8>)> {
    let sent = Arc::new(Mutex::new(Vec::new()));
    let note = |State(sent): State<Arc<Mutex<Vec<String>>>>, body: Bytes| async move {
        sent.lock().unwrap_or_else(PoisonError::into_inner).push(String::from_utf8_lossy(&body).into_owned());
    };
    let router = Router::new().route("/", get(|| async { Html(LOGIN) })).route("/typed", axum::routing::post(note));
    let router = router.fallback(|| async { "" }).with_state(sent.clone());
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}/", listener.local_addr()?);
    tokio::spawn(async move { axum::serve(listener, router).await });

    let folder = tempfile::tempdir()?;
    let at = |name: &str| folder.path().join(name).display().to_string();
    std::fs::write(at("secrets.toml"), secrets)?;
    #[cfg(unix)]
    std::fs::set_permissions(at("secrets.toml"), std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
    std::fs::write(
        at("plan.json"),
        json!({ "version": "1.0", "steps": steps, "candidates": {
        "password": { "strategy": "css", "selector": "#p" }, "out": { "strategy": "css", "selector": "#out" }, "search": { "strategy": "css", "selector": "#s" },
        "button": { "strategy": "css", "selector": "button" } } })
        .to_string(),
    )?;
    let args =
        ["exec", &at("plan.json"), "--url", &url, "--secrets", &at("secrets.toml"), "--out", &at("runs"), "--json"]
            .map(str::to_owned);
    let by = by.map(str::to_owned);
    let ended = tokio::task::spawn_blocking(move || match by {
        None => cuebook(&args.iter().map(String::as_str).collect::<Vec<_>>()),
        Some(shell) => {
            let binary = cuebook_tests::command()?.get_program().to_owned();
            let output = std::process::Command::new("sh").args(["-c", &shell]).arg(binary).args(&args).output()?;
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
            Ok(cuebook_tests::CliOutput { code: output.status.code().unwrap_or(-1), stdout, stderr })
        }
    })
    .await??;
    let mut kept = Vec::new();
    for path in files(&folder.path().join("runs"))? {
        kept.extend(std::fs::read(path)?);
    }
    let sent = sent.lock().unwrap_or_else(PoisonError::into_inner).clone();
    Ok((sent, ended, kept))
}

fn log_in(reference: &str) -> Value {
    json!([
        { "type": "type", "targetRef": "password", "credentialRef": reference },
        { "type": "click", "targetRef": "button", "post": [
            { "kind": "elementTextContains", "target": "out", "text": "no such password" }] },
    ])
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn a_file_of_secrets_names_values_programs_and_seeds() -> Result<()> {
    let secrets = "value.value = \"CANARY-7f3a\"\nprogram.command = [\"printf\", \"CANARY-%s\\\\n\", \"7f3a\"]\n";
    let needles = needles()?;
    for name in ["value", "program"] {
        let (sent, ended, kept) = typed(secrets, log_in(name), None).await?;
        assert_eq!(ended.code, 0, "{ended:?}");
        assert_eq!(sent, ["CANARY-7f3a"], "{name}");
        assert!(!kept.is_empty());
        for bytes in [ended.stdout.as_bytes(), ended.stderr.as_bytes(), &kept] {
            assert_eq!(found(bytes, &needles), None, "{name}: {}", String::from_utf8_lossy(bytes));
        }
        assert!(ended.stdout.contains("[redacted]"), "the page's answer is in the report: {}", ended.stdout);
    }
    Ok(())
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn a_secret_is_not_typed_into_a_search_box_or_stated_in_the_clear() -> Result<()> {
    let secrets =
        "pw.value = \"CANARY-7f3a\"\nelsewhere.value = \"CANARY-7f3a\"\nelsewhere.origins = [\"https://a.test\"]\n";
    let into = |target: &str, name: &str| json!([{ "type": "type", "targetRef": target, "credentialRef": name }]);
    let clear = json!([{ "type": "type", "targetRef": "search", "text": "CANARY-7f3a" }]);
    // Where the check cannot know what page a step is on, it is refused when it runs.
    let later = json!([{ "type": "reload" }, into("password", "elsewhere")[0]]);
    let cases = [(into("search", "pw"), "secretScope"), (later, "secretScope"), (clear, "rawSecret")];
    for (steps, rule) in cases {
        let (sent, ended, _) = typed(secrets, steps, None).await?;
        assert_eq!((ended.code, sent.len()), (4, 0), "{ended:?}");
        let report = ended.json()?;
        let facts = report["steps"].as_array().and_then(|steps| steps.last()).map(|step| &step["failure"]["facts"]);
        assert_eq!(facts.context("no step")?["rule"], rule, "{report}");
    }
    Ok(())
}

/// The program of the secret prints the limit of core dumps that it inherited.
#[cfg(unix)]
#[expect(clippy::print_stderr, reason = "who reads the results must see that it did not run")]
#[tokio::test(flavor = "multi_thread")]
async fn a_run_leaves_no_core_dump() -> Result<()> {
    let raise = "ulimit -S -c \"$(ulimit -H -c)\"";
    let control = std::process::Command::new("sh").args(["-c", &format!("{raise}; ulimit -c")]).output()?;
    if control.stdout == b"0\n" {
        eprintln!("skipped: this system allows no core dumps at all");
        return Ok(());
    }
    let secrets = "limit.command = [\"sh\", \"-c\", \"echo core $(ulimit -c)\"]\n";
    let (sent, ended, _) = typed(secrets, log_in("limit"), Some(&format!("{raise}; exec \"$0\" \"$@\""))).await?;
    assert_eq!(ended.code, 0, "{ended:?}");
    assert_eq!(sent, ["core 0"]);
    Ok(())
}
