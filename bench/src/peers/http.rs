//! As much of HTTP as the pages of measurements need: a request with its body, and one answer a connection.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use anyhow::Result;

/// Upper bound of a request in bytes.
const MAX_REQUEST: usize = 8 << 20;

/// The path and the body of the request.
pub(super) fn request(stream: &TcpStream) -> Result<(String, Vec<u8>)> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut first = String::new();
    reader.read_line(&mut first)?;
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse::<usize>()?.min(MAX_REQUEST);
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok((first.split(' ').nth(1).unwrap_or_default().to_owned(), body))
}

/// Answers with a document, and ends the connection.
pub(super) fn answer(mut stream: TcpStream, status: &str, body: &str) -> Result<()> {
    let head =
        format!("HTTP/1.1 {status}\r\ncontent-type: text/html; charset=utf-8\r\ncontent-length: {}\r\n", body.len());
    stream.write_all(format!("{head}connection: close\r\n\r\n{body}").as_bytes())?;
    Ok(())
}
