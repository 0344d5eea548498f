//! Silence, endless output and cancellation: everything ends by its deadline, with the connection.

use std::time::{Duration, Instant};

use cuebook_grammar::deadline::Deadline;
use cuebook_grammar::planning::CallEnd;

use crate::each;
use crate::page::order;
use crate::servers::{Dialect, End, Play, ScriptedReply, Server};
use crate::stage::{Sink, Stage};

/// Longer than any test needs, shorter than the timeout of the test runner.
const SHORT: Duration = Duration::from_millis(300);

fn good(dialect: Dialect) -> Play {
    dialect.saying(&dialect.plan(&order()))
}

/// The first half of a plan, and then nothing.
fn half(dialect: Dialect) -> Play {
    let mut events = dialect.events(&dialect.plan(&order()).ending(End::Unsaid));
    events.truncate(events.len() / 2);
    dialect.opening().parts(events).hold()
}

/// Does not wait long for a first byte.
fn impatient(dialect: Dialect) -> Stage {
    Stage::new(dialect).limited(|limits| limits.first_byte = Duration::from_secs(3))
}

#[test]
fn a_stall_before_the_first_byte_is_retried() {
    each(async |dialect| {
        for silence in [Play::nothing().hold(), dialect.opening().hold()] {
            let asked = impatient(dialect).ask([silence.clone(), good(dialect)]).await;
            asked.is_the_order();
            assert!(asked.server.hung_up(0).await.hung_up);
            let asked = impatient(dialect).limited(|limits| limits.retries = 1).ask([silence]).await;
            assert_eq!((asked.code(), asked.calls[0].attempts), ("stalled", 2));
            // On a busy machine a request may be given up before it was sent.
            for index in 0..asked.requests().len() {
                assert!(asked.server.hung_up(index).await.hung_up);
            }
        }
    });
}

#[test]
fn a_stall_in_the_midst_is_told_and_the_connection_closed() {
    each(async |dialect| {
        let asked =
            Stage::new(dialect).limited(|limits| limits.stall = SHORT).ask([half(dialect), good(dialect)]).await;
        assert_eq!((asked.code(), asked.requests().len()), ("stalled", 1));
        assert!(asked.server.hung_up(0).await.hung_up);
        assert_eq!(asked.ends(), ["failed"]);
    });
}

#[test]
fn the_deadline_ends_silence_of_every_kind() {
    each(async |dialect| {
        for silence in [Play::nothing().hold(), dialect.opening().hold(), half(dialect)] {
            let asked = Stage::new(dialect).within(Duration::from_secs(2)).ask([silence]).await;
            assert_eq!((asked.code(), asked.calls[0].attempts), ("deadlineExceeded", 1));
            // On a busy machine the deadline may pass before anything is sent.
            for index in 0..asked.requests().len() {
                assert!(asked.server.hung_up(index).await.hung_up);
            }
        }
    });
}

#[test]
fn signs_of_life_without_an_answer_end_at_the_deadline() {
    each(async |dialect| {
        let alive: &[u8] = match dialect {
            Dialect::Ollama => b"\n",
            Dialect::Anthropic => b"event: ping\ndata: {\"type\": \"ping\"}\n\n",
            _ => b": keep-alive\n\n",
        };
        // Nothing said, in good order.
        let empty = match dialect {
            Dialect::Ollama => b"{\"message\":{\"role\":\"assistant\",\"content\":\"\"},\"done\":false}\n".to_vec(),
            _ => dialect.events(&ScriptedReply::text("")).remove(0),
        };
        for bytes in [alive.to_vec(), empty] {
            let flood = dialect.opening().repeat(bytes);
            let asked = Stage::new(dialect).within(Duration::from_secs(2)).ask([flood]).await;
            assert!(["deadlineExceeded", "tooLong", "badFormat"].contains(&asked.code()), "{:?}", asked.result);
            for index in 0..asked.requests().len() {
                assert!(asked.server.hung_up(index).await.hung_up);
            }
        }
    });
}

#[test]
fn an_endless_line_is_cut_before_it_fills_the_memory() {
    each(async |dialect| {
        let begun: &[u8] = if dialect == Dialect::Ollama { b"{\"model\":\"" } else { b"data: {\"id\":\"" };
        let flood = dialect.opening().parts([begun.to_vec()]).repeat(vec![b'x'; 64 << 10]);
        let asked = Stage::new(dialect).limited(|limits| limits.retries = 0).ask([flood]).await;
        assert!(["tooLong", "badFormat"].contains(&asked.code()), "{:?}", asked.result);
        assert!(asked.server.hung_up(0).await.sent <= 64 << 20);
    });
}

#[test]
fn a_deadline_that_has_passed_sends_nothing() {
    each(async |dialect| {
        let stage = Stage::new(dialect);
        let server = Server::playing([good(dialect)]).await;
        let engine = stage.engine(&server.origin());
        let mut sink = Sink::default();
        let passed = Deadline::after(Instant::now(), Duration::ZERO);
        let error = engine.plan(&stage.request(), &mut sink, passed).await.unwrap_err();
        assert_eq!(error.code(), "deadlineExceeded");
        assert_eq!((server.requests().len(), sink.steps.len()), (0, 0));
    });
}

#[test]
fn dropping_the_plan_closes_the_connection() {
    each(async |dialect| {
        let busy = dialect.error(429, "busy").header("Retry-After", "20");
        let cases = [
            ("before the head", Play::nothing().hold(), true),
            ("after the head", dialect.opening().hold(), true),
            ("in the midst", half(dialect), true),
            ("between two requests", busy, false),
        ];
        for (moment, play, is_open) in cases {
            let stage = Stage::new(dialect);
            let server = Server::playing([play]).await;
            let engine = stage.engine(&server.origin());
            let mut sink = Sink::default();
            {
                let request = stage.request();
                let planning = engine.plan(&request, &mut sink, stage.deadline());
                tokio::select! {
                    result = planning => panic!("{moment}: nothing ends it, saw {result:?}"),
                    () = async { server.asked(0).await; tokio::time::sleep(SHORT).await; } => {}
                }
            }
            // The call is reported although its future was dropped.
            let [call] = &sink.calls[..] else { panic!("{moment}: {:#?}", sink.calls) };
            assert!(
                matches!(&call.end, CallEnd::Failed { code, .. } if code == "cancelled"),
                "{moment}: {:?}",
                call.end
            );
            if is_open {
                assert!(server.hung_up(0).await.hung_up, "{moment}");
            }
            tokio::time::sleep(SHORT).await;
            assert_eq!(server.requests().len(), 1, "{moment}: nothing is sent afterwards");
        }
    });
}

#[test]
fn budgets_of_a_run_end_it_before_the_next_request() {
    each(async |dialect| {
        let stage = Stage::new(dialect).limited(|limits| limits.run_tokens = 500);
        let server = Server::playing([good(dialect)]).await;
        let engine = stage.engine(&server.origin());
        let asked = stage.ask_of(&engine, server).await;
        // 472 read and 89 written.
        asked.is_the_order();
        let asked = stage.ask_of(&engine, asked.server).await;
        assert_eq!((asked.code(), asked.requests().len()), ("budgetExceeded", 1));
    });
}
