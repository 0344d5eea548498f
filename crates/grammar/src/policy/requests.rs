//! Rules for single requests, below the origins: by URL and method, for whoever holds a request before it leaves.
//!
//! Invariants:
//! - The first rule that names a request decides. What none names is allowed, or asked about if effects are gated.
//! - A rule never opens an origin: the URL that is requested in the end still has to be loadable.
//! - Paths are compared after percent-decoding, so that no spelling of a path escapes a rule.

use std::borrow::Cow;
use std::collections::BTreeMap;

use percent_encoding::percent_decode_str;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use url::Url;

use super::{BadOriginRule, Consent, Denied, OriginRule, Policy, Rule};
use crate::id::CredentialRef;
use crate::plan::Author;
use crate::profile::Profile;
use crate::render::excerpt;
use crate::risk::RiskClass;
use crate::wire::{ShortText, words};

words! {
    /// Requests that wait for a person because they may change something.
    pub enum Gate {
        /// Every request with a method other than GET, HEAD and OPTIONS.
        Effects = "effects",
        /// None, except those that a rule names.
        Off = "off",
    }
}

/// Decision of a rule about a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum RequestAction {
    /// The request may leave.
    Allow,
    /// The request is held until a person agrees.
    Ask,
    /// The request never leaves.
    Deny,
    /// It goes to this URL; a `*` at the end stands for what the `*` of the rule stood for.
    Rewrite(ShortText),
    /// It never leaves, and its page gets this answer.
    Respond(Box<CannedResponse>),
}

/// An answer that no server gave.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CannedResponse {
    /// Status of the answer; 200 unless stated.
    #[serde(default = "ok", skip_serializing_if = "is_ok")]
    #[schemars(range(min = 100, max = 599))]
    pub status: u16,
    /// Headers by name. A body that is not a text has the type `application/json` unless stated.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<ShortText, ShortText>,
    /// The body: a text, or any other value, which is sent as JSON.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub body: Value,
}

const fn ok() -> u16 {
    200
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_ok(status: &u16) -> bool {
    *status == 200
}

impl CannedResponse {
    /// The body as it is sent.
    #[must_use]
    pub fn content(&self) -> String {
        match &self.body {
            Value::Null => String::new(),
            Value::String(text) => text.clone(),
            value => value.to_string(),
        }
    }

    /// The headers as they are sent.
    #[must_use]
    pub fn fields(&self) -> Vec<(String, String)> {
        let is_typed = self.headers.keys().any(|name| name.eq_ignore_ascii_case("content-type"));
        let kind = match &self.body {
            _ if is_typed => None,
            Value::Null => None,
            Value::String(_) => Some("text/plain; charset=utf-8"),
            _ => Some("application/json"),
        };
        let kind = kind.map(|kind| ("content-type".to_owned(), kind.to_owned()));
        // A page of another origin may read what its author meant it to.
        let is_shared = self.headers.keys().any(|name| name.eq_ignore_ascii_case("access-control-allow-origin"));
        let shared = (!is_shared).then(|| ("access-control-allow-origin".to_owned(), "*".to_owned()));
        let stated = self.headers.iter().map(|(name, value)| (name.to_string(), value.to_string()));
        stated.chain(kind).chain(shared).collect()
    }
}

/// The first header that HTTP does not allow.
fn malformed(headers: &BTreeMap<ShortText, ShortText>) -> Option<BadRequestRule> {
    let is_letter = |it: u8| it.is_ascii_alphanumeric() || b"-_.".contains(&it);
    let is_name = |name: &str| !name.is_empty() && name.bytes().all(is_letter);
    let is_value = |value: &str| value.chars().all(|it| !it.is_control());
    let bad = headers.iter().find(|(name, value)| !is_name(name) || !is_value(value));
    bad.map(|(name, _)| BadRequestRule::Header { seen: excerpt(name, 60) })
}

/// A rule for requests, as an operator writes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RequestEntry {
    /// An origin, or `*.host`, and a path in which `*` stands for any characters: `https://shop.test/admin/*`. The query
    /// counts only if the rule has one.
    pub url: ShortText,
    /// The methods that it names; all of them unless stated.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub methods: Vec<ShortText>,
    /// Decision about the requests that the rule names.
    #[serde(rename = "do")]
    pub action: RequestAction,
    /// Headers that they get, in place of their own of the same name, if they are allowed. They do not follow a redirect.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<ShortText, ShortText>,
    /// The secret, `user:password`, that they authenticate with (HTTP Basic), if they are allowed. The rule then names one
    /// origin, which the secret has to be for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub basic_auth: Option<CredentialRef>,
}

