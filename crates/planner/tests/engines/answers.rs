//! Answers that contain a plan, however they are split, wrapped and spaced: one request suffices.

use std::time::Duration;

use cuebook_grammar::planning::{CallEnd, CallPurpose};
use cuebook_grammar::step::Step;
use serde_json::{Value, json};

use crate::each;
use crate::page::order;
use crate::servers::{Dialect, End, Part, Play, ScriptedReply};
use crate::stage::Stage;

#[test]
fn a_plan_needs_one_request_and_its_steps_are_reported_in_order() {
    each(async |dialect| {
        let asked = Stage::new(dialect).ask([dialect.saying(&dialect.plan(&order()))]).await;
        asked.is_the_order();
        assert_eq!(asked.requests().len(), 1);
        let reply = asked.reply();
        assert_eq!((reply.usage.planner_calls, reply.usage.input_tokens, reply.usage.output_tokens), (1, 472, 89));
        let [call] = &asked.calls[..] else { panic!("{:#?}", asked.calls) };
        assert_eq!((call.purpose, call.attempts, &call.end), (CallPurpose::Plan, 1, &CallEnd::Accepted));
        assert_eq!((call.input_tokens, call.output_tokens), (472, 89));
        assert_eq!(call.model.as_deref(), Some("tiny"));
        assert!(call.first_step_ms.is_some_and(|first| first <= call.latency_ms), "{call:?}");
        assert!(call.output.contains("Zoë") && call.output.contains("東京 🎭"), "{}", call.output);
        assert!(!call.input.is_empty());
    });
}

#[tokio::test]
async fn probabilities_of_tokens_become_the_confidences_of_steps() {
    let answer = Dialect::LlamaCpp.plan(&order());
    // All tokens of text but those that `is_told` rejects, each with a probability of 0.99.
    let told = |is_told: &dyn Fn(usize) -> bool| {
        let events = Dialect::LlamaCpp.events(&answer).into_iter().enumerate().map(|(index, event)| {
            let event = String::from_utf8(event).unwrap();
            let data = event.trim().strip_prefix("data: ").and_then(|data| serde_json::from_str::<Value>(data).ok());
            let Some(mut chunk) = data.filter(|_| is_told(index)) else { return event.into_bytes() };
            if let Some(text) = chunk.pointer("/choices/0/delta/content").and_then(Value::as_str) {
                let token = json!({ "token": text, "bytes": text.as_bytes(), "logprob": 0.99_f64.ln() });
                chunk["choices"][0]["logprobs"] = json!({ "content": [token] });
            }
            format!("data: {chunk}\n\n").into_bytes()
        });
        Stage::new(Dialect::LlamaCpp).ask([Dialect::LlamaCpp.opening().parts(events).end()])
    };
    let asked = told(&|_| true).await;
    let stated = |steps: &[Step]| steps.iter().map(|step| step.confidence.map(|p| p.get())).collect::<Vec<_>>();
    let confidences = stated(&asked.reply().drafts[0].steps);
    assert!(confidences.iter().all(|p| p.is_some_and(|p| p > 0.3 && p < 0.99)), "{confidences:?}");
    let early: Vec<Step> = asked.steps.iter().map(|(_, _, step)| step.clone()).collect();
    assert_eq!(stated(&early), confidences, "each step has its own as soon as it is complete");
    let least = confidences.iter().flatten().copied().fold(1.0, f64::min);
    assert_eq!(asked.calls[0].confidence, Some(least));
    let asked = told(&|index| index != 3).await;
    assert!(stated(&asked.reply().drafts[0].steps).iter().all(Option::is_none), "a token is missing");
}

#[test]
fn a_budget_counts_tokens_even_if_the_server_does_not() {
    each(async |dialect| {
        let uncounted = dialect.events(&dialect.plan(&order())).into_iter().map(|event| {
            let text = String::from_utf8(event).unwrap();
            let names = ["usage", "prompt_eval_count", "eval_count"];
            names.iter().fold(text, |text, name| text.replace(&format!("\"{name}\""), "\"other\"")).into_bytes()
        });
        let asked = Stage::new(dialect).ask([dialect.opening().parts(uncounted).end()]).await;
        asked.is_the_order();
        let usage = asked.reply().usage;
        assert!(usage.input_tokens > 100 && usage.output_tokens > 10, "{usage:?}");
    });
}

#[test]
fn bytes_may_arrive_in_any_pieces_even_within_a_character() {
    each(async |dialect| {
        for size in [1, 2, 3, 7, 64] {
            let play = dialect.opening().parts(dialect.events(&dialect.plan(&order()))).in_pieces_of(size).end();
            Stage::new(dialect).ask([play]).await.is_the_order();
        }
    });
}

#[test]
fn a_slow_stream_is_not_a_stall() {
    each(async |dialect| {
        let events = dialect.events(&dialect.plan(&order()));
        // Longer in all than a stall may be, and never nearly as long between two pieces.
        let stall = Duration::from_secs(3);
        let play = dialect.opening().parts(events);
        let size = play.body_len().div_ceil(20);
        let play = play.in_pieces_of(size).dripping(stall / 15).end();
        let asked = Stage::new(dialect).limited(|limits| limits.stall = stall).ask([play]).await;
        asked.is_the_order();
        assert_eq!(asked.requests().len(), 1);
    });
}

