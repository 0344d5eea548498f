//! How a run ends whose planner says that the task is done.

use cuebook_grammar::outcome::{Cause, StepOutcome, StepSuccess};
use cuebook_grammar::plan::{Author, BoundStep, PlanDraft};
use cuebook_grammar::report::{ErrorCode, RunReport, RunResult};
use cuebook_grammar::seam::PlanReply;
use serde_json::{Value, json};

use super::fakes::{Shop, Trial as Fake, click, done, lock};
use super::{BACK, SAVE, finish};
use crate::request::Work;

/// A model's plan with these members.
fn with(plan: Value) -> PlanReply {
    PlanReply::of(PlanDraft::read_value(plan, Author::Model).unwrap())
}

fn end(finish: Value) -> Value {
    let mut step = json!({ "type": "finish" });
    step.as_object_mut().unwrap().extend(finish.as_object().unwrap().clone());
    json!([step])
}

fn hidden(id: u32) -> Value {
    json!({ "kind": "hidden", "target": format!("c{id}") })
}

/// Message of a run that ended unproven.
fn unproven(report: &RunReport) -> &str {
    assert_eq!((report.result, report.result.exit_code()), (RunResult::Unproven, 5), "{report:#?}");
    let error = report.error.as_ref().unwrap();
    assert_eq!(error.code, ErrorCode::Unproven);
    &error.message
}

#[tokio::test]
async fn an_end_without_a_step_is_told_twice_and_then_ends_the_run() {
    let (report, shop) = Fake::new(&[SAVE]).planning(|_| finish()).run().await;
    assert!(unproven(&report).contains("no step changed anything"), "{report:#?}");
    let told: Vec<_> = lock(&shop).asked.iter().map(|asked| asked.failure).collect();
    assert_eq!(told, [None, Some(Cause::Unproven), Some(Cause::Unproven)]);
    assert!(lock(&shop).trace.ends_with(&["close unproven".to_owned()]));
}

#[tokio::test]
async fn a_step_without_effect_proves_nothing_and_one_with_an_effect_does() {
    for (no_effect, result) in [(true, RunResult::Unproven), (false, RunResult::Ok)] {
        let stage = Fake::new(&[SAVE])
            .planning(|n| if n == 0 { with(json!({ "steps": [click(1)] })) } else { finish() })
            .acting(move |_, _| {
                let mut success = StepSuccess::default();
                success.evidence.no_observed_effect = no_effect;
                StepOutcome::Succeeded(success)
            });
        assert_eq!(stage.run().await.0.result, result);
    }
}

/// Every step succeeds, and Next goes away at its second press.
fn gone_at_the_second_press() -> impl FnMut(&BoundStep, &mut Shop) -> StepOutcome + Send {
    let mut presses = 0;
    move |step, shop| {
        presses += u32::from(step.action().target().is_some());
        if presses >= 2 {
            shop.candidates.retain(|(id, ..)| *id != 1);
        }
        done()
    }
}

/// A run whose first plan presses Next and states `goal`; Next goes away at its second press.
fn pressing(goal: Value) -> Fake {
    Fake::new(&[SAVE, BACK])
        .planning(move |n| match n {
            0 => with(json!({ "goal": goal, "steps": [click(1), { "type": "finish" }] })),
            1 => with(json!({ "steps": [click(1), { "type": "finish" }] })),
            _ => finish(),
        })
        .acting(gone_at_the_second_press())
}

#[tokio::test]
async fn a_goal_that_does_not_hold_yet_is_told_and_the_run_goes_on() {
    let (report, shop) = pressing(json!([hidden(1)])).run().await;
    assert_eq!(report.result, RunResult::Ok, "{report:#?}");
    assert_eq!(lock(&shop).asked.len(), 2);
    // One of several alternatives is enough; all that the list has must hold.
    let either = json!([{ "kind": "anyOf", "conditions": [hidden(2), hidden(1)] }]);
    assert_eq!(pressing(either).run().await.0.result, RunResult::Ok);
    let (report, _) = pressing(json!([hidden(1), hidden(2)])).run().await;
    assert!(unproven(&report).starts_with("the goal does not hold: expected c2"), "{report:#?}");
}

