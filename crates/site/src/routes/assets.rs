//! The style sheet, and the script with which pages report to the oracle.

use axum::Router;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use axum::routing::get;

use crate::app::App;

pub(crate) fn routes() -> Router<App> {
    Router::new().route("/site.css", get(style)).route("/report.js", get(script))
}

async fn style() -> impl IntoResponse {
    ([(CONTENT_TYPE, "text/css; charset=utf-8")], include_str!("../pages/site.css"))
}

async fn script() -> impl IntoResponse {
    ([(CONTENT_TYPE, "text/javascript; charset=utf-8")], include_str!("../pages/report.js"))
}
