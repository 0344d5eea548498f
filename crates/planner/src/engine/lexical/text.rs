//! An instruction as tokens, and texts as comparable words.
//!
//! Invariant: a token knows its place in the source, so that typed text is a literal part of the instruction.

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Word,
    /// Text in quotation marks. The text of the token excludes them.
    Quoted,
    /// `{{name}}`: a credential by name.
    Credential,
    /// A punctuation mark, a line break, or an unclosed quotation mark.
    Mark,
}

/// A token of an instruction.
#[derive(Clone, Debug)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    pub(crate) text: String,
    lower: String,
    /// Byte offsets in the source, with quotation marks.
    pub(crate) start: usize,
    pub(crate) end: usize,
}

impl Token {
    /// Returns `true` if it is `word`, which is in lower case.
    pub(crate) fn is(&self, word: &str) -> bool {
        self.kind == Kind::Word && self.lower == word
    }

    pub(crate) fn is_any(&self, words: &[&str]) -> bool {
        words.iter().any(|word| self.is(word))
    }

    pub(crate) fn is_mark(&self, mark: &str) -> bool {
        self.kind == Kind::Mark && self.text == mark
    }

    pub(crate) fn lower(&self) -> &str {
        if self.kind == Kind::Word { &self.lower } else { "" }
    }

    /// Returns `true` if it separates sentences or their parts.
    pub(crate) fn is_separator(&self) -> bool {
        self.ends_sentence() || self.is_mark(",") || self.is_any(&["and", "then"])
    }

    pub(crate) fn ends_sentence(&self) -> bool {
        self.kind == Kind::Mark && matches!(self.text.as_str(), "." | ";" | "!" | "?" | "\n" | "…")
    }
}

/// A run of tokens in their source.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span<'a> {
    pub(crate) source: &'a str,
    pub(crate) tokens: &'a [Token],
}

impl<'a> Span<'a> {
    pub(crate) fn cut(self, from: usize, to: usize) -> Self {
        let to = to.min(self.tokens.len());
        Self { tokens: self.tokens.get(from.min(to)..to).unwrap_or_default(), ..self }
    }

    pub(crate) fn from(self, from: usize) -> Self {
        self.cut(from, usize::MAX)
    }

    pub(crate) const fn len(self) -> usize {
        self.tokens.len()
    }

    pub(crate) const fn is_empty(self) -> bool {
        self.tokens.is_empty()
    }

    pub(crate) fn get(self, index: usize) -> Option<&'a Token> {
        self.tokens.get(index)
    }

    pub(crate) fn starts_with(self, words: &str) -> bool {
        words.split(' ').enumerate().all(|(at, word)| self.get(at).is_some_and(|token| token.is(word)))
    }

    pub(crate) fn position(self, property: impl Fn(&Token) -> bool) -> Option<usize> {
        self.tokens.iter().position(property)
    }

    /// The source from the first token to the last.
    pub(crate) fn raw(self) -> &'a str {
        match (self.tokens.first(), self.tokens.last()) {
            (Some(first), Some(last)) => self.source.get(first.start..last.end).unwrap_or_default(),
            _ => "",
        }
    }

    /// Without punctuation and these words at both ends.
    pub(crate) fn trimmed(self, words: &[&str]) -> Self {
        let idle = |token: &&Token| token.kind == Kind::Mark || token.is_any(words);
        let from = self.tokens.iter().take_while(idle).count();
        let back = self.tokens.iter().skip(from).rev().take_while(idle).count();
        self.cut(from, self.tokens.len().saturating_sub(back))
    }

    /// Returns `true` if it has an unclosed quotation mark.
    pub(crate) fn is_broken(self) -> bool {
        self.tokens.iter().any(|token| token.kind == Kind::Mark && matches!(token.text.as_str(), "\"" | "“" | "«"))
    }
}

/// Upper bound of an instruction in characters.
pub(crate) const MAX_CHARACTERS: usize = 20_000;

