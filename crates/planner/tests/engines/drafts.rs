//! Several drafts of a repair in one answer: `n` of chat completions.

use std::time::Instant;

use cuebook_grammar::deadline::Deadline;
use cuebook_grammar::outcome::{Cause, Stage as FailedAt, StepFailure};
use cuebook_grammar::planning::CallEnd;
use cuebook_grammar::seam::{PlanReply, PlanRequest};
use serde_json::{Value, json};

use crate::servers::{Dialect, Play, Server};
use crate::stage::{Sink, Stage};

fn plan(target: &str) -> String {
    json!({ "version": "1.0", "last": { "type": "click", "targetRef": target } }).to_string()
}

/// A stream in which each draft is interleaved with the others, in pieces.
fn streamed(drafts: &[&str], ends: bool) -> Play {
    let event = |choice: Value| format!("data: {}\n\n", json!({ "choices": [choice] })).into_bytes();
    let mut events = Vec::new();
    let longest = drafts.iter().map(|draft| draft.len()).max().unwrap_or(0);
    for from in (0..longest).step_by(7) {
        for (index, draft) in drafts.iter().enumerate() {
            let piece = draft.get(from..(from + 7).min(draft.len())).unwrap_or_default();
            events.push(event(json!({ "index": index, "delta": { "content": piece } })));
        }
    }
    if ends {
        let stop = |index| event(json!({ "index": index, "delta": {}, "finish_reason": "stop" }));
        events.extend((0..drafts.len()).map(stop));
        let usage = json!({ "choices": [], "usage": { "prompt_tokens": 100, "completion_tokens": 60 } });
        events.push(format!("data: {usage}\n\ndata: [DONE]\n\n").into_bytes());
    }
    Play::streaming(200, "text/event-stream").parts(events).end()
}

/// The drafts in one document, from a server that does not stream.
fn whole(drafts: &[&str]) -> Play {
    let choice = |(index, draft): (usize, &&str)| json!({ "index": index, "message": { "role": "assistant", "content": draft }, "finish_reason": "stop" });
    let choices: Vec<Value> = drafts.iter().enumerate().map(choice).collect();
    let document = json!({ "choices": choices, "usage": { "prompt_tokens": 100, "completion_tokens": 60 } });
    Play::whole(200, "application/json", &document.to_string())
}

async fn repair(play: Play, drafts: usize) -> (PlanReply, Sink, Value) {
    let server = Server::playing([play]).await;
    let stage = Stage::new(Dialect::OpenAi).limited(|limits| limits.drafts = drafts);
    let failure = StepFailure::new(FailedAt::Actionability, Cause::Covered, "covered by div#cookie");
    let request = PlanRequest { failure: Some(&failure), beam: 3, ..stage.request() };
    let mut sink = Sink::default();
    let deadline = Deadline::after(Instant::now(), std::time::Duration::from_secs(60));
    let reply = stage.engine(&server.origin()).plan(&request, &mut sink, deadline).await;
    let asked = server.requests().first().map(|request| request.json()).unwrap_or_default();
    assert_eq!(server.requests().len(), 1, "one request for all drafts");
    (reply.unwrap_or_else(|error| panic!("{error:?}: {:#?}", sink.calls)), sink, asked)
}

#[tokio::test]
async fn a_server_writes_three_drafts_in_one_answer() {
    let [good, other] = ["c1", "c2"].map(plan);
    for play in [streamed(&[&plan("c999"), &good, &other], true), whole(&[&plan("c999"), &good, &other])] {
        let (reply, sink, asked) = repair(play, 3).await;
        assert_eq!((reply.drafts.len(), &asked["n"]), (2, &json!(3)));
        let [call] = &sink.calls[..] else { panic!("{:#?}", sink.calls) };
        assert_eq!((call.output.as_str(), call.attempts, call.output_tokens), (good.as_str(), 1, 60));
        assert!(matches!(call.others[0].end, CallEnd::Invalid { .. }), "{:#?}", call.others);
        assert_eq!((call.others[1].output.as_str(), &call.others[1].end), (other.as_str(), &CallEnd::Accepted));
        assert!(sink.steps.is_empty());
    }
}

#[tokio::test]
async fn a_server_that_ignores_the_number_or_breaks_a_draft_has_written_fewer() {
    let good = plan("c1");
    for (play, others) in [
        (streamed(&[&good], true), 0),
        (whole(&[&good]), 0),
        (streamed(&[&good, "{\"version\":\"1.0\",\"la", "Sorry, I cannot"], true), 2),
        // It ends without saying so: what is whole counts.
        (streamed(&[&good, "{\"version\""], false), 1),
    ] {
        let (reply, sink, _) = repair(play, 3).await;
        assert_eq!((reply.drafts.len(), sink.calls[0].others.len()), (1, others), "{:#?}", sink.calls);
    }
}

#[tokio::test]
async fn no_number_is_sent_unless_several_drafts_are_wanted() {
    let (reply, _, asked) = repair(streamed(&[&plan("c1")], true), 1).await;
    assert_eq!((reply.drafts.len(), asked.get("n")), (1, None));
}
