//! Reading that parses a page: Markdown, forms, metadata, and values by a schema.
//!
//! Invariant: no model is involved: the same page gives the same result. What a schema leaves open may be quoted by a model,
//! if the gate of the step has one; only quotes that stand in the text of the page count.

use std::collections::BTreeSet;
use std::time::Instant;

use cuebook_extract::{Extent, Filled, Forms, Metadata, admit, fill, is_empty, markdown};
use cuebook_grammar::action::{ExtractKind, ExtractQuery};
use cuebook_grammar::filling::FillRequest;
use cuebook_grammar::outcome::{Cause, Stage};
use cuebook_grammar::render::cut;
use cuebook_probe::ProbeWorld;
use serde_json::{Value, json};

use crate::actions::clean_html::CleanHtml;
use crate::actions::extract::with_note;
use crate::run::StepRun;
use crate::stop::{Part, failed};

/// The most characters of a text that a step returns.
const MAX_TEXT: usize = 200_000;

impl StepRun<'_> {
    /// Reads the element, or the page if `id` is null.
    pub(super) async fn parse(&mut self, world: &ProbeWorld, id: Value, query: &ExtractQuery) -> Part<Value> {
        Ok(match (query.kind, &query.schema) {
            (ExtractKind::Form, _) => {
                let answer: Option<Forms> = self.ask(world, "(cb, id) => cb.read.form(id)", &[id], Stage::Act).await?;
                self.still_there(answer)?.data(self.probe.digest_key())
            }
            (ExtractKind::Metadata, _) => self.metadata(world).await?.data(&self.page.url()),
            (ExtractKind::Schema, Some(wanted)) => self.by_schema(world, &id, &Value::Object(wanted.clone())).await?,
            (ExtractKind::Schema, None) => {
                return failed(Stage::Act, Cause::InvalidArgument, "the step names no schema");
            }
            _ => Value::String(self.markdown(world, &id).await?),
        })
    }

    async fn metadata(&mut self, world: &ProbeWorld) -> Part<Metadata> {
        self.ask(world, "(cb) => cb.read.metadata()", &[], Stage::Act).await
    }

    async fn markdown(&mut self, world: &ProbeWorld, id: &Value) -> Part<String> {
        let answer = self.written(world, id).await?;
        let CleanHtml { html, truncated } = self.still_there(answer)?;
        let extent = if id.is_null() { Extent::Page } else { Extent::Part };
        let url = self.page.url();
        let text = self.compute(move || markdown(&html, &url, extent)).await?;
        Ok(bounded(text, &truncated))
    }

    async fn by_schema(&mut self, world: &ProbeWorld, id: &Value, wanted: &Value) -> Part<Value> {
        if is_empty(wanted) {
            let text = self.markdown(world, id).await?;
            return Ok(
                json!({ "markdown": text, "$note": "the schema asks for nothing: this is the page as Markdown" }),
            );
        }
        if let Err(error) = admit(wanted) {
            return failed(Stage::Act, Cause::InvalidArgument, error.to_string());
        }
        let answer = self.written(world, id).await?;
        let CleanHtml { html, truncated } = self.still_there(answer)?;
        let metadata: Metadata = if id.is_null() { self.metadata(world).await? } else { Metadata::default() };
        let (wanted, url) = (wanted.clone(), self.page.url());
        let (mut filled, wanted, html) =
            self.compute(move || (fill(&wanted, &html, &metadata, &url), wanted, html)).await?;
        filled.truncated.extend(truncated);
        if self.gate.fills() {
            filled = self.fill_by_model(filled, wanted, html).await?;
        }
        Ok(filled.data())
    }

    /// Has a model quote what is open from the page's text. The time that this takes does not count as time of the step.
    async fn fill_by_model(&mut self, filled: Filled, schema: Value, html: String) -> Part<Filled> {
        let wanted = filled.wanted(&schema);
        if wanted.is_empty() {
            return Ok(filled);
        }
        let (mut filled, schema, (text, is_longer)) = self
            .compute(move || {
                let text = filled.text(&schema, &html);
                (filled, schema, text)
            })
            .await?;
        if is_longer {
            filled.truncated.insert("textForModel".to_owned());
        }
        let text = self.redacted(&text);
        let begun = Instant::now();
        let reply = self.gate.fill(&FillRequest { text: &text, wanted: &wanted }).await;
        self.until = self.until.checked_add(begun.elapsed()).unwrap_or(self.until);
        filled.note = reply.note;
        self.compute(move || {
            filled.take(&schema, &text, &reply.answer);
            filled
        })
        .await
    }

    /// Runs a computation outside the runtime's threads, within the deadline.
    async fn compute<T: Send + 'static>(&mut self, work: impl FnOnce() -> T + Send + 'static) -> Part<T> {
        match self.race(Stage::Act, tokio::task::spawn_blocking(work)).await? {
            Ok(done) => Ok(done),
            Err(_) => failed(Stage::Act, Cause::Unsupported, "the page could not be converted"),
        }
    }
}

/// The text cut to [`MAX_TEXT`], with a note at its end.
fn bounded(text: String, truncated: &BTreeSet<String>) -> String {
    let length = text.chars().count();
    if length > MAX_TEXT {
        return with_note(cut(&text, MAX_TEXT), &format!("{MAX_TEXT} of {length} characters"));
    }
    if truncated.is_empty() {
        return text;
    }
    let what: Vec<&str> = truncated.iter().map(String::as_str).collect();
    with_note(text, &format!("the page has more {}", what.join(", ")))
}
