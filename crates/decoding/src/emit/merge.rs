//! Variants merged into one object, for dialects without unions at their root or without room for them.
//!
//! Merging loses constraints: which options belong to which select, or the rule that text excludes a secret. `check`
//! finds violations of them.

use std::collections::BTreeSet;

use serde_json::Value;

use super::emission::Loss;
use super::schema_writer::{Style, Writer};
use crate::ir::{Document, Member, Node, Presence, Text, Union, Variant};
use crate::toolset::{GOAL, GOAL_TOOL, THOUGHT, tool_of, tool_of_registered, verbs_of};

/// One tool before a provider's wrapping: a verb, several verbs that share it, or a registered action.
pub(super) struct Tool {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) parameters: Value,
}

/// Members that tools leave out to stay small: how a step is judged, bounded and explained, and those with a default.
const NOT_PLAIN: &[&str] = &[
    "pre",
    "post",
    "explanation",
    "estimatedRisk",
    "confidence",
    "timeoutMs",
    "position",
    "toPosition",
    "dryRun",
    "quietMs",
    "context",
    "scope",
];

/// At most twenty tools beside registered actions: the verbs of the table in `toolset` share theirs.
pub(super) fn tools(document: &Document, style: Style) -> (Vec<Tool>, Vec<Loss>) {
    let mut writer = Writer::new(document, style);
    // Tools are called one after the other: the order in which they may stand is the model's.
    let mut lost = BTreeSet::from([Loss::Conditions, Loss::LastStep]);
    let mut tools: Vec<Tool> = Vec::new();
    let thought = match &document.root {
        Node::Object(members) => members.iter().find(|member| member.name == "reasoningSummary"),
        _ => None,
    };
    let thought = thought.map_or(Node::Text(Text::Free { min: 0, max: 600 }), |member| member.node.clone());
    for (name, variants) in by_tool(document) {
        if variants.len() > 1 {
            lost.insert(Loss::Combinations);
        }
        // A registered action is a tool of its own: its arguments are the tool's.
        let args = variants.first().and_then(|variant| variant.members.iter().find(|member| member.name == "args"));
        let mut members = match args.map(|args| document.resolve(&args.node)) {
            Some(Node::Object(inner)) => inner.clone(),
            _ => merged(document, &variants),
        };
        members.retain(|member| !NOT_PLAIN.contains(&member.name.as_str()));
        if verbs_of(&name).is_some() {
            members.insert(0, verb_among(&variants));
        }
        if name == GOAL_TOOL
            && let Some(Member { node: Node::Enum(verbs), .. }) = members.first_mut()
        {
            verbs.push(GOAL.into());
        }
        let mut members: Vec<Member> = members
            .into_iter()
            .map(|member| Member { node: without_choices(document, &member.node), ..member })
            .collect();
        // Servers that require a call suppress text before it, so the thought is a parameter, and the first.
        let thinks = !members.iter().any(|member| member.name == THOUGHT);
        if thinks {
            members.insert(0, Member { name: THOUGHT.to_owned(), node: thought.clone(), presence: Presence::Required });
        }
        let mut parameters = writer.object(None, &members);
        if thinks && let Some(Value::Object(schema)) = parameters.pointer_mut("/properties/thought") {
            schema.insert("description".to_owned(), "What is missing, and what this does about it".into());
        }
        let definitions = writer.definitions(&parameters);
        if let Value::Object(parameters) = &mut parameters
            && !definitions.is_empty()
        {
            parameters.insert("$defs".to_owned(), Value::Object(definitions));
        }
        let mut description = described(&variants);
        if name == GOAL_TOOL {
            description.push_str(". goal(condition): No step, but what will hold when the task is done");
        }
        tools.push(Tool { name, description, parameters });
    }
    lost.extend(writer.lost);
    (tools, lost.into_iter().collect())
}

/// The parameter that tells the verbs of a tool apart.
fn verb_among(variants: &[&Variant]) -> Member {
    let mut verbs: Vec<Value> = Vec::new();
    for variant in variants {
        let verb = Value::from(variant.name.as_str());
        if !verbs.contains(&verb) {
            verbs.push(verb);
        }
    }
    Member { name: "type".to_owned(), node: Node::Enum(verbs), presence: Presence::Required }
}

