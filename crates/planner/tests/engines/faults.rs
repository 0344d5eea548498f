//! Errors of servers and of the network: retried if that may help, within bounds, and returned with their kind.

use std::io::Write as _;
use std::time::Duration;

use cuebook_grammar::secret::WireText;
use cuebook_planner::ModelError;
use cuebook_planner::converse::EngineError;

use crate::each;
use crate::page::order;
use crate::servers::{Dialect, End, Part, Play, ScriptedReply, Server};
use crate::stage::{EngineReply, KEY, Stage};

/// The plan, in good order.
fn good(dialect: Dialect) -> Play {
    dialect.saying(&dialect.plan(&order()))
}

/// The error of the engine itself.
fn engine_error(asked: &EngineReply) -> &EngineError {
    let ModelError::Engine { source, .. } = asked.error() else { panic!("{:?}", asked.result) };
    source
}

/// The beginning of a plan's stream, cut in the midst of an event.
fn cut(dialect: Dialect) -> Play {
    let play = dialect.opening().parts(dialect.events(&dialect.plan(&order())));
    let half = play.body_len() / 2;
    play.cut_after(half).close()
}

#[test]
fn a_temporary_server_error_is_retried() {
    each(async |dialect| {
        let html = "<!DOCTYPE html><html><body><h1>503 Service Unavailable</h1></body></html>";
        let faults = [
            ("429", dialect.error(429, "Rate limit reached")),
            ("429 that says when", dialect.error(429, "Rate limit reached").header("Retry-After", "0")),
            ("429 that says it badly", dialect.error(429, "Rate limit reached").header("Retry-After", "soon")),
            ("500", dialect.error(500, "The server had an error")),
            ("503 of a proxy", Play::whole(503, "text/html", html)),
            ("503 while the model loads", dialect.error(503, "Loading model")),
            ("529", dialect.error(529, "Overloaded")),
            ("an end before the head", Play::nothing().close()),
            ("an end within the head", Play::nothing().raw(b"HTTP/1.1 200 OK\r\nContent-Ty").close()),
            ("an end after the head", dialect.opening().close()),
            ("an empty body in good order", dialect.opening().end()),
            ("an error as the first event", dialect.opening().parts([dialect.error_event("Overloaded")]).end()),
        ];
        for (fault, play) in faults {
            let asked = Stage::new(dialect).ask([play, good(dialect)]).await;
            assert!(asked.result.is_ok(), "{fault}: {:?}", asked.result);
            asked.is_the_order();
            // One call of the model to whoever reads the records, and two requests.
            assert_eq!((asked.requests().len(), asked.calls.len(), asked.calls[0].attempts), (2, 1, 2), "{fault}");
            let bodies: Vec<_> = asked.requests().iter().map(|request| request.body.clone()).collect();
            assert_eq!(bodies[0], bodies[1], "{fault}: the same request again");
        }
    });
}

#[test]
fn a_permanent_server_error_is_retried_three_times_and_returned() {
    each(async |dialect| {
        let faults = [
            (dialect.error(429, "Rate limit reached"), "rateLimited", "Rate limit reached"),
            (dialect.error(500, "The server had an error"), "serverError", "The server had an error"),
            (Play::whole(503, "text/html", "<h1>No server</h1>"), "serverError", "503"),
            (dialect.opening().parts([dialect.error_event("Overloaded")]).end(), "serverError", "Overloaded"),
        ];
        for (play, code, word) in faults {
            let asked = Stage::new(dialect).ask([play]).await;
            assert_eq!((asked.code(), asked.requests().len()), (code, 4));
            assert!(asked.message().contains(word), "{}", asked.message());
            assert!(asked.message().contains("4 requests"), "{}", asked.message());
            assert_eq!((asked.ends(), asked.steps.len()), (vec!["failed"], 0));
        }
    });
}

#[test]
fn the_server_states_how_long_to_wait() {
    each(async |dialect| {
        let busy = dialect.error(429, "Rate limit reached").header("retry-after", "1");
        let before = std::time::Instant::now();
        // Its own waits would be minutes.
        let stage = Stage::new(dialect).limited(|limits| {
            (limits.first_wait, limits.longest_wait) = (Duration::from_secs(300), Duration::from_secs(300));
        });
        let asked = stage.ask([busy, good(dialect)]).await;
        asked.is_the_order();
        assert!(before.elapsed() >= Duration::from_secs(1), "it waited as long as it was asked to");
    });
}

