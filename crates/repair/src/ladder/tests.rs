//! Tests of the rungs, on pages written by hand.

use super::*;
use cuebook_grammar::candidate::Occlusion;
use cuebook_grammar::condition::Condition;
use cuebook_grammar::id::{CandidateId, PageId};
use cuebook_grammar::observation::{Challenge, Pane};
use cuebook_grammar::outcome::{Judged, Stage, StepFailure};
use cuebook_grammar::plan::{Author, BoundStep, PlanDraft};
use cuebook_grammar::policy::Policy;
use cuebook_grammar::secret::FactText;
use cuebook_grammar::verdict::Verdict;
use serde_json::{Value, json};

fn page(candidates: &[(&str, &str, &str)]) -> Observation {
    let mut page = Observation::blank(PageId::new("tab"), "https://shop.test/");
    let all: Vec<Value> = candidates
        .iter()
        .map(|(id, role, name)| {
            let control = if *role == "textbox" { "text" } else { "plain" };
            json!({ "id": id, "role": role, "name": name, "control": control,
                    "box": { "x": 10.0, "y": 10.0, "width": 80.0, "height": 30.0 },
                    "fingerprint": { "role": role, "name": name, "path": "main" } })
        })
        .collect();
    page.candidates = serde_json::from_value(Value::Array(all)).unwrap();
    page
}

fn bound(page: &Observation, step: Value) -> BoundStep {
    let draft = PlanDraft::read_value(json!({ "version": "1.0", "steps": [step] }), Author::Operator).unwrap();
    let policy = Policy::default().starting_at("https://shop.test/").unwrap();
    draft.check(page, &policy).unwrap().bind(0, page).unwrap()
}

fn next(step: &BoundStep, cause: Cause, input_sent: bool, attempt: u32, page: &Observation) -> Repair {
    let mut failure = StepFailure::new(Stage::Act, cause, "test");
    failure.evidence.input_sent = input_sent;
    let all = Rect { x: 0.0, y: 0.0, width: 1_280.0, height: 720.0 };
    failure.facts.cover = (cause == Cause::Covered).then_some(all);
    let budget = RepairBudget { step_attempts_left: 3, run_repairs_left: 3, can_replan: false };
    Ladder::default().next(&RepairCase { step, failure: &failure, attempt }, page, &budget)
}

#[test]
fn a_cover_is_closed_by_its_own_control_if_there_is_one() {
    let page = page(&[("c1", "button", "Continue"), ("c2", "button", "Close"), ("c3", "link", "Closed orders")]);
    let step = bound(&page, json!({ "type": "click", "targetRef": "c1" }));
    let Repair::Insert(steps) = next(&step, Cause::Covered, false, 0, &page) else { panic!("expected an insertion") };
    assert_eq!(steps[0].action.target().map(ToString::to_string).as_deref(), Some("c2"));
}

#[test]
fn what_closes_something_else_is_not_pressed() {
    let mut page = page(&[("c1", "button", "Continue"), ("c2", "button", "Close")]);
    let step = bound(&page, json!({ "type": "click", "targetRef": "c1" }));
    page.candidates[1].rect = Some(Rect { x: 10.0, y: 800.0, width: 80.0, height: 30.0 });
    assert_eq!(next(&step, Cause::Covered, false, 1, &page), Repair::Abandon, "it lies beside the cover");
    page.candidates[1].rect = Some(Rect { x: 10.0, y: 10.0, width: 80.0, height: 30.0 });
    page.candidates[1].occlusion = Some(Occlusion { ratio: 0.2, by: "div".to_owned() });
    assert_eq!(next(&step, Cause::Covered, false, 1, &page), Repair::Abandon, "it is covered itself");
    page.candidates[1].occlusion = None;
    assert_ne!(next(&step, Cause::Covered, false, 1, &page), Repair::Abandon);
    assert_eq!(next(&step, Cause::NotVisible, false, 2, &page), Repair::Abandon, "it is of no dialog");
}

