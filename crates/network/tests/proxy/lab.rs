//! A network of one machine: names that we give out, addresses that all lead to one server, and what each was asked.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use cuebook_grammar::policy::Policy;
use cuebook_network::{Dial, Egress, Limits, Pending};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

pub(crate) const PUBLIC: &str = "93.184.216.34";

/// Fake network, which records the look-ups and connections that the proxy requests.
#[derive(Clone, Default)]
pub(crate) struct Net(Arc<Mutex<Inner>>);

#[derive(Default)]
struct Inner {
    names: HashMap<String, VecDeque<Vec<IpAddr>>>,
    server: Option<SocketAddr>,
    resolved: Vec<String>,
    connected: Vec<SocketAddr>,
}

impl Net {
    /// A name gives these addresses, one list a look-up; the last one stays.
    pub(crate) fn name(&self, name: &str, answers: &[&[&str]]) {
        let answers = answers.iter().map(|list| list.iter().map(|ip| ip.parse().unwrap()).collect()).collect();
        self.0.lock().unwrap().names.insert(name.to_owned(), answers);
    }

    pub(crate) fn resolved(&self) -> Vec<String> {
        self.0.lock().unwrap().resolved.clone()
    }

    pub(crate) fn connected(&self) -> Vec<String> {
        self.0.lock().unwrap().connected.iter().map(ToString::to_string).collect()
    }
}

impl Dial for Net {
    fn resolve<'a>(&'a self, name: &'a str) -> Pending<'a, Vec<IpAddr>> {
        let mut inner = self.0.lock().unwrap();
        inner.resolved.push(name.to_owned());
        let found = inner.names.get_mut(name).and_then(|answers| match answers.len() {
            0 | 1 => answers.front().cloned(),
            _ => answers.pop_front(),
        });
        Box::pin(async move { found.ok_or_else(|| io::ErrorKind::NotFound.into()) })
    }

    fn connect(&self, address: SocketAddr) -> Pending<'_, TcpStream> {
        let mut inner = self.0.lock().unwrap();
        inner.connected.push(address);
        let server = inner.server;
        Box::pin(async move { TcpStream::connect(server.ok_or(io::ErrorKind::ConnectionRefused)?).await })
    }
}

/// A proxy whose policy starts at `http://shop.test`, may act on `https://pay.test` and reads from `http://cdn.test`;
/// and a server behind every address.
pub(crate) struct Lab {
    pub(crate) net: Net,
    pub(crate) egress: Egress,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Lab {
    pub(crate) async fn open() -> Self {
        Self::within(Limits::default()).await
    }

    pub(crate) async fn within(limits: Limits) -> Self {
        let lab = Self::closed(limits).await;
        let policy = Policy::default().starting_at("http://shop.test/").unwrap();
        lab.egress.set_policy(policy.allowing("https://pay.test").unwrap().reading("http://cdn.test").unwrap());
        lab
    }

    pub(crate) async fn closed(limits: Limits) -> Self {
        let (net, heads) = (Net::default(), Arc::default());
        for name in ["shop.test", "pay.test", "cdn.test", "evil.test"] {
            net.name(name, &[&[PUBLIC]]);
        }
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        net.0.lock().unwrap().server = Some(listener.local_addr().unwrap());
        tokio::spawn(serve(listener, Arc::clone(&heads)));
        Self { egress: Egress::bind_within(net.clone(), limits).await.unwrap(), net, heads }
    }

    /// The headers of the requests that the server saw.
    pub(crate) fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }

    pub(crate) async fn client(&self) -> Client {
        Client(TcpStream::connect(self.egress.address()).await.unwrap())
    }

    /// The response to one request on a new connection.
    pub(crate) async fn ask(&self, request: &str) -> String {
        self.client().await.ask(request).await
    }

    /// The rules of what was decided since the last call.
    pub(crate) fn rules(&self) -> Vec<&'static str> {
        self.egress.decisions().take().iter().map(|decision| decision.verdict.rule()).collect()
    }
}

/// A client that writes bytes.
pub(crate) struct Client(pub(crate) TcpStream);

impl Client {
    pub(crate) async fn ask(&mut self, request: &str) -> String {
        self.0.write_all(request.as_bytes()).await.unwrap();
        self.response().await
    }

    /// One response, with a body as long as `Content-Length` says; what there is if the proxy closes before.
    pub(crate) async fn response(&mut self) -> String {
        read_message(&mut self.0).await
    }

    /// Returns all that arrives until the proxy closes.
    pub(crate) async fn rest(&mut self) -> String {
        let mut rest = Vec::new();
        let reading = self.0.read_to_end(&mut rest);
        let _ = tokio::time::timeout(Duration::from_secs(20), reading).await.expect("expected the proxy to close");
        String::from_utf8_lossy(&rest).into_owned()
    }
}

async fn read_message(stream: &mut TcpStream) -> String {
    let mut text = String::new();
    loop {
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.to_ascii_lowercase();
            let length = length.split("content-length: ").nth(1).and_then(|rest| rest.lines().next()?.parse().ok());
            if body.len() >= length.unwrap_or(0) {
                return text;
            }
        }
        let mut chunk = [0; 4096];
        let read = tokio::time::timeout(Duration::from_secs(20), stream.read(&mut chunk)).await;
        match read.expect("expected a message") {
            Ok(0) | Err(_) => return text,
            Ok(read) => text.push_str(&String::from_utf8_lossy(&chunk[..read])),
        }
    }
}

/// Answers by path: `/live` switches to an echo, `/407` challenges, `/mute` closes, `tunnel` echoes until the end of its
/// input and then says so; everything else is `ok`.
async fn serve(listener: TcpListener, heads: Arc<Mutex<Vec<String>>>) {
    while let Ok((mut stream, _)) = listener.accept().await {
        let heads = heads.clone();
        tokio::spawn(async move {
            loop {
                let message = read_message(&mut stream).await;
                if message.is_empty() {
                    return;
                }
                heads.lock().unwrap().push(message.clone());
                let (answer, ends) = match message.split(' ').nth(1) {
                    Some("/live") => {
                        ("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n", true)
                    }
                    Some("/407") => {
                        ("HTTP/1.1 407 No\r\nProxy-Authenticate: Basic realm=\"x\"\r\nContent-Length: 0\r\n\r\n", false)
                    }
                    Some("/mute") => return,
                    Some("tunnel") => ("", true),
                    _ => ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nKeep-Alive: timeout=5\r\n\r\nok", false),
                };
                stream.write_all(answer.as_bytes()).await.unwrap();
                if ends {
                    let (mut reads, mut writes) = stream.split();
                    tokio::io::copy(&mut reads, &mut writes).await.ok();
                    writes.write_all(b"bye").await.ok();
                    return;
                }
            }
        });
    }
}
