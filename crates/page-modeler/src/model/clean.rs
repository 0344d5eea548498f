//! Texts of a page, cleaned: without characters of icon fonts, invisible and control characters, bounded.

pub use cuebook_grammar::render::{cut, is_disruptive};
use cuebook_grammar::secret::is_searched_for;
use cuebook_grammar::text_match::{collapse_white_space, is_invisible};

fn is_private(c: char) -> bool {
    matches!(c, '\u{e000}'..='\u{f8ff}' | '\u{f0000}'..='\u{10ffff}')
}

/// A name without private-use characters, disruptive characters and icon ligatures at its ends. What is invisible parts
/// no word: nobody sees it there.
#[must_use]
pub fn name(text: &str, icons: &[String]) -> String {
    let seen = text.chars().filter(|c| !is_private(*c) && !is_invisible(*c));
    let plain: String = seen.map(|c| if is_disruptive(c) { ' ' } else { c }).collect();
    let mut plain = collapse_white_space(&plain);
    for icon in icons {
        let rest = plain.strip_prefix(icon.as_str()).or_else(|| plain.strip_suffix(icon.as_str()));
        if let Some(rest) = rest.map(|rest| rest.trim().to_owned()) {
            plain = rest;
        }
    }
    plain
}

/// Removes every occurrence of a secret from a text of the page, if it is searched for at all.
pub fn scrub(text: &mut String, secrets: &[String]) {
    for secret in secrets {
        if is_searched_for(secret) && text.contains(secret.as_str()) {
            *text = text.replace(secret.as_str(), "•••");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn icons_and_private_characters_leave_a_name() {
        assert_eq!(name("\u{e8b6}  Search", &[]), "Search");
        assert_eq!(name("delete Remove item", &["delete".into()]), "Remove item");
        assert_eq!(name("abc\u{7}def\n", &[]), "abc def");
        for invisible in ['\u{ad}', '\u{200b}', '\u{200d}', '\u{202e}', '\u{2060}', '\u{feff}', '\u{e0041}', '\u{3164}']
        {
            assert_eq!(name(&format!("De{invisible}lete"), &[]), "Delete", "{}", invisible.escape_unicode());
        }
        assert_eq!(name("abc\u{2028}def\u{2029}", &[]), "abc def");
    }

    #[test]
    fn a_secret_is_removed_wherever_it_stands() {
        let mut text = "Your password is hunter2!".to_owned();
        scrub(&mut text, &["hunter2".into()]);
        assert_eq!(text, "Your password is •••!");
        scrub(&mut text, &["password".into(), "is".into()]);
        assert_eq!(text, "Your password is •••!");
    }
}
