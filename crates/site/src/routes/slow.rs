//! Pages that take their time: late content, late buttons, a slow response, and a page that never settles.

use std::convert::Infallible;
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::sse::{Event, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use futures_util::Stream;
use futures_util::stream;
use maud::{PreEscaped, html};

use crate::app::App;
use crate::fields::FromQuery;
use crate::layout;
use crate::visitor::Visitor;

/// The longest that anything here takes, in milliseconds.
const LONGEST_MS: u64 = 60_000;
const EVENT_EVERY: Duration = Duration::from_millis(500);

pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/slow", get(slow))
        .route("/slow/restless", get(restless))
        .route("/slow/response", get(response))
        .route("/slow/poll", get(poll))
        .route("/slow/events", get(events))
}

async fn slow(visitor: Visitor, FromQuery(query): FromQuery) -> Response {
    let delay = query.number("delay", 1_000, (0, LONGEST_MS));
    let main = html! {
        div #slow data-delay=(delay) { (PreEscaped(include_str!("../pages/slow.html"))) }
    };
    layout::page(&visitor, "Slow", &main)
}

async fn restless(visitor: Visitor) -> Response {
    let main = PreEscaped(include_str!("../pages/restless.html").to_owned());
    layout::page(&visitor, "Restless", &main)
}

/// `/slow/response?ms=…`: answers after that long, or at once when the server stops.
async fn response(State(app): State<App>, FromQuery(query): FromQuery) -> Response {
    let ms = query.number("ms", 1_000, (0, LONGEST_MS));
    tokio::select! {
        () = tokio::time::sleep(Duration::from_millis(ms)) => {
            let main = html! { h1 { "At last" } p { "This took " (ms) " ms." } };
            layout::bare("At last", &main)
        }
        () = app.stopping() => StatusCode::SERVICE_UNAVAILABLE.into_response(),
    }
}

async fn poll(State(app): State<App>) -> String {
    app.world().hit("restless.poll").to_string()
}

/// An endless stream; it ends when the server stops.
async fn events(State(app): State<App>) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    Sse::new(stream::unfold((app, 0_u64), |(app, number)| async move {
        tokio::select! {
            () = tokio::time::sleep(EVENT_EVERY) => {
                Some((Ok(Event::default().data(number.to_string())), (app, number.wrapping_add(1))))
            }
            () = app.stopping() => None,
        }
    }))
}
