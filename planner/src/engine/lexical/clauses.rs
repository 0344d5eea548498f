//! From an instruction to its clauses.
//!
//! Invariant: pure and total; what is not understood becomes [`Act::Unknown`] with its words, never a guess.

use cuebook_grammar::action::Direction;

use super::clause::{Act, Awaited, Clause, Clicks, Entry, Items, Manner, Place, Value, Wanted};
use super::entries::{entries, value};
use super::lexicon::{DETERMINERS, FIELD_WORDS, FILLERS, Verb, counted, gerund, key, verb_at};
use super::phrase::Phrase;
use super::text::{Kind, Span, Token, tokens, words};

/// The most clauses of an instruction.
const MAX_CLAUSES: usize = 100;
/// How often a clause may be meant at once.
const MAX_REPEATS: usize = 20;

/// Reads the clauses of an instruction.
pub(super) fn clauses(task: &str) -> Vec<Clause> {
    let all = tokens(task);
    let mut out: Vec<Clause> = Vec::new();
    for segment in segments(Span::new(task, &all)) {
        if out.len() >= MAX_CLAUSES {
            break;
        }
        let (segment, times) = repeated(segment);
        let clause = read(segment);
        if let Some(last) = out.last_mut()
            && settles(last, &clause)
        {
            continue;
        }
        for _ in 0..times {
            out.push(clause.clone());
        }
    }
    out.truncate(MAX_CLAUSES);
    conclude(&mut out);
    out
}

/// Verbs whose end is an order and not a full cart.
const BUYING: &[&str] = &["buy", "order", "purchase"];
/// Words of clauses that go on with what was bought.
const CHECKOUT: &[&str] = &["checkout", "order", "pay", "payment", "purchase", "buy"];

/// After what buys, and after what goes on with it, the page must say that it is ordered.
fn conclude(clauses: &mut Vec<Clause>) {
    let bought = clauses.iter().find_map(|clause| match &clause.act {
        Act::Do { verb, object: Some(object) } if BUYING.contains(&verb.as_str()) => {
            let is_held = words(&object.raw).iter().any(|word| ["cart", "wishlist"].contains(&word.as_str()));
            let is_sorting = words(&object.raw).iter().any(|word| word == "by");
            (!is_held && !is_sorting).then(|| verb.clone())
        }
        _ => None,
    });
    let Some(verb) = bought else { return };
    let goes_on = |clause: &Clause| words(&clause.source).iter().any(|word| CHECKOUT.contains(&word.as_str()));
    let Some(last) = clauses.iter().rposition(goes_on) else { return };
    let Some(clause) = clauses.get(last) else { return };
    let place = (clause.place.1, clause.place.1);
    let end = Clause { act: Act::Conclude { verb }, place, ..clause.clone() };
    clauses.insert(last + 1, end);
}

/// `press Count three times`: the clause, and how often it is meant.
fn repeated(span: Span<'_>) -> (Span<'_>, usize) {
    let span = span.trimmed();
    let clicks = matches!(
        verb_at(span),
        Some((Verb::Click | Verb::DoubleClick | Verb::Press | Verb::Scroll | Verb::Back | Verb::Reload, _, _))
    );
    if !clicks || span.len() < 2 {
        return (span, 1);
    }
    let length = span.len();
    if span.last().is_some_and(|token| token.is("twice")) {
        return (span.cut(0, length - 1), 2);
    }
    let is_times = length > 3 && span.last().is_some_and(|token| token.is("times"));
    let count = span.get(length.saturating_sub(2)).filter(|_| is_times).and_then(|token| counted(&token.lower));
    match count.and_then(|count| usize::try_from(count).ok()).filter(|&count| count <= MAX_REPEATS) {
        Some(count) => (span.cut(0, length - 2), count),
        None => (span, 1),
    }
}

/// Whether `next` only says how to do `last`: `search for shoes and press Enter`, `tick all, but don't tick B`.
fn settles(last: &mut Clause, next: &Clause) -> bool {
    match (&mut last.act, &next.act) {
        (Act::Search { submits, .. }, Act::Press { .. } | Act::Do { .. } | Act::Click { .. } | Act::Search { .. }) => {
            *submits = false;
            false
        }
        (Act::Toggle { items: None, except, .. }, Act::Nothing) if except.is_none() => {
            let all = tokens(&next.source);
            let span = Span::new(&next.source, &all);
            let Some(negation) = negation(span) else { return false };
            let rest = span.from(negation);
            let after = verb_at(rest).map_or(0, |(_, _, length)| length);
            *except = Some(items(without_box_words(rest.from(after))));
            false
        }
        _ => false,
    }
}

/// The text without quotes that enclose all of it.
pub(super) fn unquoted(text: &str) -> &str {
    let text = text.trim();
    let open = text.chars().next();
    let close = text.chars().next_back();
    let pairs = [('"', '"'), ('\'', '\''), ('“', '”'), ('«', '»'), ('‘', '’'), ('`', '`'), ('„', '“')];
    if text.chars().count() > 2 && pairs.iter().any(|&(o, c)| open == Some(o) && close == Some(c)) {
        let mut inner = text.chars();
        inner.next();
        inner.next_back();
        return inner.as_str();
    }
    text
}

