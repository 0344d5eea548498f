//! Frames: of the same site, of another site (so out of process), nested, and without an address.

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::Response;
use axum::routing::get;
use maud::{Markup, PreEscaped, html};

use crate::app::App;
use crate::fields::FromQuery;
use crate::layout;
use crate::text::{LONGEST_NAME, clip};
use crate::visitor::Visitor;

pub(crate) fn routes() -> Router<App> {
    Router::new().route("/frames", get(frames)).route("/frames/form", get(form)).route("/frames/outer", get(outer))
}

/// The origin that is cross-site to the one under which the browser asked.
fn other_origin<'a>(app: &'a App, headers: &HeaderMap) -> &'a str {
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    app.origins().other_than(host)
}

async fn frames(State(app): State<App>, visitor: Visitor, headers: HeaderMap) -> Response {
    let other = other_origin(&app, &headers);
    let without_address = form_document("srcdoc").into_string();
    let main = html! {
        h1 { "Frames" }
        p { "Four branches, each with its own order form. Heard so far: "
            output #heard aria-live="polite" { "nothing" } }
        div.columns {
            section { h2 { "Same site" }
                iframe title="Same-site branch" src="/frames/form?name=same" {} }
            section { h2 { "Cross-site" }
                iframe title="Cross-site branch" src={ (other) "/frames/form?name=cross" } {} }
            section { h2 { "Nested" }
                iframe.tall title="Nested branch" src="/frames/outer" {} }
            section { h2 { "Without an address" }
                iframe title="Inline branch" srcdoc=(without_address) {} }
        }
        (PreEscaped(include_str!("../pages/frames_listener.html")))
    };
    layout::page(&visitor, "Frames", &main)
}

/// `/frames/form?name=…`: the name identifies the branch in its reports.
async fn form(FromQuery(query): FromQuery) -> Response {
    let name = clip(query.get("name"), LONGEST_NAME);
    layout::bare("Branch", &form_content(&name))
}

async fn outer(State(app): State<App>, headers: HeaderMap) -> Response {
    let other = other_origin(&app, &headers);
    let main = html! {
        h2 { "Outer branch" }
        button type="button" data-hit="frame.outer" { "Ring the outer bell" }
        iframe title="Inner branch" src={ (other) "/frames/form?name=nested" } {}
    };
    layout::bare("Outer branch", &main)
}

fn form_content(name: &str) -> Markup {
    html! {
        form #branch data-branch=(name) {
            label for="item" { "Item" }
            input #item name="item" autocomplete="off";
            button type="submit" { "Send order" }
            button.quiet type="button" data-hit={ "frame." (name) } { "Ring the bell" }
            output #answer aria-live="polite" {}
        }
        (PreEscaped(include_str!("../pages/frame_form.html")))
    }
}

fn form_document(name: &str) -> Markup {
    html! {
        link rel="stylesheet" href="/site.css";
        script src="/report.js" {}
        main { (form_content(name)) }
    }
}
