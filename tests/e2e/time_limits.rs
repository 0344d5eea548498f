//! Every command ends within its time limit and two seconds, whatever the page does. These tests allow ten more: the
//! machine that they run on may be busy.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use cuebook_tests::faults::servers::{ServerReply, serve, whole};
use cuebook_tests::{Shop, command};
use serde_json::{Value, json};

const LIMIT: Duration = Duration::from_secs(3);
const MARGIN: Duration = Duration::from_secs(10);

/// Serves one page at every path, but for `/other`, which is an empty one.
fn page(answer: ServerReply) -> Result<String> {
    let other = whole("200 OK", "text/html", "<title>Other</title>");
    let address = serve(move |_, path| match path {
        "/other" => ServerReply::After(Duration::ZERO, other.clone()),
        _ => answer.clone(),
    })?;
    Ok(format!("http://{address}/"))
}

fn html(body: &str) -> ServerReply {
    let body = format!("<!doctype html><title>Page</title><button>Go</button>{body}");
    ServerReply::After(Duration::ZERO, whole("200 OK", "text/html", &body))
}

/// A page that builds itself by script.
fn script(script: &str) -> ServerReply {
    html(&format!("<div id=x></div><script>{script}</script>"))
}

/// A page that hangs, ticks, asks or is larger than can be read.
fn pages() -> Vec<(&'static str, ServerReply)> {
    vec![
        ("never answers", ServerReply::Stall(String::new())),
        (
            "never ends",
            ServerReply::Stall("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<button>Go</button>".to_owned()),
        ),
        ("busy for ever", script("while (true);")),
        ("busy soon", script("setTimeout(() => { while (true); }, 600)")),
        ("alerts in a loop", script("while (true) alert('again')")),
        ("refreshes at once", html("<meta http-equiv=refresh content=0>")),
        ("refreshes ten times a second", html("<meta http-equiv=refresh content=0.1>")),
        ("pushes states", script("setInterval(() => history.pushState(0, '', '?' + Math.random()), 1)")),
        ("changes all the time", script("setInterval(() => { x.innerHTML = '<p>a</p>'.repeat(2000) }, 1)")),
        ("a million elements", script("x.innerHTML = '<p></p>'.repeat(1e6)")),
        ("a hundred thousand buttons", script("x.innerHTML = '<button>Go</button>'.repeat(1e5)")),
        ("50 MB of text", script("x.textContent = 'word word '.repeat(5e6)")),
        (
            "nested ten thousand deep",
            script(
                "let e = x; for (let i = 0; i < 1e4; i++) { const n = document.createElement('div'); e.append(n); e = n }",
            ),
        ),
        (
            "thousands of frames",
            script("for (let i = 0; i < 3000; i++) { const f = document.createElement('iframe'); x.append(f) }"),
        ),
        (
            "a hundred thousand shadow roots",
            script(
                "for (let i = 0; i < 1e5; i++) { const f = document.createElement('div'); \
                 f.attachShadow({ mode: i % 2 ? 'open' : 'closed' }).innerHTML = '<button>In</button>'; x.append(f) }",
            ),
        ),
        (
            "overwritten prototypes",
            html(
                "<form><input name=attributes><input name=children><input name=parentNode></form><script>\
                 for (const name of ['map', 'filter', 'push', 'slice']) Array.prototype[name] = () => { throw 1 };\
                 Promise.prototype.then = () => { throw 2 }; JSON.stringify = () => 'x';\
                 Element.prototype.getBoundingClientRect = () => { throw 3 };\
                 Object.prototype.toJSON = () => 'y'; Map.prototype.get = () => { throw 4 }</script>",
            ),
        ),
    ]
}

#[test]
fn s57_s76_s78_an_observation_of_any_page_ends_in_time_or_says_why_not() -> Result<()> {
    let shop = Shop::open()?;
    for (name, answer) in pages() {
        let url = page(answer)?;
        let began = Instant::now();
        let ended = shop.cuebook(&["observe", &url, "--timeout", "3s"])?;
        let took = began.elapsed();
        assert!(took < LIMIT + MARGIN, "{name}: {took:?}");
        let document = ended.json().with_context(|| name.to_owned())?;
        let is_whole = ended.code == 0 && document["candidates"].is_array();
        let left_out = &document["truncated"];
        let is_part = ["elements", "candidates", "frames"].iter().any(|what| left_out[what].as_u64() > Some(0));
        let is_typed = ended.code == 1 && document["error"]["code"].is_string();
        assert!(is_whole || is_part || is_typed, "{name}: {ended:?}");
        assert!(!ended.stderr.contains("panicked") && !ended.stderr.contains("    at "), "{name}: {ended:?}");
    }
    Ok(())
}

/// Runs a plan on a page. Returns the report and how long its longest step took.
fn exec(shop: &Shop, url: &str, steps: &Value) -> Result<(Value, Duration)> {
    let file = tempfile::NamedTempFile::new_in(shop.runs())?;
    let plan = json!({
        "version": "1.0",
        "candidates": { "go": { "strategy": "css", "selector": "button" } },
        "steps": steps,
    });
    serde_json::to_writer(file.as_file(), &plan)?;
    let path = file.path().to_string_lossy().into_owned();
    let began = Instant::now();
    let ended = shop.cuebook(&["exec", &path, "--url", url, "--timeout", "3s", "--no-repair"])?;
    let took = began.elapsed();
    let report = ended.json()?;
    let reported = report["steps"].as_array().map_or(0, Vec::len);
    // Each step has its limit; the browser's start and end are in the margin.
    let all = (LIMIT + Duration::from_secs(2)) * u32::try_from(reported.max(1))?;
    ensure!(took < all + MARGIN, "{reported} steps took {took:?}");
    let durations = report["steps"].as_array().into_iter().flatten().filter_map(|step| step["durationMs"].as_u64());
    let longest = Duration::from_millis(durations.max().unwrap_or(0));
    Ok((report, longest))
}

