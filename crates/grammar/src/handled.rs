//! Outcomes of actions that lie outside of the page: requests, files, commands, registered code.
//!
//! Invariant: whoever makes one says whether the action reached the world. A repair goes by it: what may have
//! arrived is run again only if running it twice is the same as running it once.

use std::time::Duration;

use serde_json::Value;

use crate::facts::{EventFacts, Facts, Sample};
use crate::outcome::{Evidence, Judged, StepFailure, StepOutcome, StepSuccess, Timings};
use crate::plan::{BoundStep, StatedCondition};

/// Whether an action reached what it acts on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// Nothing left this process.
    NotSent,
    /// It arrived, whatever came of it.
    Sent,
    /// It may have arrived: there was no answer.
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
