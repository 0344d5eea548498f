//! Starting and stopping the site.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::app::{App, Origins, stopping};
use crate::error::SiteError;
use crate::router::router;
use crate::world::World;

/// How long [`SiteHandle::stop`] lets responses finish.
const GRACE: Duration = Duration::from_secs(2);
/// Attempts to find a port that is free on both loopback addresses.
const ATTEMPTS: usize = 16;

/// A site that is not served yet.
///
/// ```no_run
/// # async fn serve() -> Result<(), cuebook_site::SiteError> {
/// let site = cuebook_site::Site::builder().seed(7).build().bind(0).await?;
/// assert!(site.origin().starts_with("http://127.0.0.1:"));
/// site.stop().await;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct Site {
    seed: u64,
}

/// How a [`Site`] is configured.
#[derive(Debug, Clone, Default)]
#[must_use]
pub struct SiteBuilder {
    seed: u64,
}

impl SiteBuilder {
    /// Sets the seed, which decides the invoices and the drift. 0 unless set.
    pub const fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// The site as configured.
    pub const fn build(self) -> Site {
        Site { seed: self.seed }
    }
}

impl Site {
    /// A site with seed 0, to be configured.
    pub fn builder() -> SiteBuilder {
        SiteBuilder::default()
    }

    /// Serves on `port` of 127.0.0.1 and, where there is one, of `::1`, because a browser tries
    /// that first for `localhost`. Port 0 takes any that is free on both.
    ///
    /// # Errors
    /// [`SiteError::Listen`] if the port is taken.
    pub async fn bind(self, port: u16) -> Result<SiteHandle, SiteError> {
        let listen = |source| SiteError::Listen { port, source };
        let mut attempts = 1..=ATTEMPTS;
        loop {
            let v4 = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await.map_err(listen)?;
            let chosen = port_of(&v4)?;
            match TcpListener::bind((Ipv6Addr::LOCALHOST, chosen)).await {
                Ok(v6) => return self.start(v4, Some(v6)),
                // Somebody else would be shown in the cross-site frames.
                Err(taken) if taken.kind() == std::io::ErrorKind::AddrInUse => {
                    if port != 0 || attempts.next().is_none() {
                        return Err(listen(taken));
                    }
                }
                // No IPv6 on this host; the browser falls back to 127.0.0.1.
                Err(_) => return self.start(v4, None),
            }
        }
    }

    /// Serves on a listener of the caller's, which has to accept connections to 127.0.0.1.
    ///
    /// # Errors
    /// [`SiteError::Address`] if the listener has no address.
    pub async fn serve(self, listener: TcpListener) -> Result<SiteHandle, SiteError> {
        self.start(listener, None)
    }

    fn start(self, first: TcpListener, second: Option<TcpListener>) -> Result<SiteHandle, SiteError> {
        let port = port_of(&first)?;
        let origins = Origins { first: format!("http://127.0.0.1:{port}"), second: format!("http://localhost:{port}") };
        let (stop, stopped) = watch::channel(false);
        let app = App::new(World::new(self.seed), origins, stopped.clone());
        let tasks = std::iter::once(first)
            .chain(second)
            .map(|listener| {
                let service = router(app.clone());
                let shutdown = stopping(stopped.clone());
                tokio::spawn(async move {
                    let served = axum::serve(listener, service).with_graceful_shutdown(shutdown);
                    if let Err(error) = served.await {
                        tracing::warn!(%error, "the built-in site stopped serving");
                    }
                })
            })
            .collect();
        tracing::debug!(port, seed = self.seed, "serving the built-in site");
        Ok(SiteHandle { app, stop, tasks })
    }
}

fn port_of(listener: &TcpListener) -> Result<u16, SiteError> {
    listener.local_addr().map(|address| address.port()).map_err(|source| SiteError::Address { source })
}

/// A site that is being served, until this is dropped or [`SiteHandle::stop`] returns.
#[derive(Debug)]
pub struct SiteHandle {
    app: App,
    stop: watch::Sender<bool>,
    tasks: Vec<JoinHandle<()>>,
}

impl SiteHandle {
    /// `http://127.0.0.1:PORT`, without a slash at the end.
    #[must_use]
    pub fn origin(&self) -> &str {
        &self.app.origins().first
    }

    /// `http://localhost:PORT`: the same server, but another site to a browser.
    #[must_use]
    pub fn second_origin(&self) -> &str {
        &self.app.origins().second
    }

    /// The address of `path`, which begins with a slash, on the first origin.
    #[must_use]
    pub fn url(&self, path: &str) -> String {
        format!("{}{path}", self.origin())
    }

    /// Everything that the server saw, as `GET /state` answers it.
    #[must_use]
    pub fn state(&self) -> Value {
        // The state holds strings, numbers and lists, all of which JSON can say.
        serde_json::to_value(&*self.app.world()).unwrap_or_default()
    }

    /// Forgets everything and starts over from `seed`, as `POST /reset` does.
    pub fn reset(&self, seed: u64) {
        self.app.world().reset(seed);
    }

    /// Stops listening, ends streams, lets other responses finish for two seconds, and returns.
    pub async fn stop(mut self) {
        self.stop.send_replace(true);
        for mut task in self.tasks.drain(..) {
            if tokio::time::timeout(GRACE, &mut task).await.is_err() {
                task.abort();
            }
        }
    }
}

impl Drop for SiteHandle {
    fn drop(&mut self) {
        self.stop.send_replace(true);
    }
}
