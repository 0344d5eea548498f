//! What may be written, in words: a line for each action and each condition of a grammar.

use cuebook_grammar::decode::ir::{Document, Node, Presence, Union};

/// What every step may have besides its parameters.
const COMMON: [&str; 5] = ["pre", "post", "explanation", "estimatedRisk", "confidence"];

/// The actions, one a line, with their parameters and what they are for; those that only the last step may be are
/// said to be.
pub(super) fn actions(document: &Document) -> String {
    let step = document.definitions.iter().find(|definition| definition.name == "step");
    let last = document.definitions.iter().find(|definition| definition.name == "last");
    let union = |node: Option<&Node>| match node {
        Some(Node::Union(union)) => listed(union, &COMMON),
        _ => Vec::new(),
    };
    let within = union(step.map(|definition| &definition.node));
    let whole = union(last.map(|definition| &definition.node));
    let is_within = |verb: &str| within.iter().any(|entry| entry.name == verb);
    let lines = whole.iter().map(|entry| {
        let place = if is_within(&entry.name) { "" } else { " (last step only)" };
        format!("- {}: {}{place}", entry.signature(), entry.description)
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The conditions, one a line.
pub(super) fn conditions(document: &Document) -> String {
    let found = ["lastCondition", "condition"]
        .iter()
        .find_map(|name| document.definitions.iter().find(|definition| definition.name == *name));
    match found.map(|definition| &definition.node) {
        Some(Node::Union(union)) => {
            let entries = listed(union, &[]);
            entries.iter().map(Entry::signature).collect::<Vec<_>>().join(", ")
        }
        _ => String::new(),
    }
}

struct Entry {
    name: String,
    description: String,
    members: Vec<(String, Presence)>,
}

impl Entry {
    fn signature(&self) -> String {
        let members: Vec<String> = self
            .members
            .iter()
            .map(|(name, presence)| if *presence == Presence::Optional { format!("{name}?") } else { name.clone() })
            .collect();
        format!("{}({})", self.name, members.join(", "))
    }
}

/// The variants of a union, those of one name in one entry: a member that one of them lacks is optional.
fn listed(union: &Union, but: &[&str]) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    for variant in &union.variants {
        let members: Vec<(String, Presence)> = variant
            .members
            .iter()
            .filter(|member| !but.contains(&member.name.as_str()))
            .map(|member| (member.name.clone(), member.presence))
            .collect();
        let Some(entry) = entries.iter_mut().find(|entry| entry.name == variant.name) else {
            let (name, description) = (variant.name.clone(), variant.description.clone());
            entries.push(Entry { name, description, members });
            continue;
        };
        for (name, presence) in &mut entry.members {
            let other = members.iter().find(|(other, _)| other == name);
            if other.is_none_or(|(_, presence)| *presence == Presence::Optional) {
                *presence = Presence::Optional;
            }
        }
        let new = members.into_iter().filter(|(name, _)| !entry.members.iter().any(|(known, _)| known == name));
        let new: Vec<_> = new.map(|(name, _)| (name, Presence::Optional)).collect();
        entry.members.extend(new);
    }
    entries
}
