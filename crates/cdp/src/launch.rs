//! How Chrome is started, and ended.
//!
//! Invariants: a fresh profile and its own process group per launch; in every case, dropping a
//! [`Chrome`] leaves neither a process of the group nor the profile; its standard error is always
//! drained, and its end kept.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::io::AsyncReadExt;
use tokio::task::JoinHandle;

use crate::discover::ChromeBinary;
use crate::error::LaunchError;
use crate::namespace::Namespace;
use crate::profile_dir::{ProfileDir, await_group_end, kill_group};

/// Visibility of the browser's window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Window {
    /// No window (the full browser, `--headless=new`).
    #[default]
    Headless,
    /// A window on the screen.
    Headed,
}

/// Use of Chrome's process sandbox.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Sandbox {
    /// On, except for euid 0, where Chrome refuses to start with it.
    #[default]
    Default,
    /// Off: Chrome is started with `--no-sandbox`.
    Off,
}

/// How the browser is talked to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Transport {
    /// Two anonymous pipes, file descriptors 3 and 4 of the browser. Unix only.
    Pipe,
    /// A websocket, on a port of 127.0.0.1 that Chrome chooses.
    WebSocket,
}

impl Default for Transport {
    fn default() -> Self {
        if cfg!(unix) { Self::Pipe } else { Self::WebSocket }
    }
}

/// Binary to start, and how to start it.
#[derive(Clone, Debug)]
pub struct LaunchOptions {
    /// Chrome binary to start.
    pub binary: ChromeBinary,
    /// Visibility of the window: headless unless set.
    pub window: Window,
    /// Width and height of every page's viewport, in CSS pixels.
    pub viewport: (u32, u32),
    /// Use of Chrome's sandbox; [`Sandbox::Default`] unless set.
    pub sandbox: Sandbox,
    /// Further arguments, after ours. Chrome obeys only the last `--disable-features`, so features belong into
    /// `disabled_features`.
    pub extra_args: Vec<OsString>,
    /// Features of Chrome that are disabled besides ours, such as `LocalNetworkAccessChecks`.
    pub disabled_features: Vec<String>,
    /// The directory under which a fresh profile is made; created if missing.
    pub profile_root: PathBuf,
    /// The user data directory of a person's Chrome that the fresh profile is a copy of: with its cookies, logins and
    /// storage. The original is only read.
    pub copied_profile: Option<PathBuf>,
    /// An HTTP proxy for everything, loopback included. Chrome then resolves no names and sends no UDP; arguments in
    /// `extra_args` that would change this are refused.
    pub proxy: Option<SocketAddr>,
    /// The network namespace to start it in. The proxy has to listen there, and the transport has to be the pipe.
    pub namespace: Option<Arc<Namespace>>,
    /// Where downloads go, each under its guid; none refuses them.
    pub accept_downloads: Option<PathBuf>,
    /// The most tabs that pages may have open that they opened. A further one is closed before anything of it loads.
    pub opened_tabs: usize,
    /// The most bytes that all downloads of this browser together may write, without those of contexts that were disposed
    /// of; the one that goes beyond is cancelled.
    pub download_bytes: u64,
    /// Environment variables that Chrome does not inherit, such as those that hold secrets.
    pub withheld_variables: Vec<OsString>,
    /// A script that runs in the world of the page itself, in every frame and dedicated worker, before its own scripts.
    /// Shared workers, service workers and workers of workers do not get it.
    pub page_script: Option<Arc<str>>,
    /// The time zone of pages, such as `Europe/Berlin`; none for the system's.
    pub timezone: Option<String>,
    /// The language of pages, such as `en-US`; none for the system's.
    pub locale: Option<String>,
    /// How to talk to it.
    pub transport: Transport,
}

impl LaunchOptions {
    /// Headless, 1280 × 720, sandboxed where possible, no downloads (at most 1 GiB if they are accepted), the system's best
    /// transport.
    #[must_use]
    pub fn new(binary: ChromeBinary, profile_root: impl Into<PathBuf>) -> Self {
        Self {
            binary,
            window: Window::default(),
            viewport: (1280, 720),
            sandbox: Sandbox::default(),
            extra_args: Vec::new(),
            disabled_features: Vec::new(),
            profile_root: profile_root.into(),
            copied_profile: None,
            proxy: None,
            namespace: None,
            accept_downloads: None,
            opened_tabs: OPENED_TABS,
            download_bytes: 1 << 30,
            withheld_variables: Vec::new(),
            page_script: None,
            timezone: None,
            locale: None,
            transport: Transport::default(),
        }
    }
}

