//! The loop on fakes: what it asks of which layer, in which order, and when it ends.

mod ahead;
mod fakes;
mod mending;
mod proof;
mod thinking;

use std::sync::Mutex;
use std::time::Duration;

use cuebook_grammar::action::ActionKind;
use cuebook_grammar::observation::Challenge;
use cuebook_grammar::outcome::{Cause, Stage};
use cuebook_grammar::plan::Author;
use cuebook_grammar::record::{LoggedEvent, StepOrigin, StepResult};
use cuebook_grammar::report::{ErrorCode, RunResult};
use cuebook_grammar::seam::{ConfirmReply, PlanReply, PlannedStep, Stuck};
use serde_json::json;

use crate::request::Interrupt;

use fakes::{Shop, Trial as Fake, click, click_on, done, draft, failed, left, lock, plan};

const SAVE: (u32, &str, &str) = (1, "button", "Next");
const BACK: (u32, &str, &str) = (2, "button", "Back");

fn finish() -> PlanReply {
    plan(json!([{ "type": "finish" }]))
}

#[tokio::test]
async fn a_step_acts_after_its_intent_is_kept_and_counts_after_its_record_is() {
    let (report, shop) = Fake::new(&[SAVE]).exec(json!([click(1), { "type": "press", "keys": "Enter" }])).await;
    assert_eq!(report.result, RunResult::Ok);
    assert_eq!(
        report.steps.iter().map(|step| (step.index, step.plan_index)).collect::<Vec<_>>(),
        [(0, Some(0)), (1, Some(1))]
    );
    assert_eq!(
        lock(&shop).trace,
        [
            "open",
            "observe full",
            "begin 0.1 click",
            "act click c1",
            "commit 0.1",
            "begin 1.1 press",
            "act press Enter",
            "commit 1.1",
            "close ok",
        ]
    );
}

#[tokio::test]
async fn without_a_log_nothing_acts_and_without_a_record_nothing_succeeds() {
    for (lines, acted) in [(0, 0), (1, 0), (2, 1)] {
        let stage = Fake::new(&[SAVE]);
        stage.shop().log_breaks_at = Some(lines);
        let (report, shop) = stage.exec(json!([click(1)])).await;
        assert_eq!(report.result, RunResult::Error);
        assert_eq!(report.error.unwrap().code, ErrorCode::LogUnavailable);
        assert_eq!(lock(&shop).acted().len(), acted, "broken after {lines} lines");
        assert!(report.steps.is_empty());
    }
}

#[tokio::test]
async fn every_attempt_and_repair_has_one_record_and_every_step_one_report() {
    let stage = Fake::new(&[SAVE]).failing_first();
    let (report, shop) = stage.exec(json!([click(1)])).await;
    assert_eq!(report.result, RunResult::Ok);
    assert_eq!(lock(&shop).attempts(), ["0.1 click notStable", "1.1 waitForIdle ok", "0.2 click ok"]);
    let steps: Vec<_> = report.steps.iter().map(|step| (step.index, step.origin, step.result, step.repairs)).collect();
    assert_eq!(steps, [(0, StepOrigin::Plan, StepResult::Ok, 1), (1, StepOrigin::Repair, StepResult::Ok, 0)]);
}

#[tokio::test]
async fn a_run_does_not_end_well_if_something_speaks_against_it() {
    let stage = Fake::new(&[SAVE]);
    stage.shop().speaks_against_end = Some(Cause::InputLost);
    let (report, _) = stage.exec(json!([click(1)])).await;
    assert_eq!(report.result, RunResult::Failed);
    assert_eq!(report.error.unwrap().code, ErrorCode::InputLost);
    // A plan that says that it is done is not believed either.
    let stage = Fake::new(&[SAVE]);
    stage.shop().speaks_against_end = Some(Cause::EffectPending);
    let (report, _) = stage.exec(json!([click(1), { "type": "finish" }])).await;
    assert_eq!(report.error.unwrap().code, ErrorCode::EffectPending);
}