#[test]
fn a_control_that_names_a_thing_of_the_page_closes_no_cover() {
    for (name, closes) in [
        ("Close", true),
        ("Close this dialog", true),
        ("Skip tour", true),
        ("Dismiss notification ×", true),
        ("Close spring sale", true),
        ("Close ticket", false),
        ("Close this", false),
        ("Cancel ride", false),
        ("Hide post", false),
    ] {
        let mut page = page(&[("c1", "button", "Send"), ("c2", "button", name), ("c3", "textbox", "Reply")]);
        let step = bound(&page, json!({ "type": "click", "targetRef": "c1" }));
        let repair = |page: &Observation| {
            let mut failure = StepFailure::new(Stage::Act, Cause::Covered, "test");
            failure.facts.cover = Some(Rect { x: 0.0, y: 0.0, width: 1_280.0, height: 720.0 });
            failure.facts.blocker = Some("dialog \"Spring sale\"".to_owned());
            let budget = RepairBudget { step_attempts_left: 3, run_repairs_left: 3, can_replan: false };
            let case = RepairCase { step: &step, failure: &failure, attempt: 1 };
            Ladder::default().next(&case, page, &budget) != Repair::Abandon
        };
        assert_eq!(repair(&page), closes, "{name}");
        page.candidates[2].value = Some(FactText::Clear("half a reply".to_owned()));
        assert!(!repair(&page), "{name}: what was entered would be lost");
        page.candidates[2].occlusion = Some(Occlusion { ratio: 1.0, by: "dialog".to_owned() });
        assert_eq!(repair(&page), closes, "{name}: the field is below it");
    }
}

#[test]
fn signs_that_mean_something_are_part_of_a_name() {
    for (one, other) in [("Log in", "LOG-IN!"), ("Save", "Save \u{2192}"), ("E-mail:", "e-mail"), ("a – b", "A, b")] {
        assert_eq!(plain(one), plain(other), "{one}");
    }
    for (one, other) in [("Rate +1", "Rate -1"), ("Pro+", "Pro"), ("C++", "C"), ("5 %", "5 €"), ("-1", "1")] {
        assert_ne!(plain(one), plain(other), "{one}");
    }
}

#[test]
fn another_locator_of_an_observed_target_finds_it_again() {
    let before = page(&[("c1", "button", "Save")]);
    let step = bound(&before, json!({ "type": "click", "targetRef": "c1" }));
    let retarget = |after: &Observation| next(&step, Cause::TargetStale, false, 2, after);
    let from = step.action().target().unwrap().clone();
    let found = Repair::Retarget { from, to: CandidateId(7) };
    let mut after = page(&[("c7", "button", "SAVE \u{2192}")]);
    after.candidates[0].fingerprint.path = "somewhere else entirely".to_owned();
    assert_eq!(retarget(&after), found);
    after.candidates[0].fingerprint.context = Some("row: bob".to_owned());
    assert_eq!(retarget(&after), Repair::Abandon, "it is in a row");
    assert_eq!(retarget(&page(&[("c7", "button", "Save as")])), Repair::Abandon);
    assert_eq!(retarget(&page(&[("c7", "button", "SAVE!"), ("c8", "button", "SAVE?")])), Repair::Abandon);
    let only = |rungs: &[Rung], after: &Observation| {
        let failure = StepFailure::new(Stage::Resolve, Cause::TargetStale, "test");
        let budget = RepairBudget { step_attempts_left: 3, run_repairs_left: 3, can_replan: false };
        let case = RepairCase { step: &step, failure: &failure, attempt: 2 };
        Ladder::with(Rungs::only(rungs)).next(&case, after, &budget)
    };
    let mut renamed = page(&[("c7", "button", "SAVE \u{2192}")]);
    renamed.candidates[0].fingerprint.path = "somewhere else entirely".to_owned();
    assert_eq!(only(&[Rung::Locators], &renamed), found);
    assert_eq!(only(&[Rung::Wait, Rung::Candidates, Rung::Frames], &renamed), Repair::Abandon);
}

#[test]
fn what_does_the_same_stands_in_for_a_target_that_is_gone() {
    let link = |id: &str, name: &str, to: &str| {
        let mut page = page(&[(id, "link", name)]);
        page.candidates[0].destination = Some(to.to_owned());
        page.candidates[0].fingerprint.path = format!("path of {id}");
        page
    };
    let step = bound(&link("c1", "Orders", "https://shop.test/orders"), json!({ "type": "click", "targetRef": "c1" }));
    let from = step.action().target().unwrap().clone();
    let found = Repair::Retarget { from, to: CandidateId(7) };
    let after = |to: &str| next(&step, Cause::TargetStale, false, 2, &link("c7", "Invoices", to));
    assert_eq!(after("https://shop.test/orders"), found);
    assert_eq!(after("https://shop.test/orders/all"), Repair::Abandon);
}

