//! One connection of a client: its requests one after the other, and the tunnel that may end them.

use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cuebook_grammar::policy::{Denied, Policy};
use http_body_util::{Either, Empty};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::{self as client, SendRequest};
use hyper::header::{CONNECTION, HOST, HeaderMap, HeaderName, HeaderValue, TE, TRAILER, TRANSFER_ENCODING, UPGRADE};
use hyper::server::conn::http1 as server;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode, Uri};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::decision::{Unreached, Verdict};
use crate::shared::Shared;
use crate::target::Target;

type Reply = Response<Either<Incoming, Empty<Bytes>>>;
type Tunnel = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Serves a client until it leaves. What it opened is closed with it.
pub(crate) async fn connection(client: TcpStream, shared: Arc<Shared>) {
    client.set_nodelay(true).ok();
    let limits = shared.limits;
    let served = Arc::new(Served { shared, upstream: Mutex::default(), tunnel: Mutex::default() });
    let answering = served.clone();
    let service = service_fn(move |request| {
        let served = answering.clone();
        async move { served.answer(request).await }
    });
    let ended = server::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.header_time)
        .max_buf_size(limits.header_bytes)
        .preserve_header_case(true)
        .auto_date_header(false)
        .serve_connection(TokioIo::new(client), service)
        .with_upgrades()
        .await;
    if let Err(error) = ended {
        tracing::debug!(%error, "a client's connection ended early");
    }
    let tunnel = lock(&served.tunnel).take();
    if let Some(tunnel) = tunnel {
        tunnel.await;
    }
}

/// The state of a client's connection.
struct Served {
    shared: Arc<Shared>,
    /// The server of the last plain request, if it may be asked again.
    upstream: Mutex<Option<Upstream>>,
    /// Tunnel that runs after the last response.
    tunnel: Mutex<Option<Tunnel>>,
}

/// A connection to a server of plain HTTP.
struct Upstream {
    place: (String, u16),
    sender: SendRequest<Incoming>,
    driver: JoinHandle<()>,
}

impl Drop for Upstream {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

/// Why a server was not reached.
enum NotReached {
    Denied(Denied),
    NoAnswer(Unreached),
}

/// The server did not answer. The client's connection is closed without a response, as the server's own would be, so
/// that the browser reports a network error, and repeats what it may.
#[derive(Debug)]
struct NoResponse;

impl std::fmt::Display for NoResponse {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the server did not answer")
    }
}

impl std::error::Error for NoResponse {}

impl Served {
    async fn answer(&self, request: Request<Incoming>) -> Result<Reply, NoResponse> {
        let policy = self.shared.policy();
        let target = match Target::judged(&request, policy.as_deref()) {
            Ok(target) => target,
            Err(verdict) => {
                let (host, port) = Target::named(&request);
                self.decided(request.method(), host, port, verdict);
                return Ok(empty(StatusCode::FORBIDDEN));
            }
        };
        let Some(policy) = policy else { return Ok(empty(StatusCode::FORBIDDEN)) };
        if request.method() == Method::CONNECT {
            return Ok(self.tunnel(request, &target, &policy).await);
        }
        self.forward(request, &target, &policy).await
    }

    async fn tunnel(&self, request: Request<Incoming>, target: &Target, policy: &Policy) -> Reply {
        let server = match self.reach(&Method::CONNECT, target, policy).await {
            Ok(server) => server,
            Err(NotReached::Denied(_)) => return empty(StatusCode::FORBIDDEN),
            Err(NotReached::NoAnswer(_)) => return empty(StatusCode::BAD_GATEWAY),
        };
        let upgrading = hyper::upgrade::on(request);
        self.then(async move {
            if let Ok(client) = upgrading.await {
                join(TokioIo::new(client), server).await;
            }
        });
        empty(StatusCode::OK)
    }

