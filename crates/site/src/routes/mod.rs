//! The site's pages, one file per subject.

pub(crate) mod account;
pub(crate) mod assets;
pub(crate) mod checkout;
pub(crate) mod counter;
pub(crate) mod drift;
pub(crate) mod editors;
pub(crate) mod fixed;
pub(crate) mod frames;
pub(crate) mod grid;
pub(crate) mod home;
pub(crate) mod http;
pub(crate) mod order_desk;
pub(crate) mod shop;
pub(crate) mod slow;
