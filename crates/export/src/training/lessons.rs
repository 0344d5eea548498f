//! The examples of a run.

use cuebook_decoding::read::read;
use cuebook_grammar::action::Action;
use cuebook_grammar::observation::Observation;
use cuebook_grammar::outcome::ArtifactRef;
use cuebook_grammar::plan::{Author, PlanDraft};
use cuebook_grammar::planning::{CallEnd, PlanningCall};
use cuebook_grammar::record::{Conclusion, StepOrigin, StepRecord, StepResult};
use cuebook_grammar::step::Step;
use cuebook_grammar::vision::VisionFeature;

use super::classes::{Class, classes};
use super::story::Story;
use super::{answer, is_redacted};
use crate::candidates::by_ids;
use crate::locating;
use crate::source::{ExportEntry, Pages, RunSource};

/// A request and the plan that answers it.
pub(super) struct TrainingExample {
    pub(super) request: String,
    pub(super) answer: String,
    /// The plan as it was written, and not one of its steps alone.
    pub(super) is_whole: bool,
    pub(super) classes: Vec<Class>,
    /// The first step of the plan; `None` for the end of the task.
    pub(super) step_index: Option<u32>,
    /// The page before that step, if the run kept pictures.
    pub(super) picture: Option<ArtifactRef>,
}

impl TrainingExample {
    fn of(request: String, draft: &PlanDraft, step_index: Option<u32>) -> Option<Self> {
        let answer = answer(draft)?;
        Some(Self { request, answer, is_whole: false, classes: classes(&draft.steps), step_index, picture: None })
    }

    fn of_step(request: Option<String>, step: Step, step_index: Option<u32>) -> Option<Self> {
        Self::of(request?, &PlanDraft::of(Author::Model, vec![step]), step_index)
    }
}

/// The plan that steps belong to: the call of a model, or what another planner called it.
#[derive(Clone, PartialEq)]
enum Source {
    Call(u32),
    Plan(String),
}

/// A plan, and what came of its steps so far.
struct Planned {
    source: Source,
    /// The request for it.
    request: Option<String>,
    /// The plan as a model wrote it.
    draft: Option<PlanDraft>,
    /// How many of its steps ran.
    count: usize,
    /// These steps, by the ids of the page that the plan was made for; `None` if one is not on that page.
    ran: Option<Vec<Step>>,
    /// A step that failed, if only at first.
    has_failed: bool,
    /// A step whose text was redacted: what comes before and after it would teach to do without it.
    is_redacted: bool,
    /// Its planner was given features of a picture, which the requests of its single steps lack.
    has_seen: bool,
    first: Option<u32>,
    /// The page before the first step.
    picture: Option<ArtifactRef>,
    ends_task: bool,
    /// The examples of its steps, one by one.
    steps: Vec<TrainingExample>,
}

impl Planned {
    const fn of(source: Source, request: Option<String>) -> Self {
        Self {
            source,
            request,
            draft: None,
            count: 0,
            ran: Some(Vec::new()),
            has_failed: false,
            is_redacted: false,
            has_seen: false,
            first: None,
            picture: None,
            ends_task: false,
            steps: Vec::new(),
        }
    }

    fn note(&mut self, record: &StepRecord, step: Option<Step>, one: Option<TrainingExample>) {
        self.has_failed |= record.result != StepResult::Ok;
        self.is_redacted |= is_redacted(&record.action);
        if self.first.is_none() {
            self.first = Some(record.step_index);
            self.picture = locating::before(record).cloned();
        }
        self.count += 1;
        self.ran = self.ran.take().zip(step).map(|(ran, step)| [ran, vec![step]].concat());
        self.steps.extend(one);
    }

    /// Returns `true` if its last step asks the user, whose answer no record has.
    fn asks(&self) -> bool {
        let last = self.draft.as_ref().and_then(|draft| draft.steps.last());
        last.is_some_and(|step| matches!(step.action, Action::AskUser(_)))
    }

    /// The plan as one example, as far as it ran, or its steps.
    fn taken(self) -> Vec<TrainingExample> {
        if self.is_redacted {
            return Vec::new();
        }
        let ends = self.ends_task || self.asks();
        let has_worked = !self.has_failed && (self.first.is_some() || ends);
        let draft = match self.draft {
            Some(mut draft) => {
                if !ends {
                    draft.steps.truncate(self.count);
                }
                Some(draft)
            }
            None => self.ran.map(|ran| PlanDraft::of(Author::Model, ran)),
        };
        let whole = self.request.zip(draft.filter(|_| has_worked));
        let whole = whole.and_then(|(request, draft)| TrainingExample::of(request, &draft, self.first));
        let whole = whole.map(|whole| TrainingExample { picture: self.picture, is_whole: true, ..whole });
        let alone = if self.has_seen { Vec::new() } else { self.steps };
        whole.map_or(alone, |whole| vec![whole])
    }
}

