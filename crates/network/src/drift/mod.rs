//! Drift: what changes between two versions of a site, or while a page is used, imitated on any application.
//!
//! A [`Drifter`] holds responses of a browser on a session of its own. Pages get one script in front of their own, which
//! changes the document while it is parsed and used; single requests are delayed or fail once. Servers see nothing of it.
//!
//! Invariants:
//! - A person can still do with the page what they came for: names of ids and classes stay the same for the page's own
//!   scripts and styles, fields keep their names and values, no control gets the name of another one, only elements that
//!   no script holds are replaced, and what covers the page can be closed or goes away.
//! - The same drift changes the same document (the same path) the same way.
//! - A request that changes something on the server is never failed, and never sent twice.
//!
//! Limits: what is in shadow roots and in frames without a URL keeps its names and texts; a page that reaches a field by
//! `form.ID`, or matches ids by a part (`[id^=…]`), does not find it under [`DriftKind::RenamedNames`]. Texts of table
//! cells, options and everything with a digit are data, and stay.
//!
//! Cost: a round trip to this process for each document, for each request with slow or failing ones; some milliseconds
//! of script in each document.

/// Features of Chrome that a browser under drift is launched without. A document that a [`Drifter`] answers has no address,
/// so Chrome takes it for one of the public network, and would not let it load a frame of another origin from this machine.
pub const DISABLED_FEATURES: [&str; 1] = ["LocalNetworkAccessChecks"];

mod document;
mod drifter;
mod kind;

pub use drifter::{Drifted, Drifter};
pub use kind::{Drift, DriftKind, Drifts, UnknownDrift};
