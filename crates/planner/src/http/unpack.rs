//! The bytes of a body without their content encoding.
//!
//! No engine asks for one, but proxies compress all the same. gzip is unpacked while it arrives; another encoding is
//! named. A chunk may grow to [`MAX_UNPACKED`] bytes.

use std::io::Write as _;

use flate2::write::MultiGzDecoder;
use reqwest::header::{CONTENT_ENCODING, HeaderMap};

use crate::converse::{EngineError, server_words};

/// Upper bound of an unpacked chunk in bytes.
const MAX_UNPACKED: usize = 16 << 20;

/// Bytes that are unpacked at once: they grow to about a thousand times their size at most.
const PIECE: usize = 1 << 10;

/// Unpacks the chunks of a body.
pub(super) enum Unpack {
    /// No content encoding, or `identity`.
    Plain,
    /// Content encoding `gzip` or `x-gzip`.
    Gzip(Box<MultiGzDecoder<Vec<u8>>>),
}

impl Unpack {
    /// For a response with these headers.
    pub(super) fn of(headers: &HeaderMap) -> Result<Self, EngineError> {
        let stated = headers.get(CONTENT_ENCODING).and_then(|value| value.to_str().ok()).unwrap_or_default();
        match stated.trim().to_ascii_lowercase().as_str() {
            "" | "identity" => Ok(Self::Plain),
            "gzip" | "x-gzip" => Ok(Self::Gzip(Box::new(MultiGzDecoder::new(Vec::new())))),
            other => Err(EngineError::BadFormat {
                expected: "a body as it is, or gzip",
                seen: server_words(&format!("the encoding {other}")),
            }),
        }
    }

    /// Returns the bytes that a chunk unpacks to; empty if the decoder needs more.
    pub(super) fn push(&mut self, chunk: &[u8]) -> Result<Vec<u8>, EngineError> {
        match self {
            Self::Plain => Ok(chunk.to_vec()),
            Self::Gzip(decoder) => {
                for piece in chunk.chunks(PIECE) {
                    let unpacked = decoder.write_all(piece).and_then(|()| decoder.flush());
                    unpacked.map_err(|error| EngineError::Lost(Box::new(error)))?;
                    if decoder.get_ref().len() > MAX_UNPACKED {
                        return Err(EngineError::TooLong { bound: MAX_UNPACKED });
                    }
                }
                Ok(std::mem::take(decoder.get_mut()))
            }
        }
    }
}
