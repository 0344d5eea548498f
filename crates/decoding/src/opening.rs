//! How the steps of a page may begin: a verb, and the target that follows it.
//!
//! A decoder under the grammar writes both first, so a verb or an id that this page does not have shows long before the
//! step is complete.

use std::fmt;

use serde_json::Value;

use crate::ir::{Document, Node, Presence};
use crate::scan::{OpenStep, Position};

pub(crate) const TAG: &str = r#"{"type":""#;
pub(crate) const TARGET: &str = r#","targetRef":""#;
/// The most alternatives that an error lists.
const LISTED: usize = 12;

/// The verbs of a document with their targets, for the listed steps and for the last one.
#[derive(Clone, Debug)]
pub(crate) struct Openings<'d> {
    listed: Vec<Opening<'d>>,
    last: Vec<Opening<'d>>,
    /// Both: a line does not say that it is the last one.
    #[cfg(feature = "mask")]
    either: Vec<Opening<'d>>,
}

/// A verb, and the ids that may be its target. Empty where it has no target, or may do without.
#[derive(Clone, Debug)]
pub(crate) struct Opening<'d> {
    pub(crate) verb: &'d str,
    pub(crate) targets: Vec<&'d str>,
}

/// A step that begins as no step of its page does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misfit {
    /// JSON pointer of the member that does not fit.
    pub path: String,
    expected: Vec<String>,
    seen: String,
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, expected, seen } = self;
        let shown = expected.get(..LISTED).unwrap_or(expected).join(", ");
        let more = if expected.len() > LISTED { format!(", … ({} in all)", expected.len()) } else { String::new() };
        write!(f, "{path}: expected one of {shown}{more}, saw {seen:?}")
    }
}

/// A string that is being written, or complete.
#[derive(Clone, Copy)]
struct Word<'a> {
    text: &'a str,
    is_complete: bool,
}

impl<'a> Word<'a> {
    /// The word that `text` begins with, up to its closing quote, and what follows it.
    fn split(text: &'a str) -> (Self, &'a str) {
        match text.split_once('"') {
            Some((text, rest)) => (Self { text, is_complete: true }, rest),
            None => (Self { text, is_complete: false }, ""),
        }
    }

    fn may_be(&self, whole: &str) -> bool {
        if self.is_complete { whole == self.text } else { whole.starts_with(self.text) }
    }
}

/// Reads the first bytes of a step: its verb, its target if that has begun, and the text after them. Returns `None`
/// before the verb, or if another member stands before it.
fn read(head: &[u8]) -> Option<(Word<'_>, Option<Word<'_>>, &str)> {
    // A character may be cut at the end.
    let text = head.utf8_chunks().next()?.valid();
    let (verb, rest) = Word::split(text.strip_prefix(TAG)?);
    match rest.strip_prefix(TARGET).map(Word::split) {
        Some((target, rest)) => Some((verb, Some(target), rest)),
        None => Some((verb, None, rest)),
    }
}

impl<'d> Openings<'d> {
    pub(crate) fn of(document: &'d Document) -> Self {
        let member = |name: &str| match &document.root {
            Node::Object(members) => members.iter().find(|member| member.name == name).map(|member| &member.node),
            _ => None,
        };
        let item = member("steps").and_then(|steps| match document.resolve(steps) {
            Node::Array { item, .. } => Some(&**item),
            _ => None,
        });
        let (listed, last) = (openings(document, item), openings(document, member("last")));
        #[cfg(feature = "mask")]
        let either = {
            let only_last = last.iter().filter(|opening| !listed.iter().any(|other| other.verb == opening.verb));
            listed.iter().chain(only_last).cloned().collect()
        };
        Self {
            listed,
            last,
            #[cfg(feature = "mask")]
            either,
        }
    }

    const fn at(&self, position: Position) -> &Vec<Opening<'d>> {
        match position {
            Position::Listed(_) => &self.listed,
            Position::Last => &self.last,
            #[cfg(feature = "mask")]
            Position::Line(_) => &self.either,
        }
    }

    /// The openings that a step may still turn out to have, each with the targets that it may still have.
    pub(crate) fn possible(&self, step: &OpenStep) -> Vec<Opening<'d>> {
        let openings = self.at(step.position);
        let Some((verb, target, _)) = read(&step.head) else { return openings.clone() };
        let fitting = openings.iter().filter(|opening| verb.may_be(opening.verb)).cloned();
        let Some(target) = target else { return fitting.collect() };
        let narrowed = fitting.filter_map(|Opening { verb, targets }| {
            let left: Vec<&str> = targets.iter().copied().filter(|id| target.may_be(id)).collect();
            (targets.is_empty() || !left.is_empty()).then_some(Opening { verb, targets: left })
        });
        narrowed.collect()
    }

    /// Why no step of this document begins so; `None` if one may. Cheap except within a verb or a target.
    pub(crate) fn misfit(&self, step: &OpenStep) -> Option<Misfit> {
        let (verb, target, rest) = read(&step.head)?;
        if !rest.is_empty() || !self.possible(step).is_empty() {
            return None;
        }
        let openings = self.at(step.position).iter();
        let of_verb: Vec<&Opening<'_>> = openings.clone().filter(|opening| verb.may_be(opening.verb)).collect();
        let place = match step.position {
            Position::Listed(index) => format!("/steps/{index}"),
            Position::Last => "/last".to_owned(),
            #[cfg(feature = "mask")]
            Position::Line(index) => format!("/steps/{index}"),
        };
        let (member, seen, mut expected): (_, _, Vec<&str>) = match target {
            Some(target) if !of_verb.is_empty() => {
                ("targetRef", target.text, of_verb.iter().flat_map(|opening| opening.targets.clone()).collect())
            }
            _ => ("type", verb.text, openings.map(|opening| opening.verb).collect()),
        };
        expected.dedup();
        let expected = expected.into_iter().map(str::to_owned).collect();
        Some(Misfit { path: format!("{place}/{member}"), expected, seen: seen.to_owned() })
    }
}

fn openings<'d>(document: &'d Document, node: Option<&'d Node>) -> Vec<Opening<'d>> {
    let Some(Node::Union(union)) = node.map(|node| document.resolve(node)) else { return Vec::new() };
    let of_variant = |variant: &'d crate::ir::Variant| {
        let target = variant.members.iter().find(|member| member.name == "targetRef");
        let targets = match target.map(|member| (member.presence, document.resolve(&member.node))) {
            Some((Presence::Required, Node::Enum(ids))) => ids.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        };
        Opening { verb: &variant.name, targets }
    };
    document.variants(union).into_iter().map(of_variant).collect()
}
