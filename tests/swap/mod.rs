//! One task, with every layer replaced, one at a time, by a fake that is built from the language alone.
//!
//! `live` logs in on the built-in site in a real browser; `recorded` drives the little shop of `outside-agent`, a
//! crate outside this workspace that knows no Cuebook crate but the language, and swaps live layers into it.

mod live;
mod pictures;
mod recorded;
