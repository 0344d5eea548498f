//! What `Runtime.evaluate` and `Runtime.callFunctionOn` answer.

use std::borrow::Cow;

use serde::Deserialize;

use super::Str;
use serde_json::value::RawValue;

/// The reply.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Returned<'a> {
    /// The value, or the exception.
    #[serde(borrow)]
    pub result: RemoteObject<'a>,
    /// Present when the script threw.
    #[serde(borrow, default)]
    pub exception_details: Option<ExceptionDetails<'a>>,
}

/// A value, by value or by reference.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct RemoteObject<'a> {
    /// The JavaScript type.
    #[serde(borrow, rename = "type")]
    pub kind: Cow<'a, str>,
    /// For example `node`, `array`, `null`.
    #[serde(borrow, default)]
    pub subtype: Option<Str<'a>>,
    /// By value; absent for `undefined`.
    #[serde(borrow, default)]
    pub value: Option<&'a RawValue>,
    /// By reference.
    #[serde(borrow, default)]
    pub object_id: Option<Str<'a>>,
    /// A text for people.
    #[serde(borrow, default)]
    pub description: Option<Str<'a>>,
    /// With deep serialisation.
    #[serde(borrow, default)]
    pub deep_serialized_value: Option<DeepValue<'a>>,
}

/// A value as WebDriver BiDi writes it.
#[derive(Debug, Deserialize)]
#[non_exhaustive]
pub struct DeepValue<'a> {
    /// For example `array`, `node`.
    #[serde(borrow, rename = "type")]
    pub kind: Cow<'a, str>,
    /// Its content, undecoded.
    #[serde(borrow, default)]
    pub value: Option<&'a RawValue>,
}

/// What was thrown.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ExceptionDetails<'a> {
    /// For example `Uncaught`.
    #[serde(borrow, default)]
    pub text: Cow<'a, str>,
    /// The thrown value.
    #[serde(borrow, default)]
    pub exception: Option<RemoteObject<'a>>,
    /// The script, where there is no stack.
    #[serde(borrow, default)]
    pub url: Str<'a>,
    /// 0-based line in it.
    #[serde(default)]
    pub line_number: u32,
    /// The calls that led there.
    #[serde(borrow, default)]
    pub stack_trace: Option<StackTrace<'a>>,
}

/// A stack of calls.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct StackTrace<'a> {
    /// The innermost first.
    #[serde(borrow, default)]
    pub call_frames: Vec<CallFrame<'a>>,
}

/// One call.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CallFrame<'a> {
    /// The script.
    #[serde(borrow, default)]
    pub url: Str<'a>,
    /// 0-based line in it.
    #[serde(default)]
    pub line_number: u32,
}
