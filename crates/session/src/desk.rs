//! The calls of one session, carried out.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use cuebook::repair::Interrupt;
use cuebook::{BrowserContext, Session};
use cuebook_decoding::read::ElementName;
use cuebook_grammar::action::{Action, Navigate, ResolveSelector};
use cuebook_grammar::id::{CandidateId, PageId, TargetRef};
use cuebook_grammar::observation::{Observation, Scope};
use cuebook_grammar::outcome::Cause;
use cuebook_grammar::plan::{Author, PlanDraft};
use cuebook_grammar::record::StepOrigin;
use cuebook_grammar::render::{self, TextOptions, quoted};
use cuebook_grammar::report::{RunError, RunReport, StepReport};
use cuebook_grammar::step::Step;
use cuebook_grammar::wire::SelectorText;
use serde_json::{Map, Value, json};
use url::{Host, Url};

use crate::answer::{Answer, fenced, is_of_gone_browser, why_not};
use crate::call::{Call, Fact, LONGEST_PAUSE, Request, Sought};
use crate::context::{self, Files};
use crate::known;
use crate::tabs::Tabs;
use crate::target;

/// Time for which a page may not answer during a call, before it counts as one that hangs.
const SILENCE: Duration = Duration::from_secs(5);
/// Time for which a page that is about to be left may not answer.
const LEAVING: Duration = Duration::from_secs(1);
/// Milliseconds in which an element that is asked about has to be there.
const ASKING: u64 = 3_000;
/// How often a page is asked.
const BEAT: Duration = Duration::from_millis(500);
/// Budget of what changed.
const CHANGES: TextOptions = TextOptions { budget: 1_500, text: 1_000, ..TextOptions::WHOLE };
/// Why a page that waits for an answer is not asked.
const DIALOG_OPEN: &str = "dialogOpen: a dialog holds the page; accept or dismiss it first";
/// Members that name an element: of a step, or of an object in it.
const NAMES: [(Option<&str>, &str); 6] = [
    (None, "targetRef"),
    (None, "to"),
    (None, "within"),
    (None, "container"),
    (Some("query"), "targetRef"),
    (Some("condition"), "target"),
];

/// A session and what was shown of it.
pub(crate) struct Desk {
    session: Session,
    tabs: Tabs,
    /// Observations that were last shown to whoever holds the session, by tab.
    shown: HashMap<PageId, Observation>,
    /// Loopback addresses may be opened, as they were named.
    opens_loopback: bool,
    /// A person is asked, and pages may wait for the answer.
    is_asking: Arc<AtomicBool>,
}

impl Desk {
    pub(crate) fn new(session: Session, opens_loopback: bool, is_asking: Arc<AtomicBool>) -> Self {
        Self { session, tabs: Tabs::default(), shown: HashMap::new(), opens_loopback, is_asking }
    }

    pub(crate) const fn session(&self) -> &Session {
        &self.session
    }

    pub(crate) const fn session_mut(&mut self) -> &mut Session {
        &mut self.session
    }

    pub(crate) fn into_session(self) -> Session {
        self.session
    }

    /// Carries out a call, unless the page does not answer.
    pub(crate) async fn perform(&mut self, request: Request, interrupt: &Interrupt) -> Answer {
        let tab = match &request.call {
            Call::SelectTab(name) => Some(name),
            _ => request.tab.as_ref(),
        };
        match tab.map(|name| self.tabs.find(name)).transpose() {
            Ok(Some((_, page))) if page != *self.session.page() => self.session.turn_to(page),
            Ok(_) => {}
            Err(why) => return Answer::failed(why),
        }
        // Where the last tab was closed, an address is opened in a new one.
        let needs_tab = matches!(request.call, Call::Open(_)) && self.session.context().is_err();
        if (needs_tab || matches!(request.call, Call::NewTab(_)))
            && let Err(error) = self.session.new_tab().await
        {
            return Answer::failed(format!("the tab cannot be opened: {error}"));
        }
        let hung = Interrupt::default();
        let Ok(page) = self.session.context() else {
            let mut answer = self.carry_out(request, interrupt, &hung).await;
            if let Some(error) = answer.error.as_mut().filter(|_| !answer.is_browser_gone) {
                error.push_str("; no tab is open: open an address");
            }
            return answer;
        };
        if leaves(&request.call) {
            page.make_let_go(LEAVING).await;
        }
        let (patience, is_asking) = (patience(&request.call), self.is_asking.clone());
        let mut work = Box::pin(self.carry_out(request, interrupt, &hung));
        tokio::select! {
            answer = &mut work => return answer,
            () = silence(&page, patience, &is_asking) => {}
        }
        hung.trigger();
        interrupt.trigger();
        let answer = work.await;
        self.session.interrupt_by(Interrupt::default());
        answer.hung(patience)
    }

