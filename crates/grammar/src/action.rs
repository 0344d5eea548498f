//! Actions: the verbs of the language, each with typed parameters.
//!
//! Invariants:
//! - Every verb is a variant here; nothing matches on a verb's name as a string.
//! - What a verb needs of its target, what it does to the world and who carries it out is one table,
//!   [`ActionKind::meta`], which the check, the executor, the decoders and the documentation share.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::candidate::Capability;
use crate::condition::Condition;
use crate::effect::EffectClass;
use crate::geometry::Point;
use crate::id::{CredentialRef, TargetRef};
use crate::observation::Scope;
use crate::secret::WireText;
use crate::wire::{ClickCount, Count, LongText, Millis, Pixels, SelectorText, ShortText, UrlText, tagged};

macro_rules! body {
    ($(#[$meta:meta])* $name:ident { $( $(#[$field_meta:meta])* $field:ident: $ty:ty, )* }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "camelCase", deny_unknown_fields)]
        pub struct $name {
            $( $(#[$field_meta])* pub $field: $ty, )*
        }
    };
}

/// Declares [`Action`] and the table about its verbs together, so that neither can miss one.
macro_rules! actions {
    ($( $(#[$doc:meta])* $variant:ident($body:ty) = $tag:literal, $owner:ident, $effect:ident, $target:expr; )+) => {
        tagged! {
            /// One verb with its parameters.
            pub enum Action by "type" {
                $( $(#[$doc])* $variant($body) = $tag, )+
            }
        }

        /// The verb of an action, without its parameters.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum ActionKind { $( $(#[$doc])* $variant, )+ }

        impl ActionKind {
            /// Every verb.
            pub const ALL: &'static [ActionKind] = &[$(ActionKind::$variant),+];

            /// What holds for every use of the verb.
            #[must_use]
            pub const fn meta(self) -> ActionMeta {
                match self {
                    $( Self::$variant => ActionMeta {
                        name: $tag, owner: Owner::$owner, effect: EffectClass::$effect, target: $target,
                    }, )+
                }
            }
        }

        impl Action {
            /// The verb.
            #[must_use]
            pub const fn kind(&self) -> ActionKind {
                match self { $( Self::$variant(_) => ActionKind::$variant, )+ }
            }
        }
    };
}

/// Who carries an action out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Owner {
    /// The executor: input, waiting and extraction.
    Executor,
    /// The page modeler: reading that needs no target.
    Modeler,
    /// A registered handler: everything outside the page.
    Handler,
    /// The run loop itself.
    Controller,
}

/// Whether an action has a target, and what it needs of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TargetNeed {
    /// No target.
    None,
    /// May have one.
    Optional(Capability),
    /// Must have one.
    Required(Capability),
}

/// What holds for every use of a verb.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ActionMeta {
    /// The verb as it stands on the wire.
    pub name: &'static str,
    /// Who carries it out.
    pub owner: Owner,
    /// What it does to the world at least; its target may raise that.
    pub effect: EffectClass,
    /// Its target.
    pub target: TargetNeed,
}

use Capability as Cap;
use TargetNeed::{None as NoTarget, Optional, Required};

actions! {
    /// Opens a URL.
    Navigate(Navigate) = "navigate", Executor, Idempotent, NoTarget;
    /// Goes back in the tab's history.
    GoBack(Nothing) = "goBack", Executor, Reversible, NoTarget;
    /// Goes forward in the tab's history.
    GoForward(Nothing) = "goForward", Executor, Reversible, NoTarget;
    /// Loads the page again.
    Reload(Nothing) = "reload", Executor, Idempotent, NoTarget;
    /// Waits until a condition holds.
    WaitFor(WaitFor) = "waitFor", Executor, ReadOnly, NoTarget;
    /// Waits until the page is quiet.
    WaitForIdle(WaitForIdle) = "waitForIdle", Executor, ReadOnly, NoTarget;
    /// Scrolls the page, a container, or a target into view.
    Scroll(Scroll) = "scroll", Executor, ReadOnly, Optional(Cap::Read);
    /// Makes another tab the current one.
    SwitchTab(SwitchTab) = "switchTab", Executor, ReadOnly, NoTarget;
    /// Closes a tab.
    CloseTab(CloseTab) = "closeTab", Executor, Reversible, NoTarget;
    /// Clicks.
    Click(Click) = "click", Executor, Reversible, Required(Cap::Pointer);
    /// Empties a field.
    Clear(OnTarget) = "clear", Executor, Idempotent, Required(Cap::Value);
    /// Selects the text of a field or an element.
    SelectText(OnTarget) = "selectText", Executor, ReadOnly, Required(Cap::Read);
    /// Types text with key events, after what is there.
    Type(TypeText) = "type", Executor, Reversible, Required(Cap::Text);
    /// Sets a value whole; clears first.
    SetValue(SetValue) = "setValue", Executor, Idempotent, Required(Cap::Value);
    /// Presses keys.
    Press(Press) = "press", Executor, Reversible, Optional(Cap::Keyboard);
    /// Chooses options.
    Select(Select) = "select", Executor, Idempotent, Required(Cap::Options);
    /// Turns a check box, radio button or switch on.
    Check(SetChecked) = "check", Executor, Idempotent, Required(Cap::CheckOn);
    /// Turns a check box or switch off.
    Uncheck(SetChecked) = "uncheck", Executor, Idempotent, Required(Cap::CheckOff);
    /// Moves the pointer over a target.
    Hover(Hover) = "hover", Executor, ReadOnly, Required(Cap::Pointer);
    /// Gives a target the focus.
    Focus(OnTarget) = "focus", Executor, ReadOnly, Required(Cap::Keyboard);
    /// Drags a target onto another.
    DragTo(DragTo) = "dragTo", Executor, Reversible, Required(Cap::Pointer);
    /// Chooses files in a file field.
    Upload(Upload) = "upload", Executor, Reversible, Required(Cap::Files);
    /// Presses and holds.
    LongPress(LongPress) = "longPress", Executor, Reversible, Required(Cap::Pointer);
    /// Clicks at a point.
    ClickPoint(ClickPoint) = "clickPoint", Executor, Destructive, NoTarget;
    /// Drags from point to point.
    DragPoints(DragPoints) = "dragPoints", Executor, Destructive, NoTarget;
    /// Presses and holds at a point.
    LongPressPoint(LongPressPoint) = "longPressPoint", Executor, Destructive, NoTarget;
    /// Reads something out of the page.
    Extract(Extract) = "extract", Executor, ReadOnly, Optional(Cap::Read);
    /// Observes the page again.
    Snapshot(Snapshot) = "snapshot", Modeler, ReadOnly, NoTarget;
    /// Takes a picture.
    Screenshot(Screenshot) = "screenshot", Executor, ReadOnly, Optional(Cap::Read);
    /// Reads a compact form of the document.
    GetDom(GetDom) = "getDom", Executor, ReadOnly, Optional(Cap::Read);
    /// Searches the page's text.
    SearchPage(SearchPage) = "searchPage", Modeler, ReadOnly, NoTarget;
    /// Lists elements by CSS selector.
    FindElements(FindElements) = "findElements", Modeler, ReadOnly, NoTarget;
    /// Turns a raw selector into a candidate id.
    ResolveSelector(ResolveSelector) = "resolveSelector", Modeler, ReadOnly, NoTarget;
    /// States that a condition holds now.
    Assert(Assert) = "assert", Executor, ReadOnly, NoTarget;
    /// Makes an HTTP request outside the page.
    Fetch(Fetch) = "fetch", Handler, Destructive, NoTarget;
    /// Reads a file.
    ReadFile(ReadFile) = "readFile", Handler, ReadOnly, NoTarget;
    /// Writes a file.
    WriteFile(WriteFile) = "writeFile", Handler, Destructive, NoTarget;
    /// Runs a command.
    Shell(Shell) = "shell", Handler, Destructive, NoTarget;
    /// Evaluates a script in the page.
    Evaluate(Evaluate) = "evaluate", Executor, Destructive, NoTarget;
    /// Calls a registered action.
    Call(Call) = "call", Handler, Destructive, NoTarget;
    /// Accepts the JavaScript dialog that is open.
    AcceptDialog(AcceptDialog) = "acceptDialog", Executor, Destructive, NoTarget;
    /// Dismisses the JavaScript dialog that is open.
    DismissDialog(Nothing) = "dismissDialog", Executor, Reversible, NoTarget;
    /// Ends the task with a result.
    Finish(Finish) = "finish", Controller, ReadOnly, NoTarget;
    /// Ends the task as not done.
    Fail(Fail) = "fail", Controller, ReadOnly, NoTarget;
    /// Asks the user.
    AskUser(AskUser) = "askUser", Controller, ReadOnly, NoTarget;
}

body! {
    /// No parameters.
    Nothing {}
}
body! {
    /// A target and nothing else.
    OnTarget {
        /// The target.
        target_ref: TargetRef,
    }
}
body! {
    /// Opens a URL.
    Navigate {
        /// Absolute.
        url: UrlText,
        /// Which statuses of the server's answer are accepted; those below 400 unless stated.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        status: Option<Statuses>,
    }
}

/// Statuses of a server's answer: on the wire `"any"`, or a list of at most 20.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Statuses {
    /// Every one.
    Any,
    /// These.
    Of(Vec<u16>),
}

impl Statuses {
    /// Whether `status` is one of them.
    #[must_use]
    pub fn accept(&self, status: u16) -> bool {
        match self {
            Self::Any => true,
            Self::Of(list) => list.contains(&status),
        }
    }
}

impl Serialize for Statuses {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Any => serializer.serialize_str("any"),
            Self::Of(list) => list.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Statuses {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::Error as _;
        const EXPECTED: &str = "expected `any` or a list of 1 to 20 statuses from 100 to 599";
        let value = Value::deserialize(deserializer)?;
        if value.as_str() == Some("any") {
            return Ok(Self::Any);
        }
        let status =
            |value: &Value| value.as_u64().and_then(|n| u16::try_from(n).ok()).filter(|n| (100..600).contains(n));
        let list: Option<Vec<u16>> = value.as_array().and_then(|list| list.iter().map(status).collect());
        list.filter(|list| (1..=20).contains(&list.len()))
            .map(Self::Of)
            .ok_or_else(|| D::Error::custom(format!("{EXPECTED}, saw {}", crate::wire::shape(&value))))
    }
}

impl JsonSchema for Statuses {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Statuses".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "oneOf": [
            { "const": "any" },
            { "type": "array", "minItems": 1, "maxItems": 20,
              "items": { "type": "integer", "minimum": 100, "maximum": 599 } },
        ] })
    }
}