fn is_strong(token: &Token) -> bool {
    token.kind == Kind::Mark && matches!(token.text.as_str(), "." | ";" | "!" | "?" | "\n" | "…")
}

fn is_separator(token: &Token) -> bool {
    (token.kind == Kind::Mark && token.text != ":" && token.text != "=")
        || token.is_any(&["and", "then", "but", "afterwards", "or"])
}

/// The length of a negation at the start: `don't`, `do not`, `never`, `without`.
fn negation(span: Span<'_>) -> Option<usize> {
    let first = span.first()?;
    if first.is_any(&["don't", "don’t", "dont", "never", "without", "avoid", "not"]) {
        return Some(1);
    }
    span.starts_with(&["do", "not"]).then_some(2)
}

/// Where the verb of a clause that starts here stands, fillers skipped.
fn clause_start(span: Span<'_>) -> Option<usize> {
    let limit = span.len().min(8);
    for at in 0..=limit {
        let rest = span.from(at);
        if negation(rest).is_some_and(|length| starts_verb(rest.from(length)))
            || (starts_verb(rest) && has_object(rest))
        {
            return Some(at);
        }
        if !rest.first().is_some_and(|token| token.is_any(FILLERS)) {
            return None;
        }
    }
    None
}

fn starts_verb(span: Span<'_>) -> bool {
    verb_at(span).is_some() || span.first().is_some_and(|token| gerund(token).is_some())
}

fn has_object(span: Span<'_>) -> bool {
    let Some((verb, _, length)) = verb_at(span) else { return true };
    !verb.needs_object()
        || span.get(length).is_some_and(|next| !is_separator(next) || next.kind == Kind::Mark && next.text == "(")
}

