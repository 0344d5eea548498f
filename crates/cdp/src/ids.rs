//! Identifiers of the wire: opaque strings that Chrome hands out, one type each.
//!
//! Invariant: an id is compared and echoed, never parsed. Cloning costs a reference count.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(Arc<str>);

        impl $name {
            /// The id as Chrome wrote it.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl From<&str> for $name {
            fn from(id: &str) -> Self {
                Self(Arc::from(id))
            }
        }

        impl From<String> for $name {
            fn from(id: String) -> Self {
                Self(Arc::from(id))
            }
        }

        impl std::borrow::Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), &self.0)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer).map(Self::from)
            }
        }
    };
}

id! {
    /// A flat session: one attachment of this connection to one target.
    SessionId
}
id! {
    /// A target: a tab, an out-of-process frame, a worker.
    TargetId
}
id! {
    /// A frame. It keeps its id across navigations and across a change of process.
    FrameId
}
id! {
    /// A document: Chrome's loader id. A frame has another one after each cross-document navigation.
    ///
    /// Empty until a frame that was just attached reports it.
    DocumentId
}

/// A JavaScript execution context, unique within one renderer process only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ExecutionContextId(i64);

impl ExecutionContextId {
    /// The number as Chrome wrote it.
    #[must_use]
    pub fn get(self) -> i64 {
        self.0
    }
}

impl From<i64> for ExecutionContextId {
    fn from(id: i64) -> Self {
        Self(id)
    }
}
