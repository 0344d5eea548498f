//! The network events that report what a page loads.

use std::borrow::Cow;

use serde::Deserialize;

use super::Str;
use serde_json::value::RawValue;

/// Event `Network.requestWillBeSent`: a request starts, or follows a redirect.
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
    /// Request as far as the page made it; the network adds header fields.
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
    /// Id of the requesting frame; absent for workers.
    #[serde(borrow, default)]
    pub frame_id: Option<&'a str>,
    /// The answer that redirected here.
    #[serde(borrow, default)]
    pub redirect_response: Option<Response<'a>>,
    /// Who caused it, undecoded.
    #[serde(borrow, default)]
    pub initiator: Option<&'a RawValue>,
}

/// Request as Chrome reports it before it is sent.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Request<'a> {
    /// Absolute URL, without its fragment.
    #[serde(borrow)]
    pub url: Cow<'a, str>,
    /// HTTP method, such as `GET`.
    #[serde(borrow, default)]
    pub method: Cow<'a, str>,
    /// An object of names and values, undecoded.
    #[serde(borrow, default)]
    pub headers: Option<&'a RawValue>,
    /// `true` if the request has a body.
    #[serde(default)]
    pub has_post_data: bool,
}

/// Event `Network.responseReceived`: the head of a response arrived, not yet its body.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ResponseReceived<'a> {
    /// Id of the answered request, as in [`RequestWillBeSent`].
    #[serde(borrow)]
    pub request_id: Cow<'a, str>,
    /// Head of the response; a redirect is in [`RequestWillBeSent::redirect_response`] instead.
    #[serde(borrow)]
    pub response: Response<'a>,
    /// Seconds of the monotonic clock.
    #[serde(default)]
    pub timestamp: f64,
    /// As in the request.
    #[serde(borrow, default, rename = "type")]
    pub kind: Cow<'a, str>,
    /// Id of the requesting frame; absent for workers.
    #[serde(borrow, default)]
    pub frame_id: Option<&'a str>,
}

/// Head of a response, without its body.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Response<'a> {
    /// Where it came from.
    #[serde(borrow)]
    pub url: Cow<'a, str>,
    /// HTTP status code, such as 404.
    #[serde(default)]
    pub status: i64,
    /// MIME type as Chrome determined it.
    #[serde(borrow, default)]
    pub mime_type: Cow<'a, str>,
    /// An object of names and values, undecoded.
    #[serde(borrow, default)]
    pub headers: Option<&'a RawValue>,
    /// `true` if the response came from a cache on disk.
    #[serde(default)]
    pub from_disk_cache: bool,
    /// The address that answered.
    #[serde(borrow, default, rename = "remoteIPAddress")]
    pub remote_ip_address: Option<Str<'a>>,
}

/// Event `Network.loadingFinished`: a body arrived completely.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct LoadingFinished<'a> {
    /// Id of the finished request, as in [`RequestWillBeSent`].
    #[serde(borrow)]
    pub request_id: Cow<'a, str>,
    /// Seconds of the monotonic clock.
    #[serde(default)]
    pub timestamp: f64,
    /// Bytes on the wire.
    #[serde(default)]
    pub encoded_data_length: f64,
}

/// Event `Network.loadingFailed`: a request ended without a complete response.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct LoadingFailed<'a> {
    /// Id of the failed request, as in [`RequestWillBeSent`].
    #[serde(borrow)]
    pub request_id: Cow<'a, str>,
    /// Seconds of the monotonic clock.
    #[serde(default)]
    pub timestamp: f64,
    /// Chrome's name of the error, for example `net::ERR_ABORTED`.
    #[serde(borrow, default)]
    pub error_text: Cow<'a, str>,
    /// `true` if the page or a navigation cancelled it.
    #[serde(default)]
    pub canceled: bool,
    /// Why the browser refused it, if so.
    #[serde(borrow, default)]
    pub blocked_reason: Option<Str<'a>>,
}
