//! Candidates: the things on a page that a step may act on.
//!
//! Invariants:
//! - A candidate is offered only if a person could act on it: nothing hidden, transparent, shrunk to a pixel or covered
//!   for good. What can be scrolled into view is offered and marked so.
//! - Two candidates with the same role and name each carry a context that distinguishes them, or both are marked
//!   ambiguous.
//! - What a candidate supports is decided here, by its role and kind, for the check, the executor and every decoder.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};

use crate::facts::States;
use crate::geometry::{Point, Rect};
use crate::id::{CandidateId, NodeKey};
use crate::locator::Locator;
use crate::role::Role;
use crate::secret::FactText;
use crate::wire::is_default;

/// The source of role and name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum NameSource {
    /// The browser's own accessibility tree.
    Browser,
    /// Our walk over the document.
    #[default]
    Walk,
}

/// The kind of control, where the role alone does not decide what it accepts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum ControlKind {
    /// Not a form control.
    #[default]
    Plain,
    /// A one-line text field, search, telephone, URL and e-mail fields included.
    Text,
    /// A field whose value must not be kept.
    Password,
    /// A text field of several lines: `textarea`.
    Multiline,
    /// An editable region (`contenteditable`).
    RichText,
    /// A field for a number: `input` of type `number`.
    Number,
    /// A native slider: `input` of type `range`.
    Range,
    /// A date, time, month, week or date-and-time field.
    DateTime,
    /// A field for a colour: `input` of type `color`.
    Color,
    /// A field for files: `input` of type `file`.
    File,
    /// A native `select`, for one option or several.
    Select,
    /// A check box or radio button, native or not.
    Check,
}

/// One option of a native `select` or an open list box.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SelectOption {
    /// Value that is submitted.
    pub value: String,
    /// Text that a person reads.
    pub label: String,
    /// `true` if it is currently chosen.
    #[serde(default)]
    pub selected: bool,
    /// `true` if it cannot be chosen.
    #[serde(default)]
    pub disabled: bool,
}

/// Position of a candidate relative to the viewport.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Placement {
    /// Some of it lies in the viewport.
    #[default]
    InView,
    /// It can be scrolled into view.
    OffView,
}

/// Occlusion of a candidate: the covered share, and what covers it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Occlusion {
    /// The covered share of the probed points, from 0 to 1.
    pub ratio: f64,
    /// A short description of what covers it, such as `div#overlay`.
    pub by: String,
}

/// Identifies a candidate across reloads: a vector, compared part by part.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Fingerprint {
    /// Its role; candidates with different roles have likeness 0.
    pub role: Role,
    /// The name, white space collapsed.
    pub name: String,
    /// Its test id, if it has one; two different test ids have likeness 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test_id: Option<String>,
    /// Its [`Candidate::context`], if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// Tags, ids that look hand-written and roles from the root down, without positions.
    pub path: String,
    /// The path of the frame's URL, without query; empty in the main frame.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub frame: String,
}

impl Fingerprint {
    /// The least likeness at which a unique best match counts as the same thing.
    pub const THRESHOLD: f64 = 0.75;

    /// Similarity from 0 to 1; 0 unless role and frame are equal. Of the rest the name weighs most, then the shared test
    /// id, the path and the context.
    #[must_use]
    pub fn likeness(&self, other: &Self) -> f64 {
        if self.role != other.role || self.frame != other.frame {
            return 0.0;
        }
        let agree = |same: bool, weight: f64| if same { weight } else { 0.0 };
        let test_id = match (&self.test_id, &other.test_id) {
            (Some(a), Some(b)) if a == b => 0.35,
            (None, None) => 0.15,
            (Some(_), Some(_)) => return 0.0,
            _ => 0.0,
        };
        let name = agree(self.name == other.name, 0.40);
        let context = agree(self.context == other.context, 0.20);
        let path = agree(self.path == other.path, 0.25);
        (test_id + name + context + path).min(1.0)
    }
}

