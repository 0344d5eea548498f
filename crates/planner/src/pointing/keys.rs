//! Names of keys, from those of xdotool, pyautogui and OpenAI to those of the DOM.

/// Names in lower case, without `_`, `-` and blanks, and what the DOM calls them.
const NAMES: [(&str, &str); 40] = [
    ("ctrl", "Control"),
    ("control", "Control"),
    ("controlleft", "Control"),
    ("alt", "Alt"),
    ("option", "Alt"),
    ("shift", "Shift"),
    ("cmd", "Meta"),
    ("command", "Meta"),
    ("meta", "Meta"),
    ("super", "Meta"),
    ("win", "Meta"),
    ("enter", "Enter"),
    ("return", "Enter"),
    ("kpenter", "Enter"),
    ("esc", "Escape"),
    ("escape", "Escape"),
    ("tab", "Tab"),
    ("space", "Space"),
    ("spacebar", "Space"),
    ("backspace", "Backspace"),
    ("del", "Delete"),
    ("delete", "Delete"),
    ("insert", "Insert"),
    ("home", "Home"),
    ("end", "End"),
    ("pageup", "PageUp"),
    ("pgup", "PageUp"),
    ("prior", "PageUp"),
    ("pagedown", "PageDown"),
    ("pgdn", "PageDown"),
    ("next", "PageDown"),
    ("left", "ArrowLeft"),
    ("arrowleft", "ArrowLeft"),
    ("right", "ArrowRight"),
    ("arrowright", "ArrowRight"),
    ("up", "ArrowUp"),
    ("arrowup", "ArrowUp"),
    ("down", "ArrowDown"),
    ("arrowdown", "ArrowDown"),
    ("plus", "+"),
];

/// A chord of these keys, as the grammar writes it.
///
/// # Errors
/// The key that has no name.
pub(super) fn chord<'a>(keys: impl IntoIterator<Item = &'a str>) -> Result<String, String> {
    let keys: Vec<String> = keys.into_iter().map(named).collect::<Result<_, _>>()?;
    if keys.is_empty() {
        return Err("expected at least one key".to_owned());
    }
    Ok(keys.join("+"))
}

fn named(key: &str) -> Result<String, String> {
    let plain: String = key.to_lowercase().chars().filter(|c| !matches!(c, '_' | '-' | ' ')).collect();
    if let Some((_, name)) = NAMES.iter().find(|(known, _)| *known == plain) {
        return Ok((*name).to_owned());
    }
    if key == " " {
        return Ok("Space".to_owned());
    }
    let is_function = plain.strip_prefix('f').is_some_and(|n| n.parse().is_ok_and(|n: u8| (1..=12).contains(&n)));
    if is_function {
        return Ok(plain.to_uppercase());
    }
    let mut characters = key.chars();
    match (characters.next(), characters.next()) {
        // Chords name the letter, not what it writes.
        (Some(only), None) if !only.is_control() => Ok(only.to_lowercase().to_string()),
        _ => {
            let seen: String = key.chars().take(40).collect();
            Err(format!("{seen:?} is no key: write keys such as `Return`, `ctrl` or `a`"))
        }
    }
}