/// A rule for requests that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BadRequestRule {
    /// Its origin cannot be read.
    #[error(transparent)]
    Origin(#[from] BadOriginRule),
    /// A word that is not a method.
    #[error("`{seen}` is not a method such as POST")]
    Method {
        /// The start of what was seen, escaped.
        seen: String,
    },
    /// The URL that is rewritten, or the one that replaces it, has a `*` other than at its end, or only one of them has
    /// one.
    #[error("`{seen}`: a rewriting rule has `*` at the end of both URLs or of neither")]
    Star {
        /// The start of what was seen, escaped.
        seen: String,
    },
    /// No status of HTTP.
    #[error("{seen} is no status from 100 to 599")]
    Status {
        /// Status as the rule states it.
        seen: u16,
    },
    /// A header that HTTP does not allow.
    #[error("`{seen}` is no header of HTTP, or has a control character in its value")]
    Header {
        /// The start of its name, escaped.
        seen: String,
    },
    /// Headers for requests that do not leave as they are, or a secret for more than one origin.
    #[error("`{seen}`: headers and basicAuth belong to rules with allow or ask, and basicAuth to one origin")]
    Added {
        /// The start of its URL, escaped.
        seen: String,
    },
    /// Pages may not load from where it leads.
    #[error("it rewrites into what pages may not load: {0}")]
    Target(Denied),
    /// Where it leads is rewritten again.
    #[error("it rewrites into `{seen}`, which rule {other} rewrites again")]
    Loop {
        /// The start of where it leads, escaped.
        seen: String,
        /// The 0-based position of the other rule.
        other: usize,
    },
}

/// Decision of a policy about a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RequestVerdict {
    /// It may leave as it is.
    Allow,
    /// It may leave once a person agrees, for this URL if there is one.
    Ask(Option<Url>),
    /// It may not leave.
    Deny(Denied),
    /// It may leave for this URL, which its page does not learn.
    Rewrite(Url),
    /// It does not leave, and its page gets this answer.
    Respond(Box<CannedResponse>),
}

/// A rule as read from its entry.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RequestRule {
    origin: OriginRule,
    /// The pieces of the path between its stars, decoded.
    path: Vec<Vec<u8>>,
    has_query: bool,
    methods: Vec<String>,
    action: Action,
    added: AddedHeaders,
    text: String,
}

/// Headers that a rule adds to requests.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AddedHeaders {
    /// Values by name, in place of the request's own.
    pub headers: BTreeMap<ShortText, ShortText>,
    /// The secret, `user:password`, for HTTP Basic.
    pub basic_auth: Option<CredentialRef>,
}

#[derive(Clone, Debug, PartialEq)]
enum Action {
    Allow,
    Ask,
    Deny,
    /// The URL, and whether what a star stood for is added.
    Rewrite(String, bool),
    Respond(Box<CannedResponse>),
}

/// Splits `scheme://host:port/path` before the path.
fn parts(url: &str) -> (&str, &str) {
    let host = url.find("://").map_or(0, |at| at + 3);
    let end = url.get(host..).and_then(|rest| rest.find(['/', '?'])).map_or(url.len(), |at| host + at);
    url.split_at_checked(end).unwrap_or((url, ""))
}

fn decoded(text: &str) -> Vec<u8> {
    percent_decode_str(text).collect()
}

/// Returns the part of a URL that requests are compared by: the path, and the query if `has_query`.
fn path_of(url: &Url, has_query: bool) -> Cow<'_, str> {
    match url.query().filter(|_| has_query) {
        Some(query) => Cow::Owned(format!("{}?{query}", url.path())),
        None => Cow::Borrowed(url.path()),
    }
}

