//! State shared by all request handlers.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use crate::world::World;

/// The two names under which a browser reaches the site. They are cross-site to each other.
#[derive(Debug, Clone)]
pub(crate) struct Origins {
    pub(crate) first: String,
    pub(crate) second: String,
}

impl Origins {
    /// The origin that a page served as `host` has to embed so that the frame is cross-site.
    pub(crate) fn other_than(&self, host: &str) -> &str {
        if self.second.strip_prefix("http://") == Some(host) { &self.first } else { &self.second }
    }
}

/// A handle on the server's state; clones share it.
#[derive(Debug, Clone)]
pub(crate) struct App {
    world: Arc<Mutex<World>>,
    origins: Arc<Origins>,
    stopped: watch::Receiver<bool>,
}

impl App {
    pub(crate) fn new(world: World, origins: Origins, stopped: watch::Receiver<bool>) -> Self {
        Self { world: Arc::new(Mutex::new(world)), origins: Arc::new(origins), stopped }
    }

    /// The state, locked. Never held across an await.
    pub(crate) fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn origins(&self) -> &Origins {
        &self.origins
    }

    /// Returns once the server is asked to stop: what responses that take long race against.
    pub(crate) async fn stopping(&self) {
        stopping(self.stopped.clone()).await;
    }
}

/// Returns once `stopped` says so or its sender is gone.
pub(crate) async fn stopping(mut stopped: watch::Receiver<bool>) {
    // An error means that the handle was dropped, which is a request to stop as well.
    let _ = stopped.wait_for(|stopped| *stopped).await;
}

#[cfg(test)]
mod tests {
    use super::Origins;

    #[test]
    fn each_origin_embeds_the_other() {
        let origins = Origins { first: "http://127.0.0.1:80".into(), second: "http://localhost:80".into() };
        assert_eq!(origins.other_than("127.0.0.1:80"), "http://localhost:80");
        assert_eq!(origins.other_than("localhost:80"), "http://127.0.0.1:80");
        assert_eq!(origins.other_than("evil.example\"><script>"), "http://localhost:80");
    }
}
