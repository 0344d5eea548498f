//! Observations: what the page modeler saw on a page at one moment.
//!
//! Invariants:
//! - What was left out is counted in `truncated`; nothing is dropped silently.
//! - An observation holds no node handle on the wire and no text of a password-like field anywhere.

mod delta;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::candidate::{About, Candidate, Fingerprint, ObservedCandidate, Placement};
use crate::facts::DialogFact;
use crate::geometry::Point;
use crate::id::{CandidateId, ObservationId, PageId};
use crate::shared::Shared;
use crate::wire::{is_default, words};

pub use delta::Delta;

/// The version of the observation's wire format. The major version is raised when an
/// older reader would misread a document, the minor version when a field is added.
pub const OBSERVATION_VERSION: &str = "1.5";

fn readable<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    crate::wire::readable_version(deserializer, OBSERVATION_VERSION)
}

/// How much of a page is observed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Scope {
    /// The viewport and the part of the page near it: half a viewport around.
    #[default]
    View,
    /// The whole page, off-view parts included.
    Full,
}

/// The tab's viewport and where it is scrolled to, in CSS pixels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Viewport {
    /// Width of the viewport.
    pub width: f64,
    /// Height of the viewport.
    pub height: f64,
    /// Scrolled from the left.
    pub scroll_x: f64,
    /// Scrolled from the top.
    pub scroll_y: f64,
    /// Width of the whole page.
    pub page_width: f64,
    /// Height of the whole page.
    pub page_height: f64,
    /// Device pixels in a CSS pixel.
    pub device_pixel_ratio: f64,
}

/// A scrolled part of the page: a scroll container, or the document of a frame.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ScrolledPart {
    /// The container, such as `div#list`; empty for the document of a frame.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub container: String,
    /// 0-based index of its frame.
    #[serde(default, skip_serializing_if = "is_default")]
    pub frame: u32,
    /// CSS pixels from its start on the left, negative where text runs to the left.
    pub x: i64,
    /// CSS pixels from its top.
    pub y: i64,
}

/// A pane in view that has more than it shows: a scroll container, or the document of a frame. In CSS pixels.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Pane {
    /// The container, such as `div#list`; empty for the document of a frame.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub container: String,
    /// 0-based index of its frame.
    #[serde(skip_serializing_if = "is_default")]
    pub frame: u32,
    /// Content above what it shows.
    #[serde(skip_serializing_if = "is_default")]
    pub above: u32,
    /// Content below what it shows.
    #[serde(skip_serializing_if = "is_default")]
    pub below: u32,
    /// Content to the left of what it shows.
    #[serde(skip_serializing_if = "is_default")]
    pub left: u32,
    /// Content to the right of what it shows.
    #[serde(skip_serializing_if = "is_default")]
    pub right: u32,
}

/// One frame of the page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FrameSummary {
    /// The index of its parent; absent in the main frame.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<u32>,
    /// Its URL, at most 2,000 characters.
    pub url: String,
    /// Its origin as the browser serialises it, `null` for opaque ones.
    pub origin: String,
    /// Its name or title.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// `true` if it runs in another process than the main frame.
    #[serde(default)]
    pub out_of_process: bool,
    /// Why the observation holds nothing of it, if so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub omitted: Option<String>,
}

/// One open tab, whether or not it is the observed one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TabSummary {
    /// The tab's id, as the owner of the browser names it.
    pub page: PageId,
    /// Its URL, at most 2,000 characters.
    pub url: String,
    /// Its title, at most 200 characters.
    pub title: String,
    /// `true` if it is the observed tab.
    #[serde(default)]
    pub current: bool,
}

/// A region of the page in one line: `form#login: 3 inputs`, `table#results: 5 cols, 47 rows`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Landmark {
    /// Kind of the region, and its contents.
    pub summary: String,
    /// 0-based index of its frame.
    #[serde(default)]
    pub frame: u32,
}

/// A heading of the page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Heading {
    /// Level of the heading, from 1.
    pub level: u8,
    /// Its text, at most 200 characters.
    pub text: String,
}

/// Text by which the page reports what goes on: alerts, statuses, errors.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LiveText {
    /// `alert`, `status`, `log`, `error`.
    pub kind: String,
    /// The text, at most 300 characters.
    pub text: String,
}