/// Default of [`LaunchOptions::opened_tabs`], also used for browsers that are attached to.
pub(crate) const OPENED_TABS: usize = 20;

/// Bytes of Chrome's standard error that are kept.
const STDERR_CAP: usize = 8 << 10;
const POLL: Duration = Duration::from_millis(10);

/// Features that act on their own, or that move a page to another target behind our back. The last two are a renderer for
/// the list below the address bar, which is more than half of the time that a start of Chrome 156 takes of the processor.
const DISABLED_FEATURES: &str = "--disable-features=AcceptCHFrame,AutoDeElevate,AutofillServerCommunication,\
CertificateTransparencyComponentUpdater,DestroyProfileOnBrowserClose,DialMediaRouteProvider,GlobalMediaControls,\
HttpsUpgrades,InterestFeedContentSuggestions,LensOverlay,MediaRouter,OptimizationHints,PaintHolding,\
PasswordLeakDetection,Prerender2,ThirdPartyStoragePartitioning,Translate,WebUIOmniboxAimPopup,WebUIOmniboxPopup";

/// Arguments that make a browser quiet and alike on every machine.
const QUIET: [&str; 26] = [
    "--no-first-run",
    "--no-default-browser-check",
    "--no-service-autorun",
    "--no-pings",
    "--disable-background-networking",
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",
    "--disable-renderer-backgrounding",
    "--disable-back-forward-cache",
    "--disable-breakpad",
    "--disable-client-side-phishing-detection",
    "--disable-component-extensions-with-background-pages",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-dev-shm-usage",
    "--disable-domain-reliability",
    "--disable-extensions",
    "--disable-hang-monitor",
    "--disable-infobars",
    "--disable-popup-blocking",
    "--disable-prompt-on-repost",
    "--disable-search-engine-choice-screen",
    "--disable-sync",
    "--metrics-recording-only",
    "--password-store=basic",
    "--use-mock-keychain",
];

/// Those that keep Chrome from the keys of the person who uses the machine.
const KEYS: [&str; 2] = ["--password-store=basic", "--use-mock-keychain"];

impl LaunchOptions {
    /// Arguments that Chrome is started with, for its user data directory: also for one that something else starts, to be
    /// attached to.
    #[must_use]
    pub fn arguments(&self, profile: &Path) -> Vec<OsString> {
        // The cookies of a copied profile are encrypted by the key of its person.
        let is_kept = |arg: &&&str| self.copied_profile.is_none() || !KEYS.contains(arg);
        let mut args: Vec<OsString> = QUIET.iter().filter(is_kept).map(OsString::from).collect();
        let features: Vec<&str> =
            [DISABLED_FEATURES].into_iter().chain(self.disabled_features.iter().map(String::as_str)).collect();
        args.push(features.join(",").into());
        let mut data = OsString::from("--user-data-dir=");
        data.push(profile);
        args.push(data);
        args.push(match self.transport {
            Transport::Pipe => "--remote-debugging-pipe".into(),
            Transport::WebSocket => "--remote-debugging-port=0".into(),
        });
        let (width, height) = self.viewport;
        args.push(format!("--window-size={width},{height}").into());
        args.push("--force-color-profile=srgb".into());
        // A whole Chrome does so by itself, a headless shell does not.
        args.push("--site-per-process".into());
        if self.window == Window::Headless {
            args.extend(["--headless=new", "--hide-scrollbars", "--mute-audio"].map(OsString::from));
        }
        if self.sandbox == Sandbox::Off || is_root() {
            args.push("--no-sandbox".into());
        }
        args.extend(self.locale.iter().map(|locale| format!("--lang={locale}").into()));
        args.extend(self.proxy.iter().flat_map(contained));
        args.extend(self.extra_args.iter().cloned());
        args.push("about:blank".into());
        args
    }
}

