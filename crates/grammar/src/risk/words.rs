//! The lexicon of consequences: which words of a control's name say that it costs, sends or destroys something, and
//! which say that it does not.
//!
//! One data file, `words.json`, holds the words of 28 languages, as they are compared: the texts of pages are compared
//! after NFKC, lower case, removal of what is invisible and of accents. All languages are used together, because that
//! of a control is unknown. A name in which nothing was found is compared again in the other ways to read it:
//! `deleteAll` as two words, `De lete` as one, `De1ete` with the letters that its digits look like, and by its
//! confusables skeleton (UTS 39).

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::{LazyLock, OnceLock};

use aho_corasick::AhoCorasick;
use regex::Regex;
use serde::Deserialize;
use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;
use unicode_segmentation::UnicodeSegmentation as _;

use super::RiskClass;

/// The words of each language by their meaning, between blanks.
type Words = HashMap<String, HashMap<Member, String>>;

static WORDS: LazyLock<Words> = LazyLock::new(|| serde_json::from_str(include_str!("words.json")).unwrap_or_default());
static LEXICON: LazyLock<Lexicon> = LazyLock::new(|| Lexicon::new(&WORDS));
static SKELETONS: LazyLock<Lexicon> = LazyLock::new(|| {
    static ALIKE: LazyLock<Words> = LazyLock::new(|| {
        let mut words = WORDS.clone();
        words.values_mut().flat_map(HashMap::values_mut).for_each(|texts| *texts = skeleton(texts));
        words
    });
    Lexicon::new(&ALIKE)
});

/// The class that the words of a name, or of a sentence, stand for; `None` where they stand for none.
pub(super) fn class_of(text: &str) -> Option<RiskClass> {
    let plain = normalised(text);
    LEXICON
        .class_of(&plain)
        .or_else(|| humps_parted(text).and_then(|parted| LEXICON.class_of(&normalised(&parted))))
        .or_else(|| LEXICON.class_of_halves(&plain))
        .or_else(|| ['l', 'i'].into_iter().find_map(|one| LEXICON.class_of(&digits_as_letters(&plain, one)?)))
        .or_else(|| (!plain.is_ascii()).then(|| SKELETONS.class_of(&skeleton(&plain))).flatten())
}

/// Returns `true` if the name is nothing but that of a place for discarded things: `Trash (3)`.
pub(super) fn is_bin(name: &str) -> bool {
    let name = normalised(name);
    let whole = compact(&name).len();
    // An entry of a script without blanks covers the words of the whole name, whatever they are.
    let is_whole = |span: &Span| span.bytes.start < name.len() || span.bytes.len() == whole;
    let spans = LEXICON.all_spans(&name).into_iter().filter(|span| span.member == Member::Bin && is_whole(span));
    let covered = spans.map(|span| span.words.len()).max().unwrap_or(0);
    covered > 0 && words_of(&name).iter().filter(|(word, _)| !word.chars().all(char::is_numeric)).count() <= covered
}

/// Returns `true` if the name mentions a place for discarded things, so that whatever is dropped there is discarded.
pub(super) fn has_bin(name: &str) -> bool {
    LEXICON.has(&normalised(name), Member::Bin)
}

/// The class of what an icon is called: `trash`, `paper plane`.
pub(super) fn class_of_icon(name: &str) -> Option<RiskClass> {
    const ICONS: [(&str, RiskClass); 12] = [
        ("trash", RiskClass::Destructive),
        ("bin", RiskClass::Destructive),
        ("dustbin", RiskClass::Destructive),
        ("garbage", RiskClass::Destructive),
        ("eraser", RiskClass::Destructive),
        ("bomb", RiskClass::Destructive),
        ("skull", RiskClass::Destructive),
        ("dollar", RiskClass::Money),
        ("euro", RiskClass::Money),
        ("money", RiskClass::Money),
        ("paperplane", RiskClass::Send),
        ("plane", RiskClass::Send),
    ];
    let listed = |word: &str| ICONS.iter().find(|(icon, _)| *icon == word).map(|(_, class)| *class);
    let name = normalised(name);
    class_of(&name).or_else(|| name.unicode_words().filter_map(listed).max())
}