    async fn carry_out(&mut self, request: Request, interrupt: &Interrupt, hung: &Interrupt) -> Answer {
        self.session.interrupt_by(interrupt.clone());
        let shows_all =
            request.shows_all || matches!(request.call, Call::Look | Call::LookInto(_) | Call::SelectTab(_));
        let into = match &request.call {
            Call::LookInto(name) => Some(name.clone()),
            _ => None,
        };
        let is_reading = matches!(&request.call, Call::Plan { is_dry: true, .. });
        let mut answer = match request.call {
            Call::Open(url) => self.open(&url).await,
            Call::Look | Call::LookInto(_) | Call::Changes | Call::SelectTab(_) => Answer::default(),
            Call::Act(steps) => self.act(steps).await,
            Call::Plan { plan, is_dry } => self.plan(plan, is_dry).await,
            Call::Wait { text, is_gone } => self.wait(&text, is_gone).await,
            Call::Verify(sought) => self.verify(&sought).await,
            Call::Pause(time) => {
                tokio::select! {
                    () = tokio::time::sleep(time.min(LONGEST_PAUSE)) => Answer::default(),
                    () = interrupt.triggered() => Answer::failed("the pause was interrupted"),
                }
            }
            Call::Ask(fact) => return self.ask(fact).await,
            Call::Tabs => return self.name_tabs().await,
            Call::NewTab(Some(url)) => self.open(&url).await,
            Call::NewTab(None) => Answer { result: vec!["ok: a tab is open".to_owned()], ..Answer::default() },
            Call::CloseTab(name) => match self.close_tab(name).await {
                // No page is left to show.
                answer if answer.error.is_none() && self.session.context().is_err() => return answer,
                answer => answer,
            },
            Call::Context(call) => {
                let page = self.session.context().ok().filter(|_| call.asks_page());
                if let Some(page) = page {
                    if page.has_dialog() {
                        return Answer::failed(DIALOG_OPEN);
                    }
                    if !page.answers(SILENCE).await {
                        return Answer::default().hung(SILENCE);
                    }
                }
                let files = Files::of(&self.session, request.is_confined);
                return context::perform(&mut self.session, &files, call).await;
            }
        };
        // A call that was interrupted still says what its page looks like.
        self.session.interrupt_by(hung.clone());
        let only_read = answer.report.as_ref().is_some_and(|report| report.steps.iter().all(reads));
        if !is_reading && (!only_read || answer.error.is_some()) {
            // Who asked for another page and did not get it knows this one.
            let shows_all = shows_all && answer.error.is_none();
            self.show(&mut answer, shows_all).await;
        }
        if let Some(name) = into.filter(|_| answer.error.is_none()) {
            self.write_down(&mut answer, &name, request.is_confined);
        }
        answer
    }

    /// Writes the page that was just shown to a file, whole. The answer has its path instead.
    fn write_down(&self, answer: &mut Answer, name: &str, is_confined: bool) {
        let Some(page) = self.shown.get(self.session.page()) else { return };
        let text = render::text(page, &TextOptions { is_titled: false, ..TextOptions::WHOLE });
        let files = Files::of(&self.session, is_confined);
        match files.write(name, self.session.log(), text.as_bytes()) {
            Ok(path) => {
                let tokens = render::estimate_tokens(&text);
                answer.result.push(format!("ok: the page is in {}, some {tokens} tokens", path.display()));
                answer.snapshot = None;
            }
            Err(why) => answer.error = Some(why),
        }
    }

