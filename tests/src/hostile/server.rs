//! Serves the page of one trial, and answers as servers do when they are not well.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, Result};
use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, Uri, header};
use axum::response::{Html, IntoResponse, Response};
use tokio::net::TcpListener;

/// A page that reports any input to the server.
const TRAP: &str = "<!doctype html><input id=i style='position:fixed;inset:0;width:100%' autofocus><script>for (const type of \
    ['pointerdown', 'mousedown', 'pointerup', 'mouseup', 'click', 'dblclick', 'keydown', 'keyup', 'beforeinput', 'drop']) \
    addEventListener(type, (event) => navigator.sendBeacon('did/trap-' + type), true); i.focus()</script>";
/// How long a slow answer takes.
const SLOW: Duration = Duration::from_millis(300);

/// The page of the present trial, and what reached the server in it. All lies below the trial's number, so that
/// what was sent before is not counted.
#[derive(Debug, Default)]
struct Present {
    number: usize,
    page: String,
    account: String,
    did: Vec<String>,
}

/// A server of one worker. It ends with the runtime.
#[derive(Debug)]
pub(crate) struct Server {
    port: u16,
    present: Arc<Mutex<Present>>,
}

fn locked(present: &Mutex<Present>) -> MutexGuard<'_, Present> {
    present.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Server {
    /// # Errors
    /// If there is no free port.
    pub(crate) async fn start(account: String) -> Result<Self> {
        let present = Arc::new(Mutex::new(Present { account, ..Present::default() }));
        let app = Router::new().fallback(answer).with_state(Arc::clone(&present));
        let listener = TcpListener::bind("127.0.0.1:0").await.context("cannot listen on 127.0.0.1")?;
        let port = listener.local_addr()?.port();
        tokio::spawn(async move { axum::serve(listener, app).await });
        Ok(Self { port, present })
    }

    /// Serves the page of this trial from now on. Returns its URL.
    pub(crate) fn show(&self, number: usize, trial: &serde_json::Value, html: &str) -> String {
        let page = format!(
            "<!doctype html><meta charset=utf-8><script>const TRIAL = {trial}; globalThis.TRIAL = TRIAL;</script>\
             <script src=account.js></script><body>{html}</body>"
        );
        let mut present = locked(&self.present);
        (present.number, present.page) = (number, page);
        present.did.clear();
        format!("http://127.0.0.1:{}/{number}/", self.port)
    }

    /// Returns the requests that the server got in this trial.
    pub(crate) fn did(&self) -> Vec<String> {
        locked(&self.present).did.clone()
    }
}

async fn answer(State(present): State<Arc<Mutex<Present>>>, uri: Uri) -> Response {
    let path = uri.path().trim_start_matches('/').to_owned();
    let (number, path) = path.split_once('/').unwrap_or((&path, ""));
    if number.parse() != Ok(locked(&present).number) {
        return StatusCode::NOT_FOUND.into_response();
    }
    let status = |code: &str| code.parse().ok().and_then(|code| StatusCode::from_u16(code).ok()).unwrap_or_default();
    let back = |to: String| (StatusCode::SEE_OTHER, [(header::LOCATION, to)]).into_response();
    match path.split_once('/').unwrap_or((path, "")) {
        ("", _) => ([(header::CACHE_CONTROL, "no-store")], Html(locked(&present).page.clone())).into_response(),
        ("account.js", _) => {
            ([(header::CONTENT_TYPE, "text/javascript")], locked(&present).account.clone()).into_response()
        }
        ("did", what) => {
            locked(&present).did.push(format!("did/{what}"));
            Html(format!("<title>{what}</title><h1>{what}</h1>")).into_response()
        }
        ("trap", _) => Html(TRAP).into_response(),
        ("status", code) => (status(code), "something went wrong").into_response(),
        ("slow", code) => {
            tokio::time::sleep(SLOW).await;
            (status(code), "something went wrong").into_response()
        }
        ("back", "") => back(format!("/{number}/")),
        ("back", why) => back(format!("/{number}/?{why}")),
        ("ok", _) => "{}".into_response(),
        _ => StatusCode::NOT_FOUND.into_response(),
    }
}
