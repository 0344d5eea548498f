//! Cases in the neutral form, as `action.jsonl` and its siblings hold them.
//!
//! Invariants:
//! - Reading is lenient: members that mean nothing to this program are left out, so that a newer folder can be read.
//! - A case is data; what it takes to carry it out is elsewhere.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use serde::Deserialize;
use serde_json::Value;

/// One case: a page, what is done or asked, and what must come of it.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Case {
    pub(crate) id: String,
    #[serde(default)]
    pub(crate) source: String,
    #[serde(default)]
    pub(crate) title: String,
    #[serde(default)]
    pub(crate) html: String,
    #[serde(default = "default_path")]
    pub(crate) path: String,
    #[serde(default)]
    pub(crate) files: BTreeMap<String, ServedFile>,
    #[serde(default)]
    pub(crate) viewport: Option<Viewport>,
    #[serde(default)]
    pub(crate) setup: Vec<String>,
    #[serde(default)]
    action: Option<Entry>,
    #[serde(default)]
    actions: Option<Vec<Entry>>,
    #[serde(default)]
    pub(crate) expect: Option<Expect>,
    #[serde(default)]
    pub(crate) vacuous_without_action: bool,
    /// Checks of `role-name.jsonl` on elements of the page.
    #[serde(default)]
    pub(crate) checks: Vec<Check>,
}

fn default_path() -> String {
    "/case.html".to_owned()
}

impl Case {
    /// The actions, in order.
    pub(crate) fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.action.iter().chain(self.actions.iter().flatten())
    }
}

/// A file beside the page.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct ServedFile {
    #[serde(default)]
    pub(crate) body: Option<String>,
    #[serde(default)]
    pub(crate) base64: Option<String>,
    #[serde(default, rename = "type")]
    pub(crate) media_type: Option<String>,
}

/// Size of the viewport, in CSS pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct Viewport {
    pub(crate) width: u32,
    pub(crate) height: u32,
}

/// One thing that is done or asked.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Entry {
    #[serde(rename = "type")]
    pub(crate) verb: String,
    #[serde(default)]
    pub(crate) target: Option<Target>,
    #[serde(default)]
    pub(crate) to: Option<Target>,
    #[serde(default)]
    pub(crate) text: Option<String>,
    #[serde(default)]
    pub(crate) key: Option<String>,
    #[serde(default)]
    pub(crate) options: Vec<Value>,
    #[serde(default)]
    pub(crate) files: Vec<ChosenFile>,
    #[serde(default)]
    pub(crate) state: Option<String>,
    #[serde(default)]
    pub(crate) position: Option<Value>,
    #[serde(default)]
    pub(crate) button: Option<String>,
    #[serde(default)]
    pub(crate) click_count: Option<u32>,
    #[serde(default)]
    pub(crate) modifiers: Vec<String>,
    #[serde(default)]
    pub(crate) force: Option<bool>,
    #[serde(default)]
    pub(crate) trial: Option<bool>,
    #[serde(default)]
    pub(crate) timeout_ms: Option<u64>,
    #[serde(default)]
    pub(crate) during: Vec<During>,
    #[serde(default)]
    pub(crate) js: Option<String>,
    #[serde(default)]
    pub(crate) expect: Option<Expect>,
    /// Of a `read`: what.
    #[serde(default)]
    pub(crate) what: Option<String>,
    /// Of a `read`: the name of the attribute.
    #[serde(default)]
    pub(crate) name: Option<String>,
    #[serde(default)]
    pub(crate) condition: Option<String>,
    #[serde(default)]
    pub(crate) args: Vec<Value>,
    #[serde(default)]
    pub(crate) negate: bool,
}

/// A file that an `upload` chooses.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct ChosenFile {
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) base64: String,
}

/// A change of the page while the action waits.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct During {
    #[serde(default)]
    pub(crate) after_ms: u64,
    pub(crate) js: String,
}

