//! Limits on loading by pages: the origins of their resources, and the addresses behind the names.
//!
//! Invariants:
//! - Without `--allow` and without a policy file, a page may load from every public address, as in any browser, and from
//!   private ones if the run started on one. With either, only listed origins are open.
//! - Whoever connects resolves a name once, judges every address, and connects to one that was judged.

use std::net::IpAddr;

use url::{Host, Url};

use super::address::{is_metadata, is_private, is_private_ip};
use super::origin::canonical_host;
use super::{BadOriginRule, Denied, OriginRule, Policy, Rule, parse_url};
use crate::wire::words;

words! {
    /// The part of a policy that lets a page load from an origin.
    #[non_exhaustive]
    pub enum Opening {
        /// It is the origin that the run started on.
        Start = "start",
        /// The run may act there.
        Allow = "allow",
        /// Listed in `read`: pages may load from it, but the run may not act there.
        Read = "read",
        /// Nothing closes public origins.
        Default = "default",
    }
}

impl Policy {
    /// Lets pages load from the origins of `entry`. The run may not act there.
    ///
    /// # Errors
    /// [`BadOriginRule`].
    pub fn reading(mut self, entry: &str) -> Result<Self, BadOriginRule> {
        let rule = OriginRule::parse(entry, self.default_scheme())?;
        self.read.push(rule);
        Ok(self)
    }

    /// Returns `true` if pages may load only from listed origins.
    #[must_use]
    pub const fn loads_only_listed(&self) -> bool {
        self.loads_listed && !self.open_by_default
    }

    /// Checks that a page may request `url` over HTTP or HTTPS. Returns the URL in its canonical form, and the opening
    /// that permits it. The caller still has to check the addresses of its host with [`Policy::loading_from`].
    ///
    /// ```
    /// use cuebook_grammar::policy::{Opening, Policy, Rule};
    ///
    /// let policy = Policy::default().starting_at("https://shop.test/").unwrap();
    /// assert_eq!(policy.loading("https://images.test/a.png").unwrap().1, Opening::Default);
    /// let policy = policy.allowing("pay.test").unwrap().reading("*.cdn.test").unwrap();
    /// assert_eq!(policy.loading("https://img.cdn.test/a.png").unwrap().1, Opening::Read);
    /// assert_eq!(policy.loading("https://images.test/a.png").unwrap_err().rule, Rule::Origin);
    /// ```
    ///
    /// # Errors
    /// [`Denied`] with rule `unparsable`, `userInfo`, `scheme`, `denied`, `privateAddress` or `origin`.
    pub fn loading(&self, url: &str) -> Result<(Url, Opening), Denied> {
        let url = loadable(url)?;
        let opening = self.opening_of(&url)?;
        Ok((url, opening))
    }

    /// As [`Policy::loading`], for a tunnel to `authority`, a host and a port. It carries TLS or a WebSocket and does not
    /// say which, so it is open if either is, and denied if either is denied by name.
    ///
    /// # Errors
    /// As for [`Policy::loading`].
    pub fn tunnelling(&self, authority: &str) -> Result<(Url, Opening), Denied> {
        if authority.contains(['/', '?', '#', '\\']) || !authority.ends_with(|c: char| c.is_ascii_digit()) {
            return Err(Denied { rule: Rule::Unparsable, message: "expected a host and a port".to_owned() });
        }
        let secure = loadable(&format!("https://{authority}/"))?;
        let plain = loadable(&format!("http://{authority}/"))?;
        self.not_ruled_out(&plain)?;
        match (self.opening_of(&secure), self.opening_of(&plain)) {
            (Ok(Opening::Default) | Err(_), Ok(opening)) if opening != Opening::Default => Ok((plain, opening)),
            (Ok(opening), _) => Ok((secure, opening)),
            (Err(denied), _) => Err(denied),
        }
    }

