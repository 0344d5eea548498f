//! Replays from recorded traffic, with the network off.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context as _, Result, ensure};
use axum::Router;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{AppendHeaders, Html, IntoResponse as _, Redirect};
use axum::routing::{get, post};
use cuebook_tests::{CliOutput, Shop, cuebook};
use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::Value;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::runtime::Runtime;

use super::replay::text;

/// Everything about it differs from one time to the next: markup, answers, cookies; and it makes its own identifiers, reads
/// the clock, asks at intervals, in workers and in frames.
const BUSY: &str = "<!doctype html><title>Busy</title><script src=/app.js></script><h1>Visit VISIT</h1><p id=now></p>
    <p id=poll></p><form action=/go method=post><label>Name <input name=name></label><button id=bVISIT>Next</button></form>
    <iframe src=/frame></iframe>";
const APP: &str = "const id = crypto.randomUUID();
    const json = { 'content-type': 'application/json' };
    fetch('/api/start', { method: 'POST', headers: json, body: JSON.stringify({ id, at: Date.now(), r: Math.random() }) });
    addEventListener('DOMContentLoaded', () => {
        setInterval(async () => {
            const asked = await fetch('/api/poll?_=' + Math.floor(performance.now()));
            document.getElementById('poll').textContent = await asked.text();
        }, 100);
        setInterval(() => { document.getElementById('now').textContent = new Date().toISOString(); }, 70);
        new Worker('/worker.js').onmessage = event => fetch('/api/worked?v=' + event.data);
        const csrf = document.cookie.split('csrf=')[1];
        fetch('/api/guarded', { method: 'POST', body: csrf });
        new EventSource('/events');
        fetch('/api/other', { method: 'PUT', headers: { 'x-own': '1' } });
    });";

/// A server that can be taken away.
struct Busy {
    origin: String,
    asked: Arc<AtomicU64>,
    folder: TempDir,
    server: Option<Runtime>,
}

impl Busy {
    fn open() -> Result<Self> {
        let asked = Arc::new(AtomicU64::new(0));
        let count = |asked: &Arc<AtomicU64>| asked.fetch_add(1, Ordering::Relaxed).to_string();
        let (page, said, done) = (asked.clone(), asked.clone(), asked.clone());
        let script = || [(header::CONTENT_TYPE, "text/javascript")];
        let router = Router::new()
            .route(
                "/",
                get(move || async move {
                    let visit = count(&page);
                    let cookies = [
                        ("set-cookie", format!("session=of-visit-{visit}; HttpOnly")),
                        ("set-cookie", format!("csrf=0123456789abcdef{visit}")),
                    ];
                    (AppendHeaders(cookies), Html(BUSY.replace("VISIT", &visit)))
                }),
            )
            .route("/app.js", get(move || async move { (script(), APP) }))
            .route("/worker.js", get(move || async move { (script(), "postMessage(Math.random())") }))
            .route(
                "/frame",
                get(|| async { Html("<script>fetch('/api/frame?r=' + Math.random())</script>in a frame") }),
            )
            .route("/go", post(|| async { Redirect::to("/moved") }))
            .route("/moved", get(|| async { (StatusCode::FOUND, [(header::LOCATION, "/done")]) }))
            .route(
                "/done",
                get(move |headers: HeaderMap| async move {
                    let cookies =
                        headers.get("cookie").and_then(|all| all.to_str().ok()).map_or(0, |all| all.split(';').count());
                    let thanks =
                        format!("<title>Done</title><h1>Thanks</h1><p>{cookies} cookies, {}</p>", count(&done));
                    Html(thanks + "<button onclick=\"title.id = 1\">Print</button>")
                }),
            )
            .route(
                "/events",
                get(|| async { ([(header::CONTENT_TYPE, "text/event-stream")], "data: hello\n\n").into_response() }),
            )
            .fallback(move || async move { count(&said) });
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0"))?;
        let origin = format!("http://{}", listener.local_addr()?);
        runtime.spawn(async move { axum::serve(listener, router).await });
        Ok(Self { origin, asked, folder: TempDir::new()?, server: Some(runtime) })
    }

    fn cuebook(&self, args: &[&str]) -> Result<CliOutput> {
        let out = self.folder.path().join("runs");
        cuebook(&[args, &["--out", text(&out)?, "--json"]].concat())
    }