/// Cuts the instruction where a new clause begins.
fn segments(all: Span<'_>) -> Vec<Span<'_>> {
    let mut out = Vec::new();
    let mut start = clause_start(all).unwrap_or(0);
    if start > 0 && all.cut(0, start).tokens.iter().any(|t| t.kind != Kind::Word) {
        start = 0;
    }
    let mut at = start;
    while at < all.len() {
        let Some(token) = all.get(at).filter(|token| is_separator(token)) else {
            at += 1;
            continue;
        };
        let mut next = at + 1;
        let mut strong = is_strong(token) || token.is_any(&["then", "afterwards"]);
        while all.get(next).is_some_and(is_separator) {
            strong |= all.get(next).is_some_and(|t| is_strong(t) || t.is("then"));
            next += 1;
        }
        let rest = all.from(next);
        let current = all.cut(start, at);
        let begins = match clause_start(rest) {
            Some(skip) if strong || !is_field_of(current, rest.from(skip)) => Some(next + skip),
            _ if rest.is_empty() => None,
            None if strong && is_strong(token) && !takes_data(current) && !rest.is_empty() => Some(next),
            _ => None,
        };
        match begins {
            // Before its own comma a subordinate clause is no clause: `once it is open, press Save`.
            Some(begin) if !is_scope(current) => {
                out.push(current);
                start = begin;
                at = begin + verb_at(all.from(begin)).map_or(1, |(_, _, length)| length);
            }
            _ => at = next,
        }
    }
    out.push(all.cut(start, all.len()));
    out.retain(|span| !span.trimmed().is_empty());
    out
}

/// Whether the words before a comma only say where or when.
fn is_scope(span: Span<'_>) -> bool {
    span.first().is_some_and(|token| {
        token.is_any(&[
            "on", "in", "from", "for", "at", "under", "once", "when", "after", "as", "within", "if", "unless", "inside",
        ])
    })
}

/// Whether the clause takes data that may follow in sentences of its own: `fill in the form: name Bob; …`.
fn takes_data(span: Span<'_>) -> bool {
    matches!(verb_at(span), Some((Verb::Enter | Verb::Assign | Verb::Login | Verb::CheckOn | Verb::CheckOff, _, _)))
}

/// Whether what looks like a verb is the name of a field in a list of fields: `Name with Bob, Note with hi`.
fn is_field_of(current: Span<'_>, rest: Span<'_>) -> bool {
    if !matches!(verb_at(current), Some((Verb::Enter | Verb::Assign | Verb::Login, _, _))) {
        return false;
    }
    let Some((verb, word, length)) = verb_at(rest) else { return false };
    let next = rest.get(length);
    let linked = next.is_some_and(|token| {
        (token.is_any(&["with", "is", "as"]) && verb != Verb::Login)
            || (token.is("to") && FIELD_WORDS.contains(&word))
            || token.is_mark(":")
            || token.is_mark("=")
    });
    let named = FIELD_WORDS.contains(&word)
        && next.is_some_and(|token| {
            !is_separator(token) && !token.is_any(&["for", "the", "on"]) && token.kind != Kind::Mark
        });
    linked || named
}

/// Reads one clause.
fn read(segment: Span<'_>) -> Clause {
    let source = segment.trimmed().raw().to_owned();
    let place = segment.trimmed().bounds();
    let mut scope = Vec::new();
    let mut span = segment.trimmed();
    if is_scope(span) {
        if span.first().is_some_and(|token| token.is_any(&["if", "unless"])) {
            return Clause { act: Act::Unknown, source, place, scope };
        }
        let comma = span.position(|token| token.is_mark(",") || token.is_mark(":"));
        if let Some(comma) = comma
            && let Some(skip) = clause_start(span.from(comma + 1))
        {
            scope = super::phrase::content(span.cut(1, comma).raw());
            span = span.from(comma + 1 + skip);
        }
    }
    span = polite(span);
    if let Some(skip) = clause_start(span) {
        span = span.from(skip);
    }
    // `show what is in stock: tick In stock`: what counts is what follows.
    let colon = (1..span.len()).find(|&at| span.get(at).is_some_and(|token| token.is_mark(":")));
    if let Some(colon) = colon
        && !takes_data(span)
        && clause_start(span.from(colon + 1)) == Some(0)
    {
        scope.extend(super::phrase::content(span.cut(0, colon).raw()));
        span = span.from(colon + 1);
    }
    // `close the dialog by clicking the x`: what counts is how.
    let by = (1..span.len())
        .find(|&at| span.get(at).is_some_and(|t| t.is("by")) && span.get(at + 1).is_some_and(|t| gerund(t).is_some()));
    if let Some(by) = by {
        scope.extend(super::phrase::content(span.cut(1, by).raw()));
        span = span.from(by + 1);
    }
    // `export it via the File menu`: the way there is no part of the name.
    let via = (1..span.len()).find(|&at| span.get(at).is_some_and(|token| token.is_any(&["via", "through"])));
    let names_control = span
        .last()
        .is_some_and(|token| token.is_any(&["menu", "tab", "link", "button", "navigation", "toolbar", "sidebar"]));
    if let Some(via) = via.filter(|_| names_control) {
        scope.extend(super::phrase::content(span.from(via + 1).raw()));
        span = span.cut(0, via);
    }
    Clause { act: act(span), source, place, scope }
}

fn polite(span: Span<'_>) -> Span<'_> {
    span.trimmed().without_trailing(&["please", "now", "too", "again", "thanks", "afterwards", "immediately"]).trimmed()
}

/// Without a purpose at the end: `press Save to store it`.
fn without_purpose(span: Span<'_>) -> Span<'_> {
    let purpose = (1..span.len()).find(|&at| {
        span.get(at).is_some_and(|token| token.is("to")) && at + 1 < span.len() && verb_at(span.from(at + 1)).is_some()
    });
    let in_order = purpose.map(|at| {
        let starts = at >= 2 && span.cut(at - 2, at).starts_with(&["in", "order"]);
        if starts { at - 2 } else { at }
    });
    in_order.filter(|&at| at > 0).map_or(span, |at| span.cut(0, at))
}

fn act(span: Span<'_>) -> Act {
    if negation(span).is_some_and(|length| starts_verb(span.from(length))) {
        return Act::Nothing;
    }
    if span.first().is_some_and(|token| token.is_any(&["leave", "keep", "ignore", "skip"])) {
        return Act::Nothing;
    }
    let found = verb_at(span).or_else(|| span.first().and_then(gerund).map(|(verb, word)| (verb, word, 1)));
    let Some((verb, word, length)) = found else {
        return unknown_verb(span);
    };
    let rest = polite(span.from(length));
    match verb {
        Verb::Login => login(rest),
        Verb::Enter => enter(word, rest),
        Verb::Assign => assign(word, rest),
        Verb::Choose => choose(rest),
        Verb::CheckOn => toggle(rest, Wanted::On),
        Verb::CheckOff => toggle(rest, Wanted::Off),
        Verb::Click => click(rest, Clicks::Single),
        Verb::DoubleClick => click(rest, Clicks::Double),
        Verb::RightClick => click(rest, Clicks::Right),
        Verb::Press => press(rest),
        Verb::Search => search(rest),
        Verb::Hover => Act::Hover(Phrase::of(rest)),
        Verb::Focus => Act::Focus(Phrase::of(rest)),
        Verb::Scroll => scroll(rest),
        Verb::Wait => wait(span.from(1)),
        Verb::Go => go(word, rest),
        Verb::Back => Act::Back,
        Verb::Forward => Act::Forward,
        Verb::Reload if rest.without_leading(DETERMINERS).len() <= 1 => Act::Reload,
        Verb::Reload => named_act(word, rest),
        Verb::Read => read_question(rest, span),
        Verb::Verify => verify(rest),
        Verb::Accept | Verb::Dismiss => dialog(verb, word, rest),
        Verb::SwitchTo => Act::SwitchTo(Phrase::of(rest)),
        Verb::Clear => {
            let field = Phrase::of(rest.without_leading(&["out"]));
            if field.role == Some(super::lexicon::RoleWord::Checkbox) {
                toggle(rest, Wanted::Off)
            } else {
                Act::Clear(field)
            }
        }
        Verb::Drag => drag(rest),
        Verb::Upload => upload(rest),
        Verb::Use => use_it(rest),
        Verb::Act => named_act(word, rest),
    }
}

/// A clause that starts with no verb that is known here.
fn unknown_verb(span: Span<'_>) -> Act {
    if span.first().is_some_and(|token| token.is_any(&["is", "are", "does", "do", "has"])) {
        return verify(span.from(1));
    }
    let mark = span.position(|token| token.is_mark(":") || token.is_mark("="));
    if mark.is_some_and(|at| at > 0 && at + 1 < span.len()) {
        return Act::Enter { entries: entries(span, true), manner: Manner::Replace };
    }
    if span.first().is_some_and(|token| token.is_any(&["back"])) && span.len() == 1 {
        return Act::Back;
    }
    match span.first() {
        // `Publish the post`: perhaps a control of the page is called by this verb.
        Some(first) if first.kind == Kind::Word && first.lower.chars().all(char::is_alphabetic) => {
            named_act(&first.lower, polite(span.from(1)))
        }
        _ => Act::Unknown,
    }
}

fn named_act(word: &str, rest: Span<'_>) -> Act {
    let rest = without_purpose(rest);
    let verb = words(word).join(" ");
    if word == "close"
        && rest.without_leading(DETERMINERS).without_leading(&["current", "browser"]).starts_with(&["tab"])
    {
        return Act::CloseTab;
    }
    let with = rest.position(|token| token.is_any(&["with", "as"])).filter(|&at| at > 0);
    let repeats = ["confirm", "repeat", "verify"].contains(&word);
    if let Some(at) = with.filter(|&at| repeats && rest.from(at + 1).quoted().is_some()) {
        let field = rest.cut(0, at).without_leading(DETERMINERS);
        let field = Phrase::named(&format!("{word} {}", field.raw()));
        let entry = Entry { field: Some(field), value: value(rest.from(at + 1)), raw: rest.raw().to_owned() };
        return Act::Enter { entries: vec![entry], manner: Manner::Enter };
    }
    if word == "place" || word == "go ahead" {
        let object = Phrase::of(rest.without_leading(DETERMINERS));
        return Act::Do {
            verb: object.name.to_lowercase(),
            object: Some(Phrase::named(&format!("{word} {}", object.raw))),
        };
    }
    let object = (!rest.is_empty()).then(|| Phrase::of(rest.without_leading(&["on"])));
    Act::Do { verb, object }
}

/// What is clicked: what looks like a purpose may belong to its name, so all of it stays beside the name.
fn target_of(rest: Span<'_>) -> Phrase {
    let raw = Phrase::of(rest).raw;
    Phrase { raw, ..Phrase::of(without_purpose(rest)) }
}

fn click(rest: Span<'_>, clicks: Clicks) -> Act {
    let rest = rest.without_leading(&["on", "onto", "at"]);
    Act::Click { target: target_of(rest), clicks }
}

fn press(rest: Span<'_>) -> Act {
    let target = target_of(rest.without_leading(&["on"]));
    let rest = without_purpose(rest.without_leading(&["on"]));
    let bare = rest.without_leading(DETERMINERS).without_trailing(&["key", "keys"]);
    let is_key_word = rest.last().is_some_and(|token| token.is_any(&["key", "keys"]));
    let says_button = target.role.is_some() || rest.quoted().is_some();
    match key(&bare.meant()) {
        Some(keys) if !says_button || is_key_word => Act::Press { keys, target },
        _ => Act::Click { target, clicks: Clicks::Single },
    }
}

fn enter(word: &str, rest: Span<'_>) -> Act {
    if word.starts_with("complete") && rest.len() <= 2 && rest.position(|t| t.is_any(&["with", "form"])).is_none() {
        return named_act(word, rest);
    }
    let into_cart = rest.last().is_some_and(|t| t.is_any(&["cart", "basket", "bag", "trolley"]));
    if word == "put" && rest.quoted().is_none() && into_cart {
        return named_act("add", rest);
    }
    let fills = word.starts_with("fill") || word == "populate" || word == "complete";
    Act::Enter { entries: entries(rest, fills), manner: Manner::Enter }
}

fn assign(word: &str, rest: Span<'_>) -> Act {
    let entries = entries(rest, true);
    let is_assignment = entries.iter().any(|entry| entry.field.is_some() && entry.value.is_some());
    if !is_assignment {
        return if word == "switch" || word == "change" {
            Act::SwitchTo(Phrase::of(rest.without_leading(&["to"])))
        } else {
            named_act(word, rest)
        };
    }
    Act::Enter { entries, manner: Manner::Replace }
}

/// The parts of a list.
pub(super) fn items(span: Span<'_>) -> Items {
    let span = span.trimmed();
    let raw = span.raw();
    let base = raw.as_ptr() as usize;
    let mut parts = Vec::new();
    let mut start = 0;
    let mut close = |from: usize, to: usize| {
        let part = span.cut(from, to).trimmed();
        let text = part.raw();
        if !text.is_empty() {
            let at = (text.as_ptr() as usize).saturating_sub(base);
            parts.push((at, at + text.len()));
        }
    };
    for (at, token) in span.tokens.iter().enumerate() {
        if is_separator(token) || token.is("&") || token.is_mark(":") {
            close(start, at);
            start = at + 1;
        }
    }
    close(start, span.len());
    Items { parts, raw: raw.to_owned() }
}

const BOX_WORDS: &[&str] = &[
    "box",
    "boxes",
    "checkbox",
    "checkboxes",
    "word",
    "words",
    "item",
    "items",
    "option",
    "options",
    "entry",
    "entries",
    "tickbox",
    "tickboxes",
    "check",
    "value",
    "values",
    "choice",
    "choices",
    "row",
    "rows",
    "person",
    "people",
    "name",
    "names",
];

/// Without words that only say that boxes are meant: `the boxes for A and C`.
fn without_box_words(span: Span<'_>) -> Span<'_> {
    let span = span.trimmed().without_leading(DETERMINERS).without_leading(&["following", "both"]);
    let boxes = span.tokens.iter().take_while(|token| token.is_any(BOX_WORDS)).count();
    let mut rest = span;
    if boxes > 0 && boxes < span.len() {
        rest = span.from(boxes).without_leading(&[
            "for", "of", "labeled", "labelled", "named", "called", "next", "to", "beside", "with", "that", "say",
            "says", "the", "label", "labels", "marked", "saying", "names",
        ]);
    }
    let trailing =
        rest.without_trailing(&["box", "boxes", "checkbox", "checkboxes", "tickbox", "options", "option", "items"]);
    if trailing.is_empty() { rest } else { trailing.without_trailing(&["check"]) }
}

/// What follows `except`, `but not`, `apart from`.
fn exception(span: Span<'_>) -> Option<(usize, usize)> {
    (0..span.len()).find_map(|at| {
        let rest = span.from(at);
        let length = if rest.starts_with(&["but", "not"])
            || rest.starts_with(&["apart", "from"])
            || rest.starts_with(&["other", "than"])
            || rest.starts_with(&["except", "for"])
        {
            2
        } else if rest.first().is_some_and(|t| t.is_any(&["except", "but", "excluding", "without"])) {
            1
        } else {
            return None;
        };
        Some((at, at + length))
    })
}

fn toggle(rest: Span<'_>, wanted: Wanted) -> Act {
    let (main, except) = match exception(rest) {
        Some((at, after)) if after < rest.len() => (rest.cut(0, at), Some(items(without_box_words(rest.from(after))))),
        _ => (rest, None),
    };
    let only = main.first().is_some_and(|token| token.is("only"));
    let main = main.trimmed().without_leading(&["off", "only"]);
    if main.tokens.first().is_some_and(|token| token.is_any(&["nothing", "none", "no"])) {
        return Act::Nothing;
    }
    let quantified = main.first().is_some_and(|token| token.is_any(&["all", "everything", "every", "each", "any"]));
    let after = main.without_leading(&["all", "everything", "every", "each", "any", "of"]).without_leading(DETERMINERS);
    let is_all = quantified
        && after.tokens.iter().all(|token| {
            token.is_any(BOX_WORDS)
                || token.is_any(&[
                    "them",
                    "available",
                    "radio",
                    "on",
                    "page",
                    "the",
                    "this",
                    "in",
                    "form",
                    "list",
                    "shown",
                ])
        });
    let items = if is_all { None } else { Some(items(without_box_words(main))) };
    if items.as_ref().is_some_and(|items| items.parts.is_empty()) {
        return Act::Unknown;
    }
    Act::Toggle { items, except, wanted, only }
}

fn choose(rest: Span<'_>) -> Act {
    let rest = rest.trimmed();
    if rest.len() == 1 && rest.first().is_some_and(|token| token.is_any(&["nothing", "none"])) {
        return Act::Nothing;
    }
    if rest.first().is_some_and(|token| token.is_any(&["all", "everything", "every", "only"]))
        || rest.without_leading(DETERMINERS).first().is_some_and(|t| t.is_any(&["checkbox", "checkboxes", "boxes"]))
    {
        return toggle(rest, Wanted::On);
    }
    let quoted_end = rest.tokens.iter().rposition(|token| token.kind == Kind::Quoted).map_or(0, |at| at + 1);
    let split = (quoted_end.max(1)..rest.len()).rev().find(|&at| {
        rest.get(at).is_some_and(|token| token.is_any(&["from", "for", "in", "as", "with", "under", "within", "on"]))
            && at + 1 < rest.len()
    });
    let (chosen, from) = match split {
        Some(at) => (rest.cut(0, at), Some(Phrase::of(rest.from(at + 1)))),
        None => (rest, None),
    };
    let plural = chosen.first().is_some_and(|token| token.is_any(BOX_WORDS) && token.lower.ends_with('s'));
    Act::Choose { items: items(if plural { without_box_words(chosen) } else { chosen }), from }
}

const USER_LEAD: &[&str] = &[
    "as",
    "with",
    "using",
    "the",
    "username",
    "user",
    "email",
    "e-mail",
    "account",
    "login",
    "name",
    "address",
    "id",
    "is",
    "and",
    "credentials",
    "mail",
    "my",
    "under",
    "by",
    "of",
];

/// Reads what follows `log in`.
pub(super) fn login(rest: Span<'_>) -> Act {
    let raw = rest.raw().to_owned();
    let lead = rest.position(|token| token.is_any(&["as", "with", "using"]));
    let mut span = match lead {
        // `to the shop as ann`: where is said by the page already.
        Some(at) if rest.first().is_some_and(|token| token.is_any(&["to", "into", "on", "at", "in"])) => rest.from(at),
        None if rest.first().is_some_and(|token| token.is_any(&["to", "into", "on", "at", "in"])) => rest.cut(0, 0),
        _ => rest,
    };
    span = span.trimmed();
    let is_secret = |token: &Token| token.is_any(&["password", "passcode", "pin", "pw", "pass", "pwd", "passphrase"]);
    let user_of = |span: Span<'_>| {
        let span = span
            .trimmed()
            .without_trailing(&["and", "with", "using", "the", "/", "plus", "a", "my", "by"])
            .without_leading(USER_LEAD);
        (!span.is_empty()).then(|| value(span)).flatten()
    };
    let secret_of = |span: Span<'_>| {
        let span = span.trimmed().without_leading(&["is", "of", "as", "the"]);
        (!span.is_empty()).then(|| value(span)).flatten()
    };
    let (user, password) = if let Some(at) = span.position(is_secret) {
        let after = span.from(at + 1);
        let later_user =
            after.position(|t| t.is_any(&["username", "user", "email", "e-mail", "login"])).filter(|&u| u > 0);
        match later_user {
            Some(u) => {
                (user_of(after.from(u)), secret_of(after.cut(0, u).without_trailing(&["and", "with", "the", "for"])))
            }
            None => {
                let after = after
                    .position(|t| t.is_any(&["for"]))
                    .filter(|&f| f > 0 && after.from(f).len() == 2)
                    .map_or(after, |f| after.cut(0, f));
                (user_of(span.cut(0, at)), secret_of(after))
            }
        }
    } else {
        let divider = span
            .position(|token| token.is_any(&["/", "and"]) || token.is_mark(",") || token.is_mark(":"))
            .filter(|&at| at > 0 && at + 1 < span.len());
        let slash = span
            .tokens
            .iter()
            .find(|t| t.kind == Kind::Word && t.text.matches('/').count() == 1 && !t.text.contains("//"));
        match (divider, slash) {
            (Some(at), _) => (user_of(span.cut(0, at)), secret_of(span.from(at + 1))),
            (None, Some(token)) => {
                let (user, password) = token.text.split_once('/').unwrap_or_default();
                let text = |text: &str| (!text.is_empty()).then(|| Value::Text(text.to_owned()));
                (text(user), text(password))
            }
            (None, None) => match span.tokens {
                _ if span.without_leading(USER_LEAD).first().is_some_and(|t| t.is("credential")) => {
                    (None, user_of(span))
                }
                [.., only] if only.kind == Kind::Credential => (None, user_of(span)),
                _ => (user_of(span), None),
            },
        }
    };
    Act::Login { user, password, rest: raw }
}

fn search(rest: Span<'_>) -> Act {
    let rest = rest.trimmed();
    let (rest, led) = match rest.position(|token| token.is("for")) {
        Some(at) => (rest.from(at + 1), Some(rest.cut(0, at))),
        None => (rest, None),
    };
    if rest.is_empty() {
        return Act::Do { verb: "search".to_owned(), object: None };
    }
    let after_quote = rest.quoted().map(|(at, _)| at + 1);
    let place = (after_quote.unwrap_or(1)..rest.len()).rev().find(|&at| {
        rest.get(at).is_some_and(|t| t.is_any(&["in", "on", "using", "with", "into"]))
            && rest
                .from(at)
                .tokens
                .iter()
                .any(|t| t.is_any(&["search", "field", "box", "bar", "input", "site", "page", "form", "textbox"]))
    });
    let (what, field) = match place {
        Some(at) => (rest.cut(0, at), Some(Phrase::of(rest.from(at + 1)))),
        None => (rest, led.filter(|led| !led.is_empty()).map(|led| Phrase::of(led.without_leading(DETERMINERS)))),
    };
    let what = match what.quoted() {
        Some((at, _)) => what.cut(at, at + 1),
        None => what.without_leading(&["the"]),
    };
    match value(what) {
        Some(what) => Act::Search { what, field: field.filter(|field| !field.is_bare()), submits: true },
        None => Act::Unknown,
    }
}

fn scroll(rest: Span<'_>) -> Act {
    let direction = rest.tokens.iter().find_map(|token| {
        Some(match token.lower.as_str() {
            "down" => Direction::Down,
            "up" => Direction::Up,
            "left" => Direction::Left,
            "right" => Direction::Right,
            "bottom" | "end" => Direction::Bottom,
            "top" | "beginning" | "start" => Direction::Top,
            _ => return None,
        })
    });
    let to = rest.tokens.iter().rposition(|token| token.is_any(&["to", "of"])).map(|at| rest.from(at + 1));
    let thing = to.or_else(|| direction.is_none().then_some(rest)).map(Phrase::of).filter(|phrase| {
        !phrase.is_bare()
            && !matches!(phrase.name.to_lowercase().as_str(), "bottom" | "top" | "end" | "page" | "down" | "up")
    });
    Act::Scroll { direction, to: thing }
}

fn wait(rest: Span<'_>) -> Act {
    let rest = rest.trimmed().without_leading(&["for", "until", "till", "about", "that", "on"]);
    let number = rest.tokens.iter().position(|token| token.text.parse::<f64>().is_ok());
    if let Some(at) = number
        && let Some(unit) = rest.get(at + 1)
        && let Some(count) = rest.get(at).and_then(|token| token.text.parse::<f64>().ok())
    {
        let factor = match unit.lower.as_str() {
            "second" | "seconds" | "s" | "sec" | "secs" => 1_000.0,
            "millisecond" | "milliseconds" | "ms" => 1.0,
            "minute" | "minutes" | "min" | "mins" => 60_000.0,
            _ => 0.0,
        };
        let millis = (count * factor).clamp(0.0, 600_000.0);
        if millis > 0.0 {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "clamped to 0..=600000 above"
            )]
            return Act::Wait(Awaited::Span(millis as u32));
        }
    }
    const ARRIVES: &[&str] = &[
        "appears",
        "appear",
        "shows",
        "show",
        "visible",
        "is",
        "to",
        "be",
        "shown",
        "displayed",
        "up",
        "there",
        "comes",
    ];
    const GOES: &[&str] = &["disappears", "disappear", "vanishes", "vanish", "gone", "hidden", "goes"];
    if rest.is_empty()
        || rest
            .tokens
            .iter()
            .any(|t| t.is_any(&["loads", "load", "loaded", "idle", "finishes", "quiet", "ready", "network"]))
            && rest.quoted().is_none()
    {
        return Act::Wait(Awaited::Quiet);
    }
    let goes = rest.tokens.iter().any(|token| token.is_any(GOES));
    let text = match rest.quoted() {
        Some((_, quoted)) => quoted.text.clone(),
        None => rest
            .without_leading(DETERMINERS)
            .without_leading(&["text", "message"])
            .without_trailing(ARRIVES)
            .without_trailing(GOES)
            .without_trailing(&["is", "has", "to"])
            .meant(),
    };
    if text.is_empty() {
        return Act::Wait(Awaited::Quiet);
    }
    Act::Wait(if goes { Awaited::Goes(text) } else { Awaited::Appears(text) })
}

