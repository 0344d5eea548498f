//! Who is answered: requests with the token, to our host, and from our page.

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use subtle::ConstantTimeEq as _;

/// Bytes of the token in the URL.
const BYTES: usize = 16;

/// The address of a view: its token and the names of its host.
#[derive(Clone, Debug)]
pub(crate) struct Guard {
    token: String,
    hosts: [String; 2],
}

impl Guard {
    /// A guard with a token of its own.
    ///
    /// # Errors
    /// If the system has no randomness.
    pub(crate) fn new(port: u16) -> Result<Self, getrandom::Error> {
        let mut bytes = [0; BYTES];
        getrandom::fill(&mut bytes)?;
        let token = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        // Who forwards the port of another machine calls it localhost.
        Ok(Self { token, hosts: [format!("127.0.0.1:{port}"), format!("localhost:{port}")] })
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/{}/", self.hosts[0], self.token)
    }

    /// Why a request is refused.
    fn refuses(&self, method: &Method, path: &str, headers: &HeaderMap) -> Option<&'static str> {
        let one = |name| {
            let mut all = headers.get_all(name).iter();
            let first = all.next().map(|value| value.to_str().unwrap_or("unreadable"));
            if all.next().is_some() { Some("several") } else { first }
        };
        if !one(header::HOST).is_some_and(|host| self.hosts.iter().any(|known| known == host)) {
            return Some("expected the host of the URL that was printed");
        }
        let is_own = |origin: &str| self.hosts.iter().any(|host| origin.strip_prefix("http://") == Some(host));
        match one(header::ORIGIN) {
            Some(origin) if !is_own(origin) => return Some("expected a request of the page itself"),
            None if method != Method::GET => return Some("expected a request of the page itself"),
            _ => {}
        }
        let token = path.strip_prefix('/').and_then(|path| path.split('/').next()).unwrap_or_default();
        (!bool::from(token.as_bytes().ct_eq(self.token.as_bytes())))
            .then_some("expected the token of the URL that was printed")
    }
}

/// Refuses a request, or answers it with headers that keep the page from being framed, kept or sniffed.
pub(crate) async fn check(State(guard): State<Guard>, request: Request, next: Next) -> Response {
    let refused = guard.refuses(request.method(), request.uri().path(), request.headers());
    let mut response = match refused {
        Some(why) => (StatusCode::FORBIDDEN, format!("{why}\n")).into_response(),
        None => next.run(request).await,
    };
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, "frame-ancestors 'none'"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "same-origin"),
        (header::HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        (header::HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}
