//! The one list of routes.

use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::{self, Next};
use axum::response::Response;

use crate::app::App;
use crate::{oracle, routes};

/// Routes of all pages and of the oracle, with requests counted.
pub(crate) fn router(app: App) -> Router {
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
        .merge(oracle::routes())
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
