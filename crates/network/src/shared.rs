//! State shared by the connections of one listener.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use cuebook_grammar::policy::Policy;

use crate::decision::Decisions;
use crate::dial::Dial;

/// Upper bounds of what clients may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Connections at once; further ones wait.
    pub connections: usize,
    /// Bytes of the header of a request.
    pub header_bytes: usize,
    /// Time for the header of a request, and for the next request on an open connection.
    pub header_time: Duration,
    /// Time for resolving a name and connecting.
    pub connect_time: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 512,
            header_bytes: 256 << 10,
            header_time: Duration::from_secs(30),
            connect_time: Duration::from_secs(20),
        }
    }
}

/// State shared by the connections of one listener.
pub(crate) struct Shared {
    pub(crate) port: u16,
    pub(crate) limits: Limits,
    pub(crate) dial: Box<dyn Dial>,
    pub(crate) decisions: Arc<Decisions>,
    policy: RwLock<Option<Arc<Policy>>>,
}

impl Shared {
    pub(crate) fn new(port: u16, limits: Limits, dial: impl Dial) -> Self {
        let (policy, decisions) = (RwLock::new(None), Arc::<Decisions>::default());
        Self { port, limits, dial: Box::new(dial), decisions, policy }
    }

    pub(crate) fn set_policy(&self, policy: Policy) {
        *self.policy.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(policy));
    }

    /// `None` until there is one: everything is denied.
    pub(crate) fn policy(&self) -> Option<Arc<Policy>> {
        self.policy.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
