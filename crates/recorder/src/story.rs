//! From events in their order to steps: pure. What a step led to is in `draft`.
//!
//! Invariants:
//! - A step is begun by an event of a person only; what the page and the browser do afterwards belongs to the step before.
//! - Characters of one field are one step, and the press that gave it the focus is none.
//! - A press that changed nothing anybody could see is no step.

use std::sync::Arc;
use std::time::{Duration, Instant};

use cuebook_grammar::action::{
    AcceptDialog, Action, Click, CloseTab, DragTo, Hover, Modifier, MouseButton, Navigate, Nothing, OptionChoice,
    OptionChoices, Press, Select, SetChecked, SetValue, SwitchTab, Upload,
};
use cuebook_grammar::condition::Condition;
use cuebook_grammar::facts::DialogKind;
use cuebook_grammar::geometry::ViewportSize;
use cuebook_grammar::id::{CredentialRef, PageId, TargetRef};
use cuebook_grammar::observation::Observation;
use cuebook_grammar::plan::MAX_STEPS;
use cuebook_grammar::record::RecordedTarget;
use cuebook_grammar::seam::Redactor;
use cuebook_grammar::wire::{ClickCount, Count, ShortText};
use url::Url;

use crate::credentials::Credentials;
use crate::draft::{Draft, Recorded, target_name};
use crate::history::Way;
use crate::note::Note;
use crate::report::{Button, Described, Report};
use crate::target::{Place, Pointed, Target};

/// A navigation that the page did not ask for belongs to a step this recent: a script that goes back.
const CAUSED_WITHIN: Duration = Duration::from_millis(700);
/// A page that asked for a document may get it this much later.
const ANSWERED_WITHIN: Duration = Duration::from_secs(30);
/// Time after which nothing that is seen was caused by the step.
const SHOWN_WITHIN: Duration = Duration::from_secs(8);
/// A step that nothing came of for this long is over.
const SETTLES: Duration = Duration::from_secs(1);
/// A person chooses a file within this time after the press that opened the chooser.
const CHOSEN_WITHIN: Duration = Duration::from_secs(300);

#[derive(Debug)]
struct Tab {
    id: PageId,
    opener: Option<PageId>,
    url: String,
    /// A person opened it, not a page.
    is_foreign: bool,
    /// Its first document is still to come.
    is_opening: bool,
    /// The page asked for another document.
    has_asked: bool,
    /// The latest look at the page.
    seen: Option<Arc<Observation>>,
    /// The element that the pointer had revealed for the press that may become a click.
    hovers: Vec<Pointed>,
}

pub(crate) struct Story {
    redactor: Arc<dyn Redactor>,
    tabs: Vec<Tab>,
    /// The tab in which the plan is.
    current: Option<PageId>,
    drafts: Vec<Draft>,
    credentials: Credentials,
    notes: Vec<Note>,
    viewport: Option<ViewportSize>,
}

impl Story {
    pub(crate) fn new(redactor: Arc<dyn Redactor>, named: Vec<(String, CredentialRef)>) -> Self {
        Self {
            redactor,
            tabs: Vec::new(),
            current: None,
            drafts: Vec::new(),
            credentials: Credentials::new(named),
            notes: Vec::new(),
            viewport: None,
        }
    }

    fn tab(&mut self, id: &PageId) -> Option<&mut Tab> {
        self.tabs.iter_mut().find(|tab| tab.id == *id)
    }

    /// The latest step, if it may still be the cause of what happens in `tab`.
    fn cause(&mut self, tab: &PageId, within: Duration, now: Instant) -> Option<&mut Draft> {
        let last = self.drafts.last_mut()?;
        (last.tab == *tab && now.saturating_duration_since(last.at) <= within).then_some(last)
    }

    // ------------------------------------------------------------------------------------- the browser

