//! Denials of the proxy, in the step that caused them; and the speed at which steps may follow one another.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use axum::Router;
use axum::extract::Query;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use axum::routing::get;
use cuebook::grammar::outcome::{Cause, DeniedRequest};
use cuebook::grammar::policy::{PolicyFile, Rule};
use cuebook::grammar::report::StepReport;
use cuebook::prelude::*;
use serde_json::json;
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpListener;

/// A server that may be acted on, and one that nothing may reach.
struct Servers {
    port: u16,
    evil: u16,
    /// Connections of the evil one.
    reached: Arc<AtomicUsize>,
    /// Number of requests for `/busy`.
    busy: Arc<AtomicUsize>,
}

impl Servers {
    async fn open() -> Result<Self> {
        let (reached, busy) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let evil = listener.local_addr()?.port();
        let counted = reached.clone();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                counted.fetch_add(1, Ordering::SeqCst);
                let _seen = stream.read(&mut [0; 1024]).await.unwrap_or_default();
            }
        });
        let start = format!(
            "<!doctype html><title>start</title><a href='/to?scheme=http&port={evil}'>Plain</a>
            <a href='/to?scheme=https&port={evil}'>Secure</a> <a href='http://127.0.0.1:{evil}/'>Direct</a>
            <form method=post action='/to?scheme=http&port={evil}'><input name=word aria-label=Word><button>Send</button>
            </form><button onclick=\"fetch('http://127.0.0.1:{evil}/fetched', {{ mode: 'no-cors' }}).catch(() => {{}})
            .then(() => done.textContent = 'done'); new WebSocket('ws://127.0.0.1:{evil}/live')\">Load</button>
            <p id=done></p>"
        );
        let asked = busy.clone();
        let app = Router::new()
            .route("/", get(move || async move { ([("content-type", "text/html")], start) }))
            .route("/to", get(redirect).post(redirect))
            .route(
                "/busy",
                get(move |Query(fields): Query<Vec<(String, String)>>| async move {
                    let is_first = asked.fetch_add(1, Ordering::SeqCst) == 0;
                    let wait = fields.first().map_or("1", |(_, seconds)| seconds).to_owned();
                    let status = if is_first { StatusCode::TOO_MANY_REQUESTS } else { StatusCode::OK };
                    (status, [("retry-after", wait), ("content-type", "text/html".to_owned())], "<title>busy</title>x")
                }),
            );
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let port = listener.local_addr()?.port();
        tokio::spawn(async move { axum::serve(listener, app).await });
        return Ok(Self { port, evil, reached, busy });

        async fn redirect(Query(fields): Query<Vec<(String, String)>>) -> impl IntoResponse {
            let field = |name| fields.iter().find(|(field, _)| field == name).map_or("", |(_, value)| value);
            let place = format!("{}://127.0.0.1:{}/taken", field("scheme"), field("port"));
            (StatusCode::TEMPORARY_REDIRECT, [("location", place)])
        }
    }

    fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    async fn agent(&self, file: &serde_json::Value) -> Result<Agent> {
        // Once an origin is allowed by name, all others are closed.
        let policy = Policy::default().allowing(&self.url(""))?.with_file(&PolicyFile::read(&file.to_string())?)?;
        Ok(Agent::builder().policy(policy).build().await?)
    }
}

async fn activate(agent: &mut Agent, name: &str) -> Result<StepReport> {
    let page = agent.observe(Scope::Full).await?;
    let found = page.candidates.iter().find(|candidate| candidate.name.as_str() == name);
    let found = found.with_context(|| format!("expected {name}"))?;
    let report = RunReport::from_result(agent.act(Click::on(found)).await);
    report.steps.into_iter().next_back().context("expected a step")
}

fn denied(step: &StepReport) -> &[DeniedRequest] {
    step.effects.as_ref().map_or(&[], |effects| &effects.denied)
}

