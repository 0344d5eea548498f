//! Nodes of `DOM.describeNode`, one level at a time: a whole document may be deeper than any parser goes, and
//! is read by the walk in the page.

use std::borrow::Cow;

use serde::Deserialize;

use super::Str;

/// The reply to `DOM.describeNode`.
#[derive(Debug, Deserialize)]
#[non_exhaustive]
pub struct Described<'a> {
    /// Node that was asked about, without its children.
    #[serde(borrow)]
    pub node: Node<'a>,
}

/// One node, without its children.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Node<'a> {
    /// The id under which the front end knows it; 0 when it was not pushed.
    #[serde(default)]
    pub node_id: i64,
    /// The id that is stable for the node's life.
    pub backend_node_id: i64,
    /// 1 element, 3 text, 9 document, 11 fragment.
    #[serde(default)]
    pub node_type: u16,
    /// The upper-case tag name, or `#text`.
    #[serde(borrow, default)]
    pub node_name: Cow<'a, str>,
    /// The lower-case tag name.
    #[serde(borrow, default)]
    pub local_name: Cow<'a, str>,
    /// The text of a text node.
    #[serde(borrow, default)]
    pub node_value: Cow<'a, str>,
    /// Names and values, alternating.
    #[serde(borrow, default)]
    pub attributes: Vec<Str<'a>>,
    /// How many children there are.
    #[serde(default)]
    pub child_node_count: Option<u32>,
    /// Shadow roots that it hosts, closed and user-agent ones included.
    #[serde(borrow, default)]
    pub shadow_roots: Vec<Node<'a>>,
    /// `user-agent`, `open` or `closed`, on a shadow root.
    #[serde(borrow, default)]
    pub shadow_root_type: Option<Str<'a>>,
    /// The document of a frame in the same process.
    #[serde(borrow, default)]
    pub content_document: Option<Box<Node<'a>>>,
    /// The frame, on a frame owner and on a document.
    #[serde(borrow, default)]
    pub frame_id: Option<&'a str>,
    /// The URL, on a document.
    #[serde(borrow, default, rename = "documentURL")]
    pub document_url: Option<Str<'a>>,
}

impl<'a> Node<'a> {
    /// Returns the value of an attribute, matched by its exact name; `None` if the node does not have it.
    #[must_use]
    pub fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes
            .chunks_exact(2)
            .find(|pair| pair.first().is_some_and(|key| key == name))
            .and_then(|pair| pair.get(1))
            .map(AsRef::as_ref)
    }
}
