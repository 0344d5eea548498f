//! The fields of a form or a query string: bounded, repeated names kept, never a parse failure.

use std::collections::BTreeMap;

use axum::extract::{Form, FromRequest, FromRequestParts, Query, Request};
use axum::http::request::Parts;

use crate::text::{LONGEST, LONGEST_NAME, clip};

/// A form or query with more fields than this loses the rest.
const MOST_FIELDS: usize = 100;

/// Names and values in the order in which they were sent.
#[derive(Debug, Clone, Default)]
pub(crate) struct Fields(Vec<(String, String)>);

impl Fields {
    pub(crate) fn new(pairs: impl IntoIterator<Item = (String, String)>) -> Self {
        Self(
            pairs
                .into_iter()
                .take(MOST_FIELDS)
                .map(|(name, value)| (clip(&name, LONGEST_NAME), clip(&value, LONGEST)))
                .collect(),
        )
    }

    /// The last value of `name`, or the empty text.
    pub(crate) fn get(&self, name: &str) -> &str {
        self.0.iter().rev().find(|(key, _)| key == name).map_or("", |(_, value)| value)
    }

    /// Returns `true` if `name` was sent at all; an unticked checkbox is not.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(key, _)| key == name)
    }

    /// The number in `name`, kept within `limits`; `default` when there is none.
    pub(crate) fn number(&self, name: &str, default: u64, limits: (u64, u64)) -> u64 {
        self.get(name).trim().parse().unwrap_or(default).clamp(limits.0, limits.1)
    }

    /// Every name with its values joined by a comma, as the oracle shows them.
    pub(crate) fn joined(&self) -> BTreeMap<String, String> {
        let mut joined: BTreeMap<String, String> = BTreeMap::new();
        for (name, value) in &self.0 {
            joined
                .entry(name.clone())
                .and_modify(|all| {
                    all.push_str(", ");
                    all.push_str(value);
                })
                .or_insert_with(|| value.clone());
        }
        joined
    }
}

/// The fields of the query string.
#[derive(Debug)]
pub(crate) struct FromQuery(pub(crate) Fields);

/// The fields of an url-encoded body. Anything else has no fields.
#[derive(Debug)]
pub(crate) struct FromForm(pub(crate) Fields);

impl<S: Send + Sync> FromRequestParts<S> for FromQuery {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Self::Rejection> {
        let pairs = Query::<Vec<(String, String)>>::from_request_parts(parts, state).await;
        Ok(Self(Fields::new(pairs.map(|Query(pairs)| pairs).unwrap_or_default())))
    }
}

impl<S: Send + Sync> FromRequest<S> for FromForm {
    type Rejection = std::convert::Infallible;

    async fn from_request(request: Request, state: &S) -> Result<Self, Self::Rejection> {
        let pairs = Form::<Vec<(String, String)>>::from_request(request, state).await;
        Ok(Self(Fields::new(pairs.map(|Form(pairs)| pairs).unwrap_or_default())))
    }
}

#[cfg(test)]
mod tests {
    use super::Fields;

    fn fields(pairs: &[(&str, &str)]) -> Fields {
        Fields::new(pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())))
    }

    #[test]
    fn the_last_of_a_repeated_name_wins_and_all_are_joined() {
        let fields = fields(&[("tag", "a"), ("tag", "b")]);
        assert_eq!(fields.get("tag"), "b");
        assert_eq!(fields.joined()["tag"], "a, b");
    }

    #[test]
    fn numbers_stay_within_their_limits() {
        let fields = fields(&[("n", "99999999999999999999"), ("m", "500"), ("k", "-1")]);
        assert_eq!(fields.number("n", 3, (1, 9)), 3, "not a u64");
        assert_eq!(fields.number("m", 3, (1, 9)), 9);
        assert_eq!(fields.number("k", 3, (1, 9)), 3);
    }

    #[test]
    fn a_flood_of_fields_is_cut() {
        let flood = (0..5_000).map(|n| (n.to_string(), "v".repeat(10_000)));
        let fields = Fields::new(flood);
        assert_eq!(fields.0.len(), super::MOST_FIELDS);
        assert!(fields.0.iter().all(|(_, value)| value.len() <= super::LONGEST));
    }
}
