//! One listener: its port, its policy, its connections.

use std::fmt;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener as StdListener};
use std::sync::Arc;
use std::time::Duration;

use cuebook_grammar::policy::Policy;
use tokio::net::TcpListener;
use tokio::task::{AbortHandle, JoinSet};

use crate::decision::Decisions;
use crate::dial::Dial;
use crate::serve;
use crate::shared::{Limits, Shared};

/// A proxy on a port of its own. Dropping it closes its port and all its connections.
pub struct Egress {
    shared: Arc<Shared>,
    serving: AbortHandle,
}

impl fmt::Debug for Egress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Egress").field("port", &self.shared.port).finish_non_exhaustive()
    }
}

impl Egress {
    /// Listens on a free port of 127.0.0.1. Everything is denied until [`set_policy`](Self::set_policy). Must be called
    /// within a runtime, which has to outlive it.
    ///
    /// # Errors
    /// If there is no free port.
    pub async fn bind(dial: impl Dial) -> io::Result<Self> {
        Self::bind_within(dial, Limits::default()).await
    }

    /// As [`bind`](Self::bind), with other limits.
    ///
    /// # Errors
    /// If there is no free port.
    pub async fn bind_within(dial: impl Dial, limits: Limits) -> io::Result<Self> {
        Self::over(StdListener::bind((Ipv4Addr::LOCALHOST, 0))?, dial, limits)
    }

    /// Serves on `listener`, which has to be bound to 127.0.0.1. A listener that was made in a network namespace is
    /// reached from there only, while `dial` connects from where this is called. Must be called within a runtime, which
    /// has to outlive it.
    ///
    /// # Errors
    /// If the listener cannot be used without blocking.
    pub fn over(listener: StdListener, dial: impl Dial, limits: Limits) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        let listener = TcpListener::from_std(listener)?;
        let port = listener.local_addr()?.port();
        let shared = Arc::new(Shared::new(port, limits, dial));
        let serving = tokio::spawn(accept(listener, shared.clone())).abort_handle();
        Ok(Self { shared, serving })
    }

    /// Address that it listens on: 127.0.0.1 with its port.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.shared.port).into()
    }

    /// Replaces the policy for every later request. Open tunnels stay open.
    pub fn set_policy(&self, policy: Policy) {
        self.shared.set_policy(policy);
    }

    /// Returns the decisions that it made.
    #[must_use]
    pub fn decisions(&self) -> &Arc<Decisions> {
        &self.shared.decisions
    }
}

impl Drop for Egress {
    fn drop(&mut self) {
        // The task owns its connections.
        self.serving.abort();
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept(), if connections.len() < shared.limits.connections => match accepted {
                Ok((client, _)) => {
                    connections.spawn(serve::connection(client, shared.clone()));
                }
                Err(error) => {
                    // Out of descriptors, or a client that left early: neither is the end of the proxy.
                    tracing::debug!(%error, "a connection was not accepted");
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
            },
            Some(_) = connections.join_next() => {}
        }
    }
}