/// The page in a few lines.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Sketch {
    /// `og:type`, the schema.org type, or what the structure suggests (`login`, `form`, `list`, …).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page_type: Option<String>,
    /// The description that the page gives of itself, at most 300 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The language that the page declares.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// Values that the page states about its subject, in JSON-LD or Open Graph; not in the text form.
    #[serde(skip_serializing_if = "is_default")]
    pub stated: Stated,
    /// Forms, tables, lists, navigation and other regions, the first 40.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub landmarks: Vec<Landmark>,
    /// Headings, the first 40.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub headings: Vec<Heading>,
    /// Alerts and the like, the first 20.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub live: Vec<LiveText>,
    /// The name of the modal dialog that is open, if one is; empty if it has no name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub modal: Option<String>,
    /// Challenge to a person before the page goes on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub challenge: Option<Challenge>,
    /// The page shows nothing: nothing to act on, no text, no picture.
    #[serde(skip_serializing_if = "is_default")]
    pub empty: bool,
}

/// Values that a page states about its subject, as it writes them; at most 200 characters each.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Stated {
    /// Its name or headline.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its price, or the lowest, without a currency.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub price: Option<String>,
    /// Currency of the price, such as `EUR`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub currency: Option<String>,
    /// Its author, by name or URL.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
    /// When it was published, as the page writes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
}

impl Stated {
    /// The values that are there, to be cut or redacted.
    pub fn texts_mut(&mut self) -> impl Iterator<Item = &mut String> {
        [&mut self.name, &mut self.price, &mut self.currency, &mut self.author, &mut self.date].into_iter().flatten()
    }
}

words! {
    /// Challenge of a page to a person before it goes on, the one that keeps most from being used first. It is reported
    /// and left to the person: this program never answers it.
    #[non_exhaustive]
    pub enum Challenge {
        /// A page before the requested one that checks the browser, and may go away by itself.
        Interstitial = "interstitial",
        /// A test for humans that was not passed.
        Captcha = "captcha",
        /// A question about cookies that covers all of the page.
        CookieWall = "cookieWall",
    }
}

/// Counts of what an observation left out, by bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Truncation {
    /// Candidates beyond the bound.
    pub candidates: u64,
    /// Elements that were not walked.
    pub elements: u64,
    /// Frames that were not entered.
    pub frames: u64,
    /// Candidates beyond the view, where only the view was asked for.
    pub off_view: u64,
    /// Controls that only the keyboard reaches, such as skip links and native controls behind drawn ones.
    pub keyboard: u64,
    /// Lines of text beyond the bound.
    pub texts: u64,
    /// Frames in which the script failed: of their elements, role and name are known from the accessibility tree alone.
    #[serde(skip_serializing_if = "is_default")]
    pub accessible: u64,
}

words! {
    /// Kind of a line of text.
    #[non_exhaustive]
    pub enum TextKind {
        /// A paragraph, or anything else.
        Text = "text",
        /// A heading, whose level the line states.
        Heading = "heading",
        /// An item of a list.
        Item = "item",
        /// A row of a table.
        Row = "row",
    }
}

/// A part of a line of text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum TextPart {
    /// A text as written.
    Text(String),
    /// A picture, by its alternative text.
    Image(String),
    /// A candidate stands here. Its name is not repeated.
    Candidate(CandidateId),
}

/// A line of text as a person reads it: a paragraph, a row of a table, what else stands side by side.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TextLine {
    /// Kind of the line.
    pub kind: TextKind,
    /// Level of a heading, from 1.
    #[serde(default, skip_serializing_if = "is_default")]
    pub level: u8,
    /// Its cells from the beginning of the line to its end; most lines have one. At most 2,000 characters.
    pub cells: Vec<Vec<TextPart>>,
    /// Characters that were cut.
    #[serde(default, skip_serializing_if = "is_default")]
    pub more: u64,
    /// The candidate that follows in the order of reading; absent after the last one of a frame.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<CandidateId>,
    /// 0-based index of its frame.
    #[serde(default, skip_serializing_if = "is_default")]
    pub frame: u32,
    /// In view if some of it can be seen without scrolling.
    pub placement: Placement,
    /// An open modal dialog lies over it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub behind: bool,
}

