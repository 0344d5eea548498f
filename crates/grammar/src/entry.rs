//! Comparison of a field's content with what was entered, where the page writes it its own way.
//!
//! Invariants:
//! - Letters and digits, in their order, are what was entered. Case, blanks and separators are how it is written.
//! - What was entered on a line of its own is not run together with the line before.
//! - Brackets and quotes that were entered are not doubled.
//! - A number that became another number is another entry, even if its digits are the same: `12.50` is not `1250`.

use std::collections::BTreeSet;

use unicode_normalization::UnicodeNormalization as _;

/// Returns `true` if `seen` is `wanted` in another spelling: a mask, a currency, upper case, paragraphs. Linear in
/// both.
///
/// ```
/// use cuebook_grammar::entry::is_same_entry;
///
/// assert!(is_same_entry("5550142387", "(555) 014-2387"));
/// assert!(is_same_entry("12.50", "12,50 €"));
/// assert!(!is_same_entry("12.50", "1,250.00"));
/// ```
#[must_use]
pub fn is_same_entry(wanted: &str, seen: &str) -> bool {
    if wanted == seen {
        return true;
    }
    if let Some(number) = plain_number(wanted).or_else(|| grouped_number(wanted))
        && let Some(read) = readings(seen)
    {
        return read.into_iter().any(|one| one == number);
    }
    if let Some((wanted, seen)) = date_parts(wanted).zip(date_parts(seen)) {
        return wanted == seen;
    }
    let essence = essence(wanted);
    if essence.is_empty() {
        return without_blanks(wanted) == without_blanks(seen) || wanted.trim().is_empty() && is_empty_mask(seen);
    }
    let breaks = starts(wanted, |letter| letter == '\n');
    essence == self::essence(seen)
        && breaks.is_subset(&starts(seen, char::is_whitespace))
        && !PAIRED.iter().any(|sign| is_added(*sign, wanted, seen))
}

/// The numbers of a date in digits, such as `05/17/2024` or `2024-5-17`; `None` for any other text.
fn date_parts(text: &str) -> Option<Vec<u16>> {
    let parts: Vec<&str> = text.trim().split(['/', '-', '.']).collect();
    let years = parts.iter().filter(|part| part.len() == 4).count();
    let is_date = parts.len() == 3 && years == 1 && parts.iter().all(|part| matches!(part.len(), 1 | 2 | 4));
    if is_date { parts.iter().map(|part| part.parse().ok()).collect() } else { None }
}

/// Signs that an editor may close by itself, and that are typed once more then.
const PAIRED: [char; 9] = ['(', ')', '[', ']', '{', '}', '"', '\'', '`'];

/// Returns `true` if `seen` has more of a sign that was entered than `wanted` has.
fn is_added(sign: char, wanted: &str, seen: &str) -> bool {
    let entered = wanted.matches(sign).count();
    entered > 0 && seen.matches(sign).count() > entered
}

/// Returns `true` if `seen` still has all of `wanted` in it, in one piece, as in a suggestion that completes what was
/// typed.
#[must_use]
pub fn continues_entry(wanted: &str, seen: &str) -> bool {
    essence(seen).contains(&essence(wanted))
}

