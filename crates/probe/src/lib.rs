//! The one script of ours that runs in a page, in an isolated world, and typed calls to it.
//!
//! The page modeler and the executor must agree on what an element is, on its role, name, states and
//! visibility; neither may depend on the other. What they agree on is here: a registry of elements per
//! document, pure functions over them in JavaScript, and a [`Probe`] per tab that calls those functions
//! in every frame. Each layer adds its own functions with an [`Extension`].
//!
//! Invariants:
//! - The script lives in the isolated world of `cuebook-cdp` only. It writes no attribute, variable or
//!   prototype of the page, and sends no event.
//! - Several probes on one tab share one registry: a [`NodeKey`] of one is good for the other.
//! - What is decided here is where an element is and what it looks like. Whether it is the one that a
//!   locator means is for `Locator::select` to say, on facts.
//! - Text of password-like fields leaves this crate as digests only, and pictures with secrets painted over.
//! - Everything that comes back from a page is bounded by the script and checked again here.
//!
//! Cost: one round trip per frame for a call; a locator with `within` or `has` costs one more for each.
//!
//! [`NodeKey`]: cuebook_grammar::id::NodeKey

mod aria;
mod ask;
mod ax;
mod error;
mod facts;
mod innermost;
mod locate;
pub mod picture;
mod placement;
mod probe;
mod script;
mod world;

pub use aria::{ARIA, AriaLimits, AriaTree};
pub use ask::Ask;
pub use ax::{AxElement, AxFacts};
pub use error::ProbeError;
pub use innermost::innermost;
pub use locate::{Located, Match};
pub use placement::Placement;
pub use probe::{Probe, ProbeOptions};
pub use script::Extension;
pub use world::ProbeWorld;