    /// A tab is there. The first one is that of the recording.
    pub(crate) fn opened(&mut self, id: &PageId, opener: Option<&PageId>, url: &str, now: Instant) {
        let is_first = self.tabs.is_empty();
        if is_first {
            self.current = Some(id.clone());
        }
        if let Some(opener) = opener
            && let Some(draft) = self.cause(opener, SHOWN_WITHIN, now)
        {
            draft.happened.new_tab = Some(url.to_owned());
        }
        let is_foreign = !is_first && opener.is_none_or(|opener| !self.tabs.iter().any(|tab| tab.id == *opener));
        let (id, url, opener) = (id.clone(), url.to_owned(), opener.cloned());
        let is_opening = !is_first;
        self.tabs.push(Tab {
            id,
            opener,
            url,
            is_foreign,
            is_opening,
            has_asked: false,
            seen: None,
            hovers: Vec::new(),
        });
    }

    /// A tab is gone: a step, if the person closed it and another one is left.
    pub(crate) fn closed(&mut self, id: &PageId, now: Instant) {
        let Some(index) = self.tabs.iter().position(|tab| tab.id == *id) else { return };
        let is_caused = self.drafts.last().is_some_and(|last| now.saturating_duration_since(last.at) <= CAUSED_WITHIN);
        let is_foreign = self.tabs.get(index).is_some_and(|tab| tab.is_foreign);
        if self.tabs.len() > 1 && !is_caused && !is_foreign {
            let is_current = self.current.as_ref() == Some(id);
            let tab = (!is_current).then(|| count(index));
            let on = self.current.clone().unwrap_or_else(|| id.clone());
            self.begin(Action::CloseTab(CloseTab { tab }), &on, None, now);
            self.close_last();
        }
        let opener = self.tabs.remove(index).opener;
        if self.current.as_ref() == Some(id) {
            let opener = opener.filter(|opener| self.tabs.iter().any(|tab| tab.id == *opener));
            self.current = opener.or_else(|| self.tabs.last().map(|tab| tab.id.clone()));
        }
    }

    /// A page asked for another document in its tab.
    pub(crate) fn asked(&mut self, id: &PageId) {
        if let Some(tab) = self.tab(id) {
            tab.has_asked = true;
        }
    }

    /// The tab shows another document or address.
    pub(crate) fn navigated(&mut self, id: &PageId, url: &str, way: Way, now: Instant) {
        let Some(tab) = self.tab(id) else { return };
        let has_asked = tab.has_asked;
        let within = if has_asked || way == Way::Within { ANSWERED_WITHIN } else { CAUSED_WITHIN };
        if self.cause(id, within, now).is_none() && !has_asked && way != Way::Within {
            // What the step before led to is over.
            self.close_last();
        }
        let Some(tab) = self.tab(id) else { return };
        let is_opening = std::mem::take(&mut tab.is_opening) && tab.seen.is_none();
        tab.has_asked = false;
        let is_foreign = tab.is_foreign;
        let from = std::mem::replace(&mut tab.url, url.to_owned());
        if is_opening {
            if let Some(opened) = self.drafts.last_mut().and_then(|draft| draft.happened.new_tab.as_mut()) {
                url.clone_into(opened);
            }
            return;
        }
        if let Some(draft) = self.cause(id, within, now) {
            draft.happened.has_navigated = true;
            draft.after = None;
            return;
        }
        if has_asked || is_foreign || way == Way::Within {
            return;
        }
        let (times, action) = match way {
            Way::Back(steps) => (steps, Action::GoBack(Nothing {})),
            Way::Forward(steps) => (steps, Action::GoForward(Nothing {})),
            Way::Same => (1, Action::Reload(Nothing {})),
            Way::New | Way::Within => (1, Action::Navigate(Navigate::to(url))),
        };
        for _ in 0..times {
            self.begin(action.clone(), id, None, now);
        }
        if let Some(draft) = self.drafts.last_mut() {
            draft.url = from;
            draft.happened.has_navigated = !matches!(draft.step.action, Action::Navigate(_));
        }
    }