    /// Checks that a page's request to `url`, which may be loaded, may go to `ip`, one of the addresses of its host. A
    /// name that is not private by itself may lead to a private address only if both were named exactly, with the same
    /// port: otherwise the owner of a public name could reach services on this machine or near it.
    ///
    /// # Errors
    /// [`Denied`] with rule `privateAddress`.
    pub fn loading_from(&self, url: &Url, ip: IpAddr) -> Result<(), Denied> {
        let port = url.port_or_known_default();
        let named = || {
            let started_on = self.start.as_ref().filter(|start| start.port_or_known_default() == port);
            let started_on = started_on.and_then(|start| match start.host()? {
                Host::Ipv4(v4) => Some(IpAddr::V4(v4)),
                Host::Ipv6(v6) => Some(IpAddr::V6(v6)),
                Host::Domain(_) => None,
            });
            started_on == Some(ip) || self.listed().any(|(rule, _)| rule.names(ip) && rule.port == port)
        };
        let is_exact = || self.is_start(url) || self.listed().any(|(rule, _)| !rule.subdomains && rule.covers(url));
        if !is_metadata(ip) && (!is_private_ip(ip) || is_private(url) || (is_exact() && named())) {
            return Ok(());
        }
        let host = url.host_str().unwrap_or_default();
        let message =
            format!("{host} resolves to the private address {ip}, and it and that address are not both allowed");
        Err(Denied { rule: Rule::PrivateAddress, message })
    }

    fn opening_of(&self, url: &Url) -> Result<Opening, Denied> {
        self.not_ruled_out(url)?;
        if self.is_start(url) {
            return Ok(Opening::Start);
        }
        let private = is_private(url);
        let listed = self.listed().find(|(rule, _)| rule.covers(url) && (!rule.subdomains || !private));
        if let Some((_, opening)) = listed {
            return Ok(opening);
        }
        if if private { self.starts_near() } else { !self.loads_only_listed() } {
            return Ok(Opening::Default);
        }
        let origin = url.origin().ascii_serialization();
        Err(if private {
            let message = format!("{origin} is not a public address, and not allowed by name");
            Denied { rule: Rule::PrivateAddress, message }
        } else {
            let message =
                format!("pages may not load from {origin} (add it to \"read\" in the policy, or --read {origin})");
            Denied { rule: Rule::Origin, message }
        })
    }

    /// Returns `true` if the run started on this machine or near it, without a list: its page may use other things
    /// there, such as an API at another port. A page from outside may not.
    fn starts_near(&self) -> bool {
        !self.loads_listed && self.start.as_ref().is_some_and(is_private)
    }

    fn listed(&self) -> impl Iterator<Item = (&OriginRule, Opening)> {
        let act = self.act.iter().map(|rule| (rule, Opening::Allow));
        act.chain(self.read.iter().map(|rule| (rule, Opening::Read)))
    }

    pub(super) fn is_start(&self, url: &Url) -> bool {
        let host = |url: &Url| url.host_str().map(canonical_host);
        self.start.as_ref().is_some_and(|start| {
            start.scheme() == url.scheme()
                && host(start) == host(url)
                && start.port_or_known_default() == url.port_or_known_default()
        })
    }
}

