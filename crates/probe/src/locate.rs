//! Finding what a locator means, across frames.
//!
//! The script filters roughly and reports facts; `Locator::select` decides. Inner locators (`within`,
//! `has`) are resolved first, and the script only compares positions.

use std::collections::HashMap;
use std::time::Instant;

use cuebook_cdp::FrameId;
use cuebook_grammar::facts::ElementFacts;
use cuebook_grammar::id::NodeKey;
use cuebook_grammar::locator::{Locator, Strategy};
use cuebook_grammar::text_match::TextPattern;
use futures_util::future::{BoxFuture, join_all};
use serde::{Deserialize, Serialize};

use crate::ask::Ask;
use crate::error::ProbeError;
use crate::facts::redacted;
use crate::innermost::innermost;
use crate::probe::Probe;

/// One element that a locator means.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Match {
    /// Key of the node: its page, frame and document.
    pub key: NodeKey,
    /// Facts about the element, as far as they were requested.
    pub facts: ElementFacts,
}

/// Matches of a locator, and gaps in the search.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Located {
    /// The matches, `nth` applied: main frame first, document order within a frame.
    pub matches: Vec<Match>,
    /// Elements that passed the rough filter but were beyond its bound, so that the answer is not whole.
    pub skipped: u64,
    /// Frames that could not be asked because they went away meanwhile.
    pub frames_gone: usize,
}

impl Located {
    /// The only match, if there is exactly one.
    #[must_use]
    pub fn unique(&self) -> Option<&Match> {
        match &self.matches[..] {
            [only] => Some(only),
            _ => None,
        }
    }
}

/// The rough filter, as the script reads it.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Filter<'a> {
    by: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<&'static str>,
    /// A literal, in the clear; absent for a regular expression, which the script does not judge.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
    /// Only elements with a non-empty one.
    #[serde(skip_serializing_if = "Option::is_none")]
    selector: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    has_text: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    within: Option<Vec<u64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    has: Option<Vec<u64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    has_not: Option<Vec<u64>>,
    /// Inner locators that start from each element, in place of those above.
    #[serde(skip_serializing_if = "Option::is_none")]
    has_relative: Option<Relative<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    has_not_relative: Option<Relative<'a>>,
    /// The inner locators may mean the element itself.
    has_itself: bool,
    has_not_itself: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    include_hidden: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    visible: Option<bool>,
    limit: u32,
}

/// A selector or an expression that starts from the element around it.
#[derive(Clone, Copy, Debug, Serialize)]
struct Relative<'a> {
    by: &'static str,
    selector: &'a str,
}

impl<'a> Relative<'a> {
    fn of(locator: &'a Locator) -> Option<Self> {
        let by = if matches!(locator.strategy, Strategy::XPath(_)) { "xpath" } else { "css" };
        locator.relative_selector().map(|selector| Self { by, selector })
    }
}

/// Decides if frames count where the main document has a match.
#[derive(Clone, Copy)]
enum Reach {
    /// The element that a step or a condition means.
    Outermost,
    /// Elements that others stand in or hold, wherever these are.
    Everywhere,
}

/// Where the matches of an inner locator stand.
#[derive(Clone, Copy, PartialEq, Eq)]
enum InnerPlace {
    Around,
    Inside,
}

/// The most elements that the script reports from one frame.
const LIMIT: u32 = 2_000;

#[derive(Deserialize)]
struct Row {
    id: u64,
    facts: ElementFacts,
    /// The nearest row that contains this one.
    #[serde(default)]
    parent: Option<usize>,
}

#[derive(Deserialize)]
struct LocateReply {
    rows: Vec<Row>,
    skipped: u64,
}

impl Probe {
    /// Everything that `locator` means on the page now.
    ///
    /// Without a frame path, the main frame is searched, and the others where nothing in it is meant; with one,
    /// only the frame that it leads to from the main frame.
    ///
    /// # Errors
    /// [`ProbeError::BadSelector`] for a selector that the browser refuses; [`ProbeError::FramePath`] if
    /// a part of the frame path names no frame, or several.
    pub async fn locate(&self, locator: &Locator, ask: &Ask, until: Instant) -> Result<Located, ProbeError> {
        let frames = self.frames_of(locator, until).await?;
        self.locate_in(locator, ask, frames, Reach::Outermost, until).await
    }

