//! Who logs in, and with what.

use super::super::clause::{Act, Value};
use super::super::entries::value;
use super::super::text::{Kind, Span, Token};

pub(super) const USER_LEAD: &[&str] = &[
    "as",
    "with",
    "using",
    "the",
    "username",
    "user",
    "email",
    "e-mail",
    "account",
    "login",
    "name",
    "address",
    "id",
    "is",
    "and",
    "credentials",
    "mail",
    "my",
    "under",
    "by",
    "of",
];

/// Reads what follows `log in`.
pub(in super::super) fn login(rest: Span<'_>) -> Act {
    let raw = rest.raw().to_owned();
    let lead = rest.position(|token| token.is_any(&["as", "with", "using"]));
    let mut span = match lead {
        // `to the shop as ann`: where is said by the page already.
        Some(at) if rest.first().is_some_and(|token| token.is_any(&["to", "into", "on", "at", "in"])) => rest.from(at),
        None if rest.first().is_some_and(|token| token.is_any(&["to", "into", "on", "at", "in"])) => rest.cut(0, 0),
        _ => rest,
    };
    span = span.trimmed();
    let is_secret = |token: &Token| token.is_any(&["password", "passcode", "pin", "pw", "pass", "pwd", "passphrase"]);
    let user_of = |span: Span<'_>| {
        let span = span
            .trimmed()
            .without_trailing(&["and", "with", "using", "the", "/", "plus", "a", "my", "by"])
            .without_leading(USER_LEAD);
        (!span.is_empty()).then(|| value(span)).flatten()
    };
    let secret_of = |span: Span<'_>| {
        let span = span.trimmed().without_leading(&["is", "of", "as", "the"]);
        (!span.is_empty()).then(|| value(span)).flatten()
    };
    let (user, password) = if let Some(at) = span.position(is_secret) {
        let after = span.from(at + 1);
        let later_user =
            after.position(|t| t.is_any(&["username", "user", "email", "e-mail", "login"])).filter(|&u| u > 0);
        match later_user {
            Some(u) => {
                (user_of(after.from(u)), secret_of(after.cut(0, u).without_trailing(&["and", "with", "the", "for"])))
            }
            None => {
                let after = after
                    .position(|t| t.is_any(&["for"]))
                    .filter(|&f| f > 0 && after.from(f).len() == 2)
                    .map_or(after, |f| after.cut(0, f));
                (user_of(span.cut(0, at)), secret_of(after))
            }
        }
    } else {
        let divider = span
            .position(|token| token.is_any(&["/", "and"]) || token.is_mark(",") || token.is_mark(":"))
            .filter(|&at| at > 0 && at + 1 < span.len());
        let slash = span
            .tokens
            .iter()
            .find(|t| t.kind == Kind::Word && t.text.matches('/').count() == 1 && !t.text.contains("//"));
        match (divider, slash) {
            (Some(at), _) => (user_of(span.cut(0, at)), secret_of(span.from(at + 1))),
            (None, Some(token)) => {
                let (user, password) = token.text.split_once('/').unwrap_or_default();
                let text = |text: &str| (!text.is_empty()).then(|| Value::Text(text.to_owned()));
                (text(user), text(password))
            }
            (None, None) => match span.tokens {
                _ if span.without_leading(USER_LEAD).first().is_some_and(|t| t.is("credential")) => {
                    (None, user_of(span))
                }
                [.., only] if only.kind == Kind::Credential => (None, user_of(span)),
                _ => (user_of(span), None),
            },
        }
    };
    Act::Login { user, password, rest: raw }
}
