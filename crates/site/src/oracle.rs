//! The oracle: what the server saw, how pages report to it, and how a test resets it.

use std::collections::BTreeMap;

use axum::Router;
use axum::extract::{Json, State};
use axum::http::StatusCode;
use axum::response::IntoResponse;
use axum::routing::{get, post};
use serde::Deserialize;

use crate::app::App;
use crate::fields::{Fields, FromQuery};

pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/state", get(state))
        .route("/reset", post(reset))
        .route("/hit", post(hit))
        .route("/report", post(report))
}

async fn state(State(app): State<App>) -> impl IntoResponse {
    let state = serde_json::to_value(&*app.world());
    state.map(Json).map_err(|_| StatusCode::INTERNAL_SERVER_ERROR)
}

async fn reset(State(app): State<App>, FromQuery(query): FromQuery) -> StatusCode {
    let mut world = app.world();
    let seed = query.number("seed", world.seed(), (0, u64::MAX));
    world.reset(seed);
    StatusCode::NO_CONTENT
}

/// `POST /hit?name=…`: one more use of something. Answers with the count.
async fn hit(State(app): State<App>, FromQuery(query): FromQuery) -> impl IntoResponse {
    match query.get("name") {
        "" => Err(StatusCode::BAD_REQUEST),
        name => Ok(app.world().hit(name).to_string()),
    }
}

/// Report of a page's script about a form that never leaves the page.
#[derive(Debug, Deserialize)]
struct Report {
    form: String,
    fields: BTreeMap<String, String>,
}

async fn report(State(app): State<App>, Json(report): Json<Report>) -> StatusCode {
    let fields = Fields::new(report.fields).joined();
    app.world().submit(&report.form, fields);
    StatusCode::NO_CONTENT
}
