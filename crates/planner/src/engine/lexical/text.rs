//! Tokens: an instruction cut into words, quoted texts and marks, each with its place in the source.
//!
//! Invariants:
//! - Places are byte offsets on character boundaries; text is taken from the source through them, so what
//!   is typed is what was written.
//! - Nothing here knows any word's meaning.

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A run of characters without space.
    Word,
    /// A text in quotes; the token's text is what stands between them.
    Quoted,
    /// `{{name}}`: the name of a credential.
    Credential,
    /// A mark that separates: `,` `;` `.` `:` `!` `?` `(` `)` `=` or a line break.
    Mark,
}

/// One token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) kind: Kind,
    /// The text as written, without quotes.
    pub(super) text: String,
    /// The text in lower case.
    pub(super) lower: String,
    start: usize,
    end: usize,
}

impl Token {
    /// Whether it is this word, in any case.
    pub(super) fn is(&self, word: &str) -> bool {
        self.kind == Kind::Word && self.lower == word && self.may_be_function_word()
    }

    /// Whether it is one of these words, in any case.
    pub(super) fn is_any(&self, words: &[&str]) -> bool {
        self.kind == Kind::Word && words.contains(&self.lower.as_str()) && self.may_be_function_word()
    }

    /// `A` in capitals is a name, not an article.
    fn may_be_function_word(&self) -> bool {
        self.text != "A"
    }

    /// Whether it is this mark.
    pub(super) fn is_mark(&self, mark: &str) -> bool {
        self.kind == Kind::Mark && self.text == mark
    }
}

/// A run of tokens and the source that they are from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span<'a> {
    source: &'a str,
    pub(super) tokens: &'a [Token],
}

impl<'a> Span<'a> {
    pub(super) const fn new(source: &'a str, tokens: &'a [Token]) -> Self {
        Self { source, tokens }
    }

    /// The tokens from `from` up to `to`; bounds beyond the end are cut.
    pub(super) fn cut(self, from: usize, to: usize) -> Self {
        let to = to.min(self.tokens.len());
        Self { tokens: self.tokens.get(from.min(to)..to).unwrap_or_default(), ..self }
    }

    /// The tokens from `from` on.
    pub(super) fn from(self, from: usize) -> Self {
        self.cut(from, usize::MAX)
    }

    pub(super) const fn len(self) -> usize {
        self.tokens.len()
    }

    pub(super) const fn is_empty(self) -> bool {
        self.tokens.is_empty()
    }

    pub(super) fn get(self, index: usize) -> Option<&'a Token> {
        self.tokens.get(index)
    }

    pub(super) fn first(self) -> Option<&'a Token> {
        self.tokens.first()
    }

    pub(super) fn last(self) -> Option<&'a Token> {
        self.tokens.last()
    }

    /// Where the first token with this property stands.
    pub(super) fn position(self, property: impl Fn(&Token) -> bool) -> Option<usize> {
        self.tokens.iter().position(property)
    }

    /// The source from the first token to the last, quotes included.
    pub(super) fn raw(self) -> &'a str {
        match (self.tokens.first(), self.tokens.last()) {
            (Some(first), Some(last)) => self.source.get(first.start..last.end).unwrap_or_default(),
            _ => "",
        }
    }

    /// Where the run stands in the source: byte offsets.
    pub(super) fn bounds(self) -> (usize, usize) {
        (self.tokens.first().map_or(0, |token| token.start), self.tokens.last().map_or(0, |token| token.end))
    }

    /// The text that is meant: without the quotes if all of it is one quoted text.
    pub(super) fn meant(self) -> String {
        match self.tokens {
            [only] if only.kind != Kind::Word => only.text.clone(),
            _ => self.raw().trim().to_owned(),
        }
    }

    /// Without marks at either end.
    pub(super) fn trimmed(self) -> Self {
        let from = self.tokens.iter().take_while(|t| t.kind == Kind::Mark).count();
        let back = self.tokens.iter().skip(from).rev().take_while(|t| t.kind == Kind::Mark).count();
        self.cut(from, self.tokens.len().saturating_sub(back))
    }

    /// Without leading tokens of these words.
    pub(super) fn without_leading(self, words: &[&str]) -> Self {
        let from = self.tokens.iter().take_while(|t| t.is_any(words) || t.kind == Kind::Mark).count();
        self.from(from)
    }

    /// Without trailing tokens of these words.
    pub(super) fn without_trailing(self, words: &[&str]) -> Self {
        let back = self.tokens.iter().rev().take_while(|t| t.is_any(words) || t.kind == Kind::Mark).count();
        self.cut(0, self.tokens.len().saturating_sub(back))
    }

    /// Whether it starts with these words.
    pub(super) fn starts_with(self, words: &[&str]) -> bool {
        self.tokens.len() >= words.len() && self.tokens.iter().zip(words).all(|(token, word)| token.is(word))
    }

    /// The first quoted text.
    pub(super) fn quoted(self) -> Option<(usize, &'a Token)> {
        self.tokens.iter().enumerate().find(|(_, token)| token.kind == Kind::Quoted)
    }
}

