//! Variants merged into one object, for dialects without unions at their root or without room for them.
//!
//! What is merged says less: which options belong to which select, or that text excludes a secret, is lost,
//! and `check` finds it.

use std::collections::BTreeSet;

use serde_json::Value;

use super::emission::Loss;
use super::schema_writer::{Style, Writer};
use crate::ir::{Document, Member, Node, Presence, Text, Union, Variant};

/// One tool.
pub(super) struct Tool {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) parameters: Value,
    /// How many parameters are optional.
    pub(super) optional: u64,
}

/// One tool a verb, with its conditions but those before a step: each tool has a schema of its own, which the unions
/// of both sides would fill.
pub(super) fn tools(document: &Document, style: Style) -> (Vec<Tool>, Vec<Loss>) {
    let (tools, mut lost) = written(document, Style { references: false, ..style }, &|name| name != "pre");
    lost.push(Loss::Preconditions);
    (tools, lost)
}

/// What plain tools leave out, so that they stay small.
const NOT_PLAIN: &[&str] =
    &["pre", "post", "estimatedRisk", "confidence", "timeoutMs", "position", "toPosition", "dryRun"];

/// One tool for each verb, with its main parameters and an explanation.
pub(super) fn plain_tools(document: &Document, style: Style) -> (Vec<Tool>, Vec<Loss>) {
    let (tools, mut lost) = written(document, style, &|name| !NOT_PLAIN.contains(&name));
    lost.push(Loss::Conditions);
    (tools, lost)
}

fn written(document: &Document, style: Style, keeps: &dyn Fn(&str) -> bool) -> (Vec<Tool>, Vec<Loss>) {
    let mut writer = Writer::new(document, style);
    let mut lost = BTreeSet::new();
    let mut tools: Vec<Tool> = Vec::new();
    let groups = by_name(document);
    for (name, variants) in groups {
        let members: Vec<Member> = if variants.len() > 1 {
            lost.insert(Loss::Combinations);
            merged(document, &variants)
        } else {
            variants.first().map(|variant| variant.members.clone()).unwrap_or_default()
        };
        // A registered action is a tool of its own: its arguments are the tool's.
        let (name, members) = match members.iter().find(|member| member.name == "args") {
            Some(args) if name.starts_with("call ") => match document.resolve(&args.node) {
                Node::Object(inner) => (name.trim_start_matches("call ").to_owned(), inner.clone()),
                _ => continue,
            },
            _ => (name, members),
        };
        let kept = members.into_iter().filter(|member| keeps(&member.name));
        let members: Vec<Member> =
            kept.map(|member| Member { node: ungrouped(document, &member.node), ..member }).collect();
        let optional = members.iter().filter(|member| member.presence == Presence::Optional).count() as u64;
        let description = variants.first().map(|variant| variant.description.clone()).unwrap_or_default();
        tools.push(Tool { name, description, parameters: writer.object(None, &members), optional });
    }
    lost.extend(writer.lost);
    // Tools are called one after the other: the order in which they may stand is the model's.
    lost.insert(Loss::LastStep);
    (tools, lost.into_iter().collect())
}

/// The node without groups of conditions, which would write the union anew for each of them.
fn ungrouped(document: &Document, node: &Node) -> Node {
    match document.resolve(node) {
        Node::Array { item, min, max } => {
            Node::Array { item: Box::new(ungrouped(document, item)), min: *min, max: *max }
        }
        Node::Union(union) if union.tag == "kind" => {
            let is_group = |variant: &&Variant| matches!(variant.name.as_str(), "allOf" | "anyOf" | "not");
            let variants = union.variants.iter().filter(|variant| !is_group(variant)).cloned().collect();
            Node::Union(Union { tag: union.tag, variants })
        }
        _ => node.clone(),
    }
}

