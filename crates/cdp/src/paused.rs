//! A request that Chrome holds for us: the event `Fetch.requestPaused`.

use crate::protocol::browser_protocol::fetch::{FulfillRequestParams, HeaderEntry};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::{Map, Value};

/// A request that waits for an answer, before it leaves or when its response has begun.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct PausedRequest {
    /// Names it in the answer.
    pub request_id: String,
    /// Request as the page made it, also while its response waits.
    pub request: Request,
    /// Its name in the events of `Network`, if it has one.
    #[serde(default)]
    pub network_id: Option<String>,
    /// Purpose of the request, as Chrome spells it: `Document`, `XHR` or `Image`, for example.
    #[serde(default)]
    pub resource_type: String,
    /// The status, once there is a response.
    #[serde(default)]
    pub response_status_code: Option<u16>,
    /// The header fields, once there is a response.
    #[serde(default)]
    pub response_headers: Vec<Header>,
    /// Why there is none, as Chrome spells it: `ConnectionRefused`, `NameNotResolved`, …
    #[serde(default)]
    pub response_error_reason: Option<String>,
}

/// Header field of a response; a name may occur more than once.
#[derive(Clone, Debug, Deserialize)]
#[non_exhaustive]
pub struct Header {
    /// Field name, in the case that the server used.
    pub name: String,
    /// Field value, not split at commas.
    pub value: String,
}

/// Request of a page, with its body where Chrome includes it.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Request {
    /// The URL, without its fragment.
    pub url: String,
    /// HTTP method, such as `GET`.
    pub method: String,
    #[serde(default)]
    headers: Map<String, Value>,
    #[serde(default)]
    post_data: Option<String>,
    #[serde(default)]
    post_data_entries: Vec<PostData>,
}

#[derive(Clone, Debug, Deserialize)]
struct PostData {
    #[serde(default)]
    bytes: Option<String>,
}

/// The command that answers a held request in place of a server.
#[must_use]
pub fn answered(
    request_id: String,
    status: u16,
    headers: impl IntoIterator<Item = (String, String)>,
    body: &[u8],
) -> FulfillRequestParams {
    let headers = headers.into_iter().map(|(name, value)| HeaderEntry { name, value });
    FulfillRequestParams {
        response_headers: Some(headers.collect()),
        body: Some(STANDARD.encode(body).into()),
        ..FulfillRequestParams::new(request_id, status)
    }
}

impl Request {
    /// The bytes that it sends; `None` for none. Chrome leaves out files.
    #[must_use]
    pub fn body(&self) -> Option<Vec<u8>> {
        let parts = self.post_data_entries.iter().filter_map(|part| STANDARD.decode(part.bytes.as_ref()?).ok());
        let body: Vec<u8> = parts.flatten().collect();
        if body.is_empty() { self.post_data.as_ref().map(|text| text.clone().into_bytes()) } else { Some(body) }
    }

    /// Names and values of its header fields.
    pub fn headers(&self) -> impl Iterator<Item = (&str, &str)> {
        self.headers.iter().filter_map(|(name, value)| Some((name.as_str(), value.as_str()?)))
    }

    /// The value of a header field, whose name is compared without case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }
}
