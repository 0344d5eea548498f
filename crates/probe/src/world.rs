//! Calls into our script in one document.
//!
//! Invariant: a call finds the script there. Where it is missing (a document that was loaded before the
//! probe came), it is installed and the call repeated, once.

use std::time::Instant;

use cuebook_cdp::wire::remote::Returned;
use cuebook_cdp::{DocumentId, FrameId, World, WorldError};
use cuebook_grammar::id::{NodeKey, PageId};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::error::ProbeError;
use crate::script::{self, CORE, Extension};

/// Our world in one document, with the core and the probe's extensions in it. Cloning is cheap.
#[derive(Clone, Debug)]
pub struct ProbeWorld {
    page: PageId,
    world: World,
    extensions: Vec<Extension>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Envelope<'a> {
    #[serde(borrow, default)]
    ok: Option<&'a RawValue>,
    #[serde(default)]
    missing: bool,
    #[serde(default)]
    bad_selector: Option<String>,
}

enum ScriptReply<T> {
    Value(T),
    ScriptMissing,
}

impl ProbeWorld {
    pub(crate) fn new(page: PageId, world: World, extensions: Vec<Extension>) -> Self {
        Self { page, world, extensions }
    }

    /// Frame whose document the world belongs to.
    #[must_use]
    pub fn frame(&self) -> &FrameId {
        self.world.frame()
    }

    /// The document that the world belongs to.
    #[must_use]
    pub fn document(&self) -> &DocumentId {
        self.world.document()
    }

    /// The world of the wire.
    #[must_use]
    pub fn world(&self) -> &World {
        &self.world
    }

    /// The key of an element of this document.
    #[must_use]
    pub fn key(&self, node: u64) -> NodeKey {
        NodeKey {
            page: self.page.clone(),
            frame: self.frame().as_str().to_owned(),
            document: self.document().as_str().to_owned(),
            node,
        }
    }

    /// Calls `function`, the source of a JavaScript function `(cb, …args) => answer` where `cb` is the
    /// core with all extensions; a promise is awaited. `undefined` reads as `null`.
    ///
    /// # Errors
    /// [`ProbeError::Gone`] if the document went away; [`ProbeError::Malformed`] if the answer is no `T`.
    pub async fn call<T: DeserializeOwned>(
        &self,
        function: &str,
        args: &[Value],
        until: Instant,
    ) -> Result<T, ProbeError> {
        let function = script::wrapped(function, &self.extensions);
        if let ScriptReply::Value(value) = self.call_once(&function, args, until).await? {
            return Ok(value);
        }
        self.install(until).await?;
        match self.call_once(&function, args, until).await? {
            ScriptReply::Value(value) => Ok(value),
            ScriptReply::ScriptMissing => Err(ProbeError::Gone),
        }
    }

    /// Calls `function`, which returns an array of nodes; returns their backend node ids.
    ///
    /// # Errors
    /// [`ProbeError`]
    pub async fn nodes(&self, function: &str, args: &[Value], until: Instant) -> Result<Vec<i64>, ProbeError> {
        let function = script::bare(function, &self.extensions);
        match self.world.call_for_nodes(&function, args, until).await {
            Err(WorldError::Exception { text }) if script::is_missing(&text) => {
                self.install(until).await?;
                Ok(self.world.call_for_nodes(&function, args, until).await?)
            }
            nodes => Ok(nodes?),
        }
    }

    /// Calls `function`, `(cb, node, …args) => answer`, with a node that only the wire could name, such
    /// as one within a closed shadow root.
    ///
    /// # Errors
    /// [`ProbeError`]
    pub async fn adopt<T: DeserializeOwned>(
        &self,
        backend_node_id: i64,
        function: &str,
        args: &[Value],
        until: Instant,
    ) -> Result<T, ProbeError> {
        let function = script::bare(function, &self.extensions);
        match self.world.adopt(backend_node_id, &function, args, until).await {
            Err(WorldError::Exception { text }) if script::is_missing(&text) => {
                self.install(until).await?;
                Ok(self.world.adopt(backend_node_id, &function, args, until).await?)
            }
            answer => Ok(answer?),
        }
    }

    /// Calls `function`, `(cb, …told) => answer`, with nodes that only the wire could name, each followed by its own
    /// argument. Nodes that are not of this document are left out.
    ///
    /// # Errors
    /// [`ProbeError`]
    pub async fn adopt_each<T: DeserializeOwned>(
        &self,
        nodes: &[(i64, Value)],
        function: &str,
        until: Instant,
    ) -> Result<T, ProbeError> {
        let function = script::bare(function, &self.extensions);
        match self.world.adopt_each(nodes, &function, until).await {
            Err(WorldError::Exception { text }) if script::is_missing(&text) => {
                self.install(until).await?;
                Ok(self.world.adopt_each(nodes, &function, until).await?)
            }
            answer => Ok(answer?),
        }
    }

    async fn install(&self, until: Instant) -> Result<(), ProbeError> {
        let mut source = String::from(CORE);
        for extension in &self.extensions {
            source.push_str(&extension.install());
        }
        let function = format!("function () {{\n{source}return null; }}");
        self.world.call::<Value>(&function, &[], until).await?;
        Ok(())
    }

    async fn call_once<T: DeserializeOwned>(
        &self,
        function: &str,
        args: &[Value],
        until: Instant,
    ) -> Result<ScriptReply<T>, ProbeError> {
        let reply = self.world.call_raw(function, args, until).await?;
        let returned: Returned<'_> = reply.parse()?;
        if let Some(details) = returned.exception_details {
            let text = details
                .exception
                .and_then(|exception| exception.description)
                .map_or_else(|| details.text.into_owned(), |description| description.0.into_owned());
            return Err(ProbeError::Script { text: text.chars().take(2_000).collect() });
        }
        let raw = returned.result.value.map_or("null", RawValue::get);
        let envelope: Envelope<'_> = serde_json::from_str(raw)?;
        if envelope.missing {
            return Ok(ScriptReply::ScriptMissing);
        }
        if let Some(message) = envelope.bad_selector {
            return Err(ProbeError::BadSelector { message: message.chars().take(300).collect() });
        }
        let value = envelope.ok.map_or("null", RawValue::get);
        Ok(ScriptReply::Value(serde_json::from_str(value)?))
    }
}
