//! Requests over HTTP, by a client of our own.

use std::io::Read as _;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use cuebook_grammar::Delivery;
use cuebook_grammar::action::Fetch;
use cuebook_grammar::outcome::Cause;
use cuebook_grammar::policy::{Denied, Policy, Rule};
use serde_json::{Map, Value, json};
use ureq::http::header::{HeaderMap, HeaderName, HeaderValue, LOCATION};
use ureq::http::{Method, Request, Uri};
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{DefaultConnector, NextTimeout};
use ureq::{Agent, Error, Timeout};
use url::Url;

use crate::blocking::{Gate, blocking};
use crate::done::{Done, Failed, content, refused, shown};

/// The most redirects that are followed.
const MAX_REDIRECTS: u32 = 10;
/// The most header fields of an answer that are reported, and characters of each.
const MAX_FIELDS: usize = 100;
const MAX_FIELD: usize = 2_000;
/// What belongs to the connection or to a session, and not to a plan.
const NOT_STATED: [&str; 11] = [
    "cookie",
    "cookie2",
    "host",
    "connection",
    "content-length",
    "transfer-encoding",
    "upgrade",
    "te",
    "trailer",
    "keep-alive",
    "expect",
];

/// Makes the request, and returns status, header fields and body.
pub(crate) async fn fetch(policy: &Policy, action: &Fetch, limit: usize, until: Instant) -> Done {
    let first = policy.fetching(&action.url).map_err(|denied| Failed::blocked(Delivery::NotSent, denied))?;
    let hop = Hop { method: method_of(action)?, headers: headers_of(action)?, body: body_of(action), url: first };
    let policy = policy.clone();
    blocking(until, move |gate| follow(&policy, hop, limit, until, gate)).await
}

/// One request of a chain.
struct Hop {
    url: Url,
    method: Method,
    headers: HeaderMap,
    body: Vec<u8>,
}

fn method_of(action: &Fetch) -> Done<Method> {
    let stated = action.method.as_ref().map_or("GET", |method| method.as_str()).to_ascii_uppercase();
    match stated.as_str() {
        "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE" | "OPTIONS" => {}
        _ => {
            let shown = shown(&stated, 20);
            let message = format!("expected a method such as GET or POST, saw `{shown}`");
            return refused(Delivery::NotSent, Cause::InvalidArgument, message);
        }
    }
    Method::from_bytes(stated.as_bytes())
        .or_else(|_| refused(Delivery::NotSent, Cause::InvalidArgument, "expected a method"))
}

fn headers_of(action: &Fetch) -> Done<HeaderMap> {
    let mut headers = HeaderMap::new();
    for (name, value) in action.headers.iter().flatten() {
        let shown = shown(name, 60);
        let lower = name.to_ascii_lowercase();
        if NOT_STATED.contains(&lower.as_str()) || lower.starts_with("proxy-") || lower.starts_with("sec-") {
            let message = format!("expected no header field `{shown}` in a plan");
            return refused(Delivery::NotSent, Cause::InvalidArgument, message);
        }
        let (Ok(name), Ok(value)) = (HeaderName::from_bytes(lower.as_bytes()), HeaderValue::from_str(value.as_str()))
        else {
            let message = format!("expected a header field, saw `{shown}`");
            return refused(Delivery::NotSent, Cause::InvalidArgument, message);
        };
        headers.insert(name, value);
    }
    Ok(headers)
}

fn body_of(action: &Fetch) -> Vec<u8> {
    action.body.as_ref().map(|body| body.as_str().as_bytes().to_vec()).unwrap_or_default()
}

fn follow(policy: &Policy, mut hop: Hop, limit: usize, until: Instant, gate: &Gate) -> Done {
    let mut before = Delivery::NotSent;
    for _ in 0..=MAX_REDIRECTS {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(Failed::late(before));
        }
        gate.pass()?;
        let refusal = Arc::new(Mutex::new(None));
        let addresses = Addresses {
            policy: policy.clone(),
            url: hop.url.clone(),
            refusal: refusal.clone(),
            inner: DefaultResolver::default(),
        };
        let config = Agent::config_builder()
            .proxy(None)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .http_status_as_error(false)
            .allow_non_standard_methods(true)
            .max_response_header_size(64 << 10)
            .max_idle_connections(0)
            .timeout_global(Some(left))
            .user_agent(concat!("cuebook/", env!("CARGO_PKG_VERSION")))
            .build();
        let agent = Agent::with_parts(config, DefaultConnector::default(), addresses);
        let mut request = Request::builder().method(hop.method.clone()).uri(hop.url.as_str());
        if let Some(headers) = request.headers_mut() {
            headers.extend(hop.headers.clone());
        }
        let sent = if hop.body.is_empty() {
            request.body(()).map_err(Error::Http).and_then(|request| agent.run(request))
        } else {
            request.body(hop.body.clone()).map_err(Error::Http).and_then(|request| agent.run(request))
        };
        let answer = match sent {
            Ok(answer) => answer,
            Err(error) => {
                let refused = refusal.lock().unwrap_or_else(PoisonError::into_inner).take();
                return Err(match refused {
                    Some(denied) => Failed::blocked(before, denied),
                    None => why(&error, before),
                });
            }
        };
        before = Delivery::Sent;
        let (parts, body) = answer.into_parts();
        let status = parts.status.as_u16();
        let location = parts.headers.get(LOCATION).and_then(|value| value.to_str().ok());
        if let (301 | 302 | 303 | 307 | 308, Some(location)) = (status, location) {
            hop = next(policy, hop, status, location)?;
            continue;
        }
        return answered(&hop, status, &parts.headers, body, limit);
    }
    refused(Delivery::Sent, Cause::NavigationFailed, format!("expected at most {MAX_REDIRECTS} redirects, saw more"))
}

