//! What every request handler shares, and the one list of routes.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::{self, Next};
use axum::response::Response;
use tokio::sync::watch;

use super::routes;
use super::world::World;

/// The two names under which a browser reaches the site. They are cross-site to each other.
#[derive(Debug, Clone)]
pub(super) struct Origins {
    pub(super) first: String,
    pub(super) second: String,
}

impl Origins {
    /// The origin that a page served as `host` has to embed so that the frame is cross-site.
    pub(super) fn other_than(&self, host: &str) -> &str {
        if self.second.strip_prefix("http://") == Some(host) { &self.first } else { &self.second }
    }
}

/// A handle on the server's state; clones share it.
#[derive(Debug, Clone)]
pub(super) struct App {
    world: Arc<Mutex<World>>,
    origins: Arc<Origins>,
    stopped: watch::Receiver<bool>,
}

impl App {
    pub(super) fn new(world: World, origins: Origins, stopped: watch::Receiver<bool>) -> Self {
        Self { world: Arc::new(Mutex::new(world)), origins: Arc::new(origins), stopped }
    }

    /// The state, locked. Never held across an await.
    pub(super) fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn origins(&self) -> &Origins {
        &self.origins
    }

    /// Returns once the server is asked to stop: what responses that take long race against.
    pub(super) async fn stopping(&self) {
        stopping(self.stopped.clone()).await;
    }
}

/// Returns once `stopped` says so or its sender is gone.
pub(super) async fn stopping(mut stopped: watch::Receiver<bool>) {
    // An error means that the handle was dropped, which is a request to stop as well.
    let _ = stopped.wait_for(|stopped| *stopped).await;
}

/// The whole site.
pub(super) fn router(app: App) -> Router {
    Router::new()
        .merge(routes::assets::routes())
        .merge(routes::home::routes())
        .merge(routes::account::routes())
        .merge(routes::order_desk::routes())
        .merge(routes::shop::routes())
        .merge(routes::checkout::routes())
        .merge(routes::fixed::routes())
        .merge(routes::frames::routes())
        .merge(routes::slow::routes())
        .merge(routes::drift::routes())
        .merge(routes::counter::routes())
        .merge(routes::grid::routes())
        .merge(routes::editors::routes())
        .merge(routes::http::routes())
        .merge(super::oracle::routes())
        .fallback(routes::http::not_found)
        .layer(middleware::from_fn_with_state(app.clone(), count))
        .with_state(app)
}

/// Counts what an agent caused; reading the oracle must not change it.
async fn count(State(app): State<App>, request: Request, next: Next) -> Response {
    const UNCOUNTED: [&str; 4] = ["/state", "/reset", "/site.css", "/report.js"];
    let path = request.uri().path();
    if !UNCOUNTED.contains(&path) {
        app.world().count_request(path);
    }
    next.run(request).await
}

#[cfg(test)]
mod tests {
    use super::Origins;

    #[test]
    fn each_origin_embeds_the_other() {
        let origins = Origins { first: "http://127.0.0.1:80".into(), second: "http://localhost:80".into() };
        assert_eq!(origins.other_than("127.0.0.1:80"), "http://localhost:80");
        assert_eq!(origins.other_than("localhost:80"), "http://127.0.0.1:80");
        assert_eq!(origins.other_than("evil.example\"><script>"), "http://localhost:80");
    }
}
