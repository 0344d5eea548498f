//! A US keyboard: which key makes which character, and what keys are called.

use super::mouse::{ALT, COMMAND, CONTROL, META, SHIFT};

/// One key, as a key event describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    /// DOM name of the key (`KeyboardEvent.key`): `a`, `Enter`.
    pub(crate) key: String,
    /// DOM name of its place on the keyboard (`KeyboardEvent.code`): `KeyA`.
    pub(crate) code: String,
    /// Legacy number of the key (`keyCode`).
    pub(crate) number: u16,
    /// Text that the key enters; `None` if it enters none.
    pub(crate) text: Option<String>,
    /// 1 for the left one of two, 3 for the number pad.
    pub(crate) location: u8,
}

/// Keys that make a character: plain, with shift, place, number.
const SYMBOLS: [(char, char, &str, u16); 21] = [
    ('`', '~', "Backquote", 192),
    ('1', '!', "Digit1", 49),
    ('2', '@', "Digit2", 50),
    ('3', '#', "Digit3", 51),
    ('4', '$', "Digit4", 52),
    ('5', '%', "Digit5", 53),
    ('6', '^', "Digit6", 54),
    ('7', '&', "Digit7", 55),
    ('8', '*', "Digit8", 56),
    ('9', '(', "Digit9", 57),
    ('0', ')', "Digit0", 48),
    ('-', '_', "Minus", 189),
    ('=', '+', "Equal", 187),
    ('[', '{', "BracketLeft", 219),
    (']', '}', "BracketRight", 221),
    ('\\', '|', "Backslash", 220),
    (';', ':', "Semicolon", 186),
    ('\'', '"', "Quote", 222),
    (',', '<', "Comma", 188),
    ('.', '>', "Period", 190),
    ('/', '?', "Slash", 191),
];

/// Keys with a name: name, place, number, text, location.
const NAMED: [(&str, &str, u16, &str, u8); 35] = [
    ("Enter", "Enter", 13, "\r", 0),
    ("Tab", "Tab", 9, "", 0),
    ("Backspace", "Backspace", 8, "", 0),
    ("Escape", "Escape", 27, "", 0),
    ("Delete", "Delete", 46, "", 0),
    ("Insert", "Insert", 45, "", 0),
    ("Home", "Home", 36, "", 0),
    ("End", "End", 35, "", 0),
    ("PageUp", "PageUp", 33, "", 0),
    ("PageDown", "PageDown", 34, "", 0),
    ("ArrowLeft", "ArrowLeft", 37, "", 0),
    ("ArrowUp", "ArrowUp", 38, "", 0),
    ("ArrowRight", "ArrowRight", 39, "", 0),
    ("ArrowDown", "ArrowDown", 40, "", 0),
    ("Shift", "ShiftLeft", 16, "", 1),
    ("Control", "ControlLeft", 17, "", 1),
    ("Alt", "AltLeft", 18, "", 1),
    ("Meta", "MetaLeft", 91, "", 1),
    ("ContextMenu", "ContextMenu", 93, "", 0),
    ("CapsLock", "CapsLock", 20, "", 0),
    ("NumLock", "NumLock", 144, "", 0),
    ("ScrollLock", "ScrollLock", 145, "", 0),
    ("Pause", "Pause", 19, "", 0),
    ("F1", "F1", 112, "", 0),
    ("F2", "F2", 113, "", 0),
    ("F3", "F3", 114, "", 0),
    ("F4", "F4", 115, "", 0),
    ("F5", "F5", 116, "", 0),
    ("F6", "F6", 117, "", 0),
    ("F7", "F7", 118, "", 0),
    ("F8", "F8", 119, "", 0),
    ("F9", "F9", 120, "", 0),
    ("F10", "F10", 121, "", 0),
    ("F11", "F11", 122, "", 0),
    ("F12", "F12", 123, "", 0),
];

/// The key that makes a character, if a US keyboard has one.
pub(crate) fn key_for(character: char) -> Option<Key> {
    let makes = |key: char, code: String, number: u16| Key {
        key: key.to_string(),
        code,
        number,
        text: Some(key.to_string()),
        location: 0,
    };
    match character {
        '\n' | '\r' => named("Enter"),
        '\t' => named("Tab"),
        ' ' => Some(makes(' ', "Space".to_owned(), 32)),
        letter if letter.is_ascii_alphabetic() => {
            let upper = letter.to_ascii_uppercase();
            let number = u16::from(u8::try_from(upper).unwrap_or(0));
            Some(makes(letter, format!("Key{upper}"), number))
        }
        other => SYMBOLS.iter().find_map(|(plain, shifted, code, number)| {
            (other == *plain || other == *shifted).then(|| makes(other, (*code).to_owned(), *number))
        }),
    }
}