/// The most characters of an instruction that are read.
pub(super) const MAX_CHARACTERS: usize = 20_000;

/// Cuts an instruction into tokens. Costs time linear in its length but for unclosed quotes.
pub(super) fn tokens(source: &str) -> Vec<Token> {
    let chars: Vec<(usize, char)> = source.char_indices().take(MAX_CHARACTERS).collect();
    let mut scanner = Scanner { source, chars, at: 0, out: Vec::new() };
    scanner.run();
    scanner.out
}

struct Scanner<'a> {
    source: &'a str,
    chars: Vec<(usize, char)>,
    at: usize,
    out: Vec<Token>,
}

impl Scanner<'_> {
    fn peek(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at + ahead).map(|&(_, c)| c)
    }

    fn offset(&self, index: usize) -> usize {
        self.chars.get(index).map_or_else(|| self.chars.last().map_or(0, |&(at, c)| at + c.len_utf8()), |&(at, _)| at)
    }

    fn run(&mut self) {
        while let Some(c) = self.peek(0) {
            if c == '\n' {
                self.push(Kind::Mark, self.at, self.at + 1, self.at, self.at + 1);
            } else if c.is_whitespace() {
                self.at += 1;
            } else if c == '{' && self.peek(1) == Some('{') && self.closing_braces().is_some() {
                let close = self.closing_braces().unwrap_or(self.at + 2);
                self.push(Kind::Credential, self.at, close + 2, self.at + 2, close);
            } else if let Some(close) = self.closing_quote(c) {
                self.push(Kind::Quoted, self.at, close + 1, self.at + 1, close);
            } else if is_mark(c) && !self.starts_a_word(c) {
                self.push(Kind::Mark, self.at, self.at + 1, self.at, self.at + 1);
            } else {
                self.word();
            }
        }
    }

    /// A mark that begins a word of its own: `.csv`, `:5`.
    fn starts_a_word(&self, c: char) -> bool {
        let follows_space =
            self.at.checked_sub(1).and_then(|at| self.chars.get(at)).is_none_or(|&(_, c)| c.is_whitespace());
        matches!(c, '.' | ':') && follows_space && self.peek(1).is_some_and(char::is_alphanumeric)
    }

    fn closing_braces(&self) -> Option<usize> {
        let inner = self.at + 2;
        (inner..inner + 80)
            .find(|&i| {
                self.chars.get(i).is_some_and(|&(_, c)| c == '}')
                    && self.chars.get(i + 1).is_some_and(|&(_, c)| c == '}')
            })
            .filter(|&close| close > inner)
    }

    fn closing_quote(&self, open: char) -> Option<usize> {
        let closers: &[char] = match open {
            '"' => &['"'],
            '“' | '„' | '”' => &['”', '“', '"'],
            '«' => &['»'],
            '»' => &['«'],
            '‘' | '‚' => &['’', '‘'],
            '\'' => &['\''],
            '`' => &['`'],
            _ => return None,
        };
        let is_apostrophe = matches!(open, '\'' | '‘' | '‚');
        (self.at + 1..self.chars.len()).find(|&i| {
            let (_, c) = self.chars[i];
            let after = self.chars.get(i + 1).map(|&(_, c)| c);
            closers.contains(&c) && !(is_apostrophe && after.is_some_and(char::is_alphanumeric))
        })
    }

    fn word(&mut self) {
        let start = self.at;
        let mut end = start;
        while let Some(&(_, c)) = self.chars.get(end) {
            let opens = end > start && matches!(c, '"' | '“' | '”' | '„' | '«' | '`');
            if c.is_whitespace() || opens {
                break;
            }
            // `name:Bob` and `name=Bob` are two words and a mark; `13:45`, `http://x` and `a=b&c=d` are one.
            if end > start && matches!(c, ':' | '=') && self.splits_at(start, end, c) {
                break;
            }
            if matches!(c, ',' | ';') && end > start && self.chars.get(end + 1).is_some_and(|&(_, n)| n.is_alphabetic())
            {
                let before_digit = self.chars[end - 1].1.is_ascii_digit();
                if !before_digit {
                    break;
                }
            }
            end += 1;
        }
        let mut last = end;
        while last > start + 1 && is_mark(self.chars[last - 1].1) {
            last -= 1;
        }
        self.push(Kind::Word, start, last, start, last);
    }

    fn splits_at(&self, start: usize, at: usize, mark: char) -> bool {
        let left = &self.chars[start..at];
        let next = self.chars.get(at + 1).map(|&(_, c)| c);
        let plain = left.iter().all(|&(_, c)| c.is_alphabetic() || c == '-' || c == '_');
        plain && next.is_some_and(|c| c != '/' && !c.is_whitespace()) && !(mark == '=' && left.len() == 1)
    }

    fn push(&mut self, kind: Kind, start: usize, end: usize, inner_start: usize, inner_end: usize) {
        let text = |from: usize, to: usize| self.source.get(self.offset(from)..self.offset(to)).unwrap_or_default();
        let text = text(inner_start, inner_end).to_owned();
        let lower = text.to_lowercase();
        let (from, to) = (self.offset(start), self.offset(end));
        self.out.push(Token { kind, text, lower, start: from, end: to });
        self.at = end.max(self.at + 1);
    }
}