/// Element that a case names: a strategy with its text, and filters.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Target {
    pub(crate) strategy: String,
    pub(crate) selector: Option<String>,
    pub(crate) xpath: Option<String>,
    pub(crate) text: Option<Value>,
    pub(crate) role: Option<String>,
    pub(crate) name: Option<Value>,
    pub(crate) label: Option<Value>,
    pub(crate) placeholder: Option<Value>,
    pub(crate) alt: Option<Value>,
    pub(crate) title: Option<Value>,
    pub(crate) testid: Option<Value>,
    pub(crate) exact: Option<bool>,
    pub(crate) checked: Option<Value>,
    pub(crate) pressed: Option<Value>,
    pub(crate) selected: Option<bool>,
    pub(crate) expanded: Option<bool>,
    pub(crate) disabled: Option<bool>,
    pub(crate) level: Option<u64>,
    pub(crate) include_hidden: Option<bool>,
    pub(crate) nth: Option<i64>,
    pub(crate) within: Option<Box<Target>>,
    pub(crate) has: Option<Box<Target>>,
    pub(crate) has_not: Option<Box<Target>>,
    pub(crate) has_text: Option<Value>,
    pub(crate) has_not_text: Option<Value>,
    pub(crate) visible: Option<bool>,
    pub(crate) frame: Vec<String>,
}

/// Expected result of a case.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Expect {
    pub(crate) js: Option<String>,
    pub(crate) error: Option<String>,
    pub(crate) ok: Option<bool>,
    /// The value of a `read`; an explicit `null` is a value too.
    #[serde(deserialize_with = "stated")]
    pub(crate) value: Option<Value>,
    pub(crate) count: Option<u64>,
    pub(crate) outer_html: Option<String>,
    pub(crate) outer_html_all: Option<Vec<String>>,
    pub(crate) holds: Option<bool>,
    pub(crate) aria_snapshot: Option<String>,
    /// `property:NAME` of the match.
    #[serde(flatten)]
    pub(crate) others: BTreeMap<String, Value>,
}

fn stated<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

/// Check of `role-name.jsonl` on one element, with the answers of others.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Check {
    pub(crate) selector: String,
    #[serde(default)]
    pub(crate) name: Option<String>,
    #[serde(default)]
    pub(crate) role: Option<String>,
    #[serde(default)]
    pub(crate) description: Option<String>,
    #[serde(default)]
    pub(crate) chromium_name_ok: Option<bool>,
    #[serde(default)]
    pub(crate) chromium_role_ok: Option<bool>,
    #[serde(default)]
    pub(crate) chromium_desc_ok: Option<bool>,
    #[serde(default)]
    pub(crate) playwright_name_ok: Option<bool>,
    #[serde(default)]
    pub(crate) playwright_role_ok: Option<bool>,
}

/// The files of a folder that hold cases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// Actions and their effects: `action.jsonl`.
    Action,
    /// Elements that locators match: `locate.jsonl`.
    Locate,
    /// Conditions that hold or do not: `condition.jsonl`.
    Condition,
    /// Computed roles and names: `role-name.jsonl`.
    RoleName,
    /// Snapshots of the accessible structure: `aria.jsonl`.
    Aria,
}

impl Kind {
    pub(crate) const ALL: [Self; 5] = [Self::Action, Self::Locate, Self::Condition, Self::RoleName, Self::Aria];

    /// The name of the file, without its ending.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Action => "action",
            Self::Locate => "locate",
            Self::Condition => "condition",
            Self::RoleName => "role-name",
            Self::Aria => "aria",
        }
    }
}

/// Reads the cases of one kind; none if the folder has no such file.
///
/// # Errors
/// If the file cannot be read, or a line is no case.
pub(crate) fn read(folder: &Path, kind: Kind) -> Result<Vec<Case>> {
    let path = folder.join(format!("{}.jsonl", kind.name()));
    if !path.exists() {
        return Ok(Vec::new());
    }
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    text.lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty())
        .map(|(index, line)| {
            serde_json::from_str(line)
                .with_context(|| format!("expected a case in line {} of {}", index + 1, path.display()))
        })
        .collect()
}