/// Returns the description of a tool; for a tool of several verbs, each verb with its parameters.
fn described(variants: &[&Variant]) -> String {
    let mut told: Vec<(&str, String)> = Vec::new();
    let is_alone = variants.iter().all(|variant| variant.name == variants[0].name);
    for variant in variants {
        if told.iter().any(|(name, _)| *name == variant.name) {
            continue;
        }
        let own = variant.members.iter().filter(|member| !NOT_PLAIN.contains(&member.name.as_str()));
        let own: Vec<String> = own
            .map(|member| format!("{}{}", member.name, if member.presence == Presence::Optional { "?" } else { "" }))
            .collect();
        let text = &variant.description;
        told.push((
            &variant.name,
            if is_alone { text.clone() } else { format!("{}({}): {text}", variant.name, own.join(", ")) },
        ));
    }
    told.into_iter().map(|(_, text)| text).collect::<Vec<_>>().join(". ")
}

/// The node with conditions that have no groups and no parts to leave out: each of either would be written anew.
fn without_choices(document: &Document, node: &Node) -> Node {
    let Node::Union(union) = document.resolve(node) else { return node.clone() };
    let is_group = |variant: &&Variant| matches!(variant.name.as_str(), "allOf" | "anyOf" | "not" | "becomes");
    let is_firm = |member: &&Member| member.presence == Presence::Required || member.node == Node::Boolean;
    let plain = |variant: &Variant| Variant {
        members: variant
            .members
            .iter()
            .filter(is_firm)
            .map(|member| Member { presence: Presence::Required, ..member.clone() })
            .collect(),
        ..variant.clone()
    };
    let variants = document.variants(union).into_iter().filter(|variant| !is_group(variant));
    Node::Union(Union::of(union.tag, variants.map(plain).collect()))
}

/// The variants of the last step, which hold those of the others, by tool; registered actions each by itself.
fn by_tool(document: &Document) -> Vec<(String, Vec<&Variant>)> {
    let Node::Object(members) = &document.root else { return Vec::new() };
    let last = members.iter().find(|member| member.name == "last").map(|member| document.resolve(&member.node));
    let Some(Node::Union(union)) = last else { return Vec::new() };
    let mut groups: Vec<(String, Vec<&Variant>)> = Vec::new();
    for variant in document.variants(union) {
        let registered = variant.members.first().filter(|member| variant.name == "call" && member.name == "name");
        let name = match registered.map(|member| document.resolve(&member.node)) {
            Some(Node::Enum(values)) => tool_of_registered(values.first().and_then(Value::as_str).unwrap_or_default()),
            _ => tool_of(&variant.name).to_owned(),
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
    let variants = document.variants(union);
    let flat: Vec<Variant> = variants.iter().map(|variant| with_flat_query(document, variant)).collect();
    let flat: Vec<&Variant> = flat.iter().collect();
    let parameters = merged(document, &flat).into_iter().filter(|member| {
        let keeps = !matches!(member.name.as_str(), "pre" | "post" | "condition" | "confidence" | "args");
        keeps && !matches!(document.resolve(&member.node), Node::Object(_) | Node::Union(_))
    });
    let mut members = vec![verb_among(&variants)];
    members.extend(parameters);
    Node::Object(members)
}

/// The variant with the parts of its query as members of its own, which is how the reader takes them too. Their words are
/// texts: the budget has no room for more enums.
fn with_flat_query(document: &Document, variant: &Variant) -> Variant {
    fn spelled(node: &Node) -> Node {
        match node {
            Node::Enum(_) => Node::Text(Text::Free { min: 1, max: 20 }),
            Node::Object(members) => Node::Object(
                members.iter().map(|member| Member { node: spelled(&member.node), ..member.clone() }).collect(),
            ),
            Node::Array { item, min, max } => Node::Array { item: Box::new(spelled(item)), min: *min, max: *max },
            other => other.clone(),
        }
    }
    let flat = variant.members.iter().flat_map(|member| match document.resolve(&member.node) {
        Node::Object(parts) if member.name == "query" => {
            parts.iter().map(|part| Member { node: spelled(&part.node), ..part.clone() }).collect()
        }
        _ => vec![member.clone()],
    });
    Variant { members: flat.collect(), ..variant.clone() }
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
            if document.variants(a).len() >= document.variants(b).len() {
                Node::Union(a.clone())
            } else {
                Node::Union(b.clone())
            }
        }
        // Text takes whatever words, numbers as digits included; the reader knows what they stand for.
        _ => Node::Text(Text::Free { min: 0, max: 1_000 }),
    }
}
