//! Every kind of input, and uploads.

use axum::Router;
use axum::extract::{Multipart, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use maud::{PreEscaped, html};

use crate::app::App;
use crate::fields::FromForm;
use crate::layout;
use crate::visitor::Visitor;

pub(crate) fn routes() -> Router<App> {
    // The server's default limit of 2 MB a request holds for uploads as well.
    Router::new().route("/editors", get(page)).route("/editors/save", post(save)).route("/upload", post(upload))
}

async fn page(State(app): State<App>, visitor: Visitor) -> Response {
    let uploads: Vec<String> = app
        .world()
        .last_uploads()
        .iter()
        .rev()
        .take(5)
        .map(|upload| format!("{}, {} bytes", upload.name, upload.size))
        .collect();
    let main = html! {
        (PreEscaped(include_str!("../pages/editors.html")))
        section aria-labelledby="received" {
            h2 #received { "Received files" }
            ul { @for upload in uploads { li { (upload) } } }
        }
    };
    layout::page(&visitor, "Editors", &main)
}

async fn save(State(app): State<App>, FromForm(form): FromForm) -> Redirect {
    app.world().submit("editors", form.joined());
    Redirect::to("/editors")
}

/// Stores the name and size of each file of a multipart form, and nothing of its content.
async fn upload(State(app): State<App>, visitor: Visitor, mut form: Multipart) -> Response {
    loop {
        let mut field = match form.next_field().await {
            Ok(Some(field)) => field,
            Ok(None) => return Redirect::to("/editors").into_response(),
            Err(error) => return layout::failure(&visitor, error.status()),
        };
        // A file input that was left alone sends a field with an empty file name.
        let Some(name) = field.file_name().filter(|name| !name.is_empty()).map(str::to_owned) else {
            continue;
        };
        let mut size = 0_u64;
        loop {
            match field.chunk().await {
                Ok(Some(chunk)) => size += chunk.len() as u64,
                Ok(None) => break,
                Err(_) => return layout::failure(&visitor, StatusCode::PAYLOAD_TOO_LARGE),
            }
        }
        app.world().uploaded(&name, size);
    }
}
