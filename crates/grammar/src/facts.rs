//! Facts that were seen: the only input of a verdict, no matter who gathered them or when they are judged.
//!
//! Invariants:
//! - Facts are plain data and round-trip through JSON: a verdict on recorded facts equals the one at run time.
//! - What was not looked at is `None`, never a default.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::geometry::Rect;
use crate::id::TargetRef;
use crate::role::Role;
use crate::secret::FactText;
use crate::wire::{is_default, words};

words! {
    /// On, off, or partly on.
    pub enum Toggle {
        /// The control is on.
        True = "true",
        /// The control is off.
        False = "false",
        /// The control is partly on.
        Mixed = "mixed",
    }
}

/// The states of an element; absent where the element has no such state.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct States {
    /// Cannot be operated; `aria-disabled`, `disabled` and disabled fieldsets count.
    #[serde(skip_serializing_if = "is_default")]
    pub disabled: bool,
    /// Its value cannot be changed by typing.
    #[serde(skip_serializing_if = "is_default")]
    pub readonly: bool,
    /// Accepts typed text and is neither disabled nor read-only.
    #[serde(skip_serializing_if = "is_default")]
    pub editable: bool,
    /// Must be filled in.
    #[serde(skip_serializing_if = "is_default")]
    pub required: bool,
    /// Has the keyboard focus in its document.
    #[serde(skip_serializing_if = "is_default")]
    pub focused: bool,
    /// Fails its validation, as the page or the browser says.
    #[serde(skip_serializing_if = "is_default")]
    pub invalid: bool,
    /// Several of its options can be chosen.
    #[serde(skip_serializing_if = "is_default")]
    pub multiselectable: bool,
    /// Checked state of check boxes, radio buttons and switches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checked: Option<Toggle>,
    /// Pressed state of toggle buttons.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pressed: Option<Toggle>,
    /// `true` if the part that it controls is shown; absent if it does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expanded: Option<bool>,
    /// Selected state of options, tabs and rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selected: Option<bool>,
    /// The kind of popup that it opens, as `aria-haspopup` names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub haspopup: Option<String>,
    /// Level of headings and tree items, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level: Option<u8>,
    /// Value of `aria-current`, unless that is false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current: Option<String>,
}

/// One element as it was at one moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ElementFacts {
    /// ARIA role, explicit or implied by the element.
    pub role: Role,
    /// Accessible name; empty if it has none.
    pub name: String,
    /// Accessible description; absent if it is empty.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The text of what `aria-errormessage` refers to while the element is invalid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_message: Option<String>,
    /// The HTML tag in lower case.
    pub tag: String,
    /// The texts of its labels: `label` elements, `aria-labelledby`, `aria-label`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    /// The `placeholder` attribute, at most 2,000 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub placeholder: Option<String>,
    /// The `alt` attribute, at most 2,000 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alt: Option<String>,
    /// The `title` attribute, at most 2,000 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Value of the first test id attribute that it has, at most 500 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub test_id: Option<String>,
    /// Its text content, white space collapsed, at most 20,000 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<FactText>,
    /// The live value of a form control or the text of an editable region.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<FactText>,
    /// The chosen options of a select: their values.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub selected_values: Vec<String>,
    /// The chosen options of a select: their labels. Of another control for choosing, the texts that it shows.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub selected_labels: Vec<String>,
    /// The attributes that a condition reads; `None` for one that is absent.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub attributes: BTreeMap<String, Option<FactText>>,
    /// The DOM properties that a condition reads, as JSON scalars.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub properties: BTreeMap<String, Value>,
    /// Names in its `class` attribute, the first 50, 200 characters each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<String>,
    /// States such as checked, expanded or disabled.
    pub states: States,
    /// Non-empty box and no `visibility: hidden` (Playwright's definition; opacity 0 counts as visible).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub visible: Option<bool>,
    /// The share of its box that lies in the viewport, clipped by its scroll containers: 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_viewport: Option<f64>,
    /// Its box, where it has one.
    #[serde(rename = "box", skip_serializing_if = "Option::is_none")]
    pub rect: Option<Rect>,
    /// `true` if the typed value must not be kept, as in password-like fields.
    #[serde(skip_serializing_if = "is_default")]
    pub sensitive: bool,
    /// Structural parts of its locator, decided in the page.
    #[serde(skip_serializing_if = "is_default")]
    pub relations: Relations,
}

/// Facts about an element's place in the document.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Relations {
    /// The css or xpath selector of the locator matched it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selector: Option<bool>,
    /// It lies within a match of the locator's `within`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub within: Option<bool>,
    /// It contains a match of the locator's `has`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub has: Option<bool>,
    /// It contains no match of the locator's `hasNot`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub has_not: Option<bool>,
    /// It is the innermost element with the locator's text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub innermost_text: Option<bool>,
}

/// Resolution of a target at one moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TargetFacts {
    /// Number of elements that matched, after `nth`; `None` if it could not be looked up.
    pub matches: Option<u32>,
    /// The element, where exactly one matched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub element: Option<ElementFacts>,
}

impl TargetFacts {
    /// Facts of a target that resolved to this one element.
    #[must_use]
    pub fn one(element: ElementFacts) -> Self {
        Self { matches: Some(1), element: Some(element) }
    }

