//! Typing: which field a value goes into.

use cuebook_grammar::action::{Action, Press};
use cuebook_grammar::candidate::{Candidate, Capability, ControlKind};
use cuebook_grammar::id::TargetRef;
use cuebook_grammar::role::Role;
use cuebook_grammar::wire::ShortText;

use super::super::clause::{Entry, Items, Manner, Value};
use super::super::grounding::{Found, Hit};
use super::super::lexicon::{FORM_WORDS, RoleWord, SECRET_WORDS};
use super::super::page::{Page, Proposed, Served, give, is_button, is_clickable, is_entry, is_open_entry, missing, on};
use super::super::phrase::{Amount, Phrase};
use super::super::text::{Span, tokens};

/// Types or sets all values of a clause.
pub(super) fn enter(page: &Page<'_>, entries: &[Entry], manner: Manner) -> Served {
    let mut steps = Vec::new();
    let mut taken: Vec<&Candidate> = Vec::new();
    if entries.is_empty() {
        return Served::Cannot(format!("expected a text to type in {:?}, saw none", page.clause.source));
    }
    for entry in entries {
        let (hits, value) = match fields(page, entry, manner, &taken) {
            Ok(found) => found,
            // What could be placed is placed first: the next page may have the rest.
            Err(served) => {
                // `set public profile to yes`: a group of radio buttons has no value of its own.
                if let Some(more) = among_options(page, entry, manner) {
                    steps.extend(more);
                    continue;
                }
                return if steps.is_empty() { served } else { ended(steps) };
            }
        };
        for hit in hits {
            taken.push(hit.candidate);
            if page.is_done_on(hit.candidate) {
                continue;
            }
            match give(hit, &value, manner) {
                Ok(step) => steps.extend(step),
                Err(reason) => return Served::Cannot(reason),
            }
        }
    }
    if steps.is_empty() { Served::Done } else { Served::Steps(steps) }
}

/// The steps that choose the value among what stands under the field's name.
fn among_options(page: &Page<'_>, entry: &Entry, manner: Manner) -> Option<Vec<Proposed>> {
    let text = entry.value.as_ref()?.text().filter(|_| manner == Manner::Replace)?;
    let items = Items { parts: vec![(0, text.len())], raw: text.to_owned() };
    match super::choices::choose(page, &items, entry.field.as_ref()) {
        Served::Steps(mut steps) => {
            let target = |step: &Proposed| step.action.target().and_then(|target| target.candidate_id());
            let is_done = |step: &Proposed| {
                let candidate = target(step).and_then(|id| page.observation.candidate(id));
                candidate.is_some_and(|candidate| page.is_done_on(candidate))
            };
            steps.retain(|step| !is_done(step));
            Some(steps)
        }
        Served::Done => Some(Vec::new()),
        _ => None,
    }
}

/// The steps so far; the clause is not done with them, for its last part is not among them.
fn ended(steps: Vec<Proposed>) -> Served {
    Served::Way(steps)
}

fn takes_value(manner: Manner) -> impl Fn(&Candidate) -> bool {
    move |candidate| {
        candidate.supports(Capability::Value)
            || candidate.supports(Capability::Options)
            || (manner == Manner::Replace && candidate.supports(Capability::CheckOn))
    }
}

type Placed<'a> = (Vec<Hit<'a>>, Value);

