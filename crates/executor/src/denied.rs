//! Requests that the proxy denied during a step, joined to the requests of its tab.
//!
//! The proxy knows host and port, the tab knows URLs and which request failed: a denial belongs to a failed request of
//! the same host and port. To the tab, a denied tunnel looks like a server that is down, and a denied plain request like
//! an answer with status 403.

use cuebook_grammar::facts::RequestFact;
use cuebook_grammar::outcome::{Cause, DeniedRequest, Stage, StepFailure};
use cuebook_grammar::policy::Rule;
use cuebook_grammar::render::cut;
use cuebook_grammar::seam::UnreachedServer;

use crate::run::StepRun;

const MAX_DENIED: usize = 50;
/// The rule for names that the browser contacts by itself. Without a request of the tab, it did.
const BROWSER_INTERNAL: &str = "browserInternal";

impl StepRun<'_> {
    /// Returns the requests denied since the step began, each joined to the tab's request that it belongs to.
    pub(crate) fn denied(&self) -> Vec<DeniedRequest> {
        let denied = self.denials.since(self.seen.denied_from);
        if denied.is_empty() {
            return denied;
        }
        join(denied, &self.seen.traffic.facts())
    }

    /// The failure of a step whose document was denied. It is the page that the step led to, so nothing else that holds
    /// or happened makes the step a success.
    pub(crate) fn denied_document(&self) -> Option<StepFailure> {
        let denied = self.denials.since(self.seen.denied_from);
        if denied.is_empty() {
            return None;
        }
        document(&denied, &self.seen.traffic.documents())
    }
}

impl StepRun<'_> {
    /// A network error as the browser would report it without our proxy, which knows the reason.
    pub(crate) fn without_proxy(&self, mut request: RequestFact) -> RequestFact {
        if let Some(error) = request.failure.as_deref().and_then(|error| self.reason(&request.url, error)) {
            request.failure = Some(error.to_owned());
        }
        request
    }

    /// Why the server of a URL was not reached, if `error` hides that.
    pub(crate) fn reason(&self, url: &str, error: &str) -> Option<&'static str> {
        if !HIDING.contains(&error) {
            return None;
        }
        reason_of(url, &self.denials.unreached(self.seen.denied_from))
    }

    /// The errors that the browser logged, with their reasons as it would log them without our proxy.
    pub(crate) fn logged_errors(&self) -> Vec<String> {
        let unreached = self.denials.unreached(self.seen.denied_from);
        self.seen.traffic.errors().iter().map(|text| logged(text.clone(), &unreached)).collect()
    }
}

/// Errors that the browser reports when the proxy cannot reach a server, for a plain request and for a tunnel.
const HIDING: [&str; 3] =
    ["net::ERR_EMPTY_RESPONSE", "net::ERR_TUNNEL_CONNECTION_FAILED", "net::ERR_PROXY_CONNECTION_FAILED"];

fn reason_of(url: &str, unreached: &[UnreachedServer]) -> Option<&'static str> {
    let (host, port) = place(url)?;
    unreached.iter().rev().find(|one| one.host == host && one.port == port).map(|one| one.error)
}

/// Replaces an error of the proxy in a logged text by the reason behind it. The browser's log of a resource ends with
/// its URL in brackets.
fn logged(text: String, unreached: &[UnreachedServer]) -> String {
    let hiding = HIDING.into_iter().find(|error| text.contains(error));
    let url = text.strip_suffix(')').and_then(|text| text.rsplit_once(" ("));
    match hiding.zip(url).and_then(|(error, (_, url))| Some((error, reason_of(url, unreached)?))) {
        Some((error, reason)) => text.replacen(error, reason, 1),
        None => text,
    }
}

