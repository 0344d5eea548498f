//! One reformulation, budgets, cancellation, audit.

use std::time::Duration;

use cuebook_decoding::emit::Target;
use cuebook_grammar::outcome::{Cause, Stage, StepFailure};
use cuebook_grammar::planning::{CallEnd, CallPurpose, MessageRole};
use cuebook_grammar::seam::{IgnoreSteps, PlanRequest, Planner};

use super::super::*;
use super::fake::{Fake, GOOD, Part, Play, Sink, login, plan, request, soon, text};

const BAD: &str = r#"{"version":"1.0","last":{"type":"click","targetRef":"c9"}}"#;

#[tokio::test]
async fn a_plan_is_returned_with_its_steps_reported_and_its_call_recorded() {
    let planner = ModelPlanner::new(Fake::planning([text(GOOD)]));
    let (reply, sink) = plan(&planner).await;
    let reply = reply.unwrap();
    assert_eq!(reply.drafts[0].steps, sink.steps.iter().map(|(_, step)| step.clone()).collect::<Vec<_>>());
    assert_eq!((reply.usage.planner_calls, reply.usage.input_tokens, reply.usage.output_tokens), (1, 100, 20));
    let [call] = &sink.calls[..] else { panic!("{:?}", sink.calls) };
    assert_eq!((call.engine.as_str(), call.model.as_deref(), call.attempts), ("fake", Some("tiny"), 1));
    assert_eq!((call.purpose, &call.end), (CallPurpose::Plan, &CallEnd::Accepted));
    assert_eq!((call.output.as_str(), call.reasoning.as_deref()), (GOOD, Some("fill in, then submit")));
    assert_eq!((call.confidence, call.input.len()), (Some(0.5), 2));
    assert!(call.first_step_ms.is_some());
}