/// The fields that an entry goes into, and its value.
fn fields<'a>(page: &Page<'a>, entry: &Entry, manner: Manner, taken: &[&Candidate]) -> Result<Placed<'a>, Served> {
    let takes = takes_value(manner);
    let fits = |candidate: &Candidate| takes(candidate) && !taken.iter().any(|other| other.id == candidate.id);
    let usual = |candidate: &Candidate| is_open_entry(candidate);
    let value = match (&entry.value, &entry.field) {
        (Some(value), _) => value.clone(),
        (None, _) => return Err(Served::Cannot(format!("expected a text to type, saw {:?}", entry.raw))),
    };
    let Some(field) = &entry.field else {
        if let Some(placed) = split_by_page(page, &entry.raw, &fits, value.clone()) {
            return Ok(placed);
        }
        return bare(page, &Phrase::default(), &fits, &value).map(|hits| (hits, value));
    };
    if field.amount != Amount::One {
        let hits = several(page, field, &fits);
        if !hits.is_empty() {
            return Ok((hits, value));
        }
    }
    let is_general = field.context.is_empty()
        && field.head.iter().all(|word| FORM_WORDS.contains(&word.as_str()))
        && !field.is_quoted;
    let found = page.find(field, &fits, &usual);
    match found {
        Found::One(hit) if !(is_general && hit.score < 0.9) || field.ordinal.is_some() => match hit.candidate.ambiguous
        {
            false => Ok((vec![hit], value)),
            true => Err(page.with_one(field, Found::One(hit), |_| Served::Done)),
        },
        Found::Several(hits) if !is_general => Err(page.ask(field, &hits)),
        _ if is_general => bare(page, field, &fits, &value).map(|hits| (hits, value)),
        Found::Nothing(near) => {
            if let Some(hit) = user_field(page, field, taken) {
                return Ok((vec![hit], value));
            }
            // `the due date` may be called `Due`.
            let kind = ["date", "name", "number", "address", "code", "value", "time", "text", "field"];
            let head: Vec<String> = field.head.iter().filter(|word| !kind.contains(&word.as_str())).cloned().collect();
            if !head.is_empty() && head.len() < field.head.len() {
                let name = head.join(" ");
                let shorter = Phrase { raw: name.clone(), name, head, ..field.clone() };
                if let Found::One(hit) = page.find(&shorter, &fits, &usual)
                    && !hit.candidate.ambiguous
                {
                    return Ok((vec![hit], value));
                }
            }
            Err(missing(field, &near))
        }
        Found::One(_) | Found::Several(_) => Err(missing(field, &[])),
    }
}

/// Both, or all, fields that are meant.
fn several<'a>(page: &Page<'a>, field: &Phrase, fits: &dyn Fn(&Candidate) -> bool) -> Vec<Hit<'a>> {
    let secret = field.head.iter().any(|word| SECRET_WORDS.contains(&word.as_str()));
    let is_text = |candidate: &Candidate| fits(candidate) && is_open_entry(candidate);
    let texts = page.all(&is_text);
    let passwords: Vec<&Candidate> = texts.iter().copied().filter(|candidate| candidate.is_sensitive()).collect();
    let named: Vec<&Candidate> = page
        .views
        .iter()
        .filter(|view| {
            is_text(view.candidate) && !field.head.is_empty() && super::super::grounding::score(view, field) > 0.0
        })
        .map(|view| view.candidate)
        .collect();
    let chosen = match (field.amount, &named[..], &passwords[..], &texts[..]) {
        (Amount::Both, [_, _], _, _) => named,
        (Amount::Both, _, [_, _], _) if secret => passwords,
        (Amount::Both, _, _, [_, _]) => texts,
        (Amount::Both, ..) => Vec::new(),
        (_, [_, ..], _, _) => named,
        (_, [], [_, ..], _) if secret => passwords,
        _ if field.is_bare() => texts,
        _ => Vec::new(),
    };
    chosen
        .into_iter()
        .filter(|candidate| !candidate.ambiguous)
        .map(|candidate| Hit { candidate, score: 0.9, confidence: 0.85 })
        .collect()
}