#[tokio::test]
async fn the_record_of_a_repair_says_why_it_ran() {
    let (_, shop) = Fake::new(&[SAVE]).failing_first().exec(json!([click(1)])).await;
    let shop = lock(&shop);
    let why: Vec<_> =
        shop.records.iter().map(|record| record.action.explanation.as_ref().map(ToString::to_string)).collect();
    assert_eq!(why, [None, Some("repair 1 of step 0, which failed: notStable; rung: wait".to_owned()), None]);
}

#[tokio::test]
async fn of_the_drafts_for_a_failure_the_first_that_can_run_runs() {
    let stage = Fake::new(&[SAVE, BACK])
        .planning(|n| match n {
            0 => plan(json!([click(1)])),
            1 => {
                let drafts = [json!([click(99)]), json!([click(2)]), json!([click(1)])];
                PlanReply { drafts: drafts.map(|steps| draft(steps, Author::Model)).to_vec(), ..PlanReply::default() }
            }
            _ => finish(),
        })
        .acting(|step, _| match step.action().target().map(ToString::to_string).as_deref() {
            Some("c1") => failed(Stage::Act, Cause::OptionNotFound),
            _ => done(),
        });
    let (report, shop) = stage.run().await;
    assert_eq!(report.result, RunResult::Ok, "{:?}", report.error);
    let shop = lock(&shop);
    assert_eq!(shop.asked.iter().map(|asked| asked.beam).collect::<Vec<_>>(), [1, 3, 1]);
    assert_eq!(shop.acted().last(), Some(&"click c2"), "{:?}", shop.acted());
    let [LoggedEvent::DraftTaken { taken: 1, others }] = &shop.happened[..] else { panic!("{:?}", shop.happened) };
    assert!(others[0].contains("c99") && others[1].starts_with("it holds too"), "{others:?}");
}

#[tokio::test]
async fn of_the_drafts_that_can_run_one_without_a_failed_precondition_runs() {
    let requiring = |id: u32, name: &str| {
        json!([{ "type": "click", "targetRef": format!("c{id}"),
                 "pre": [{ "kind": "nameEquals", "target": format!("c{id}"), "text": name }] }])
    };
    for (first, clicked) in [("Next", "click c1"), ("Pay", "click c2")] {
        let stage = Fake::new(&[SAVE, BACK]).planning(move |n| match n {
            0 => {
                let drafts = [requiring(1, first), requiring(2, "Back")];
                PlanReply { drafts: drafts.map(|steps| draft(steps, Author::Model)).to_vec(), ..PlanReply::default() }
            }
            _ => finish(),
        });
        let (report, shop) = stage.run().await;
        assert_eq!(report.result, RunResult::Ok, "{:?}", report.error);
        assert_eq!(lock(&shop).acted(), [clicked]);
    }
}

#[tokio::test]
async fn repairs_end_with_their_budget() {
    let flaky = || {
        Fake::new(&[SAVE]).acting(|step, _| match step.action().target() {
            Some(_) => failed(Stage::Actionability, Cause::NotStable),
            None => done(),
        })
    };
    for (of_step, of_run, attempts) in [(4, 20, 3), (1, 20, 2), (4, 1, 2), (0, 20, 1), (4, 0, 1)] {
        let mut stage = flaky();
        stage.budgets.repairs_per_step = of_step;
        stage.budgets.repairs_per_run = of_run;
        let (report, shop) = stage.exec(json!([click(1)])).await;
        assert_eq!(report.result, RunResult::Failed);
        let clicks = lock(&shop).acted().iter().filter(|line| line.starts_with("click")).count();
        assert_eq!(clicks, attempts, "{of_step} for a step, {of_run} for the run");
    }
}