/// The class of the gravest sentence of a dialog or a description.
pub(super) fn class_of_sentences(text: &str) -> Option<RiskClass> {
    sentences(text).filter_map(class_of).max()
}

/// Returns `true` if the text says that something is permanent, or is charged.
pub(super) fn is_final(text: &str) -> bool {
    sentences(text).any(|sentence| LEXICON.has(&normalised(sentence), Member::Final))
}

/// Returns `true` if the name agrees to whatever it was asked, or says nothing by itself.
pub(super) fn agrees(name: &str) -> bool {
    let name = normalised(name);
    !name.chars().any(char::is_alphanumeric) || (LEXICON.has(&name, Member::Yes) && !LEXICON.has(&name, Member::Undo))
}

/// Returns `true` if the name refuses what it was asked.
pub(super) fn refuses(name: &str) -> bool {
    let name = normalised(name);
    LEXICON.has(&name, Member::No) || LEXICON.has(&name, Member::Undo)
}

/// Returns `true` if the text names exactly one amount of money. Two are a range, as in a filter.
pub(super) fn has_amount(text: &str) -> bool {
    static AMOUNT: LazyLock<Option<Regex>> = LazyLock::new(|| {
        let signs =
            r"\p{Sc}|\b(?:usd|eur|gbp|chf|sek|nok|dkk|pln|czk|huf|ron|jpy|cny|krw|inr|uah|rub|try|vnd|idr|thb|ils)\b";
        let names = r"kč|zł|kr\.?\b|kronor|kroner|euro\w*|dollars?|ft\b|forint|lei\b|руб\w*|грн|tl\b|lira\w*|円|元|원|บาท|rp|đồng|đ\b";
        let number = r"\p{Nd}[\p{Nd}.,'\u{a0} ]*";
        Regex::new(&format!(r"(?:{signs}|{names})\s*{number}|{number}\s*(?:{signs}|{names})")).ok()
    });
    let text = normalised(text);
    AMOUNT.as_ref().is_some_and(|amount| amount.find_iter(&text).count() == 1)
}

fn sentences(text: &str) -> impl Iterator<Item = &str> {
    text.split(['.', '!', '?', ';', '\n', '。', '！', '？', '؟', '।']).filter(|sentence| !sentence.trim().is_empty())
}

/// Meaning of an entry of the lexicon.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Member {
    Destructive,
    Money,
    Send,
    /// Turns a word beside it around: `undo`, `don't`.
    Undo,
    /// An object that makes an act harmless: `filter`.
    Mild,
    /// Shows that a word is a topic: `history`.
    Noun,
    /// Agrees to whatever is asked.
    Yes,
    /// Refuses whatever is asked, or puts it off.
    No,
    /// Shows that something is for ever, or is charged.
    Final,
    /// A place that takes what is thrown away: `trash`.
    Bin,
}

impl Member {
    const fn class(self) -> Option<RiskClass> {
        match self {
            Self::Destructive => Some(RiskClass::Destructive),
            Self::Money => Some(RiskClass::Money),
            Self::Send => Some(RiskClass::Send),
            _ => None,
        }
    }
}