fn loadable(url: &str) -> Result<Url, Denied> {
    let url = parse_url(url)?;
    if matches!(url.scheme(), "http" | "https") {
        return Ok(url);
    }
    Err(Denied { rule: Rule::Scheme, message: format!("{}: URLs are not allowed, only http and https", url.scheme()) })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::policy::PolicyFile;

    fn started() -> Policy {
        Policy::default().starting_at("http://shop.test:8000/").unwrap()
    }

    fn load(policy: &Policy, url: &str) -> &'static str {
        policy.loading(url).map_or_else(|denied| denied.rule.as_str(), |(_, opening)| opening.as_str())
    }

    fn tunnel(policy: &Policy, authority: &str) -> &'static str {
        policy.tunnelling(authority).map_or_else(|denied| denied.rule.as_str(), |(_, opening)| opening.as_str())
    }

    fn reach(policy: &Policy, url: &str, ip: &str) -> bool {
        policy.loading_from(&Url::parse(url).unwrap(), ip.parse().unwrap()).is_ok()
    }

    #[test]
    fn without_a_list_pages_load_from_public_origins() {
        let policy = started();
        assert_eq!(load(&policy, "http://shop.test:8000/a"), "start");
        assert_eq!(load(&policy, "https://cdn.test/a"), "default");
        assert_eq!(load(&policy, "http://127.0.0.1:8000/"), "privateAddress");
        assert_eq!(load(&policy, "http://metadata.google.internal/"), "privateAddress");
        assert_eq!(load(&policy, "ftp://cdn.test/"), "scheme");
        assert_eq!(load(&policy, "http://a@cdn.test/"), "userInfo");
    }

    #[test]
    fn a_page_of_this_machine_loads_from_its_other_ports() {
        let policy = Policy::default().starting_at("http://localhost:3000/").unwrap();
        assert_eq!(load(&policy, "http://localhost:8000/api"), "default");
        assert_eq!(load(&policy, "http://127.0.0.1:8000/api"), "default");
        assert!(reach(&policy, "http://127.0.0.1:8000/", "127.0.0.1"));
        assert!(!reach(&policy, "http://rebound.test/", "127.0.0.1"), "a name that leads here is another matter");
        assert!(!reach(&policy, "http://169.254.169.254/", "169.254.169.254"));
        assert!(policy.navigation("http://127.0.0.1:8000/").is_err(), "loading is not acting");
        let listed = policy.allowing("https://pay.test").unwrap();
        assert_eq!(load(&listed, "http://localhost:8000/api"), "privateAddress");
    }

    #[test]
    fn an_entry_or_a_file_closes_what_is_not_listed() {
        let allowed = started().allowing("https://pay.test").unwrap();
        let file =
            |json: serde_json::Value| started().with_file(&PolicyFile::read(&json.to_string()).unwrap()).unwrap();
        let read = file(json!({ "read": ["https://*.cdn.test"], "deny": ["https://bad.cdn.test"] }));
        assert_eq!(load(&allowed, "https://pay.test/"), "allow");
        assert_eq!(load(&allowed, "https://cdn.test/"), "origin");
        assert_eq!(load(&read, "https://a.cdn.test/"), "read");
        assert_eq!(load(&read, "https://bad.cdn.test/"), "denied");
        assert_eq!(load(&read, "https://cdn.test/"), "origin");
        assert!(read.navigation("https://a.cdn.test/").is_err(), "reading is not acting");
        assert_eq!(load(&file(json!({ "default": "allow" })), "https://cdn.test/"), "default");
    }

    #[test]
    fn a_tunnel_is_open_if_either_scheme_is() {
        let policy = started().allowing("https://pay.test").unwrap().reading("http://live.test").unwrap();
        assert_eq!(tunnel(&policy, "shop.test:8000"), "start");
        assert_eq!(tunnel(&policy, "pay.test:443"), "allow");
        assert_eq!(tunnel(&policy, "PAY.test.:443"), "allow");
        assert_eq!(tunnel(&policy, "live.test:80"), "read");
        for denied in ["pay.test:80", "live.test:443", "shop.test:80", "pay.test..:443", "evil.test:443"] {
            assert_eq!(tunnel(&policy, denied), "origin", "{denied}");
        }
        for unreadable in ["", ":443", "a b:443", "pay.test:99999", "pay.test:443:443", "[::1:443"] {
            assert_eq!(tunnel(&policy, unreadable), "unparsable", "{unreadable}");
        }
        assert_eq!(tunnel(&policy, "shop.test:8000@evil.test:443"), "userInfo");
        let file = PolicyFile::read(&json!({ "default": "allow", "deny": ["http://bank.test"] }).to_string()).unwrap();
        let denied = started().with_file(&file).unwrap();
        assert_eq!(tunnel(&denied, "bank.test:80"), "denied");
        assert_eq!(tunnel(&denied, "bank.test:443"), "default");
    }

    #[test]
    fn a_name_leads_to_a_private_address_only_if_both_are_named_with_the_port() {
        let policy = Policy::default().starting_at("http://127.0.0.1:8000/").unwrap();
        assert!(reach(&policy, "http://127.0.0.1:8000/", "127.0.0.1"));
        assert!(reach(&policy, "https://cdn.test/", "93.184.216.34"));
        assert!(!reach(&policy, "http://rebound.test:8000/", "127.0.0.1"));
        assert!(!reach(&policy, "http://rebound.test:8000/", "::ffff:127.0.0.1"));
        let wiki = policy.allowing("https://wiki.test").unwrap();
        assert!(!reach(&wiki, "https://wiki.test/", "10.0.0.5"));
        let wiki = wiki.allowing("http://10.0.0.5").unwrap();
        assert!(!reach(&wiki, "https://wiki.test/", "10.0.0.5"), "another port");
        let wiki = wiki.allowing("https://10.0.0.5").unwrap();
        assert!(reach(&wiki, "https://wiki.test/", "10.0.0.5"));
        assert!(!reach(&wiki, "https://other.test/", "10.0.0.5"));
        let cloud = wiki.allowing("http://169.254.169.254").unwrap();
        assert!(!reach(&cloud, "http://169.254.169.254/", "169.254.169.254"));
    }
}
