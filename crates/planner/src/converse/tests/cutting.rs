//! An answer that can no longer become a plan is cut at that point, and none of its steps is reported.

use cuebook_decoding::emit::Target;
use cuebook_grammar::plan::ViolationCode;
use cuebook_grammar::planning::CallEnd;

use super::super::*;
use super::fake::{Fake, GOOD, Part, Play, plan, text};

/// The code and path of the violation if both answers are the same.
async fn refused(dialect: Dialect, answer: fn() -> Play) -> (ViolationCode, String, usize, usize) {
    let planner = ModelPlanner::new(Fake::new(dialect, [answer(), answer()]));
    let (reply, sink) = plan(&planner).await;
    let ModelError::Invalid { violations } = reply.unwrap_err() else { panic!("expected it to be invalid") };
    let read = planner.engine().seen.lock().unwrap().read;
    assert_eq!(planner.engine().seen.lock().unwrap().open, 0);
    (violations[0].code, violations[0].path.clone(), sink.steps.len(), read)
}

#[tokio::test]
async fn an_unknown_id_is_rejected_at_its_last_byte() {
    let answer = || text(&GOOD.replace("\"c2\"", "\"c9\""));
    let (code, path, sink, read) = refused(Dialect::Plan(Target::Ollama), answer).await;
    assert_eq!((code, path.as_str()), (ViolationCode::Malformed, "/last/targetRef"));
    // The first step of each of the two answers is valid and reported. The second step is not.
    assert_eq!(sink, 2);
    let whole = GOOD.chars().count().div_ceil(3);
    assert!(read < whole, "{read} of {whole} pieces were read");
}