#[test]
fn what_has_no_name_is_found_again_in_its_box_and_nothing_else_is() {
    let icon = |id: &str, name: &str| {
        let mut page = page(&[(id, "button", name)]);
        page.candidates[0].fingerprint.path = format!("path of {id}");
        let test_id = Some(format!("test id of {id}"));
        page.candidates[0].test_id.clone_from(&test_id);
        page.candidates[0].fingerprint.test_id = test_id;
        page
    };
    let step = bound(&icon("c1", ""), json!({ "type": "click", "targetRef": "c1" }));
    let from = step.action().target().unwrap().clone();
    let retarget = |after: &Observation| next(&step, Cause::TargetStale, false, 2, after);
    assert_eq!(retarget(&icon("c7", "")), Repair::Retarget { from, to: CandidateId(7) });
    assert_eq!(retarget(&icon("c7", "Save")), Repair::Abandon, "it has a name");
    let changed = |change: &dyn Fn(&mut Candidate)| {
        let mut after = icon("c7", "");
        change(&mut after.candidates[0]);
        after
    };
    let elsewhere = Rect { x: 60.0, y: 10.0, width: 80.0, height: 30.0 };
    let larger = Rect { x: 0.0, y: 0.0, width: 400.0, height: 300.0 };
    for (change, why) in [
        (&(|it: &mut Candidate| it.rect = Some(elsewhere)) as &dyn Fn(&mut Candidate), "it lies beside it"),
        (&|it: &mut Candidate| it.rect = Some(larger), "it is larger"),
        (&|it: &mut Candidate| it.role = Role::Link, "its role is another"),
        (&|it: &mut Candidate| it.fingerprint.context = Some("row: bob".to_owned()), "it is in a row"),
        (&|it: &mut Candidate| it.activation.icon = Some("trash".to_owned()), "its risk is higher"),
    ] {
        assert_eq!(retarget(&changed(change)), Repair::Abandon, "{why}");
    }
    let named = bound(&icon("c1", "Save"), json!({ "type": "click", "targetRef": "c1" }));
    assert_eq!(next(&named, Cause::TargetStale, false, 2, &icon("c7", "")), Repair::Abandon, "its name is gone");
}

#[test]
fn of_two_controls_that_close_none_is_guessed() {
    let page = page(&[("c1", "button", "Continue"), ("c2", "button", "Close"), ("c3", "button", "Close")]);
    let step = bound(&page, json!({ "type": "click", "targetRef": "c1" }));
    assert_eq!(next(&step, Cause::Covered, false, 1, &page), Repair::Abandon);
}

#[test]
fn a_rerendered_target_is_found_again_unless_the_step_is_destructive() {
    let (before, after) = (page(&[("c1", "button", "Save")]), page(&[("c7", "button", "Save")]));
    let step = bound(&before, json!({ "type": "click", "targetRef": "c1" }));
    let to = CandidateId(7);
    let from = step.action().target().unwrap().clone();
    assert_eq!(next(&step, Cause::TargetStale, false, 0, &after), Repair::Retarget { from, to });

    let (before, after) = (page(&[("c1", "button", "Delete")]), page(&[("c7", "button", "Delete")]));
    let step = bound(&before, json!({ "type": "click", "targetRef": "c1" }));
    assert!(!matches!(next(&step, Cause::TargetStale, false, 0, &after), Repair::Retarget { .. }));
}

