//! The request for a run, its events, and its interruption.

use std::borrow::Cow;
use std::future::Future;
use std::sync::Arc;

use cuebook_grammar::id::{PageId, RunId};
use cuebook_grammar::observation::Observation;
use cuebook_grammar::plan::{Plan, PlanDraft, Violation};
use cuebook_grammar::policy::Policy;
use cuebook_grammar::record::{CaseRun, LoggedEvent, StepOrigin, StepRecord};
use cuebook_grammar::seam::Repair;
use cuebook_grammar::step::Step;
use tokio::sync::watch;

/// Work that a run is to do.
#[derive(Clone, Debug)]
pub enum Work {
    /// A task in words, for the planner.
    Task(String),
    /// A plan to run as it is.
    Plan(Box<PlanDraft>),
    /// A plan that was recorded: logged as a replay, and repaired on observations of the whole page.
    Replay(Box<PlanDraft>),
    /// Whatever is given to it while it is open ([`Controller::begin`](crate::Controller::begin)).
    Session,
}

/// How a page is shown to the planner.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sight {
    /// The observation alone, as text.
    #[default]
    Words,
    /// The observation, and a picture of the viewport where the modeler has one.
    Pictures,
    /// As [`Pictures`](Self::Pictures), in requests that follow a failed step or a repetition; in all others words alone.
    AfterFailure,
    /// As [`Pictures`](Self::Pictures), without the boxes and ids of candidates: for models that point.
    Bare,
}

impl Sight {
    /// The observation from which the picture of a request is drawn; `None` for words alone. `is_in_trouble`: a step failed
    /// before it, or the run repeats itself.
    #[must_use]
    pub fn pictured(self, observation: &Observation, is_in_trouble: bool) -> Option<Cow<'_, Observation>> {
        match self {
            Self::Words => None,
            Self::AfterFailure if !is_in_trouble => None,
            Self::Pictures | Self::AfterFailure => Some(Cow::Borrowed(observation)),
            Self::Bare => {
                let mut bare = observation.clone();
                // What is ambiguous gets no mark, and is painted over all the same if it is a secret.
                bare.candidates.iter_mut().for_each(|candidate| candidate.ambiguous = true);
                Some(Cow::Owned(bare))
            }
        }
    }
}

/// Work of one run, where it begins, and the policy that bounds it.
#[derive(Clone, Debug)]
pub struct RunRequest {
    /// The id of the run.
    pub run_id: RunId,
    /// The folder of its log, for the report.
    pub run_dir: Option<String>,
    /// The work to do: a task, a plan or a replay.
    pub work: Work,
    /// The observation whose ids a plan names, if another process made it: they are bound to what means the same now.
    /// Without one, ids are those of observations of this session.
    pub observed: Option<Box<Observation>>,
    /// The URL to open first.
    pub start_url: Option<String>,
    /// Steps to run once the start URL is open, before anything is planned.
    pub opening: Option<PlanDraft>,
    /// The tab to work in.
    pub page: PageId,
    /// More work may follow on the page as it is left: the field that was entered last keeps the focus.
    pub goes_on: bool,
    /// The policy that says which actions are allowed.
    pub policy: Policy,
    /// How a page is shown to the planner.
    pub sight: Sight,
    /// The file that the plan is from, for the log.
    pub plan_file: Option<String>,
    /// Name of the session that the run is, for the log.
    pub session: Option<String>,
    /// Part of a test case that the run is, for the log.
    pub case: Option<CaseRun>,
    /// The version of the program, for the log.
    pub program: String,
    /// The browser, for the log.
    pub browser: Option<String>,
    /// The program of a browser that was launched, for the log.
    pub browser_path: Option<String>,
}

impl RunRequest {
    /// Work in a tab as it is, shown as text, by this version of the program.
    #[must_use]
    pub fn new(run_id: RunId, work: Work, page: PageId, policy: Policy) -> Self {
        Self {
            run_id,
            run_dir: None,
            work,
            observed: None,
            start_url: None,
            opening: None,
            page,
            goes_on: false,
            policy,
            sight: Sight::default(),
            plan_file: None,
            session: None,
            case: None,
            program: env!("CARGO_PKG_VERSION").to_owned(),
            browser: None,
            browser_path: None,
        }
    }

    /// With a URL to open first.
    #[must_use]
    pub fn starting_at(self, url: impl Into<String>) -> Self {
        Self { start_url: Some(url.into()), ..self }
    }
}

/// An event of a run.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum RunEvent<'a> {
    /// The page was observed.
    Observed(&'a Observation),
    /// A plan passed the check.
    Planned(&'a Plan),
    /// A draft did not pass the check.
    Rejected(&'a [Violation]),
    /// A note of the planner.
    Noted(&'a str),
    /// A step is about to run.
    StepBegun {
        /// 0-based position in its plan; `None` for the start URL and for a repair.
        plan_index: Option<u32>,
        /// Part of the plan, a repair, or the opening of the start URL.
        origin: StepOrigin,
        /// The step that begins.
        step: &'a Step,
        /// A description of its target in words.
        target: Option<&'a str>,
    },
    /// A step ended, with its outcome in the record.
    StepEnded(&'a StepRecord),
    /// A repair was chosen.
    Repairing(&'a Repair),
    /// Something that the log keeps beside the steps.
    Logged(&'a LoggedEvent),
}

/// Receives the events of a run.
pub trait Listener: Send {
    /// Called for each event.
    fn event(&mut self, event: RunEvent<'_>);
}

impl Listener for () {
    fn event(&mut self, _: RunEvent<'_>) {}
}

impl<T: Listener + ?Sized> Listener for Box<T> {
    fn event(&mut self, event: RunEvent<'_>) {
        (**self).event(event);
    }
}

/// Interrupts a run from outside. Clones interrupt the same run.
#[derive(Clone, Debug)]
pub struct Interrupt {
    sender: Arc<watch::Sender<bool>>,
}

impl Default for Interrupt {
    fn default() -> Self {
        Self { sender: Arc::new(watch::channel(false).0) }
    }
}

impl Interrupt {
    /// Ends the run at its next await; the current step stays open in the log.
    pub fn trigger(&self) {
        self.sender.send_replace(true);
    }

    /// Waits until it is triggered.
    pub async fn triggered(&self) {
        // The sender lives as long as this.
        self.sender.subscribe().wait_for(|triggered| *triggered).await.ok();
    }

    /// Runs `work` unless the interrupt comes first.
    pub(crate) async fn guard<T>(&self, work: impl Future<Output = T>) -> Result<T, Interrupted> {
        tokio::select! {
            biased;
            () = self.triggered() => Err(Interrupted),
            value = work => Ok(value),
        }
    }
}

/// The interrupt came first.
pub(crate) struct Interrupted;
