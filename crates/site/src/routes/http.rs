//! Bare behaviours of HTTP: statuses, redirects, a download.

use axum::Router;
use axum::extract::Path;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use crate::app::App;
use crate::catalog::PRODUCTS;
use crate::fields::FromQuery;
use crate::layout;
use crate::visitor::Visitor;

pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/status/{code}", get(status))
        .route("/redirect", get(redirect))
        .route("/download", get(download))
}

pub(crate) async fn not_found(visitor: Visitor) -> Response {
    layout::failure(&visitor, StatusCode::NOT_FOUND)
}

/// `/status/CODE`: a page with that status, from 200 on. Others would not be a response.
async fn status(visitor: Visitor, Path(code): Path<String>) -> Response {
    let code = code.parse().ok().filter(|code| (200..600).contains(code));
    let status = code.and_then(|code| StatusCode::from_u16(code).ok());
    layout::failure(&visitor, status.unwrap_or(StatusCode::BAD_REQUEST))
}

/// `/redirect?to=…`: anywhere, on purpose; this is what tests of navigation policy need.
async fn redirect(visitor: Visitor, FromQuery(query): FromQuery) -> Response {
    match HeaderValue::from_str(query.get("to")) {
        Ok(to) if !to.is_empty() => (StatusCode::FOUND, [(header::LOCATION, to)]).into_response(),
        _ => layout::failure(&visitor, StatusCode::BAD_REQUEST),
    }
}

async fn download() -> impl IntoResponse {
    let rows = PRODUCTS.iter().map(|product| {
        format!("{},{},{}.{:02}\n", product.sku, product.name, product.cents / 100, product.cents % 100)
    });
    let body: String = std::iter::once("sku,name,price\n".to_owned()).chain(rows).collect();
    (
        [
            (header::CONTENT_TYPE, "text/csv; charset=utf-8"),
            (header::CONTENT_DISPOSITION, "attachment; filename=\"price-list.csv\""),
        ],
        body,
    )
}