#[test]
fn signs_of_life_between_the_events_are_skipped() {
    each(async |dialect| {
        let alive: &[u8] = match dialect {
            Dialect::Ollama => b"\n",
            Dialect::Anthropic => b"event: ping\ndata: {\"type\": \"ping\"}\n\n",
            _ => b": keep-alive\n\n",
        };
        let events = dialect.events(&dialect.plan(&order())).into_iter();
        let play = dialect.opening().parts(events.flat_map(|event| [alive.to_vec(), event])).end();
        Stage::new(dialect).ask([play]).await.is_the_order();
    });
}

#[test]
fn lines_may_end_with_crlf() {
    each(async |dialect| {
        let events = dialect.events(&dialect.plan(&order())).into_iter();
        let crlf = events.map(|event| String::from_utf8(event).unwrap().replace('\n', "\r\n").into_bytes());
        Stage::new(dialect).ask([dialect.opening().parts(crlf).end()]).await.is_the_order();
    });
}

#[test]
fn thoughts_before_the_answer_are_kept_as_reasoning() {
    each(async |dialect| {
        let answer = dialect.plan(&order()).after(Part::Reasoning("the name first".to_owned()));
        let asked = Stage::new(dialect).ask([dialect.saying(&answer)]).await;
        asked.is_the_order();
        assert_eq!(asked.calls[0].reasoning.as_deref(), Some("the name first"), "{dialect:?}");
    });
}

#[test]
fn prose_around_the_plan_is_not_part_of_it() {
    each(async |dialect| {
        let answer = if dialect.calls_tools() {
            dialect.plan(&order()).after(Part::Text("I will fill in the form.".to_owned()))
        } else {
            let mut answer = dialect.plan(&order()).after(Part::Text("Here is the plan:\n```json\n".to_owned()));
            answer.parts.push(Part::Text("\n```\nTell me if {anything} is missing.".to_owned()));
            answer
        };
        let asked = Stage::new(dialect).ask([dialect.saying(&answer)]).await;
        asked.is_the_order();
        assert_eq!(asked.requests().len(), 1);
    });
}

#[test]
fn thoughts_in_the_text_are_not_part_of_it() {
    each(async |dialect| {
        let thought = "<think>\nShould I write {\"version\":\"1.0\",\"last\":{\"type\":\"goBack\"}}? No.\n</think>\n\n";
        let answer = dialect.plan(&order()).after(Part::Text(thought.to_owned()));
        let asked = Stage::new(dialect).ask([dialect.saying(&answer)]).await;
        asked.is_the_order();
        assert_eq!(asked.requests().len(), 1);
    });
}

#[test]
fn of_two_plans_at_most_the_first_counts() {
    each(async |dialect| {
        if dialect.calls_tools() {
            return;
        }
        let other = dialect.plan(&[json!({ "type": "click", "targetRef": "c4" })]);
        let mut both = dialect.plan(&order());
        both.parts.extend(other.parts);
        let asked = Stage::new(dialect).ask([dialect.saying(&both)]).await;
        asked.is_the_order();
        assert_eq!(asked.requests().len(), 1);
    });
}

#[test]
fn white_space_between_members_is_ignored() {
    each(async |dialect| {
        if dialect.calls_tools() {
            return;
        }
        let Part::Text(text) = dialect.plan(&order()).parts.remove(0) else { panic!("a plan is text") };
        let plan: serde_json::Value = serde_json::from_str(&text).unwrap();
        let wide = serde_json::to_string_pretty(&plan).unwrap();
        Stage::new(dialect).ask([dialect.saying(&ScriptedReply::text(&wide))]).await.is_the_order();
    });
}

#[tokio::test]
async fn required_members_that_are_null_count_as_absent() {
    for dialect in [Dialect::OpenAi, Dialect::OpenAiTools] {
        let mut steps = order();
        for step in &mut steps {
            for name in ["explanation", "pre", "post", "estimatedRisk", "confidence"] {
                step[name] = serde_json::Value::Null;
            }
        }
        let asked = Stage::new(dialect).ask([dialect.saying(&dialect.plan(&steps))]).await;
        asked.is_the_order();
    }
}

#[test]
fn a_complete_plan_is_accepted_from_an_endless_stream() {
    each(async |dialect| {
        let unended = dialect.plan(&order()).ending(End::Unsaid);
        // The server neither goes on nor hangs up.
        let play = dialect.opening().parts(dialect.events(&unended)).hold();
        let asked = Stage::new(dialect).limited(|limits| limits.stall = Duration::from_millis(500)).ask([play]).await;
        if dialect.calls_tools() {
            // Another call might follow: the steps so far are not a plan.
            assert_eq!(asked.code(), "stalled", "{dialect:?}");
        } else {
            asked.is_the_order();
        }
        assert!(asked.server.hung_up(0).await.hung_up);
    });
}

#[test]
fn the_connection_may_close_right_after_the_last_event() {
    each(async |dialect| {
        let play = dialect.opening().parts(dialect.events(&dialect.plan(&order()))).close();
        Stage::new(dialect).ask([play]).await.is_the_order();
    });
}

#[test]
fn an_answer_without_type_and_length_ends_with_the_connection() {
    each(async |dialect| {
        let body = dialect.events(&dialect.plan(&order())).concat();
        let play = Play::nothing().raw(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n").raw(&body).close();
        Stage::new(dialect).ask([play]).await.is_the_order();
    });
}

#[test]
fn an_answer_may_state_its_length() {
    each(async |dialect| {
        let body = String::from_utf8(dialect.events(&dialect.plan(&order())).concat()).unwrap();
        let kind = if dialect == Dialect::Ollama { "application/x-ndjson" } else { "text/event-stream" };
        let play = Play::whole(200, kind, &body);
        Stage::new(dialect).ask([play.pause(Duration::from_millis(1))]).await.is_the_order();
    });
}
