//! Messages off the wire, decoded only as far as needed.

use std::borrow::Cow;
use std::fmt;
use std::sync::OnceLock;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::error::CallError;
use crate::wire::surrogates::mend;

/// A reply that has not been decoded. It owns the bytes that came off the wire.
#[derive(Clone, Debug)]
pub struct RawReply {
    pub(crate) method: Cow<'static, str>,
    pub(crate) text: Text,
}

impl RawReply {
    /// Decodes the result, borrowing from the reply. A lone surrogate in a page's text, which no Rust
    /// string can hold, becomes U+FFFD.
    ///
    /// # Errors
    /// [`CallError::Decode`]
    pub fn parse<'a, T: Deserialize<'a>>(&'a self) -> Result<T, CallError> {
        self.text.parse().map_err(|source| CallError::Decode { method: self.method.clone(), source })
    }

    /// The result's JSON text.
    #[must_use]
    pub fn json(&self) -> &[u8] {
        &self.text.json
    }
}

/// A piece of JSON off the wire, with a mended copy if a lone surrogate made that necessary.
#[derive(Clone)]
pub(crate) struct Text {
    json: Bytes,
    mended: OnceLock<Bytes>,
}

impl Text {
    /// The part of a message; an absent part reads as an empty object.
    pub(crate) fn of(message: &Bytes, part: Option<&RawValue>) -> Self {
        let json = match part {
            Some(part) => message.slice_ref(part.get().as_bytes()),
            None => Bytes::from_static(b"{}"),
        };
        Self { json, mended: OnceLock::new() }
    }

    /// JSON that did not come off the wire.
    pub(crate) fn made(json: impl Into<Bytes>) -> Self {
        Self { json: json.into(), mended: OnceLock::new() }
    }

    pub(crate) fn parse<'a, T: Deserialize<'a>>(&'a self) -> Result<T, serde_json::Error> {
        let error = match serde_json::from_slice(&self.json) {
            Ok(value) => return Ok(value),
            Err(error) => error,
        };
        let mended = match self.mended.get() {
            Some(mended) => mended,
            None => match mend(&self.json) {
                Some(mended) => self.mended.get_or_init(|| mended.into()),
                None => return Err(error),
            },
        };
        serde_json::from_slice(mended)
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.json.len())
    }
}