    /// Runs a plan and keeps its traffic.
    fn record(&self) -> Result<PathBuf> {
        let plan = self.folder.path().join("plan.json");
        let steps = serde_json::json!([
            { "type": "type", "targetRef": "name", "text": "Ada" },
            { "type": "waitFor", "condition": { "kind": "titleMatches", "pattern": "^Busy$" } },
            { "type": "click", "targetRef": "next", "post": [{ "kind": "urlMatches", "pattern": "/done$" }] },
            { "type": "click", "targetRef": "print" },
        ]);
        let candidates = serde_json::json!({
            "name": { "strategy": "byRole", "role": "textbox", "name": "Name" },
            "next": { "strategy": "byRole", "role": "button", "name": "Next" },
            "print": { "strategy": "byRole", "role": "button", "name": "Print" },
        });
        let plan_text = serde_json::json!({ "version": "1.0", "candidates": candidates, "steps": steps });
        fs::write(&plan, plan_text.to_string())?;
        let ended = self.cuebook(&["exec", text(&plan)?, "--url", &self.origin, "--record-network"])?;
        ensure!(ended.code == 0, "{ended:?}");
        ended.run_dir()
    }
}

/// Returns the parts of a run that a replay has to repeat: each step with its outcome, its pages and its verdicts. In
/// which step a page asks for something by itself is a matter of time; the set of requests is compared by the replay.
fn normalised(run: &Path) -> Result<Vec<Value>> {
    let log = fs::read_to_string(run.join("log.jsonl"))?;
    let mut records = Vec::new();
    for line in log.lines().filter(|line| line.starts_with(r#"{"entry":"commit""#)) {
        let record: Value = serde_json::from_str(line)?;
        let verdicts = |checks: &str| -> Vec<Value> {
            record[checks].as_array().into_iter().flatten().map(|judged| judged["verdict"].clone()).collect()
        };
        records.push(serde_json::json!({
            "step": record["action"]["type"], "result": record["result"], "url": record["url"],
            "urlAfter": record["effects"]["urlAfter"], "pre": verdicts("preCheck"), "post": verdicts("postCheck"),
        }));
    }
    Ok(records)
}

#[test]
fn a_recorded_run_replays_without_its_server_and_misses_nothing() -> Result<()> {
    let mut busy = Busy::open()?;
    let recorded = busy.record()?;
    let traffic = fs::read_to_string(recorded.join("network.jsonl"))?;
    for part in
        ["/app.js", "/worker.js", "/frame", "/api/worked", "/api/frame", "/events", "\"status\":303", "\"status\":302"]
    {
        ensure!(traffic.contains(part), "expected {part} in {traffic}");
    }
    let archives = busy.folder.path().join("har");
    let exported = ["export", text(&recorded)?, "--to", "har", "--redact", "none", "--out", text(&archives)?, "--json"];
    let exported = cuebook(&exported)?;
    ensure!(exported.code == 0, "{exported:?}");
    let archive = fs::read_dir(&archives)?
        .filter_map(|file| Some(file.ok()?.path()))
        .find(|path| path.extension().is_some_and(|e| e == "har"));
    let har: Value = serde_json::from_str(&fs::read_to_string(archive.context("expected an archive")?)?)?;
    let entry = |path: &str| {
        let entries = har["log"]["entries"].as_array().into_iter().flatten();
        entries
            .into_iter()
            .find(|entry| entry["request"]["url"].as_str().is_some_and(|url| url.ends_with(path)))
            .cloned()
    };
    let script = entry("/app.js").context("expected the script")?;
    ensure!(script["response"]["content"]["text"] == APP && script["response"]["status"] == 200, "{script:#}");
    let sent = entry("/api/start").context("expected what the script sent")?;
    ensure!(sent["request"]["postData"]["text"].as_str().is_some_and(|text| text.contains("\"id\"")), "{sent:#}");
    ensure!(sent["pageref"].is_string(), "{sent:#}");
    let timed = |line: &str| -> Result<Value> { Ok(serde_json::from_str(line)?) };
    let mut told = 0;
    for exchange in traffic.lines().skip(1).map(timed) {
        let exchange = exchange?;
        let times = ["requestedMs", "tsMs", "endedMs"].map(|name| exchange[name].as_u64());
        ensure!(times[0].is_none() || times.is_sorted(), "a request, its response, its end: {exchange:#}");
        told += usize::from(times[0].is_some());
        ensure!(exchange["stepIndex"].is_u64(), "nothing is requested before the first step: {exchange:#}");
    }
    // Chrome does not tell it of workers' own workers, and late where a page is busy.
    ensure!(told > 4, "{told} requests with a time");
    let steps: BTreeSet<u64> =
        traffic.lines().skip(1).filter_map(|line| timed(line).ok()?["stepIndex"].as_u64()).collect();
    ensure!(steps.len() > 1, "requests of one step only: {steps:?}");
    ensure!(!traffic.contains("of-visit-") && !traffic.contains("0123456789abcdef"), "{traffic}");
    busy.server.take().context("it runs")?.shutdown_background();
    let asked = busy.asked.load(Ordering::Relaxed);
    let mut seen = BTreeSet::new();
    for _ in 0..2 {
        let ended =
            busy.cuebook(&["replay", text(&recorded)?, "--offline", "--ignore", "/api/", "--ignore", "/events"])?;
        let report = ended.json()?;
        ensure!(ended.code == 0, "{:#} {:#}", report["replay"], report["offline"]);
        ensure!(report["offline"]["missed"] == 0 && report["offline"]["answered"].as_u64() > Some(8), "{report:#}");
        ensure!(report["usage"]["plannerCalls"] == 0, "{report:#}");
        let normalised = normalised(&ended.run_dir()?)?;
        ensure!(normalised.len() == 5, "{normalised:#?}");
        seen.insert(serde_json::to_string(&normalised)?);
    }
    ensure!(seen.len() == 1, "{seen:#?}");
    ensure!(busy.asked.load(Ordering::Relaxed) == asked, "nothing reached the server");
    Ok(())
}

#[test]
fn what_the_recording_does_not_have_fails_the_replay_and_is_named() -> Result<()> {
    let mut busy = Busy::open()?;
    let recorded = busy.record()?;
    busy.server.take().context("it runs")?.shutdown_background();
    let path = recorded.join("network.jsonl");
    let kept: Vec<String> =
        fs::read_to_string(&path)?.lines().filter(|line| !line.contains("/worker.js")).map(str::to_owned).collect();
    fs::write(&path, kept.join("\n") + "\n")?;
    let ended = busy.cuebook(&["replay", text(&recorded)?, "--offline"])?;
    ensure!(ended.code == 1, "{ended:?}");
    let report = ended.json()?;
    ensure!(
        report["offline"]["misses"].to_string().contains("GET ")
            && report["offline"]["misses"].to_string().contains("/worker.js"),
        "{report:#}"
    );

    fs::remove_file(&path)?;
    let ended = busy.cuebook(&["replay", text(&recorded)?, "--offline"])?;
    ensure!(ended.code == 2 && ended.stderr.contains("--record-network"), "{ended:?}");
    Ok(())
}

#[test]
fn a_recording_holds_no_password_that_was_typed() -> Result<()> {
    let shop = Shop::open()?;
    let recorded = shop.run("/login", "Log in as ann with password correct-horse", &["--record-network"])?.run_dir()?;
    let traffic = fs::read_to_string(recorded.join("network.jsonl"))?;
    ensure!(!traffic.contains("correct-horse"), "{traffic}");
    let mut bodies = 0;
    for line in traffic.lines() {
        let exchange: Value = serde_json::from_str(line)?;
        let Some(body) = exchange["requestBody"]["path"].as_str() else { continue };
        let body = fs::read_to_string(recorded.join(body))?;
        ensure!(!body.contains("correct-horse"), "{body}");
        bodies += 1;
    }
    ensure!(bodies > 0, "{traffic}");
    Ok(())
}

/// A page that talks with its server over a WebSocket, and the server, which repeats what it hears.
async fn talking(listener: tokio::net::TcpListener) {
    const PAGE: &str =
        "<!doctype html><title>Talk</title><button onclick='socket.send(`hello`)'>Talk</button><p id=said></p>
        <script>const socket = new WebSocket(`ws://${location.host}/socket`);
        socket.onmessage = event => { said.textContent += event.data; }</script>";
    while let Ok((mut stream, _)) = listener.accept().await {
        tokio::spawn(async move {
            let mut head = [0; 2_048];
            let read = stream.peek(&mut head).await.unwrap_or(0);
            if String::from_utf8_lossy(head.get(..read).unwrap_or_default()).starts_with("GET /socket") {
                let Ok(mut socket) = tokio_tungstenite::accept_async(stream).await else { return };
                while let Some(Ok(heard)) = socket.next().await {
                    if heard.is_close() || socket.send(heard).await.is_err() {
                        return;
                    }
                }
                return;
            }
            let _ = stream.read(&mut head).await;
            let head = "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\nconnection: close\r\ncontent-length";
            let _ = stream.write_all(format!("{head}: {}\r\n\r\n{PAGE}", PAGE.len()).as_bytes()).await;
        });
    }
}

#[test]
fn what_goes_over_a_web_socket_is_recorded_and_in_the_har() -> Result<()> {
    let server = Runtime::new()?;
    let listener = server.block_on(tokio::net::TcpListener::bind("127.0.0.1:0"))?;
    let url = format!("http://{}/", listener.local_addr()?);
    server.spawn(talking(listener));
    let folder = TempDir::new()?;
    let out = folder.path().join("runs");
    let ended = cuebook(&["run", "Press Talk", "--url", &url, "--record-network", "--json", "--out", text(&out)?])?;
    ensure!(ended.code == 0, "{ended:?}");
    let recorded = ended.run_dir()?;
    let har = folder.path().join("har");
    let exported = cuebook(&["export", text(&recorded)?, "--to", "har", "--redact", "none", "--out", text(&har)?])?;
    ensure!(exported.code == 0, "{exported:?}");
    let mut files = fs::read_dir(&har)?.filter_map(|entry| Some(entry.ok()?.path()));
    let file = files.find(|path| path.extension().is_some_and(|extension| extension == "har"));
    let archive: Value = serde_json::from_slice(&fs::read(file.context("an archive was written")?)?)?;
    let entries = archive["log"]["entries"].as_array().context("entries")?;
    let socket = entries.iter().find(|entry| entry["_resourceType"] == "websocket").context("a socket")?;
    ensure!(socket["response"]["status"] == 101, "{socket:#}");
    let said = socket["_webSocketMessages"].as_array().context("messages")?;
    let said: Vec<_> = said.iter().map(|message| (message["type"].as_str(), message["data"].as_str())).collect();
    assert_eq!(said, [(Some("send"), Some("hello")), (Some("receive"), Some("hello"))]);
    // A replay says that it cannot replay it.
    let replay =
        cuebook(&["replay", text(&recorded)?, "--offline", "--json", "--timeout", "1s", "--out", text(&out)?])?;
    let lost = &replay.json()?["offline"]["notReplayable"];
    assert_eq!(lost, &serde_json::json!([url.replace("http:", "ws:") + "socket"]), "{replay:?}");
    Ok(())
}

#[test]
fn the_messages_of_the_browser_are_kept_without_what_was_typed() -> Result<()> {
    let shop = Shop::open()?;
    let run = shop.run("/login", "Log in as ann with password correct-horse", &["--record-cdp"])?.run_dir()?;
    let log = fs::read_to_string(run.join("cdp.jsonl"))?;
    let lines: Vec<Value> = log.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
    let has = |direction: &str, method: &str| {
        lines.iter().any(|line| line["direction"] == direction && line["method"] == method)
    };
    assert!(has("sent", "Page.navigate") && has("sent", "Input.dispatchKeyEvent"), "{} lines", lines.len());
    assert!(has("received", "Network.responseReceived") && has("received", "Page.navigate"), "{} lines", lines.len());
    assert!(!log.contains("correct-horse"), "{log}");
    let typed = lines.iter().filter(|line| line["method"] == "Input.dispatchKeyEvent" && line["direction"] == "sent");
    assert!(typed.clone().count() > 10 && typed.into_iter().all(|line| line["params"]["key"].is_null()));
    Ok(())
}

#[test]
fn a_recording_is_one_document_of_all_that_a_replay_knows() -> Result<()> {
    let shop = Shop::open()?;
    let flags = ["--record", "--record-network"];
    let run = shop.run("/login", "Log in as ann with password correct-horse", &flags)?.run_dir()?;
    let out = shop.runs().join("recordings");
    let export = |more: &[&str]| {
        let args = ["export", text(&run)?, "--to", "recording", "--out", text(&out)?];
        shop.cuebook(&[&args[..], more].concat())
    };
    let refused = export(&["--redact", "strict"])?;
    ensure!(refused.code == 2 && refused.stderr.contains("cannot be redacted"), "{refused:?}");
    let ended = export(&["--redact", "none"])?;
    ensure!(ended.code == 0, "{ended:?}");
    let file = fs::read_dir(&out)?.filter_map(|entry| Some(entry.ok()?.path()));
    let mut file = file.filter(|path| path.to_string_lossy().ends_with(".recording.json"));
    let file = file.next().context("no file")?;
    let document = fs::read_to_string(file)?;
    ensure!(!document.contains("correct-horse"), "{document}");
    let recording: Value = serde_json::from_str(&document)?;
    let schema: Value = serde_json::from_str(include_str!("../../schemas/recording.schema.json"))?;
    let errors: Vec<String> =
        jsonschema::draft202012::new(&schema)?.iter_errors(&recording).map(|error| error.to_string()).collect();
    ensure!(errors.is_empty(), "{errors:?}");
    let traces = recording["traces"].as_array().context("traces")?;
    let last = traces.last().context("a trace")?;
    let kinds: Vec<&str> =
        last["pictures"].as_array().into_iter().flatten().filter_map(|it| it["kind"].as_str()).collect();
    assert_eq!(kinds, ["screenshotBefore", "screenshotTarget", "screenshotAfter"], "{last:#}");
    let sent = traces.iter().flat_map(|trace| trace["requests"].as_array().into_iter().flatten());
    let mut sent = sent.filter(|request| request["method"] == "POST");
    let sent = sent.next().context("the login")?;
    ensure!(sent["tsMs"].is_number() && sent["requestHeaders"].is_array() && sent["status"].is_number(), "{sent:#}");
    let secret =
        recording["plan"]["steps"].as_array().context("steps")?.iter().find(|step| !step["credentialRef"].is_null());
    assert_eq!(secret.context("a secret")?["credentialRef"], "secret_1");
    Ok(())
}