/// The field that is meant where none was named: the only one, or the only one of its kind.
fn bare<'a>(
    page: &Page<'a>,
    field: &Phrase,
    fits: &dyn Fn(&Candidate) -> bool,
    value: &Value,
) -> Result<Vec<Hit<'a>>, Served> {
    let wants = |candidate: &Candidate| match field.role {
        Some(RoleWord::Field) | None => is_entry(candidate),
        Some(role) => role.fits(candidate),
    };
    let open = page.all(&|candidate| {
        fits(candidate) && wants(candidate) && !candidate.states.readonly && !candidate.states.disabled
    });
    let plain: Vec<&Candidate> = open.iter().copied().filter(|candidate| !candidate.is_sensitive()).collect();
    let multiline: Vec<&Candidate> =
        plain.iter().copied().filter(|c| matches!(c.control, ControlKind::Multiline | ControlKind::RichText)).collect();
    let is_email = value.text().is_some_and(|text| text.contains('@') && !text.contains(' '));
    let emails: Vec<&Candidate> =
        plain.iter().copied().filter(|c| is_email && c.name.to_lowercase().contains("mail")).collect();
    let says_area = field.head.iter().any(|word| word == "area" || word == "textarea");
    let focused: Vec<&Candidate> = plain.iter().copied().filter(|candidate| candidate.states.focused).collect();
    let empty: Vec<&Candidate> =
        plain.iter().copied().filter(|c| c.value.as_ref().is_none_or(|value| value.clear() == Some(""))).collect();
    let (chosen, confidence) = match (&open[..], &plain[..], &emails[..], &focused[..], &empty[..]) {
        ([only], ..) => (*only, 0.9),
        (_, [only], ..) => (*only, 0.85),
        (_, _, [only], ..) => (*only, 0.8),
        _ if says_area && multiline.len() == 1 => (multiline[0], 0.85),
        (_, _, _, [only], _) if !page.progress.ways.is_empty() => (*only, 0.7),
        (_, _, _, _, [only]) => (*only, 0.6),
        ([], ..) => return Err(missing(&Phrase::named("a field to type into"), &[])),
        _ => {
            let hits: Vec<Hit<'_>> =
                open.iter().map(|&candidate| Hit { candidate, score: 0.5, confidence: 0.3 }).collect();
            if let Some(ordinal) = field.ordinal
                && let Some(hit) = ordinal.pick(&hits)
            {
                return Ok(vec![hit]);
            }
            let answered =
                page.progress.answers.last().map(|answer| page.find(&Phrase::named(answer), fits, &is_entry));
            if let Some(Found::One(hit)) = answered {
                return Ok(vec![hit]);
            }
            return Err(page.ask(field, &hits));
        }
    };
    if chosen.ambiguous {
        return Err(page.ask(field, &[Hit { candidate: chosen, score: confidence, confidence }]));
    }
    Ok(vec![Hit { candidate: chosen, score: confidence, confidence }])
}

/// The field for a user's name: by its words, or the text field before the first password field.
pub(super) fn user_field<'a>(page: &Page<'a>, field: &Phrase, taken: &[&Candidate]) -> Option<Hit<'a>> {
    let asks = field
        .head
        .iter()
        .any(|word| ["username", "user", "login", "email", "account", "name"].contains(&word.as_str()));
    if !asks {
        return None;
    }
    let password = page.views.iter().position(|view| view.candidate.is_sensitive())?;
    let before = page.views.get(..password)?.iter().rev().map(|view| view.candidate);
    let candidate = before.into_iter().find(|candidate| {
        is_open_entry(candidate)
            && !candidate.is_sensitive()
            && candidate.role != Role::SearchBox
            && !taken.iter().any(|other| other.id == candidate.id)
    })?;
    (!candidate.ambiguous).then_some(Hit { candidate, score: 0.7, confidence: 0.7 })
}

/// `nickname Bob`: the page knows a field of the first words' name.
fn split_by_page<'a>(
    page: &Page<'a>,
    raw: &str,
    fits: &dyn Fn(&Candidate) -> bool,
    whole: Value,
) -> Option<Placed<'a>> {
    whole.text()?;
    let all = tokens(raw);
    let span = Span::new(raw, &all);
    (1..span.len().min(6)).rev().find_map(|length| {
        let phrase = Phrase::of(span.cut(0, length));
        let rest = span.from(length).without_leading(&["is", "of", "as", "to", "with"]);
        match page.find(&phrase, fits, &is_entry) {
            Found::One(hit)
                if hit.score >= 0.9 && !phrase.is_bare() && !rest.is_empty() && !hit.candidate.ambiguous =>
            {
                Some((vec![hit], Value::Text(rest.meant())))
            }
            _ => None,
        }
    })
}

