//! From what a page shows to what a schema wants: numbers, truth values, dates, links.

use serde_json::{Number, Value};

/// Something that a page shows.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Content {
    /// As a person reads it.
    pub(crate) text: String,
    /// Where it leads, or where its picture is.
    pub(crate) url: Option<String>,
    /// As the page states it for machines.
    pub(crate) exact: Option<String>,
}

impl Content {
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    fn best(&self) -> &str {
        self.exact.as_deref().unwrap_or(&self.text)
    }
}

/// The scalar kinds of a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scalar {
    Text,
    Number,
    Integer,
    Truth,
    Null,
    /// No kind is stated.
    Any,
}

impl Scalar {
    pub(crate) fn parse(kind: &str) -> Option<Self> {
        Some(match kind {
            "string" => Self::Text,
            "number" => Self::Number,
            "integer" => Self::Integer,
            "boolean" => Self::Truth,
            "null" => Self::Null,
            _ => return None,
        })
    }
}

/// The content as a value of this kind; `format` and `options` as the schema has them.
pub(crate) fn convert(
    content: &Content,
    kind: Scalar,
    format: Option<&str>,
    options: Option<&[Value]>,
) -> Option<Value> {
    if let Some(options) = options {
        let is_same = |text: &str| {
            text.eq_ignore_ascii_case(content.text.trim()) || text.eq_ignore_ascii_case(content.best().trim())
        };
        let whole = options.iter().find(|option| match option {
            Value::String(text) => is_same(text),
            other => is_same(&other.to_string()),
        });
        let within = || {
            let lower = content.text.to_lowercase();
            let mut named = options.iter().filter(|option| {
                option.as_str().is_some_and(|text| !text.is_empty() && has_words(&lower, &text.to_lowercase()))
            });
            // Of several, which one is meant would be a guess.
            named.next().filter(|_| named.next().is_none())
        };
        return whole.or_else(within).cloned();
    }
    match kind {
        Scalar::Text | Scalar::Any => text_of(content, format).map(Value::String),
        Scalar::Number => {
            number(content.best()).or_else(|| number(&content.text)).and_then(Number::from_f64).map(Value::Number)
        }
        Scalar::Integer => {
            let found = number(content.best()).or_else(|| number(&content.text))?;
            // Beyond this, a double cannot distinguish whole numbers.
            let fits = found.fract() == 0.0 && found.abs() < 9e15;
            #[expect(clippy::cast_possible_truncation, reason = "whole and in range, as just checked")]
            fits.then(|| Value::from(found as i64))
        }
        Scalar::Truth => truth(content.best()).map(Value::Bool),
        Scalar::Null => content.text.trim().is_empty().then_some(Value::Null),
    }
}

/// Returns `true` if `words` stand in a text, not within other words.
pub(crate) fn has_words(text: &str, words: &str) -> bool {
    let is_end = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric());
    text.match_indices(words).any(|(from, found)| {
        let (before, after) =
            (text.get(..from).unwrap_or_default(), text.get(from + found.len()..).unwrap_or_default());
        is_end(before.chars().next_back()) && is_end(after.chars().next())
    })
}

/// Returns `true` if a content shows by itself that it is of the kind that the last word of a name says, so that its label
/// need not repeat it: `Order: A-17` is an order number, `Company: Studio 54` no company number.
pub(crate) fn is_evidently(content: &Content, kind: &str) -> bool {
    let count = |is: fn(char) -> bool| content.text.chars().filter(|c| is(*c)).count();
    let (digits, letters) = (count(|c| c.is_ascii_digit()), count(char::is_alphabetic));
    match kind {
        "name" => letters > digits && !content.text.contains('@'),
        "number" | "code" | "id" | "count" => digits > 0 && digits >= letters,
        "email" => content.text.contains('@'),
        "phone" => digits >= 6 && letters == 0,
        "date" => date(content.best()).or_else(|| date(&content.text)).is_some(),
        "time" => digits > 0 && content.text.contains(':'),
        "price" => is_money(&content.text) || has_cents(&content.text),
        "url" => content.url.is_some(),
        _ => false,
    }
}

fn text_of(content: &Content, format: Option<&str>) -> Option<String> {
    let is_url = |text: &str| text.starts_with("http://") || text.starts_with("https://");
    match format {
        Some("uri" | "url" | "iri" | "uri-reference") => {
            content.url.clone().or_else(|| Some(content.best().trim().to_owned()).filter(|text| is_url(text)))
        }
        Some("email") => {
            let stated = content.url.as_deref().and_then(|url| url.strip_prefix("mailto:"));
            let word = || content.text.split_whitespace().find(|word| word.contains('@'));
            let found = stated.map(|rest| rest.split('?').next().unwrap_or_default()).or_else(word)?;
            Some(found.trim_matches(|c: char| !c.is_alphanumeric()).to_owned())
        }
        Some("date") => date(content.best()).or_else(|| date(&content.text)),
        Some("date-time") => content.exact.clone().filter(|text| text.len() >= 16 && text.contains('T')),
        _ => {
            let text = content.text.trim();
            if text.is_empty() { content.exact.clone().or_else(|| content.url.clone()) } else { Some(text.to_owned()) }
        }
    }
}

