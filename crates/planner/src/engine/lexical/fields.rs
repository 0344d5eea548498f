//! Values and their fields.
//!
//! Invariants:
//! - Typed text is a literal part of the instruction. Unquoted text has no comma and no `and`.
//! - The field of a value is named, or is the only one of the page. A sentence with two readings is not
//!   understood.

use std::collections::BTreeMap;

use cuebook_grammar::action::{Action, OnTarget, OptionChoice, OptionChoices, Select, SetChecked, SetValue, TypeText};
use cuebook_grammar::candidate::{Candidate, Capability, ControlKind};
use cuebook_grammar::facts::Toggle;
use cuebook_grammar::id::{CredentialRef, TargetRef};
use cuebook_grammar::secret::WireText;
use cuebook_grammar::step::Step;
use cuebook_grammar::wire::ShortText;

use crate::engine::lexical::lexicon::{RoleWord, Verb};
use crate::engine::lexical::page::{Page, PhraseMatch, is_field, is_text_field, same};
use crate::engine::lexical::phrase::{Amount, Phrase};
use crate::engine::lexical::served::Served;
use crate::engine::lexical::text::{Kind, Span, Token, words};

/// The value of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    Text(String),
    /// The name of a credential.
    Credential(String),
}

/// The value in a span, if it is unambiguous.
pub(crate) fn value(span: Span<'_>) -> Option<Value> {
    match span.tokens {
        [only] if only.kind == Kind::Quoted => Some(Value::Text(only.text.clone())),
        [only] if only.kind == Kind::Credential => Some(Value::Credential(only.text.clone())),
        [word, name] if word.is("credential") && name.kind == Kind::Word => Some(Value::Credential(name.text.clone())),
        [only] if only.kind == Kind::Word => Some(Value::Text(only.text.clone())),
        all if !all.is_empty() && all.iter().all(is_plain) => Some(Value::Text(span.raw().to_owned())),
        _ => None,
    }
}

/// Returns `true` if a word among several can only be a part of typed text.
fn is_plain(token: &Token) -> bool {
    const JOINTS: &[&str] = &["if", "unless", "when", "until", "except", "or", "not", "then"];
    token.kind == Kind::Word
        && !token.is_separator()
        && ![INTO, LINKS, JOINTS].into_iter().any(|words| token.is_any(words))
}

type Entry<'a> = (&'a Candidate, Value);

