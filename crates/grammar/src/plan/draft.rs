//! Plans as a planner proposes them, and how they are read.
//!
//! Reading is lenient in form and strict in content: member names may be in snake_case, a target may be
//! written `@c1` or `ref=c1`; an unknown member is an error, and every error is reported.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::condition::Condition;
use crate::geometry::ViewportSize;
use crate::id::TargetRef;
use crate::locator::Locator;
use crate::plan::violation::{Violation, ViolationCode, Violations};
use crate::profile::Profile;
use crate::step::Step;
use crate::wire::{self, LongText, Object, ShortText};

/// The version of the plan format. The major version is raised when an older plan would change its
/// meaning, the minor version when a member is added.
pub const PLAN_VERSION: &str = "1.0";

/// Upper bound of the steps of a plan.
pub const MAX_STEPS: usize = 200;

/// The most steps of a model's plan: it is to look at the page again before more.
pub(crate) const MODEL_STEPS: usize = 20;

/// Upper bound of the conditions of a plan's goal.
pub const MAX_GOAL: usize = 20;

/// Who wrote a plan. Never on the wire: the caller states it when a draft is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Author {
    /// A person, by a file: may declare locators, css and xpath, and grants what is written.
    Operator,
    /// A model: names observed ids only.
    #[default]
    Model,
    /// The run loop: a repair. Trusted as little as a model.
    Controller,
}

/// Purpose of a plan, and the bounds that it states.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PlanContext {
    /// The task in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<LongText>,
    /// Hosts that the plan may go to: exact, or `*.host`. A model's entries only narrow the policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed_domains: Option<Vec<ShortText>>,
    /// The viewport that the plan was made for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub viewport: Option<ViewportSize>,
}

/// A proposed plan. Nothing in it can be trusted before [`PlanDraft::check`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PlanDraft {
    /// Format version: always [`PLAN_VERSION`].
    #[serde(deserialize_with = "known_version")]
    #[schemars(with = "PlanVersion")]
    pub version: String,
    /// Purpose of the plan, and the bounds that it states.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<PlanContext>,
    /// Locators by name, for operators.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "candidates_schema")]
    pub candidates: BTreeMap<TargetRef, Locator>,
    /// Conditions that will all hold when the task is done; `anyOf` states alternatives. At most [`MAX_GOAL`]. The run keeps
    /// those of the first plan that states any, and later plans add to them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub goal: Vec<Condition>,
    /// Why `goal` replaces what earlier plans stated, instead of adding to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goal_reason: Option<ShortText>,
    /// Steps in order of execution.
    pub steps: Vec<Step>,
    /// A name for the plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_id: Option<ShortText>,
    /// The planner's reasoning in short.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning_summary: Option<LongText>,
    /// The autonomy that the planner asks for: it may lower the profile, never raise it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub autonomy_level: Option<Profile>,
    /// Author of the plan.
    #[serde(skip)]
    #[schemars(skip)]
    pub author: Author,
}

#[derive(JsonSchema)]
#[schemars(inline)]
enum PlanVersion {
    #[schemars(rename = "1.0")]
    #[expect(dead_code, reason = "only its schema is used")]
    V1,
}

fn known_version<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    use serde::de::Error as _;
    let version = String::deserialize(deserializer)?;
    if version == PLAN_VERSION {
        return Ok(version);
    }
    Err(D::Error::custom(format!("expected version \"{PLAN_VERSION}\"")))
}

/// `TargetRef` restricts the names, which a map's schema does not pick up by itself.
fn candidates_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
    let locator = generator.subschema_for::<Locator>();
    let name = generator.subschema_for::<TargetRef>();
    schemars::json_schema!({ "type": "object", "propertyNames": name, "additionalProperties": locator })
}

impl PlanDraft {
    /// A plan of these steps and nothing else.
    #[must_use]
    pub fn of(author: Author, steps: Vec<Step>) -> Self {
        Self {
            version: PLAN_VERSION.to_owned(),
            context: None,
            candidates: BTreeMap::new(),
            goal: Vec::new(),
            goal_reason: None,
            steps,
            plan_id: None,
            reasoning_summary: None,
            autonomy_level: None,
            author,
        }
    }

    /// Reads a plan from text and reports everything that is wrong with its form.
    ///
    /// # Errors
    /// [`ViolationCode::Malformed`] with a JSON pointer for each value that does not fit;
    /// [`ViolationCode::UnsupportedVersion`] for another version.
    pub fn read(text: &str, author: Author) -> Result<Self, Violations> {
        let value = wire::parse(text)
            .map_err(|error| vec![Violation::new(ViolationCode::Malformed, error.path, error.message)])?;
        Self::read_value(value, author)
    }

