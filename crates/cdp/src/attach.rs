//! From an endpoint to the websocket of a running browser.

use std::io;
use std::time::Instant;

use serde::Deserialize;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use url::{Host, Url};

use crate::error::AttachError;

/// `/json/version` is a few hundred bytes; a server that sends more is not a browser.
const ANSWER_CAP: u64 = 1 << 20;

/// The websocket address behind `ws://…`, `wss://…` or `http://host:port`.
///
/// # Errors
/// [`AttachError`]
pub(crate) async fn resolve(endpoint: &str, until: Instant) -> Result<String, AttachError> {
    let invalid = || AttachError::InvalidEndpoint { endpoint: endpoint.to_owned() };
    let url = Url::parse(endpoint).map_err(|_| invalid())?;
    match url.scheme() {
        "ws" | "wss" => Ok(endpoint.to_owned()),
        "http" => {
            let asked = tokio::time::timeout_at(until.into(), version(&url));
            let answer = asked
                .await
                .map_err(|_| AttachError::DeadlineExceeded { endpoint: endpoint.to_owned() })?
                .map_err(|source| AttachError::Unreachable { endpoint: endpoint.to_owned(), source })?;
            let status = status(&answer).unwrap_or(0);
            web_socket(&answer)
                .filter(|_| status == 200)
                .ok_or_else(|| AttachError::NotABrowser { endpoint: endpoint.to_owned(), status })
        }
        _ => Err(invalid()),
    }
}

async fn version(url: &Url) -> io::Result<Vec<u8>> {
    let port = url.port_or_known_default().unwrap_or(80);
    let host = url.host().ok_or(io::ErrorKind::InvalidInput)?;
    let stream = match &host {
        Host::Domain(name) => TcpStream::connect((*name, port)).await,
        Host::Ipv4(address) => TcpStream::connect((*address, port)).await,
        Host::Ipv6(address) => TcpStream::connect((*address, port)).await,
    };
    let mut stream = stream?;
    let request = format!(
        "GET /json/version HTTP/1.1\r\nHost: {host}:{port}\r\nAccept: application/json\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    let mut limited = stream.take(ANSWER_CAP);
    // Chrome keeps the connection open in spite of the header: the answer is complete when its JSON is.
    while limited.read_buf(&mut answer).await? > 0 {
        if web_socket(&answer).is_some() {
            break;
        }
    }
    Ok(answer)
}

fn status(answer: &[u8]) -> Option<u16> {
    let line = answer.split(|byte| *byte == b'\r').next()?;
    std::str::from_utf8(line).ok()?.split(' ').nth(1)?.parse().ok()
}

fn web_socket(answer: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Version {
        web_socket_debugger_url: String,
    }
    let head = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n")?;
    let version: Version = serde_json::from_slice(answer.get(head + 4..)?).ok()?;
    Some(version.web_socket_debugger_url)
}

#[cfg(test)]
mod tests {
    use super::{status, web_socket};

    #[test]
    fn an_answer_names_the_websocket_once_it_is_complete() {
        let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{\"webSocketDebuggerUrl\": \"ws://h/x\"}";
        assert_eq!(status(answer), Some(200));
        assert_eq!(web_socket(answer).as_deref(), Some("ws://h/x"));
        assert_eq!(web_socket(&answer[..answer.len() - 1]), None);
        assert_eq!(web_socket(b"HTTP/1.1 404 Not Found\r\n\r\n{}"), None);
        assert_eq!(status(b""), None);
    }
}
