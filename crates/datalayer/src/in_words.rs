//! Steps and targets of records, for people.

use cuebook_grammar::id::TargetRef;
use cuebook_grammar::record::{CasePart, RecordedTarget, RunHeader, StepRecord};

/// Returns the subject of a run in words, and where it took place if the subject does not say so.
pub(crate) fn run(header: &RunHeader) -> String {
    let subject = subject(header);
    match &header.url {
        Some(url) if header.task.is_none() && header.case.is_none() => format!("{subject} on {url}"),
        _ => subject,
    }
}

/// Returns the subject of a run in words: its task, its test case, or the plan that it ran.
pub(crate) fn subject(header: &RunHeader) -> String {
    match (&header.task, &header.case, &header.plan) {
        (Some(task), ..) => task.clone(),
        (None, Some(case), _) if case.part == CasePart::Expectations => format!("{}: expectations", case.name),
        (None, Some(case), _) => case.name.clone(),
        (None, None, Some(plan)) => plan.clone(),
        (None, None, None) => match header.command.as_str() {
            "session" => {
                header.session.as_ref().map_or_else(|| "A session".to_owned(), |name| format!("Session {name}"))
            }
            "replay" => "A replay".to_owned(),
            _ => "A plan".to_owned(),
        },
    }
}

/// The verb and its target: `click button "Log in"`.
pub(crate) fn step(record: &StepRecord) -> String {
    let action = &record.action.action;
    let verb = action.kind().meta().name;
    action.targets().first().map_or_else(|| verb.to_owned(), |of| format!("{verb} {}", target(record, of)))
}

/// A target as it was recorded: `button "Log in"`, `css="#go"`.
pub(crate) fn target(record: &StepRecord, target: &TargetRef) -> String {
    match record.candidates.get(target) {
        Some(RecordedTarget::Observed(candidate)) => {
            let context = candidate.context.as_ref().map_or_else(String::new, |context| format!(" in {context:?}"));
            format!("{} {:?}{context}", candidate.role, candidate.name)
        }
        Some(RecordedTarget::Declared(locator)) => locator.to_string(),
        None => target.to_string(),
    }
}