    /// Adds the current page to an answer: what changed since it was last shown, or all of it.
    async fn show(&mut self, answer: &mut Answer, shows_all: bool) {
        let now = match self.session.look(Scope::Full).await {
            Ok(now) => now,
            Err(failure) => {
                let why = format!("the page cannot be seen: {failure}");
                let error = answer.error.get_or_insert_with(|| why.clone());
                if *error != why {
                    error.push_str(&format!("\n{why}"));
                }
                answer.is_browser_gone = is_of_gone_browser(&failure.report);
                answer.report.get_or_insert(failure.report);
                return;
            }
        };
        self.tabs.note(&now);
        self.shown.retain(|page, _| self.tabs.has(page));
        if self.tabs.are_several() {
            answer.tabs = self.tabs.lines();
        }
        let former = self.shown.insert(now.page.clone(), now.clone());
        let is_same = |former: &Observation| (&former.url, &former.title) == (&now.url, &now.title);
        let is_known = !shows_all && former.as_ref().is_some_and(is_same);
        let former = former.filter(|former| !shows_all && is_continued(former, &now));
        // Address, title, tabs and dialogs have sections of their own.
        let untitled = TextOptions { is_titled: false, ..TextOptions::default() };
        let whole = || render::text(&now, &untitled);
        let shown = match former {
            Some(mut former) => {
                if let Some(report) = &answer.report {
                    known::take_in(&mut former, &now, report);
                }
                let changes = render::changes(&former, &now, &CHANGES);
                let length = render::estimate_tokens(&changes);
                // A page of many candidates is longer than a few changes without being written.
                let is_short = length <= now.candidates.len();
                let whole = (!is_short).then(whole).filter(|whole| render::estimate_tokens(whole) <= length);
                whole.unwrap_or(changes)
            }
            None => whole(),
        };
        answer.show(&now, is_known, shown);
    }

    async fn open(&mut self, url: &str) -> Answer {
        let url = absolute(url);
        let policy = self.session.policy().clone();
        let parsed = Url::parse(&url).ok();
        let is_named = self.opens_loopback && parsed.as_ref().is_some_and(is_loopback);
        if policy.navigation(&url).is_ok() || is_named {
            let origin = parsed.map(|url| url.origin().ascii_serialization()).unwrap_or_default();
            let policy = if is_named { policy.clone().allowing(&origin).unwrap_or(policy) } else { policy };
            if let Ok(policy) = policy.starting_at(&url) {
                self.session.judge_by(policy);
            }
        }
        let report = RunReport::from_result(self.session.act(Author::Operator, Navigate::to(&url)).await);
        self.answer(report, 1)
    }

    async fn act(&mut self, mut steps: Vec<Value>) -> Answer {
        // Where the process of a page is gone, there is nothing to look at before it is loaded again.
        if let [only] = &steps[..]
            && only["type"] == "reload"
            && let Ok(page) = self.session.context()
            && page.is_crashed()
        {
            let report = self.session.act(Author::Operator, Navigate::to(&page.url())).await;
            return self.answer(RunReport::from_result(report), 1);
        }
        if let Err(why) = self.resolve(&mut steps).await {
            return Answer::failed(why);
        }
        let planned = steps.len();
        self.follow(json!({ "version": "1.0", "steps": steps }), planned, planned == 1).await
    }

    /// Runs a plan. For a step that stands alone nothing else on the page is acted on.
    async fn follow(&mut self, plan: Value, planned: usize, is_alone: bool) -> Answer {
        let mut draft = match PlanDraft::read_value(plan, Author::Model) {
            Ok(draft) => draft,
            Err(violations) => return Answer::failed(why_not(&RunError::from(violations))),
        };
        let report = match draft.steps.len() {
            1 if is_alone => self.session.act(Author::Model, draft.steps.swap_remove(0)).await,
            _ => self.session.follow(draft).await,
        };
        self.answer(RunReport::from_result(report), planned)
    }

