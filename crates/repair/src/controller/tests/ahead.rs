//! Steps that run while the rest of their plan is still being written.

use cuebook_grammar::outcome::{Cause, Stage};
use cuebook_grammar::policy::Policy;
use cuebook_grammar::profile::Profile;
use cuebook_grammar::report::{ErrorCode, RunResult};
use serde_json::json;

use super::fakes::{SHOP, Trial as Fake, Write, click, failed, left, lock, plan};
use super::{BACK, SAVE, finish};

const MORE: (u32, &str, &str) = (3, "button", "More");

/// A run whose first answer arrives like this, and whose second one is `finish`.
fn stage(writes: Vec<Write>, steps: serde_json::Value) -> Fake {
    let mut stage =
        Fake::new(&[SAVE, BACK, MORE]).planning(move |n| if n == 0 { plan(steps.clone()) } else { finish() });
    stage.writes.push_back(writes);
    stage
}

fn two_with(gap: Write) -> Vec<Write> {
    vec![Write::Step(click(1)), gap, Write::Step(click(2))]
}

#[tokio::test]
async fn a_step_runs_before_the_next_one_is_written_and_runs_once() {
    let steps = json!([click(1), click(2), { "type": "finish" }]);
    let (report, shop) = stage(two_with(Write::Until("commit 0.1")), steps).run().await;
    assert_eq!(report.result, RunResult::Ok, "{report:#?}");
    let shop = lock(&shop);
    let log: Vec<&str> = shop.trace.iter().map(String::as_str).filter(|line| !line.starts_with("observe")).collect();
    assert_eq!(
        log,
        [
            "open",
            "wrote 1",
            "begin 0.1 click",
            "act click c1",
            "commit 0.1",
            "wrote 2",
            "planned 0",
            "begin 1.1 click",
            "act click c2",
            "commit 1.1",
            "close ok",
        ]
    );
    let calls: Vec<_> = shop.records.iter().map(|record| (record.planning, record.plan_index)).collect();
    assert_eq!(calls, [(Some(0), Some(0)), (Some(0), Some(1))], "both are of one call and one plan");
}

#[tokio::test]
async fn nothing_runs_ahead_that_is_destructive_or_needs_consent() {
    let pay = (1, "button", "Delete account");
    for profile in [Profile::Auto, Profile::SemiAuto, Profile::Assisted] {
        let writes = two_with(Write::Until("await click c1"));
        let mut stage = stage(writes, json!([{ "type": "finish" }]));
        stage.task = "look at the shop";
        stage.policy = Policy::new(profile).starting_at(SHOP).unwrap();
        if profile == Profile::Auto {
            stage.shop().candidates[0] = (pay.0, pay.1, pay.2, true);
        }
        let (report, shop) = stage.run().await;
        assert_eq!(report.result, RunResult::Ok, "{report:#?}");
        let shop = lock(&shop);
        assert!(shop.acted().is_empty() && shop.questions.is_empty(), "{profile:?}");
        // The targets of the first step that waits are waited for, until the plan is complete.
        let awaited: Vec<&String> = shop.trace.iter().filter(|line| line.starts_with("await")).collect();
        assert_eq!(awaited, ["await click c1"], "{profile:?}");
    }
}

#[tokio::test]
async fn what_follows_a_changed_page_is_cut_off() {
    let writes = vec![Write::Step(click(1)), Write::Until("commit 0.1"), Write::Step(click(2)), Write::Until("never")];
    let (report, shop) = stage(writes, json!([])).acting(|_, _| left()).run().await;
    assert_eq!(report.result, RunResult::Ok, "{report:#?}");
    let shop = lock(&shop);
    assert_eq!(shop.acted(), ["click c1"]);
    assert_eq!(shop.asked[1].history.len(), 1, "what ran is the history of the next plan");
    assert_eq!(shop.asked[1].failure, None);
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_asked_for_again_with_what_ran() {
    for broken in [Write::Break, Write::Anew] {
        let writes = vec![Write::Step(click(1)), Write::Until("commit 0.1"), broken];
        let (report, shop) = stage(writes, json!([])).run().await;
        assert_eq!(report.result, RunResult::Ok, "{report:#?}");
        let shop = lock(&shop);
        assert_eq!(shop.acted(), ["click c1"], "nothing runs twice");
        assert_eq!(shop.asked[1].history.len(), 1);
        assert_eq!(shop.asked[1].failure, Some(Cause::InvalidArgument));
    }
    // If nothing ran, it is the planner that is broken.
    let (report, _) = stage(vec![Write::Break], json!([])).run().await;
    assert_eq!(report.error.unwrap().code, ErrorCode::PlannerUnavailable);
}

#[tokio::test]
async fn a_plan_that_is_not_the_one_that_ran_is_dropped() {
    let writes = vec![Write::Step(click(1)), Write::Until("commit 0.1")];
    let (report, shop) = stage(writes, json!([click(2), click(1)])).run().await;
    assert_eq!(report.result, RunResult::Ok, "{report:#?}");
    assert_eq!(lock(&shop).acted(), ["click c1"]);
}

#[tokio::test]
async fn a_step_that_fails_ends_the_answer() {
    let writes = vec![Write::Step(click(1)), Write::Until("never")];
    let stage = stage(writes, json!([])).acting(|_, _| failed(Stage::Act, Cause::InvalidArgument));
    let (report, shop) = stage.run().await;
    assert_eq!(report.result, RunResult::Unproven, "{report:#?}");
    let shop = lock(&shop);
    assert_eq!(shop.asked[1].failure, Some(Cause::InvalidArgument));
    assert_eq!(shop.asked[1].history.len(), 1);
}

#[tokio::test]
async fn the_page_is_looked_at_while_a_step_only_waits_if_it_is_observed_next() {
    let stage = Fake::new(&[SAVE, BACK]).planning(|n| if n == 0 { plan(json!([click(1)])) } else { finish() });
    lock(&stage.shop).settles = true;
    let (report, shop) = stage.run().await;
    assert_eq!(report.result, RunResult::Ok, "{report:#?}");
    let shop = lock(&shop);
    let looks: Vec<&str> = shop.trace.iter().map(String::as_str).filter(|line| !line.starts_with("planned")).collect();
    let after = ["begin 0.1 click", "prepare view", "prepare view", "act click c1", "commit 0.1", "observe view"];
    assert!(looks.windows(after.len()).any(|part| part == after), "{looks:#?}");
    assert_eq!(
        looks.iter().filter(|line| line.starts_with("prepare")).count(),
        2,
        "once for each time that the step waits"
    );
}
