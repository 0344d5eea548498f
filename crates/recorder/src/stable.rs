//! Which parts of texts and addresses look as if they were the same the next time.

use url::Url;

/// Characters of the longest text that a condition quotes.
const MOST_CHARACTERS: usize = 80;
const FEWEST_CHARACTERS: usize = 3;

/// A text without what looks generated, and whether that is all of it. `None` if too little is left.
pub(crate) fn stable(text: &str) -> Option<(String, bool)> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let is_steady = |word: &&str| !word.chars().any(|c| c.is_ascii_digit());
    let whole = words.join(" ");
    if words.iter().all(is_steady) && whole.chars().count() <= MOST_CHARACTERS {
        return is_telling(&whole).then_some((whole, true));
    }
    let runs = words.split(|word| !is_steady(word)).map(|run| {
        let mut taken = String::new();
        for word in run {
            if taken.chars().count() + word.chars().count() >= MOST_CHARACTERS {
                break;
            }
            if !taken.is_empty() {
                taken.push(' ');
            }
            taken.push_str(word);
        }
        taken
    });
    let longest = runs.max_by_key(|run| run.chars().count())?;
    (is_telling(&longest) && longest.contains(' ')).then_some((longest, false))
}

fn is_telling(text: &str) -> bool {
    text.chars().filter(|c| c.is_alphabetic()).count() >= FEWEST_CHARACTERS
}

/// The path of an address up to the first part that looks generated: `/order/` of `/order/1017/done`. `None` if that is
/// only the root.
pub(crate) fn stable_path(url: &str) -> Option<String> {
    let url = Url::parse(url).ok()?;
    if !url.has_host() {
        return None;
    }
    let mut path = String::new();
    for part in url.path().split_inclusive('/') {
        if is_generated(part.trim_end_matches('/')) {
            break;
        }
        path.push_str(part);
    }
    (path.len() > 1).then_some(path)
}

fn is_generated(part: &str) -> bool {
    let digits = part.bytes().filter(u8::is_ascii_digit).count();
    let is_number = digits > 0 && digits == part.len();
    is_number || digits >= 4 || part.len() > 40
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_left_out_of_texts() {
        let part = |text: &str| stable(text);
        assert_eq!(part("Order  confirmed"), Some(("Order confirmed".to_owned(), true)));
        assert_eq!(part("Thank you. Order 1001 is on its way."), Some(("Thank you. Order".to_owned(), false)));
        assert_eq!(part("12:30"), None);
        assert_eq!(part("Order 12"), None, "one word says too little");
        assert_eq!(part("×"), None);
        let long = "word ".repeat(40);
        assert!(part(&long).is_some_and(|(text, is_whole)| !is_whole && text.len() <= MOST_CHARACTERS));
    }

    #[test]
    fn addresses_end_where_something_generated_begins() {
        let path = |url: &str| stable_path(url);
        assert_eq!(path("https://shop.test/dashboard?sid=1#top"), Some("/dashboard".to_owned()));
        assert_eq!(path("https://shop.test/order/1017/done"), Some("/order/".to_owned()));
        assert_eq!(path("https://shop.test/v2/cart"), Some("/v2/cart".to_owned()));
        assert_eq!(path("https://shop.test/9f86d081-884c-4d63-a8ee"), None);
        assert_eq!(path("https://shop.test/"), None);
        assert_eq!(path("about:blank"), None);
    }
}
