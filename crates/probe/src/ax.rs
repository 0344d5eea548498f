//! Role and name in the browser's own words.

use std::collections::HashMap;
use std::time::Instant;

use cuebook_cdp::protocol::browser_protocol::accessibility::{GetFullAxTreeParams, GetPartialAxTreeParams};
use cuebook_cdp::protocol::browser_protocol::dom::BackendNodeId;
use cuebook_cdp::wire::accessibility::{AxNode, AxProperty, AxTree};
use cuebook_grammar::geometry::Rect;
use cuebook_grammar::id::NodeKey;
use cuebook_grammar::role::Role;

use crate::error::ProbeError;
use crate::probe::Probe;
use crate::world::ProbeWorld;

/// An element in the browser's accessibility tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct AxFacts {
    /// The role; `None` where the browser's own role has no ARIA counterpart.
    pub role: Option<Role>,
    /// Accessible name, at most 2,000 characters; empty if there is none.
    pub name: String,
    /// Accessible description, at most 2,000 characters; `None` if there is none.
    pub description: Option<String>,
    /// Assistive technology skips it.
    pub ignored: bool,
}

/// An element that can be acted on, as the accessibility tree has it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct AxElement {
    /// Key of its node.
    pub key: NodeKey,
    /// Its role, one that people act on.
    pub role: Role,
    /// Accessible name, at most 2,000 characters; never empty.
    pub name: String,
    /// `true` if it cannot be used.
    pub disabled: bool,
    /// Its box in the frame's viewport.
    pub rect: Rect,
}

/// Roles that people act on.
const ACTED_ON: [Role; 16] = [
    Role::Button,
    Role::Link,
    Role::TextBox,
    Role::SearchBox,
    Role::ComboBox,
    Role::ListBox,
    Role::Option,
    Role::Checkbox,
    Role::Radio,
    Role::Switch,
    Role::Slider,
    Role::SpinButton,
    Role::Tab,
    Role::MenuItem,
    Role::MenuItemCheckbox,
    Role::MenuItemRadio,
];
/// Number and box of each node, in hundredths of a pixel.
const NUMBERS: &str = "(cb, ...told) => told.flatMap((node, i) => {
    if (i % 2) return [];
    const { x, y, width, height } = cb.boxOf(node);
    return [[told[i + 1], cb.idOf(node), ...[x, y, width, height].map((n) => Math.round(n * 100) / 100)]];
})";

/// Requests in flight at once.
const WINDOW: usize = 128;

impl Probe {
    /// Role, name and description of each of these elements as the browser computes them. Those that
    /// went away are left out, and those that hold so much text that the answer would have no bound.
    /// About 150 µs each; sent back to back.
    ///
    /// # Errors
    /// [`ProbeError::Wire`]; a frame that went away only leaves its elements out.
    pub async fn browser_names(
        &self,
        keys: &[NodeKey],
        until: Instant,
    ) -> Result<HashMap<NodeKey, AxFacts>, ProbeError> {
        let mut by_document: Vec<(&NodeKey, Vec<u64>)> = Vec::new();
        for key in keys {
            match by_document.iter_mut().find(|(first, _)| first.frame == key.frame && first.document == key.document) {
                Some((_, nodes)) => nodes.push(key.node),
                None => by_document.push((key, vec![key.node])),
            }
        }
        let parts = by_document.iter().map(|(first, nodes)| self.names_in_document(first, nodes, until));
        let mut names = HashMap::with_capacity(keys.len());
        for part in futures_util::future::join_all(parts).await {
            match part {
                Ok(part) => names.extend(part),
                Err(ProbeError::Gone) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(names)
    }

    /// The named elements of a document that people act on, in its order, at most `limit`, by the browser's
    /// accessibility tree alone. Costs the whole tree, and a round trip for the nodes that are kept.
    ///
    /// # Errors
    /// [`ProbeError`]
    pub async fn accessible(
        &self,
        world: &ProbeWorld,
        limit: usize,
        until: Instant,
    ) -> Result<Vec<AxElement>, ProbeError> {
        let frame = cuebook_cdp::protocol::browser_protocol::page::FrameId::new(world.frame().as_str());
        let params = GetFullAxTreeParams { frame_id: Some(frame), ..GetFullAxTreeParams::default() };
        let reply = world.world().session().request(params, until).await?;
        let tree: AxTree<'_> = reply.parse()?;
        let is_disabled = |node: &AxNode<'_>| {
            let is_set =
                |it: &AxProperty<'_>| it.name == "disabled" && it.value.value.is_some_and(|it| it.get() == "true");
            node.properties.iter().any(is_set)
        };
        let mut found: Vec<(i64, Role, String, bool)> = Vec::new();
        for node in tree.nodes.iter().filter(|node| !node.ignored) {
            let AxFacts { role: Some(role), name, .. } = facts(node) else { continue };
            let Some(backend) = node.backend_dom_node_id else { continue };
            if ACTED_ON.contains(&role) && !name.is_empty() && found.len() < limit {
                found.push((backend, role, name, is_disabled(node)));
            }
        }
        let told: Vec<_> = found.iter().zip(0_u32..).map(|((backend, ..), index)| (*backend, index.into())).collect();
        let numbers: Vec<(usize, u64, f64, f64, f64, f64)> = world.adopt_each(&told, NUMBERS, until).await?;
        let element = |(index, node, x, y, width, height): (usize, u64, f64, f64, f64, f64)| {
            let (_, role, name, disabled) = found.get(index)?.clone();
            Some(AxElement { key: world.key(node), role, name, disabled, rect: Rect { x, y, width, height } })
        };
        Ok(numbers.into_iter().filter_map(element).collect())
    }

    async fn names_in_document(
        &self,
        first: &NodeKey,
        nodes: &[u64],
        until: Instant,
    ) -> Result<Vec<(NodeKey, AxFacts)>, ProbeError> {
        let world = self.world_of(first, until).await?;
        let alive: Vec<u64> = world.call("(cb, ids) => cb.describable(ids)", &[nodes.into()], until).await?;
        let backend = world
            .nodes(
                "(cb, ids) => ids.map((id) => cb.byId(id)).filter((element) => element)",
                &[alive.clone().into()],
                until,
            )
            .await?;
        if backend.len() != alive.len() {
            return Err(ProbeError::Gone);
        }
        let pairs: Vec<(u64, i64)> = alive.into_iter().zip(backend).collect();
        let session = world.world().session();
        let mut names = Vec::with_capacity(pairs.len());
        for window in pairs.chunks(WINDOW) {
            let calls: Vec<_> = window
                .iter()
                .map(|(node, backend_node_id)| {
                    let params = GetPartialAxTreeParams {
                        backend_node_id: Some(BackendNodeId::new(*backend_node_id)),
                        fetch_relatives: Some(false),
                        ..GetPartialAxTreeParams::default()
                    };
                    (*node, *backend_node_id, session.request(params, until))
                })
                .collect();
            for (node, backend_node_id, call) in calls {
                let reply = match call.await.map_err(ProbeError::from) {
                    Ok(reply) => reply,
                    // Chrome refuses nodes that left the document meanwhile.
                    Err(ProbeError::Wire(cuebook_cdp::CallError::Protocol { .. })) => continue,
                    Err(error) => return Err(error),
                };
                let tree: AxTree<'_> = reply.parse()?;
                let seen = tree.nodes.iter().find(|seen| seen.backend_dom_node_id == Some(backend_node_id));
                if let Some(seen) = seen {
                    names.push((world.key(node), facts(seen)));
                }
            }
        }
        Ok(names)
    }
}

fn facts(node: &AxNode<'_>) -> AxFacts {
    let text = |value: &Option<cuebook_cdp::wire::accessibility::AxValue<'_>>| {
        value
            .as_ref()
            .and_then(cuebook_cdp::wire::accessibility::AxValue::as_text)
            .map(|text| text.chars().take(2_000).collect::<String>())
            .filter(|text| !text.is_empty())
    };
    AxFacts {
        role: text(&node.role).as_deref().and_then(aria_role),
        name: text(&node.name).unwrap_or_default(),
        description: text(&node.description),
        ignored: node.ignored,
    }
}

