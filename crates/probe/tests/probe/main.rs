//! The probe against real Chrome: roles, names, facts and locators on pages of a few lines.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

mod facts;
mod frames;
mod locators;
mod names;
mod shadow;
mod stage;