    pub(crate) fn dialog_opened(&mut self, id: &PageId, kind: DialogKind, message: &str, now: Instant) {
        if let Some(draft) = self.cause(id, SHOWN_WITHIN, now) {
            draft.happened.dialog = Some((kind, message.to_owned()));
        }
    }

    /// A dialog was answered, `text` is what was entered in a prompt.
    pub(crate) fn dialog_closed(&mut self, id: &PageId, kind: DialogKind, accepted: bool, text: &str, now: Instant) {
        let action = if accepted {
            let text = (kind == DialogKind::Prompt).then(|| ShortText::cut(text));
            Action::AcceptDialog(AcceptDialog { text })
        } else {
            Action::DismissDialog(Nothing {})
        };
        self.begin(action, id, None, now);
    }

    pub(crate) fn download(&mut self, name: &str, now: Instant) {
        if let Some(draft) =
            self.drafts.last_mut().filter(|last| now.saturating_duration_since(last.at) <= ANSWERED_WITHIN)
        {
            draft.happened.download = Some(name.to_owned());
        }
    }

    pub(crate) fn lost(&mut self) {
        self.note(Note::Lost);
    }

    /// Takes a look at a page in, which began at `began`.
    pub(crate) fn observed(&mut self, page: Observation, began: Instant) {
        let page = Arc::new(page);
        if self.viewport.is_none() && page.dialog.is_none() {
            self.viewport = viewport(&page);
        }
        let Some(tab) = self.tabs.iter_mut().find(|tab| tab.id == page.page) else { return };
        tab.seen = Some(page.clone());
        // A person may be faster than the first look.
        for target in self.drafts.iter_mut().flat_map(|draft| draft.targets.values_mut()) {
            if let Some(candidate) = target.wanted.as_ref().and_then(|pointed| pointed.candidate_in(&page)) {
                *target = Target::observed(candidate);
            }
        }
        let Some(draft) = self.drafts.last_mut().filter(|draft| draft.tab == page.page) else { return };
        if began >= draft.at && began.saturating_duration_since(draft.at) <= SHOWN_WITHIN && page.dialog.is_none() {
            draft.after = Some(page);
        }
    }

    // ------------------------------------------------------------------------------------- the person

    /// Takes a report of the script in.
    pub(crate) fn reported(&mut self, place: &Place, report: Report, now: Instant) {
        let pointed = |described: Described| Pointed::new(place, described);
        let tab = &place.tab;
        if self.tab(tab).is_some_and(|tab| tab.is_foreign) && !matches!(report, Report::Hello | Report::Changed) {
            return self.note(Note::OtherTab);
        }
        match report {
            Report::Hello | Report::Changed => {}
            Report::Down { hovers } => {
                let hovers = hovers.into_iter().map(pointed).collect();
                if let Some(tab) = self.tab(tab) {
                    tab.hovers = hovers;
                }
            }
            Report::Click { target, button, held } => self.clicked(&pointed(target), button, &held, tab, now),
            Report::Double { target } => self.doubled(&pointed(target)),
            Report::Press { target, keys } => self.pressed(pointed(target), &keys, tab, now),
            Report::Value { target, text, is_cut } => self.entered(pointed(target), &text, is_cut, tab, now),
            Report::Typing { target } => self.typing(pointed(target), tab, now),
            Report::Secret { target, text } => {
                self.redactor.learn(&text);
                self.typing(pointed(target), tab, now);
            }
            Report::Select { target, options } => {
                let choice = |option: &cuebook_grammar::candidate::SelectOption| {
                    let by_label = !option.label.trim().is_empty();
                    let text = if by_label { &option.label } else { &option.value };
                    let text = ShortText::cut(text);
                    if by_label { OptionChoice::Label(text) } else { OptionChoice::Value(text) }
                };
                let choices: Vec<_> = options.iter().map(choice).collect();
                let option = OptionChoices { is_list: choices.len() != 1, choices };
                self.set(&pointed(target), tab, now, |target_ref| {
                    Action::Select(Select { target_ref, option: option.clone() })
                });
            }
            Report::Check { target, on } => self.set(&pointed(target), tab, now, |target_ref| {
                let set = SetChecked { target_ref, position: None, dry_run: None };
                if on { Action::Check(set) } else { Action::Uncheck(set) }
            }),
            Report::Files { target, names } => self.chose(pointed(target), names, tab, now),
            Report::Drag { from, to } => {
                let (from, to) = (pointed(from), pointed(to));
                let (Some(first), Some(second)) = (self.target(&from, tab), self.target(&to, tab)) else {
                    return self.undescribed("drag", &from);
                };
                let (name, other) = (target_name("main"), target_name("to"));
                let action = Action::from(DragTo::between(name.clone(), other.clone()));
                self.begin(action, tab, Some((name, first, from)), now);
                if let Some(draft) = self.drafts.last_mut() {
                    draft.targets.insert(other, second);
                }
            }
        }
    }

