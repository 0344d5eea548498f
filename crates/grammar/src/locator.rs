//! Locators: names for things on a page, without a node handle.
//!
//! Invariants:
//! - A locator is judged on [`ElementFacts`] by pure code. Only whether a css or xpath selector matched,
//!   and whether the element lies within or around another match, are facts of their own.
//! - Texts fit exactly before they fit as a substring, unless the locator says which it wants.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::facts::{ElementFacts, States, Toggle};
use crate::role::Role;
use crate::text_match::{Fit, PatternError, TextPattern};
use crate::verdict::Verdict;
use crate::wire::{self, Nth, Object, ReadError, SelectorText, ShortText, bodies, inline_schema, tagged};

tagged! {
    /// The main part of a locator.
    pub enum Strategy by "strategy" {
        /// By test id; a literal text must equal it, letter case included.
        TestId(ByTestId) = "byTestId",
        /// By ARIA role and accessible name.
        Role(ByRole) = "byRole",
        /// By the text of its label.
        Label(ByLabel) = "byLabel",
        /// By its `placeholder` attribute.
        Placeholder(ByPlaceholder) = "byPlaceholder",
        /// By its alternative text.
        AltText(ByAltText) = "byAltText",
        /// By its `title` attribute.
        Title(ByTitle) = "byTitle",
        /// The innermost element with a text.
        Text(ByText) = "text",
        /// By CSS selector; pierces open shadow roots.
        Css(ByCss) = "css",
        /// By XPath 1.0 expression.
        XPath(ByXPath) = "xpath",
    }
}

/// Declares what is found by a text, with how exactly the text has to fit.
macro_rules! by_text {
    ($( $(#[$meta:meta])* $name:ident { $(#[$text_meta:meta])* text } )+) => {
        bodies! { $(
            $(#[$meta])*
            $name {
                $(#[$text_meta])*
                text: TextPattern,
                /// `true`: the whole text, letter case included. `false`: any substring, ignoring case.
                /// Absent: the best fit that the page has.
                exact?: bool,
            }
        )+ }
    };
}

by_text! {
    /// An element with a label of this text.
    ByLabel {
        /// Text of one of its labels.
        text
    }
    /// An element with this placeholder.
    ByPlaceholder {
        /// Text of its `placeholder` attribute.
        text
    }
    /// An element with this alternative text.
    ByAltText {
        /// Text of its `alt` attribute.
        text
    }
    /// An element with this title.
    ByTitle {
        /// Text of its `title` attribute.
        text
    }
    /// A text on the page.
    ByText {
        /// Text of the innermost element that has it.
        text
    }
}

bodies! {
    /// Equal test ids only.
    ByTestId {
        /// Value of the test id attribute, such as `data-testid`.
        test_id: TextPattern,
    }
    /// A role, a name and states.
    ByRole {
        /// ARIA role, explicit or implied by the element.
        role: Role,
        /// Accessible name; any if absent.
        name?: TextPattern,
        /// `true`: the whole name, letter case included. `false`: any substring, ignoring case.
        /// Absent: the best fit that the page has.
        exact?: bool,
        /// States that it must have.
        states?: StateFilter,
        /// Elements that assistive technology skips count too.
        include_hidden?: bool,
    }
    /// Elements that a CSS selector matches.
    ByCss {
        /// Selector as for `querySelectorAll`; pierces open shadow roots.
        selector: SelectorText,
    }
    /// Elements that an XPath expression selects.
    ByXPath {
        /// The expression, XPath 1.0, evaluated to nodes.
        expression: SelectorText,
    }
}

/// States that an element must have or must not have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct StateFilter {
    /// Checked: on the wire `true`, `false` or `"mixed"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checked: Option<ToggleFilter>,
    /// `true`: disabled. `false`: not disabled. Absent: either.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disabled: Option<bool>,
    /// `true`: expanded. `false`: collapsed; an element without the state is neither.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expanded: Option<bool>,
    /// Pressed: on the wire `true`, `false` or `"mixed"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pressed: Option<ToggleFilter>,
    /// `true`: selected. `false`: not selected, or without the state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selected: Option<bool>,
    /// The level of a heading or tree item.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 255))]
    pub level: Option<u8>,
}

/// On, off or partly on. An element without the state counts as off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ToggleFilter(pub Toggle);

impl From<bool> for ToggleFilter {
    fn from(is_on: bool) -> Self {
        Self(if is_on { Toggle::True } else { Toggle::False })
    }
}

impl ToggleFilter {
    fn matches(self, seen: Option<Toggle>) -> bool {
        self.0 == seen.unwrap_or(Toggle::False)
    }
}

impl Serialize for ToggleFilter {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Toggle::True => serializer.serialize_bool(true),
            Toggle::False => serializer.serialize_bool(false),
            Toggle::Mixed => serializer.serialize_str(Toggle::Mixed.as_str()),
        }
    }
}

impl<'de> Deserialize<'de> for ToggleFilter {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::Error as _;
        match serde_json::Value::deserialize(deserializer)? {
            serde_json::Value::Bool(is_on) => Ok(is_on.into()),
            serde_json::Value::String(text) if text == Toggle::Mixed.as_str() => Ok(Self(Toggle::Mixed)),
            other => {
                let seen = wire::shape(&other);
                Err(D::Error::custom(format!("must be true, false or \"mixed\", not {seen}")))
            }
        }
    }
}

