//! The types of the commands that are sent, for [`Session::request`](crate::Session::request), and of small replies
//! ([`Session::call`](crate::Session::call)), generated from `protocol/` of this crate.
//!
//! Those are 67 of the protocol's 650 commands. Another is added by copying its lines from Chromium's description of
//! the protocol; outside of this crate, each implementation of [`Command`] can be sent, such as those of the crate
//! `chromiumoxide_cdp`. Replies that are large, or that Chrome changes often, have lenient borrowing structs in
//! [`wire`](crate::wire), and none here.

pub use chromiumoxide_types::{Command, Method};

pub use generated::{browser_protocol, js_protocol};

#[allow(missing_docs, unreachable_pub, unused, clippy::all, clippy::unwrap_used)]
mod generated {
    include!(concat!(env!("OUT_DIR"), "/cdp.rs"));
}
