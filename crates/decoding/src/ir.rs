//! The intermediate form: a small closed language of bounded JSON.
//!
//! Invariants:
//! - No node refers to itself, and every node is bounded: a document has finitely many sentences.
//! - Members have an order; the tag of a union comes first.
//! - Definitions come before those that refer to them.

use serde_json::Value;

/// A grammar: definitions, and the root.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    /// Nodes that are referred to more than once, such as the ids of a capability.
    pub definitions: Vec<Definition>,
    /// The node that every sentence matches.
    pub root: Node,
}

/// A node that [`Node::Reference`] refers to.
#[derive(Clone, Debug, PartialEq)]
pub struct Definition {
    /// Letters and digits, unique in its document.
    pub name: String,
    /// The node that the name stands for.
    pub node: Node,
}

/// The place of a definition in its document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DefinitionIndex(pub(crate) usize);

/// Set of JSON values that may stand at one place.
#[derive(Clone, Debug, PartialEq)]
pub enum Node {
    /// The values of a definition of the same document.
    Reference(DefinitionIndex),
    /// An object without a tag.
    Object(Vec<Member>),
    /// One of several objects, distinguished by their first member.
    Union(Union),
    /// One of these scalars, at least one, without repetitions.
    Enum(Vec<Value>),
    /// A string of a bounded form.
    Text(Text),
    /// An integer of a range, both ends included.
    Integer {
        /// The least value, included.
        min: i64,
        /// The greatest value, included.
        max: i64,
    },
    /// Either `true` or `false`.
    Boolean,
    /// An array of items of one kind.
    Array {
        /// The node of each item.
        item: Box<Node>,
        /// The least number of items.
        min: u32,
        /// The greatest number of items.
        max: u32,
    },
}

/// One member of an object.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    /// Its name on the wire.
    pub name: String,
    /// The node of its value.
    pub node: Node,
    /// Presence of the member: required or optional.
    pub presence: Presence,
}

/// Presence of a member in the sentences of its object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Presence {
    /// Present in every sentence.
    Required,
    /// May be omitted from a sentence.
    Optional,
}

/// Objects that one member distinguishes.
#[derive(Clone, Debug, PartialEq)]
pub struct Union {
    /// The name of that member.
    pub tag: &'static str,
    /// The objects. Several may have the same tag if another member
    /// distinguishes them.
    pub variants: Vec<Variant>,
    /// Unions with the same tag whose objects belong to it too.
    pub includes: Vec<DefinitionIndex>,
}

impl Union {
    /// A union of these objects alone.
    #[must_use]
    pub const fn of(tag: &'static str, variants: Vec<Variant>) -> Self {
        Self { tag, variants, includes: Vec::new() }
    }

    /// The objects of its own, those with the same members as one: their tags, and the members.
    #[must_use]
    pub fn forms(&self) -> Vec<(Vec<&str>, &[Member])> {
        let mut forms: Vec<(Vec<&str>, &[Member])> = Vec::new();
        for variant in &self.variants {
            match forms.iter_mut().find(|(_, members)| *members == variant.members) {
                Some((names, _)) => names.push(&variant.name),
                None => forms.push((vec![&variant.name], &variant.members)),
            }
        }
        forms
    }
}

/// One of the objects of a union.
#[derive(Clone, Debug, PartialEq)]
pub struct Variant {
    /// The value of the tag.
    pub name: String,
    /// Purpose of the variant in one sentence, for dialects that have descriptions.
    pub description: String,
    /// Its members after the tag.
    pub members: Vec<Member>,
}

/// Form of a string, with its bounds in characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Text {
    /// Any text of `min` to `max` characters without control characters other than tab and line breaks.
    Free {
        /// The least number of characters.
        min: u32,
        /// The greatest number of characters.
        max: u32,
    },
    /// A regular expression that always compiles: letters, digits, spaces and `!#%&',-./:;<=>@_~`.
    Pattern {
        /// The greatest number of characters, of which there is at least one.
        max: u32,
    },
    /// A key, or a chord of modifiers in the order Control, Alt, Shift, Meta and a key.
    Chord,
    /// An absolute URL on one of these origins.
    Url {
        /// The origins, at least one.
        origins: Vec<UrlOrigin>,
        /// The greatest number of characters after the origin's slash.
        max: u32,
    },
}

/// Where a URL may lead.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct UrlOrigin {
    /// Everything before the host, such as `https://`.
    pub front: String,
    /// `true` if one more label precedes the host.
    pub subdomain: bool,
    /// Host and port, with the dot before it where a label precedes it.
    pub host: String,
}

/// The most characters of a subdomain's label.
pub(crate) const LABEL_MAX: u32 = 30;
/// The keys of a chord beside the letters.
pub(crate) const KEYS: &[&str] = &[
    "Enter",
    "Tab",
    "Escape",
    "Space",
    "Backspace",
    "Delete",
    "Insert",
    "ArrowUp",
    "ArrowDown",
    "ArrowLeft",
    "ArrowRight",
    "Home",
    "End",
    "PageUp",
    "PageDown",
    "F1",
    "F2",
    "F3",
    "F4",
    "F5",
    "F6",
    "F7",
    "F8",
    "F9",
    "F10",
    "F11",
    "F12",
];
/// The modifiers of a chord, in their order.
pub(crate) const MODIFIERS: &[&str] = &["Control", "Alt", "Shift", "Meta"];
/// The characters of a pattern, as a class of a regular expression.
pub(crate) const PATTERN_CLASS: &str = "[!#%&',./0-9:;<=>@A-Z_a-z~ -]";
/// Bytes of the longest escape or encoded character in a JSON string.
const CHARACTER_BYTES: u64 = 6;

