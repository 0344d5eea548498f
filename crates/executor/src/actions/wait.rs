//! Waiting, and stating what holds.

use std::time::{Duration, Instant};

use cuebook_grammar::action::WaitForIdle;
use cuebook_grammar::condition::Condition;
use cuebook_grammar::outcome::{Cause, Stage};
use serde_json::json;

use crate::actions::ActResult;
use crate::run::StepRun;
use crate::seen::Event;
use crate::settling::QUIET;
use crate::step::unmet;
use crate::stop::Part;

const POLL: Duration = Duration::from_millis(50);

impl StepRun<'_> {
    /// Begins to watch; the condition is awaited with the postconditions.
    pub(crate) async fn wait_for(&mut self) -> Part<()> {
        self.watch().await?;
        self.saw(Event::Input);
        Ok(())
    }

    /// Waits until no request was in flight for a while. A page that never rests does not fail the step: the result
    /// is `{"idle": false}`.
    pub(crate) async fn wait_for_idle(&mut self, action: &WaitForIdle) -> Part<ActResult> {
        let quiet = action.quiet_ms.map_or(QUIET, |quiet| quiet.duration());
        let by = self.within(quiet.saturating_add(self.options.ready_timeout));
        let mut is_idle = false;
        while !is_idle {
            let now = Instant::now();
            if now >= by {
                break;
            }
            let left = by.saturating_duration_since(now);
            // At the deadline itself it would be too late to answer.
            let nap = POLL.min(left);
            if now + nap >= self.until {
                break;
            }
            self.pause(Stage::Act, nap).await?;
            is_idle = self.is_quiet(quiet);
        }
        Ok(ActResult { data: Some(json!({ "idle": is_idle })), ..self.untargeted() })
    }

    /// Judges whether a condition holds now, or a frame later.
    pub(crate) async fn assert(&mut self, condition: &Condition) -> Part<()> {
        let wanted = [condition.clone()];
        let (mut facts, mut judged) = self.judge_now(&wanted).await?;
        if !judged.iter().all(|one| one.verdict.holds()) {
            self.pause(Stage::Act, POLL).await?;
            (facts, judged) = self.judge_now(&wanted).await?;
        }
        let Some(one) = judged.first() else { return Ok(()) };
        if one.verdict.holds() {
            if self.step.post().is_empty() {
                self.evidence.post = judged;
                self.evidence.post_facts = Some(facts);
            }
            return Ok(());
        }
        let failure = unmet(self.step, Stage::Postcondition, Cause::PostconditionFailed, &one.condition, facts);
        Err(failure.into())
    }
}