inline_schema!(ToggleFilter, { "enum": [true, false, Toggle::Mixed.as_str()] });

impl StateFilter {
    fn matches(&self, states: &States) -> bool {
        let toggle = |wanted: Option<ToggleFilter>, seen| wanted.is_none_or(|wanted| wanted.matches(seen));
        let flag = |wanted: Option<bool>, seen: Option<bool>| wanted.is_none_or(|w| seen.unwrap_or(false) == w);
        toggle(self.checked, states.checked)
            && toggle(self.pressed, states.pressed)
            && flag(self.disabled, Some(states.disabled))
            // What does not say that it expands is neither expanded nor collapsed.
            && self.expanded.is_none_or(|wanted| states.expanded == Some(wanted))
            && flag(self.selected, states.selected)
            && self.level.is_none_or(|level| states.level == Some(level))
    }
}

/// A strategy and what narrows it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Locator {
    /// The main part, which the other fields narrow.
    #[serde(flatten)]
    pub strategy: Strategy,
    /// The frames to go through, outermost first, each named by a locator of its `iframe` element.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub frame: Vec<Locator>,
    /// Only inside a match of this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub within: Option<Box<Locator>>,
    /// Only with this text inside.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub has_text: Option<TextPattern>,
    /// Only without this text inside.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub has_not_text: Option<TextPattern>,
    /// Only with a match of this inside.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub has: Option<Box<Locator>>,
    /// Only without a match of this inside.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub has_not: Option<Box<Locator>>,
    /// Only what is visible, or only what is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub visible: Option<bool>,
    /// Of several matches, this one, in document order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nth: Option<Nth>,
}

impl From<Strategy> for Locator {
    fn from(strategy: Strategy) -> Self {
        Self {
            strategy,
            frame: Vec::new(),
            within: None,
            has_text: None,
            has_not_text: None,
            has: None,
            has_not: None,
            visible: None,
            nth: None,
        }
    }
}

/// Upper bound of the frames in a path, and of locators nested in locators.
const MAX_DEPTH: usize = 8;

impl Locator {
    /// The element with this test id.
    #[must_use]
    pub fn test_id(test_id: &str) -> Self {
        Strategy::TestId(ByTestId { test_id: TextPattern::literal(test_id) }).into()
    }

    /// The element with this role and, letter by letter, this name.
    #[must_use]
    pub fn role(role: Role, name: &str) -> Self {
        let name = Some(TextPattern::literal(name));
        Strategy::Role(ByRole { role, name, exact: Some(true), states: None, include_hidden: None }).into()
    }

    /// Locates the elements that this CSS selector matches.
    #[must_use]
    pub fn css(selector: &str) -> Self {
        Strategy::Css(ByCss { selector: SelectorText::or_reason(selector) }).into()
    }