const fn is_mark(c: char) -> bool {
    matches!(c, ',' | ';' | '.' | ':' | '!' | '?' | '(' | ')' | '[' | ']' | '=' | '…')
}

/// The words of a text, in lower case, without marks and symbols; spellings that differ by a hyphen or a
/// space are made one (`e-mail`, `log in`), and plurals are made singular.
pub(super) fn words(text: &str) -> Vec<String> {
    let lower = text.to_lowercase().replace(['×', '✕', '✖', '✗'], " x ");
    let plain: Vec<&str> =
        lower.split(|c: char| !(c.is_alphanumeric() || c == '+' || c == '%')).filter(|word| !word.is_empty()).collect();
    let mut out = Vec::with_capacity(plain.len());
    let mut at = 0;
    while let Some(&word) = plain.get(at) {
        let pair = plain.get(at + 1).and_then(|next| joined(word, next));
        match pair {
            Some(one) => {
                out.push(one.to_owned());
                at += 2;
            }
            None => {
                out.push(singular(word));
                at += 1;
            }
        }
    }
    out
}

fn joined(first: &str, second: &str) -> Option<&'static str> {
    Some(match (first, second) {
        ("log" | "sign", "in" | "on") => "login",
        ("log" | "sign", "out" | "off") => "logout",
        ("sign", "up") => "signup",
        ("check", "out") => "checkout",
        ("user", "name" | "id") => "username",
        ("e", "mail" | "mails") => "email",
        ("pass", "word" | "phrase") => "password",
        ("zip" | "postal" | "post", "code") => "zip",
        ("drop", "down") => "dropdown",
        ("check", "box" | "boxes") => "checkbox",
        ("text", "box" | "boxes") => "textbox",
        ("phone" | "telephone", "number") => "phone",
        ("shopping", "cart" | "basket" | "bag") => "cart",
        ("first" | "given" | "fore", "name") => "firstname",
        ("last" | "family" | "sur", "name") => "lastname",
        _ => return None,
    })
}

