//! The built-in site, and what measures agents on it.
//!
//! Invariant: a measurement asks the *server* what happened, never the page that the agent saw.

pub mod site;
