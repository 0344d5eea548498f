//! Steps: an action with what must be true before it and what must have become true after it.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use crate::action::Action;
use crate::condition::Condition;
use crate::id::TargetRef;
use crate::secret::DigestKey;
use crate::wire::{self, Millis, Object, Probability, ReadError, ShortText};

/// How risky a planner thinks a step is. It may raise what the policy says, never lower it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum RiskLevel {
    /// Hardly any.
    Low,
    /// Some.
    Medium,
    /// High: confirm.
    High,
}

/// One step of a plan.
///
/// On the wire the action's own fields and these stand in one object:
/// `{"type": "click", "targetRef": "c3", "post": [{"kind": "urlChanges"}]}`.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// The action.
    pub action: Action,
    /// What must be true before it.
    pub pre: Vec<Condition>,
    /// What must have become true after it.
    pub post: Vec<Condition>,
    /// How long all of it may take.
    pub timeout_ms: Option<Millis>,
    /// Why, in the planner's words.
    pub explanation: Option<ShortText>,
    /// The planner's estimate of the risk.
    pub estimated_risk: Option<RiskLevel>,
    /// The planner's confidence.
    pub confidence: Option<Probability>,
}

impl From<Action> for Step {
    fn from(action: Action) -> Self {
        Self {
            action,
            pre: Vec::new(),
            post: Vec::new(),
            timeout_ms: None,
            explanation: None,
            estimated_risk: None,
            confidence: None,
        }
    }
}

/// The most conditions that a step states on either side.
pub const MAX_CONDITIONS: usize = 20;

const PRE: &str = "pre";
const POST: &str = "post";
const TIMEOUT: &str = "timeoutMs";
const EXPLANATION: &str = "explanation";
const RISK: &str = "estimatedRisk";
const CONFIDENCE: &str = "confidence";

impl Step {
    /// Reads a step from one object.
    ///
    /// # Errors
    /// [`ReadError`] with the field that does not fit.
    pub fn from_object(mut object: Object) -> Result<Self, ReadError> {
        Ok(Self {
            pre: conditions(&mut object, PRE)?,
            post: conditions(&mut object, POST)?,
            timeout_ms: wire::take(&mut object, TIMEOUT)?,
            explanation: wire::take(&mut object, EXPLANATION)?,
            estimated_risk: wire::take(&mut object, RISK)?,
            confidence: wire::take(&mut object, CONFIDENCE)?,
            action: Action::from_object(object)?,
        })
    }

    /// Every target that the step names, its main one first, without repetitions.
    #[must_use]
    pub fn targets(&self) -> Vec<&TargetRef> {
        let conditions = self.action.condition().into_iter().chain(&self.pre).chain(&self.post);
        let mut targets = self.action.targets();
        targets.extend(conditions.flat_map(Condition::targets));
        let mut seen = std::collections::BTreeSet::new();
        targets.retain(|target| seen.insert((*target).clone()));
        targets
    }

    /// Rewrites every target.
    pub fn retarget(&mut self, rewrite: &dyn Fn(&TargetRef) -> TargetRef) {
        self.action.retarget(rewrite);
        self.pre.iter_mut().chain(&mut self.post).for_each(|condition| condition.retarget(rewrite));
    }

    /// The step as it may be kept: texts that go into or are compared with a sensitive target become digests.
    #[must_use]
    pub fn redacted(&self, is_sensitive: &dyn Fn(&TargetRef) -> bool, key: &DigestKey) -> Self {
        let mut step = self.clone();
        if step.action.target().is_some_and(is_sensitive) {
            match &mut step.action {
                Action::Type(action) => action.text = action.text.as_ref().map(|text| text.redact(key)),
                Action::SetValue(action) => action.value = action.value.as_ref().map(|text| text.redact(key)),
                _ => {}
            }
        }
        match &mut step.action {
            Action::WaitFor(action) => action.condition = action.condition.redacted(is_sensitive, key),
            Action::Assert(action) => action.condition = action.condition.redacted(is_sensitive, key),
            _ => {}
        }
        for condition in step.pre.iter_mut().chain(&mut step.post) {
            *condition = condition.redacted(is_sensitive, key);
        }
        step
    }
}

fn conditions(object: &mut Object, field: &str) -> Result<Vec<Condition>, ReadError> {
    let list: Vec<Condition> = wire::take(object, field)?.unwrap_or_default();
    if list.len() > MAX_CONDITIONS {
        let message = format!("expected at most {MAX_CONDITIONS} conditions, saw {}", list.len());
        return Err(ReadError::new(message).under(field));
    }
    Ok(list)
}

impl Serialize for Step {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::Error as _;
        let mut value = serde_json::to_value(&self.action).map_err(S::Error::custom)?;
        if let Some(object) = value.as_object_mut() {
            let mut put = |field: &str, value: Result<Value, serde_json::Error>| {
                value.map(|value| object.insert(field.to_owned(), value)).map_err(S::Error::custom)
            };
            if !self.pre.is_empty() {
                put(PRE, serde_json::to_value(&self.pre))?;
            }
            if !self.post.is_empty() {
                put(POST, serde_json::to_value(&self.post))?;
            }
            if let Some(timeout) = self.timeout_ms {
                put(TIMEOUT, serde_json::to_value(timeout))?;
            }
            if let Some(explanation) = &self.explanation {
                put(EXPLANATION, serde_json::to_value(explanation))?;
            }
            if let Some(risk) = self.estimated_risk {
                put(RISK, serde_json::to_value(risk))?;
            }
            if let Some(confidence) = self.confidence {
                put(CONFIDENCE, serde_json::to_value(confidence))?;
            }
        }
        value.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Step {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        wire::deserialize_object(deserializer, Self::from_object)
    }
}

impl JsonSchema for Step {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Step".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let condition = generator.subschema_for::<Condition>();
        let list =
            schemars::json_schema!({ "type": ["array", "null"], "items": condition, "maxItems": MAX_CONDITIONS });
        let variants: Vec<Schema> = Action::variant_schemas(generator)
            .into_iter()
            .map(|mut schema| {
                let fields = vec![
                    (PRE, list.clone()),
                    (POST, list.clone()),
                    (TIMEOUT, generator.subschema_for::<Option<Millis>>()),
                    (EXPLANATION, generator.subschema_for::<Option<ShortText>>()),
                    (RISK, generator.subschema_for::<Option<RiskLevel>>()),
                    (CONFIDENCE, generator.subschema_for::<Option<Probability>>()),
                ];
                wire::extend_object_schema(&mut schema, fields, &[]);
                schema
            })
            .collect();
        schemars::json_schema!({ "oneOf": variants })
    }
}
