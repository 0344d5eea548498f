//! The static check: every fault of a plan that can be found without a browser.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use url::Url;

use crate::action::{
    Action, ActionKind, Click, Direction, Extract, ExtractKind, Owner, ScrollUntil, SetChecked, TargetNeed,
};
use crate::condition::{self, Condition, Nothing, SelectedValues, UrlChanges, Valued};
use crate::effect::EffectClass;
use crate::id::TargetRef;
use crate::locator::Locator;
use crate::observation::Observation;
use crate::plan::draft::{Author, MAX_GOAL, MAX_STEPS, MODEL_STEPS, PlanDraft};
use crate::plan::support::{fitting, support_violation};
use crate::plan::violation::{Violation, ViolationCode, Violations};
use crate::policy::{Policy, Rule};
use crate::step::Step;
use crate::text_match::Pattern;
use crate::wire::{ShortText, UrlText};

/// A condition, and whether the plan stated it or the check added it.
#[derive(Clone, Debug, PartialEq)]
pub struct StatedCondition {
    /// The condition, for judging the page after the step.
    pub condition: Condition,
    /// Added by the check because the step stated none.
    pub is_default: bool,
}

/// The most points on the way of a drag.
const VIA: usize = 64;

/// A step that passed the check.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckedStep {
    /// As the draft has it.
    pub step: Step,
    /// Its postconditions, defaults included.
    pub post: Vec<StatedCondition>,
}

/// A plan that may run, step by step, after [`Plan::bind`].
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    pub(super) author: Author,
    pub(super) candidates: BTreeMap<TargetRef, Locator>,
    pub(super) steps: Vec<CheckedStep>,
    pub(super) goal: Vec<Condition>,
    pub(super) goal_reason: Option<ShortText>,
    pub(super) policy: Policy,
    /// Steps that were changed after their author wrote them: consent to the plan does not cover them.
    pub(super) amended: BTreeSet<usize>,
}

impl Plan {
    /// Returns this plan with another step at `index`, for a repair. Declared names stay valid; consent that was given
    /// to the plan does not extend to the new step.
    ///
    /// # Errors
    /// The [`Violation`]s of the new step, as [`PlanDraft::check`] finds them.
    pub fn amend(&self, index: usize, step: Step, observation: &Observation) -> Result<Self, Violations> {
        let mut draft = PlanDraft::of(self.author, vec![step]);
        draft.candidates = self.candidates.clone();
        let checked = draft.check(observation, &self.policy)?;
        let mut plan = self.clone();
        if let (Some(slot), Some(step)) = (plan.steps.get_mut(index), checked.steps.into_iter().next()) {
            *slot = step;
            plan.amended.insert(index);
        }
        Ok(plan)
    }

    /// A plan of steps that repair one of this plan. They may name its declared targets. Consent that was given to this
    /// plan does not extend to them.
    ///
    /// # Errors
    /// The [`Violation`]s of the steps, as [`PlanDraft::check`] finds them.
    pub fn repaired_by(&self, steps: Vec<Step>, observation: &Observation) -> Result<Self, Violations> {
        let names = |step: &Step| step.targets().iter().any(|target| self.candidates.contains_key(*target));
        let mut draft = PlanDraft::of(Author::Controller, steps);
        if draft.steps.iter().any(names) {
            draft.author = self.author;
            draft.candidates = self.candidates.clone();
        }
        let mut plan = draft.check(observation, &self.policy)?;
        plan.amended = (0..plan.steps.len()).collect();
        Ok(plan)
    }

    /// The steps, in order.
    #[must_use]
    pub fn steps(&self) -> &[CheckedStep] {
        &self.steps
    }

    /// Author of the plan.
    #[must_use]
    pub const fn author(&self) -> Author {
        self.author
    }

    /// Conditions that the plan says will hold when the task is done; empty if it states none.
    #[must_use]
    pub fn goal(&self) -> &[Condition] {
        &self.goal
    }

    /// Why the goal replaces what earlier plans stated, if it does.
    #[must_use]
    pub const fn goal_reason(&self) -> Option<&ShortText> {
        self.goal_reason.as_ref()
    }

    /// The policy under which the plan was checked, with the plan's own profile if that is more careful.
    #[must_use]
    pub const fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Locators that the plan declares, by the names that steps use.
    #[must_use]
    pub const fn candidates(&self) -> &BTreeMap<TargetRef, Locator> {
        &self.candidates
    }
}

