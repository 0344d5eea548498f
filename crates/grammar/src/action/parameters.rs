//! The parameters of each verb.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::choices::OptionChoices;
use super::fields;
use super::statuses::Statuses;
use crate::condition::Condition;
use crate::geometry::{Point, ViewportSize};
use crate::id::{CredentialRef, TargetRef};
use crate::locator::{ByText, Locator, Strategy};
use crate::observation::Scope;
use crate::secret::WireText;
use crate::text_match::{Pattern, TextPattern};
use crate::wire::{
    ClickCount, Count, LongText, Millis, Nth, Object, Pixels, SelectorText, ShortText, UrlText, bodies, words,
};

bodies! {
    /// No parameters.
    Nothing {}
    /// A target and nothing else.
    OnTarget {
        /// The target.
        target_ref: TargetRef,
    }
    /// Opens a URL.
    Navigate {
        /// Absolute.
        url: UrlText,
        /// Which statuses of the server's answer are accepted; those below 400 unless stated.
        status?: Statuses,
    }
    /// Waits for a condition, as long as the step's `timeoutMs` says.
    WaitFor {
        /// The condition.
        condition: Condition,
    }
    /// Waits for quiet.
    WaitForIdle {
        /// How long it must be quiet; 500 unless stated.
        quiet_ms?: Millis,
    }
    /// Scrolls. A target alone is scrolled into view; a target with a direction or distance is what scrolls.
    Scroll {
        /// The target.
        target_ref?: TargetRef,
        /// By most of a viewport in this direction.
        direction?: Direction,
        /// By this distance; positive is down.
        delta_y?: Pixels,
        /// By this distance; positive is right.
        delta_x?: Pixels,
        /// Turns the mouse wheel at this point of the viewport, for what moves itself, such as a map; needs a distance.
        point?: Point,
    }
    /// Scrolls on by most of a view at a time, while there is more: until what is looked for is there, which is exactly
    /// one of `targetRef`, `text` and `condition`.
    ScrollUntil {
        /// Scrolled into view once it is there.
        target_ref?: TargetRef,
        /// The first visible element with this text, in any letter case; scrolled into view once it is there.
        text?: ShortText,
        /// Holds in the end.
        condition?: Condition,
        /// The element that scrolls, or anything in it; the one that may hold the target unless stated.
        container?: TargetRef,
        /// Down unless stated; not to the top or the bottom at once.
        direction?: Direction,
    }
    /// Another tab.
    SwitchTab {
        /// 0-based index into the observation's tabs.
        tab: Count,
    }
    /// A tab to close.
    CloseTab {
        /// 0-based index into the observation's tabs; the current tab unless stated.
        tab?: Count,
    }
    /// Clicks a target.
    Click {
        /// The target.
        target_ref: TargetRef,
        /// The button; left unless stated.
        button?: MouseButton,
        /// Number of clicks; 1 unless stated.
        count?: ClickCount,
        /// Keys held.
        modifiers?: Vec<Modifier>,
        /// Relative to the top left corner of the target's box; its middle unless stated.
        position?: Point,
        /// Does everything but the click.
        dry_run?: bool,
    }
    /// Turns something on or off.
    SetChecked {
        /// The target.
        target_ref: TargetRef,
        /// Where to click, relative to the top left corner of the target's box; its middle unless stated.
        position?: Point,
        /// Does everything but the click.
        dry_run?: bool,
    }
    /// Types text: `text`, or a secret by `credentialRef`.
    TypeText {
        /// The target.
        target_ref: TargetRef,
        /// The text.
        text?: WireText,
        /// The secret's name.
        credential_ref?: CredentialRef,
        /// Delay between keys, for pages that cannot keep up.
        delay_ms?: Millis,
    }
    /// Sets a value: `value`, or a secret by `credentialRef`.
    SetValue {
        /// The target.
        target_ref: TargetRef,
        /// The value: text; a date as `2025-01-31`, a time as `13:45`, a colour as `#aabbcc`.
        value?: WireText,
        /// The secret's name.
        credential_ref?: CredentialRef,
    }
    /// Presses keys.
    Press {
        /// Focused first; the focus stays where it is unless stated.
        target_ref?: TargetRef,
        /// A key or chord as the DOM names keys: `Enter`, `a`, `Control+Shift+K`.
        keys: ShortText,
    }
    /// Chooses options of a `select`, a list box or a combo box.
    Select {
        /// The target.
        target_ref: TargetRef,
        /// The options to choose.
        option: OptionChoices,
    }
    /// Moves the pointer.
    Hover {
        /// The target.
        target_ref: TargetRef,
        /// Relative to the top left corner of the target's box; its middle unless stated.
        position?: Point,
    }
    /// Drags.
    DragTo {
        /// The target to drag.
        target_ref: TargetRef,
        /// Where it is dropped.
        to: TargetRef,
        /// Duration of the movement; 300 unless stated.
        duration_ms?: Millis,
        /// Where to grab the target, relative to the top left corner of its box; its middle unless stated.
        position?: Point,
        /// Where to drop it on `to`, relative to the top left corner of its box; its middle unless stated.
        to_position?: Point,
    }
    /// Chooses files.
    Upload {
        /// The target.
        target_ref: TargetRef,
        /// Paths below a declared root.
        files: Vec<ShortText>,
    }
    /// Holds the button down.
    LongPress {
        /// The target.
        target_ref: TargetRef,
        /// How long; 600 unless stated.
        duration_ms?: Millis,
    }
    /// Clicks at a point of the picture that the planner saw.
    ClickPoint {
        /// The point.
        point: Point,
        /// The button; left unless stated.
        button?: MouseButton,
        /// Number of clicks; 1 unless stated.
        count?: ClickCount,
        /// The size of that picture, if it is not the viewport's.
        viewport?: ViewportSize,
    }
    /// Drags from point to point.
    DragPoints {
        /// Where it starts.
        from: Point,
        /// Where it ends.
        to: Point,
        /// Points on the way, at most 64, for what is drawn.
        via?: Vec<Point>,
        /// Duration of the movement; 300 unless stated.
        duration_ms?: Millis,
        /// The size of the picture that the planner saw, if it is not the viewport's.
        viewport?: ViewportSize,
    }
    /// Holds the button down at a point.
    LongPressPoint {
        /// The point.
        point: Point,
        /// How long; 600 unless stated.
        duration_ms?: Millis,
        /// The size of the picture that the planner saw, if it is not the viewport's.
        viewport?: ViewportSize,
    }
    /// Reads.
    Extract {
        /// The content to read, and its form.
        query: ExtractQuery,
    }
    /// The content to read, and the form in which it is read.
    ExtractQuery {
        /// The element to read; the whole page unless stated.
        target_ref?: TargetRef,
        /// The form.
        kind: ExtractKind,
        /// For `attribute`: which one.
        name?: ShortText,
        /// For a kind whose result is a text: only the first match of this regular expression, or of its first group;
        /// `null` where nothing matches.
        pattern?: Pattern,
        /// For `schema`: a JSON Schema of the answer; or its fields in a list, which is read as the schema that it denotes.
        #[serde(deserialize_with = "fields::written")]
        #[schemars(schema_with = "fields::published")]
        schema?: Object,
    }
    /// Observes again.
    Snapshot {
        /// How much of the page; the view unless stated.
        scope?: Scope,
    }
    /// A picture.
    Screenshot {
        /// The element to picture; the viewport unless stated.
        target_ref?: TargetRef,
        /// Pictures the whole page.
        full_page?: bool,
    }
    /// A compact document.
    GetDom {
        /// The root of the tree; the body unless stated.
        target_ref?: TargetRef,
    }
    /// Searches.
    SearchPage {
        /// The text to search for.
        query: ShortText,
        /// The query is a regular expression.
        regex?: bool,
        /// Characters of context on each side; 80 unless stated.
        context?: Count,
    }
    /// Lists elements.
    FindElements {
        /// A CSS selector.
        selector: SelectorText,
        /// The attributes to report; URLs come resolved.
        attributes?: Vec<ShortText>,
        /// Only within this candidate.
        within?: TargetRef,
    }
    /// Turns a raw selector into a candidate: exactly one of the two fields.
    ResolveSelector {
        /// A CSS selector.
        css?: SelectorText,
        /// An XPath expression.
        xpath?: SelectorText,
    }
    /// States a condition.
    Assert {
        /// The condition.
        condition: Condition,
    }
    /// An HTTP request.
    Fetch {
        /// Absolute.
        url: UrlText,
        /// `GET` unless stated.
        method?: ShortText,
        /// Header names and values.
        headers?: BTreeMap<String, ShortText>,
        /// The body.
        body?: LongText,
    }
    /// A file to read.
    ReadFile {
        /// Below a declared root.
        path: ShortText,
    }
    /// A file to write.
    WriteFile {
        /// Below a declared root.
        path: ShortText,
        /// The content.
        content: LongText,
    }
    /// A command.
    Shell {
        /// The command line.
        command: LongText,
    }
    /// A script.
    Evaluate {
        /// JavaScript, evaluated as an expression.
        script: LongText,
    }
    /// A registered action.
    Call {
        /// Its name.
        name: ShortText,
        /// Its arguments, checked against the schema that it was registered with.
        args?: Object,
    }
    /// Accepts a dialog.
    AcceptDialog {
        /// The answer to a prompt.
        text?: ShortText,
    }
    /// The task is done.
    Finish {
        /// The answer, where the task asks for one.
        result?: LongText,
        /// Where the answer stands, or what it is computed from: ids of candidates, or texts and rows as they are written.
        from?: Vec<ShortText>,
    }
    /// The task cannot be done.
    Fail {
        /// Why.
        reason: ShortText,
    }
    /// A question.
    AskUser {
        /// The question.
        question: ShortText,
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

/// A key held down during a gesture.
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

impl ScrollUntil {
    /// Name, in a step's conditions and facts, of the element that has the wanted text.
    pub const TEXT: &str = "_text";

    /// Returns the target or the stand-in for the text that is searched for; `None` for a condition.
    #[must_use]
    pub fn sought(&self) -> Option<TargetRef> {
        self.target_ref.clone().or_else(|| self.text.as_ref().map(|_| TargetRef::built_in(Self::TEXT)))
    }

    /// Returns the locator of the text that is searched for.
    #[must_use]
    pub fn text_locator(&self) -> Option<Locator> {
        let text = TextPattern::Literal(self.text.clone()?);
        let by = Strategy::Text(ByText { text, exact: Some(false) });
        Some(Locator { visible: Some(true), nth: Some(Nth::clamped(0)), ..Locator::from(by) })
    }
}

impl From<OnTarget> for SetChecked {
    fn from(on: OnTarget) -> Self {
        Self { target_ref: on.target_ref, position: None, dry_run: None }
    }
}

words! {
    /// The form in which something is read.
    pub enum ExtractKind {
        /// The text as a person reads it.
        Text = "text",
        /// The inner HTML.
        Html = "html",
        /// The HTML with the element itself.
        OuterHtml = "outerHtml",
        /// The live value of a control.
        Value = "value",
        /// The attribute that the query's `name` names; `null` where it is not there.
        Attribute = "attribute",
        /// Readable Markdown.
        Markdown = "markdown",
        /// The values of a form, by field.
        Form = "form",
        /// The page's statements about itself: title, Open Graph, JSON-LD, microdata, headings, landmarks.
        Metadata = "metadata",
        /// An object that fits the query's `schema`.
        Schema = "schema",
        /// How many elements the target's locator matches; 0 where none does.
        Count = "count",
        /// The address of the page.
        Url = "url",
    }
}

impl ExtractQuery {
    /// Returns `true` if its schema asks for nothing, as `{}` does: the page is read as Markdown then.
    #[must_use]
    pub fn asks_for_nothing(&self) -> bool {
        let says_nothing = |key: &String| key.starts_with('$') || key == "title" || key == "description";
        self.kind == ExtractKind::Schema && self.schema.as_ref().is_some_and(|schema| schema.keys().all(says_nothing))
    }
}

impl ExtractKind {
    /// Returns `true` if the result is one text, of which a pattern can choose a part.
    #[must_use]
    pub const fn is_text(self) -> bool {
        !matches!(self, Self::Form | Self::Metadata | Self::Schema | Self::Count)
    }
}

impl Fetch {
    /// Returns `true` if the request only reads: `GET` or `HEAD`, without a body.
    #[must_use]
    pub fn is_reading(&self) -> bool {
        let method = self.method.as_ref().map_or("GET", |method| method.as_str());
        self.body.is_none() && ["GET", "HEAD"].iter().any(|reading| reading.eq_ignore_ascii_case(method))
    }
}
