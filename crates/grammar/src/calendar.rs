//! Days of the calendar from milliseconds since 1970, in UTC. No clock: the time comes from the caller.

/// 9999-12-31T23:59:59Z, in seconds since 1970.
pub const LAST_SECOND: u64 = 253_402_300_799;

const WEEKDAYS: [&str; 7] = ["Thursday", "Friday", "Saturday", "Sunday", "Monday", "Tuesday", "Wednesday"];

/// Year, month and day of a day since 1970-01-01. Source: Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms",
/// `civil_from_days`: years start in March, eras are 400 years.
#[must_use]
pub const fn civil(days_since_1970: u64) -> (u64, u64, u64) {
    let days = days_since_1970 + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let is_next_year = month >= 10;
    let year = era * 400 + year;
    if is_next_year { (year + 1, month - 9, day) } else { (year, month + 3, day) }
}

/// The day in UTC: `2024-02-29`. Times after the year 9999 are in its last day.
#[must_use]
pub fn date(ms_since_1970: u64) -> String {
    let (year, month, day) = civil(days(ms_since_1970));
    format!("{year:04}-{month:02}-{day:02}")
}

/// Its day of the week, in English.
#[must_use]
pub fn weekday(ms_since_1970: u64) -> &'static str {
    let since_thursday = usize::try_from(days(ms_since_1970) % 7).unwrap_or_default();
    WEEKDAYS.get(since_thursday).copied().unwrap_or_default()
}

fn days(ms_since_1970: u64) -> u64 {
    (ms_since_1970 / 1000).min(LAST_SECOND) / 86_400
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_those_of_the_calendar() {
        let known = [
            (0, "1970-01-01", "Thursday"),
            (951_782_400_000, "2000-02-29", "Tuesday"),
            (1_709_164_800_000, "2024-02-29", "Thursday"),
            (1_709_251_199_999, "2024-02-29", "Thursday"),
            (1_709_251_200_000, "2024-03-01", "Friday"),
            (u64::MAX, "9999-12-31", "Friday"),
        ];
        for (ms, day, name) in known {
            assert_eq!((date(ms).as_str(), weekday(ms)), (day, name));
        }
    }
}