    async fn plan(&mut self, plan: Value, is_dry: bool) -> Answer {
        let mut plan = match plan {
            Value::Array(steps) => json!({ "steps": steps }),
            plan => plan,
        };
        let Some(members) = plan.as_object_mut() else {
            return Answer::failed("a plan is an object with `steps`, or a list of steps");
        };
        if members.contains_key("candidates") {
            let how = "name elements in the steps, such as \"button \\\"Save\\\"\"; `cuebook exec` runs plans with candidates";
            return Answer::failed(format!("a session takes no `candidates`: {how}"));
        }
        members.entry("version").or_insert_with(|| json!("1.0"));
        let Some(Value::Array(steps)) = members.get_mut("steps") else {
            return Answer::failed("the plan has no list of `steps`");
        };
        if let Err(why) = self.resolve(steps).await {
            return Answer::failed(why);
        }
        let planned = steps.len();
        if !is_dry {
            return self.follow(plan, planned, false).await;
        }
        let page = match self.session.look(Scope::Full).await {
            Ok(page) => page,
            Err(failure) => return Answer::unseen(&failure),
        };
        let checked =
            PlanDraft::read_value(plan, Author::Model).and_then(|draft| draft.check(&page, self.session.policy()));
        match checked {
            Ok(plan) => {
                let count = plan.steps().len();
                Answer {
                    result: vec![format!("ok: the plan of {count} steps passes the check; nothing ran")],
                    ..Answer::default()
                }
            }
            Err(violations) => {
                let why = why_not(&RunError::from(violations));
                Answer::failed(format!("the plan does not pass the check, and nothing ran: {why}"))
            }
        }
    }

    /// Replaces what steps name by ids. Nothing has run if one of them is not there.
    async fn resolve(&mut self, steps: &mut [Value]) -> Result<(), String> {
        let mut page: Option<Observation> = None;
        for (index, step) in steps.iter_mut().enumerate() {
            let Some(step) = step.as_object_mut() else {
                return Err(format!(
                    "step {} is no object such as {{\"type\": \"click\", \"targetRef\": \"c3\"}}",
                    index + 1
                ));
            };
            for (place, member) in NAMES {
                let holder = match place {
                    None => Some(&mut *step),
                    Some(place) => step.get_mut(place).and_then(Value::as_object_mut),
                };
                let Some(holder) = holder else { continue };
                let Some(Value::String(text)) = holder.get(member) else { continue };
                let name = ElementName::read(text).map_err(|why| format!("step {}: {why}", index + 1))?;
                let id = match name {
                    ElementName::Id(id) => id,
                    _ if self.session.context().is_ok_and(|page| page.has_dialog()) => {
                        return Err(DIALOG_OPEN.to_owned());
                    }
                    ElementName::Css(selector) => self.selected(&selector).await?,
                    described => {
                        let page = match &mut page {
                            Some(page) => page,
                            none => none.insert(self.session.glance(Scope::Full).await.map_err(|it| it.to_string())?),
                        };
                        let found =
                            target::find(&described, page).map_err(|why| format!("step {}: {why}", index + 1))?;
                        found.ok_or_else(|| format!("step {}: {} is no element", index + 1, quoted(text, 80)))?
                    }
                };
                holder.insert(member.to_owned(), json!(id.to_string()));
            }
        }
        Ok(())
    }

    /// The candidate that a selector matches. Only this reading step is the operator's; what is done with the candidate is
    /// not.
    async fn selected(&mut self, selector: &str) -> Result<CandidateId, String> {
        let css = SelectorText::new(selector).map_err(|error| error.to_string())?;
        let step = Step::from(Action::ResolveSelector(ResolveSelector { css: Some(css), xpath: None }));
        let report = self.session.act(Author::Operator, step).await.map_err(|failure| failure.to_string())?;
        let data = report.steps.last().and_then(|step| step.data.clone()).unwrap_or_default();
        let id = data.as_str().or_else(|| data.get("candidate").and_then(Value::as_str)).and_then(CandidateId::parse);
        id.ok_or_else(|| format!("{} matches no element that can be acted on", quoted(selector, 80)))
    }

    /// Waits for a text. Only waiting, and so no more than looking.
    async fn wait(&mut self, text: &str, is_gone: bool) -> Answer {
        let kind = if is_gone { "hidden" } else { "visible" };
        let plan = json!({
            "version": "1.0",
            "candidates": { "text": { "strategy": "text", "text": text, "exact": false, "visible": true, "nth": 0 } },
            "steps": [{ "type": "waitFor", "condition": { "kind": kind, "target": "text" } }],
        });
        self.watch(plan, 1).await
    }

