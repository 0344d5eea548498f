//! The ways to reach a server: standard input and output, and HTTP.
//!
//! Both return a boxed future, so that the protocol is compiled into this crate, and not into each one that serves it.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::header::{AUTHORIZATION, CONTENT_LENGTH, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
use cuebook_grammar::seam::BoxFuture;
use cuebook_session::ToolSet;
use futures_util::StreamExt as _;
use rmcp::service::ServiceExt as _;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use subtle::ConstantTimeEq as _;
use tokio::net::TcpListener;

use crate::live::LiveIds;
use crate::server::Server;
use crate::sessions::{Opener, Sessions};

/// How often the sessions without a call are looked at.
const BEAT: Duration = Duration::from_secs(10);

/// Longest body of a request over HTTP, in bytes: the limit that `rmcp` has.
const MAX_BODY: u64 = 4 << 20;

/// The tools of a server.
#[derive(Clone, Copy, Debug, Default)]
pub struct Offer {
    /// Tools that are offered.
    pub tools: ToolSet,
    /// The schemas of the tools have the ids that were last shown of the client's own session, and the client is notified
    /// when these change.
    pub has_live_ids: bool,
}

impl Offer {
    fn live(self) -> Option<LiveIds> {
        self.has_live_ids.then(LiveIds::default)
    }
}

/// Serves over standard input and output until the client closes its end. Returns the folders of the logs of the sessions
/// that were open then.
///
/// # Errors
/// Why the connection did not come about.
pub fn serve_stdio(opens: Box<dyn Opener>, offer: Offer) -> BoxFuture<'static, Result<Vec<String>, String>> {
    Box::pin(over_stdio(opens, offer))
}

async fn over_stdio(opens: Box<dyn Opener>, offer: Offer) -> Result<Vec<String>, String> {
    let sessions = Arc::new(Sessions::new(opens));
    let running = Server::new(sessions.clone(), offer.tools, offer.live()).serve(rmcp::transport::stdio()).await;
    let ended = match running {
        Ok(running) => running.waiting().await.map(drop).map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    };
    let logs = sessions.close_all().await;
    ended.map(|()| logs)
}

/// Settings of a server over HTTP.
#[derive(Clone, Debug)]
pub struct HttpOptions {
    /// Tools that are offered.
    pub offer: Offer,
    /// Each request has to carry this as `Authorization: Bearer …`.
    pub token: String,
    /// Names by which the server may be reached besides the loopback ones, with or without a port.
    pub hosts: Vec<String>,
    /// Time without a call after which a session ends; `None` for never.
    pub idle: Option<Duration>,
}

/// Serves the protocol's streamable HTTP at `/mcp` until `stop`. Each client has a browser session of its own, unless it names
/// one. A request without the token, to another host or from a web page is refused. Returns the folders of the logs of the
/// sessions that were open at the end.
///
/// # Errors
/// If the system takes no connection.
pub fn serve_http(
    opens: Box<dyn Opener>,
    listener: TcpListener,
    options: HttpOptions,
    stop: impl Future<Output = ()> + Send + 'static,
) -> BoxFuture<'static, std::io::Result<Vec<String>>> {
    Box::pin(over_http(opens, listener, options, Box::pin(stop)))
}

async fn over_http(
    opens: Box<dyn Opener>,
    listener: TcpListener,
    options: HttpOptions,
    stop: BoxFuture<'static, ()>,
) -> std::io::Result<Vec<String>> {
    let HttpOptions { offer, token, hosts, idle } = options;
    let sessions = Arc::new(Sessions::new(opens));
    let mut clients = LocalSessionManager::default();
    clients.session_config.keep_alive = idle;
    let port = listener.local_addr()?.port();
    let local = ["localhost", "127.0.0.1", "[::1]"].map(|host| format!("{host}:{port}"));
    let config = StreamableHttpServerConfig::default()
        .with_allowed_hosts(local.into_iter().chain(hosts))
        // A page that reached this port would send its origin.
        .enforce_origin_validation();
    let ended = config.cancellation_token.clone();
    let of_client = sessions.clone();
    let service = StreamableHttpService::new(
        move || Ok(Server::new(of_client.clone(), offer.tools, offer.live())),
        Arc::new(clients),
        config,
    );
    let expected = HeaderValue::try_from(format!("Bearer {token}")).map_err(std::io::Error::other)?;
    let router = axum::Router::new()
        .nest_service("/mcp", service)
        .layer(middleware::from_fn_with_state(Arc::new(expected), authorised));
    let sweeping = {
        let sessions = sessions.clone();
        async move {
            let Some(idle) = idle else { return std::future::pending().await };
            loop {
                tokio::time::sleep(BEAT.min(idle)).await;
                sessions.sweep(idle).await;
            }
        }
    };
    let serving = axum::serve(listener, router).with_graceful_shutdown(async move {
        stop.await;
        // Streams that stay open would hold the server.
        ended.cancel();
    });
    let served = tokio::select! {
        served = async { serving.await } => served,
        () = sweeping => Ok(()),
    };
    let logs = sessions.close_all().await;
    served.map(|()| logs)
}

async fn authorised(State(expected): State<Arc<HeaderValue>>, request: Request, next: Next) -> Response {
    let given = request.headers().get(AUTHORIZATION);
    if given.is_some_and(|given| bool::from(given.as_bytes().ct_eq(expected.as_bytes()))) {
        let length = request.headers().get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
        return match length {
            Some(length) if length > MAX_BODY => too_long(request, length).await,
            _ => next.run(request).await,
        };
    }
    let why = "expected `Authorization: Bearer TOKEN` with the token that the server printed when it started\n";
    (StatusCode::UNAUTHORIZED, [(WWW_AUTHENTICATE, "Bearer")], why).into_response()
}

/// Reads the body to its end before the answer: a client that still writes would see a broken connection instead.
async fn too_long(request: Request, length: u64) -> Response {
    let mut body = request.into_body().into_data_stream();
    while let Some(Ok(_)) = body.next().await {}
    let why = format!("expected a request of at most {MAX_BODY} bytes, and saw {length}\n");
    (StatusCode::PAYLOAD_TOO_LARGE, why).into_response()
}