/// The URL or path that a text is, if it is one.
fn url(text: &str) -> Option<String> {
    let lower = text.to_lowercase();
    let is_path = text.starts_with('/') && !text.starts_with("//");
    let is_absolute = lower.starts_with("http://") || lower.starts_with("https://") || lower == "about:blank";
    if is_path || is_absolute {
        return Some(text.to_owned());
    }
    let host = lower.split(['/', ':', '?']).next().unwrap_or_default();
    let labels: Vec<&str> = host.split('.').collect();
    let plain = |label: &&str| !label.is_empty() && label.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    let looks_like_host = labels.len() >= 2
        && labels.iter().all(plain)
        && labels
            .last()
            .is_some_and(|top| (2..=6).contains(&top.len()) && top.chars().all(|c| c.is_ascii_alphabetic()))
        && !["pdf", "txt", "csv", "png", "jpg", "html", "docx", "xlsx", "zip", "json", "xml", "js", "css", "md"]
            .contains(labels.last().unwrap_or(&""));
    let is_local = host == "localhost" && lower.contains(':');
    (looks_like_host || is_local).then(|| format!("{}://{text}", if is_local { "http" } else { "https" }))
}

fn go(word: &str, rest: Span<'_>) -> Act {
    let rest = rest.trimmed().without_leading(&["to", "into", "up"]);
    let bare =
        rest.without_leading(DETERMINERS).without_leading(&["url", "page", "address", "website", "site", "path"]);
    if let [only] = bare.tokens
        && let Some(url) = url(&only.text)
    {
        return Act::Go(Place::Url(url));
    }
    if rest.starts_with(&["back"]) {
        return Act::Back;
    }
    let target = Phrase::of(without_purpose(rest));
    if word != "open" && target.role == Some(super::lexicon::RoleWord::Tab) {
        return Act::SwitchTo(target);
    }
    Act::Go(Place::Thing(target))
}

