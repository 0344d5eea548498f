//! How Chrome is started.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::discover::ChromeBinary;

/// Whether there is a window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Window {
    /// None (the full browser, `--headless=new`).
    #[default]
    Headless,
    /// On the screen.
    Headed,
}

/// Chrome's sandbox.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sandbox {
    /// On, except for euid 0, where Chrome refuses to start with it.
    #[default]
    Default,
    /// Off.
    Off,
}

/// How the browser is talked to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// Two anonymous pipes, file descriptors 3 and 4 of the browser. Unix only.
    Pipe,
    /// A websocket.
    WebSocket,
}

impl Default for Transport {
    fn default() -> Self {
        if cfg!(unix) {
            Self::Pipe
        } else {
            Self::WebSocket
        }
    }
}

/// What to start, and how.
#[derive(Clone, Debug)]
pub struct LaunchOptions {
    /// The browser.
    pub binary: ChromeBinary,
    /// Whether there is a window.
    pub window: Window,
    /// Width and height of every page's viewport, in CSS pixels.
    pub viewport: (u32, u32),
    /// Chrome's sandbox.
    pub sandbox: Sandbox,
    /// Further arguments, after ours.
    pub extra_args: Vec<OsString>,
    /// The directory under which a fresh profile is made; created if missing.
    pub profile_root: PathBuf,
    /// A proxy for everything, loopback included, as `--proxy-server` takes it.
    pub proxy: Option<String>,
    /// Where downloads go, each under its guid; none refuses them.
    pub accept_downloads: Option<PathBuf>,
    /// How to talk to it.
    pub transport: Transport,
}

impl LaunchOptions {
    /// Headless, 1280 × 720, sandboxed where possible, no downloads, the system's best transport.
    #[must_use]
    pub fn new(binary: ChromeBinary, profile_root: impl Into<PathBuf>) -> Self {
        Self {
            binary,
            window: Window::default(),
            viewport: (1280, 720),
            sandbox: Sandbox::default(),
            extra_args: Vec::new(),
            profile_root: profile_root.into(),
            proxy: None,
            accept_downloads: None,
            transport: Transport::default(),
        }
    }
}