/// The variants of the last step, which hold those of the others, by verb; registered actions each by itself.
fn by_name(document: &Document) -> Vec<(String, Vec<&Variant>)> {
    let Node::Object(members) = &document.root else { return Vec::new() };
    let last = members.iter().find(|member| member.name == "last").map(|member| document.resolve(&member.node));
    let Some(Node::Union(union)) = last else { return Vec::new() };
    let mut groups: Vec<(String, Vec<&Variant>)> = Vec::new();
    for variant in &union.variants {
        let registered = variant.members.first().filter(|member| variant.name == "call" && member.name == "name");
        let name = match registered.map(|member| document.resolve(&member.node)) {
            Some(Node::Enum(values)) => {
                format!("call {}", values.first().and_then(Value::as_str).unwrap_or_default())
            }
            _ => variant.name.clone(),
        };
        match groups.iter_mut().find(|(known, _)| *known == name) {
            Some((_, variants)) => variants.push(variant),
            None => groups.push((name, vec![variant])),
        }
    }
    groups
}

/// One step of every verb: `type`, and every parameter that any of them has.
pub(super) fn merged_step(document: &Document, node: &Node) -> Node {
    let Node::Union(union) = document.resolve(node) else { return node.clone() };
    let mut verbs: Vec<Value> = Vec::new();
    for variant in &union.variants {
        let verb = Value::from(variant.name.as_str());
        if !verbs.contains(&verb) {
            verbs.push(verb);
        }
    }
    let variants: Vec<&Variant> = union.variants.iter().collect();
    let parameters = merged(document, &variants).into_iter().filter(|member| {
        let keeps = !matches!(member.name.as_str(), "pre" | "post" | "condition" | "confidence" | "query" | "args");
        keeps && !matches!(document.resolve(&member.node), Node::Object(_) | Node::Union(_))
    });
    let mut members = vec![Member { name: "type".to_owned(), node: Node::Enum(verbs), presence: Presence::Required }];
    members.extend(parameters);
    Node::Object(members)
}

/// The members of all variants: required where every one requires them.
fn merged(document: &Document, variants: &[&Variant]) -> Vec<Member> {
    let mut members: Vec<Member> = Vec::new();
    for variant in variants {
        for member in &variant.members {
            match members.iter_mut().find(|known| known.name == member.name) {
                Some(known) => known.node = joined(document, &known.node, &member.node),
                None => members.push(member.clone()),
            }
        }
    }
    for member in &mut members {
        let everywhere = variants.iter().all(|variant| {
            variant.members.iter().any(|own| own.name == member.name && own.presence == Presence::Required)
        });
        member.presence = if everywhere { Presence::Required } else { Presence::Optional };
    }
    members
}

/// A node that takes what either takes, and perhaps more.
fn joined(document: &Document, a: &Node, b: &Node) -> Node {
    if a == b {
        return a.clone();
    }
    match (document.resolve(a), document.resolve(b)) {
        (Node::Enum(a), Node::Enum(b)) => {
            let mut values = a.clone();
            values.extend(b.iter().filter(|value| !a.contains(value)).cloned());
            Node::Enum(values)
        }
        (Node::Integer { min: a, max: b }, Node::Integer { min: c, max: d }) => {
            Node::Integer { min: *a.min(c), max: *b.max(d) }
        }
        (Node::Array { item: a, min: least_a, max: most_a }, Node::Array { item: b, min: least_b, max: most_b }) => {
            Node::Array { item: Box::new(joined(document, a, b)), min: *least_a.min(least_b), max: *most_a.max(most_b) }
        }
        (Node::Object(a), Node::Object(b)) => {
            let variant = |members: &[Member]| Variant {
                name: String::new(),
                description: String::new(),
                members: members.to_vec(),
            };
            Node::Object(merged(document, &[&variant(a), &variant(b)]))
        }
        (Node::Union(a), Node::Union(b)) => {
            if a.variants.len() >= b.variants.len() {
                Node::Union(a.clone())
            } else {
                Node::Union(b.clone())
            }
        }
        // Text takes whatever words, numbers as digits included; the reader knows what they stand for.
        _ => Node::Text(Text::Free { min: 0, max: 1_000 }),
    }
}