    async fn forward(
        &self,
        mut request: Request<Incoming>,
        target: &Target,
        policy: &Policy,
    ) -> Result<Reply, NoResponse> {
        let (host, port) = target.place();
        let kept = lock(&self.upstream).take().filter(|kept| kept.place.0 == host && kept.place.1 == port);
        let mut upstream = match ready(kept).await {
            Some(upstream) => {
                self.decided(request.method(), host, port, Verdict::Allowed(target.opening));
                upstream
            }
            None => match self.reach(request.method(), target, policy).await {
                Ok(server) => handshake(server, (host.to_owned(), port)).await.map_err(|_| NoResponse)?,
                Err(NotReached::Denied(_)) => return Ok(empty(StatusCode::FORBIDDEN)),
                Err(NotReached::NoAnswer(_)) => return Err(NoResponse),
            },
        };
        let upgrade = is_websocket(request.headers()).then(|| hyper::upgrade::on(&mut request));
        prepare(&mut request, target, upgrade.is_some());
        let mut response = upstream.sender.send_request(request).await.map_err(|error| {
            tracing::debug!(%error, "a server did not answer");
            NoResponse
        })?;
        match (response.status(), upgrade) {
            (StatusCode::SWITCHING_PROTOCOLS, Some(upgrade)) => {
                let upgraded = hyper::upgrade::on(&mut response);
                self.then(async move {
                    // The connection is the tunnel's now.
                    let _kept = upstream;
                    if let (Ok(client), Ok(server)) = tokio::join!(upgrade, upgraded) {
                        join(TokioIo::new(client), TokioIo::new(server)).await;
                    }
                });
                without_hops(response.headers_mut(), true);
            }
            // Nobody asked to switch; and a challenge for the proxy is nothing that a server may send.
            (StatusCode::SWITCHING_PROTOCOLS | StatusCode::PROXY_AUTHENTICATION_REQUIRED, _) => {
                return Ok(empty(StatusCode::BAD_GATEWAY));
            }
            _ => {
                *lock(&self.upstream) = Some(upstream);
                without_hops(response.headers_mut(), false);
            }
        }
        Ok(response.map(Either::Left))
    }

    /// Resolves, judges every address, and connects to the first that answers. Logs the decision.
    async fn reach(&self, method: &Method, target: &Target, policy: &Policy) -> Result<TcpStream, NotReached> {
        let reached = timeout(self.shared.limits.connect_time, self.connect(target, policy)).await;
        let reached = reached.unwrap_or(Err(NotReached::NoAnswer(Unreached::TimedOut)));
        let (host, port) = target.place();
        let verdict = match &reached {
            Ok(_) => Verdict::Allowed(target.opening),
            Err(NotReached::Denied(denied)) => Verdict::Denied(denied.rule),
            Err(NotReached::NoAnswer(why)) => Verdict::Unreachable(*why),
        };
        self.decided(method, host, port, verdict);
        reached
    }

    async fn connect(&self, target: &Target, policy: &Policy) -> Result<TcpStream, NotReached> {
        let addresses = match target.host() {
            Ok(ip) => vec![ip],
            Err(name) => {
                let unknown = |_| NotReached::NoAnswer(Unreached::UnknownHost);
                let addresses = self.shared.dial.resolve(name).await.map_err(unknown)?;
                if addresses.is_empty() {
                    return Err(NotReached::NoAnswer(Unreached::UnknownHost));
                }
                addresses
            }
        };
        // One address that is denied denies the name: which one is used must not be left to chance.
        addresses.iter().try_for_each(|ip| policy.loading_from(&target.url, *ip)).map_err(NotReached::Denied)?;
        let (_, port) = target.place();
        self.first_answer(&addresses, port).await.map_err(|error| NotReached::NoAnswer(Unreached::of(&error)))
    }