#[tokio::test]
async fn plans_end_with_their_budget() {
    // Each plan is another one on another page, so nothing is stuck.
    let mut stage = Fake::new(&[SAVE]).planning(|_| plan(json!([click(1)]))).acting(|_, shop| {
        shop.fingerprint.push('.');
        shop.url.push('.');
        done()
    });
    stage.budgets.iterations = 7;
    let (report, shop) = stage.run().await;
    assert_eq!(report.error.unwrap().code, ErrorCode::BudgetExceeded);
    assert_eq!(lock(&shop).asked.len(), 7);
    assert_eq!(report.usage.planner_calls, 0, "the reply says what it cost");
}

#[tokio::test]
async fn a_run_out_of_time_says_so() {
    let mut stage = Fake::new(&[SAVE]).planning(|_| plan(json!([click(1)])));
    stage.budgets.run = Duration::ZERO;
    let (report, shop) = stage.run().await;
    assert_eq!(report.result, RunResult::Failed);
    assert_eq!(report.error.unwrap().code, ErrorCode::BudgetExceeded);
    assert!(lock(&shop).acted().is_empty());
}

#[tokio::test]
async fn what_needs_consent_runs_with_it_and_is_blocked_without() {
    let pay =
        || Fake::new(&[(1, "button", "Pay now")]).planning(|n| if n == 0 { plan(json!([click(1)])) } else { finish() });
    for answer in [ConfirmReply::No, ConfirmReply::Unanswered] {
        let stage = pay();
        stage.shop().answers.push_back(answer);
        let (report, shop) = stage.run().await;
        assert_eq!(report.result, RunResult::Blocked);
        assert_eq!(report.error.unwrap().code, ErrorCode::ConfirmationDenied);
        assert_eq!(lock(&shop).attempts(), ["0.1 click confirmationDenied"]);
        assert!(lock(&shop).acted().is_empty());
    }
    let stage = pay();
    stage.shop().answers.push_back(ConfirmReply::Yes(None));
    let (report, shop) = stage.run().await;
    assert_eq!(report.result, RunResult::Ok);
    assert_eq!(lock(&shop).acted(), ["click c1"]);
    assert!(lock(&shop).questions[0].grant.is_some());

    let mut stage = pay();
    stage.budgets.questions = 0;
    stage.shop().answers.push_back(ConfirmReply::Yes(None));
    let (report, shop) = stage.run().await;
    assert_eq!(report.result, RunResult::Blocked);
    assert!(lock(&shop).questions.is_empty(), "a person is not asked without end");

    let mut stage = pay();
    stage.policy = stage.policy.granting("money@shop.test").unwrap();
    let (report, shop) = stage.run().await;
    assert_eq!(report.result, RunResult::Ok);
    assert!(lock(&shop).questions.is_empty());
}

#[tokio::test]
async fn an_interrupted_step_stays_open_in_the_log() {
    let stage = Fake::new(&[SAVE]);
    stage.shop().hangs = true;
    let interrupt = stage.interrupt.clone();
    let shop = stage.shop.clone();
    let run = tokio::spawn(stage.exec(json!([click(1)])));
    while !lock(&shop).trace.iter().any(|line| line.starts_with("act")) {
        tokio::task::yield_now().await;
    }
    interrupt.trigger();
    let (report, _) = run.await.unwrap();
    assert_eq!(report.result, RunResult::Interrupted);
    assert_eq!(lock(&shop).trace[2..], ["begin 0.1 click", "act click c1", "close interrupted"]);
}

