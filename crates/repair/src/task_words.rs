//! Words of a task: the secrets that it names before anything was typed, and its request for a change.
//!
//! Invariant: rather too much is left out as secret than too little, and no known value is needed for it.

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

/// Verbs by which a task asks for a change, at the beginning of one of its parts.
const CHANGING: [&str; 124] = [
    "accept",
    "add",
    "agree",
    "answer",
    "apply",
    "archive",
    "ask",
    "book",
    "buy",
    "call",
    "cancel",
    "change",
    "check",
    "choose",
    "clear",
    "click",
    "close",
    "complete",
    "confirm",
    "copy",
    "correct",
    "create",
    "decline",
    "delete",
    "deselect",
    "disable",
    "dismiss",
    "double-click",
    "download",
    "drag",
    "drop",
    "duplicate",
    "edit",
    "empty",
    "enable",
    "enter",
    "expand",
    "export",
    "fill",
    "follow",
    "forward",
    "give",
    "go",
    "hold",
    "insert",
    "invite",
    "join",
    "leave",
    "like",
    "log",
    "login",
    "make",
    "mark",
    "move",
    "navigate",
    "open",
    "order",
    "pay",
    "pick",
    "play",
    "post",
    "press",
    "publish",
    "purchase",
    "put",
    "raise",
    "rate",
    "register",
    "reject",
    "remove",
    "rename",
    "reply",
    "reserve",
    "reset",
    "retweet",
    "ring",
    "save",
    "schedule",
    "scroll",
    "select",
    "send",
    "set",
    "share",
    "sign",
    "sort",
    "start",
    "stop",
    "submit",
    "subscribe",
    "switch",
    "take",
    "tick",
    "toggle",
    "track",
    "type",
    "uncheck",
    "unsubscribe",
    "update",
    "upload",
    "use",
    "write",
    "ändere",
    "bestelle",
    "drücke",
    "entferne",
    "erstelle",
    "klicke",
    "lege",
    "lösche",
    "melde",
    "öffne",
    "schicke",
    "schreibe",
    "sende",
    "setze",
    "speichere",
    "trage",
    "wähle",
    "supprime",
    "supprimez",
    "cliquez",
    "ouvrez",
    "elimina",
    "borra",
];

/// Words before the verb of a request.
const POLITE: [&str; 9] = ["please", "now", "then", "and", "also", "bitte", "first", "finally", "next"];

/// Returns `true` if a task asks for a change, as far as its words say: a part of it begins with a verb that does one.
/// Quoted words ask for nothing.
pub(crate) fn asks_for_change(task: &str) -> bool {
    let lower = task.to_lowercase();
    let mut quotes = lower.split('"');
    let mut unquoted = String::new();
    while let Some(outside) = quotes.next() {
        unquoted.push_str(outside);
        unquoted.push_str(if quotes.next().is_some() { "\u{1a}" } else { "" });
    }
    let mut parts = unquoted
        .split([',', '.', ';', ':', '\n', '?', '!'])
        .flat_map(|part| part.split(" and "))
        .flat_map(|part| part.split(" then "));
    parts.any(|part| {
        let mut words = part.split_whitespace().skip_while(|word| POLITE.contains(word));
        let (first, second) = (words.next().unwrap_or_default(), words.next());
        // To check whether something is so changes nothing.
        let asks = first == "check" && matches!(second, Some("if" | "whether" | "that" | "what" | "how"));
        !asks && CHANGING.contains(&first)
    })
}

#[cfg(test)]
mod tests {
    use super::{asks_for_change, passwords, without_passwords};

    #[test]
    fn a_task_asks_for_a_change_if_a_part_of_it_begins_with_such_a_verb() {
        for task in [
            "Delete the invoice INV-1",
            "Please press Save",
            "Find the invoice and delete it",
            "Wait until the parcel can be tracked, and track it",
            "Lösche die Rechnung",
            "In the quick order, choose Notebook",
        ] {
            assert!(asks_for_change(task), "{task}");
        }
        for task in [
            "What is the door code?",
            "Check whether \"Paid, delete\" is shown",
            "How many orders are open?",
            "Read the price",
            "",
        ] {
            assert!(!asks_for_change(task), "{task}");
        }
    }

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