    fn clicked(&mut self, pointed: &Pointed, button: Button, held: &[String], tab: &PageId, now: Instant) {
        let hovers = self.tab(tab).map(|tab| std::mem::take(&mut tab.hovers)).unwrap_or_default();
        let Some(target) = self.target(pointed, tab) else {
            // Presses on the page itself mostly do nothing.
            if pointed.is_control() {
                self.undescribed("click", pointed);
            }
            return;
        };
        let is_field = pointed.takes_value(target.candidate());
        let is_tentative =
            button == Button::Left && (is_field || (!pointed.is_control() && target.candidate().is_none()));
        self.hovered(hovers, &target, pointed, tab, now);
        let main = target_name("main");
        let button = match button {
            Button::Left => None,
            Button::Middle => Some(MouseButton::Middle),
            Button::Right => Some(MouseButton::Right),
        };
        let modifiers: Vec<Modifier> = held.iter().filter_map(|key| modifier(key)).collect();
        let modifiers = (!modifiers.is_empty()).then_some(modifiers);
        let click = Click { button, modifiers, ..Click::on(main.clone()) };
        self.begin(Action::Click(click), tab, Some((main, target, pointed.clone())), now);
        if let Some(draft) = self.drafts.last_mut() {
            draft.is_tentative = is_tentative;
        }
    }

    /// Steps that put the pointer over what reveals the target of the click that follows.
    fn hovered(&mut self, hovers: Vec<Pointed>, clicked: &Target, over: &Pointed, tab: &PageId, now: Instant) {
        let mut steps: Vec<(Pointed, Target)> = Vec::new();
        for hover in hovers {
            // What cannot be named may be within what can.
            if !hover.is_same(over)
                && let Some(target) = self.target(&hover, tab)
            {
                steps.push((hover, target));
            }
        }
        // The pointer still is there if the step before was done with the same menu open.
        let known = self.drafts.iter().rev().skip_while(|draft| matches!(draft.step.action, Action::Click(_)));
        let before = known.take_while(|draft| matches!(draft.step.action, Action::Hover(_)));
        let last = self.drafts.last().filter(|last| !last.happened.is_anything());
        let is_open = |hover: &Pointed| {
            last.is_some() && before.clone().any(|draft| draft.pointed.as_ref().is_some_and(|it| it.is_same(hover)))
        };
        if steps.iter().all(|(hover, _)| is_open(hover)) {
            return;
        }
        let shown: Vec<Target> = steps.iter().skip(1).map(|(_, target)| target).chain([clicked]).cloned().collect();
        for ((pointed, target), next) in steps.into_iter().zip(shown) {
            let (main, revealed) = (target_name("main"), target_name("revealed"));
            self.begin(Hover::over(main.clone()).into(), tab, Some((main, target, pointed)), now);
            if let Some(draft) = self.drafts.last_mut() {
                draft.step.post.push(Condition::visible(revealed.clone()));
                draft.targets.insert(revealed, next);
            }
        }
    }

