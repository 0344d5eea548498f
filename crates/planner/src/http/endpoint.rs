//! One endpoint of a server: requests and typed errors.

use std::time::{Duration, SystemTime};

use cuebook_grammar::secret::Secret;
use reqwest::header::HeaderMap;
#[cfg(any(feature = "anthropic", feature = "openai"))]
use reqwest::header::{HeaderName, HeaderValue};
use serde_json::Value;
use url::{Host, Url};

use super::unpack::Unpack;
use crate::converse::{EngineError, Source, server_words};

/// Time limit for connecting.
const CONNECT: Duration = Duration::from_secs(10);

/// Upper bound in bytes of the body of an error.
const ERROR_BYTES: usize = 64 << 10;

/// Upper bound in bytes of a document.
#[cfg(feature = "ollama")]
const DOCUMENT_BYTES: usize = 4 << 20;

/// Time limit for reading the body of an error.
const ERROR_TIME: Duration = Duration::from_secs(5);

/// One endpoint of a server.
#[derive(Clone, Debug)]
pub(crate) struct Endpoint {
    client: reqwest::Client,
    url: Url,
    key: Option<Secret>,
    headers: HeaderMap,
}

impl Endpoint {
    /// The endpoint `path` below `base`, an `http` or `https` URL without user information and query.
    pub(crate) fn new(base: &str, path: &str) -> Result<Self, EngineError> {
        let bad = |seen: &str| EngineError::BadFormat {
            expected: "an address such as http://localhost:8080/v1",
            seen: format!("`{}`", server_words(seen)),
        };
        let mut url = Url::parse(base).map_err(|_| bad(base))?;
        let is_plain = url.username().is_empty() && url.password().is_none() && url.query().is_none();
        if !matches!(url.scheme(), "http" | "https") || !is_plain || url.host().is_none() {
            return Err(bad(url.scheme()));
        }
        let whole = format!("{}/{path}", url.path().trim_end_matches('/'));
        url.set_path(&whole);
        url.set_fragment(None);
        let mut builder = reqwest::Client::builder()
            .connect_timeout(CONNECT)
            .redirect(reqwest::redirect::Policy::none())
            .user_agent(concat!("cuebook/", env!("CARGO_PKG_VERSION")));
        if is_local(&url) {
            builder = builder.no_proxy();
        }
        let client = builder.build().map_err(|error| EngineError::Request(Box::new(error)))?;
        Ok(Self { client, url, key: None, headers: HeaderMap::new() })
    }

    /// Adds a header to every request.
    #[cfg(feature = "anthropic")]
    pub(crate) fn with_header(mut self, name: &'static str, value: &str) -> Result<Self, EngineError> {
        let value = HeaderValue::from_str(value).map_err(|error| EngineError::Request(Box::new(error)))?;
        self.headers.insert(HeaderName::from_static(name), value);
        Ok(self)
    }

    /// Adds a key, after the prefix `front`, as the header `name`.
    #[cfg(any(feature = "anthropic", feature = "openai"))]
    pub(crate) fn with_key(mut self, name: &'static str, front: &str, key: Secret) -> Result<Self, EngineError> {
        let mut value = HeaderValue::from_str(&format!("{front}{}", key.expose()))
            .map_err(|error| EngineError::Request(Box::new(error)))?;
        value.set_sensitive(true);
        self.headers.insert(HeaderName::from_static(name), value);
        self.key = Some(key);
        Ok(self)
    }

    /// The URL that requests go to, without user information and query.
    pub(crate) fn address(&self) -> &str {
        self.url.as_str()
    }

    /// The host without its port.
    #[cfg(feature = "openai")]
    pub(crate) fn host(&self) -> &str {
        self.url.host_str().unwrap_or_default()
    }

    /// Sends JSON. Returns when the head of a successful response has arrived.
    pub(crate) async fn post(&self, body: &Value) -> Result<reqwest::Response, EngineError> {
        let request = self
            .client
            .post(self.url.clone())
            .headers(self.headers.clone())
            .header(reqwest::header::CONTENT_TYPE, "application/json")
            .body(body.to_string());
        let response = request.send().await.map_err(|error| self.unsent(error))?;
        if response.status().is_success() { Ok(response) } else { Err(self.refused(response).await) }
    }

