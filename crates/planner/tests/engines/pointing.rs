//! OpenAI's responses, which only models that point speak: their answers, and how their servers fail.

use serde_json::json;

use crate::servers::{Dialect, End, Part, Play, ScriptedReply};
use crate::stage::{KEY, Stage};

const DIALECT: Dialect = Dialect::Responses;

fn key(keys: &str) -> ScriptedReply {
    let action = json!({ "action": { "type": "keypress", "keys": [keys] } });
    ScriptedReply::of([Part::Reasoning("Go on.".into()), Part::Call("computer".to_owned(), action.to_string())])
}

#[tokio::test]
async fn an_action_is_a_step_streamed_or_whole() {
    for play in [
        DIALECT.saying(&key("PAGEDOWN")),
        DIALECT.saying(&key("PAGEDOWN")).in_pieces_of(3),
        DIALECT.whole(&key("PAGEDOWN")),
    ] {
        let asked = Stage::new(DIALECT).ask([play]).await;
        let step = serde_json::to_value(&asked.reply().drafts[0].steps[0]).unwrap();
        assert_eq!(step, json!({ "type": "press", "keys": "PageDown" }));
        assert_eq!((asked.calls[0].input_tokens, asked.calls[0].output_tokens), (472, 89));
        let request = &asked.requests()[0];
        assert_eq!(request.target, "/v1/responses");
        assert_eq!(request.header("authorization"), Some(&*format!("Bearer {KEY}")));
        let body = request.json();
        assert_eq!(body["tools"][0], json!({ "type": "computer" }));
        assert_eq!(body["tools"][3]["parameters"]["required"], json!(["result"]));
        assert_eq!((body["input"][0]["role"].as_str(), body["store"].as_bool()), (Some("system"), Some(false)));
    }
}

#[tokio::test]
async fn text_without_an_action_and_points_without_a_picture_are_told_to_the_model_once() {
    let point = ScriptedReply::of([Part::Call(
        "computer".to_owned(),
        json!({ "actions": [{ "type": "click", "x": 1, "y": 1 }] }).to_string(),
    )]);
    for (bad, told) in [
        (ScriptedReply::text("I would scroll."), "the answer has no action"),
        (point, "there was no picture to point at"),
    ] {
        let asked = Stage::new(DIALECT).ask([DIALECT.saying(&bad), DIALECT.saying(&key("PAGEDOWN"))]).await;
        assert_eq!(asked.ends(), ["invalid", "accepted"]);
        assert!(asked.requests()[1].json().to_string().contains(told), "{told}");
        let asked = Stage::new(DIALECT).ask([DIALECT.saying(&bad)]).await;
        assert_eq!((asked.code(), asked.ends().len()), ("invalidPlan", 2));
    }
}

#[tokio::test]
async fn failures_of_the_server_are_named() {
    let whole = DIALECT.saying(&key("PAGEDOWN"));
    let half = whole.body_len() / 2;
    for (play, code) in [
        (DIALECT.error(401, "Incorrect API key"), "rejected"),
        (DIALECT.error(429, "Rate limit reached"), "rateLimited"),
        (DIALECT.opening().parts([DIALECT.error_event("Overloaded")]).end(), "serverError"),
        (DIALECT.opening().parts([DIALECT.broken_event()]).end(), "badFormat"),
        (DIALECT.saying(&key("PAGEDOWN").ending(End::Unsaid)), "cut"),
        (whole.cut_after(half).close(), "connectionLost"),
        (Play::whole(200, "application/json", "{\"object\":\"nothing\"}"), "badFormat"),
    ] {
        let asked = Stage::new(DIALECT).ask([play]).await;
        assert_eq!(asked.code(), code, "{:?}", asked.result);
    }
    let asked = Stage::new(DIALECT).ask([DIALECT.saying(&key("PAGEDOWN").ending(End::Length))]).await;
    assert_eq!(asked.code(), "invalidPlan");
    let refused = ScriptedReply::of([Part::Refusal("I will not.".into())]);
    let asked = Stage::new(DIALECT).ask([DIALECT.saying(&refused)]).await;
    assert!(
        asked.reply().drafts.is_empty() && asked.reply().note.as_deref().is_some_and(|it| it.contains("I will not."))
    );
}
