//! The walk's script, which the build script joins from its modules.

use cuebook_probe::Extension;

/// The walk, installed on top of the probe's core.
pub(crate) const WALK: Extension =
    Extension { name: "walk", source: include_str!(concat!(env!("OUT_DIR"), "/walk.js")) };
