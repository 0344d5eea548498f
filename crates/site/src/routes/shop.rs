//! The shop and the cart.

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use maud::{Markup, html};

use crate::app::App;
use crate::catalog::{PRODUCTS, Product, SIZES};
use crate::fields::FromForm;
use crate::layout;
use crate::shopping::{Cart, Line};
use crate::text::price;
use crate::visitor::{Visitor, remember};

pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/shop", get(shop))
        .route("/cart", get(cart))
        .route("/cart/add", post(add))
        .route("/cart/remove", post(remove))
}

async fn shop(visitor: Visitor) -> Response {
    let main = html! {
        h1 { "Shop" }
        p { "Six things for the desk. Prices include tax." }
        ul.cards {
            @for product in &PRODUCTS { li.card { (card(product)) } }
        }
    };
    layout::page(&visitor, "Shop", &main)
}

async fn add(State(app): State<App>, visitor: Visitor, FromForm(form): FromForm) -> Response {
    let Some(line) = Line::from_fields(&form) else {
        return layout::failure(&visitor, StatusCode::UNPROCESSABLE_ENTITY);
    };
    let mut world = app.world();
    let session = match visitor.session {
        Some(session) if world.session(&session).is_some() => session,
        _ => world.begin_session(),
    };
    if let Some(session) = world.session_mut(&session) {
        session.cart.add(line);
    }
    (remember(&session), Redirect::to("/cart")).into_response()
}

async fn remove(State(app): State<App>, visitor: Visitor, FromForm(form): FromForm) -> Redirect {
    if let (Some(id), Ok(line)) = (&visitor.session, form.get("line").parse())
        && let Some(session) = app.world().session_mut(id)
    {
        session.cart.remove(line);
    }
    Redirect::to("/cart")
}

async fn cart(State(app): State<App>, visitor: Visitor) -> Response {
    let cart = current_cart(&app, &visitor);
    let main = html! {
        h1 { "Your cart" }
        @if cart.lines().is_empty() {
            p { "Your cart is empty." }
            p { a href="/shop" { "Continue shopping" } }
        } @else {
            (lines_table(cart.lines(), Removable::Yes))
            p.total { "Total " strong { (price(cart.cents())) } }
            p {
                a.button href="/checkout" { "Check out" }
                " "
                a href="/shop" { "Continue shopping" }
            }
        }
    };
    layout::page(&visitor, "Cart", &main)
}

/// A copy of the visitor's cart; empty for a visitor without a session.
pub(super) fn current_cart(app: &App, visitor: &Visitor) -> Cart {
    let world = app.world();
    visitor.session.as_ref().and_then(|id| world.session(id)).map(|session| session.cart.clone()).unwrap_or_default()
}

/// Option to take lines out of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Removable {
    Yes,
    No,
}

pub(super) fn lines_table(lines: &[Line], removable: Removable) -> Markup {
    html! {
        table {
            thead {
                tr {
                    @for heading in ["Product", "Size", "Quantity", "Delivery", "Price"] {
                        th scope="col" { (heading) }
                    }
                    @if removable == Removable::Yes { th scope="col" { "Actions" } }
                }
            }
            tbody {
                @for (index, line) in lines.iter().enumerate() {
                    tr {
                        th scope="row" { (line.name) @if line.gift_wrap { " (gift wrapped)" } }
                        td { (line.size) }
                        td { (line.quantity) }
                        td { (line.delivery) }
                        td.number { (price(line.cents)) }
                        @if removable == Removable::Yes {
                            td {
                                form method="post" action="/cart/remove" {
                                    input type="hidden" name="line" value=(index);
                                    button.quiet type="submit" { "Remove" }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn card(product: &Product) -> Markup {
    let sku = product.sku;
    html! {
        article aria-labelledby={ (sku) "-name" } {
            span.glyph aria-hidden="true" { (product.glyph) }
            h2 id={ (sku) "-name" } { (product.name) }
            p { (product.blurb) }
            p.price { (price(product.cents)) }
            form method="post" action="/cart/add" {
                input type="hidden" name="sku" value=(sku);
                div.pair {
                    div {
                        label for={ (sku) "-size" } { "Size" }
                        select id={ (sku) "-size" } name="size" {
                            @for size in SIZES { option selected[size == "Medium"] { (size) } }
                        }
                    }
                    div {
                        label for={ (sku) "-quantity" } { "Quantity" }
                        input id={ (sku) "-quantity" } name="quantity" type="number" min="1" max="99" value="1";
                    }
                }
                label.check { input type="checkbox" name="gift-wrap" value="yes"; " Gift wrap" }
                fieldset {
                    legend { "Delivery" }
                    label.check { input type="radio" name="delivery" value="Standard" checked; " Standard" }
                    label.check { input type="radio" name="delivery" value="Express"; " Express" }
                }
                button type="submit" { "Add to cart" }
            }
        }
    }
}
