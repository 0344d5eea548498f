//! Steps and targets of records, for people.

use cuebook_grammar::id::TargetRef;
use cuebook_grammar::record::{CasePart, RecordedTarget, RunHeader, StepRecord};

/// Returns the subject of a run in words: its task, its test case, or the plan that it ran and where.
pub(crate) fn run(header: &RunHeader) -> String {
    if let Some(task) = &header.task {
        return task.clone();
    }
    match (&header.case, &header.plan, &header.url) {
        (Some(case), ..) if case.part == CasePart::Expectations => format!("{}: expectations", case.name),
        (Some(case), ..) => case.name.clone(),
        (None, plan, Some(url)) => format!("{} on {url}", plan.as_deref().unwrap_or("A plan")),
        (None, plan, None) => plan.clone().unwrap_or_else(|| "A plan".to_owned()),
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
