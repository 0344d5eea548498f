//! Who is asking: the session cookie, and what it stands for.

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderName, header};
use axum::response::AppendHeaders;

use crate::app::App;
use crate::world::SessionId;

const COOKIE: &str = "cuebook-session";

/// The visitor of one request. Nobody who has no session, or a dead one, is logged in.
#[derive(Debug, Default)]
pub(crate) struct Visitor {
    pub(crate) session: Option<SessionId>,
    pub(crate) user: Option<&'static str>,
    pub(crate) cart_lines: usize,
}

impl FromRequestParts<App> for Visitor {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Infallible> {
        let cookie = parts
            .headers
            .get_all(header::COOKIE)
            .iter()
            .filter_map(|value| value.to_str().ok())
            .flat_map(|value| value.split(';'))
            .filter_map(|pair| pair.trim().split_once('='))
            .find(|(name, _)| *name == COOKIE)
            .map(|(_, value)| SessionId::from_cookie(value));
        let world = app.world();
        Ok(cookie
            .and_then(|id| {
                let session = world.session(&id)?;
                Some(Self { user: session.user, cart_lines: session.cart.lines().len(), session: Some(id) })
            })
            .unwrap_or_default())
    }
}

/// The response header that hands a session to the browser.
pub(crate) fn remember(id: &SessionId) -> AppendHeaders<[(HeaderName, String); 1]> {
    let id = id.as_str();
    AppendHeaders([(header::SET_COOKIE, format!("{COOKIE}={id}; Path=/; HttpOnly; SameSite=Lax"))])
}

/// The response header that makes the browser forget its session.
pub(crate) fn forget() -> AppendHeaders<[(HeaderName, String); 1]> {
    AppendHeaders([(header::SET_COOKIE, format!("{COOKIE}=; Path=/; HttpOnly; Max-Age=0"))])
}
