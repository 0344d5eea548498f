//! A button whose clicks the server counts exactly: asynchronously, or one navigation per click.

use axum::Router;
use axum::extract::State;
use axum::response::{Redirect, Response};
use axum::routing::{get, post};
use maud::{PreEscaped, html};

use crate::app::App;
use crate::fields::FromQuery;
use crate::layout;
use crate::visitor::Visitor;

/// The counter's name in the oracle's `hits`.
const COUNTER: &str = "counter";

pub(crate) fn routes() -> Router<App> {
    Router::new().route("/counter", get(page)).route("/counter/hit", post(count_one))
}

async fn page(State(app): State<App>, visitor: Visitor, FromQuery(query): FromQuery) -> Response {
    let count = app.world().hits(COUNTER);
    let main = html! {
        h1 { "Counter" }
        p { "Counted by the server: " output #count aria-live="polite" { (count) } }
        @if query.has("sync") {
            form method="post" action="/counter/hit" { button type="submit" { "Count" } }
        } @else {
            (PreEscaped(include_str!("../pages/counter.html")))
        }
    };
    layout::page(&visitor, "Counter", &main)
}

async fn count_one(State(app): State<App>) -> Redirect {
    app.world().hit(COUNTER);
    Redirect::to("/counter?sync=1")
}
