//! Our isolated world in one document: the only place where scripts of ours run.
//!
//! Invariants:
//! - A world never outlives its document: a call on it runs in that document or fails with
//!   [`WorldError::ContextGone`], even if another process uses the same context number.
//! - The page can neither see nor change what happens there; its prototypes are not ours.
//! - The Runtime domain is not enabled for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use crate::protocol::browser_protocol::dom::{BackendNodeId, ResolveNodeParams};
use crate::protocol::js_protocol::runtime;
use futures_util::future::join_all;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::error::{CallError, GoneReason, WorldError};
use crate::ids::{DocumentId, ExecutionContextId, FrameId};
use crate::message::RawReply;
use crate::session::{Session, SessionKind};
use crate::wire::remote::Returned;

/// The name of our world. The page cannot see it; a person sees it in the developer tools.
pub(crate) const WORLD_NAME: &str = "cuebook";

/// The most characters of an exception that are kept.
const EXCEPTION_CAP: usize = 2_000;

/// Our isolated world in one document. Cloning costs a reference count.
#[derive(Clone)]
pub struct World {
    inner: Arc<WorldInner>,
}

struct WorldInner {
    /// A call found the context gone.
    is_gone: AtomicBool,
    frame: FrameId,
    document: DocumentId,
    session: Session,
    context: ExecutionContextId,
    /// Chrome's handle on the world's global object; it names the process, the context and the object.
    global: String,
}

