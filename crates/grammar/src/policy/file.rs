//! The policy file: what an operator allows, in one document.
//!
//! Invariant: it is read whole or not at all. A key that is not known, an entry that cannot be read, or a list
//! that says nothing is an error, never a gap.

use std::num::NonZeroU16;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::action::ActionKind;
use crate::effect::EffectClass;
use crate::policy::outside::{BadCommand, CommandRule, words};
use crate::policy::{
    BadAction, BadOriginRule, BadPermission, BadRequestRule, Gate, OriginRule, Policy, RegisteredAction, RequestEntry,
};
use crate::wire::{self, LongText, Probability, ReadError, ShortText, is_default};

/// Treatment of origins and verbs that no list names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Otherwise {
    /// Denied: only what a list allows is open.
    #[default]
    Deny,
    /// Allowed, as far as the profile does; private addresses stay denied.
    Allow,
}

/// The directories that are open.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Roots {
    /// Directories whose files may be read and uploaded. A relative path starts at the policy file.
    pub read: Vec<ShortText>,
    /// Directories whose files may be read and written.
    pub write: Vec<ShortText>,
}

/// How fast a run may be: steps a minute that open a page or may change something, of which a sixth may follow at once. A
/// step that is too early waits until its time limit, and then fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Rate {
    /// Upper bound on each origin; no limit if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steps_per_minute: Option<NonZeroU16>,
    /// Upper bound in all, whatever the origins are; no limit if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_steps_per_minute: Option<NonZeroU16>,
}

impl Rate {
    /// The lower of both, each.
    const fn and(self, other: Self) -> Self {
        const fn lower(one: Option<NonZeroU16>, other: Option<NonZeroU16>) -> Option<NonZeroU16> {
            match (one, other) {
                (Some(one), Some(other)) => Some(if one.get() < other.get() { one } else { other }),
                (Some(only), None) | (None, Some(only)) => Some(only),
                (None, None) => None,
            }
        }
        Self {
            steps_per_minute: lower(self.steps_per_minute, other.steps_per_minute),
            total_steps_per_minute: lower(self.total_steps_per_minute, other.total_steps_per_minute),
        }
    }
}

/// Parts of requests and answers that are other ones in each run: they distinguish no requests when recorded traffic is
/// served, and no runs when they are compared.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct VolatileParts {
    /// Parameters of URLs by name; with `*` at the end, all whose names begin so.
    pub query: Vec<ShortText>,
    /// Parts of JSON bodies, as JSONPath of RFC 9535, such as `$.items[*].id`.
    pub body: Vec<ShortText>,
}

/// An action that a program carries out. Planners call it by its name. The program gets the arguments as JSON on its
/// standard input, and prints a JSON document. It runs as commands do: without a shell and without the environment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ActionEntry {
    /// The name: 1 to 60 letters, digits, `_` and `-`.
    pub name: ShortText,
    /// Its purpose, for planners; at most 200 characters.
    pub description: ShortText,
    /// Effect on the world; repairs and consent depend on it.
    pub effect: EffectClass,
    /// JSON Schema of its arguments: an object.
    pub schema: Value,
    /// The program and its arguments, as words.
    pub command: LongText,
}

