//! When two URLs count as the same.

use cuebook_grammar::facts::RequestFact;
use regex::RegexSet;
use url::Url;

use crate::traffic::VOLATILE;

/// URLs and origins that are left out of a comparison.
#[derive(Clone, Debug, Default)]
pub struct Likeness {
    ignored: RegexSet,
    origins: [Option<String>; 2],
}

/// One of two runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Recorded,
    Replayed,
}

impl Likeness {
    /// Leaves out the URLs and requests, written `POST https://shop.test/save`, in which a pattern is found.
    ///
    /// # Errors
    /// The first pattern that is no regular expression.
    pub fn ignoring(patterns: &[String]) -> Result<Self, regex::Error> {
        Ok(Self { ignored: RegexSet::new(patterns)?, origins: [None, None] })
    }

    /// URLs on the origins that the runs start on are compared without them.
    pub(super) fn starting_on(mut self, recorded: Option<&str>, replayed: Option<&str>) -> Self {
        let origin = |url: &str| Some(Url::parse(url).ok()?.origin().ascii_serialization());
        self.origins = [recorded.and_then(origin), replayed.and_then(origin)];
        self
    }

    /// The URL as it is compared; `None` if it is left out.
    pub(super) fn url(&self, side: Side, url: &str) -> Option<String> {
        (!self.ignored.is_match(url)).then(|| self.stable(side, url))
    }

    /// The request as it is compared; `None` if it is left out. The status is apart, as the answer may come late.
    pub(super) fn request(&self, side: Side, request: &RequestFact) -> Option<(String, Option<u16>)> {
        let whole = format!("{} {}", request.method, request.url);
        let stable = || format!("{} {}", request.method, self.stable(side, &request.url));
        let is_icon = request.method == "GET" && is_icon(&request.url);
        (!is_icon && !self.ignored.is_match(&whole)).then(|| (stable(), request.status))
    }

    /// The address of a resource that did not load, as it is compared; `None` if it is left out.
    pub(super) fn resource(&self, side: Side, url: &str) -> Option<String> {
        (!is_icon(url)).then(|| self.url(side, url)).flatten()
    }

    fn stable(&self, side: Side, url: &str) -> String {
        let Ok(parsed) = Url::parse(url) else { return url.to_owned() };
        let [recorded, replayed] = &self.origins;
        let origin = if side == Side::Recorded { recorded } else { replayed };
        let own = parsed.origin().ascii_serialization();
        let place = if !parsed.origin().is_tuple() {
            format!("{}:", parsed.scheme())
        } else if origin.as_ref() == Some(&own) {
            String::new()
        } else {
            own
        };
        let path: Vec<&str> = parsed.path().split('/').map(steady).collect();
        let mut out = place + &path.join("/");
        if parsed.query().is_some() {
            let lasting = parsed.query_pairs().filter(|(name, _)| !VOLATILE.contains(&name.as_ref()));
            let pairs: Vec<String> = lasting.map(|(name, value)| format!("{name}={}", steady(&value))).collect();
            out.push('?');
            out.push_str(&pairs.join("&"));
        }
        if let Some(fragment) = parsed.fragment() {
            out.push('#');
            out.push_str(steady(fragment));
        }
        out
    }
}

/// Browsers ask for it by themselves, some time.
fn is_icon(url: &str) -> bool {
    url.ends_with("/favicon.ico")
}

/// Digits from which a number is a time or a generated id.
const LONG_NUMBER: usize = 9;
/// Characters from which letters mixed with digits are a token.
const LONG_TOKEN: usize = 16;

/// `*` for what looks generated: a long number, a UUID, a digest, a token of letters and digits.
fn steady(part: &str) -> &str {
    let digits = part.bytes().filter(u8::is_ascii_digit).count();
    let letters = part.bytes().filter(u8::is_ascii_alphabetic).count();
    let is_word = part.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-.~=%+".contains(&b));
    let is_number = digits >= LONG_NUMBER && letters == 0;
    // Words of a title have few digits, and the letters of one word rarely differ in case.
    let is_mixed = part.bytes().any(|b| b.is_ascii_uppercase()) && part.bytes().any(|b| b.is_ascii_lowercase());
    let share = if is_mixed { 8 } else { 4 };
    let is_token = part.len() >= LONG_TOKEN && letters >= 1 && digits * share >= part.len();
    if is_word && (is_number || is_token) { "*" } else { part }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_generated_is_left_out_of_a_url_and_nothing_else() {
        let likeness = Likeness::ignoring(&["/metrics$".to_owned()]).unwrap();
        let likeness = likeness.starting_on(Some("http://a.test:1/x"), Some("http://b.test:2/"));
        let recorded = |url: &str| likeness.url(Side::Recorded, url);
        let same = [
            ("http://a.test:1/orders?page=2", "/orders?page=2"),
            ("http://a.test:1/", "/"),
            ("http://b.test:2/orders", "http://b.test:2/orders"),
            ("http://a.test:1/o/550e8400-e29b-41d4-a716-446655440000", "/o/*"),
            ("http://a.test:1/x?t=1736424000999&q=tea", "/x?t=*&q=tea"),
            ("http://a.test:1/orders/1042?year=2026", "/orders/1042?year=2026"),
            ("http://a.test:1/a-title-of-2026-that-is-long", "/a-title-of-2026-that-is-long"),
            ("http://a.test:1/f?sig=9f86d081884c7d659a2feaa0c55ad015#top", "/f?sig=*#top"),
            ("data:text/html,x", "data:text/html,x"),
            ("nonsense", "nonsense"),
        ];
        for (url, expected) in same {
            assert_eq!(recorded(url).as_deref(), Some(expected), "{url}");
        }
        assert_eq!(likeness.url(Side::Replayed, "http://b.test:2/orders").as_deref(), Some("/orders"));
        assert_eq!(recorded("http://a.test:1/metrics"), None);
        assert!(Likeness::ignoring(&["(".to_owned()]).is_err());
    }
}