/// Splits an instruction into tokens. Linear except for unclosed quotation marks.
pub(crate) fn tokens(source: &str) -> Vec<Token> {
    let chars: Vec<(usize, char)> = source.char_indices().take(MAX_CHARACTERS).collect();
    let mut scanner = Scanner { source, chars, at: 0, out: Vec::new() };
    while let Some(c) = scanner.peek(0) {
        scanner.step(c);
    }
    scanner.out
}

struct Scanner<'a> {
    source: &'a str,
    chars: Vec<(usize, char)>,
    at: usize,
    out: Vec<Token>,
}

impl Scanner<'_> {
    fn char(&self, index: usize) -> Option<char> {
        self.chars.get(index).map(|&(_, c)| c)
    }

    fn peek(&self, ahead: usize) -> Option<char> {
        self.char(self.at + ahead)
    }

    fn step(&mut self, c: char) {
        let at = self.at;
        if c == '\n' || matches!(c, '"' | '“' | '”' | '«' | '»') && self.closing_quote(c).is_none() {
            self.push(Kind::Mark, at, at + 1, 0);
        } else if c.is_whitespace() {
            self.at += 1;
        } else if let Some(close) = self.closing_braces() {
            self.push(Kind::Credential, at, close, 2);
        } else if let Some(close) = self.closing_quote(c) {
            self.push(Kind::Quoted, at, close + 1, 1);
        } else if is_mark(c) && !self.starts_a_word(c) {
            self.push(Kind::Mark, at, at + 1, 0);
        } else {
            self.word();
        }
    }

    /// A mark that starts a word: `.csv`.
    fn starts_a_word(&self, c: char) -> bool {
        let follows_space = self.at.checked_sub(1).and_then(|at| self.char(at)).is_none_or(char::is_whitespace);
        c == '.' && follows_space && self.peek(1).is_some_and(char::is_alphanumeric)
    }

    /// The end of the `{{name}}` that starts here.
    fn closing_braces(&self) -> Option<usize> {
        if (self.peek(0), self.peek(1)) != (Some('{'), Some('{')) {
            return None;
        }
        let inner = self.at + 2;
        let close = (inner..inner + 80).find(|&i| (self.char(i), self.char(i + 1)) == (Some('}'), Some('}')))?;
        (close > inner).then_some(close + 2)
    }

    fn closing_quote(&self, open: char) -> Option<usize> {
        let closers: &[char] = match open {
            '"' => &['"'],
            '“' | '„' | '”' => &['”', '“'],
            '«' => &['»'],
            '‘' => &['’'],
            '\'' => &['\''],
            '`' => &['`'],
            _ => return None,
        };
        let is_apostrophe = matches!(open, '\'' | '‘');
        (self.at + 1..self.chars.len()).find(|&i| {
            let inside_a_word = is_apostrophe && self.char(i + 1).is_some_and(char::is_alphanumeric);
            self.char(i).is_some_and(|c| closers.contains(&c)) && !inside_a_word
        })
    }

    fn word(&mut self) {
        let start = self.at;
        let mut end = start + 1;
        while let Some(c) = self.char(end) {
            let next = self.char(end + 1);
            let stops = match c {
                '"' | '“' | '”' | '«' | '»' => true,
                // `name:Bob` is two words; `13:45` and `http://x` are one, and so is `a=b&c=d`.
                ':' => next.is_some_and(|c| c != '/' && !c.is_whitespace()) && self.is_plain(start, end),
                ',' | ';' => next.is_some_and(char::is_alphabetic) && self.is_plain(end - 1, end),
                c => c.is_whitespace(),
            };
            if stops {
                break;
            }
            end += 1;
        }
        while end > start + 1 && self.char(end - 1).is_some_and(is_mark) {
            end -= 1;
        }
        self.push(Kind::Word, start, end, 0);
    }

    fn is_plain(&self, from: usize, to: usize) -> bool {
        (from..to).all(|i| self.char(i).is_some_and(|c| c.is_alphabetic() || c == '-' || c == '_'))
    }

    /// `rim` characters at each end are not part of the text.
    fn push(&mut self, kind: Kind, start: usize, end: usize, rim: usize) {
        let offset = |index: usize| self.chars.get(index).map_or(self.end(), |&(at, _)| at);
        let text = self.source.get(offset(start + rim)..offset(end - rim)).unwrap_or_default().to_owned();
        let (from, to) = (offset(start), offset(end));
        self.out.push(Token { kind, lower: text.to_lowercase(), text, start: from, end: to });
        self.at = end;
    }

    fn end(&self) -> usize {
        self.chars.last().map_or(0, |&(at, c)| at + c.len_utf8())
    }
}