/// Months in English, German, French, Spanish, Italian and Dutch.
const MONTHS: [&[&str]; 12] = [
    &["january", "januar", "jänner", "janvier", "enero", "gennaio", "januari"],
    &["february", "februar", "février", "febrero", "febbraio", "februari"],
    &["march", "märz", "mars", "marzo", "maart", "mrt"],
    &["april", "avril", "abril", "aprile"],
    &["may", "mai", "mayo", "maggio", "mei"],
    &["june", "juni", "juin", "junio", "giugno"],
    &["july", "juli", "juillet", "julio", "luglio"],
    &["august", "août", "agosto", "augustus"],
    &["september", "septembre", "septiembre", "setiembre", "settembre"],
    &["october", "oktober", "octobre", "octubre", "ottobre"],
    &["november", "novembre", "noviembre"],
    &["december", "dezember", "décembre", "diciembre", "dicembre"],
];

/// 1 to 12, for the name of a month or its first three letters or more. `None` if it could be two: French `jui`.
fn month_of(word: &str) -> Option<u32> {
    let word = word.to_lowercase();
    let is_it = |names: &[&str]| names.iter().any(|name| name.starts_with(&word));
    let mut months = (1..).zip(MONTHS).filter(|(_, names)| word.chars().count() >= 3 && is_it(names));
    let (month, _) = months.next()?;
    months.next().is_none().then_some(month)
}

/// A date, if it is written in an order that leaves no doubt. With points, the day comes first: `5.3.2024`.
fn date(text: &str) -> Option<String> {
    const OF: [&str; 4] = ["of", "de", "del", "di"];
    let parts = text.split(|c: char| !c.is_alphanumeric());
    let parts: Vec<&str> = parts.filter(|part| !part.is_empty() && !OF.contains(part)).collect();
    let whole = |part: &str| part.trim_end_matches(|c: char| c.is_ascii_alphabetic()).parse::<u32>().ok();
    let written = |year: u32, month: u32, day: u32| {
        ((1..=9999).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day))
            .then(|| format!("{year:04}-{month:02}-{day:02}"))
    };
    for window in parts.windows(3) {
        let [a, b, c] = window else { continue };
        if a.len() == 4
            && let (Some(year), Some(month), Some(day)) = (whole(a), whole(b), whole(c.get(..2).unwrap_or(c)))
            && let Some(date) = written(year, month, day)
        {
            return Some(date);
        }
        if let (Some(day), Some(month), Some(year)) = (whole(a), month_of(b), whole(c))
            && year > 31
        {
            return written(year, month, day);
        }
        if let (Some(month), Some(day), Some(year)) = (month_of(a), whole(b), whole(c))
            && year > 31
        {
            return written(year, month, day);
        }
    }
    text.split_whitespace().find_map(|word| {
        let parts: Vec<&str> = word.trim_matches(|c: char| !c.is_ascii_digit()).split('.').collect();
        let [day, month, year] = parts[..] else { return None };
        let is_short = |part: &str| part.len() <= 2;
        if !is_short(day) || !is_short(month) || year.len() != 4 {
            return None;
        }
        written(year.parse().ok()?, month.parse().ok()?, day.parse().ok()?)
    })
}

/// The first number in a text: `$1,234.50`, `1.234,50 €`, `-3`, `12 %`.
pub(crate) fn number(text: &str) -> Option<f64> {
    let chars: Vec<char> = text.chars().take(200).collect();
    let start = chars.iter().position(char::is_ascii_digit)?;
    let is_negative = chars
        .get(..start)?
        .iter()
        .rev()
        .take(3)
        .find(|c| !c.is_whitespace() && !is_currency(**c))
        .is_some_and(|c| matches!(c, '-' | '−'));
    let mut digits: Vec<char> = Vec::new();
    for (at, c) in chars.iter().enumerate().skip(start) {
        let next_is_digit = chars.get(at + 1).is_some_and(char::is_ascii_digit);
        match c {
            c if c.is_ascii_digit() => digits.push(*c),
            '.' | ',' if next_is_digit => digits.push(*c),
            '\u{a0}' | '\u{202f}' | '\'' | '’' if next_is_digit => {}
            _ => break,
        }
    }
    let text: String = digits.iter().collect();
    let plain = match (text.rfind('.'), text.rfind(',')) {
        (Some(dot), Some(comma)) if dot > comma => text.replace(',', ""),
        (Some(_), Some(_)) => text.replace('.', "").replace(',', "."),
        (None, Some(comma)) => one_separator(&text, ',', comma),
        (Some(dot), None) if text.matches('.').count() > 1 => one_separator(&text, '.', dot),
        _ => text,
    };
    let found: f64 = plain.parse().ok()?;
    Some(if is_negative { -found } else { found })
}

