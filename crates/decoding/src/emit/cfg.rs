//! A context-free grammar without recursion, between the intermediate form and the dialects that spell
//! characters: GBNF, Lark and EBNF.

use crate::integers;
use crate::ir::{KEYS, LABEL_MAX, MODIFIERS, UrlOrigin};

/// Rules; the first is where a sentence begins.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Cfg {
    pub(crate) rules: Vec<Rule>,
}

/// An expression that others refer to by name.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Rule {
    /// Lower-case letters, digits and hyphens, the first a letter.
    pub(crate) name: String,
    pub(crate) expression: Expression,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Expression {
    /// Exactly these characters, unescaped; a notation escapes them.
    Literal(String),
    /// One character of a class.
    Class(Class),
    /// One after the other.
    Sequence(Vec<Expression>),
    /// One of several expressions.
    Choice(Vec<Expression>),
    /// Repeated within these bounds.
    Repeat(Box<Expression>, u32, u32),
    /// Reference to a rule by its name.
    Rule(String),
    /// A JSON string with this many characters.
    JsonString(u32, u32),
    /// An integer of a range.
    Integer(i64, i64),
    /// A quoted pattern with at most this many characters.
    Pattern(u32),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// Digits from one to another.
    Digits(u8, u8),
    /// Printable ASCII but quotes, backslashes and white space.
    UrlCharacter,
    /// Lower-case letters and digits.
    Label,
    /// ASCII letters of either case.
    Letter,
    /// Characters with which a pattern is written.
    Pattern,
    /// Anything but a line break.
    InLine,
}

impl Cfg {
    /// Removes the rules that no sentence uses: a form may write a definition in a different way.
    pub(crate) fn without_unused(mut self) -> Self {
        let mut used: Vec<String> = self.rules.first().map(|rule| rule.name.clone()).into_iter().collect();
        let mut next = 0;
        while let Some(name) = used.get(next).cloned() {
            let rule = self.rules.iter().find(|rule| rule.name == name);
            for name in rule.map(|rule| rule.expression.rules()).unwrap_or_default() {
                if !used.iter().any(|known| known == name) {
                    used.push(name.to_owned());
                }
            }
            next += 1;
        }
        self.rules.retain(|rule| used.contains(&rule.name));
        self
    }
}

impl Expression {
    /// The rules that it names.
    fn rules(&self) -> Vec<&str> {
        match self {
            Self::Rule(name) => vec![name],
            Self::Sequence(parts) | Self::Choice(parts) => parts.iter().flat_map(Self::rules).collect(),
            Self::Repeat(inner, ..) => inner.rules(),
            Self::Literal(_) | Self::Class(_) | Self::JsonString(..) | Self::Integer(..) | Self::Pattern(_) => {
                Vec::new()
            }
        }
    }

    /// The parts of a sequence, with those of sequences within it; anything else is its own only part.
    pub(crate) fn flat(&self) -> Vec<&Self> {
        match self {
            Self::Sequence(parts) => parts.iter().flat_map(Self::flat).collect(),
            other => vec![other],
        }
    }

    pub(crate) fn literal(text: impl Into<String>) -> Self {
        Self::Literal(text.into())
    }

    pub(crate) fn optional(self) -> Self {
        Self::Repeat(Box::new(self), 0, 1)
    }

    /// The integers of a range, digit by digit.
    pub(crate) fn digits(min: i64, max: i64) -> Self {
        let shapes = integers::shapes(min, max).into_iter().map(|shape| {
            let mut parts = Vec::new();
            if shape.negative {
                parts.push(Self::literal("-"));
            }
            for place in shape.places {
                parts.push(if place.from == place.to {
                    Self::literal(place.from.to_string())
                } else {
                    Self::Class(Class::Digits(place.from, place.to))
                });
            }
            Self::Sequence(parts)
        });
        Self::Choice(shapes.collect())
    }

    /// A key or a chord, without quotes.
    pub(crate) fn chord() -> Self {
        let held = MODIFIERS.iter().map(|name| Self::literal(format!("{name}+")).optional());
        let keys = KEYS.iter().map(|key| Self::literal(*key)).chain([Self::Class(Class::Letter)]);
        Self::Sequence(held.chain([Self::Choice(keys.collect())]).collect())
    }

    /// Puts the expression between double quotes.
    pub(crate) fn quoted(self) -> Self {
        Self::Sequence(vec![Self::literal("\""), self, Self::literal("\"")])
    }

    /// A quoted pattern, character by character.
    pub(crate) fn spelled_pattern(max: u32) -> Self {
        Self::Repeat(Box::new(Self::Class(Class::Pattern)), 1, max).quoted()
    }

    /// A quoted URL on one of the origins.
    pub(crate) fn url(origins: &[UrlOrigin], max: u32) -> Self {
        let origins = origins.iter().map(|origin| {
            let mut parts = vec![Self::literal(&origin.front)];
            if origin.subdomain {
                parts.push(Self::Repeat(Box::new(Self::Class(Class::Label)), 1, LABEL_MAX));
            }
            parts.push(Self::literal(&origin.host));
            Self::Sequence(parts)
        });
        Self::Sequence(vec![
            Self::literal("\""),
            Self::Choice(origins.collect()),
            Self::literal("/"),
            Self::Repeat(Box::new(Self::Class(Class::UrlCharacter)), 0, max),
            Self::literal("\""),
        ])
    }
}

/// Members with separators, some of which may be left out: no comma before the first, one before each other.
pub(crate) fn members(members: Vec<(Expression, crate::ir::Presence)>, started: Started) -> Expression {
    use crate::ir::Presence;
    let comma = |member: Expression| Expression::Sequence(vec![Expression::literal(","), member]);
    let mut members = members.into_iter();
    if started == Started::Yes {
        let parts = members.map(|(member, presence)| match presence {
            Presence::Required => comma(member),
            Presence::Optional => comma(member).optional(),
        });
        return Expression::Sequence(parts.collect());
    }
    match members.next() {
        None => Expression::Sequence(Vec::new()),
        Some((first, Presence::Required)) => {
            Expression::Sequence(vec![first, self::members(members.collect(), Started::Yes)])
        }
        Some((first, Presence::Optional)) => {
            let rest: Vec<_> = members.collect();
            let with = Expression::Sequence(vec![first, self::members(rest.clone(), Started::Yes)]);
            Expression::Choice(vec![with, self::members(rest, Started::No)])
        }
    }
}

/// Presence of a member before the list that [`members`] writes: it decides where commas stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Started {
    Yes,
    No,
}

/// A name that every dialect accepts for a rule.
pub(crate) fn rule_name(name: &str) -> String {
    let mut out = String::with_capacity(name.len() + 4);
    for c in name.chars() {
        if c.is_ascii_uppercase() {
            out.push('-');
            out.push(c.to_ascii_lowercase());
        } else if c.is_ascii_alphanumeric() {
            out.push(c);
        } else {
            out.push('-');
        }
    }
    out
}
