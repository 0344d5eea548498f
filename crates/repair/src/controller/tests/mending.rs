//! Repairs of a given plan by a planner.

use std::sync::{Arc, Mutex};

use cuebook_grammar::facts::{Facts, Sample};
use cuebook_grammar::outcome::{Cause, Judged, Stage, StepFailure, StepOutcome};
use cuebook_grammar::plan::BoundStep;
use cuebook_grammar::report::{RunReport, RunResult};
use cuebook_grammar::seam::{ConfirmReply, PlanReply, PlannedStep};
use cuebook_grammar::verdict::Verdict;
use serde_json::{Value, json};

use super::fakes::{SHOP, Shop, Trial as Fake, Write, click, done, failed, lock, plan};
use super::{BACK, SAVE};
use crate::Sight;

/// `exec` of clicks on c1 and c2, of which the first fails `fails` times.
async fn exec(
    repairs: u32,
    mut fails: u32,
    failure: impl Fn(&BoundStep, &mut Shop) -> StepOutcome + Send + 'static,
    plans: impl FnMut(u32) -> PlanReply + Send + 'static,
) -> (RunReport, Arc<Mutex<Shop>>) {
    let mut stage = Fake::new(&[SAVE, BACK, (3, "button", "Close")]).planning(plans).acting(move |step, shop| {
        let is_first = step.action().target().is_some_and(|target| target.to_string() == "c1");
        if is_first && fails > 0 {
            fails -= 1;
            return failure(step, shop);
        }
        done()
    });
    stage.budgets.planned_repairs = repairs;
    stage.exec(json!([click(1), click(2)])).await
}

fn invalid(_: &BoundStep, _: &mut Shop) -> StepOutcome {
    failed(Stage::Act, Cause::InvalidArgument)
}

fn steps(steps: Value) -> impl FnMut(u32) -> PlanReply + Send + 'static {
    move |_| plan(steps.clone())
}

#[tokio::test]
async fn what_is_in_the_way_is_removed_and_the_step_tried_again() {
    let (report, shop) = exec(1, 1, invalid, steps(json!([click(3)]))).await;
    assert_eq!(report.result, RunResult::Ok, "{report:#?}");
    let shop = lock(&shop);
    assert_eq!(shop.acted(), ["click c1", "click c3", "click c1", "click c2"]);
    assert_eq!(shop.asked[0].failure, Some(Cause::InvalidArgument));
    assert!(shop.asked[0].task.starts_with("The last step of a given plan failed"));
    assert_eq!(shop.asked[0].history.len(), 1);
}

#[tokio::test]
async fn a_planner_that_finishes_the_step_lets_the_plan_go_on_behind_it() {
    let (report, shop) = exec(1, 9, invalid, steps(json!([click(3), { "type": "finish" }]))).await;
    assert_eq!(report.result, RunResult::Ok, "{report:#?}");
    assert_eq!(lock(&shop).acted(), ["click c1", "click c3", "click c2"]);
}

#[tokio::test]
async fn without_one_or_beyond_its_budget_the_failure_stands() {
    for (repairs, asked) in [(0, 0), (2, 2)] {
        let (report, shop) = exec(repairs, 9, invalid, steps(json!([click(3)]))).await;
        assert_eq!(report.result, RunResult::Failed);
        assert_eq!(lock(&shop).asked.len(), asked);
        assert!(!lock(&shop).acted().contains(&"click c2"));
    }
    let (report, shop) = exec(2, 9, invalid, steps(json!([{ "type": "fail", "reason": "no" }]))).await;
    assert_eq!((report.result, lock(&shop).asked.len()), (RunResult::Failed, 1));
    let denied = |_: &BoundStep, _: &mut Shop| failed(Stage::Confirm, Cause::ConfirmationDenied);
    let (report, shop) = exec(2, 9, denied, steps(json!([click(3)]))).await;
    assert_eq!((report.result, lock(&shop).asked.len()), (RunResult::Blocked, 0));
}

/// A click that was sent, and did not lead where it should.
pub(super) fn sent(_: &BoundStep, _: &mut Shop) -> StepOutcome {
    let condition = serde_json::from_value(json!({ "kind": "urlChanges" })).unwrap();
    let mut failure = StepFailure::new(Stage::Postcondition, Cause::PostconditionFailed, "the URL did not change");
    failure.evidence.input_sent = true;
    failure.evidence.post =
        vec![Judged { condition, verdict: Verdict::Fails, vacuous: false, default: false, latency_ms: None }];
    let before = Sample { url: SHOP.to_owned(), ..Sample::default() };
    failure.evidence.post_facts =
        Some(Facts { before: Some(before.clone()), samples: vec![before], ..Facts::default() });
    StepOutcome::Failed(Box::new(failure))
}