    async fn first_answer(&self, addresses: &[IpAddr], port: u16) -> io::Result<TcpStream> {
        let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
        // An address that swallows packets leaves time for the others.
        let share = u32::try_from(addresses.len()).unwrap_or(u32::MAX).max(1);
        for ip in addresses {
            let connecting = self.shared.dial.connect(SocketAddr::new(*ip, port));
            match timeout(self.shared.limits.connect_time / share, connecting).await {
                Ok(Ok(stream)) => {
                    stream.set_nodelay(true).ok();
                    return Ok(stream);
                }
                Ok(Err(error)) => last = error,
                Err(_) => last = io::ErrorKind::TimedOut.into(),
            }
        }
        Err(last)
    }

    fn decided(&self, method: &Method, host: &str, port: u16, verdict: Verdict) {
        self.shared.decisions.push(self.shared.port, method.as_str(), host, port, verdict);
    }

    /// Sets the tunnel that runs once the last response is out, on the same task.
    fn then(&self, tunnel: impl Future<Output = ()> + Send + 'static) {
        *lock(&self.tunnel) = Some(Box::pin(tunnel));
    }
}

/// The kept connection, if it takes another request.
async fn ready(kept: Option<Upstream>) -> Option<Upstream> {
    let mut kept = kept?;
    kept.sender.ready().await.ok()?;
    Some(kept)
}

async fn handshake(server: TcpStream, place: (String, u16)) -> hyper::Result<Upstream> {
    let (sender, connection) = client::Builder::new()
        .preserve_header_case(true)
        .allow_spaces_after_header_name_in_responses(true)
        .allow_obsolete_multiline_headers_in_responses(true)
        .ignore_invalid_headers_in_responses(true)
        .handshake(TokioIo::new(server))
        .await?;
    let driver = tokio::spawn(async move {
        if let Err(error) = connection.with_upgrades().await {
            tracing::debug!(%error, "a server's connection ended early");
        }
    });
    Ok(Upstream { place, sender, driver })
}

/// The request as its server expects it. Where it goes was decided by its URL, so `Host` must say the same.
fn prepare(request: &mut Request<Incoming>, target: &Target, keeps_upgrade: bool) {
    without_hops(request.headers_mut(), keeps_upgrade);
    let (host, _) = target.place();
    let named = target.url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
    if let Ok(named) = HeaderValue::from_str(&named) {
        request.headers_mut().insert(HOST, named);
    }
    let path = request.uri().path_and_query().cloned();
    *request.uri_mut() = path.map_or_else(|| Uri::from_static("/"), Uri::from);
}

/// Removes the fields that concern one connection only (RFC 9110, section 7.6.1), and all for proxies.
fn without_hops(headers: &mut HeaderMap, keeps_upgrade: bool) {
    let listed: Vec<HeaderName> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| HeaderName::from_bytes(name.trim().as_bytes()).ok())
        .collect();
    let own = headers.keys().filter(|name| name.as_str().starts_with("proxy-")).cloned().collect::<Vec<_>>();
    let fixed = [CONNECTION, TE, TRAILER, TRANSFER_ENCODING, HeaderName::from_static("keep-alive")];
    for name in listed.iter().chain(&own).chain(&fixed).filter(|name| **name != UPGRADE) {
        headers.remove(name);
    }
    if keeps_upgrade {
        headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    } else {
        headers.remove(UPGRADE);
    }
}

fn is_websocket(headers: &HeaderMap) -> bool {
    headers.get(UPGRADE).is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"websocket"))
}

/// Copies both ways until both are closed; one that is closed closes only its direction.
async fn join<A, B>(mut client: A, mut server: B)
where
    A: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin,
    B: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin,
{
    if let Err(error) = tokio::io::copy_bidirectional(&mut client, &mut server).await {
        tracing::debug!(%error, "a tunnel ended early");
    }
}

fn empty(status: StatusCode) -> Reply {
    let mut response = Response::new(Either::Right(Empty::new()));
    *response.status_mut() = status;
    response
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
