//! Random sentences of a grammar: positive examples for tests of emitters, readers and decoders.

use serde_json::{Map, Value};

use crate::ir::{Document, Member, Node, Presence, Text};

/// Writes sentences by a source of numbers: the same numbers, the same sentence.
#[derive(Debug)]
pub struct Sampler<'d, F> {
    document: &'d Document,
    next: F,
}

impl<'d, F: FnMut() -> u64> Sampler<'d, F> {
    /// A sampler over `document`.
    pub const fn new(document: &'d Document, next: F) -> Self {
        Self { document, next }
    }

    /// One sentence, as a value whose members stand in the grammar's order.
    pub fn sentence(&mut self) -> Value {
        let root = &self.document.root;
        self.value(root)
    }

    fn below(&mut self, bound: u64) -> u64 {
        if bound == 0 { 0 } else { (self.next)() % bound }
    }

    fn value(&mut self, node: &'d Node) -> Value {
        match self.document.resolve(node) {
            Node::Reference(_) => Value::Null,
            Node::Object(members) => Value::Object(self.members(members, Map::new())),
            Node::Union(union) => {
                let variants = self.document.variants(union);
                let at = self.below(variants.len() as u64);
                let Some(variant) = usize::try_from(at).ok().and_then(|at| variants.get(at)) else {
                    return Value::Null;
                };
                let mut object = Map::new();
                object.insert(union.tag.to_owned(), variant.name.as_str().into());
                Value::Object(self.members(&variant.members, object))
            }
            Node::Enum(values) => {
                let at = self.below(values.len() as u64);
                usize::try_from(at).ok().and_then(|at| values.get(at)).cloned().unwrap_or_default()
            }
            Node::Text(Text::Free { min, max }) => {
                let length = u64::from(*min) + self.below(u64::from(max - min).min(12) + 1);
                (0..length).map(|_| self.character()).collect::<String>().into()
            }
            Node::Text(Text::Pattern { max }) => {
                let words = ["/cart", "order-7 of .5", "a"];
                let word = words[usize::try_from(self.below(words.len() as u64)).unwrap_or(0)];
                word.chars().take(usize::try_from(*max).unwrap_or(1)).collect::<String>().into()
            }
            Node::Text(Text::Chord) => {
                let chords = ["Enter", "Control+Shift+K", "Control+Alt+Shift+Meta+F12", "a"];
                chords[usize::try_from(self.below(chords.len() as u64)).unwrap_or(0)].into()
            }
            Node::Text(Text::Url { origins, .. }) => {
                let at = self.below(origins.len() as u64);
                let Some(origin) = usize::try_from(at).ok().and_then(|at| origins.get(at)) else { return Value::Null };
                let label = if origin.subdomain { "img7" } else { "" };
                let paths = ["", "login", "a/b?c=%20&d=[1]#e", "%zz", "..//~'"];
                let path = paths[usize::try_from(self.below(paths.len() as u64)).unwrap_or(0)];
                format!("{}{label}{}/{path}", origin.front, origin.host).into()
            }
            Node::Integer { min, max } => {
                let span = max.abs_diff(*min);
                let step = self.below(span.saturating_add(1));
                min.saturating_add_unsigned(step).into()
            }
            Node::Boolean => (self.below(2) == 0).into(),
            Node::Array { item, min, max } => {
                let length = u64::from(*min) + self.below(u64::from(max - min) + 1);
                (0..length).map(|_| self.value(item)).collect::<Vec<_>>().into()
            }
        }
    }

    fn members(&mut self, members: &'d [Member], mut object: Map<String, Value>) -> Map<String, Value> {
        for member in members {
            if member.presence == Presence::Required || self.below(3) == 0 {
                let value = self.value(&member.node);
                object.insert(member.name.clone(), value);
            }
        }
        object
    }

    fn character(&mut self) -> char {
        const CHARACTERS: [char; 16] =
            ['a', 'Z', '0', ' ', '"', '\\', '/', '\n', '\t', '<', '{', '}', 'é', '日', '😀', '\u{2028}'];
        CHARACTERS[usize::try_from(self.below(CHARACTERS.len() as u64)).unwrap_or(0)]
    }
}