/// A page at one moment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Observation {
    /// Format version: [`OBSERVATION_VERSION`] when written, any of its major version when read.
    #[serde(deserialize_with = "readable")]
    #[schemars(regex(pattern = r"^1\.[0-9]+$"))]
    pub schema_version: String,
    /// Its number in the run.
    pub id: ObservationId,
    /// The tab that was observed.
    pub page: PageId,
    /// How much was observed.
    pub scope: Scope,
    /// The URL of the main frame.
    pub url: String,
    /// The title, at most 200 characters.
    pub title: String,
    /// The HTTP status of the document; absent if there was none, as with files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Viewport and scroll position.
    pub viewport: Viewport,
    /// Scrolled parts besides the page: at most 20 scroll containers and frames that are not at their start.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scrolled: Vec<ScrolledPart>,
    /// Panes besides the page that scroll and have more than they show: at most 10 in view, outer ones first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub panes: Vec<Pane>,
    /// The frames, parents before children; the first is the main frame.
    pub frames: Vec<FrameSummary>,
    /// The candidates, in the order in which they are read; on the wire with the `center` of each box.
    #[serde(serialize_with = "ObservedCandidate::write")]
    #[schemars(with = "Vec<ObservedCandidate<'static>>")]
    pub candidates: Shared<Candidate>,
    /// Candidates that were valid until recently: a small window, for repairs.
    #[serde(default, skip_serializing_if = "is_default")]
    pub recent: Shared<Candidate>,
    /// The page's text in the order of reading, without the names of candidates, where it was
    /// [read](crate::seam::PageModeler::read).
    #[serde(default, skip_serializing_if = "is_default")]
    pub texts: Shared<TextLine>,
    /// The page in a few lines.
    #[serde(default)]
    pub sketch: Sketch,
    /// The JavaScript dialog that blocks the page, if one is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dialog: Option<DialogFact>,
    /// The open tabs, in order of opening.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tabs: Vec<TabSummary>,
    /// Counts of what was left out, if anything was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub truncated: Option<Truncation>,
    /// Changes since the previous observation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delta: Option<Delta>,
    /// Meaning of each candidate, where the document is to be used by another process
    /// ([`with_meanings`](Self::with_meanings)).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub meanings: BTreeMap<CandidateId, About>,
    /// Identifies this kind of page in this state: 16 hexadecimal digits over structure and candidates, without volatile
    /// text.
    pub fingerprint: String,
}

impl Observation {
    /// A candidate that a pane holds, which names the pane in a step; `None` where it holds none, or another pane is
    /// called the same.
    #[must_use]
    pub fn in_pane(&self, pane: &Pane) -> Option<CandidateId> {
        let is_called = |other: &&Pane| other.container == pane.container && other.frame == pane.frame;
        if pane.container.is_empty() || self.panes.iter().filter(is_called).count() > 1 {
            return None;
        }
        let holds = |it: &&Candidate| {
            it.frame == pane.frame && it.scroll_container.as_ref() == Some(&pane.container) && !it.ambiguous
        };
        let held = self.candidates.iter().filter(holds);
        held.min_by_key(|it| it.placement == Placement::OffView).map(|it| it.id)
    }
}

impl Truncation {
    /// Describes in words what lies beyond the observed part: `39850 controls`. `None` if nothing that could be acted
    /// on does.
    #[must_use]
    pub fn beyond(&self) -> Option<String> {
        match (self.candidates.saturating_add(self.off_view), self.elements) {
            (0, 0) => None,
            (0, elements) => Some(format!("{elements} elements")),
            (1, _) => Some("a control".to_owned()),
            (controls, _) => Some(format!("{controls} controls")),
        }
    }
}

impl Observation {
    /// The observation of a page that was not looked at: no candidates.
    #[must_use]
    pub fn blank(page: PageId, url: &str) -> Self {
        Self {
            schema_version: OBSERVATION_VERSION.to_owned(),
            id: ObservationId::default(),
            page,
            scope: Scope::View,
            url: url.to_owned(),
            title: String::new(),
            status: None,
            viewport: Viewport::default(),
            scrolled: Vec::new(),
            panes: Vec::new(),
            frames: Vec::new(),
            candidates: Shared::new(),
            recent: Shared::new(),
            texts: Shared::new(),
            sketch: Sketch::default(),
            dialog: None,
            tabs: Vec::new(),
            truncated: None,
            delta: None,
            meanings: BTreeMap::new(),
            fingerprint: String::new(),
        }
    }

