//! Secrets that a task names in words, before anything was typed.
//!
//! Invariant: rather too much is left out than too little, and no known value is needed for it.

use cuebook_grammar::secret::MASK;

/// Words after which an instruction names a secret.
const SECRET_WORDS: [&str; 9] =
    ["password", "passphrase", "passcode", "pass", "pin", "secret", "token", "otp", "passwort"];

/// An instruction as it may be kept before anything was typed: what follows a word such as `password` is left out.
/// Later texts are redacted by their value; the header of a log is written before any value is known.
pub(crate) fn without_passwords(task: &str) -> String {
    split(task).0
}

/// Returns the words that [`without_passwords`] leaves out, without the quotation marks around them.
pub(crate) fn passwords(task: &str) -> Vec<&str> {
    split(task).1
}

fn split(task: &str) -> (String, Vec<&str>) {
    let mut hidden = Vec::new();
    let mut out = String::with_capacity(task.len());
    let mut rest = task;
    let mut hides_next = false;
    while let Some(start) = rest.find(|c: char| !c.is_whitespace()) {
        let (space, word_on) = rest.split_at(start);
        out.push_str(space);
        let quote = word_on.chars().next().filter(|c| matches!(c, '"' | '\'' | '`' | '“' | '‘' | '«'));
        let closing = quote.map(|quote| match quote {
            '“' => '”',
            '‘' => '’',
            '«' => '»',
            same => same,
        });
        let quoted = closing.and_then(|closing| {
            let opened = quote.map_or(0, char::len_utf8);
            let inner = word_on.get(opened..)?;
            inner.find(closing).map(|end| opened + end + closing.len_utf8())
        });
        let end = quoted.unwrap_or_else(|| word_on.find(char::is_whitespace).unwrap_or(word_on.len()));
        let (word, after) = word_on.split_at(end);
        let bare: String = word.chars().filter(|c| c.is_alphanumeric()).collect::<String>().to_lowercase();
        if hides_next && !matches!(bare.as_str(), "is" | "of" | "as" | "with" | "the" | "to" | "") {
            out.push_str(MASK);
            let quotes = |c: char| matches!(c, '"' | '\'' | '`' | '“' | '”' | '‘' | '’' | '«' | '»');
            hidden.push(word.trim_matches(quotes));
            // A mark of the sentence may stand after it, or be its own.
            hidden.push(word.trim_matches(quotes).trim_end_matches(['.', ',', ';', ':', '!', '?']));
            hides_next = false;
        } else {
            out.push_str(word);
            hides_next |= SECRET_WORDS.contains(&bare.as_str()) || bare.ends_with("password");
        }
        rest = after;
    }
    (out, hidden)
}

#[cfg(test)]
mod tests {
    use super::{passwords, without_passwords};

    #[test]
    fn an_instruction_is_kept_without_the_password_that_it_names() {
        for (task, kept) in [
            (
                "Log in as ann with password correct-horse, then order",
                "Log in as ann with password [redacted] then order",
            ),
            ("enter the password \"a b c\" and submit", "enter the password [redacted] and submit"),
            ("password: x", "password: [redacted]"),
            ("the password is “one two”", "the password is [redacted]"),
            ("Click \"Ok\"", "Click \"Ok\""),
            ("", ""),
        ] {
            assert_eq!(without_passwords(task), kept);
        }
    }

    #[test]
    fn passwords_are_listed_with_and_without_the_punctuation_after_them() {
        assert_eq!(passwords("Log in with password correct-horse!, then order"), ["correct-horse!,", "correct-horse"]);
        assert_eq!(passwords("password “one two” and pin 1234"), ["one two", "one two", "1234", "1234"]);
        assert_eq!(passwords("Click \"Ok\""), Vec::<&str>::new());
    }
}