/// Returns `true` if `text` is these pieces with anything between them.
fn fits(pieces: &[Vec<u8>], text: &[u8]) -> bool {
    let [first, rest @ ..] = pieces else { return text.is_empty() };
    let Some(mut text) = text.strip_prefix(first.as_slice()) else { return false };
    let Some((last, middle)) = rest.split_last() else { return text.is_empty() };
    for piece in middle {
        let found = if piece.is_empty() { Some(0) } else { text.windows(piece.len()).position(|part| part == piece) };
        let Some(after) = found.and_then(|at| text.get(at + piece.len()..)) else { return false };
        text = after;
    }
    text.ends_with(last)
}

impl RequestRule {
    fn read(entry: &RequestEntry, scheme: &str) -> Result<Self, BadRequestRule> {
        let star = |seen: &str| BadRequestRule::Star { seen: excerpt(seen, 100) };
        let (front, path) = parts(&entry.url);
        let origin = OriginRule::parse(front, scheme)?;
        let path = if path.is_empty() { "/*" } else { path };
        let methods = entry.methods.iter().map(|method| {
            let is_token = !method.is_empty() && method.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'-');
            let bad = || BadRequestRule::Method { seen: excerpt(method, 40) };
            is_token.then(|| method.to_ascii_uppercase()).ok_or_else(bad)
        });
        let methods = methods.collect::<Result<_, _>>()?;
        let action = match &entry.action {
            RequestAction::Allow => Action::Allow,
            RequestAction::Ask => Action::Ask,
            RequestAction::Deny => Action::Deny,
            RequestAction::Respond(response) => {
                if !(100..=599).contains(&response.status) {
                    return Err(BadRequestRule::Status { seen: response.status });
                }
                if let Some(bad) = malformed(&response.headers) {
                    return Err(bad);
                }
                Action::Respond(response.clone())
            }
            RequestAction::Rewrite(to) => {
                let (fixed, is_open) = to.strip_suffix('*').map_or((to.as_str(), false), |fixed| (fixed, true));
                let own = path.strip_suffix('*').map_or((path, false), |own| (own, true));
                if fixed.contains('*') || own.0.contains('*') || own.1 != is_open {
                    return Err(star(to));
                }
                Action::Rewrite(fixed.to_owned(), is_open)
            }
        };
        if let Some(bad) = malformed(&entry.headers) {
            return Err(bad);
        }
        let added = AddedHeaders { headers: entry.headers.clone(), basic_auth: entry.basic_auth.clone() };
        let is_sent = matches!(action, Action::Allow | Action::Ask);
        if added != AddedHeaders::default() && !is_sent || added.basic_auth.is_some() && origin.subdomains {
            return Err(BadRequestRule::Added { seen: excerpt(&entry.url, 100) });
        }
        let has_query = path.contains('?');
        let path = path.split('*').map(decoded).collect();
        Ok(Self { origin, path, has_query, methods, action, added, text: entry.url.to_string() })
    }

    fn covers(&self, method: &str, url: &Url) -> bool {
        (self.methods.is_empty() || self.methods.iter().any(|named| named.eq_ignore_ascii_case(method)))
            && self.origin.covers(url)
            && fits(&self.path, &decoded(&path_of(url, self.has_query)))
    }

    /// Where a request goes instead.
    fn rewritten(&self, url: &Url) -> Option<Result<Url, url::ParseError>> {
        let Action::Rewrite(to, is_open) = &self.action else { return None };
        let (path, own) = (path_of(url, true), self.path.first().map_or(0, Vec::len));
        // A byte may be spelled as three.
        let rest = (own..=own.saturating_mul(3)).find_map(|end| {
            let (front, rest) = path.split_at_checked(end)?;
            (decoded(front) == *self.path.first()?).then_some(rest)
        });
        Some(Url::parse(&format!("{to}{}", rest.filter(|_| *is_open).unwrap_or_default())))
    }
}

