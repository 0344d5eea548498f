//! Signing in and out, and the dashboard with its quick order.

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use maud::{Markup, html};

use crate::app::App;
use crate::catalog::{PRODUCTS, SIZES};
use crate::fields::{FromForm, FromQuery};
use crate::layout;
use crate::shopping::Line;
use crate::text::price;
use crate::visitor::{Visitor, forget, remember};
use crate::world::greeting;

pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/login", get(login_form).post(log_in))
        .route("/logout", post(log_out))
        .route("/dashboard", get(dashboard))
        .route("/quick-order", post(quick_order))
}

async fn login_form(visitor: Visitor, FromQuery(query): FromQuery) -> Response {
    layout::page(&visitor, "Sign in", &login_page("", query.get("next"), None))
}

async fn log_in(State(app): State<App>, visitor: Visitor, FromForm(form): FromForm) -> Response {
    let email = form.get("email").trim();
    let mut world = app.world();
    let Some(user) = world.check_login(email, form.get("password")) else {
        drop(world);
        let message = "That email and password do not belong together.";
        let page = login_page(email, form.get("next"), Some(message));
        return (StatusCode::UNPROCESSABLE_ENTITY, layout::page(&visitor, "Sign in", &page)).into_response();
    };
    let session = match visitor.session {
        Some(session) if world.session(&session).is_some() => session,
        _ => world.begin_session(),
    };
    if let Some(session) = world.session_mut(&session) {
        session.user = Some(user);
    }
    (remember(&session), Redirect::to(own_path(form.get("next")))).into_response()
}

/// `next` if it stays on this site, else the dashboard.
fn own_path(next: &str) -> &str {
    let stays =
        next.starts_with('/') && !next.starts_with("//") && next.chars().all(|c| c.is_ascii_graphic() && c != '\\');
    if stays { next } else { "/dashboard" }
}

async fn log_out(State(app): State<App>, visitor: Visitor) -> Response {
    if let Some(session) = &visitor.session {
        app.world().log_out(session);
    }
    (forget(), Redirect::to("/login")).into_response()
}

async fn dashboard(State(app): State<App>, visitor: Visitor) -> Response {
    let Some(user) = visitor.user else {
        return Redirect::to("/login?next=/dashboard").into_response();
    };
    let orders: Vec<(u64, u64)> = app.world().orders_of(user).map(|order| (order.id, order.cents)).collect();
    layout::page(&visitor, "Dashboard", &dashboard_page(user, &orders))
}

async fn quick_order(State(app): State<App>, visitor: Visitor, FromForm(form): FromForm) -> Response {
    let Some(user) = visitor.user else {
        return Redirect::to("/login?next=/dashboard").into_response();
    };
    let Some(line) = Line::from_fields(&form) else {
        return layout::failure(&visitor, StatusCode::UNPROCESSABLE_ENTITY);
    };
    let id = app.world().place_order(Some(user), vec![line], None);
    Redirect::to(&format!("/order/{id}")).into_response()
}

fn login_page(email: &str, next: &str, message: Option<&str>) -> Markup {
    html! {
        section.narrow {
            h1 { "Sign in" }
            p { "Use your customer account." }
            @if let Some(message) = message { p.alert role="alert" { (message) } }
            form #login method="post" action="/login" {
                label for="email" { "Email" }
                input #email data-testid="email-input" name="email" type="text" value=(email)
                    inputmode="email" autocomplete="username" autocapitalize="none" required;
                label for="password" { "Password" }
                input #password data-testid="password-input" name="password" type="password"
                    autocomplete="current-password" required;
                @if !next.is_empty() { input type="hidden" name="next" value=(next); }
                label.check { input type="checkbox" name="stay" value="yes"; " Keep me signed in" }
                button type="submit" { "Log in" }
            }
            p { a href="/status/404" { "Forgot your password?" } }
        }
    }
}

fn dashboard_page(user: &str, orders: &[(u64, u64)]) -> Markup {
    html! {
        h1 { "Welcome back, " (greeting(user)) }
        div.columns {
            section.panel aria-labelledby="quick" {
                h2 #quick { "Quick order" }
                form method="post" action="/quick-order" {
                    label for="quick-product" { "Product" }
                    select #quick-product name="sku" {
                        @for product in &PRODUCTS {
                            option value=(product.sku) { (product.name) ", " (price(product.cents)) }
                        }
                    }
                    label for="quick-size" { "Size" }
                    select #quick-size name="size" data-testid="size-select" {
                        @for size in SIZES { option selected[size == "Medium"] { (size) } }
                    }
                    label for="quick-quantity" { "Quantity" }
                    input #quick-quantity name="quantity" type="number" min="1" max="99" value="1";
                    button type="submit" { "Order" }
                }
            }
            section.panel aria-labelledby="recent" {
                h2 #recent { "Your orders" }
                @if orders.is_empty() { p { "Nothing yet." } }
                ul {
                    @for (id, cents) in orders {
                        li { a href={ "/order/" (id) } { "Order " (id) } ", " (price(*cents)) }
                    }
                }
            }
            section.panel aria-labelledby="elsewhere" {
                h2 #elsewhere { "Elsewhere" }
                ul {
                    li { a href="/shop" { "Shop for more" } }
                    li { a href="/orders" { "Manage invoices" } }
                    li { a href="/editors" { "Write to us" } }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::own_path;

    #[test]
    fn signing_in_never_leaves_the_site() {
        assert_eq!(own_path("/shop?x=1"), "/shop?x=1");
        for elsewhere in ["", "shop", "//evil.example", "/\\evil.example", "https://evil.example", "/a\nb"] {
            assert_eq!(own_path(elsewhere), "/dashboard", "{elsewhere}");
        }
    }
}