/// Letters and digits, without case and accents of form.
fn essence(text: &str) -> String {
    text.nfkc().filter(|letter| letter.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Where new words or lines begin after such a sign: each by the number of letters and digits before it.
fn starts(text: &str, is_apart: impl Fn(char) -> bool) -> BTreeSet<usize> {
    let mut count = 0;
    let mut starts = BTreeSet::new();
    for letter in text.nfkc() {
        if is_apart(letter) {
            starts.insert(count);
        } else if letter.is_alphanumeric() {
            count += letter.to_lowercase().count();
        }
    }
    // What begins or ends the whole is no matter.
    starts.remove(&0);
    starts.remove(&count);
    starts
}

/// Returns `true` if a text is a mask of which nothing is filled, such as `__.__.____`.
fn is_empty_mask(text: &str) -> bool {
    text.matches('_').count() > 1
        && text
            .chars()
            .all(|letter| letter.is_whitespace() || matches!(letter, '_' | '.' | '/' | ':' | '(' | ')' | '-'))
}

fn without_blanks(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_whitespace()).collect()
}

/// A number: its sign, its digits without leading zeros, and those behind the decimal sign without trailing zeros.
type Number = (bool, String, String);

fn number(is_negative: bool, whole: &str, part: &str) -> Number {
    (is_negative, whole.trim_start_matches('0').to_owned(), part.trim_end_matches('0').to_owned())
}

/// `text` as a number, if it is one as people type it: digits, with at most one decimal sign.
fn plain_number(text: &str) -> Option<Number> {
    let text = text.trim();
    let (is_negative, digits) = text.strip_prefix(['-', '\u{2212}']).map_or((false, text), |rest| (true, rest));
    let (whole, part) = digits.split_once(['.', ',']).unwrap_or((digits, ""));
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    // A leading zero is no number: it is a code, which keeps its zeros.
    let is_number =
        !whole.is_empty() && is_digits(whole) && is_digits(part) && (whole == "0" || !whole.starts_with('0'));
    is_number.then(|| number(is_negative, whole, part))
}

/// `text` as a number, if it has both signs of an amount, which leaves no doubt: `1,234.50`.
fn grouped_number(text: &str) -> Option<Number> {
    let has_both = text.contains('.') && text.contains(',');
    let (whole, _) = text.rsplit_once(['.', ',']).filter(|_| has_both)?;
    // Others are two numbers: a place on a map.
    let mut read = readings(text.trim()).filter(|_| whole.split(['.', ',']).skip(1).all(|group| group.len() == 3))?;
    read.pop().filter(|_| read.is_empty())
}

/// Returns the possible readings of a written amount: one where its signs leave no doubt, otherwise one for each
/// possibility. `None` if the text is not written as an amount, such as a telephone number or a word.
fn readings(text: &str) -> Option<Vec<Number>> {
    let is_decoration = |letter: char| letter.is_whitespace() || letter == '%' || is_currency(letter);
    let core = text.trim_matches(is_decoration);
    let (is_negative, core) = core.strip_prefix(['-', '\u{2212}']).map_or((false, core), |rest| (true, rest));
    let core = core.trim_start_matches(is_decoration);
    let is_part =
        |letter: char| letter.is_ascii_digit() || matches!(letter, '.' | ',' | '\'' | '’') || letter.is_whitespace();
    if !core.starts_with(|letter: char| letter.is_ascii_digit()) || !core.chars().all(is_part) {
        return None;
    }
    let digits = |text: &str| text.chars().filter(char::is_ascii_digit).collect::<String>();
    let mut readings = Vec::new();
    let last = core.rfind(['.', ',']);
    if let Some((whole, part)) = last.map(|at| core.split_at(at)) {
        let part = part.get(1..).unwrap_or_default();
        // A sign that stands more than once separates thousands.
        let is_single =
            core.matches(|letter| core.get(whole.len()..).is_some_and(|rest| rest.starts_with(letter))).count() == 1;
        if is_single && part.bytes().all(|byte| byte.is_ascii_digit()) {
            readings.push(number(is_negative, &digits(whole), part));
        }
    }
    let groups: Vec<&str> = core.split(|letter: char| !letter.is_ascii_digit()).collect();
    if last.is_none() || groups.get(1..).is_some_and(|rest| rest.iter().all(|group| group.len() == 3)) {
        readings.push(number(is_negative, &digits(core), ""));
    }
    // No amount has its signs at such places; a date or a code may.
    (!readings.is_empty()).then_some(readings)
}

const fn is_currency(letter: char) -> bool {
    matches!(letter, '$' | '¢'..='¥' | '\u{20a0}'..='\u{20cf}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_spelling_is_the_same_entry() {
        let same = [
            ("5550142387", "(555) 014-2387"),
            ("4242424242424242", "4242 4242 4242 4242"),
            ("ab12", "AB-12"),
            ("first\nsecond", "first\n\nsecond"),
            ("One\n\n2.", "one 2"),
            ("## Notes", "Notes"),
            ("5", "5.00"),
            ("1250", "1,250.00"),
            ("12.50", "12,50 €"),
            ("1,234.50", "1234.5"),
            ("10.5,20", "10.5, 20"),
            ("1.234,50 €", "1,234.5"),
            ("1234567.5", "1.234.567,50"),
            ("-3", "−3"),
            ("0042", "0042"),
            ("05/17/2024", "5/17/2024"),
            ("17052024", "17.05.2024"),
            ("", "(___) ___-____"),
            ("2024-5-7", "2024-05-07"),
            ("ｆｕｌｌ", "full"),
            ("!?", "! ?"),
            ("(555) 014-2387", "555-014-2387"),
            ("say \"hi\"", "say “hi”"),
        ];
        for (wanted, seen) in same {
            assert!(is_same_entry(wanted, seen), "{wanted:?} {seen:?}");
        }
    }

    #[test]
    fn another_sequence_is_another_entry() {
        let other = [
            ("25", "225"),
            ("12.50", "1,250.00"),
            ("12.50", "1250"),
            ("1,234.50", "123450"),
            ("1.5", "15"),
            ("-3", "3"),
            ("0042", "42"),
            ("1/12/2024", "11/2/2024"),
            ("05.17", "5.17.2024"),
            ("5550142387", "+1 (555) 014-2387"),
            ("rest", "rset"),
            ("abcdef", "abc"),
            ("Ann", ""),
            ("", "---"),
            ("!?", "!"),
            ("1", "1e5"),
            ("One\nTwo", "OneTwo"),
            ("say(\"hi\")", "say(\"hi\")\"\")"),
        ];
        for (wanted, seen) in other {
            assert!(!is_same_entry(wanted, seen), "{wanted:?} {seen:?}");
        }
    }

    #[test]
    fn a_suggestion_continues_what_was_typed() {
        assert!(continues_entry("Paris", "Paris, France"));
        assert!(!continues_entry("Paris", "Parana, Brazil"));
    }
}
