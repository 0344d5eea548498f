//! A page and a model on one port of loopback, in threads of their own, and what happened when.

use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde_json::{Value, json};
use tiktoken_rs::CoreBPE;

use super::super::http;

/// Pause after each token: 50 tokens a second at most.
const PAUSE: Duration = Duration::from_millis(20);

const PAGE: &str = "<!DOCTYPE html><html lang=en><title>Settings</title><h1>Settings</h1><div id=all></div><script>
for (let n = 1; n <= 5; n += 1) {
  const button = document.createElement('button');
  button.textContent = `Save ${n}`;
  button.onclick = async () => { await fetch(`/save?n=${n}`); button.hidden = true; };
  document.getElementById('all').append(button);
}
</script>";

/// How the model sends what it writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// Token by token, as a model writes them.
    Streamed,
    /// At once, at its end.
    InSequence,
}

/// Event of a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// A prompt arrived at the model.
    Prompt,
    /// A token was written.
    Token,
    /// A click reached the page.
    Input,
}

/// The server; its threads end with the process.
#[derive(Debug)]
pub(super) struct Model {
    port: u16,
    events: Arc<Mutex<Vec<(Event, Instant)>>>,
}

struct Stage {
    way: Way,
    delay: Duration,
    tokenizer: CoreBPE,
    events: Arc<Mutex<Vec<(Event, Instant)>>>,
}

fn lock<T>(it: &Mutex<T>) -> MutexGuard<'_, T> {
    it.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Model {
    /// Serves on a free port. The page's server takes `delay` for each step.
    pub(super) fn start(way: Way, delay: Duration, tokenizer: CoreBPE) -> Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).context("no free port")?;
        let port = listener.local_addr()?.port();
        let events = Arc::<Mutex<Vec<(Event, Instant)>>>::default();
        let stage = Arc::new(Stage { way, delay, tokenizer, events: events.clone() });
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let stage = stage.clone();
                // A client that goes away ends its thread.
                thread::spawn(move || stage.serve(stream).ok());
            }
        });
        Ok(Self { port, events })
    }

    /// Origin of the server, `http://127.0.0.1:PORT`, for the page and the model alike.
    pub(super) fn origin(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Returns the events so far, in order.
    pub(super) fn events(&self) -> Vec<(Event, Instant)> {
        lock(&self.events).clone()
    }
}

impl Stage {
    fn note(&self, event: Event) {
        lock(&self.events).push((event, Instant::now()));
    }

    #[expect(clippy::disallowed_methods, reason = "what takes time here is what is measured")]
    fn serve(&self, stream: TcpStream) -> Result<()> {
        let (path, body) = http::request(&stream)?;
        if path.starts_with("/v1/") {
            return self.plan(stream, &serde_json::from_slice(&body)?);
        }
        if path.starts_with("/save") {
            self.note(Event::Input);
            thread::sleep(self.delay);
        }
        let (status, body) = match path.as_str() {
            "/" => ("200 OK", PAGE),
            path if path.starts_with("/save") => ("200 OK", "saved"),
            _ => ("404 Not Found", ""),
        };
        http::answer(stream, status, body)
    }

    /// Writes the plan token by token, or the end of the task where nothing is left to save.
    #[expect(clippy::disallowed_methods, reason = "what takes time here is what is measured")]
    fn plan(&self, mut stream: TcpStream, request: &Value) -> Result<()> {
        self.note(Event::Prompt);
        let prompt = request["messages"][1]["content"].as_str().unwrap_or_default();
        let text = plan(prompt).to_string();
        let tokens = self.tokenizer.split_by_token_ordinary(&text)?;
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
        stream.write_all(head.as_bytes())?;
        let mut unsent = String::new();
        for token in tokens {
            thread::sleep(PAUSE);
            self.note(Event::Token);
            unsent.push_str(&event(&json!({ "content": token }), None));
            if self.way == Way::Streamed {
                stream.write_all(std::mem::take(&mut unsent).as_bytes())?;
            }
        }
        unsent.push_str(&event(&json!({}), Some("stop")));
        unsent.push_str("data: [DONE]\n\n");
        stream.write_all(unsent.as_bytes())?;
        Ok(())
    }
}

fn event(delta: &Value, reason: Option<&str>) -> String {
    format!("data: {}\n\n", json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": reason }] }))
}

/// A click on each button that the prompt lists, each of which has to go.
fn plan(prompt: &str) -> Value {
    let id = |n: u32| {
        let (_, rest) = prompt.split_once(&format!("button \"Save {n}\" ["))?;
        rest.split(']').next()
    };
    let click =
        |id: &str| json!({ "type": "click", "targetRef": id, "post": [{ "kind": "disappears", "target": id }] });
    let mut steps: Vec<Value> = (1..=5).filter_map(id).map(click).collect();
    match steps.pop() {
        Some(last) => json!({
            "version": "1.0", "reasoningSummary": "All five are unsaved; I save one after the other.",
            "steps": steps, "last": last,
        }),
        None => json!({ "version": "1.0", "last": { "type": "finish", "result": "saved" } }),
    }
}

#[cfg(test)]
mod tests {
    use super::plan;

    #[test]
    fn a_plan_saves_what_is_listed_and_then_finishes() {
        let prompt = "| - button \"Save 1\" [c3]\n| - button \"Save 2\" [c4]\n";
        let made = plan(prompt);
        assert_eq!((&made["steps"][0]["targetRef"], &made["last"]["targetRef"]), (&"c3".into(), &"c4".into()));
        assert_eq!(plan("no candidates")["last"]["type"], "finish");
    }
}
