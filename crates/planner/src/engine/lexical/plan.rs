//! The plan: clauses that are left, served in order until the page is likely to be another one.

use cuebook_grammar::action::{Action, ActionKind, AskUser, Direction, Fail, Finish, Nothing};
use cuebook_grammar::candidate::Candidate;
use cuebook_grammar::facts::DialogKind;
use cuebook_grammar::id::CandidateId;
use cuebook_grammar::observation::Observation;
use cuebook_grammar::plan::{Author, PlanDraft};
use cuebook_grammar::risk::{self, RiskClass};
use cuebook_grammar::role::Role;
use cuebook_grammar::seam::PlanRequest;
use cuebook_grammar::step::{RiskLevel, Step};
use cuebook_grammar::wire::{LongText, Probability, ShortText};

use super::answers;
use super::clause::{Act, Clause};
use super::clauses::clauses;
use super::grounding::{Found, Hit, View, text_fit};
use super::page::{Page, Proposed, Served, free, is_clickable, is_control, leads};
use super::phrase::Phrase;
use super::progress::{Part, Progress, Serving, progress};
use super::serve;
use super::ways;

/// The most steps of one plan.
const MAX_STEPS: usize = 6;
/// How often a clause may fail before it is given up.
const MAX_FAILURES: usize = 2;
/// How many steps may lead on the way to one clause before it is given up.
const MAX_WAYS: usize = 48;
/// How often the page is scrolled in search of one target.
const MAX_SCROLLS: usize = 12;
/// How many links, tabs and menus are opened in search of one target.
const MAX_LEADS: usize = 4;

/// Plans the next steps.
pub(super) fn draft(request: &PlanRequest<'_>) -> PlanDraft {
    let clauses = clauses(request.task);
    let progress = progress(&clauses, request.history);
    let views: Vec<View<'_>> = request.observation.candidates.iter().map(View::of).collect();
    let writer = Writer {
        request,
        clauses: &clauses,
        views: &views,
        progress: &progress,
        steps: Vec::new(),
        summary: Vec::new(),
    };
    writer.write()
}

struct Writer<'a> {
    request: &'a PlanRequest<'a>,
    clauses: &'a [Clause],
    views: &'a [View<'a>],
    progress: &'a Progress,
    steps: Vec<Step>,
    summary: Vec<String>,
}

/// Whether the plan goes on after a clause.
enum Next {
    Clause(usize),
    Stop,
}

impl<'a> Writer<'a> {
    fn write(mut self) -> PlanDraft {
        let clauses = self.clauses;
        if clauses.is_empty() {
            self.end(Action::Fail(Fail { reason: ShortText::cut("expected an instruction, saw none") }));
            return self.close();
        }
        let mut at = self.progress.next;
        let untouched = Progress::default();
        let mut last = self.candidate(self.progress.last_target.as_deref());
        if let Some(clause) = clauses.get(at)
            && self.stop_early(clause)
        {
            return self.close();
        }
        while let Some(clause) = clauses.get(at) {
            // Whether a dialog opens is seen after the step that may open it.
            let waits_for_dialog = matches!(clause.act, Act::AcceptDialog { .. } | Act::DismissDialog);
            if waits_for_dialog && !self.steps.is_empty() {
                break;
            }
            let progress = if at == self.progress.next { self.progress } else { &untouched };
            let page = Page { observation: self.request.observation, views: self.views, progress, clause, last };
            let (served, until) = match self.across(&page, at) {
                Some(joined) => joined,
                None => (serve::serve(&page, self.request.policy), at),
            };
            let before = self.steps.len();
            match self.take(&page, served, at, until) {
                Next::Clause(next) => at = next,
                Next::Stop => break,
            }
            last = self
                .steps
                .get(before..)
                .unwrap_or_default()
                .iter()
                .rev()
                .find_map(changed_field)
                .and_then(|id| self.request.observation.candidate(id))
                .or(last);
            if self.steps.len() >= MAX_STEPS {
                break;
            }
        }
        if self.steps.is_empty() && at >= clauses.len() {
            self.finish();
        }
        self.close()
    }