impl PlanDraft {
    /// Checks the whole plan against what was observed and what is allowed. Pure; costs microseconds a step.
    ///
    /// ```
    /// use cuebook_grammar::action::Click;
    /// use cuebook_grammar::id::{CandidateId, PageId};
    /// use cuebook_grammar::observation::Observation;
    /// use cuebook_grammar::plan::{Author, PlanDraft, ViolationCode};
    /// use cuebook_grammar::policy::Policy;
    ///
    /// let page = Observation::blank(PageId::new("tab"), "https://shop.test/");
    /// let draft = PlanDraft::of(Author::Model, vec![Click::on(CandidateId(1)).into()]);
    /// let violations = draft.check(&page, &Policy::default()).unwrap_err();
    /// assert_eq!(violations[0].code, ViolationCode::UnknownTarget);
    /// ```
    ///
    /// # Errors
    /// Every [`Violation`], in the order of the steps.
    pub fn check(&self, observation: &Observation, policy: &Policy) -> Result<Plan, Violations> {
        let mut violations = Vec::new();
        let mut policy = policy.lowered_to(self.autonomy_level);
        if self.steps.is_empty() {
            violations.push(Violation::new(ViolationCode::EmptyPlan, "/steps", "the plan has no steps"));
        }
        let most = if self.author == Author::Operator { MAX_STEPS } else { MODEL_STEPS };
        if self.steps.len() > most {
            let message = format!("{} steps are more than the limit of {most}", self.steps.len());
            violations.push(Violation::new(ViolationCode::TooManySteps, "/steps", message));
        }
        if let Some(domains) = self.context.as_ref().and_then(|context| context.allowed_domains.as_ref()) {
            // An operator's entries open origins, a model's only restrict it.
            let agreed = match self.author {
                Author::Operator => domains.iter().enumerate().try_fold(policy.clone(), |policy, (index, entry)| {
                    policy.allowing(entry).map_err(|error| (index, error))
                }),
                _ => policy.clone().narrowed_to(domains.iter().map(|entry| entry.as_str())),
            };
            match agreed {
                Ok(agreed) => policy = agreed,
                Err((index, error)) => violations.push(Violation::new(
                    ViolationCode::InvalidArgument,
                    format!("/context/allowedDomains/{index}"),
                    error.to_string(),
                )),
            }
        }
        self.check_declared(&mut violations);
        self.check_goal(observation, &policy, &mut violations);
        let mut whereabouts = Whereabouts { origin: origin_of(&observation.url), ..Whereabouts::default() };
        let mut ended_at = None;
        let mut steps = Vec::with_capacity(self.steps.len());
        for (index, step) in self.steps.iter().enumerate() {
            let mut checker = StepCheck {
                draft: self,
                observation,
                policy: &policy,
                path: format!("/steps/{index}"),
                violations: &mut violations,
            };
            let step = &*checker.resolved(step);
            checker.step(step, whereabouts.left_at());
            for (at, undo) in step.undo.iter().enumerate() {
                StepCheck { path: format!("/steps/{index}/undo/{at}"), ..checker.again() }.undo(undo);
            }
            checker.secret(step, whereabouts.origin.as_deref());
            if let Some(end) = ended_at {
                let message = format!("expected no step after step {end}, which ends the task");
                checker.report(ViolationCode::AfterEnd, "", message);
            }
            let post = with_defaults(step);
            whereabouts.follow(step, index, observation);
            if matches!(step.action.kind(), ActionKind::Finish | ActionKind::Fail) {
                ended_at.get_or_insert(index + 1);
            }
            steps.push(CheckedStep { step: step.clone(), post });
        }
        if violations.is_empty() {
            Ok(Plan {
                author: self.author,
                candidates: self.candidates.clone(),
                steps,
                goal: self.goal.clone(),
                goal_reason: self.goal_reason.clone(),
                policy,
                amended: BTreeSet::new(),
            })
        } else {
            Err(violations.into())
        }
    }

