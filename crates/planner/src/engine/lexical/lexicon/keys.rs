//! Names of keys.

/// Names of keys, as people write them and as the DOM does.
pub(super) const KEYS: &[(&str, &str)] = &[
    ("enter", "Enter"),
    ("return", "Enter"),
    ("escape", "Escape"),
    ("esc", "Escape"),
    ("tab", "Tab"),
    ("space", "Space"),
    ("spacebar", "Space"),
    ("backspace", "Backspace"),
    ("delete", "Delete"),
    ("del", "Delete"),
    ("home", "Home"),
    ("end", "End"),
    ("pageup", "PageUp"),
    ("pagedown", "PageDown"),
    ("arrowup", "ArrowUp"),
    ("arrowdown", "ArrowDown"),
    ("arrowleft", "ArrowLeft"),
    ("arrowright", "ArrowRight"),
    ("up", "ArrowUp"),
    ("down", "ArrowDown"),
    ("left", "ArrowLeft"),
    ("right", "ArrowRight"),
    ("insert", "Insert"),
];

pub(super) const MODIFIERS: &[(&str, &str)] = &[
    ("ctrl", "Control"),
    ("control", "Control"),
    ("shift", "Shift"),
    ("alt", "Alt"),
    ("option", "Alt"),
    ("cmd", "Meta"),
    ("command", "Meta"),
    ("meta", "Meta"),
];

/// The key or chord that a text names, in the spelling of the DOM.
pub(in super::super) fn key(text: &str) -> Option<String> {
    let lower = text.to_lowercase();
    let joined = lower.replace(" arrow", "arrow").replace("arrow ", "arrow").replace("page ", "page");
    let mut parts: Vec<&str> = joined.split(['+', '-', ' ']).filter(|part| !part.is_empty()).collect();
    let last = parts.pop()?;
    let name = |table: &[(&str, &'static str)], word: &str| {
        table.iter().find(|(known, _)| *known == word).map(|&(_, name)| name.to_owned())
    };
    let is_function_key = last
        .strip_prefix('f')
        .and_then(|digits| digits.parse::<u8>().ok())
        .is_some_and(|number| (1..=12).contains(&number));
    let mut chord: Vec<String> = Vec::new();
    for part in &parts {
        chord.push(name(MODIFIERS, part)?);
    }
    let reversed = last.strip_suffix("arrow").map(|side| format!("arrow{side}"));
    let main = if let Some(main) = name(KEYS, reversed.as_deref().unwrap_or(last)) {
        main
    } else if is_function_key {
        last.to_uppercase()
    } else if !chord.is_empty() && last.chars().count() == 1 {
        last.to_owned()
    } else {
        return None;
    };
    chord.push(main);
    Some(chord.join("+"))
}