body! {
    /// Waits for a condition, as long as the step's `timeoutMs` says.
    WaitFor {
        /// The condition.
        condition: Condition,
    }
}
body! {
    /// Waits for quiet.
    WaitForIdle {
        /// How long it must be quiet; 500 unless stated.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        quiet_ms: Option<Millis>,
    }
}

/// Where to scroll.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Direction {
    /// Towards the top.
    Up,
    /// Towards the bottom.
    Down,
    /// Towards the left.
    Left,
    /// Towards the right.
    Right,
    /// To the very top.
    Top,
    /// To the very bottom.
    Bottom,
}

body! {
    /// Scrolls. A target alone is scrolled into view; a target with a direction or distance is what scrolls.
    Scroll {
        /// The target.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        target_ref: Option<TargetRef>,
        /// By most of a viewport in this direction.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        direction: Option<Direction>,
        /// By this distance; positive is down.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        delta_y: Option<Pixels>,
        /// By this distance; positive is right.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        delta_x: Option<Pixels>,
    }
}
body! {
    /// Another tab.
    SwitchTab {
        /// Its position among the observation's tabs, from 0.
        tab: Count,
    }
}
body! {
    /// A tab to close.
    CloseTab {
        /// Its position among the observation's tabs, from 0; the current one unless stated.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tab: Option<Count>,
    }
}