fn read_question(rest: Span<'_>, all: Span<'_>) -> Act {
    let rest = rest
        .trimmed()
        .without_leading(&["me", "out", "what", "is", "are", "how", "much", "many", "which", "who", "when", "where"])
        .without_leading(DETERMINERS);
    let rest =
        rest.without_trailing(&["is", "are", "was", "say", "says", "shown", "displayed", "costs", "cost", "there"]);
    let rest = if rest.is_empty() { all } else { rest };
    Act::Read { what: Phrase::of(rest), question: all.raw().to_owned() }
}

fn verify(rest: Span<'_>) -> Act {
    let rest = rest.trimmed().without_leading(&["that", "whether", "if", "there", "is", "are"]);
    let absent = rest.tokens.iter().any(|token| {
        token.is_any(&[
            "not",
            "no",
            "isn't",
            "absent",
            "doesn't",
            "gone",
            "hidden",
            "never",
            "aren't",
            "isn’t",
            "doesn’t",
        ])
    });
    let what = match rest.quoted() {
        Some((at, _)) => Phrase::of(rest.cut(at, at + 1)),
        None => Phrase::of(
            rest.without_leading(&[
                "the", "page", "text", "message", "title", "shows", "contains", "says", "no", "a", "an", "see", "you",
                "can",
            ])
            .without_trailing(&[
                "is",
                "are",
                "shown",
                "displayed",
                "visible",
                "appears",
                "present",
                "there",
                "exists",
                "on",
                "the",
                "page",
                "not",
                "isn't",
                "been",
                "has",
                "be",
                "absent",
                "gone",
                "hidden",
                "does",
                "appear",
                "show",
                "up",
                "shows",
                "screen",
            ]),
        ),
    };
    Act::Verify { what: Phrase { is_quoted: true, ..what }, absent }
}

