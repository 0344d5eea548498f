//! Requests that are held: each way in which a page sends something, with the server as the oracle, and a person who
//! agrees, who does not, or who is not there.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Result;
use axum::Router;
use axum::body::Bytes;
use axum::http::{Method, StatusCode, Uri};
use axum::response::Html;
use axum::routing::{any, get};
use cuebook_grammar::deadline::Deadline;
use cuebook_grammar::policy::{Gate, Policy, PolicyFile};
use cuebook_grammar::profile::Profile;
use cuebook_grammar::report::{ErrorCode, RunReport, RunResult};
use cuebook_grammar::seam::{Confirm, ConfirmReply, ConfirmRequest};
use cuebook_tests::Stage;
use serde_json::{Value, json};

type SharedLog = Arc<Mutex<Vec<String>>>;

fn all(seen: &SharedLog) -> std::sync::MutexGuard<'_, Vec<String>> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Ways to send something when the button is pressed.
const WAYS: [(&str, &str); 12] = [
    ("fetch", "fetch('/sent', { method: 'POST', body: 'a' })"),
    ("a later fetch", "setTimeout(() => fetch('/sent', { method: 'POST' }), 300)"),
    ("keepalive", "fetch('/sent', { method: 'PUT', body: 'a', keepalive: true })"),
    ("delete", "fetch('/sent', { method: 'DELETE' })"),
    ("a method of its own", "fetch('/sent', { method: 'purge' })"),
    ("XHR", "const x = new XMLHttpRequest; x.open('POST', '/sent'); x.send('a')"),
    ("a beacon", "navigator.sendBeacon('/sent', 'a')"),
    ("a form", "form.submit()"),
    ("a form of another tab", "form.target = '_blank'; form.submit()"),
    (
        "a form of a frame",
        "frame.srcdoc = `<form method=post action='/sent'></form><script>document.forms[0].submit()<\\/script>`",
    ),
    (
        "a worker",
        "new Worker('data:text/javascript,fetch(`' + origin + '/sent`, { method: `POST`, mode: `no-cors` })')",
    ),
    ("a shared worker", "new SharedWorker('/worker.js')"),
];

/// Serves the ways below `/page`, and notes what is sent.
async fn served(seen: SharedLog) -> Result<String> {
    let page = |axum::extract::Path(at): axum::extract::Path<usize>| async move {
        let (name, script) = WAYS.get(at).ok_or(StatusCode::NOT_FOUND)?;
        let body = "<iframe id=frame></iframe><form id=form method=post action=/sent><input name=who value=Ann></form>";
        Ok::<_, StatusCode>(Html(format!(
            "<!doctype html><title>{name}</title><body><button onclick=\"act()\">Show more</button>{body}\
             <script>function act() {{ {script} }}</script>"
        )))
    };
    let note = move |method: Method, uri: Uri, body: Bytes| async move {
        all(&seen).push(format!("{method} {uri} {}", String::from_utf8_lossy(&body)));
        ([("access-control-allow-origin", "*")], Html("<p>Done"))
    };
    let worker = || async { ([("content-type", "text/javascript")], "fetch('/sent', { method: 'POST' })") };
    let none = get(|| async { StatusCode::NO_CONTENT });
    let router = Router::new()
        .route("/page/{at}", get(page))
        .route("/worker.js", get(worker))
        .route("/favicon.ico", none)
        .fallback(any(note));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let origin = format!("http://{}", listener.local_addr()?);
    tokio::spawn(async move { axum::serve(listener, router).await });
    Ok(origin)
}

/// A person who takes a while to answer.
struct Person {
    asked: SharedLog,
    agrees: bool,
    takes: Duration,
}

impl Confirm for Person {
    async fn confirm(&mut self, request: &ConfirmRequest, _: Deadline) -> ConfirmReply {
        all(&self.asked).push(request.question.clone());
        tokio::time::sleep(self.takes).await;
        if self.agrees { ConfirmReply::Yes(None) } else { ConfirmReply::No }
    }
}

/// Presses the button, and stays for what comes later.
fn steps() -> Value {
    json!([
        { "type": "click", "targetRef": "button \"Show more\"" },
        { "type": "waitForIdle", "quietMs": 900, "timeoutMs": 4000 },
    ])
}

fn gated(url: &str) -> Result<Policy> {
    Ok(Policy::default().starting_at(url)?.gating(Gate::Effects))
}

fn code(report: &RunReport) -> Option<ErrorCode> {
    report.error.as_ref().map(|error| error.code)
}