    /// The frame at the end of a locator's frame path; the main frame without one.
    ///
    /// # Errors
    /// As [`Probe::locate`].
    pub async fn frame_at_end_of(&self, locator: &Locator, until: Instant) -> Result<FrameId, ProbeError> {
        if locator.frame.is_empty() {
            return Ok(self.page().main_frame().id);
        }
        let frames = self.frames_of(locator, until).await?;
        frames.into_iter().next().ok_or(ProbeError::Gone)
    }

    async fn frames_of(&self, locator: &Locator, until: Instant) -> Result<Vec<FrameId>, ProbeError> {
        if locator.frame.is_empty() {
            return Ok(self.page().frames().into_iter().map(|frame| frame.id).collect());
        }
        let mut frames = vec![self.page().main_frame().id];
        for (part, owner) in locator.frame.iter().enumerate() {
            let mut located = self.locate_in(owner, &Ask::default(), frames, Reach::Outermost, until).await?;
            located.matches.retain(|found| matches!(found.facts.tag.as_str(), "iframe" | "frame" | "object"));
            let Some(found) = located.unique() else {
                return Err(ProbeError::FramePath { part, matches: located.matches.len() });
            };
            frames = vec![self.content_frame(&found.key, until).await?];
        }
        Ok(frames)
    }

    fn locate_in<'a>(
        &'a self,
        locator: &'a Locator,
        ask: &'a Ask,
        frames: Vec<FrameId>,
        reach: Reach,
        until: Instant,
    ) -> BoxFuture<'a, Result<Located, ProbeError>> {
        Box::pin(async move {
            let mut wanted = ask.clone();
            wanted.text |= locator.turns_on_text();
            let within = self.inner_matches(locator.within.as_deref(), InnerPlace::Around, &frames, until).await?;
            let has = self.inner_matches(locator.has.as_deref(), InnerPlace::Inside, &frames, until).await?;
            let has_not = self.inner_matches(locator.has_not.as_deref(), InnerPlace::Inside, &frames, until).await?;
            let of = |inner: &Option<HashMap<String, Vec<u64>>>, frame: &FrameId| {
                inner.as_ref().map(|inner| inner.get(frame.as_str()).cloned().unwrap_or_default())
            };
            let answers = join_all(frames.iter().map(|frame| {
                let filter = Filter {
                    within: of(&within, frame),
                    has: of(&has, frame),
                    has_not: of(&has_not, frame),
                    ..rough(locator)
                };
                self.ask_frame(frame, filter, locator, &wanted, until)
            }))
            .await;
            let mut located = Located::default();
            let mut keys = Vec::new();
            let mut facts = Vec::new();
            let last_error_counts = frames.len() == 1;
            let mut outer = 0;
            for (index, answer) in answers.into_iter().enumerate() {
                match answer {
                    Ok((rows, skipped)) => {
                        located.skipped += skipped;
                        for (key, row) in rows {
                            keys.push(key);
                            facts.push(row);
                        }
                        if index == 0 {
                            outer = facts.len();
                        }
                    }
                    Err(ProbeError::Gone) if !last_error_counts => located.frames_gone += 1,
                    Err(error) => return Err(error),
                }
            }
            // Texts of password-like fields are judged in the clear, and only then reduced.
            let selection = match reach {
                Reach::Outermost => locator.select_outermost(&facts, outer),
                Reach::Everywhere => locator.select(&facts),
            };
            for position in selection.matches {
                if let (Some(key), Some(facts)) = (keys.get(position), facts.get(position)) {
                    located
                        .matches
                        .push(Match { key: key.clone(), facts: redacted(facts.clone(), ask, self.digest_key()) });
                }
            }
            Ok(located)
        })
    }

    async fn inner_matches(
        &self,
        inner: Option<&Locator>,
        asked: InnerPlace,
        frames: &[FrameId],
        until: Instant,
    ) -> Result<Option<HashMap<String, Vec<u64>>>, ProbeError> {
        let Some(inner) = inner else { return Ok(None) };
        if asked == InnerPlace::Inside && inner.relative_selector().is_some() {
            // The script searches for it from each element.
            return Ok(Some(HashMap::new()));
        }
        let frames =
            if inner.frame.is_empty() { frames.to_vec() } else { Box::pin(self.frames_of(inner, until)).await? };
        let reach = if inner.nth.is_some() { Reach::Outermost } else { Reach::Everywhere };
        let located = self.locate_in(inner, &Ask::default(), frames, reach, until).await?;
        let mut by_frame: HashMap<String, Vec<u64>> = HashMap::new();
        for found in located.matches {
            by_frame.entry(found.key.frame).or_default().push(found.key.node);
        }
        Ok(Some(by_frame))
    }

    async fn ask_frame(
        &self,
        frame: &FrameId,
        filter: Filter<'_>,
        locator: &Locator,
        ask: &Ask,
        until: Instant,
    ) -> Result<(Vec<(NodeKey, ElementFacts)>, u64), ProbeError> {
        let world = self.world(frame, until).await?;
        let text: String = world
            .call(
                "(cb, filter, ask) => JSON.stringify(cb.locate(filter, ask))",
                &[serde_json::to_value(filter)?, self.ask_json(ask)?],
                until,
            )
            .await?;
        let mut answer: LocateReply = serde_json::from_str(&text)?;
        if let Strategy::Text(by) = &locator.strategy {
            mark_innermost(&mut answer.rows, &by.text);
        }
        let rows = answer.rows.into_iter().map(|row| (world.key(row.id), row.facts)).collect();
        Ok((rows, answer.skipped))
    }
}