#[tokio::test]
async fn a_plan_that_lost_its_page_is_dropped_and_planned_again() {
    let leaving = |stage: Fake| {
        stage.acting(|_, shop| {
            shop.candidates = vec![(7, "button", "Continue", true)];
            left()
        })
    };
    let stage = leaving(Fake::new(&[SAVE, BACK])).planning(|n| match n {
        0 => plan(json!([click(1), click(2)])),
        _ => finish(),
    });
    let (report, shop) = stage.run().await;
    assert_eq!(report.result, RunResult::Ok);
    assert_eq!(lock(&shop).acted(), ["click c1"]);

    // `exec` never plans again; steps that name no candidate continue.
    let (report, shop) = leaving(Fake::new(&[SAVE, BACK])).exec(json!([click(1), click(2)])).await;
    assert_eq!(report.error.unwrap().code, ErrorCode::TargetStale);
    assert_eq!(lock(&shop).acted(), ["click c1"]);
    let (report, _) = leaving(Fake::new(&[SAVE])).exec(json!([click(1), { "type": "press", "keys": "Enter" }])).await;
    assert_eq!(report.result, RunResult::Ok);
}

#[tokio::test]
async fn exec_observes_the_whole_page_after_a_repair_too() {
    let stage = Fake::new(&[SAVE]).failing_first();
    stage.shop().candidates.push((2, "button", "Far below", false));
    let (report, shop) = stage.exec(json!([click(1), click(2)])).await;
    assert_eq!(report.result, RunResult::Ok, "{:?}", report.error);
    assert!(!lock(&shop).trace.iter().any(|line| line == "observe view"));
}

#[tokio::test]
async fn a_planner_that_repeats_itself_is_hinted_at_warned_and_stopped() {
    let stage = Fake::new(&[SAVE])
        .planning(|n| plan(json!([{ "type": "click", "targetRef": "c1", "explanation": format!("attempt {n}") }])));
    let (report, shop) = stage.run().await;
    assert_eq!(report.result, RunResult::Failed);
    assert_eq!(report.error.unwrap().code, ErrorCode::Stuck);
    let shop = lock(&shop);
    let seen: Vec<Stuck> = shop.asked.iter().map(|asked| asked.stuck).collect();
    assert_eq!(seen, [Stuck::No, Stuck::No, Stuck::No, Stuck::Hint, Stuck::Warning, Stuck::Warning]);
    assert_eq!(shop.acted().len(), 5);
}

#[tokio::test]
async fn a_planner_gets_its_state_back_and_learns_which_of_its_steps_ran() {
    let stage = Fake::new(&[SAVE]).planning(|n| {
        let reply = if n < 2 { plan(json!([{ "type": "press", "keys": "Tab" }, click(1)])) } else { finish() };
        PlanReply { state: Some(json!({ "done": n })), ..reply }
    });
    let stage = stage.failing_first();
    let (report, shop) = stage.run().await;
    assert_eq!(report.result, RunResult::Ok);
    let shop = lock(&shop);
    let states: Vec<_> = shop.asked.iter().map(|asked| (asked.plan, asked.state.clone())).collect();
    assert_eq!(states, [(0, None), (1, Some(json!({ "done": 0 }))), (2, Some(json!({ "done": 1 })))]);
    let planned: Vec<_> = shop.asked[2].history.iter().map(|entry| entry.planned).collect();
    let step = |plan, step| Some(PlannedStep { plan, step });
    assert_eq!(planned, [step(0, 0), step(0, 1), None, step(0, 1), step(1, 0), step(1, 1)]);
}

#[tokio::test]
async fn a_failure_reaches_the_planner_and_the_next_plan_clears_it() {
    let stage = Fake::new(&[SAVE, BACK])
        .planning(|n| match n {
            0 => plan(json!([click(1)])),
            1 => plan(json!([click(2)])),
            _ => finish(),
        })
        .acting(|step, _| match step.action().target().map(ToString::to_string).as_deref() {
            Some("c1") => failed(Stage::Act, Cause::OptionNotFound),
            _ => done(),
        });
    let (report, shop) = stage.run().await;
    assert_eq!(report.result, RunResult::Ok);
    let failures: Vec<_> = lock(&shop).asked.iter().map(|asked| asked.failure).collect();
    assert_eq!(failures, [None, Some(Cause::OptionNotFound), None]);
}