    /// Returns `true` if the locator or one inside it is css or xpath.
    #[must_use]
    pub fn is_raw(&self) -> bool {
        matches!(self.strategy, Strategy::Css(_) | Strategy::XPath(_))
            || self.frame.iter().any(Self::is_raw)
            || self.within.as_deref().is_some_and(Self::is_raw)
            || self.has.as_deref().is_some_and(Self::is_raw)
            || self.has_not.as_deref().is_some_and(Self::is_raw)
    }

    /// Checks that its selectors and patterns can be used and that it is not nested too deeply.
    ///
    /// # Errors
    /// [`LocatorError`].
    pub fn validate(&self) -> Result<(), LocatorError> {
        self.validate_at(0)
    }

    fn validate_at(&self, depth: usize) -> Result<(), LocatorError> {
        if depth >= MAX_DEPTH || self.frame.len() > MAX_DEPTH {
            return Err(LocatorError::TooDeep);
        }
        if let Some((pattern, _)) = self.strategy.text() {
            pattern.validate()?;
        }
        for pattern in self.has_text.iter().chain(&self.has_not_text) {
            pattern.validate()?;
        }
        if let Strategy::Css(by) = &self.strategy
            && by.selector.as_str().trim_start().starts_with(['>', '+', '~'])
        {
            return Err(LocatorError::Combinator(by.selector.as_str().chars().take(100).collect()));
        }
        for inner in self.has.iter().chain(&self.has_not) {
            if let Some(selector) = inner.relative_selector()
                && **inner != Self::from(inner.strategy.clone())
            {
                return Err(LocatorError::Relative(selector.chars().take(100).collect()));
            }
        }
        let inner = [&self.within, &self.has, &self.has_not];
        let inner = self.frame.iter().chain(inner.into_iter().filter_map(|locator| locator.as_deref()));
        inner.into_iter().try_for_each(|locator| locator.validate_at(depth + 1))
    }

    /// The selector or expression, where it starts from the element around it when it stands in `has` or `hasNot`:
    /// `:scope > li`, `./td`.
    #[must_use]
    pub fn relative_selector(&self) -> Option<&str> {
        match &self.strategy {
            Strategy::Css(by) => Some(by.selector.as_str()).filter(|selector| selector.contains(":scope")),
            Strategy::XPath(by) => Some(by.expression.as_str()).filter(|path| path.trim_start().starts_with('.')),
            _ => None,
        }
    }

    /// Returns `true` if the verdict depends on the text of the element, so that it has to be gathered.
    #[must_use]
    pub const fn turns_on_text(&self) -> bool {
        self.has_text.is_some() || self.has_not_text.is_some() || matches!(self.strategy, Strategy::Text(_))
    }

    /// Locators of other elements that this one depends on, in the same frame.
    pub fn inner(&self) -> impl Iterator<Item = &Self> {
        [&self.within, &self.has, &self.has_not].into_iter().filter_map(|inner| inner.as_deref())
    }

    /// Returns `true` if it picks a match by its position. It means another element once the page inserts a match
    /// before it.
    #[must_use]
    pub fn turns_on_position(&self) -> bool {
        self.nth.is_some() || self.inner().any(Self::turns_on_position)
    }

    /// Judges whether an element with these facts is a match, ignoring `nth`.
    ///
    /// Unknown if the locator depends on something structural that was not examined.
    #[must_use]
    pub fn matches(&self, facts: &ElementFacts) -> Verdict {
        self.grade(facts).0
    }

    /// The verdict, and how well the text fits where there is one.
    #[must_use]
    pub fn grade(&self, facts: &ElementFacts) -> (Verdict, Fit) {
        let (main, fit) = self.strategy.grade(facts);
        let with_text = |pattern: &Option<TextPattern>| match (pattern, &facts.text) {
            (None, _) => None,
            (Some(pattern), Some(text)) => {
                Some(text.clear().map_or(Verdict::Unknown, |text| Verdict::from_bool(pattern.fit(text).is_some())))
            }
            (Some(_), None) => Some(Verdict::Unknown),
        };
        let has_text = with_text(&self.has_text).unwrap_or(Verdict::Holds);
        let has_not_text = with_text(&self.has_not_text).map_or(Verdict::Holds, Verdict::negate);
        let related = |locator: &Option<Box<Self>>, seen: Option<bool>| {
            locator.as_ref().map_or(Verdict::Holds, |_| Verdict::from_option(seen))
        };
        let within = related(&self.within, facts.relations.within);
        let has = related(&self.has, facts.relations.has);
        let has_not = related(&self.has_not, facts.relations.has_not);
        let visible = self
            .visible
            .map_or(Verdict::Holds, |wanted| Verdict::from_option(facts.visible.map(|visible| visible == wanted)));
        let narrowed = [has_text, has_not_text, within, has, has_not, visible].into_iter().fold(main, Verdict::and);
        (narrowed, fit)
    }

