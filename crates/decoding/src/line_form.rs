//! The line form: which parameters of a verb or a condition stand without their names, and in which order.
//!
//! ```text
//! # Log in with the account that the task names.
//! goal: titleMatches("Dashboard")
//! setValue(c1,"ada")
//! setValue(c2,credentialRef=shop)
//! click(c3) if enabled(c3) => urlChanges("/dashboard")
//! ```
//!
//! Values: a bare word or a JSON string, a number, `true`, `false`, `[a,b]`, or a JSON object.
//!
//! Invariant: emitter and reader look at this one table.

use cuebook_grammar::action::ActionKind;

/// Front of a line that states a condition of the goal.
pub(super) const GOAL: &str = "goal:";
/// Front of a line that says, as a JSON string, why the goal replaces an earlier one.
pub(super) const GOAL_REASON: &str = "goalReason:";

/// The parameters of a verb that stand first and without names, in order.
pub(super) const fn positional(verb: ActionKind) -> &'static [&'static str] {
    use ActionKind as Kind;
    match verb {
        Kind::Navigate | Kind::Fetch => &["url"],
        Kind::WaitFor | Kind::Assert => &["condition"],
        Kind::WaitForIdle => &["quietMs"],
        Kind::Scroll => &["direction"],
        Kind::ScrollUntil => &["text"],
        Kind::SwitchTab | Kind::CloseTab => &["tab"],
        Kind::Type => &["targetRef", "text"],
        Kind::SetValue => &["targetRef", "value"],
        Kind::Press => &["keys"],
        Kind::Select => &["targetRef", "option"],
        Kind::DragTo => &["targetRef", "to"],
        Kind::Upload => &["targetRef", "files"],
        Kind::ClickPoint | Kind::LongPressPoint => &["point"],
        Kind::DragPoints => &["from", "to"],
        Kind::Extract | Kind::SearchPage => &["query"],
        Kind::Snapshot => &["scope"],
        Kind::ReadFile => &["path"],
        Kind::WriteFile => &["path", "content"],
        Kind::Shell => &["command"],
        Kind::Evaluate => &["script"],
        Kind::Call => &["name", "args"],
        Kind::AcceptDialog => &["text"],
        Kind::Finish => &["result"],
        Kind::Fail => &["reason"],
        Kind::AskUser => &["question"],
        Kind::FindElements => &["selector"],
        Kind::Click
        | Kind::Clear
        | Kind::SelectText
        | Kind::Check
        | Kind::Uncheck
        | Kind::Hover
        | Kind::Focus
        | Kind::LongPress => &["targetRef"],
        Kind::GoBack
        | Kind::GoForward
        | Kind::Reload
        | Kind::Screenshot
        | Kind::GetDom
        | Kind::ResolveSelector
        | Kind::DismissDialog => &[],
    }
}

/// The parameters of a condition, all without names, in order.
pub(super) fn positional_of_condition(kind: &str) -> &'static [&'static str] {
    match kind {
        "exists" | "absent" | "visible" | "hidden" | "enabled" | "editable" | "focused" | "appears" | "disappears" => {
            &["target"]
        }
        "checked" => &["target", "checked"],
        "inViewport" => &["target", "ratio"],
        "urlMatches" | "titleMatches" => &["pattern"],
        "attrEquals" | "propertyEquals" | "ariaState" => &["target", "name", "value"],
        "valueEquals" | "valueContains" => &["target", "value"],
        "elementTextContains" | "elementTextEquals" | "nameEquals" | "descriptionEquals" | "errorMessageEquals" => {
            &["target", "text"]
        }
        "changed" => &["target", "aspect"],
        "roleEquals" => &["target", "role"],
        "classContains" => &["target", "class"],
        "selectedValues" => &["target", "values"],
        "not" | "becomes" => &["condition"],
        "requestObserved" => &["method", "url", "status"],
        "dialogOpened" => &["text"],
        "downloadStarted" | "downloadCompleted" => &["filename"],
        "urlChanges" => &["to"],
        "newTab" => &["url"],
        "count" => &["target", "equals"],
        "networkIdle" => &["timeoutMs"],
        _ => &[],
    }
}

/// Returns `true` if the parameter is written without quotes: ids and keywords are, text never is.
pub(super) fn is_bare_member(name: &str) -> bool {
    matches!(
        name,
        "targetRef"
            | "container"
            | "to"
            | "target"
            | "direction"
            | "button"
            | "modifiers"
            | "keys"
            | "aspect"
            | "scope"
            | "estimatedRisk"
            | "method"
            | "credentialRef"
            | "role"
    )
}

/// Returns the same for a condition, whose `to` is text.
pub(super) fn is_bare_member_of_condition(name: &str) -> bool {
    name != "to" && is_bare_member(name)
}

/// Returns `true` if the string may stand without quotes, because nothing else in the form begins like it.
pub(super) fn is_bare(text: &str) -> bool {
    let plain =
        text.len() <= 64 && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-' | b'+'));
    let begins = text.bytes().next().is_some_and(|b| b.is_ascii_alphabetic());
    plain && begins && !matches!(text, "true" | "false" | "null" | "if")
}