/// A step on a field that a phrase names, or on the only one there is.
pub(super) fn on_field(page: &Page<'_>, phrase: &Phrase, action: impl Fn(TargetRef) -> Action) -> Served {
    let fits = |candidate: &Candidate| candidate.supports(Capability::Value);
    let general = !phrase.is_quoted
        && phrase.head.iter().chain(&phrase.context).all(|word| FORM_WORDS.contains(&word.as_str()) || word == "it");
    let chosen = match page.find(phrase, &fits, &is_entry) {
        Found::One(hit) => Found::One(hit),
        _ if general && phrase.ordinal.is_none() => match bare(page, phrase, &fits, &Value::Text(String::new())) {
            Ok(hits) => hits.first().map_or(Found::Nothing(Vec::new()), |hit| Found::One(*hit)),
            Err(served) => return served,
        },
        found => found,
    };
    page.with_one(phrase, chosen, |hit| {
        let is_empty = hit.candidate.value.as_ref().is_some_and(|value| value.clear() == Some(""));
        let action = action(TargetRef::from(hit.candidate.id));
        if is_empty && matches!(action, Action::Clear(_)) { Served::Done } else { Served::Steps(vec![on(action, hit)]) }
    })
}

fn is_search_field(candidate: &Candidate) -> bool {
    candidate.role == Role::SearchBox
        || [
            Some(&candidate.name),
            candidate.placeholder.as_ref(),
            candidate.label.as_ref(),
            candidate.test_id.as_ref(),
            candidate.form.as_ref(),
        ]
        .into_iter()
        .flatten()
        .any(|text| {
            super::super::text::words(text)
                .iter()
                .any(|word| ["search", "find", "query", "q", "lookup"].contains(&word.as_str()))
        })
}

/// Types what is searched for, and sends it.
pub(super) fn search(page: &Page<'_>, what: &Value, field: Option<&Phrase>, submits: bool) -> Served {
    let open = page.all(&|candidate| is_open_entry(candidate) && !candidate.is_sensitive());
    let searching: Vec<&Candidate> = open.iter().copied().filter(|candidate| is_search_field(candidate)).collect();
    let hit = |candidate| Hit { candidate, score: 0.9, confidence: 0.9 };
    let named = field.map(|field| page.find(field, &is_open_entry, &is_search_field));
    let field_hit = match (named, &searching[..], &open[..]) {
        (Some(Found::One(found)), _, _) => found,
        (_, [only], _) => hit(*only),
        (_, [], [only]) => Hit { candidate: only, score: 0.6, confidence: 0.6 },
        (Some(Found::Several(hits)), _, _) => return page.ask(field.unwrap_or(&Phrase::named("search")), &hits),
        (_, [], _) => return missing(&Phrase::named("search"), &open),
        (_, several, _) => {
            let phrase = Phrase::named("search");
            let ids: Vec<_> = several.iter().map(|candidate| candidate.id).collect();
            match page
                .find(&phrase, &|candidate| ids.contains(&candidate.id), &|candidate| candidate.role == Role::SearchBox)
            {
                Found::One(found) => found,
                Found::Several(hits) => return page.ask(&phrase, &hits),
                Found::Nothing(near) => return missing(&phrase, &near),
            }
        }
    };
    let candidate = field_hit.candidate;
    if candidate.ambiguous {
        return page.ask(&Phrase::named("search"), &[field_hit]);
    }
    let mut steps = Vec::new();
    if !page.is_done_on(candidate) {
        match give(field_hit, what, Manner::Replace.min_for(candidate)) {
            Ok(step) => steps.extend(step),
            Err(reason) => return Served::Cannot(reason),
        }
    }
    if submits {
        let fits = |other: &Candidate| {
            is_clickable(other) && is_button(other) && (candidate.form.is_none() || other.form == candidate.form)
        };
        let button = page.find(&Phrase::named("search"), &fits, &is_button);
        let send = match button {
            Found::One(button) if button.score > 0.8 && !button.candidate.ambiguous => page.click(button),
            _ => {
                let action = Action::Press(Press {
                    target_ref: Some(TargetRef::from(candidate.id)),
                    keys: ShortText::cut("Enter"),
                });
                on(action, field_hit)
            }
        };
        steps.push(Proposed { leaves: true, ..send });
    }
    if steps.is_empty() { Served::Done } else { Served::Steps(steps) }
}

impl Manner {
    /// Replaces only where there is something to replace.
    fn min_for(self, candidate: &Candidate) -> Self {
        let is_empty = candidate.value.as_ref().is_none_or(|value| value.clear() == Some(""));
        if is_empty { Self::Enter } else { self }
    }
}
