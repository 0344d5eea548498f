//! One tab: its sessions, frames, worlds, scripts, domains and dialogs.
//!
//! Invariants:
//! - State changes and their events happen under one lock, on the reader, in the order of arrival; a subscriber that reads the state after subscribing misses nothing.
//! - Scripts and domains reach every session, present and future: both lists are changed under that lock.
//! - A cached world belongs to the frame's present document; a navigation drops it.

mod domains;
mod events;
mod goto;
mod lifetime;
mod reports;
mod state;
mod tab;
mod worlds;

pub use domains::DomainGuard;
pub use events::{DetachKind, DialogAnswer, DialogKind, OpenDialog, PageEvent, PageEvents};
pub use goto::{GotoError, Navigated, WaitUntil};
pub(crate) use state::PageInner;
pub use tab::{Frame, Page};