/// Why a part of a sentence is not an entry.
enum Trouble<'a> {
    Unread,
    Several(String, Vec<&'a Candidate>),
    Nothing(String, Vec<&'a Candidate>),
}

/// Upper bound of the tokens of a clause that are read as entries.
const MAX_TOKENS: usize = 120;

const INTO: &[&str] = &["in", "into", "to", "on", "as", "for", "under"];
const LINKS: &[&str] = &["with", "to", "as", "is"];

/// Enters the values of a clause.
pub(crate) fn enter(page: &Page<'_>, verb: Verb, body: Span<'_>) -> Served {
    let body = without_form(body);
    if body.is_empty() || body.len() > MAX_TOKENS || body.is_broken() {
        return Served::NotUnderstood;
    }
    match everywhere(page, body) {
        Some(Ok(entries)) => return steps(verb, &entries),
        Some(Err(served)) => return served,
        None => {}
    }
    match entries(page, verb, without_fields(body)) {
        Ok(entries) => steps(verb, &entries),
        Err(Trouble::Unread) => Served::NotUnderstood,
        Err(Trouble::Several(what, candidates)) => Served::several(&what, &candidates),
        Err(Trouble::Nothing(what, nearest)) => Served::missing(&what, &nearest),
    }
}

fn steps(verb: Verb, entries: &[Entry<'_>]) -> Served {
    let mut steps = Vec::new();
    for (candidate, value) in entries {
        match give(candidate, value, verb) {
            Ok(step) => steps.extend(step),
            Err(why) => return Served::Ask(why),
        }
    }
    Served::Steps(steps)
}

/// `the login form with …`, `the form: …`.
fn without_form(body: Span<'_>) -> Span<'_> {
    const WORDS: &[&str] = &["the", "form", "fields", "login", "contact", "following", "details", "this"];
    let lead = body.tokens.iter().take_while(|token| token.is_any(WORDS)).count();
    let says_form = body.cut(0, lead).position(|token| token.is_any(&["form", "fields", "details"])).is_some();
    match body.get(lead) {
        Some(token) if says_form && (token.is("with") || token.is_mark(":")) => body.from(lead + 1),
        _ => body,
    }
}

/// `… into the text fields`: each value names its field.
fn without_fields(body: Span<'_>) -> Span<'_> {
    let Some(at) = body.tokens.iter().rposition(|token| token.is_any(INTO)).filter(|&at| at > 0) else { return body };
    let tail = body.from(at + 1);
    let is_plural = tail.tokens.last().is_some_and(|last| last.is_any(&["fields", "boxes", "inputs", "form"]));
    if is_plural && Phrase::of(tail).is_bare() { body.cut(0, at) } else { body }
}

/// `"x" into both text fields`: one value into several fields.
fn everywhere<'a>(page: &Page<'a>, body: Span<'_>) -> Option<Result<Vec<Entry<'a>>, Served>> {
    let at = body.tokens.iter().rposition(|token| token.is_any(INTO)).filter(|&at| at > 0)?;
    let phrase = Phrase::of(body.from(at + 1));
    if phrase.amount == Amount::One || !phrase.is_bare() {
        return None;
    }
    let fields = page.find_all(&Phrase { role: Some(RoleWord::Field), ..phrase.clone() }, &is_text_field);
    if phrase.amount == Amount::Both && fields.len() != 2 || fields.is_empty() {
        return Some(Err(Served::Ask(format!("{:?} names {} fields of the page", phrase.raw, fields.len()))));
    }
    // `the password "x"`: the words before the value must name a field.
    let said = body.cut(0, at);
    let start = said.position(|token| token.kind != Kind::Word).unwrap_or_else(|| said.len().saturating_sub(1));
    let is_of_field = |word: &String| {
        let names = |field: &&Candidate| {
            words(&field.name).contains(word)
                || field.label.as_deref().is_some_and(|label| words(label).contains(word))
                || (field.is_sensitive() && word == "password")
        };
        fields.iter().any(names)
    };
    let is_of_fields = words(said.cut(0, start).raw()).iter().all(is_of_field);
    let given = value(if is_of_fields { said.from(start) } else { said });
    let entries = |value: Value| fields.iter().map(|field| (*field, value.clone())).collect();
    Some(given.map(entries).ok_or(Served::NotUnderstood))
}

/// Reads `ann in Username and x in Password` from the end: each part is an entry, or there are none.
fn entries<'a>(page: &Page<'a>, verb: Verb, body: Span<'_>) -> Result<Vec<Entry<'a>>, Trouble<'a>> {
    let whole = match single(page, verb, body, true) {
        Ok(entry) => return Ok(vec![entry]),
        Err(trouble) => trouble,
    };
    let cuts: Vec<usize> =
        (0..body.len()).filter(|&at| body.get(at).is_some_and(|token| token.is_separator())).collect();
    if cuts.is_empty() {
        return Err(whole);
    }
    // The entries from each position on, from the last position to the first.
    let mut read: BTreeMap<usize, Option<Vec<Entry<'a>>>> = BTreeMap::from([(body.len() + 1, Some(Vec::new()))]);
    let mut trouble = None;
    for start in cuts.iter().rev().map(|at| at + 1).chain([0]) {
        let mut entries = None;
        for end in cuts.iter().copied().filter(|&end| end >= start).chain([body.len()]) {
            let Some(rest) = read.get(&(end + 1)).cloned().flatten() else { continue };
            if start == end {
                // Two separators in a row.
                entries = Some(rest);
                break;
            }
            match single(page, verb, body.cut(start, end), false) {
                Ok(entry) => {
                    entries = Some(std::iter::once(entry).chain(rest).collect());
                    break;
                }
                Err(Trouble::Unread) => {}
                Err(other) => trouble = Some(other),
            }
        }
        read.insert(start, entries);
    }
    read.remove(&0).flatten().ok_or(trouble.unwrap_or(whole))
}

/// Reads a span as one field and its value. Two readings that differ count as none.
fn single<'a>(page: &Page<'a>, verb: Verb, span: Span<'_>, is_all: bool) -> Result<Entry<'a>, Trouble<'a>> {
    let mut read: Vec<Entry<'a>> = Vec::new();
    let mut trouble = Trouble::Unread;
    let mut consider = |field: Span<'_>, given: Span<'_>, read: &mut Vec<Entry<'a>>| {
        let Some(given) = value(given) else { return };
        match field_of(page, verb, field, &given) {
            PhraseMatch::One(candidate) if !read.contains(&(candidate, given.clone())) => read.push((candidate, given)),
            PhraseMatch::One(_) => {}
            PhraseMatch::Several(several) => trouble = Trouble::Several(field.raw().to_owned(), several),
            PhraseMatch::Nothing(nearest) if matches!(trouble, Trouble::Unread) => {
                trouble = Trouble::Nothing(field.raw().to_owned(), nearest);
            }
            PhraseMatch::Nothing(_) => {}
        }
    };
    for at in 1..span.len().saturating_sub(1) {
        let Some(token) = span.get(at) else { continue };
        let (before, after) = (span.cut(0, at), span.from(at + 1));
        if token.is_any(INTO) && verb != Verb::Set {
            consider(after, before, &mut read);
        }
        // `write a letter to Bob` names no field.
        let links = token.is_any(LINKS) && (verb == Verb::Set || !token.is("to"));
        if links || token.is_mark(":") || token.is_mark("=") {
            consider(before, after, &mut read);
        }
    }
    match read.len() {
        1 => return Ok(read.remove(0)),
        0 => {}
        _ => return Err(Trouble::Unread),
    }
    // `username ann`: the longest name of a field before a value.
    for at in (1..span.len()).rev() {
        let Some(given) = value(span.from(at)) else { continue };
        let field = span.cut(0, at);
        let is_cut = field.tokens.last().is_some_and(|last| last.is_any(INTO) || last.is_any(LINKS));
        if !is_cut
            && !Phrase::of(field).is_bare()
            && let PhraseMatch::One(candidate) = field_of(page, verb, field, &given)
        {
            return Ok((candidate, given));
        }
    }
    if !is_all || verb == Verb::Set || !matches!(trouble, Trouble::Unread) {
        return Err(trouble);
    }
    let Some(given) = value(span) else { return Err(Trouble::Unread) };
    let fields = page.all(is_text_field);
    match fields[..] {
        [only] if page.is_whole() => Ok((only, given)),
        // Another one may be out of view.
        [_] => Err(Trouble::Unread),
        [] => Err(Trouble::Nothing("a field".to_owned(), Vec::new())),
        _ => match fields.iter().find(|field| page.chosen == Some(field.id)) {
            Some(chosen) => Ok((chosen, given)),
            None => Err(Trouble::Several("the field".to_owned(), fields)),
        },
    }
}

/// The field that a span names.
fn field_of<'a>(page: &Page<'a>, verb: Verb, span: Span<'_>, value: &Value) -> PhraseMatch<'a> {
    let phrase = Phrase::of(span);
    let fits = |candidate: &Candidate| match verb {
        Verb::Set => is_field(candidate) && !matches!(candidate.role, cuebook_grammar::role::Role::Radio),
        _ => is_field(candidate) && !candidate.supports(Capability::CheckOn),
    };
    let found = page.find(&phrase, &fits);
    if !matches!(found, PhraseMatch::Nothing(_)) {
        return found;
    }
    // A password field counts under any name.
    if same(&phrase.raw, "password")
        && let [only] = page.all(|candidate| is_text_field(candidate) && candidate.is_sensitive())[..]
    {
        return PhraseMatch::One(only);
    }
    // `set Delivery to Express`: a button of the group of that name.
    if let (Verb::Set, Value::Text(text)) = (verb, value) {
        let option = Phrase::named(&format!("{text} {}", phrase.raw));
        if let PhraseMatch::One(radio) = page.find(&option, &|c| c.role == cuebook_grammar::role::Role::Radio) {
            return PhraseMatch::One(radio);
        }
    }
    found
}

/// The step that sets the value of a field. `None` if it already has it.
pub(crate) fn give(candidate: &Candidate, value: &Value, verb: Verb) -> Result<Option<Step>, String> {
    let target_ref = TargetRef::from(candidate.id);
    let title = candidate.title();
    if let Value::Text(text) = value {
        if candidate.role == cuebook_grammar::role::Role::Radio {
            return Ok(turned(candidate, true));
        }
        if candidate.supports(Capability::CheckOn) {
            let on = match text.to_lowercase().as_str() {
                "on" | "yes" | "true" | "checked" | "enabled" => true,
                "off" | "no" | "false" | "unchecked" | "disabled" => false,
                _ => return Err(format!("{title} is on or off: which of them is {text:?}?")),
            };
            return Ok(turned(candidate, on));
        }
        if candidate.control == ControlKind::Select
            || (!candidate.supports(Capability::Text) && takes_options(candidate))
        {
            return choose(candidate, &[text.as_str()]).map(Some);
        }
        let is_day = text.len() > 4
            && text.contains(['-', ':'])
            && text.chars().all(|c| c.is_ascii_digit() || matches!(c, '-' | ':' | 'T' | 'W'));
        if candidate.control == ControlKind::DateTime && !is_day {
            return Err(format!("{title} takes a day as 2027-03-31 and a time as 13:45: which is {text:?}?"));
        }
        if candidate.value.as_ref().and_then(|seen| seen.clear()) == Some(text) && !text.is_empty() {
            return Ok(None);
        }
    }
    if !candidate.supports(Capability::Value) {
        return Err(format!("{title} takes no text: what should be done with it?"));
    }
    let (text, credential_ref) = match value {
        Value::Text(text) => (Some(WireText::cut(text)), None),
        Value::Credential(name) => (None, Some(CredentialRef::new(name.chars().take(200).collect::<String>()))),
    };
    let holds_something = candidate.value.as_ref().is_some_and(|seen| seen.clear() != Some(""));
    let action = if verb == Verb::Set || holds_something || !candidate.supports(Capability::Text) {
        Action::SetValue(SetValue { target_ref, value: text, credential_ref })
    } else {
        Action::Type(TypeText { target_ref, text, credential_ref, delay_ms: None })
    };
    Ok(Some(Step::from(action)))
}

fn takes_options(candidate: &Candidate) -> bool {
    candidate.supports(Capability::Options)
}

/// The step that checks or unchecks a control. `None` if it is already so.
pub(crate) fn turned(candidate: &Candidate, on: bool) -> Option<Step> {
    let is_on = candidate.states.checked == Some(Toggle::True);
    let action = SetChecked::from(OnTarget { target_ref: TargetRef::from(candidate.id) });
    (is_on != on).then(|| Step::from(if on { Action::Check(action) } else { Action::Uncheck(action) }))
}

/// The position of the only option of a candidate with this text.
pub(crate) fn option_of(candidate: &Candidate, text: &str) -> Option<usize> {
    let at = |fits: &dyn Fn(&str) -> bool| {
        let mut found = (0..candidate.options.len()).filter(|&index| {
            let option = &candidate.options[index];
            fits(&option.label) || (option.label.is_empty() && fits(&option.value))
        });
        found.next().filter(|_| found.next().is_none())
    };
    at(&|label| label == text).or_else(|| at(&|label| same(text, label)))
}

/// The step that selects options by their texts.
pub(crate) fn choose(candidate: &Candidate, texts: &[&str]) -> Result<Step, String> {
    let mut choices = Vec::new();
    for text in texts {
        let label = match option_of(candidate, text).and_then(|index| candidate.options.get(index)) {
            Some(option) if option.label.trim().is_empty() => option.value.clone(),
            Some(option) => option.label.clone(),
            None if candidate.options.is_empty() => (*text).to_owned(),
            None => {
                let known: Vec<&str> = candidate.options.iter().take(8).map(|option| option.label.as_str()).collect();
                return Err(format!(
                    "{} has no option {text:?} but {}: which one?",
                    candidate.title(),
                    known.join(", ")
                ));
            }
        };
        choices.push(OptionChoice::Text(ShortText::cut(&label)));
    }
    let is_list = choices.len() > 1;
    let option = OptionChoices { choices, is_list };
    Ok(Step::from(Action::Select(Select { target_ref: TargetRef::from(candidate.id), option })))
}
