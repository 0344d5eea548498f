//! Simulated model servers: real wire formats over real sockets, and every way to fail that is known of them.
//!
//! A [`Server`] plays one [`Play`] a request, byte for byte; what a play holds comes from a [`Dialect`], which
//! writes an [`ScriptedReply`] as its servers do. Nothing here knows the engines.
//!
//! Invariants:
//! - No framework stands between a play and the socket: what it says is what is sent, faults included.
//! - A server listens on loopback only, and ends with its handle.

mod answer;
mod anthropic;
mod dialect;
mod ollama;
mod openai;
mod play;
mod responses;
mod server;

pub(crate) use answer::{End, Part, ScriptedReply};
pub(crate) use dialect::Dialect;
pub(crate) use play::Play;
pub(crate) use server::{Request, Server};
