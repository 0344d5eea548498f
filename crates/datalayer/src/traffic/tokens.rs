//! Tokens of sessions in recorded traffic.
//!
//! A value that a server hands out to recognise a client is replaced by a placeholder wherever it stands: in the
//! response that sets it, and wherever later requests and responses repeat it. Pages get the placeholder in a replay,
//! and so send it.

use std::borrow::Cow;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::Value;

use crate::artifact_name::is_text;

/// Shorter values would be found everywhere.
const SHORTEST: usize = 8;
/// From this length on, a value that a script may read counts as a token.
const LONG: usize = 16;
/// Tokens of one recording. Further ones stay as they are.
const MOST: usize = 1_000;
/// Parts of the names of members and header fields that hold tokens.
const NAMES: [&str; 8] = ["token", "secret", "session", "csrf", "xsrf", "jwt", "api-key", "apikey"];

/// The tokens that servers handed out, at most 1,000, with what replaces each.
#[derive(Debug, Default)]
pub struct Tokens(Mutex<Vec<(String, String)>>);

impl Tokens {
    /// Learns the tokens that a response hands out.
    pub fn learn(&self, headers: &[(String, String)], media_type: &str, body: &[u8]) {
        for (name, value) in headers {
            if name.eq_ignore_ascii_case("set-cookie") {
                // Several may stand in one field, a line each.
                value.lines().for_each(|cookie| self.learn_cookie(cookie));
            } else if is_named_token(name) {
                self.add(value);
            }
        }
        if media_type.ends_with("json")
            && let Ok(document) = serde_json::from_slice::<Value>(body)
        {
            self.learn_members(&document);
        }
    }

    fn list(&self) -> MutexGuard<'_, Vec<(String, String)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn learn_cookie(&self, cookie: &str) {
        let (pair, attributes) = cookie.split_once(';').unwrap_or((cookie, ""));
        let Some((_, value)) = pair.split_once('=') else { return };
        let is_hidden = attributes.split(';').any(|part| part.trim().eq_ignore_ascii_case("httponly"));
        // What a script reads may be a preference, such as a language.
        if is_hidden || value.len() >= LONG {
            self.add(value.trim());
        }
    }

    fn learn_members(&self, document: &Value) {
        match document {
            Value::Object(members) => members.iter().for_each(|(name, value)| match value {
                Value::String(text) if is_named_token(name) && text.len() >= LONG => self.add(text),
                other => self.learn_members(other),
            }),
            Value::Array(items) => items.iter().for_each(|item| self.learn_members(item)),
            _ => {}
        }
    }

    fn add(&self, value: &str) {
        let mut tokens = self.list();
        if value.len() < SHORTEST || tokens.len() >= MOST || tokens.iter().any(|(known, _)| known == value) {
            return;
        }
        let placeholder = match value.rsplit_once('.') {
            // Pages read the first two parts of a JSON Web Token; without the third it is worth nothing.
            Some((front, signature)) if is_web_token(value) => format!("{front}.{}", "x".repeat(signature.len())),
            _ => format!("{:x<width$}", format!("token{}", tokens.len()), width = value.len()),
        };
        tokens.push((value.to_owned(), placeholder));
        // Of two that begin alike, the longer one is the one that stands there.
        tokens.sort_by_key(|(value, _)| std::cmp::Reverse(value.len()));
    }

    /// The text with placeholders.
    #[must_use]
    pub fn replaced(&self, text: &str) -> String {
        let mut out = Cow::Borrowed(text);
        for (value, placeholder) in self.list().iter() {
            let encoded: String = url::form_urlencoded::byte_serialize(value.as_bytes()).collect();
            for spelling in [value, &encoded] {
                if out.contains(spelling.as_str()) {
                    out = Cow::Owned(out.replace(spelling.as_str(), placeholder));
                }
            }
        }
        out.into_owned()
    }

    /// A body with placeholders, if it is text.
    pub(crate) fn replaced_in(&self, media_type: &str, body: Vec<u8>) -> Vec<u8> {
        if self.list().is_empty() || !is_text(media_type) {
            return body;
        }
        match String::from_utf8(body) {
            Ok(text) => self.replaced(&text).into_bytes(),
            Err(error) => error.into_bytes(),
        }
    }
}

/// Returns `true` if a member or a header field of this name holds a token.
pub(crate) fn is_named_token(name: &str) -> bool {
    let name = name.to_ascii_lowercase().replace('_', "-");
    NAMES.iter().any(|part| name.contains(part))
}

fn is_web_token(value: &str) -> bool {
    value.starts_with("ey") && value.split('.').count() == 3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_server_hands_out_is_replaced_wherever_it_comes_again() {
        let tokens = Tokens::default();
        let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let headers = [
            header("Set-Cookie", "sid=abcdefgh12; Path=/; HttpOnly\ncsrf=0123456789abcdef; Path=/"),
            header("set-cookie", "lang=de-DE; Path=/"),
            header("X-Session-Token", "in-a-header-1"),
            header("Content-Type", "application/json"),
        ];
        let body = br#"{"user":{"access_token":"eyJhbGciOi.eyJzdWIiOi.c2lnbmF0dXJl","name":"a-name-that-is-long"}}"#;
        tokens.learn(&headers, "application/json", body);
        let said =
            "abcdefgh12 0123456789abcdef de-DE in-a-header-1 eyJhbGciOi.eyJzdWIiOi.c2lnbmF0dXJl a-name-that-is-long";
        let replaced = tokens.replaced(said);
        for gone in ["abcdefgh12", "0123456789abcdef", "in-a-header-1", "c2lnbmF0dXJl"] {
            assert!(!replaced.contains(gone), "{replaced}");
        }
        assert!(
            replaced.contains("de-DE") && replaced.ends_with("eyJhbGciOi.eyJzdWIiOi.xxxxxxxxxxxx a-name-that-is-long")
        );
        assert_eq!(replaced.len(), said.len());
        assert_eq!(tokens.replaced(&replaced), replaced, "a placeholder stays what it is");
        assert_eq!(tokens.replaced_in("image/png", b"abcdefgh12".to_vec()), b"abcdefgh12");
        assert_eq!(tokens.replaced_in("text/html", vec![0xff, 0xfe]), [0xff, 0xfe]);
    }

    #[test]
    fn the_number_of_tokens_is_bounded() {
        let tokens = Tokens::default();
        for number in 0..2 * MOST {
            tokens.add(&format!("a-token-{number}"));
        }
        assert_eq!(tokens.list().len(), MOST);
    }
}