/// A mouse button.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum MouseButton {
    /// The main button.
    #[default]
    Left,
    /// The wheel.
    Middle,
    /// The context menu's.
    Right,
}

/// A key that is held during a gesture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum Modifier {
    /// Alt, or Option.
    Alt,
    /// Control.
    Control,
    /// Command, or Windows.
    Meta,
    /// Shift.
    Shift,
    /// Command on macOS, Control elsewhere.
    ControlOrMeta,
}

body! {
    /// Clicks a target.
    Click {
        /// The target.
        target_ref: TargetRef,
        /// The button; left unless stated.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        button: Option<MouseButton>,
        /// How often; once unless stated.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        count: Option<ClickCount>,
        /// Keys held.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        modifiers: Option<Vec<Modifier>>,
        /// Where, from the top left corner of the target's box; its middle unless stated.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        position: Option<Point>,
        /// Does everything but the click.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        dry_run: Option<bool>,
    }
}
body! {
    /// Turns something on or off.
    SetChecked {
        /// The target.
        target_ref: TargetRef,
        /// Where to click, from the top left corner of the target's box; its middle unless stated.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        position: Option<Point>,
        /// Does everything but the click.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        dry_run: Option<bool>,
    }
}

impl From<OnTarget> for SetChecked {
    fn from(on: OnTarget) -> Self {
        Self { target_ref: on.target_ref, position: None, dry_run: None }
    }
}