    /// The conditions of the goal are judged at the end of the run and at once, on the page and on all that the run
    /// caused. What says nothing of either is refused.
    fn check_goal(&self, observation: &Observation, policy: &Policy, violations: &mut Vec<Violation>) {
        if self.goal.len() > MAX_GOAL {
            let message = format!("{} conditions are more than the limit of {MAX_GOAL}", self.goal.len());
            violations.push(Violation::new(ViolationCode::InvalidCondition, "/goal", message));
            return;
        }
        let mut checker = StepCheck { draft: self, observation, policy, path: String::new(), violations };
        checker.conditions("goal", &self.goal);
        for (index, condition) in self.goal.iter().enumerate() {
            let field = format!("goal/{index}");
            checker.without_limit("a goal", &field, condition);
            let mut is_idle = false;
            condition.visit(&mut |part| {
                is_idle |= matches!(part, Condition::AnyEffect(_) | Condition::NetworkIdle(_) | Condition::Becomes(_));
            });
            // A model's grammar has them; they are left out of what is kept.
            if is_idle && self.author == Author::Operator {
                let message = "expected what holds when the task is done: `anyEffect`, `networkIdle` and `becomes` are \
                               about one step";
                checker.report(ViolationCode::VacuousCondition, &field, message);
            }
            for target in condition.targets() {
                let is_known = self.candidates.contains_key(target)
                    || target.candidate_id().and_then(|id| observation.candidate(id)).is_some();
                if !is_known {
                    let message = format!("`{target}` is neither observed nor declared");
                    checker.report(ViolationCode::UnknownTarget, &field, message);
                }
            }
        }
    }

    fn check_declared(&self, violations: &mut Vec<Violation>) {
        for (name, locator) in &self.candidates {
            let path = format!("/candidates/{name}");
            if self.author != Author::Operator {
                let message = "a model cannot declare locators, only name ids of observed candidates".to_owned();
                violations.push(Violation::new(ViolationCode::DeclaredByModel, &path, message));
            }
            if name.as_str() == ScrollUntil::TEXT {
                let message = "expected another name: this one stands for the text of a `scrollUntil`";
                violations.push(Violation::new(ViolationCode::InvalidLocator, &path, message));
            }
            if let Err(error) = locator.validate() {
                violations.push(Violation::new(ViolationCode::InvalidLocator, path, error.to_string()));
            }
        }
    }
}

struct StepCheck<'a> {
    draft: &'a PlanDraft,
    observation: &'a Observation,
    policy: &'a Policy,
    path: String,
    violations: &'a mut Vec<Violation>,
}