    /// Facts of a target that resolved to no element.
    #[must_use]
    pub fn none() -> Self {
        Self { matches: Some(0), element: None }
    }
}

/// The page at one moment, as far as the conditions of a step need it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Sample {
    /// Milliseconds since the input was sent; 0 for samples that were taken before it.
    pub at_ms: u32,
    /// The URL of the page.
    pub url: String,
    /// The title of the page.
    pub title: String,
    /// The targets of the step's conditions.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub targets: BTreeMap<TargetRef, TargetFacts>,
}

/// One request that the page made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RequestFact {
    /// HTTP method, such as `GET` or `POST`.
    pub method: String,
    /// The URL, without a fragment, at most 2,000 characters.
    pub url: String,
    /// The status, once the head of the response has arrived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Why it failed, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// How long the server asks to wait before the next request (`Retry-After` of a status 429 or 503), in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
    /// From the request to the end of its answer, in milliseconds; absent while that is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u32>,
}

impl RequestFact {
    /// Returns `true` if it failed or got a status of 400 or more. A request that the page or the browser cancelled has
    /// not failed.
    #[must_use]
    pub fn is_problem(&self) -> bool {
        let failed = self.failure.as_deref().is_some_and(|reason| reason != "net::ERR_ABORTED");
        failed || self.status.is_some_and(|status| status >= 400)
    }

    /// Returns `true` if its method may change something: any but `GET`, `HEAD` and `OPTIONS`.
    #[must_use]
    pub fn changes(&self) -> bool {
        !matches!(self.method.as_str(), "GET" | "HEAD" | "OPTIONS")
    }

    /// The path of its URL, without host, query and fragment.
    #[must_use]
    pub fn path(&self) -> &str {
        let after = self.url.split_once("://").map_or(self.url.as_str(), |(_, rest)| rest);
        let path = after.find('/').and_then(|start| after.get(start..)).unwrap_or("/");
        path.split(['?', '#']).next().unwrap_or("/")
    }

    /// In words: `POST /save answered 500`.
    #[must_use]
    pub fn in_words(&self) -> String {
        let path: String = self.path().chars().take(200).collect();
        let end = match (self.status, &self.failure) {
            (Some(status), Some(_)) if status >= 400 => format!("answered {status}"),
            (_, Some(reason)) => format!("failed: {reason}"),
            (Some(status), None) => format!("answered {status}"),
            (None, None) => "has no answer yet".to_owned(),
        };
        format!("{} {path} {end}", self.method)
    }
}

/// The kind of a JavaScript dialog.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum DialogKind {
    /// `alert()`: a message that can only be accepted.
    Alert,
    /// `confirm()`: a question to accept or dismiss.
    Confirm,
    /// `prompt()`: a question that takes a text.
    Prompt,
    /// `beforeunload`: asks before the page is left.
    BeforeUnload,
}

/// One JavaScript dialog that opened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DialogFact {
    /// The function or event that opened it.
    pub kind: DialogKind,
    /// The message, at most 2,000 characters.
    pub message: String,
}

/// One download, with its end if that was seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DownloadFact {
    /// The name that the server or the page suggests.
    pub filename: String,
    /// Where it comes from.
    pub url: String,
    /// How it ended, if it did so during the step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<DownloadEnd>,
    /// Its size in bytes, once it is complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// SHA-256 of the file, hexadecimal, if it was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
}

impl DownloadFact {
    /// In words: `download of "a.csv" complete, 120 bytes`.
    #[must_use]
    pub fn in_words(&self) -> String {
        let end = match (self.end, self.bytes) {
            (Some(DownloadEnd::Completed), Some(bytes)) => format!("complete, {bytes} bytes"),
            (Some(DownloadEnd::Completed), None) => "complete".to_owned(),
            (Some(DownloadEnd::Canceled), _) => "cancelled".to_owned(),
            (None, _) => "not complete yet".to_owned(),
        };
        format!("download of {:?} {end}", self.filename)
    }
}

/// How a download ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum DownloadEnd {
    /// The file is there.
    Completed,
    /// It was refused, cancelled or interrupted.
    Canceled,
}

/// Events since the conditions were armed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct EventFacts {
    /// `true` if the network was quiet for 500 ms; absent if it was not within the limit, or was not watched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network_idle: Option<bool>,
    /// Requests, in order, the first 200 of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub requests: Vec<RequestFact>,
    /// Dialogs that opened, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub dialogs: Vec<DialogFact>,
    /// Downloads that started, complete or not.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub downloads: Vec<DownloadFact>,
    /// The URLs of tabs that opened.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub new_tabs: Vec<String>,
    /// `true` if the effect record has anything in it; `None` if none was kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub any_effect: Option<bool>,
}

/// Everything on which the conditions of a step are judged.
///
/// A precondition is judged on one sample. A postcondition is judged on all samples since the input: what
/// was true in one of them counts as seen.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Facts {
    /// The page just before the input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Sample>,
    /// The page since, in order, one entry per change.
    pub samples: Vec<Sample>,
    /// Events since the input.
    #[serde(default)]
    pub events: EventFacts,
}

impl Facts {
    /// Facts of one moment, for a precondition.
    #[must_use]
    pub fn at(sample: Sample) -> Self {
        Self { before: None, samples: vec![sample], events: EventFacts::default() }
    }
}
