//! JavaScript as tokens, as far as joining and linting need it.

/// Kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// An identifier, a keyword or a private name.
    Name,
    /// A numeric literal that begins with a digit.
    Number,
    /// A string, a regular expression, or the texts of a template; the code in `${…}` becomes separate tokens.
    Text,
    /// Anything else, character by character but for `?.`, `=>` and `...`.
    Mark,
}

/// A token and the line that it stands on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token<'a> {
    /// Kind of the token.
    pub kind: TokenKind,
    /// As it is written.
    pub text: &'a str,
    /// Line of the source, from 1.
    pub line: usize,
}

/// The tokens of a source, without comments. A source that ends within one is read to its end.
#[must_use]
pub fn tokens(source: &str) -> Vec<Token<'_>> {
    let mut reader = Reader { source, at: 0, line: 1, found: Vec::new(), open: Vec::new() };
    while reader.step() {}
    reader.found
}

struct Reader<'a> {
    source: &'a str,
    at: usize,
    line: usize,
    found: Vec<Token<'a>>,
    /// For each brace that is open, whether it stands in a template.
    open: Vec<bool>,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        self.source.get(self.at..).unwrap_or_default()
    }

    fn take(&mut self, kind: Option<TokenKind>, length: usize) {
        let text = self.rest().get(..length).unwrap_or_else(|| self.rest());
        if let Some(kind) = kind {
            self.found.push(Token { kind, text, line: self.line });
        }
        self.line += text.matches('\n').count();
        self.at += text.len();
    }

    fn step(&mut self) -> bool {
        let rest = self.rest();
        let Some(first) = rest.chars().next() else { return false };
        let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
        let word = || rest.chars().take_while(|c| is_word(*c)).map(char::len_utf8).sum::<usize>();
        match first {
            c if c.is_whitespace() => self.take(None, c.len_utf8()),
            '/' if rest.starts_with("//") => self.take(None, rest.find('\n').unwrap_or(rest.len())),
            '/' if rest.starts_with("/*") => self.take(None, rest.find("*/").map_or(rest.len(), |end| end + 2)),
            '"' | '\'' => self.take(Some(TokenKind::Text), quoted(rest, first)),
            '`' => self.template(1),
            '}' if self.open.last() == Some(&true) => {
                self.open.pop();
                self.template(1);
            }
            '{' | '}' => {
                if first == '{' {
                    self.open.push(false);
                } else {
                    self.open.pop();
                }
                self.take(Some(TokenKind::Mark), 1);
            }
            '#' => {
                let name = rest.chars().skip(1).take_while(|c| is_word(*c)).map(char::len_utf8).sum::<usize>();
                self.take(Some(TokenKind::Name), 1 + name);
            }
            c if c.is_ascii_digit() => self.take(Some(TokenKind::Number), word()),
            c if is_word(c) => self.take(Some(TokenKind::Name), word()),
            '/' if self.begins_pattern() => self.take(Some(TokenKind::Text), pattern(rest)),
            c => {
                let long = ["...", "?.", "=>"].into_iter().find(|mark| rest.starts_with(mark));
                self.take(Some(TokenKind::Mark), long.map_or(c.len_utf8(), str::len));
            }
        }
        true
    }

    /// The text of a template up to its end or to the next `${`.
    fn template(&mut self, from: usize) {
        let rest = self.rest();
        let mut at = from;
        while let Some(c) = rest.get(at..).and_then(|rest| rest.chars().next()) {
            at += c.len_utf8();
            match c {
                '\\' => at += rest.get(at..).and_then(|rest| rest.chars().next()).map_or(0, char::len_utf8),
                '`' => break,
                '$' if rest.get(at..).is_some_and(|rest| rest.starts_with('{')) => {
                    at += 1;
                    self.open.push(true);
                    break;
                }
                _ => {}
            }
        }
        self.take(Some(TokenKind::Text), at);
    }

    /// Returns `true` if a slash here begins a regular expression: where a value is expected.
    fn begins_pattern(&self) -> bool {
        self.found.last().is_none_or(|last| match last.kind {
            TokenKind::Mark => !matches!(last.text, ")" | "]" | "}"),
            TokenKind::Name => matches!(last.text, "return" | "typeof" | "case" | "in" | "of"),
            TokenKind::Number | TokenKind::Text => false,
        })
    }
}

fn quoted(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

fn pattern(rest: &str) -> usize {
    let (mut escaped, mut class) = (false, false);
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '[' => class = true,
            ']' => class = false,
            '/' if !class => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_outside_of_texts_patterns_and_comments_only() {
        let source = "const a = /[/\"]x/.test(b) ? `c ${d.e(`${f}`)} g` : 'h\\'i'; // j\n/* k */ l / m / n; this.#o";
        let names: Vec<&str> =
            tokens(source).into_iter().filter(|token| token.kind == TokenKind::Name).map(|token| token.text).collect();
        assert_eq!(names, ["const", "a", "test", "b", "d", "e", "f", "l", "m", "n", "this", "#o"]);
        assert_eq!(tokens("a\n\nb").last().map(|token| token.line), Some(3));
    }
}
