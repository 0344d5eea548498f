//! Our functions in the page, and the types of their answers.
//!
//! Invariant: everything here runs in the isolated world that the probe shares; the page can neither see nor change it.
//! The answers are hostile data and are only read through these types.

use std::collections::BTreeMap;

use cuebook_grammar::facts::ElementFacts;
use cuebook_grammar::geometry::{Point, Rect};
use cuebook_grammar::outcome::{Problem, Selectors};
use cuebook_probe::Extension;
use serde::{Deserialize, Serialize};

use crate::options::PeopleInput;

/// The functions of the executor, on top of the probe's core.
pub(crate) const ACT: Extension = Extension { name: "act", source: include_str!(concat!(env!("OUT_DIR"), "/act.js")) };

/// The listeners of the guard alone: they must be in a document before the page's own.
const GUARD: &str = include_str!("js/guard.js");

/// The guard of new documents.
pub(crate) fn guard_for(people: PeopleInput) -> String {
    match people {
        PeopleInput::Between => GUARD.to_owned(),
        PeopleInput::Never => format!("{GUARD}globalThis.__cuebookGuard.closed = true;\n"),
    }
}

/// Requirements that an element must meet before it is acted on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Need {
    pub(crate) visible: bool,
    pub(crate) stable: bool,
    pub(crate) enabled: bool,
    pub(crate) editable: bool,
    /// Scrolled into view, so that it has a point.
    pub(crate) scroll: bool,
    /// That point receives the event.
    pub(crate) hit: bool,
    /// An inner element may receive the event, even a control: nothing is pressed.
    pub(crate) within: bool,
    /// A point outside its inner elements is preferred all the same.
    pub(crate) hover: bool,
    /// No other draggable element lies at the point.
    pub(crate) drag: bool,
    /// A label may receive the event for a control that is hidden behind it.
    pub(crate) stand_in: bool,
    /// The answer has its selectors.
    pub(crate) selectors: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) position: Option<Point>,
}

/// Why an element cannot be acted on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Obstacle {
    Stale,
    NotVisible,
    NotStable,
    NotEnabled,
    NotEditable,
    /// A slider and the like without a native control: keys change its value.
    TakesKeys,
    NotInView,
    Covered,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Readiness {
    #[serde(default)]
    pub(crate) fail: Option<Obstacle>,
    #[serde(default)]
    pub(crate) by: Option<String>,
    #[serde(default)]
    pub(crate) x: f64,
    #[serde(default)]
    pub(crate) y: f64,
    #[serde(default, rename = "box")]
    pub(crate) rect: Rect,
    #[serde(default)]
    pub(crate) receiver: Option<u64>,
    #[serde(default)]
    pub(crate) selectors: Option<Selectors>,
    /// When it answered, on the clock of its document.
    #[serde(default)]
    pub(crate) now: Option<f64>,
}

/// Which events a gesture is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum GestureKind {
    Mouse,
    Keys,
}

/// Events that the guard of a document lets through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum GestureMode {
    /// Events for the target only; without a target, none.
    Target,
    /// Everything: the step names no target.
    Any,
    /// Events for whatever lay at a point when the gesture began, and for nothing that came there with the pointer.
    Point,
    /// Keys that activate nothing.
    Inert,
}

/// The event whose arrival means that the gesture arrived.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Expected {
    #[serde(rename = "type")]
    pub(crate) types: &'static [&'static str],
    pub(crate) count: u32,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct GestureSpec {
    pub(crate) kind: GestureKind,
    pub(crate) mode: GestureMode,
    pub(crate) id: Option<u64>,
    /// Where a drag ends, if it ends in this document.
    pub(crate) end: Option<u64>,
    /// It is a drag: it is released at its end, wherever that is.
    pub(crate) ends: bool,
    /// Text is typed: no key of it activates anything, and it goes on in the next box where the page passes the focus on.
    pub(crate) typing: bool,
    pub(crate) expects: Option<Expected>,
    /// Where a gesture without a target begins in this document, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) at: Option<Point>,
    /// Milliseconds after which nothing is let through.
    pub(crate) ms: u64,
    /// Moment at which `ms` ends, on the clock of the document, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) by: Option<f64>,
    /// Between gestures, nothing is let through either.
    pub(crate) closed: bool,
}

impl GestureSpec {
    /// Returns `true` if elements get events although the step does not name them.
    pub(crate) fn reaches_anything(&self) -> bool {
        self.mode != GestureMode::Target
    }

    /// Restricts the guard so that no element gets an event of the gesture.
    pub(crate) fn reach_nothing(&mut self) {
        (self.mode, self.id) = (GestureMode::Target, None);
    }
}