/// Questions to the person, and requests to the planner.
fn asked(shop: &Mutex<Shop>) -> (usize, usize) {
    let shop = lock(shop);
    (shop.questions.len(), shop.asked.len())
}

#[tokio::test]
async fn a_page_that_checks_the_browser_is_waited_for_then_left_to_the_person() {
    let check = Some(Challenge::Interstitial);
    let mut stage = Fake::new(&[SAVE]).planning(|_| finish());
    stage.task = "look at the shop";
    stage.shop().challenges = [check, check, None].into();
    let (report, shop) = stage.run().await;
    assert_eq!(report.result, RunResult::Ok);
    assert_eq!(asked(&shop), (0, 1));

    for (answer, questions) in [(ConfirmReply::Yes(None), 2), (ConfirmReply::Unanswered, 1)] {
        let mut stage = Fake::new(&[SAVE]).planning(|_| finish());
        stage.budgets.interstitial = Duration::ZERO;
        stage.shop().challenges = [check].into();
        stage.shop().answers.push_back(answer);
        let (report, shop) = stage.run().await;
        assert_eq!(report.error.unwrap().code, ErrorCode::Challenge);
        assert_eq!(asked(&shop), (questions, 0));
    }
}

#[tokio::test]
async fn a_test_for_humans_is_left_to_the_person_once_it_explains_a_failure() {
    let pass = || {
        let mut stage = Fake::new(&[SAVE])
            .planning(|n| if n == 0 { plan(json!([click(1)])) } else { finish() })
            .acting(|_, _| failed(Stage::Postcondition, Cause::PostconditionFailed));
        stage.budgets.captcha = Duration::ZERO;
        stage.shop().challenges = [Some(Challenge::Captcha)].into();
        stage
    };
    let (report, shop) = pass().run().await;
    let error = report.error.unwrap();
    assert_eq!(error.code, ErrorCode::Challenge);
    assert!(error.message.contains("no person answered it; seen: a page titled"), "{}", error.message);
    assert!(lock(&shop).questions[0].question.starts_with("shop.test shows a test for humans"));

    // Where nothing failed, it stands in nobody's way.
    let stage = Fake::new(&[SAVE]).planning(|n| if n == 0 { plan(json!([click(1)])) } else { finish() });
    stage.shop().challenges = [Some(Challenge::Captcha)].into();
    let (report, shop) = stage.run().await;
    assert_eq!((report.result, lock(&shop).questions.len()), (RunResult::Ok, 0));

    // The person passes it: the planner goes on.
    let stage = pass();
    stage.shop().challenges = [Some(Challenge::Captcha); 3].into_iter().chain([None]).collect();
    stage.shop().answers.push_back(ConfirmReply::Yes(None));
    let (report, shop) = stage.run().await;
    // And is told twice that a failed step is no end.
    assert_eq!((report.result, lock(&shop).asked.len()), (RunResult::Unproven, 4), "{:?}", report.error);
}

/// `exec` of a click on a declared target that is not there while this stands before the page.
fn hidden_by(challenge: Challenge, looks: usize) -> Fake {
    let mut stage = Fake::new(&[SAVE]).acting(|step, shop| match step.action().kind() {
        ActionKind::Click if shop.challenges.front().copied().flatten().is_some() => {
            failed(Stage::Resolve, Cause::TargetNotFound)
        }
        _ => done(),
    });
    stage.budgets.repairs_per_step = 0;
    stage.shop().challenges = vec![Some(challenge); looks].into_iter().chain([None]).collect();
    stage
}

#[tokio::test]
async fn a_step_of_a_plan_waits_for_what_hides_its_target() {
    for challenge in [Challenge::Interstitial, Challenge::Captcha] {
        let (report, shop) = hidden_by(challenge, 2).exec_declared(json!([click_on("save")])).await;
        assert_eq!(report.result, RunResult::Ok, "{challenge:?}: {report:#?}");
        assert_eq!(lock(&shop).attempts(), ["0.1 click targetNotFound", "0.2 click ok"]);
        assert!(lock(&shop).questions.is_empty());
    }
}