    fn candidate(&self, target: Option<&str>) -> Option<&'a Candidate> {
        self.request.observation.candidate(CandidateId::parse(target?)?)
    }

    /// What stops the run before the page is looked at: a clause that keeps failing, a dialog that blocks.
    fn stop_early(&mut self, clause: &Clause) -> bool {
        if self.progress.failures.len() >= MAX_FAILURES {
            let last = self.progress.failures.last().map(String::as_str).unwrap_or_default();
            self.fail(clause, &format!("it failed {} times, at last: {last}", self.progress.failures.len()));
            return true;
        }
        if self.progress.ways.len() >= MAX_WAYS {
            self.fail(clause, "its target did not come within reach");
            return true;
        }
        let Some(dialog) = &self.request.observation.dialog else { return false };
        if matches!(clause.act, Act::AcceptDialog { .. } | Act::DismissDialog) {
            return false;
        }
        let answer = self.progress.answers.last().map(|answer| answer.to_lowercase());
        let (yes, no) = (["accept", "yes", "ok", "y"], ["dismiss", "no", "cancel", "n"]);
        let meant = answer.or_else(|| means_dialog(clause).then(|| ways::said_to_dialog(clause)).flatten());
        let says = |words: [&str; 4]| meant.as_deref().is_some_and(|answer| words.contains(&answer.trim()));
        let action = if dialog.kind == DialogKind::Alert || says(no) {
            Action::DismissDialog(Nothing {})
        } else if says(yes) {
            Action::AcceptDialog(cuebook_grammar::action::AcceptDialog { text: None })
        } else {
            let message: String = dialog.message.chars().take(300).collect();
            self.ask(clause, &format!("a dialog is open that says {message:?}: accept or dismiss?"));
            return true;
        };
        let at = self.progress.next;
        let part =
            if means_dialog(clause) && self.progress.answers.is_empty() { Part::Of(1, 1) } else { Part::OnTheWay };
        self.push(clause, Serving { first: at, last: at, of: self.clauses.len(), part }, free(action), false);
        true
    }

    /// A name that reaches over what was taken for the end of a clause: `click Save and close`.
    fn across(&self, page: &Page<'_>, at: usize) -> Option<(Served, usize)> {
        let next = self
            .clauses
            .get(at + 1)
            .filter(|next| next.place.0 >= page.clause.place.1 && !matches!(next.act, Act::Conclude { .. }))?;
        let clause = page.clause;
        let between = self.request.task.get(clause.place.1..next.place.1)?;
        let said = match &clause.act {
            Act::Click { target, .. } | Act::SwitchTo(target) | Act::Go(super::clause::Place::Thing(target)) => {
                target.raw.clone()
            }
            Act::Choose { items, from: None } => items.raw.clone(),
            Act::Toggle { items: Some(items), .. } => items.raw.clone(),
            Act::Do { .. } => clause.source.clone(),
            _ => return None,
        };
        if !clause.source.ends_with(said.as_str()) {
            return None;
        }
        let joined = format!("{said}{between}");
        let joined = joined.trim_end_matches(['.', '!', ',', ';']);
        let is_option =
            |candidate: &Candidate| candidate.options.iter().any(|option| text_fit(joined, &option.label) >= 0.95);
        let phrase = Phrase { is_quoted: true, ..Phrase::named(joined) };
        let chosen = matches!(clause.act, Act::Choose { .. } | Act::Toggle { .. });
        let named = |candidate: &Candidate| text_fit(joined, &candidate.name) >= 0.95 && is_clickable(candidate);
        if chosen && page.views.iter().any(|view| is_option(view.candidate) || named(view.candidate)) {
            let items = super::clause::Items { parts: vec![(0, joined.len())], raw: joined.to_owned() };
            let act = match &clause.act {
                Act::Toggle { except, wanted, only, .. } => {
                    Act::Toggle { items: Some(items), except: except.clone(), wanted: *wanted, only: *only }
                }
                _ => Act::Choose { items, from: None },
            };
            let whole = Clause { act, ..clause.clone() };
            let page = Page {
                observation: page.observation,
                views: page.views,
                progress: page.progress,
                clause: &whole,
                last: page.last,
            };
            return Some((serve::serve(&page, self.request.policy), at + 1));
        }
        match page.find(&phrase, &named, &is_control) {
            Found::One(hit) if !hit.candidate.ambiguous && !chosen => {
                Some((Served::Steps(vec![page.click(hit)]), at + 1))
            }
            _ => None,
        }
    }

    fn take(&mut self, page: &Page<'_>, served: Served, at: usize, until: usize) -> Next {
        let of = self.clauses.len();
        let serving = |part| Serving { first: at, last: until, of, part };
        let is_first = self.steps.is_empty();
        match served {
            Served::Done => Next::Clause(until + 1),
            Served::Steps(proposed) => {
                let count = proposed.len();
                if !is_first && self.steps.len() + count > MAX_STEPS {
                    return Next::Stop;
                }
                let is_secret = proposed.iter().any(|step| step.is_secret);
                let leaves = proposed.iter().any(|step| step.leaves);
                for (index, step) in proposed.into_iter().take(MAX_STEPS).enumerate() {
                    self.push(page.clause, serving(Part::Of(index + 1, count)), step, is_secret);
                }
                if leaves || count > MAX_STEPS { Next::Stop } else { Next::Clause(until + 1) }
            }
            Served::Way(proposed) => {
                if is_first {
                    let is_secret = proposed.iter().any(|step| step.is_secret);
                    for step in proposed.into_iter().take(MAX_STEPS) {
                        self.push(page.clause, serving(Part::OnTheWay), step, is_secret);
                    }
                }
                Next::Stop
            }
            Served::Ask(question) => {
                if is_first {
                    self.ask(page.clause, &question);
                }
                Next::Stop
            }
            Served::Cannot(reason) => {
                if is_first {
                    self.fail(page.clause, &reason);
                }
                Next::Stop
            }
            Served::Missing { what, nearest } => {
                if is_first {
                    match self.way(page, &what) {
                        Some(step) => self.push(page.clause, serving(Part::OnTheWay), step, false),
                        None => self.fail_missing(page.clause, &what, &nearest),
                    }
                }
                Next::Stop
            }
        }
    }

    /// Something that may lead to what is not here: the rest of the page, a link or tab of that name, a moment.
    fn way(&self, page: &Page<'_>, what: &Phrase) -> Option<Proposed> {
        let observation = self.request.observation;
        let ways = &page.progress.ways;
        let count = |kind: ActionKind| ways.iter().filter(|way| way.kind == kind).count();
        if has_more_below(observation) && count(ActionKind::Scroll) < MAX_SCROLLS {
            return Some(free(serve::scroll_page(Direction::Down)));
        }
        let was_tried = |candidate: &Candidate| {
            let id = candidate.id.to_string();
            ways.iter().any(|way| {
                way.target_ref.as_deref() == Some(&id)
                    || way.target.as_deref().is_some_and(|title| title.contains(&candidate.title()))
            })
        };
        let tried = ways.iter().filter(|way| way.kind == ActionKind::Click).count();
        let here = observation.url.split(['?', '#']).next().unwrap_or_default();
        // The same page in another order is no other place.
        let is_elsewhere = |candidate: &Candidate| {
            let end = candidate.destination.as_deref().and_then(|end| end.split(['?', '#']).next());
            end.is_none_or(|end| end.is_empty() || end != here) || candidate.role != Role::Link
        };
        let open: Vec<&Candidate> = self
            .views
            .iter()
            .map(|view| view.candidate)
            .filter(|candidate| {
                leads(candidate)
                    && is_clickable(candidate)
                    && !candidate.ambiguous
                    && !candidate.states.disabled
                    && is_elsewhere(candidate)
                    && !was_tried(candidate)
                    && !risk_of_click(candidate).needs_consent()
            })
            .collect();
        let sought = ways::sought(page.clause, what);
        let named = open
            .iter()
            .filter_map(|&candidate| {
                let name = super::phrase::content(&candidate.name);
                let met = sought.iter().filter(|word| name.contains(word)).count();
                (met > 0).then_some((candidate, met, name.len()))
            })
            .max_by_key(|&(_, met, length)| (met, usize::MAX - length))
            .map(|(candidate, ..)| candidate);
        let lead = named.or_else(|| ways::usual(page.clause, &open)).filter(|_| tried < MAX_LEADS);
        if let Some(candidate) = lead {
            return Some(Proposed { leaves: true, ..page.click(Hit { candidate, score: 0.5, confidence: 0.5 }) });
        }
        let waits = count(ActionKind::WaitForIdle) == 0 && !self.request.history.is_empty();
        waits.then(|| free(serve::quiet(500)))
    }

    fn push(&mut self, clause: &Clause, serving: Serving, proposed: Proposed, hides: bool) {
        let shown = shown(clause, hides);
        let label = match proposed.label {
            Some(label) => format!("{label}: {shown}"),
            None => shown.clone(),
        };
        let target = proposed
            .action
            .target()
            .and_then(|target| target.candidate_id())
            .and_then(|id| self.request.observation.candidate(id));
        self.summary.push(match &proposed.target {
            Some(target) => format!(
                "{shown} -> {} {target}, confidence {:.2}",
                proposed.action.kind().meta().name,
                proposed.confidence
            ),
            None => format!("{shown} -> {}", proposed.action.kind().meta().name),
        });
        let class = risk::of(&proposed.action, target);
        let mut step = Step::from(proposed.action);
        step.explanation = Some(ShortText::cut(&serving.explain(&label)));
        step.confidence = Some(Probability::clamped(proposed.confidence));
        step.estimated_risk = match class {
            RiskClass::Destructive | RiskClass::Money => Some(RiskLevel::High),
            RiskClass::Send | RiskClass::Credential => Some(RiskLevel::Medium),
            RiskClass::Read | RiskClass::Write => None,
        };
        self.steps.push(step);
    }

    fn ask(&mut self, clause: &Clause, question: &str) {
        let at = self.progress.next;
        let first = self.clauses.iter().position(|other| std::ptr::eq(other, clause)).unwrap_or(at);
        let question = hidden(question, clause);
        let serving = Serving { first, last: first, of: self.clauses.len(), part: Part::Question };
        let mut step = Step::from(Action::AskUser(AskUser { question: ShortText::cut(&question) }));
        step.explanation = Some(ShortText::cut(&serving.explain(&shown(clause, false))));
        self.summary.push(format!("{} -> askUser: {question}", shown(clause, false)));
        self.steps.push(step);
    }

    fn fail(&mut self, clause: &Clause, reason: &str) {
        let said = shown(clause, false);
        let reason = hidden(&format!("clause {said:?}: {reason}"), clause);
        self.summary.push(format!("{said} -> fail: {reason}"));
        self.steps.push(Step::from(Action::Fail(Fail { reason: ShortText::cut(&reason) })));
    }

    fn fail_missing(&mut self, clause: &Clause, what: &Phrase, nearest: &[String]) {
        let name = if what.raw.is_empty() { "its target" } else { what.raw.as_str() };
        let near =
            if nearest.is_empty() { "nothing like it".to_owned() } else { format!("nearest: {}", nearest.join(", ")) };
        self.fail(clause, &format!("expected {name:?} on the page, saw {near}"));
    }

    fn end(&mut self, action: Action) {
        self.steps.push(Step::from(action));
    }

    /// Everything is done: the answers of the questions are the result.
    fn finish(&mut self) {
        let mut results = Vec::new();
        for (index, clause) in self.clauses.iter().enumerate() {
            let Act::Read { what, question } = &clause.act else { continue };
            let read = self.progress.read.iter().rev().find(|(at, _)| *at == index);
            let answer = match read {
                Some((_, data)) => answers::answer(what, question, data),
                None => answers::known(what, question, self.request.observation),
            };
            match answer {
                Some(answer) => results.push(answer),
                None => {
                    return self.fail(clause, &format!("expected {:?} in what was read, saw no such text", what.raw));
                }
            }
        }
        let result = (!results.is_empty()).then(|| LongText::cut(&results.join("\n")));
        self.summary.push("every clause is done".to_owned());
        self.end(Action::Finish(Finish { result }));
    }

    /// The draft, cut before the first step that the check refuses.
    fn close(mut self) -> PlanDraft {
        loop {
            let mut draft = PlanDraft::of(Author::Model, self.steps.clone());
            draft.reasoning_summary = Some(LongText::cut(&self.summary.join("\n")));
            let Err(violations) = draft.check(self.request.observation, self.request.policy) else { return draft };
            let first = violations.iter().filter_map(|violation| {
                violation
                    .path
                    .strip_prefix("/steps/")?
                    .split('/')
                    .next()?
                    .parse::<usize>()
                    .ok()
                    .map(|at| (at, violation.to_string()))
            });
            match first.min_by_key(|(at, _)| *at) {
                Some((at, _)) if at > 0 && at < self.steps.len() => {
                    self.steps.truncate(at);
                    self.summary.truncate(at);
                }
                refused => {
                    let why =
                        refused.map_or_else(|| "expected a plan that passes the check".to_owned(), |(_, why)| why);
                    let is_plain_failure =
                        matches!(self.steps.as_slice(), [only] if only.action.kind() == ActionKind::Fail);
                    self.steps.clear();
                    self.end(Action::Fail(Fail { reason: ShortText::cut(&why) }));
                    if is_plain_failure {
                        return draft;
                    }
                }
            }
        }
    }
}

