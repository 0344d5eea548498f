//! A grammar in words: one line for each action, and its conditions.
//!
//! Invariant: it contains no text of a page, even if the grammar does.

use cuebook_decoding::ir::{Document, Member, Node, Presence, Text, Union};

use cuebook_grammar::id::CandidateId;
use cuebook_grammar::render::one_line;

/// The members that every step may have besides its parameters.
const COMMON: [&str; 6] = ["pre", "post", "timeoutMs", "explanation", "estimatedRisk", "confidence"];

/// The actions, one per line, with parameters and purpose. Those that only the last step may be are marked.
pub(super) fn actions(document: &Document) -> String {
    let step = document.definitions.iter().find(|definition| definition.name == "step");
    let last = document.definitions.iter().find(|definition| definition.name == "last");
    let union = |node: Option<&Node>| match node {
        Some(Node::Union(union)) => listed(document, union, &COMMON),
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

/// The conditions, in one line.
pub(super) fn conditions(document: &Document) -> String {
    let found = ["lastOutcome", "condition"]
        .iter()
        .find_map(|name| document.definitions.iter().find(|definition| definition.name == *name));
    match found.map(|definition| &definition.node) {
        Some(Node::Union(union)) => {
            let entries = listed(document, union, &[]);
            entries.iter().map(Entry::signature).collect::<Vec<_>>().join(", ")
        }
        _ => String::new(),
    }
}

struct Entry {
    name: String,
    description: String,
    members: Vec<Parameter>,
}

#[derive(Clone)]
struct Parameter {
    name: String,
    presence: Presence,
    /// Its possible values, if they are few.
    values: Option<String>,
}

/// Parameters whose values come from the page, as ids of candidates do. The section of the page states them, as data.
const OF_THE_PAGE: [&str; 2] = ["option", "role"];

/// Parameters that are for plans of people and programs: points within a target, and steps that are only tried.
const UNSAID: [&str; 3] = ["position", "toPosition", "dryRun"];

/// Upper bound of the listed values of a parameter.
const VALUES: usize = 12;

impl Entry {
    fn signature(&self) -> String {
        let members: Vec<String> = self
            .members
            .iter()
            .map(|Parameter { name, presence, values }| {
                let mark = if *presence == Presence::Optional { "?" } else { "" };
                let values = values.as_ref().map(|values| format!("={values}")).unwrap_or_default();
                format!("{name}{mark}{values}")
            })
            .collect();
        format!("{}({})", self.name, members.join(", "))
    }
}

fn is_id(value: &serde_json::Value) -> bool {
    value.as_str().is_some_and(|text| CandidateId::parse(text).is_some())
}

/// The possible values of a node: `up/down`, `{kind=text/html, name?}`.
fn values(document: &Document, name: &str, node: &Node) -> Option<String> {
    match document.resolve(node) {
        // Shares, in tenths.
        Node::Enum(values) if values.iter().all(serde_json::Value::is_number) && values.len() > 4 => {
            Some(format!("{}–{}", values.first()?, values.last()?))
        }
        Node::Enum(values) if !OF_THE_PAGE.contains(&name) && !values.iter().all(is_id) => {
            let mut shown: Vec<String> = values
                .iter()
                .take(VALUES)
                .map(|value| value.as_str().map_or_else(|| value.to_string(), |text| one_line(text, 40)))
                .collect();
            if values.len() > VALUES {
                shown.push("…".to_owned());
            }
            Some(shown.join("/"))
        }
        Node::Boolean => Some("true/false".to_owned()),
        Node::Text(Text::Chord) => Some("Enter/Tab/Escape/Space/Backspace/ArrowDown/PageDown/Control+A/…".to_owned()),
        Node::Array { item, .. } => values(document, name, item).map(|inner| format!("[{inner}]")),
        Node::Object(members) => {
            let inner = parameters(document, members, &[]);
            let entry = Entry { name: String::new(), description: String::new(), members: inner };
            let signature = entry.signature();
            Some(format!("{{{}}}", signature.trim_start_matches('(').trim_end_matches(')')))
        }
        _ => None,
    }
}

fn parameters(document: &Document, members: &[Member], but: &[&str]) -> Vec<Parameter> {
    let is_said = |name: &str| !but.contains(&name) && !UNSAID.contains(&name);
    let stated = members.iter().filter(|member| is_said(&member.name));
    stated
        .map(|member| Parameter {
            name: member.name.clone(),
            presence: member.presence,
            values: values(document, &member.name, &member.node),
        })
        .collect()
}

/// The values of either variant, unless they are any or many.
fn either(a: Option<String>, b: Option<&str>) -> Option<String> {
    a.zip(b).map(|(a, b)| format!("{a} or {b}")).filter(|both| both.len() <= 320)
}

/// The variants of a union, merged by name: a member that one of them lacks is optional, and one whose values differ is
/// listed with those of all, if they are few.
fn listed(document: &Document, union: &Union, but: &[&str]) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    for variant in document.variants(union) {
        let members = parameters(document, &variant.members, but);
        let Some(entry) = entries.iter_mut().find(|entry| entry.name == variant.name) else {
            let (name, description) = (variant.name.clone(), variant.description.clone());
            entries.push(Entry { name, description, members });
            continue;
        };
        for known in &mut entry.members {
            let other = members.iter().find(|other| other.name == known.name);
            if other.is_none_or(|other| other.presence == Presence::Optional) {
                known.presence = Presence::Optional;
            }
            if let Some(other) = other.filter(|other| other.values != known.values) {
                known.values = either(known.values.take(), other.values.as_deref());
            }
        }
        let new = members.into_iter().filter(|member| !entry.members.iter().any(|known| known.name == member.name));
        let new: Vec<Parameter> = new.map(|member| Parameter { presence: Presence::Optional, ..member }).collect();
        entry.members.extend(new);
    }
    entries
}