/// The next hop, if the policy lets it be made.
fn next(policy: &Policy, hop: Hop, status: u16, location: &str) -> Done<Hop> {
    let redirect = |message: String| Failed::blocked(Delivery::Sent, Denied { rule: Rule::Redirect, message });
    let url = hop.url.join(location).map_err(|error| redirect(format!("expected a URL to be led to, saw {error}")))?;
    let url = policy.fetching(url.as_str()).map_err(|denied| redirect(format!("led elsewhere: {}", denied.message)))?;
    let is_same = url.origin() == hop.url.origin();
    let Hop { mut method, mut headers, mut body, .. } = hop;
    if status == 303 || (matches!(status, 301 | 302) && method == Method::POST) {
        if method != Method::HEAD {
            method = Method::GET;
        }
        body = Vec::new();
    }
    if !is_same {
        if !body.is_empty() {
            let origin = url.origin().ascii_serialization();
            return Err(redirect(format!("expected what is sent to stay on its origin, saw it led to {origin}")));
        }
        headers = HeaderMap::new();
    }
    Ok(Hop { url, method, headers, body })
}

fn answered(hop: &Hop, status: u16, headers: &HeaderMap, body: ureq::Body, limit: usize) -> Done {
    let mut bytes = Vec::new();
    let most = u64::try_from(limit).unwrap_or(u64::MAX);
    // The client's own limit lies just beyond ours, so that ours is the one that is met.
    let read = body
        .into_with_config()
        .limit(most.saturating_add(2))
        .reader()
        .take(most.saturating_add(1))
        .read_to_end(&mut bytes);
    if let Err(error) = read {
        return Err(why(&Error::from(error), Delivery::Sent));
    }
    let is_cut = bytes.len() > limit;
    bytes.truncate(limit);
    if is_cut {
        // A character that was cut in two is left out whole.
        while bytes.last().is_some_and(|last| last & 0xc0 == 0x80) {
            bytes.pop();
        }
        if bytes.last().is_some_and(|last| *last >= 0xc0) {
            bytes.pop();
        }
    }
    let kept = bytes.len();
    if status >= 400 {
        let start: String = String::from_utf8_lossy(&bytes).chars().take(500).collect();
        let message = format!("expected success, saw status {status}");
        let mut failed = Failed::new(Delivery::Sent, Cause::HttpError, message);
        failed.failure.facts.status = Some(status);
        failed.failure.facts.seen = Some(start).filter(|start| !start.is_empty());
        return Err(failed);
    }
    let mut fields = Map::new();
    for (name, value) in headers.iter().take(MAX_FIELDS).filter(|(name, _)| *name != "set-cookie") {
        let value: String = String::from_utf8_lossy(value.as_bytes()).chars().take(MAX_FIELD).collect();
        let all = match fields.get(name.as_str()).and_then(Value::as_str) {
            Some(before) => format!("{before}, {value}"),
            None => value,
        };
        fields.insert(name.as_str().to_owned(), Value::String(all));
    }
    let mut data = json!({ "url": hop.url.as_str(), "status": status, "headers": fields, "body": content(bytes) });
    if is_cut {
        data["truncated"] = json!({ "bytes": kept });
    }
    Ok((Delivery::Sent, data))
}

/// What a failed request means for the step; `before` is what came of the hops before it. A request may have arrived
/// unless there was no connection to send it over.
fn why(error: &Error, before: Delivery) -> Failed {
    let is_unconnected = matches!(
        error,
        Error::HostNotFound
            | Error::ConnectionFailed
            | Error::Timeout(Timeout::Resolve | Timeout::Connect)
            | Error::Tls(_)
            | Error::BadUri(_)
            | Error::Http(_)
    );
    let is_refused = matches!(error, Error::Io(error) if error.kind() == std::io::ErrorKind::ConnectionRefused);
    let delivery = match before {
        Delivery::NotSent if !is_unconnected && !is_refused => Delivery::Unknown,
        before => before,
    };
    let is_late = match error {
        Error::Timeout(_) => true,
        Error::Io(error) => error.kind() == std::io::ErrorKind::TimedOut,
        _ => false,
    };
    let (cause, message) = if is_late {
        (Cause::DeadlineExceeded, "expected an answer before the deadline of the step".to_owned())
    } else {
        let seen: String = error.to_string().chars().take(200).collect();
        (Cause::NavigationFailed, format!("expected an answer, saw {seen}"))
    };
    Failed::new(delivery, cause, message)
}

/// Resolves names, and lets no address through that the policy does not.
#[derive(Debug)]
struct Addresses {
    policy: Policy,
    url: Url,
    refusal: Arc<Mutex<Option<Denied>>>,
    inner: DefaultResolver,
}

impl Resolver for Addresses {
    fn resolve(
        &self,
        uri: &Uri,
        config: &ureq::config::Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, Error> {
        let found = self.inner.resolve(uri, config, timeout)?;
        for address in &found {
            // One address that is refused refuses the name: which one is taken is not for chance to say.
            if let Err(denied) = self.policy.reaching(&self.url, address.ip()) {
                *self.refusal.lock().unwrap_or_else(PoisonError::into_inner) = Some(denied);
                return Err(Error::HostNotFound);
            }
        }
        Ok(found)
    }
}