body! {
    /// Types text: `text`, or a secret by `credentialRef`.
    TypeText {
        /// The target.
        target_ref: TargetRef,
        /// The text.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<WireText>,
        /// The secret's name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        credential_ref: Option<CredentialRef>,
        /// Waits between keys, for pages that cannot keep up.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        delay_ms: Option<Millis>,
    }
}
body! {
    /// Sets a value: `value`, or a secret by `credentialRef`.
    SetValue {
        /// The target.
        target_ref: TargetRef,
        /// The value: text; a date as `2025-01-31`, a time as `13:45`, a colour as `#aabbcc`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        value: Option<WireText>,
        /// The secret's name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        credential_ref: Option<CredentialRef>,
    }
}
body! {
    /// Presses keys.
    Press {
        /// What gets the focus first; what has it already unless stated.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        target_ref: Option<TargetRef>,
        /// A key or chord as the DOM names keys: `Enter`, `a`, `Control+Shift+K`.
        keys: ShortText,
    }
}

/// One option to choose.
#[derive(Clone, Debug, PartialEq)]
pub enum OptionChoice {
    /// By value, then by label.
    Text(ShortText),
    /// By position, from 0.
    Index(Count),
    /// By value only.
    Value(ShortText),
    /// By label only.
    Label(ShortText),
    /// By all that is stated of it.
    Every(OptionTraits),
}

/// What is said of an option: at least two of the three, and it has to have them all.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OptionTraits {
    /// Its value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<ShortText>,
    /// Its label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<ShortText>,
    /// Its position, from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<Count>,
}

impl OptionChoice {
    /// The text that names it, if any does.
    #[must_use]
    pub fn name(&self) -> Option<&ShortText> {
        match self {
            Self::Text(text) | Self::Value(text) | Self::Label(text) => Some(text),
            Self::Index(_) => None,
            Self::Every(traits) => traits.value.as_ref().or(traits.label.as_ref()),
        }
    }

    /// Whether an option is meant that stands at `position` with this value and label. A [`Self::Text`] means
    /// an option by its label only where none has it for its value, which is for the caller to see to.
    #[must_use]
    pub fn means(&self, position: usize, value: Option<&str>, label: &str) -> bool {
        let has_value = |text: &ShortText| value == Some(text.as_str());
        let has_label = |text: &ShortText| {
            crate::text_match::collapse_white_space(label) == crate::text_match::collapse_white_space(text)
        };
        let is_at = |index: &Count| usize::try_from(index.get()).is_ok_and(|index| index == position);
        match self {
            Self::Text(text) => has_value(text) || has_label(text),
            Self::Value(text) => has_value(text),
            Self::Label(text) => has_label(text),
            Self::Index(index) => is_at(index),
            Self::Every(traits) => {
                traits.value.as_ref().is_none_or(has_value)
                    && traits.label.as_ref().is_none_or(has_label)
                    && traits.index.as_ref().is_none_or(is_at)
            }
        }
    }
}

