//! A person who takes the browser over: meanwhile calls may look, and not act.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use cuebook::repair::{Interrupt, now_ms};
use serde_json::Value;

use crate::call::{Call, Request};
use crate::events::{Event, Hub};

/// Verbs that only look, and send no input to the page.
const LOOKING: [&str; 10] = [
    "assert",
    "waitFor",
    "waitForIdle",
    "extract",
    "snapshot",
    "screenshot",
    "getDom",
    "searchPage",
    "findElements",
    "resolveSelector",
];

/// Who has the browser of a session. Clones are about the same session.
#[derive(Clone, Debug)]
pub(crate) struct TakeOver {
    state: Arc<Mutex<State>>,
    hub: Hub,
}

#[derive(Debug, Default)]
struct State {
    since: Option<(Instant, u64)>,
    /// Calls that are admitted now came before the person, who waits for them.
    is_beginning: bool,
    /// The call that runs, or ran last.
    running: Option<Interrupt>,
}

impl TakeOver {
    pub(crate) fn new(hub: Hub) -> Self {
        Self { state: Arc::default(), hub }
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A person takes over; the call that runs is interrupted. Returns the time since when, in milliseconds since 1970.
    pub(crate) fn begin(&self) -> u64 {
        let mut state = self.state();
        state.is_beginning = true;
        if let Some((_, since_ms)) = state.since {
            return since_ms;
        }
        let since_ms = now_ms();
        state.since = Some((Instant::now(), since_ms));
        if let Some(running) = state.running.take() {
            running.trigger();
        }
        self.hub.send(Event::Paused { since_ms });
        since_ms
    }

    /// As [`begin`](Self::begin), once the calls before it have ended.
    pub(crate) fn begun(&self) -> u64 {
        let since_ms = self.begin();
        self.state().is_beginning = false;
        since_ms
    }

    /// The person hands the browser back. Returns since when they had it, and for how long, in milliseconds.
    pub(crate) fn end(&self) -> Option<(u64, u64)> {
        let (began, since_ms) = self.state().since.take()?;
        Some((since_ms, u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX)))
    }

    /// Notes the call that begins.
    ///
    /// # Errors
    /// Why it may not, while a person has the browser.
    pub(crate) fn admit(&self, request: &Request, interrupt: &Interrupt) -> Result<(), String> {
        let mut state = self.state();
        let only_looks = only_looks(&request.call);
        if let Some((began, _)) = state.since.filter(|_| !only_looks) {
            let ago = began.elapsed().as_secs();
            return Err(format!(
                "a person has taken over the browser {ago} s ago, and nothing was done: until they hand it back with \
                 `cuebook resume`, a call may only look at the page"
            ));
        }
        state.running = Some(interrupt.clone());
        if state.since.is_some() && state.is_beginning {
            interrupt.trigger();
        }
        Ok(())
    }
}

fn only_looks(call: &Call) -> bool {
    let looks = |step: &Value| LOOKING.iter().any(|verb| step["type"] == *verb);
    match call {
        Call::Look
        | Call::LookInto(_)
        | Call::Wait { .. }
        | Call::Verify(_)
        | Call::Ask(_)
        | Call::Changes
        | Call::Pause(_)
        | Call::Tabs
        | Call::SelectTab(_) => true,
        Call::Plan { is_dry, .. } => *is_dry,
        Call::Act(steps) => steps.iter().all(looks),
        Call::Context(what) => what.only_looks(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn while_a_person_has_the_browser_calls_may_only_look() {
        let hub = Hub::new();
        let mut events = hub.watch();
        let person = TakeOver::new(hub);
        let click = Request::of(Call::Act(vec![json!({ "type": "click", "targetRef": "c1" })]));
        let (running, later) = (Interrupt::default(), Interrupt::default());
        person.admit(&click, &running).unwrap();
        let since = person.begin();
        running.triggered().await;
        let waiting = Interrupt::default();
        person.admit(&Request::of(Call::Look), &waiting).unwrap();
        waiting.triggered().await;
        assert_eq!(person.begun(), since, "once");
        assert!(person.admit(&click, &later).unwrap_err().contains("a person has taken over"));
        let read = Request::of(Call::Act(vec![json!({ "type": "extract" })]));
        for looking in [Request::of(Call::Look), Request::of(Call::Tabs), read] {
            person.admit(&looking, &later).unwrap();
        }
        assert_eq!(person.end().map(|(began, _)| began), Some(since));
        assert_eq!(person.end(), None);
        person.admit(&click, &later).unwrap();
        assert_eq!(events.waiting(), Some(Event::Paused { since_ms: since }));
    }
}
