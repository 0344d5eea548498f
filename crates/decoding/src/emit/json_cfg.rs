//! Compact JSON as a grammar of characters.

use super::cfg::{Cfg, Expression, Rule, Started, members, rule_name};
use crate::ir::{Document, Member, Node, Presence, Text};

pub(crate) fn of(document: &Document) -> Cfg {
    let mut rules = vec![Rule { name: "root".to_owned(), expression: node(document, &document.root) }];
    for definition in &document.definitions {
        rules.push(Rule { name: rule_name(&definition.name), expression: node(document, &definition.node) });
    }
    Cfg { rules }.without_unused()
}

fn node(document: &Document, value: &Node) -> Expression {
    match value {
        Node::Reference(index) => Expression::Rule(rule_name(&document.definition(*index).name)),
        Node::Object(list) => object(document, None, list),
        Node::Union(union) => {
            let included = union.includes.iter().map(|index| node(document, &Node::Reference(*index)));
            let forms = union.forms().into_iter();
            let own = forms.map(|(names, members)| object(document, Some((union.tag, &names)), members));
            Expression::Choice(included.chain(own).collect())
        }
        Node::Enum(values) => {
            Expression::Choice(values.iter().map(|value| Expression::literal(value.to_string())).collect())
        }
        Node::Text(Text::Free { min, max }) => Expression::JsonString(*min, *max),
        Node::Text(Text::Pattern { max }) => Expression::Pattern(*max),
        Node::Text(Text::Chord) => Expression::chord().quoted(),
        Node::Text(Text::Url { origins, max }) => Expression::url(origins, *max),
        Node::Integer { min, max } => Expression::Integer(*min, *max),
        Node::Boolean => Expression::Choice(vec![Expression::literal("true"), Expression::literal("false")]),
        Node::Array { item, min, max } => array(node(document, item), *min, *max),
    }
}

/// An array of `min` to `max` items, for forms that write them in brackets with commas.
pub(crate) fn array(item: Expression, min: u32, max: u32) -> Expression {
    let open = Expression::literal("[");
    let close = Expression::literal("]");
    if max == 0 {
        return Expression::Sequence(vec![open, close]);
    }
    let more = Expression::Sequence(vec![Expression::literal(","), item.clone()]);
    let items = if max == 1 {
        item
    } else {
        Expression::Sequence(vec![item, Expression::Repeat(Box::new(more), min.saturating_sub(1), max - 1)])
    };
    let items = if min == 0 { items.optional() } else { items };
    Expression::Sequence(vec![open, items, close])
}

fn object(document: &Document, tag: Option<(&str, &[&str])>, list: &[Member]) -> Expression {
    let written = |member: &Member| {
        let name = Expression::literal(format!("{}:", serde_json::Value::from(member.name.as_str())));
        (Expression::Sequence(vec![name, node(document, &member.node)]), member.presence)
    };
    let mut parts = vec![Expression::literal("{")];
    let started = match tag {
        Some((tag, names)) => {
            parts.push(Expression::literal(format!("\"{tag}\":")));
            let quoted = |name: &&str| Expression::literal(serde_json::Value::from(*name).to_string());
            // A choice even of one: a lexer that takes the longest literal never goes back from it.
            parts.push(Expression::Choice(names.iter().map(quoted).collect()));
            Started::Yes
        }
        None => Started::No,
    };
    let listed: Vec<(Expression, Presence)> = list.iter().map(written).collect();
    parts.push(members(listed, started));
    parts.push(Expression::literal("}"));
    Expression::Sequence(parts)
}
