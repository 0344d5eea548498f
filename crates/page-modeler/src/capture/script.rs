//! The walk's script, joined from its parts.

use cuebook_probe::Extension;

/// The walk, installed on top of the probe's core.
pub(crate) const WALK: Extension = Extension {
    name: "walk",
    source: concat!(
        include_str!("walk/open.js"),
        include_str!("walk/infos.js"),
        include_str!("walk/changes.js"),
        include_str!("walk/measure.js"),
        include_str!("walk/reasons.js"),
        include_str!("walk/cover.js"),
        include_str!("walk/place.js"),
        include_str!("walk/context.js"),
        include_str!("walk/sketch.js"),
        include_str!("walk/doubles.js"),
        include_str!("walk/row.js"),
        include_str!("walk/settle.js"),
        include_str!("walk/run.js"),
        include_str!("walk/answer.js"),
        include_str!("walk/explore.js"),
        include_str!("walk/answers.js"),
    ),
};
