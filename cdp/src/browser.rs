//! A browser: launched and owned, or attached to and left alone.

use std::time::Instant;

use crate::error::{AttachError, CallError, LaunchError, PageError};
use crate::events::BrowserEvents;
use crate::ids::TargetId;
use crate::launch::{LaunchOptions, Transport};
use crate::page::Page;
use crate::session::Session;

/// What the browser says it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrowserVersion {
    /// For example `Chrome/156.0.7000.0`.
    pub product: String,
    /// The protocol's version, `1.3`.
    pub protocol: String,
    /// The default user agent.
    pub user_agent: String,
}

/// A connection to a browser. A launched one is killed, reaped and its profile removed on drop; one
/// that was attached to is left as it is.
#[derive(Debug)]
pub struct Browser {}

impl Browser {
    /// Starts Chrome on a fresh profile and attaches to its first page.
    ///
    /// # Errors
    /// [`LaunchError`], with the end of Chrome's standard error.
    pub async fn launch(options: &LaunchOptions, until: Instant) -> Result<Self, LaunchError> {
        let _ = (options, until);
        todo!()
    }

    /// Attaches to a running browser and to all its pages.
    ///
    /// # Errors
    /// [`AttachError`]
    pub async fn attach(endpoint: &str, until: Instant) -> Result<Self, AttachError> {
        let _ = (endpoint, until);
        todo!()
    }

    /// The browser's own session.
    #[must_use]
    pub fn session(&self) -> &Session {
        todo!()
    }

    /// Opens a tab and waits until it is set up.
    ///
    /// # Errors
    /// [`PageError`]
    pub async fn new_page(&self, url: &str, until: Instant) -> Result<Page, PageError> {
        let _ = (url, until);
        todo!()
    }

    /// All pages, popups included, oldest first.
    #[must_use]
    pub fn pages(&self) -> Vec<Page> {
        todo!()
    }

    /// One page.
    #[must_use]
    pub fn page(&self, target: &TargetId) -> Option<Page> {
        let _ = target;
        todo!()
    }

    /// Subscribes to pages that come and go, downloads, and the end.
    #[must_use]
    pub fn events(&self) -> BrowserEvents {
        todo!()
    }

    /// Adds a script to our world of every document of every page that opens from now on, popups
    /// included, before their first script runs.
    pub fn add_world_script(&self, source: &str) {
        let _ = source;
        todo!()
    }

    /// Closes a launched browser in an orderly way, kills what is left at the deadline, and removes the
    /// profile. One that was attached to is only let go.
    ///
    /// # Errors
    /// [`CallError`] if it had to be killed.
    pub async fn close(&self, until: Instant) -> Result<(), CallError> {
        let _ = until;
        todo!()
    }

    /// Whether the connection is up.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        todo!()
    }

    /// What the browser says it is.
    #[must_use]
    pub fn version(&self) -> &BrowserVersion {
        todo!()
    }

    /// The process that was launched; none for one that was attached to.
    #[must_use]
    pub fn process_id(&self) -> Option<u32> {
        todo!()
    }

    /// How it is talked to.
    #[must_use]
    pub fn transport(&self) -> Transport {
        todo!()
    }
}