fn dialog(verb: Verb, word: &str, rest: Span<'_>) -> Act {
    let is_dialog = rest.is_empty()
        || rest.tokens.iter().any(|t| {
            t.is_any(&["dialog", "alert", "prompt", "confirmation", "popup", "pop-up", "confirm", "it", "message"])
        });
    if ["answer", "reply"].contains(&word) {
        let with = rest.position(|token| token.is("with"));
        let said = rest.from(with.map_or(0, |at| at + 1));
        if !is_dialog && with != Some(0) {
            return named_act(word, rest);
        }
        let text = value(said).and_then(|value| value.text().map(str::to_owned));
        return match text.as_deref().map(str::to_lowercase).as_deref() {
            Some("no") => Act::DismissDialog,
            Some("yes" | "ok") | None => Act::AcceptDialog { text: None },
            Some(_) => Act::AcceptDialog { text },
        };
    }
    if !is_dialog {
        return named_act(word, rest);
    }
    if verb == Verb::Dismiss {
        return Act::DismissDialog;
    }
    Act::AcceptDialog { text: rest.quoted().map(|(_, quoted)| quoted.text.clone()) }
}

fn drag(rest: Span<'_>) -> Act {
    match rest
        .tokens
        .iter()
        .rposition(|t| t.is_any(&["to", "onto", "into", "on"]))
        .filter(|&at| at > 0 && at + 1 < rest.len())
    {
        Some(at) => Act::Drag { what: Phrase::of(rest.cut(0, at)), to: Phrase::of(rest.from(at + 1)) },
        None => Act::Unknown,
    }
}

