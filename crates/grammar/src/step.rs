//! Steps: an action with what must be true before it and what must have become true after it.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize};

use crate::action::Action;
use crate::condition::Condition;
use crate::id::TargetRef;
use crate::wire::{self, Millis, Object, Probability, ReadError, ShortText};

/// How risky a planner thinks a step is. It may raise what the policy says, never lower it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum RiskLevel {
    /// Hardly any; leaves the policy's decision as it is.
    Low,
    /// Some; leaves the policy's decision as it is.
    Medium,
    /// High: the profiles `auto` and `unleashed` ask for confirmation, unless a grant covers it.
    High,
}

/// One step of a plan.
///
/// On the wire the action's own fields and these stand in one object:
/// `{"type": "click", "targetRef": "c3", "post": [{"kind": "urlChanges"}]}`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Step {
    /// The action; on the wire its fields stand beside these.
    #[serde(flatten)]
    pub action: Action,
    /// Conditions that must hold before it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pre: Vec<Condition>,
    /// Conditions that must have come true after it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub post: Vec<Condition>,
    /// Steps that undo it, run in their order where a postcondition failed and no repair helped; never after a destructive
    /// step. They state no `undo` themselves.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub undo: Vec<Step>,
    /// Time limit of the whole step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<Millis>,
    /// Why, in the planner's words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explanation: Option<ShortText>,
    /// The planner's estimate of the risk.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub estimated_risk: Option<RiskLevel>,
    /// The planner's confidence in the step, from 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confidence: Option<Probability>,
}

impl From<Action> for Step {
    fn from(action: Action) -> Self {
        Self {
            action,
            pre: Vec::new(),
            post: Vec::new(),
            undo: Vec::new(),
            timeout_ms: None,
            explanation: None,
            estimated_risk: None,
            confidence: None,
        }
    }
}

/// Upper bound of a step's preconditions, and of its postconditions.
pub const MAX_CONDITIONS: usize = 20;
/// Upper bound of the steps that undo one.
pub const MAX_UNDO: usize = 5;

const PRE: &str = "pre";
const POST: &str = "post";
const UNDO: &str = "undo";
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
            undo: undo(&mut object)?,
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

    /// Rewrites every target of the action and the conditions through `rewrite`.
    pub fn retarget(&mut self, rewrite: &dyn Fn(&TargetRef) -> TargetRef) {
        self.action.retarget(rewrite);
        self.pre.iter_mut().chain(&mut self.post).for_each(|condition| condition.retarget(rewrite));
        self.undo.iter_mut().for_each(|step| step.retarget(rewrite));
    }
}

fn conditions(object: &mut Object, field: &str) -> Result<Vec<Condition>, ReadError> {
    let list: Vec<Condition> = wire::take(object, field)?.unwrap_or_default();
    if list.len() > MAX_CONDITIONS {
        let message = format!("{} conditions are more than the limit of {MAX_CONDITIONS}", list.len());
        return Err(ReadError::new(message).under(field));
    }
    Ok(list)
}

fn undo(object: &mut Object) -> Result<Vec<Step>, ReadError> {
    let steps: Vec<Step> = wire::take(object, UNDO)?.unwrap_or_default();
    if steps.len() > MAX_UNDO {
        let message = format!("{} steps are more than the limit of {MAX_UNDO}", steps.len());
        return Err(ReadError::new(message).under(UNDO));
    }
    if steps.iter().any(|step| !step.undo.is_empty()) {
        return Err(ReadError::new("a step that undoes another one cannot be undone itself").under(UNDO));
    }
    Ok(steps)
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
        let own = generator.subschema_for::<Self>();
        let undo = schemars::json_schema!({ "type": ["array", "null"], "items": own, "maxItems": MAX_UNDO });
        let variants: Vec<Schema> = Action::variant_schemas(generator)
            .into_iter()
            .map(|mut schema| {
                let fields = vec![
                    (PRE, list.clone()),
                    (POST, list.clone()),
                    (UNDO, undo.clone()),
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