const fn is_mark(c: char) -> bool {
    matches!(c, ',' | ';' | '.' | ':' | '!' | '?' | '(' | ')' | '[' | ']' | '=' | '…')
}

/// The words of a text in lower case, without punctuation and articles. Spellings that differ by a hyphen or a space are
/// the same: `E-Mail` is `email`, `sign in` is `login`.
pub(crate) fn words(text: &str) -> Vec<String> {
    let text = text.replace(['×', '✕', '✖'], " x ");
    let all: Vec<&str> =
        text.split(|c: char| !(c.is_alphanumeric() || c == '+' || c == '%')).filter(|word| !word.is_empty()).collect();
    // A capital `A` is a name, and so is a single article.
    let is_said = |word: &&str| all.len() == 1 || *word == "A" || !ARTICLES.contains(&word.to_lowercase().as_str());
    let mut out: Vec<String> = Vec::with_capacity(all.len());
    for word in all.iter().filter(|word| is_said(word)).map(|word| word.to_lowercase()) {
        match out.last().and_then(|last| one_word(last, &word)) {
            Some(one) => {
                out.pop();
                out.push(one.to_owned());
            }
            None => out.push(alone(word)),
        }
    }
    out
}

const ARTICLES: &[&str] =
    &["the", "a", "an", "this", "that", "these", "those", "my", "your", "our", "his", "her", "their", "its"];

/// Returns `true` if a word only connects others.
pub(crate) fn is_connecting(word: &str) -> bool {
    const WORDS: &[&str] = &[
        "of", "for", "in", "on", "from", "at", "with", "to", "into", "under", "is", "please", "which", "named",
        "called", "labeled", "labelled", "titled", "says", "saying", "text", "it", "beside",
    ];
    WORDS.contains(&word) || ARTICLES.contains(&word)
}

/// Pairs of words that are also written as one, or mean the same as one of them.
fn one_word(first: &str, second: &str) -> Option<&'static str> {
    Some(match (first, second) {
        ("log" | "sign", "in" | "on" | "into") => "login",
        ("log" | "sign", "out" | "off") => "logout",
        ("sign", "up") => "signup",
        ("user", "name") => "username",
        ("e", "mail") | ("email", "address") => "email",
        ("pass", "word") => "password",
        ("phone" | "telephone", "number") => "phone",
        ("zip" | "postal" | "post", "code") => "zip",
        ("check", "box" | "boxes") => "checkbox",
        ("next", "to") => "beside",
        ("drop", "down") => "dropdown",
        _ => return None,
    })
}

fn alone(word: String) -> String {
    match word.as_str() {
        "signin" | "logon" => "login".to_owned(),
        "signout" | "logoff" => "logout".to_owned(),
        "telephone" => "phone".to_owned(),
        "postcode" => "zip".to_owned(),
        "okay" => "ok".to_owned(),
        "colour" => "color".to_owned(),
        _ => word,
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
        assert_eq!(texts("name:Bob or .csv"), ["name", ":", "Bob", "or", ".csv"]);
    }

    #[test]
    fn credentials_are_tokens() {
        let all = tokens("password {{shop}}.");
        assert_eq!((all[1].kind, all[1].text.as_str()), (Kind::Credential, "shop"));
    }

    #[test]
    fn an_open_quote_is_noticed() {
        let all = tokens("type \"hello into Name");
        assert!(Span { source: "", tokens: &all }.is_broken());
    }

    #[test]
    fn words_are_made_comparable() {
        assert_eq!(words("Log in: E-Mail Address"), ["login", "email"]);
        assert_eq!(words("the list of A and a B"), ["list", "of", "a", "and", "b"]);
        assert_eq!(words("E-mail address of your account"), ["email", "of", "account"]);
    }
}
