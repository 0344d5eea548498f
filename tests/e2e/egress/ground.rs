//! Where the tests take place: a network namespace with a resolver that keeps what it is asked, or this machine.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener as StdListener, TcpStream as StdStream};
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

use anyhow::{Context as _, Result, ensure};
use cuebook::network::{Dial, Pending};
use cuebook_cdp::{LaunchOptions, Namespace};
use tempfile::TempDir;
use tokio::net::{TcpListener, TcpStream, UdpSocket};

use super::PROBES_TABS;
use super::hostile::ProbeHits;

/// An address that is not on loopback, without which Chrome tries no UDP.
pub(crate) const ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 9, 8, 7);

/// Where the tests take place.
#[derive(Debug)]
pub(crate) struct Ground {
    namespace: Option<Arc<Namespace>>,
    folder: TempDir,
    /// Names that the resolver was asked for.
    pub(crate) asked: ProbeHits,
}

impl Ground {
    /// A namespace if one can be made; says in plain sight if not.
    pub(crate) async fn open() -> Result<Self> {
        let namespace = match peopled() {
            Ok(namespace) => Some(Arc::new(namespace)),
            Err(error) => {
                eprintln!("skipped: look-ups and UDP are not counted, for there is no network namespace: {error:#}");
                None
            }
        };
        let ground = Self { namespace, folder: TempDir::new()?, asked: ProbeHits::default() };
        if ground.is_apart() {
            resolve(ground.udp_at(SocketAddr::from((Ipv4Addr::LOCALHOST, 53)))?, ground.asked.clone());
        }
        Ok(ground)
    }

    /// Returns `true` if the ground is a namespace.
    pub(crate) const fn is_apart(&self) -> bool {
        self.namespace.is_some()
    }

    /// Chrome on this ground, with a resolver of ours if it is a namespace.
    pub(crate) fn options(&self, profiles: &TempDir) -> Result<LaunchOptions> {
        let mut options = cuebook_testkit::whole_browser(profiles.path());
        let binary = &mut options.binary;
        if self.is_apart() {
            let configuration = self.folder.path().join("resolv.conf");
            std::fs::write(&configuration, "nameserver 127.0.0.1\n")?;
            let script = format!(
                "#!/bin/sh\nexec unshare --mount sh -c 'mount --bind \"$0\" /etc/resolv.conf && exec \"$@\"' \
                 '{}' '{}' \"$@\"\n",
                configuration.display(),
                binary.path.display()
            );
            binary.path = self.folder.path().join("chrome");
            executable(&binary.path, &script)?;
        }
        options.opened_tabs = PROBES_TABS;
        options.namespace.clone_from(&self.namespace);
        Ok(options)
    }

    /// A listener for the proxy of a browser on this ground.
    pub(crate) fn listener(&self) -> Result<StdListener> {
        Ok(cuebook::egress::listen(self.namespace.as_deref())?)
    }

    pub(crate) fn namespace(&self) -> Option<&Namespace> {
        self.namespace.as_deref()
    }

    /// A listener on all addresses, of both families where there are two.
    pub(crate) fn tcp(&self, port: u16) -> Result<TcpListener> {
        let all: [IpAddr; 2] = [Ipv6Addr::UNSPECIFIED.into(), Ipv4Addr::UNSPECIFIED.into()];
        let addresses = all.map(|address| SocketAddr::new(address, port));
        self.tcp_at(&addresses)
    }

    pub(crate) fn tcp_at(&self, addresses: &[SocketAddr]) -> Result<TcpListener> {
        let listener = self.within(|| StdListener::bind(addresses))?;
        listener.set_nonblocking(true)?;
        Ok(TcpListener::from_std(listener)?)
    }

    pub(crate) fn udp_at(&self, address: SocketAddr) -> Result<UdpSocket> {
        let socket = self.within(|| std::net::UdpSocket::bind(address))?;
        socket.set_nonblocking(true)?;
        Ok(UdpSocket::from_std(socket)?)
    }

    /// Datagrams that were sent here so far, by the count of the kernel; 0 outside of a namespace.
    pub(crate) fn datagrams(&self) -> Result<u64> {
        let Some(namespace) = &self.namespace else { return Ok(0) };
        let read = |file: &str| namespace.within(|| std::fs::read_to_string(format!("/proc/thread-self/net/{file}")));
        let (four, six) = (read("snmp")??, read("snmp6")?.unwrap_or_default());
        let mut lines = four.lines().filter(|line| line.starts_with("Udp:")).map(str::split_whitespace);
        let (names, values) = lines.next().zip(lines.next()).context("expected counts of UDP")?;
        let counts: BTreeMap<&str, &str> = names.zip(values).collect();
        let six = six.lines().find_map(|line| line.strip_prefix("Udp6OutDatagrams"));
        Ok(counts["OutDatagrams"].parse::<u64>()? + six.map_or(Ok(0), |six| six.trim().parse())?)
    }