/// A policy as an operator writes it.
///
/// An entry of `allow`, `deny` and `confirm` is a verb, such as `fetch`, or an origin: a host, `*.host`, or
/// `scheme://host:port`. `deny` wins over `confirm`, and `confirm` over `allow`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PolicyFile {
    /// Treatment of origins that no list names, and of verbs as soon as `allow` names one; `deny` unless stated.
    #[serde(default)]
    pub default: Otherwise,
    /// Where a run may act, and which verbs it may use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allow: Option<Vec<ShortText>>,
    /// Origins that pages may load from, besides those of `allow`. The run may not act there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub read: Vec<ShortText>,
    /// Where it may not act or load from, and which verbs it may not use.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deny: Vec<ShortText>,
    /// Where a person is asked before anything is changed, and before which verbs. This holds for plans from files too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub confirm: Vec<ShortText>,
    /// Origins that `fetch` may request, besides those of `allow`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<ShortText>,
    /// The directories that `readFile`, `writeFile` and `upload` may use.
    #[serde(default)]
    pub roots: Roots,
    /// How fast a run may be; as fast as the pages answer if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// A step of a model whose `confidence` is lower is asked about, as one that the model estimates as a high risk. Steps
    /// without a confidence are not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ask_below: Option<Probability>,
    /// The commands that `shell` may run, as words; a last word `*` lets further words follow.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<LongText>,
    /// Whole lines that `shell` may hand to a shell.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shell_lines: Vec<LongText>,
    /// Actions that programs carry out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub actions: Vec<ActionEntry>,
    /// Requests that wait for a person because they may change something, whatever the profile; the profile decides if
    /// absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<Gate>,
    /// Rules for single requests of pages; the first entry that names one decides.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requests: Vec<RequestEntry>,
    /// Parts of requests and answers that are other ones in each run, for replays.
    #[serde(default, skip_serializing_if = "is_default")]
    pub volatile: VolatileParts,
    /// Permissions that pages are granted, each as NAME@ORIGIN, such as `geolocation@https://maps.test`. All others are
    /// denied.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub permissions: Vec<ShortText>,
}

/// A policy file that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BadPolicy {
    /// No JSON, or not of the form.
    #[error("expected a policy: {source}")]
    Malformed {
        /// Where, and what is wrong there.
        source: ReadError,
    },
    /// A list of what is allowed that allows nothing.
    #[error("`allow` is empty; name an origin or a verb, or leave it out to allow only what the flags say")]
    AllowsNothing,
    /// A rate that limits nothing.
    #[error("`rate` is empty; state `stepsPerMinute`, `totalStepsPerMinute` or both, or leave it out")]
    NoRate,
    /// An entry that is neither a verb nor an origin.
    #[error("{list}/{index}: {source}")]
    Entry {
        /// Name of the list.
        list: &'static str,
        /// Position of the entry in the list.
        index: usize,
        /// Fault of the entry.
        source: BadOriginRule,
    },
    /// A command that is not words.
    #[error("commands/{index}: {source}")]
    Command {
        /// Its position in the list.
        index: usize,
        /// Fault of the command.
        source: BadCommand,
    },
    /// An action that cannot be registered.
    #[error("actions/{index}: {source}")]
    Action {
        /// Its position in the list.
        index: usize,
        /// Fault of the action.
        source: BadAction,
    },
    /// A permission that cannot be read.
    #[error("permissions/{index}: {source}")]
    Permission {
        /// The 0-based position.
        index: usize,
        /// Reason for which it cannot be read.
        source: BadPermission,
    },
    /// A rule for requests that cannot be used.
    #[error("requests/{index}: {source}")]
    Request {
        /// Its position in the list.
        index: usize,
        /// Fault of the rule.
        source: BadRequestRule,
    },
}

/// One entry of `allow`, `deny` or `confirm`, read.
enum Entry {
    Verb(ActionKind),
    Origin(OriginRule),
}

impl PolicyFile {
    /// Reads a policy from JSON.
    ///
    /// # Errors
    /// [`BadPolicy::Malformed`]
    pub fn read(json: &str) -> Result<Self, BadPolicy> {
        wire::parse(json).and_then(wire::read).map_err(|source| BadPolicy::Malformed { source })
    }
}

