//! Serves the page of one case, and its files, on both loopback names.
//!
//! Invariant: nothing is cached, so that the next case may stand at the same path.

use std::collections::HashMap;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::{Context as _, Result, bail};
use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, Uri, header};
use axum::response::IntoResponse;
use base64::Engine as _;
use tokio::net::TcpListener;

use crate::conformance::case::{Case, ServedFile};

/// Attempts to find a port that is free on both loopback addresses.
const ATTEMPTS: usize = 16;

/// A server of one worker. Its tasks end with the runtime.
#[derive(Debug)]
pub(crate) struct Server {
    port: u16,
    served: Arc<Mutex<HashMap<String, Served>>>,
}

#[derive(Clone, Debug)]
struct Served {
    media_type: String,
    body: Vec<u8>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Server {
    /// Listens on a port that is free on `127.0.0.1` and, where there is one, on `::1`.
    ///
    /// # Errors
    /// If there is no such port.
    pub(crate) async fn start() -> Result<Self> {
        let served: Arc<Mutex<HashMap<String, Served>>> = Arc::default();
        let app = Router::new().fallback(answer).with_state(Arc::clone(&served));
        for _ in 0..ATTEMPTS {
            let first = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.context("cannot listen on 127.0.0.1")?;
            let port = first.local_addr()?.port();
            match TcpListener::bind((Ipv6Addr::LOCALHOST, port)).await {
                Ok(second) => {
                    let app = app.clone();
                    tokio::spawn(async move { axum::serve(second, app).await });
                }
                // Somebody else would answer to `localhost`.
                Err(error) if error.kind() == std::io::ErrorKind::AddrInUse => continue,
                Err(_) => {}
            }
            tokio::spawn(async move { axum::serve(first, app).await });
            return Ok(Self { port, served });
        }
        bail!("expected a port that is free on 127.0.0.1 and ::1, saw none in {ATTEMPTS} attempts")
    }

    /// First origin of the server, `http://127.0.0.1:PORT`.
    pub(crate) fn origin(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Second origin of the server, `http://localhost:PORT`: another site to the browser.
    pub(crate) fn second_origin(&self) -> String {
        format!("http://localhost:{}", self.port)
    }

    /// Replaces the placeholders of a case.
    pub(crate) fn fill(&self, text: &str) -> String {
        text.replace("{{ORIGIN}}", &self.origin())
            .replace("{{ORIGIN2}}", &self.second_origin())
            .replace("{{HOST}}", &format!("127.0.0.1:{}", self.port))
    }

    /// Serves this case and nothing else from now on.
    ///
    /// # Errors
    /// If a file of the case is not the base64 that it says it is.
    pub(crate) fn show(&self, case: &Case) -> Result<()> {
        let mut all = HashMap::new();
        for (path, file) in &case.files {
            let media_type = file.media_type.clone().unwrap_or_else(|| guess(path).to_owned());
            all.insert(bare(path).to_owned(), Served { media_type, body: self.body_of(file)? });
        }
        let page =
            Served { media_type: "text/html; charset=utf-8".to_owned(), body: self.fill(&case.html).into_bytes() };
        all.insert(bare(&case.path).to_owned(), page);
        *locked(&self.served) = all;
        Ok(())
    }

    fn body_of(&self, file: &ServedFile) -> Result<Vec<u8>> {
        match &file.base64 {
            Some(text) => Ok(base64::engine::general_purpose::STANDARD.decode(text)?),
            None => Ok(self.fill(file.body.as_deref().unwrap_or_default()).into_bytes()),
        }
    }
}

/// A path without what follows `?` or `#`.
fn bare(path: &str) -> &str {
    path.split(['?', '#']).next().unwrap_or(path)
}

fn guess(path: &str) -> &'static str {
    match bare(path).rsplit('.').next() {
        Some("css") => "text/css; charset=utf-8",
        Some("js" | "mjs") => "text/javascript; charset=utf-8",
        Some("json") => "application/json",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("txt") => "text/plain; charset=utf-8",
        _ => "text/html; charset=utf-8",
    }
}

async fn answer(State(served): State<Arc<Mutex<HashMap<String, Served>>>>, uri: Uri) -> impl IntoResponse {
    let found = locked(&served).get(uri.path()).cloned();
    match found {
        Some(Served { media_type, body }) => {
            (StatusCode::OK, [(header::CONTENT_TYPE, media_type), (header::CACHE_CONTROL, "no-store".to_owned())], body)
        }
        None => (
            StatusCode::NOT_FOUND,
            [(header::CONTENT_TYPE, "text/plain".to_owned()), (header::CACHE_CONTROL, "no-store".to_owned())],
            b"nothing here".to_vec(),
        ),
    }
}
