//! Checkout, judged by the server, and the page that confirms an order.

use axum::Router;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;
use maud::{Markup, html};

use super::shop::{Removable, current_cart, lines_table};
use crate::app::App;
use crate::fields::{Fields, FromForm};
use crate::layout;
use crate::shopping::{Complaint, Delivery};
use crate::text::price;
use crate::visitor::Visitor;
use crate::world::Order;

/// One text field of the form.
struct Control {
    name: &'static str,
    label: &'static str,
    kind: &'static str,
    autocomplete: &'static str,
}

const CONTROLS: [Control; 4] = [
    Control { name: "name", label: "Full name", kind: "text", autocomplete: "name" },
    Control { name: "email", label: "Email", kind: "email", autocomplete: "email" },
    Control { name: "date", label: "Delivery date", kind: "date", autocomplete: "off" },
    Control { name: "card", label: "Card number", kind: "text", autocomplete: "cc-number" },
];

pub(crate) fn routes() -> Router<App> {
    Router::new().route("/checkout", get(form).post(submit)).route("/order/{id}", get(confirmation))
}

async fn form(State(app): State<App>, visitor: Visitor) -> Response {
    let cents = current_cart(&app, &visitor).cents();
    layout::page(&visitor, "Checkout", &checkout_page(&Fields::default(), &[], cents))
}

async fn submit(State(app): State<App>, visitor: Visitor, FromForm(form): FromForm) -> Response {
    let refuse = |complaints: &[Complaint]| {
        let cents = current_cart(&app, &visitor).cents();
        let page = checkout_page(&form, complaints, cents);
        (StatusCode::UNPROCESSABLE_ENTITY, layout::page(&visitor, "Checkout", &page)).into_response()
    };
    let delivery = match Delivery::from_fields(&form) {
        Ok(delivery) => delivery,
        Err(complaints) => return refuse(&complaints),
    };
    if visitor.cart_lines == 0 {
        return refuse(&[Complaint { field: "cart", message: "Your cart is empty." }]);
    }
    let mut world = app.world();
    let lines = visitor
        .session
        .as_ref()
        .and_then(|id| world.session_mut(id))
        .map(|session| session.cart.take())
        .unwrap_or_default();
    let id = world.place_order(visitor.user, lines, Some(delivery));
    Redirect::to(&format!("/order/{id}")).into_response()
}

async fn confirmation(State(app): State<App>, visitor: Visitor, Path(id): Path<String>) -> Response {
    let order = id.parse().ok().and_then(|id| app.world().order(id).cloned());
    match order {
        Some(order) => layout::page(&visitor, "Order confirmed", &confirmation_page(&order)),
        None => layout::failure(&visitor, StatusCode::NOT_FOUND),
    }
}

fn complaint_about(complaints: &[Complaint], field: &str) -> Option<&'static str> {
    complaints.iter().find(|complaint| complaint.field == field).map(|complaint| complaint.message)
}

/// The text under a control that its `aria-errormessage` names.
fn complaint_text(name: &str, message: Option<&str>) -> Markup {
    html! { @if let Some(message) = message { p.complaint id={ (name) "-error" } { (message) } } }
}

fn checkout_page(filled: &Fields, complaints: &[Complaint], cents: u64) -> Markup {
    let about = |field| complaint_about(complaints, field);
    html! {
        section.narrow {
            h1 { "Checkout" }
            p { "To pay: " strong { (price(cents)) } }
            @if !complaints.is_empty() {
                div.alert role="alert" {
                    p { "Please correct the form." }
                    @if let Some(message) = about("cart") {
                        p { (message) " " a href="/shop" { "Choose something" } "." }
                    }
                }
            }
            form method="post" action="/checkout" novalidate {
                @for Control { name, label, kind, autocomplete } in &CONTROLS {
                    @let message = about(name);
                    // The card's number is the one field that is not shown back.
                    @let value = if *name == "card" { "" } else { filled.get(name) };
                    label for=(name) { (label) }
                    input id=(name) name=(name) type=(kind) autocomplete=(autocomplete) value=(value)
                        required aria-invalid=[message.map(|_| "true")]
                        aria-errormessage=[message.map(|_| format!("{name}-error"))];
                    (complaint_text(name, message))
                }
                label for="notes" { "Notes for the courier" }
                textarea #notes name="notes" rows="3" { (filled.get("notes")) }
                @let terms = about("terms");
                label.check {
                    input #terms name="terms" type="checkbox" value="yes" required
                        checked[filled.has("terms")] aria-invalid=[terms.map(|_| "true")]
                        aria-errormessage=[terms.map(|_| "terms-error")];
                    " I accept the terms"
                }
                (complaint_text("terms", terms))
                button type="submit" { "Place order" }
            }
        }
    }
}

fn confirmation_page(order: &Order) -> Markup {
    html! {
        p.notice role="status" { "Thank you. Order " (order.id) " is on its way." }
        h1 { "Order confirmed" }
        (lines_table(&order.lines, Removable::No))
        p.total { "Total " strong data-testid="order-total" { (price(order.cents)) } }
        @if let Some(delivery) = &order.delivery {
            dl {
                dt { "Name" } dd { (delivery.name) }
                dt { "Email" } dd { (delivery.email) }
                dt { "Delivery date" } dd { (delivery.date) }
                dt { "Card" } dd { "ending in " (delivery.card_ending) }
                @if !delivery.notes.is_empty() { dt { "Notes" } dd { (delivery.notes) } }
            }
        }
        p { a href="/shop" { "Continue shopping" } }
    }
}