/// A network error in words, where the name of the error needs some.
pub(crate) fn in_words(error: &str) -> Option<&'static str> {
    Some(match error {
        "net::ERR_NAME_NOT_RESOLVED" => "its host has no address",
        "net::ERR_CONNECTION_REFUSED" => "nothing accepts connections there",
        "net::ERR_ADDRESS_UNREACHABLE" => "no route leads there",
        "net::ERR_CONNECTION_TIMED_OUT" => "nothing answered in time",
        _ => return None,
    })
}

fn join(denied: Vec<DeniedRequest>, requests: &[RequestFact]) -> Vec<DeniedRequest> {
    let mut failed: Vec<&RequestFact> = requests.iter().filter(|request| is_stopped(request)).collect();
    let joined = denied.into_iter().filter_map(|mut one| {
        let fits = failed.iter().position(|request| is_of(&one, request));
        match fits.map(|position| failed.remove(position)) {
            Some(request) => one.url = Some(request.url.clone()),
            None if one.rule == BROWSER_INTERNAL => return None,
            None => {}
        }
        Some(one)
    });
    joined.take(MAX_DENIED).collect()
}

fn document(denied: &[DeniedRequest], documents: &[RequestFact]) -> Option<StepFailure> {
    let (last, before) = documents.split_last()?;
    let one = denied.iter().find(|one| is_stopped(last) && is_of(one, last))?;
    let from = before.last().filter(|from| from.status.is_some_and(|status| (300..400).contains(&status)));
    let to = cut(origin(&last.url), 300);
    let (rule, what) = match from {
        Some(from) => (Rule::Redirect, format!("the redirect from {} to {to}", cut(origin(&from.url), 300))),
        None => {
            let rule = Rule::ALL.iter().find(|rule| rule.as_str() == one.rule).copied();
            (rule.unwrap_or(Rule::Origin), format!("the request for a page of {to}"))
        }
    };
    let message = format!("{what} was denied by rule {} and never left the proxy", one.rule);
    let mut failure = StepFailure::new(Stage::Act, Cause::PolicyBlocked, message);
    failure.facts.rule = Some(rule);
    failure.facts.expected = Some("an origin that pages may load from".to_owned());
    failure.facts.seen = Some(to);
    Some(failure)
}

/// Returns `true` if the request ended as a denied request does.
fn is_stopped(request: &RequestFact) -> bool {
    request.failure.is_some() || request.status == Some(403)
}

fn is_of(denied: &DeniedRequest, request: &RequestFact) -> bool {
    place(&request.url).is_some_and(|(host, port)| host == denied.host && port == denied.port)
}

/// Scheme, host and port of a URL of the browser.
fn origin(url: &str) -> &str {
    let start = url.find("://").map_or(0, |scheme| scheme + 3);
    let end = url.get(start..).and_then(|rest| rest.find(['/', '?', '#'])).map_or(url.len(), |length| start + length);
    url.get(..end).unwrap_or(url)
}