#[tokio::test]
async fn an_invalid_answer_is_reformulated_once_with_its_violations() {
    let planner = ModelPlanner::new(Fake::planning([text(BAD), text(GOOD)]));
    let (reply, sink) = plan(&planner).await;
    let reply = reply.unwrap();
    assert_eq!((reply.drafts.len(), reply.usage.planner_calls), (1, 2));
    let purposes: Vec<CallPurpose> = sink.calls.iter().map(|call| call.purpose).collect();
    assert_eq!(purposes, [CallPurpose::Plan, CallPurpose::Reformulate]);
    assert!(matches!(sink.calls[0].end, CallEnd::Invalid { .. }));
    let seen = planner.engine().seen.lock().unwrap();
    let [.., answer, complaint] = &seen.asked[1].0[..] else { panic!("too few messages") };
    assert_eq!((answer.role, complaint.role), (MessageRole::Assistant, MessageRole::User));
    assert!(answer.text.starts_with(r#"{"version":"1.0","last":{"type":"click","targetRef":"c9"#), "{}", answer.text);
    assert!(complaint.text.contains("/last/targetRef") && complaint.text.contains("c1"), "{}", complaint.text);
}

#[tokio::test]
async fn a_second_invalid_answer_is_an_error_with_every_violation() {
    let planner = ModelPlanner::new(Fake::planning([text(BAD), text(BAD)]));
    let (reply, sink) = plan(&planner).await;
    let error = reply.unwrap_err();
    assert_eq!(error.code(), "invalidPlan");
    assert!(matches!(&error, ModelError::Invalid { violations } if violations.len() == 1), "{error}");
    assert_eq!(sink.calls.len(), 2);
}

#[tokio::test]
async fn a_call_after_a_failed_step_is_a_repair() {
    let planner = ModelPlanner::new(Fake::planning([text(GOOD)]));
    let (page, policy) = login();
    let failure = StepFailure::new(Stage::Actionability, Cause::Covered, "covered by div#cookie");
    let request = PlanRequest { failure: Some(&failure), ..request(&page, &policy) };
    let mut sink = Sink::default();
    planner.plan(&request, &mut sink, soon(Duration::from_secs(9))).await.unwrap();
    assert_eq!(sink.calls[0].purpose, CallPurpose::Repair);
    assert!(
        sink.calls[0].input[1].text.contains("| covered: covered by div#cookie"),
        "{}",
        sink.calls[0].input[1].text
    );
}

#[tokio::test]
async fn a_refusal_is_a_reply_without_drafts_and_is_not_retried() {
    let plays = [
        vec![Part::Event(ChatEvent::Refusal("I can not help".into())), Part::Event(ChatEvent::Done(Finish::Stop))],
        vec![Part::Event(ChatEvent::Done(Finish::Refused))],
    ];
    for events in plays {
        let planner = ModelPlanner::new(Fake::planning([Play::Says(events)]));
        let (reply, sink) = plan(&planner).await;
        let reply = reply.unwrap();
        assert!(reply.drafts.is_empty() && reply.note.unwrap().starts_with("the model refuses"));
        assert!(matches!(&sink.calls[0].end, CallEnd::Failed { code, .. } if code == "refused"));
        assert_eq!(planner.engine().seen.lock().unwrap().asked.len(), 1);
    }
}

#[tokio::test]
async fn what_a_model_remembers_is_known_with_its_first_step_in_every_dialect() {
    let json = GOOD.replace("fill in, then submit", r#"fill in. Remember: \"A\" wants 35.90"#);
    let lines = "# fill in. Remember: \"A\" wants 35.90\nsetValue(c1,\"ada\")\nclick(c2)\n";
    let cases = [
        (Dialect::Plan(Target::Ollama), json.clone()),
        (Dialect::Plan(Target::OpenAi), json.clone()),
        (Dialect::Prompted, json),
        (Dialect::Plan(Target::Line), lines.to_owned()),
    ];
    for (dialect, answer) in cases {
        let planner = ModelPlanner::new(Fake::new(dialect, [text(&answer)]));
        let (reply, sink) = plan(&planner).await;
        assert_eq!(reply.unwrap().memory.as_deref(), Some("\"A\" wants 35.90"), "{dialect:?}");
        assert_eq!(sink.memory.as_deref(), Some("\"A\" wants 35.90"), "{dialect:?}");
    }
    let call = |index, name: &str, arguments: &str| {
        let (name, arguments) = (Some(name.to_owned()), arguments.to_owned());
        Part::Event(ChatEvent::Call { index, name, arguments })
    };
    let said = Part::Event(ChatEvent::Text("Fill in. Remember: \"A\" wants 35.90".to_owned()));
    let set = call(0, "setValue", r#"{"targetRef":"c1","value":"ada"}"#);
    let click = call(1, "click", r#"{"targetRef":"c2"}"#);
    let calls = Play::Says(vec![said, set, click, Part::Event(ChatEvent::Done(Finish::Stop))]);
    let (reply, sink) = plan(&ModelPlanner::new(Fake::new(Dialect::Calls(Target::Tools), [calls]))).await;
    assert_eq!(reply.unwrap().memory.as_deref(), Some("\"A\" wants 35.90"));
    assert_eq!(sink.memory.as_deref(), Some("\"A\" wants 35.90"));
}

#[tokio::test]
async fn when_the_budget_of_tokens_is_used_up_no_request_is_sent() {
    let limits = Limits { run_tokens: 120, ..Limits::default() };
    let planner = ModelPlanner::new(Fake::planning([text(GOOD)])).with_limits(limits);
    plan(&planner).await.0.unwrap();
    let (reply, sink) = plan(&planner).await;
    assert!(
        matches!(reply, Err(ModelError::Budget { budget: Budget::RunTokens, used: 120, allowed: 120 })),
        "{reply:?}"
    );
    assert!(sink.calls.is_empty());
    assert_eq!(planner.engine().seen.lock().unwrap().asked.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn when_the_budget_of_time_is_used_up_no_request_is_sent() {
    let slow = Play::Says(vec![Part::Wait(Duration::from_secs(20)), Part::Event(ChatEvent::Done(Finish::Refused))]);
    let limits = Limits { run_time: Duration::from_secs(15), ..Limits::default() };
    let planner = ModelPlanner::new(Fake::planning([slow])).with_limits(limits);
    plan(&planner).await.0.unwrap();
    let (reply, _) = plan(&planner).await;
    assert!(matches!(reply, Err(ModelError::Budget { budget: Budget::RunTime, .. })), "{reply:?}");
}

#[tokio::test]
async fn a_dropped_plan_closes_its_connection_and_is_reported_as_cancelled() {
    let wait = || {
        let begun = Part::Event(ChatEvent::Text(GOOD[..60].to_owned()));
        Play::Says(vec![begun, Part::Wait(Duration::from_secs(3_600))])
    };
    let planner = ModelPlanner::new(Fake::planning([wait()]));
    let seen = planner.engine().seen.clone();
    let (page, policy) = login();
    let mut sink = Sink::default();
    let request = request(&page, &policy);
    {
        let mut future = Box::pin(planner.plan(&request, &mut sink, soon(Duration::from_secs(60))));
        let waited = tokio::time::timeout(Duration::from_millis(1), &mut future).await;
        assert!(waited.is_err());
        assert_eq!(seen.lock().unwrap().open, 1);
    }
    assert_eq!(seen.lock().unwrap().open, 0);
    let [call] = &sink.calls[..] else { panic!("{:?}", sink.calls) };
    assert!(matches!(&call.end, CallEnd::Failed { code, .. } if code == "cancelled"));
    assert_eq!(call.output, GOOD[..60]);
}

#[tokio::test]
async fn the_tokens_of_a_call_that_was_cut_off_count_in_the_budget() {
    let begun = Part::Event(ChatEvent::Text(GOOD[..60].to_owned()));
    let cut = Play::Says(vec![begun, Part::Wait(Duration::from_secs(3_600))]);
    let planner = ModelPlanner::new(Fake::planning([cut, text(GOOD)]));
    let (page, policy) = login();
    let mut sink = Sink::default();
    let request = request(&page, &policy);
    let planning = planner.plan(&request, &mut sink, soon(Duration::from_secs(60)));
    assert!(tokio::time::timeout(Duration::from_millis(1), planning).await.is_err());
    let asked: usize = planner.engine().seen.lock().unwrap().asked[0].0.iter().map(|message| message.text.len()).sum();
    let limits = Limits { run_tokens: asked.div_ceil(4) as u64, ..Limits::default() };
    let planner = planner.with_limits(limits);
    let (reply, _) = plan(&planner).await;
    assert!(matches!(reply, Err(ModelError::Budget { budget: Budget::RunTokens, .. })), "{reply:?}");
}

#[tokio::test]
async fn the_token_limit_is_the_lesser_of_the_setting_and_the_computed_bound() {
    for (limit, expected) in [(77, 77), (u32::MAX, 0)] {
        let limits = Limits { output_tokens: limit, ..Limits::default() };
        let planner = ModelPlanner::new(Fake::planning([text(GOOD)])).with_limits(limits);
        let (page, policy) = login();
        planner.plan(&request(&page, &policy), &mut IgnoreSteps, soon(Duration::from_secs(9))).await.unwrap();
        let bound = u32::try_from(cuebook_decoding::specialise(&page, &policy).max_tokens()).unwrap();
        let expected = if expected == 0 { bound } else { expected };
        assert_eq!(planner.engine().seen.lock().unwrap().asked[0].1, expected);
    }
}
