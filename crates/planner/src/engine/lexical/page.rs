//! The page as one clause sees it, and what serving the clause can come to.

use cuebook_grammar::action::{Action, ActionKind, Click, OnTarget, Select, SetValue, TypeText};
use cuebook_grammar::action::{MouseButton, OptionChoice, OptionChoices};
use cuebook_grammar::candidate::{Candidate, Capability, ControlKind};
use cuebook_grammar::id::{CredentialRef, TargetRef};
use cuebook_grammar::observation::Observation;
use cuebook_grammar::role::Role;
use cuebook_grammar::secret::WireText;
use cuebook_grammar::wire::{ClickCount, ShortText};

use super::clause::{Clause, Clicks, Manner, Value};
use super::grounding::{Found, Hit, Sought, View, find};
use super::phrase::Phrase;
use super::progress::{DonePart, Progress};
use super::text::words;

/// A step that is proposed for a clause.
#[derive(Clone, Debug)]
pub(super) struct Proposed {
    pub(super) action: Action,
    /// What it does, in words; shown where the clause's own words are not enough.
    pub(super) label: Option<&'static str>,
    /// What it is bound to, in words.
    pub(super) target: Option<String>,
    pub(super) confidence: f64,
    /// The page is likely to be another one afterwards.
    pub(super) leaves: bool,
    /// What it types must not be shown.
    pub(super) is_secret: bool,
}

/// What serving a clause comes to.
#[derive(Clone, Debug)]
pub(super) enum Served {
    /// These steps.
    Steps(Vec<Proposed>),
    /// A step that only leads there.
    Way(Vec<Proposed>),
    /// Nothing is left to do.
    Done,
    /// Something is not on this page: what, and what comes nearest.
    Missing { what: Box<Phrase>, nearest: Vec<String> },
    /// A person must say.
    Ask(String),
    /// It cannot be done, here or elsewhere.
    Cannot(String),
}

/// The page, and what was done for the clause so far.
#[derive(Debug)]
pub(super) struct Page<'a> {
    pub(super) observation: &'a Observation,
    pub(super) views: &'a [View<'a>],
    pub(super) progress: &'a Progress,
    pub(super) clause: &'a Clause,
    /// The field that was changed last.
    pub(super) last: Option<&'a Candidate>,
}

/// Whether it is there to be clicked rather than typed into.
pub(super) fn is_clickable(candidate: &Candidate) -> bool {
    !is_entry(candidate) && candidate.control != ControlKind::Select
}

/// Whether it takes text.
pub(super) fn is_entry(candidate: &Candidate) -> bool {
    candidate.supports(Capability::Text)
}

/// Whether a person would type into it: it takes text and is not read-only.
pub(super) fn is_open_entry(candidate: &Candidate) -> bool {
    is_entry(candidate) && !candidate.states.readonly && !candidate.states.disabled
}

/// Whether it is a control that clicks are mostly meant for.
pub(super) fn is_control(candidate: &Candidate) -> bool {
    matches!(
        candidate.role,
        Role::Button
            | Role::Link
            | Role::Tab
            | Role::MenuItem
            | Role::MenuItemCheckbox
            | Role::MenuItemRadio
            | Role::Option
            | Role::Checkbox
            | Role::Radio
            | Role::Switch
            | Role::TreeItem
    ) && is_clickable(candidate)
}

/// Whether it looks like a button.
pub(super) fn is_button(candidate: &Candidate) -> bool {
    candidate.role == Role::Button && is_clickable(candidate)
}

/// Whether it leads somewhere rather than doing something.
pub(super) fn leads(candidate: &Candidate) -> bool {
    matches!(candidate.role, Role::Link | Role::Tab | Role::MenuItem | Role::TreeItem) || opens(candidate)
}

/// Whether it opens something on the page.
pub(super) fn opens(candidate: &Candidate) -> bool {
    candidate.states.haspopup.is_some() || candidate.states.expanded == Some(false)
}

/// Words on controls after which the page is usually another one.
const LEAVING: &[&str] = &[
    "login", "logout", "signup", "submit", "save", "search", "order", "next", "continue", "checkout", "buy", "pay",
    "send", "delete", "remove", "confirm", "apply", "finish", "back", "previous", "edit", "open", "ok", "close",
    "cancel", "create", "add", "menu", "more", "go", "register", "load",
];