fn upload(rest: Span<'_>) -> Act {
    let split = rest
        .tokens
        .iter()
        .rposition(|t| t.is_any(&["to", "into", "in", "as", "for"]))
        .filter(|&at| at > 0 && at + 1 < rest.len());
    let (files, field) = match split {
        Some(at) => (rest.cut(0, at), Some(Phrase::of(rest.from(at + 1)))),
        None => (rest, None),
    };
    let list = items(files.without_leading(DETERMINERS).without_leading(&["file", "files", "document", "image"]));
    let files: Vec<String> =
        (0..list.parts.len()).map(|i| list.joined(i, i)).filter(|file| !file.is_empty()).take(20).collect();
    if files.is_empty() { Act::Unknown } else { Act::Upload { files, field } }
}

/// `Use X to …`: credentials to log in with, or a field to type into.
fn use_it(rest: Span<'_>) -> Act {
    let to = (1..rest.len()).find(|&at| {
        rest.get(at).is_some_and(|t| t.is_any(&["to", "for", "and"]))
            && (verb_at(rest.from(at + 1)).is_some()
                || rest.from(at + 1).first().is_some_and(|t| t.is_any(&["logging", "signing"])))
    });
    let Some(at) = to else {
        return Act::Click { target: Phrase::of(rest), clicks: Clicks::Single };
    };
    let (thing, after) = (rest.cut(0, at), rest.from(at + 1));
    match verb_at(after) {
        Some((Verb::Login, _, _)) | None => login(thing),
        Some(_) => match act(after) {
            Act::Enter { mut entries, manner } => {
                for entry in &mut entries {
                    entry.field.get_or_insert_with(|| Phrase::of(thing));
                }
                Act::Enter { entries, manner }
            }
            Act::Choose { items, from } => Act::Choose { items, from: from.or_else(|| Some(Phrase::of(thing))) },
            Act::Search { what, field, submits } => {
                Act::Search { what, field: field.or_else(|| Some(Phrase::of(thing))), submits }
            }
            _ => Act::Click { target: Phrase::of(thing), clicks: Clicks::Single },
        },
    }
}

#[cfg(test)]
#[path = "clauses_tests.rs"]
mod tests;
