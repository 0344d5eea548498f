//! Lenient, borrowing structs for what is large or changes often.
//!
//! Invariants: unknown fields and unknown enum values are accepted; strings borrow from the reply where
//! it holds no escapes.

pub mod accessibility;
pub mod console;
pub mod dom;
pub mod network;
pub mod remote;
mod strings;
pub(crate) mod surrogates;

pub use strings::{Str, decode, text};
