//! A grammar in words: one line for each action, and its conditions.
//!
//! Invariant: it contains no text of a page, even if the grammar does.

use cuebook_decoding::ir::{Document, Member, Node, Presence, Text, Union, Variant};

use cuebook_grammar::id::CandidateId;
use cuebook_grammar::render::one_line;

/// The members that every step may have besides its parameters.
const COMMON: [&str; 6] = ["pre", "post", "timeoutMs", "explanation", "estimatedRisk", "confidence"];

/// Steps whose name and parameters say what they do.
const SELF_EVIDENT: [&str; 26] = [
    "navigate",
    "goBack",
    "reload",
    "waitFor",
    "scroll",
    "scrollUntil",
    "searchPage",
    "click",
    "clear",
    "press",
    "select",
    "hover",
    "focus",
    "dragTo",
    "longPress",
    "check",
    "uncheck",
    "upload",
    "acceptDialog",
    "dismissDialog",
    "snapshot",
    "call",
    "finish",
    "fail",
    "askUser",
    "setValue",
];

/// The steps, with parameters, and a purpose where these do not tell it. Those that are alike are in one line, and so are
/// those that only the last step may be. Without those that show more of a page that `is_whole`.
pub(super) fn actions(document: &Document, is_whole: bool) -> String {
    let union = |name: &str| match document.definitions.iter().find(|definition| definition.name == name) {
        Some(definition) => match &definition.node {
            Node::Union(union) => listed(document, union, &COMMON),
            _ => Vec::new(),
        },
        None => Vec::new(),
    };
    let within = union("step");
    let (within, last): (Vec<Entry>, Vec<Entry>) =
        union("last").into_iter().partition(|entry| within.iter().any(|known| known.name == entry.name));
    let is_said = |entry: &Entry| !is_whole || !SHOWING_MORE.contains(&entry.name.as_str());
    let within: Vec<Entry> = within.into_iter().filter(is_said).collect();
    let mut lines = alike(&within);
    if !last.is_empty() {
        lines.push(format!("As the last step only: {}", alike(&last).join("; ")));
    }
    lines.join("\n")
}

/// The signatures, with those of the same parameters as one: `hover, focus(targetRef)`.
fn alike(entries: &[Entry]) -> Vec<String> {
    let mut groups: Vec<(Vec<&str>, String)> = Vec::new();
    for entry in entries {
        let is_plain = SELF_EVIDENT.contains(&entry.name.as_str()) || entry.description.is_empty();
        let purpose = if is_plain { String::new() } else { format!(": {}", entry.description) };
        let rest = entry.parameters() + &purpose;
        match groups.iter_mut().find(|(_, known)| *known == rest) {
            Some((names, _)) => names.push(&entry.name),
            None => groups.push((vec![&entry.name], rest)),
        }
    }
    groups.into_iter().map(|(names, rest)| names.join(", ") + &rest).collect()
}

