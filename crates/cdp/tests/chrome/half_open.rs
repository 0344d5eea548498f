//! Endpoints that accept and then fail in every other way: silence, half a message, too much, nonsense.

use std::time::{Duration, Instant};

use cuebook_cdp::{AttachError, AttachOptions, Browser, CallError, GoneReason};
use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;

use crate::lab::soon;

type Socket = WebSocketStream<TcpStream>;

async fn attach(endpoint: String, until: Instant) -> Result<Browser, AttachError> {
    Browser::attach(&AttachOptions::new(endpoint, "/nowhere"), until).await
}

fn shortly() -> Instant {
    Instant::now() + Duration::from_millis(300)
}

/// An endpoint whose first connection is handled by `serve`; returns its port.
async fn endpoint<F>(serve: impl FnOnce(TcpStream) -> F + Send + 'static) -> u16
where
    F: Future<Output = ()> + Send,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        serve(stream).await;
    });
    port
}

/// Answers the first commands as a browser without pages would, then hands over with the next command's id.
async fn begin(stream: TcpStream) -> (Socket, u64) {
    let mut socket = tokio_tungstenite::accept_async(stream).await.unwrap();
    loop {
        let message = socket.next().await.unwrap().unwrap();
        let command: Value = serde_json::from_str(message.to_text().unwrap()).unwrap();
        let answer = match command["method"].as_str().unwrap() {
            "Target.createBrowserContext" => json!({"browserContextId": "ours"}),
            "Browser.getVersion" if command["id"] == 2 => json!({"product": "Fake/1"}),
            "Browser.setDownloadBehavior" | "Target.setAutoAttach" => json!({}),
            _ => return (socket, command["id"].as_u64().unwrap()),
        };
        let answer = json!({"id": command["id"], "result": answer}).to_string();
        socket.send(Message::text(answer)).await.unwrap();
    }
}

/// A browser that is attached to, and handed over at the first command after that.
async fn attached<F>(then: impl FnOnce(Socket, u64) -> F + Send + 'static) -> Browser
where
    F: Future<Output = ()> + Send,
{
    let port = endpoint(async move |stream| {
        let (socket, id) = begin(stream).await;
        then(socket, id).await;
    })
    .await;
    attach(format!("ws://127.0.0.1:{port}/"), soon()).await.unwrap()
}

async fn version(browser: &Browser, until: Instant) -> Result<Value, CallError> {
    browser.session().call_raw("Browser.getVersion", json!({}), until).await?.parse()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_endpoint_that_accepts_and_never_answers_costs_the_deadline() {
    for scheme in ["http", "ws"] {
        let port = endpoint(async |stream| {
            std::future::pending::<()>().await;
            drop(stream);
        })
        .await;
        let error = attach(format!("{scheme}://127.0.0.1:{port}"), shortly()).await.unwrap_err();
        assert!(matches!(error, AttachError::DeadlineExceeded { .. }), "{scheme}: saw {error:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_websocket_that_opens_and_never_answers_costs_the_deadline() {
    let port = endpoint(async |stream| {
        let _socket = tokio_tungstenite::accept_async(stream).await.unwrap();
        std::future::pending::<()>().await;
    })
    .await;
    let error = attach(format!("ws://127.0.0.1:{port}/"), shortly()).await.unwrap_err();
    assert!(matches!(error, AttachError::Setup(CallError::DeadlineExceeded { .. })), "saw {error:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_websocket_that_opens_and_closes_is_a_browser_that_is_gone() {
    let port = endpoint(async |stream| drop(tokio_tungstenite::accept_async(stream).await)).await;
    let error = attach(format!("ws://127.0.0.1:{port}/"), soon()).await.unwrap_err();
    let AttachError::Setup(error) = &error else { panic!("saw {error:?}") };
    assert_eq!(error.gone(), Some(GoneReason::BrowserGone));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_web_server_that_is_no_browser_is_named_as_such_however_much_it_says() {
    for (head, body) in [("404 Not Found", 10), ("200 OK", 3 << 20)] {
        let port = endpoint(async move |mut stream| {
            let mut request = [0; 64];
            let _ = stream.read(&mut request).await;
            let _ = stream.write_all(format!("HTTP/1.1 {head}\r\n\r\n").as_bytes()).await;
            let _ = stream.write_all(&vec![b' '; body]).await;
        })
        .await;
        let error = attach(format!("http://127.0.0.1:{port}"), soon()).await.unwrap_err();
        assert!(matches!(error, AttachError::NotABrowser { .. } | AttachError::Unreachable { .. }), "saw {error:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_stops_midway_costs_a_deadline_and_then_the_connection() {
    let (hang_up, hung_up) = tokio::sync::oneshot::channel::<()>();
    let browser = attached(async move |mut socket, _| {
        // The head of a text of 1,000 bytes, and its first 12.
        socket.get_mut().write_all(b"\x81\x7e\x03\xe8{\"id\":5,\"resu").await.unwrap();
        let _ = hung_up.await;
    })
    .await;
    let waiting = version(&browser, shortly()).await;
    assert!(matches!(waiting, Err(CallError::DeadlineExceeded { .. })), "saw {waiting:?}");
    assert!(browser.is_alive(), "nothing says yet that it will not go on");
    let pending = version(&browser, soon());
    let (pending, _) = tokio::join!(pending, async { hang_up.send(()) });
    assert_eq!(pending.unwrap_err().gone(), Some(GoneReason::BrowserGone));
    assert!(!browser.is_alive());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_beyond_the_cap_ends_the_connection_and_not_the_memory() {
    let browser = attached(async |mut socket, _| {
        // The head of a text of 300 MB. Nothing more needs to follow.
        let mut head = b"\x81\x7f".to_vec();
        head.extend(300_000_000_u64.to_be_bytes());
        socket.get_mut().write_all(&head).await.unwrap();
        std::future::pending::<()>().await;
    })
    .await;
    let error = version(&browser, soon()).await.unwrap_err();
    assert_eq!(error.gone(), Some(GoneReason::BrowserGone));
}

#[tokio::test(flavor = "multi_thread")]
async fn nonsense_between_messages_disturbs_no_call() {
    let browser = attached(async |mut socket, id| {
        let nonsense = [
            "not json",
            "{}",
            "[]",
            "{\"id\":-1}",
            "{\"id\":999999,\"result\":{}}",
            "{\"method\":\"Target.attachedToTarget\",\"params\":{\"sessionId\":7}}",
            "{\"method\":\"Target.detachedFromTarget\",\"params\":{\"sessionId\":\"nobody\"}}",
            "{\"method\":\"Page.frameNavigated\",\"sessionId\":\"nobody\",\"params\":{}}",
            "{\"method\":\"Inspector.targetCrashed\"}",
        ];
        for text in nonsense {
            socket.send(Message::text(text)).await.unwrap();
        }
        let deep = format!("{{\"id\":888888,\"result\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
        socket.send(Message::text(deep)).await.unwrap();
        socket.send(Message::binary(vec![0xff, 0xfe])).await.unwrap();
        let answer = json!({"id": id, "result": {"product": "Fake/2"}}).to_string();
        socket.send(Message::text(answer)).await.unwrap();
        std::future::pending::<()>().await;
    })
    .await;
    assert_eq!(version(&browser, soon()).await.unwrap()["product"], "Fake/2");
    assert!(browser.is_alive());
}
