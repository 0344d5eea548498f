//! Traces to a collector of OpenTelemetry, by OTLP over HTTP in JSON.
//!
//! Source: <https://opentelemetry.io/docs/specs/otlp/#otlphttp>.
//!
//! Invariant: no header's value is in an error.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::time::Duration;

use cuebook_grammar::render::with_sources;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Response, StatusCode};
use serde_json::Value;
use url::{Host, Url};

use crate::error::ExportError;

/// Time limit of a request, as the specification of exporters has it.
const REQUEST: Duration = Duration::from_secs(10);
/// Pauses before a request is sent again, after an answer that allows it or none.
const PAUSES: [Duration; 3] = [Duration::from_secs(1), Duration::from_secs(2), Duration::from_secs(4)];
/// Bytes of an answer that are read.
const ANSWER: usize = 4 << 10;

/// OpenTelemetry collector that takes traces by OTLP over HTTP, as JSON.
pub struct Collector {
    client: reqwest::Client,
    url: Url,
    headers: HeaderMap,
}

impl Collector {
    /// The collector at an `http` or `https` URL, such as `http://localhost:4318`; `/v1/traces` is added. `headers` is
    /// what `OTEL_EXPORTER_OTLP_HEADERS` holds: `name=value,name=value`, values percent-encoded. Connects to nothing.
    ///
    /// # Errors
    /// [`ExportError::Address`] and [`ExportError::Remote`] if the URL or the headers cannot be used.
    pub fn open(url: &Url, headers: Option<&str>) -> Result<Self, ExportError> {
        let is_plain = url.username().is_empty() && url.password().is_none() && url.query().is_none();
        if !matches!(url.scheme(), "http" | "https") || !is_plain || url.host().is_none() {
            return Err(ExportError::address(url, "the URL of a collector, such as http://localhost:4318"));
        }
        let mut url = url.clone();
        let base = url.path().trim_end_matches('/').trim_end_matches("/v1/traces").to_owned();
        url.set_path(&format!("{base}/v1/traces"));
        url.set_fragment(None);
        let failed =
            |message: &str| ExportError::Remote { what: "use", address: url.to_string(), message: message.to_owned() };
        let mut all = HeaderMap::new();
        for pair in headers.unwrap_or_default().split(',').map(str::trim).filter(|pair| !pair.is_empty()) {
            let expected = "expected OTEL_EXPORTER_OTLP_HEADERS as name=value,name=value";
            let (name, value) = pair.split_once('=').ok_or_else(|| failed(expected))?;
            let value = percent_encoding::percent_decode_str(value.trim()).collect::<Vec<u8>>();
            let name = HeaderName::from_bytes(name.trim().as_bytes()).map_err(|_| failed(expected))?;
            let mut value = HeaderValue::from_bytes(&value).map_err(|_| failed(expected))?;
            value.set_sensitive(true);
            all.insert(name, value);
        }
        let mut builder = reqwest::Client::builder()
            .timeout(REQUEST)
            .redirect(reqwest::redirect::Policy::none())
            .user_agent(concat!("cuebook/", env!("CARGO_PKG_VERSION")));
        let is_local = match url.host() {
            Some(Host::Domain(name)) => name == "localhost",
            Some(Host::Ipv4(address)) => address.is_loopback(),
            Some(Host::Ipv6(address)) => address.is_loopback(),
            None => false,
        };
        if is_local {
            builder = builder.no_proxy();
        }
        let client = builder.build().map_err(|error| failed(&with_sources(&error)))?;
        Ok(Self { client, url, headers: all })
    }

    /// Sends each line of files that an export to [`Format::Otlp`](crate::Format::Otlp) wrote into `folder`. Spans keep
    /// their ids: what is sent twice is the same to a backend that knows them.
    ///
    /// # Errors
    /// [`ExportError::Remote`] on the first request that is not accepted; those before it are.
    pub async fn send(&self, folder: &Path, files: &[String]) -> Result<(), ExportError> {
        for name in files {
            let path = folder.join(name);
            let file = File::open(&path).map_err(ExportError::io(&path))?;
            for line in BufReader::new(file).lines() {
                self.post(line.map_err(ExportError::io(&path))?).await?;
            }
        }
        Ok(())
    }

    async fn post(&self, body: String) -> Result<(), ExportError> {
        let mut pauses = PAUSES.into_iter();
        loop {
            let request = self.client.post(self.url.clone()).headers(self.headers.clone());
            let sent = request.header(CONTENT_TYPE, "application/json").body(body.clone()).send().await;
            let (may_repeat, message) = match sent {
                Ok(response) if response.status().is_success() => return self.accepted(response).await,
                Ok(response) => {
                    let status = response.status();
                    let may_repeat = [
                        StatusCode::TOO_MANY_REQUESTS,
                        StatusCode::BAD_GATEWAY,
                        StatusCode::SERVICE_UNAVAILABLE,
                        StatusCode::GATEWAY_TIMEOUT,
                    ]
                    .contains(&status);
                    (may_repeat, format!("it answered with status {}: {}", status.as_u16(), answer(response).await))
                }
                Err(error) => (true, with_sources(&error.without_url())),
            };
            let Some(pause) = pauses.next().filter(|_| may_repeat) else {
                return Err(self.failed(message));
            };
            tokio::time::sleep(pause).await;
        }
    }

    /// A success may still refuse spans, by `ExportTracePartialSuccess`.
    async fn accepted(&self, response: Response) -> Result<(), ExportError> {
        let answer: Value = serde_json::from_str(&answer(response).await).unwrap_or_default();
        let partial = &answer["partialSuccess"];
        let refused = &partial["rejectedSpans"];
        let count = refused.as_u64().or_else(|| refused.as_str().and_then(|text| text.parse().ok())).unwrap_or(0);
        if count == 0 {
            return Ok(());
        }
        let why = partial["errorMessage"].as_str().unwrap_or_default();
        Err(self.failed(format!("it refused {count} spans: {why}")))
    }

    fn failed(&self, message: String) -> ExportError {
        ExportError::Remote { what: "send spans to", address: self.url.to_string(), message }
    }
}

async fn answer(mut response: Response) -> String {
    let mut body = Vec::new();
    while let Ok(Some(chunk)) = response.chunk().await {
        body.extend_from_slice(&chunk);
        if body.len() >= ANSWER {
            break;
        }
    }
    body.truncate(ANSWER);
    String::from_utf8_lossy(&body).trim().to_owned()
}