#[test]
fn a_position_that_moved_is_not_looked_up_again() {
    let page = page(&[]);
    let on = |nth: Value| {
        let draft = json!({
            "version": "1.0",
            "candidates": { "it": { "strategy": "css", "selector": "li button", "nth": nth } },
            "steps": [{ "type": "click", "targetRef": "it" }]
        });
        let policy = Policy::default().starting_at("https://shop.test/").unwrap();
        let draft = PlanDraft::read_value(draft, Author::Operator).unwrap();
        draft.check(&page, &policy).unwrap().bind(0, &page).unwrap()
    };
    for cause in [Cause::TargetStale, Cause::NotStable] {
        assert_eq!(next(&on(json!(1)), cause, false, 0, &page), Repair::Abandon, "{cause:?}");
        assert_ne!(next(&on(Value::Null), cause, false, 0, &page), Repair::Abandon, "{cause:?}");
    }
    assert_ne!(next(&on(json!(1)), Cause::TargetNotFound, false, 0, &page), Repair::Abandon);
}

#[test]
fn a_click_that_was_sent_is_never_repeated() {
    let page = page(&[("c1", "button", "Save"), ("c2", "button", "Close")]);
    let step = bound(&page, json!({ "type": "click", "targetRef": "c1", "post": [{ "kind": "urlChanges" }] }));
    for cause in [Cause::PostconditionFailed, Cause::EffectUnknown, Cause::Covered, Cause::TargetStale] {
        assert_eq!(next(&step, cause, true, 0, &page), Repair::Abandon, "{cause:?}");
    }
}

#[test]
fn text_that_did_not_arrive_is_cleared_and_typed_slowly() {
    let page = page(&[("c1", "textbox", "Name")]);
    let step = bound(&page, json!({ "type": "type", "targetRef": "c1", "text": "Ann" }));
    let Repair::Rewrite { before, step } = after_entry(&step, "", "", &page) else {
        panic!("expected another way to enter it")
    };
    assert!(matches!(before[..], [Step { action: Action::Clear(_), .. }]));
    assert!(matches!(step.action, Action::Type(ref typed) if typed.delay_ms.is_some()));
}

#[test]
fn a_declared_field_is_typed_into_slowly_before_its_value_is_set() {
    let page = page(&[]);
    let draft = json!({
        "version": "1.0",
        "candidates": { "name": { "strategy": "byLabel", "text": "Name" } },
        "steps": [{ "type": "type", "targetRef": "name", "text": "Ann" }]
    });
    let policy = Policy::default().starting_at("https://shop.test/").unwrap();
    let plan = PlanDraft::read_value(draft, Author::Operator).unwrap().check(&page, &policy).unwrap();
    let step = plan.bind(0, &page).unwrap();
    let Repair::Rewrite { before, step } = after_entry(&step, "", "", &page) else {
        panic!("expected another way to enter it")
    };
    assert!(matches!(step.action, Action::Type(ref typed) if typed.delay_ms.is_some()));
    let repair = plan.repaired_by(before, &page).unwrap();
    assert_eq!(repair.bind(0, &page).unwrap().author(), Author::Controller, "no consent that the plan had");
}

fn declared(page: &Observation, more: Value) -> BoundStep {
    let mut step = json!({ "type": "click", "targetRef": "row" });
    step.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let draft = json!({
        "version": "1.0",
        "candidates": { "row": { "strategy": "text", "text": "Row 80" } },
        "steps": [step]
    });
    let policy = Policy::default().starting_at("https://shop.test/").unwrap();
    PlanDraft::read_value(draft, Author::Operator).unwrap().check(page, &policy).unwrap().bind(0, page).unwrap()
}

fn search_of(repair: &Repair) -> Option<&action::ScrollUntil> {
    let Repair::Insert(steps) = repair else { return None };
    let Action::ScrollUntil(search) = &steps.first()?.action else { return None };
    assert!(steps[0].timeout_ms.is_some());
    Some(search)
}