/// The ARIA role for the name that Chromium gives a role on the protocol
/// (`ui/accessibility/ax_enums.mojom`, `AXNode` of the inspector).
fn aria_role(name: &str) -> Option<Role> {
    Role::parse(name).or_else(|| {
        Some(match name {
            "image" | "Canvas" => Role::Img,
            "RootWebArea" => Role::Document,
            "DisclosureTriangle" | "DisclosureTriangleGrouped" | "PopUpButton" | "ToggleButton" => Role::Button,
            // The scripts name these, in view or not, and find them by that.
            "ColorWell" | "Date" | "DateTime" | "InputTime" => return None,
            "LabelText"
            | "StaticText"
            | "InlineTextBox"
            | "LineBreak"
            | "Section"
            | "Abbr"
            | "Ruby"
            | "Pre"
            | "EmbeddedObject"
            | "Iframe"
            | "IframePresentational"
            | "Video"
            | "Audio"
            | "PluginObject"
            | "Legend"
            | "Figcaption"
            | "FigureCaption"
            | "Client"
            | "Unknown"
            | "Label" => Role::Generic,
            "Details" => Role::Group,
            "DescriptionList" => Role::List,
            "DescriptionListTerm" => Role::Term,
            "DescriptionListDetail" => Role::Definition,
            "HeaderAsNonLandmark"
            | "FooterAsNonLandmark"
            | "SectionHeader"
            | "SectionFooter"
            | "SectionWithoutName" => Role::Generic,
            "MenuListPopup" => Role::ListBox,
            "MenuListOption" | "ListBoxOption" => Role::Option,
            "TextField" | "TextFieldWithComboBox" => Role::TextBox,
            "ComboBoxMenuButton" | "ComboBoxSelect" | "ComboBoxGrouping" => Role::ComboBox,
            "LayoutTable" | "LayoutTableRow" | "LayoutTableCell" => Role::Generic,
            "gridCell" => Role::GridCell,
            "SvgRoot" => Role::GraphicsDocument,
            "MathMLMath" => Role::Math,
            "Mark" => Role::Mark,
            "Time" => Role::Time,
            "Abbreviation" => Role::Generic,
            "none" => Role::None,
            _ => return None,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chromiums_own_role_names_read_as_aria_roles() {
        assert_eq!(aria_role("button"), Some(Role::Button));
        assert_eq!(aria_role("DisclosureTriangle"), Some(Role::Button));
        assert_eq!(aria_role("LabelText"), Some(Role::Generic));
        assert_eq!(aria_role("ColorWell"), None, "a role that only the browser sees finds nothing");
        assert_eq!(aria_role("something new"), None);
    }
}
