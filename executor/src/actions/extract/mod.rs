//! Reading out of the page.

use cuebook_grammar::action::{ExtractKind, ExtractQuery};
use cuebook_grammar::id::TargetRef;
use cuebook_grammar::outcome::{Cause, Stage};
use cuebook_probe::ProbeWorld;
use serde_json::{Value, json};

use crate::actions::Acted;
use crate::run::Run;
use crate::script::Reading;
use crate::stop::{Part, failed, probe_stop};

impl Run<'_> {
    /// Reads text, HTML or a value. What a password-like field holds is told as a digest.
    pub(crate) async fn extract(&mut self, query: &ExtractQuery) -> Part<Acted> {
        let what = match query.kind {
            ExtractKind::Text => "text",
            ExtractKind::Html => "html",
            ExtractKind::Value => "value",
            other => {
                return failed(Stage::Act, Cause::Unsupported, format!("expected text, html or value, saw {other:?}"));
            }
        };
        let (world, id) = self.place(query.target_ref.as_ref()).await?;
        let args = [id, what.into()];
        let reading: Option<Reading> =
            self.ask(&world, "(cb, id, what) => cb.act.read(id, what)", &args, Stage::Act).await?;
        let Some(reading) = reading else {
            return Err(self.act_failure(
                Cause::TargetStale,
                "expected the target in the document, saw it removed".to_owned(),
                None,
            ));
        };
        if reading.none && what == "value" {
            return failed(Stage::Act, Cause::InvalidArgument, "expected something that has a value, saw none");
        }
        let data = if reading.sensitive {
            json!({"redacted": self.probe.digest_key().digest(&reading.text)})
        } else {
            Value::String(reading.text)
        };
        Ok(Acted { data: Some(data), ..Acted::default() })
    }

    /// Reads a compact form of the document.
    pub(crate) async fn get_dom(&mut self, target: Option<&TargetRef>) -> Part<Acted> {
        let (world, id) = self.place(target).await?;
        let text: Option<String> = self.ask(&world, "(cb, id) => cb.act.dom(id)", &[id], Stage::Act).await?;
        match text {
            Some(text) => Ok(Acted { data: Some(text.into()), ..Acted::default() }),
            None => Err(self.act_failure(
                Cause::TargetStale,
                "expected the target in the document, saw it removed".to_owned(),
                None,
            )),
        }
    }

    /// The document to read in, and the element, if one was named.
    async fn place(&mut self, target: Option<&TargetRef>) -> Part<(ProbeWorld, Value)> {
        if target.is_some() {
            let main = self.resolve_main(self.ready_by()).await?;
            let world = self.world_of(&main.key, Stage::Act).await?;
            return Ok((world, main.key.node.into()));
        }
        let (probe, frame, until) = (self.probe.clone(), self.page.main_frame().id, self.until);
        let world = self
            .race(Stage::Act, async move { probe.world(&frame, until).await })
            .await?
            .map_err(|error| probe_stop(error, Stage::Act))?;
        Ok((world, Value::Null))
    }
}