    /// Which of these elements, in document order, the locator means, where the first `outer` of them are of the main
    /// document and the rest of frames in it: a locator without a frame path means the main document, and frames only
    /// where nothing else is meant.
    #[must_use]
    pub fn select_outermost(&self, elements: &[ElementFacts], outer: usize) -> Selection {
        let (main, rest) = elements.split_at(outer.min(elements.len()));
        if !self.frame.is_empty() || main.is_empty() || rest.is_empty() {
            return self.select(elements);
        }
        let every = Self { nth: None, ..self.clone() };
        if every.select(elements).matches.iter().any(|position| *position < main.len()) {
            return self.select(main);
        }
        self.select(elements)
    }

    /// Which of these elements, in document order, the locator means.
    ///
    /// ```
    /// use cuebook_grammar::facts::ElementFacts;
    /// use cuebook_grammar::locator::Locator;
    /// use cuebook_grammar::role::Role;
    ///
    /// let button = |name: &str| ElementFacts { role: Role::Button, name: name.to_owned(), ..ElementFacts::default() };
    /// let selected = Locator::role(Role::Button, "Save").select(&[button("Cancel"), button("Save")]);
    /// assert_eq!(selected.unique(), Some(1));
    /// ```
    #[must_use]
    pub fn select(&self, elements: &[ElementFacts]) -> Selection {
        let graded: Vec<(usize, Fit)> = elements
            .iter()
            .enumerate()
            .filter_map(|(index, facts)| match self.grade(facts) {
                (Verdict::Holds, fit) => Some((index, fit)),
                _ => None,
            })
            .collect();
        let best = graded.iter().map(|(_, fit)| *fit).min();
        let wanted = if self.strategy.wants_best_fit() { best } else { None };
        let matches: Vec<usize> =
            graded.iter().filter(|(_, fit)| wanted.is_none_or(|best| *fit == best)).map(|(index, _)| *index).collect();
        let Some(nth) = self.nth else {
            return Selection { matches };
        };
        let position = usize::try_from(nth.get()).ok().or_else(|| {
            usize::try_from(nth.get().unsigned_abs()).ok().and_then(|back| matches.len().checked_sub(back))
        });
        Selection { matches: position.and_then(|p| matches.get(p).copied()).into_iter().collect() }
    }
}

/// Positions of the matches in the slice passed to [`Locator::select`], in document order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection {
    /// The positions; one of them if the target is unique.
    pub matches: Vec<usize>,
}

impl Selection {
    /// The only match, if there is exactly one.
    #[must_use]
    pub fn unique(&self) -> Option<usize> {
        match self.matches[..] {
            [only] => Some(only),
            _ => None,
        }
    }
}

/// A locator that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LocatorError {
    /// Locators inside locators, or frames, beyond the bound.
    #[error("expected at most 8 nested locators or frames")]
    TooDeep,
    /// A pattern that does not compile.
    #[error(transparent)]
    Pattern(#[from] PatternError),
    /// A CSS selector that begins with a combinator.
    #[error("{0:?} begins with a combinator, not an element (write `:scope {0}` in `has` and `hasNot`)")]
    Combinator(String),
    /// A selector relative to the element around it, combined with other parts.
    #[error("{0:?} starts from the element around it, so it cannot be combined with other parts of a locator")]
    Relative(String),
}

