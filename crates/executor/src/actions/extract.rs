//! Reading out of the page.
//!
//! Invariants:
//! - What a password-like field holds becomes a digest.
//! - Every result is bounded, and says so where something was omitted: texts end in a line that begins with
//!   `[truncated:`, objects have a `truncated` member.

use cuebook_grammar::action::{ExtractKind, ExtractQuery};
use cuebook_grammar::id::TargetRef;
use cuebook_grammar::outcome::{Cause, Stage};
use cuebook_grammar::plan::BoundTarget;
use cuebook_grammar::text_match::Pattern;
use cuebook_probe::{Ask, Extension, ProbeError, ProbeWorld};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::actions::ActResult;
use crate::run::StepRun;
use crate::script::Reading;
use crate::stop::{Part, failed, probe_stop};

/// Script that reads what is written in a page, on top of the probe's core. It is added to a document with the first step
/// that extracts.
const READ: Extension = Extension { name: "read", source: include_str!(concat!(env!("OUT_DIR"), "/read.js")) };

#[derive(Debug, Deserialize)]
struct Markup {
    text: String,
    length: usize,
}

#[derive(Debug, Deserialize)]
struct Attribute {
    present: bool,
    text: String,
    sensitive: bool,
}

impl StepRun<'_> {
    /// Reads what the query asks for.
    pub(crate) async fn extract(&mut self, query: &ExtractQuery) -> Part<ActResult> {
        if !matches!(query.kind, ExtractKind::Text | ExtractKind::Value) {
            let (probe, until) = (self.probe.clone(), self.until);
            self.race(Stage::Act, async move { probe.extend(READ, until).await })
                .await?
                .map_err(|error| probe_stop(error, Stage::Act))?;
        }
        let data = match query.kind {
            ExtractKind::Count => self.count().await?,
            ExtractKind::Url => Value::String(self.page.url()),
            _ => self.read(query).await?,
        };
        let data = match (&query.pattern, data) {
            (Some(pattern), Value::String(text)) => part(pattern, &text),
            (_, data) => data,
        };
        Ok(ActResult { data: Some(data), ..self.untargeted() })
    }

    /// How many elements the target's locator matches.
    async fn count(&mut self) -> Part<Value> {
        let Some((_, BoundTarget::Declared(locator))) = self.step.main_target() else {
            return self.resolve_main(self.ready_by()).await.map(|_| 1.into());
        };
        let (probe, wanted, until) = (self.probe.clone(), locator.clone(), self.until);
        let located =
            self.race(Stage::Resolve, async move { probe.locate(&wanted, &Ask::default(), until).await }).await?;
        match located {
            Ok(located) if located.skipped == 0 => Ok(located.matches.len().into()),
            Ok(_) => failed(Stage::Resolve, Cause::Unsupported, "the locator matches too many elements to count them"),
            Err(ProbeError::Gone) => Ok(0.into()),
            Err(error) => Err(probe_stop(error, Stage::Resolve)),
        }
    }

    async fn read(&mut self, query: &ExtractQuery) -> Part<Value> {
        let (world, id) = self.place(query.target_ref.as_ref()).await?;
        Ok(match query.kind {
            ExtractKind::Count | ExtractKind::Url => Value::Null,
            ExtractKind::Text => self.reading(&world, id, "text").await?,
            ExtractKind::Value => self.reading(&world, id, "value").await?,
            ExtractKind::Html => self.markup(&world, id, "inner").await?,
            ExtractKind::OuterHtml => self.markup(&world, id, "outer").await?,
            ExtractKind::Attribute => {
                let name = query.name.as_ref().map_or("", |name| name.as_str());
                self.attribute(&world, id, name).await?
            }
            ExtractKind::Markdown | ExtractKind::Form | ExtractKind::Metadata | ExtractKind::Schema => {
                self.parse(&world, id, query).await?
            }
        })
    }

    /// Text or a live value.
    async fn reading(&mut self, world: &ProbeWorld, id: Value, what: &str) -> Part<Value> {
        let args = [id, what.into()];
        let reading: Option<Reading> =
            self.ask(world, "(cb, id, what) => cb.act.read(id, what)", &args, Stage::Act).await?;
        let reading = self.still_there(reading)?;
        if reading.none && what == "value" {
            return failed(Stage::Act, Cause::InvalidArgument, "the target has no value");
        }
        Ok(if reading.sensitive {
            json!({"redacted": self.probe.digest_key().digest(&reading.text)})
        } else {
            Value::String(noted(reading.text, reading.length))
        })
    }

    async fn markup(&mut self, world: &ProbeWorld, id: Value, which: &str) -> Part<Value> {
        let args = [id, which.into()];
        let answer: Option<Markup> =
            self.ask(world, "(cb, id, which) => cb.read.markup(id, which)", &args, Stage::Act).await?;
        let Markup { text, length } = self.still_there(answer)?;
        Ok(Value::String(noted(text, length)))
    }

    async fn attribute(&mut self, world: &ProbeWorld, id: Value, name: &str) -> Part<Value> {
        let args = [id, name.into()];
        let answer: Option<Attribute> =
            self.ask(world, "(cb, id, name) => cb.read.attribute(id, name)", &args, Stage::Act).await?;
        Ok(match self.still_there(answer)? {
            Attribute { present: false, .. } => Value::Null,
            Attribute { sensitive: true, text, .. } => json!({"redacted": self.probe.digest_key().digest(&text)}),
            Attribute { text, .. } => Value::String(text),
        })
    }

    /// Reads a compact form of the document.
    pub(crate) async fn get_dom(&mut self, target: Option<&TargetRef>) -> Part<ActResult> {
        let (world, id) = self.place(target).await?;
        let answer: Option<Markup> = self.ask(&world, "(cb, id) => cb.act.dom(id)", &[id], Stage::Act).await?;
        let Markup { text, length } = self.still_there(answer)?;
        Ok(ActResult { data: Some(noted(text, length).into()), ..self.untargeted() })
    }

    /// The document to read in, and the element, if one was named.
    async fn place(&mut self, target: Option<&TargetRef>) -> Part<(ProbeWorld, Value)> {
        if target.is_some() {
            let main = self.resolve_main(self.ready_by()).await?;
            let world = self.world_of(&main.key, Stage::Act).await?;
            return Ok((world, main.key.node.into()));
        }
        let world = self.main_world(Stage::Act).await?;
        Ok((world, Value::Null))
    }

    #[cfg(not(feature = "extract"))]
    async fn parse(&mut self, _: &ProbeWorld, _: Value, query: &ExtractQuery) -> Part<Value> {
        let kind = query.kind.as_str();
        let message = format!("`{kind}` needs a build with the feature `extract`; text, html and attributes do not");
        failed(Stage::Act, Cause::Unsupported, message)
    }

    pub(super) fn still_there<T>(&self, answer: Option<T>) -> Part<T> {
        answer.ok_or_else(|| self.removed())
    }
}

/// The first match, or its first group if the pattern has one. A pattern of a checked step compiles.
fn part(pattern: &Pattern, text: &str) -> Value {
    let found = pattern.compile().ok().and_then(|regex| {
        regex.captures(text).map(|found| {
            found.get(1).or_else(|| found.get(0).filter(|_| found.len() == 1)).map(|part| part.as_str().to_owned())
        })
    });
    found.flatten().map_or(Value::Null, Value::String)
}

/// The text, with a note at its end if it is shorter than `length`, in UTF-16 units.
fn noted(text: String, length: usize) -> String {
    let seen = text.encode_utf16().count();
    if seen < length { with_note(text, &format!("{seen} of {length} characters")) } else { text }
}

pub(super) fn with_note(mut text: String, what: &str) -> String {
    text.push_str("\n\n[truncated: ");
    text.push_str(what);
    text.push(']');
    text
}