/// Whether the clause can only mean the dialog that is open: `close it`, `click OK`.
fn means_dialog(clause: &Clause) -> bool {
    ways::said_to_dialog(clause).is_some()
}

/// The field that a step changes.
fn changed_field(step: &Step) -> Option<CandidateId> {
    let changes = matches!(
        step.action.kind(),
        ActionKind::Type
            | ActionKind::SetValue
            | ActionKind::Select
            | ActionKind::Check
            | ActionKind::Uncheck
            | ActionKind::Clear
    );
    changes.then(|| step.action.target().and_then(|target| target.candidate_id())).flatten()
}

fn risk_of_click(candidate: &Candidate) -> RiskClass {
    risk::of(
        &Action::Click(cuebook_grammar::action::Click {
            target_ref: candidate.id.into(),
            button: None,
            count: None,
            modifiers: None,
            position: None,
            dry_run: None,
        }),
        Some(candidate),
    )
}

/// Whether candidates were left out below what is in view.
fn has_more_below(observation: &Observation) -> bool {
    let left_out = observation.truncated.is_some_and(|truncated| truncated.off_view > 0);
    let viewport = &observation.viewport;
    left_out && viewport.scroll_y + viewport.height + 2.0 < viewport.page_height
}

/// The clause's words without what may be a secret; `hides` takes everything out that it types.
fn shown(clause: &Clause, hides: bool) -> String {
    let texts = if hides { clause.typed() } else { clause.secrets() };
    let mut shown = clause.source.chars().take(300).collect::<String>();
    for text in texts.into_iter().filter(|text| !text.is_empty()) {
        shown = shown.replace(text, "…");
    }
    shown
}

/// A message without the secrets of its clause.
fn hidden(message: &str, clause: &Clause) -> String {
    clause
        .secrets()
        .into_iter()
        .filter(|text| text.chars().count() >= 3)
        .fold(message.to_owned(), |message, secret| message.replace(secret, "…"))
}