#[tokio::test]
async fn what_hides_a_plans_target_is_left_to_the_person_or_else_ends_the_run() {
    for challenge in [Challenge::Interstitial, Challenge::Captcha] {
        let hasty = || {
            let mut stage = hidden_by(challenge, 1);
            (stage.budgets.interstitial, stage.budgets.captcha) = (Duration::ZERO, Duration::ZERO);
            stage
        };
        let stage = hasty();
        stage.shop().answers.push_back(ConfirmReply::Yes(None));
        let (report, shop) = stage.exec_declared(json!([click_on("save")])).await;
        assert_eq!((report.result, lock(&shop).questions.len()), (RunResult::Ok, 1), "{challenge:?}");
        let (report, shop) = hasty().exec_declared(json!([click_on("save")])).await;
        let error = report.error.unwrap();
        assert_eq!((report.result, error.code), (RunResult::Failed, ErrorCode::Challenge), "{}", error.message);
        assert_eq!(lock(&shop).attempts(), ["0.1 click targetNotFound"], "what failed is in the report");
    }
}

#[tokio::test]
async fn what_a_person_passed_is_judged_and_not_sent_again() {
    for (url, result) in [("done", RunResult::Ok), ("", RunResult::Failed)] {
        let stage = Fake::new(&[SAVE]).acting(move |step, shop| {
            shop.url = format!("{}{url}", fakes::SHOP);
            mending::sent(step, shop)
        });
        stage.shop().challenges = [Some(Challenge::Interstitial), None].into();
        let (report, shop) = stage.exec_declared(json!([click_on("save")])).await;
        assert_eq!((report.result, lock(&shop).acted().len()), (result, 1), "{report:#?}");
    }
}

#[tokio::test]
async fn a_challenge_without_end_ends() {
    let stage = Fake::new(&[SAVE]).acting(|_, _| failed(Stage::Resolve, Cause::TargetNotFound));
    let check = Some(Challenge::Interstitial);
    stage.shop().challenges = [check, None].into_iter().cycle().take(40).collect();
    let (report, shop) = stage.exec_declared(json!([click_on("save")])).await;
    assert_eq!(report.error.unwrap().code, ErrorCode::TargetNotFound);
    assert!(lock(&shop).acted().iter().filter(|line| line.starts_with("click")).count() < 9);
}

#[tokio::test]
async fn a_target_that_a_list_has_not_drawn_is_searched_for_once_and_to_the_end() {
    let finds = |is_there: bool| {
        let stage = Fake::new(&[SAVE]).acting(move |step, shop| match step.action().kind() {
            ActionKind::ScrollUntil => {
                shop.panes = vec![(700, if is_there { 300 } else { 0 })];
                let end = || failed(Stage::Resolve, Cause::TargetNotFound);
                if is_there { done() } else { end() }
            }
            ActionKind::Click if shop.panes == [(700, 300)] => done(),
            ActionKind::Click => failed(Stage::Resolve, Cause::TargetNotFound),
            _ => done(),
        });
        stage.shop().panes = vec![(0, 900)];
        stage.exec_declared(json!([click_on("other")]))
    };
    let (report, shop) = finds(true).await;
    assert_eq!(report.result, RunResult::Ok, "{report:#?}");
    assert_eq!(lock(&shop).attempts(), ["0.1 click targetNotFound", "1.1 scrollUntil ok", "0.2 click ok"]);
    let (report, shop) = finds(false).await;
    assert_eq!(report.error.unwrap().code, ErrorCode::TargetNotFound);
    assert_eq!(lock(&shop).acted().iter().filter(|line| line.starts_with("scrollUntil")).count(), 1);
}