impl<'a> Page<'a> {
    /// Finds what a phrase means among the candidates that fit.
    pub(super) fn find(
        &self,
        phrase: &Phrase,
        fits: &dyn Fn(&Candidate) -> bool,
        usual: &dyn Fn(&Candidate) -> bool,
    ) -> Found<'a> {
        let mut phrase = phrase.clone();
        phrase.hints.extend(self.clause.scope.iter().cloned());
        let sought = Sought { fits, usual, answers: &self.progress.answers };
        match find(self.views, &phrase, &sought) {
            Found::Nothing(near) => match self.without_kind(&phrase).map(|phrase| find(self.views, &phrase, &sought)) {
                None | Some(Found::Nothing(_)) => Found::Nothing(near),
                Some(found) => found,
            },
            found => found,
        }
    }

    /// `invoice 1003`, `the first invoice`: where the page says what its things are, the number tells them apart.
    fn without_kind(&self, phrase: &Phrase) -> Option<Phrase> {
        let is_number = |word: &String| word.contains(|c: char| c.is_ascii_digit());
        let title = words(&self.observation.title);
        let is_kind = |word: &String| title.contains(word) || self.views.iter().any(|view| view.says(word));
        let (numbers, kinds): (Vec<String>, Vec<String>) = phrase.context.iter().cloned().partition(is_number);
        let tells = !numbers.is_empty() || phrase.ordinal.is_some();
        let drops = tells && !kinds.is_empty() && !phrase.head.is_empty() && kinds.iter().all(is_kind);
        drops.then(|| Phrase { context: numbers, ..phrase.clone() })
    }

    /// The candidates that fit, in the order of the page.
    pub(super) fn all(&self, fits: &dyn Fn(&Candidate) -> bool) -> Vec<&'a Candidate> {
        self.views.iter().map(|view| view.candidate).filter(|candidate| fits(candidate)).collect()
    }

    /// Whether the page is likely to be another one after a click.
    pub(super) fn leaves(&self, candidate: &Candidate) -> bool {
        let here = self.observation.url.split('#').next().unwrap_or_default();
        let destination = candidate.destination.as_deref().filter(|url| !url.starts_with("javascript:"));
        let elsewhere = destination.is_some_and(|url| !url.is_empty() && url.split('#').next() != Some(here));
        let name = words(&candidate.name);
        elsewhere
            || matches!(candidate.role, Role::Tab | Role::MenuItem | Role::TreeItem)
            || candidate.states.haspopup.is_some()
            || candidate.states.expanded.is_some()
            || (is_clickable(candidate) && name.iter().any(|word| LEAVING.contains(&word.as_str())))
    }

    fn done_steps(&self) -> impl Iterator<Item = &DonePart> {
        self.progress.parts.iter().chain(&self.progress.ways)
    }

    /// Whether a step of this clause was done on this candidate already.
    pub(super) fn is_done_on(&self, candidate: &Candidate) -> bool {
        let id = candidate.id.to_string();
        self.done_steps().any(|part| part.target_ref.as_deref() == Some(&id) && part.kind != ActionKind::Scroll)
    }

    /// Whether a step of this kind was done for this clause.
    pub(super) fn is_done(&self, label: &str) -> bool {
        self.done_steps().any(|part| part.label.starts_with(label))
    }

    pub(super) fn click(&self, hit: Hit<'_>) -> Proposed {
        self.click_as(hit, Clicks::Single)
    }

    pub(super) fn click_as(&self, hit: Hit<'_>, clicks: Clicks) -> Proposed {
        let action = Action::Click(Click {
            target_ref: TargetRef::from(hit.candidate.id),
            button: (clicks == Clicks::Right).then_some(MouseButton::Right),
            count: (clicks == Clicks::Double).then(|| ClickCount::clamped(2)),
            modifiers: None,
            position: None,
            dry_run: None,
        });
        Proposed { leaves: self.leaves(hit.candidate), ..on(action, hit) }
    }

    /// Several are equally good: a question, or nothing if none can be chosen.
    pub(super) fn ask(&self, what: &Phrase, hits: &[Hit<'_>]) -> Served {
        let twins: Vec<String> = hits
            .iter()
            .take(8)
            .enumerate()
            .map(|(index, hit)| format!("{}) {} ({})", index + 1, hit.candidate.title(), hit.candidate.id))
            .collect();
        let said = if what.raw.is_empty() { self.clause.source.clone() } else { what.raw.clone() };
        Served::Ask(format!("which one is meant by {said:?}: {}?", twins.join(", ")))
    }

    /// Steps for what was found, or why there are none.
    pub(super) fn with_one(&self, what: &Phrase, found: Found<'a>, steps: impl FnOnce(Hit<'a>) -> Served) -> Served {
        match found {
            Found::One(hit) if hit.candidate.ambiguous => {
                let twins = self.all(&|other| {
                    other.ambiguous && other.role == hit.candidate.role && other.name == hit.candidate.name
                });
                let hits: Vec<Hit<'_>> = twins.into_iter().map(|candidate| Hit { candidate, ..hit }).collect();
                self.ask(what, &hits)
            }
            Found::One(hit) => steps(hit),
            Found::Several(hits) => self.ask(what, &hits),
            Found::Nothing(near) => missing(what, &near),
        }
    }
}

/// A step on a candidate.
pub(super) fn on(action: Action, hit: Hit<'_>) -> Proposed {
    Proposed {
        action,
        label: None,
        target: Some(format!("{} ({})", hit.candidate.title(), hit.candidate.id)),
        confidence: hit.confidence,
        leaves: false,
        is_secret: false,
    }
}

/// A step without a target.
pub(super) const fn free(action: Action) -> Proposed {
    Proposed { action, label: None, target: None, confidence: 0.95, leaves: false, is_secret: false }
}

