//! The script that listens, which the build script joins from its modules.

use cuebook_probe::Extension;

/// Listeners for what a person does, on top of the probe's core.
pub(crate) const RECORD: Extension =
    Extension { name: "record", source: include_str!(concat!(env!("OUT_DIR"), "/record.js")) };

/// Name of the function that reports, as `js/report.js` calls it.
pub(crate) const BINDING: &str = "__cuebookDone";
