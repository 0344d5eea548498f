//! Requests over HTTP, outside of the browser's session.

use std::error::Error;
use std::iter::successors;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use cuebook_grammar::Delivery;
use cuebook_grammar::action::Fetch;
use cuebook_grammar::outcome::Cause;
use cuebook_grammar::policy::{Denied, Policy, Rule};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue, LOCATION};
use reqwest::{Client, Method, Response, redirect};
use serde_json::{Map, Value, json};
use url::{Host, Url};

use crate::done::{ActionResult, Failed, content, refused, shown, with_sources};

/// Upper bound of the redirects that are followed.
const MAX_REDIRECTS: u32 = 10;
/// Upper bounds of the header fields of a response that are reported, and of the characters of each.
const MAX_FIELDS: usize = 100;
const MAX_FIELD: usize = 2_000;
/// Header fields that belong to the connection or to a session. A plan must not set them.
const RESERVED: [&str; 11] = [
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

/// Sends the request, and returns the status, header fields and body of the response.
pub(crate) async fn fetch(policy: &Policy, action: &Fetch, limit: usize, until: Instant) -> ActionResult {
    let url = policy.fetching(&action.url).map_err(|denied| Failed::blocked(Delivery::NotSent, denied))?;
    let mut hop = Hop { method: method_of(action)?, headers: headers_of(action)?, body: body_of(action), url };
    let mut delivery = Delivery::NotSent;
    for _ in 0..=MAX_REDIRECTS {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(Failed::late(delivery));
        }
        let response = send(policy, &hop, left).await.map_err(|error| failed(error.as_ref(), delivery))?;
        delivery = Delivery::Sent;
        let status = response.status().as_u16();
        let location = response.headers().get(LOCATION).and_then(|value| value.to_str().ok());
        match (status, location) {
            (301 | 302 | 303 | 307 | 308, Some(location)) => hop = redirected(policy, &hop, status, location)?,
            _ => return answered(&hop.url, response, limit).await,
        }
    }
    refused(delivery, Cause::NavigationFailed, format!("more than {MAX_REDIRECTS} redirects"))
}

/// One request of a chain of redirects.
#[derive(Clone)]
struct Hop {
    url: Url,
    method: Method,
    headers: HeaderMap,
    body: Vec<u8>,
}

fn method_of(action: &Fetch) -> ActionResult<Method> {
    const METHODS: [Method; 7] =
        [Method::GET, Method::HEAD, Method::POST, Method::PUT, Method::PATCH, Method::DELETE, Method::OPTIONS];
    let stated = action.method.as_ref().map_or("GET", |method| method.as_str());
    let method = METHODS.into_iter().find(|method| method.as_str().eq_ignore_ascii_case(stated));
    let unknown = || format!("`{}` is not a method such as GET or POST", shown(stated, 20));
    method.ok_or_else(|| Failed::new(Delivery::NotSent, Cause::InvalidArgument, unknown()))
}

fn headers_of(action: &Fetch) -> ActionResult<HeaderMap> {
    let mut headers = HeaderMap::new();
    for (name, value) in action.headers.iter().flatten() {
        let shown = shown(name, 60);
        let lower = name.to_ascii_lowercase();
        if RESERVED.contains(&lower.as_str()) || lower.starts_with("proxy-") || lower.starts_with("sec-") {
            let message = format!("a plan must not set the header field `{shown}`");
            return refused(Delivery::NotSent, Cause::InvalidArgument, message);
        }
        let (Ok(name), Ok(value)) = (HeaderName::from_bytes(lower.as_bytes()), HeaderValue::from_str(value.as_str()))
        else {
            let message = format!("`{shown}` is not a valid header field");
            return refused(Delivery::NotSent, Cause::InvalidArgument, message);
        };
        headers.insert(name, value);
    }
    Ok(headers)
}

fn body_of(action: &Fetch) -> Vec<u8> {
    action.body.as_ref().map(|body| body.as_str().as_bytes().to_vec()).unwrap_or_default()
}

/// Sends one request, without a proxy, over a new connection.
async fn send(policy: &Policy, hop: &Hop, left: Duration) -> Result<Response, Box<dyn Error + Send + Sync>> {
    // The client asks its resolver about names only.
    let address = match hop.url.host() {
        Some(Host::Ipv4(address)) => Some(IpAddr::V4(address)),
        Some(Host::Ipv6(address)) => Some(IpAddr::V6(address)),
        _ => None,
    };
    if let Some(address) = address {
        policy.reaching(&hop.url, address)?;
    }
    let client = Client::builder()
        .no_proxy()
        .redirect(redirect::Policy::none())
        .pool_max_idle_per_host(0)
        .timeout(left)
        .user_agent(concat!("cuebook/", env!("CARGO_PKG_VERSION")))
        .dns_resolver(Arc::new(Resolver { policy: policy.clone(), url: hop.url.clone() }))
        .build()?;
    let mut request = client.request(hop.method.clone(), hop.url.clone()).headers(hop.headers.clone());
    if !hop.body.is_empty() {
        request = request.body(hop.body.clone());
    }
    Ok(request.send().await.map_err(reqwest::Error::without_url)?)
}