impl StepCheck<'_> {
    fn report(&mut self, code: ViolationCode, field: &str, message: impl Into<String>) {
        let path = if field.is_empty() { self.path.clone() } else { format!("{}/{field}", self.path) };
        self.violations.push(Violation::new(code, path, message));
    }

    fn deny(&mut self, rule: Rule, field: &str, message: impl Into<String>) {
        self.report(ViolationCode::PolicyBlocked, field, message);
        if let Some(last) = self.violations.last_mut() {
            last.rule = Some(rule.as_str().to_owned());
        }
    }

    /// Returns a check of another step, into the same list.
    fn again(&mut self) -> StepCheck<'_> {
        let Self { draft, observation, policy, path, violations } = self;
        StepCheck { draft, observation, policy, path: path.clone(), violations }
    }

    /// A step that undoes another one, after which the page may be another one.
    fn undo(&mut self, step: &Step) {
        self.step(step, None);
        if matches!(step.action.kind(), ActionKind::Finish | ActionKind::Fail | ActionKind::AskUser) {
            self.report(ViolationCode::InvalidArgument, "type", "a step that undoes another one acts on the page");
        }
    }

    /// The step with an absolute URL. One that begins with a slash, a dot, `?` or `#` is relative to the page that the run starts on, in the
    /// plan of an operator, and to the page that was observed in that of a model, as links are.
    fn resolved<'a>(&self, step: &'a Step) -> Cow<'a, Step> {
        let url = match &step.action {
            Action::Navigate(navigate) => &navigate.url,
            Action::Fetch(fetch) => &fetch.url,
            _ => return Cow::Borrowed(step),
        };
        // `shop.test` without a scheme is a host that was meant, and no path.
        if !url.starts_with(['/', '?', '#', '.']) {
            return Cow::Borrowed(step);
        }
        let page = url::Url::parse(&self.observation.url).ok().filter(|page| page.has_host());
        let start = self.policy.start().cloned();
        let base = if self.draft.author == Author::Operator { start.or(page) } else { page.or(start) };
        let whole = base.and_then(|base| base.join(url).ok()).and_then(|whole| UrlText::new(whole.as_str()).ok());
        let Some(whole) = whole else { return Cow::Borrowed(step) };
        let mut step = step.clone();
        match &mut step.action {
            Action::Navigate(navigate) => navigate.url = whole,
            Action::Fetch(fetch) => fetch.url = whole,
            _ => {}
        }
        Cow::Owned(step)
    }

    fn step(&mut self, step: &Step, left_page_at: Option<usize>) {
        for target in step.targets() {
            self.target(target, step, left_page_at);
        }
        self.main_target(step);
        if let Err(denied) = self.policy.verb(&step.action) {
            self.deny(denied.rule, "type", denied.message);
        }
        self.arguments(&step.action);
        self.outside(step);
        self.conditions("pre", &step.pre);
        self.conditions("post", &step.post);
        for (index, condition) in step.pre.iter().enumerate() {
            self.without_limit("a precondition", &format!("pre/{index}"), condition);
        }
        if let Some(condition) = step.action.condition() {
            self.condition("condition", condition);
            match step.action {
                Action::Assert(_) => self.without_limit("the condition of an `assert`", "condition", condition),
                Action::ScrollUntil(_) => {
                    self.without_limit("the condition of a `scrollUntil`, between its moves,", "condition", condition);
                }
                _ => {}
            }
        }
    }

    /// A secret goes to the origins only that it is bound to, as far as both are known before the step runs.
    fn secret(&mut self, step: &Step, page: Option<&str>) {
        let Some(secret) = step.action.credential() else { return };
        let Some(bound) = self.policy.bound_origins(secret) else { return };
        let candidate = step.action.target().and_then(TargetRef::candidate_id);
        let candidate = candidate.and_then(|id| self.observation.candidate(id));
        let frame = candidate.and_then(|it| self.observation.frames.get(usize::try_from(it.frame).ok()?));
        let places = [frame.map(|frame| frame.origin.as_str()), page];
        if let Some(foreign) = places.into_iter().flatten().find(|origin| !bound.iter().any(|bound| bound == origin)) {
            let bound = if bound.is_empty() { "no origin".to_owned() } else { bound.join(", ") };
            let message = format!(
                "the secret `{secret}` is bound to {bound}, and the step enters it on {foreign} (if a server leads \
                 elsewhere, state so in `post` of the step before)"
            );
            self.deny(Rule::SecretScope, "credentialRef", message);
        }
    }

    fn target(&mut self, target: &TargetRef, step: &Step, left_page_at: Option<usize>) {
        if self.draft.candidates.contains_key(target) {
            return;
        }
        let candidate = target.candidate_id().and_then(|id| self.observation.candidate(id));
        let Some(candidate) = candidate else {
            let message = if self.draft.author == Author::Operator {
                let hint = if target.candidate_id().is_some() { "; observe again" } else { "" };
                format!("`{target}` is neither observed nor declared{hint}")
            } else {
                format!("`{target}` is no candidate{}", fitting(&step.action, self.observation))
            };
            return self.report(ViolationCode::UnknownTarget, "", message);
        };
        if candidate.ambiguous {
            let twins: Vec<String> = self
                .observation
                .candidates
                .iter()
                .filter(|other| other.ambiguous && other.role == candidate.role && other.name == candidate.name)
                .map(|other| other.id.to_string())
                .collect();
            let message = format!("the target is ambiguous: {} ({})", twins.join(", "), candidate.title());
            self.report(ViolationCode::AmbiguousTarget, "", message);
        }
        if let Some(step) = left_page_at {
            let step = step + 1;
            let message = format!("step {step} leaves the page of `{target}`, so no later step can name it");
            self.report(ViolationCode::AfterPageChange, "", message);
        }
        if self.draft.author != Author::Operator
            && let Err(denied) = self.policy.acting_on(candidate, self.observation)
        {
            self.deny(denied.rule, "", denied.message);
        }
    }

    fn main_target(&mut self, step: &Step) {
        let meta = step.action.kind().meta();
        let need = match meta.target {
            TargetNeed::None => return,
            TargetNeed::Optional(need) | TargetNeed::Required(need) => need,
        };
        let Some(target) = step.action.target() else {
            return;
        };
        let observed = (!self.draft.candidates.contains_key(target))
            .then(|| target.candidate_id().and_then(|id| self.observation.candidate(id)))
            .flatten();
        if let Some((code, message)) =
            observed.and_then(|candidate| support_violation(&step.action, candidate, need, self.observation))
        {
            let field = if code == ViolationCode::OptionNotFound { "option" } else { "targetRef" };
            self.report(code, field, message);
        }
    }

    fn arguments(&mut self, action: &Action) {
        let kind = action.kind();
        let is_operator = self.draft.author == Author::Operator;
        match action {
            Action::Navigate(navigate) => {
                if let Err(denied) = self.policy.navigation(&navigate.url) {
                    if denied.rule == Rule::Unparsable {
                        self.report(ViolationCode::InvalidArgument, "url", denied.message);
                    } else {
                        self.deny(denied.rule, "url", denied.message);
                    }
                }
            }
            Action::Type(a) => self.one_of_two("text", a.text.is_some(), "credentialRef", a.credential_ref.is_some()),
            Action::SetValue(a) => {
                self.one_of_two("value", a.value.is_some(), "credentialRef", a.credential_ref.is_some());
            }
            Action::Extract(Extract { query }) => {
                let needs = |kind: ExtractKind| query.kind == kind;
                let parts = [
                    ("schema", needs(ExtractKind::Schema), query.schema.is_some()),
                    ("name", needs(ExtractKind::Attribute), query.name.is_some()),
                ];
                let kind = query.kind.as_str();
                if let Some(pattern) = &query.pattern {
                    if !query.kind.is_text() {
                        self.report(
                            ViolationCode::InvalidArgument,
                            "query",
                            format!("expected no `pattern` with {kind}"),
                        );
                    } else if let Err(error) = pattern.compile() {
                        self.report(ViolationCode::InvalidArgument, "query", error.to_string());
                    }
                }
                if needs(ExtractKind::Count) && query.target_ref.is_none() {
                    self.report(ViolationCode::InvalidArgument, "query", "expected `targetRef` with count");
                }
                for (field, needed, given) in parts {
                    if needed != given {
                        let what = if needed { "expected" } else { "expected no" };
                        self.report(ViolationCode::InvalidArgument, "query", format!("{what} `{field}` with {kind}"));
                    }
                }
            }
            Action::ResolveSelector(a) => self.one_of_two("css", a.css.is_some(), "xpath", a.xpath.is_some()),
            Action::Select(a) if a.option.choices.is_empty() && !a.option.is_list => {
                self.report(ViolationCode::InvalidArgument, "option", "no option is named");
            }
            Action::Scroll(a)
                if a.target_ref.is_none() && a.direction.is_none() && a.delta_x.is_none() && a.delta_y.is_none() =>
            {
                self.report(ViolationCode::InvalidArgument, "", "a target, a direction or a distance is missing");
            }
            Action::Scroll(a) if a.direction.is_some() && (a.delta_x.is_some() || a.delta_y.is_some()) => {
                let message = "a `direction` and a distance (`deltaX`, `deltaY`) exclude each other";
                self.report(ViolationCode::InvalidArgument, "direction", message);
            }
            Action::Scroll(a) if a.point.is_some() && a.delta_x.is_none() && a.delta_y.is_none() => {
                let message = "a wheel that turns at a `point` needs a distance (`deltaX`, `deltaY`)";
                self.report(ViolationCode::InvalidArgument, "point", message);
            }
            Action::Scroll(a) if a.point.is_some() && a.target_ref.is_some() => {
                let message = "a `point` and a target exclude each other";
                self.report(ViolationCode::InvalidArgument, "point", message);
            }
            Action::DragPoints(a) if a.via.as_ref().is_some_and(|via| via.len() > VIA) => {
                let message = format!("expected at most {VIA} points on the way");
                self.report(ViolationCode::InvalidArgument, "via", message);
            }
            Action::ScrollUntil(a) => self.search(a),
            Action::SwitchTab(a) if !is_operator => self.tab(Some(a.tab.get())),
            Action::CloseTab(a) if !is_operator => self.tab(a.tab.map(crate::wire::Count::get)),
            Action::Call(call) if self.policy.registered(&call.name).is_none() => {
                let message = format!("`{}` is not a registered action", call.name.escape_debug());
                self.report(ViolationCode::UnknownAction, "name", message);
            }
            Action::SearchPage(search) if search.regex == Some(true) => {
                let compiled = Pattern::new(search.query.as_str()).and_then(|pattern| pattern.compile().map(drop));
                if let Err(error) = compiled {
                    self.report(ViolationCode::InvalidArgument, "query", error.to_string());
                }
            }
            _ => {}
        }
        if kind.is_raw() && !is_operator && !self.policy.profile().opens_raw_access() {
            let (own, verb) = (self.policy.profile().as_str(), kind.meta().name);
            let message = format!("the profile {own} does not open `{verb}`, only unleashed does");
            self.deny(Rule::Profile, "type", message);
        }
    }

    /// Actions beyond what a person could do with the page need a profile that opens them, even in an operator's plan,
    /// and are then limited to what the operator declared.
    fn outside(&mut self, step: &Step) {
        let kind = step.action.kind();
        let is_outside = kind.meta().owner == Owner::Handler;
        if is_outside && !(step.pre.is_empty() && step.post.is_empty()) {
            let message =
                format!("`{}` acts outside the page, so it cannot have conditions on the page", kind.meta().name);
            let field = if step.pre.is_empty() { "post" } else { "pre" };
            self.report(ViolationCode::InvalidCondition, field, message);
        }
        if kind.is_beyond_page() && !self.policy.profile().opens_raw_access() {
            let (own, verb) = (self.policy.profile().as_str(), kind.meta().name);
            let message = format!("the profile {own} does not open `{verb}`, only unleashed does");
            return self.deny(Rule::Profile, "type", message);
        }
        let outside = self.policy.outside();
        if let Action::Upload(upload) = &step.action {
            for (index, file) in upload.files.iter().enumerate() {
                if let Err(denied) = outside.reading(file) {
                    self.deny(denied.rule, &format!("files/{index}"), denied.message);
                }
            }
        }
        let no_root = outside.write_roots.is_empty();
        match &step.action {
            Action::Fetch(fetch) => {
                if let Err(denied) = self.policy.fetching(&fetch.url) {
                    self.deny(denied.rule, "url", denied.message);
                }
            }
            Action::Shell(shell) => {
                if let Err(denied) = outside.command(&shell.command) {
                    self.deny(denied.rule, "command", denied.message);
                }
            }
            Action::ReadFile(_) if no_root && outside.read_roots.is_empty() => {
                self.deny(Rule::Root, "path", "no directory is declared for reading (--root DIR declares one)");
            }
            Action::WriteFile(_) if no_root => {
                self.deny(Rule::Root, "path", "no directory is declared for writing (add \"roots\" to the policy)");
            }
            _ => {}
        }
    }

    fn one_of_two(&mut self, first: &str, has_first: bool, second: &str, has_second: bool) {
        if has_first == has_second {
            let what = if has_first {
                "exclude each other"
            } else {
                "are both missing: name one, and of a text at most 20,000 characters"
            };
            let message = format!("`{first}` and `{second}` {what}");
            self.report(ViolationCode::InvalidArgument, "", message);
        }
    }

    fn search(&mut self, search: &ScrollUntil) {
        let stated = [search.target_ref.is_some(), search.text.is_some(), search.condition.is_some()];
        let count = stated.into_iter().filter(|is_stated| *is_stated).count();
        if count != 1 {
            let message = format!("one of `targetRef`, `text` and `condition` is needed, not {count}");
            self.report(ViolationCode::InvalidArgument, "", message);
        }
        if search.text.as_ref().is_some_and(|text| text.trim().is_empty()) {
            self.report(ViolationCode::VacuousCondition, "text", "the text to look for is blank");
        }
        if matches!(search.direction, Some(Direction::Top | Direction::Bottom)) {
            let message = "expected `up`, `down`, `left` or `right`: what is looked for may lie on the way to the end";
            self.report(ViolationCode::InvalidArgument, "direction", message);
        }
    }

    fn tab(&mut self, tab: Option<u32>) {
        let open = self.observation.tabs.len();
        if let Some(tab) = tab
            && usize::try_from(tab).is_ok_and(|tab| tab >= open)
        {
            let message = format!("there is no tab {tab}: {open} are open (tabs count from 0)");
            self.report(ViolationCode::InvalidArgument, "tab", message);
        }
    }

    fn conditions(&mut self, field: &str, conditions: &[Condition]) {
        for (index, condition) in conditions.iter().enumerate() {
            self.condition(&format!("{field}/{index}"), condition);
            for (later, other) in conditions.iter().enumerate().skip(index + 1) {
                if condition.contradicts(other) {
                    let message = format!("conditions {index} and {later} contradict each other");
                    self.report(ViolationCode::ContradictoryConditions, &format!("{field}/{later}"), message);
                }
            }
        }
    }

    /// Only postconditions and `waitFor` wait; elsewhere a time limit would be ignored.
    fn without_limit(&mut self, what: &str, field: &str, condition: &Condition) {
        if condition.limit().is_some() {
            let message = format!(
                "{what} is judged at once, so `timeoutMs` would have no effect; remove it, or use a `waitFor` step or a \
                 postcondition to wait"
            );
            self.report(ViolationCode::InvalidCondition, field, message);
        }
    }

    fn condition(&mut self, field: &str, condition: &Condition) {
        if let Err(error) = condition.validate() {
            return self.report(ViolationCode::InvalidCondition, field, error.to_string());
        }
        if condition.is_vacuous() {
            let message = format!("expected a condition that can fail: this `{}` always holds", condition.tag());
            self.report(ViolationCode::VacuousCondition, field, message);
        }
        if let Condition::AllOf(group) = condition {
            let pairs = group.conditions.iter().enumerate();
            let contradictory = pairs.clone().any(|(i, a)| pairs.clone().skip(i + 1).any(|(_, b)| a.contradicts(b)));
            if contradictory {
                let message = "conditions in `allOf` contradict each other".to_owned();
                self.report(ViolationCode::ContradictoryConditions, field, message);
            }
        }
    }
}

