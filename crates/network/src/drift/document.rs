//! Puts a script in front of a document's own.
//!
//! Invariants: the bytes of the document stay as they are, around what is put in; the document type stays in front; where
//! the encoding is declared by the document alone, it is declared by the header field too, because what is put in may
//! push the declaration beyond the bytes that Chrome looks at.

use cuebook_cdp::paused::Header;
use cuebook_cdp::protocol::browser_protocol::fetch::HeaderEntry;

/// Header fields of the transfer, and of what may be done with these bytes later.
const DROPPED: [&str; 5] = ["content-encoding", "content-length", "transfer-encoding", "etag", "content-md5"];
/// Chrome looks for a declaration of the encoding in this many bytes.
const PRESCAN: usize = 1024;

/// Returns `true` if the header fields are those of a page.
pub(super) fn is_page(headers: &[Header]) -> bool {
    value(headers, "content-type").is_some_and(|kind| {
        let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        kind == "text/html"
    })
}

fn value<'a>(headers: &'a [Header], name: &str) -> Option<&'a str> {
    headers.iter().find(|header| header.name.eq_ignore_ascii_case(name)).map(|header| header.value.as_str())
}

/// The document with a script of this source as the first of its head. `None` if its encoding has other letters than ASCII.
pub(super) fn with_script(body: &[u8], source: &str, nonce: &str) -> Option<Vec<u8>> {
    if body.starts_with(&[0xff, 0xfe]) || body.starts_with(&[0xfe, 0xff]) {
        return None;
    }
    let at = place(body);
    let (before, after) = body.split_at(at);
    let script = format!("<script nonce=\"{nonce}\">{source}</script>");
    Some([before, script.as_bytes(), after].concat())
}

/// After the document type, comments, and the tags `html` and `head`.
fn place(body: &[u8]) -> usize {
    let mut at = if body.starts_with(&[0xef, 0xbb, 0xbf]) { 3 } else { 0 };
    loop {
        let rest = body.get(at..).unwrap_or_default();
        let blank = rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        let rest = rest.get(blank..).unwrap_or_default();
        let length = if rest.starts_with(b"<!--") {
            find(rest, b"-->").map(|end| end + 3)
        } else if is_tag(rest, b"<!doctype") || is_tag(rest, b"<html") || is_tag(rest, b"<head") {
            end_of_tag(rest)
        } else {
            None
        };
        match length {
            Some(length) => at += blank + length,
            None => return at,
        }
    }
}

fn is_tag(text: &[u8], tag: &[u8]) -> bool {
    text.get(..tag.len()).is_some_and(|start| start.eq_ignore_ascii_case(tag))
        && text.get(tag.len()).is_some_and(|next| next.is_ascii_whitespace() || *next == b'>')
}

fn find(text: &[u8], what: &[u8]) -> Option<usize> {
    text.windows(what.len()).position(|window| window == what)
}

/// Attributes may hold the sign that ends a tag.
fn end_of_tag(text: &[u8]) -> Option<usize> {
    let mut quote = None;
    for (at, byte) in text.iter().enumerate() {
        match (quote, byte) {
            (Some(open), byte) if open == *byte => quote = None,
            (None, b'"' | b'\'') => quote = Some(*byte),
            (None, b'>') => return Some(at + 1),
            _ => {}
        }
    }
    None
}

/// The header fields of the changed document.
pub(super) fn headers(of: &[Header], body: &[u8], nonce: &str) -> Vec<HeaderEntry> {
    let kept = of.iter().filter(|header| !DROPPED.iter().any(|name| header.name.eq_ignore_ascii_case(name)));
    let changed = kept.map(|Header { name, value, .. }| {
        let is_policy = name.eq_ignore_ascii_case("content-security-policy")
            || name.eq_ignore_ascii_case("content-security-policy-report-only");
        let value = match () {
            () if is_policy => value.split(',').map(|one| admitting(one, nonce)).collect::<Vec<_>>().join(", "),
            () if name.eq_ignore_ascii_case("content-type") => declaring(value, body),
            () => value.clone(),
        };
        HeaderEntry::new(name, value)
    });
    changed.collect()
}

