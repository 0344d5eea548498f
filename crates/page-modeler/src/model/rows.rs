//! The result of one walk over a document, as the script writes it.
//!
//! Invariant: these types are not a wire format; they change together with the script.

use std::collections::BTreeMap;
use std::sync::Arc;

use cuebook_grammar::candidate::{Activation, Bounds, ControlKind, Occlusion, OwnPart, SelectOption};
use cuebook_grammar::facts::States;
use cuebook_grammar::geometry::Rect;
use cuebook_grammar::observation::{Challenge, Heading, LiveText, Pane, ScrolledPart, Viewport};
use cuebook_grammar::role::Role;
use serde::Deserialize;

/// One thing that a person could act on.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Row {
    /// Its number in the probe's registry.
    pub id: u64,
    /// The tag in lower case.
    pub tag: String,
    /// The role, in the walk's words.
    pub role: Role,
    /// The accessible name, in the walk's words.
    pub name: String,
    /// What replaces the name where there is none.
    pub fallback: Option<String>,
    /// Why it is a candidate: `native`, `role`, `pointer`, ….
    pub reason: String,
    /// The states.
    pub states: States,
    /// The kind of control.
    pub control: ControlKind,
    /// How deep it stands, counted in elements that have a role.
    pub depth: u16,
    /// Tags, hand-written ids and roles from the root down.
    pub path: String,
    /// The title.
    pub title: Option<String>,
    /// What the icon of a control without words is called.
    pub icon: Option<String>,
    /// Texts that an icon font draws as pictures.
    pub icons: Vec<String>,
    /// The description.
    pub description: Option<String>,
    /// The live value.
    pub value: Option<String>,
    /// The value must not be recorded.
    pub sensitive: bool,
    /// What it takes, and where it stands in its list.
    pub bounds: Bounds,
    /// The options of a native select.
    pub options: Vec<SelectOption>,
    /// The texts of its labels.
    pub labels: Vec<String>,
    /// The text beside a field that has no name.
    pub beside: Option<String>,
    /// The placeholder.
    pub placeholder: Option<String>,
    /// The alternative text.
    pub alt: Option<String>,
    /// The test id.
    pub test_id: Option<String>,
    /// No other element of the frame has that test id.
    pub test_id_unique: bool,
    /// Where a link leads.
    pub destination: Option<String>,
    /// The form.
    pub form: Option<String>,
    /// What activating it does.
    pub activation: Activation,
    /// What the dialog around it says, else the heading above it.
    pub surroundings: Option<String>,
    /// What scrolls it.
    pub scroller: Option<String>,
    /// What it stands in, nearest first: kind and text.
    pub context: Vec<(String, String)>,
    /// What it is about: a digest of its role, its name and all that identifies it.
    pub about: String,
    /// What is its alone, where a twin is about the same.
    pub part: Option<OwnPart>,
    /// The text of that part.
    pub part_text: Option<String>,
    /// A CSS selector of its place.
    pub css: Option<String>,
}

/// Where a row is at the moment, in the frame's own viewport.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct RowPlace {
    /// The box.
    pub rect: Rect,
    /// Some of it can be seen.
    pub in_view: bool,
    /// What covers it, within the frame.
    pub cover: Option<Occlusion>,
}

/// The box of a frame's owner element in the document that holds it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct OwnerRow {
    /// The content box.
    pub content: Rect,
    /// The width of the viewport that the content has.
    pub layout_width: f64,
    /// The height of the viewport that the content has.
    pub layout_height: f64,
    /// The part of the content box that its ancestors do not clip.
    pub clip: Rect,
    /// Whether the owner can be seen at all.
    pub shown: bool,
    /// Its title or name.
    pub name: String,
    /// A CSS selector of its place.
    pub css: Option<String>,
}

/// The page's metadata.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct Meta {
    /// `og:type` or the schema.org type.
    pub page_type: String,
    /// The description.
    pub description: String,
    /// The language.
    pub language: String,
    /// There is a password field.
    pub has_password: bool,
}

/// The result of one walk.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct FrameWalk {
    /// Names this walk when the next one asks; 0 if it cannot be repeated by name.
    pub stamp: u64,
    /// The document's URL.
    pub url: String,
    /// Its origin.
    pub origin: String,
    /// Its title.
    pub title: String,
    /// The status that a server sent with it; 0 where none did.
    pub status: u16,
    /// Nothing is visible in it.
    pub empty: bool,
    /// The frame's own viewport.
    pub viewport: Viewport,
    /// What can be acted on.
    #[serde(skip)]
    pub rows: Vec<Arc<Row>>,
    /// Their positions, row by row.
    #[serde(skip)]
    pub places: Vec<RowPlace>,
    /// Owners of frames, by registry number.
    pub owners: BTreeMap<u64, OwnerRow>,
    /// Headings.
    pub headings: Vec<Heading>,
    /// Landmarks.
    pub landmarks: Vec<String>,
    /// Scroll containers that are not at their start.
    pub scrolled: Vec<ScrolledPart>,
    /// Scroll containers in view that have more than they show.
    pub panes: Vec<Pane>,
    /// Alerts and the like.
    pub live: Vec<LiveText>,
    /// Elements that might hold a closed shadow root.
    pub suspects: Vec<u64>,
    /// Values of password-like fields: to be removed from every text, and then dropped.
    pub secrets: Vec<String>,
    /// Elements that were walked.
    pub elements: u64,
    /// Candidates beyond the bound.
    pub beyond: u64,
    /// Candidates beyond the view.
    pub off_view: u64,
    /// Controls that only the keyboard reaches.
    pub keyboard: u64,
    /// Elements that were not walked.
    pub unwalked: u64,
    /// The name of the modal dialog that is open.
    pub modal: Option<String>,
    /// What it asks of a person first.
    pub challenge: Option<Challenge>,
    /// The page's metadata.
    pub meta: Meta,
}