/// Arguments that make Chrome reach the network through a proxy only. Each is needed; `--disable-quic` of other tools is
/// not.
fn contained(proxy: &SocketAddr) -> [OsString; 5] {
    [
        format!("--proxy-server=http://{proxy}").into(),
        // By default, Chrome never sends loopback traffic through a proxy.
        "--proxy-bypass-list=<-loopback>".into(),
        // STUN and TURN would send UDP past it.
        "--webrtc-ip-handling-policy=disable_non_proxied_udp".into(),
        // A headless shell knows only this name of it.
        "--force-webrtc-ip-handling-policy=disable_non_proxied_udp".into(),
        // Chrome would look up the names of TURN servers by itself.
        format!("--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE {}", proxy.ip()).into(),
    ]
}

/// Arguments by which traffic would leave Chrome past its proxy.
const UNDOING: [&str; 15] = [
    "proxy-server",
    "proxy-bypass-list",
    "proxy-pac-url",
    "proxy-auto-detect",
    "no-proxy-server",
    "webrtc-ip-handling-policy",
    "force-webrtc-ip-handling-policy",
    "host-resolver-rules",
    "host-rules",
    "dns-over-https-mode",
    "dns-over-https-templates",
    "origin-to-force-quic-on",
    "load-extension",
    "disable-extensions-except",
    "user-data-dir",
];

/// The first argument that would undo the containment.
fn undoing(args: &[OsString]) -> Option<&OsString> {
    args.iter().find(|arg| {
        // Chrome accepts one dash as well as two, and on Windows a slash and capitals.
        let arg = arg.to_string_lossy();
        let name = arg.trim_start_matches(['-', '/']).split('=').next().unwrap_or_default().to_ascii_lowercase();
        arg.starts_with(['-', '/']) && UNDOING.contains(&name.as_str())
    })
}

/// Returns `true` if the program runs as root, whose Chrome has no sandbox.
#[cfg(unix)]
#[must_use]
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Returns `true` if the program runs as root: never here.
#[cfg(not(unix))]
#[must_use]
pub fn is_root() -> bool {
    false
}

/// A running Chrome of ours.
#[derive(Debug)]
pub(crate) struct Chrome {
    program: PathBuf,
    process_id: u32,
    child: Mutex<Option<Child>>,
    profile: Mutex<Option<ProfileDir>>,
    profile_path: PathBuf,
    stderr: Arc<Mutex<VecDeque<u8>>>,
    stderr_task: Option<JoinHandle<()>>,
}

/// Our ends of the two pipes: to write to, to read from.
#[cfg(unix)]
pub(crate) type Pipes = (std::os::fd::OwnedFd, std::os::fd::OwnedFd);
#[cfg(not(unix))]
pub(crate) type Pipes = std::convert::Infallible;

impl Chrome {
    /// Starts the process. Must be called within a runtime.
    pub(crate) fn start(options: &LaunchOptions) -> Result<(Self, Option<Pipes>), LaunchError> {
        if let Some(argument) = options.proxy.and_then(|_| undoing(&options.extra_args)) {
            return Err(LaunchError::PastProxy { argument: argument.to_string_lossy().into_owned() });
        }
        if options.namespace.is_some() && options.transport == Transport::WebSocket {
            return Err(LaunchError::PipeNeeded);
        }
        let profile = ProfileDir::create(&options.profile_root)
            .map_err(|source| LaunchError::Profile { root: options.profile_root.clone(), source })?;
        if let Some(original) = &options.copied_profile {
            let failed = |source| LaunchError::CopiedProfile { original: original.clone(), source };
            profile.fill_from(original).map_err(failed)?;
        }
        let mut command = Command::new(&options.binary.path);
        command
            .args(options.arguments(profile.path()))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        for variable in &options.withheld_variables {
            command.env_remove(variable);
        }
        command.envs(options.timezone.iter().map(|zone| ("TZ", zone)));
        command.envs(options.locale.iter().map(|locale| ("LANGUAGE", locale)));
        let spawn_error = |source| LaunchError::Spawn { binary: options.binary.path.clone(), source };
        let pipes = own_group_and_pipes(&mut command, options.transport)?;
        let spawned = match &options.namespace {
            Some(namespace) => namespace.within(|| command.spawn()).and_then(|spawned| spawned),
            None => command.spawn(),
        };
        let mut child = spawned.map_err(spawn_error)?;
        // The command holds Chrome's ends of the pipes; kept open, their end would never be seen.
        drop(command);

        let stderr = Arc::new(Mutex::new(VecDeque::new()));
        let stderr_task = child
            .stderr
            .take()
            .and_then(|pipe| tokio::process::ChildStderr::from_std(pipe).ok())
            .map(|pipe| tokio::spawn(keep_tail(pipe, stderr.clone())));
        let process_id = child.id();
        let chrome = Self {
            program: options.binary.path.clone(),
            process_id,
            child: Mutex::new(Some(child)),
            profile_path: profile.path().to_owned(),
            profile: Mutex::new(Some(profile)),
            stderr,
            stderr_task,
        };
        if let Some(profile) = &*lock(&chrome.profile) {
            profile.used_by(process_id).map_err(spawn_error)?;
        }
        Ok((chrome, pipes))
    }