/// The options to choose: on the wire one choice, or an array of them.
///
/// A choice is a string (value, then label), a number (position), or an object of `value`, `label` and `index`,
/// all of which the option then has.
#[derive(Clone, Debug, PartialEq)]
pub struct OptionChoices {
    /// The choices; one unless the wire has an array.
    pub choices: Vec<OptionChoice>,
    /// Whether the wire has an array.
    pub is_list: bool,
}

impl OptionChoices {
    /// One choice by value or label.
    #[must_use]
    pub fn text(text: &str) -> Self {
        Self { choices: vec![OptionChoice::Text(ShortText::cut(text))], is_list: false }
    }
}

body! {
    /// Chooses options of a `select`, a list box or a combo box.
    Select {
        /// The target.
        target_ref: TargetRef,
        /// What to choose.
        option: OptionChoices,
    }
}
body! {
    /// Moves the pointer.
    Hover {
        /// The target.
        target_ref: TargetRef,
        /// Where, from the top left corner of the target's box; its middle unless stated.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        position: Option<Point>,
    }
}
body! {
    /// Drags.
    DragTo {
        /// What is dragged.
        target_ref: TargetRef,
        /// Where it is dropped.
        to: TargetRef,
        /// How long the way takes; 300 unless stated.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        duration_ms: Option<Millis>,
        /// Where the target is taken, from the top left corner of its box; its middle unless stated.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        position: Option<Point>,
        /// Where on `to` it is dropped, likewise.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        to_position: Option<Point>,
    }
}
body! {
    /// Chooses files.
    Upload {
        /// The target.
        target_ref: TargetRef,
        /// Paths below a declared root.
        files: Vec<ShortText>,
    }
}
body! {
    /// Holds the button down.
    LongPress {
        /// The target.
        target_ref: TargetRef,
        /// How long; 600 unless stated.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        duration_ms: Option<Millis>,
    }
}
body! {
    /// Clicks at a point of the picture that the planner saw.
    ClickPoint {
        /// The point.
        point: Point,
        /// The size of that picture, if it is not the viewport's.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        viewport: Option<crate::geometry::ViewportSize>,
    }
}
body! {
    /// Drags from point to point.
    DragPoints {
        /// Where it starts.
        from: Point,
        /// Where it ends.
        to: Point,
        /// How long the way takes; 300 unless stated.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        duration_ms: Option<Millis>,
        /// The size of the picture that the planner saw, if it is not the viewport's.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        viewport: Option<crate::geometry::ViewportSize>,
    }
}
body! {
    /// Holds the button down at a point.
    LongPressPoint {
        /// The point.
        point: Point,
        /// How long; 600 unless stated.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        duration_ms: Option<Millis>,
        /// The size of the picture that the planner saw, if it is not the viewport's.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        viewport: Option<crate::geometry::ViewportSize>,
    }
}

/// In which form something is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ExtractKind {
    /// What a person reads.
    Text,
    /// The inner HTML.
    Html,
    /// The HTML with the element itself.
    OuterHtml,
    /// The live value of a control.
    Value,
    /// The attribute that the query's `name` names; `null` where it is not there.
    Attribute,
    /// Readable Markdown.
    Markdown,
    /// The values of a form, by field.
    Form,
    /// What the page says of itself: title, Open Graph, JSON-LD, microdata, headings, landmarks.
    Metadata,
    /// As an object of the query's `schema`.
    Schema,
}

impl ExtractKind {
    /// The form as it stands on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Html => "html",
            Self::OuterHtml => "outerHtml",
            Self::Value => "value",
            Self::Attribute => "attribute",
            Self::Markdown => "markdown",
            Self::Form => "form",
            Self::Metadata => "metadata",
            Self::Schema => "schema",
        }
    }
}

