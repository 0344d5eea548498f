//! Messages that scripts write to the console, and errors that nothing catches.

use std::iter::once;

use serde::Deserialize;

use super::Str;
use super::remote::{ExceptionDetails, RemoteObject, StackTrace};

/// Arguments of a call of the console that are read.
const ARGUMENTS: usize = 20;

/// Event `Runtime.consoleAPICalled` or `Runtime.exceptionThrown`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct ConsoleReport<'a> {
    /// Method of the console, such as `error`, `warning`, `assert`; empty for an exception.
    #[serde(borrow, rename = "type")]
    pub kind: Str<'a>,
    /// Values that were written.
    #[serde(borrow)]
    pub args: Vec<RemoteObject<'a>>,
    /// The calls that led there.
    #[serde(borrow)]
    pub stack_trace: Option<StackTrace<'a>>,
    /// The exception, where nothing caught one.
    #[serde(borrow)]
    pub exception_details: Option<ExceptionDetails<'a>>,
}

impl ConsoleReport<'_> {
    /// The level: `error`, `warning`, `info`, `debug` or `log`.
    #[must_use]
    pub fn level(&self) -> &'static str {
        match &*self.kind.0 {
            _ if self.exception_details.is_some() => "error",
            "error" | "assert" => "error",
            "warning" => "warning",
            "info" => "info",
            "debug" | "trace" => "debug",
            _ => "log",
        }
    }

    /// The text as the console shows it, of at most this many characters.
    #[must_use]
    pub fn text(&self, characters: usize) -> String {
        let text = match &self.exception_details {
            Some(thrown) => {
                let what = thrown.exception.as_ref().map(|thrown| text_of(thrown, characters));
                once(thrown.text.to_string()).chain(what).collect::<Vec<_>>().join(" ")
            }
            None => {
                let title = (&*self.kind.0 == "assert").then(|| "Assertion failed:".to_owned());
                let words = self.args.iter().take(ARGUMENTS).map(|argument| text_of(argument, characters));
                title.into_iter().chain(words).collect::<Vec<_>>().join(" ")
            }
        };
        text.chars().take(characters).collect()
    }

    /// The place in a script, such as `http://shop.test/app.js:12`, without the query, which may hold values of a session.
    /// Empty if it is unknown.
    #[must_use]
    pub fn place(&self, characters: usize) -> String {
        let top = |trace: &StackTrace<'_>| {
            trace.call_frames.first().map(|frame| place(&frame.url, frame.line_number, characters))
        };
        match &self.exception_details {
            Some(thrown) => thrown
                .stack_trace
                .as_ref()
                .and_then(top)
                .unwrap_or_else(|| place(&thrown.url, thrown.line_number, characters)),
            None => self.stack_trace.as_ref().and_then(top).unwrap_or_default(),
        }
    }
}

/// A place in a file, from its 0-based line.
fn place(url: &str, line: u32, characters: usize) -> String {
    let url: String = url.split(['?', '#']).next().unwrap_or(url).chars().take(characters).collect();
    if url.is_empty() { url } else { format!("{url}:{}", line.saturating_add(1)) }
}

/// A value as the console shows it, an error without its stack.
fn text_of(object: &RemoteObject<'_>, characters: usize) -> String {
    let value = object.value.map(|json| serde_json::from_str(json.get()).unwrap_or_else(|_| json.get().to_owned()));
    let described = || object.description.as_ref().and_then(|text| text.split("\n    at ").next()).map(str::to_owned);
    let text = value.or_else(described).unwrap_or_else(|| object.kind.to_string());
    text.chars().take(characters).collect()
}
