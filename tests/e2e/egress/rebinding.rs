//! S-27: a public name that leads to this machine once its page is loaded.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Result, ensure};
use cuebook::network::{Dial, Egress, Limits, Pending};
use cuebook_cdp::{Browser, LaunchOptions, WaitUntil};
use cuebook_grammar::policy::Policy;
use cuebook_grammar::seam::Denials as _;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::ground::{ADDRESS, Everywhere, Ground};
use super::{opened, soon, until};

const PAGE: &str = "<title>trying</title><script>setInterval(() => fetch('/local').catch(() => {}), 100)</script>";
const PUBLIC: Ipv4Addr = Ipv4Addr::new(93, 184, 216, 34);

/// A hostile server that is gone once it served its page, and one on this machine, with the same port.
struct Servers {
    port: u16,
    /// Connections of the one on this machine.
    reached: Arc<AtomicUsize>,
}

impl Servers {
    fn open(ground: &Ground) -> Result<Self> {
        let hostile = ground.tcp_at(&[SocketAddr::from((ADDRESS, 0))])?;
        let port = hostile.local_addr()?.port();
        let local = ground.tcp_at(&[SocketAddr::from((Ipv4Addr::LOCALHOST, port))])?;
        tokio::spawn(serve_once(hostile));
        let reached = Arc::new(AtomicUsize::new(0));
        let counted = reached.clone();
        tokio::spawn(async move {
            while local.accept().await.is_ok() {
                counted.fetch_add(1, Ordering::SeqCst);
            }
        });
        Ok(Self { port, reached })
    }
}

async fn serve_once(listener: TcpListener) -> std::io::Result<()> {
    loop {
        let (mut stream, _) = listener.accept().await?;
        let mut request = [0; 4096];
        // Chrome connects ahead, too.
        let read = stream.read(&mut request).await?;
        if read > 0 {
            let head = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\nContent-Length";
            stream.write_all(format!("{head}: {}\r\n\r\n{PAGE}", PAGE.len()).as_bytes()).await?;
            return stream.shutdown().await;
        }
    }
}

/// The first look-up gives the hostile server, each later one this machine, too.
#[derive(Debug)]
struct Rebinding {
    asked: AtomicUsize,
    everywhere: Everywhere,
}

impl Dial for Rebinding {
    fn resolve<'a>(&'a self, _: &'a str) -> Pending<'a, Vec<IpAddr>> {
        let is_first = self.asked.fetch_add(1, Ordering::SeqCst) == 0;
        let addresses = if is_first { vec![PUBLIC.into()] } else { vec![PUBLIC.into(), Ipv4Addr::LOCALHOST.into()] };
        Box::pin(async { Ok(addresses) })
    }

    fn connect(&self, address: SocketAddr) -> Pending<'_, TcpStream> {
        let ip = if address.ip() == IpAddr::V4(PUBLIC) { ADDRESS } else { Ipv4Addr::LOCALHOST };
        Box::pin(self.everywhere.connect_to((ip, address.port()).into()))
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_name_that_is_rebound_does_not_lead_to_this_machine() -> Result<()> {
    let ground = Ground::open().await?;
    if !ground.is_apart() {
        eprintln!("skipped: a name is rebound only where the resolver is ours");
        return Ok(());
    }
    for is_contained in [false, true] {
        let servers = Servers::open(&ground)?;
        let url = format!("http://rebound.test:{}/", servers.port);
        let profiles = TempDir::new()?;
        let mut options = ground.options(&profiles)?;
        opened(&mut options);
        let dial = Rebinding { asked: AtomicUsize::new(0), everywhere: ground.everywhere() };
        let egress = Egress::over(ground.listener()?, dial, Limits::default())?;
        if is_contained {
            egress.set_policy(Policy::default().starting_at(&url)?);
            options = LaunchOptions { proxy: Some(egress.address()), ..options };
        }
        let browser = Browser::launch(&options, soon()).await?;
        let page = browser.new_page("about:blank", soon()).await?;
        page.goto(&url, WaitUntil::Load, soon()).await?;
        let reached = || servers.reached.load(Ordering::SeqCst);
        if is_contained {
            let denied = || {
                let mut rules = egress.decisions().since(0).into_iter().map(|one| (one.host, one.rule));
                rules.any(|one| one == ("rebound.test".to_owned(), "privateAddress".to_owned()))
            };
            until(denied).await;
            ensure!(denied() && reached() == 0, "denied: {}, reached: {}", denied(), reached());
        } else {
            until(|| reached() > 0).await;
            ensure!(reached() > 0, "expected the control to reach this machine");
        }
    }
    Ok(())
}