#[test]
fn a_wait_beyond_the_deadline_is_not_started() {
    each(async |dialect| {
        let date = "Tue, 31 Dec 2999 23:59:59 GMT";
        for said in ["3600", date, "99999999999999999999"] {
            let busy = dialect.error(429, "Rate limit reached").header("Retry-After", said);
            let asked = Stage::new(dialect).within(Duration::from_secs(30)).ask([busy, good(dialect)]).await;
            let EngineError::RateLimited { status: 429, retry_after, .. } = engine_error(&asked) else {
                panic!("{said}: {:?}", asked.result)
            };
            assert!(retry_after.is_none_or(|wait| wait > Duration::from_secs(30)), "{said}: {retry_after:?}");
            assert_eq!(asked.requests().len(), 1, "{said}");
        }
    });
}

#[test]
fn a_rejected_request_is_not_retried() {
    each(async |dialect| {
        let refusals = [
            (404, "model 'tiny' not found, try pulling it first"),
            (401, "invalid key"),
            (400, "schema is too complex"),
        ];
        for (status, words) in refusals {
            let asked = Stage::new(dialect).ask([dialect.error(status, words), good(dialect)]).await;
            let EngineError::Rejected { status: seen, .. } = engine_error(&asked) else { panic!("{:?}", asked.result) };
            assert_eq!((*seen, asked.requests().len()), (status, 1));
            assert!(asked.message().contains(words), "{}", asked.message());
        }
    });
}

#[test]
fn messages_of_a_server_are_truncated_and_escaped() {
    each(async |dialect| {
        // An engine without a key cannot know it.
        let key = if dialect == Dialect::Ollama { "" } else { KEY };
        let words = format!("no \u{1b}[2J\u{202e}{key}{}", "x".repeat(100_000));
        let asked = Stage::new(dialect).ask([dialect.error(400, &words)]).await;
        let message = asked.message();
        assert!(message.chars().count() < 2_000, "{} characters", message.chars().count());
        assert!(!message.contains('\u{1b}') && !message.contains('\u{202e}'), "{message}");
    });
}

#[test]
fn an_endless_body_of_an_error_is_abandoned() {
    each(async |dialect| {
        let flood = Play::streaming(500, "text/plain").repeat(vec![b'x'; 4_096]);
        let asked = Stage::new(dialect).limited(|limits| limits.retries = 0).ask([flood]).await;
        assert_eq!(asked.code(), "serverError");
        assert!(asked.server.hung_up(0).await.sent < 64 << 20);
        let silent = Play::streaming(400, "text/plain").parts([b"because".to_vec()]).hold();
        let asked = Stage::new(dialect).ask([silent]).await;
        assert_eq!(asked.code(), "rejected");
        assert!(asked.message().contains("because"), "{}", asked.message());
        assert!(asked.server.hung_up(0).await.hung_up);
    });
}

#[test]
fn a_broken_stream_is_asked_for_again() {
    each(async |dialect| {
        let unended = dialect.plan(&order()).ending(End::Unsaid);
        let mut events = dialect.events(&unended);
        if !dialect.calls_tools() {
            events.truncate(events.len() / 2);
        }
        let broken = [
            ("within an event", cut(dialect)),
            ("between two events", dialect.opening().parts(events.clone()).close()),
            ("between two events, in good order", dialect.opening().parts(events).end()),
        ];
        for (place, play) in broken {
            let asked = Stage::new(dialect).ask([play, good(dialect)]).await;
            // Nothing of it ran: the sink allows another answer.
            assert_eq!(asked.reply().drafts.len(), 1, "{place}: {:?}", asked.result);
            assert_eq!(asked.requests().len(), 2, "{place}");
        }
    });
}

#[test]
fn an_error_within_the_stream_is_an_error_of_the_server() {
    each(async |dialect| {
        let mut events = dialect.events(&dialect.plan(&order()).ending(End::Unsaid));
        events.truncate(events.len() / 2);
        let play = dialect.opening().parts(events).parts([dialect.error_event("Overloaded")]).end();
        let asked = Stage::new(dialect).ask([play, good(dialect)]).await;
        assert_eq!((asked.code(), asked.requests().len()), ("serverError", 1));
        assert!(asked.message().contains("Overloaded"), "{}", asked.message());
    });
}

#[tokio::test]
async fn older_servers_of_llama_cpp_send_a_field_error() {
    let error = b"error: {\"code\":500,\"message\":\"context is full\",\"type\":\"server_error\"}\n\n".to_vec();
    let play = Dialect::LlamaCpp.opening().parts([error, b"data: [DONE]\n\n".to_vec()]).end();
    let asked = Stage::new(Dialect::LlamaCpp).limited(|limits| limits.retries = 0).ask([play]).await;
    assert_eq!(asked.code(), "serverError");
    assert!(asked.message().contains("context is full"), "{}", asked.message());
}

