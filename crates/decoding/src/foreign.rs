//! Arguments of registered actions, written into the intermediate form within the bounds of a grammar.

use cuebook_grammar::arguments::Shape;

use crate::caps::Caps;
use crate::ir::{Member, Node, Presence, Text};

/// The most items of an array that states no bound, and of any.
const ITEMS: (u32, u32) = (8, 100);
/// The least and the greatest integer where no bound is stated.
const INTEGERS: (i64, i64) = (-1_000_000, 1_000_000);

/// The node for arguments of a shape; `None` if nothing fits both the shape and the bounds.
pub(super) fn node(shape: &Shape, caps: &Caps) -> Option<Node> {
    let whole = |count: u64| u32::try_from(count).unwrap_or(u32::MAX);
    Some(match shape {
        Shape::Object(properties) => {
            let members = properties.iter().map(|property| {
                let presence = if property.is_required { Presence::Required } else { Presence::Optional };
                Some(Member { name: property.name.clone(), node: node(&property.shape, caps)?, presence })
            });
            Node::Object(members.collect::<Option<_>>()?)
        }
        Shape::Array { item, max } => {
            let max = max.map_or(ITEMS.0, whole).min(ITEMS.1);
            Node::Array { item: Box::new(node(item, caps)?), min: 0, max }
        }
        Shape::Text { min, max } => {
            let (min, max) = (whole(*min), max.map_or(caps.text, whole).min(caps.answer));
            (min <= max).then_some(Node::Text(Text::Free { min, max }))?
        }
        Shape::Integer { min, max } => {
            let (min, max) = (min.unwrap_or(INTEGERS.0), max.unwrap_or(INTEGERS.1));
            (min <= max).then_some(Node::Integer { min, max })?
        }
        Shape::Boolean => Node::Boolean,
        Shape::OneOf(values) => Node::Enum(values.clone()),
    })
}
