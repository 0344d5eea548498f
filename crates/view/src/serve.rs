//! Starting and stopping a view, and its routes.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{DefaultBodyLimit, Path, Query, State};
use axum::http::{StatusCode, header};
use axum::response::sse::{KeepAlive, Sse};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router, middleware};
use cuebook_datalayer::RunDir;
use cuebook_datalayer::html::Shown;
use cuebook_grammar::render::cut;
use cuebook_grammar::seam::ConfirmReply;
use serde::Deserialize;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, oneshot};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::consent::Questions;
use crate::error::ViewError;
use crate::feed::feed;
use crate::guard::{Guard, check};
use crate::state::{Shared, catch_up, follow, off};

/// Pages that may listen at once.
const PAGES: usize = 16;
/// Time for pages to take the last news, and what belongs to it.
const GRACE: Duration = Duration::from_secs(1);
/// The longest answer to a question, in characters, and the largest request.
const ANSWER: usize = 4_000;
const BODY: usize = 32 << 10;

/// A run that is shown on this machine until [`end`](Self::end), or until this is dropped.
#[derive(Debug)]
pub struct View {
    url: String,
    app: App,
    stop: Option<oneshot::Sender<()>>,
    server: JoinHandle<()>,
}

#[derive(Clone)]
struct App {
    shared: Arc<Shared>,
    pages: Arc<Semaphore>,
}

impl std::fmt::Debug for App {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("App").finish_non_exhaustive()
    }
}

impl View {
    /// Shows the run of a folder on a port of 127.0.0.1; 0 for any that is free. Reads the log once as it is. `questions`
    /// are answered in its page; [`Questions::beside`] asks them.
    ///
    /// # Errors
    /// [`ViewError`]
    pub async fn open(dir: &RunDir, port: u16, questions: Questions) -> Result<Self, ViewError> {
        let shared = Arc::new(Shared::open(dir, questions).map_err(ViewError::Log)?);
        let listen = |source| ViewError::Listen { port, source };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await.map_err(listen)?;
        let guard = Guard::new(listener.local_addr().map_err(listen)?.port()).map_err(ViewError::NoRandomness)?;
        let url = guard.url();
        let app = App { shared, pages: Arc::new(Semaphore::new(PAGES)) };
        let routes = Router::new()
            .route("/{token}/", get(page))
            .route("/{token}/events", get(events))
            .route("/{token}/picture/{digest}", get(picture))
            .route("/{token}/answer", post(answer))
            .layer(DefaultBodyLimit::max(BODY))
            .with_state(app.clone())
            .layer(middleware::from_fn_with_state(guard, check));
        let (stop, stopped) = oneshot::channel::<()>();
        let following = tokio::spawn(follow(Arc::clone(&app.shared)));
        let server = tokio::spawn(async move {
            let served = axum::serve(listener, routes).with_graceful_shutdown(async {
                stopped.await.ok();
            });
            if let Err(error) = served.await {
                tracing::warn!(%error, "the view stopped serving");
            }
            following.abort();
        });
        Ok(Self { url, app, stop: Some(stop), server })
    }

    /// The address of the page. Whoever knows it can see the run and answer its questions.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Ends the view. Pages that are open show all that was logged before, and stay as they are.
    pub async fn end(mut self) {
        catch_up(&self.app.shared).await;
        let had_pages = self.app.pages.available_permits() < PAGES;
        self.app.shared.over.send_replace(true);
        if had_pages {
            let all = u32::try_from(PAGES).unwrap_or(u32::MAX);
            // All of them have heard of the end when none listens, and then ask for their last pictures.
            timeout(GRACE, self.app.pages.acquire_many(all)).await.ok();
            tokio::time::sleep(GRACE).await;
        }
        self.stop.take();
        timeout(GRACE, &mut self.server).await.ok();
    }
}

impl Drop for View {
    fn drop(&mut self) {
        self.app.shared.over.send_replace(true);
        self.server.abort();
    }
}

async fn page(State(app): State<App>) -> Response {
    match off(&app.shared, Shared::page).await {
        Some(page) => Html(page).into_response(),
        None => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

async fn events(State(app): State<App>, Query(shown): Query<Shown>) -> Response {
    let Ok(place) = Arc::clone(&app.pages).try_acquire_owned() else {
        return (StatusCode::SERVICE_UNAVAILABLE, "too many pages show this run\n").into_response();
    };
    Sse::new(feed(app.shared, shown, place)).keep_alive(KeepAlive::default()).into_response()
}

async fn picture(State(app): State<App>, Path((_, digest)): Path<(String, String)>) -> Response {
    match off(&app.shared, move |shared| shared.picture(&digest)).await.flatten() {
        // What has this digest never changes.
        Some(bytes) => {
            let headers =
                [(header::CONTENT_TYPE, "image/png"), (header::CACHE_CONTROL, "private, max-age=86400, immutable")];
            (headers, bytes).into_response()
        }
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

/// An answer of the page. A form cannot send it, as it is JSON.
#[derive(Deserialize)]
struct Reply {
    number: u64,
    allow: bool,
    text: Option<String>,
}

async fn answer(State(app): State<App>, Json(Reply { number, allow, text }): Json<Reply>) -> StatusCode {
    let text = text.map(|text| cut(text.trim(), ANSWER));
    let reply = match text {
        _ if !allow => ConfirmReply::No,
        Some(text) if text.is_empty() => ConfirmReply::No,
        text => ConfirmReply::Yes(text),
    };
    if app.shared.questions.answer(number, reply) { StatusCode::NO_CONTENT } else { StatusCode::CONFLICT }
}
