//! Events of a session, for whoever watches it.
//!
//! Invariants:
//! - A watcher that reads slowly loses events and learns how many; it never holds the session up.
//! - The events of a call come before its answer.

use cuebook::{AgentEvent, AgentEvents};
use cuebook_grammar::facts::DialogKind;
use cuebook_grammar::record::{StepOrigin, StepRecord, StepResult};
use cuebook_grammar::render::{cut, quoted};
use cuebook_grammar::report::StepReport;
use serde::{Deserialize, Serialize};
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

use crate::answer::line;

/// Unread events that are kept for a watcher.
const CAPACITY: usize = 256;

/// Something that happened in a session. Texts of a page are quoted and bounded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", tag = "kind")]
#[non_exhaustive]
pub enum Event {
    /// A step is about to run.
    StepBegun {
        /// Number of the call in the session, from 1.
        call: u64,
        /// 1-based position in its plan; absent for a repair.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        step: Option<u32>,
        /// Steps of the plan.
        of: u32,
        /// Verb and target of the step.
        text: String,
    },
    /// A step ended, well or not.
    StepEnded {
        /// Number of the call in the session, from 1.
        call: u64,
        /// 1-based position in its plan; absent for a repair.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        step: Option<u32>,
        /// Steps of the plan.
        of: u32,
        /// `true` if it did what it should.
        is_ok: bool,
        /// Verdict and effect, as the answer has them.
        text: String,
    },
    /// A tab shows another page, or the same one was loaded again.
    PageChanged {
        /// URL of the page; absent if that is the one before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        url: Option<String>,
    },
    /// A JavaScript dialog opened.
    Dialog {
        /// Function or event that opened it.
        dialog: DialogKind,
        /// Text that it shows.
        message: String,
    },
    /// A step needs consent.
    Question {
        /// Number of the call in the session, from 1.
        call: u64,
        /// Text of the question.
        text: String,
    },
    /// An error on the console, or an exception that nothing caught.
    ConsoleError {
        /// Text of the error.
        message: String,
    },
    /// A step made the page offer a file.
    Download {
        /// The file, where it comes from, and how it ended if it did.
        text: String,
    },
    /// A person has taken over: calls may only look.
    Paused {
        /// When that was, in milliseconds since 1970.
        since_ms: u64,
    },
    /// The person has handed the session back.
    Resumed {
        /// When the person took over, in milliseconds since 1970.
        since_ms: u64,
        /// How long that was.
        duration_ms: u64,
        /// Steps that the person did, as far as they could be recorded.
        steps: usize,
    },
    /// Events that this watcher lost because it read too slowly.
    Missed {
        /// Number of the lost events.
        count: u64,
    },
    /// The session has ended. It is the last event.
    Ended {
        /// Folder of its log.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        log: Option<String>,
    },
}

impl Event {
    /// The call that it is about; `None` if it is not part of one.
    #[must_use]
    pub const fn call(&self) -> Option<u64> {
        match self {
            Self::StepBegun { call, .. } | Self::StepEnded { call, .. } | Self::Question { call, .. } => Some(*call),
            _ => None,
        }
    }

    /// The event as one of another call, where it is about one.
    #[must_use]
    pub(crate) fn of_call(mut self, number: u64) -> Self {
        if let Self::StepBegun { call, .. } | Self::StepEnded { call, .. } | Self::Question { call, .. } = &mut self {
            *call = number;
        }
        self
    }

    /// The event in one line.
    #[must_use]
    pub fn in_words(&self) -> String {
        let place = |step: &Option<u32>, of: &u32| step.map_or_else(String::new, |step| format!("{step}/{of} "));
        match self {
            Self::StepBegun { step, of, text, .. } => format!("{}{text} …", place(step, of)),
            Self::StepEnded { step, of, text, .. } => format!("{}{text}", place(step, of)),
            Self::PageChanged { url: Some(url) } => format!("page: {}", quoted(url, 300)),
            Self::PageChanged { url: None } => "page: loaded again".to_owned(),
            Self::Dialog { dialog, message } => {
                format!("dialog: {} {}", format!("{dialog:?}").to_lowercase(), quoted(message, 300))
            }
            Self::Question { text, .. } => format!("question: {text}"),
            Self::ConsoleError { message } => format!("console error: {}", quoted(message, 300)),
            Self::Download { text } => text.clone(),
            Self::Paused { .. } => "paused: a person has taken over".to_owned(),
            Self::Resumed { duration_ms, steps, .. } => {
                format!("resumed after {} s: {steps} steps of a person", duration_ms / 1_000)
            }
            Self::Missed { count } => format!("missed: {count} events, which came faster than they were read"),
            Self::Ended { .. } => "ended".to_owned(),
        }
    }
}

/// Events of a session from now on.
#[derive(Debug)]
pub struct Events(broadcast::Receiver<Event>);

