//! The simulated servers themselves: a play arrives byte for byte, and what a client does is seen.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::servers::{Dialect, Part, Play, ScriptedReply, Server};

async fn client_of(server: &Server) -> TcpStream {
    let mut stream =
        TcpStream::connect(server.origin().trim_start_matches("http://")).await.expect("the server listens");
    stream
        .write_all(b"POST /v1/x HTTP/1.1\r\nHost: a\r\nX-Key: k\r\nContent-Length: 7\r\n\r\n{\"a\":1}")
        .await
        .expect("the server reads");
    stream
}

async fn all_of(server: &Server) -> String {
    let mut text = String::new();
    client_of(server).await.read_to_string(&mut text).await.expect("text");
    text
}

#[tokio::test]
async fn a_play_arrives_unchanged() {
    let play = Play::streaming(200, "text/event-stream").header("Retry-After", "1");
    let server = Server::playing([play.parts([b"data: 1\n\n".to_vec(), b"x".to_vec()]).end().close()]).await;
    let head =
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\nRetry-After: 1\r\n\r\n";
    assert_eq!(all_of(&server).await, format!("{head}9\r\ndata: 1\n\n\r\n1\r\nx\r\n0\r\n\r\n"));
    let request = server.asked(0).await;
    assert_eq!((request.method.as_str(), request.target.as_str()), ("POST", "/v1/x"));
    assert_eq!((request.header("x-key"), request.json()), (Some("k"), json!({ "a": 1 })));
    assert_eq!((request.hung_up, request.sent), (false, 10));
}

#[tokio::test]
async fn the_last_play_serves_all_later_requests() {
    let server = Server::playing([Play::nothing().raw(b"one").close(), Play::nothing().raw(b"two").close()]).await;
    let mut heard = Vec::new();
    for _ in 0..3 {
        heard.push(all_of(&server).await);
    }
    assert_eq!(heard, ["one", "two", "two"]);
    assert_eq!((server.requests().len(), server.connections()), (3, 3));
}

#[tokio::test]
async fn a_client_that_disconnects_is_noticed_in_silence_and_while_sending() {
    let silent = Play::streaming(200, "text/plain").hold();
    let endless = Play::streaming(200, "text/plain").repeat(b"x".to_vec());
    let server = Server::playing([silent, endless]).await;
    for index in 0..2 {
        let client = client_of(&server).await;
        server.asked(index).await;
        drop(client);
        assert!(server.hung_up(index).await.hung_up);
    }
}

#[tokio::test]
async fn a_body_can_be_split_at_any_byte() {
    let parts = ["ab", "cde", "f"].map(|part| part.as_bytes().to_vec());
    let play = || Play::streaming(200, "text/plain").parts(parts.clone());
    assert_eq!(play().body_len(), 6);
    let server = Server::playing([
        play().in_pieces_of(4).end().close(),
        play().cut_after(3).close(),
        play().in_pieces_of(3).dripping(Duration::from_millis(1)).pause(Duration::from_millis(1)).end().close(),
    ])
    .await;
    let mut bodies = Vec::new();
    for _ in 0..3 {
        bodies.push(all_of(&server).await.split_once("\r\n\r\n").unwrap().1.to_owned());
    }
    assert_eq!(bodies[0], "4\r\nabcd\r\n2\r\nef\r\n0\r\n\r\n");
    assert_eq!(bodies[1], "2\r\nab\r\n1\r\nc\r\n");
    assert_eq!(bodies[2], "3\r\nabc\r\n3\r\ndef\r\n0\r\n\r\n");
}

/// The JSON documents of a stream, whatever delimits them.
fn documents(dialect: Dialect, answer: &ScriptedReply) -> Vec<Value> {
    let text: Vec<u8> = dialect.events(answer).concat();
    let text = String::from_utf8(text).expect("events are text");
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with("event: ") && *line != "data: [DONE]");
    lines.map(|line| serde_json::from_str(line.trim_start_matches("data: ")).expect("data are JSON")).collect()
}

/// The strings at a pointer of every document, joined.
fn joined(documents: &[Value], pointer: &str) -> String {
    documents.iter().filter_map(|document| document.pointer(pointer)).filter_map(Value::as_str).collect()
}

#[test]
fn every_dialect_has_the_same_plan() {
    let steps = [
        json!({ "type": "type", "targetRef": "c1", "text": "Grüße, 東京 🎭" }),
        json!({ "type": "click", "targetRef": "c3" }),
    ];
    for dialect in Dialect::ALL {
        let answer = dialect.plan(&steps).after(Part::Reasoning("first the name".to_owned()));
        let documents = documents(dialect, &answer);
        let said = |pointer| joined(&documents, pointer);
        let thought = [
            "/message/thinking",
            "/choices/0/delta/reasoning_content",
            "/choices/0/delta/reasoning",
            "/delta/thinking",
        ];
        assert_eq!(thought.map(said).concat(), "first the name", "{dialect:?}");
        let said = if dialect.calls_tools() {
            let arguments =
                ["/choices/0/delta/tool_calls/0/function/arguments", "/delta/partial_json"].map(said).concat();
            let names = ["/choices/0/delta/tool_calls/0/function/name", "/content_block/name"].map(said).concat();
            assert_eq!(names, "typeclick", "{dialect:?}");
            arguments.replace("}{", "},{")
        } else {
            ["/message/content", "/choices/0/delta/content"].map(said).concat()
        };
        assert!(said.contains("Grüße, 東京 🎭"), "{dialect:?}: {said}");
        let read: Value = serde_json::from_str(&format!("[{said}]")).unwrap();
        assert!(read.as_array().is_some_and(|read| !read.is_empty()));
    }
}
