//! A browser whose traffic goes through a proxy of ours, and the proof that it does.
//!
//! Invariant: a browser that fails the proof is not used, nor one that could not be put to it.

use std::io;
use std::net::{Ipv4Addr, TcpListener as StdListener, UdpSocket as StdUdp};
use std::time::{Duration, Instant};

use cuebook_cdp::protocol::browser_protocol::system_info::GetInfoParams;
use cuebook_cdp::{Browser, CallError, ContextId, Namespace, PageError, WorldError};
use cuebook_grammar::plan::Author;
use cuebook_grammar::policy::Policy;
use cuebook_network::Egress;
use cuebook_repair::Work;
use serde::Deserialize;
use serde_json::json;
use tokio::net::{TcpListener, UdpSocket};
use tokio::time::timeout_at;

/// Time limit for what a page tries: without a network, all of it fails within some milliseconds.
const TRYING: Duration = Duration::from_secs(10);
/// Time for what was sent on loopback to arrive.
const ARRIVING: Duration = Duration::from_millis(20);

/// Asks a STUN server, a server on loopback and one by name, and waits until each has failed.
const TRIES: &str = r#"async (stun, http, name) => {
    const fetched = url => fetch(url, { mode: "no-cors", cache: "no-store" }).catch(() => {});
    const gathered = stun && new Promise(resolve => {
        const peer = new RTCPeerConnection({ iceServers: [{ urls: `stun:127.0.0.1:${stun}` }] });
        peer.onicegatheringstatechange = () => {
            if (peer.iceGatheringState === "complete") { peer.close(); resolve(); }
        };
        peer.createDataChannel("");
        peer.createOffer().then(offer => peer.setLocalDescription(offer));
    });
    await Promise.all([gathered, fetched(`http://127.0.0.1:${http}/`), fetched(`http://${name}/`)]);
}"#;
/// A name that does not exist (RFC 6761).
const NAME: &str = "self-test.invalid";

