//! Removes the values of known secrets from text, in every usual encoding.
//!
//! Invariants:
//! - A secret is found as plain text, backwards too, with invisible characters or, from eight characters on, white space
//!   between its letters; with its characters escaped for JSON, URLs or HTML, in any combination and nesting; and in
//!   base64 and hexadecimal, also as a part of a longer encoded text.
//! - `Debug` shows only the number of secrets.
//! - Secrets that are not distinctive (`cuebook_grammar::secret::is_searched_for`) are ignored: they would match
//!   everywhere.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::sync::{PoisonError, RwLock};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use cuebook_grammar::seam::Redactor;
use cuebook_grammar::secret::is_searched_for;
use regex::{Regex, RegexBuilder};

/// The replacement of a secret.
pub const MARK: &str = cuebook_grammar::secret::MASK;

/// Characters of the pieces in which a long secret is searched for, so that a truncated one is found.
const PIECE: usize = 100;
const MAX_PROGRAM: usize = 64 << 20;
/// Characters that are not seen between two others, as they are, escaped for JSON and for URLs.
const HIDDEN: &str = concat!(
    r"(?:[\x00\u{ad}\u{200b}-\u{200f}\u{2060}-\u{2064}\u{feff}]",
    r"|\\+u(?i:0000|00ad|200[b-f]|206[0-4]|feff)",
    r"|%(?:25)*(?:00|(?i:c2)%(?:25)*(?i:ad)|(?i:ef)%(?:25)*(?i:bb)%(?:25)*(?i:bf)",
    r"|(?i:e2)%(?:25)*(?:80%(?:25)*8(?i:[b-f])|81%(?:25)*(?i:a)[0-4])))*",
);
/// A backslash, as escaping in several layers leaves it before what it escapes.
const BACKSLASH: &str = r"(?:\\|%(?:25)*5[cC]|&(?:amp;)*(?:#0*92|#[xX]0*5[cC]|bsol);)";
/// Characters from which on a secret is found with its letters apart, too.
const SPLIT_FROM: usize = 8;

/// Redacts by value. Costs one linear search per text once it knows a secret.
///
/// Not found: a secret that is compressed, encrypted, in another Unicode normalisation, or truncated to less than a piece.
#[derive(Default)]
pub struct ValueRedactor {
    known: RwLock<KnownSecrets>,
}

#[derive(Default)]
struct KnownSecrets {
    /// Longest first: of two that start at the same place, the longer one matches.
    secrets: Vec<(usize, String)>,
    search: Option<Regex>,
}

impl ValueRedactor {
    /// A redactor that knows these secrets.
    pub fn new<'a>(secrets: impl IntoIterator<Item = &'a str>) -> Self {
        let redactor = Self::default();
        for secret in secrets {
            redactor.learn(secret);
        }
        redactor
    }
}

impl fmt::Debug for ValueRedactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        write!(f, "ValueRedactor({} secrets)", known.secrets.len())
    }
}

impl Redactor for ValueRedactor {
    fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        match &known.search {
            Some(search) => search.replace_all(text, MARK),
            None => Cow::Borrowed(text),
        }
    }

    fn find(&self, text: &str) -> Vec<Range<usize>> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let Some(search) = &known.search else { return Vec::new() };
        search.find_iter(text).filter(|found| found.as_str() != MARK).map(|found| found.range()).collect()
    }

    fn is_idle(&self) -> bool {
        self.known.read().unwrap_or_else(PoisonError::into_inner).search.is_none()
    }

    /// Compiles the search: about a millisecond per known secret.
    fn learn(&self, secret: &str) {
        // A trailing line break is lost in a one-line field, or comes from the file of a secret.
        let secret = secret.trim_matches(['\r', '\n']);
        if !is_searched_for(secret) {
            return;
        }
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        for piece in pieces(secret) {
            let length = piece.chars().count();
            let pattern = pattern(&piece);
            if !known.secrets.iter().any(|(_, other)| *other == pattern) {
                known.secrets.push((length, pattern));
            }
        }
        known.secrets.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        known.search = compile(&known.secrets);
    }
}

fn compile(secrets: &[(usize, String)]) -> Option<Regex> {
    let alternatives: Vec<&str> = secrets.iter().map(|(_, pattern)| pattern.as_str()).collect();
    // The mark comes first: a secret that is a part of it must not nest marks.
    let source = format!("{}|{}", regex::escape(MARK), alternatives.join("|"));
    let search = RegexBuilder::new(&source).size_limit(MAX_PROGRAM).dfa_size_limit(MAX_PROGRAM).build();
    // Beyond the size limit, losing text is better than leaking it.
    Some(search.unwrap_or_else(|_| everything()))
}