impl Policy {
    /// Gates requests whatever the profile says.
    #[must_use]
    pub const fn gating(mut self, gate: Gate) -> Self {
        self.gate = Some(gate);
        self
    }

    /// With a rule for requests that counts before all others.
    ///
    /// # Errors
    /// [`BadRequestRule`]
    pub fn with_request(mut self, entry: &RequestEntry) -> Result<Self, BadRequestRule> {
        let later = std::mem::take(&mut self.requests);
        self.add_requests(std::slice::from_ref(entry)).map_err(|(_, bad)| bad)?;
        self.requests.extend(later);
        Ok(self)
    }

    /// Without the rules for this URL, as it was stated. Returns how many there were.
    pub fn remove_requests(&mut self, url: &str) -> usize {
        let before = self.requests.len();
        self.requests.retain(|rule| rule.text != url);
        before - self.requests.len()
    }

    /// The headers that a request gets.
    #[must_use]
    pub fn added_headers(&self, method: &str, url: &str) -> Option<&AddedHeaders> {
        let url = Url::parse(url).ok()?;
        let rule = self.requests.iter().find(|rule| rule.covers(method, &url))?;
        Some(&rule.added).filter(|added| **added != AddedHeaders::default())
    }

    /// The secrets that requests authenticate with, each with the origin that it goes to.
    pub fn request_secrets(&self) -> impl Iterator<Item = (&CredentialRef, String)> {
        self.requests.iter().filter_map(|rule| {
            let OriginRule { scheme, host, port, .. } = &rule.origin;
            let port = port.map(|port| format!(":{port}")).unwrap_or_default();
            let url = Url::parse(&format!("{scheme}://{host}{port}")).ok()?;
            Some((rule.added.basic_auth.as_ref()?, url.origin().ascii_serialization()))
        })
    }

    /// The URLs of the rules for requests, in the order in which they count.
    pub fn request_rules(&self) -> impl Iterator<Item = &str> {
        self.requests.iter().map(|rule| rule.text.as_str())
    }

    /// Adds rules for requests.
    pub(super) fn add_requests(&mut self, entries: &[RequestEntry]) -> Result<(), (usize, BadRequestRule)> {
        let scheme = self.default_scheme().to_owned();
        for (index, entry) in entries.iter().enumerate() {
            self.requests.push(RequestRule::read(entry, &scheme).map_err(|bad| (index, bad))?);
        }
        for (index, rule) in self.requests.iter().enumerate() {
            let Action::Rewrite(to, _) = &rule.action else { continue };
            let (url, _) = self.loading(to).map_err(|denied| (index, BadRequestRule::Target(denied)))?;
            let is_again = |other: &RequestRule| {
                matches!(other.action, Action::Rewrite(..)) && other.origin.covers(&url) && {
                    let (own, other) = (decoded(&path_of(&url, true)), other.path.first());
                    other.is_some_and(|other| own.starts_with(other) || other.starts_with(&own))
                }
            };
            if let Some(other) = self.requests.iter().position(is_again) {
                return Err((index, BadRequestRule::Loop { seen: excerpt(to, 100), other }));
            }
        }
        Ok(())
    }

    /// Returns `true` if requests that no rule names are asked about. Unless stated, the profiles `assisted` and
    /// `semiAuto` ask for plans of planners.
    #[must_use]
    pub fn gates_effects(&self, author: Author) -> bool {
        match self.gate {
            Some(gate) => gate == Gate::Effects,
            None => author != Author::Operator && self.profile <= Profile::SemiAuto,
        }
    }

    /// Returns `true` if an operator asked for something that needs requests to be held.
    #[must_use]
    pub fn states_requests(&self) -> bool {
        self.gate == Some(Gate::Effects) || !self.requests.is_empty()
    }

    /// The origins that rules name, as scheme and host; the host begins with `*.` for those below one.
    pub fn request_origins(&self) -> impl Iterator<Item = (&str, String)> {
        self.requests.iter().map(|rule| {
            let stars = if rule.origin.subdomains { "*." } else { "" };
            (rule.origin.scheme.as_str(), format!("{stars}{}", rule.origin.host))
        })
    }

