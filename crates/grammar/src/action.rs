//! Actions: the verbs of the language, each with typed parameters.
//!
//! Invariants:
//! - Every verb is a variant here; nothing matches on a verb's name as a string.
//! - One table, [`ActionKind::meta`], says which layer performs a verb, what effect it has and what it needs of its
//!   target. The check, the executor, the decoders and the documentation share it.

mod choices;
mod fields;
mod parameters;
mod statuses;

use crate::candidate::Capability;
use crate::condition::Condition;
use crate::effect::EffectClass;
use crate::id::{CredentialRef, TargetRef};
use crate::secret::WireText;
use crate::wire::tagged;

pub use choices::{OptionChoice, OptionChoices, OptionTraits};
pub use fields::{ExtractField, FieldType, fields_of, schema_of_fields};
pub use parameters::*;
pub use statuses::Statuses;

/// The last column of the table: what the verb needs of its target.
macro_rules! need {
    () => {
        TargetNeed::None
    };
    ($need:ident $capability:ident) => {
        TargetNeed::$need(Capability::$capability)
    };
}

/// The field that holds the target, by the last column of the table.
macro_rules! target {
    ([$option:ident $($borrow:tt)+] $body:ident) => {{ let _ = $body; None }};
    ([$option:ident $($borrow:tt)+] $body:ident Required) => { Some($($borrow)+ $body.target_ref) };
    ([$option:ident $($borrow:tt)+] $body:ident Optional $($part:ident)?) => { $body.$($part.)?target_ref.$option() };
}

/// Declares [`Action`] and the table about its verbs together, so that neither can miss one.
macro_rules! actions {
    ($(
        #[doc = $doc:literal]
        $variant:ident($body:ty) = $tag:literal, $owner:ident, $effect:ident
            $(, $need:ident($capability:ident) $(of $part:ident)?)?;
    )+) => {
        tagged! {
            /// One verb with its parameters.
            pub enum Action by "type" {
                $( #[doc = $doc] $variant($body) = $tag, )+
            }
        }

        /// The verb of an action, without its parameters.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum ActionKind { $( #[doc = $doc] $variant, )+ }

        impl ActionKind {
            /// Every verb of the language.
            pub const ALL: &'static [ActionKind] = &[$(ActionKind::$variant),+];

            /// Returns the properties that hold for every use of the verb.
            #[must_use]
            pub const fn meta(self) -> ActionMeta {
                match self {
                    $( Self::$variant => ActionMeta {
                        name: $tag,
                        owner: Owner::$owner,
                        effect: EffectClass::$effect,
                        target: need!($($need $capability)?),
                    }, )+
                }
            }

            /// Returns the purpose of the verb, in one sentence.
            #[must_use]
            pub const fn purpose(self) -> &'static str {
                match self { $( Self::$variant => $doc.trim_ascii(), )+ }
            }
        }

        impl Action {
            /// Returns the verb, without its parameters.
            #[must_use]
            pub const fn kind(&self) -> ActionKind {
                match self { $( Self::$variant(_) => ActionKind::$variant, )+ }
            }

            /// Returns the main target; `None` if the action names none.
            #[must_use]
            pub const fn target(&self) -> Option<&TargetRef> {
                match self { $( Self::$variant(body) => target!([as_ref &] body $($need $($part)?)?), )+ }
            }

            const fn target_mut(&mut self) -> Option<&mut TargetRef> {
                match self { $( Self::$variant(body) => target!([as_mut &mut] body $($need $($part)?)?), )+ }
            }
        }
    };
}

