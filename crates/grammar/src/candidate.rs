//! Candidates: the things on a page that a step may act on, as the orchestrator enumerated them.
//!
//! Invariants:
//! - A candidate is offered only if a person could act on it: nothing hidden, transparent, one pixel by
//!   trick or covered for good (what can be scrolled into view is offered, and says so).
//! - Of two candidates that look alike in role and name, each carries a context that tells it apart, or
//!   both are marked ambiguous.
//! - What a candidate supports is decided here, by its role and kind, for the check, the executor and
//!   every decoder alike.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::facts::States;
use crate::geometry::{Point, Rect};
use crate::id::{CandidateId, NodeKey};
use crate::locator::Locator;
use crate::role::Role;
use crate::secret::FactText;

/// Whose word the role and the name are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum NameSource {
    /// The browser's own accessibility tree.
    Browser,
    /// Our walk over the document.
    #[default]
    Walk,
}

/// What kind of control a candidate is, where its role alone does not tell what it takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum ControlKind {
    /// No form control.
    #[default]
    Plain,
    /// A one-line text field, search, telephone, URL and e-mail fields included.
    Text,
    /// A field whose value must not be kept.
    Password,
    /// A text area.
    Multiline,
    /// An editable region (`contenteditable`).
    RichText,
    /// A number field.
    Number,
    /// A range slider.
    Range,
    /// A date, time, month, week or date-and-time field.
    DateTime,
    /// A colour field.
    Color,
    /// A file field.
    File,
    /// A native `select`.
    Select,
    /// A check box or radio button, native or not.
    Check,
}

/// One option of a native `select` or an open list box.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SelectOption {
    /// What is submitted.
    pub value: String,
    /// What is read.
    pub label: String,
    /// Currently chosen.
    #[serde(default)]
    pub selected: bool,
    /// Cannot be chosen.
    #[serde(default)]
    pub disabled: bool,
}

/// Whether a candidate can be seen as the page stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Placement {
    /// Some of it lies in the viewport.
    #[default]
    InView,
    /// It can be scrolled into view.
    OffView,
}

/// What covers a candidate, and how much of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Occlusion {
    /// The covered share of the probed points, from 0 to 1.
    pub ratio: f64,
    /// A short description of what covers it, such as `div#overlay`.
    pub by: String,
}

/// A name for a candidate that survives reloads: a vector, compared part by part.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Fingerprint {
    /// The role.
    pub role: Role,
    /// The name, white space collapsed.
    pub name: String,
    /// The test id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test_id: Option<String>,
    /// The context label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// Tags, ids that look hand-written and roles from the root down, without positions.
    pub path: String,
    /// The path of the frame's URL, without query; empty in the main frame.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub frame: String,
}

impl Fingerprint {
    /// The least likeness at which a unique best match is taken for the same thing.
    pub const THRESHOLD: f64 = 0.75;

    /// Likeness from 0 to 1. Role and frame must agree; a shared test id alone is enough to reach the
    /// threshold; otherwise the name counts most, then the context, then the path.
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

    /// Eight hexadecimal digits that stand for the vector in logs and joins; not for identity.
    #[must_use]
    pub fn short(&self) -> String {
        use sha2::{Digest as _, Sha256};
        let mut hash = Sha256::new();
        for part in [self.role.as_str(), &self.name, self.test_id.as_deref().unwrap_or(""), &self.path, &self.frame] {
            hash.update(part.as_bytes());
            hash.update([0]);
        }
        hash.finalize().iter().take(4).map(|byte| format!("{byte:02x}")).collect()
    }
}

/// What a candidate is about, as digests: its role and name, the texts around it that identify it, and, where
/// those are its twins' too, what is its alone. Two candidates of one document with equal digests mean the same.
///
/// Opaque: only the script in the page computes it. `ARCHITECTURE.md` says which texts identify.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct About {
    /// The role in the script's words, which may differ from the browser's.
    pub role: Role,
    /// Role, name, and every row, item, dialog, group, section and heading around it.
    pub key: String,
    /// Where `key` is that of a twin as well: the part of the page that is this candidate's alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<OwnPart>,
}

/// The largest part of a page that holds one candidate and none of its twins.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OwnPart {
    /// How many parents above the candidate it stands; 0 is the candidate itself.
    pub up: u32,
    /// What it says.
    pub key: String,
    /// Where the texts do not differ: its 1-based rank among its siblings of one tag.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<u32>,
    /// How many those siblings are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<u32>,
}

/// Something on the page that a step may act on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Candidate {
    /// Its id, unique in the run.
    pub id: CandidateId,
    /// The ARIA role.
    pub role: Role,
    /// The accessible name, or what stands for it (text, title, test id); at most 200 characters.
    pub name: String,
    /// Whose word role and name are.
    #[serde(default)]
    pub name_source: NameSource,
    /// What tells it from its twins, such as `row: john@example.com`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// It has a twin that nothing tells apart: a model's plan may not target it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub ambiguous: bool,
    /// The accessible description.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The states.
    #[serde(default)]
    pub states: States,
    /// The kind of control.
    #[serde(default)]
    pub control: ControlKind,
    /// The live value; redacted in password-like fields.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<FactText>,
    /// The options of a native `select`, the first 100.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<SelectOption>,
    /// Its label where that differs from the name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Its placeholder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placeholder: Option<String>,
    /// Its test id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test_id: Option<String>,
    /// Where a link leads: an absolute URL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destination: Option<String>,
    /// The form that it submits or belongs to: its name, id or action path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub form: Option<String>,
    /// Its box in the tab's viewport.
    #[serde(rename = "box", default, skip_serializing_if = "Option::is_none")]
    pub rect: Option<Rect>,
    /// In view or off view.
    #[serde(default)]
    pub placement: Placement,
    /// What covers it, if something does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub occlusion: Option<Occlusion>,
    /// What it scrolls with, where that is not the page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scroll_container: Option<String>,
    /// The frame that it lives in: an index into the observation's frames; 0 is the main frame.
    #[serde(default)]
    pub frame: u32,
    /// How deep it stands in the page's structure, for rendering.
    #[serde(default)]
    pub depth: u16,
    /// Ways to find it again, best first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub locators: Vec<Locator>,
    /// Its name across reloads.
    pub fingerprint: Fingerprint,
    /// Where its node lives; a hint for the executor.
    #[serde(skip)]
    #[schemars(skip)]
    pub node: Option<NodeKey>,
    /// What it is about; compared before anything is sent to it. Not serialised, like the node: without one, the
    /// executor follows the locators.
    #[serde(skip)]
    #[schemars(skip)]
    pub about: Option<About>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde wants")]
fn is_false(value: &bool) -> bool {
    !*value
}

/// What an action needs of its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum Capability {
    /// Anything that receives the pointer.
    Pointer,
    /// Anything that takes the focus or keys.
    Keyboard,
    /// Takes text, typed or set.
    Text,
    /// Takes a value that is set whole: text fields, dates, colours, ranges.
    Value,
    /// Has options to choose from.
    Options,
    /// Can be turned on; radio buttons included.
    CheckOn,
    /// Can be turned off; radio buttons excluded.
    CheckOff,
    /// Takes files.
    Files,
    /// Can be read.
    Read,
}

impl Candidate {
    /// Whether both were observed in one document.
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

    /// Whether what is typed into it must not be kept.
    #[must_use]
    pub fn is_sensitive(&self) -> bool {
        self.control == ControlKind::Password
    }

    /// Whether an action that needs `capability` may target it. A disabled control supports what it would
    /// support enabled: whether it is enabled is for the moment of acting to say.
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
