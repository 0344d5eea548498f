//! Fresh profile directories, and the janitor for those that a killed process left behind.

use std::io;
use std::path::Path;

/// What the janitor did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SweepReport {
    /// Browsers that were still running without an owner and were killed.
    pub killed: usize,
    /// Profiles that were removed.
    pub removed: usize,
    /// Profiles of live owners, left alone.
    pub in_use: usize,
}

/// Kills browsers whose owner was killed, and removes their profiles. Never touches a live owner's.
///
/// # Errors
/// The root cannot be read. A missing root is fine.
pub fn sweep(profile_root: &Path) -> io::Result<SweepReport> {
    let _ = profile_root;
    todo!()
}
