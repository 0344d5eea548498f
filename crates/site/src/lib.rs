//! Cuebook Stationery: the shop that `cuebook site` serves, easy pages and hard ones.
//!
//! Costs one listening socket and a few hundred kilobytes. Everything lives in memory.
//!
//! Invariants:
//! - The server is the oracle: every effect of a page ends in [`SiteHandle::state`], which is also
//!   what `GET /state` answers.
//! - The same seed and the same requests give the same state. There is no clock and no entropy.
//! - What a visitor sends is bounded when it is stored and escaped when it is shown.
//! - It listens on loopback addresses only, unless the caller hands it another listener.

mod app;
mod catalog;
mod error;
mod fields;
mod invoices;
mod layout;
mod oracle;
mod random;
mod router;
mod routes;
mod serve;
mod shopping;
mod text;
mod visitor;
mod world;

pub use error::SiteError;
pub use serve::{Site, SiteBuilder, SiteHandle};

#[cfg(test)]
mod tests;