    fn doubled(&mut self, pointed: &Pointed) {
        let is_click = |draft: &Draft| {
            matches!(draft.step.action, Action::Click(_))
                && draft.pointed.as_ref().is_some_and(|it| it.is_same(pointed))
        };
        let both = self.drafts.len() >= 2 && self.drafts.iter().rev().take(2).all(is_click);
        if both {
            self.drafts.pop();
        }
        if let Some(draft) = self.drafts.last_mut().filter(|draft| is_click(draft))
            && let Action::Click(click) = &mut draft.step.action
        {
            click.count = Some(ClickCount::clamped(2));
        }
    }

    fn pressed(&mut self, pointed: Pointed, keys: &str, tab: &PageId, now: Instant) {
        let press = Press { target_ref: None, keys: ShortText::cut(keys) };
        let is_tentative = keys != "Enter";
        if pointed.is_page() {
            self.begin(Action::Press(press), tab, None, now);
        } else {
            let Some(target) = self.target(&pointed, tab) else { return self.undescribed("press", &pointed) };
            let main = target_name("main");
            let press = Press { target_ref: Some(main.clone()), ..press };
            self.begin(Action::Press(press), tab, Some((main, target, pointed)), now);
        }
        if let Some(draft) = self.drafts.last_mut() {
            draft.is_tentative = is_tentative;
        }
    }

    /// The latest step, if it enters something in this field.
    fn entry(&mut self, pointed: &Pointed) -> Option<&mut Draft> {
        let last = self.drafts.last_mut()?;
        let is_entry = matches!(last.step.action, Action::SetValue(_) | Action::Select(_));
        (is_entry && last.pointed.as_ref().is_some_and(|it| it.is_same(pointed))).then_some(last)
    }

    fn entered(&mut self, pointed: Pointed, text: &str, is_cut: bool, tab: &PageId, now: Instant) {
        if let Some(reference) = self.named_by_person(&pointed, tab) {
            self.redactor.learn(text);
            return self.enter_secret(pointed, reference, tab, now);
        }
        self.set(&pointed, tab, now, |target_ref| Action::SetValue(SetValue::to(target_ref, text)));
        if let Some(draft) = self.entry(&pointed) {
            draft.is_cut = is_cut;
        }
    }

    fn typing(&mut self, pointed: Pointed, tab: &PageId, now: Instant) {
        let reference = match self.named_by_person(&pointed, tab) {
            Some(reference) => reference,
            None => {
                let (seen, origin) = self.seen_in(tab);
                let candidate = seen.as_ref().and_then(|page| pointed.candidate_in(page));
                self.credentials.derived(&pointed, candidate, origin)
            }
        };
        self.enter_secret(pointed, reference, tab, now);
    }

    fn enter_secret(&mut self, pointed: Pointed, reference: CredentialRef, tab: &PageId, now: Instant) {
        // Its last characters may be reported after the next step has begun.
        let is_entered = |draft: &Draft| {
            draft.step.action.credential() == Some(&reference)
                && draft.pointed.as_ref().is_some_and(|it| it.is_same(&pointed))
        };
        if self.drafts.iter().rev().take(3).any(is_entered) {
            return;
        }
        self.set(&pointed, tab, now, |target_ref| {
            Action::SetValue(SetValue { target_ref, value: None, credential_ref: Some(reference.clone()) })
        });
    }

    /// A step that sets a field; it replaces the one before if that set the same field.
    fn set(&mut self, pointed: &Pointed, tab: &PageId, now: Instant, action: impl Fn(TargetRef) -> Action) {
        let main = target_name("main");
        if let Some(draft) = self.entry(pointed) {
            draft.step.action = action(main);
            (draft.at, draft.after) = (now, None);
            return;
        }
        // What only gave it the focus is no step of its own.
        while self.drafts.last().is_some_and(|last| {
            last.is_tentative
                && matches!(last.step.action, Action::Click(_))
                && last.pointed.as_ref().is_some_and(|it| it.is_same(pointed))
        }) {
            self.drafts.pop();
        }
        let Some(target) = self.target(pointed, tab) else { return self.undescribed("entry", pointed) };
        self.begin(action(main.clone()), tab, Some((main, target, pointed.clone())), now);
    }

