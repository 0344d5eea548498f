//! The frame around every page: head, navigation, landmarks.
//!
//! Invariant: everything but literals reaches a page through `maud`, which escapes it.

use axum::http::StatusCode;
use axum::response::{Html, IntoResponse, Response};
use maud::{DOCTYPE, Markup, html};

use crate::visitor::Visitor;

/// A page of the site: title, what goes into the head beside the style sheet, and the content.
pub(crate) fn page_with_head(visitor: &Visitor, title: &str, head: &Markup, main: &Markup) -> Response {
    let nav = [("/shop", "Shop"), ("/orders", "Order desk"), ("/dashboard", "Dashboard")];
    Html(
        html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    title { (title) " · Cuebook Stationery" }
                    link rel="icon" href="data:,";
                    link rel="stylesheet" href="/site.css";
                    (head)
                    script src="/report.js" {}
                }
                body {
                    header.top {
                        a.brand href="/" { "Cuebook Stationery" }
                        nav aria-label="Main" {
                            @for (href, label) in nav { a href=(href) { (label) } }
                            a href="/cart" { "Cart (" (visitor.cart_lines) ")" }
                        }
                        @if let Some(user) = visitor.user {
                            form.account method="post" action="/logout" {
                                span.who { (user) }
                                button.quiet type="submit" { "Log out" }
                            }
                        } @else {
                            a.account href="/login" { "Sign in" }
                        }
                    }
                    main { (main) }
                    footer.bottom {
                        p { "Cuebook Stationery is a fictional shop. Nothing here is sold or shipped." }
                    }
                }
            }
        }
        .into_string(),
    )
    .into_response()
}

/// A page with nothing extra in its head.
pub(crate) fn page(visitor: &Visitor, title: &str, main: &Markup) -> Response {
    page_with_head(visitor, title, &html! {}, main)
}

/// A page that says why there is no other.
pub(crate) fn failure(visitor: &Visitor, status: StatusCode) -> Response {
    let title = status.canonical_reason().unwrap_or("Unusual status");
    let main = html! {
        h1 { (title) }
        p { "The server answered with status " (status.as_u16()) "." }
        p { a href="/" { "Back to the start" } }
    };
    (status, page(visitor, title, &main)).into_response()
}

/// A document for a frame, without the site's navigation.
pub(crate) fn bare(title: &str, main: &Markup) -> Response {
    Html(
        html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    title { (title) }
                    link rel="icon" href="data:,";
                    link rel="stylesheet" href="/site.css";
                    script src="/report.js" {}
                }
                body.bare { main { (main) } }
            }
        }
        .into_string(),
    )
    .into_response()
}
