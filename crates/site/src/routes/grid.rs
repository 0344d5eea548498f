//! As many controls as asked for: what benchmarks observe.
//!
//! Invariant: the number alone decides the markup.

use axum::Router;
use axum::response::Response;
use axum::routing::get;
use maud::{Markup, PreEscaped, html};

use crate::app::App;
use crate::fields::FromQuery;
use crate::layout;
use crate::visitor::Visitor;

const MOST: u64 = 50_000;
/// Shows how often a control of the page was clicked.
const COUNTS: &str = "document.addEventListener('click', ({ target }) => {
  if (target.closest('[data-hit]')) document.getElementById('clicks').value++;
});";

pub(crate) fn routes() -> Router<App> {
    Router::new().route("/grid", get(grid))
}

async fn grid(visitor: Visitor, FromQuery(query): FromQuery) -> Response {
    let count = query.number("n", 1_000, (0, MOST));
    layout::page(&visitor, "Grid", &controls(count))
}

/// Rows of four: a link, an input, a button, and a `div` that says it is a button.
fn controls(count: u64) -> Markup {
    html! {
        h1 { "Grid" }
        p { (count) " controls. Clicks: " output id="clicks" { "0" } }
        script { (PreEscaped(COUNTS)) }
        @for row in 0..count.div_ceil(4) {
            div.gridrow {
                @for column in 0..(count - row * 4).min(4) { (control(row, column)) }
            }
        }
    }
}

fn control(row: u64, column: u64) -> Markup {
    html! {
        @match column {
            0 => { a href={ "/grid?n=4&row=" (row) } { "Link " (row) } }
            1 => { label { "Field " (row) " " input name={ "field-" (row) }; } }
            2 => { button type="button" data-hit="grid.button" { "Button " (row) } }
            _ => { div.button role="button" tabindex="0" data-hit="grid.div" { "Pad " (row) } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::controls;

    #[test]
    fn a_thousand_controls_are_250_of_each_kind() {
        let page = controls(1_000).into_string();
        for kind in ["<a href", "<input", "<button", "role=\"button\""] {
            assert_eq!(page.matches(kind).count(), 250, "{kind}");
        }
    }

    #[test]
    fn a_last_row_may_be_short() {
        let page = controls(6).into_string();
        assert_eq!(page.matches("<a href").count() + page.matches("<input").count(), 4);
        assert_eq!(page.matches("<button").count(), 1);
        assert!(!controls(0).into_string().contains("<a href"));
    }
}
