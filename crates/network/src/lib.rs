//! Network side of a page: an egress proxy on loopback, for HTTP/1.1 and tunnels; [`traffic`], recorded and replayed;
//! and [`drift`], which changes what pages get.
//!
//! An [`Egress`] is one listener with its own port. A run has one, so that the port tells whose a request is. It denies
//! everything until it has a policy.
//!
//! Invariants:
//! - Nothing is sent before the policy was asked, for each request, also on a connection that was used before.
//! - A name is resolved once per connection; every address is judged, and the connection goes to one of them.
//! - What is denied gets status 403 with an empty body: a reset could be repeated elsewhere, and a challenge (407) makes
//!   Chrome wait.
//! - No input leads to a panic, and every queue and buffer has an upper bound.
//! - TLS is not terminated: of a tunnel, only host and port are known.
//!
//! Cost: a new tunnel some 0.2 ms, a request on an open connection some 0.02 ms, a few MB of memory.

mod decision;
mod dial;
pub mod drift;
mod listener;
mod serve;
mod shared;
mod target;
pub mod traffic;

pub use decision::{Decision, Decisions, Unreached, Verdict};
pub use dial::{Dial, Pending, System};
pub use listener::Egress;
pub use shared::Limits;