/// Host and port of a URL of the browser, which writes them in their canonical form.
fn place(url: &str) -> Option<(&str, u16)> {
    let (scheme, authority) = origin(url).split_once("://")?;
    let authority = authority.rsplit_once('@').map_or(authority, |(_, after)| after);
    let named = authority.rsplit_once(':').filter(|(_, port)| !port.ends_with(']'));
    match named {
        Some((host, port)) => Some((host, port.parse().ok()?)),
        None => Some((authority, if matches!(scheme, "https" | "wss") { 443 } else { 80 })),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn denied(host: &str, port: u16, rule: &str) -> DeniedRequest {
        let (method, host, rule) = ("GET".to_owned(), host.to_owned(), rule.to_owned());
        DeniedRequest { listener: 1, sequence: 0, ts_ms: 0, method, host, port, rule, url: None }
    }

    fn request(url: &str, status: Option<u16>, failure: Option<&str>) -> RequestFact {
        let failure = failure.map(str::to_owned);
        RequestFact {
            method: "GET".to_owned(),
            url: url.to_owned(),
            status,
            failure,
            retry_after_ms: None,
            duration_ms: None,
        }
    }

    #[test]
    fn a_place_is_host_and_port() {
        for (url, expected) in [
            ("https://a.test/x:1", Some(("a.test", 443))),
            ("http://a.test?x", Some(("a.test", 80))),
            ("wss://u:p@a.test:8443", Some(("a.test", 8443))),
            ("http://[::1]/", Some(("[::1]", 80))),
            ("http://[::1]:81/", Some(("[::1]", 81))),
            ("about:blank", None),
        ] {
            assert_eq!(place(url), expected, "{url}");
        }
    }

    #[test]
    fn a_server_that_was_not_reached_is_found_by_its_place() {
        let server = |host: &str, port, error| UnreachedServer { host: host.to_owned(), port, error };
        let all = [
            server("a.test", 443, "net::ERR_NAME_NOT_RESOLVED"),
            server("127.0.0.1", 9, "net::ERR_CONNECTION_TIMED_OUT"),
            server("127.0.0.1", 9, "net::ERR_CONNECTION_REFUSED"),
        ];
        assert_eq!(reason_of("https://a.test/x", &all), Some("net::ERR_NAME_NOT_RESOLVED"));
        assert_eq!(reason_of("http://127.0.0.1:9/", &all), Some("net::ERR_CONNECTION_REFUSED"), "the last one counts");
        assert_eq!(reason_of("http://a.test/", &all), None);
        assert!(all.iter().all(|one| in_words(one.error).is_some()));
        let said = |error: &str, url: &str| logged(format!("Failed to load resource: {error} ({url})"), &all);
        assert_eq!(
            said("net::ERR_TUNNEL_CONNECTION_FAILED", "https://a.test/x"),
            "Failed to load resource: net::ERR_NAME_NOT_RESOLVED (https://a.test/x)"
        );
        for (error, url) in [("net::ERR_EMPTY_RESPONSE", "http://b.test/"), ("net::ERR_ABORTED", "https://a.test/x")] {
            assert_eq!(said(error, url), format!("Failed to load resource: {error} ({url})"));
        }
    }

    #[test]
    fn each_denial_belongs_to_one_failed_request_or_to_none() {
        let requests = [
            request("https://evil.test/ok", Some(200), None),
            request("https://evil.test/a", None, Some("net::ERR_TUNNEL_CONNECTION_FAILED")),
            request("http://plain.test/b", Some(403), None),
        ];
        let all = vec![
            denied("evil.test", 443, "origin"),
            denied("evil.test", 443, "origin"),
            denied("plain.test", 80, "denied"),
            denied("update.googleapis.com", 443, "browserInternal"),
        ];
        let urls: Vec<_> = join(all, &requests).into_iter().map(|one| one.url).collect();
        let expected = [Some("https://evil.test/a"), None, Some("http://plain.test/b")];
        assert_eq!(urls, expected.map(|url| url.map(str::to_owned)));
    }

    #[test]
    fn the_failure_of_a_denied_document_says_whether_a_redirect_led_there() {
        let stopped = request("http://evil.test/x?secret", Some(403), None);
        let all = [denied("evil.test", 80, "privateAddress")];
        let rule = |documents: &[RequestFact]| document(&all, documents).map(|failure| failure.facts.rule.unwrap());
        let redirected = request("http://shop.test/", Some(302), None);
        assert_eq!(rule(&[redirected.clone(), stopped.clone()]), Some(Rule::Redirect));
        assert_eq!(rule(std::slice::from_ref(&stopped)), Some(Rule::PrivateAddress));
        assert_eq!(rule(&[stopped.clone(), request("http://shop.test/", Some(200), None)]), None);
        assert_eq!(rule(&[request("http://other.test/", Some(403), None)]), None);
        let failure = document(&all, &[redirected, stopped]).unwrap();
        assert_eq!(
            failure.message,
            "the redirect from http://shop.test to http://evil.test was denied by rule privateAddress and never left the proxy"
        );
        assert_eq!(failure.cause, Cause::PolicyBlocked);
    }
}