impl Strategy {
    /// The text that the strategy looks for, and what it said about exactness.
    #[must_use]
    pub fn text(&self) -> Option<(&TextPattern, Option<bool>)> {
        match self {
            Self::TestId(by) => Some((&by.test_id, Some(true))),
            Self::Role(by) => by.name.as_ref().map(|name| (name, by.exact)),
            Self::Label(by) => Some((&by.text, by.exact)),
            Self::Placeholder(by) => Some((&by.text, by.exact)),
            Self::AltText(by) => Some((&by.text, by.exact)),
            Self::Title(by) => Some((&by.text, by.exact)),
            Self::Text(by) => Some((&by.text, by.exact)),
            Self::Css(_) | Self::XPath(_) => None,
        }
    }

    fn wants_best_fit(&self) -> bool {
        matches!(self.text(), Some((_, None)))
    }

    fn grade(&self, facts: &ElementFacts) -> (Verdict, Fit) {
        let one = |seen: Option<&str>| self.grade_text(seen);
        match self {
            Self::TestId(_) => one(facts.test_id.as_deref()),
            Self::Role(by) => {
                let plain = facts.role == by.role && by.states.is_none_or(|filter| filter.matches(&facts.states));
                let (name, fit) = if by.name.is_some() { one(Some(&facts.name)) } else { (Verdict::Holds, Fit::Exact) };
                (Verdict::from_bool(plain).and(name), fit)
            }
            Self::Label(_) => {
                let best =
                    facts.labels.iter().map(|label| one(Some(label))).filter(|(v, _)| v.holds()).map(|(_, f)| f).min();
                best.map_or((Verdict::Fails, Fit::Substring), |fit| (Verdict::Holds, fit))
            }
            Self::Placeholder(_) => one(facts.placeholder.as_deref()),
            Self::AltText(_) => one(facts.alt.as_deref()),
            Self::Title(_) => one(facts.title.as_deref()),
            Self::Text(_) => {
                let (text, fit) = match &facts.text {
                    None => (Verdict::Unknown, Fit::Substring),
                    Some(text) => text.clear().map_or((Verdict::Unknown, Fit::Substring), |t| one(Some(t))),
                };
                (text.and(Verdict::from_option(facts.relations.innermost_text)), fit)
            }
            Self::Css(_) | Self::XPath(_) => (Verdict::from_option(facts.relations.selector), Fit::Exact),
        }
    }

    fn grade_text(&self, seen: Option<&str>) -> (Verdict, Fit) {
        let Some((pattern, exact)) = self.text() else {
            return (Verdict::Unknown, Fit::Substring);
        };
        match seen.and_then(|seen| pattern.fit(seen)) {
            Some(fit) if exact != Some(true) || fit == Fit::Exact => (Verdict::Holds, fit),
            _ => (Verdict::Fails, Fit::Substring),
        }
    }
}

const FRAME: &str = "frame";
const WITHIN: &str = "within";
const HAS_TEXT: &str = "hasText";
const HAS_NOT_TEXT: &str = "hasNotText";
const HAS: &str = "has";
const HAS_NOT: &str = "hasNot";
const VISIBLE: &str = "visible";
const NTH: &str = "nth";

impl Locator {
    /// Reads the strategy's fields and the narrowing ones from one object.
    ///
    /// # Errors
    /// [`ReadError`] with the field that does not fit.
    pub fn from_object(mut object: Object) -> Result<Self, ReadError> {
        Ok(Self {
            frame: wire::take(&mut object, FRAME)?.unwrap_or_default(),
            within: wire::take(&mut object, WITHIN)?,
            has_text: wire::take(&mut object, HAS_TEXT)?,
            has_not_text: wire::take(&mut object, HAS_NOT_TEXT)?,
            has: wire::take(&mut object, HAS)?,
            has_not: wire::take(&mut object, HAS_NOT)?,
            visible: wire::take(&mut object, VISIBLE)?,
            nth: wire::take(&mut object, NTH)?,
            strategy: Strategy::from_object(object)?,
        })
    }
}

impl<'de> Deserialize<'de> for Locator {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        wire::deserialize_object(deserializer, Self::from_object)
    }
}

