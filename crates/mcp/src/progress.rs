//! Progress of a call, for a client that asked for it.

use std::time::{Duration, Instant};

use cuebook_session::Event;
use rmcp::RoleServer;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::RequestContext;

/// Notifications are at least this far apart.
const PACE: Duration = Duration::from_millis(200);
/// After this long without news, the time that a step takes is notified.
pub(crate) const BEAT: Duration = Duration::from_secs(2);
/// The longest message, in characters.
const MESSAGE: usize = 300;

/// Progress of one call: the steps that are done of those of its plan, with a part of the one that runs.
#[derive(Debug)]
pub(crate) struct Report {
    token: ProgressToken,
    began: Instant,
    /// 1-based position of the last step that did what it should.
    done: u32,
    of: u32,
    /// How often the one that runs was waited for.
    beats: u32,
    sent: Option<(Instant, f64)>,
    /// News that came too soon after others.
    held: Option<String>,
}

impl Report {
    /// `None` if the client does not ask for it.
    pub(crate) fn of(context: &RequestContext<RoleServer>) -> Option<Self> {
        let token = context.meta.get_progress_token()?;
        Some(Self { token, began: Instant::now(), done: 0, of: 1, beats: 0, sent: None, held: None })
    }

    /// Takes an event of the call in. Returns what to notify of.
    pub(crate) fn event(&mut self, event: &Event, now: Instant) -> Option<ProgressNotificationParam> {
        match event {
            Event::StepBegun { of, text, .. } => {
                self.of = (*of).max(1);
                self.held = Some(text.clone());
            }
            Event::StepEnded { step, of, is_ok, text, .. } => {
                self.of = (*of).max(1);
                if let (Some(step), true) = (step, is_ok) {
                    (self.done, self.beats) = (self.done.max(*step), 0);
                }
                self.held = Some(text.clone());
            }
            _ => return None,
        }
        self.is_due(now).then(|| self.notify(now))?
    }

    /// The call goes on without news.
    pub(crate) fn beat(&mut self, now: Instant) -> Option<ProgressNotificationParam> {
        self.beats = self.beats.saturating_add(1);
        self.held.get_or_insert_with(|| format!("{} s", now.duration_since(self.began).as_secs()));
        self.notify(now)
    }

    /// News that were held back, when the call ends.
    pub(crate) fn last(&mut self, now: Instant) -> Option<ProgressNotificationParam> {
        self.notify(now)
    }

    fn is_due(&self, now: Instant) -> bool {
        self.sent.is_none_or(|(sent, _)| now.duration_since(sent) >= PACE)
    }

    fn notify(&mut self, now: Instant) -> Option<ProgressNotificationParam> {
        let message = self.held.take()?;
        // A step that runs gets ever closer to its end, and each notification says more than the one before.
        let least = |before: f64| before + (f64::from(self.done) + 1.0 - before).max(0.0) / 100.0;
        let mut progress = f64::from(self.done) + 1.0 - 1.0 / (1.0 + f64::from(self.beats) / 10.0);
        if let Some((_, before)) = self.sent.filter(|(_, before)| progress <= *before) {
            progress = least(before);
        }
        self.sent = Some((now, progress));
        let message = message.chars().take(MESSAGE).collect::<String>();
        let total = f64::from(self.of).max(progress);
        Some(ProgressNotificationParam::new(self.token.clone(), progress).with_total(total).with_message(message))
    }
}

#[cfg(test)]
mod tests {
    use rmcp::model::NumberOrString;

    use super::*;

    fn report() -> Report {
        let token = ProgressToken(NumberOrString::Number(7));
        Report { token, began: Instant::now(), done: 0, of: 1, beats: 0, sent: None, held: None }
    }

    fn ended(step: u32, is_ok: bool) -> Event {
        let text = format!("ok: step {step}");
        Event::StepEnded { call: 1, step: Some(step), of: 100, is_ok, text }
    }

    #[test]
    fn it_grows_is_bounded_in_rate_and_ends_with_the_last_step() {
        let (mut report, began) = (report(), Instant::now());
        let mut sent = Vec::new();
        for step in 1..=100 {
            let now = began + Duration::from_millis(10) * step;
            sent.extend(report.event(&ended(step, true), now));
        }
        sent.extend(report.last(began + Duration::from_secs(1)));
        assert!((5..=7).contains(&sent.len()), "{}", sent.len());
        assert!(sent.windows(2).all(|pair| pair[0].progress < pair[1].progress), "{sent:?}");
        let last = sent.last().unwrap();
        assert_eq!((last.progress, last.total, last.message.as_deref()), (100.0, Some(100.0), Some("ok: step 100")));
        assert!(report.last(began).is_none(), "nothing is said twice");
    }

    #[test]
    fn a_step_that_takes_long_grows_and_never_counts_as_done() {
        let (mut report, began) = (report(), Instant::now());
        let begun = Event::StepBegun { call: 1, step: Some(1), of: 2, text: "waitFor".to_owned() };
        let mut last = report.event(&begun, began).unwrap().progress;
        for beat in 1..200 {
            let next = report.beat(began + BEAT * beat).unwrap();
            assert!(next.progress > last && next.progress < 1.0 && next.total == Some(2.0), "{next:?}");
            last = next.progress;
        }
        let failed = report.event(&ended(1, false), began + BEAT * 300).unwrap();
        assert!(failed.progress < 1.0, "a step that failed is not done: {failed:?}");
    }
}
