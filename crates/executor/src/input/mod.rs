//! Input events of the browser.
//!
//! Invariant: nothing here logs what it sends; typed text may be a secret.

pub(crate) mod devices;
pub(crate) mod keyboard;
pub(crate) mod layout;
pub(crate) mod mouse;