    pub(crate) fn program(&self) -> &Path {
        &self.program
    }

    pub(crate) fn process_id(&self) -> u32 {
        self.process_id
    }

    /// The end of what it wrote to standard error.
    pub(crate) fn stderr(&self) -> String {
        let tail: Vec<u8> = lock(&self.stderr).iter().copied().collect();
        String::from_utf8_lossy(&tail).trim().to_owned()
    }

    /// How it exited, if it did.
    pub(crate) fn exit_status(&self) -> Option<ExitStatus> {
        lock(&self.child).as_mut().and_then(|child| child.try_wait().ok().flatten())
    }

    /// The address of its websocket, which Chrome writes into its profile.
    pub(crate) async fn web_socket(&self, until: Instant) -> Result<String, LaunchError> {
        let file = self.profile_path.join("DevToolsActivePort");
        loop {
            if let Ok(text) = std::fs::read_to_string(&file)
                && let Some((port, path)) = text.split_once('\n')
                && !path.is_empty()
            {
                return Ok(format!("ws://127.0.0.1:{}{}", port.trim(), path.trim()));
            }
            self.check(until)?;
            tokio::time::sleep(POLL).await;
        }
    }

    /// Fails if it exited or the deadline passed.
    pub(crate) fn check(&self, until: Instant) -> Result<(), LaunchError> {
        if let Some(status) = self.exit_status() {
            return Err(LaunchError::Exited { status, stderr: self.stderr() });
        }
        if Instant::now() >= until {
            return Err(LaunchError::DeadlineExceeded { stderr: self.stderr() });
        }
        Ok(())
    }

    /// Waits until it has exited by itself, or was ended by us. Returns whether that came to be.
    pub(crate) async fn exited(&self, until: Instant) -> bool {
        while lock(&self.child).is_some() && self.exit_status().is_none() {
            if Instant::now() >= until {
                return false;
            }
            tokio::time::sleep(POLL).await;
        }
        true
    }

    /// Kills and reaps what is left, removes the profile. Blocks for some milliseconds; safe to repeat.
    pub(crate) fn end(&self) {
        if let Some(mut child) = lock(&self.child).take() {
            // The leader is not reaped yet, unless it exited before: then its id stays taken for as long
            // as a process of its group lives, and no other group can have it.
            kill_group(self.process_id);
            let _ = child.kill();
            let _ = child.wait();
            await_group_end(self.process_id);
        }
        drop(lock(&self.profile).take());
    }
}