    fn chose(&mut self, pointed: Pointed, names: Vec<String>, tab: &PageId, now: Instant) {
        if names.is_empty() {
            return;
        }
        let files: Vec<ShortText> = names.iter().map(|name| ShortText::cut(name)).collect();
        let upload = |target_ref| Action::Upload(Upload { target_ref, files: files.clone() });
        // The press that opened the chooser is a part of it.
        let opener = self
            .cause(tab, CHOSEN_WITHIN, now)
            .filter(|last| matches!(last.step.action, Action::Click(_)) && !last.happened.is_anything());
        let is_opened = opener.is_some();
        let seen = self.tab(tab).and_then(|tab| tab.seen.clone());
        let is_candidate = seen.is_some_and(|page| pointed.candidate_in(&page).is_some());
        if is_opened && !is_candidate {
            if let Some(draft) = self.drafts.last_mut() {
                draft.step.action = upload(target_name("main"));
                (draft.at, draft.is_tentative) = (now, false);
            }
        } else {
            if is_opened {
                self.drafts.pop();
            }
            let Some(target) = self.target(&pointed, tab) else { return self.undescribed("upload", &pointed) };
            let main = target_name("main");
            self.begin(upload(main.clone()), tab, Some((main, target, pointed)), now);
        }
    }

    // ------------------------------------------------------------------------------------- steps

    /// Ends the step before, goes to the tab, and begins a step.
    fn begin(&mut self, action: Action, tab: &PageId, main: Option<(TargetRef, Target, Pointed)>, now: Instant) {
        self.close_last();
        if self.drafts.len() + 1 >= MAX_STEPS {
            return self.note(Note::Full);
        }
        if self.current.as_ref() != Some(tab)
            && let Some(index) = self.tabs.iter().position(|one| one.id == *tab)
        {
            let switch = Action::SwitchTab(SwitchTab { tab: count(index) });
            self.current = Some(tab.clone());
            self.drafts.push(Draft::new(switch, tab, String::new(), None, now));
        }
        let here = self.tab(tab);
        let (url, before) = here.map(|tab| (tab.url.clone(), tab.seen.clone())).unwrap_or_default();
        let mut draft = Draft::new(action, tab, url, before, now);
        if let Some((name, target, pointed)) = main {
            draft.targets.insert(name, target);
            draft.pointed = Some(pointed);
        }
        self.drafts.push(draft);
    }

    /// States what the last step led to, or leaves it out if that is nothing.
    fn close_last(&mut self) {
        let Some(draft) = self.drafts.last_mut().filter(|draft| !draft.is_closed) else { return };
        let tab = self.tabs.iter().find(|tab| tab.id == draft.tab);
        let to = tab.map_or_else(|| draft.url.clone(), |tab| tab.url.clone());
        if !draft.close(&to) {
            self.drafts.pop();
        }
    }

    /// The element as the page modeler sees it; without that, by what was seen as the event fired.
    fn target(&mut self, pointed: &Pointed, tab: &PageId) -> Option<Target> {
        let seen = self.tab(tab).and_then(|tab| tab.seen.clone());
        let candidate = seen.as_ref().and_then(|page| pointed.candidate_in(page));
        if let Some(candidate) = candidate.filter(|candidate| !candidate.locators.is_empty()) {
            return Some(Target::observed(candidate));
        }
        let recorded = RecordedTarget::Declared(pointed.located(seen.as_deref())?);
        Some(Target { recorded, wanted: Some(pointed.clone()) })
    }

    /// The name that the person gave to what goes into a field.
    fn named_by_person(&mut self, pointed: &Pointed, tab: &PageId) -> Option<CredentialRef> {
        let (seen, origin) = self.seen_in(tab);
        let candidate = seen.as_ref().and_then(|page| pointed.candidate_in(page));
        self.credentials.given(pointed, candidate, origin)
    }