/// How one word is compared.
#[derive(Clone, Copy, Debug)]
enum Pattern {
    Equals(&'static str),
    Begins(&'static str),
    Contains(&'static str),
}

impl Pattern {
    fn fits(self, word: &str) -> bool {
        match self {
            Self::Equals(wanted) => word == wanted,
            Self::Begins(wanted) => word.starts_with(wanted),
            Self::Contains(wanted) => word.contains(wanted),
        }
    }
}

/// An entry that was found: where in the text, in bytes, and among its words.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Span {
    member: Member,
    bytes: Range<usize>,
    words: Range<usize>,
}

impl Span {
    fn overlaps(&self, other: &Self) -> bool {
        self.bytes.start < other.bytes.end && other.bytes.start < self.bytes.end
    }

    fn holds(&self, other: &Self) -> bool {
        self.bytes.start <= other.bytes.start && other.bytes.end <= self.bytes.end && self.bytes != other.bytes
    }

    /// Words between the two.
    const fn distance(&self, other: &Self) -> usize {
        if self.words.start >= other.words.end {
            self.words.start - other.words.end
        } else {
            other.words.start.saturating_sub(self.words.end)
        }
    }

    /// Returns `true` if this entry makes the risky word `hit` harmless.
    fn excuses(&self, hit: &Self) -> bool {
        let says_more = !hit.holds(self) && self.bytes != hit.bytes;
        // A name that begins with what destroys destroys its topic: `Delete order history`.
        let is_topic = hit.member != Member::Destructive || hit.words.start > 0 || self.overlaps(hit);
        match self.member {
            Member::Undo => says_more && self.distance(hit) < NEAR,
            Member::Mild => says_more,
            Member::Noun => says_more && is_topic,
            _ => false,
        }
    }
}

/// So many words around a risky one are searched for what turns it around.
const NEAR: usize = 3;
/// So many other words may stand between two of a phrase.
const BETWEEN: usize = 2;

/// An entry, and what it stands for.
#[derive(Debug)]
struct Entry {
    text: &'static str,
    /// The words, one after the other; read when the first was found.
    parts: OnceLock<Vec<Pattern>>,
    member: Member,
}

impl Entry {
    fn parts(&self) -> &[Pattern] {
        self.parts.get_or_init(|| self.text.split('_').flat_map(patterns).collect())
    }
}

/// Entries by how their first word is compared, so that a text costs as much as it is long.
#[derive(Debug)]
struct Lexicon {
    entries: Vec<Entry>,
    equal: HashMap<&'static str, Vec<usize>>,
    begin: HashMap<&'static str, Vec<usize>>,
    contain: Finder<usize>,
    /// Entries of scripts without blanks, which are compared with the text without its own.
    compacts: Vec<(&'static str, Member)>,
    compact: OnceLock<Finder<Member>>,
}

/// Finds many texts in one at once.
#[derive(Debug)]
struct Finder<T> {
    texts: Option<AhoCorasick>,
    means: Vec<T>,
}

impl<T: Copy> Finder<T> {
    fn new(texts: &[(&str, T)]) -> Self {
        let (texts, means): (Vec<_>, _) = texts.iter().copied().unzip();
        Self { texts: AhoCorasick::new(texts).ok(), means }
    }

    fn find(&self, text: &str) -> impl Iterator<Item = (Range<usize>, T)> {
        let found = self.texts.iter().flat_map(move |texts| texts.find_overlapping_iter(text));
        found.filter_map(|hit| Some((hit.range(), *self.means.get(hit.pattern().as_usize())?)))
    }
}

impl Lexicon {
    fn new(words: &'static Words) -> Self {
        let (mut entries, mut compacts, mut contain) = (Vec::new(), Vec::new(), Vec::new());
        let (mut equal, mut begin) = (HashMap::<_, Vec<_>>::new(), HashMap::<_, Vec<_>>::new());
        for (&member, texts) in words.values().flatten() {
            for text in texts.split_ascii_whitespace() {
                if let Some(text) = text.strip_prefix('~') {
                    compacts.push((text, member));
                    continue;
                }
                match text.split('_').next().and_then(|part| patterns(part).into_iter().next()) {
                    Some(Pattern::Equals(word)) => equal.entry(word).or_default().push(entries.len()),
                    Some(Pattern::Begins(word)) => begin.entry(word).or_default().push(entries.len()),
                    Some(Pattern::Contains(word)) => contain.push((word, entries.len())),
                    None => continue,
                }
                entries.push(Entry { text, parts: OnceLock::new(), member });
            }
        }
        Self { entries, equal, begin, contain: Finder::new(&contain), compacts, compact: OnceLock::new() }
    }

    fn class_of(&self, text: &str) -> Option<RiskClass> {
        let all = self.all_spans(text);
        let hits = all.iter().filter(|hit| !all.iter().any(|span| span.excuses(hit)));
        hits.filter_map(|hit| hit.member.class()).max()
    }

    /// The gravest word that a blank divides: `De lete`.
    fn class_of_halves(&self, text: &str) -> Option<RiskClass> {
        let words = words_of(text);
        let pairs = words.iter().zip(words.iter().skip(1)).map(|((one, _), (other, _))| format!("{one}{other}"));
        // Short ones come about by chance: `de l'usine`, `in via Roma`.
        let pairs = pairs.filter(|joined| joined.chars().count() > 5);
        let entries = pairs.flat_map(|joined| self.equal.get(joined.as_str()).into_iter().flatten());
        let entries = entries.filter_map(|index| self.entries.get(*index)).filter(|entry| entry.parts().len() == 1);
        entries.filter_map(|entry| entry.member.class()).max()
    }

    fn has(&self, text: &str, member: Member) -> bool {
        self.all_spans(text).iter().any(|span| span.member == member)
    }

    /// Every entry that stands in a text.
    fn all_spans(&self, text: &str) -> Vec<Span> {
        let words = words_of(text);
        let mut found = Vec::new();
        for (at, (word, bytes)) in words.iter().enumerate() {
            let rest = words.get(at..).unwrap_or_default();
            let fronts = word.char_indices().filter_map(|(end, c)| self.begin.get(word.get(..end + c.len_utf8())?));
            let indices = self.equal.get(*word).into_iter().chain(fronts).flatten().copied();
            for index in indices.chain(self.contain.find(word).map(|(_, index)| index)) {
                let Some(entry) = self.entries.get(index) else { continue };
                let Some(end) = phrase_end(entry.parts(), rest) else { continue };
                let bytes = bytes.start..rest.get(end).map_or(bytes.end, |(_, last)| last.end);
                found.push(Span { member: entry.member, bytes, words: at..at + end + 1 });
            }
        }
        if text.is_ascii() {
            return found;
        }
        // Behind the words, in bytes of the joined text: they are compared with each other only.
        let behind = |range: Range<usize>| text.len() + range.start..text.len() + range.end;
        let joined = compact(text);
        let compacts = self.compact.get_or_init(|| Finder::new(&self.compacts)).find(&joined);
        found.extend(compacts.map(|(range, member)| Span { member, bytes: behind(range), words: 0..words.len() }));
        found
    }
}

/// How the words of a part of an entry are compared. It is read as names are: `s'abonner` is two words.
fn patterns(part: &'static str) -> Vec<Pattern> {
    let words = words_of(part.trim_matches('*'));
    let last = words.len().saturating_sub(1);
    let pattern = |(i, (word, _)): (usize, (&'static str, Range<usize>))| match (
        i == 0 && part.starts_with('*'),
        i == last && part.ends_with('*'),
    ) {
        (false, false) => Pattern::Equals(word),
        (false, true) => Pattern::Begins(word),
        (true, _) => Pattern::Contains(word),
    };
    words.into_iter().enumerate().map(pattern).collect()
}

/// The index of the word where a phrase that begins with the first word ends.
fn phrase_end(parts: &[Pattern], words: &[(&str, Range<usize>)]) -> Option<usize> {
    let mut at = 0;
    for (i, part) in parts.iter().enumerate() {
        let reach = if i == 0 { 1 } else { BETWEEN + 1 };
        let there = words.get(at..)?.iter().take(reach).position(|(word, _)| part.fits(word))?;
        at += there + 1;
    }
    at.checked_sub(1)
}

/// The words of a text, divided at apostrophes too, except for `n't`, and where identifiers are: `delete_all`.
fn words_of(text: &str) -> Vec<(&str, Range<usize>)> {
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return vec![(text, 0..text.len())];
    }
    let mut words = Vec::new();
    for (start, word) in text.unicode_word_indices() {
        let mut at = start;
        let is_negation = word.ends_with("n't");
        for part in word.split(|c| matches!(c, '_' | '.' | ':') || (c == '\'' && !is_negation)) {
            if !part.is_empty() {
                words.push((part, at..at + part.len()));
            }
            at += part.len() + 1;
        }
    }
    words
}

fn compact(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}

fn skeleton(text: &str) -> String {
    unicode_security::skeleton(text).collect()
}

/// Text without what nobody sees, such as joiners and marks of direction, and without the stroke that lengthens Arabic
/// words.
fn visible(text: &str) -> Cow<'_, str> {
    static INVISIBLE: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"[\p{Default_Ignorable_Code_Point}\u{640}]+").ok());
    INVISIBLE.as_ref().map_or(Cow::Borrowed(text), |invisible| invisible.replace_all(text, ""))
}

