//! Targets of records, for formats of others.

use cuebook_grammar::id::TargetRef;
use cuebook_grammar::locator::{ByRole, ByTestId, Locator, Strategy};
use cuebook_grammar::outcome::ArtifactRef;
use cuebook_grammar::record::{RecordedTarget, StepRecord};
use cuebook_grammar::text_match::TextPattern;
use cuebook_grammar::wire::ShortText;

/// The locator that finds a target of a step again: as declared; else by test id, by role and name, or as observed.
pub(crate) fn locator(record: &StepRecord, target: &TargetRef) -> Option<Locator> {
    let candidate = match record.candidates.get(target)? {
        RecordedTarget::Declared(locator) => return Some(locator.clone()),
        RecordedTarget::Observed(candidate) => candidate,
    };
    let literal = |text: &str| TextPattern::Literal(ShortText::cut(text));
    // The best that was observed is unique on the page.
    if let Some(best) = candidate.locators.first() {
        return Some(best.clone());
    }
    if let Some(test_id) = &candidate.test_id {
        return Some(Strategy::TestId(ByTestId { test_id: literal(test_id) }).into());
    }
    let name = (!candidate.name.is_empty()).then(|| literal(&candidate.name));
    let exact = name.is_some().then_some(true);
    Some(Strategy::Role(ByRole { role: candidate.role, name, exact, states: None, include_hidden: None }).into())
}

/// `click button "Log in"`: the verb and its target, on one line.
pub(crate) fn title(record: &StepRecord) -> String {
    let action = &record.action.action;
    let verb = action.kind().meta().name;
    let target = action.targets().first().map(|of| target(record, of));
    target.map_or_else(|| verb.to_owned(), |target| format!("{verb} {target}"))
}

/// `button "Log in"`, `css="#go"`.
pub(crate) fn target(record: &StepRecord, target: &TargetRef) -> String {
    match record.candidates.get(target) {
        Some(RecordedTarget::Observed(candidate)) => candidate.title(),
        Some(RecordedTarget::Declared(locator)) => locator.to_string(),
        None => target.to_string(),
    }
}

/// The picture of the page before the step.
pub(crate) fn before(record: &StepRecord) -> Option<&ArtifactRef> {
    record.artifacts.iter().find(|one| one.kind == "screenshotBefore")
}

/// The extension of a picture.
pub(crate) fn extension(media_type: &str) -> &'static str {
    match media_type {
        "image/png" => "png",
        "image/jpeg" => "jpeg",
        "image/webp" => "webp",
        _ => "bin",
    }
}