    /// The latest look at a tab, and its origin.
    fn seen_in(&self, tab: &PageId) -> (Option<Arc<Observation>>, String) {
        let tab = self.tabs.iter().find(|one| one.id == *tab);
        let origin = tab.and_then(|tab| origin(&tab.url)).unwrap_or_default();
        (tab.and_then(|tab| tab.seen.clone()), origin)
    }

    fn undescribed(&mut self, verb: &str, pointed: &Pointed) {
        self.note(Note::Undescribed { what: format!("a {verb} on {}", pointed.title()) });
    }

    fn note(&mut self, note: Note) {
        if !self.notes.contains(&note) && self.notes.len() < MOST_NOTES {
            self.notes.push(note);
        }
    }

    /// The tab in which something is done or is to be done next.
    pub(crate) fn watched(&self) -> Option<&PageId> {
        let opened = self.drafts.last().filter(|last| last.happened.new_tab.is_some()).and(self.tabs.last());
        opened.map(|tab| &tab.id).or(self.current.as_ref())
    }

    /// Returns `true` if nothing more is expected of the last step: it was seen, and no document is on its way.
    pub(crate) fn is_settled(&self, now: Instant) -> bool {
        let Some(last) = self.drafts.last().filter(|last| !last.is_closed) else { return true };
        let is_awaited = self.tabs.iter().any(|tab| tab.has_asked || (tab.is_opening && tab.url.is_empty()));
        last.after.is_some() && !is_awaited && now.saturating_duration_since(last.at) >= SETTLES
    }

    /// Everything that was done.
    pub(crate) fn end(mut self) -> Recorded {
        self.close_last();
        let mut recorded =
            Recorded { viewport: self.viewport, notes: std::mem::take(&mut self.notes), ..Recorded::default() };
        let mut drafts = self.drafts.into_iter().peekable();
        while let Some(draft) = drafts.next() {
            let is_next_switch = drafts.peek().is_none_or(|next| matches!(next.step.action, Action::SwitchTab(_)));
            if matches!(draft.step.action, Action::SwitchTab(_)) && is_next_switch {
                continue;
            }
            let Some(done) = draft.done(self.redactor.as_ref()) else {
                let what = draft.step.action.kind().meta().name.to_owned();
                recorded.notes.push(Note::ShowsSecret { what });
                continue;
            };
            let step = recorded.steps.len() + 1;
            if let Action::Upload(upload) = &draft.step.action {
                let names = upload.files.iter().map(|name| name.as_str().to_owned()).collect();
                recorded.notes.push(Note::Files { step, names });
            }
            if draft.is_cut {
                recorded.notes.push(Note::TextCut { step });
            }
            if let Some(reference) = draft.step.action.credential()
                && let Some(field) = self.credentials.field(reference)
            {
                recorded.credentials.insert(reference.clone(), field.clone());
            }
            recorded.origins.extend(origin(&draft.url));
            recorded.steps.push(done);
        }
        recorded
    }
}

/// The most remarks on one recording.
const MOST_NOTES: usize = 50;

fn count(index: usize) -> Count {
    Count::clamped(u32::try_from(index).unwrap_or(u32::MAX))
}

fn modifier(key: &str) -> Option<Modifier> {
    match key {
        "Alt" => Some(Modifier::Alt),
        "Control" => Some(Modifier::Control),
        "Meta" => Some(Modifier::Meta),
        "Shift" => Some(Modifier::Shift),
        _ => None,
    }
}

fn origin(url: &str) -> Option<String> {
    let origin = Url::parse(url).ok()?.origin();
    origin.is_tuple().then(|| origin.ascii_serialization())
}

fn viewport(page: &Observation) -> Option<ViewportSize> {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a viewport is a small whole number")]
    let size = |side: f64| (200.0..=20_000.0).contains(&side).then_some(side as u32);
    Some(ViewportSize { width: size(page.viewport.width)?, height: size(page.viewport.height)? })
}
