//! Days as people write them, as the text that a date field holds.
//!
//! Invariant: only what names day, month and year beyond doubt is a day. `3/4/2027` is two days, `tomorrow`
//! depends on a clock: both stay as they were written.

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

/// `2027-03-03` for `3 March 2027`, `March 3rd, 2027`, `3rd of Mar 2027`, `Wednesday, 3 March 2027`.
pub(super) fn iso(text: &str) -> Option<String> {
    let all = text.to_lowercase();
    let words = all.split(|c: char| c.is_whitespace() || matches!(c, ',' | '.' | '-')).filter(|word| !word.is_empty());
    let (mut day, mut month, mut year) = (None, None, None);
    for word in words {
        if let Some(at) = month_of(word) {
            put(&mut month, at)?;
        } else if let Some(number) = number_of(word) {
            if word.len() == 4 {
                put(&mut year, number)?;
            } else {
                put(&mut day, number)?;
            }
        } else if !is_beside(word) {
            return None;
        }
    }
    let (day, month, year) = (day?, month?, year?);
    (1..=days_of(month, year)).contains(&day).then(|| format!("{year:04}-{month:02}-{day:02}"))
}

/// Nothing if it is there already: two months are no day.
fn put(slot: &mut Option<u32>, value: u32) -> Option<()> {
    slot.replace(value).is_none().then_some(())
}

fn month_of(word: &str) -> Option<u32> {
    let is_it = |month: &str| *month == *word || (word.len() >= 3 && word.len() <= 4 && month.starts_with(word));
    let at = MONTHS.iter().position(|month| is_it(month))?;
    u32::try_from(at + 1).ok()
}

/// A number of at most four digits, `3rd` included.
fn number_of(word: &str) -> Option<u32> {
    let digits = ["st", "nd", "rd", "th"].iter().find_map(|end| word.strip_suffix(end)).unwrap_or(word);
    let fits = (1..=4).contains(&digits.len()) && digits.len() != 3 && digits.bytes().all(|byte| byte.is_ascii_digit());
    fits.then(|| digits.parse().ok()).flatten()
}

/// Words that a day may carry and that say nothing new.
fn is_beside(word: &str) -> bool {
    const DAYS: [&str; 7] = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];
    word == "of" || word == "the" || (word.len() >= 3 && DAYS.iter().any(|day| day.starts_with(word)))
}

fn days_of(month: u32, year: u32) -> u32 {
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    match month {
        2 => 28 + u32::from(leap),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    use super::iso;

    #[test]
    fn a_day_is_read_however_it_is_written() {
        for text in [
            "3 March 2027",
            "March 3, 2027",
            "march 3rd 2027",
            "3rd of March 2027",
            "3. Mar. 2027",
            "Wednesday, 3 March 2027",
            "the 03 Mar 2027",
            "3-Mar-2027",
            "2027 March 3",
        ] {
            assert_eq!(iso(text).as_deref(), Some("2027-03-03"), "{text}");
        }
        assert_eq!(iso("29 February 2028").as_deref(), Some("2028-02-29"));
        assert_eq!(iso("30 Sept 2027").as_deref(), Some("2027-09-30"));
    }

    #[test]
    fn what_is_no_day_beyond_doubt_stays_as_it_is() {
        for text in [
            "",
            "2027-03-03",
            "3/4/2027",
            "03.04.2027",
            "tomorrow",
            "March 2027",
            "3 March",
            "31 June 2027",
            "29 February 2027",
            "0 March 2027",
            "3 4 March 2027",
            "March April 3 2027",
            "March of the Penguins 3 2027",
            "3 March 20277",
            "10:30",
        ] {
            assert_eq!(iso(text), None, "{text}");
        }
    }
}