/// Where a plan stands with respect to the page that it was written for, as far as it says itself.
#[derive(Default)]
struct Whereabouts {
    /// The step that left the page.
    page_left_at: Option<usize>,
    /// The step that left the tab, which keeps its page meanwhile.
    tab_left_at: Option<usize>,
    /// Origin of the page; `None` where a step may have led elsewhere.
    origin: Option<String>,
}

impl Whereabouts {
    fn left_at(&self) -> Option<usize> {
        self.page_left_at.or(self.tab_left_at)
    }

    fn follow(&mut self, step: &Step, index: usize, observation: &Observation) {
        self.origin = match &step.action {
            Action::Navigate(navigate) if step.post.is_empty() => origin_of(navigate.url.as_str()),
            Action::Type(_) | Action::SetValue(_) | Action::Extract(_) | Action::Screenshot(_) => self.origin.take(),
            _ => None,
        };
        if let Action::SwitchTab(switch) = &step.action {
            let tab = usize::try_from(switch.tab.get()).ok().and_then(|tab| observation.tabs.get(tab));
            match tab.is_some_and(|tab| tab.current) {
                true => self.tab_left_at = None,
                false => drop(self.tab_left_at.get_or_insert(index)),
            }
        } else if self.tab_left_at.is_some() {
            // What another tab shows is no matter here.
        } else if step.post.iter().any(expects_new_tab) {
            self.tab_left_at = Some(index);
        } else if leaves_page(step) {
            self.page_left_at.get_or_insert(index);
        }
    }
}

