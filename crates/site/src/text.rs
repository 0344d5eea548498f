//! Texts that visitors send, cut to a length that the site is ready to keep and show.

/// The longest single text that the site stores, in characters.
pub(crate) const LONGEST: usize = 4_000;

/// The longest name (of a counter, a form, a file), in characters.
pub(crate) const LONGEST_NAME: usize = 120;

/// At most `limit` characters of `text`, cut between characters.
pub(crate) fn clip(text: &str, limit: usize) -> String {
    text.chars().take(limit).collect()
}

/// Cents as dollars: 1250 is `$12.50`.
pub(crate) fn price(cents: u64) -> String {
    format!("${}.{:02}", cents / 100, cents % 100)
}

#[cfg(test)]
mod tests {
    use super::{clip, price};

    #[test]
    fn clipping_never_splits_a_character() {
        assert_eq!(clip("naïve", 3), "naï");
        assert_eq!(clip("ab", 3), "ab");
    }

    #[test]
    fn prices_have_two_decimals() {
        assert_eq!(price(1_205), "$12.05");
        assert_eq!(price(7), "$0.07");
    }
}