/// The next request of the chain, if the policy allows it.
fn redirected(policy: &Policy, hop: &Hop, status: u16, location: &str) -> ActionResult<Hop> {
    let redirect = |message: String| Failed::blocked(Delivery::Sent, Denied { rule: Rule::Redirect, message });
    let url = hop.url.join(location).map_err(|error| redirect(format!("redirected to an invalid URL: {error}")))?;
    let url = policy.fetching(url.as_str()).map_err(|denied| redirect(format!("redirected: {}", denied.message)))?;
    let is_same_origin = url.origin() == hop.url.origin();
    let Hop { mut method, mut headers, mut body, .. } = hop.clone();
    if status == 303 || (matches!(status, 301 | 302) && method == Method::POST) {
        if method != Method::HEAD {
            method = Method::GET;
        }
        body = Vec::new();
    }
    if !is_same_origin {
        if !body.is_empty() {
            let origin = url.origin().ascii_serialization();
            return Err(redirect(format!("redirected to {origin}: a body is not sent to another origin")));
        }
        headers = HeaderMap::new();
    }
    Ok(Hop { url, method, headers, body })
}

async fn answered(url: &Url, mut response: Response, limit: usize) -> ActionResult {
    let mut bytes = Vec::new();
    while bytes.len() <= limit {
        match response.chunk().await {
            Ok(Some(chunk)) => bytes.extend_from_slice(&chunk),
            Ok(None) => break,
            Err(error) => return Err(failed(&error.without_url(), Delivery::Sent)),
        }
    }
    let (status, headers) = (response.status().as_u16(), response.headers());
    let is_cut = bytes.len() > limit;
    bytes.truncate(limit);
    if is_cut {
        // A character that was cut is left out.
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
        let message = format!("the server answered with status {status}");
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
    let mut data = json!({ "url": url.as_str(), "status": status, "headers": fields, "body": content(bytes) });
    if is_cut {
        data["truncated"] = json!({ "bytes": kept });
    }
    Ok((Delivery::Sent, data))
}

/// Converts a failed request to the failure of the step. It may have arrived unless there was no connection to send it
/// over; `before` is the delivery of the requests before it.
fn failed(error: &(dyn Error + 'static), before: Delivery) -> Failed {
    if let Some(denied) = successors(Some(error), |&error| error.source()).find_map(|error| error.downcast_ref()) {
        return Failed::blocked(before, Denied::clone(denied));
    }
    let error_of_client = error.downcast_ref::<reqwest::Error>();
    let is_unsent = error_of_client.is_some_and(|error| error.is_connect() || error.is_builder());
    let delivery = match before {
        Delivery::NotSent if !is_unsent => Delivery::Unknown,
        before => before,
    };
    if error_of_client.is_some_and(reqwest::Error::is_timeout) {
        return Failed::late(delivery);
    }
    Failed::new(delivery, Cause::NavigationFailed, format!("no response: {}", shown(&with_sources(error), 200)))
}

/// Resolves the name of a URL's host to addresses that the policy lets the URL reach.
#[derive(Clone)]
struct Resolver {
    policy: Policy,
    url: Url,
}

impl Resolver {
    /// One address that is denied denies the name: which one is used must not be left to chance.
    fn judged(&self, found: Vec<SocketAddr>) -> Result<Addrs, Denied> {
        found.iter().try_for_each(|address| self.policy.reaching(&self.url, address.ip()))?;
        Ok(Box::new(found.into_iter()))
    }
}

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        let resolver = self.clone();
        Box::pin(async move {
            // The client puts the port of the URL in the place of 0.
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            Ok(resolver.judged(found)?)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    fn resolver(url: &str) -> Resolver {
        let policy = Policy::default().starting_at(url).unwrap();
        Resolver { policy, url: Url::parse(url).unwrap() }
    }

    #[test]
    fn a_public_name_with_any_private_address_is_denied() {
        let [public, private] = [Ipv4Addr::new(93, 184, 215, 14), Ipv4Addr::LOCALHOST].map(|ip| (ip, 0).into());
        let resolver = resolver("https://shop.example.com/");
        assert_eq!(resolver.judged(vec![public]).unwrap().collect::<Vec<_>>(), [public]);
        let denied = resolver.judged(vec![public, private]).err().map(|denied| denied.rule);
        assert_eq!(denied, Some(Rule::PrivateAddress));
    }

    #[tokio::test]
    async fn an_address_that_the_resolver_denies_blocks_the_step_unsent() {
        struct Private(Resolver);
        impl Resolve for Private {
            fn resolve(&self, _: Name) -> Resolving {
                let denied = self.0.judged(vec![(Ipv4Addr::LOCALHOST, 0).into()]);
                Box::pin(async move { Ok(denied?) })
            }
        }
        for url in ["http://shop.example.com/", "https://shop.example.com/"] {
            let client = Client::builder().dns_resolver(Arc::new(Private(resolver(url)))).no_proxy().build().unwrap();
            let error = client.get(url).send().await.unwrap_err();
            let failed = failed(&error, Delivery::NotSent);
            assert_eq!((failed.delivery, failed.failure.cause), (Delivery::NotSent, Cause::PolicyBlocked), "{url}");
            assert_eq!(failed.failure.facts.rule, Some(Rule::PrivateAddress), "{url}");
        }
    }
}