/// The origin of a page; `None` for one that has none.
fn origin_of(url: &str) -> Option<String> {
    let url = Url::parse(url).ok().filter(|url| matches!(url.scheme(), "http" | "https"))?;
    Some(url.origin().ascii_serialization())
}

fn expects_new_tab(condition: &Condition) -> bool {
    match condition {
        Condition::NewTab(_) => true,
        Condition::AllOf(group) => group.conditions.iter().any(expects_new_tab),
        _ => false,
    }
}

/// Returns `true` if the page that the observation shows is gone after the step, as far as the plan itself says.
fn leaves_page(step: &Step) -> bool {
    matches!(step.action.kind(), ActionKind::Navigate | ActionKind::GoBack | ActionKind::GoForward | ActionKind::Reload)
        || step.post.iter().any(Condition::expects_page_change)
}

/// The stated postconditions, and the default one of the verb, unless a stated one is about the same property. That there
/// is any effect goes without saying where something is stated.
fn with_defaults(step: &Step) -> Vec<StatedCondition> {
    let stated = step.post.iter().map(|condition| StatedCondition { condition: condition.clone(), is_default: false });
    let is_said = |default: &Condition| match default {
        Condition::AnyEffect(_) => !step.post.is_empty(),
        default => step.post.iter().any(|stated| is_about_the_same(stated, default)),
    };
    let default = default_post(&step.action).filter(|default| !is_said(default));
    stated.chain(default.map(|condition| StatedCondition { condition, is_default: true })).collect()
}

