//! Recognises sentences byte by byte, and refuses the first byte that no sentence has at its place.
//!
//! It runs beside a stream that somebody else constrained, or nobody. A union that is not told apart yet is
//! followed in several threads; each dies at the first byte that does not fit it.
//!
//! Invariants:
//! - Once a byte was refused, every further byte is.
//! - Memory is bounded by the grammar, not by what is fed: threads by the variants of a union, text by counts.

use std::fmt::Write as _;

use serde_json::Value;

use crate::ir::{Document, LABEL_MAX, Member, Node, Presence, Text, UrlOrigin};
use crate::text_decoder::{Decoded, StringDecoder};

/// Which spellings of a sentence are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Spacing {
    /// No white space, members in the order of the grammar: what a decoder under a grammar writes.
    Compact,
    /// White space anywhere, members after the tag in any order: what a model writes by itself.
    Free,
}

/// A byte that cannot stand where it stands.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected {expected} at byte {at} ({path}), saw {saw}")]
pub struct Unexpected {
    /// Its offset, from 0.
    pub at: u64,
    /// JSON pointer of the value that was being read; empty for the root.
    pub path: String,
    /// What could have stood there.
    pub expected: String,
    /// The byte as a character, or `end of text`.
    pub saw: String,
}

/// Recognises one sentence of a document.
#[derive(Clone, Debug)]
pub struct Recognizer<'d> {
    document: &'d Document,
    spacing: Spacing,
    threads: Vec<Thread<'d>>,
    position: u64,
    refused: Option<Unexpected>,
}

/// A step that may still be written.
#[cfg(feature = "mask")]
#[derive(Clone, Debug)]
pub(super) struct OpenStep<'d> {
    /// The how-manieth of its list, from 1; none for the last step.
    pub(super) place: Option<u32>,
    pub(super) verb: &'d str,
    pub(super) targets: Vec<&'d str>,
    pub(super) is_choosing: bool,
}

#[derive(Clone, Debug)]
struct Thread<'d> {
    stack: Vec<Frame<'d>>,
}