    /// Sees what is visible now. No more than looking, too.
    async fn verify(&mut self, sought: &[Sought]) -> Answer {
        let locator = |sought: &Sought| {
            let mut locator = match (&sought.role, &sought.text) {
                (Some(role), text) => json!({ "strategy": "byRole", "role": role, "hasText": text }),
                (None, text) => json!({ "strategy": "text", "text": text, "exact": false, "visible": true }),
            };
            locator["nth"] = json!(0);
            if let Some(name) = &sought.name {
                locator["name"] = json!(name);
            }
            locator
        };
        let named = sought.iter().enumerate().map(|(index, sought)| (format!("e{index}"), locator(sought)));
        let candidates: Map<String, Value> = named.collect();
        let steps: Vec<Value> = candidates
            .keys()
            .map(|name| json!({ "type": "assert", "condition": { "kind": "visible", "target": name } }))
            .collect();
        self.watch(json!({ "version": "1.0", "candidates": candidates, "steps": steps }), sought.len()).await
    }

    async fn ask(&mut self, fact: Fact) -> Answer {
        let (mut step, place) = match fact {
            Fact::Title => {
                return match self.session.glance(Scope::View).await {
                    Ok(page) => {
                        Answer { result: vec!["ok: title".to_owned(), fenced(&page.title)], ..Answer::default() }
                    }
                    Err(failure) => Answer::unseen(&failure),
                };
            }
            Fact::Read(query) => (json!({ "type": "extract", "query": query }), "/query/targetRef"),
            Fact::Holds(condition) => (json!({ "type": "assert", "condition": condition }), "/condition/target"),
        };
        let mut candidates = Map::new();
        if let Some(target) = step.pointer_mut(place) {
            let name = match ElementName::read(target.as_str().unwrap_or_default()) {
                Ok(name) => name,
                Err(why) => return Answer::failed(why),
            };
            *target = match &name {
                ElementName::Id(id) => json!(id.to_string()),
                _ => json!("element"),
            };
            candidates.extend(name.locator().map(|locator| ("element".to_owned(), locator)));
        }
        step["timeoutMs"] = json!(ASKING);
        let is_asked = step["type"] == "assert";
        let mut answer = self.watch(json!({ "version": "1.0", "candidates": candidates, "steps": [step] }), 1).await;
        let asked =
            answer.report.as_ref().and_then(|report| report.steps.iter().find(|it| it.origin == StepOrigin::Plan));
        let cause = asked.and_then(|step| step.failure.as_ref()).map(|failure| failure.cause);
        match (&answer.error, cause) {
            (None, _) if is_asked => answer.result = vec!["true".to_owned()],
            (Some(_), Some(Cause::PostconditionFailed)) if is_asked => answer.result = vec!["false".to_owned()],
            _ => {}
        }
        answer
    }

    /// Follows a plan of ours that only looks.
    async fn watch(&mut self, plan: Value, planned: usize) -> Answer {
        match PlanDraft::read_value(plan, Author::Operator) {
            Ok(draft) => {
                let report = RunReport::from_result(self.session.follow(draft).await);
                self.answer(report, planned)
            }
            Err(violations) => Answer::failed(why_not(&RunError::from(violations))),
        }
    }

    async fn name_tabs(&mut self) -> Answer {
        // Those of a page that hangs are as they were last seen.
        let hangs = match self.session.context() {
            Ok(page) => self.tabs.has(self.session.page()) && !page.answers(LEAVING).await,
            // There is none to look at.
            Err(_) => true,
        };
        if !hangs {
            match self.session.look(Scope::View).await {
                Ok(now) => self.tabs.note(&now),
                Err(failure) => return Answer::unseen(&failure),
            }
        }
        Answer { tabs: self.tabs.lines(), ..Answer::default() }
    }

    async fn close_tab(&mut self, name: Option<String>) -> Answer {
        let former = self.session.page().clone();
        if let Some(name) = name {
            match self.tabs.find(&name) {
                Ok((_, page)) => self.session.turn_to(page),
                Err(why) => return Answer::failed(why),
            }
        }
        let closed = self.session.page().clone();
        let answer = match self.session.context() {
            // No step can look at it first.
            Ok(page) if !page.answers(LEAVING).await => self.close_hung(&page).await,
            _ => self.act(vec![json!({ "type": "closeTab" })]).await,
        };
        if closed != former {
            self.session.turn_to(former);
        }
        if answer.error.is_none() && self.session.context().is_err() {
            self.tabs.close_all();
        }
        answer
    }