impl Policy {
    /// The policy with what a file adds: it opens what it declares, and narrows the rest.
    ///
    /// # Errors
    /// [`BadPolicy`] for the first entry that cannot be read.
    pub fn with_file(mut self, file: &PolicyFile) -> Result<Self, BadPolicy> {
        let scheme = self.default_scheme().to_owned();
        let read = |list: &'static str, entries: &[ShortText]| {
            let mut verbs = Vec::new();
            let mut origins = Vec::new();
            for (index, entry) in entries.iter().enumerate() {
                let entry = entry_of(entry, &scheme).map_err(|source| BadPolicy::Entry { list, index, source })?;
                match entry {
                    Entry::Verb(kind) => verbs.push(kind),
                    Entry::Origin(rule) => origins.push(rule),
                }
            }
            Ok((verbs, origins))
        };
        if file.allow.as_ref().is_some_and(Vec::is_empty) {
            return Err(BadPolicy::AllowsNothing);
        }
        let (verbs, origins) = read("allow", file.allow.as_deref().unwrap_or_default())?;
        self.act.extend(origins);
        self.loads_listed = true;
        self.open_by_default |= file.default == Otherwise::Allow;
        if !verbs.is_empty() && file.default == Otherwise::Deny {
            self.verbs.get_or_insert_default().extend(verbs);
        }
        let (verbs, origins) = read("deny", &file.deny)?;
        self.denied_verbs.extend(verbs);
        self.denied.extend(origins);
        let (verbs, origins) = read("confirm", &file.confirm)?;
        self.confirmed_verbs.extend(verbs);
        self.confirmed.extend(origins);
        for (list, entries, into) in
            [("hosts", &file.hosts, &mut self.outside.hosts), ("read", &file.read, &mut self.read)]
        {
            for (index, entry) in entries.iter().enumerate() {
                let rule =
                    OriginRule::parse(entry, &scheme).map_err(|source| BadPolicy::Entry { list, index, source })?;
                into.push(rule);
            }
        }
        match file.rate {
            Some(rate) if rate == Rate::default() => return Err(BadPolicy::NoRate),
            Some(rate) => self.rate = self.rate.and(rate),
            None => {}
        }
        self.outside.read_roots.extend(file.roots.read.iter().map(ToString::to_string));
        self.outside.write_roots.extend(file.roots.write.iter().map(ToString::to_string));
        for (index, command) in file.commands.iter().enumerate() {
            let rule = CommandRule::parse(command).map_err(|source| BadPolicy::Command { index, source })?;
            self.outside.commands.push(rule);
        }
        self.outside.shell_lines.extend(file.shell_lines.iter().map(ToString::to_string));
        for (index, entry) in file.actions.iter().enumerate() {
            self.add_program(entry).map_err(|source| BadPolicy::Action { index, source })?;
        }
        self.gate = file.gate.or(self.gate);
        // The stricter one; `Some` is more than `None`.
        if file.ask_below > self.ask_below {
            self.ask_below = file.ask_below;
        }
        self.volatile.query.extend(file.volatile.query.iter().cloned());
        self.volatile.body.extend(file.volatile.body.iter().cloned());
        self.add_requests(&file.requests).map_err(|(index, source)| BadPolicy::Request { index, source })?;
        for (index, permission) in file.permissions.iter().enumerate() {
            self = self.permitting(permission).map_err(|source| BadPolicy::Permission { index, source })?;
        }
        Ok(self)
    }
}

impl Policy {
    fn add_program(&mut self, entry: &ActionEntry) -> Result<(), BadAction> {
        let (action, _) =
            RegisteredAction::checked(&entry.name, &entry.description, entry.effect, entry.schema.clone())?;
        let name = action.name.to_string();
        if self.registered(&name).is_some() {
            return Err(BadAction::Taken(name));
        }
        let program = words(&entry.command).map_err(|source| BadAction::Command { name: name.clone(), source })?;
        self.outside.programs.insert(name, program);
        self.registered.push(action);
        Ok(())
    }
}

