//! Names for test ids: `checkout-place-order`.
//!
//! Invariant: a name is made of letters and digits in lower case and `-`, however hostile the text is that it comes from.

use cuebook_grammar::role::Role;
use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;

/// Characters of the part that comes from the name of an element.
const MAX_NAME: usize = 40;
/// Files and folders whose names say nothing of what they hold.
const GENERIC: [&str; 18] = [
    "index",
    "app",
    "main",
    "page",
    "layout",
    "root",
    "default",
    "template",
    "component",
    "src",
    "public",
    "pages",
    "views",
    "components",
    "static",
    "www",
    "lib",
    "routes",
];

/// The names to try, best first, without an end: what stands around the element and its own name, then its role, then
/// numbers.
pub(crate) fn names(role: Role, name: &str, around: Option<&str>, path: &str) -> impl Iterator<Item = String> {
    let own = match slug(name) {
        own if own.is_empty() => role.as_str().to_owned(),
        own => own,
    };
    let within = around.map(slug).filter(|id| !id.is_empty()).or_else(|| of_path(path));
    let is_said = |within: &String| own == *within || own.starts_with(&format!("{within}-"));
    let first = match within.filter(|within| !is_said(within)) {
        Some(within) => format!("{within}-{own}"),
        None => own,
    };
    let by_role = format!("{first}-{}", role.as_str());
    let numbered = first.clone();
    [first, by_role].into_iter().chain((2_u32..).map(move |number| format!("{numbered}-{number}")))
}

/// The name of a file or of its folder, if it says what is in it.
fn of_path(path: &str) -> Option<String> {
    path.rsplit('/').take(2).find_map(|part| {
        let stem = part.split('.').next().unwrap_or_default();
        // A capital begins a word: `CheckoutForm`.
        let mut words = String::new();
        let mut was_small = false;
        for c in stem.chars() {
            if c.is_uppercase() && was_small {
                words.push(' ');
            }
            was_small = c.is_lowercase() || c.is_numeric();
            words.push(c);
        }
        Some(slug(&words)).filter(|slug| !slug.is_empty() && !GENERIC.contains(&slug.as_str()))
    })
}

/// Letters and digits in lower case, without accents; everything else is one `-`. Words of digits are left out: they are
/// counts, prices and keys, which change.
fn slug(text: &str) -> String {
    let plain: String =
        text.chars().take(300).nfkd().filter(|c| !is_combining_mark(*c)).flat_map(char::to_lowercase).collect();
    let words = plain.split(|c: char| !c.is_alphanumeric()).filter(|word| word.chars().any(char::is_alphabetic));
    let mut out = String::new();
    for word in words {
        let word: String = word.chars().take(MAX_NAME).collect();
        if !out.is_empty() {
            if out.chars().count() + word.chars().count() >= MAX_NAME {
                break;
            }
            out.push('-');
        }
        out += &word;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(name: &str, around: Option<&str>, path: &str) -> String {
        names(Role::Button, name, around, path).next().unwrap()
    }

    #[test]
    fn a_name_says_where_and_what() {
        assert_eq!(first("Place order", Some("checkout"), "src/index.html"), "checkout-place-order");
        assert_eq!(first("Place order", None, "src/CheckoutForm.tsx"), "checkout-form-place-order");
        assert_eq!(first("Place order", None, "src/checkout/index.tsx"), "checkout-place-order");
        assert_eq!(first("Place order", None, "src/App.vue"), "place-order");
        assert_eq!(first("Checkout now", Some("checkout"), "a.html"), "checkout-now");
        assert_eq!(first("Cart (12)", None, "index.html"), "cart");
        let more: Vec<String> = names(Role::Button, "Save", None, "app.js").take(3).collect();
        assert_eq!(more, ["save", "save-button", "save-2"]);
    }

    #[test]
    fn a_hostile_name_gives_letters_only() {
        assert_eq!(first("Löschen", None, "index.html"), "loschen");
        assert_eq!(first("\"><script>\u{202e}x", None, "index.html"), "script-x");
        assert_eq!(first("→ 17", None, "index.html"), "button");
        assert_eq!(first("東京 行き", None, "index.html"), "東京-行き");
        let long = first(&"word ".repeat(100), None, "index.html");
        assert!(long.len() <= MAX_NAME && !long.ends_with('-'), "{long}");
        assert_eq!(first(&"x".repeat(100), None, "index.html").len(), MAX_NAME);
    }
}