/// Meaning of a candidate, as digests: its role and name, the texts around it that identify it and, if its twins share
/// those, a part of the page that belongs to it alone. Two candidates of one document with equal digests have the same
/// meaning.
///
/// Opaque: only the script in the page computes it. `ARCHITECTURE.md` says which texts identify.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct About {
    /// The role in the script's words, which may differ from the browser's.
    pub role: Role,
    /// Role, name, and every row, item, dialog, group, section and heading around it.
    pub key: String,
    /// If a twin has the same `key`: the part of the page that belongs to this candidate alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<OwnPart>,
}

/// The largest part of a page that holds one candidate and none of its twins.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OwnPart {
    /// Number of parents above the candidate; 0 is the candidate itself.
    pub up: u32,
    /// Digest of the part's texts.
    pub key: String,
    /// If the texts do not differ: its 1-based rank among its siblings of the same tag.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<u32>,
    /// Number of those siblings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<u32>,
}

/// A field of a form whose submission is more than a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum SentField {
    /// The number, date or code of a payment card.
    Card,
    /// A password: `input` of type `password`.
    Password,
    /// A one-time code, by `autocomplete`.
    OneTimeCode,
}

/// Behaviour of a candidate when activated, as far as its markup says: by a click on a link or button, by Enter in a
/// field.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Activation {
    /// The method of the request, in upper case: that of the form or button, or what `data-method`, `_method` or an
    /// attribute of a script library make of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// Where the request goes, without query and fragment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Fields of the form that it submits for which submitting is more than a change.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sends: Vec<SentField>,
    /// The name of the button that Enter presses, if this is a field of a form.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub button: Option<String>,
    /// Name of the icon, for a control without words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub icon: Option<String>,
    /// The keys that activate it together with the modifiers for access keys, separated by spaces.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub access_key: Option<String>,
}

/// Limits on the value of a field, and the place of an item in its list, where the markup states them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Bounds {
    /// The most characters of its value: `maxlength`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_length: Option<u32>,
    /// The kinds of files, as `accept` lists them; at most 200 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accept: Option<String>,
    /// 1-based place in a list of which not all need be drawn: `aria-posinset`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub position: Option<u32>,
    /// The size of that list: `aria-setsize`; absent where the page does not know.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub set_size: Option<u32>,
}

/// Something on the page that a step may act on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Candidate {
    /// Its id, unique in the run.
    pub id: CandidateId,
    /// ARIA role, from the source that `name_source` states.
    pub role: Role,
    /// The accessible name, or a substitute (text, title, test id); at most 200 characters.
    pub name: String,
    /// The source of role and name.
    #[serde(default)]
    pub name_source: NameSource,
    /// Text that distinguishes it from its twins, such as `row: john@example.com`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// It has a twin from which nothing distinguishes it: a model's plan may not target it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub ambiguous: bool,
    /// Accessible description, at most 300 characters; absent if it is empty or equals the name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// States such as checked, expanded or disabled.
    #[serde(default)]
    pub states: States,
    /// The kind of control.
    #[serde(default)]
    pub control: ControlKind,
    /// The live value; redacted in password-like fields.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<FactText>,
    /// Limits on its value, and its place in its list.
    #[serde(default, skip_serializing_if = "is_default")]
    pub bounds: Bounds,
    /// The options of a native `select`, the first 100.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<SelectOption>,
    /// Its label where that differs from the name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Its `placeholder` attribute, at most 200 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placeholder: Option<String>,
    /// Value of its test id attribute, such as `data-testid`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test_id: Option<String>,
    /// Where a link leads: an absolute URL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destination: Option<String>,
    /// The form that it submits or belongs to: its name, id or action path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub form: Option<String>,
    /// Behaviour when activated, as far as its markup says.
    #[serde(default, skip_serializing_if = "is_default")]
    pub activation: Activation,
    /// Question of the dialog around it, otherwise the heading above it; at most 500 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub surroundings: Option<String>,
    /// Its box in the tab's viewport.
    #[serde(rename = "box", default, skip_serializing_if = "Option::is_none")]
    pub rect: Option<Rect>,
    /// In view or off view.
    #[serde(default)]
    pub placement: Placement,
    /// Occlusion of the candidate, if something covers it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub occlusion: Option<Occlusion>,
    /// Its scroll container, if that is not the page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scroll_container: Option<String>,
    /// 0-based index into the observation's frames; 0 is the main frame.
    #[serde(default)]
    pub frame: u32,
    /// Depth in the page's structure, for rendering.
    #[serde(default)]
    pub depth: u16,
    /// Locators that find it again, best first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub locators: Vec<Locator>,
    /// Identifies it across reloads.
    pub fingerprint: Fingerprint,
    /// Where its node lives; a hint for the executor.
    #[serde(skip)]
    #[schemars(skip)]
    pub node: Option<NodeKey>,
    /// Meaning of the candidate; compared before anything is sent to it. Not serialised here, like the node
    /// ([`Observation::meanings`](crate::observation::Observation::meanings)): without one, the executor follows the
    /// locators.
    #[serde(skip)]
    #[schemars(skip)]
    pub about: Option<About>,
}

