//! Tests of the planner's memory and its remaining budgets, and of who is asked when it cannot go on.

use cuebook_grammar::action::ActionKind;
use cuebook_grammar::outcome::{Cause, Stage};
use cuebook_grammar::policy::Policy;
use cuebook_grammar::profile::Profile;
use cuebook_grammar::report::{ErrorCode, RunResult};
use cuebook_grammar::seam::{ConfirmReply, PlanReply};
use serde_json::json;

use super::fakes::{SHOP, Trial as Fake, Write, click, failed, left, lock, plan};
use super::{BACK, SAVE, finish};

#[tokio::test]
async fn a_memory_stays_until_another_one_is_written_and_survives_a_cut_answer() {
    let mut stage = Fake::new(&[SAVE]).planning(|n| match n {
        1 => PlanReply { memory: Some("B wants 30".to_owned()), ..plan(json!([click(1)])) },
        2 => plan(json!([click(1)])),
        _ => finish(),
    });
    // The first answer is cut off because its first step left the page.
    let writes = [Write::Note("A wants 35"), Write::Step(click(1)), Write::Until("commit 0.1"), Write::Step(click(1))];
    stage.writes.push_back(writes.into_iter().chain([Write::Until("never")]).collect());
    let mut leaves = true;
    let stage = stage.acting(move |_, _| if std::mem::take(&mut leaves) { left() } else { super::done() });
    let (report, shop) = stage.run().await;
    assert_eq!(report.result, RunResult::Ok, "{report:#?}");
    let shop = lock(&shop);
    let memories: Vec<_> = shop.asked.iter().map(|asked| asked.memory.as_deref()).collect();
    assert_eq!(memories, [None, Some("A wants 35"), Some("B wants 30"), Some("B wants 30")]);
}

#[tokio::test]
async fn what_is_left_of_the_budgets_is_said() {
    let mut stage = Fake::new(&[SAVE]).planning(|n| if n < 2 { plan(json!([click(1)])) } else { finish() });
    stage.budgets.iterations = 5;
    let (_, shop) = stage.run().await;
    let left: Vec<u32> = lock(&shop).asked.iter().map(|asked| asked.left.unwrap().plans).collect();
    assert_eq!(left, [5, 4, 3]);
}

/// A model that writes no plan, then finishes.
fn babbling(profile: Profile, answer: ConfirmReply) -> Fake {
    let mut stage = Fake::new(&[SAVE]).planning(|_| finish());
    stage.task = "look at the shop";
    stage.writes.push_back(vec![Write::Nonsense]);
    stage.policy = Policy::new(profile).starting_at(SHOP).unwrap();
    stage.shop().answers.push_back(answer);
    stage
}

#[tokio::test]
async fn a_person_may_say_how_to_go_on_where_no_valid_plan_was_written() {
    let said = ConfirmReply::Yes(Some("take the blue one".to_owned()));
    let (report, shop) = babbling(Profile::Auto, said.clone()).run().await;
    assert_eq!(report.result, RunResult::Ok, "{report:#?}");
    {
        let shop = lock(&shop);
        assert!(shop.questions[0].question.contains("c9 is no candidate"), "{:?}", shop.questions);
        assert_eq!(shop.asked[1].history[0].data, Some(json!("take the blue one")));
    }

    for (profile, answer, questions) in [
        (Profile::Auto, ConfirmReply::Unanswered, 1),
        (Profile::Auto, ConfirmReply::Yes(None), 1),
        (Profile::Unleashed, said, 0),
    ] {
        let (report, shop) = babbling(profile, answer).run().await;
        assert_eq!(report.result, RunResult::Failed);
        let error = report.error.unwrap();
        assert_eq!((error.code, error.violations.len()), (ErrorCode::InvalidPlan, 1));
        assert_eq!(lock(&shop).questions.len(), questions, "{profile:?}");
    }
}

const PAY: (u32, &str, &str) = (1, "button", "Pay now");
const DELETE: (u32, &str, &str) = (2, "button", "Delete account");

fn semi_auto(candidates: &[(u32, &'static str, &'static str)]) -> Fake {
    let mut stage = Fake::new(candidates).planning(|n| match n {
        0 => plan(json!([click(1), click(2)])),
        _ => finish(),
    });
    stage.policy = Policy::new(Profile::SemiAuto).starting_at(SHOP).unwrap();
    stage
}