/// The conditions, in one line.
pub(super) fn conditions(document: &Document) -> String {
    let found = ["lastOutcome", "condition"]
        .iter()
        .find_map(|name| document.definitions.iter().find(|definition| definition.name == *name));
    match found.map(|definition| &definition.node) {
        Some(Node::Union(union)) => {
            let entries = listed(document, union, &[]);
            // Conditions say what they mean by their names.
            let bare: Vec<Entry> = entries.into_iter().map(|one| Entry { description: String::new(), ..one }).collect();
            alike(&bare).join("; ")
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

/// Parameters that are for plans of people and programs: points within a target, steps that are only tried, distances.
const UNSAID: [&str; 7] = ["position", "toPosition", "dryRun", "deltaX", "deltaY", "timeoutMs", "dialog"];

/// Steps and conditions that a model hardly needs, and may use all the same: each name is read with every page.
const RARE: [&str; 32] = [
    "goForward",
    "assert",
    "screenshot",
    "selectText",
    "waitForIdle",
    "getDom",
    "snapshot",
    "findElements",
    "focus",
    "longPress",
    "exists",
    "absent",
    "focused",
    "ariaState",
    "nameEquals",
    "requestObserved",
    "editable",
    "inViewport",
    "attrEquals",
    "propertyEquals",
    "elementTextEquals",
    "descriptionEquals",
    "errorMessageEquals",
    "matches",
    "roleEquals",
    "classContains",
    "titleMatches",
    "networkIdle",
    "downloadStarted",
    "anyEffect",
    "allOf",
    "becomes",
];

/// Parameters whose values their names bring to mind.
const EVIDENT: [&str; 4] = ["button", "modifiers", "method", "regex"];

/// Values that a model hardly needs. Objects that allow nothing else are not listed.
const RARE_VALUES: [&str; 4] = ["html", "outerHtml", "metadata", "attribute"];

/// Steps that show more of the page, if there is more.
const SHOWING_MORE: [&str; 3] = ["scroll", "scrollUntil", "searchPage"];

/// Upper bound of the listed values of a parameter.
const VALUES: usize = 12;

impl Entry {
    /// `(target, text?)`, in parentheses.
    fn parameters(&self) -> String {
        let members: Vec<String> = self
            .members
            .iter()
            .map(|Parameter { name, presence, values }| {
                let mark = if *presence == Presence::Optional { "?" } else { "" };
                let values = values.as_ref().map(|values| format!("={values}")).unwrap_or_default();
                format!("{name}{mark}{values}")
            })
            .collect();
        format!("({})", members.join(", "))
    }
}

fn is_rare(value: &serde_json::Value) -> bool {
    value.as_str().is_some_and(|text| RARE_VALUES.contains(&text))
}

fn is_all_rare(document: &Document, node: &Node) -> bool {
    matches!(document.resolve(node), Node::Enum(values) if values.iter().all(is_rare))
}

fn is_id(value: &serde_json::Value) -> bool {
    value.as_str().is_some_and(|text| CandidateId::parse(text).is_some())
}

/// The possible values of a node: `up/down`, `{kind=text/html, name?}`.
fn values(document: &Document, name: &str, node: &Node) -> Option<String> {
    match document.resolve(node) {
        _ if EVIDENT.contains(&name) => None,
        // Shares, in tenths.
        Node::Enum(values) if values.iter().all(serde_json::Value::is_number) && values.len() > 4 => {
            Some(format!("{}–{}", values.first()?, values.last()?))
        }
        Node::Enum(values) if !OF_THE_PAGE.contains(&name) && !values.iter().all(is_id) => {
            let mut shown: Vec<String> = values
                .iter()
                .filter(|value| !is_rare(value))
                .take(VALUES)
                .map(|value| value.as_str().map_or_else(|| value.to_string(), |text| one_line(text, 40)))
                .collect();
            if values.len() > VALUES {
                shown.push("…".to_owned());
            }
            Some(shown.join("/"))
        }
        Node::Text(Text::Chord) => Some("Enter/Escape/Control+A/…".to_owned()),
        Node::Array { item, .. } => values(document, name, item).map(|inner| format!("[{inner}]")),
        Node::Object(members) if members.iter().any(|member| is_all_rare(document, &member.node)) => {
            Some(String::new())
        }
        Node::Object(members) => {
            let inner = parameters(document, members, &[]);
            let entry = Entry { name: String::new(), description: String::new(), members: inner };
            let parameters = entry.parameters();
            Some(format!("{{{}}}", parameters.trim_start_matches('(').trim_end_matches(')')))
        }
        _ => None,
    }
}

fn parameters(document: &Document, members: &[Member], but: &[&str]) -> Vec<Parameter> {
    let is_filter = |member: &Member| member.name == "pattern" && member.presence == Presence::Optional;
    let is_said = |name: &str| !but.contains(&name) && !UNSAID.contains(&name);
    let stated = members.iter().filter(|member| is_said(&member.name) && !is_filter(member));
    stated
        .map(|member| Parameter {
            name: member.name.clone(),
            presence: member.presence,
            values: values(document, &member.name, &member.node),
        })
        .collect()
}

/// An object in words up to its last values, and these.
fn last_values(object: &str) -> Option<(&str, &str)> {
    object.strip_suffix('}')?.rsplit_once('=')
}

/// The values of either variant, unless they are any or many. Objects that differ in their last values alone become one.
fn either(a: Option<String>, b: Option<&str>) -> Option<String> {
    let (a, b) = a.zip(b)?;
    if a.is_empty() || b.is_empty() {
        return Some(a + b);
    }
    let both = match (last_values(&a), last_values(b)) {
        (Some((front, of_a)), Some((other, of_b))) if front == other => format!("{front}={of_a}/{of_b}}}"),
        _ => format!("{a} or {b}"),
    };
    Some(both).filter(|both| both.len() <= 320)
}

/// The variants of a union, merged by name: a member that one of them lacks is optional, and one whose values differ is
/// listed with those of all, if they are few.
fn listed(document: &Document, union: &Union, but: &[&str]) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    let is_said = |variant: &&Variant| !RARE.contains(&variant.name.as_str());
    for variant in document.variants(union).into_iter().filter(is_said) {
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
