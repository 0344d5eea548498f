//! An HTTP/1.1 server of its own on loopback, which plays a script and remembers what it was asked.
//!
//! Invariants:
//! - The nth request gets the nth play, or the play that is chosen for what it says.
//! - While a play runs, the client's end of the connection is watched: a client that goes is seen at once.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

use super::play::{Act, Play};

/// How long a test waits for what a server is to see.
const PATIENCE: Duration = Duration::from_secs(20);

/// Upper bound of a request in bytes.
const MAX_REQUEST: usize = 8 << 20;

/// A request as it came.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    /// `POST` or another method.
    pub(crate) method: String,
    /// Path and query, as in the request line.
    pub(crate) target: String,
    /// Names and values of the header fields, as they were spelled.
    pub(crate) headers: Vec<(String, String)>,
    /// The body as bytes.
    pub(crate) body: Vec<u8>,
    /// `true` if the client went before its answer was at an end.
    pub(crate) hung_up: bool,
    /// Bytes of the body that were sent.
    pub(crate) sent: usize,
}

impl Request {
    /// The value of a header field.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// The body as JSON.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| {
            panic!("expected a JSON body, saw {error}: {}", String::from_utf8_lossy(&self.body))
        })
    }

    /// Everything of it as text: what a secret is looked for in.
    pub(crate) fn everything_but(&self, header: &str) -> String {
        let headers = self.headers.iter().filter(|(name, _)| !name.eq_ignore_ascii_case(header));
        let headers: String = headers.map(|(name, value)| format!("{name}: {value}\n")).collect();
        format!("{} {}\n{headers}\n{}", self.method, self.target, String::from_utf8_lossy(&self.body))
    }
}

/// A server that plays a script; it ends when dropped.
#[derive(Debug)]
pub(crate) struct Server {
    address: SocketAddr,
    seen: watch::Receiver<Vec<Request>>,
    connections: Arc<AtomicUsize>,
    accepting: JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// Which play is for a request, by its number and by what it says; none hangs up.
type Choice = Box<dyn Fn(usize, &Request) -> Option<Play> + Send + Sync>;

struct Script {
    choose: Choice,
    /// The list of models, which answers a GET. Without one it is not found. A GET is no request of a plan.
    models: Option<Value>,
    next: AtomicUsize,
    seen: watch::Sender<Vec<Request>>,
}

impl Server {
    /// Serves the plays in order, and the last one for all later requests.
    pub(crate) async fn playing(plays: impl IntoIterator<Item = Play>) -> Self {
        let plays: Vec<Play> = plays.into_iter().collect();
        Self::choosing(move |index, _| plays.get(index).or(plays.last()).cloned()).await
    }

    /// Listens on a free port of loopback, and plays what is chosen for each request.
    pub(crate) async fn choosing(choose: impl Fn(usize, &Request) -> Option<Play> + Send + Sync + 'static) -> Self {
        Self::having(None, choose).await
    }

    /// Like [`Self::choosing`], with a list of models.
    pub(crate) async fn having(
        models: Option<Value>,
        choose: impl Fn(usize, &Request) -> Option<Play> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind((std::net::Ipv4Addr::LOCALHOST, 0)).await.expect("loopback has a free port");
        let address = listener.local_addr().expect("a bound listener has an address");
        let (sender, seen) = watch::channel(Vec::new());
        let script = Arc::new(Script { choose: Box::new(choose), models, next: AtomicUsize::new(0), seen: sender });
        let connections = Arc::new(AtomicUsize::new(0));
        let counted = connections.clone();
        let accepting = tokio::spawn(async move {
            let mut clients = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                counted.fetch_add(1, Ordering::SeqCst);
                let script = script.clone();
                clients.spawn(async move { script.serve(stream).await });
            }
        });
        Self { address, seen, connections, accepting }
    }

    /// An address without a server, as long as this process lives: the port is taken, and nobody listens.
    pub(crate) async fn nowhere() -> String {
        let socket = TcpSocket::new_v4().expect("sockets can be had");
        socket.bind((std::net::Ipv4Addr::LOCALHOST, 0).into()).expect("loopback has a free port");
        let address = socket.local_addr().expect("a bound socket has an address");
        std::mem::forget(socket);
        format!("http://{address}")
    }