#[test]
fn an_unexpected_format_is_named() {
    each(async |dialect| {
        let page = "<!DOCTYPE html><html><body>Sign in to the network</body></html>";
        let plan = dialect.plan(&order());
        let answers = [
            ("an event that is no JSON", dialect.opening().parts([dialect.broken_event()]).end()),
            ("a page of a portal", Play::whole(200, "text/html", page)),
            ("a stream of another kind", Play::streaming(200, "text/html").parts(dialect.events(&plan)).end()),
            ("another document", Play::whole(200, "application/json", "{\"status\": \"ok\"}")),
            ("bytes that are no text", dialect.opening().parts([vec![0xff, 0xfe, 0x00, b'\n', b'\n']]).end()),
        ];
        for (fault, play) in answers {
            let asked = Stage::new(dialect).limited(|limits| limits.retries = 0).ask([play, good(dialect)]).await;
            assert!(["badFormat", "cut"].contains(&asked.code()), "{fault}: {:?}", asked.result);
            assert_eq!(asked.requests().len(), 1, "{fault}");
        }
    });
}

#[test]
fn bytes_that_are_not_utf8_are_not_a_plan() {
    each(async |dialect| {
        let events = dialect.events(&dialect.plan(&order()));
        let spoilt = events.into_iter().map(|event| {
            let mut event = event;
            while let Some(at) = event.windows(2).position(|pair| pair == "ë".as_bytes()) {
                event.remove(at);
            }
            event
        });
        let asked = Stage::new(dialect).ask([dialect.opening().parts(spoilt).end()]).await;
        // Refused, or read with the mark of what cannot be read: never a panic, never a silent gap.
        match &asked.result {
            Err(error) => assert!(["badFormat", "invalidPlan"].contains(&error.code()), "{error:?}"),
            Ok(reply) => {
                let text = reply.drafts[0].steps[0].action.text().and_then(WireText::clear);
                assert!(text.is_some_and(|text| text.contains('\u{fffd}')), "{text:?}");
            }
        }
    });
}

#[test]
fn an_unreachable_server_is_reported_without_a_retry() {
    each(async |dialect| {
        let origin = Server::nowhere().await;
        let stage = Stage::new(dialect);
        let engine = stage.engine(&origin);
        let asked = stage.ask_of(&engine, Server::playing([]).await).await;
        assert_eq!((asked.code(), asked.calls[0].attempts), ("unreachable", 1));
        assert!(asked.message().contains(origin.trim_start_matches("http://")), "{}", asked.message());
    });
}

#[test]
fn a_server_that_answered_before_is_awaited() {
    each(async |dialect| {
        let stage = Stage::new(dialect).within(Duration::from_secs(60));
        let server = Server::playing([good(dialect).close()]).await;
        let engine = stage.engine(&server.origin());
        let asked = stage.ask_of(&engine, server).await;
        asked.is_the_order();
        drop(asked);
        // Its server ended with it.
        let asked = stage.ask_of(&engine, Server::playing([]).await).await;
        assert_eq!((asked.code(), asked.calls[0].attempts), ("unreachable", 4), "{:?}", asked.result);
    });
}

#[test]
fn a_server_without_tls_gets_nothing_over_https() {
    each(async |dialect| {
        let stage = Stage::new(dialect).limited(|limits| limits.retries = 0);
        let server = Server::playing([good(dialect)]).await;
        let engine = stage.engine(&server.origin().replace("http://", "https://"));
        let asked = stage.ask_of(&engine, server).await;
        assert!(["unreachable", "connectionLost"].contains(&asked.code()), "{:?}", asked.result);
        assert_eq!((asked.requests().len(), asked.server.connections()), (0, 1));
    });
}

#[test]
fn a_redirect_does_not_carry_the_key_to_another_origin() {
    each(async |dialect| {
        let other = Server::playing([good(dialect)]).await;
        let moved =
            Play::whole(307, "text/plain", "").header("Location", &format!("{}{}", other.origin(), dialect.path()));
        let asked = Stage::new(dialect).limited(|limits| limits.retries = 0).ask([moved]).await;
        assert!(asked.result.is_err(), "{:?}", asked.result);
        assert_eq!(other.requests().len(), 0, "no other server gets a request");
    });
}

#[test]
fn a_redirect_is_named_with_where_it_leads() {
    each(async |dialect| {
        let moved = Play::whole(308, "text/html", "moved").header("Location", "https://models.test/v2/chat");
        let asked = Stage::new(dialect).ask([moved]).await;
        assert_eq!((asked.code(), asked.requests().len()), ("rejected", 1));
        let message = asked.message();
        assert!(message.contains("it redirects to https://models.test/v2/chat, which is not followed"), "{message}");
    });
}