#[expect(clippy::unwrap_used, reason = "a constant pattern, compiled in a test")]
fn everything() -> Regex {
    Regex::new("(?s).+").unwrap()
}

/// The secret in pieces of at most [`PIECE`] characters, the last one overlapping the one before.
fn pieces(secret: &str) -> Vec<String> {
    let chars: Vec<char> = secret.chars().collect();
    if chars.len() <= PIECE {
        return vec![secret.to_owned()];
    }
    let mut pieces: Vec<String> = chars.chunks_exact(PIECE).map(|chunk| chunk.iter().collect()).collect();
    if !chars.len().is_multiple_of(PIECE) {
        pieces.extend(chars.rchunks(PIECE).next().map(|chunk| chunk.iter().collect()));
    }
    pieces
}

fn pattern(secret: &str) -> String {
    // Letters of their own elements are read with white space between, which short secrets would match by chance.
    let gap = if secret.chars().count() < SPLIT_FROM { HIDDEN.to_owned() } else { format!(r"(?:{HIDDEN}|\s{{1,2}})") };
    let spelled = |chars: &mut dyn Iterator<Item = char>| chars.map(character).collect::<Vec<_>>().join(&gap);
    let mut alternatives = vec![spelled(&mut secret.chars()), spelled(&mut secret.chars().rev())];
    let one_line: String = secret.chars().filter(|c| !matches!(c, '\r' | '\n')).collect();
    for text in [secret, one_line.as_str()] {
        alternatives.push(hexadecimal(text));
        alternatives.extend((0..3).map(|shift| base64_at(text, shift)));
    }
    alternatives.dedup();
    format!("(?:{})", alternatives.join("|"))
}

/// One character in all its escaped forms, several layers deep.
fn character(c: char) -> String {
    let mut buffer = [0; 4];
    let mut forms = vec![regex::escape(c.encode_utf8(&mut buffer))];
    match c {
        '\\' => return format!("{BACKSLASH}+"),
        '\n' => forms.extend([
            format!("{BACKSLASH}+n"),
            format!(r"(?:\r\n|{BACKSLASH}+r{BACKSLASH}+n|%(?:25)*0[dD]%(?:25)*0[aA])"),
        ]),
        '\r' => forms.push(format!("{BACKSLASH}+r")),
        '\t' => forms.push(format!("{BACKSLASH}+t")),
        '\u{8}' => forms.push(format!("{BACKSLASH}+b")),
        '\u{c}' => forms.push(format!("{BACKSLASH}+f")),
        ' ' => forms.extend([r"\+".to_owned(), "&(?:amp;)*nbsp;".to_owned(), "\u{a0}".to_owned()]),
        '&' => forms.push("&(?:amp;)+".to_owned()),
        '<' => forms.push("&(?:amp;)*lt;".to_owned()),
        '>' => forms.push("&(?:amp;)*gt;".to_owned()),
        '"' => forms.push("&(?:amp;)*quot;".to_owned()),
        '\'' => forms.push("&(?:amp;)*apos;".to_owned()),
        c if !c.is_ascii() => forms.push("&(?:amp;)*[A-Za-z]{2,8}[0-9]{0,2};".to_owned()),
        _ => {}
    }
    // Each layer may put a backslash before anything but letters and digits.
    let escape = if c.is_ascii_alphanumeric() { r"\\" } else { BACKSLASH };
    let mut units = [0; 2];
    let escapes = c.encode_utf16(&mut units).iter().map(|unit| format!("{escape}+u(?i:{unit:04x})"));
    forms.push(escapes.collect());
    let code = u32::from(c);
    forms.push(format!(r"{escape}+u\{{0*(?i:{code:x})\}}"));
    if code < 0x100 {
        forms.push(format!("{escape}+x(?i:{code:02x})"));
    }
    let bytes = c.encode_utf8(&mut buffer).bytes().map(|byte| format!("%(?:25)*(?i:{byte:02x})"));
    forms.push(bytes.collect::<Vec<_>>().join(&format!("{escape}*")));
    forms.push(format!("&(?:amp;)*#0*{code};"));
    forms.push(format!("&(?:amp;)*#[xX]0*(?i:{code:x});"));
    // The encoded forms first: the plain form of `&` or `\` is a prefix of some of them.
    forms.reverse();
    let optional = if matches!(c, '\r' | '\n') { "?" } else { "" };
    format!("(?:{escape}*(?:{})){optional}", forms.join("|"))
}

fn hexadecimal(text: &str) -> String {
    let digits: String = text.bytes().map(|byte| format!("{byte:02x}")).collect();
    format!("(?i:{digits})")
}

