//! Reads the next clause of an instruction.
//!
//! Invariant: a clause ends only before a verb after a separator, or at the end of the instruction. Words that are not
//! understood stay in their clause, and the planner asks about it.

use crate::engine::lexical::lexicon::{CONDITIONS, FILLERS, Verb, counted, gerund_at, verb_at};
use crate::engine::lexical::text::{Span, Token};

/// Upper bound of the repetitions of a clause.
const MAX_TIMES: usize = 10;

/// A clause of an instruction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clause<'t> {
    pub(crate) verb: Verb,
    /// The text after the verb.
    pub(crate) body: Span<'t>,
    /// Text of the clause, its verb included.
    pub(crate) whole: Span<'t>,
    /// Number of repetitions: 1 unless stated, at most `MAX_TIMES`.
    pub(crate) times: usize,
    /// The byte at which the next clause starts.
    pub(crate) end: usize,
}

/// The byte ranges of names of the page in an instruction: two apparent clauses may be one name.
pub(crate) fn names_in<'n>(source: &str, names: impl Iterator<Item = &'n str>) -> Vec<(usize, usize)> {
    // ASCII lower case preserves offsets.
    let lower = source.to_ascii_lowercase();
    let may_be_cut = |name: &str| name.contains([',', '.', ';', '!', '?']) || name.contains(" and ");
    names
        .map(|name| name.trim().to_ascii_lowercase())
        .filter(|name| name.len() > 2 && may_be_cut(name))
        .flat_map(|name| {
            let found: Vec<usize> = lower.match_indices(&name).map(|(at, _)| at).collect();
            found.into_iter().map(move |at| (at, at + name.len()))
        })
        .collect()
}

/// The first clause of the rest of an instruction. `None` if no word is left.
pub(crate) fn next_clause<'t>(all: Span<'t>, names: &[(usize, usize)]) -> Option<Clause<'t>> {
    let lead = all.tokens.iter().take_while(|token| token.is_separator()).count();
    let span = all.from(lead);
    let is_in_name = |token: &Token| names.iter().any(|&(from, to)| from <= token.start && token.end <= to);
    span.get(0)?;
    let (start, verb, length) = clause_start(span).unwrap_or((0, Verb::Name, 0));
    let depends = verb == Verb::Name && span.get(0).is_some_and(|first| first.is_any(CONDITIONS));
    let is_end = |at: usize| {
        let token = span.get(at).filter(|token| token.is_separator() && !is_in_name(token));
        let rest = span.from(at);
        let skipped = rest.tokens.iter().take_while(|token| token.is_separator()).count();
        let rest = rest.from(skipped);
        let begins = || rest.is_empty() || clause_start(rest).is_some();
        // A condition applies up to the end of its sentence.
        token.is_some_and(|token| if depends { token.ends_sentence() } else { begins() })
    };
    let end = (start + length..span.len()).find(|&at| is_end(at)).unwrap_or(span.len());
    let whole = span.cut(start, end);
    let mut clause = Clause {
        verb,
        body: ended(span.cut(start + length, end), verb),
        whole: ended(whole, Verb::Name),
        times: 1,
        end: span.get(end).map_or(all.source.len(), |token| token.start),
    };
    clause.take_means();
    clause.take_times();
    Some(clause)
}

/// Removes trailing punctuation. `!` and `?` may belong to typed text.
fn ended(span: Span<'_>, verb: Verb) -> Span<'_> {
    let types = matches!(verb, Verb::Enter | Verb::Set | Verb::Login | Verb::Search);
    let is_end = |token: &&Token| token.is_separator() && !(types && (token.is_mark("!") || token.is_mark("?")));
    let back = span.tokens.iter().rev().take_while(is_end).count();
    span.cut(0, span.len() - back)
}

/// The position of the verb of the clause that starts here, after words of politeness.
fn clause_start(span: Span<'_>) -> Option<(usize, Verb, usize)> {
    for at in 0..8 {
        let rest = span.from(at);
        if let Some((verb, length)) = verb_at(rest)
            && (verb.stands_alone() || rest.get(length).is_some_and(|next| !next.is_separator()))
        {
            return Some((at, verb, length));
        }
        if !rest.get(0)?.is_any(FILLERS) {
            return None;
        }
    }
    None
}

impl Clause<'_> {
    /// `close the dialog by clicking X` means `click X`.
    fn take_means(&mut self) {
        let by = self.body.position(|token| token.is("by"));
        if let Some((at, verb)) = by.and_then(|at| Some((at, gerund_at(self.body.from(at + 1))?))) {
            self.verb = verb;
            self.body = self.body.from(at + 2);
            if self.body.get(0).is_some_and(|token| token.is("on")) {
                self.body = self.body.from(1);
            }
        }
    }

    /// `press Ring three times`.
    fn take_times(&mut self) {
        if !matches!(self.verb, Verb::Click | Verb::Press | Verb::DoubleClick | Verb::Control) || self.body.len() < 2 {
            return;
        }
        let length = self.body.len();
        let last = |back: usize| self.body.get(length - back).map_or("", |token| token.lower());
        if last(1) == "twice" {
            (self.times, self.body) = (2, self.body.cut(0, length - 1));
        } else if length > 2
            && last(1) == "times"
            && let Some(times) = counted(last(2)).filter(|&times| times <= MAX_TIMES)
        {
            (self.times, self.body) = (times, self.body.cut(0, length - 2));
        }
    }

    /// The clause for display: only its first word if it may contain a secret.
    pub(crate) fn shown(&self) -> String {
        const SECRETS: &[&str] = &["password", "passphrase", "passcode", "pin", "secret", "token", "code"];
        if self.whole.tokens.iter().any(|token| token.is_any(SECRETS)) {
            return format!("{} …", self.whole.cut(0, 1).raw());
        }
        self.whole.raw().chars().take(200).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::lexical::text::tokens;

    fn clauses(source: &str, names: &[&str]) -> Vec<String> {
        let all = tokens(source);
        let ranges = names_in(source, names.iter().copied());
        let mut rest = Span { source, tokens: &all };
        let mut out = Vec::new();
        while let Some(clause) = next_clause(rest, &ranges) {
            out.push(format!("{:?}: {}", clause.verb, clause.body.raw()));
            rest = rest.from(rest.position(|token| token.start >= clause.end).unwrap_or(usize::MAX));
        }
        out
    }

    #[test]
    fn clauses_begin_where_a_verb_follows_a_separator() {
        for (source, expected) in [
            ("Click ONE, then click TWO.", &["Click: ONE", "Click: TWO"][..]),
            ("Type rock and roll into Note and save", &["Enter: rock and roll into Note", "Control: "]),
            ("First tick A, B and C; afterwards submit the form", &["Check: A, B and C", "Control: the form"]),
            ("Could you please press Go?", &["Press: Go"]),
            ("Close it by clicking on the \"x\".", &["Click: the \"x\""]),
            ("Open the menu. Make tea.", &["Open: the menu. Make tea"]),
            ("If it rains, click Send. Click Go", &["Name: If it rains, click Send", "Click: Go"]),
            ("!?", &[]),
        ] {
            assert_eq!(clauses(source, &[]), expected, "{source}");
        }
    }

    #[test]
    fn a_name_of_the_page_is_not_cut() {
        assert_eq!(clauses("Click Save and close", &["Save and close"]), ["Click: Save and close"]);
        assert_eq!(clauses("Click Save and close", &["Save"]), ["Click: Save", "Control: "]);
    }
}