    /// Gets JSON of at most [`DOCUMENT_BYTES`].
    #[cfg(any(feature = "ollama", feature = "openai"))]
    pub(crate) async fn get(&self) -> Result<Value, EngineError> {
        let request = self.client.get(self.url.clone()).headers(self.headers.clone());
        let mut response = request.send().await.map_err(|error| self.unsent(error))?;
        if !response.status().is_success() {
            return Err(self.refused(response).await);
        }
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| self.unsent(error))? {
            body.extend_from_slice(&chunk);
            if body.len() > DOCUMENT_BYTES {
                return Err(EngineError::TooLong { bound: DOCUMENT_BYTES });
            }
        }
        serde_json::from_slice(&body).map_err(|_| EngineError::BadFormat {
            expected: "a JSON document",
            seen: self.clean(&String::from_utf8_lossy(&body)),
        })
    }

    fn unsent(&self, error: reqwest::Error) -> EngineError {
        let is_unreachable = error.is_connect();
        let is_request = error.is_builder() || error.is_request() && error.is_redirect();
        let source: Source = Box::new(error.without_url());
        if is_unreachable {
            EngineError::Unreachable { address: self.address().to_owned(), source }
        } else if is_request {
            EngineError::Request(source)
        } else {
            EngineError::Lost(source)
        }
    }

    async fn refused(&self, mut response: reqwest::Response) -> EngineError {
        let status = response.status().as_u16();
        let retry_after = retry_after(response.headers(), SystemTime::now());
        let moved = response.headers().get(reqwest::header::LOCATION).filter(|_| (300..400).contains(&status));
        if let Some(moved) = moved {
            let to = String::from_utf8_lossy(moved.as_bytes());
            let message = format!("it redirects to {to}, which is not followed: set that address");
            return EngineError::Rejected { status, message: self.clean(&message) };
        }
        let mut unpack = Unpack::of(response.headers()).unwrap_or(Unpack::Plain);
        let mut body = Vec::new();
        let read = async {
            while let Ok(Some(chunk)) = response.chunk().await {
                let Ok(chunk) = unpack.push(&chunk) else { break };
                body.extend_from_slice(&chunk);
                if body.len() > ERROR_BYTES {
                    break;
                }
            }
        };
        // The status suffices without the body.
        drop(tokio::time::timeout(ERROR_TIME, read).await);
        let body = String::from_utf8_lossy(&body);
        let (message, code) = said(&body);
        let message = self.clean(&message);
        match status {
            429 if code == "insufficient_quota" => EngineError::Rejected { status, message },
            429 => EngineError::RateLimited { status, retry_after, message },
            408 | 409 | 425 | 500.. => EngineError::Server { status, retry_after, message },
            _ => EngineError::Rejected { status, message },
        }
    }

    /// A message of the server, without the key.
    pub(crate) fn clean(&self, text: &str) -> String {
        let text = match &self.key {
            Some(key) if key.expose().len() >= 4 => text.replace(key.expose(), "[key]"),
            _ => text.to_owned(),
        };
        server_words(&text)
    }
}

/// Returns `true` if the host is this machine.
fn is_local(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback() || address.is_unspecified(),
        Some(Host::Ipv6(address)) => address.is_loopback() || address.is_unspecified(),
        None => false,
    }
}

/// The message and the code in the body of an error: JSON in one of the usual shapes, else text.
pub(crate) fn said(body: &str) -> (String, String) {
    let Ok(value) = serde_json::from_str::<Value>(body) else { return (text_of(body), String::new()) };
    let error = value.get("error").unwrap_or(&value);
    let text = |value: &Value, name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
    let message = error
        .as_str()
        .map(str::to_owned)
        .or_else(|| text(error, "message"))
        .or_else(|| text(&value, "message"))
        .or_else(|| text(&value, "detail"))
        .unwrap_or_else(|| body.to_owned());
    let code = text(error, "code").or_else(|| text(error, "type")).unwrap_or_default();
    (message, code)
}

