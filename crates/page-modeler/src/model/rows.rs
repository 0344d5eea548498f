//! The result of one walk over a document, as the script writes it.
//!
//! Invariant: these types are not a wire format; they change together with the script.

use std::collections::BTreeMap;
use std::sync::Arc;

use cuebook_grammar::candidate::{Activation, Bounds, ControlKind, Occlusion, OwnPart, SelectOption};
use cuebook_grammar::facts::States;
use cuebook_grammar::geometry::Rect;
use cuebook_grammar::observation::{Challenge, Heading, LiveText, Pane, ScrolledPart, Stated, Viewport};
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
    /// Nothing but its own text names it, as it stands: the browser need not be asked.
    pub is_named_by_text: bool,
    /// Text that replaces the name where there is none.
    pub fallback: Option<String>,
    /// Why it is a candidate: `native`, `role`, `pointer`, ….
    pub reason: String,
    /// States of the element, such as checked or disabled.
    pub states: States,
    /// The kind of control.
    pub control: ControlKind,
    /// How deep it stands, counted in elements that have a role.
    pub depth: u16,
    /// Tags, hand-written ids and roles from the root down.
    pub path: String,
    /// Its `title`, if it has one.
    pub title: Option<String>,
    /// Name of the icon of a control without words.
    pub icon: Option<String>,
    /// Texts that an icon font draws as pictures.
    pub icons: Vec<String>,
    /// Accessible description, in the walk's words.
    pub description: Option<String>,
    /// Live value, if the element has one.
    pub value: Option<String>,
    /// The value must not be recorded.
    pub sensitive: bool,
    /// Values that it takes, and its place in its list, where the markup says so.
    pub bounds: Bounds,
    /// The options of a native select.
    pub options: Vec<SelectOption>,
    /// The texts of its labels.
    pub labels: Vec<String>,
    /// The text beside a field that has no name.
    pub beside: Option<String>,
    /// Placeholder of a field, if it has one.
    pub placeholder: Option<String>,
    /// Alternative text (`alt`), if it has one.
    pub alt: Option<String>,
    /// Test id, if it has one.
    pub test_id: Option<String>,
    /// No other element of the frame has that test id.
    pub test_id_unique: bool,
    /// Where a link leads.
    pub destination: Option<String>,
    /// Name, id or action of the form around it; `None` outside of forms.
    pub form: Option<String>,
    /// Effect of activating it, as far as its markup says.
    pub activation: Activation,
    /// Text of the dialog around it, else of the heading above it.
    pub surroundings: Option<String>,
    /// Container that scrolls it, if there is one.
    pub scroller: Option<String>,
    /// Contexts that it stands in, nearest first: kind and text.
    pub context: Vec<(String, String)>,
    /// Digest of its meaning: its role, its name and all that identifies it.
    pub about: String,
    /// Part of the page that it shares with no twin, where a twin has the same digest.
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
    /// Box in the frame's own viewport, in CSS pixels.
    pub rect: Rect,
    /// Some of it can be seen.
    pub in_view: bool,
    /// Cover over it within the frame; `None` if nothing covers it.
    pub cover: Option<Occlusion>,
}

/// The box of a frame's owner element in the document that holds it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct OwnerRow {
    /// Content box of the owner element.
    pub content: Rect,
    /// The width of the viewport that the content has.
    pub layout_width: f64,
    /// The height of the viewport that the content has.
    pub layout_height: f64,
    /// The part of the content box that its ancestors do not clip.
    pub clip: Rect,
    /// `true` if any of the owner can be seen.
    pub shown: bool,
    /// Its title or name.
    pub name: String,
    /// A CSS selector of its place.
    pub css: Option<String>,
}

/// Facts about a document as a whole.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct Meta {
    /// `og:type` or the schema.org type.
    pub page_type: String,
    /// `description` or `og:description` of its meta elements; empty if it has neither.
    pub description: String,
    /// `lang` of the root element; empty if it has none.
    pub language: String,
    /// There is a password field.
    pub has_password: bool,
    /// Values of its linked data or Open Graph.
    pub stated: Stated,
}

/// The result of one walk.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct FrameWalk {
    /// Names this walk when the next one asks; 0 if it cannot be repeated by name.
    pub stamp: u64,
    /// Stamp of the first walk, of those before this one, that found these rows in these places.
    #[serde(skip)]
    pub rows_of: u64,
    /// URL of the document, at most 2,000 characters.
    pub url: String,
    /// Origin of the document, at most 300 characters; `null` if it is opaque.
    pub origin: String,
    /// Title of the document, at most 200 characters.
    pub title: String,
    /// The status that a server sent with it; 0 where none did.
    pub status: u16,
    /// The script failed in it: its rows are from the accessibility tree.
    pub accessible: bool,
    /// Nothing is visible in it.
    pub empty: bool,
    /// The frame's own viewport.
    pub viewport: Viewport,
    /// Elements that can be acted on.
    #[serde(skip)]
    pub rows: Vec<Arc<Row>>,
    /// Their positions, row by row.
    #[serde(skip)]
    pub places: Vec<RowPlace>,
    /// Owners of frames, by registry number.
    pub owners: BTreeMap<u64, OwnerRow>,
    /// Headings in document order, at most 40.
    pub headings: Vec<Heading>,
    /// Summaries of landmarks in document order, at most 40.
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
    /// Challenge that the page puts before a person; `None` if there is none.
    pub challenge: Option<Challenge>,
    /// Type, description and language of the document.
    pub meta: Meta,
}
