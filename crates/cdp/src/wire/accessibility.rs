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

/// One node.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct AxNode<'a> {
    /// Its id within the tree.
    #[serde(borrow)]
    pub node_id: Cow<'a, str>,
    /// Whether assistive technology skips it.
    #[serde(default)]
    pub ignored: bool,
    /// Its role.
    #[serde(borrow, default)]
    pub role: Option<AxValue<'a>>,
    /// Its accessible name.
    #[serde(borrow, default)]
    pub name: Option<AxValue<'a>>,
    /// Its accessible description.
    #[serde(borrow, default)]
    pub description: Option<AxValue<'a>>,
    /// Its value.
    #[serde(borrow, default)]
    pub value: Option<AxValue<'a>>,
    /// States and relations.
    #[serde(borrow, default)]
    pub properties: Vec<AxProperty<'a>>,
    /// Its parent's id.
    #[serde(borrow, default)]
    pub parent_id: Option<&'a str>,
    /// Its children's ids.
    #[serde(borrow, default)]
    pub child_ids: Vec<&'a str>,
    /// The DOM node.
    #[serde(default, rename = "backendDOMNodeId")]
    pub backend_dom_node_id: Option<i64>,
    /// The frame, on the root node of a document.
    #[serde(borrow, default)]
    pub frame_id: Option<&'a str>,
}

/// A named value.
#[derive(Debug, Deserialize)]
#[non_exhaustive]
pub struct AxProperty<'a> {
    /// For example `focused`, `expanded`, `labelledby`.
    #[serde(borrow)]
    pub name: Cow<'a, str>,
    /// Its value.
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
    /// The JSON.
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