/// Why a browser is not contained.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Uncontained {
    /// There is no port for the proxy or for the self-test.
    #[error("expected a free port on 127.0.0.1")]
    Port(#[from] io::Error),
    /// A network namespace was asked for.
    #[error(
        "expected the right to make a network namespace (Linux with CAP_SYS_ADMIN: as root, or below `unshare --user \
         --map-current-user --keep-caps`)"
    )]
    NoNamespace(#[source] io::Error),
    /// The browser is not in its network namespace.
    #[error("the browser is not in its network namespace")]
    Outside,
    /// UDP left the browser.
    #[error("the browser sends UDP past the proxy (--webrtc-ip-handling-policy does not hold)")]
    Udp,
    /// A request to loopback did not take the proxy.
    #[error("the browser connects to loopback past the proxy (--proxy-server or --proxy-bypass-list does not hold)")]
    Loopback,
    /// The browser would look up names by itself, as it does for TURN servers.
    #[error("the browser looks up names past the proxy (its command line lacks our --host-resolver-rules)")]
    Names,
    /// The proxy did not see what a page requested.
    #[error("the request to {host} did not reach the proxy")]
    Unseen {
        /// Host of the request: `127.0.0.1`, or `self-test.invalid`, which does not exist.
        host: &'static str,
    },
    /// The page was not ready, or did not come to its end.
    #[error("the self-test of the browser did not end in time")]
    Late,
    /// No page for it.
    #[error("expected a page for the self-test")]
    Page(#[from] PageError),
    /// The browser did not say how it was started.
    #[error("expected the browser to state its command line")]
    CommandLine(#[from] CallError),
    /// The script of the self-test did not run in its page.
    #[error("expected the script of the self-test to run")]
    Script(#[from] WorldError),
}

/// A free port of 127.0.0.1 for the proxy, in the network namespace of its browser.
///
/// # Errors
/// If there is none.
pub fn listen(namespace: Option<&Namespace>) -> io::Result<StdListener> {
    inside(namespace, || StdListener::bind((Ipv4Addr::LOCALHOST, 0)))
}

fn inside<T: Send>(namespace: Option<&Namespace>, work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    match namespace {
        Some(namespace) => namespace.within(work)?,
        None => work(),
    }
}

/// Proves that `browser`, or a context of it, reaches nothing past `egress`, which must not have a policy yet: a page asks
/// for a STUN server, a server on loopback and a server by name. Nothing may arrive, and the proxy must have denied both
/// requests. That the browser looks up no names shows in nothing that a page could see, so its command line has to say it.
/// In a namespace, the server on loopback is there, too, the browser's process has to be, and UDP is not tried: there is
/// no network that it could leave by. Takes some 100 ms.
///
/// # Errors
/// [`Uncontained`]
pub async fn self_test(
    browser: &Browser,
    context: Option<&ContextId>,
    egress: &Egress,
    namespace: Option<&Namespace>,
    until: Instant,
) -> Result<(), Uncontained> {
    let until = until.min(Instant::now() + TRYING);
    if let Some(namespace) = namespace
        && !browser.process_id().is_some_and(|process| namespace.holds(process).unwrap_or(false))
    {
        return Err(if browser.is_alive() { Uncontained::Outside } else { PageError::Gone.into() });
    }
    let (stun, http) = inside(namespace, || {
        let (stun, http) = (StdUdp::bind((Ipv4Addr::LOCALHOST, 0))?, StdListener::bind((Ipv4Addr::LOCALHOST, 0))?);
        stun.set_nonblocking(true)?;
        http.set_nonblocking(true)?;
        Ok((stun, http))
    })?;
    let (stun, http) = (UdpSocket::from_std(stun)?, TcpListener::from_std(http)?);
    // Without a network, Chrome may wait for one forever.
    let tries_udp = namespace.is_none();
    let (stun_port, http_port) = (stun.local_addr()?.port(), http.local_addr()?.port());
    let leak = async {
        let mut packet = [0; 64];
        tokio::select! {
            _ = stun.recv_from(&mut packet) => Uncontained::Udp,
            _ = http.accept() => Uncontained::Loopback,
        }
    };
    let tries = async {
        looks_up_nothing(browser, until).await?;
        let page = match context {
            Some(context) => browser.new_page_in(context, "about:blank", until).await?,
            None => browser.new_page("about:blank", until).await?,
        };
        let world = page.world(&page.main_frame().id, until).await?;
        world.call_raw(TRIES, &[json!(tries_udp.then_some(stun_port)), json!(http_port), json!(NAME)], until).await?;
        page.close(until).await?;
        tokio::time::sleep(ARRIVING).await;
        Ok(())
    };
    let ended = async {
        tokio::select! { biased; leak = leak => Err(leak), ended = tries => ended }
    };
    timeout_at(until.into(), ended).await.map_err(|_| Uncontained::Late)??;
    let decisions = egress.decisions().take();
    for (host, port) in [("127.0.0.1", http_port), (NAME, 80)] {
        let mut seen = decisions.iter().filter(|one| one.host == host && one.port == port);
        if !seen.any(|decision| decision.verdict.is_denial()) {
            return Err(Uncontained::Unseen { host });
        }
    }
    Ok(())
}

async fn looks_up_nothing(browser: &Browser, until: Instant) -> Result<(), Uncontained> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Info {
        #[serde(default)]
        command_line: String,
    }
    let info: Info = browser.session().request(GetInfoParams {}, until).await?.parse()?;
    // Of several, the last one holds.
    let rules = info.command_line.rsplit_once("--host-resolver-rules=").map(|(_, rules)| rules.trim_start_matches('"'));
    if rules.is_some_and(|rules| rules.starts_with("MAP * ~NOTFOUND")) { Ok(()) } else { Err(Uncontained::Names) }
}

/// The policy of a run's proxy: with the origins that an operator's plan names itself. Entries that cannot be read are
/// for the check of the plan to report.
#[must_use]
pub fn reach(policy: &Policy, work: &Work) -> Policy {
    let domains = match work {
        Work::Plan(draft) | Work::Replay(draft) if draft.author == Author::Operator => {
            draft.context.as_ref().and_then(|context| context.allowed_domains.as_deref()).unwrap_or_default()
        }
        _ => &[],
    };
    domains.iter().fold(policy.clone(), |policy, entry| policy.clone().allowing(entry).unwrap_or(policy))
}
