//! Our isolated world in one document: the only place where scripts of ours run.

use std::time::Instant;

use serde::de::DeserializeOwned;

use crate::error::WorldError;
use crate::ids::{DocumentId, ExecutionContextId, FrameId};
use crate::session::{RawReply, Session};

/// Our isolated world in one document. Cloning costs reference counts.
#[derive(Clone, Debug)]
pub struct World {
    frame: FrameId,
    document: DocumentId,
    session: Session,
    context: ExecutionContextId,
}

impl World {
    /// The frame.
    #[must_use]
    pub fn frame(&self) -> &FrameId {
        &self.frame
    }

    /// The document that it belongs to.
    #[must_use]
    pub fn document(&self) -> &DocumentId {
        &self.document
    }

    /// The session that it answers on.
    #[must_use]
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// The context's number, unique within its renderer process only: prefer the calls here.
    #[must_use]
    pub fn context(&self) -> ExecutionContextId {
        self.context
    }

    /// Evaluates one expression; a promise is awaited; the value comes back by value.
    ///
    /// # Errors
    /// [`WorldError`]
    pub async fn evaluate<T: DeserializeOwned>(
        &self,
        expression: &str,
        until: Instant,
    ) -> Result<T, WorldError> {
        let _ = (expression, until);
        todo!()
    }

    /// Calls a function with JSON arguments; a promise is awaited; the value comes back by value.
    ///
    /// # Errors
    /// [`WorldError`]
    pub async fn call<T: DeserializeOwned>(
        &self,
        function: &str,
        args: &[serde_json::Value],
        until: Instant,
    ) -> Result<T, WorldError> {
        let _ = (function, args, until);
        todo!()
    }

    /// The same, undecoded: the reply parses as [`crate::wire::remote::Returned`], borrowing.
    ///
    /// # Errors
    /// [`WorldError`]
    pub async fn call_raw(
        &self,
        function: &str,
        args: &[serde_json::Value],
        until: Instant,
    ) -> Result<RawReply, WorldError> {
        let _ = (function, args, until);
        todo!()
    }

    /// Calls a function that returns an array of nodes; answers with their backend node ids, in order.
    ///
    /// # Errors
    /// [`WorldError`]
    pub async fn call_for_nodes(
        &self,
        function: &str,
        args: &[serde_json::Value],
        until: Instant,
    ) -> Result<Vec<i64>, WorldError> {
        let _ = (function, args, until);
        todo!()
    }

    /// Calls a function with a node as its first argument, JSON arguments after it.
    ///
    /// # Errors
    /// [`WorldError`]; [`WorldError::NodeGone`] if the node does not exist in this document.
    pub async fn adopt<T: DeserializeOwned>(
        &self,
        backend_node_id: i64,
        function: &str,
        args: &[serde_json::Value],
        until: Instant,
    ) -> Result<T, WorldError> {
        let _ = (backend_node_id, function, args, until);
        todo!()
    }
}