#[tokio::test]
async fn drafts_that_keep_failing_the_check_end_the_run_with_what_is_wrong() {
    let (report, shop) = Fake::new(&[SAVE]).planning(|_| plan(json!([click(9)]))).run().await;
    assert_eq!(report.result, RunResult::Failed);
    let error = report.error.unwrap();
    assert_eq!((error.code, error.violations.len()), (ErrorCode::InvalidPlan, 1));
    assert_eq!(lock(&shop).asked.len(), 2);
    assert!(lock(&shop).acted().is_empty());
}

#[tokio::test]
async fn calls_of_a_model_are_in_the_log_before_the_steps_that_name_them() {
    let stage = Fake::new(&[SAVE]).planning(|n| if n == 0 { plan(json!([click(1)])) } else { finish() });
    let (_, shop) = stage.run().await;
    let shop = lock(&shop);
    assert_eq!(shop.trace[..4], ["open", "observe view", "planned 0", "begin 0.1 click"]);
    assert_eq!(shop.records[0].planning, Some(0));
}

#[tokio::test]
async fn a_page_that_is_gone_fails_the_run_and_a_broken_modeler_is_an_error() {
    for (lost, result, code) in [
        (Some(Cause::PageCrashed), RunResult::Failed, ErrorCode::PageCrashed),
        (Some(Cause::BrowserGone), RunResult::Error, ErrorCode::BrowserGone),
        (None, RunResult::Error, ErrorCode::ModelerBroken),
    ] {
        let fake = Fake::new(&[SAVE]);
        fake.shop().unseen = Some(lost);
        let (report, _) = fake.run().await;
        assert_eq!((report.result, report.error.map(|error| error.code)), (result, Some(code)));
    }
}

#[tokio::test]
async fn an_open_run_has_one_log_and_numbers_its_steps_over_all_pieces() {
    let pieces = vec![(json!([click(1)]), Interrupt::default()), (json!([click(2)]), Interrupt::default())];
    let (reports, shop) = Fake::new(&[SAVE, BACK]).session(pieces).await;
    let steps: Vec<Vec<_>> =
        reports.iter().map(|report| report.steps.iter().map(|step| step.index).collect()).collect();
    assert_eq!(steps, [vec![0], vec![1], vec![0, 1]]);
    let shop = lock(&shop);
    let kept: Vec<_> = shop.trace.iter().filter(|line| !line.starts_with("observe")).collect();
    assert_eq!(
        kept,
        [
            "open",
            "begin 0.1 click",
            "act click c1",
            "commit 0.1",
            "begin 1.1 click",
            "act click c2",
            "commit 1.1",
            "close ok",
        ]
    );
    let plans: Vec<_> = shop.records.iter().map(|record| record.plan_id.as_ref().unwrap().to_string()).collect();
    assert_eq!(plans, ["p0", "p1"]);
}

#[tokio::test]
async fn a_page_that_was_looked_at_is_looked_at_again_only_if_it_changed() {
    for (is_unchanged, looks) in [(true, 0), (false, 1)] {
        let fake = Fake::new(&[SAVE, BACK]);
        fake.shop().is_unchanged = is_unchanged;
        let trace = fake.click_after_a_look().await;
        assert_eq!(trace.iter().filter(|line| line.starts_with("observe")).count(), looks, "{trace:?}");
        assert!(trace.contains(&"act click c1".to_owned()), "{trace:?}");
    }
}

#[tokio::test]
async fn an_interrupt_ends_a_piece_of_an_open_run_and_not_the_run() {
    let interrupt = Interrupt::default();
    interrupt.trigger();
    let pieces = vec![(json!([click(1)]), interrupt), (json!([click(2)]), Interrupt::default())];
    let (reports, shop) = Fake::new(&[SAVE, BACK]).session(pieces).await;
    let results: Vec<_> = reports.iter().map(|report| report.result).collect();
    assert_eq!(results, [RunResult::Interrupted, RunResult::Ok, RunResult::Ok]);
    assert_eq!(lock(&shop).acted(), ["click c2"]);
}