impl Drop for Chrome {
    fn drop(&mut self) {
        self.end();
        if let Some(task) = &self.stderr_task {
            task.abort();
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(unix)]
fn own_group_and_pipes(command: &mut Command, transport: Transport) -> Result<Option<Pipes>, LaunchError> {
    use std::io;
    use std::os::unix::process::CommandExt;

    use command_fds::{CommandFdExt, FdMapping};

    command.process_group(0);
    if transport == Transport::WebSocket {
        return Ok(None);
    }
    let binary = command.get_program().into();
    let mut open = || -> io::Result<Pipes> {
        let (chrome_reads, we_write) = io::pipe()?;
        let (we_read, chrome_writes) = io::pipe()?;
        command
            .fd_mappings(vec![
                FdMapping { parent_fd: chrome_reads.into(), child_fd: 3 },
                FdMapping { parent_fd: chrome_writes.into(), child_fd: 4 },
            ])
            .map_err(|_| io::ErrorKind::InvalidInput)?;
        Ok((we_write.into(), we_read.into()))
    };
    open().map(Some).map_err(|source| LaunchError::Spawn { binary, source })
}

#[cfg(not(unix))]
fn own_group_and_pipes(_command: &mut Command, transport: Transport) -> Result<Option<Pipes>, LaunchError> {
    match transport {
        Transport::Pipe => Err(LaunchError::PipeUnsupported),
        Transport::WebSocket => Ok(None),
    }
}

async fn keep_tail(mut pipe: tokio::process::ChildStderr, tail: Arc<Mutex<VecDeque<u8>>>) {
    let mut chunk = [0; 4096];
    while let Ok(read @ 1..) = pipe.read(&mut chunk).await {
        let mut tail = lock(&tail);
        tail.extend(chunk.iter().take(read));
        let surplus = tail.len().saturating_sub(STDERR_CAP);
        tail.drain(..surplus);
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{LaunchOptions, Sandbox, Transport, Window};
    use crate::discover::{ChromeBinary, PlaceKind};

    fn options() -> LaunchOptions {
        let binary = ChromeBinary { path: "chrome".into(), found_by: PlaceKind::Path };
        LaunchOptions::new(binary, "profiles")
    }

    fn has(options: &LaunchOptions, flag: &str) -> bool {
        options.arguments(Path::new("p")).iter().any(|arg| arg == flag)
    }

    #[test]
    fn the_sandbox_is_off_only_for_root_or_when_asked() {
        assert_eq!(has(&options(), "--no-sandbox"), super::is_root());
        let off = LaunchOptions { sandbox: Sandbox::Off, ..options() };
        assert!(has(&off, "--no-sandbox"));
    }

    #[test]
    fn disabled_features_are_one_argument_since_chrome_obeys_the_last_only() {
        let more = LaunchOptions { disabled_features: vec!["LocalNetworkAccessChecks".to_owned()], ..options() };
        let args = more.arguments(Path::new("p"));
        let disabling: Vec<_> =
            args.iter().map(|arg| arg.to_string_lossy()).filter(|arg| arg.starts_with("--disable-features")).collect();
        assert_eq!(disabling.len(), 1);
        assert!(disabling[0].contains("Translate,") && disabling[0].ends_with(",LocalNetworkAccessChecks"));
    }

    #[test]
    fn a_proxy_brings_the_flags_that_leave_no_way_past_it() {
        assert!(!has(&options(), "--proxy-bypass-list=<-loopback>"));
        let proxied = LaunchOptions { proxy: Some(([127, 0, 0, 1], 8080).into()), ..options() };
        for flag in [
            "--proxy-server=http://127.0.0.1:8080",
            "--proxy-bypass-list=<-loopback>",
            "--webrtc-ip-handling-policy=disable_non_proxied_udp",
            "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
            "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
        ] {
            assert!(has(&proxied, flag), "{flag}");
        }
    }

    #[test]
    fn an_argument_that_leads_past_the_proxy_is_found_in_every_spelling() {
        let found = |arg: &str| super::undoing(&["--lang=de".into(), arg.into()]).is_some();
        for arg in ["--no-proxy-server", "-proxy-server=direct://", "/Proxy-Bypass-List=*", "--host-rules=MAP * x"] {
            assert!(found(arg), "{arg}");
        }
        for arg in ["--proxy-server-like=1", "proxy-server", "--mute-audio", ""] {
            assert!(!found(arg), "{arg}");
        }
    }

    #[test]
    #[cfg(unix)]
    fn s86_s89_no_port_is_opened_for_the_protocol_and_no_extension_is_loaded() {
        assert!(has(&options(), "--remote-debugging-pipe") && has(&options(), "--disable-extensions"));
        let is_port = |arg: &std::ffi::OsString| arg.to_string_lossy().contains("debugging-port");
        assert!(!options().arguments(Path::new("p")).iter().any(is_port));
        // Where a port is asked for, Chrome chooses it, on loopback.
        let by_port = LaunchOptions { transport: Transport::WebSocket, ..options() };
        assert!(has(&by_port, "--remote-debugging-port=0"));
    }

    #[test]
    fn a_headed_browser_gets_no_headless_flag() {
        assert!(has(&options(), "--headless=new"));
        let headed = LaunchOptions { window: Window::Headed, ..options() };
        assert!(!has(&headed, "--headless=new"));
    }
}