pub(super) fn missing(what: &Phrase, near: &[&Candidate]) -> Served {
    Served::Missing {
        what: Box::new(what.clone()),
        nearest: near.iter().take(3).map(|candidate| format!("{} ({})", candidate.title(), candidate.id)).collect(),
    }
}

/// The words for on and off.
fn switch_of(text: &str) -> Option<bool> {
    match text.to_lowercase().as_str() {
        "on" | "true" | "yes" | "checked" | "enabled" | "ticked" | "1" => Some(true),
        "off" | "false" | "no" | "unchecked" | "disabled" | "unticked" | "0" => Some(false),
        _ => None,
    }
}

/// Whether a check box or switch is on.
pub(super) fn is_on(candidate: &Candidate) -> bool {
    use cuebook_grammar::facts::Toggle;
    candidate.states.checked.or(candidate.states.pressed) == Some(Toggle::True)
}

/// The step that gives a control a value; none if it has it already.
pub(super) fn give(hit: Hit<'_>, value: &Value, manner: Manner) -> Result<Option<Proposed>, String> {
    let candidate = hit.candidate;
    let target_ref = TargetRef::from(candidate.id);
    if let Some(text) = value.text() {
        if candidate.control == ControlKind::Select
            || (candidate.supports(Capability::Options) && !candidate.supports(Capability::Text))
        {
            return choose_option(hit, text).map(Some);
        }
        if candidate.supports(Capability::CheckOn) && !candidate.supports(Capability::Value) {
            let wanted =
                switch_of(text).ok_or_else(|| format!("expected on or off for {}, saw {text:?}", candidate.title()))?;
            if wanted == is_on(candidate) {
                return Ok(None);
            }
            let action = OnTarget { target_ref }.into();
            return Ok(Some(on(if wanted { Action::Check(action) } else { Action::Uncheck(action) }, hit)));
        }
        // A date field holds a day in one form only, however it was said.
        if candidate.control == ControlKind::DateTime
            && let Some(day) = super::dates::iso(text)
        {
            return give(hit, &Value::Text(day), Manner::Replace);
        }
        if candidate.value.as_ref().and_then(|seen| seen.clear()) == Some(text) && !text.is_empty() {
            return Ok(None);
        }
    }
    let holds_something = match &candidate.value {
        Some(seen) => seen.clear() != Some(""),
        None => false,
    };
    let replaces = manner == Manner::Replace || holds_something || !candidate.supports(Capability::Text);
    let (text, credential) = match value {
        Value::Text(text) => (Some(WireText::cut(text)), None),
        Value::Credential(name) => (None, Some(CredentialRef::new(name.chars().take(200).collect::<String>()))),
    };
    let action = if replaces {
        Action::SetValue(SetValue { target_ref, value: text, credential_ref: credential })
    } else {
        Action::Type(TypeText { target_ref, text, credential_ref: credential, delay_ms: None })
    };
    Ok(Some(Proposed { is_secret: candidate.is_sensitive(), ..on(action, hit) }))
}

/// The option of a `select` that a text means, with how well it fits.
pub(super) fn option_of(candidate: &Candidate, text: &str) -> Option<(usize, f64)> {
    let fits = |shown: &str| super::grounding::text_fit(text, shown);
    let mut scored: Vec<(usize, f64)> = candidate
        .options
        .iter()
        .enumerate()
        .map(|(index, option)| (index, fits(&option.label).max(fits(&option.value) * 0.99)))
        .filter(|&(_, fit)| fit > 0.0)
        .collect();
    scored.sort_by(|a, b| b.1.total_cmp(&a.1));
    match scored[..] {
        [best] => Some(best),
        [best, next, ..] if best.1 > next.1 => Some(best),
        [] => {
            let lower = text.to_lowercase();
            let mut holding =
                candidate.options.iter().enumerate().filter(|(_, option)| option.label.to_lowercase().contains(&lower));
            let first = holding.next()?;
            (!lower.is_empty() && holding.next().is_none()).then_some((first.0, 0.65))
        }
        _ => None,
    }
}

/// The step that chooses an option by its text.
pub(super) fn choose_option(hit: Hit<'_>, text: &str) -> Result<Proposed, String> {
    let candidate = hit.candidate;
    let choice = if candidate.options.is_empty() {
        text.to_owned()
    } else {
        let (index, _) = option_of(candidate, text).ok_or_else(|| {
            let known: Vec<&str> = candidate.options.iter().take(8).map(|option| option.label.as_str()).collect();
            format!("expected an option {text:?} of {}, saw {}", candidate.title(), known.join(", "))
        })?;
        label_of(candidate, index)
    };
    let option = OptionChoices { choices: vec![OptionChoice::Text(ShortText::cut(&choice))], is_list: false };
    Ok(on(Action::Select(Select { target_ref: TargetRef::from(candidate.id), option }), hit))
}

/// How a step names an option: by its label, or by its value where it has no label.
pub(super) fn label_of(candidate: &Candidate, index: usize) -> String {
    candidate.options.get(index).map_or_else(String::new, |option| {
        if option.label.trim().is_empty() { option.value.clone() } else { option.label.clone() }
    })
}