/// A candidate as an observation writes it: with the middle of its box, which is nowhere stored. Reading ignores `center`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ObservedCandidate<'a> {
    #[serde(flatten)]
    candidate: &'a Candidate,
    /// The middle of its box, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    center: Option<Point>,
}

impl ObservedCandidate<'_> {
    pub(crate) fn write<S: Serializer>(candidates: &[Candidate], serializer: S) -> Result<S::Ok, S::Error> {
        let observed = candidates.iter().map(|it| ObservedCandidate { candidate: it, center: it.center() });
        serializer.collect_seq(observed)
    }
}

/// Capability that an action needs of its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum Capability {
    /// Anything that receives the pointer.
    Pointer,
    /// Anything that accepts focus or keys.
    Keyboard,
    /// Accepts text, typed or set.
    Text,
    /// Accepts a value that is set at once: text fields, dates, colours, ranges.
    Value,
    /// Has options to choose from.
    Options,
    /// Can be turned on; radio buttons included.
    CheckOn,
    /// Can be turned off; radio buttons excluded.
    CheckOff,
    /// Accepts files: file fields only.
    Files,
    /// Can be read, as every candidate can.
    Read,
}

impl Candidate {
    /// Returns `true` if both were observed in one document.
    #[must_use]
    pub fn shares_document(&self, other: &Self) -> bool {
        match (&self.node, &other.node) {
            (Some(own), Some(other)) => own.page == other.page && own.document == other.document,
            _ => false,
        }
    }

    /// The middle of its box.
    #[must_use]
    pub fn center(&self) -> Option<Point> {
        self.rect.map(|rect| rect.center())
    }

    /// Returns `true` if text typed into it is sensitive.
    #[must_use]
    pub fn is_sensitive(&self) -> bool {
        self.control == ControlKind::Password
    }

    /// Returns `true` if an action that needs `capability` may target it. A disabled control supports what it would
    /// support if enabled; whether it is enabled is checked when the step acts.
    #[must_use]
    pub fn supports(&self, capability: Capability) -> bool {
        use ControlKind as Kind;
        let text =
            matches!(self.control, Kind::Text | Kind::Password | Kind::Multiline | Kind::RichText | Kind::Number)
                || (self.control == Kind::Plain && self.role.is_text_entry() && self.states.editable);
        match capability {
            Capability::Pointer | Capability::Keyboard | Capability::Read => true,
            Capability::Text => text,
            Capability::Value => text || matches!(self.control, Kind::Range | Kind::DateTime | Kind::Color),
            Capability::Options => {
                self.control == Kind::Select
                    || self.role.is_selectable()
                    || (self.role == Role::Button && self.states.haspopup.as_deref() == Some("listbox"))
            }
            Capability::CheckOn => self.role.is_checkable() || self.control == Kind::Check,
            Capability::CheckOff => {
                (self.role.is_checkable() || self.control == Kind::Check)
                    && !matches!(self.role, Role::Radio | Role::MenuItemRadio)
            }
            Capability::Files => self.control == Kind::File,
        }
    }

    /// `button "Edit" [row: john@example.com]`, for messages and prompts; control characters escaped.
    #[must_use]
    pub fn title(&self) -> String {
        let mut title = format!("{} {:?}", self.role, self.name);
        if let Some(context) = &self.context {
            title.push_str(&format!(" [{}]", context.escape_debug()));
        }
        title
    }
}
