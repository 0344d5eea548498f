//! Plans that name ids of an observation which another process made: a file, and the page that it was written for.
//!
//! Invariants:
//! - An id stands for what its candidate *meant*: its [`About`](crate::candidate::About), in a frame of the same address.
//!   It is bound only if exactly one thing on the page means the same; what merely looks alike never does.
//! - What only its place distinguishes is not bound: a row that came or went gives its place to another one.

use std::collections::BTreeMap;

use crate::candidate::{About, Candidate};
use crate::id::{CandidateId, TargetRef};
use crate::observation::Observation;
use crate::plan::{PlanDraft, Violation, ViolationCode, Violations};

impl PlanDraft {
    /// The ids of observed candidates that the plan names, by step. Names that it declares are none.
    pub fn observed_ids(&self) -> impl Iterator<Item = (usize, CandidateId)> {
        self.steps.iter().enumerate().flat_map(|(index, step)| {
            let targets = step.targets().into_iter().filter(|target| !self.candidates.contains_key(*target));
            targets.filter_map(move |target| Some((index, target.candidate_id()?))).collect::<Vec<_>>()
        })
    }

    /// Checks that a plan without an observation names no ids: ids would be of an unknown page, and whatever has the
    /// same number now may be something else.
    ///
    /// # Errors
    /// [`ViolationCode::UnknownTarget`] for each id of each step.
    pub fn without_observation(&self) -> Result<(), Violations> {
        let unknown = |(index, id)| {
            let message = format!(
                "{id} is an id of an observation, and the plan comes without one: give it to `exec` or `check` with \
                 --observation FILE, as `cuebook observe URL --format json` printed it, or declare a locator for {id} in \
                 the plan's candidates (`cuebook observe URL --locators` prints them)"
            );
            Violation::new(ViolationCode::UnknownTarget, format!("/steps/{index}"), message)
        };
        let violations: Vec<Violation> = self.observed_ids().map(unknown).collect();
        if violations.is_empty() { Ok(()) } else { Err(violations.into()) }
    }

    /// The plan with the ids of `former`, the observation that it was written for, replaced by those of `live`.
    ///
    /// # Errors
    /// - [`ViolationCode::UnknownTarget`] for an id that `former` does not hold, that has no meaning there, or whose
    ///   meaning nothing in `live` has; also if the two are observations of different addresses.
    /// - [`ViolationCode::AmbiguousTarget`] if several things in `live` have it, or if only its place distinguishes it.
    /// - [`ViolationCode::InvalidArgument`] for a declared name that has the form of an id.
    pub fn bound_to(&self, former: &Observation, live: &Observation) -> Result<Self, Violations> {
        let mut violations = Vec::new();
        for name in self.candidates.keys().filter(|name| name.candidate_id().is_some()) {
            let message = format!("expected a name that is no id of the observation, such as `target-{name}`");
            violations.push(Violation::new(ViolationCode::InvalidArgument, format!("/candidates/{name}"), message));
        }
        let mut bound = BTreeMap::new();
        for (index, condition) in self.goal.iter().enumerate() {
            let undeclared = condition.targets().into_iter().filter(|target| !self.candidates.contains_key(*target));
            for id in undeclared.filter_map(TargetRef::candidate_id) {
                match counterpart(id, former, live) {
                    Ok(found) => drop(bound.insert(id, found)),
                    Err((code, message)) => violations.push(Violation::new(code, format!("/goal/{index}"), message)),
                }
            }
        }
        for (index, id) in self.observed_ids() {
            match counterpart(id, former, live) {
                Ok(found) => drop(bound.insert(id, found)),
                Err((code, message)) => violations.push(Violation::new(code, format!("/steps/{index}"), message)),
            }
        }
        if !violations.is_empty() {
            return Err(violations.into());
        }
        let mut plan = self.clone();
        for step in &mut plan.steps {
            step.retarget(&|target| match target.candidate_id().and_then(|id| bound.get(&id)) {
                Some(found) => TargetRef::from(*found),
                None => target.clone(),
            });
        }
        for condition in &mut plan.goal {
            condition.retarget(&|target| match target.candidate_id().and_then(|id| bound.get(&id)) {
                Some(found) => TargetRef::from(*found),
                None => target.clone(),
            });
        }
        Ok(plan)
    }
}