    fn within<T: Send>(&self, work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
        match &self.namespace {
            Some(namespace) => namespace.within(work)?,
            None => work(),
        }
    }

    /// A network in which every name has a public address, and every address is this ground: what the proxy does not
    /// deny arrives.
    pub(crate) fn everywhere(&self) -> Everywhere {
        Everywhere { namespace: self.namespace.clone() }
    }
}

/// A namespace with an address that is not on loopback.
fn peopled() -> Result<Namespace> {
    let namespace = Namespace::new()?;
    let address = format!("{ADDRESS}/24");
    for words in [
        &["link", "add", "net0", "type", "veth", "peer", "name", "net1"][..],
        &["address", "add", &address, "dev", "net0"],
        // Addresses of IPv6 that come a second later would be a change of the network, on which Chrome fails requests.
        &["link", "set", "net0", "addrgenmode", "none"],
        &["link", "set", "net1", "addrgenmode", "none"],
        &["link", "set", "net0", "up"],
        &["link", "set", "net1", "up"],
        &["route", "add", "default", "dev", "net0"],
    ] {
        let ended = namespace.within(|| Command::new("ip").args(words).output())?.context("expected the program ip")?;
        ensure!(ended.status.success(), "ip {words:?}: {}", String::from_utf8_lossy(&ended.stderr));
    }
    let ended = Command::new("unshare").args(["--mount", "true"]).output().context("expected the program unshare")?;
    ensure!(ended.status.success(), "unshare: {}", String::from_utf8_lossy(&ended.stderr));
    Ok(namespace)
}

fn executable(path: &PathBuf, script: &str) -> Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::write(path, script)?;
    Ok(std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755))?)
}

/// Answers every name with 127.0.0.1, and `rebound.test` with [`ADDRESS`] first. Keeps the names.
fn resolve(socket: UdpSocket, asked: ProbeHits) {
    tokio::spawn(async move {
        let mut packet = [0; 512];
        while let Ok((length, from)) = socket.recv_from(&mut packet).await {
            let Some(question) = packet.get(..length) else { continue };
            let mut labels = Vec::new();
            let mut at = 12;
            while let Some(size @ 1..) = question.get(at).copied() {
                labels.push(String::from_utf8_lossy(question.get(at + 1..=at + usize::from(size)).unwrap_or(b"")));
                at += 1 + usize::from(size);
            }
            let name = labels.join(".").to_lowercase();
            asked.add(&name);
            let is_address = question.get(at + 1..at + 3) == Some(&[0, 1]);
            let addresses: &[Ipv4Addr] = match name.as_str() {
                _ if !is_address => &[],
                "rebound.test" => &[ADDRESS, Ipv4Addr::LOCALHOST],
                _ => &[Ipv4Addr::LOCALHOST],
            };
            let mut answer = question.get(..2).unwrap_or_default().to_vec();
            answer.extend([0x81, 0x80, 0, 1, 0, u8::try_from(addresses.len()).unwrap_or(0), 0, 0, 0, 0]);
            answer.extend(question.get(12..at + 5).unwrap_or_default());
            for address in addresses {
                answer.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4]);
                answer.extend(address.octets());
            }
            socket.send_to(&answer, from).await.ok();
        }
    });
}

/// Dials as [`Ground::everywhere`] describes.
#[derive(Debug)]
pub(crate) struct Everywhere {
    namespace: Option<Arc<Namespace>>,
}

impl Dial for Everywhere {
    fn resolve<'a>(&'a self, _: &'a str) -> Pending<'a, Vec<IpAddr>> {
        Box::pin(async { Ok(vec![Ipv4Addr::new(93, 184, 216, 34).into()]) })
    }

    fn connect(&self, address: SocketAddr) -> Pending<'_, TcpStream> {
        Box::pin(self.connect_to((Ipv4Addr::LOCALHOST, address.port()).into()))
    }
}

impl Everywhere {
    /// A connection to an address of the ground.
    pub(crate) async fn connect_to(&self, address: SocketAddr) -> io::Result<TcpStream> {
        let stream = match &self.namespace {
            Some(namespace) => namespace.within(|| StdStream::connect(address))??,
            None => return TcpStream::connect(address).await,
        };
        stream.set_nonblocking(true)?;
        TcpStream::from_std(stream)
    }
}
