//! The messages of a run's connection to the browser, `cdp.jsonl`: one a line, as far as they may be kept.
//!
//! Invariants:
//! - No text that is typed, no body, no cookie, no value of a header field and no argument or result of a script is
//!   written; of the rest, what the redactor of the run knows to be secret is not.
//! - Whoever sends or reads messages does not wait for the disk. What the disk cannot take in time is counted.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use cuebook_grammar::redaction::redacted_json;
use cuebook_grammar::render::cut;
use cuebook_grammar::seam::Redactor;
use serde_json::{Map, Value, json};

use crate::error::{DataError, Doing};
use crate::run_dir::RunDir;

/// Messages beyond this are only counted.
const MAX_MESSAGE: usize = 1 << 20;
/// The file ends here, with a line that says so.
const MAX_FILE: u64 = 64 << 20;
/// Longest text of a message that is kept, in characters.
const LONGEST: usize = 300;
/// Messages that wait for the disk at most.
const WAITING: usize = 4096;
/// Calls whose answers are awaited at most; later ones lose their names.
const CALLS: usize = 10_000;

/// Domains whose messages hold what pages hold: nothing but their names is kept.
const CLOSED: [&str; 7] = ["Accessibility", "CacheStorage", "DOM", "DOMSnapshot", "DOMStorage", "IndexedDB", "Storage"];
/// Domains whose results are kept.
const OPEN_RESULTS: [&str; 3] = ["Browser", "Page", "Target"];
/// Members that are never kept, wherever they stand.
const DROPPED: [&str; 18] = [
    "arguments",
    "associatedCookies",
    "authChallengeResponse",
    "blockedCookies",
    "body",
    "code",
    "cookies",
    "data",
    "headersText",
    "key",
    "nativeVirtualKeyCode",
    "payload",
    "payloadData",
    "postData",
    "postDataEntries",
    "text",
    "unmodifiedText",
    "windowsVirtualKeyCode",
];
/// Members whose names are kept, and whose values are not.
const NAMES_ONLY: [&str; 4] = ["exemptedCookies", "headers", "requestHeaders", "responseHeaders"];

struct Message {
    ts_ms: u64,
    is_sent: bool,
    bytes: usize,
    /// The beginning only, of one beyond [`MAX_MESSAGE`].
    text: Vec<u8>,
}

/// Writes the messages of a connection, until it is dropped.
pub struct CdpLog {
    queue: Option<SyncSender<Message>>,
    lost: Arc<AtomicU64>,
    writer: Option<JoinHandle<()>>,
}