#[tokio::test]
async fn what_was_sent_is_not_sent_again() {
    // The ladder itself waits once.
    let (report, shop) = exec(1, 99, sent, steps(json!([click(3)]))).await;
    assert_eq!(report.result, RunResult::Failed, "{report:#?}");
    let shop = lock(&shop);
    let last = shop.acted().iter().rposition(|line| *line == "click c1");
    let repair = shop.acted().iter().rposition(|line| *line == "click c3");
    assert!(last < repair, "{:?}", shop.acted());
}

#[tokio::test]
async fn a_step_whose_condition_fails_is_not_done_whatever_the_planner_says() {
    let finishing = || steps(json!([click(3), { "type": "finish" }]));
    let (report, shop) = exec(1, 99, sent, finishing()).await;
    assert_eq!(report.result, RunResult::Failed, "{report:#?}");
    assert!(lock(&shop).acted().contains(&"click c3") && !lock(&shop).acted().contains(&"click c2"));
    let moved = |step: &BoundStep, shop: &mut Shop| {
        shop.url = format!("{SHOP}done");
        sent(step, shop)
    };
    let (report, shop) = exec(1, 99, moved, finishing()).await;
    assert_eq!(report.result, RunResult::Ok, "{report:#?}");
    assert_eq!(lock(&shop).acted().last(), Some(&"click c2"));
}

/// `run` of a plan of clicks on c1 and c2, of which the first fails `fails` times; then these plans, then `finish`.
fn task(repairs: u32, mut fails: u32, plans: impl IntoIterator<Item = Value>) -> Fake {
    let mut plans: Vec<Value> = plans.into_iter().collect();
    plans.insert(0, json!([click(1), click(2)]));
    let mut stage = Fake::new(&[SAVE, BACK, (3, "button", "Close")])
        .planning(move |n| plan(plans.get(n as usize).cloned().unwrap_or_else(|| json!([{ "type": "finish" }]))))
        .acting(move |step, _| {
            let is_first = step.action().target().is_some_and(|target| target.to_string() == "c1");
            if is_first && fails > 0 {
                fails -= 1;
                let mut failure = StepFailure::new(Stage::Act, Cause::InvalidArgument, "as the test wants it");
                failure.facts.target = step.action().target().cloned();
                return StepOutcome::Failed(Box::new(failure));
            }
            done()
        });
    stage.budgets.planned_repairs = repairs;
    stage
}

#[tokio::test]
async fn a_step_of_a_task_is_mended_and_its_plan_goes_on() {
    let finish = json!({ "type": "finish" });
    for (repair, acted) in [
        (json!([click(3)]), vec!["click c1", "click c3", "click c1", "click c2"]),
        (json!([click(3), finish]), vec!["click c1", "click c3", "click c2"]),
    ] {
        let (report, shop) = task(5, 1, [repair]).run().await;
        assert_eq!(report.result, RunResult::Ok, "{report:#?}");
        let shop = lock(&shop);
        assert_eq!(shop.acted(), acted);
        let failures: Vec<_> = shop.asked.iter().map(|asked| asked.failure).collect();
        assert_eq!(failures, [None, Some(Cause::InvalidArgument), None]);
        assert!(shop.asked[1].task.starts_with("The last step of a given plan failed"), "{}", shop.asked[1].task);
        assert!(shop.asked[1].task.ends_with("The plan is for: buy a pencil."), "{}", shop.asked[1].task);
        let last = shop.asked[2].history.last().and_then(|entry| entry.planned);
        assert_eq!(last, Some(PlannedStep { plan: 0, step: 1 }), "the step is one of the first plan still");
    }
}

#[tokio::test]
async fn pictures_after_failures_are_shown_to_who_mends_and_to_who_plans_anew() {
    for (sight, mends, shown) in [
        (Sight::AfterFailure, 5, vec![0, 1, 0]),
        (Sight::AfterFailure, 0, vec![0, 1]),
        (Sight::Words, 5, vec![0, 0, 0]),
        (Sight::Pictures, 5, vec![1, 1, 1]),
    ] {
        let mut stage = task(mends, 1, [json!([click(3), { "type": "finish" }])]);
        stage.sight = sight;
        let (_, shop) = stage.run().await;
        let pictures: Vec<_> = lock(&shop).asked.iter().map(|asked| asked.pictures).collect();
        assert_eq!(pictures, shown, "{sight:?} {mends}");
    }
}

