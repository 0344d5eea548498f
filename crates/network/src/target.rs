//! The target of a request, and the policy's decision about it.

use std::net::IpAddr;

use cuebook_grammar::policy::{Opening, Policy, Rule};
use hyper::{Method, Request};
use url::{Host, Url};

use crate::decision::Verdict;

/// Names that Chrome contacts by itself, and names below them.
/// Measured with an idle Chromium 156, and <https://source.chromium.org/search?q=googleapis.com>.
const BROWSER_INTERNAL: [&str; 12] = [
    "accounts.google.com",
    "android.clients.google.com",
    "clients1.google.com",
    "clients2.google.com",
    "clients2.googleusercontent.com",
    "clientservices.googleapis.com",
    "content-autofill.googleapis.com",
    "optimizationguide-pa.googleapis.com",
    "redirector.gvt1.com",
    "safebrowsing.googleapis.com",
    "sb-ssl.google.com",
    "update.googleapis.com",
];

/// Target that a request names.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    /// Canonical. Of a tunnel, only host and port mean something.
    pub(crate) url: Url,
    /// Part of the policy that opens it.
    pub(crate) opening: Opening,
}

impl Target {
    /// The host and port that a request names, as far as it does.
    pub(crate) fn named<B>(request: &Request<B>) -> (&str, u16) {
        let uri = request.uri();
        let default = if uri.scheme_str() == Some("https") { 443 } else { 80 };
        (uri.host().unwrap_or_default(), uri.host().map_or(0, |_| uri.port_u16().unwrap_or(default)))
    }

    /// Returns the target of a request if the policy allows it, else the verdict; without a policy, all is closed.
    pub(crate) fn judged<B>(request: &Request<B>, policy: Option<&Policy>) -> Result<Self, Verdict> {
        let policy = policy.ok_or(Verdict::Closed)?;
        let uri = request.uri();
        let judged = if request.method() == Method::CONNECT {
            let authority = uri.authority().filter(|_| uri.scheme().is_none());
            let authority = authority.ok_or(Verdict::Denied(Rule::Unparsable))?;
            // Without a port, it would be unclear where to.
            authority.port_u16().ok_or(Verdict::Denied(Rule::Unparsable))?;
            policy.tunnelling(authority.as_str())
        } else {
            match uri.scheme_str() {
                Some("http") => policy.loading(&uri.to_string()),
                Some("ws") => policy.loading(&uri.to_string().replacen("ws", "http", 1)),
                Some(_) => return Err(Verdict::Denied(Rule::Scheme)),
                // A request to the proxy itself, which is no server.
                None => return Err(Verdict::Denied(Rule::Unparsable)),
            }
        };
        let (named, _) = Self::named(request);
        match judged {
            Ok((url, Opening::Default)) if is_internal(url.host_str().unwrap_or_default()) => {
                Err(Verdict::BrowserInternal)
            }
            Ok((url, opening)) => Ok(Self { url, opening }),
            Err(_) if is_internal(named) => Err(Verdict::BrowserInternal),
            Err(denied) => Err(Verdict::Denied(denied.rule)),
        }
    }

    /// The host as its URL spells it, and the port.
    pub(crate) fn place(&self) -> (&str, u16) {
        (self.url.host_str().unwrap_or_default(), self.url.port_or_known_default().unwrap_or_default())
    }

    /// The name to resolve, or the address.
    pub(crate) fn host(&self) -> Result<IpAddr, &str> {
        match self.url.host() {
            Some(Host::Ipv4(ip)) => Ok(IpAddr::V4(ip)),
            Some(Host::Ipv6(ip)) => Ok(IpAddr::V6(ip)),
            Some(Host::Domain(name)) => Err(name),
            None => Err(""),
        }
    }
}

fn is_internal(host: &str) -> bool {
    let host = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
    let is_below = |name: &str| host.strip_suffix(name).is_some_and(|front| front.is_empty() || front.ends_with('.'));
    BROWSER_INTERNAL.iter().any(|name| is_below(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(method: &str, uri: &str) -> &'static str {
        let policy = Policy::default().starting_at("http://shop.test/").unwrap().allowing("https://pay.test").unwrap();
        let request = Request::builder().method(method).uri(uri).body(()).unwrap();
        Target::judged(&request, Some(&policy)).map_or_else(Verdict::rule, |target| target.opening.as_str())
    }

    #[test]
    fn only_what_names_an_open_place_is_open() {
        for (method, uri, expected) in [
            ("GET", "http://shop.test/a?b", "start"),
            ("GET", "http://SHOP.test.:80/", "start"),
            ("GET", "ws://shop.test/live", "start"),
            ("CONNECT", "pay.test:443", "allow"),
            ("CONNECT", "shop.test:80", "start"),
            ("CONNECT", "shop.test:443", "origin"),
            ("CONNECT", "pay.test", "unparsable"),
            ("CONNECT", "http://pay.test:443/", "unparsable"),
            ("CONNECT", "evil.test:443", "origin"),
            ("CONNECT", "2130706433:443", "privateAddress"),
            ("CONNECT", "0x7f.1:80", "privateAddress"),
            ("CONNECT", "[::ffff:7f00:1]:443", "privateAddress"),
            ("CONNECT", "[::1]:443", "privateAddress"),
            ("GET", "http://127.0.0.1:9222/json", "privateAddress"),
            ("GET", "http://169.254.169.254/", "privateAddress"),
            ("GET", "http://xn--shp-ted.test/", "origin"),
            ("GET", "https://pay.test/", "scheme"),
            ("GET", "ftp://shop.test/", "scheme"),
            ("GET", "/", "unparsable"),
            ("OPTIONS", "*", "unparsable"),
            ("GET", "http://u:p@shop.test/", "userInfo"),
            ("CONNECT", "pay.test:443@evil.test:443", "userInfo"),
            ("CONNECT", "update.googleapis.com:443", "browserInternal"),
            ("CONNECT", "r1.redirector.gvt1.com:443", "browserInternal"),
            ("CONNECT", "xupdate.googleapis.com:443", "origin"),
        ] {
            assert_eq!(rule(method, uri), expected, "{method} {uri}");
        }
    }

    #[test]
    fn an_internal_name_opens_only_by_name() {
        let open = Policy::default().starting_at("https://shop.test/").unwrap();
        let request = Request::connect("accounts.google.com:443").body(()).unwrap();
        assert_eq!(Target::judged(&request, Some(&open)).err(), Some(Verdict::BrowserInternal));
        let named = open.reading("https://accounts.google.com").unwrap();
        assert!(Target::judged(&request, Some(&named)).is_ok());
        assert_eq!(Target::judged(&request, None).err(), Some(Verdict::Closed));
    }
}
