//! The state of a run: its tab, its current observation, what is left of its budgets, its history.

use std::mem;
use std::time::Instant;

use cuebook_grammar::action::{Action, ActionKind};
use cuebook_grammar::deadline::Deadline;
use cuebook_grammar::effect::EffectClass;
use cuebook_grammar::facts::EventFacts;
use cuebook_grammar::id::{ObservationId, PageId};
use cuebook_grammar::observation::{Observation, Scope};
use cuebook_grammar::outcome::{Late, StepSuccess};
use cuebook_grammar::plan::BoundStep;
use cuebook_grammar::record::Conclusion;
use cuebook_grammar::report::{StepReport, Usage};
use cuebook_grammar::seam::{HistoryEntry, PlannedStep, Stuck};
use cuebook_grammar::step::Step;
use cuebook_grammar::wire::ShortText;
use serde_json::Value;

use crate::budget::Budgets;
use crate::change::Change;
use crate::goal::{JudgedGoal, KeptGoal};
use crate::lineage::Lineage;
use crate::read_texts::ReadTexts;
use crate::request::{RunRequest, Work};
use crate::stuck::StuckDetector;

/// The last observation, and whether the page may have changed since.
pub(crate) struct Ground {
    pub(crate) observation: Observation,
    pub(crate) is_current: bool,
}

/// Facts of the end of a run, for its log.
#[derive(Default)]
pub(crate) struct Ending {
    /// The step by which the planner ended the task.
    pub(crate) conclusion: Option<Conclusion>,
    /// Consequences of the steps after the last of them.
    pub(crate) late: Late,
    /// The goal as it was judged last.
    pub(crate) goal: JudgedGoal,
}

/// The state of a run.
pub(crate) struct RunState {
    pub(crate) request: RunRequest,
    pub(crate) page: PageId,
    pub(crate) ground: Option<Ground>,
    /// The address that the tab showed last; `None` if nothing was seen of it yet.
    pub(crate) url: Option<String>,
    /// The scope that the current plan was made for, and so that of every observation.
    pub(crate) scope: Scope,
    pub(crate) next_index: u32,
    /// Calls of models that were logged.
    pub(crate) calls: u32,
    /// The call that wrote the current plan.
    pub(crate) planning: Option<u32>,
    /// Id of the current plan; `None` before the first one.
    pub(crate) plan_id: Option<ShortText>,
    /// The observation that the log got last.
    pub(crate) kept: Option<ObservationId>,
    pub(crate) repairs_left: u32,
    /// Failed steps that the planner may still mend.
    pub(crate) mendings_left: u32,
    /// Calls of a model for values of a page that are left.
    pub(crate) fills_left: u32,
    /// Consents that were asked for.
    pub(crate) questions: u32,
    pub(crate) reports: Vec<StepReport>,
    pub(crate) history: Vec<HistoryEntry>,
    /// Texts that were read, by origin.
    pub(crate) lineage: Lineage,
    pub(crate) usage: Usage,
    pub(crate) stuck: StuckDetector,
    /// Stuck level of the last plan: how often it repeats earlier ones.
    pub(crate) stuck_now: Stuck,
    /// Replies of the planner so far.
    pub(crate) plans: u32,
    /// The reply that has the plan which runs; `None` in a run with a given plan.
    pub(crate) of_plan: Option<u32>,
    /// The planner's own state, for its next request.
    pub(crate) planner_state: Option<Value>,
    /// The planner's memory, the note that it wants to read again, redacted.
    pub(crate) memory: Option<String>,
    pub(crate) ending: Ending,
    /// Conditions that the plans say will hold in the end.
    pub(crate) goal: KeptGoal,
    /// Texts of the pages of the run, for what an answer is looked up in.
    pub(crate) texts: ReadTexts,
    /// Requests, dialogs, downloads and tabs that its steps caused.
    pub(crate) caused: EventFacts,
    /// Evidence that its steps changed something.
    pub(crate) change: Change,
    /// How often an end was not proven.
    pub(crate) unproven: u32,
    /// Questions that a person agreed to ahead, for a whole plan.
    pub(crate) agreed: Vec<String>,
    pub(crate) deadline: Deadline,
}