#[tokio::test]
async fn in_a_dialect_without_ids_a_step_is_checked_before_it_is_reported() {
    let call = |index: usize, name: &str, arguments: &str| {
        Part::Event(ChatEvent::Call { index, name: Some(name.to_owned()), arguments: arguments.to_owned() })
    };
    let answer = move || {
        Play::Says(vec![
            call(0, "click", r#"{"targetRef":"c9"}"#),
            call(1, "click", r#"{"targetRef":"c2"}"#),
            Part::Event(ChatEvent::Done(Finish::Stop)),
        ])
    };
    let planner = ModelPlanner::new(Fake::new(Dialect::Calls(Target::Tools), [answer(), answer()]));
    let (reply, sink) = plan(&planner).await;
    let ModelError::Invalid { violations } = reply.unwrap_err() else { panic!("expected it to be invalid") };
    assert_eq!((violations[0].code, violations[0].path.as_str()), (ViolationCode::UnknownTarget, "/steps/0"));
    assert!(sink.steps.is_empty());
    assert_eq!(planner.engine().seen.lock().unwrap().read, 2);
}

#[tokio::test]
async fn a_verb_that_its_target_does_not_support_is_rejected_in_every_dialect() {
    for dialect in [Dialect::Plan(Target::Ollama), Dialect::Plan(Target::OpenAi), Dialect::Prompted] {
        let answer = || text(&GOOD.replace("\"targetRef\":\"c1\"", "\"targetRef\":\"c2\""));
        let (_, path, sink, _) = refused(dialect, answer).await;
        assert!(path.starts_with("/steps/0"), "{dialect:?}: {path}");
        assert_eq!(sink, 0, "{dialect:?}");
    }
}

#[tokio::test]
async fn text_that_is_not_a_plan_is_rejected_in_every_dialect() {
    for dialect in [Dialect::Plan(Target::Ollama), Dialect::Plan(Target::OpenAi), Dialect::Prompted] {
        for answer in ["", "I would click the button.", "{\"version\":\"1.0\",\"steps\":[", "[1,2]", "null"] {
            let planner = ModelPlanner::new(Fake::new(dialect, [text(answer), text(answer)]));
            let (reply, sink) = plan(&planner).await;
            assert!(matches!(reply, Err(ModelError::Invalid { .. })), "{dialect:?} {answer}: {reply:?}");
            assert!(sink.steps.is_empty());
        }
    }
}

#[tokio::test]
async fn prose_around_a_plan_and_a_second_plan_are_ignored() {
    let planner = ModelPlanner::new(Fake::planning([text(&format!("Sure!\n```json\n{GOOD}\n``` {GOOD} done"))]));
    let (reply, sink) = plan(&planner).await;
    assert_eq!(reply.unwrap().drafts[0].steps.len(), 2);
    assert_eq!(sink.steps.iter().map(|(index, _)| *index).collect::<Vec<_>>(), [0, 1]);
}

#[tokio::test]
async fn an_answer_that_reaches_the_token_limit_is_reformulated_once() {
    let cut = Play::Says(vec![
        Part::Event(ChatEvent::Text(GOOD[..40].to_owned())),
        Part::Event(ChatEvent::Done(Finish::Length)),
    ]);
    let planner = ModelPlanner::new(Fake::planning([cut, text(GOOD)]));
    let (reply, sink) = plan(&planner).await;
    assert_eq!(reply.unwrap().drafts.len(), 1);
    let CallEnd::Invalid { violations } = &sink.calls[0].end else { panic!("{:?}", sink.calls[0].end) };
    assert!(violations[0].message.contains("tokens"), "{violations:?}");
}

#[tokio::test]
async fn an_endless_answer_is_cut_at_its_bound() {
    let dots = || Part::Event(ChatEvent::Reasoning("…".repeat(1_000)));
    let planner = ModelPlanner::new(Fake::planning([Play::Says((0..1_000).map(|_| dots()).collect())]));
    let (reply, _) = plan(&planner).await;
    assert!(matches!(reply, Err(ModelError::Engine { source: EngineError::TooLong { .. }, .. })), "{reply:?}");
    assert!(planner.engine().seen.lock().unwrap().read < 100);
}

#[tokio::test]
async fn an_unconstrained_answer_is_read_in_every_form() {
    for answer in [
        GOOD,
        r#"{"reasoning_summary":"r","plan_id":"p","steps":[{"tool":"click","args":{"targetRef":"c2"},"explanation":"e","estimated_risk":"low","confidence":0.9}]}"#,
        "<Thought>I should sign in</Thought><Action>click(2)</Action>",
        "# sign in\nclick(c2)",
        "# {sign} in\nsetValue(c1,\"{}\")\nclick(c2)",
        r#"[{"name":"click","arguments":{"targetRef":"c2"}}]"#,
    ] {
        let planner = ModelPlanner::new(Fake::new(Dialect::Prompted, [text(answer)]));
        let (reply, sink) = plan(&planner).await;
        let draft = reply.unwrap_or_else(|error| panic!("{answer}: {error}")).drafts.remove(0);
        assert_eq!(draft.steps.last().map(|step| step.action.kind().meta().name), Some("click"), "{answer}");
        assert_eq!(sink.steps.len(), draft.steps.len(), "{answer}");
    }
}

#[tokio::test]
async fn lines_are_checked_one_by_one() {
    let dialect = Dialect::Plan(Target::Line);
    let planner =
        ModelPlanner::new(Fake::new(dialect, [text("# fill in\nsetValue(c1,\"a#b\")\nclick(c2) => urlChanges()")]));
    let (reply, sink) = plan(&planner).await;
    assert_eq!(reply.unwrap().drafts[0].steps.len(), 2);
    assert_eq!(sink.steps.iter().map(|(index, _)| *index).collect::<Vec<_>>(), [0, 1]);

    for (wrong, path) in [("click(c9)", "/steps/1"), ("setValue(c2,\"x\")", "/steps/1"), ("fly(c2)", "")] {
        let lines = format!("focus(c1)\n{wrong}\nclick(c2)\n{}", "click(c2)\n".repeat(3));
        let planner = ModelPlanner::new(Fake::new(dialect, [text(&lines), text(&lines)]));
        let (reply, sink) = plan(&planner).await;
        let Err(ModelError::Invalid { violations }) = reply else { panic!("{wrong}: {reply:?}") };
        assert!(violations[0].path.starts_with(path), "{wrong}: {violations:?}");
        // The first line of each of the two answers, which are cut at the invalid one.
        assert_eq!(sink.steps.len(), 2, "{wrong}");
        let whole = lines.chars().count().div_ceil(3);
        assert!(planner.engine().seen.lock().unwrap().read < whole, "{wrong}");
    }
}

#[tokio::test]
async fn thoughts_in_the_answer_are_not_part_of_it() {
    for dialect in [Dialect::Plan(Target::Ollama), Dialect::Plan(Target::OpenAi), Dialect::Prompted] {
        for front in ["<think>{\"a\": 1} or c9? </think>\n", "\n<think>\n\n</think>\n\n"] {
            let planner = ModelPlanner::new(Fake::new(dialect, [text(&format!("{front}{GOOD}"))]));
            let (reply, sink) = plan(&planner).await;
            assert_eq!(reply.unwrap().drafts[0].steps.len(), 2, "{dialect:?} {front}");
            assert_eq!(sink.steps.len(), 2);
        }
    }
    let open = || text("<think>I go on and on");
    let planner = ModelPlanner::new(Fake::new(Dialect::Prompted, [open(), open()]));
    assert!(matches!(plan(&planner).await.0, Err(ModelError::Invalid { .. })));
}

#[tokio::test]
async fn strict_answers_have_null_for_absent_members() {
    let answer = r#"{"version":"1.0","reasoningSummary":null,"steps":null,"last":{"type":"click","targetRef":"c2","button":null,"count":null,"modifiers":null,"pre":null,"post":[{"kind":"urlChanges","to":null}],"explanation":null,"estimatedRisk":"low","confidence":null}}"#;
    let planner = ModelPlanner::new(Fake::new(Dialect::Plan(Target::OpenAi), [text(answer)]));
    let (reply, sink) = plan(&planner).await;
    assert_eq!(reply.unwrap().drafts[0].steps.len(), 1);
    assert_eq!(sink.steps.len(), 1);
}