fn singular(word: &str) -> String {
    let canonical = match word {
        "signin" | "logon" => "login",
        "signout" | "logoff" => "logout",
        "mail" => "email",
        "okay" => "ok",
        "basket" | "trolley" | "bag" => "cart",
        "postcode" => "zip",
        "telephone" | "mobile" | "tel" => "phone",
        "forename" => "firstname",
        "surname" => "lastname",
        "passcode" | "passphrase" | "pw" | "pwd" | "passwd" => "password",
        "qty" => "quantity",
        "colour" => "color",
        _ => "",
    };
    if !canonical.is_empty() {
        return canonical.to_owned();
    }
    let length = word.chars().count();
    if length > 4 && word.ends_with("ies") {
        return format!("{}y", word.trim_end_matches("ies"));
    }
    if length > 4
        && (word.ends_with("sses") || word.ends_with("xes") || word.ends_with("ches") || word.ends_with("shes"))
    {
        return word.strip_suffix("es").unwrap_or(word).to_owned();
    }
    if length > 3 && word.ends_with('s') && !word.ends_with("ss") && !word.ends_with("us") && !word.ends_with("is") {
        return word.strip_suffix('s').unwrap_or(word).to_owned();
    }
    word.to_owned()
}

/// Whether two words are one that is written apart: `log in`, `check out`.
pub(super) fn is_one_word(first: &str, second: &str) -> bool {
    joined(first, second).is_some()
}

/// Whether two words differ by one inserted, removed, replaced or exchanged letter.
pub(super) fn differ_by_one(a: &str, b: &str) -> bool {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let common = a.iter().zip(&b).take_while(|(x, y)| x == y).count();
    let (rest_a, rest_b) = (&a[common..], &b[common..]);
    match (rest_a, rest_b) {
        ([], [_]) | ([_], []) => true,
        ([_, more_a @ ..], [_, more_b @ ..]) if more_a == more_b => true,
        ([x, y, more_a @ ..], [u, v, more_b @ ..]) if x == v && y == u && more_a == more_b => true,
        ([_, more @ ..], other) | (other, [_, more @ ..]) if more == other => true,
        (one, [_, more @ ..]) => one == more,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(source: &str) -> Vec<String> {
        tokens(source).into_iter().map(|token| token.text).collect()
    }

    #[test]
    fn quotes_of_all_kinds_keep_what_they_enclose() {
        for source in ["say \"a, b and c\" now", "say 'a, b and c' now", "say “a, b and c” now", "say «a, b and c» now"]
        {
            assert_eq!(texts(source), ["say", "a, b and c", "now"], "{source}");
        }
    }

    #[test]
    fn apostrophes_do_not_open_quotes() {
        assert_eq!(texts("don't open John's mail"), ["don't", "open", "John's", "mail"]);
        assert_eq!(texts("type 'it's fine' here"), ["type", "it's fine", "here"]);
    }

    #[test]
    fn marks_inside_words_stay() {
        assert_eq!(texts("open http://a.b:80/c?d=e."), ["open", "http://a.b:80/c?d=e", "."]);
        assert_eq!(texts("at 13:45, $1,200.50"), ["at", "13:45", ",", "$1,200.50"]);
        assert_eq!(texts("name:Bob email=b@x.y"), ["name", ":", "Bob", "email", "=", "b@x.y"]);
    }

    #[test]
    fn credentials_are_tokens_of_their_own() {
        let all = tokens("password {{shop}}.");
        assert_eq!((all[1].kind, all[1].text.as_str()), (Kind::Credential, "shop"));
    }

    #[test]
    fn words_are_made_comparable() {
        assert_eq!(words("Log in: E-Mail Addresses"), ["login", "email", "address"]);
        assert_eq!(words("Tab #3"), ["tab", "3"]);
    }

    #[test]
    fn one_letter_may_differ() {
        for (a, b, same) in [
            ("submit", "sumbit", true),
            ("submit", "submt", true),
            ("submit", "submitt", true),
            ("submit", "subnit", true),
            ("submit", "submit", false),
            ("submit", "sbmti", false),
            ("a", "", true),
        ] {
            assert_eq!(differ_by_one(a, b), same, "{a} {b}");
            assert_eq!(differ_by_one(b, a), same, "{b} {a}");
        }
    }
}