/// Why the guard stopped an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum BlockReason {
    /// It would have gone to another frame or another element.
    Elsewhere,
    /// The target left the document.
    Stale,
    /// The page drew the target anew, and did nothing about the press.
    Redrawn,
    /// The target is not shown any more.
    Hidden,
    /// The meaning of the target changed, or activating it would do something else.
    Changed,
    /// The target moved away from the pointer.
    Moved,
    /// Something covers the target.
    Covered,
    /// The keyboard focus moved elsewhere.
    Focus,
    /// The field shows what is typed, which it hid when a credential was resolved for it.
    Revealed,
    /// The page dropped or replaced what the run had entered, when the press took the focus from it.
    Lost,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Block {
    #[serde(rename = "type")]
    pub(crate) event: String,
    pub(crate) reason: BlockReason,
    #[serde(default)]
    pub(crate) by: String,
    /// `true` if the element that the event would have reached is clickable.
    #[serde(default)]
    pub(crate) takes: bool,
    /// Pages react to a press this way: a list, a menu or a dialog that was not visible before lies there.
    #[serde(default)]
    pub(crate) popped: bool,
    /// For [`BlockReason::Redrawn`]: that came of the focus leaving another field, and the press had no effect before.
    #[serde(default, rename = "mayRepeat")]
    pub(crate) may_repeat: bool,
    /// For [`BlockReason::Lost`], the field.
    #[serde(default)]
    pub(crate) lost: Option<KeptNow>,
}

/// Content of a kept field now; no value if it is gone, or passed on what was entered.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct KeptNow {
    pub(crate) id: u64,
    pub(crate) value: Option<String>,
    pub(crate) sensitive: bool,
    /// It has the focus.
    pub(crate) focused: bool,
}

impl Block {
    /// Returns `true` if the page put another control or document in the place of the target. A target that is only
    /// gone was rendered again or removed.
    pub(crate) const fn is_swap(&self) -> bool {
        match self.reason {
            BlockReason::Elsewhere => true,
            BlockReason::Moved | BlockReason::Covered => self.takes,
            BlockReason::Stale
            | BlockReason::Redrawn
            | BlockReason::Hidden
            | BlockReason::Changed
            | BlockReason::Focus
            | BlockReason::Revealed
            | BlockReason::Lost => false,
        }
    }

    /// Returns `true` if pages react to a press this way: the target closes, or opens something over itself.
    pub(crate) const fn is_answer(&self) -> bool {
        matches!(self.reason, BlockReason::Stale | BlockReason::Hidden) || self.popped
    }
}

#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct GestureReport {
    #[serde(default)]
    pub(crate) done: bool,
    #[serde(default)]
    pub(crate) blocked: Option<Block>,
    #[serde(default)]
    pub(crate) seen: Vec<String>,
    #[serde(default)]
    pub(crate) connected: bool,
    /// The target saw nothing of it, and means what it meant before.
    #[serde(default)]
    pub(crate) same: bool,
}

/// One element of a watched target.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct WatchedRow {
    pub(crate) facts: ElementFacts,
    #[serde(default)]
    pub(crate) parent: Option<usize>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct WatchedTarget {
    pub(crate) rows: Vec<WatchedRow>,
    #[serde(default)]
    pub(crate) skipped: u64,
    #[serde(default)]
    pub(crate) within: Option<WatchedInner>,
    #[serde(default)]
    pub(crate) has: Option<WatchedInner>,
    #[serde(default, rename = "hasNot")]
    pub(crate) has_not: Option<WatchedInner>,
}

/// Elements that an inner locator of a watched target may mean.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct WatchedInner {
    pub(crate) target: Box<WatchedTarget>,
    /// For each row of the outer target, the rows of the inner one that it lies within, or that lie in it.
    pub(crate) of: Vec<Vec<usize>>,
}

/// One frame at one moment.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct FrameSample {
    /// Milliseconds since watching began in this document.
    pub(crate) t: f64,
    pub(crate) url: String,
    pub(crate) title: String,
    /// By the name of the target; `None` where the question cannot be asked.
    pub(crate) targets: BTreeMap<String, Option<WatchedTarget>>,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Opened {
    pub(crate) opened: bool,
    #[serde(default)]
    pub(crate) sample: Option<FrameSample>,
    #[serde(default)]
    pub(crate) meaning: Meaning,
}

/// The meaning of a step's targets when they are armed.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct Meaning {
    /// Description of a target whose meaning changed, as it is now; `None` if none changed.
    #[serde(default)]
    pub(crate) changed: Option<String>,
    #[serde(default)]
    pub(crate) found: Vec<FoundRows>,
}

/// Elements that a locator may mean in the document of its element `id`.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct FoundRows {
    pub(crate) id: u64,
    pub(crate) ids: Vec<u64>,
    pub(crate) target: WatchedTarget,
}

/// Comparison of an element with its former meaning.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Resemblance {
    pub(crate) same: bool,
    pub(crate) now: String,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Changes {
    pub(crate) samples: Vec<FrameSample>,
    /// The page at the first event of the gesture, where that is not how it was when watching began.
    #[serde(default)]
    pub(crate) before: Option<FrameSample>,
    #[serde(default)]
    pub(crate) effect: bool,
    /// Nothing is watched here.
    #[serde(default)]
    pub(crate) idle: bool,
}