#[test]
fn what_is_not_rendered_yet_is_scrolled_for_to_the_end_of_the_page() {
    let mut page = page(&[]);
    (page.viewport.height, page.viewport.page_height) = (600.0, 2_000.0);
    let step = declared(&page, json!({}));
    let after = |attempt, page: &Observation| next(&step, Cause::TargetNotFound, false, attempt, page);
    let repair = after(0, &page);
    let target = search_of(&repair).and_then(|search| search.target_ref.as_ref());
    assert_eq!(target.map(ToString::to_string).as_deref(), Some("row"));
    assert!(search_of(&after(1, &page)).is_some(), "nothing was scrolled yet");
    page.viewport.scroll_y = 700.0;
    assert!(search_of(&after(0, &page)).is_some());
    assert_eq!(after(1, &page), Repair::Reobserve(Scope::Full), "it was searched as long as there was time");
    page.viewport.scroll_y = 1_400.0;
    let Repair::Insert(steps) = after(0, &page) else { panic!("expected a wait") };
    assert!(matches!(steps[0].action, Action::WaitForIdle(_)), "the end of the page");
    page.panes = vec![Pane { container: "div#list".to_owned(), below: 300, ..Pane::default() }];
    assert!(search_of(&after(0, &page)).is_some(), "a pane has more");
    let own = bound(&page, json!({ "type": "scrollUntil", "text": "Row 80" }));
    assert_eq!(next(&own, Cause::TargetNotFound, true, 0, &page), Repair::Abandon, "it looked itself");
}

#[test]
fn a_precondition_that_does_not_hold_yet_is_scrolled_for() {
    let mut page = page(&[]);
    (page.viewport.height, page.viewport.page_height) = (600.0, 2_000.0);
    let pre = json!([{ "kind": "titleMatches", "pattern": "shop" }, { "kind": "exists", "target": "row" }]);
    let step = declared(&page, json!({ "pre": pre }));
    let judged = |condition: &Condition, verdict| Judged {
        condition: condition.clone(),
        verdict,
        vacuous: false,
        default: false,
        latency_ms: None,
    };
    let mut failure = StepFailure::new(Stage::Precondition, Cause::PreconditionFailed, "test");
    let stated = &step.step().pre;
    failure.evidence.pre = vec![judged(&stated[0], Verdict::Holds), judged(&stated[1], Verdict::Fails)];
    let budget = RepairBudget { step_attempts_left: 3, run_repairs_left: 3, can_replan: false };
    let case = RepairCase { step: &step, failure: &failure, attempt: 1 };
    let repair = Ladder::default().next(&case, &page, &budget);
    assert_eq!(search_of(&repair).and_then(|search| search.condition.as_ref()), Some(&stated[1]));
}

#[test]
fn only_a_question_about_cookies_is_refused() {
    let mut page =
        page(&[("c1", "button", "Continue"), ("c2", "button", "Accept all"), ("c3", "button", "Reject all")]);
    let step = bound(&page, json!({ "type": "click", "targetRef": "c1" }));
    let Repair::Insert(steps) = next(&step, Cause::Covered, false, 0, &page) else { panic!("expected a wait") };
    assert!(matches!(steps[0].action, Action::WaitForIdle(_)), "an offer could be declined");
    page.sketch.challenge = Some(Challenge::CookieWall);
    let Repair::Insert(steps) = next(&step, Cause::Covered, false, 0, &page) else { panic!("expected a click") };
    assert_eq!(steps[0].action.target().map(ToString::to_string).as_deref(), Some("c3"));
}

#[test]
fn text_that_arrived_in_part_is_not_typed_again() {
    let page = page(&[("c1", "textbox", "Price")]);
    let step = bound(&page, json!({ "type": "type", "targetRef": "c1", "text": "25" }));
    for cause in [Cause::TargetStale, Cause::NotEditable, Cause::DeadlineExceeded, Cause::PostconditionFailed] {
        assert_eq!(next(&step, cause, true, 0, &page), Repair::Abandon, "{cause:?}: it would stand there twice");
    }
    let set = bound(&page, json!({ "type": "setValue", "targetRef": "c1", "value": "25" }));
    assert_ne!(next(&set, Cause::NotEditable, true, 0, &page), Repair::Abandon, "a whole value replaces");
}

#[test]
fn a_control_that_stays_off_is_waited_for_once_more() {
    let page = page(&[("c1", "textbox", "Customer number")]);
    let step = bound(&page, json!({ "type": "setValue", "targetRef": "c1", "value": "7" }));
    for cause in [Cause::NotEnabled, Cause::NotEditable] {
        let Repair::Insert(steps) = next(&step, cause, false, 0, &page) else { panic!("expected a wait") };
        assert!(matches!(steps[0].action, Action::WaitForIdle(_)));
        assert_eq!(next(&step, cause, false, 1, &page), Repair::Abandon, "{cause:?}");
    }
}