    /// Decides about a request. If `gated`, a request that may change something is asked about where no rule names it.
    ///
    /// ```
    /// use cuebook_grammar::policy::{Policy, PolicyFile, RequestVerdict};
    ///
    /// let file = r#"{ "requests": [
    ///     { "url": "https://shop.test/admin/*", "do": "deny" },
    ///     { "url": "https://shop.test/collect", "methods": ["POST"], "do": "allow" }
    /// ] }"#;
    /// let policy = Policy::default().starting_at("https://shop.test/").unwrap();
    /// let policy = policy.with_file(&PolicyFile::read(file).unwrap()).unwrap();
    /// let verdict = |method, path: &str| policy.requesting(method, &format!("https://shop.test{path}"), true);
    /// assert!(matches!(verdict("GET", "/%61dmin/users"), RequestVerdict::Deny(_)));
    /// assert_eq!(verdict("POST", "/collect"), RequestVerdict::Allow);
    /// assert_eq!(verdict("POST", "/pay"), RequestVerdict::Ask(None));
    /// assert_eq!(verdict("GET", "/"), RequestVerdict::Allow);
    /// ```
    #[must_use]
    pub fn requesting(&self, method: &str, url: &str, gated: bool) -> RequestVerdict {
        let Ok(parsed) = Url::parse(url) else {
            let message = format!("`{}` is not an absolute URL", excerpt(url, 200));
            return RequestVerdict::Deny(Denied { rule: Rule::Unparsable, message });
        };
        let is_safe = ["GET", "HEAD", "OPTIONS"].iter().any(|safe| safe.eq_ignore_ascii_case(method));
        if self.only_reads && !is_safe {
            let message = format!("{} {} may change something", excerpt(method, 20), excerpt(url, 200));
            return RequestVerdict::Deny(Denied { rule: Rule::Request, message });
        }
        let asks = gated && !is_safe;
        let denied = |rule: &RequestRule| {
            let message = format!("a rule for {} denies {} {}", rule.text, excerpt(method, 20), excerpt(url, 200));
            RequestVerdict::Deny(Denied { rule: Rule::Request, message })
        };
        let Some(rule) = self.requests.iter().find(|rule| rule.covers(method, &parsed)) else {
            return if asks { RequestVerdict::Ask(None) } else { RequestVerdict::Allow };
        };
        match (&rule.action, rule.rewritten(&parsed)) {
            (Action::Allow, _) => RequestVerdict::Allow,
            (Action::Ask, _) => RequestVerdict::Ask(None),
            (Action::Respond(response), _) => RequestVerdict::Respond(response.clone()),
            (Action::Rewrite(..), Some(Ok(to))) => match self.loading(to.as_str()) {
                Err(denied) => RequestVerdict::Deny(denied),
                // What is sent elsewhere still has an effect.
                Ok((to, _)) if asks => RequestVerdict::Ask(Some(to)),
                Ok((to, _)) => RequestVerdict::Rewrite(to),
            },
            (Action::Deny | Action::Rewrite(..), _) => denied(rule),
        }
    }