/// The text of a body that is not JSON, without HTML tags.
fn text_of(body: &str) -> String {
    let mut out = String::new();
    let mut in_tag = false;
    for c in body.chars() {
        match c {
            '<' => in_tag = true,
            '>' if in_tag => {
                in_tag = false;
                out.push(' ');
            }
            _ if in_tag => {}
            c => out.push(c),
        }
    }
    out.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The wait in `Retry-After`, as seconds or as a date, at most a day.
fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    const DAY: Duration = Duration::from_secs(86_400);
    if let Some(millis) = headers.get("retry-after-ms").and_then(|value| value.to_str().ok()?.trim().parse().ok()) {
        return Some(Duration::from_millis(millis).min(DAY));
    }
    let value = headers.get(reqwest::header::RETRY_AFTER)?.to_str().ok()?.trim();
    let wait = match value.parse::<f64>() {
        Ok(seconds) if seconds.is_finite() && seconds >= 0.0 => Duration::try_from_secs_f64(seconds).unwrap_or(DAY),
        Ok(_) => return None,
        Err(_) => httpdate::parse_http_date(value).ok()?.duration_since(now).unwrap_or_default(),
    };
    Some(wait.min(DAY))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_http_without_user_information_and_query() {
        for (base, whole) in [
            ("http://localhost:8080/v1", "http://localhost:8080/v1/chat"),
            ("https://a.test/", "https://a.test/chat"),
            ("http://[::1]:1/x/", "http://[::1]:1/x/chat"),
        ] {
            assert_eq!(Endpoint::new(base, "chat").unwrap().address(), whole);
        }
        for base in ["localhost:8080", "ftp://a.test", "http://u:p@a.test", "http://a.test?key=1", ""] {
            let error = Endpoint::new(base, "chat").unwrap_err().to_string();
            assert!(error.contains("expected an address"), "{base}: {error}");
            assert!(!error.contains("u:p"), "{error}");
        }
    }

    #[test]
    fn only_loopback_hosts_are_local() {
        for (url, local) in [
            ("http://localhost/", true),
            ("http://127.0.0.9:1/", true),
            ("http://[::1]/", true),
            ("http://a.localhost/", true),
            ("http://localhost.evil.test/", false),
            ("http://10.0.0.1/", false),
        ] {
            assert_eq!(is_local(&Url::parse(url).unwrap()), local, "{url}");
        }
    }

    #[test]
    fn waits_are_read_as_seconds_and_as_dates() {
        let now = httpdate::parse_http_date("Sun, 06 Nov 1994 08:49:00 GMT").unwrap();
        let wait = |name: &'static str, value: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(name, HeaderValue::from_static(value));
            retry_after(&headers, now)
        };
        assert_eq!(wait("retry-after", "3"), Some(Duration::from_secs(3)));
        assert_eq!(wait("retry-after", "0.25"), Some(Duration::from_millis(250)));
        assert_eq!(wait("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT"), Some(Duration::from_secs(37)));
        assert_eq!(wait("retry-after", "Sun, 06 Nov 1994 08:00:00 GMT"), Some(Duration::ZERO));
        assert_eq!(wait("retry-after-ms", "120"), Some(Duration::from_millis(120)));
        assert_eq!(wait("retry-after", "99999999"), Some(Duration::from_secs(86_400)));
        for nonsense in ["-1", "soon", "nan", ""] {
            assert_eq!(wait("retry-after", nonsense), None, "{nonsense}");
        }
    }

    #[test]
    fn the_message_of_an_error_is_found_in_every_shape() {
        for (body, words, code) in [
            (r#"{"error":{"message":"no","code":"insufficient_quota"}}"#, "no", "insufficient_quota"),
            (r#"{"error":"model not found"}"#, "model not found", ""),
            (r#"{"type":"error","error":{"type":"overloaded_error","message":"busy"}}"#, "busy", "overloaded_error"),
            (r#"{"detail":"bad"}"#, "bad", ""),
            ("<html><h1>503</h1> <p>Try later</p></html>", "503 Try later", ""),
            ("", "", ""),
        ] {
            assert_eq!(said(body), (words.to_owned(), code.to_owned()), "{body}");
        }
    }

    #[test]
    fn a_key_that_a_server_repeats_is_removed() {
        let endpoint = Endpoint::new("http://localhost", "x").unwrap();
        let endpoint = endpoint.with_key("authorization", "Bearer ", Secret::new("sk-12345")).unwrap();
        assert_eq!(endpoint.clean("bad key sk-12345 \u{1b}[2J"), r"bad key [key] \u{1b}[2J");
        assert!(!format!("{endpoint:?}").contains("12345"));
    }
}
