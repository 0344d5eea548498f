//! Which candidate of a page a recorded target is.

use cuebook_grammar::candidate::Candidate;
use cuebook_grammar::facts::ElementFacts;
use cuebook_grammar::id::TargetRef;
use cuebook_grammar::observation::Observation;
use cuebook_grammar::record::{RecordedTarget, StepRecord};
use cuebook_grammar::step::Step;

/// The candidate: the one that was observed, or the only one that a declared locator fits as far as the observation
/// shows. `None` if there is none, or no single one.
pub(crate) fn candidate<'a>(record: &StepRecord, target: &TargetRef, page: &'a Observation) -> Option<&'a Candidate> {
    let locator = match record.candidates.get(target)? {
        RecordedTarget::Observed(observed) => return page.candidate(observed.id),
        RecordedTarget::Declared(locator) => locator,
    };
    let is_plain = locator.within.is_none() && locator.has.is_none() && locator.has_not.is_none();
    if !is_plain || locator.has_text.is_some() || locator.has_not_text.is_some() {
        return None;
    }
    let facts: Vec<ElementFacts> = page.candidates.iter().map(facts).collect();
    page.candidates.get(locator.select(&facts).unique()?)
}

fn facts(candidate: &Candidate) -> ElementFacts {
    ElementFacts {
        role: candidate.role,
        name: candidate.name.clone(),
        labels: candidate.label.iter().chain([&candidate.name]).cloned().collect(),
        placeholder: candidate.placeholder.clone(),
        test_id: candidate.test_id.clone(),
        states: candidate.states.clone(),
        visible: Some(true),
        ..ElementFacts::default()
    }
}

/// The step as a model would have written it for a page: every target by its id. `None` if one is no candidate there.
pub(crate) fn by_ids(record: &StepRecord, page: &Observation) -> Option<Step> {
    let mut step = record.action.clone();
    // Conditions may be about what appears later, so only what is acted on must be there.
    let action: Vec<&TargetRef> = record.action.action.targets();
    if action.iter().any(|target| candidate(record, target, page).is_none()) {
        return None;
    }
    step.retarget(&|target| candidate(record, target, page).map_or_else(|| target.clone(), |one| one.id.into()));
    let is_known = |target: &TargetRef| target.candidate_id().is_some_and(|id| page.candidate(id).is_some());
    step.pre.retain(|condition| condition.targets().into_iter().all(is_known));
    step.post.retain(|condition| condition.targets().into_iter().all(is_known));
    Some(step)
}
