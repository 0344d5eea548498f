//! Logging in: a user name and a password, in one form or one after the other.
//!
//! Invariant: every word is a user name, a password, or announces one of them. Anything else is not understood.

use cuebook_grammar::action::{Action, Press};
use cuebook_grammar::candidate::Candidate;
use cuebook_grammar::step::Step;
use cuebook_grammar::wire::ShortText;

use crate::engine::lexical::fields::{Value, give};
use crate::engine::lexical::lexicon::Verb;
use crate::engine::lexical::page::{Page, PhraseMatch, is_button, is_pressed, is_text_field};
use crate::engine::lexical::phrase::Phrase;
use crate::engine::lexical::served::{Past, Served, click_on};
use crate::engine::lexical::text::{Kind, Span, words};

/// The credentials of a login.
struct Who {
    user: Option<Value>,
    password: Option<Value>,
}

/// Reads `as ann with password correct-horse`.
fn who(body: Span<'_>) -> Option<Who> {
    const BETWEEN: &[&str] = &["as", "with", "using", "the", "my", "and", "a", "is", "/", "of", "credentials"];
    const USER: &[&str] = &["user", "username", "name", "email", "e-mail", "address", "account", "login"];
    const PASSWORD: &[&str] = &["password", "passphrase", "passcode", "pin"];
    const PLACE: &[&str] = &["to", "into", "on", "site", "page", "website", "shop", "here", "this"];
    let mut who = Who { user: None, password: None };
    let (mut is_password, mut is_second) = (false, false);
    let mut at = 0;
    while let Some(token) = body.get(at) {
        at += 1;
        if token.is_any(PASSWORD) {
            is_password = true;
        } else if token.is_any(BETWEEN) || token.is_any(USER) {
            is_password &= !token.is_any(USER);
            is_second |= token.is_any(&["/", "and"]);
        } else if !(token.is_mark(",") || token.is_mark(":") || (token.is_any(PLACE) && who.user.is_none())) {
            let length = if token.is("credential") { 2 } else { 1 };
            let given = match token.kind {
                Kind::Mark => None,
                _ => crate::engine::lexical::fields::value(body.cut(at - 1, at - 1 + length)),
            }?;
            at += length - 1;
            // `ann / correct-horse`: the second value is the password.
            let slot = if is_password || (is_second && who.user.is_some()) { &mut who.password } else { &mut who.user };
            if slot.replace(given).is_some() {
                return None;
            }
            (is_password, is_second) = (false, false);
        }
    }
    Some(who)
}

/// Serves a login with the credentials of `body`; without any, follows the link to the login page.
pub(crate) fn login(page: &Page<'_>, body: Span<'_>, past: &Past) -> Served {
    let Some(who) = who(body) else { return Served::NotUnderstood };
    let (user, password) = match (who.user, who.password) {
        (Some(user), Some(password)) => (user, password),
        (None, None) if body.is_empty() => return link(page),
        (None, None) => return Served::NotUnderstood,
        (None, Some(_)) => return Served::Ask("who logs in?".to_owned()),
        (Some(_), None) => return Served::Ask("with which password?".to_owned()),
    };
    let secrets = page.all(|candidate| is_text_field(candidate) && candidate.is_sensitive());
    let says_login = |text: &str| words(text).iter().any(|word| word == "login");
    let secret = match secrets[..] {
        [] => None,
        [only] => Some(only),
        _ => {
            let logs_in = |secret: &&&Candidate| {
                let button = |c: &Candidate| is_button(c) && c.form == secret.form && says_login(&c.name);
                secret.form.is_some() && page.all(button).len() == 1
            };
            match secrets.iter().filter(logs_in).copied().collect::<Vec<_>>()[..] {
                [only] => Some(only),
                _ => return Served::several("the password field", &secrets),
            }
        }
    };
    let form = secret.and_then(|secret| secret.form.clone());
    let in_form = |candidate: &Candidate| form.is_none() || candidate.form == form;
    let name = user_field(page, &in_form, secret.is_some());
    let mut steps = Vec::new();
    let fields = [(name, &user), (secret, &password)];
    for (field, value) in fields.into_iter().filter_map(|(field, value)| Some((field?, value))) {
        match give(field, value, Verb::Enter) {
            Ok(step) => steps.extend(step),
            Err(why) => return Served::Ask(why),
        }
    }
    match (name, secret) {
        (None, None) => match link(page) {
            Served::Leaves(steps) if !past.followed => Served::OnTheWay(steps),
            Served::Leaves(_) => Served::missing("a form to log in with", &[]),
            other => other,
        },
        (None, Some(_)) if !past.entered => Served::missing("the user name", &[]),
        (_, Some(field)) => {
            steps.push(send(page, field, &["log in", "submit", "continue"]));
            Served::Leaves(steps)
        }
        (Some(field), None) if past.entered || (past.followed && steps.is_empty()) => {
            Served::Ask(format!("the page still asks for {}: what is wrong with it?", field.title()))
        }
        (Some(field), None) => {
            steps.push(send(page, field, &["next", "continue", "log in", "submit"]));
            Served::OnTheWay(steps)
        }
    }
}

/// The field for the user name: by its name, else the only text field beside the password.
fn user_field<'a>(page: &Page<'a>, in_form: &dyn Fn(&Candidate) -> bool, has_secret: bool) -> Option<&'a Candidate> {
    let fits = |candidate: &Candidate| is_text_field(candidate) && !candidate.is_sensitive() && in_form(candidate);
    let named = |candidate: &Candidate| {
        let texts = [Some(&candidate.name), candidate.label.as_ref(), candidate.placeholder.as_ref()];
        let is_user = |word: &String| matches!(word.as_str(), "username" | "user" | "email" | "login");
        fits(candidate) && texts.into_iter().flatten().any(|text| words(text).iter().any(is_user))
    };
    match (&page.all(named)[..], &page.all(fits)[..]) {
        ([only], _) => Some(only),
        ([], [only]) if has_secret => Some(only),
        _ => None,
    }
}

/// Submits the form of a field: with its button, else with Enter.
fn send(page: &Page<'_>, field: &Candidate, names: &[&str]) -> Step {
    let in_form = |candidate: &Candidate| is_button(candidate) && candidate.form == field.form;
    let all = page.all(in_form);
    let called = names.iter().find_map(|name| match page.find(&Phrase::named(name), &in_form) {
        PhraseMatch::One(button) => Some(button),
        _ => None,
    });
    let only = if let [only] = all[..] { Some(only) } else { None };
    match called.or(only).filter(|button| !button.ambiguous) {
        Some(button) => click_on(button),
        None => {
            let target_ref = Some(field.id.into());
            Step::from(Action::Press(Press { target_ref, keys: ShortText::cut("Enter") }))
        }
    }
}

/// Clicks the link to a login form, or the button that submits one.
fn link(page: &Page<'_>) -> Served {
    let phrase = Phrase::named("log in");
    match page.find(&phrase, &is_pressed) {
        PhraseMatch::One(control) => Served::Leaves(vec![click_on(control)]),
        PhraseMatch::Several(several) => Served::several("log in", &several),
        PhraseMatch::Nothing(nearest) => Served::missing("a form to log in with", &nearest),
    }
}