    async fn close_hung(&mut self, page: &BrowserContext) -> Answer {
        let change = json!({ "closeTab": page.url() });
        let noted = self.session.note_change(change).await.map_err(|failure| failure.to_string());
        let closed = match noted {
            Ok(()) => page.close_page().await.map_err(|error| error.to_string()),
            Err(why) => Err(why),
        };
        if let Err(why) = closed {
            return Answer::failed(format!("the tab cannot be closed: {why}"));
        }
        if let Some(other) = self.tabs.beside(self.session.page()) {
            self.session.turn_to(other);
        }
        Answer { result: vec!["ok: closed a tab that did not answer".to_owned()], ..Answer::default() }
    }

    fn answer(&self, report: RunReport, planned: usize) -> Answer {
        let page = self.shown.get(self.session.page());
        let known = |target: &TargetRef| {
            let id = target.candidate_id()?;
            let of_page = page.and_then(|page| page.candidate_or_recent(id));
            of_page.or_else(|| self.shown.values().find_map(|page| page.candidate_or_recent(id)))
        };
        let title = |step: &StepReport| step.action.action.target().and_then(known).map(|it| it.title());
        Answer::of(report, planned, &title)
    }
}

/// Ends once a page has not answered for as long as `patience`, and no person is asked whom it may wait for.
async fn silence(page: &BrowserContext, patience: Duration, is_asking: &AtomicBool) {
    loop {
        tokio::time::sleep(BEAT).await;
        if !page.answers(patience).await && !is_asking.load(Ordering::Relaxed) {
            return;
        }
    }
}

/// How long a page may be silent during a call: longer where a step says so, or the call takes its time.
fn patience(call: &Call) -> Duration {
    let steps = match call {
        Call::Pause(time) => return SILENCE + *time,
        Call::Act(steps) => Some(steps),
        Call::Plan { plan, .. } => plan.get("steps").unwrap_or(plan).as_array(),
        _ => None,
    };
    let stated = steps.into_iter().flatten().filter_map(|step| step.get("timeoutMs")?.as_u64());
    stated.map(Duration::from_millis).fold(SILENCE, Duration::max)
}

/// Returns `true` if the page of a call is left by it.
fn leaves(call: &Call) -> bool {
    let first = match call {
        Call::Open(_) => return true,
        Call::Act(steps) => steps.first(),
        Call::Plan { plan, is_dry: false } => plan.get("steps").unwrap_or(plan).get(0),
        _ => None,
    };
    let verb = first.and_then(|step| step.get("type")?.as_str());
    verb.is_some_and(|verb| ["navigate", "goBack", "goForward", "reload"].contains(&verb))
}

/// Returns `true` if a step only read, so that the page is as it was shown.
fn reads(step: &StepReport) -> bool {
    use Action as A;
    matches!(
        step.action.action,
        A::Extract(_) | A::SearchPage(_) | A::FindElements(_) | A::Screenshot(_) | A::GetDom(_) | A::ResolveSelector(_)
    )
}

/// Returns `true` if both are the same document, so that what changed is enough to know it.
fn is_continued(former: &Observation, now: &Observation) -> bool {
    let known: std::collections::HashSet<_> = former.candidates.iter().map(|it| it.id).collect();
    former.candidates.is_empty() == now.candidates.is_empty()
        && (now.candidates.is_empty() && former.url == now.url
            || now.candidates.iter().any(|it| known.contains(&it.id)))
}

/// An address as people write it, with its scheme.
fn absolute(url: &str) -> String {
    let url = url.trim();
    let has_scheme =
        url.contains("://") || ["about:", "data:", "file:", "javascript:"].iter().any(|it| url.starts_with(it));
    if has_scheme || url.is_empty() {
        return url.to_owned();
    }
    let secure = format!("https://{url}");
    match Url::parse(&secure) {
        Ok(parsed) if is_loopback(&parsed) => format!("http://{url}"),
        _ => secure,
    }
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_completed_as_people_mean_them() {
        for (written, meant) in [
            ("shop.test/a?b", "https://shop.test/a?b"),
            ("localhost:8080", "http://localhost:8080"),
            ("127.0.0.1:1/x", "http://127.0.0.1:1/x"),
            ("http://shop.test", "http://shop.test"),
            ("javascript:alert(1)", "javascript:alert(1)"),
            ("about:blank", "about:blank"),
        ] {
            assert_eq!(absolute(written), meant);
        }
    }
}
