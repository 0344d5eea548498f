//! Several drafts of a repair, asked for one by one.

use std::time::Duration;

use cuebook_grammar::outcome::{Cause, Stage, StepFailure};
use cuebook_grammar::planning::CallEnd;
use cuebook_grammar::seam::{PlanReply, PlanRequest, Planner};

use super::super::*;
use super::fake::{Fake, GOOD, Part, Play, Sink, login, request, soon, text};

const BAD: &str = r#"{"version":"1.0","last":{"type":"click","targetRef":"c9"}}"#;
const HELP: &str = r#"{"version":"1.0","last":{"type":"click","targetRef":"c3"}}"#;

/// A repair, of which the model may write this many drafts.
async fn repair(drafts: usize, plays: Vec<Play>) -> (Result<PlanReply, ModelError>, Sink, ModelPlanner<Fake>) {
    let limits = Limits { drafts, first_wait: Duration::from_millis(1), ..Limits::default() };
    let planner = ModelPlanner::new(Fake::planning(plays)).with_limits(limits);
    let (page, policy) = login();
    let failure = StepFailure::new(Stage::Actionability, Cause::Covered, "covered by div#cookie");
    let mut sink = Sink::default();
    let asked = PlanRequest { failure: Some(&failure), beam: 3, ..request(&page, &policy) };
    let reply = planner.plan(&asked, &mut sink, soon(Duration::from_secs(60))).await;
    (reply, sink, planner)
}

fn clicked(reply: &PlanReply) -> Vec<String> {
    let last = |draft: &cuebook_grammar::plan::PlanDraft| {
        draft.steps.last().and_then(|step| step.action.target()).map(|target| target.to_string())
    };
    reply.drafts.iter().filter_map(last).collect()
}

#[tokio::test]
async fn three_drafts_are_asked_for_and_the_valid_ones_returned() {
    let (reply, sink, _) = repair(3, vec![text(BAD), text(GOOD), text(HELP)]).await;
    let reply = reply.unwrap();
    assert_eq!(clicked(&reply), ["c2", "c3"]);
    assert_eq!((reply.usage.planner_calls, reply.usage.input_tokens, reply.usage.output_tokens), (1, 300, 60));
    let [call] = &sink.calls[..] else { panic!("{:#?}", sink.calls) };
    assert_eq!((call.output.as_str(), &call.end, call.attempts), (GOOD, &CallEnd::Accepted, 3));
    assert_eq!((call.input_tokens, call.output_tokens), (300, 60));
    let [bad, help] = &call.others[..] else { panic!("{:#?}", call.others) };
    assert!(matches!(&bad.end, CallEnd::Invalid { violations } if violations[0].path == "/last/targetRef"), "{bad:?}");
    assert_eq!((help.output.as_str(), &help.end), (HELP, &CallEnd::Accepted));
    assert!(sink.steps.is_empty(), "nothing runs before one is taken");
}

#[tokio::test]
async fn one_draft_is_asked_for_unless_more_are_wanted() {
    let (reply, sink, planner) = repair(1, vec![text(GOOD), text(HELP)]).await;
    assert_eq!((clicked(&reply.unwrap()), sink.calls[0].others.len()), (vec!["c2".to_owned()], 0));
    assert_eq!(planner.engine().seen.lock().unwrap().asked.len(), 1);

    // A plan that repairs nothing runs while it arrives.
    let planner = ModelPlanner::new(Fake::planning([text(GOOD), text(HELP)]))
        .with_limits(Limits { drafts: 3, ..Limits::default() });
    let (reply, sink) = super::fake::plan(&planner).await;
    assert_eq!((reply.unwrap().drafts.len(), sink.steps.len()), (1, 2));
}

#[tokio::test]
async fn a_server_that_breaks_off_later_has_written_fewer_drafts() {
    let cut = || Play::Says(vec![Part::Event(ChatEvent::Text(GOOD[..40].to_owned())), Part::Error(EngineError::Cut)]);
    let failing = || Play::Fails(EngineError::Server { status: 500, retry_after: None, message: String::new() });
    for second in [cut(), failing()] {
        let (reply, sink, planner) = repair(3, vec![text(GOOD), second, text(HELP)]).await;
        assert_eq!(clicked(&reply.unwrap()), ["c2"]);
        assert_eq!((sink.calls.len(), planner.engine().seen.lock().unwrap().asked.len()), (1, 2));
    }
}

#[tokio::test]
async fn without_a_valid_draft_the_answer_is_reformulated_once() {
    let (reply, sink, _) = repair(2, vec![text(BAD), text(BAD), text(BAD), text(HELP)]).await;
    assert_eq!(clicked(&reply.unwrap()), ["c3"]);
    let ends: Vec<bool> = sink.calls.iter().map(|call| call.end == CallEnd::Accepted).collect();
    assert_eq!(ends, [false, true]);
    assert_eq!(sink.calls[1].output, HELP);
}