impl RunState {
    pub(crate) fn new(request: RunRequest, budgets: &Budgets) -> Self {
        Self {
            page: request.page.clone(),
            request,
            ground: None,
            url: None,
            scope: Scope::View,
            next_index: 0,
            calls: 0,
            planning: None,
            plan_id: None,
            kept: None,
            repairs_left: budgets.repairs_per_run,
            mendings_left: budgets.planned_repairs,
            fills_left: budgets.fills,
            questions: 0,
            reports: Vec::new(),
            history: Vec::new(),
            lineage: Lineage::default(),
            usage: Usage::default(),
            stuck: StuckDetector::default(),
            stuck_now: Stuck::No,
            plans: 0,
            of_plan: None,
            planner_state: None,
            memory: None,
            ending: Ending::default(),
            goal: KeptGoal::default(),
            texts: ReadTexts::default(),
            caused: EventFacts::default(),
            change: Change::default(),
            unproven: 0,
            agreed: Vec::new(),
            deadline: Deadline::after(Instant::now(), budgets.run),
        }
    }

    /// Goes on with other work as a run of its own would begin: with whole budgets, and nothing of the history of the
    /// planner. What was read, and from where, stays known, as do the numbers of steps, plans and calls.
    pub(crate) fn go_on_with(&mut self, work: Work, budgets: &Budgets) {
        let request = RunRequest { work, page: self.page.clone(), goes_on: true, ..self.request.clone() };
        *self = Self {
            url: self.url.take(),
            next_index: self.next_index,
            calls: self.calls,
            kept: self.kept,
            reports: mem::take(&mut self.reports),
            lineage: mem::take(&mut self.lineage),
            texts: mem::take(&mut self.texts),
            usage: self.usage,
            plans: self.plans,
            ending: mem::take(&mut self.ending),
            ..Self::new(request, budgets)
        };
    }

    /// Remembers the texts of a page, if an answer may have to be found on the pages of the run.
    pub(crate) fn note_texts(&mut self, page: &Observation) {
        let cites = |step: &Step| matches!(&step.action, Action::Finish(finish) if finish.from.is_some());
        let may_answer = match &self.request.work {
            Work::Task(_) => true,
            Work::Plan(draft) | Work::Replay(draft) => draft.steps.iter().any(cites),
            Work::Session => false,
        };
        if may_answer {
            self.texts.note_page(page);
        }
    }

    pub(crate) fn take_index(&mut self) -> u32 {
        let index = self.next_index;
        self.next_index += 1;
        index
    }

    /// Observes at least this much until the next plan.
    pub(crate) fn widen(&mut self, scope: Scope) {
        if scope == Scope::Full {
            self.scope = scope;
        }
    }

    /// A step of the plan which runs; `None` in a run with a given plan.
    pub(crate) fn planned(&self, index: u32) -> Option<PlannedStep> {
        Some(PlannedStep { plan: self.of_plan?, step: index })
    }

    /// One report for each step: that of its last attempt.
    pub(crate) fn put_report(&mut self, report: StepReport) {
        match self.reports.iter_mut().find(|known| known.index == report.index) {
            Some(known) => *known = report,
            None => self.reports.push(report),
        }
        self.reports.sort_by_key(|report| report.index);
    }

    pub(crate) fn ground_or_blank(&self) -> Observation {
        self.ground.as_ref().map_or_else(
            || {
                let url = self.url.as_deref().or(self.request.start_url.as_deref()).unwrap_or("about:blank");
                Observation::blank(self.page.clone(), url)
            },
            |ground| ground.observation.clone(),
        )
    }

    pub(crate) fn age(&mut self) {
        if let Some(ground) = &mut self.ground {
            ground.is_current = false;
        }
    }

    /// After a step the ground is old, unless the step only read.
    pub(crate) fn after_success(&mut self, bound: &BoundStep, success: &StepSuccess) {
        let reads = bound.action().kind().meta().effect == EffectClass::ReadOnly
            && matches!(
                bound.action().kind(),
                ActionKind::Extract | ActionKind::Screenshot | ActionKind::GetDom | ActionKind::Assert
            );
        let effects = success.evidence.effects.as_ref();
        if !reads || effects.is_some_and(|effects| effects.is_any()) || success.page.is_some() {
            self.age();
        }
        if let Some(url) = effects.and_then(|effects| effects.url_after.as_ref()) {
            self.url = Some(url.clone());
            if let Some(ground) = &mut self.ground {
                ground.observation.url.clone_from(url);
            }
        }
    }
}