impl JsonSchema for Locator {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Locator".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let variants: Vec<Schema> = Strategy::variant_schemas(generator)
            .into_iter()
            .map(|mut schema| {
                let fields = vec![
                    (FRAME, generator.subschema_for::<Option<Vec<Locator>>>()),
                    (WITHIN, generator.subschema_for::<Option<Locator>>()),
                    (HAS_TEXT, generator.subschema_for::<Option<TextPattern>>()),
                    (HAS_NOT_TEXT, generator.subschema_for::<Option<TextPattern>>()),
                    (HAS, generator.subschema_for::<Option<Locator>>()),
                    (HAS_NOT, generator.subschema_for::<Option<Locator>>()),
                    (VISIBLE, generator.subschema_for::<Option<bool>>()),
                    (NTH, generator.subschema_for::<Option<Nth>>()),
                ];
                wire::extend_object_schema(&mut schema, fields, &[]);
                schema
            })
            .collect();
        schemars::json_schema!({ "oneOf": variants })
    }
}

/// A short name for messages: `role=button name="Log in"`.
impl std::fmt::Display for Locator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = |pattern: &TextPattern| match pattern {
            TextPattern::Literal(text) => format!("{:?}", ShortText::as_str(text)),
            TextPattern::Regex(pattern, _) => format!("/{}/", pattern.as_str()),
        };
        match &self.strategy {
            Strategy::Role(by) => {
                write!(f, "role={}", by.role)?;
                by.name.as_ref().map_or(Ok(()), |name| write!(f, " name={}", text(name)))
            }
            Strategy::Css(by) => write!(f, "css={:?}", by.selector.as_str()),
            Strategy::XPath(by) => write!(f, "xpath={:?}", by.expression.as_str()),
            other => other.text().map_or(Ok(()), |(pattern, _)| write!(f, "{}={}", other.tag(), text(pattern))),
        }?;
        let texts = [("hasText", &self.has_text), ("hasNotText", &self.has_not_text)];
        for (word, pattern) in texts.into_iter().filter_map(|(word, pattern)| Some((word, pattern.as_ref()?))) {
            write!(f, " {word}={}", text(pattern))?;
        }
        let parts = [("has", &self.has), ("hasNot", &self.has_not), ("within", &self.within)];
        for (word, part) in parts.into_iter().filter_map(|(word, part)| Some((word, part.as_ref()?))) {
            write!(f, " {word}=({part})")?;
        }
        if let Some(visible) = self.visible {
            write!(f, " visible={visible}")?;
        }
        if let Some(nth) = &self.nth {
            write!(f, " nth={}", nth.get())?;
        }
        self.frame.iter().rev().try_for_each(|frame| write!(f, " frame=({frame})"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(json: &str) -> Option<LocatorError> {
        serde_json::from_str::<Locator>(json).unwrap().validate().err()
    }

    #[test]
    fn a_selector_that_begins_with_a_combinator_is_refused_with_the_reason() {
        let error = refused(r#"{"strategy":"css","selector":"div","has":{"strategy":"css","selector":" > b"}}"#);
        assert!(matches!(&error, Some(LocatorError::Combinator(_))), "{error:?}");
        assert_eq!(
            refused(r#"{"strategy":"css","selector":"div","has":{"strategy":"css","selector":":scope > b"}}"#),
            None
        );
    }

    #[test]
    fn a_locator_in_words_has_all_its_parts() {
        let locator = serde_json::json!({
            "strategy": "byRole", "role": "listitem", "hasText": "Ann", "hasNot": { "strategy": "text", "text": "Gone" },
            "within": { "strategy": "css", "selector": "#people", "nth": 1 }, "visible": true,
        });
        let locator: Locator = serde_json::from_value(locator).unwrap();
        let words = r##"role=listitem hasText="Ann" hasNot=(text="Gone") within=(css="#people" nth=1) visible=true"##;
        assert_eq!(locator.to_string(), words);
    }

    #[test]
    fn an_expression_that_starts_from_the_element_around_it_stands_alone() {
        let error = refused(
            r#"{"strategy":"css","selector":"div","has":{"strategy":"xpath","expression":"./b","hasText":"x"}}"#,
        );
        assert!(matches!(&error, Some(LocatorError::Relative(_))), "{error:?}");
    }
}