body! {
    /// Reads.
    Extract {
        /// What and how.
        query: ExtractQuery,
    }
}
body! {
    /// What is read, and in which form.
    ExtractQuery {
        /// From where; from the whole page unless stated.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        target_ref: Option<TargetRef>,
        /// The form.
        kind: ExtractKind,
        /// For `attribute`: which one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<ShortText>,
        /// For `schema`: a JSON Schema of the answer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(with = "Option<serde_json::Map<String, Value>>")]
        schema: Option<Value>,
    }
}
body! {
    /// Observes again.
    Snapshot {
        /// How much; the view unless stated.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        scope: Option<Scope>,
    }
}
body! {
    /// A picture.
    Screenshot {
        /// Of what; of the viewport unless stated.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        target_ref: Option<TargetRef>,
        /// Of the whole page.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        full_page: Option<bool>,
    }
}
body! {
    /// A compact document.
    GetDom {
        /// From where; the body unless stated.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        target_ref: Option<TargetRef>,
    }
}
body! {
    /// Searches.
    SearchPage {
        /// What to look for.
        query: ShortText,
        /// The query is a regular expression.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        regex: Option<bool>,
        /// Characters of context on each side; 80 unless stated.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        context: Option<Count>,
    }
}
body! {
    /// Lists elements.
    FindElements {
        /// A CSS selector.
        selector: SelectorText,
        /// The attributes to report; URLs come resolved.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        attributes: Option<Vec<ShortText>>,
        /// Only within this candidate.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        within: Option<TargetRef>,
    }
}
body! {
    /// A raw selector to be made a candidate: exactly one of the two.
    ResolveSelector {
        /// A CSS selector.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        css: Option<SelectorText>,
        /// An XPath expression.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        xpath: Option<SelectorText>,
    }
}
body! {
    /// States a condition.
    Assert {
        /// The condition.
        condition: Condition,
    }
}
body! {
    /// An HTTP request.
    Fetch {
        /// Absolute.
        url: UrlText,
        /// `GET` unless stated.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        method: Option<ShortText>,
        /// Header names and values.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        headers: Option<std::collections::BTreeMap<String, ShortText>>,
        /// The body.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        body: Option<LongText>,
    }
}
body! {
    /// A file to read.
    ReadFile {
        /// Below a declared root.
        path: ShortText,
    }
}
body! {
    /// A file to write.
    WriteFile {
        /// Below a declared root.
        path: ShortText,
        /// The content.
        content: LongText,
    }
}
body! {
    /// A command.
    Shell {
        /// The command line.
        command: LongText,
    }
}
body! {
    /// A script.
    Evaluate {
        /// JavaScript, evaluated as an expression.
        script: LongText,
    }
}
body! {
    /// A registered action.
    Call {
        /// Its name.
        name: ShortText,
        /// Its arguments, checked against the schema that it was registered with.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        args: Option<serde_json::Map<String, Value>>,
    }
}
body! {
    /// Accepts a dialog.
    AcceptDialog {
        /// The answer to a prompt.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<ShortText>,
    }
}
body! {
    /// The task is done.
    Finish {
        /// The answer, where the task asks for one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        result: Option<LongText>,
    }
}
body! {
    /// The task cannot be done.
    Fail {
        /// Why.
        reason: ShortText,
    }
}
body! {
    /// A question.
    AskUser {
        /// The question.
        question: ShortText,
    }
}

impl Fetch {
    /// Whether the request only reads, by its method.
    #[must_use]
    pub fn is_reading(&self) -> bool {
        let method = self.method.as_ref().map_or("GET", |method| method.as_str());
        self.body.is_none() && ["GET", "HEAD"].iter().any(|reading| reading.eq_ignore_ascii_case(method))
    }
}

impl Action {
    /// The targets that the action names itself, its main one first; those of its conditions not included.
    #[must_use]
    pub fn targets(&self) -> Vec<&TargetRef> {
        match self {
            Self::DragTo(a) => vec![&a.target_ref, &a.to],
            Self::FindElements(a) => a.within.iter().collect(),
            other => other.target().into_iter().collect(),
        }
    }