impl Document {
    /// The node of a definition.
    #[must_use]
    pub fn definition(&self, index: DefinitionIndex) -> &Definition {
        // Indices are made by `DocumentBuilder::define` only, for its own document.
        &self.definitions[index.0]
    }

    /// Follows references to the node that they lead to.
    #[must_use]
    pub fn resolve<'a>(&'a self, node: &'a Node) -> &'a Node {
        match node {
            Node::Reference(index) => self.resolve(&self.definition(*index).node),
            other => other,
        }
    }

    /// The objects of a union: those of its own after those that it includes.
    #[must_use]
    pub fn variants<'a>(&'a self, union: &'a Union) -> Vec<&'a Variant> {
        let included = union.includes.iter().flat_map(|index| match &self.definition(*index).node {
            Node::Union(union) => self.variants(union),
            _ => Vec::new(),
        });
        included.chain(&union.variants).collect()
    }

    /// The bytes of the longest compact sentence, with every character escaped. A tokenizer that knows every
    /// byte needs at most as many tokens.
    #[must_use]
    pub fn worst_case(&self) -> u64 {
        self.longest(&self.root, &mut vec![None; self.definitions.len()])
    }

    /// The longest sentence of a node. A definition has many users, and is measured once.
    fn longest(&self, node: &Node, known: &mut [Option<u64>]) -> u64 {
        let quoted = |characters: u32| u64::from(characters) * CHARACTER_BYTES + 2;
        match node {
            Node::Reference(index) => {
                if let Some(longest) = known.get(index.0).copied().flatten() {
                    return longest;
                }
                let longest = self.longest(&self.definition(*index).node, known);
                if let Some(place) = known.get_mut(index.0) {
                    *place = Some(longest);
                }
                longest
            }
            Node::Object(members) => self.longest_members(members, 2, known),
            Node::Union(union) => {
                let tag = union.tag.len() as u64 + 3;
                let longest = self.variants(union).into_iter().map(|variant| {
                    let around = 3 + tag + literal_length(&variant.name.as_str().into());
                    self.longest_members(&variant.members, around, known)
                });
                longest.max().unwrap_or(0)
            }
            Node::Enum(values) => values.iter().map(literal_length).max().unwrap_or(0),
            Node::Text(Text::Free { max, .. }) => quoted(*max),
            // Nothing in a pattern is escaped.
            Node::Text(Text::Pattern { max }) => u64::from(*max) + 2,
            Node::Text(Text::Chord) => 40,
            Node::Text(Text::Url { origins, max }) => {
                let longest = origins.iter().map(|origin| {
                    let label = if origin.subdomain { u64::from(LABEL_MAX) } else { 0 };
                    (origin.front.len() + origin.host.len()) as u64 + label
                });
                longest.max().unwrap_or(0) + 1 + quoted(*max)
            }
            Node::Integer { min, max } => min.to_string().len().max(max.to_string().len()) as u64,
            Node::Boolean => 5,
            Node::Array { item, max, .. } => 2 + u64::from(*max) * (self.longest(item, known) + 1),
        }
    }

    fn longest_members(&self, members: &[Member], around: u64, known: &mut [Option<u64>]) -> u64 {
        let longest = members.iter().map(|member| member.name.len() as u64 + 4 + self.longest(&member.node, known));
        longest.sum::<u64>() + around
    }
}

fn literal_length(value: &Value) -> u64 {
    value.to_string().len() as u64
}

pub(crate) fn member(name: &str, node: Node) -> Member {
    Member { name: name.to_owned(), node, presence: Presence::Required }
}

pub(crate) fn optional(name: &str, node: Node) -> Member {
    Member { name: name.to_owned(), node, presence: Presence::Optional }
}

/// One of these strings.
pub(crate) fn words<'a>(words: impl IntoIterator<Item = &'a str>) -> Node {
    Node::Enum(words.into_iter().map(Value::from).collect())
}

/// Collects definitions so that equal nodes share one.
#[derive(Debug, Default)]
pub(crate) struct DocumentBuilder {
    definitions: Vec<Definition>,
}

impl DocumentBuilder {
    /// A reference to `node` under `name`; the definition that says the same already is used again.
    pub(crate) fn define(&mut self, name: &str, node: Node) -> Node {
        Node::Reference(self.index(name, node))
    }

    /// The place of that definition.
    pub(crate) fn index(&mut self, name: &str, node: Node) -> DefinitionIndex {
        let known = self.definitions.iter().position(|known| known.node == node);
        let index = known.unwrap_or_else(|| {
            let is_numbered = |known: &str| {
                known.strip_prefix(name).is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()))
            };
            let taken = self.definitions.iter().filter(|known| is_numbered(&known.name)).count();
            let name = if taken == 0 { name.to_owned() } else { format!("{name}{}", taken + 1) };
            self.definitions.push(Definition { name, node });
            self.definitions.len() - 1
        });
        DefinitionIndex(index)
    }

    pub(crate) fn finish(self, root: Node) -> Document {
        Document { definitions: self.definitions, root }
    }
}
