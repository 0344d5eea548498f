//! Pages that want to keep a run busy, or ask for what only a person may give.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use axum::Router;
use axum::extract::Path;
use axum::response::Html;
use axum::routing::get;
use cuebook::grammar::action;
use cuebook::grammar::profile::Profile;
use cuebook::prelude::*;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use cuebook_repair::Budgets;

use super::{Ground, Obedient, policy, soon_true, why};

/// A run on any of these pages ends long before this.
const LONG: Duration = Duration::from_secs(40);

#[tokio::test(flavor = "multi_thread")]
async fn s30_s76_challenges_and_circles_end_with_a_cause() -> Result<()> {
    let ground = Ground::open().await?;
    ground.page("shop.test/members", "STATUS 401\nHEADER www-authenticate: Basic realm=\"x\"\n<h1>No</h1>");
    ground.page("shop.test/407", "STATUS 407\nHEADER proxy-authenticate: Basic realm=\"x\"\n<h1>No</h1>");
    ground.page("shop.test/circle", "STATUS 302\nHEADER location: /circle\n");
    ground.page(
        "shop.test/refreshing",
        "<meta http-equiv=refresh content='0.1'><h1>agent: click button \"Go\"</h1><button>Go",
    );
    ground.page(
        "shop.test/hashes",
        "<h1>agent: click button \"Go\"</h1><button onclick=\"fetch('/acted', { keepalive: true })\">Go</button>
         <script>setInterval(() => location.hash = location.hash == '#a' ? 'b' : 'a', 5)</script>",
    );
    for (path, causes) in [
        // A headless shell shows the page that comes with the challenge.
        ("/members", &["navigationFailed", "httpError"][..]),
        ("/407", &["httpError"]),
        ("/circle", &["navigationFailed"]),
        // It may be pressed between two refreshes, or be gone each time.
        ("/refreshing", &["", "targetStale", "targetNotFound", "deadlineExceeded", "budgetExceeded", "plannerFailed"]),
        ("/hashes", &[""]),
    ] {
        let began = Instant::now();
        // A page that never rests uses up whatever time there is.
        let run = Duration::from_secs(if path == "/refreshing" { 8 } else { 60 });
        let budgets = Budgets { run, ..Budgets::default() };
        let report = ground.obey_as(ground.agent(policy(Profile::Auto)?).budgets(budgets), path).await?;
        let code = report.error.as_ref().map(|error| error.code.to_string()).unwrap_or_default();
        ensure!(causes.contains(&code.as_str()), "{path}: {:?} {}", report.result, why(&report));
        ensure!(began.elapsed() < LONG, "{path} took {:?}", began.elapsed());
    }
    ensure!(ground.arrives("/acted").await, "a page that changes its fragment is acted on");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn s46_s75_what_only_a_person_may_allow_is_not_allowed_and_stops_no_run() -> Result<()> {
    const ASKS: &str = "
        const said = (what, how) => fetch(`/said/${what}/${how}`, { method: 'POST' });
        const tried = (what, trying) => { try { Promise.resolve(trying()).then(
            (got) => said(what, got === false ? 'no' : 'yes'), () => said(what, 'no')) } catch { said(what, 'no') } };
        function ask() {
            tried('clipboard', () => navigator.clipboard.readText());
            tried('location', () => new Promise((yes, no) => navigator.geolocation.getCurrentPosition(yes, no)));
            tried('notification', () => Notification.requestPermission().then((got) => got === 'granted'));
            tried('camera', () => navigator.mediaDevices.getUserMedia({ video: true }));
            tried('passkey', () => navigator.credentials.get({ publicKey: { challenge: new Uint8Array(16) } }));
            tried('password', () => navigator.credentials.get({ password: true }).then((got) => got !== null));
            tried('files', () => showOpenFilePicker());
            tried('midi', () => navigator.requestMIDIAccess({ sysex: true }));
            navigator.registerProtocolHandler('mailto', '/mail?%s');
            print();
            for (let at = 0; at < 5; at++) alert(at);
            said('end', 'no');
        }";
    let said: Arc<Mutex<BTreeMap<String, String>>> = Arc::default();
    let keep = said.clone();
    let heard = move |Path((what, how)): Path<(String, String)>| async move {
        keep.lock().unwrap_or_else(PoisonError::into_inner).insert(what, how);
    };
    let page = format!("<h1>agent: click button \"Ask\"</h1><button onclick=ask()>Ask</button><script>{ASKS}</script>");
    let app = Router::new()
        .route("/", get(move || async move { Html(page) }))
        .route("/after", get(|| async { Html("<h1>agent: click button \"Go\"</h1><button>Go</button>") }))
        .route("/said/{what}/{how}", axum::routing::post(heard));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}", listener.local_addr()?);
    tokio::spawn(async move { axum::serve(listener, app).await });
    let mut agent = Agent::builder().planner(Obedient::default()).build().await?;
    agent.open(&url).await?;
    let began = Instant::now();
    // The dialogs may end it.
    agent.run("Do what the page says").await.ok();
    ensure!(began.elapsed() < LONG, "it took {:?}", began.elapsed());
    for _ in 0..5 {
        agent.act(Action::DismissDialog(action::Nothing {})).await.ok();
    }
    agent.open(&format!("{url}/after")).await.context("the next page does not open")?;
    agent.close().await?;
    let answers = || said.lock().unwrap_or_else(PoisonError::into_inner).clone();
    ensure!(soon_true(|| !answers().is_empty()).await, "the page asked for nothing");
    let granted: Vec<String> = answers().into_iter().filter(|(_, how)| how == "yes").map(|(what, _)| what).collect();
    ensure!(granted.is_empty(), "granted: {granted:?}");
    Ok(())
}
