//! A probe: our script in every frame of one tab.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use cuebook_cdp::protocol::browser_protocol::dom::{BackendNodeId, DescribeNodeParams, GetFrameOwnerParams};
use cuebook_cdp::wire::dom::Described;
use cuebook_cdp::{FrameId, Page, WorldError};
use cuebook_grammar::facts::ElementFacts;
use cuebook_grammar::id::{NodeKey, PageId};
use cuebook_grammar::secret::DigestKey;
use serde_json::Value;

use crate::ask::Ask;
use crate::error::ProbeError;
use crate::facts::redacted;
use crate::script::{CORE, Extension};
use crate::world::ProbeWorld;

/// Attributes that a probe reads as test ids.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProbeOptions {
    /// The attributes that carry a test id, the first that an element has counts.
    pub test_id_attributes: Vec<String>,
}

impl Default for ProbeOptions {
    fn default() -> Self {
        let names = ["data-testid", "data-test-id", "data-test", "data-qa"];
        Self { test_id_attributes: names.map(str::to_owned).to_vec() }
    }
}

/// Our script in every frame of one tab, present and future. Cloning costs a reference count.
#[derive(Clone, Debug)]
pub struct Probe {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    page: Page,
    page_id: PageId,
    digest: DigestKey,
    options: ProbeOptions,
    extensions: Mutex<Vec<Extension>>,
    /// The owner element of each child frame; an entry is verified before it is used.
    owners: Mutex<HashMap<FrameId, NodeKey>>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Probe {
    /// Puts the script into every document of `page`, present and future.
    ///
    /// # Errors
    /// [`ProbeError::Wire`]
    pub async fn attach(page: Page, digest: DigestKey, until: Instant) -> Result<Self, ProbeError> {
        Self::attach_with(page, digest, ProbeOptions::default(), until).await
    }

    /// Like [`Self::attach`], with options.
    ///
    /// # Errors
    /// [`ProbeError::Wire`]
    pub async fn attach_with(
        page: Page,
        digest: DigestKey,
        options: ProbeOptions,
        until: Instant,
    ) -> Result<Self, ProbeError> {
        page.add_world_script(CORE, until).await?;
        Ok(Self {
            inner: Arc::new(Inner {
                page_id: PageId::new(page.target_id().as_str()),
                page,
                digest,
                options,
                extensions: Mutex::default(),
                owners: Mutex::default(),
            }),
        })
    }

    /// The tab on the wire.
    #[must_use]
    pub fn page(&self) -> &Page {
        &self.inner.page
    }

    /// The tab in the language: the name of its target.
    #[must_use]
    pub fn page_id(&self) -> &PageId {
        &self.inner.page_id
    }

    /// The key under which sensitive texts are digested.
    #[must_use]
    pub fn digest_key(&self) -> &DigestKey {
        &self.inner.digest
    }

    /// Returns the options, which list the attributes that carry a test id.
    #[must_use]
    pub fn options(&self) -> &ProbeOptions {
        &self.inner.options
    }

    /// Adds a layer's functions, in every document, present and future. Twice is once.
    ///
    /// # Errors
    /// [`ProbeError::Wire`]
    pub async fn extend(&self, extension: Extension, until: Instant) -> Result<(), ProbeError> {
        {
            let mut extensions = locked(&self.inner.extensions);
            if extensions.contains(&extension) {
                return Ok(());
            }
            extensions.push(extension);
        }
        Ok(self.page().add_world_script(&extension.install(), until).await?)
    }

    /// Our world in the present document of `frame`.
    ///
    /// # Errors
    /// [`ProbeError::Gone`] if there is no such frame.
    pub async fn world(&self, frame: &FrameId, until: Instant) -> Result<ProbeWorld, ProbeError> {
        let world = self.page().world(frame, until).await?;
        let extensions = locked(&self.inner.extensions).clone();
        Ok(ProbeWorld::new(self.page_id().clone(), world, extensions))
    }

    /// Our world in the document of `key`.
    ///
    /// # Errors
    /// [`ProbeError::Gone`] if the frame has another document now, or is of another tab.
    pub async fn world_of(&self, key: &NodeKey, until: Instant) -> Result<ProbeWorld, ProbeError> {
        if key.page != *self.page_id() {
            return Err(ProbeError::Gone);
        }
        let frame = FrameId::from(key.frame.as_str());
        let world = self.world(&frame, until).await?;
        if world.document().as_str() == key.document { Ok(world) } else { Err(ProbeError::Gone) }
    }

    /// The facts of one element; `None` once it, its document or its frame is gone.
    ///
    /// # Errors
    /// [`ProbeError`], but never [`ProbeError::Gone`].
    pub async fn facts_of(&self, key: &NodeKey, ask: &Ask, until: Instant) -> Result<Option<ElementFacts>, ProbeError> {
        let facts: Result<Option<ElementFacts>, ProbeError> = async {
            let world = self.world_of(key, until).await?;
            world
                .call(
                    "(cb, id, ask) => { const e = cb.byId(id); return e && cb.isConnected(e) ? cb.factsOf(e, ask) : null; }",
                    &[key.node.into(), self.ask_json(ask)?],
                    until,
                )
                .await
        }
        .await;
        match facts {
            Ok(facts) => Ok(facts.map(|facts| redacted(facts, ask, self.digest_key()))),
            Err(ProbeError::Gone) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The owner element (`iframe`, `frame`, `object`) of a child frame, in its parent's document.
    ///
    /// # Errors
    /// [`ProbeError::Gone`] for the main frame and for frames that went away.
    pub async fn frame_owner(&self, child: &FrameId, until: Instant) -> Result<NodeKey, ProbeError> {
        let frame = self.page().frame(child).ok_or(ProbeError::Gone)?;
        let parent = frame.parent.ok_or(ProbeError::Gone)?;
        let world = self.world(&parent, until).await?;
        let known = locked(&self.inner.owners).get(child).cloned();
        if let Some(known) = known
            && known.document == world.document().as_str()
        {
            let alive: bool = world
                .call(
                    "(cb, id) => { const e = cb.byId(id); return !!e && cb.isConnected(e); }",
                    &[known.node.into()],
                    until,
                )
                .await?;
            if alive {
                return Ok(known);
            }
        }
        let params = GetFrameOwnerParams::new(child.to_string());
        let owner = world.world().session().call(params, until).await.map_err(protocol_is_gone)?;
        let owner = *owner.backend_node_id.inner();
        let node: u64 = world.adopt(owner, "(cb, element) => cb.idOf(element)", &[], until).await?;
        let key = world.key(node);
        locked(&self.inner.owners).insert(child.clone(), key.clone());
        Ok(key)
    }

    /// The frame that an owner element shows.
    ///
    /// # Errors
    /// [`ProbeError::Gone`] if the element is gone or owns no frame.
    pub async fn content_frame(&self, owner: &NodeKey, until: Instant) -> Result<FrameId, ProbeError> {
        let world = self.world_of(owner, until).await?;
        let backend =
            world.nodes("(cb, id) => [cb.byId(id)].filter((element) => element)", &[owner.node.into()], until).await?;
        let backend_node_id = Some(BackendNodeId::new(*backend.first().ok_or(ProbeError::Gone)?));
        let params = DescribeNodeParams { backend_node_id, ..DescribeNodeParams::default() };
        let reply = world.world().session().request(params, until).await.map_err(protocol_is_gone)?;
        let described: Described<'_> = reply.parse()?;
        described.node.frame_id.map(FrameId::from).ok_or(ProbeError::Gone)
    }

    /// The question as the script reads it.
    pub(crate) fn ask_json(&self, ask: &Ask) -> Result<Value, ProbeError> {
        let mut value = serde_json::to_value(ask)?;
        if let Some(object) = value.as_object_mut() {
            object.insert("testIds".into(), self.options().test_id_attributes.clone().into());
        }
        Ok(value)
    }
}

/// Chrome answers a protocol error where a node or frame is gone.
fn protocol_is_gone(error: cuebook_cdp::CallError) -> ProbeError {
    match error {
        cuebook_cdp::CallError::Protocol { .. } => ProbeError::Gone,
        other => WorldError::Call(other).into(),
    }
}