#[test]
fn one_document_is_read_where_a_stream_was_asked_for() {
    each(async |dialect| {
        let asked = Stage::new(dialect).ask([dialect.whole(&dialect.plan(&order()))]).await;
        asked.is_the_order();
        assert_eq!((asked.calls[0].input_tokens, asked.calls[0].output_tokens), (472, 89));
    });
}

#[test]
fn an_error_with_status_200_is_the_error_of_the_server() {
    each(async |dialect| {
        let error = match dialect {
            Dialect::Ollama => serde_json::json!({ "error": "no memory left" }),
            _ => serde_json::json!({ "error": { "message": "no memory left", "type": "server_error" } }),
        };
        let play = Play::whole(200, "application/json", &error.to_string());
        let asked = Stage::new(dialect).limited(|limits| limits.retries = 0).ask([play]).await;
        assert_eq!(asked.code(), "serverError", "{:?}", asked.result);
        assert!(asked.message().contains("no memory left"), "{}", asked.message());
    });
}

fn zipped(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).expect("memory takes bytes");
    encoder.finish().expect("memory takes bytes")
}

#[test]
fn a_proxy_may_compress_an_answer_and_its_errors() {
    each(async |dialect| {
        let answer = zipped(&dialect.events(&dialect.plan(&order())).concat());
        let play = dialect.opening().header("Content-Encoding", "gzip").parts([answer]).in_pieces_of(7).end();
        Stage::new(dialect).ask([play]).await.is_the_order();

        let words = zipped(b"{\"error\":{\"message\":\"no such model\"}}");
        let play = Play::streaming(404, "application/json").header("Content-Encoding", "gzip").parts([words]).end();
        let asked = Stage::new(dialect).ask([play]).await;
        assert!(asked.message().contains("no such model"), "{}", asked.message());

        let play = dialect.opening().header("Content-Encoding", "br").parts([b"x".to_vec()]).end();
        let asked = Stage::new(dialect).limited(|limits| limits.retries = 0).ask([play]).await;
        assert!(asked.message().contains("the encoding br"), "{}", asked.message());
    });
}

#[test]
fn a_compressed_answer_cannot_fill_the_memory() {
    each(async |dialect| {
        let bomb = zipped(&vec![b' '; 64 << 20]);
        let play = dialect.opening().header("Content-Encoding", "gzip").parts([bomb]).end();
        let asked = Stage::new(dialect).limited(|limits| limits.retries = 0).ask([play]).await;
        assert_eq!(asked.code(), "tooLong", "{:?}", asked.result);
    });
}

#[test]
fn a_planner_reads_one_answer_after_another() {
    each(async |dialect| {
        let stage = Stage::new(dialect);
        let server = Server::playing([good(dialect), dialect.error(500, "once"), good(dialect)]).await;
        let engine = stage.engine(&server.origin());
        let asked = stage.ask_of(&engine, server).await;
        asked.is_the_order();
        let asked = stage.ask_of(&engine, asked.server).await;
        asked.is_the_order();
        assert_eq!((asked.requests().len(), asked.calls[0].attempts), (3, 2));
    });
}

#[tokio::test]
async fn pieces_of_several_tool_calls_may_be_interleaved() {
    // Some servers mix the pieces of calls that run side by side.
    let events = Dialect::OpenAiTools.events(&Dialect::OpenAiTools.plan(&order()));
    let of = |index: u32| {
        let mark = format!("\"tool_calls\":[{{\"index\":{index}");
        events.iter().filter(move |event| String::from_utf8_lossy(event).contains(&mark)).cloned().collect::<Vec<_>>()
    };
    let calls = [of(0), of(1), of(2)];
    let longest = calls.iter().map(Vec::len).max().unwrap_or(0);
    let mixed = (0..longest).flat_map(|at| calls.iter().filter_map(move |call| call.get(at).cloned()));
    let tail = events[events.len() - 3..].to_vec();
    let play = Dialect::OpenAiTools.opening().parts(mixed).parts(tail).end();
    let asked = Stage::new(Dialect::OpenAiTools).ask([play, good(Dialect::OpenAiTools)]).await;
    // Read, or refused and asked again: either way the plan is whole.
    asked.is_the_order();
}

#[test]
fn an_answer_with_only_thoughts_is_not_a_plan() {
    each(async |dialect| {
        let answer = ScriptedReply::of([Part::Reasoning("I wonder".to_owned())]);
        let asked = Stage::new(dialect).ask([dialect.saying(&answer), good(dialect)]).await;
        asked.is_the_order();
        assert_eq!(asked.ends(), ["invalid", "accepted"]);
    });
}
