//! Pictures that are described: one call with the picture, constrained as a plan is, and plans made with the answer.

use std::time::Duration;

use cuebook_grammar::id::CandidateId;
use cuebook_grammar::observation::Observation;
use cuebook_grammar::planning::{CallEnd, CallPurpose};
use cuebook_grammar::policy::Policy;
use cuebook_grammar::seam::{Image, LookRequest, PlanRequest, Planner as _};
use cuebook_planner::{Looking, ModelPlanner, Ollama};
use serde_json::{Value, json};

use crate::each;
use crate::page::{self, TASK};
use crate::servers::{Dialect, Part, Play, ScriptedReply, Server};
use crate::stage::{Sink, Stage};

/// The head of a PNG of 400 by 300 pixels, half of the page in each direction, and a body.
fn picture(body: u8) -> Image {
    let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
    bytes.extend([0, 0, 1, 144, 0, 0, 1, 44, body]);
    Image { media_type: "image/png".to_owned(), bytes }
}

fn answer() -> Value {
    json!({ "features": [{ "label": "send", "kind": "icon", "box": [50, 50, 60, 60], "confidence": 75 }] })
}

fn saying(dialect: Dialect, text: &str) -> Play {
    let part = match dialect.calls_tools() {
        true => Part::Call("features".to_owned(), text.to_owned()),
        false => Part::Text(text.to_owned()),
    };
    dialect.saying(&ScriptedReply::of([part]))
}

#[test]
fn a_picture_is_sent_and_the_answer_constrained() {
    each(async |dialect| {
        let server = Server::playing([saying(dialect, &answer().to_string())]).await;
        let stage = Stage::new(dialect);
        let mut sink = Sink::default();
        let image = picture(0);
        let request = LookRequest { image: &image };
        let reply = stage.engine(&server.origin()).look(&request, &mut sink, stage.deadline()).await.unwrap();
        assert_eq!((reply.answer, reply.note), (answer(), None));
        assert_eq!((reply.usage.planner_calls, reply.usage.input_tokens, reply.usage.output_tokens), (1, 472, 89));
        let [call] = &sink.calls[..] else { panic!("{:#?}", sink.calls) };
        assert_eq!((call.purpose, call.attempts, &call.end), (CallPurpose::Look, 1, &CallEnd::Accepted));
        assert!(call.input[1].text.starts_with("The picture is 400 pixels wide and 300 pixels high."), "{call:#?}");
        let asked = server.requests()[0].json().to_string();
        assert!(asked.contains("iVBORw0KGgo"), "{asked}");
        // In the prompt, and where answers are constrained once more.
        let least = if dialect == Dialect::Responses { 1 } else { 2 };
        assert!(asked.matches("confidence").count() >= least, "{asked}");
    });
}

#[test]
fn what_is_no_answer_is_a_note_with_what_it_cost() {
    each(async |dialect| {
        for (play, end) in [
            (saying(dialect, "There is a button."), "expected a JSON object"),
            (saying(dialect, "{\"features\": [{\"label\": \"se"), "expected a JSON object"),
            (saying(dialect, "{\"features\": [{\"box\": [NaN, 1e999]}]}"), "expected a JSON object"),
            (dialect.error(400, "no such model"), "the server rejected the request"),
            (dialect.opening().hold(), "the deadline passed"),
        ] {
            let server = Server::playing([play]).await;
            let stage =
                Stage::new(dialect).within(Duration::from_secs(if end == "the deadline passed" { 1 } else { 60 }));
            let (mut sink, image) = (Sink::default(), picture(0));
            let request = LookRequest { image: &image };
            let reply = stage.engine(&server.origin()).look(&request, &mut sink, stage.deadline()).await.unwrap();
            assert_eq!((reply.answer, reply.usage.planner_calls), (Value::Null, 1), "{end}");
            assert!(reply.note.as_deref().unwrap().starts_with(end), "{:?}", reply.note);
            assert_eq!((server.requests().len(), sink.calls.len()), (1, 1), "{end}");
        }
    });
}

/// The page, with a box for its button.
fn placed() -> Observation {
    let mut page = page::page();
    page.candidates[4].rect = Some(cuebook_grammar::geometry::Rect { x: 98.0, y: 98.0, width: 30.0, height: 30.0 });
    page
}

fn model(server: &Server) -> ModelPlanner<Ollama> {
    ModelPlanner::new(Ollama::new(&server.origin(), "tiny").expect("an address"))
}

#[tokio::test]
async fn a_picture_is_looked_at_once_and_another_one_anew() {
    let dialect = Dialect::Ollama;
    let looker = Server::choosing(move |_, _| Some(saying(dialect, &answer().to_string()))).await;
    let planner = Server::choosing(move |_, _| Some(dialect.saying(&dialect.plan(&page::order())))).await;
    let looking = Looking::new(model(&planner), model(&looker)).in_words();
    let (page, policy, stage) = (placed(), Policy::default().starting_at(page::HERE).unwrap(), Stage::new(dialect));
    for (body, looks) in [(1, 1), (1, 1), (2, 2), (1, 2)] {
        let images = [picture(body)];
        let request = PlanRequest { images: &images, ..PlanRequest::new(TASK, &page, &policy) };
        let mut sink = Sink::default();
        let reply = looking.plan(&request, &mut sink, stage.deadline()).await.unwrap();
        assert_eq!((looker.requests().len(), reply.drafts.len(), reply.note.is_some()), (looks, 1, false), "{body}");
        let plan = sink.calls.last().unwrap();
        assert_eq!(plan.features[0].candidate, Some(CandidateId(5)), "the box is in pixels of the page");
        assert_eq!(reply.usage.planner_calls as usize, sink.calls.len());
    }
    assert!(planner.requests().iter().all(|request| !String::from_utf8_lossy(&request.body).contains("iVBORw0KGgo")));
    // Without a picture, nothing is looked at.
    let request = PlanRequest::new(TASK, &page, &policy);
    looking.plan(&request, &mut Sink::default(), stage.deadline()).await.unwrap();
    assert_eq!(looker.requests().len(), 2);
}

#[tokio::test]
async fn who_looks_for_too_long_leaves_time_for_the_plan() {
    let dialect = Dialect::Ollama;
    let looker = Server::playing([dialect.opening().hold()]).await;
    let planner = Server::playing([dialect.saying(&dialect.plan(&page::order()))]).await;
    let looking = Looking::new(model(&planner), model(&looker));
    let (page, policy) = (placed(), Policy::default().starting_at(page::HERE).unwrap());
    let images = [picture(1)];
    let request = PlanRequest { images: &images, ..PlanRequest::new(TASK, &page, &policy) };
    let deadline = Stage::new(dialect).within(Duration::from_secs(4)).deadline();
    let reply = looking.plan(&request, &mut Sink::default(), deadline).await.unwrap();
    assert_eq!((reply.drafts.len(), reply.usage.planner_calls), (1, 2));
    let note = reply.note.unwrap();
    assert!(note.starts_with("planned without features of the picture: the deadline passed"), "{note}");
    assert!(String::from_utf8_lossy(&planner.requests()[0].body).contains("iVBORw0KGgo"), "it sees the picture itself");
}
