//! A small server of fixed pages.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

/// Serves fixed pages on the loopback interface. `127.0.0.1` and `localhost` are two sites, so a frame of
/// the one in the other is out of process. `PORT` in a page stands for the server's port. `/never` is
/// never answered; a body that ends in `NEVER` never ends, and one stops for a second at each `PAUSE`. A body may begin with lines that are not sent:
/// `STATUS 500`, `LOCATION /path` (a redirect), `WAIT 400` (milliseconds before the answer).
#[expect(clippy::disallowed_methods, reason = "a server that is slow on purpose")]
pub(crate) fn serve(pages: &[(&str, &str)]) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let pages: Arc<HashMap<String, String>> = Arc::new(
        pages.iter().map(|(path, body)| ((*path).to_owned(), body.replace("PORT", &port.to_string()))).collect(),
    );
    std::thread::spawn(move || {
        let mut kept = Vec::new();
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { continue };
            kept.push(stream.try_clone().unwrap());
            let pages = pages.clone();
            std::thread::spawn(move || {
                let mut reader = BufReader::new(stream.try_clone().unwrap());
                let mut request = String::new();
                if reader.read_line(&mut request).is_err() {
                    return;
                }
                let mut header = String::new();
                while reader.read_line(&mut header).is_ok_and(|read| read > 2) {
                    header.clear();
                }
                let path = request.split(' ').nth(1).unwrap_or("/").split('?').next().unwrap_or("/");
                if path == "/never" {
                    return;
                }
                let (mut status, mut body) = match pages.get(path) {
                    Some(body) => ("200 OK".to_owned(), body.as_str()),
                    None => ("404 Not Found".to_owned(), "nothing here"),
                };
                while let Some((line, rest)) = body.split_once('\n') {
                    match line.split_once(' ') {
                        Some(("STATUS", code)) => status = format!("{code} Stated"),
                        Some(("LOCATION", to)) => status = format!("302 Found\r\nLocation: {to}"),
                        Some(("WAIT", ms)) => std::thread::sleep(Duration::from_millis(ms.parse().unwrap())),
                        _ => break,
                    }
                    body = rest;
                }
                let kind = match path {
                    "/stream" => "text/event-stream",
                    path if path.ends_with(".bin") => "application/octet-stream",
                    _ => "text/html; charset=utf-8",
                };
                let (body, length) = match body.strip_suffix("NEVER") {
                    Some(start) => (start, String::new()),
                    None => {
                        let length = body.replace("PAUSE", "").len();
                        (body, format!("Content-Length: {length}\r\nConnection: close\r\n"))
                    }
                };
                let _ = write!(stream, "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\n{length}\r\n");
                for (place, part) in body.split("PAUSE").enumerate() {
                    if place > 0 {
                        std::thread::sleep(Duration::from_secs(1));
                    }
                    let _ = stream.write_all(part.as_bytes());
                }
                if !length.is_empty() {
                    let _ = stream.shutdown(std::net::Shutdown::Both);
                }
            });
        }
    });
    port
}