/// Which ways reached the server, and how the runs ended.
async fn outcomes(stage: &Stage, gate: Gate) -> Result<Vec<(&'static str, usize, RunReport)>> {
    let seen = SharedLog::default();
    let origin = served(seen.clone()).await?;
    let mut outcomes = Vec::new();
    for (at, (name, _)) in WAYS.iter().enumerate() {
        all(&seen).clear();
        let url = format!("{origin}/page/{at}");
        let policy = Policy::default().starting_at(&url)?.gating(gate);
        let report = stage.play_under(policy, &url, &steps()).await?;
        outcomes.push((*name, all(&seen).len(), report));
    }
    Ok(outcomes)
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_sent_without_consent_whatever_the_way() -> Result<()> {
    let stage = Stage::launched().await?;
    for (name, sent, report) in outcomes(&stage, Gate::Off).await? {
        assert!(sent > 0, "{name} sends nothing: {report:?}");
    }
    for (name, sent, report) in outcomes(&stage, Gate::Effects).await? {
        assert_eq!(sent, 0, "{name}: {report:?}");
        assert_eq!(code(&report), Some(ErrorCode::ConfirmationDenied), "{name}: {report:?}");
        assert!(report.error.is_some_and(|error| error.message.contains("--grant write@")), "{name}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_reads_what_would_be_sent_and_their_time_is_not_the_steps() -> Result<()> {
    let (stage, seen, asked) = (Stage::launched().await?, SharedLog::default(), SharedLog::default());
    let page = "<!doctype html><title>Order</title><form method=post action=/orders>\
        <input name=item aria-label=Item value='3 \"mugs\"'><input name=card_number aria-label=Number value=4111222233334444>\
        <input type=hidden name=Password value=hunter2><button>Go on</button></form>";
    let note = seen.clone();
    let router = Router::new().route("/", get(move || async move { Html(page) })).fallback(any(
        move |method: Method, uri: Uri, body: Bytes| async move {
            all(&note).push(format!("{method} {uri} {}", String::from_utf8_lossy(&body)));
            Html("<title>Thanks</title><h1>Thanks")
        },
    ));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}/", listener.local_addr()?);
    tokio::spawn(async move { axum::serve(listener, router).await });
    let steps = json!([{ "type": "click", "targetRef": "button \"Go on\"", "timeoutMs": 4000,
        "post": [{ "kind": "titleMatches", "pattern": "Thanks", "timeoutMs": 2000 }] }]);
    let person = |agrees| Person { asked: asked.clone(), agrees, takes: Duration::from_secs(5) };
    let sends = || all(&seen).iter().filter(|line| line.starts_with("POST")).count();

    let report = stage.play_asking(person(false), gated(&url)?, &url, &steps).await?;
    assert_eq!((code(&report), sends()), (Some(ErrorCode::ConfirmationDenied), 0), "{report:?}");
    let report = stage.play_asking(person(true), gated(&url)?, &url, &steps).await?;
    assert_eq!((report.result, sends()), (RunResult::Ok, 1), "{report:?}");
    let question = all(&asked).last().cloned().unwrap_or_default();
    for part in ["POST", "/orders", "3 \\\"mugs\\\"", "card_number", "Go on"] {
        assert!(question.contains(part), "{part}: {question}");
    }
    for secret in ["4111222233334444", "hunter2"] {
        assert!(!question.contains(secret), "{question}");
    }
    // Granted ahead, nobody is asked.
    all(&asked).clear();
    let origin = url.trim_end_matches('/');
    let granted = gated(&url)?.granting(&format!("write@{origin}"))?.granting(&format!("money@{origin}"))?;
    let report = stage.play_under(granted.granting(&format!("credential@{origin}"))?, &url, &steps).await?;
    assert_eq!((report.result, sends()), (RunResult::Ok, 2), "{report:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn rules_decide_by_path_and_method_before_anything_leaves() -> Result<()> {
    let (stage, seen) = (Stage::launched().await?, SharedLog::default());
    let page = "<!doctype html><title>Rules</title><button onclick=act()>Show more</button><script>\
        const act = () => { for (const [method, path] of [['GET', '/%61dmin/x'], ['GET', '/old/a?b=c'], ['GET', '/drop'],\
        ['POST', '/collect'], ['GET', '/fine']]) fetch(path, { method }).catch(() => {}) }</script>";
    let note = seen.clone();
    let router = Router::new()
        .route("/", get(move || async move { Html(page) }))
        .fallback(any(move |method: Method, uri: Uri| async move { all(&note).push(format!("{method} {uri}")) }));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let origin = format!("http://{}", listener.local_addr()?);
    tokio::spawn(async move { axum::serve(listener, router).await });
    let file = json!({ "gate": "effects", "requests": [
        { "url": format!("{origin}/admin/*"), "do": "deny" },
        { "url": format!("{origin}/old/*"), "do": { "rewrite": format!("{origin}/new/*") } },
        { "url": format!("{origin}/collect"), "methods": ["POST"], "do": "allow" },
        { "url": format!("{origin}/drop"), "do": "ask" },
    ] });
    let policy = Policy::default().starting_at(&origin)?.with_file(&PolicyFile::read(&file.to_string())?)?;
    let report = stage.play_under(policy, &format!("{origin}/"), &steps()).await?;
    assert_eq!(code(&report), Some(ErrorCode::ConfirmationDenied), "{report:?}");
    let mut sent: Vec<String> = all(&seen).iter().filter(|line| !line.ends_with("/favicon.ico")).cloned().collect();
    sent.sort();
    assert_eq!(sent, ["GET /fine", "GET /new/a?b=c", "POST /collect"]);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn careful_profiles_hold_what_a_planner_sends() -> Result<()> {
    let (stage, seen, asked) = (Stage::launched().await?, SharedLog::default(), SharedLog::default());
    let origin = served(seen.clone()).await?;
    let url = format!("{origin}/page/0");
    let person = Person { asked: asked.clone(), agrees: true, takes: Duration::ZERO };
    let policy = Policy::new(Profile::SemiAuto).starting_at(&url)?;
    let report = stage.play_asking(person, policy, &url, &steps()).await?;
    assert_eq!((report.result, all(&seen).len()), (RunResult::Ok, 1), "{report:?}");
    assert!(all(&asked).iter().any(|question| question.contains("POST")), "{:?}", all(&asked));
    Ok(())
}