/// Returns `true` if a stated condition, or a part of it, is about the property that a default one is about.
fn is_about_the_same(stated: &Condition, default: &Condition) -> bool {
    use Condition as C;
    let target = default.target();
    let is_value = |condition: &C| {
        matches!(
            condition,
            C::ValueEquals(_)
                | C::ValueContains(_)
                | C::SelectedValues(_)
                | C::AttrEquals(_)
                | C::PropertyEquals(_)
                | C::Matches(_)
                | C::Changed(_)
        )
    };
    let is_state =
        |condition: &C| matches!(condition, C::Checked(_) | C::AriaState(_) | C::AttrEquals(_) | C::PropertyEquals(_));
    let is_same = |part: &C| match default {
        C::ValueEquals(_) | C::ValueContains(_) | C::SelectedValues(_) => is_value(part) && part.target() == target,
        C::Checked(_) => is_state(part) && part.target() == target,
        // That a page was reached: any of what says where it is, or what it shows, does.
        _ => true,
    };
    // What is removed with its field, or with the page, cannot be asked afterwards.
    let mut says = stated.expects_page_change();
    stated.visit(&mut |part| says |= is_same(part) || (is_gone(part) && part.target() == target));
    says
}

fn is_gone(condition: &Condition) -> bool {
    matches!(condition, Condition::Absent(_) | Condition::Hidden(_) | Condition::Disappears(_))
}