    /// `http://127.0.0.1:…`, without a slash at its end.
    pub(crate) fn origin(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The requests so far.
    pub(crate) fn requests(&self) -> Vec<Request> {
        self.seen.borrow().clone()
    }

    /// How many connections were opened so far.
    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    /// Waits until the client of request `index` has gone in the middle of its answer.
    pub(crate) async fn hung_up(&self, index: usize) -> Request {
        self.until(|requests| requests.get(index).is_some_and(|request| request.hung_up)).await[index].clone()
    }

    /// Waits until a request `index` has come.
    pub(crate) async fn asked(&self, index: usize) -> Request {
        self.until(|requests| requests.len() > index).await[index].clone()
    }

    async fn until(&self, holds: impl Fn(&[Request]) -> bool) -> Vec<Request> {
        let mut seen = self.seen.clone();
        let waited = tokio::time::timeout(PATIENCE, seen.wait_for(|requests| holds(requests))).await;
        let found = waited.map(|found| found.map(|requests| requests.clone()));
        match found {
            Ok(Ok(requests)) => requests,
            _ => panic!("the server never saw it: {:#?}", self.requests()),
        }
    }
}

impl Script {
    async fn serve(&self, stream: TcpStream) {
        stream.set_nodelay(true).ok();
        let (reader, writer) = stream.into_split();
        let mut client = Client { reader, read: Vec::new() };
        let mut writer = writer;
        while let Some(request) = client.request().await {
            if request.method == "GET" {
                let (status, listed) = self.models.as_ref().map_or((404, json!({})), |models| (200, models.clone()));
                let play = Play::whole(status, "application/json", &listed.to_string());
                if self.play(&play, &mut writer, usize::MAX).await != Some(true) {
                    return;
                }
                continue;
            }
            let play = (self.choose)(self.next.fetch_add(1, Ordering::SeqCst), &request);
            let mut index = 0;
            self.seen.send_modify(|seen| {
                index = seen.len();
                seen.push(request);
            });
            let Some(play) = play else { return };
            let stays = tokio::select! {
                biased;
                () = client.gone() => None,
                stays = self.play(&play, &mut writer, index) => stays,
            };
            match stays {
                Some(true) => {}
                Some(false) => return,
                None => {
                    self.note(index, |request| request.hung_up = true);
                    return;
                }
            }
        }
    }

    /// Plays the response, and returns `true` if the connection stays open; `None` if the client has gone.
    async fn play(&self, play: &Play, writer: &mut OwnedWriteHalf, index: usize) -> Option<bool> {
        let chunked = play.head.is_chunked();
        let frame = |bytes: &[u8]| {
            let mut framed = if chunked { format!("{:x}\r\n", bytes.len()).into_bytes() } else { Vec::new() };
            framed.extend_from_slice(bytes);
            framed.extend_from_slice(if chunked { b"\r\n" } else { b"" });
            framed
        };
        writer.write_all(&play.head.bytes()).await.ok()?;
        let mut ended = !chunked && play.head.status.is_some();
        for act in &play.acts {
            match act {
                // A chunk of no bytes would be the end.
                Act::Body(bytes) if bytes.is_empty() => {}
                Act::Body(bytes) => {
                    writer.write_all(&frame(bytes)).await.ok()?;
                    self.note(index, |request| request.sent += bytes.len());
                }
                Act::Raw(bytes) => writer.write_all(bytes).await.ok()?,
                Act::Repeat(bytes) => loop {
                    writer.write_all(&frame(bytes)).await.ok()?;
                    self.note(index, |request| request.sent += bytes.len());
                    tokio::task::yield_now().await;
                },
                Act::Pause(pause) => tokio::time::sleep(*pause).await,
                Act::Hold => std::future::pending().await,
                Act::End => {
                    writer.write_all(b"0\r\n\r\n").await.ok()?;
                    ended = true;
                }
                Act::Close => return Some(false),
            }
            writer.flush().await.ok()?;
        }
        Some(ended)
    }

    fn note(&self, index: usize, change: impl FnOnce(&mut Request)) {
        self.seen.send_modify(|seen| {
            if let Some(request) = seen.get_mut(index) {
                change(request);
            }
        });
    }
}

struct Client {
    reader: OwnedReadHalf,
    read: Vec<u8>,
}

impl Client {
    /// The next request; `None` once the client is done, or says what is no request.
    async fn request(&mut self) -> Option<Request> {
        let head_end = loop {
            match self.read.windows(4).position(|window| window == b"\r\n\r\n") {
                Some(end) => break end + 4,
                None => self.more().await?,
            }
            // A TLS handshake is not a request.
            self.read.first().filter(|byte| byte.is_ascii_uppercase())?;
        };
        let head = String::from_utf8(self.read.drain(..head_end).collect()).ok()?;
        let mut lines = head.split("\r\n");
        let mut first = lines.next()?.split(' ');
        let (method, target) = (first.next()?.to_owned(), first.next()?.to_owned());
        let headers: Vec<(String, String)> = lines
            .filter_map(|line| line.split_once(':'))
            .map(|(name, value)| (name.to_owned(), value.trim().to_owned()))
            .collect();
        let length = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("content-length"));
        let length: usize = length.map_or(Some(0), |(_, value)| value.parse().ok())?;
        while self.read.len() < length {
            self.more().await?;
        }
        let body = self.read.drain(..length).collect();
        Some(Request { method, target, headers, body, hung_up: false, sent: 0 })
    }

    async fn more(&mut self) -> Option<()> {
        let mut buffer = [0; 16 * 1024];
        let count = self.reader.read(&mut buffer).await.ok().filter(|count| *count > 0)?;
        self.read.extend_from_slice(&buffer[..count]);
        (self.read.len() <= MAX_REQUEST).then_some(())
    }

    /// Waits until the client has gone.
    async fn gone(&mut self) {
        while self.more().await.is_some() {}
    }
}
