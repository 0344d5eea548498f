//! A client of `cuebook mcp --http`, of a few lines.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};

use anyhow::{Context as _, Result, ensure};
use reqwest::header::{ACCEPT, AUTHORIZATION, HeaderMap};
use reqwest::{Client, StatusCode};
use serde_json::{Value, json};

use crate::{ToolResult, command};

/// `cuebook mcp --http`, started; it ends with this.
#[derive(Debug)]
pub struct HttpServer {
    /// Process of the server.
    pub process: Child,
    /// Address of its endpoint.
    pub url: String,
    /// Token that it expects.
    pub token: String,
    connections: Client,
}

impl HttpServer {
    /// Starts a server at a free port with these flags. It keeps its browsers' profiles in `temporary`.
    ///
    /// # Errors
    /// If `cuebook` is not built, or does not say where it serves.
    pub fn start(flags: &[&str], temporary: &Path) -> Result<Self> {
        let mut process = command()?
            .args(["mcp", "--http", "127.0.0.1:0", "--json"])
            .args(flags)
            .env("TMPDIR", temporary)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let mut said = String::new();
        let mut output = BufReader::new(process.stdout.take().context("no standard output")?);
        while serde_json::from_str::<Value>(&said).is_err() {
            ensure!(output.read_line(&mut said)? > 0, "the server has ended: {said}");
        }
        let said: Value = serde_json::from_str(&said)?;
        let text = |name: &str| said[name].as_str().map(str::to_owned).context("expected url and token");
        let connections = Client::builder().no_proxy().build()?;
        Ok(Self { url: text("url")?, token: text("token")?, process, connections })
    }

    /// Sends a message with these headers besides those that each needs. Returns the status, the headers and the first
    /// message of the answer.
    ///
    /// # Errors
    /// If the server cannot be reached.
    pub async fn post(&self, headers: &[(&str, &str)], message: &Value) -> Result<(StatusCode, HeaderMap, Value)> {
        let mut request = self.connections.post(&self.url);
        request = request.header(ACCEPT, "application/json, text/event-stream").json(message);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let response = request.send().await?;
        let (status, headers) = (response.status(), response.headers().clone());
        let text = response.text().await?;
        let data = text.lines().filter_map(|line| line.strip_prefix("data:")).map(str::trim);
        let mut messages = data.chain([text.as_str()]).filter_map(|data| serde_json::from_str(data).ok());
        Ok((status, headers, messages.next().unwrap_or_default()))
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        // It takes its browser along.
        self.process.kill().ok();
        self.process.wait().ok();
    }
}

/// A client with a session of the protocol.
#[derive(Debug)]
pub struct HttpClient<'a> {
    server: &'a HttpServer,
    bearer: String,
    session: String,
}

impl<'a> HttpClient<'a> {
    /// Begins a session, as a client without capabilities.
    ///
    /// # Errors
    /// If the server refuses it.
    pub async fn of(server: &'a HttpServer) -> Result<Self> {
        let bearer = format!("Bearer {}", server.token);
        let client_info = json!({ "name": "test", "version": "1" });
        let params = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client_info });
        let hello = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
        let (status, headers, reply) = server.post(&[(AUTHORIZATION.as_str(), &bearer)], &hello).await?;
        ensure!(status.is_success(), "{status} {reply}");
        let session = headers.get("mcp-session-id").context("no session")?.to_str()?.to_owned();
        let client = Self { server, bearer, session };
        client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await?;
        Ok(client)
    }

    async fn send(&self, message: &Value) -> Result<Value> {
        let headers = [(AUTHORIZATION.as_str(), self.bearer.as_str()), ("mcp-session-id", self.session.as_str())];
        let (status, _, reply) = self.server.post(&headers, message).await?;
        ensure!(status.is_success(), "{status} {reply}");
        Ok(reply)
    }

    /// Calls a tool.
    ///
    /// # Errors
    /// If the server is gone, or answers with an error of the protocol.
    pub async fn call(&self, tool: &str, arguments: Value) -> Result<ToolResult> {
        let params = json!({ "name": tool, "arguments": arguments });
        let reply = self.send(&json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params })).await?;
        ToolResult::read(&reply["result"]).with_context(|| reply.to_string())
    }

    /// Ends the session of the protocol.
    ///
    /// # Errors
    /// If the server is gone.
    pub async fn leave(self) -> Result<()> {
        let request = self.server.connections.delete(&self.server.url);
        let request = request.header(AUTHORIZATION, &self.bearer).header("mcp-session-id", &self.session);
        let status = request.send().await?.status();
        ensure!(status.is_success(), "{status}");
        Ok(())
    }
}
