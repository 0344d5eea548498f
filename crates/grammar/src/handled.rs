//! Outcomes of actions that lie outside of the page: requests, files, commands, registered code.
//!
//! Invariant: the handler states whether the action was delivered. A repair depends on it: an action that may have been
//! delivered is repeated only if it is idempotent.

use std::time::Duration;

use serde_json::Value;

use crate::facts::{EventFacts, Facts, Sample};
use crate::outcome::{Evidence, Judged, StepFailure, StepOutcome, StepSuccess, Timings};
use crate::plan::{BoundStep, StatedCondition};

/// Delivery of an action, as far as it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// Nothing left this process.
    NotSent,
    /// It was delivered, with or without success.
    Sent,
    /// It may have been delivered: there was no response.
    Unknown,
}

impl StepOutcome {
    /// The outcome of `step`, carried out outside of the page within `took`. What was done is an effect that no
    /// page shows, so `anyEffect` holds, the only condition that the check lets such a step have.
    #[must_use]
    pub fn handled(
        step: &BoundStep,
        delivery: Delivery,
        done: Result<Value, Box<StepFailure>>,
        took: Duration,
    ) -> Self {
        let any_effect = done.is_ok().then_some(true);
        // Nothing of a page was seen, but a verdict is one on a moment.
        let events = EventFacts { any_effect, ..EventFacts::default() };
        let facts = Facts { samples: vec![Sample::default()], events, ..Facts::default() };
        let judged = |stated: &StatedCondition| Judged {
            condition: stated.condition.clone(),
            verdict: stated.condition.evaluate(&facts),
            vacuous: false,
            default: stated.is_default,
            latency_ms: None,
        };
        let post: Vec<Judged> = step.post().iter().map(judged).collect();
        let evidence = Evidence {
            post_facts: (!post.is_empty()).then_some(facts),
            post,
            input_sent: delivery != Delivery::NotSent,
            timings: Timings { act_ms: u32::try_from(took.as_millis()).unwrap_or(u32::MAX), ..Timings::default() },
            ..Evidence::default()
        };
        match done {
            Ok(data) => Self::Succeeded(StepSuccess { evidence, data: Some(data), ..StepSuccess::default() }),
            Err(failure) => Self::Failed(Box::new(StepFailure { evidence, ..*failure })),
        }
    }
}