#[test]
fn a_lost_value_is_entered_before_the_step_that_found_it_missing() {
    let page = page(&[("c1", "textbox", "City"), ("c2", "button", "Save")]);
    let step = bound(&page, json!({ "type": "click", "targetRef": "c2" }));
    let again = Action::SetValue(SetValue::to(CandidateId(1), "Paris"));
    let mut failure = StepFailure::new(Stage::Precondition, Cause::InputLost, "test");
    let budget = RepairBudget { step_attempts_left: 3, run_repairs_left: 3, can_replan: false };
    let next = |failure: &StepFailure| {
        Ladder::default().next(&RepairCase { step: &step, failure, attempt: 0 }, &page, &budget)
    };
    assert_eq!(next(&failure), Repair::Abandon, "nobody knows how");
    failure.facts.again = Some(Box::new(again.clone()));
    assert_eq!(next(&failure), Repair::Insert(vec![Step::from(again)]));
}

#[test]
fn a_drag_that_nothing_came_of_is_made_once_more_and_slowly() {
    let page = page(&[("c1", "button", "Move Sand"), ("c2", "button", "Move Box")]);
    let step = bound(&page, json!({ "type": "dragTo", "targetRef": "c1", "to": "c2" }));
    let mut failure = StepFailure::new(Stage::Postcondition, Cause::PostconditionFailed, "test");
    failure.evidence.input_sent = true;
    let budget = RepairBudget { step_attempts_left: 3, run_repairs_left: 3, can_replan: false };
    let next = |failure: &StepFailure| {
        Ladder::default().next(&RepairCase { step: &step, failure, attempt: 0 }, &page, &budget)
    };
    assert_eq!(next(&failure), Repair::Abandon, "it is not known whether something was moved");
    let mut facts = cuebook_grammar::facts::Facts::default();
    facts.events.any_effect = Some(false);
    failure.facts.conditions = Some(facts);
    let Repair::Rewrite { step, .. } = next(&failure) else { panic!("expected a slow drag") };
    assert!(matches!(step.action, Action::DragTo(ref drag) if drag.duration_ms.is_some()));
}

#[test]
fn text_that_the_field_transformed_is_not_entered_again() {
    let page = page(&[("c1", "textbox", "Notes")]);
    let step = bound(&page, json!({ "type": "type", "targetRef": "c1", "text": "## Notes" }));
    assert_eq!(after_entry(&step, "", "Notes", &page), Repair::Abandon);
    assert_eq!(next(&step, Cause::PostconditionFailed, true, 0, &page), Repair::Abandon);
}

/// Returns the repair after text that left the field with another value than it had.
fn after_entry(step: &BoundStep, before: &str, now: &str, page: &Observation) -> Repair {
    let target = step.action().target().unwrap().to_string();
    let sample = |value: &str| {
        json!({ "atMs": 0, "url": "https://shop.test/", "title": "", "targets": {
            target.as_str(): { "matches": 1, "element": { "role": "textbox", "tag": "div", "value": value } } } })
    };
    let facts = json!({ "before": sample(before), "samples": [sample(now)] });
    let mut failure = StepFailure::new(Stage::Postcondition, Cause::PostconditionFailed, "test");
    failure.evidence.input_sent = true;
    failure.facts.conditions = Some(serde_json::from_value(facts).unwrap());
    let budget = RepairBudget { step_attempts_left: 3, run_repairs_left: 3, can_replan: false };
    Ladder::default().next(&RepairCase { step, failure: &failure, attempt: 0 }, page, &budget)
}

#[test]
fn without_a_budget_there_is_nothing_to_try() {
    let page = page(&[("c1", "button", "Save")]);
    let step = bound(&page, json!({ "type": "click", "targetRef": "c1" }));
    let failure = StepFailure::new(Stage::Act, Cause::NotStable, "test");
    let case = RepairCase { step: &step, failure: &failure, attempt: 0 };
    let mut budget = RepairBudget { step_attempts_left: 0, run_repairs_left: 3, can_replan: true };
    assert_eq!(Ladder::default().next(&case, &page, &budget), Repair::Replan);
    budget.can_replan = false;
    assert_eq!(Ladder::default().next(&case, &page, &budget), Repair::Abandon);
}
