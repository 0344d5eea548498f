//! The browser's description of a target.

use serde::Deserialize;

use crate::ids::{FrameId, TargetId};

/// Pages that belong to the browser and not to the web; extensions and developer tools likewise.
const FOREIGN_PAGES: [&str; 5] =
    ["chrome://newtab", "chrome://new-tab-page", "chrome-untrusted://", "chrome-extension://", "devtools://"];

/// Returns `true` if a page with this URL belongs to the browser itself.
pub(crate) fn is_of_the_browser(url: &str) -> bool {
    FOREIGN_PAGES.iter().any(|prefix| url.starts_with(prefix))
}

/// `Target.TargetInfo`, in which all but the id and the type may be absent.
#[derive(Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TargetInfo {
    pub(crate) target_id: TargetId,
    #[serde(rename = "type")]
    pub(crate) kind: String,
    #[serde(default)]
    pub(crate) title: String,
    #[serde(default)]
    pub(crate) url: String,
    #[serde(default)]
    pub(crate) opener_id: Option<TargetId>,
    #[serde(default)]
    pub(crate) browser_context_id: Option<String>,
    #[serde(default)]
    pub(crate) parent_id: Option<FrameId>,
    #[serde(default)]
    pub(crate) parent_frame_id: Option<FrameId>,
}