    /// Reads a plan from a JSON value, as [`PlanDraft::read`] does.
    ///
    /// # Errors
    /// As [`PlanDraft::read`].
    pub fn read_value(value: Value, author: Author) -> Result<Self, Violations> {
        let malformed = |error: wire::ReadError| Violation::new(ViolationCode::Malformed, error.path, error.message);
        let Value::Object(plan) = value else {
            let message = format!("a plan must be an object, not {}", wire::shape(&value));
            return Err(vec![Violation::new(ViolationCode::Malformed, "", message)].into());
        };
        let mut plan = lenient::plan(plan);
        let mut violations = Vec::new();

        if let Some(version) = plan.get("version")
            && version != PLAN_VERSION
        {
            let seen: String = version.to_string().chars().take(40).collect();
            let message = format!("version {seen} cannot be read, only \"{PLAN_VERSION}\"");
            return Err(vec![Violation::new(ViolationCode::UnsupportedVersion, "/version", message)].into());
        }
        let steps = match plan.remove("steps") {
            Some(Value::Array(items)) => items,
            Some(other) => {
                let message = format!("must be an array of steps, not {}", wire::shape(&other));
                violations.push(Violation::new(ViolationCode::Malformed, "/steps", message));
                Vec::new()
            }
            None => {
                violations.push(Violation::new(ViolationCode::Malformed, "", "missing field `steps`"));
                Vec::new()
            }
        };
        let mut read_steps = Vec::with_capacity(steps.len());
        for (index, step) in steps.into_iter().enumerate() {
            match wire::read::<Step>(step) {
                Ok(step) => read_steps.push(step),
                Err(error) => violations.push(malformed(error.under(index).under("steps"))),
            }
        }
        let mut candidates = BTreeMap::new();
        if let Some(declared) = plan.remove("candidates") {
            match declared {
                Value::Object(declared) => {
                    for (name, locator) in declared {
                        let read = TargetRef::new(&name)
                            .map_err(|error| wire::ReadError::new(error.to_string()))
                            .and_then(|target| Ok((target, wire::read::<Locator>(locator)?)));
                        match read {
                            Ok((target, locator)) => drop(candidates.insert(target, locator)),
                            Err(error) => violations.push(malformed(error.under(&name).under("candidates"))),
                        }
                    }
                }
                Value::Null => {}
                other => {
                    let message = format!("must be an object of locators, not {}", wire::shape(&other));
                    violations.push(Violation::new(ViolationCode::Malformed, "/candidates", message));
                }
            }
        }
        plan.insert("steps".to_owned(), Value::Array(Vec::new()));
        match wire::read::<Self>(Value::Object(plan)) {
            Ok(head) if violations.is_empty() => Ok(Self { steps: read_steps, candidates, author, ..head }),
            Ok(_) => Err(violations.into()),
            Err(error) => {
                violations.push(malformed(error));
                Err(violations.into())
            }
        }
    }
}

pub(super) mod lenient {
    //! Deviations that the reader accepts: snake_case members, `@c1` and `ref=c1`, a missing version, a `fail` without a
    //! reason, an `extract` with the parts of its query beside its type.

    use super::{Object, PLAN_VERSION, Value};

    pub(super) fn plan(plan: Object) -> Object {
        let mut plan = camel_members(plan);
        plan.entry("version").or_insert_with(|| PLAN_VERSION.into());
        for member in ["steps", "goal", "context"] {
            if let Some(value) = plan.get_mut(member) {
                deep(value);
            }
        }
        if let Some(Value::Object(candidates)) = plan.get_mut("candidates") {
            candidates.values_mut().for_each(deep);
        }
        plan
    }

    /// Member names to camelCase at every depth; arguments of registered actions and schemas stay as they are.
    fn deep(value: &mut Value) {
        match value {
            Value::Array(items) => items.iter_mut().for_each(deep),
            Value::Object(object) => {
                let mut renamed = camel_members(std::mem::take(object));
                // Where a drag ends is a reference; what a URL changes to is none.
                let is_condition = renamed.contains_key("kind");
                for (name, member) in &mut renamed {
                    match name.as_str() {
                        "args" | "schema" | "headers" => {}
                        "to" if is_condition => {}
                        "target" | "targetRef" | "to" | "within" | "container" if member.is_string() => {
                            plain_reference(member)
                        }
                        _ => deep(member),
                    }
                }
                match renamed.get("type").and_then(Value::as_str) {
                    Some("fail") => drop(renamed.entry("reason").or_insert_with(|| "no reason given".into())),
                    Some("extract") if !renamed.contains_key("query") => query(&mut renamed),
                    _ => {}
                }
                *object = renamed;
            }
            _ => {}
        }
    }

    /// Moves the parts of a query that stand in the step itself into its `query`.
    fn query(step: &mut Object) {
        const PARTS: [&str; 5] = ["targetRef", "kind", "name", "pattern", "schema"];
        let parts: Object = PARTS.iter().filter_map(|part| step.remove_entry(*part)).collect();
        if !parts.is_empty() {
            step.insert("query".to_owned(), parts.into());
        }
    }

    /// A step or a part of one with its members in camelCase and its references plain, as [`PlanDraft::read`](super::PlanDraft::read)
    /// reads a whole plan: `target_ref: "@c1"` becomes `targetRef: "c1"`.
    #[must_use]
    pub fn members(mut value: Value) -> Value {
        deep(&mut value);
        value
    }

    fn plain_reference(value: &mut Value) {
        if let Value::String(text) = value {
            let plain = text.strip_prefix('@').or_else(|| text.strip_prefix("ref=")).map(str::to_owned);
            if let Some(plain) = plain {
                *text = plain;
            }
        }
    }

    fn camel_members(object: Object) -> Object {
        object.into_iter().map(|(name, value)| (camel(&name), value)).collect()
    }

    fn camel(name: &str) -> String {
        let mut out = String::with_capacity(name.len());
        let mut upper = false;
        for c in name.chars() {
            if c == '_' && !out.is_empty() {
                upper = true;
            } else if upper {
                out.extend(c.to_uppercase());
                upper = false;
            } else {
                out.push(c);
            }
        }
        if upper {
            out.push('_');
        }
        out
    }
}
