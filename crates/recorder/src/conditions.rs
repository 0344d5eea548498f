//! Effects of a step as conditions: pure.
//!
//! Invariant: each condition states something that was not so before the step.

use cuebook_grammar::candidate::Candidate;
use cuebook_grammar::condition::{Checked, Condition, DialogOpened, Download, Named, OnTarget, UrlChanges, UrlPart};
use cuebook_grammar::facts::{DialogKind, States, Toggle};
use cuebook_grammar::id::TargetRef;
use cuebook_grammar::locator::{ByRole, ByText, Locator, Strategy};
use cuebook_grammar::observation::{Observation, TextPart};
use cuebook_grammar::role::Role;
use cuebook_grammar::secret::WireText;
use cuebook_grammar::text_match::TextPattern;
use cuebook_grammar::wire::{ShortText, UrlText};

use crate::stable::{stable, stable_path};
use crate::target::Target;

/// The name of the target of a condition, in the step's own targets.
const SHOWN: &str = "shown";

/// Reports of the browser after a step.
#[derive(Clone, Debug, Default)]
pub(crate) struct Happened {
    pub(crate) dialog: Option<(DialogKind, String)>,
    /// The address of a tab that opened.
    pub(crate) new_tab: Option<String>,
    pub(crate) download: Option<String>,
    /// A document came, or the address changed.
    pub(crate) has_navigated: bool,
}

impl Happened {
    pub(crate) const fn is_anything(&self) -> bool {
        self.dialog.is_some() || self.new_tab.is_some() || self.download.is_some() || self.has_navigated
    }
}

/// Reports of the browser as conditions. `from` and `to` are the addresses before and after.
pub(crate) fn reported(happened: &Happened, from: &str, to: &str) -> Vec<Condition> {
    let mut post = Vec::new();
    if let Some((kind, message)) = &happened.dialog {
        let text = stable(message).map(|(text, _)| ShortText::cut(&text));
        post.push(Condition::DialogOpened(DialogOpened { dialog: Some(*kind), text }));
    }
    if let Some(url) = &happened.new_tab {
        let url = stable_path(url).map(|path| UrlText::cut(&path));
        post.push(Condition::NewTab(UrlPart { url }));
    }
    if let Some(name) = &happened.download {
        let filename = Some(name).filter(|name| !name.chars().any(|c| c.is_ascii_digit()));
        let filename = filename.map(|name| ShortText::cut(name));
        post.push(Condition::DownloadStarted(Download { filename }));
    }
    if happened.has_navigated && from != to {
        // A part that both addresses have says nothing of its own, but the address has to differ all the same.
        let part = stable_path(to).map(|path| UrlText::cut(&path));
        post.push(Condition::UrlChanges(UrlChanges { to: part }));
    }
    post
}

/// Content that the page did not show before: at most one condition, with its target. `main` is what the step acted
/// on.
pub(crate) fn shown(
    before: &Observation,
    after: &Observation,
    main: Option<(&TargetRef, &Target)>,
) -> Option<(Condition, Option<(TargetRef, Target)>)> {
    let name = TargetRef::new(SHOWN).ok()?;
    let visible = |locator: Locator| {
        let target = (name.clone(), Target::declared(locator));
        (Condition::visible(name.clone()), Some(target))
    };
    if let Some(locator) = said(before, after) {
        return Some(visible(locator));
    }
    if let Some(locator) = heading(before, after) {
        return Some(visible(locator));
    }
    if let Some(modal) = after.sketch.modal.as_deref()
        && before.sketch.modal.is_none()
        && let Some((text, true)) = stable(modal)
    {
        return Some(visible(Locator::role(Role::Dialog, &text)));
    }
    if let Some((target, candidate)) = main.and_then(|(name, target)| Some((name, target.candidate()?))) {
        match after.candidates.iter().find(|one| one.node == candidate.node) {
            Some(now) => {
                if let Some(condition) = turned(target, &candidate.states, &now.states) {
                    return Some((condition, None));
                }
            }
            None if before.url == after.url && !is_named_in(candidate, after) => {
                return Some((Condition::Hidden(OnTarget { target: target.clone() }), None));
            }
            None => {}
        }
    }
    let is_new = |one: &&Candidate| {
        one.role != Role::Generic
            && !one.ambiguous
            && stable(&one.name).is_some_and(|(_, is_whole)| is_whole)
            && !is_named_in(one, before)
            && !one.locators.is_empty()
    };
    if let Some(candidate) = after.candidates.iter().find(is_new) {
        return Some((Condition::visible(name.clone()), Some((name, Target::observed(candidate)))));
    }
    text(before, after).map(visible)
}

