//! How each kind of case is carried out and judged.

pub(crate) mod action;
pub(crate) mod aria;
pub(crate) mod condition;
pub(crate) mod locate;
pub(crate) mod role_name;

use anyhow::Result;
use cuebook_grammar::outcome::{StepFailure, StepOutcome};
use serde_json::{Value, json};

use crate::conformance::case::Target;
use crate::conformance::stage::{Stage, Stepped};
use crate::conformance::target;
use crate::conformance::verdict::{Bucket, Failure};

/// Returns the seen text, cut to a length that a person reads.
pub(crate) fn shortened(text: &str) -> String {
    const MOST: usize = 700;
    let mut out: String = text.chars().take(MOST).collect();
    if text.chars().nth(MOST).is_some() {
        out.push('…');
    }
    out
}

/// A failure in words, with what it was judged on.
pub(crate) fn described(failure: &StepFailure) -> String {
    let facts = failure.facts.conditions.as_ref().map(|facts| json!(facts.samples.last()).to_string());
    shortened(&format!(
        "{} at {:?}: {}{}",
        failure.cause.as_str(),
        failure.stage,
        failure.message,
        facts.map(|facts| format!("; {facts}")).unwrap_or_default()
    ))
}

/// Declares targets under the names `t0`, `t1`, …
#[derive(Debug, Default)]
pub(crate) struct Declared(serde_json::Map<String, Value>);

impl Declared {
    /// The name under which a target is declared.
    pub(crate) fn add(&mut self, target: &Target) -> Result<String, Failure> {
        let locator = target::locator(target)
            .map_err(|error| Failure::new(Bucket::NoSuchVerb("target".to_owned()), error.to_string(), ""))?;
        let name = format!("t{}", self.0.len());
        self.0.insert(name.clone(), locator);
        Ok(name)
    }

    pub(crate) fn into_value(self) -> Value {
        Value::Object(self.0)
    }
}

/// Runs a step that must go well, and returns what it read.
///
/// # Errors
/// The outer one if the machinery breaks, the inner one if the step does not go well.
pub(crate) async fn must_go_well(
    stage: &mut Stage,
    declared: Declared,
    step: Value,
) -> Result<Result<Option<Value>, Failure>> {
    let words = shortened(&step.to_string());
    Ok(match stage.step(&declared.into_value(), &step).await? {
        Stepped::Refused(why) => Err(Failure::new(Bucket::PlanRefused, words, why)),
        Stepped::Ended(StepOutcome::Failed(failure)) => {
            Err(Failure::new(Bucket::StepFailed(failure.cause), words, described(&failure)))
        }
        Stepped::Ended(StepOutcome::Succeeded(success)) => Ok(success.data),
    })
}