#[derive(Clone, Debug)]
enum Frame<'d> {
    /// A value is to begin.
    Value(&'d Node),
    /// An object is open.
    Members(Members<'d>),
    /// A member's name is being read.
    Key { names: Vec<(usize, &'d str)>, text: String, decoder: StringDecoder },
    /// An array is open.
    Items { item: &'d Node, min: u32, max: u32, count: u32, phase: Phase },
    /// A string that is one of several.
    Choice { known: Vec<&'d str>, text: String, decoder: StringDecoder },
    /// A literal that is no string.
    Raw { known: Vec<String>, text: String },
    /// A string.
    Text { text: &'d Text, seen: String, count: u32, decoder: StringDecoder },
    /// An integer.
    Integer { min: i64, max: i64, text: String },
}

#[derive(Clone, Debug)]
struct Members<'d> {
    members: &'d [Member],
    /// The tag of the union that the object is of, and the object's own.
    #[cfg_attr(not(feature = "mask"), expect(dead_code, reason = "only masks weigh what was chosen"))]
    variant: Option<(&'d str, &'d str)>,
    /// The tag that is still to come, and its value.
    tag: Option<(&'d str, &'d str)>,
    seen: u64,
    next: usize,
    phase: Phase,
    /// The member whose value is being read.
    current: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Open,
    AfterKey,
    AfterValue,
    AfterComma,
}

/// The name under which the tag is looked for among the members.
const TAG: usize = usize::MAX;

/// What a thread does with a byte.
enum Move<'d> {
    /// Takes it.
    Taken,
    /// Has finished its frame without it: the frame below looks at it.
    Again,
    /// Splits.
    Split(Vec<Frame<'d>>),
    /// Dies.
    Refused,
}

impl<'d> Recognizer<'d> {
    /// A recognizer at the beginning of a sentence.
    #[must_use]
    pub fn new(document: &'d Document, spacing: Spacing) -> Self {
        let threads = vec![Thread { stack: vec![Frame::Value(&document.root)] }];
        Self { document, spacing, threads, position: 0, refused: None }
    }

    /// Takes bytes. Costs a few comparisons a byte.
    ///
    /// # Errors
    /// [`Unexpected`] at the first byte that no sentence has at its place.
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), Unexpected> {
        if let Some(refused) = &self.refused {
            return Err(refused.clone());
        }
        for byte in bytes {
            let before = std::mem::take(&mut self.threads);
            for thread in &before {
                self.advance(thread.clone(), *byte);
            }
            if self.threads.is_empty() {
                let refused = self.unexpected(&before, &shown(*byte));
                self.threads = before;
                self.refused = Some(refused.clone());
                return Err(refused);
            }
            self.position += 1;
        }
        Ok(())
    }

    /// Whether what was taken so far is a whole sentence.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.refused.is_none() && self.threads.iter().any(|thread| thread.stack.is_empty())
    }

    /// Ends the sentence.
    ///
    /// # Errors
    /// [`Unexpected`] if it is not whole, or was refused before.
    pub fn finish(&self) -> Result<(), Unexpected> {
        match &self.refused {
            Some(refused) => Err(refused.clone()),
            None if self.is_complete() => Ok(()),
            None => Err(self.unexpected(&self.threads, "end of text")),
        }
    }

    /// The steps that are still possible where the sentence stands: each verb with the ids that may still be
    /// its target, and whether a byte of verb or target is being read. Empty outside of steps.
    #[cfg(feature = "mask")]
    pub(super) fn open_steps(&self) -> Vec<OpenStep<'d>> {
        let mut steps = Vec::new();
        for thread in &self.threads {
            let step = thread.stack.iter().enumerate().find_map(|(depth, frame)| match frame {
                Frame::Members(members) if members.variant.is_some_and(|(tag, _)| tag == "type") => {
                    Some((depth, members))
                }
                _ => None,
            });
            let Some((depth, members)) = step else { continue };
            let Some((_, verb)) = members.variant else { continue };
            let target = members.members.iter().position(|member| member.name == "targetRef");
            let choosing = match thread.stack.get(depth + 1) {
                Some(Frame::Choice { known, .. }) if members.current == target && target.is_some() => {
                    Some(known.clone())
                }
                _ => None,
            };
            let in_tag = members.tag.is_some() || members.current == Some(TAG);
            let chosen = target.is_some_and(|target| members.seen & bit(target) != 0)
                && choosing.is_none()
                && members.current != target;
            let targets = match (choosing.clone(), target.and_then(|target| members.members.get(target))) {
                (Some(known), _) => known,
                (None, Some(member)) if !chosen => match self.document.resolve(&member.node) {
                    Node::Enum(values) => values.iter().filter_map(Value::as_str).collect(),
                    _ => Vec::new(),
                },
                _ => Vec::new(),
            };
            let place = thread.stack.get(..depth).unwrap_or_default().iter().rev().find_map(|frame| match frame {
                Frame::Items { count, .. } => Some(*count),
                _ => None,
            });
            steps.push(OpenStep { place, verb, targets, is_choosing: in_tag || choosing.is_some() });
        }
        steps
    }

    /// Whether text is being read, where every byte is as good as another.
    #[cfg(feature = "mask")]
    pub(super) fn is_in_text(&self) -> bool {
        self.threads.iter().all(|thread| matches!(thread.stack.last(), Some(Frame::Text { .. })))
    }

    fn advance(&mut self, mut thread: Thread<'d>, byte: u8) {
        loop {
            let Some(top) = thread.stack.len().checked_sub(1) else {
                // The sentence is whole; only white space may follow.
                if self.spacing == Spacing::Free && is_space(byte) {
                    self.threads.push(thread);
                }
                return;
            };
            match self.take(&mut thread.stack, top, byte) {
                Move::Taken => return self.threads.push(thread),
                Move::Again => {}
                Move::Refused => return,
                Move::Split(frames) => {
                    thread.stack.pop();
                    for frame in frames {
                        let mut stack = thread.stack.clone();
                        stack.push(frame);
                        self.threads.push(Thread { stack });
                    }
                    return;
                }
            }
        }
    }

    fn take(&self, stack: &mut Vec<Frame<'d>>, top: usize, byte: u8) -> Move<'d> {
        let free = self.spacing == Spacing::Free;
        match &mut stack[top] {
            Frame::Value(_) if free && is_space(byte) => Move::Taken,
            Frame::Value(node) => self.begin(node, byte),
            Frame::Members(_) if free && is_space(byte) => Move::Taken,
            Frame::Members(members) => match members.take(byte, self.spacing) {
                MemberMove::Key(names) => {
                    stack.push(Frame::Key { names, text: String::new(), decoder: StringDecoder::default() });
                    Move::Taken
                }
                MemberMove::Value(Some(node)) => {
                    stack.push(Frame::Value(node));
                    Move::Taken
                }
                MemberMove::Value(None) => {
                    let known = members.tag.take().map(|(_, value)| value).into_iter().collect();
                    stack.push(Frame::Choice { known, text: String::new(), decoder: StringDecoder::closed() });
                    Move::Taken
                }
                MemberMove::Comma => Move::Taken,
                MemberMove::Close => {
                    stack.pop();
                    Move::Taken
                }
                MemberMove::Refused => Move::Refused,
            },
            Frame::Key { names, text, decoder } => match decoder.take(byte) {
                Decoded::More => Move::Taken,
                Decoded::Character(character) => {
                    text.push(character);
                    names.retain(|(_, name)| name.starts_with(text.as_str()));
                    if names.is_empty() { Move::Refused } else { Move::Taken }
                }
                Decoded::End => {
                    let Some(found) = names.iter().find(|(_, name)| name == text).map(|(index, _)| *index) else {
                        return Move::Refused;
                    };
                    stack.pop();
                    if let Some(Frame::Members(members)) = stack.last_mut() {
                        members.found(found);
                    }
                    Move::Taken
                }
                Decoded::Refused => Move::Refused,
            },
            Frame::Items { .. } if free && is_space(byte) => Move::Taken,
            Frame::Items { item, min, max, count, phase } => match (byte, *phase) {
                (b']', Phase::Open | Phase::AfterValue) if *count >= *min => {
                    stack.pop();
                    Move::Taken
                }
                (b',', Phase::AfterValue) if *count < *max => {
                    *phase = Phase::AfterComma;
                    Move::Taken
                }
                (_, Phase::Open | Phase::AfterComma) if *count < *max => {
                    *count += 1;
                    *phase = Phase::AfterValue;
                    let item = *item;
                    stack.push(Frame::Value(item));
                    Move::Again
                }
                _ => Move::Refused,
            },
            Frame::Choice { decoder, .. } if decoder.is_closed() && free && is_space(byte) => Move::Taken,
            Frame::Choice { known, text, decoder } => match decoder.take(byte) {
                Decoded::More => Move::Taken,
                Decoded::Character(character) => {
                    text.push(character);
                    known.retain(|known| known.starts_with(text.as_str()));
                    if known.is_empty() { Move::Refused } else { Move::Taken }
                }
                Decoded::End if known.contains(&text.as_str()) => {
                    stack.pop();
                    Move::Taken
                }
                Decoded::End | Decoded::Refused => Move::Refused,
            },
            Frame::Raw { known, text } => {
                if ends_literal(byte) {
                    if !known.contains(text) {
                        return Move::Refused;
                    }
                    stack.pop();
                    return Move::Again;
                }
                text.push(char::from(byte));
                known.retain(|known| known.starts_with(text.as_str()));
                if known.is_empty() { Move::Refused } else { Move::Taken }
            }
            Frame::Text { text, seen, count, decoder } => match decoder.take(byte) {
                Decoded::More => Move::Taken,
                Decoded::Character(character) => {
                    *count += 1;
                    let fits = match text {
                        Text::Free { max, .. } => *count <= *max,
                        Text::Url { origins, max } => {
                            seen.push(character);
                            origins.iter().any(|origin| url_fit(origin, *max, seen) != Fit::None)
                        }
                    };
                    if fits { Move::Taken } else { Move::Refused }
                }
                Decoded::End => {
                    let whole = match text {
                        Text::Free { min, .. } => *count >= *min,
                        Text::Url { origins, max } => {
                            origins.iter().any(|origin| url_fit(origin, *max, seen) == Fit::Whole)
                        }
                    };
                    if whole {
                        stack.pop();
                        Move::Taken
                    } else {
                        Move::Refused
                    }
                }
                Decoded::Refused => Move::Refused,
            },
            Frame::Integer { min, max, text } => {
                if ends_literal(byte) {
                    let whole = text.parse::<i64>().is_ok_and(|number| (*min..=*max).contains(&number));
                    if !whole {
                        return Move::Refused;
                    }
                    stack.pop();
                    return Move::Again;
                }
                text.push(char::from(byte));
                if integer_may_begin(text, *min, *max) { Move::Taken } else { Move::Refused }
            }
        }
    }

    /// The first byte of a value.
    fn begin(&self, node: &'d Node, byte: u8) -> Move<'d> {
        let text = |byte: u8| if byte == b'"' { Some(StringDecoder::default()) } else { None };
        let frames = match self.document.resolve(node) {
            Node::Reference(_) => return Move::Refused,
            Node::Object(members) if byte == b'{' => vec![Frame::Members(Members::new(members, None))],
            Node::Union(union) if byte == b'{' => union
                .variants
                .iter()
                .map(|variant| Frame::Members(Members::new(&variant.members, Some((union.tag, &variant.name)))))
                .collect(),
            Node::Array { item, min, max } if byte == b'[' => {
                vec![Frame::Items { item, min: *min, max: *max, count: 0, phase: Phase::Open }]
            }
            Node::Enum(values) => match text(byte) {
                Some(decoder) => {
                    let known: Vec<&str> = values.iter().filter_map(Value::as_str).collect();
                    if known.is_empty() {
                        return Move::Refused;
                    }
                    vec![Frame::Choice { known, text: String::new(), decoder }]
                }
                None => literal(values.iter().filter(|value| !value.is_string()).map(Value::to_string), byte),
            },
            Node::Boolean => literal(["true".to_owned(), "false".to_owned()], byte),
            Node::Text(bounds) => match text(byte) {
                Some(decoder) => vec![Frame::Text { text: bounds, seen: String::new(), count: 0, decoder }],
                None => return Move::Refused,
            },
            Node::Integer { min, max } => {
                let text = String::from(char::from(byte));
                if !integer_may_begin(&text, *min, *max) {
                    return Move::Refused;
                }
                vec![Frame::Integer { min: *min, max: *max, text }]
            }
            Node::Object(_) | Node::Union(_) | Node::Array { .. } => return Move::Refused,
        };
        if frames.is_empty() { Move::Refused } else { Move::Split(frames) }
    }

    fn unexpected(&self, threads: &[Thread<'d>], saw: &str) -> Unexpected {
        /// The most that an error lists.
        const LISTED: usize = 12;
        let mut expected: Vec<String> = Vec::new();
        for thread in threads {
            for text in self.expectations(thread) {
                if !expected.contains(&text) {
                    expected.push(text);
                }
            }
        }
        let more = expected.len().saturating_sub(LISTED);
        expected.truncate(LISTED);
        let mut listed = expected.join(", ");
        if more > 0 {
            let _ = write!(listed, " or one of {more} more");
        }
        let path = threads.first().map(|thread| path_of(&thread.stack)).unwrap_or_default();
        Unexpected { at: self.position, path, expected: listed, saw: saw.to_owned() }
    }

    fn expectations(&self, thread: &Thread<'d>) -> Vec<String> {
        let quoted =
            |text: &str| format!("`{}`", text.chars().take(60).flat_map(char::escape_debug).collect::<String>());
        match thread.stack.last() {
            None => vec!["the end".to_owned()],
            Some(Frame::Value(node)) => vec![match self.document.resolve(node) {
                Node::Object(_) | Node::Union(_) | Node::Reference(_) => "an object".to_owned(),
                Node::Enum(_) => "one of the values that the grammar lists".to_owned(),
                Node::Text(_) => "a string".to_owned(),
                Node::Integer { min, max } => format!("an integer from {min} to {max}"),
                Node::Boolean => "a boolean".to_owned(),
                Node::Array { .. } => "an array".to_owned(),
            }],
            Some(Frame::Members(members)) => members.expected(self.spacing),
            Some(Frame::Key { names, .. }) => names.iter().map(|(_, name)| quoted(name)).collect(),
            Some(Frame::Items { phase, .. }) => vec![match phase {
                Phase::Open | Phase::AfterComma => "an item or `]`".to_owned(),
                _ => "`,` or `]`".to_owned(),
            }],
            Some(Frame::Choice { known, .. }) => known.iter().map(|known| quoted(known)).collect(),
            Some(Frame::Raw { known, .. }) => known.iter().map(|known| quoted(known)).collect(),
            Some(Frame::Text { text, .. }) => vec![match text {
                Text::Free { min, max } => format!("text of {min} to {max} characters"),
                Text::Url { origins, .. } => {
                    let origins: Vec<String> = origins
                        .iter()
                        .take(5)
                        .map(|origin| {
                            format!("{}{}{}/", origin.front, if origin.subdomain { "*" } else { "" }, origin.host)
                        })
                        .collect();
                    format!("a URL on {}", origins.join(", "))
                }
            }],
            Some(Frame::Integer { min, max, .. }) => vec![format!("an integer from {min} to {max}")],
        }
    }
}

fn literal<'d>(known: impl IntoIterator<Item = String>, byte: u8) -> Vec<Frame<'d>> {
    let text = String::from(char::from(byte));
    let known: Vec<String> = known.into_iter().filter(|known| known.starts_with(&text)).collect();
    if known.is_empty() { Vec::new() } else { vec![Frame::Raw { known, text }] }
}

enum MemberMove<'d> {
    Key(Vec<(usize, &'d str)>),
    /// The value of a member; none for that of the tag.
    Value(Option<&'d Node>),
    Comma,
    Close,
    Refused,
}

impl<'d> Members<'d> {
    fn new(members: &'d [Member], tag: Option<(&'d str, &'d str)>) -> Self {
        Self { members, variant: tag, tag, seen: 0, next: 0, phase: Phase::Open, current: None }
    }

    fn name(&self, index: usize) -> &'d str {
        if index == TAG {
            return self.tag.map_or("", |(tag, _)| tag);
        }
        self.members.get(index).map_or("", |member| &member.name)
    }

    /// The members that may come next.
    fn open_members(&self, spacing: Spacing) -> Vec<usize> {
        if self.tag.is_some() {
            return vec![TAG];
        }
        let unseen = self.members.iter().enumerate().filter(|(index, _)| self.seen & bit(*index) == 0);
        match spacing {
            Spacing::Free => unseen.map(|(index, _)| index).collect(),
            Spacing::Compact => {
                let mut open = Vec::new();
                for (index, member) in unseen.skip_while(|(index, _)| *index < self.next) {
                    open.push(index);
                    if member.presence == Presence::Required {
                        break;
                    }
                }
                open
            }
        }
    }

    fn may_close(&self) -> bool {
        self.tag.is_none()
            && self
                .members
                .iter()
                .enumerate()
                .all(|(index, member)| member.presence == Presence::Optional || self.seen & bit(index) != 0)
    }

    fn found(&mut self, index: usize) {
        self.current = Some(index);
        self.phase = Phase::AfterKey;
        if index != TAG {
            self.seen |= bit(index);
            self.next = index + 1;
        }
    }

    fn take(&mut self, byte: u8, spacing: Spacing) -> MemberMove<'d> {
        match (byte, self.phase) {
            (b'"', Phase::Open | Phase::AfterComma) => {
                let open = self.open_members(spacing);
                let open: Vec<_> = open.into_iter().map(|index| (index, self.name(index))).collect();
                if open.is_empty() { MemberMove::Refused } else { MemberMove::Key(open) }
            }
            (b':', Phase::AfterKey) => {
                self.phase = Phase::AfterValue;
                match self.current {
                    Some(TAG) => MemberMove::Value(None),
                    Some(index) => match self.members.get(index) {
                        Some(member) => MemberMove::Value(Some(&member.node)),
                        None => MemberMove::Refused,
                    },
                    None => MemberMove::Refused,
                }
            }
            (b',', Phase::AfterValue) if !self.open_members(spacing).is_empty() => {
                self.phase = Phase::AfterComma;
                MemberMove::Comma
            }
            (b'}', Phase::Open | Phase::AfterValue) if self.may_close() => MemberMove::Close,
            _ => MemberMove::Refused,
        }
    }

    fn expected(&self, spacing: Spacing) -> Vec<String> {
        let open = || self.open_members(spacing).into_iter().map(|index| format!("member `{}`", self.name(index)));
        match self.phase {
            Phase::AfterKey => vec!["`:`".to_owned()],
            Phase::Open | Phase::AfterComma => open().collect(),
            Phase::AfterValue => {
                let close = self.may_close().then(|| "`}`".to_owned());
                open().chain(close).collect()
            }
        }
    }
}

/// Objects of a grammar have fewer than 64 members; see `foreign` for those that others declare.
const fn bit(index: usize) -> u64 {
    if index < 64 { 1 << index } else { 0 }
}

const fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

const fn ends_literal(byte: u8) -> bool {
    matches!(byte, b',' | b'}' | b']') || is_space(byte)
}

fn shown(byte: u8) -> String {
    if byte.is_ascii() { format!("`{}`", char::from(byte).escape_debug()) } else { format!("byte 0x{byte:02x}") }
}

/// Whether some integer of the range begins with this text.
fn integer_may_begin(text: &str, min: i64, max: i64) -> bool {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    if digits.is_empty() {
        return min < 0;
    }
    if digits.len() > 18 || !digits.bytes().all(|b| b.is_ascii_digit()) || (digits.len() > 1 && digits.starts_with('0'))
    {
        return false;
    }
    let Ok(front) = digits.parse::<i64>() else { return false };
    let (min, max) = if negative { (max.min(-1).saturating_neg(), min.saturating_neg()) } else { (min.max(0), max) };
    let (mut low, mut high) = (front, front);
    loop {
        if low <= max && high >= min {
            return true;
        }
        if front == 0 || low > max {
            return false;
        }
        low = low.saturating_mul(10);
        high = high.saturating_mul(10).saturating_add(9);
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fit {
    None,
    Front,
    Whole,
}

/// How far `seen` is a URL on `origin`.
fn url_fit(origin: &UrlOrigin, max: u32, seen: &str) -> Fit {
    let Some(rest) = seen.strip_prefix(origin.front.as_str()) else {
        return if origin.front.starts_with(seen) { Fit::Front } else { Fit::None };
    };
    let rest = if origin.subdomain {
        let label = rest.bytes().take_while(|b| b.is_ascii_digit() || b.is_ascii_lowercase()).count();
        let bound = usize::try_from(LABEL_MAX).unwrap_or(usize::MAX);
        let (label, rest) = rest.split_at(label);
        if label.len() > bound || (label.is_empty() && !rest.is_empty()) {
            return Fit::None;
        }
        rest
    } else {
        rest
    };
    let host = format!("{}/", origin.host);
    let Some(path) = rest.strip_prefix(host.as_str()) else {
        return if host.starts_with(rest) { Fit::Front } else { Fit::None };
    };
    let plain = path.chars().all(|c| c.is_ascii_graphic() && c != '"' && c != '\\');
    if plain && u32::try_from(path.len()).is_ok_and(|length| length <= max) { Fit::Whole } else { Fit::None }
}

fn path_of(stack: &[Frame<'_>]) -> String {
    let mut path = String::new();
    for frame in stack {
        match frame {
            Frame::Members(members) => {
                if let Some(index) = members.current.filter(|index| *index != TAG) {
                    let _ = write!(path, "/{}", members.name(index));
                }
            }
            Frame::Items { count, .. } => {
                let _ = write!(path, "/{}", count.saturating_sub(1));
            }
            _ => {}
        }
    }
    path
}
