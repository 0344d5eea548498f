//! The start page: the shop window, and links to everything else.

use axum::Router;
use axum::response::Response;
use axum::routing::get;
use maud::{Markup, html};

use crate::app::App;
use crate::catalog::PRODUCTS;
use crate::layout;
use crate::text::price;
use crate::visitor::Visitor;

const ROOMS: [(&str, &str, &str); 26] = [
    ("/login", "Sign in", "Email, password, session cookie"),
    ("/dashboard", "Dashboard", "Quick order, for customers"),
    ("/orders", "Order desk", "Rows that look alike, sort, filter, pages"),
    ("/shop", "Shop", "Six products, one button name"),
    ("/checkout", "Checkout", "A form that the server judges"),
    ("/dialogs", "Dialogs", "Alert, confirm, prompt, modal, leaving"),
    ("/newsletter", "Newsletter", "An overlay covers the button"),
    ("/menus", "Menus", "Menu, combobox, tabs, accordion, tooltip"),
    ("/tabs", "Tabs", "New tabs and windows"),
    ("/frames", "Frames", "Same site, cross-site, nested, srcdoc"),
    ("/shadow", "Shadow", "Open and closed shadow roots"),
    ("/slow", "Slow", "What arrives and wakes up late"),
    ("/slow/restless", "Restless", "A page that never settles"),
    ("/drift", "Drift", "Markup that changes with every load"),
    ("/drift?mode=rerender", "Re-rendering", "Nodes that are replaced all the time"),
    ("/drift?mode=move", "Moving", "A button that will not stay put"),
    ("/drift?mode=swap", "Swapping", "Another element under the finger"),
    ("/toast", "Toast", "A message of five milliseconds"),
    ("/covered", "Covered", "A transparent overlay"),
    ("/hostile", "Hostile", "Built-ins overridden, mutations watched"),
    ("/editors", "Editors", "Every kind of input"),
    ("/widgets", "Widgets", "Calendar, suggestions, gestures, popover"),
    ("/virtual", "Seats", "A thousand rows, a dozen at a time"),
    ("/counter", "Counter", "Clicks, counted by the server"),
    ("/grid?n=100", "Grid", "As many controls as you ask for"),
    ("/download", "Price list", "A file to download"),
];

pub(crate) fn routes() -> Router<App> {
    Router::new().route("/", get(home))
}

async fn home(visitor: Visitor) -> Response {
    layout::page(&visitor, "Paper, pens and patience", &main())
}

fn main() -> Markup {
    html! {
        section.hero {
            h1 { "Good tools for the desk" }
            p { "Pens, paper and small furniture, chosen to last. Sign in for your quick order." }
            p { a.button href="/shop" { "Browse the shop" } }
        }
        section aria-labelledby="favourites" {
            h2 #favourites { "Favourites" }
            ul.cards {
                @for product in PRODUCTS.iter().take(3) {
                    li.card {
                        span.glyph aria-hidden="true" { (product.glyph) }
                        h3 { (product.name) }
                        p { (product.blurb) }
                        p.price { (price(product.cents)) }
                    }
                }
            }
        }
        section aria-labelledby="rooms" {
            h2 #rooms { "Around the house" }
            ul.rooms {
                @for (href, name, about) in ROOMS {
                    li { a href=(href) { (name) } " " span { (about) } }
                }
            }
        }
    }
}