#[tokio::test]
async fn assisted_asks_about_every_step_even_one_that_only_reads() {
    for (profile, questions) in [(Profile::Assisted, 2), (Profile::Auto, 0)] {
        let hover = json!({ "type": "hover", "targetRef": "c1" });
        let steps = json!([hover, click(1)]);
        let mut stage = Fake::new(&[SAVE]).planning(move |n| if n == 0 { plan(steps.clone()) } else { finish() });
        stage.policy = Policy::new(profile).starting_at(SHOP).unwrap();
        stage.shop().answers.extend([ConfirmReply::Yes(None), ConfirmReply::No]);
        let (report, shop) = stage.run().await;
        let shop = lock(&shop);
        assert_eq!(shop.questions.len(), questions, "{profile:?}: {:?}", shop.questions);
        let acted: &[&str] = if questions == 0 { &["hover c1", "click c1"] } else { &["hover c1"] };
        assert_eq!(shop.acted(), acted, "{profile:?}: {report:#?}");
    }
}

#[tokio::test]
async fn semi_auto_asks_once_for_a_whole_plan_and_names_each_effect() {
    let stage = semi_auto(&[PAY, DELETE]);
    stage.shop().answers.push_back(ConfirmReply::Yes(None));
    let (report, shop) = stage.run().await;
    assert_eq!(report.result, RunResult::Ok, "{report:#?}");
    let shop = lock(&shop);
    assert_eq!(shop.acted(), ["click c1", "click c2"]);
    let [asked] = &shop.questions[..] else { panic!("{:?}", shop.questions) };
    let question = &asked.question;
    assert!(question.starts_with("2 steps of this plan need consent"), "{question}");
    assert!(question.contains("(1) click button \"Pay now\"") && question.contains("(2) click button \"Delete"));
    assert!(asked.grant.as_ref().is_some_and(|grant| grant.contains("money@") && grant.contains("--grant")));
}

#[tokio::test]
async fn nothing_of_a_plan_runs_that_a_person_refused() {
    let stage = semi_auto(&[PAY, DELETE]);
    stage.shop().answers.push_back(ConfirmReply::No);
    let (report, shop) = stage.run().await;
    assert_eq!(report.result, RunResult::Blocked);
    assert!(lock(&shop).acted().is_empty());
}

#[tokio::test]
async fn consent_to_a_plan_holds_for_what_was_asked_about_only() {
    // After the first click, the second button does something else.
    let stage = semi_auto(&[PAY, BACK, (3, "button", "Close")]);
    let stage = stage.planning(|n| if n == 0 { plan(json!([click(1), click(2)])) } else { finish() });
    let stage = stage.acting(|_, shop| {
        shop.candidates[1] = (2, "button", "Pay twice", true);
        super::done()
    });
    stage.shop().answers.extend([ConfirmReply::Yes(None), ConfirmReply::No]);
    let (report, shop) = stage.run().await;
    assert_ne!(report.result, RunResult::Ok);
    assert_eq!(lock(&shop).acted(), ["click c1"]);
}

#[tokio::test]
async fn a_point_that_is_none_is_skipped_and_the_plan_goes_on() {
    let point = json!({ "type": "clickPoint", "point": { "x": -5, "y": 3 } });
    let acting = |stage: Fake| {
        stage.acting(|step, _| match step.action().kind() {
            ActionKind::ClickPoint => failed(Stage::Act, Cause::InvalidArgument),
            _ => super::done(),
        })
    };
    let steps = json!([point, click(1)]);
    let given = steps.clone();
    let mut stage = acting(Fake::new(&[SAVE]).planning(move |n| if n == 0 { plan(steps.clone()) } else { finish() }));
    // Nobody knows what lies at a point.
    let unleashed = Policy::new(Profile::Unleashed).starting_at(SHOP).unwrap();
    stage.policy = unleashed.granting("destructive@shop.test").unwrap();
    let (report, shop) = stage.run().await;
    assert_eq!(report.result, RunResult::Ok, "{report:#?}");
    {
        let shop = lock(&shop);
        assert_eq!(shop.attempts(), ["0.1 clickPoint invalidArgument", "1.1 click ok"], "the log has what was skipped");
        assert_eq!(shop.asked[1].failure, None);
    }

    // In an operator's file it is a mistake.
    let mut stage = acting(Fake::new(&[SAVE]));
    stage.policy = Policy::new(Profile::Unleashed).starting_at(SHOP).unwrap();
    let (report, _) = stage.exec(given).await;
    assert_eq!(report.error.unwrap().code, ErrorCode::InvalidArgument);
}