#[tokio::test]
async fn a_goal_that_held_before_counts_as_none_and_so_does_an_empty_one() {
    let held = json!([{ "kind": "urlMatches", "pattern": "shop" }]);
    for goal in [held, json!([])] {
        let stage =
            Fake::new(&[SAVE]).planning(move |_| with(json!({ "goal": goal, "steps": [{ "type": "finish" }] })));
        assert!(unproven(&stage.run().await.0).contains("no step changed anything"));
    }
}

#[tokio::test]
async fn a_later_plan_loosens_a_goal_only_with_a_reason() {
    for (reason, result) in [(Value::Null, RunResult::Unproven), (json!("Back stays"), RunResult::Ok)] {
        let stage = Fake::new(&[SAVE, BACK])
            .planning(move |n| match n {
                0 => with(json!({ "goal": [hidden(2)], "steps": [click(1)] })),
                1 => with(json!({
                    "goal": [hidden(1)], "goalReason": reason, "steps": [click(1), { "type": "finish" }],
                })),
                _ => finish(),
            })
            .acting(gone_at_the_second_press());
        let (report, _) = stage.run().await;
        assert_eq!(report.result, result, "{report:#?}");
    }
}

#[tokio::test]
async fn an_answer_must_stand_on_a_page_or_say_what_it_is_computed_from() {
    let task = |finish: Value| {
        let mut stage = Fake::new(&[(1, "button", "Total € 35.90"), BACK])
            .planning(move |_| with(json!({ "steps": end(finish.clone()) })));
        stage.task = "What is the total?";
        stage
    };
    for fine in [
        json!({ "result": "35.90" }),
        json!({ "result": "71.80", "from": ["Total € 35.90"] }),
        json!({ "result": "71.80", "from": ["c1"] }),
        json!({}),
    ] {
        assert_eq!(task(fine.clone()).run().await.0.result, RunResult::Ok, "{fine}");
    }
    for (wrong, why) in [
        (json!({ "result": "done" }), "stands on no page"),
        (json!({ "result": "35.90", "from": ["c9"] }), "c9, which is not on this page"),
        (json!({ "result": "35.90", "from": ["Sum"] }), "which no page of this run shows"),
    ] {
        let (report, _) = task(wrong.clone()).run().await;
        assert!(unproven(&report).contains(why), "{wrong}: {report:#?}");
    }
}

#[tokio::test]
async fn what_the_run_typed_is_no_answer() {
    let typing = json!({ "type": "setValue", "targetRef": "c1", "value": "4711" });
    let stage = || {
        let typing = typing.clone();
        let mut stage = Fake::new(&[(1, "textbox", "Code")])
            .planning(move |n| match n {
                0 => with(json!({ "steps": [typing] })),
                _ => with(json!({ "steps": end(json!({ "result": "4711" })) })),
            })
            .acting(|_, shop| {
                shop.candidates.push((2, "button", "You wrote 4711", true));
                done()
            });
        stage.task = "What is the code?";
        stage
    };
    let (report, _) = stage().run().await;
    assert!(unproven(&report).contains("but in what was entered"), "{report:#?}");
}

#[tokio::test]
async fn a_plan_of_a_person_is_judged_only_by_what_it_states() {
    let exec = |plan: Value| {
        let draft = PlanDraft::read_value(plan, Author::Operator).unwrap();
        Fake::new(&[SAVE]).work(Work::Plan(Box::new(draft)))
    };
    let (report, _) = exec(json!({ "steps": end(json!({ "result": "whatever" })) })).await;
    assert_eq!((report.result, report.answer.as_deref()), (RunResult::Ok, Some("whatever")));
    for steps in [json!([click(1)]), json!([click(1), { "type": "finish" }])] {
        let (report, _) = exec(json!({ "goal": [hidden(1)], "steps": steps })).await;
        assert!(unproven(&report).contains("the goal does not hold"));
    }
    let (report, _) = exec(json!({ "steps": end(json!({ "result": "x", "from": ["nowhere"] })) })).await;
    assert!(unproven(&report).contains("no page of this run"));
}
