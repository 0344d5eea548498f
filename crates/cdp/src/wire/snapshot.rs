//! The reply to `DOMSnapshot.captureSnapshot`: columns that index into one string table.

use serde::Deserialize;

use super::Str;

/// The whole reply. An index of -1 means no string.
#[derive(Debug, Deserialize)]
#[non_exhaustive]
pub struct Snapshot<'a> {
    /// One for each document in the session's process: the main one first.
    pub documents: Vec<DocumentSnapshot>,
    /// The string table.
    #[serde(borrow)]
    pub strings: Vec<Str<'a>>,
}

impl Snapshot<'_> {
    /// A string of the table; `None` for -1 and for anything out of range.
    #[must_use]
    pub fn string(&self, index: i64) -> Option<&str> {
        self.strings.get(usize::try_from(index).ok()?).map(AsRef::as_ref)
    }
}

/// One document.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct DocumentSnapshot {
    /// String index of the URL.
    #[serde(rename = "documentURL")]
    pub document_url: i64,
    /// String index of the frame id.
    pub frame_id: i64,
    /// The nodes, in document order.
    pub nodes: NodeColumns,
    /// The layout objects.
    pub layout: LayoutColumns,
    /// Horizontal scroll offset, in CSS pixels.
    #[serde(default)]
    pub scroll_offset_x: f64,
    /// Vertical scroll offset, in CSS pixels.
    #[serde(default)]
    pub scroll_offset_y: f64,
}

/// The nodes, one entry per node in each column.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct NodeColumns {
    /// Index of the parent; -1 for the root.
    pub parent_index: Vec<i64>,
    /// DOM node types.
    pub node_type: Vec<u16>,
    /// String index of the shadow root type.
    pub shadow_root_type: RareStrings,
    /// String index of the node name.
    pub node_name: Vec<i64>,
    /// String index of the node value.
    pub node_value: Vec<i64>,
    /// Backend node ids.
    pub backend_node_id: Vec<i64>,
    /// String indices of attribute names and values, alternating.
    pub attributes: Vec<Vec<i64>>,
    /// The live value of text areas.
    pub text_value: RareStrings,
    /// The live value of inputs. Passwords stand here in clear.
    pub input_value: RareStrings,
    /// Which inputs are checked.
    pub input_checked: RareFlags,
    /// Which options are selected.
    pub option_selected: RareFlags,
    /// Index into `documents` of a frame owner's content.
    pub content_document_index: RareIntegers,
    /// Which nodes react to a click.
    pub is_clickable: RareFlags,
}

/// The layout objects, one entry per object in each column.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct LayoutColumns {
    /// Index of the node.
    pub node_index: Vec<i64>,
    /// String indices of the computed styles that were requested, in that order.
    pub styles: Vec<Vec<i64>>,
    /// x, y, width, height in CSS pixels of the document.
    pub bounds: Vec<Vec<f64>>,
    /// String index of the text.
    pub text: Vec<i64>,
    /// Paint order: larger is above.
    pub paint_orders: Vec<i64>,
    /// Which objects make a stacking context.
    pub stacking_contexts: RareFlags,
}

/// A sparse column of string indices.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct RareStrings {
    /// Rows that have one, rising.
    pub index: Vec<i64>,
    /// Their string indices.
    pub value: Vec<i64>,
}

/// A sparse column of flags.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct RareFlags {
    /// Rows that are set, rising.
    pub index: Vec<i64>,
}

/// A sparse column of integers.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct RareIntegers {
    /// Rows that have one, rising.
    pub index: Vec<i64>,
    /// Their values.
    pub value: Vec<i64>,
}