/// NFKC, lower case, without accents and without what is invisible; letters that stand apart are joined.
fn normalised(text: &str) -> String {
    let is_accent =
        |c: char| is_combining_mark(c) && matches!(u32::from(c), 0x300..=0x36f | 0x591..=0x5c7 | 0x610..=0x670);
    let folded: String = visible(text)
        .chars()
        .nfkc()
        .flat_map(char::to_lowercase)
        .map(|c| match c {
            '’' | '‘' | 'ʼ' | '`' | '´' => '\'',
            'ı' => 'i',
            c => c,
        })
        .nfd()
        .filter(|c| !is_accent(*c))
        .nfc()
        .collect();
    joined_letters(&folded)
}

/// `deleteAll` is two words; `None` if there are none such.
fn humps_parted(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_uppercase() && out.ends_with(char::is_lowercase) {
            out.push(' ');
        }
        out.push(c);
    }
    (out.len() > text.len()).then_some(out)
}

/// A text with the letters that digits and signs before a letter look like, within words that have more letters than
/// others; `one` is what `1` stands for. `None` if there are none.
fn digits_as_letters(text: &str, one: char) -> Option<String> {
    let read = |word: &str| -> String {
        let letters = word.chars().filter(|c| c.is_alphabetic()).count();
        let is_word = letters * 2 > word.chars().count();
        let mut chars = word.chars().peekable();
        let mut out = String::with_capacity(word.len());
        while let Some(c) = chars.next() {
            let is_inside = is_word && chars.peek().is_some_and(|next| next.is_alphanumeric());
            out.push(match c {
                _ if !is_inside => c,
                '0' => 'o',
                '1' | '!' | '|' => one,
                '3' => 'e',
                '4' | '@' => 'a',
                '5' | '$' => 's',
                '7' => 't',
                '8' => 'b',
                c => c,
            });
        }
        out
    };
    let out = text.split(' ').map(read).collect::<Vec<_>>().join(" ");
    (out != text).then_some(out)
}

/// `d e l e t e` is a word.
fn joined_letters(text: &str) -> String {
    let words: Vec<&str> = text.split(' ').collect();
    let is_letter = |word: &str| word.chars().count() == 1 && word.chars().all(char::is_alphabetic);
    if words.iter().filter(|word| is_letter(word)).count() < 4 {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len());
    for (i, word) in words.iter().enumerate() {
        let before = i.checked_sub(1).and_then(|before| words.get(before));
        if i > 0 && !(is_letter(word) && before.is_some_and(|before| is_letter(before))) {
            out.push(' ');
        }
        out.push_str(word);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_written_as_they_are_compared() {
        assert_eq!(WORDS.len(), 29, "28 languages, and emoji");
        for (language, texts) in
            WORDS.iter().flat_map(|(language, members)| members.values().map(move |it| (language, it)))
        {
            for text in texts.split_ascii_whitespace() {
                assert_eq!(normalised(text), text, "{language}");
            }
        }
        // So a text in ASCII has none of them.
        for lexicon in [&LEXICON, &SKELETONS] {
            let ascii: Vec<_> = lexicon.compacts.iter().filter(|(text, _)| text.is_ascii()).collect();
            assert!(ascii.is_empty(), "{ascii:?}");
        }
    }
}
