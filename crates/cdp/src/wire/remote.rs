//! Replies to `Runtime.evaluate` and `Runtime.callFunctionOn`.

use std::borrow::Cow;

use serde::Deserialize;

use super::Str;
use serde_json::value::RawValue;

/// Reply to an evaluation or a function call.
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
    /// JavaScript type as `typeof` names it: `object`, `string`, `undefined`, ….
    #[serde(borrow, rename = "type")]
    pub kind: Cow<'a, str>,
    /// For example `node`, `array`, `null`.
    #[serde(borrow, default)]
    pub subtype: Option<Str<'a>>,
    /// By value; absent for `undefined`.
    #[serde(borrow, default)]
    pub value: Option<&'a RawValue>,
    /// Handle for further calls; it keeps the object alive. Absent for a value.
    #[serde(borrow, default)]
    pub object_id: Option<Str<'a>>,
    /// A text for people.
    #[serde(borrow, default)]
    pub description: Option<Str<'a>>,
    /// Content down to a depth; present only if deep serialisation was requested.
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
    /// Content, undecoded; absent where the type says all, as for `null`.
    #[serde(borrow, default)]
    pub value: Option<&'a RawValue>,
}

/// Details of an exception that was thrown.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ExceptionDetails<'a> {
    /// Chrome's short text, for example `Uncaught`; details are in `exception`.
    #[serde(borrow, default)]
    pub text: Cow<'a, str>,
    /// Value that was thrown, not always an `Error`.
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
    /// Calls on the stack, the innermost first.
    #[serde(borrow, default)]
    pub call_frames: Vec<CallFrame<'a>>,
}

/// Position of one call in a script.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CallFrame<'a> {
    /// URL of the script; empty if it has none.
    #[serde(borrow, default)]
    pub url: Str<'a>,
    /// 0-based line in it.
    #[serde(default)]
    pub line_number: u32,
}