/// An argument of a function: a value, or an object that lives in the world.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
enum Argument<'a> {
    Value(&'a Value),
    ObjectId(&'a str),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Return {
    ByValue,
    Nodes,
}

impl World {
    pub(crate) fn new(
        frame: FrameId,
        document: DocumentId,
        session: Session,
        context: ExecutionContextId,
        global: &str,
    ) -> Self {
        let (is_gone, global) = (AtomicBool::new(false), global.to_owned());
        Self { inner: Arc::new(WorldInner { is_gone, frame, document, session, context, global }) }
    }

    /// Returns `true` if a call on it found its context gone.
    pub(crate) fn is_gone(&self) -> bool {
        self.inner.is_gone.load(Ordering::Relaxed)
    }

    /// Frame whose document it belongs to.
    #[must_use]
    pub fn frame(&self) -> &FrameId {
        &self.inner.frame
    }

    /// The document that it belongs to.
    #[must_use]
    pub fn document(&self) -> &DocumentId {
        &self.inner.document
    }

    /// The session that it answers on.
    #[must_use]
    pub fn session(&self) -> &Session {
        &self.inner.session
    }

    /// The context's number, unique within its renderer process only: prefer the calls here.
    #[must_use]
    pub fn context(&self) -> ExecutionContextId {
        self.inner.context
    }

    /// Evaluates one expression (not statements); a promise is awaited; the value comes back by value,
    /// `undefined` as `null`.
    ///
    /// # Errors
    /// [`WorldError`]
    pub async fn evaluate<T: DeserializeOwned>(&self, expression: &str, until: Instant) -> Result<T, WorldError> {
        self.call(&format!("() => (\n{expression}\n)"), &[], until).await
    }

    /// Calls a function (its declaration) with JSON arguments; `this` is the world's global object; a
    /// promise is awaited; the value comes back by value, `undefined` as `null`.
    ///
    /// # Errors
    /// [`WorldError`]
    pub async fn call<T: DeserializeOwned>(
        &self,
        function: &str,
        args: &[Value],
        until: Instant,
    ) -> Result<T, WorldError> {
        decode(&self.call_raw(function, args, until).await?)
    }

    /// Like [`Self::call`], undecoded: the reply parses as [`Returned`], borrowing, and holds no exception.
    ///
    /// # Errors
    /// [`WorldError`]
    pub async fn call_raw(&self, function: &str, args: &[Value], until: Instant) -> Result<RawReply, WorldError> {
        let args: Vec<_> = args.iter().map(Argument::Value).collect();
        self.run(function, &args, Return::ByValue, until).await
    }

    /// Calls a function that returns an array of nodes; returns their backend node ids, in order.
    /// About 3 ms per 100 nodes.
    ///
    /// # Errors
    /// [`WorldError`]; [`WorldError::Call`] with a decode error if it returns anything else.
    pub async fn call_for_nodes(&self, function: &str, args: &[Value], until: Instant) -> Result<Vec<i64>, WorldError> {
        #[derive(Deserialize)]
        struct Item {
            value: Node,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Node {
            backend_node_id: i64,
        }
        let args: Vec<_> = args.iter().map(Argument::Value).collect();
        let reply = self.run(function, &args, Return::Nodes, until).await?;
        let returned: Returned<'_> = reply.parse()?;
        let _array = returned.result.object_id.as_deref().map(|id| Handle::new(self.session(), id));
        let items = returned.result.deep_serialized_value.and_then(|deep| deep.value);
        let items: Vec<Item> = serde_json::from_str(items.map_or("null", RawValue::get)).map_err(not_decoded)?;
        Ok(items.into_iter().map(|item| item.value.backend_node_id).collect())
    }

    /// Calls a function with a node of this document as its first argument, JSON arguments after it.
    /// Reaches nodes in closed shadow roots. Two round trips.
    ///
    /// # Errors
    /// [`WorldError`]; [`WorldError::NodeGone`] if the node does not exist in this document.
    pub async fn adopt<T: DeserializeOwned>(
        &self,
        backend_node_id: i64,
        function: &str,
        args: &[Value],
        until: Instant,
    ) -> Result<T, WorldError> {
        decode(&self.adopt_raw(backend_node_id, function, args, until).await?)
    }

    /// Like [`Self::adopt`], undecoded: the reply parses as [`Returned`], borrowing, and holds no exception.
    ///
    /// # Errors
    /// As [`World::adopt`].
    pub async fn adopt_raw(
        &self,
        backend_node_id: i64,
        function: &str,
        args: &[Value],
        until: Instant,
    ) -> Result<RawReply, WorldError> {
        let reply = match self.resolved(backend_node_id, None, until).await {
            Err(CallError::Protocol { ref message, .. }) if is_node_gone(message) => {
                return Err(WorldError::NodeGone);
            }
            reply => reply.map_err(|error| self.failed(error))?,
        };
        let node = Handle::new(self.session(), &reply);
        if context_of(&node.id) != context_of(&self.inner.global) {
            self.inner.is_gone.store(true, Ordering::Relaxed);
            return Err(WorldError::ContextGone);
        }
        let args: Vec<_> =
            std::iter::once(Argument::ObjectId(&node.id)).chain(args.iter().map(Argument::Value)).collect();
        self.run(function, &args, Return::ByValue, until).await
    }

    /// Calls a function with nodes of this document, each followed by its own JSON argument. A node that does not exist in
    /// this document is left out with its argument. One round trip for all nodes, about 0.1 ms each, and one for the call.
    ///
    /// # Errors
    /// [`WorldError`]
    pub async fn adopt_each<T: DeserializeOwned>(
        &self,
        nodes: &[(i64, Value)],
        function: &str,
        until: Instant,
    ) -> Result<T, WorldError> {
        let group = Group::new(self.session());
        let found = join_all(nodes.iter().map(|(node, _)| self.resolved(*node, Some(group.name.clone()), until))).await;
        let mut own = Vec::new();
        for (object, (_, value)) in found.into_iter().zip(nodes) {
            match object {
                Ok(object) if context_of(&object) == context_of(&self.inner.global) => own.push((object, value)),
                Ok(_) | Err(CallError::Protocol { .. }) => {}
                Err(error) => return Err(self.failed(error)),
            }
        }
        let args: Vec<_> =
            own.iter().flat_map(|(object, value)| [Argument::ObjectId(object), Argument::Value(value)]).collect();
        decode(&self.run(function, &args, Return::ByValue, until).await?)
    }

    /// The handle of a node in this world.
    async fn resolved(&self, node: i64, group: Option<String>, until: Instant) -> Result<String, CallError> {
        #[derive(Deserialize)]
        struct Resolved {
            object: Object,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Object {
            object_id: String,
        }
        let params = ResolveNodeParams {
            backend_node_id: Some(BackendNodeId::new(node)),
            execution_context_id: Some(runtime::ExecutionContextId::new(self.inner.context.get())),
            object_group: group,
            ..ResolveNodeParams::default()
        };
        Ok(self.session().request(params, until).await?.parse::<Resolved>()?.object.object_id)
    }

    async fn run(
        &self,
        function: &str,
        args: &[Argument<'_>],
        returned: Return,
        until: Instant,
    ) -> Result<RawReply, WorldError> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Params<'a> {
            function_declaration: &'a str,
            object_id: &'a str,
            arguments: &'a [Argument<'a>],
            return_by_value: bool,
            await_promise: bool,
            silent: bool,
            #[serde(skip_serializing_if = "Option::is_none")]
            serialization_options: Option<Value>,
        }
        let by_value = returned == Return::ByValue;
        let params = Params {
            function_declaration: function,
            object_id: &self.inner.global,
            arguments: args,
            return_by_value: by_value,
            await_promise: true,
            silent: true,
            serialization_options: (!by_value).then(|| {
                json!({
                    "serialization": "deep",
                    "maxDepth": 1,
                    "additionalParameters": {"maxNodeDepth": 0, "includeShadowTree": "none"},
                })
            }),
        };
        let reply = self
            .session()
            .call_raw("Runtime.callFunctionOn", params, until)
            .await
            .map_err(|error| self.failed(error))?;
        let exception = reply.parse::<Returned<'_>>()?.exception_details;
        let Some(exception) = exception else { return Ok(reply) };
        if let Some(id) = exception.exception.as_ref().and_then(|thrown| thrown.object_id.as_deref()) {
            drop(Handle::new(self.session(), id));
        }
        let description = exception.exception.as_ref().and_then(|thrown| thrown.description.as_deref());
        let text = description.unwrap_or(&exception.text).chars().take(EXCEPTION_CAP).collect();
        Err(WorldError::Exception { text })
    }

    fn failed(&self, error: CallError) -> WorldError {
        if is_context_gone(&error, self.session()) {
            self.inner.is_gone.store(true, Ordering::Relaxed);
            return WorldError::ContextGone;
        }
        error.into()
    }
}

impl std::fmt::Debug for World {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "World({} {})", self.inner.frame, self.inner.document)
    }
}