    /// The main target.
    #[must_use]
    pub fn target(&self) -> Option<&TargetRef> {
        match self {
            Self::Click(a) => Some(&a.target_ref),
            Self::Check(a) | Self::Uncheck(a) => Some(&a.target_ref),
            Self::Clear(a) | Self::SelectText(a) | Self::Focus(a) => Some(&a.target_ref),
            Self::Type(a) => Some(&a.target_ref),
            Self::SetValue(a) => Some(&a.target_ref),
            Self::Select(a) => Some(&a.target_ref),
            Self::Hover(a) => Some(&a.target_ref),
            Self::DragTo(a) => Some(&a.target_ref),
            Self::Upload(a) => Some(&a.target_ref),
            Self::LongPress(a) => Some(&a.target_ref),
            Self::Press(a) => a.target_ref.as_ref(),
            Self::Scroll(a) => a.target_ref.as_ref(),
            Self::Extract(a) => a.query.target_ref.as_ref(),
            Self::Screenshot(a) => a.target_ref.as_ref(),
            Self::GetDom(a) => a.target_ref.as_ref(),
            _ => None,
        }
    }

    /// The condition inside the action, if it has one.
    #[must_use]
    pub const fn condition(&self) -> Option<&Condition> {
        match self {
            Self::WaitFor(a) => Some(&a.condition),
            Self::Assert(a) => Some(&a.condition),
            _ => None,
        }
    }

    /// The text that the action enters, where it states one.
    #[must_use]
    pub const fn text(&self) -> Option<&WireText> {
        match self {
            Self::Type(a) => a.text.as_ref(),
            Self::SetValue(a) => a.value.as_ref(),
            _ => None,
        }
    }

    /// The secret that the action enters, where it names one.
    #[must_use]
    pub const fn credential(&self) -> Option<&CredentialRef> {
        match self {
            Self::Type(a) => a.credential_ref.as_ref(),
            Self::SetValue(a) => a.credential_ref.as_ref(),
            _ => None,
        }
    }

    /// Rewrites every target of the action, its condition's included, through `rewrite`.
    pub fn retarget(&mut self, rewrite: &dyn Fn(&TargetRef) -> TargetRef) {
        let change = |target: &mut TargetRef| *target = rewrite(target);
        let change_option = |target: &mut Option<TargetRef>| {
            if let Some(target) = target {
                *target = rewrite(target);
            }
        };
        match self {
            Self::Click(a) => change(&mut a.target_ref),
            Self::Check(a) | Self::Uncheck(a) => change(&mut a.target_ref),
            Self::Clear(a) | Self::SelectText(a) | Self::Focus(a) => change(&mut a.target_ref),
            Self::Type(a) => change(&mut a.target_ref),
            Self::SetValue(a) => change(&mut a.target_ref),
            Self::Select(a) => change(&mut a.target_ref),
            Self::Hover(a) => change(&mut a.target_ref),
            Self::DragTo(a) => {
                change(&mut a.target_ref);
                change(&mut a.to);
            }
            Self::Upload(a) => change(&mut a.target_ref),
            Self::LongPress(a) => change(&mut a.target_ref),
            Self::Press(a) => change_option(&mut a.target_ref),
            Self::Scroll(a) => change_option(&mut a.target_ref),
            Self::Extract(a) => change_option(&mut a.query.target_ref),
            Self::Screenshot(a) => change_option(&mut a.target_ref),
            Self::GetDom(a) => change_option(&mut a.target_ref),
            Self::FindElements(a) => change_option(&mut a.within),
            Self::WaitFor(a) => a.condition.retarget(rewrite),
            Self::Assert(a) => a.condition.retarget(rewrite),
            _ => {}
        }
    }
}

mod option_wire {
    //! The wire form of option choices.

    use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
    use serde::de::Error as _;
    use serde::ser::SerializeMap;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use serde_json::Value;

    use super::{Count, OptionChoice, OptionChoices, ShortText};