/// Knowledge of the planner that the log does not have.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Untold {
    #[default]
    Nothing,
    /// Why a plan without steps was not the end: until the next step runs.
    WhyNotDone,
    /// An answer of the user.
    Answer,
}

/// The examples of a run, as they become complete.
#[derive(Default)]
pub(super) struct Lessons {
    pub(super) story: Story,
    open: Option<Planned>,
    untold: Untold,
}

impl Lessons {
    pub(super) fn take(&mut self, run: &RunSource, seen: &ExportEntry, pages: &Pages) -> Vec<TrainingExample> {
        let ended_well = run.ended_well();
        let taken = match seen {
            ExportEntry::Header(_) => {
                *self = Self::default();
                Vec::new()
            }
            // What was quoted from a page, or seen on its picture, is no plan.
            ExportEntry::Planning(record) if ended_well && record.call.purpose.is_for_plan() => {
                let page = record.observation.and_then(|id| pages.get(id));
                let taken = self.turn(Source::Call(record.planning_index), page, &record.call.features);
                if let Some(open) = &mut self.open {
                    open.draft = as_answered(&record.call);
                }
                taken
            }
            ExportEntry::Step(record) if ended_well && record.origin != StepOrigin::Start => self.step(record, pages),
            ExportEntry::End(end) => {
                let conclusion = end.conclusion.as_ref().filter(|_| ended_well || run.gave_up);
                match conclusion {
                    Some(conclusion) => self.conclude(conclusion, pages),
                    None => self.close(),
                }
            }
            _ => Vec::new(),
        };
        self.story.take(seen, pages);
        taken
    }

    fn step(&mut self, record: &StepRecord, pages: &Pages) -> Vec<TrainingExample> {
        // What needs no target may have been decided on no page of its own.
        let page = record.observation.map_or_else(|| pages.last(), |id| pages.get(id));
        let mut taken = match source(record) {
            Some(source) => self.turn(source, page, &[]),
            None => self.close(),
        };
        if self.untold == Untold::WhyNotDone {
            self.untold = Untold::Nothing;
        }
        let step = page.and_then(|page| by_ids(record, page));
        let worked = step.clone().filter(|_| record.result == StepResult::Ok);
        let request = page.filter(|_| worked.is_some()).and_then(|page| self.request(page, &[]));
        let one = worked.and_then(|step| TrainingExample::of_step(request, step, Some(record.step_index)));
        let one = one.map(|one| TrainingExample { picture: locating::before(record).cloned(), ..one });
        match &mut self.open {
            Some(open) => open.note(record, step, one),
            None => taken.extend(one),
        }
        taken
    }

    fn conclude(&mut self, conclusion: &Conclusion, pages: &Pages) -> Vec<TrainingExample> {
        if let Some(open) = self.open.as_mut().filter(|open| open.draft.is_some()) {
            open.ends_task = true;
            return self.close();
        }
        let mut taken = self.close();
        let page = conclusion.observation.and_then(|id| pages.get(id));
        let request = page.and_then(|page| self.request(page, &[]));
        taken.extend(TrainingExample::of_step(request, conclusion.step.clone(), None));
        taken
    }

    /// The request for a plan on this page, if the log has all that the planner knew.
    pub(super) fn request(&self, page: &Observation, features: &[VisionFeature]) -> Option<String> {
        self.story.request(page, features).filter(|_| self.untold == Untold::Nothing)
    }

    /// Goes on to a plan that is made on this page. Returns the examples of the one before.
    fn turn(&mut self, source: Source, page: Option<&Observation>, features: &[VisionFeature]) -> Vec<TrainingExample> {
        if self.open.as_ref().is_some_and(|open| open.source == source) {
            return Vec::new();
        }
        let taken = self.close();
        let request = page.and_then(|page| self.request(page, features));
        self.open = Some(Planned { has_seen: !features.is_empty(), ..Planned::of(source, request) });
        taken
    }

    fn close(&mut self) -> Vec<TrainingExample> {
        let Some(open) = self.open.take() else { return Vec::new() };
        if open.asks() {
            self.untold = Untold::Answer;
        } else if open.draft.is_some() && open.first.is_none() && self.untold == Untold::Nothing {
            self.untold = Untold::WhyNotDone;
        }
        open.taken()
    }
}

/// The plan of a step. A repair without a model has none, and neither has a step of a person.
fn source(record: &StepRecord) -> Option<Source> {
    if let Some(call) = record.planning {
        return Some(Source::Call(call));
    }
    let plan = record.plan_id.as_ref().filter(|_| record.origin == StepOrigin::Plan)?;
    Some(Source::Plan(plan.to_string()))
}

/// The plan of a call; `None` for calls without one.
pub(super) fn as_answered(call: &PlanningCall) -> Option<PlanDraft> {
    if call.end != CallEnd::Accepted {
        return None;
    }
    read(&call.output, Author::Model).ok()
}
