//! The site's pages, one file per subject.

pub(super) mod account;
pub(super) mod assets;
pub(super) mod checkout;
pub(super) mod counter;
pub(super) mod drift;
pub(super) mod editors;
pub(super) mod fixed;
pub(super) mod frames;
pub(super) mod grid;
pub(super) mod home;
pub(super) mod http;
pub(super) mod order_desk;
pub(super) mod shop;
pub(super) mod slow;
