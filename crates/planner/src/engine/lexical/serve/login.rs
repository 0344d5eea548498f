//! Logging in: a user's name, a password and a button, on one page or on two.

use cuebook_grammar::action::{Action, Press};
use cuebook_grammar::candidate::Candidate;
use cuebook_grammar::id::TargetRef;
use cuebook_grammar::wire::ShortText;

use super::super::clause::{Manner, Value};
use super::super::grounding::{Found, Hit};
use super::super::page::{
    Page, Proposed, Served, give, is_button, is_clickable, is_control, is_open_entry, missing, on,
};
use super::super::phrase::Phrase;
use super::controls;

const USER: &str = "the user name";
const PASSWORD: &str = "the password";

/// Logs in.
pub(super) fn login(page: &Page<'_>, user: Option<&Value>, password: Option<&Value>, rest: &str) -> Served {
    if password.is_none() && !rest.is_empty() {
        // `sign in with Google` may be one button.
        let whole = Phrase::named(&format!("log in {rest}"));
        if let Found::One(hit) = page.find(&whole, &is_clickable, &is_control)
            && hit.score >= 0.9
            && !hit.candidate.ambiguous
        {
            return Served::Steps(vec![page.click(hit)]);
        }
    }
    if user.is_none() && password.is_none() {
        return controls::submit(page, &Phrase::named("log in"), true);
    }
    let passwords = page.all(&|candidate| is_open_entry(candidate) && candidate.is_sensitive());
    let secret = match &passwords[..] {
        [] => None,
        [only] => Some(*only),
        several => match form_of_login(page, several) {
            Ok(one) => Some(one),
            Err(served) => return served,
        },
    };
    let name = user.filter(|_| !page.is_done(USER)).and_then(|_| user_candidate(page, secret));
    if secret.is_none() && name.is_none() {
        return on_the_way(page);
    }
    let mut steps = Vec::new();
    for (candidate, value, label) in [(name, user, USER), (secret, password, PASSWORD)] {
        let (Some(hit), Some(value)) = (candidate, value) else { continue };
        if page.is_done(label) {
            continue;
        }
        let hit = Hit { candidate: hit, score: 0.9, confidence: if secret.is_some() { 0.95 } else { 0.75 } };
        if hit.candidate.ambiguous {
            return page.ask(&Phrase::named(label), &[hit]);
        }
        match give(hit, value, Manner::Enter) {
            Ok(step) => steps.extend(step.map(|step| Proposed {
                label: Some(label),
                is_secret: label == PASSWORD || step.is_secret,
                ..step
            })),
            Err(reason) => return Served::Cannot(reason),
        }
    }
    let field = secret.or(name);
    let is_first_of_two = password.is_some() && secret.is_none();
    let button = match button(page, field, is_first_of_two) {
        Ok(button) => button,
        Err(served) => return if steps.is_empty() { served } else { Served::Way(steps) },
    };
    steps.push(Proposed { leaves: true, ..button });
    if is_first_of_two { Served::Way(steps) } else { Served::Steps(steps) }
}

/// Of several password fields, the one of the form that logs in.
fn form_of_login<'a>(page: &Page<'a>, several: &[&'a Candidate]) -> Result<&'a Candidate, Served> {
    let said = |text: &str| super::super::text::words(text).iter().any(|word| word == "login");
    let by_form: Vec<&Candidate> = several
        .iter()
        .copied()
        .filter(|candidate| {
            candidate.form.as_deref().is_some_and(said)
                || candidate.context.as_deref().is_some_and(said)
                || page
                    .all(&|other| {
                        is_button(other) && other.form.is_some() && other.form == candidate.form && said(&other.name)
                    })
                    .len()
                    == 1
        })
        .collect();
    match &by_form[..] {
        [only] => Ok(only),
        _ => {
            let hits: Vec<Hit<'_>> =
                several.iter().map(|&candidate| Hit { candidate, score: 0.5, confidence: 0.3 }).collect();
            Err(page.ask(&Phrase::named(PASSWORD), &hits))
        }
    }
}

/// The field for the user's name.
fn user_candidate<'a>(page: &Page<'a>, secret: Option<&Candidate>) -> Option<&'a Candidate> {
    let same_form =
        |candidate: &Candidate| secret.is_none_or(|secret| secret.form.is_none() || secret.form == candidate.form);
    let fits = |candidate: &Candidate| is_open_entry(candidate) && !candidate.is_sensitive() && same_form(candidate);
    let name = Phrase::named("username");
    match page.find(&name, &fits, &|_| false) {
        Found::One(hit) => Some(hit.candidate),
        _ if secret.is_some() => super::fields::user_field(page, &name, &[])
            .map(|hit| hit.candidate)
            .filter(|candidate| same_form(candidate))
            .or_else(|| match &page.all(&fits)[..] {
                [only] => Some(*only),
                _ => None,
            }),
        _ => None,
    }
}

/// What sends the form.
fn button<'a>(page: &Page<'a>, field: Option<&'a Candidate>, continues: bool) -> Result<Proposed, Served> {
    let form = field.and_then(|field| field.form.clone());
    let in_form = |candidate: &Candidate| form.is_none() || candidate.form == form;
    let fits = |candidate: &Candidate| is_clickable(candidate) && is_button(candidate) && in_form(candidate);
    let names: &[&str] =
        if continues { &["next", "continue", "log in", "submit"] } else { &["log in", "submit", "continue"] };
    for name in names {
        let phrase = Phrase::named(name);
        match page.find(&phrase, &fits, &is_button) {
            Found::One(hit) if !hit.candidate.ambiguous => return Ok(page.click(hit)),
            Found::One(hit) => return Err(page.ask(&phrase, &[hit])),
            Found::Several(hits) => return Err(page.ask(&phrase, &hits)),
            Found::Nothing(_) => {}
        }
    }
    let buttons = page.all(&fits);
    if let [only] = buttons[..]
        && !only.ambiguous
    {
        return Ok(page.click(Hit { candidate: only, score: 0.6, confidence: 0.6 }));
    }
    let Some(field) = field else { return Err(missing(&Phrase::named("log in"), &buttons)) };
    let action = Action::Press(Press { target_ref: Some(TargetRef::from(field.id)), keys: ShortText::cut("Enter") });
    Ok(on(action, Hit { candidate: field, score: 0.6, confidence: 0.6 }))
}

/// No field is here: what leads to them?
fn on_the_way(page: &Page<'_>) -> Served {
    let phrase = Phrase::named("log in");
    match page.find(&phrase, &is_clickable, &is_control) {
        Found::One(hit) if !hit.candidate.ambiguous => {
            let id = hit.candidate.id.to_string();
            if page.progress.ways.iter().any(|way| way.target_ref.as_deref() == Some(&id)) {
                return missing(&Phrase::named("a form to log in with"), &[hit.candidate]);
            }
            Served::Way(vec![Proposed { leaves: true, ..page.click(hit) }])
        }
        Found::Several(hits) => page.ask(&phrase, &hits),
        Found::One(hit) => page.ask(&phrase, &[hit]),
        Found::Nothing(near) => missing(&Phrase::named("a form to log in with"), &near),
    }
}
