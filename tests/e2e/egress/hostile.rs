//! The server that nothing may reach, and the one that serves the page which tries.

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Result;
use axum::Router;
use axum::extract::Query;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::IntoResponse;
use axum::routing::get;
use base64::Engine as _;
use regex::bytes::Regex;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use tokio_rustls::rustls::version::TLS13;
use tokio_rustls::server::TlsStream;

use super::certificate::{CERTIFICATE, KEY};
use super::ground::Ground;

/// Names of probes that were heard of.
#[derive(Clone, Debug, Default)]
pub(crate) struct ProbeHits(Arc<Mutex<BTreeSet<String>>>);

impl ProbeHits {
    pub(crate) fn names(&self) -> BTreeSet<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn add(&self, name: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_lowercase());
    }
}

/// Ports of TCP that a probe has for itself, because nothing that arrives there says its name.
const CONNECTED: [&str; 5] = ["preconnect", "headerPreconnect", "turnTcp", "turnTcpByAddress", "turns"];
/// Like [`CONNECTED`], ports of UDP.
const SENT: [&str; 7] =
    ["stun", "stunByAddress", "turnByAddress", "peer", "webTransport", "webTransportByAddress", "workerTransport"];

/// The hostile server: one port for what names itself, and one per probe that cannot.
#[derive(Debug)]
pub(crate) struct Hostile {
    pub(crate) heard: ProbeHits,
    pub(crate) ports: Value,
}

impl Hostile {
    pub(crate) fn open(ground: &Ground) -> Result<Self> {
        let (heard, mut ports) = (ProbeHits::default(), json!({}));
        let http = ground.tcp(0)?;
        ports["http"] = http.local_addr()?.port().into();
        tokio::spawn(listen(http, heard.clone()));
        if ground.is_apart() {
            // Where a port cannot be named.
            tokio::spawn(listen(ground.tcp(443)?, heard.clone()));
        }
        for name in CONNECTED {
            let listener = ground.tcp(0)?;
            ports[name] = listener.local_addr()?.port().into();
            let heard = heard.clone();
            tokio::spawn(async move {
                while listener.accept().await.is_ok() {
                    heard.add(name);
                }
            });
        }
        for name in SENT {
            let socket = ground.udp_at((Ipv4Addr::UNSPECIFIED, 0).into())?;
            ports[name] = socket.local_addr()?.port().into();
            let heard = heard.clone();
            tokio::spawn(async move {
                while socket.recv_from(&mut [0; 2048]).await.is_ok() {
                    heard.add(name);
                }
            });
        }
        Ok(Self { heard, ports })
    }
}

/// Hears the names in what clients send first: a request, or the name in a TLS hello.
async fn listen(listener: TcpListener, heard: ProbeHits) {
    let Ok(named) = Regex::new("(?i)p-([a-z]+)-q") else { return };
    while let Ok((mut stream, _)) = listener.accept().await {
        let (heard, named) = (heard.clone(), named.clone());
        tokio::spawn(async move {
            let mut seen = Vec::new();
            while tokio::time::timeout(Duration::from_secs(5), stream.read_buf(&mut seen))
                .await
                .is_ok_and(|read| read.is_ok_and(|read| read > 0) && seen.len() < 64 << 10)
            {
                for found in named.captures_iter(&seen) {
                    heard.add(&String::from_utf8_lossy(&found[1]));
                }
                if seen.windows(4).any(|end| end == b"\r\n\r\n") {
                    break;
                }
            }
            let answer =
                "HTTP/1.1 200 OK\r\nAccess-Control-Allow-Origin: *\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
            stream.write_all(answer.as_bytes()).await.ok();
        });
    }
}

/// Serves `/` with the probes, pages and scripts as their query says, and redirects; also with TLS, for `trying.test`.
/// Returns the URLs of both pages.
pub(crate) fn serve_page(ground: &Ground, ports: &Value) -> Result<[String; 2]> {
    type Fields = Query<Vec<(String, String)>>;
    let value = |fields: &Fields, name: &str| {
        fields.iter().find(|(field, _)| field == name).map(|(_, value)| value.clone()).unwrap_or_default()
    };
    let start = format!(
        "<!doctype html><title>trying</title><body><script type=module>const ports = {ports};\n{}</script>",
        include_str!("probes.js")
    );
    let html = |text: String| ([("content-type", "text/html; charset=utf-8")], text);
    let app = Router::new()
        .route("/", get(move || async move { html(start) }))
        .route(
            "/page",
            get(move |fields: Fields| async move {
                let mut headers = HeaderMap::new();
                let given = value(&fields, "header");
                for (name, text) in given.lines().filter_map(|line| line.split_once(": ")) {
                    if let (Ok(name), Ok(text)) = (HeaderName::try_from(name), HeaderValue::from_str(text)) {
                        headers.insert(name, text);
                    }
                }
                (headers, html(value(&fields, "html")))
            }),
        )
        .route(
            "/script",
            get(move |fields: Fields| async move {
                let headers = [("content-type", "text/javascript"), ("service-worker-allowed", "/")];
                (headers, value(&fields, "js"))
            }),
        )
        .route("/redirect", get(redirect).post(redirect));
    let plain = ground.tcp(0)?;
    let secure = ground.tcp(0)?;
    let ports = [plain.local_addr()?.port(), secure.local_addr()?.port()];
    let service = app.clone();
    tokio::spawn(async move { axum::serve(plain, service).await });
    let secured = Secured { listener: secure, acceptor: acceptor()? };
    tokio::spawn(async move { axum::serve(secured, app).await });
    return Ok([format!("http://127.0.0.1:{}/", ports[0]), format!("https://trying.test:{}/", ports[1])]);

    async fn redirect(fields: Fields) -> impl IntoResponse {
        let field = |name| fields.iter().find(|(field, _)| field == name).map(|(_, value)| value.as_str());
        let code = field("code").and_then(|code| code.parse().ok()).unwrap_or(302);
        let status = StatusCode::from_u16(code).unwrap_or(StatusCode::FOUND);
        (status, [("location", field("to").unwrap_or("/").to_owned())])
    }
}

/// A listener that speaks TLS.
struct Secured {
    listener: TcpListener,
    acceptor: TlsAcceptor,
}

impl axum::serve::Listener for Secured {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        loop {
            let Ok((stream, address)) = self.listener.accept().await else { continue };
            let shaken = tokio::time::timeout(Duration::from_secs(1), self.acceptor.accept(stream)).await;
            if let Ok(Ok(stream)) = shaken {
                return (stream, address);
            }
        }
    }

    fn local_addr(&self) -> std::io::Result<Self::Addr> {
        self.listener.local_addr()
    }
}

fn acceptor() -> Result<TlsAcceptor> {
    let decoded = |text: &str| base64::engine::general_purpose::STANDARD.decode(text);
    let certificate = CertificateDer::from(decoded(CERTIFICATE)?);
    let key = PrivatePkcs8KeyDer::from(decoded(KEY)?);
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(&[&TLS13])?
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key.into())?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}