/// A separator alone groups thousands if three digits follow it each time, else it is the decimal point.
fn one_separator(text: &str, separator: char, last: usize) -> String {
    let groups = text.matches(separator).count() > 1 || text.len().saturating_sub(last) == 4;
    if groups { text.replace(separator, "") } else { text.replace(separator, ".") }
}

fn is_currency(c: char) -> bool {
    matches!(c, '$' | '€' | '£' | '¥' | '₹' | '₽' | '₩')
}

/// Returns `true` if a text is an amount of money: a currency sign or code, and a number.
pub(crate) fn is_money(text: &str) -> bool {
    const CODES: [&str; 8] = ["USD", "EUR", "GBP", "JPY", "CHF", "AUD", "CAD", "INR"];
    let text = text.trim();
    text.chars().count() <= 40
        && text.contains(|c: char| c.is_ascii_digit())
        && (text.contains(is_currency) || CODES.iter().any(|code| text.contains(code)))
}

/// Returns `true` for a number with two decimals and nothing else: `1,204.50`.
fn has_cents(text: &str) -> bool {
    let text = text.trim();
    let decimals = text.rfind(['.', ',']).map(|at| text.len() - at - 1);
    decimals == Some(2) && text.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | ',' | '-' | '−'))
}

fn truth(text: &str) -> Option<bool> {
    let text = text.trim().to_lowercase();
    match text.as_str() {
        "true" | "yes" | "y" | "on" | "1" | "✓" | "✔" | "[x]" | "ja" | "oui" | "sí" | "enabled" | "available"
        | "in stock" => Some(true),
        "false" | "no" | "n" | "off" | "0" | "✗" | "✘" | "[ ]" | "nein" | "non" | "disabled" | "unavailable"
        | "out of stock" | "sold out" => Some(false),
        text if text.ends_with("/instock") => Some(true),
        text if text.ends_with("/outofstock") || text.ends_with("/soldout") => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_people_write_them() {
        for (text, wanted) in [
            ("$1,234.50", 1234.5),
            ("1.234,50 €", 1234.5),
            ("3,5", 3.5),
            ("1,234", 1234.0),
            ("1.234.567", 1_234_567.0),
            ("1\u{a0}234", 1234.0),
            ("−7 °C", -7.0),
            ("-$3.20", -3.2),
            ("4.5 out of 5", 4.5),
            ("2024-05", 2024.0),
            ("Rs. 10", 10.0),
        ] {
            assert_eq!(number(text), Some(wanted), "{text}");
        }
        assert_eq!(number("none"), None);
        assert_eq!(number(""), None);
        assert!(number(&"9".repeat(5_000)).is_some());
    }

    #[test]
    fn dates_are_read_where_their_order_leaves_no_doubt() {
        for text in [
            "2024-03-05",
            "2024-03-05T10:00:00Z",
            "March 5, 2024",
            "5 Mar 2024",
            "Posted on 5th March 2024.",
            "5. März 2024",
            "5 de marzo de 2024",
            "am 05.03.2024,",
        ] {
            assert_eq!(date(text).as_deref(), Some("2024-03-05"), "{text}");
        }
        for text in ["03/05/2024", "5 jui 2024", "5 marching 2024", "1.2.3.2024", "31.13.2024", "10.5.24"] {
            assert_eq!(date(text), None, "{text}");
        }
    }

    #[test]
    fn kinds_that_do_not_fit_are_no_value() {
        let content = Content::text("about 3.5 kg");
        assert_eq!(convert(&content, Scalar::Integer, None, None), None);
        assert_eq!(convert(&content, Scalar::Number, None, None), Some(Value::from(3.5)));
        assert_eq!(convert(&content, Scalar::Truth, None, None), None);
        assert_eq!(convert(&Content::text("In stock"), Scalar::Truth, None, None), Some(Value::Bool(true)));
        let options = [Value::from("new"), Value::from("used")];
        for (text, wanted) in [("Used for a year", Some("used")), ("Used, like new?", None), ("Renewed", None)] {
            let found = convert(&Content::text(text), Scalar::Text, None, Some(&options));
            assert_eq!(found, wanted.map(Value::from), "{text}");
        }
        assert_eq!(convert(&Content::text("broken"), Scalar::Text, None, Some(&options)), None);
    }
}