    /// The consent that a request on `origin` needs if it is asked about, caused by a step of this risk: every grant for
    /// the origin that covers the step covers it, too.
    #[must_use]
    pub fn consent_to_request(&self, class: RiskClass, origin: &str) -> Consent {
        let class = class.max(RiskClass::Write);
        self.unless_granted(class, origin, Url::parse(origin).ok().as_ref())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::policy::{BadPolicy, PolicyFile};

    fn policy(rules: Value) -> Result<Policy, BadPolicy> {
        let file = json!({ "read": ["*.cdn.test", "http://127.0.0.1:8080"], "requests": rules });
        let policy = Policy::default().starting_at("https://shop.test/").unwrap();
        policy.with_file(&PolicyFile::read(&file.to_string()).unwrap())
    }

    fn verdict(policy: &Policy, method: &str, url: &str) -> String {
        match policy.requesting(method, url, false) {
            RequestVerdict::Allow => "allow".to_owned(),
            RequestVerdict::Ask(_) => "ask".to_owned(),
            RequestVerdict::Deny(denied) => denied.rule.as_str().to_owned(),
            RequestVerdict::Rewrite(to) => to.to_string(),
            RequestVerdict::Respond(answer) => answer.status.to_string(),
        }
    }

    #[test]
    fn the_first_rule_naming_a_request_decides_however_its_path_is_spelled() {
        let policy = policy(json!([
            { "url": "https://shop.test/admin/help", "do": "allow" },
            { "url": "https://shop.test/admin*", "do": "deny" },
            { "url": "*.cdn.test/*/raw/*.js", "do": "deny" },
            { "url": "shop.test/*/delete", "methods": ["get", "DELETE"], "do": "ask" },
            { "url": "shop.test/search?q=a*", "do": "deny" },
        ]))
        .unwrap();
        for (method, url, expected) in [
            ("GET", "https://shop.test/admin/help", "allow"),
            ("GET", "https://shop.test/admin/users", "request"),
            ("GET", "https://shop.test/%61dm%69n/users?x", "request"),
            ("GET", "https://shop.test/a/../admin", "request"),
            ("GET", "https://shop.test./admin", "request"),
            ("GET", "http://shop.test/admin", "allow"),
            ("GET", "https://shop.test/Admin", "allow"),
            ("GET", "https://a.cdn.test/v1/raw/x.js", "request"),
            ("GET", "https://a.cdn.test/raw/x.js", "allow"),
            ("GET", "https://cdn.test/v1/raw/x.js", "allow"),
            ("GET", "https://shop.test/item/3/delete", "ask"),
            ("get", "https://shop.test/item/3/delete?now", "ask"),
            ("POST", "https://shop.test/item/3/delete", "allow"),
            ("GET", "https://shop.test/search?q=abc", "request"),
            ("GET", "https://shop.test/search?q=b", "allow"),
            ("GET", "not a url", "unparsable"),
        ] {
            assert_eq!(verdict(&policy, method, url), expected, "{method} {url}");
        }
    }

    #[test]
    fn what_a_star_stands_for_goes_along_and_the_policy_judges_where_it_leads() {
        let policy = policy(json!([
            { "url": "https://shop.test/api/*", "do": { "rewrite": "http://127.0.0.1:8080/v2/*" } },
            { "url": "https://shop.test/old", "do": { "rewrite": "https://shop.test/new" } },
        ]))
        .unwrap();
        assert_eq!(verdict(&policy, "GET", "https://shop.test/%61pi/a/b?c=d"), "http://127.0.0.1:8080/v2/a/b?c=d");
        assert_eq!(verdict(&policy, "GET", "https://shop.test/old"), "https://shop.test/new");
        assert_eq!(verdict(&policy, "GET", "https://shop.test/old/x"), "allow");
        let sent = policy.requesting("POST", "https://shop.test/old", true);
        assert_eq!(sent, RequestVerdict::Ask(Some(Url::parse("https://shop.test/new").unwrap())));
    }

    #[test]
    fn rules_that_cannot_be_used_are_errors() {
        for (rules, expected) in [
            (json!([{ "url": "https://*.com/x", "do": "deny" }]), "is not a host"),
            (json!([{ "url": "https://shop.test/", "methods": ["P OST"], "do": "deny" }]), "is not a method"),
            (json!([{ "url": "shop.test/a*b", "do": { "rewrite": "https://shop.test/c" } }]), "`*` at the end of both"),
            (json!([{ "url": "shop.test/a*", "do": { "rewrite": "https://shop.test/c" } }]), "`*` at the end of both"),
            (json!([{ "url": "shop.test/a", "do": { "rewrite": "https://evil.test/c" } }]), "pages may not load"),
            (json!([{ "url": "shop.test/a", "do": { "rewrite": "file:///etc/passwd" } }]), "pages may not load"),
            (json!([{ "url": "shop.test/a", "do": { "rewrite": "https://u:p@shop.test/" } }]), "pages may not load"),
            (json!([{ "url": "shop.test/a*", "do": { "rewrite": "https://shop.test/ab*" } }]), "rewrites again"),
            (
                json!([
                    { "url": "shop.test/a*", "do": { "rewrite": "https://shop.test/b*" } },
                    { "url": "shop.test/b*", "do": { "rewrite": "https://shop.test/a*" } },
                ]),
                "rewrites again",
            ),
        ] {
            let error = policy(rules.clone()).unwrap_err().to_string();
            assert!(error.starts_with("requests/0: ") && error.contains(expected), "{rules}: {error}");
        }
    }

    #[test]
    fn careful_profiles_gate_what_planners_do() {
        let gates = |profile, author| Policy::new(profile).gates_effects(author);
        assert!(gates(Profile::Assisted, Author::Model) && gates(Profile::SemiAuto, Author::Model));
        assert!(!gates(Profile::Auto, Author::Model) && !gates(Profile::SemiAuto, Author::Operator));
        let stated = |gate| Policy::new(Profile::SemiAuto).gating(gate).gates_effects(Author::Operator);
        assert!(stated(Gate::Effects) && !stated(Gate::Off));
    }

    #[test]
    fn a_policy_that_only_reads_denies_what_may_change_something_whatever_a_rule_says() {
        let policy = policy(json!([{ "url": "https://shop.test/collect", "do": "allow" }])).unwrap().only_reading();
        assert_eq!(verdict(&policy, "GET", "https://shop.test/collect"), "allow");
        assert_eq!(verdict(&policy, "POST", "https://shop.test/collect"), "request");
        assert_eq!(verdict(&policy, "DELETE", "https://other.test/"), "request");
        assert!(policy.gates_effects(Author::Operator), "the browser holds them");
    }

    #[test]
    fn a_rule_answers_adds_headers_and_is_removed_again() {
        let rule = |value: Value| serde_json::from_value::<RequestEntry>(value).unwrap();
        let policy = Policy::default().starting_at("https://shop.test/").unwrap();
        let stock = rule(json!({ "url": "https://shop.test/stock", "do": { "respond": { "body": { "stock": 0 } } } }));
        let auth =
            rule(json!({ "url": "https://shop.test", "do": "allow", "headers": { "x-a": "b" }, "basicAuth": "ann" }));
        let policy = policy.with_request(&auth).unwrap().with_request(&stock).unwrap();
        let RequestVerdict::Respond(answer) = policy.requesting("GET", "https://shop.test/stock", true) else {
            panic!("no answer");
        };
        assert_eq!((answer.status, answer.content().as_str()), (200, "{\"stock\":0}"));
        assert!(answer.fields().contains(&("content-type".to_owned(), "application/json".to_owned())));
        assert_eq!(policy.added_headers("GET", "https://shop.test/stock"), None, "the newest rule decides");
        let added = policy.added_headers("POST", "https://shop.test/a").unwrap();
        assert_eq!(added.basic_auth.as_ref().map(CredentialRef::as_str), Some("ann"));
        let secrets: Vec<_> = policy.request_secrets().map(|(_, origin)| origin).collect();
        assert_eq!(secrets, ["https://shop.test"]);
        let mut policy = policy;
        assert_eq!(policy.remove_requests("https://shop.test/stock"), 1);
        assert_eq!(policy.requesting("GET", "https://shop.test/stock", false), RequestVerdict::Allow);

        for (bad, expected) in [
            (json!({ "url": "https://shop.test/", "do": { "respond": { "status": 99 } } }), "99 is no status"),
            (
                json!({ "url": "https://shop.test/", "do": { "respond": { "headers": { "a b": "c" } } } }),
                "`a b` is no header",
            ),
            (
                json!({ "url": "https://shop.test/", "do": "allow", "headers": { "a": "b\r\nc: d" } }),
                "`a` is no header",
            ),
            (
                json!({ "url": "https://shop.test/", "do": "deny", "headers": { "a": "b" } }),
                "belong to rules with allow",
            ),
            (json!({ "url": "*.shop.test", "do": "allow", "basicAuth": "ann" }), "basicAuth to one origin"),
        ] {
            let error = Policy::default().with_request(&rule(bad.clone())).unwrap_err().to_string();
            assert!(error.contains(expected), "{bad}: {error}");
        }
    }
}