    /// The most options that one step chooses.
    const MAX_CHOICES: usize = 100;

    impl Serialize for OptionChoice {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            let keyed = |serializer: S, key: &str, text: &ShortText| {
                let mut map = serializer.serialize_map(Some(1))?;
                map.serialize_entry(key, text)?;
                map.end()
            };
            match self {
                Self::Text(text) => text.serialize(serializer),
                Self::Index(index) => index.serialize(serializer),
                Self::Value(text) => keyed(serializer, "value", text),
                Self::Label(text) => keyed(serializer, "label", text),
                Self::Every(traits) => traits.serialize(serializer),
            }
        }
    }

    impl<'de> Deserialize<'de> for OptionChoice {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            let text = |value: Value| crate::wire::read::<ShortText>(value).map_err(D::Error::custom);
            match Value::deserialize(deserializer)? {
                value @ Value::String(_) => text(value).map(Self::Text),
                value @ Value::Number(_) => {
                    crate::wire::read::<Count>(value).map(Self::Index).map_err(D::Error::custom)
                }
                Value::Object(object) if object.len() == 1 => match object.into_iter().next() {
                    Some((key, value)) if key == "value" => text(value).map(Self::Value),
                    Some((key, value)) if key == "label" => text(value).map(Self::Label),
                    Some((key, value)) if key == "index" => {
                        crate::wire::read::<Count>(value).map(Self::Index).map_err(D::Error::custom)
                    }
                    _ => Err(D::Error::custom("expected `value`, `label` or `index`")),
                },
                value @ Value::Object(_) => {
                    let traits: super::OptionTraits = crate::wire::read(value).map_err(D::Error::custom)?;
                    let stated = [traits.value.is_some(), traits.label.is_some(), traits.index.is_some()];
                    match stated.into_iter().filter(|stated| *stated).count() {
                        0 | 1 => Err(D::Error::custom("expected `value`, `label` or `index`, saw none, or null")),
                        _ => Ok(Self::Every(traits)),
                    }
                }
                other => Err(D::Error::custom(format!(
                    "expected a string, a number, or an object with `value`, `label` or `index`, saw {}",
                    crate::wire::shape(&other)
                ))),
            }
        }
    }

    impl JsonSchema for OptionChoice {
        fn schema_name() -> std::borrow::Cow<'static, str> {
            "OptionChoice".into()
        }
        fn json_schema(generator: &mut SchemaGenerator) -> Schema {
            let text = generator.subschema_for::<ShortText>().to_value();
            let index = generator.subschema_for::<Count>().to_value();
            json_schema!({ "oneOf": [text, index, {
                "type": "object", "properties": { "value": text, "label": text, "index": index },
                "minProperties": 1, "additionalProperties": false
            }] })
        }
    }

    impl Serialize for OptionChoices {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            match &self.choices[..] {
                [only] if !self.is_list => only.serialize(serializer),
                several => several.serialize(serializer),
            }
        }
    }

    impl<'de> Deserialize<'de> for OptionChoices {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            match Value::deserialize(deserializer)? {
                Value::Array(items) if items.len() <= MAX_CHOICES => {
                    let choices = crate::wire::read(Value::Array(items)).map_err(D::Error::custom)?;
                    Ok(Self { choices, is_list: true })
                }
                Value::Array(items) => {
                    Err(D::Error::custom(format!("expected at most {MAX_CHOICES} options, saw {}", items.len())))
                }
                one => {
                    let choice = crate::wire::read(one).map_err(D::Error::custom)?;
                    Ok(Self { choices: vec![choice], is_list: false })
                }
            }
        }
    }

    impl JsonSchema for OptionChoices {
        fn schema_name() -> std::borrow::Cow<'static, str> {
            "OptionChoices".into()
        }
        fn json_schema(generator: &mut SchemaGenerator) -> Schema {
            let one = generator.subschema_for::<OptionChoice>();
            json_schema!({ "anyOf": [one, { "type": "array", "items": one, "maxItems": MAX_CHOICES }] })
        }
    }
}
