//! Observations of small pages in real Chrome, by theme.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

mod aria;
mod bounds;
mod clobbering;
mod corpus;
mod covers;
mod dialogs;
mod disclosure;
mod exploring;
mod fields;
mod frames;
mod identity;
mod ids;
mod incremental;
mod layout;
mod offered;
mod pictures;
mod pointers;
mod privacy;
mod random;
mod reading;
mod rendering;
mod roles;
mod settling;
mod shadow;
mod stage;
mod tokens;
mod twins;
