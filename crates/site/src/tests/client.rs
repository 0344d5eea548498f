//! The least browser that the tests need: one request a connection, cookies kept, no redirects.

use std::collections::BTreeMap;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::{Site, SiteHandle};

pub(super) struct Client {
    pub(super) site: SiteHandle,
    cookies: BTreeMap<String, String>,
}

pub(super) struct Response {
    pub(super) status: u16,
    pub(super) location: Option<String>,
    pub(super) body: String,
}

impl Client {
    pub(super) async fn new(seed: u64) -> Self {
        let site = Site::builder().seed(seed).build().bind(0).await.unwrap();
        Self { site, cookies: BTreeMap::new() }
    }

    pub(super) async fn get(&mut self, path: &str) -> Response {
        self.send("GET", path, "text/plain", "").await
    }

    pub(super) async fn post(&mut self, path: &str, fields: &[(&str, &str)]) -> Response {
        let body: Vec<String> = fields.iter().map(|(name, value)| format!("{name}={}", encode(value))).collect();
        self.send("POST", path, "application/x-www-form-urlencoded", &body.join("&")).await
    }

    pub(super) async fn send(&mut self, verb: &str, path: &str, kind: &str, body: &str) -> Response {
        let host = self.site.origin().trim_start_matches("http://").to_owned();
        self.send_as(&host, verb, path, kind, body).await
    }

    pub(super) async fn send_as(&mut self, host: &str, verb: &str, path: &str, kind: &str, body: &str) -> Response {
        let address = self.site.origin().trim_start_matches("http://").to_owned();
        let mut stream = TcpStream::connect(address).await.unwrap();
        let cookies: Vec<String> = self.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let (cookies, length) = (cookies.join("; "), body.len());
        let request = format!(
            "{verb} {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\ncookie: {cookies}\r\n\
             content-type: {kind}\r\ncontent-length: {length}\r\n\r\n{body}"
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await.unwrap();
        self.read(&String::from_utf8(answer).unwrap())
    }

    fn read(&mut self, answer: &str) -> Response {
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let mut location = None;
        for (name, value) in head.lines().filter_map(|line| line.split_once(": ")) {
            if name.eq_ignore_ascii_case("location") {
                location = Some(value.to_owned());
            } else if name.eq_ignore_ascii_case("set-cookie") {
                let (name, value) = value.split(';').next().unwrap().split_once('=').unwrap();
                self.cookies.insert(name.to_owned(), value.to_owned());
            }
        }
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Response { status, location, body: body.to_owned() }
    }

    pub(super) async fn state(&mut self) -> Value {
        serde_json::from_str(&self.get("/state").await.body).unwrap()
    }

    pub(super) async fn log_in(&mut self) {
        let fields = [("email", "ann"), ("password", "correct-horse")];
        assert_eq!(self.post("/login", &fields).await.status, 303);
    }
}

fn encode(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}
