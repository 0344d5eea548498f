//! Nodes of the accessibility tree.

use std::borrow::Cow;

use serde::Deserialize;

use serde_json::value::RawValue;

/// The reply to `Accessibility.getFullAXTree`, `getPartialAXTree`, `queryAXTree`.
#[derive(Debug, Deserialize)]
#[non_exhaustive]
pub struct AxTree<'a> {
    /// The nodes, parents first.
    #[serde(borrow)]
    pub nodes: Vec<AxNode<'a>>,
}

/// Node of the accessibility tree.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct AxNode<'a> {
    /// Its id within the tree.
    #[serde(borrow)]
    pub node_id: Cow<'a, str>,
    /// `true` if assistive technology skips it.
    #[serde(default)]
    pub ignored: bool,
    /// Role: one of ARIA's, or Chromium's name for its own, such as `RootWebArea`.
    #[serde(borrow, default)]
    pub role: Option<AxValue<'a>>,
    /// Accessible name, computed by the browser from ARIA attributes, labels and content.
    #[serde(borrow, default)]
    pub name: Option<AxValue<'a>>,
    /// Accessible description, computed by the browser from `aria-describedby` and the like.
    #[serde(borrow, default)]
    pub description: Option<AxValue<'a>>,
    /// Current value, on fields, sliders and the like.
    #[serde(borrow, default)]
    pub value: Option<AxValue<'a>>,
    /// States and relations, such as `focused` or `labelledby`.
    #[serde(borrow, default)]
    pub properties: Vec<AxProperty<'a>>,
    /// Node id of its parent; absent on the root.
    #[serde(borrow, default)]
    pub parent_id: Option<&'a str>,
    /// Node ids of its children; a partial tree may lack some of these nodes.
    #[serde(borrow, default)]
    pub child_ids: Vec<&'a str>,
    /// `backendNodeId` of the DOM node; absent if no DOM node stands behind it.
    #[serde(default, rename = "backendDOMNodeId")]
    pub backend_dom_node_id: Option<i64>,
    /// The frame, on the root node of a document.
    #[serde(borrow, default)]
    pub frame_id: Option<&'a str>,
}

/// State or relation of an accessibility node.
#[derive(Debug, Deserialize)]
#[non_exhaustive]
pub struct AxProperty<'a> {
    /// For example `focused`, `expanded`, `labelledby`.
    #[serde(borrow)]
    pub name: Cow<'a, str>,
    /// Value of the state, or nodes of the relation.
    #[serde(borrow)]
    pub value: AxValue<'a>,
}

/// A value of any type, not decoded yet.
#[derive(Debug, Deserialize)]
#[non_exhaustive]
pub struct AxValue<'a> {
    /// For example `role`, `computedString`, `booleanOrUndefined`.
    #[serde(borrow, rename = "type")]
    pub kind: Cow<'a, str>,
    /// Undecoded JSON, of the type that `kind` names.
    #[serde(borrow, default)]
    pub value: Option<&'a RawValue>,
    /// The nodes that a relation names.
    #[serde(borrow, default)]
    pub related_nodes: Option<&'a RawValue>,
}

impl<'a> AxValue<'a> {
    /// The value as text, if it is a string.
    #[must_use]
    pub fn as_text(&self) -> Option<Cow<'a, str>> {
        super::text(self.value?)
    }
}
