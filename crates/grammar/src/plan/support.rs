//! Checks that a candidate supports what a step does to it.

use crate::action::{Action, OptionChoice as Choice, TargetNeed};
use crate::candidate::{Candidate, Capability, ControlKind};
use crate::observation::Observation;
use crate::plan::violation::ViolationCode;
use crate::role::Role;

/// Candidates that are named in a message.
const NAMED: usize = 8;

/// `; those for "type" are c1 textbox "Email", c2 textbox "Password"`: the candidates that support an action, if it
/// needs any.
pub(super) fn fitting(action: &Action, observation: &Observation) -> String {
    let meta = action.kind().meta();
    let (TargetNeed::Optional(need) | TargetNeed::Required(need)) = meta.target else { return String::new() };
    let fit = || observation.candidates.iter().filter(|candidate| candidate.supports(need) && !candidate.ambiguous);
    let named: Vec<String> = fit().take(NAMED).map(|one| format!("{} {}", one.id, one.title())).collect();
    match fit().count() {
        0 => format!("; there is none for `{}`", meta.name),
        all if all > NAMED => format!("; those for `{}` are {} and {} more", meta.name, named.join(", "), all - NAMED),
        _ => format!("; those for `{}` are {}", meta.name, named.join(", ")),
    }
}

/// How a value is changed that the page draws itself.
fn keys_of(candidate: &Candidate) -> Option<&'static str> {
    let takes = matches!(candidate.role, Role::Slider | Role::SpinButton | Role::ScrollBar | Role::Separator)
        && candidate.control == ControlKind::Plain
        && !candidate.states.readonly;
    takes.then_some("it is drawn by the page and takes keys: press ArrowRight, ArrowLeft, Home, End or PageUp on it")
}

/// Why the candidate does not support the action, if it does not.
pub(super) fn support_violation(
    action: &Action,
    candidate: &Candidate,
    need: Capability,
    observation: &Observation,
) -> Option<(ViolationCode, String)> {
    let verb = action.kind().meta().name;
    if !candidate.supports(need) {
        let keys = if need == Capability::Value { keys_of(candidate) } else { None };
        let others = keys.map_or_else(|| fitting(action, observation), |keys| format!("; {keys}"));
        let message = format!("{} {} is not a target for `{verb}`{others}", candidate.id, candidate.title());
        return Some((ViolationCode::UnsupportedVerb, message));
    }
    if let Action::Select(select) = action
        && !candidate.options.is_empty()
        && candidate.options.len() < 100
    {
        let is_there = |choice: &Choice| {
            let mut options = candidate.options.iter().enumerate();
            options.any(|(position, option)| choice.means(position, Some(&option.value), &option.label))
        };
        let missing = select.option.choices.iter().find(|choice| !is_there(choice));
        if let Some(missing) = missing {
            let known: Vec<&str> = candidate.options.iter().take(10).map(|o| o.label.as_str()).collect();
            let seen = match missing {
                Choice::Text(text) | Choice::Value(text) | Choice::Label(text) => format!("{:?}", text.as_str()),
                Choice::Index(index) => format!("position {}", index.get()),
                Choice::Every(traits) => serde_json::to_string(traits).unwrap_or_default(),
            };
            let message = format!("there is no option {seen}; the options are {known:?}");
            return Some((ViolationCode::OptionNotFound, message));
        }
    }
    None
}