actions! {
    /// Opens a URL.
    Navigate(Navigate) = "navigate", Executor, Idempotent;
    /// Goes back in the tab's history.
    GoBack(Nothing) = "goBack", Executor, Reversible;
    /// Goes forward in the tab's history.
    GoForward(Nothing) = "goForward", Executor, Reversible;
    /// Reloads the page.
    Reload(Nothing) = "reload", Executor, Idempotent;
    /// Waits until a condition holds.
    WaitFor(WaitFor) = "waitFor", Executor, ReadOnly;
    /// Waits until the page is quiet.
    WaitForIdle(WaitForIdle) = "waitForIdle", Executor, ReadOnly;
    /// Scrolls the page, a container, or a target into view.
    Scroll(Scroll) = "scroll", Executor, ReadOnly, Optional(Read);
    /// Scrolls on until something is there, or a condition holds.
    ScrollUntil(ScrollUntil) = "scrollUntil", Executor, ReadOnly, Optional(Read);
    /// Makes another tab the current one.
    SwitchTab(SwitchTab) = "switchTab", Executor, ReadOnly;
    /// Closes a tab.
    CloseTab(CloseTab) = "closeTab", Executor, Reversible;
    /// Clicks.
    Click(Click) = "click", Executor, Reversible, Required(Pointer);
    /// Empties a field.
    Clear(OnTarget) = "clear", Executor, Idempotent, Required(Value);
    /// Selects the text of a field or an element.
    SelectText(OnTarget) = "selectText", Executor, ReadOnly, Required(Read);
    /// Types text with key events, after what is there.
    Type(TypeText) = "type", Executor, Reversible, Required(Text);
    /// Replaces a value.
    SetValue(SetValue) = "setValue", Executor, Idempotent, Required(Value);
    /// Presses keys.
    Press(Press) = "press", Executor, Reversible, Optional(Keyboard);
    /// Chooses options.
    Select(Select) = "select", Executor, Idempotent, Required(Options);
    /// Turns a check box, radio button or switch on.
    Check(SetChecked) = "check", Executor, Idempotent, Required(CheckOn);
    /// Turns a check box or switch off.
    Uncheck(SetChecked) = "uncheck", Executor, Idempotent, Required(CheckOff);
    /// Moves the pointer over a target.
    Hover(Hover) = "hover", Executor, ReadOnly, Required(Pointer);
    /// Gives a target the focus.
    Focus(OnTarget) = "focus", Executor, ReadOnly, Required(Keyboard);
    /// Drags a target onto another.
    DragTo(DragTo) = "dragTo", Executor, Reversible, Required(Pointer);
    /// Chooses files in a file field.
    Upload(Upload) = "upload", Executor, Reversible, Required(Files);
    /// Presses and holds.
    LongPress(LongPress) = "longPress", Executor, Reversible, Required(Pointer);
    /// Clicks at a point.
    ClickPoint(ClickPoint) = "clickPoint", Executor, Destructive;
    /// Drags from point to point.
    DragPoints(DragPoints) = "dragPoints", Executor, Destructive;
    /// Presses and holds at a point.
    LongPressPoint(LongPressPoint) = "longPressPoint", Executor, Destructive;
    /// Reads something out of the page.
    Extract(Extract) = "extract", Executor, ReadOnly, Optional(Read) of query;
    /// Observes the page again.
    Snapshot(Snapshot) = "snapshot", Modeler, ReadOnly;
    /// Takes a picture.
    Screenshot(Screenshot) = "screenshot", Executor, ReadOnly, Optional(Read);
    /// Reads a compact form of the document.
    GetDom(GetDom) = "getDom", Executor, ReadOnly, Optional(Read);
    /// Searches the page's text.
    SearchPage(SearchPage) = "searchPage", Modeler, ReadOnly;
    /// Lists elements by CSS selector.
    FindElements(FindElements) = "findElements", Modeler, ReadOnly;
    /// Turns a raw selector into a candidate id.
    ResolveSelector(ResolveSelector) = "resolveSelector", Modeler, ReadOnly;
    /// States that a condition holds now.
    Assert(Assert) = "assert", Executor, ReadOnly;
    /// Makes an HTTP request outside the page.
    Fetch(Fetch) = "fetch", Handler, Destructive;
    /// Reads a file.
    ReadFile(ReadFile) = "readFile", Handler, ReadOnly;
    /// Writes a file.
    WriteFile(WriteFile) = "writeFile", Handler, Destructive;
    /// Runs a command.
    Shell(Shell) = "shell", Handler, Destructive;
    /// Evaluates a script in the page.
    Evaluate(Evaluate) = "evaluate", Executor, Destructive;
    /// Calls a registered action.
    Call(Call) = "call", Handler, Destructive;
    /// Accepts the JavaScript dialog that is open.
    AcceptDialog(AcceptDialog) = "acceptDialog", Executor, Destructive;
    /// Dismisses the JavaScript dialog that is open.
    DismissDialog(Nothing) = "dismissDialog", Executor, Reversible;
    /// Ends the task with a result.
    Finish(Finish) = "finish", Controller, ReadOnly;
    /// Ends the task as not done.
    Fail(Fail) = "fail", Controller, ReadOnly;
    /// Asks the user.
    AskUser(AskUser) = "askUser", Controller, ReadOnly;
}

impl ActionKind {
    /// Returns `true` if the verb goes past the candidates of a page, by points or selectors. A planner needs a profile
    /// that opens it.
    #[must_use]
    pub const fn is_raw(self) -> bool {
        matches!(self, Self::ClickPoint | Self::DragPoints | Self::LongPressPoint | Self::ResolveSelector)
    }

    /// Returns `true` if the verb does more than a person could do with the page. Even an operator's plan needs a
    /// profile that opens it. Registered actions are excluded: they do what they were registered for.
    #[must_use]
    pub const fn is_beyond_page(self) -> bool {
        matches!(self, Self::Fetch | Self::ReadFile | Self::WriteFile | Self::Shell | Self::Evaluate)
    }
}

/// The layer that performs an action.
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

/// Need of an action for a target, and the capability that the target must have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TargetNeed {
    /// The action takes no target.
    None,
    /// May have a target, which must support this.
    Optional(Capability),
    /// Must have a target, which must support this.
    Required(Capability),
}

/// Properties that hold for every use of a verb.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ActionMeta {
    /// The verb on the wire.
    pub name: &'static str,
    /// The layer that performs it.
    pub owner: Owner,
    /// The least effect that it has; its target may raise it.
    pub effect: EffectClass,
    /// Need for a target, and the capability that it must have.
    pub target: TargetNeed,
}

impl Action {
    /// The targets of the action, the main one first, without those of its condition.
    #[must_use]
    pub fn targets(&self) -> Vec<&TargetRef> {
        match self {
            Self::DragTo(a) => vec![&a.target_ref, &a.to],
            Self::FindElements(a) => a.within.iter().collect(),
            Self::ScrollUntil(a) => a.target_ref.iter().chain(&a.container).collect(),
            other => other.target().into_iter().collect(),
        }
    }

    /// The condition inside the action, if it has one.
    #[must_use]
    pub const fn condition(&self) -> Option<&Condition> {
        match self {
            Self::WaitFor(a) => Some(&a.condition),
            Self::Assert(a) => Some(&a.condition),
            Self::ScrollUntil(a) => a.condition.as_ref(),
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
        if let Some(target) = self.target_mut() {
            *target = rewrite(target);
        }
        match self {
            Self::DragTo(a) => a.to = rewrite(&a.to),
            Self::FindElements(a) => a.within = a.within.as_ref().map(rewrite),
            Self::WaitFor(a) => a.condition.retarget(rewrite),
            Self::Assert(a) => a.condition.retarget(rewrite),
            Self::ScrollUntil(a) => {
                a.container = a.container.as_ref().map(rewrite);
                if let Some(condition) = &mut a.condition {
                    condition.retarget(rewrite);
                }
            }
            _ => {}
        }
    }
}
