//! The order desk: a table of rows that look alike, with what one does to rows.

use axum::Router;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use maud::{Markup, PreEscaped, html};

use crate::app::App;
use crate::fields::{Fields, FromForm, FromQuery};
use crate::invoices::{Direction, Invoice, Listing, Rows, STATUSES, SortKey};
use crate::layout;
use crate::text::price;
use crate::visitor::Visitor;

/// How the page asks before it deletes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asking {
    /// With `window.confirm`, the default.
    Native,
    /// A `<dialog>` in the page.
    InPage,
    /// It deletes without asking.
    Never,
}

impl Asking {
    fn from_fields(fields: &Fields) -> Self {
        match fields.get("confirm") {
            "dialog" => Self::InPage,
            "none" => Self::Never,
            _ => Self::Native,
        }
    }

    const fn wire(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::InPage => "dialog",
            Self::Never => "none",
        }
    }
}

pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/orders", get(table))
        .route("/orders/{number}/edit", get(edit_form).post(edit))
        .route("/orders/{number}/delete", post(delete))
}

async fn table(State(app): State<App>, visitor: Visitor, FromQuery(query): FromQuery) -> Response {
    let listing = Listing::from_fields(&query);
    let rows = listing.apply(app.world().invoices());
    let asking = Asking::from_fields(&query);
    let main = html! {
        h1 { "Order desk" }
        (notice(query.get("done")))
        (filter_form(&listing, asking))
        (rows_table(&listing, asking, &rows))
        (pagination(&listing, asking, &rows))
        @match asking {
            Asking::InPage => (PreEscaped(include_str!("../pages/delete_dialog.html"))),
            Asking::Native => (PreEscaped(include_str!("../pages/delete_confirm.html"))),
            Asking::Never => {}
        }
    };
    layout::page(&visitor, "Order desk", &main)
}

async fn delete(
    State(app): State<App>,
    visitor: Visitor,
    Path(number): Path<String>,
    FromForm(form): FromForm,
) -> Response {
    if !app.world().delete_invoice(&number) {
        return layout::failure(&visitor, StatusCode::NOT_FOUND);
    }
    let asking = Asking::from_fields(&form).wire();
    Redirect::to(&format!("/orders?confirm={asking}&done=deleted")).into_response()
}

async fn edit_form(State(app): State<App>, visitor: Visitor, Path(number): Path<String>) -> Response {
    let invoice = app.world().invoice(&number).cloned();
    match invoice {
        Some(invoice) => layout::page(&visitor, "Edit invoice", &edit_page(&invoice)),
        None => layout::failure(&visitor, StatusCode::NOT_FOUND),
    }
}

async fn edit(
    State(app): State<App>,
    visitor: Visitor,
    Path(number): Path<String>,
    FromForm(form): FromForm,
) -> Response {
    let (customer, email) = (form.get("customer"), form.get("email"));
    if app.world().edit_invoice(&number, customer, email, form.get("status")) {
        Redirect::to("/orders?done=saved").into_response()
    } else {
        layout::failure(&visitor, StatusCode::NOT_FOUND)
    }
}

fn notice(done: &str) -> Markup {
    let text = match done {
        "deleted" => "The invoice was deleted.",
        "saved" => "Your changes were saved.",
        _ => return html! {},
    };
    html! { p.notice role="status" { (text) } }
}

fn filter_form(listing: &Listing, asking: Asking) -> Markup {
    html! {
        form.filter role="search" method="get" action="/orders" {
            input type="hidden" name="confirm" value=(asking.wire());
            div {
                label for="q" { "Search invoices" }
                input #q name="q" type="search" value=(listing.text);
            }
            div {
                label for="status" { "Status" }
                select #status name="status" {
                    option value="" { "Any status" }
                    @for status in STATUSES { option selected[listing.status == status] { (status) } }
                }
            }
            button type="submit" { "Apply" }
        }
    }
}

fn rows_table(listing: &Listing, asking: Asking, rows: &Rows) -> Markup {
    html! {
        table {
            caption { (rows.found) " invoices" }
            thead {
                tr {
                    @for key in SortKey::ALL { (heading(listing, asking, key)) }
                    th scope="col" { "Email" }
                    th scope="col" { "Actions" }
                }
            }
            tbody {
                @for invoice in &rows.rows {
                    tr data-invoice=(invoice.number) {
                        th scope="row" { (invoice.number) }
                        td { (invoice.customer) }
                        td { span class={ "status " (invoice.status.to_lowercase()) } { (invoice.status) } }
                        td.number { (price(invoice.cents)) }
                        td { (invoice.email) }
                        td.actions {
                            form method="get" action={ "/orders/" (invoice.number) "/edit" } {
                                button.quiet type="submit" { "Edit" }
                            }
                            form.delete method="post" action={ "/orders/" (invoice.number) "/delete" } {
                                input type="hidden" name="confirm" value=(asking.wire());
                                button.danger type="submit" { "Delete" }
                            }
                        }
                    }
                }
            }
        }
        @if rows.rows.is_empty() { p { "No invoice matches." } }
    }
}

fn heading(listing: &Listing, asking: Asking, key: SortKey) -> Markup {
    let current = listing.key == key;
    let direction = if current { listing.direction.opposite() } else { Direction::Ascending };
    let href = address(&Listing { key, direction, ..listing.clone() }, asking, 1);
    html! {
        th scope="col" aria-sort=[current.then(|| listing.direction.wire())] {
            a href=(href) { (key.heading()) }
        }
    }
}

fn pagination(listing: &Listing, asking: Asking, rows: &Rows) -> Markup {
    html! {
        nav.pages aria-label="Pages" {
            @for page in 1..=rows.pages {
                a href=(address(listing, asking, page)) aria-current=[(page == rows.page).then_some("page")] {
                    (page)
                }
            }
            @if rows.page < rows.pages {
                a rel="next" href=(address(listing, asking, rows.page + 1)) { "Next" }
            }
        }
    }
}

/// The address of a page of the table.
fn address(listing: &Listing, asking: Asking, page: usize) -> String {
    let query = [
        ("q", listing.text.as_str()),
        ("status", &listing.status),
        ("sort", listing.key.wire()),
        ("dir", listing.direction.wire()),
        ("confirm", asking.wire()),
        ("page", &page.to_string()),
    ]
    .into_iter()
    .filter(|(_, value)| !value.is_empty())
    .map(|(name, value)| format!("{name}={}", percent_encode(value)))
    .collect::<Vec<_>>()
    .join("&");
    format!("/orders?{query}")
}

fn percent_encode(text: &str) -> String {
    use std::fmt::Write as _;
    text.bytes().fold(String::new(), |mut encoded, byte| {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(encoded, "%{byte:02X}");
        }
        encoded
    })
}

fn edit_page(invoice: &Invoice) -> Markup {
    html! {
        section.narrow {
            h1 { "Edit " (invoice.number) }
            form method="post" action={ "/orders/" (invoice.number) "/edit" } {
                label for="customer" { "Customer" }
                input #customer name="customer" value=(invoice.customer) required;
                label for="email" { "Email" }
                input #email name="email" type="email" value=(invoice.email) required;
                label for="status" { "Status" }
                select #status name="status" {
                    @for status in STATUSES { option selected[invoice.status == status] { (status) } }
                }
                button type="submit" { "Save changes" }
                " "
                a href="/orders" { "Cancel" }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::percent_encode;

    #[test]
    fn addresses_survive_any_search() {
        assert_eq!(percent_encode("a b&c=ü#"), "a%20b%26c%3D%C3%BC%23");
    }
}
