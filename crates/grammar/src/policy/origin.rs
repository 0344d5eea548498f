//! Origins and families of hosts, as an allowlist names them.

use std::net::IpAddr;

use url::Url;

use crate::render::excerpt;

/// An origin or a family of hosts.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct OriginRule {
    pub(super) scheme: String,
    pub(super) host: String,
    pub(super) subdomains: bool,
    pub(super) port: Option<u16>,
}

/// An entry of an allowlist that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{seen}` is not a host, `*.host` with a host that is not a public suffix, or an origin such as https://host:port"
)]
pub struct BadOriginRule {
    /// The start of what was seen, escaped.
    pub seen: String,
}

impl OriginRule {
    /// Reads an entry; `default_scheme` (that of the run's start URL) applies where the entry has none.
    ///
    /// # Errors
    /// [`BadOriginRule`] for paths, user names, wildcards elsewhere than in front, and what is no host.
    pub fn parse(entry: &str, default_scheme: &str) -> Result<Self, BadOriginRule> {
        let bad = || BadOriginRule { seen: excerpt(entry, 100) };
        let trimmed = entry.trim();
        let (scheme, rest) = trimmed.split_once("://").unwrap_or((default_scheme, trimmed));
        let (subdomains, authority) = match rest.strip_prefix("*.") {
            Some(rest) => (true, rest),
            None => (false, rest),
        };
        if authority.is_empty() || authority.contains(['/', '?', '#', '@', '*', '\\']) && !authority.ends_with('/') {
            return Err(bad());
        }
        let authority = authority.strip_suffix('/').unwrap_or(authority);
        let url = Url::parse(&format!("{scheme}://{authority}/")).map_err(|_| bad())?;
        if !matches!(url.scheme(), "http" | "https") || !url.username().is_empty() || url.path() != "/" {
            return Err(bad());
        }
        let host = canonical_host(url.host_str().ok_or_else(bad)?);
        if subdomains && is_public_suffix(&host) {
            return Err(bad());
        }
        Ok(Self { scheme: url.scheme().to_owned(), host, subdomains, port: url.port_or_known_default() })
    }

    /// Returns `true` if the URL's origin falls under the rule.
    #[must_use]
    pub fn covers(&self, url: &Url) -> bool {
        let Some(host) = url.host_str().map(canonical_host) else {
            return false;
        };
        let host_fits = if self.subdomains {
            host.strip_suffix(&self.host).is_some_and(|front| front.len() > 1 && front.ends_with('.'))
        } else {
            host == self.host
        };
        host_fits && url.scheme() == self.scheme && url.port_or_known_default() == self.port
    }

    /// Returns `true` if the rule names this address itself, not a name that leads to it.
    pub(super) fn names(&self, ip: IpAddr) -> bool {
        let host = self.host.trim_start_matches('[').trim_end_matches(']');
        !self.subdomains && host.parse::<IpAddr>().is_ok_and(|named| named == ip)
    }
}

/// Suffixes of two labels under which anyone can register a host. The registries list thousands; these are common.
const SHARED_SUFFIXES: &[&str] = &[
    "co.uk",
    "org.uk",
    "me.uk",
    "ltd.uk",
    "plc.uk",
    "gov.uk",
    "ac.uk",
    "com.au",
    "net.au",
    "org.au",
    "edu.au",
    "gov.au",
    "co.nz",
    "org.nz",
    "net.nz",
    "co.jp",
    "ne.jp",
    "or.jp",
    "ac.jp",
    "go.jp",
    "co.kr",
    "or.kr",
    "com.br",
    "net.br",
    "org.br",
    "gov.br",
    "com.mx",
    "com.ar",
    "com.co",
    "com.cn",
    "net.cn",
    "org.cn",
    "gov.cn",
    "com.tw",
    "com.hk",
    "com.sg",
    "com.my",
    "co.in",
    "net.in",
    "org.in",
    "firm.in",
    "gen.in",
    "co.id",
    "co.th",
    "com.vn",
    "com.ph",
    "com.pk",
    "com.tr",
    "com.ua",
    "com.pl",
    "net.pl",
    "org.pl",
    "com.ru",
    "co.il",
    "org.il",
    "co.za",
    "org.za",
    "com.ng",
    "co.ke",
    "com.eg",
    "com.sa",
    "github.io",
    "gitlab.io",
    "gitlab.page",
    "netlify.app",
    "vercel.app",
    "pages.dev",
    "workers.dev",
    "web.app",
    "firebaseapp.com",
    "herokuapp.com",
    "appspot.com",
    "run.app",
    "azurewebsites.net",
    "cloudfront.net",
    "amazonaws.com",
    "blogspot.com",
    "wordpress.com",
    "myshopify.com",
    "ngrok.io",
    "ngrok.app",
    "ngrok-free.app",
    "onrender.com",
    "fly.dev",
    "glitch.me",
    "surge.sh",
    "readthedocs.io",
    "translate.goog",
    "sslip.io",
    "nip.io",
    "duckdns.org",
];

/// Returns `true` if hosts below `host` may belong to unrelated owners.
fn is_public_suffix(host: &str) -> bool {
    (!host.contains('.') && host != "localhost") || SHARED_SUFFIXES.contains(&host)
}

/// One trailing dot names the same host.
pub(super) fn canonical_host(host: &str) -> String {
    host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase()
}