impl CdpLog {
    /// Creates `cdp.jsonl` in the folder of a run, and a thread that writes it. Blocks.
    ///
    /// # Errors
    /// [`DataError::Io`], also if there is one.
    pub fn create(dir: &RunDir, redactor: Arc<dyn Redactor>) -> Result<Self, DataError> {
        let path = dir.path().join("cdp.jsonl");
        let mut options = OpenOptions::new();
        options.append(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(&path).map_err(DataError::io(Doing::Create, &path))?;
        let (queue, messages) = sync_channel(WAITING);
        let lost = Arc::new(AtomicU64::new(0));
        let counted = lost.clone();
        let writer = std::thread::Builder::new()
            .name("cdp-log".to_owned())
            .spawn(move || write(file, &messages, &*redactor, &counted))
            .map_err(DataError::io(Doing::Create, &path))?;
        Ok(Self { queue: Some(queue), lost, writer: Some(writer) })
    }

    /// A function that takes messages as they stand on the wire, without waiting.
    pub fn writer(&self) -> impl Fn(bool, u64, &[u8]) + Send + Sync + use<> {
        let (queue, lost) = (self.queue.clone(), self.lost.clone());
        move |is_sent, ts_ms, message| {
            let kept = if message.len() > MAX_MESSAGE { message.get(..LONGEST) } else { Some(message) };
            let text = kept.unwrap_or_default().to_vec();
            let message = Message { ts_ms, is_sent, bytes: message.len(), text };
            if queue.as_ref().is_none_or(|queue| queue.try_send(message).is_err()) {
                lost.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
}

/// Waits until all is written. Every [`writer`](CdpLog::writer) must have been dropped before.
impl Drop for CdpLog {
    fn drop(&mut self) {
        self.queue = None;
        if let Some(writer) = self.writer.take() {
            // A thread that panicked has nothing left to write.
            drop(writer.join());
        }
    }
}

fn write(file: File, messages: &Receiver<Message>, redactor: &dyn Redactor, lost: &AtomicU64) {
    let mut file = BufWriter::new(file);
    let mut calls = HashMap::new();
    let mut written = 0;
    while let Ok(message) = messages.recv() {
        if written >= MAX_FILE {
            lost.fetch_add(1, Ordering::Relaxed);
            continue;
        }
        // What cannot be redacted is not written.
        let Ok(line) = redacted_json(&line(&message, &mut calls), Some(redactor)) else { continue };
        written += line.len() as u64 + 1;
        if writeln!(file, "{line}").is_err() {
            return;
        }
    }
    let lost = lost.load(Ordering::Relaxed);
    if lost > 0 {
        drop(writeln!(file, "{}", json!({ "lost": lost })));
    }
    drop(file.flush());
}

/// The line of a message; `calls` are the methods that wait for an answer, by session and id.
fn line(message: &Message, calls: &mut HashMap<u64, String>) -> Value {
    let mut line = Map::new();
    line.insert("tsMs".to_owned(), message.ts_ms.into());
    line.insert("direction".to_owned(), if message.is_sent { "sent" } else { "received" }.into());
    line.insert("bytes".to_owned(), message.bytes.into());
    let Ok(Value::Object(mut members)) = serde_json::from_slice(&message.text) else {
        line.insert("omitted".to_owned(), true.into());
        return line.into();
    };
    let id = members.get("id").and_then(Value::as_u64);
    let stated = members.get("method").and_then(Value::as_str).map(str::to_owned);
    let method = match (&stated, id) {
        (Some(method), Some(id)) if message.is_sent && calls.len() < CALLS => {
            calls.insert(id, method.clone());
            stated
        }
        (None, Some(id)) => calls.remove(&id),
        _ => stated,
    };
    let domain = method.as_deref().and_then(|method| method.split('.').next()).unwrap_or_default().to_owned();
    for key in ["id", "sessionId", "error"] {
        line.extend(members.remove(key).map(|value| (key.to_owned(), kept(value))));
    }
    line.extend(method.map(|method| ("method".to_owned(), cut(&method, LONGEST).into())));
    let is_closed = CLOSED.contains(&domain.as_str());
    for (key, is_kept) in [("params", !is_closed), ("result", OPEN_RESULTS.contains(&domain.as_str()))] {
        line.extend(members.remove(key).filter(|_| is_kept).map(|value| (key.to_owned(), kept(value))));
    }
    line.into()
}

/// A part of a message without what is never kept, and with its long texts cut.
fn kept(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(cut(&text, LONGEST)),
        Value::Array(items) => items.into_iter().map(kept).collect(),
        Value::Object(members) => {
            let members = members.into_iter().filter(|(key, _)| !DROPPED.contains(&key.as_str()));
            let part = |(key, value): (String, Value)| match value {
                Value::Object(fields) if NAMES_ONLY.contains(&key.as_str()) => {
                    (key, fields.into_iter().map(|(name, _)| Value::from(name)).collect())
                }
                Value::Array(_) if NAMES_ONLY.contains(&key.as_str()) => (key, Value::Null),
                value => (key, kept(value)),
            };
            members.map(part).collect()
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::redactor::ValueRedactor;

    fn logged(messages: &[(bool, Value)]) -> (String, Vec<Value>) {
        let folder = tempfile::tempdir().unwrap();
        let dir = RunDir::create(folder.path(), &crate::run_id(0, [0; 3])).unwrap();
        let log = CdpLog::create(&dir, Arc::new(ValueRedactor::default())).unwrap();
        let write = log.writer();
        for (is_sent, message) in messages {
            write(*is_sent, 7, &serde_json::to_vec(message).unwrap());
        }
        drop(write);
        drop(log);
        let text = fs::read_to_string(dir.path().join("cdp.jsonl")).unwrap();
        let lines = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        (text, lines)
    }

    #[test]
    fn a_message_is_kept_without_what_people_and_pages_enter() {
        let secret = "hunter2";
        let (text, lines) = logged(&[
            (true, json!({"id": 1, "sessionId": "S", "method": "Input.insertText", "params": {"text": secret}})),
            (true, json!({"id": 2, "method": "Input.dispatchKeyEvent", "params": {"type": "keyDown", "key": "h"}})),
            (true, json!({"id": 3, "method": "Runtime.callFunctionOn", "params": {"arguments": [{"value": secret}]}})),
            (false, json!({"id": 3, "result": {"result": {"value": secret}}})),
            (true, json!({"id": 4, "method": "Storage.getCookies", "params": {}})),
            (false, json!({"id": 4, "result": {"cookies": [{"value": secret}]}})),
            (
                false,
                json!({"method": "Network.requestWillBeSent", "params": {"request":
                {"url": "https://shop.test/", "method": "POST", "postData": secret, "headers": {"Cookie": secret}}}}),
            ),
            (false, json!({"method": "DOM.attributeModified", "params": {"name": "value", "value": secret}})),
        ]);
        assert!(!text.contains(secret) && !text.contains("\"h\""), "{text}");
        assert_eq!(lines.len(), 8);
        assert_eq!((&lines[0]["sessionId"], &lines[0]["method"]), (&json!("S"), &json!("Input.insertText")));
        assert_eq!(lines[1]["params"], json!({"type": "keyDown"}));
        assert_eq!((&lines[3]["method"], &lines[3]["id"]), (&json!("Runtime.callFunctionOn"), &json!(3)));
        let request = &lines[6]["params"]["request"];
        assert_eq!(request, &json!({"url": "https://shop.test/", "method": "POST", "headers": ["Cookie"]}));
    }

    #[test]
    fn errors_and_results_about_targets_are_kept_and_long_texts_are_cut() {
        let long = "x".repeat(5_000);
        let (_, lines) = logged(&[
            (true, json!({"id": 1, "method": "Page.navigate", "params": {"url": long}})),
            (false, json!({"id": 1, "result": {"frameId": "F", "errorText": "net::ERR_FAILED"}})),
            (true, json!({"id": 2, "method": "DOM.focus", "params": {"nodeId": 1}})),
            (false, json!({"id": 2, "error": {"code": -32000, "message": "Node is not focusable"}})),
            (false, json!("x".repeat(MAX_MESSAGE))),
        ]);
        assert_eq!(lines[1]["result"]["errorText"], "net::ERR_FAILED");
        assert_eq!(lines[3]["error"]["message"], "Node is not focusable");
        assert!(lines[0]["params"]["url"].as_str().unwrap().len() < 400);
        assert_eq!((&lines[4]["omitted"], &lines[4]["bytes"]), (&json!(true), &json!(MAX_MESSAGE + 2)));
    }
}