/// S-16 and S-17: a redirect to an origin that is not listed never leaves the proxy, nor what was typed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_step_whose_document_is_denied_fails_and_names_the_rule() -> Result<()> {
    let servers = Servers::open().await?;
    let mut agent = servers.agent(&json!({})).await?;
    for (name, rule) in [
        ("Plain", Rule::Redirect),
        ("Secure", Rule::Redirect),
        ("Direct", Rule::PrivateAddress),
        ("Send", Rule::Redirect),
    ] {
        agent.open(&servers.url("/")).await?;
        if name == "Send" {
            let page = agent.observe(Scope::Full).await?;
            let field = page.candidates.iter().find(|one| one.name.as_str() == "Word").context("expected a field")?;
            agent.act(SetValue::to(field, "correct-horse")).await?;
        }
        let step = activate(&mut agent, name).await?;
        let failure = step.failure.as_ref().with_context(|| format!("{name}: expected a failure, saw {step:#?}"))?;
        assert_eq!((failure.cause, failure.facts.rule), (Cause::PolicyBlocked, Some(rule)), "{name}: {failure:?}");
        assert!(failure.message.contains("rule privateAddress"), "{name}: {}", failure.message);
        let [one, ..] = denied(&step) else { panic!("{name}: expected a denial in {step:#?}") };
        assert_eq!((one.host.as_str(), one.port, one.rule.as_str()), ("127.0.0.1", servers.evil, "privateAddress"));
        let url = one.url.as_deref().with_context(|| format!("{name}: expected the request of the tab"))?;
        assert!(url.contains(&servers.evil.to_string()), "{name}: {url}");
    }
    let navigated = agent.open(&servers.url(&format!("/to?scheme=https&port={}", servers.evil))).await.unwrap_err();
    let step = navigated.report.steps.first().context("expected a step")?;
    let failure = step.failure.as_ref().context("expected a failure")?;
    assert_eq!((failure.cause, failure.facts.rule), (Cause::PolicyBlocked, Some(Rule::Redirect)), "{failure:?}");
    assert_eq!(servers.reached.load(Ordering::SeqCst), 0, "nothing may arrive");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_denied_resource_is_part_of_the_step_that_caused_it_and_fails_nothing() -> Result<()> {
    let servers = Servers::open().await?;
    let mut agent = servers.agent(&json!({})).await?;
    let opened = agent.open(&servers.url("/")).await?;
    assert!(denied(&opened.steps[0]).is_empty(), "{opened:#?}");
    let step = activate(&mut agent, "Load").await?;
    assert!(step.failure.is_none(), "{step:#?}");
    let places: Vec<_> = denied(&step).iter().map(|one| (one.port, one.rule.as_str())).collect();
    assert_eq!(places, [(servers.evil, "privateAddress"); 2], "{step:#?}");
    // The tab does not report a WebSocket among its requests: it is a note of the step.
    let joined = denied(&step).iter().filter(|one| one.url.as_deref().is_some_and(|url| url.ends_with("/fetched")));
    assert_eq!(joined.count(), 1, "{step:#?}");
    assert_eq!(denied(&step).iter().filter(|one| one.url.is_none()).count(), 1, "{step:#?}");
    assert_eq!(servers.reached.load(Ordering::SeqCst), 0);
    Ok(())
}

/// Covers S-83 of `docs/security-cases.md`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn steps_on_an_origin_follow_one_another_no_faster_than_the_policy_says() -> Result<()> {
    let servers = Servers::open().await?;
    // One every two seconds, five at once.
    let mut agent = servers.agent(&json!({ "rate": { "stepsPerMinute": 30 } })).await?;
    let begun = Instant::now();
    for _ in 0..6 {
        agent.act(Navigate::to(&servers.url("/"))).await?;
    }
    ensure!(begun.elapsed() > Duration::from_millis(1_900), "six steps took {:?}", begun.elapsed());
    // One every minute: the second one cannot wait that long.
    let mut agent = servers.agent(&json!({ "rate": { "stepsPerMinute": 1 } })).await?;
    agent.open(&servers.url("/")).await?;
    let begun = Instant::now();
    let report = agent.act(Navigate::to(&servers.url("/"))).await.unwrap_err().report;
    ensure!(begun.elapsed() < Duration::from_secs(5), "it is too long to wait: {:?}", begun.elapsed());
    assert_eq!(report.result, RunResult::Blocked, "{report:#?}");
    let failure = report.steps.last().and_then(|step| step.failure.as_ref()).context("expected a failure")?;
    assert_eq!((failure.cause, failure.facts.rule), (Cause::PolicyBlocked, Some(Rule::Rate)), "{failure:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_asks_to_wait_is_asked_again_only_then() -> Result<()> {
    let servers = Servers::open().await?;
    let mut agent = servers.agent(&json!({})).await?;
    let begun = Instant::now();
    let report = agent.open(&servers.url("/busy?wait=2")).await?;
    ensure!(begun.elapsed() >= Duration::from_secs(2), "the server was asked again after {:?}", begun.elapsed());
    assert_eq!((report.steps[0].repairs, servers.busy.swap(0, Ordering::SeqCst)), (1, 2));
    let begun = Instant::now();
    let report = agent.open(&servers.url("/busy?wait=500")).await.unwrap_err().report;
    ensure!(begun.elapsed() < Duration::from_secs(30), "it is too long to wait: {:?}", begun.elapsed());
    let failure = report.steps.first().and_then(|step| step.failure.as_ref()).context("expected a failure")?;
    assert_eq!((failure.cause, failure.facts.status), (Cause::HttpError, Some(429)), "{failure:?}");
    assert!(failure.message.contains("Retry-After"), "{}", failure.message);
    assert_eq!(servers.busy.load(Ordering::SeqCst), 1);
    Ok(())
}
