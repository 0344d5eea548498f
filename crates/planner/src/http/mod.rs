//! The client that the engines over HTTP share: typed errors, frames of a stream.
//!
//! Invariants:
//! - A key goes into a header and nowhere else. If a server repeats it in an error, it is removed.
//! - Hosts on this machine are reached directly, never through a proxy of the environment.
//! - Dropping a request or a stream closes its connection.

mod endpoint;
mod frames;
mod stream;
mod unpack;

pub(crate) use endpoint::Endpoint;
#[cfg(feature = "openai")]
pub(crate) use endpoint::said;
pub(crate) use frames::Framing;
pub(crate) use stream::{Decode, HttpStream, Queue};
