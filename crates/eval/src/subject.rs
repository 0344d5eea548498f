//! Subjects of a measurement: an agent for each episode, from the factory that makes them.

use std::sync::Arc;

use cuebook_grammar::plan::PlanDraft;
use cuebook_grammar::report::RunReport;

use crate::error::BoxError;
use crate::oracle::Script;
use crate::suite::{Suite, Task};

/// Assignment of an episode to an agent.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Assignment {
    /// 0-based number of the worker: it has one episode at a time.
    pub worker: usize,
    /// The suite of the task.
    pub suite: Arc<Suite>,
    /// The task to carry out.
    pub task: Arc<Task>,
    /// Seed of the episode, which all tasks share; for random choices there is [`Assignment::mixed_seed`].
    pub seed: u64,
    /// The page to start on.
    pub url: String,
    /// The consents of the suite, as `CLASS@ORIGIN`.
    pub grants: Vec<String>,
    /// Further origins that may be acted on.
    pub allow: Vec<String>,
    /// How the task is done, for the planner `oracle`. `None` if the suite does not state it.
    pub script: Option<Script>,
}

impl Assignment {
    /// A seed for what is drawn in this episode: another one for each task.
    #[must_use]
    pub fn mixed_seed(&self) -> u64 {
        fnv(self.task.name.bytes(), self.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }
}

/// FNV-1a of 64 bits, from another start.
/// Source: Fowler, Noll, Vo and Eastlake, "The FNV Non-Cryptographic Hash Algorithm".
pub(crate) fn fnv(bytes: impl IntoIterator<Item = u8>, start: u64) -> u64 {
    let begun = 0xcbf2_9ce4_8422_2325 ^ start;
    bytes.into_iter().fold(begun, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

/// An agent that is measured. It has one episode.
pub trait Subject: Send {
    /// Opens the page to start on, before the agent is told anything.
    fn open(&mut self, url: &str) -> impl Future<Output = Result<(), BoxError>>;

    /// Carries out the task.
    fn run(&mut self, instruction: &str) -> impl Future<Output = RunReport>;

    /// Runs a plan of the suite: the conditions that the page must meet in the end.
    fn follow(&mut self, plan: PlanDraft) -> impl Future<Output = RunReport>;

    /// Ends it, and everything that belongs to it.
    fn close(self) -> impl Future<Output = Result<(), BoxError>>;
}

/// Factory of the agents of an evaluation, shared by all workers.
pub trait Subjects: Send + Sync {
    /// Agent that this factory makes.
    type Subject: Subject;

    /// Makes the agent of an episode.
    fn subject(&self, assignment: &Assignment) -> impl Future<Output = Result<Self::Subject, BoxError>>;

    /// An episode of the worker broke or ran out of time: what its next agent shares with the last one is suspect.
    fn distrust(&self, worker: usize) -> impl Future<Output = ()> {
        let _ = worker;
        async {}
    }
}
