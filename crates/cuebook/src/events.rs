//! The events of an agent's runs as streams of owned values, beside its one listener.

use std::pin::Pin;
use std::task::{Context, Poll};

use cuebook_grammar::plan::{Plan, Violation};
use cuebook_grammar::record::{LoggedEvent, StepOrigin, StepRecord};
use cuebook_grammar::report::RunReport;
use cuebook_grammar::seam::Repair;
use cuebook_grammar::step::Step;
use cuebook_repair::{Listener, RunEvent};
use tokio::sync::broadcast;
use tokio_stream::wrappers::BroadcastStream;
use tokio_stream::wrappers::errors::BroadcastStreamRecvError;
use tokio_stream::{Stream, StreamExt};

/// Unread events that a stream keeps.
const CAPACITY: usize = 1_024;

/// An event of a run, as [`RunEvent`] has it, to be kept and sent to other tasks.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum AgentEvent {
    /// The page was observed.
    Observed {
        /// URL of the page, redacted as in the observation.
        url: String,
        /// Number of candidates on it.
        candidates: usize,
    },
    /// A plan passed the check.
    Planned(Box<Plan>),
    /// A draft did not pass the check.
    Rejected(Vec<Violation>),
    /// A note of the planner.
    Noted(String),
    /// A step is about to run.
    StepBegun {
        /// 0-based position in its plan; `None` for the start URL and for a repair.
        plan_index: Option<u32>,
        /// Part of the plan, a repair, or the opening of the start URL.
        origin: StepOrigin,
        /// The step that begins.
        step: Box<Step>,
        /// A description of its target in words.
        target: Option<String>,
    },
    /// A step ended, with its outcome in the record.
    StepEnded(Box<StepRecord>),
    /// A repair was chosen.
    Repairing(Box<Repair>),
    /// Something that the log keeps beside the steps.
    Logged(Box<LoggedEvent>),
    /// The run ended with this report.
    Ended(Box<RunReport>),
    /// This many events were dropped, because the stream was read too slowly.
    Missed(u64),
}

impl AgentEvent {
    /// `None` for a kind of event that is newer than this type.
    fn of(event: RunEvent<'_>) -> Option<Self> {
        Some(match event {
            RunEvent::Observed(page) => Self::Observed { url: page.url.clone(), candidates: page.candidates.len() },
            RunEvent::Planned(plan) => Self::Planned(Box::new(plan.clone())),
            RunEvent::Rejected(violations) => Self::Rejected(violations.to_vec()),
            RunEvent::Noted(note) => Self::Noted(note.to_owned()),
            RunEvent::StepBegun { plan_index, origin, step, target } => {
                Self::StepBegun { plan_index, origin, step: Box::new(step.clone()), target: target.map(str::to_owned) }
            }
            RunEvent::StepEnded(record) => Self::StepEnded(Box::new(record.clone())),
            RunEvent::Repairing(repair) => Self::Repairing(Box::new(repair.clone())),
            RunEvent::Logged(event) => Self::Logged(Box::new(event.clone())),
            _ => return None,
        })
    }
}

/// A stream of [`AgentEvent`]s. It ends with the agent.
#[derive(Debug)]
pub struct AgentEvents(BroadcastStream<AgentEvent>);

impl AgentEvents {
    /// The next event; `None` once the agent is closed or dropped, and all were read.
    pub async fn next(&mut self) -> Option<AgentEvent> {
        StreamExt::next(self).await
    }
}

impl Stream for AgentEvents {
    type Item = AgentEvent;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<AgentEvent>> {
        let next = Pin::new(&mut self.0).poll_next(context);
        next.map(|event| {
            event.map(|event| event.unwrap_or_else(|BroadcastStreamRecvError::Lagged(n)| AgentEvent::Missed(n)))
        })
    }
}

/// Sends events to all streams. Costs nothing while there is none.
#[derive(Clone, Debug)]
pub(crate) struct EventSender(broadcast::Sender<AgentEvent>);

impl EventSender {
    pub(crate) fn new() -> Self {
        Self(broadcast::Sender::new(CAPACITY))
    }

    pub(crate) fn subscribe(&self) -> AgentEvents {
        AgentEvents(BroadcastStream::new(self.0.subscribe()))
    }

    pub(crate) fn ended(&self, report: &RunReport) {
        self.send(|| Some(AgentEvent::Ended(Box::new(report.clone()))));
    }

    fn send(&self, event: impl FnOnce() -> Option<AgentEvent>) {
        if self.0.receiver_count() > 0
            && let Some(event) = event()
        {
            // The last stream may just have been dropped.
            self.0.send(event).ok();
        }
    }
}

/// A listener that also feeds the streams.
pub(crate) struct Forwarding {
    pub(crate) listener: Box<dyn Listener>,
    pub(crate) streams: EventSender,
}

impl Listener for Forwarding {
    fn event(&mut self, event: RunEvent<'_>) {
        self.listener.event(event);
        self.streams.send(|| AgentEvent::of(event));
    }
}