impl Events {
    /// The next event; `None` once the session has ended and all were read.
    pub async fn next(&mut self) -> Option<Event> {
        match self.0.recv().await {
            Ok(event) => Some(event),
            Err(RecvError::Lagged(count)) => Some(Event::Missed { count }),
            Err(RecvError::Closed) => None,
        }
    }

    /// An event that has come already.
    pub fn waiting(&mut self) -> Option<Event> {
        match self.0.try_recv() {
            Ok(event) => Some(event),
            Err(broadcast::error::TryRecvError::Lagged(count)) => Some(Event::Missed { count }),
            Err(_) => None,
        }
    }
}

/// Sends events to all watchers.
#[derive(Clone, Debug)]
pub(crate) struct Hub(broadcast::Sender<Event>);

impl Hub {
    pub(crate) fn new() -> Self {
        Self(broadcast::Sender::new(CAPACITY))
    }

    pub(crate) fn watch(&self) -> Events {
        Events(self.0.subscribe())
    }

    pub(crate) fn send(&self, event: Event) {
        // Often nobody watches.
        self.0.send(event).ok();
    }
}

/// Turns the events of the run into those of the session.
pub(crate) struct Feed {
    news: AgentEvents,
    hub: Hub,
    call: u64,
    planned: u32,
    /// Position and target of the step that runs.
    running: (Option<u32>, Option<String>),
}

impl Feed {
    pub(crate) fn new(news: AgentEvents, hub: Hub) -> Self {
        Self { news, hub, call: 0, planned: 0, running: (None, None) }
    }

    pub(crate) fn begin(&mut self, call: u64) {
        self.call = call;
    }

    /// Passes the next event on.
    pub(crate) async fn pass(&mut self) {
        match self.news.next().await {
            Some(event) => self.take(event),
            // The agent is gone, and no more will come.
            None => std::future::pending().await,
        }
    }

    /// Passes on what has come already.
    pub(crate) async fn drain(&mut self) {
        loop {
            tokio::select! {
                biased;
                () = self.pass() => {}
                () = std::future::ready(()) => return,
            }
        }
    }

    fn take(&mut self, event: AgentEvent) {
        match event {
            AgentEvent::Planned(plan) => self.planned = u32::try_from(plan.steps().len()).unwrap_or(u32::MAX),
            AgentEvent::StepBegun { plan_index, origin, step, target } => {
                let position = plan_index.filter(|_| origin == StepOrigin::Plan).map(|index| index.saturating_add(1));
                let verb = step.action.kind().meta().name;
                let text =
                    target.as_ref().map_or_else(|| verb.to_owned(), |target| format!("{verb} {}", cut(target, 200)));
                self.running = (position, target);
                self.hub.send(Event::StepBegun { call: self.call, step: position, of: self.planned, text });
            }
            AgentEvent::StepEnded(record) => self.ended(&record),
            AgentEvent::Missed(count) => self.hub.send(Event::Missed { count }),
            _ => {}
        }
    }

    fn ended(&mut self, record: &StepRecord) {
        let (step, target) = std::mem::take(&mut self.running);
        let report = StepReport::of(record, 0, record.execution.duration_ms);
        let (of, is_ok, text) = (self.planned, record.result == StepResult::Ok, line(&report, target));
        self.hub.send(Event::StepEnded { call: self.call, step, of, is_ok, text });
        let Some(effects) = &record.effects else { return };
        if effects.url_after.is_some() || effects.new_document {
            self.hub.send(Event::PageChanged { url: effects.url_after.as_ref().map(|url| cut(url, 2_000)) });
        }
        for dialog in &effects.dialogs {
            let message = cut(&dialog.message, 300);
            self.hub.send(Event::Dialog { dialog: dialog.kind, message });
        }
        for error in &effects.console_errors {
            self.hub.send(Event::ConsoleError { message: cut(error, 300) });
        }
        for download in &effects.downloads {
            self.hub.send(Event::Download { text: download.in_words() });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_slow_watcher_learns_how_many_it_lost_and_the_sender_does_not_wait() {
        let hub = Hub::new();
        let mut slow = hub.watch();
        for number in 0..CAPACITY as u64 + 10 {
            hub.send(Event::Missed { count: number });
        }
        assert_eq!(slow.next().await, Some(Event::Missed { count: 10 }));
        assert_eq!(slow.next().await, Some(Event::Missed { count: 10 }), "the first that was kept");
        drop(hub);
        while slow.next().await.is_some() {}
        assert_eq!(slow.waiting(), None);
    }

    #[test]
    fn an_event_is_a_flat_object_with_its_kind() {
        let event = Event::StepEnded { call: 1, step: Some(2), of: 3, is_ok: true, text: "ok: click".to_owned() };
        let written = serde_json::json!({ "kind": "stepEnded", "call": 1, "step": 2, "of": 3, "isOk": true, "text": "ok: click" });
        assert_eq!(serde_json::to_value(&event).unwrap(), written);
        assert_eq!(event.clone().of_call(7).call(), Some(7));
        assert_eq!(event.in_words(), "2/3 ok: click");
    }
}