fn named(name: &str) -> Option<Key> {
    NAMED.iter().find(|(key, code, ..)| *key == name || *code == name).map(|(key, code, number, text, location)| Key {
        key: (*key).to_owned(),
        code: (*code).to_owned(),
        number: *number,
        text: (!text.is_empty()).then(|| (*text).to_owned()),
        location: *location,
    })
}

/// A key with what is held meanwhile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Chord {
    /// Modifier bits of `Input.dispatchKeyEvent`: Alt 1, Control 2, Meta 4, Shift 8.
    pub(crate) modifiers: u8,
    /// The key that is pressed; a modifier itself if nothing else was named.
    pub(crate) key: Key,
}

/// Reads `Enter`, `a`, `+`, `Control+Shift+K`; `None` for a key that does not exist.
pub(crate) fn chord(text: &str) -> Option<Chord> {
    let mut modifiers = 0;
    let mut rest = text;
    // A plus sign that is last is a key and not a separator.
    while let Some((held, after)) = rest.split_once('+').filter(|(held, after)| !held.is_empty() && !after.is_empty()) {
        modifiers |= match held {
            "Alt" | "Option" => ALT,
            "Control" | "Ctrl" => CONTROL,
            "Meta" | "Command" | "Cmd" => META,
            "Shift" => SHIFT,
            "ControlOrMeta" => COMMAND,
            _ => return None,
        };
        rest = after;
    }
    let mut characters = rest.chars();
    let mut key = match (characters.next(), characters.next()) {
        (Some(only), None) => key_for(only)?,
        _ => named(alias(rest)).or_else(|| by_place(rest))?,
    };
    if modifiers & SHIFT != 0 {
        key = shifted(key);
    }
    Some(Chord { modifiers, key })
}

fn alias(name: &str) -> &str {
    match name {
        "Return" => "Enter",
        "Esc" => "Escape",
        "Del" => "Delete",
        "Left" => "ArrowLeft",
        "Right" => "ArrowRight",
        "Up" => "ArrowUp",
        "Down" => "ArrowDown",
        other => other,
    }
}

/// Keys by their place: `KeyA`, `Digit1`, `Space`, `Minus`.
fn by_place(code: &str) -> Option<Key> {
    if code == "Space" {
        return key_for(' ');
    }
    if let Some(letter) = code.strip_prefix("Key").and_then(|rest| rest.chars().next()) {
        return key_for(letter.to_ascii_lowercase()).filter(|key| key.code == code);
    }
    SYMBOLS.iter().find(|(_, _, place, _)| *place == code).and_then(|(plain, ..)| key_for(*plain))
}

/// Returns the key that results with shift held.
fn shifted(key: Key) -> Key {
    let mut characters = key.key.chars();
    let (Some(only), None) = (characters.next(), characters.next()) else { return key };
    if only.is_ascii_lowercase() {
        return key_for(only.to_ascii_uppercase()).unwrap_or(key);
    }
    SYMBOLS.iter().find(|(plain, ..)| *plain == only).and_then(|(_, with, ..)| key_for(*with)).unwrap_or(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_printable_ascii_character_has_a_key() {
        for byte in 0x20..0x7f_u8 {
            let character = char::from(byte);
            let key = key_for(character).unwrap_or_else(|| panic!("{character:?}"));
            assert_eq!(key.text.as_deref(), Some(character.to_string().as_str()));
        }
        assert_eq!(key_for('é'), None);
        assert_eq!(key_for('A').map(|key| (key.code, key.number)), Some(("KeyA".into(), 65)));
    }

    #[test]
    fn chords_name_what_is_held_and_what_is_pressed() {
        let read = |text: &str| chord(text).map(|chord| (chord.modifiers, chord.key.key, chord.key.code));
        assert_eq!(read("Enter"), Some((0, "Enter".into(), "Enter".into())));
        assert_eq!(read("a"), Some((0, "a".into(), "KeyA".into())));
        assert_eq!(read("A"), Some((0, "A".into(), "KeyA".into())));
        assert_eq!(read("+"), Some((0, "+".into(), "Equal".into())));
        assert_eq!(read("Shift+1"), Some((SHIFT, "!".into(), "Digit1".into())));
        assert_eq!(read("Control+Shift+K"), Some((CONTROL | SHIFT, "K".into(), "KeyK".into())));
        assert_eq!(read("Control+Shift+k"), Some((CONTROL | SHIFT, "K".into(), "KeyK".into())));
        assert_eq!(read("Control++"), Some((CONTROL, "+".into(), "Equal".into())));
        assert_eq!(read("Shift+Tab"), Some((SHIFT, "Tab".into(), "Tab".into())));
        assert_eq!(read("Shift"), Some((0, "Shift".into(), "ShiftLeft".into())));
        assert_eq!(read("KeyB"), Some((0, "b".into(), "KeyB".into())));
        assert_eq!(read("Hyper+a"), None);
        assert_eq!(read("NoSuchKey"), None);
        assert_eq!(read(""), None);
    }
}