/// The only candidate of `live` that is what `id` was in `former`.
fn counterpart(
    id: CandidateId,
    former: &Observation,
    live: &Observation,
) -> Result<CandidateId, (ViolationCode, String)> {
    let unknown = |message| Err((ViolationCode::UnknownTarget, message));
    let Some(was) = former.candidate(id) else {
        return unknown(format!("{id} is not in the observation that came with the plan"));
    };
    let instead = || {
        let locator = was.locators.first().and_then(|locator| serde_json::to_string(locator).ok());
        let locator = locator.map(|locator| format!(", such as {locator}"));
        format!("observe again, or declare a locator{}", locator.unwrap_or_default())
    };
    if former.url != live.url {
        let (seen, now) = (&former.url, &live.url);
        return unknown(format!("{id} was seen at {seen}, and the page is at {now}"));
    }
    let Some(meaning) = former.meaning(was) else {
        let message = format!("the observation does not say what {id} ({}) is about: {}", was.title(), instead());
        return unknown(message);
    };
    if was.ambiguous || meaning.part.as_ref().is_some_and(|part| part.at.is_some()) {
        let message = format!("only its place distinguishes {id} ({}) from its twins: {}", was.title(), instead());
        return Err((ViolationCode::AmbiguousTarget, message));
    }
    let is_same = |candidate: &&Candidate| {
        live.meaning(candidate) == Some(meaning) && frames(former, was) == frames(live, candidate)
    };
    let found: Vec<&Candidate> = live.candidates.iter().filter(is_same).collect();
    match found[..] {
        [only] if !only.ambiguous => Ok(only.id),
        [] => unknown(format!("{id} was {}; nothing on the page is that now: {}", was.title(), instead())),
        _ => {
            let message =
                format!("{id} was {}; {} things on the page are that now: {}", was.title(), found.len(), instead());
            Err((ViolationCode::AmbiguousTarget, message))
        }
    }
}

/// The addresses of the frames around a candidate without their queries, which often hold what belongs to a session; the
/// innermost first.
fn frames<'a>(of: &'a Observation, candidate: &Candidate) -> Vec<&'a str> {
    let frame = |index: u32| of.frames.get(usize::try_from(index).ok()?);
    let parents = std::iter::successors(frame(candidate.frame), |inner| frame(inner.parent?));
    // A circle of parents in a file ends too.
    parents.take(of.frames.len()).filter_map(|frame| frame.url.split(['?', '#']).next()).collect()
}

impl Observation {
    /// Returns the meaning of a candidate, as this process saw it or as a document states it; `None` if neither is
    /// known.
    fn meaning<'a>(&'a self, candidate: &'a Candidate) -> Option<&'a About> {
        candidate.about.as_ref().or_else(|| self.meanings.get(&candidate.id))
    }

