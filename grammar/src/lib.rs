//! The typed action grammar: values, their pure semantics, their schemas, policy, and the seam traits.
//!
//! Everything that the layers of Cuebook say to each other is defined here. A plan, an observation, a
//! verdict or a step record is a plain value with one JSON form; whoever holds it can judge it without a
//! browser, a model or a clock.
//!
//! Absent on purpose: I/O, clocks, tokio, the wire to the browser, and any knowledge that there is one.

pub mod wire;

pub mod candidate;
pub mod deadline;
pub mod facts;
pub mod geometry;
pub mod id;
pub mod locator;
pub mod observation;
pub mod role;
pub mod secret;
pub mod text_match;
pub mod verdict;