    /// Reads an observation of this major version. Fields of a later minor version are ignored.
    ///
    /// # Errors
    /// [`ReadError`](crate::wire::ReadError) with the version, or the innermost value that does not fit.
    pub fn read(json: &str) -> Result<Self, crate::wire::ReadError> {
        crate::wire::read_versioned(json, OBSERVATION_VERSION)
    }

    /// Why nothing of the page was observed, if the main frame did not respond.
    #[must_use]
    pub fn unseen(&self) -> Option<&str> {
        self.frames.first()?.omitted.as_deref()
    }

    /// The candidate with this id, current or recent.
    #[must_use]
    pub fn candidate_or_recent(&self, id: CandidateId) -> Option<&Candidate> {
        self.candidate(id).or_else(|| self.recent.iter().find(|candidate| candidate.id == id))
    }

    /// The candidate most similar to a fingerprint, if it is unique and similar enough.
    ///
    /// # Errors
    /// The equally good matches; empty if none reaches [`Fingerprint::THRESHOLD`].
    pub fn rebind(&self, fingerprint: &Fingerprint) -> Result<&Candidate, Vec<&Candidate>> {
        let graded: Vec<(&Candidate, f64)> = self
            .candidates
            .iter()
            .map(|candidate| (candidate, fingerprint.likeness(&candidate.fingerprint)))
            .filter(|(_, likeness)| *likeness >= Fingerprint::THRESHOLD)
            .collect();
        let best = graded.iter().map(|(_, likeness)| *likeness).fold(0.0, f64::max);
        let matches: Vec<&Candidate> =
            graded.into_iter().filter(|(_, likeness)| best - likeness < 1e-9).map(|(candidate, _)| candidate).collect();
        match matches[..] {
            [only] if !only.ambiguous => Ok(only),
            _ => Err(matches),
        }
    }

    /// The candidate that `former` has become. In the same document, the only one with the same meaning: what merely
    /// looks alike there means something else. In another document, what [`Observation::rebind`] finds.
    ///
    /// # Errors
    /// The equally good matches; empty if there is none.
    pub fn follow(&self, former: &Candidate) -> Result<&Candidate, Vec<&Candidate>> {
        if former.about.is_none() || !self.candidates.iter().any(|candidate| candidate.shares_document(former)) {
            return self.rebind(&former.fingerprint);
        }
        let is_same = |candidate: &&Candidate| candidate.about == former.about && candidate.shares_document(former);
        let matches: Vec<&Candidate> = self.candidates.iter().filter(is_same).collect();
        match matches[..] {
            [only] if !only.ambiguous => Ok(only),
            _ => Err(matches),
        }
    }

    /// The current candidate with this id.
    #[must_use]
    pub fn candidate(&self, id: CandidateId) -> Option<&Candidate> {
        self.candidates.iter().find(|candidate| candidate.id == id)
    }

    /// The candidate in view whose box has this point of the viewport: of several, the one that nothing covers, then the
    /// smallest. It may still lie under something that is no candidate.
    #[must_use]
    pub fn under(&self, point: Point) -> Option<&Candidate> {
        let is_there = |candidate: &&Candidate| {
            candidate.placement == Placement::InView && candidate.rect.is_some_and(|rect| rect.contains(point))
        };
        let area = |candidate: &Candidate| candidate.rect.map_or(f64::MAX, |rect| rect.width * rect.height);
        self.candidates
            .iter()
            .filter(is_there)
            .min_by(|a, b| a.occlusion.is_some().cmp(&b.occlusion.is_some()).then_with(|| area(a).total_cmp(&area(b))))
    }

    /// The origin of the frame that a candidate lives in.
    #[must_use]
    pub fn origin_of(&self, candidate: &Candidate) -> Option<&str> {
        let frame = self.frames.get(usize::try_from(candidate.frame).ok()?)?;
        Some(&frame.origin)
    }
}