/// A remote object that is released when it is no longer needed, also if the caller gives up.
struct Handle {
    session: Session,
    id: String,
}

impl Handle {
    fn new(session: &Session, id: &str) -> Self {
        Self { session: session.clone(), id: id.to_owned() }
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.session.post("Runtime.releaseObject", &json!({"objectId": self.id}));
    }
}

/// A group of remote objects that are released together, also if the caller gives up.
struct Group {
    session: Session,
    name: String,
}

impl Group {
    fn new(session: &Session) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self { session: session.clone(), name: format!("cuebook-{}", NEXT.fetch_add(1, Ordering::Relaxed)) }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.session.post("Runtime.releaseObjectGroup", &json!({ "objectGroup": self.name }));
    }
}

fn decode<T: DeserializeOwned>(reply: &RawReply) -> Result<T, WorldError> {
    #[derive(Deserialize)]
    struct ByValue<T> {
        result: Holder<T>,
    }
    #[derive(Deserialize)]
    struct Holder<T> {
        value: Option<T>,
    }
    match reply.parse::<ByValue<T>>()?.result.value {
        Some(value) => Ok(value),
        None => serde_json::from_str("null").map_err(not_decoded),
    }
}

fn not_decoded(source: serde_json::Error) -> WorldError {
    CallError::Decode { method: "Runtime.callFunctionOn".into(), source }.into()
}

/// The process and context that an object handle names: all but its last part.
fn context_of(handle: &str) -> Option<&str> {
    handle.rsplit_once('.').map(|(context, _)| context)
}

/// Returns `true` if this is how Chrome reports that a document went away. It has no error codes for it; the texts are
/// those of V8's inspector, verified on Chromium 156.
pub(crate) fn is_context_gone(error: &CallError, session: &Session) -> bool {
    match error {
        CallError::Protocol { message, .. } => [
            "Cannot find context with specified id",
            "Cannot find default execution context",
            "Could not find object with given id",
            "Execution context was destroyed",
            "Inspected target navigated or closed",
            "Promise was collected",
            "uniqueContextId not found",
        ]
        .iter()
        .any(|text| message.contains(text)),
        CallError::SessionGone { reason: GoneReason::Detached, .. } => session.kind() == SessionKind::Frame,
        _ => false,
    }
}

fn is_node_gone(message: &str) -> bool {
    message.contains("No node with given id")
        || message.contains("Could not find node with given id")
        || message.contains("Node with given id does not belong")
}

#[cfg(test)]
mod tests {
    use super::context_of;

    #[test]
    fn a_handle_names_its_process_and_context() {
        assert_eq!(context_of("-6016373658666579655.2.17"), Some("-6016373658666579655.2"));
        assert_eq!(context_of("odd"), None);
    }
}