/// Returns `true` if a look at the page differs in what it offers or says.
pub(crate) fn differs(before: &Observation, after: &Observation) -> bool {
    let states = |states: &States| States { focused: false, ..states.clone() };
    let offered = |page: &Observation| -> Vec<_> {
        page.candidates.iter().map(|one| (one.id, one.name.clone(), states(&one.states))).collect()
    };
    before.url != after.url
        || before.texts != after.texts
        || before.sketch.live != after.sketch.live
        || before.sketch.modal != after.sketch.modal
        || offered(before) != offered(after)
}

fn is_named_in(candidate: &Candidate, page: &Observation) -> bool {
    page.candidates.iter().any(|one| one.role == candidate.role && one.name == candidate.name)
}

/// The words of a status or an alert.
fn said(before: &Observation, after: &Observation) -> Option<Locator> {
    let new = after.sketch.live.iter().filter(|live| !before.sketch.live.iter().any(|old| old.text == live.text));
    new.filter_map(|live| by_text(&live.text, before, after)).next()
}

fn heading(before: &Observation, after: &Observation) -> Option<Locator> {
    let headings = &after.sketch.headings;
    let new = headings.iter().filter(|heading| !before.sketch.headings.iter().any(|old| old.text == heading.text));
    new.filter_map(|heading| {
        let (text, is_whole) = stable(&heading.text)?;
        let is_alone = |page: &Observation, times| {
            page.sketch.headings.iter().filter(|other| has(&other.text, &text)).count() == times
        };
        let name = Some(TextPattern::literal(&text));
        let (role, exact) = (Role::Heading, Some(is_whole));
        let by = ByRole { role, name, exact, states: None, include_hidden: None };
        (is_alone(after, 1) && is_alone(before, 0)).then(|| Strategy::Role(by).into())
    })
    .next()
}

fn text(before: &Observation, after: &Observation) -> Option<Locator> {
    after
        .texts
        .iter()
        .flat_map(|line| &line.cells)
        .flatten()
        .filter_map(words)
        .find_map(|text| by_text(text, before, after))
}

/// The locator of a text that is on the page once, and was not before.
fn by_text(text: &str, before: &Observation, after: &Observation) -> Option<Locator> {
    let (text, is_whole) = stable(text)?;
    let times = |page: &Observation| {
        let texts = page.texts.iter().flat_map(|line| &line.cells).flatten().filter_map(words);
        let names = page.candidates.iter().map(|one| one.name.as_str());
        texts.chain(names).filter(|other| has(other, &text)).count()
    };
    let by = ByText { text: TextPattern::literal(&text), exact: Some(is_whole) };
    (times(after) == 1 && times(before) == 0).then(|| Strategy::Text(by).into())
}

fn words(part: &TextPart) -> Option<&str> {
    match part {
        TextPart::Text(text) => Some(text),
        TextPart::Image(_) | TextPart::Candidate(_) => None,
    }
}

fn has(text: &str, part: &str) -> bool {
    let plain = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
    plain(text).contains(&plain(part))
}

/// The state of the target that is another one now.
fn turned(target: &TargetRef, before: &States, after: &States) -> Option<Condition> {
    if before.checked != after.checked && matches!(after.checked, Some(Toggle::True | Toggle::False)) {
        let checked = Some(after.checked == Some(Toggle::True));
        return Some(Condition::Checked(Checked { target: target.clone(), checked }));
    }
    let flag = |on: bool| if on { "true" } else { "false" };
    let stated = [
        ("expanded", (before.expanded != after.expanded).then_some(after.expanded).flatten().map(flag)),
        ("selected", (before.selected != after.selected).then_some(after.selected).flatten().map(flag)),
        ("pressed", (before.pressed != after.pressed).then_some(after.pressed).flatten().map(|on| on.as_str())),
    ];
    let (name, value) = stated.into_iter().find_map(|(name, value)| Some((name, value?)))?;
    let (name, value) = (ShortText::cut(name), WireText::cut(value));
    Some(Condition::AriaState(Named { target: target.clone(), name, value }))
}