/// A type with the encoding that the document declares.
fn declaring(kind: &str, body: &[u8]) -> String {
    if kind.to_ascii_lowercase().contains("charset=") {
        return kind.to_owned();
    }
    let start = body.get(..PRESCAN.min(body.len())).unwrap_or_default().to_ascii_lowercase();
    let declared = find(&start, b"charset=").map(|at| {
        let rest = start.get(at + 8..).unwrap_or_default().iter().skip_while(|byte| matches!(byte, b'"' | b'\''));
        rest.take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
            .map(|byte| char::from(*byte))
            .collect::<String>()
    });
    match declared.filter(|name| !name.is_empty()) {
        Some(name) => format!("{kind}; charset={name}"),
        None => kind.to_owned(),
    }
}

/// A content security policy that lets the script run, and nothing else that it did not.
fn admitting(policy: &str, nonce: &str) -> String {
    let mut directives: Vec<String> = policy.split(';').map(|one| one.trim().to_owned()).collect();
    let named = |wanted: &str| {
        directives
            .iter()
            .position(|one| one.split_ascii_whitespace().next().is_some_and(|name| name.eq_ignore_ascii_case(wanted)))
    };
    let governing = named("script-src-elem").or_else(|| named("script-src")).or_else(|| named("default-src"));
    let Some(index) = governing else { return policy.to_owned() };
    let Some(directive) = directives.get(index).cloned() else { return policy.to_owned() };
    let (name, sources) = directive.split_once(char::is_whitespace).unwrap_or((&directive, ""));
    let lower = sources.to_ascii_lowercase();
    // A nonce takes the effect from 'unsafe-inline'.
    if lower.contains("'unsafe-inline'") && !lower.contains("'nonce-") && !lower.contains("'sha") {
        return policy.to_owned();
    }
    let sources = if lower.trim() == "'none'" { "" } else { sources };
    let admitted = format!("{sources} 'nonce-{nonce}'");
    if name.eq_ignore_ascii_case("default-src") {
        directives.push(format!("script-src {}", admitted.trim()));
    } else if let Some(directive) = directives.get_mut(index) {
        *directive = format!("{name} {}", admitted.trim());
    }
    directives.retain(|one| !one.is_empty());
    directives.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(body: &str) -> String {
        String::from_utf8(with_script(body.as_bytes(), "x()", "n").unwrap()).unwrap()
    }

    #[test]
    fn the_script_is_the_first_of_the_head() {
        const SCRIPT: &str = "<script nonce=\"n\">x()</script>";
        for (before, after) in [
            ("<!DOCTYPE html><html lang=\"en\"><head>", "<title>a</title></head>"),
            ("\u{feff}<!-- > -->\n<!doctype html>\n<HTML data-a='>'>\n<head>", "<meta charset=utf-8>"),
            ("<!doctype html>", "<p>no head</p>"),
            ("", "<header>no head</header>"),
            ("<!-- a -->", "text"),
            ("", ""),
            ("", "<!-- without end"),
        ] {
            assert_eq!(put(&format!("{before}{after}")), format!("{before}{SCRIPT}{after}"));
        }
        assert_eq!(with_script(&[0xff, 0xfe, 0x3c, 0], "x()", "n"), None);
    }

    #[test]
    fn the_encoding_is_declared_once_more() {
        let body = b"<html><head><meta charset='ISO-8859-2'>";
        assert_eq!(declaring("text/html", body), "text/html; charset=iso-8859-2");
        assert_eq!(declaring("text/html; charset=utf-8", body), "text/html; charset=utf-8");
        assert_eq!(declaring("text/html", b"<p>"), "text/html");
    }

    #[test]
    fn a_content_security_policy_lets_it_run_and_nothing_else() {
        for (policy, expected) in [
            ("script-src 'self'; img-src *", "script-src 'self' 'nonce-n'; img-src *"),
            ("default-src 'self'", "default-src 'self'; script-src 'self' 'nonce-n'"),
            ("default-src 'none'; script-src 'none'", "default-src 'none'; script-src 'nonce-n'"),
            ("script-src 'unsafe-inline' 'self'", "script-src 'unsafe-inline' 'self'"),
            ("img-src *", "img-src *"),
        ] {
            assert_eq!(admitting(policy, "n"), expected);
        }
    }
}
