//! Budgets: what makes every run end.

use std::time::Duration;

/// How much a run may use. Every loop of the controller spends one of these, so every run ends.
///
/// ```
/// use std::time::Duration;
///
/// use cuebook_repair::Budgets;
///
/// let budgets = Budgets { run: Duration::from_secs(60), ..Budgets::default() };
/// assert_eq!(budgets.time_for(None), Duration::from_secs(10));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budgets {
    /// Plans requested in one run.
    pub iterations: u32,
    /// Repairs of one step.
    pub repairs_per_step: u32,
    /// Repairs in one run.
    pub repairs_per_run: u32,
    /// Failed steps of one run that the planner is asked to mend; none by default. For planners that can plan for a single
    /// step: a model, not a program that answers with its next plan.
    pub planned_repairs: u32,
    /// Calls of the planner's model in one run to quote from the text of a page what an `extract` by a JSON Schema leaves
    /// open; none by default.
    pub fills: u32,
    /// Drafts in a row that fail the check before the run gives up.
    pub invalid_drafts: u32,
    /// Consents that a person is asked for in one run: who is asked too often stops reading.
    pub questions: u32,
    /// Time for a step that states none.
    pub step: Duration,
    /// Upper bound of the time that a step may state.
    pub step_limit: Duration,
    /// Time for one observation.
    pub observation: Duration,
    /// Time for one plan.
    pub planning: Duration,
    /// Time for a page that checks the browser to go away by itself.
    pub interstitial: Duration,
    /// Time for a test for humans to be passed without a person.
    pub captcha: Duration,
    /// Time for a person to answer.
    pub answer: Duration,
    /// Time for the whole run.
    pub run: Duration,
}

impl Default for Budgets {
    fn default() -> Self {
        Self {
            iterations: 40,
            repairs_per_step: 4,
            repairs_per_run: 20,
            planned_repairs: 0,
            fills: 0,
            invalid_drafts: 2,
            questions: 30,
            step: Duration::from_secs(10),
            step_limit: Duration::from_secs(600),
            observation: Duration::from_secs(10),
            planning: Duration::from_secs(120),
            interstitial: Duration::from_secs(30),
            captcha: Duration::from_secs(5),
            answer: Duration::from_secs(300),
            run: Duration::from_secs(600),
        }
    }
}

impl Budgets {
    /// Time for a step that states `stated`.
    #[must_use]
    pub fn time_for(&self, stated: Option<Duration>) -> Duration {
        stated.unwrap_or(self.step).min(self.step_limit)
    }
}