/// The base64 digits that depend on the text alone if `shift` bytes precede it in its group of three, in both alphabets,
/// also percent-encoded.
fn base64_at(text: &str, shift: usize) -> String {
    let mut bytes = vec![0; shift];
    bytes.extend(text.bytes());
    let digits = STANDARD_NO_PAD.encode(&bytes);
    let first = [0, 2, 3].get(shift).copied().unwrap_or_default();
    let decided = bytes.len() * 8 / 6;
    let own = digits.chars().take(decided).skip(first);
    own.map(|digit| match digit {
        '+' => r"(?:[+\-]|%(?:25)*2[bBdD])".to_owned(),
        '/' => r"(?:\\*/|_|%(?:25)*(?:2|5)[fF])".to_owned(),
        digit => digit.to_string(),
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};

    use super::*;

    const CANARY: &str = "CANARY-7f3a\"&é\n";

    /// Returns `true` if a part of the canary is left after redaction.
    fn leaks(text: &str) -> bool {
        ["CANARY", "7f3a"].iter().any(|part| text.contains(part))
    }

    fn percent(text: &str, keeps: &str) -> String {
        text.bytes()
            .map(|byte| {
                let c = char::from(byte);
                if c.is_ascii_alphanumeric() || keeps.contains(c) { c.to_string() } else { format!("%{byte:02X}") }
            })
            .collect()
    }

    fn ascii_json(text: &str) -> String {
        text.chars()
            .map(|c| match c {
                '"' => "\\\"".to_owned(),
                '\n' => "\\n".to_owned(),
                c if c.is_ascii() => c.to_string(),
                c => format!("\\u{:04x}", u32::from(c)),
            })
            .collect()
    }

    fn json(text: &str) -> String {
        serde_json::to_string(text).unwrap().trim_matches('"').to_owned()
    }

    fn apart(text: &str, between: &str) -> String {
        text.trim_end().chars().map(String::from).collect::<Vec<_>>().join(between)
    }

    #[test]
    fn short_secrets_are_not_found_across_words() {
        assert_eq!(ValueRedactor::new(["tier"]).redact("a tie rests, ti er"), "a tie rests, ti er");
        assert_eq!(ValueRedactor::new(["tier"]).redact("t\u{200b}ier"), MARK);
    }

    #[test]
    fn every_encoding_of_the_canary_is_found() {
        let redactor = ValueRedactor::new([CANARY]);
        let html = "CANARY-7f3a&quot;&amp;&eacute;&#10;";
        let encodings = [
            CANARY.to_owned(),
            CANARY.trim_end().to_owned(),
            CANARY.replace('\n', "\r\n"),
            json(CANARY),
            json(&json(CANARY)),
            ascii_json(CANARY),
            json(&ascii_json(CANARY)),
            percent(CANARY, "-"),
            percent(CANARY, "-").to_lowercase().replace("canary", "CANARY"),
            percent(&percent(CANARY, "-"), "-"),
            percent(CANARY, ""),
            percent(CANARY, "-\"&"),
            html.to_owned(),
            "CANARY-7f3a&#34;&#38;&#233;".to_owned(),
            "CANARY-7f3a&#x22;&#x26;&#xE9;".to_owned(),
            html.replace('&', "&amp;"),
            "CANARY-7f3a\"&amp;é".to_owned(),
            json("CANARY-7f3a\"&amp;é"),
            percent(&json(CANARY), "-"),
            percent(&percent(&json(CANARY), "-"), "-"),
            json(CANARY).replace('&', "&amp;").replace('"', "&quot;"),
            percent(CANARY, "-").replace('%', "\\%"),
            apart(CANARY, "\u{200b}"),
            apart(CANARY, "\0"),
            apart(CANARY, "%00"),
            apart(CANARY, "%25E2%2580%258B"),
            apart(CANARY, "\\u200b"),
            apart(CANARY, " "),
            apart(CANARY, "\n"),
            CANARY.trim_end().chars().rev().collect(),
        ];
        for encoded in encodings {
            let text = format!("before {encoded} after");
            let clean = redactor.redact(&text);
            assert!(clean.starts_with("before [redacted]"), "{text:?} became {clean:?}");
            assert!(clean.ends_with(" after") && !leaks(&clean), "{text:?} became {clean:?}");
        }
    }

    #[test]
    fn base64_and_hexadecimal_are_found_at_every_alignment() {
        for secret in [CANARY, "abcd", "??>>~~", "pässwörd"] {
            let redactor = ValueRedactor::new([secret]);
            for before in ["", "u", "us", "user:", "user:x"] {
                for after in ["", "!", "!!", " and more"] {
                    let whole = format!("{before}{secret}{after}");
                    for encoded in [STANDARD.encode(&whole), URL_SAFE_NO_PAD.encode(&whole)] {
                        let clean = redactor.redact(&encoded);
                        assert!(clean.contains(MARK), "{whole:?}: {encoded}");
                        let percent = percent(&encoded, "");
                        assert!(redactor.redact(&percent).contains(MARK), "{whole:?}: {percent}");
                    }
                }
            }
            let upper: String = secret.bytes().map(|byte| format!("{byte:02X}")).collect();
            assert_eq!(redactor.redact(&upper.to_lowercase()).matches(MARK).count(), 1);
            assert_eq!(redactor.redact(&upper).matches(MARK).count(), 1);
        }
    }

    #[test]
    fn form_encoding_and_spaces_are_found() {
        let redactor = ValueRedactor::new(["correct horse"]);
        for text in ["correct horse", "correct+horse", "correct%20horse", "correct%2520horse", "correct&nbsp;horse"] {
            assert_eq!(redactor.redact(text), MARK, "{text}");
        }
    }

    #[test]
    fn other_text_stays_as_it_is_and_is_not_copied() {
        let redactor = ValueRedactor::new([CANARY, "pa.ss*", "[abc]{2}"]);
        for text in ["", "CANARY", "CANARY-7f3b", "paxsss", "aabb", "ab", "{\"a\":\"CANARY-7f3\"}"] {
            assert!(matches!(redactor.redact(text), Cow::Borrowed(same) if same == text), "{text}");
        }
        assert_eq!(redactor.redact("x pa.ss* [abc]{2}"), "x [redacted] [redacted]");
    }

    #[test]
    fn short_and_blank_texts_are_not_searched_for() {
        let redactor = ValueRedactor::new(["", "abc", "äöü", "     ", "\n\n\n\n", "  x  "]);
        assert_eq!(redactor.redact("abc äöü       x  "), "abc äöü       x  ");
        redactor.learn("abcd");
        assert_eq!(redactor.redact("abcd"), MARK);
    }

    #[test]
    fn everyday_words_are_not_searched_for() {
        let redactor = ValueRedactor::new(["test", "Password", "click", "login\n"]);
        assert!(redactor.is_idle());
        redactor.learn("test1");
        assert_eq!(redactor.redact("a test of test1"), "a test of [redacted]");
    }

    #[test]
    fn places_are_those_that_are_redacted() {
        let redactor = ValueRedactor::new(["hunter22"]);
        let text = "[redacted] hunter22 and aHVudGVyMjI=";
        let found: Vec<&str> = redactor.find(text).into_iter().map(|range| &text[range]).collect();
        assert_eq!(found, ["hunter22", "aHVudGVyMj"]);
        assert!(redactor.find("hunter2").is_empty());
    }

    #[test]
    fn secrets_learnt_later_count_and_the_longer_one_wins() {
        let redactor = ValueRedactor::default();
        assert_eq!(redactor.redact("sword swordfish"), "sword swordfish");
        redactor.learn("sword");
        redactor.learn("swordfish");
        redactor.learn("swordfish");
        assert_eq!(redactor.redact("sword swordfish"), "[redacted] [redacted]");
        assert_eq!(format!("{redactor:?}"), "ValueRedactor(2 secrets)");
    }

    #[test]
    fn redaction_is_idempotent_even_for_secrets_like_the_mark() {
        let redactor = ValueRedactor::new(["redacted", "[red", "dact"]);
        let once = redactor.redact("dact redacted [redacted]").into_owned();
        assert_eq!(once, "[redacted] [redacted] [redacted]");
        assert_eq!(redactor.redact(&once), once);
    }

    #[test]
    fn a_long_secret_is_found_whole_and_cut() {
        let secret: String = (0..2_000).map(|n| char::from(b'!' + u8::try_from(n * 7 % 90).unwrap())).collect();
        let redactor = ValueRedactor::new([secret.as_str()]);
        let clean = redactor.redact(&secret).into_owned();
        assert_eq!(clean.replace(MARK, ""), "");
        assert_eq!(redactor.redact("other text"), "other text", "the search is within its bound");
        let encoded = STANDARD.encode(&secret);
        let clean = redactor.redact(&encoded);
        assert!(clean.replace(MARK, "").len() < encoded.len() / 10, "{clean}");
        let cut: String = secret.chars().take(250).collect();
        assert!(redactor.redact(&cut).replace(MARK, "").len() <= 50);
    }

    #[test]
    fn beyond_the_bound_nothing_passes() {
        assert_eq!(everything().replace_all("a\nb", MARK), MARK);
    }
}
