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
            options.iter().find(|option| {
                option.as_str().is_some_and(|text| !text.is_empty() && lower.contains(&text.to_lowercase()))
            })
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

/// A date, if it is written in an order that leaves no doubt.
fn date(text: &str) -> Option<String> {
    const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
    let parts: Vec<&str> = text.split(|c: char| !c.is_alphanumeric()).filter(|part| !part.is_empty()).collect();
    let whole = |part: &str| part.trim_end_matches(|c: char| c.is_ascii_alphabetic()).parse::<u32>().ok();
    let written = |year: u32, month: u32, day: u32| {
        ((1..=9999).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day))
            .then(|| format!("{year:04}-{month:02}-{day:02}"))
    };
    for window in parts.windows(3) {
        let [a, b, c] = window else { continue };
        let month_of = |part: &str| {
            let start: String = part.chars().take(3).flat_map(char::to_lowercase).collect();
            let at = MONTHS.iter().position(|month| *month == start)?;
            part.chars().all(char::is_alphabetic).then(|| u32::try_from(at + 1).unwrap_or(0))
        };
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
    None
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
        for text in ["2024-03-05", "2024-03-05T10:00:00Z", "March 5, 2024", "5 Mar 2024", "Posted on 5th March 2024."] {
            assert_eq!(date(text).as_deref(), Some("2024-03-05"), "{text}");
        }
        assert_eq!(date("03/05/2024"), None);
    }

    #[test]
    fn kinds_that_do_not_fit_are_no_value() {
        let content = Content::text("about 3.5 kg");
        assert_eq!(convert(&content, Scalar::Integer, None, None), None);
        assert_eq!(convert(&content, Scalar::Number, None, None), Some(Value::from(3.5)));
        assert_eq!(convert(&content, Scalar::Truth, None, None), None);
        assert_eq!(convert(&Content::text("In stock"), Scalar::Truth, None, None), Some(Value::Bool(true)));
        let options = [Value::from("new"), Value::from("used")];
        assert_eq!(
            convert(&Content::text("Used, like new?"), Scalar::Text, None, Some(&options)),
            Some(Value::from("new"))
        );
        assert_eq!(convert(&Content::text("broken"), Scalar::Text, None, Some(&options)), None);
    }
}