fn entry_of(entry: &str, scheme: &str) -> Result<Entry, BadOriginRule> {
    match ActionKind::ALL.iter().find(|kind| kind.meta().name == entry) {
        Some(kind) => Ok(Entry::Verb(*kind)),
        None => OriginRule::parse(entry, scheme).map(Entry::Origin),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::policy::Rule;

    fn policy(file: &serde_json::Value) -> Result<Policy, BadPolicy> {
        let file = PolicyFile::read(&file.to_string())?;
        Policy::default().starting_at("https://shop.test/").unwrap().with_file(&file)
    }

    fn rule(policy: &Policy, url: &str) -> Option<Rule> {
        policy.navigation(url).err().map(|denied| denied.rule)
    }

    #[test]
    fn lists_name_origins_and_deny_wins() {
        let policy = policy(&json!({ "allow": ["*.cdn.test", "bank.test"], "deny": ["https://bank.test"] })).unwrap();
        assert_eq!(rule(&policy, "https://shop.test/"), None);
        assert_eq!(rule(&policy, "https://a.cdn.test/"), None);
        assert_eq!(rule(&policy, "https://bank.test/"), Some(Rule::Denied));
        assert_eq!(rule(&policy, "https://other.test/"), Some(Rule::Origin));
    }

    #[test]
    fn open_by_default_means_public_origins() {
        let policy = policy(&json!({ "default": "allow", "deny": ["bank.test"] })).unwrap();
        assert_eq!(rule(&policy, "https://other.test/"), None);
        assert_eq!(rule(&policy, "https://bank.test/"), Some(Rule::Denied));
        assert_eq!(rule(&policy, "http://127.0.0.1/"), Some(Rule::PrivateAddress));
        assert_eq!(rule(&policy, "file:///etc/passwd"), Some(Rule::Scheme));
    }

    #[test]
    fn the_lower_of_two_rates_holds() {
        let rate = |key: &str, steps: u16| PolicyFile::read(&json!({ "rate": { key: steps } }).to_string()).unwrap();
        let policy = Policy::default().with_file(&rate("stepsPerMinute", 30)).unwrap();
        let policy = policy.with_file(&rate("totalStepsPerMinute", 60)).unwrap();
        let policy = policy.with_file(&rate("stepsPerMinute", 60)).unwrap();
        let lower = Rate { steps_per_minute: NonZeroU16::new(30), total_steps_per_minute: NonZeroU16::new(60) };
        assert_eq!((policy.rate(), Policy::default().rate()), (lower, Rate::default()));
    }

    fn action(name: &str, command: &str, schema: Value) -> Value {
        json!({ "name": name, "description": "d", "effect": "readOnly", "schema": schema, "command": command })
    }

    #[test]
    fn an_action_is_open_to_planners_and_has_its_program() {
        let file = json!({ "actions": [action("stock", "stock --json 'a b'", json!({ "type": "object" }))] });
        let policy = policy(&file).unwrap();
        assert_eq!(policy.registered("stock").unwrap().effect, EffectClass::ReadOnly);
        assert_eq!(policy.outside().programs["stock"], ["stock", "--json", "a b"]);
    }

    #[test]
    fn what_does_not_parse_is_an_error() {
        for file in [
            json!([]),
            json!({ "allowed": ["a.test"] }),
            json!({ "allow": [] }),
            json!({ "allow": ["*"] }),
            json!({ "allow": ["*.co.uk"] }),
            json!({ "allow": ["*.github.io"] }),
            json!({ "allow": ["*.com"] }),
            json!({ "allow": ["https://a.test/path"] }),
            json!({ "deny": [""] }),
            json!({ "default": "maybe" }),
            json!({ "roots": { "execute": ["/tmp"] } }),
            json!({ "rate": {} }),
            json!({ "rate": { "stepsPerMinute": 0 } }),
            json!({ "rate": { "stepsPerMinute": 60, "burst": 2 } }),
            json!({ "hosts": ["a b"] }),
            json!({ "commands": ["ls | wc"] }),
            json!({ "commands": [" *"] }),
            json!({ "actions": [action("a b", "true", json!({ "type": "object" }))] }),
            json!({ "actions": [action("click", "true", json!({ "type": "object" }))] }),
            json!({ "actions": [action("a", "true | id", json!({ "type": "object" }))] }),
            json!({ "actions": [action("a", "true", json!({ "type": "string" }))] }),
            json!({ "actions": vec![action("a", "true", json!({ "type": "object" })); 2] }),
            json!({ "actions": [{ "name": "a", "command": "true" }] }),
        ] {
            assert!(policy(&file).is_err(), "{file}");
        }
        for text in ["", "{", "{} {}", "{\"allow\": [\"a.test\"]"] {
            assert!(PolicyFile::read(text).is_err(), "{text:?}");
        }
    }
}