/// Marks the rows that are the innermost with the text.
fn mark_innermost(rows: &mut [Row], pattern: &TextPattern) {
    let nested: Vec<_> = rows.iter().map(|row| (&row.facts, row.parent)).collect();
    let told = innermost(&nested, pattern);
    for (row, told) in rows.iter_mut().zip(told) {
        row.facts.relations.innermost_text = Some(told);
    }
}

/// Returns `true` if an inner locator may mean the element around it: a text is that of the element itself, too.
fn may_mean_itself(inner: &Locator) -> bool {
    matches!(inner.strategy, Strategy::Text(_) | Strategy::XPath(_))
}

fn literal(pattern: &TextPattern) -> Option<&str> {
    match pattern {
        TextPattern::Literal(text) => Some(text),
        TextPattern::Regex(..) => None,
    }
}

fn rough(locator: &Locator) -> Filter<'_> {
    let mut filter = Filter {
        by: "css",
        role: None,
        text: locator.strategy.text().and_then(|(pattern, _)| literal(pattern)),
        selector: None,
        has_text: locator.has_text.as_ref().and_then(literal),
        within: None,
        has: None,
        has_not: None,
        has_relative: locator.has.as_deref().and_then(Relative::of),
        has_not_relative: locator.has_not.as_deref().and_then(Relative::of),
        has_itself: locator.has.as_deref().is_some_and(may_mean_itself),
        has_not_itself: locator.has_not.as_deref().is_some_and(may_mean_itself),
        include_hidden: None,
        visible: locator.visible,
        limit: LIMIT,
    };
    match &locator.strategy {
        Strategy::TestId(_) => filter.by = "testId",
        Strategy::Role(by) => {
            filter.by = "role";
            filter.role = Some(by.role.as_str());
            filter.include_hidden = by.include_hidden;
        }
        Strategy::Label(_) => filter.by = "label",
        Strategy::Placeholder(_) => filter.by = "placeholder",
        Strategy::AltText(_) => filter.by = "alt",
        Strategy::Title(_) => filter.by = "title",
        Strategy::Text(_) => filter.by = "text",
        Strategy::Css(by) => filter.selector = Some(by.selector.as_str()),
        Strategy::XPath(by) => {
            filter.by = "xpath";
            filter.selector = Some(by.expression.as_str());
        }
    }
    filter
}