fn default_post(action: &Action) -> Option<Condition> {
    let any_effect = Some(Condition::AnyEffect(Nothing {}));
    match action {
        Action::Click(Click { dry_run: Some(true), .. })
        | Action::Check(SetChecked { dry_run: Some(true), .. })
        | Action::Uncheck(SetChecked { dry_run: Some(true), .. }) => None,
        Action::Navigate(navigate) => Some(url_reached(&navigate.url)),
        Action::Type(a) => match &a.text {
            Some(text) if text.clear() != Some("") => {
                Some(Condition::ValueContains(Valued { target: a.target_ref.clone(), value: text.clone() }))
            }
            _ => any_effect,
        },
        Action::SetValue(a) => match &a.value {
            Some(value) => Some(Condition::ValueEquals(Valued { target: a.target_ref.clone(), value: value.clone() })),
            None => any_effect,
        },
        Action::Clear(a) => Some(Condition::ValueEquals(Valued {
            target: a.target_ref.clone(),
            value: crate::secret::WireText::cut(""),
        })),
        Action::Select(a) => {
            let values: Option<Vec<_>> = a.option.choices.iter().map(|choice| choice.name().cloned()).collect();
            match values {
                Some(values) => {
                    Some(Condition::SelectedValues(SelectedValues { target: a.target_ref.clone(), values }))
                }
                None => any_effect,
            }
        }
        Action::Check(a) => {
            Some(Condition::Checked(condition::Checked { target: a.target_ref.clone(), checked: None }))
        }
        Action::Uncheck(a) => {
            Some(Condition::Checked(condition::Checked { target: a.target_ref.clone(), checked: Some(false) }))
        }
        Action::ScrollUntil(a) => {
            a.sought().map(|target| Condition::InViewport(condition::InViewport { target, ratio: None }))
        }
        other => {
            let meta = other.kind().meta();
            let observes_pointer =
                matches!(other.kind(), ActionKind::Hover | ActionKind::Focus | ActionKind::SelectText);
            let changes = meta.effect != EffectClass::ReadOnly || observes_pointer;
            if changes { any_effect } else { None }
        }
    }
}

/// The URL, as the browser writes it, is where the tab is; or the server led elsewhere.
fn url_reached(url: &str) -> Condition {
    const PREFIX: usize = 300;
    let canonical = url::Url::parse(url).map_or_else(|_| url.to_owned(), |url| url.to_string());
    let prefix: String = canonical.chars().take(PREFIX).collect();
    let reached = Pattern::new(format!("^{}", regex::escape(&prefix)))
        .map(|pattern| Condition::UrlMatches(condition::PatternOnly { pattern }));
    let changed = Condition::UrlChanges(UrlChanges { to: None });
    match reached {
        Ok(reached) => Condition::AnyOf(condition::Group { conditions: vec![reached, changed], timeout_ms: None }),
        Err(_) => changed,
    }
}
