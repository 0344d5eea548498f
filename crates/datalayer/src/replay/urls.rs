//! When two URLs and two requests count as the same.

use cuebook_grammar::facts::RequestFact;
use regex::RegexSet;
use url::Url;

use crate::traffic::Volatile;

/// Part of a request by which two are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aspect {
    /// HTTP method of the request.
    Method,
    /// The URL, without its generated and volatile parts.
    Url,
    /// The status of the response.
    Status,
    /// The bodies of request and response, without their volatile parts.
    Body,
}

/// A list of aspects that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BadAspects {
    /// A word that names none.
    #[error("{0:?} is no part of a request: use method, url, status and body, separated by commas")]
    Unknown(String),
    /// Without a method or URL, nothing tells requests apart.
    #[error("requests cannot be compared without `method` or `url`")]
    Nameless,
}

impl Aspect {
    /// Reads `method,url,status`.
    ///
    /// # Errors
    /// [`BadAspects`]
    pub fn read_list(text: &str) -> Result<Vec<Self>, BadAspects> {
        let read = |word: &str| match word.trim() {
            "method" => Ok(Self::Method),
            "url" => Ok(Self::Url),
            "status" => Ok(Self::Status),
            "body" => Ok(Self::Body),
            other => Err(BadAspects::Unknown(other.to_owned())),
        };
        let aspects: Vec<Self> = text.split(',').map(read).collect::<Result<_, _>>()?;
        let is_named = aspects.iter().any(|aspect| matches!(aspect, Self::Method | Self::Url));
        if is_named { Ok(aspects) } else { Err(BadAspects::Nameless) }
    }
}

/// Rules of a comparison: what is left out, and by what requests are compared.
#[derive(Clone, Debug)]
pub struct Likeness {
    ignored: RegexSet,
    origins: [Option<String>; 2],
    aspects: Vec<Aspect>,
    volatile: Volatile,
}

/// Nothing is left out, and requests are compared by method, URL and status.
impl Default for Likeness {
    fn default() -> Self {
        Self {
            ignored: RegexSet::empty(),
            origins: [None, None],
            aspects: vec![Aspect::Method, Aspect::Url, Aspect::Status],
            volatile: Volatile::default(),
        }
    }
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
        Ok(Self { ignored: RegexSet::new(patterns)?, ..Self::default() })
    }

    /// Compares requests by these parts.
    #[must_use]
    pub fn comparing(self, aspects: Vec<Aspect>) -> Self {
        Self { aspects, ..self }
    }

    /// Leaves volatile parts of URLs and bodies out.
    #[must_use]
    pub fn without(self, volatile: Volatile) -> Self {
        Self { volatile, ..self }
    }

    pub(super) fn compares(&self, aspect: Aspect) -> bool {
        self.aspects.contains(&aspect)
    }

    pub(super) fn volatile(&self) -> &Volatile {
        &self.volatile
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
        let stable = || {
            let method = self.compares(Aspect::Method).then(|| request.method.clone());
            let url = self.compares(Aspect::Url).then(|| self.stable(side, &request.url));
            method.into_iter().chain(url).collect::<Vec<_>>().join(" ")
        };
        let is_icon = request.method == "GET" && is_icon(&request.url);
        let status = request.status.filter(|_| self.compares(Aspect::Status));
        (!is_icon && !self.ignored.is_match(&whole)).then(|| (stable(), status))
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
            let lasting = parsed.query_pairs().filter(|(name, _)| !self.volatile.is_volatile(name));
            let pairs: Vec<String> = lasting.map(|(name, value)| format!("{name}={}", steady(&value))).collect();
            if !pairs.is_empty() {
                out.push('?');
                out.push_str(&pairs.join("&"));
            }
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
