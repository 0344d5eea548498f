//! Servers that break: of pages, of models, and a link to a browser that is cut or goes silent.

use std::io::{BufRead as _, BufReader, Read as _, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::Result;

use super::trial::pause;

/// Reply of a server to a request.
#[derive(Clone, Debug)]
pub enum ServerReply {
    /// The head and the body, after a while.
    After(Duration, String),
    /// The beginning, then nothing until the client hangs up.
    Stall(String),
    /// The text, a byte at a time.
    Drip(String, Duration),
    /// Nothing: it hangs up.
    HangUp,
}

/// An answer with this status and body.
#[must_use]
pub fn whole(status: &str, kind: &str, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}")
}

/// A server on the loopback interface, which lives as long as this process. `answer` gets the number of the request,
/// from 0, and its path.
///
/// # Errors
/// If no port can be had.
pub fn serve(answer: impl Fn(usize, &str) -> ServerReply + Send + Sync + 'static) -> Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    let answer = Arc::new(answer);
    let count = Arc::new(AtomicUsize::new(0));
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(stream) = stream else { continue };
            let (answer, count) = (answer.clone(), count.clone());
            std::thread::spawn(move || respond(stream, &*answer, &count));
        }
    });
    Ok(address)
}

fn respond(mut stream: TcpStream, answer: &dyn Fn(usize, &str) -> ServerReply, count: &AtomicUsize) {
    let Ok(copy) = stream.try_clone() else { return };
    let mut reader = BufReader::new(copy);
    let mut request = String::new();
    if reader.read_line(&mut request).unwrap_or(0) == 0 {
        return;
    }
    let mut length = 0;
    let mut header = String::new();
    while reader.read_line(&mut header).is_ok_and(|read| read > 2) {
        if let Some(value) = header.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
        header.clear();
    }
    let _ = reader.by_ref().take(length).read_to_end(&mut Vec::new());
    let path = request.split(' ').nth(1).unwrap_or("/").to_owned();
    match answer(count.fetch_add(1, Ordering::Relaxed), &path) {
        ServerReply::After(delay, text) => {
            pause(delay);
            let _ = stream.write_all(text.as_bytes());
        }
        ServerReply::Stall(text) => {
            let _ = stream.write_all(text.as_bytes());
            // Until the client hangs up.
            let _ = reader.read(&mut [0; 64]);
        }
        ServerReply::Drip(text, gap) => {
            for byte in text.as_bytes() {
                if stream.write_all(&[*byte]).is_err() {
                    return;
                }
                pause(gap);
            }
        }
        ServerReply::HangUp => {}
    }
    let _ = stream.shutdown(Shutdown::Both);
}

/// How a link ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Cut,
    Silent,
}

/// A link to `to` that ends some time after its first connection. Returns its port.
pub(super) fn link(to: u16, end: End, after: Duration) -> Result<u16> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let port = listener.local_addr()?.port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (Ok(near), Ok(far)) = (stream, TcpStream::connect(("127.0.0.1", to))) else { return };
            let is_over = Arc::new(AtomicBool::new(false));
            for (from, into) in [(&near, &far), (&far, &near)] {
                let (Ok(from), Ok(into)) = (from.try_clone(), into.try_clone()) else { return };
                let is_over = is_over.clone();
                std::thread::spawn(move || pass_on(from, into, &is_over));
            }
            std::thread::spawn(move || {
                pause(after);
                is_over.store(true, Ordering::Relaxed);
                if end == End::Cut {
                    let _ = near.shutdown(Shutdown::Both);
                    let _ = far.shutdown(Shutdown::Both);
                }
            });
        }
    });
    Ok(port)
}

fn pass_on(mut from: TcpStream, mut into: TcpStream, is_over: &AtomicBool) {
    let mut buffer = vec![0; 1 << 16];
    while let Ok(read @ 1..) = from.read(&mut buffer) {
        // A silent link swallows what it gets.
        if !is_over.load(Ordering::Relaxed) && into.write_all(buffer.get(..read).unwrap_or_default()).is_err() {
            break;
        }
    }
    let _ = into.shutdown(Shutdown::Both);
}