    /// With the meaning of each candidate stated, so that another process can find the candidates again
    /// ([`PlanDraft::bound_to`]). Digests of the texts around each candidate: a document for those who may see the page,
    /// not for logs and planners.
    #[must_use]
    pub fn with_meanings(mut self) -> Self {
        let stated = |candidate: &Candidate| Some((candidate.id, candidate.about.clone()?));
        self.meanings = self.candidates.iter().filter_map(stated).collect();
        self
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::candidate::OwnPart;
    use crate::id::PageId;
    use crate::plan::Author;

    const URL: &str = "https://shop.test/orders?page=1";

    /// A page of buttons by id and meaning, as a document that another process wrote.
    fn page(url: &str, buttons: &[(u32, &str)]) -> Observation {
        let mut page = Observation::blank(PageId::new("tab"), url);
        for (id, key) in buttons {
            let candidate = json!({
                "id": format!("c{id}"), "role": "button", "name": "Delete",
                "fingerprint": { "role": "button", "name": "Delete", "path": "main" }
            });
            let about = Some(About { key: (*key).to_owned(), ..About::default() });
            page.candidates.push(Candidate { about, ..serde_json::from_value(candidate).unwrap() });
        }
        Observation::read(&serde_json::to_string(&page.with_meanings()).unwrap()).unwrap()
    }

    fn delete(id: &str) -> PlanDraft {
        let plan = json!({ "version": "1.0", "steps": [
            { "type": "click", "targetRef": id, "post": [{ "kind": "hidden", "target": id }] }] });
        PlanDraft::read_value(plan, Author::Operator).unwrap()
    }

    fn bound(draft: &PlanDraft, former: &Observation, live: &Observation) -> Result<String, ViolationCode> {
        let bound = draft.bound_to(former, live).map_err(|violations| violations[0].code)?;
        let names: Vec<String> = bound.steps[0].targets().iter().map(ToString::to_string).collect();
        Ok(names.join(" "))
    }

    #[test]
    fn an_id_follows_its_meaning_wherever_it_went() {
        let former = page(URL, &[(1, "ann"), (2, "bob"), (3, "eve")]);
        let sorted = page(URL, &[(7, "eve"), (3, "bob"), (9, "ann")]);
        assert_eq!(bound(&delete("c2"), &former, &sorted), Ok("c3".to_owned()));
        // The ids of the two pages cross: all are renamed at once.
        let mut both = delete("c2");
        both.steps.extend(delete("c3").steps);
        let both = both.bound_to(&former, &page(URL, &[(2, "eve"), (3, "bob")])).unwrap();
        let names: Vec<String> = both.steps.iter().map(|step| step.targets()[0].to_string()).collect();
        assert_eq!(names, ["c3", "c2"]);
    }

    #[test]
    fn an_id_is_never_bound_to_what_means_something_else() {
        use ViolationCode::{AmbiguousTarget, UnknownTarget};
        let former = page(URL, &[(1, "ann"), (2, "bob"), (3, "eve")]);
        let cases = [
            ("deleted", page(URL, &[(1, "ann"), (2, "eve")]), UnknownTarget),
            ("filtered to nothing", page(URL, &[]), UnknownTarget),
            ("doubled", page(URL, &[(1, "bob"), (2, "bob")]), AmbiguousTarget),
            ("another page of the list", page("https://shop.test/orders?page=2", &[(2, "bob")]), UnknownTarget),
        ];
        for (what, live, code) in cases {
            assert_eq!(bound(&delete("c2"), &former, &live), Err(code), "{what}");
        }
        assert_eq!(bound(&delete("c9"), &former, &former), Err(UnknownTarget));
        // Without its meaning, an id says nothing.
        let mute = Observation { meanings: BTreeMap::new(), ..former.clone() };
        assert_eq!(bound(&delete("c2"), &mute, &former), Err(UnknownTarget));
    }

    #[test]
    fn a_place_among_twins_is_no_meaning() {
        let mut former = page(URL, &[(1, "row"), (2, "row")]);
        for (id, about) in &mut former.meanings {
            about.part = Some(OwnPart { at: Some(id.0), of: Some(2), ..OwnPart::default() });
        }
        assert_eq!(bound(&delete("c2"), &former, &former), Err(ViolationCode::AmbiguousTarget));
        for about in former.meanings.values_mut() {
            about.part =
                Some(OwnPart { up: 1, key: about.part.as_ref().unwrap().at.unwrap().to_string(), at: None, of: None });
        }
        assert_eq!(bound(&delete("c2"), &former, &former), Ok("c2".to_owned()));
    }

    #[test]
    fn declared_names_and_ids_are_told_apart() {
        let former = page(URL, &[(1, "ann")]);
        let plan = json!({ "version": "1.0",
            "candidates": { "c1": { "strategy": "css", "selector": "#x" } },
            "steps": [{ "type": "click", "targetRef": "c1" }] });
        let declared = PlanDraft::read_value(plan, Author::Operator).unwrap();
        assert!(declared.without_observation().is_ok());
        assert_eq!(bound(&declared, &former, &former), Err(ViolationCode::InvalidArgument));
        let violations = delete("c1").without_observation().unwrap_err();
        assert!(violations[0].message.contains("--observation"), "{violations}");
    }
}
