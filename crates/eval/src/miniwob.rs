//! The pages of `MiniWoB++` as a server, and what they report.
//!
//! A page gets a script that starts its episode and reports the instruction and the reward (`miniwob.js`). An agent sees
//! none of it: no element, no text, and nothing on the page changes when an episode ends.
//!
//! Source: Liu et al., "Reinforcement Learning on Web Interfaces Using Workflow-Guided Exploration" (2018), and the
//! package `miniwob` of the Farama Foundation.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::extract::{Path as UrlPath, Query, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use percent_encoding::percent_decode_str;
use serde::Deserialize;
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::error::BoxError;

const SCRIPT: &str = include_str!("miniwob.js");
/// Style that hides the elements which cover a page before and after an episode, or show the reward.
const HIDDEN: &str = "<style>#sync-task-cover, #click-canvas, #reward-display \
                      { display: none !important; pointer-events: none !important; }</style>";
const BEGUN: &str = "<script src=\"/episode.js\"></script>";
/// Time for a page to state its instruction after it loaded, and for a reward that was sent to arrive.
const INSTRUCTION: Duration = Duration::from_secs(20);

/// Report of a page on its episode.
#[derive(Clone, Debug, Default)]
struct Reported {
    instruction: Option<String>,
    reward: Option<f64>,
    reason: Option<String>,
}

#[derive(Debug, Default)]
struct Book {
    episodes: Mutex<BTreeMap<u64, Reported>>,
    changed: Notify,
}

#[derive(Clone)]
struct Shared {
    book: Arc<Book>,
    html: Arc<Path>,
}

/// Server of the pages of one worker, and of what they report.
#[derive(Debug)]
pub(crate) struct MiniWob {
    book: Arc<Book>,
    port: u16,
    serving: JoinHandle<()>,
    begun: u64,
}

/// How an episode ended.
pub(crate) struct Reward {
    pub(crate) reward: Option<f64>,
    pub(crate) reason: Option<String>,
}

impl MiniWob {
    /// Serves the pages below `html`, the directory of the package that has `miniwob` and `core`.
    pub(crate) async fn serve(html: &Path) -> Result<Self, BoxError> {
        if !html.join("miniwob").is_dir() {
            return Err(format!("{} has no `miniwob`: run `cargo xtask fetch`", html.display()).into());
        }
        let book = Arc::new(Book::default());
        let shared = Shared { book: book.clone(), html: html.into() };
        let router = Router::new()
            .route(
                "/episode.js",
                get(|| async { ([(header::CONTENT_TYPE, "text/javascript; charset=utf-8")], SCRIPT) }),
            )
            .route("/report", post(report))
            .route("/{*path}", get(file))
            .with_state(shared);
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let port = listener.local_addr()?.port();
        let serving = tokio::spawn(async move {
            if let Err(error) = axum::serve(listener, router).await {
                tracing::warn!(%error, "the pages are no longer served");
            }
        });
        Ok(Self { book, port, serving, begun: 0 })
    }

    pub(crate) fn origin(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// A new episode: its number, and its URL.
    pub(crate) fn begin(&mut self, task: &str, seed: u64) -> (u64, String) {
        self.begun += 1;
        let episode = self.begun;
        self.book.episodes.lock().unwrap_or_else(PoisonError::into_inner).insert(episode, Reported::default());
        (episode, format!("{}/miniwob/{task}.html?seed={seed}&episode={episode}", self.origin()))
    }

    /// The instruction of an episode whose page was opened.
    pub(crate) async fn instruction(&self, episode: u64) -> Option<String> {
        self.wait(episode, INSTRUCTION, |reported| reported.instruction.clone()).await
    }

    /// The reward of an episode, if it comes within `grace`; ends the episode.
    pub(crate) async fn reward(&self, episode: u64, grace: Duration) -> Reward {
        self.wait(episode, grace, |reported| reported.reward.map(drop)).await;
        let reported = self.book.episodes.lock().unwrap_or_else(PoisonError::into_inner).remove(&episode);
        let Reported { reward, reason, .. } = reported.unwrap_or_default();
        Reward { reward, reason }
    }

    async fn wait<T>(&self, episode: u64, limit: Duration, of: impl Fn(&Reported) -> Option<T>) -> Option<T> {
        let known = || {
            let episodes = self.book.episodes.lock().unwrap_or_else(PoisonError::into_inner);
            episodes.get(&episode).and_then(&of)
        };
        let waiting = async {
            loop {
                let changed = self.book.changed.notified();
                if let Some(value) = known() {
                    return value;
                }
                changed.await;
            }
        };
        timeout(limit, waiting).await.ok()
    }
}

impl Drop for MiniWob {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

#[derive(Deserialize)]
struct Report {
    episode: u64,
}

#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Event {
    Instruction { text: String },
    Reward { reward: f64, reason: Option<String> },
}

async fn report(
    State(shared): State<Shared>,
    Query(Report { episode }): Query<Report>,
    axum::Json(event): axum::Json<Event>,
) -> StatusCode {
    let mut episodes = shared.book.episodes.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(reported) = episodes.get_mut(&episode) else { return StatusCode::GONE };
    // The first of a kind counts: a page that is loaded again starts over.
    match event {
        Event::Instruction { text } => drop(reported.instruction.get_or_insert(text)),
        Event::Reward { reward, reason } if reported.reward.is_none() => {
            reported.reward = Some(reward);
            reported.reason = reason;
        }
        Event::Reward { .. } => {}
    }
    drop(episodes);
    shared.book.changed.notify_waiters();
    StatusCode::NO_CONTENT
}

async fn file(State(shared): State<Shared>, UrlPath(path): UrlPath<String>) -> Response {
    let Some(file) = below(&shared.html, &path) else { return StatusCode::NOT_FOUND.into_response() };
    let Ok(bytes) = tokio::fs::read(&file).await else { return StatusCode::NOT_FOUND.into_response() };
    let kind = match file.extension().and_then(|extension| extension.to_str()) {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("png") => "image/png",
        Some("jpg" | "jpeg") => "image/jpeg",
        Some("gif") => "image/gif",
        Some("svg") => "image/svg+xml",
        _ => "application/octet-stream",
    };
    let body = if kind.starts_with("text/html") {
        // The files carry no charset; an element before the page's own is none of its business.
        let page = String::from_utf8_lossy(&bytes);
        let page = page.replacen("</head>", &format!("{HIDDEN}</head>"), 1);
        page.replacen("</body>", &format!("{BEGUN}</body>"), 1).into_bytes()
    } else {
        bytes
    };
    ([(header::CONTENT_TYPE, kind), (header::CACHE_CONTROL, "no-store")], body).into_response()
}

/// A file below a directory, whatever the path says.
fn below(directory: &Path, path: &str) -> Option<PathBuf> {
    let path = percent_decode_str(path).decode_utf8().ok()?;
    let is_plain = path.split('/').all(|part| !part.is_empty() && !part.starts_with('.') && !part.contains('\\'));
    is_plain.then(|| directory.join(&*path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_below_the_package_are_served() {
        let here = Path::new("/srv");
        assert_eq!(below(here, "core/core.js"), Some(here.join("core/core.js")));
        for path in ["../etc/passwd", "a/../../b", "%2e%2e/x", "/etc/passwd", "a//b", ".git/config"] {
            assert_eq!(below(here, path), None, "{path}");
        }
    }
}
