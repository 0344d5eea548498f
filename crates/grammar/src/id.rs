//! Names of things: runs, pages, observations, candidates, targets.
//!
//! Invariant: an id is a newtype that only its owner creates. Ids of candidates count up over a whole run, across all
//! its tabs, and are never reused.

use std::fmt;

use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::wire::inline_schema;

macro_rules! opaque_id {
    ($(#[$meta:meta])* $name:ident) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// Wraps a name that its owner chose.
            pub fn new(name: impl Into<String>) -> Self { Self(name.into()) }
            /// The name, as its owner chose it.
            #[must_use]
            pub fn as_str(&self) -> &str { &self.0 }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result { f.write_str(&self.0) }
        }

        #[cfg(feature = "arbitrary")]
        impl crate::generate::Generate for $name {
            fn strategy() -> proptest::strategy::BoxedStrategy<Self> {
                use proptest::strategy::Strategy as _;
                crate::generate::any().prop_map(Self).boxed()
            }
        }
    };
}

opaque_id! {
    /// One run: sortable by its start, unique over runs.
    RunId
}
opaque_id! {
    /// One tab; opaque, named by the owner of the browser.
    PageId
}
opaque_id! {
    /// The name of a secret in the operator's store; never the secret.
    CredentialRef
}

/// The number of an observation within its run, from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct ObservationId(pub u64);

/// The id of a candidate, written `c1`, `c2`, …
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CandidateId(pub u32);

impl fmt::Display for CandidateId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "c{}", self.0)
    }
}

impl CandidateId {
    /// Reads `c12`; `None` for anything else, a leading zero included.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix('c')?;
        if digits.starts_with('0') || !digits.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        digits.parse().ok().map(Self)
    }
}

impl Serialize for CandidateId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for CandidateId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| D::Error::custom("expected a candidate id such as c12"))
    }
}

inline_schema!(CandidateId, { "type": "string", "pattern": "^c[1-9][0-9]{0,8}$" });

/// Reference from a step or a condition to its target: the id of a candidate in the observation, or the name of an
/// entry in the plan's `candidates`. One to 64 letters, digits, `_`, `-`, `.` or `:`, the first a letter, digit or `_`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct TargetRef(String);

/// A string that is not a reference to a target.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{seen}` is not a target: 1 to 64 letters, digits, `_`, `-`, `.` or `:`")]
pub struct BadTargetRef {
    /// The start of what was seen, escaped.
    pub seen: String,
}

impl TargetRef {
    const PATTERN: &'static str = "^[A-Za-z0-9_][A-Za-z0-9_.:-]{0,63}$";

    /// A name that the language itself gives.
    pub(crate) fn built_in(name: &'static str) -> Self {
        Self(name.to_owned())
    }

    /// Reads a reference.
    ///
    /// ```
    /// use cuebook_grammar::id::{CandidateId, TargetRef};
    ///
    /// assert_eq!(TargetRef::new("c12").unwrap().candidate_id(), Some(CandidateId(12)));
    /// assert_eq!(TargetRef::new("loginButton").unwrap().candidate_id(), None);
    /// assert!(TargetRef::new("log in").is_err());
    /// ```
    ///
    /// # Errors
    /// [`BadTargetRef`] if `text` does not have the form above.
    pub fn new(text: &str) -> Result<Self, BadTargetRef> {
        let mut bytes = text.bytes();
        let first = bytes.next().is_some_and(|b| b.is_ascii_alphanumeric() || b == b'_');
        let rest = bytes.all(|b| b.is_ascii_alphanumeric() || b"_.:-".contains(&b));
        if first && rest && text.len() <= 64 {
            Ok(Self(text.to_owned()))
        } else {
            Err(BadTargetRef { seen: crate::render::excerpt(text, 64) })
        }
    }

    /// The reference as written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The candidate id, if the reference is one.
    #[must_use]
    pub fn candidate_id(&self) -> Option<CandidateId> {
        CandidateId::parse(&self.0)
    }
}

impl From<CandidateId> for TargetRef {
    fn from(id: CandidateId) -> Self {
        Self(id.to_string())
    }
}

impl fmt::Display for TargetRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for TargetRef {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::new(&String::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

inline_schema!(TargetRef, { "type": "string", "pattern": TargetRef::PATTERN });

/// Where a candidate's node lives on the wire: opaque, never serialised, never rendered. For the executor it is a hint
/// that has to be verified.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NodeKey {
    /// The tab that the node is in.
    pub page: PageId,
    /// The frame, as the wire names it.
    pub frame: String,
    /// The document in that frame: changes with every navigation.
    pub document: String,
    /// The node within that document: the number under which the isolated world keeps it.
    pub node: u64,
}