#[test]
fn s75_s78_s80_a_step_on_any_page_ends_in_time_and_says_why_it_failed() -> Result<()> {
    let shop = Shop::open()?;
    let click = json!([{ "type": "click", "targetRef": "go" }]);
    for (name, answer, causes) in [
        ("busy when clicked", html("<script>onclick = () => { while (true); }</script>"), &["deadlineExceeded"][..]),
        ("busy for ever", script("while (true);"), &["deadlineExceeded"]),
        ("alerts in a loop", script("setInterval(() => alert('again'), 10)"), &["dialogOpen"]),
        ("prints again and again", script("setInterval(() => print(), 100)"), &["", "deadlineExceeded"]),
        (
            "closes when clicked",
            html("<script>onclick = () => { open('', '_self'); window.close() }</script>"),
            &["", "pageCrashed", "targetNotFound", "browserGone"],
        ),
        (
            "refreshes at once",
            html("<meta http-equiv=refresh content=0>"),
            &["", "targetStale", "deadlineExceeded", "targetNotFound", "effectUnknown"],
        ),
        (
            "moves and starves frames",
            html(
                "<script>const b = document.querySelector('button'); let n = 0; (function f() { const t = performance.now();\
                  while (performance.now() - t < 300); b.style.marginLeft = (n++ % 300) + 'px'; requestAnimationFrame(f) })()</script>",
            ),
            &["notStable", "deadlineExceeded"],
        ),
    ] {
        let (report, longest) = exec(&shop, &page(answer)?, &click).with_context(|| name.to_owned())?;
        assert!(longest < LIMIT + MARGIN, "{name}: {longest:?}");
        let cause = report["error"]["code"].as_str().unwrap_or_default();
        assert!(causes.contains(&cause), "{name}: {report:#}");
    }
    Ok(())
}

#[test]
fn s75_a_page_that_asks_before_it_is_left_keeps_nobody() -> Result<()> {
    let shop = Shop::open()?;
    let url = page(html("<script>onbeforeunload = (event) => { event.preventDefault(); return 'stay' }</script>"))?;
    let steps = json!([
        { "type": "click", "targetRef": "go" },
        { "type": "navigate", "url": format!("{url}other") },
        { "type": "assert", "condition": { "kind": "titleMatches", "pattern": "Other" } },
    ]);
    let (report, longest) = exec(&shop, &url, &steps)?;
    assert_eq!(report["result"], "ok", "{report:#}");
    assert!(longest < LIMIT + MARGIN, "{longest:?}");
    Ok(())
}

#[test]
fn a_dry_run_keeps_to_its_time_limit() -> Result<()> {
    let shop = Shop::open()?;
    let url = page(ServerReply::Stall(String::new()))?;
    let began = Instant::now();
    let ended = shop.cuebook(&["run", "click Go", "--url", &url, "--dry-run", "--timeout", "3s"])?;
    assert!(began.elapsed() < LIMIT + MARGIN, "{:?}", began.elapsed());
    assert_eq!((ended.code, &ended.json()?["error"]["code"]), (1, &json!("deadlineExceeded")), "{ended:?}");
    Ok(())
}

#[test]
#[cfg(unix)]
fn f10_a_signal_ends_an_observation_in_order() -> Result<()> {
    for signal in ["-TERM", "-INT"] {
        let temporary = tempfile::tempdir()?;
        let (asked, was_asked) = std::sync::mpsc::channel();
        let address = serve(move |_, _| {
            asked.send(()).ok();
            ServerReply::Stall(String::new())
        })?;
        let mut observe = command()?;
        observe.args(["observe", &format!("http://{address}/"), "--json"]).env("TMPDIR", temporary.path());
        let child = observe.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        was_asked.recv_timeout(Duration::from_secs(40))?;
        ensure!(Command::new("kill").args([signal, &child.id().to_string()]).status()?.success(), "no signal was sent");
        let output = child.wait_with_output()?;
        assert_eq!(output.status.code(), Some(130), "{signal}: {output:?}");
        let report: Value = serde_json::from_slice(&output.stdout)?;
        assert_eq!((&report["result"], &report["error"]["code"]), (&json!("interrupted"), &json!("interrupted")));
        let profiles = std::fs::read_dir(temporary.path())?.next().context("a folder for profiles")??.path();
        assert_eq!(std::fs::read_dir(profiles)?.count(), 0, "{signal}: a profile is left");
    }
    Ok(())
}

#[test]
fn f04_an_observation_ends_in_time_when_the_browser_is_silent() -> Result<()> {
    let shop = Shop::open()?;
    let address = serve(|_, _| ServerReply::Stall(String::new()))?;
    let began = Instant::now();
    let browser = format!("http://{address}");
    let ended = shop.cuebook(&["observe", &shop.url("/login"), "--cdp", &browser, "--timeout", "3s"])?;
    assert!(began.elapsed() < LIMIT + MARGIN, "{:?}", began.elapsed());
    assert_eq!((ended.code, &ended.json()?["error"]["code"]), (3, &json!("noBrowser")), "{ended:?}");
    Ok(())
}
