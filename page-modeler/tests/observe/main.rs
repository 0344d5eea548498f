//! Observations of small pages in real Chrome, by theme.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

mod bounds;
mod covers;
mod dialogs;
mod exploring;
mod frames;
mod identity;
mod incremental;
mod offered;
mod privacy;
mod rendering;
mod shadow;
mod stage;
mod twins;