#[tokio::test]
async fn a_step_that_failed_ahead_is_mended_once_its_plan_is_complete() {
    let mut stage = task(1, 1, [json!([click(3)])]);
    stage.writes.push_back(vec![Write::Step(click(1)), Write::Until("begin 0.1 click")]);
    // The step takes longer than the rest of the answer.
    stage.shop().settles = true;
    let (report, shop) = stage.run().await;
    assert_eq!(report.result, RunResult::Ok, "{report:#?}");
    assert_eq!(lock(&shop).acted(), ["click c1", "click c3", "click c1", "click c2"]);

    // Of a plan that is still being written there is no rest to go on with.
    let mut stage = task(1, 1, [json!([click(3)])]);
    stage.writes.push_back(vec![Write::Step(click(1)), Write::Until("never")]);
    let (_, shop) = stage.run().await;
    assert!(lock(&shop).asked.iter().all(|asked| asked.task == "buy a pencil"));
}

#[tokio::test]
async fn who_mends_is_shown_the_part_of_the_page_around_the_target() {
    let stage = task(1, 1, [json!([click(3)])]);
    stage.shop().candidates.extend((4..=100).map(|id| (id, "button", "More", true)));
    let (_, shop) = stage.run().await;
    let shown: Vec<_> = lock(&shop).asked.iter().map(|asked| asked.shown).collect();
    assert_eq!(shown, [100, 16, 100]);
}

#[tokio::test]
async fn what_is_not_mended_is_planned_anew_and_who_cannot_mend_is_not_asked() {
    let fail = json!([{ "type": "fail", "reason": "no" }]);
    let (report, shop) = task(5, 9, [fail, json!([click(3)])]).run().await;
    assert_eq!(report.result, RunResult::Ok, "{report:#?}");
    assert_eq!(lock(&shop).acted(), ["click c1", "click c3"]);
    let tasks: Vec<_> = lock(&shop).asked.iter().map(|asked| asked.task == "buy a pencil").collect();
    assert_eq!(tasks, [true, false, true, true]);

    let (_, shop) = task(0, 9, [json!([click(3)])]).run().await;
    assert!(lock(&shop).asked.iter().all(|asked| asked.task == "buy a pencil"));
}

#[tokio::test]
async fn nothing_destructive_mends_a_step_of_a_task() {
    let mut stage = task(1, 9, [json!([click(3)])]);
    stage.policy = stage.policy.granting("destructive@shop.test").unwrap();
    stage.shop().candidates[2] = (3, "button", "Delete account", true);
    let (report, shop) = stage.run().await;
    assert_eq!(report.result, RunResult::Unproven, "{report:#?}");
    assert_eq!(lock(&shop).acted(), ["click c1"]);
}

#[tokio::test]
async fn a_repair_has_the_rights_of_a_model() {
    let pay = (3, "button", "Pay now");
    let mut stage = Fake::new(&[SAVE, BACK, pay]).planning(steps(json!([click(3)]))).acting(|step, _| {
        match step.action().target().map(ToString::to_string).as_deref() {
            Some("c1") => failed(Stage::Act, Cause::InvalidArgument),
            _ => done(),
        }
    });
    stage.budgets.planned_repairs = 1;
    stage.shop().answers.push_back(ConfirmReply::No);
    let (report, shop) = stage.exec(json!([click(1), click(2)])).await;
    assert_ne!(report.result, RunResult::Ok);
    assert_eq!(lock(&shop).questions.len(), 1);
    assert!(!lock(&shop).acted().contains(&"click c3"));
}

#[tokio::test]
async fn the_steps_of_a_repair_do_not_run_ahead() {
    let mut stage = Fake::new(&[SAVE, BACK, (3, "button", "Close")])
        .planning(steps(json!([{ "type": "fail", "reason": "no" }])))
        .acting(|_, _| failed(Stage::Act, Cause::InvalidArgument));
    stage.writes.push_back(vec![Write::Step(click(3))]);
    stage.budgets.planned_repairs = 1;
    let (_, shop) = stage.exec(json!([click(1)])).await;
    assert_eq!(lock(&shop).acted(), ["click c1"]);
}
