//! A client of the Model Context Protocol over standard input and output, of a few lines.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use crate::command;

/// `cuebook mcp`, started and initialised.
#[derive(Debug)]
pub struct McpClient {
    /// Process of the server.
    pub server: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    last: u64,
    /// Questions that the server passed on, each answered with yes.
    pub questions: Vec<String>,
    /// The server's answer to the greeting.
    pub hello: Value,
    /// Notifications of the server, oldest first.
    pub notifications: Vec<Value>,
    /// Folders that the server gets if it asks for roots, as URIs.
    pub roots: Vec<String>,
    /// How often it asked.
    pub asked_for_roots: usize,
}

/// The answer of a tool.
#[derive(Debug)]
pub struct ToolResult {
    /// Text of the answer.
    pub text: String,
    /// `true` if it did not do what it should.
    pub is_error: bool,
    /// Number of its pictures.
    pub pictures: usize,
}

impl ToolResult {
    pub(crate) fn read(result: &Value) -> Result<Self> {
        let content = result["content"].as_array().context("no content")?;
        Ok(Self {
            text: content.first().and_then(|first| first["text"].as_str()).unwrap_or_default().to_owned(),
            is_error: result["isError"] == true,
            pictures: content.iter().filter(|one| one["type"] == "image").count(),
        })
    }
}

impl McpClient {
    /// Starts a server with these flags, as a client without capabilities. It keeps its browsers' profiles in `temporary`.
    ///
    /// # Errors
    /// If `cuebook` is not built, or answers something else.
    pub fn start(flags: &[&str], temporary: &Path) -> Result<Self> {
        Self::with(&json!({}), flags, temporary)
    }

    /// As [`start`](Self::start), as a client with these capabilities.
    ///
    /// # Errors
    /// If `cuebook` is not built, or answers something else.
    pub fn with(capabilities: &Value, flags: &[&str], temporary: &Path) -> Result<Self> {
        let mut server = command()?
            .arg("mcp")
            .args(flags)
            .env("TMPDIR", temporary)
            .env("XDG_RUNTIME_DIR", temporary)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let input = server.stdin.take();
        let output = BufReader::new(server.stdout.take().context("no standard output")?);
        let mut client = Self {
            server,
            input,
            output,
            last: 0,
            questions: Vec::new(),
            hello: Value::Null,
            notifications: Vec::new(),
            roots: Vec::new(),
            asked_for_roots: 0,
        };
        let client_info = json!({ "name": "test", "version": "1" });
        let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": capabilities, "clientInfo": client_info });
        client.hello = client.request("initialize", hello)?;
        client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))?;
        Ok(client)
    }

    /// Sends a message.
    ///
    /// # Errors
    /// If the server is gone.
    pub fn send(&mut self, message: &Value) -> Result<()> {
        self.write(&format!("{message}\n"))
    }

    /// Sends text as it is.
    ///
    /// # Errors
    /// If the server is gone.
    pub fn write(&mut self, text: &str) -> Result<()> {
        let input = self.input.as_mut().context("the input is closed")?;
        input.write_all(text.as_bytes())?;
        Ok(input.flush()?)
    }

    /// Sends a request, and returns its number.
    ///
    /// # Errors
    /// If the server is gone.
    pub fn begin(&mut self, method: &str, params: Value) -> Result<u64> {
        self.last += 1;
        self.send(&json!({ "jsonrpc": "2.0", "id": self.last, "method": method, "params": params }))?;
        Ok(self.last)
    }

    /// The reply to a request.
    ///
    /// # Errors
    /// If the server is gone, or answers with an error.
    pub fn reply(&mut self, id: u64) -> Result<Value> {
        loop {
            let mut line = String::new();
            anyhow::ensure!(self.output.read_line(&mut line)? > 0, "the server has ended");
            let message: Value = serde_json::from_str(&line)?;
            if message["method"] == "elicitation/create" {
                self.questions.push(message["params"]["message"].as_str().unwrap_or_default().to_owned());
                let yes = json!({ "action": "accept", "content": {} });
                self.send(&json!({ "jsonrpc": "2.0", "id": message["id"], "result": yes }))?;
            } else if message["method"] == "roots/list" {
                self.asked_for_roots += 1;
                let roots: Vec<Value> = self.roots.iter().map(|uri| json!({ "uri": uri })).collect();
                self.send(&json!({ "jsonrpc": "2.0", "id": message["id"], "result": { "roots": roots } }))?;
            } else if message["id"].is_null() {
                self.notifications.push(message);
            } else if message["id"] == id {
                return message.get("result").cloned().with_context(|| message.to_string());
            }
        }
    }

    /// Sends a request and waits for its reply.
    ///
    /// # Errors
    /// If the server is gone, or answers with an error.
    pub fn request(&mut self, method: &str, params: Value) -> Result<Value> {
        let id = self.begin(method, params)?;
        self.reply(id)
    }

    /// Calls a tool.
    ///
    /// # Errors
    /// If the server is gone, or answers with an error of the protocol.
    pub fn call(&mut self, tool: &str, arguments: Value) -> Result<ToolResult> {
        let result = self.request("tools/call", json!({ "name": tool, "arguments": arguments }))?;
        ToolResult::read(&result)
    }

    /// Calls a tool, and asks for its progress. Returns that besides the answer.
    ///
    /// # Errors
    /// If the server is gone, or answers with an error of the protocol.
    pub fn follow(&mut self, tool: &str, arguments: Value) -> Result<(ToolResult, Vec<Value>)> {
        let token = format!("token-{}", self.last);
        let params = json!({ "name": tool, "arguments": arguments, "_meta": { "progressToken": token } });
        let result = ToolResult::read(&self.request("tools/call", params)?)?;
        let is_own = |note: &&Value| note["params"]["progressToken"] == *token;
        Ok((result, self.notifications.iter().filter(is_own).map(|note| note["params"].clone()).collect()))
    }

    /// Closes the input, as a client that ends does, and waits for the server.
    ///
    /// # Errors
    /// If it cannot be waited for.
    pub fn leave(mut self) -> Result<std::process::ExitStatus> {
        self.input.take();
        Ok(self.server.wait()?)
    }
}

impl Drop for McpClient {
    fn drop(&mut self) {
        // Without input the server ends, and takes its browser along.
        if self.input.take().is_some() {
            self.server.wait().ok();
        }
    }
}
