//! The conditions of a failed step, judged again on the page as it is now.
//!
//! Invariant: only what an observation tells is judged. Where it does not decide, a condition is left out: an observation
//! of the view says nothing of what it does not list.

use std::collections::BTreeMap;

use cuebook_grammar::condition::Condition;
use cuebook_grammar::facts::{ElementFacts, Facts, Sample, TargetFacts};
use cuebook_grammar::id::TargetRef;
use cuebook_grammar::observation::Observation;
use cuebook_grammar::outcome::{Evidence, Judged};
use cuebook_grammar::verdict::Verdict;

/// The conditions that did not hold, with the verdict of now. Linear in the conditions.
pub(crate) fn judged_again(evidence: &Evidence, page: &Observation) -> Vec<Judged> {
    let conditions = evidence.pre.iter().chain(&evidence.post).filter(|judged| !judged.verdict.holds());
    let again = conditions.filter(|judged| is_told(&judged.condition)).map(|judged| {
        let facts = Facts {
            before: evidence.post_facts.as_ref().and_then(|facts| facts.before.clone()),
            samples: vec![sample(&judged.condition, page)],
            ..Facts::default()
        };
        Judged { verdict: judged.condition.evaluate(&facts), latency_ms: None, ..judged.clone() }
    });
    again.filter(|judged| judged.verdict != Verdict::Unknown).collect()
}

/// Returns `true` if an observation shows that a condition does not hold on its page.
pub(crate) fn is_seen_to_fail(condition: &Condition, page: &Observation) -> bool {
    let facts = Facts { samples: vec![sample(condition, page)], ..Facts::default() };
    is_told(condition) && condition.evaluate(&facts) == Verdict::Fails
}

/// Returns `true` if an observation has the facts that this kind of condition needs.
pub(crate) fn is_told(condition: &Condition) -> bool {
    use Condition as C;
    match condition {
        C::Visible(_)
        | C::Hidden(_)
        | C::Appears(_)
        | C::Disappears(_)
        | C::Enabled(_)
        | C::Checked(_)
        | C::Focused(_)
        | C::ValueEquals(_)
        | C::ValueContains(_)
        | C::NameEquals(_)
        | C::RoleEquals(_)
        | C::AriaState(_)
        | C::UrlMatches(_)
        | C::TitleMatches(_)
        | C::UrlChanges(_) => true,
        C::AllOf(group) => group.conditions.iter().all(is_told),
        C::AnyOf(group) => group.conditions.iter().all(is_told),
        C::Not(inner) => is_told(&inner.condition),
        _ => false,
    }
}

fn sample(condition: &Condition, page: &Observation) -> Sample {
    let targets = condition.targets().into_iter();
    let known = targets.filter_map(|target| Some((target.clone(), facts_of(target, page)?)));
    let targets: BTreeMap<TargetRef, TargetFacts> = known.collect();
    Sample { at_ms: 0, url: page.url.clone(), title: page.title.clone(), targets }
}

/// Returns the facts about a target that the page shows; `None` if the page does not show them.
pub(crate) fn facts_of(target: &TargetRef, page: &Observation) -> Option<TargetFacts> {
    let id = target.candidate_id()?;
    let Some(candidate) = page.candidate(id) else {
        let is_whole = page.truncated.is_none_or(|cut| cut.off_view == 0 && cut.candidates == 0 && cut.elements == 0);
        return is_whole.then(TargetFacts::none);
    };
    Some(TargetFacts::one(ElementFacts {
        role: candidate.role,
        name: candidate.name.clone(),
        value: candidate.value.clone(),
        states: candidate.states.clone(),
        visible: Some(true),
        ..ElementFacts::default()
    }))
}

#[cfg(test)]
mod tests {
    use cuebook_grammar::observation::Truncation;
    use cuebook_grammar::sample;
    use serde_json::{Value, json};

    use super::*;

    fn again(condition: Value, page: &Observation) -> Option<Verdict> {
        let condition = serde_json::from_value(condition).unwrap();
        let judged = Judged { condition, verdict: Verdict::Fails, vacuous: false, default: false, latency_ms: None };
        let before = Sample { url: "http://shop.test/login".to_owned(), ..Sample::default() };
        let post_facts = Some(Facts { before: Some(before), ..Facts::default() });
        let evidence = Evidence { post: vec![judged], post_facts, ..Evidence::default() };
        judged_again(&evidence, page).first().map(|judged| judged.verdict)
    }

    #[test]
    fn what_an_observation_tells_is_judged_and_nothing_else() {
        let mut page = sample::page("textbox \"User\" value=ann\nbutton \"Save\"");
        let url = page.url.clone();
        let target = |kind: &str, id: &str| json!({ "kind": kind, "target": id });
        let whole = [
            (json!({ "kind": "urlChanges", "to": url }), Some(Verdict::Holds)),
            (json!({ "kind": "urlChanges", "to": "/elsewhere" }), Some(Verdict::Fails)),
            (json!({ "kind": "valueEquals", "target": "c1", "value": "ann" }), Some(Verdict::Holds)),
            (json!({ "kind": "valueEquals", "target": "c1", "value": "bob" }), Some(Verdict::Fails)),
            (target("visible", "c2"), Some(Verdict::Holds)),
            (target("visible", "c9"), Some(Verdict::Fails)),
            (target("hidden", "c9"), Some(Verdict::Holds)),
            (json!({ "kind": "not", "condition": target("visible", "c9") }), Some(Verdict::Holds)),
            (json!({ "kind": "elementTextContains", "target": "c2", "text": "Save" }), None),
            (target("absent", "c9"), None),
            (json!({ "kind": "networkIdle", "timeoutMs": 100 }), None),
        ];
        for (condition, expected) in whole {
            assert_eq!(again(condition.clone(), &page), expected, "{condition}");
        }
        page.truncated = Some(Truncation { off_view: 3, ..Truncation::default() });
        assert_eq!(again(target("visible", "c9"), &page), None, "it may stand below");
    }

    #[test]
    fn what_held_is_not_judged_again() {
        let page = sample::page("button \"Save\"");
        let condition = serde_json::from_value(json!({ "kind": "visible", "target": "c1" })).unwrap();
        let judged = Judged { condition, verdict: Verdict::Holds, vacuous: false, default: false, latency_ms: None };
        let evidence = Evidence { post: vec![judged], ..Evidence::default() };
        assert!(judged_again(&evidence, &page).is_empty());
    }
}