/// Summary of the other changes in a frame.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct FrameSummary {
    pub(crate) added: u32,
    pub(crate) removed: u32,
    pub(crate) attributes: u32,
    pub(crate) texts: u32,
    pub(crate) background: u32,
    pub(crate) notable: Vec<String>,
    pub(crate) states: Vec<String>,
    pub(crate) problems: Vec<Problem>,
    pub(crate) scrolled: bool,
    pub(crate) target_changed: bool,
    pub(crate) focus: Option<String>,
    pub(crate) target_focused: bool,
    /// The page reacted to the gesture.
    pub(crate) effect: bool,
    pub(crate) url: String,
    pub(crate) url_before: String,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Watched {
    #[serde(default)]
    pub(crate) report: Option<GestureReport>,
    #[serde(flatten)]
    pub(crate) changes: Changes,
    #[serde(default)]
    pub(crate) summary: Option<FrameSummary>,
}

/// The kind of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum FieldKind {
    /// Text areas, and inputs that are typed into character by character.
    Text,
    /// An editable region without a value of its own: `contenteditable` and the like.
    Rich,
    /// Dates, colours, ranges: set as a whole.
    Whole,
    /// A native `<select>`: an option is chosen instead of typing.
    Select,
    /// Check boxes, buttons, files and other elements.
    #[serde(other)]
    Other,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Field {
    pub(crate) id: u64,
    pub(crate) kind: FieldKind,
    /// It takes line breaks.
    pub(crate) multiline: bool,
    /// How many boxes of one character begin with it; 1 for any other field.
    pub(crate) boxes: usize,
    /// It is read-only now.
    pub(crate) locked: bool,
    pub(crate) sensitive: bool,
    /// It hid what is typed, and shows it now.
    pub(crate) revealed: bool,
}

/// Content of a field after text was entered.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Holding {
    pub(crate) value: String,
    /// Content of the field and the boxes after it, joined.
    pub(crate) joined: String,
    /// The page itself did with the last key what the browser would have done.
    pub(crate) is_keyed: bool,
    /// It has the focus.
    pub(crate) has_focus: bool,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Focused {
    pub(crate) focused: bool,
    pub(crate) at_end: bool,
    pub(crate) empty: bool,
    pub(crate) active: String,
    /// `None` where the browser does not tell what is selected.
    pub(crate) caret: Option<Caret>,
}

/// Where text goes that is typed.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Caret {
    before: String,
    behind: String,
    /// A plain field, in which the browser tells the position of the caret.
    pub(crate) is_plain: bool,
}

impl Caret {
    /// Returns the value that the field is to hold once `text` was typed.
    pub(crate) fn with(&self, text: &str) -> String {
        format!("{}{text}{}", self.before, self.behind)
    }
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct SetWhole {
    pub(crate) fits: bool,
    pub(crate) took: String,
    /// Description of the target as it is now, if it changed since it was armed.
    #[serde(default)]
    pub(crate) stale: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Chosen {
    pub(crate) native: bool,
    pub(crate) ok: bool,
    /// How many of the choices were made: a select for one option takes the first.
    pub(crate) chosen: usize,
    pub(crate) missing: Option<usize>,
    pub(crate) disabled: Option<usize>,
    /// The index of an option that changed since it was read.
    pub(crate) changed: Option<usize>,
    /// Description of the target as it is now, if it changed since it was armed.
    pub(crate) stale: Option<String>,
    pub(crate) known: Vec<String>,
    /// The name and value of each choice.
    pub(crate) meaning: Vec<String>,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct ListedOption {
    pub(crate) id: u64,
    pub(crate) label: String,
    /// Its text without what its pictures are called.
    pub(crate) text: String,
    #[serde(default)]
    pub(crate) value: Option<String>,
    pub(crate) disabled: bool,
    /// It says that it is selected, which may mean no more than that Enter would take it.
    pub(crate) selected: bool,
    /// It is part of the choice, and not only what Enter would take.
    pub(crate) chosen: bool,
}

/// The kind of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum ListKind {
    /// Suggestions of a text field.
    Data,
    /// An element with the role `listbox`.
    List,
    /// Something that opens a list.
    Control,
    /// Page structure that opens no list: `body`, `form`, `table` and the like.
    None,
}

/// An option that was chosen, as its control shows it: with a button that takes it out again.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct ListedTag {
    /// Number of the button that takes it out.
    pub(crate) id: u64,
    pub(crate) label: String,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Listed {
    pub(crate) rows: Vec<ListedOption>,
    pub(crate) tags: Vec<ListedTag>,
    pub(crate) expanded: bool,
    /// The rows are in the list that it is, that it names, or that it was chosen from.
    pub(crate) known: bool,
    pub(crate) kind: ListKind,
    /// Several options may be chosen.
    pub(crate) several: bool,
    /// Text can be typed into it.
    pub(crate) typed: bool,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Reading {
    pub(crate) text: String,
    /// The length of the text before it was cut, in UTF-16 units; 0 where unknown.
    #[serde(default)]
    pub(crate) length: usize,
    #[serde(default)]
    pub(crate) sensitive: bool,
    #[serde(default)]
    pub(crate) none: bool,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Loaded {
    pub(crate) status: u16,
}
