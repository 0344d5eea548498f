//! The network events that report what a page loads.

use std::borrow::Cow;

use serde::Deserialize;

use super::Str;
use serde_json::value::RawValue;

/// `Network.requestWillBeSent`
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct RequestWillBeSent<'a> {
    /// Names the request; a redirect keeps it.
    #[serde(borrow)]
    pub request_id: Cow<'a, str>,
    /// The document; empty for workers.
    #[serde(borrow, default)]
    pub loader_id: Cow<'a, str>,
    /// The request.
    #[serde(borrow)]
    pub request: Request<'a>,
    /// Seconds of the monotonic clock.
    #[serde(default)]
    pub timestamp: f64,
    /// Seconds since the epoch.
    #[serde(default)]
    pub wall_time: f64,
    /// For example `Document`, `XHR`, `Fetch`, `WebSocket`.
    #[serde(borrow, default, rename = "type")]
    pub kind: Cow<'a, str>,
    /// The frame.
    #[serde(borrow, default)]
    pub frame_id: Option<&'a str>,
    /// The answer that redirected here.
    #[serde(borrow, default)]
    pub redirect_response: Option<Response<'a>>,
    /// Who caused it, undecoded.
    #[serde(borrow, default)]
    pub initiator: Option<&'a RawValue>,
}

/// A request.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Request<'a> {
    /// Without the fragment.
    #[serde(borrow)]
    pub url: Cow<'a, str>,
    /// The HTTP method.
    #[serde(borrow, default)]
    pub method: Cow<'a, str>,
    /// An object of names and values, undecoded.
    #[serde(borrow, default)]
    pub headers: Option<&'a RawValue>,
    /// Whether there is a body.
    #[serde(default)]
    pub has_post_data: bool,
}

/// `Network.responseReceived`
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ResponseReceived<'a> {
    /// The request.
    #[serde(borrow)]
    pub request_id: Cow<'a, str>,
    /// The answer.
    #[serde(borrow)]
    pub response: Response<'a>,
    /// Seconds of the monotonic clock.
    #[serde(default)]
    pub timestamp: f64,
    /// As in the request.
    #[serde(borrow, default, rename = "type")]
    pub kind: Cow<'a, str>,
    /// The frame.
    #[serde(borrow, default)]
    pub frame_id: Option<&'a str>,
}

/// An answer.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Response<'a> {
    /// Where it came from.
    #[serde(borrow)]
    pub url: Cow<'a, str>,
    /// The HTTP status.
    #[serde(default)]
    pub status: i64,
    /// The media type.
    #[serde(borrow, default)]
    pub mime_type: Cow<'a, str>,
    /// An object of names and values, undecoded.
    #[serde(borrow, default)]
    pub headers: Option<&'a RawValue>,
    /// Whether it came from a cache on disk.
    #[serde(default)]
    pub from_disk_cache: bool,
    /// The address that answered.
    #[serde(borrow, default, rename = "remoteIPAddress")]
    pub remote_ip_address: Option<Str<'a>>,
}

/// `Network.loadingFinished`
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct LoadingFinished<'a> {
    /// The request.
    #[serde(borrow)]
    pub request_id: Cow<'a, str>,
    /// Seconds of the monotonic clock.
    #[serde(default)]
    pub timestamp: f64,
    /// Bytes on the wire.
    #[serde(default)]
    pub encoded_data_length: f64,
}

/// `Network.loadingFailed`
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct LoadingFailed<'a> {
    /// The request.
    #[serde(borrow)]
    pub request_id: Cow<'a, str>,
    /// Seconds of the monotonic clock.
    #[serde(default)]
    pub timestamp: f64,
    /// For example `net::ERR_ABORTED`.
    #[serde(borrow, default)]
    pub error_text: Cow<'a, str>,
    /// Whether the page or a navigation cancelled it.
    #[serde(default)]
    pub canceled: bool,
    /// Why the browser refused it, if so.
    #[serde(borrow, default)]
    pub blocked_reason: Option<Str<'a>>,
}
