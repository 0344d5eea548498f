//! Which verbs share a tool, so that a request holds at most twenty.

use cuebook_grammar::action::ActionKind;
use cuebook_grammar::action::ActionKind as Kind;
use cuebook_grammar::effect::EffectClass;

/// Tools of several verbs, which their parameter `type` tells apart. Any other verb is a tool of its own.
pub(crate) const SHARED: &[(&str, &[ActionKind])] = &[
    ("history", &[Kind::GoBack, Kind::GoForward, Kind::Reload, Kind::SwitchTab, Kind::CloseTab]),
    ("dialog", &[Kind::AcceptDialog, Kind::DismissDialog]),
    ("gesture", &[Kind::Hover, Kind::Focus, Kind::SelectText, Kind::LongPress, Kind::Clear]),
    ("toggle", &[Kind::Check, Kind::Uncheck]),
    ("wait", &[Kind::WaitFor, Kind::WaitForIdle, Kind::Assert, Kind::ScrollUntil]),
    ("look", &[Kind::Extract, Kind::Snapshot, Kind::Screenshot, Kind::GetDom]),
    ("search", &[Kind::SearchPage, Kind::FindElements, Kind::ResolveSelector]),
    ("atPoint", &[Kind::ClickPoint, Kind::LongPressPoint, Kind::DragPoints]),
    ("outside", &[Kind::Fetch, Kind::ReadFile, Kind::WriteFile, Kind::Shell, Kind::Evaluate]),
    ("giveUp", &[Kind::Fail, Kind::AskUser]),
];

/// The parameter of every tool for the thought before its step: the first, and required. A registered action that has an
/// argument of this name has no thought.
pub(crate) const THOUGHT: &str = "thought";

/// The tool whose `type` may also be [`GOAL`]: its condition will hold when the task is done.
pub(crate) const GOAL_TOOL: &str = "wait";
/// The `type` by which a call of [`GOAL_TOOL`] states a condition of the goal; it is no step.
pub(crate) const GOAL: &str = "goal";

/// The name of the tool that a verb is called by.
pub(crate) fn tool_of(verb: &str) -> &str {
    let holds = |verbs: &[ActionKind]| verbs.iter().any(|kind| kind.meta().name == verb);
    SHARED.iter().find(|(_, verbs)| holds(verbs)).map_or(verb, |(tool, _)| tool)
}

/// The name of the tool of a registered action: its own, unless a tool of several verbs has that.
pub(crate) fn tool_of_registered(action: &str) -> String {
    if verbs_of(action).is_some() { format!("{CALL}{action}") } else { action.to_owned() }
}

/// The registered action that a tool stands for, if its name is that of no verb.
pub(crate) fn registered_of(tool: &str) -> &str {
    tool.strip_prefix(CALL).filter(|action| verbs_of(action).is_some()).unwrap_or(tool)
}

/// Before the name of a registered action that a tool of several verbs has too.
const CALL: &str = "call_";

/// Returns `true` if no verb of a tool changes anything.
pub(crate) fn only_reads(tool: &str) -> bool {
    let verbs = verbs_of(tool).unwrap_or_else(|| vec![tool]);
    let reads = |kind: &&ActionKind| kind.meta().effect == EffectClass::ReadOnly;
    verbs.iter().all(|verb| ActionKind::ALL.iter().filter(reads).any(|kind| kind.meta().name == *verb))
}

/// The verbs of a tool of several.
pub(crate) fn verbs_of(tool: &str) -> Option<Vec<&'static str>> {
    let (_, verbs) = SHARED.iter().find(|(name, _)| *name == tool)?;
    Some(verbs.iter().map(|kind| kind.meta().name).collect())
}
