//! The vocabulary: verbs, kinds of controls, ordinals, names of keys.
//!
//! Invariant: only tables and lookups. The callers decide what a word leads to.

use cuebook_grammar::candidate::{Candidate, ControlKind};
use cuebook_grammar::role::Role;

use crate::engine::lexical::text::Span;

/// The meaning of a verb.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verb {
    Login,
    Enter,
    Set,
    Clear,
    Choose,
    Check,
    Uncheck,
    Click,
    DoubleClick,
    RightClick,
    /// A button, or a key.
    Press,
    Open,
    Search,
    Hover,
    Focus,
    Drag,
    Upload,
    Scroll,
    Wait,
    Verify,
    Accept,
    Dismiss,
    SwitchTo,
    Back,
    Forward,
    Reload,
    /// A verb that is the name of controls: `delete`, `save`.
    Control,
    /// No verb: the words may be the name of a control.
    Name,
}

/// Verbs of one or more words. The longest one that fits wins.
const VERBS: &[(Verb, &[&str])] = &[
    (Verb::Login, &["log in", "login", "log into", "log on", "sign in", "sign into", "signin"]),
    (Verb::Enter, &["enter", "type", "type in", "input", "write", "key in", "put", "insert"]),
    (Verb::Enter, &["fill", "fill in", "fill out"]),
    (Verb::Set, &["set", "change", "update"]),
    (Verb::Clear, &["clear", "empty"]),
    (Verb::Choose, &["choose", "pick", "select"]),
    (Verb::Check, &["check", "tick", "enable", "activate", "turn on", "switch on"]),
    (Verb::Uncheck, &["uncheck", "untick", "unselect", "deselect", "disable", "deactivate", "turn off", "switch off"]),
    (Verb::Click, &["click", "click on", "tap", "tap on", "push"]),
    (Verb::DoubleClick, &["double click", "double click on", "double-click", "double-click on"]),
    (Verb::RightClick, &["right click", "right click on", "right-click", "right-click on"]),
    (Verb::Press, &["press", "hit", "press on"]),
    (Verb::Open, &["open", "open up", "go to", "navigate to", "visit", "expand", "follow"]),
    (Verb::Search, &["search for", "search", "look up", "look for"]),
    (Verb::Hover, &["hover", "hover over", "hover on", "mouse over"]),
    (Verb::Focus, &["focus", "focus on"]),
    (Verb::Drag, &["drag"]),
    (Verb::Upload, &["upload", "attach"]),
    (Verb::Scroll, &["scroll"]),
    (Verb::Wait, &["wait", "wait for", "wait until"]),
    (Verb::Verify, &["verify", "verify that", "assert that", "ensure that", "make sure", "make sure that"]),
    (Verb::Verify, &["check that", "check whether", "check if", "confirm that"]),
    (Verb::Accept, &["accept", "answer"]),
    (Verb::Dismiss, &["dismiss"]),
    (Verb::SwitchTo, &["switch to"]),
    (Verb::Back, &["go back", "navigate back"]),
    (Verb::Forward, &["go forward", "navigate forward"]),
    (Verb::Reload, &["reload", "refresh"]),
    (Verb::Control, &["submit", "save", "send", "cancel", "close", "delete", "remove", "edit", "add", "create"]),
    (Verb::Control, &["continue", "proceed", "confirm", "apply", "reset", "finish", "order", "publish", "archive"]),
    (Verb::Control, &["approve", "reject", "copy", "download", "export", "import", "print", "share", "reply"]),
    (Verb::Control, &["start", "stop", "undo", "redo", "rename", "view", "show", "hide", "collapse", "register"]),
    (Verb::Control, &["subscribe", "unsubscribe", "agree", "decline", "log out", "logout", "sign out", "sign up"]),
];

impl Verb {
    /// Returns `true` if the verb may stand alone.
    pub(crate) const fn stands_alone(self) -> bool {
        matches!(
            self,
            Self::Login | Self::Search | Self::Back | Self::Forward | Self::Reload | Self::Control | Self::Scroll
        )
    }
}

/// The verb at the start of the tokens, and its length.
pub(crate) fn verb_at(span: Span<'_>) -> Option<(Verb, usize)> {
    let all = VERBS.iter().flat_map(|(verb, forms)| forms.iter().map(|form| (*verb, *form)));
    all.filter(|(_, form)| span.starts_with(form))
        .map(|(verb, form)| (verb, form.split(' ').count()))
        .max_by_key(|(_, length)| *length)
}

/// `by clicking X`: the verb of the gerund at the start.
pub(crate) fn gerund_at(span: Span<'_>) -> Option<Verb> {
    Some(match span.get(0)?.lower() {
        "clicking" | "tapping" | "pushing" => Verb::Click,
        "pressing" | "hitting" => Verb::Press,
        "typing" | "entering" => Verb::Enter,
        "selecting" | "choosing" | "picking" => Verb::Choose,
        "checking" | "ticking" => Verb::Check,
        "unchecking" | "unticking" => Verb::Uncheck,
        "opening" => Verb::Open,
        _ => return None,
    })
}

/// Words of politeness and order that may precede a verb.
pub(crate) const FILLERS: &[&str] = &[
    "please",
    "kindly",
    "then",
    "also",
    "finally",
    "now",
    "next",
    "first",
    "afterwards",
    "lastly",
    "just",
    "and",
    "i",
    "you",
    "should",
    "must",
    "can",
    "could",
    "would",
    "want",
    "need",
    "like",
    "to",
    "let's",
    "i'd",
];

/// Words that make a sentence conditional. Such sentences are not understood.
pub(crate) const CONDITIONS: &[&str] = &[
    "if", "unless", "when", "whenever", "once", "while", "until", "after", "before", "don't", "don’t", "dont", "do",
    "never", "without", "avoid", "not", "except", "instead", "for", "as",
];

/// A kind of control, as a word states it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RoleWord {
    Button,
    Link,
    Checkbox,
    Radio,
    Tab,
    Field,
    Dropdown,
    Menu,
    Option,
    Slider,
    Switch,
    /// A part of a page, which does not distinguish controls.
    Place,
}

/// The word for a kind of control at the start, and its length in tokens.
pub(crate) fn role_word(span: Span<'_>) -> Option<(RoleWord, usize)> {
    let (first, second) = (span.get(0)?.lower(), span.get(1).map_or("", |token| token.lower()));
    let pair = match (first, second) {
        ("text" | "input" | "entry", "field" | "fields" | "box" | "boxes" | "area" | "areas") => Some(RoleWord::Field),
        ("check", "box" | "boxes") => Some(RoleWord::Checkbox),
        ("radio", "button" | "buttons") => Some(RoleWord::Radio),
        ("drop-down" | "dropdown" | "scroll", "list" | "menu" | "box") => Some(RoleWord::Dropdown),
        ("menu", "item" | "items" | "entry") => Some(RoleWord::Option),
        ("dialog" | "modal", "box" | "window") | ("list", "item" | "items") => Some(RoleWord::Place),
        _ => None,
    };
    if let Some(role) = pair {
        return Some((role, 2));
    }
    let role = match first {
        "button" | "buttons" => RoleWord::Button,
        "link" | "links" => RoleWord::Link,
        "checkbox" | "checkboxes" => RoleWord::Checkbox,
        "radio" => RoleWord::Radio,
        "tab" | "tabs" => RoleWord::Tab,
        "field" | "fields" | "textbox" | "textboxes" | "input" | "inputs" | "textarea" | "box" | "boxes" => {
            RoleWord::Field
        }
        "dropdown" | "list" | "combobox" | "listbox" => RoleWord::Dropdown,
        "menu" => RoleWord::Menu,
        "option" | "options" => RoleWord::Option,
        "slider" => RoleWord::Slider,
        "switch" | "toggle" => RoleWord::Switch,
        "dialog" | "modal" | "row" | "item" | "entry" | "line" | "record" | "section" | "form" | "page" | "table"
        | "card" | "group" | "one" | "icon" | "label" | "placeholder" => RoleWord::Place,
        _ => return None,
    };
    Some((role, 1))
}

impl RoleWord {
    /// Returns `true` if a candidate is of the kind.
    pub(crate) fn fits(self, candidate: &Candidate) -> bool {
        let (role, control, states) = (candidate.role, candidate.control, &candidate.states);
        match self {
            Self::Button => role == Role::Button && control == ControlKind::Plain,
            Self::Link => role == Role::Link,
            // A check box is a box, too.
            Self::Field => {
                role.is_text_entry() && control != ControlKind::Select
                    || matches!(
                        control,
                        ControlKind::Text
                            | ControlKind::Password
                            | ControlKind::Multiline
                            | ControlKind::RichText
                            | ControlKind::Number
                            | ControlKind::DateTime
                    )
            }
            Self::Checkbox => matches!(role, Role::Checkbox | Role::MenuItemCheckbox),
            Self::Radio => matches!(role, Role::Radio | Role::MenuItemRadio),
            Self::Tab => role == Role::Tab,
            Self::Dropdown => control == ControlKind::Select || role.is_selectable() || states.haspopup.is_some(),
            Self::Menu => {
                matches!(role, Role::Menu | Role::MenuItem) || states.haspopup.is_some() || states.expanded.is_some()
            }
            Self::Option => matches!(role, Role::Option | Role::Radio | Role::MenuItem | Role::TreeItem),
            Self::Slider => role == Role::Slider || control == ControlKind::Range,
            Self::Switch => role == Role::Switch || states.pressed.is_some(),
            Self::Place => true,
        }
    }

    /// Returns `true` if a candidate may look like the kind: links look like buttons, and check boxes are boxes.
    pub(crate) fn may_be(self, candidate: &Candidate) -> bool {
        match self {
            // Pages draw links and buttons of elements without a role.
            Self::Button | Self::Link => {
                matches!(candidate.role, Role::Button | Role::Link | Role::MenuItem | Role::Generic)
            }
            Self::Field => candidate.supports(cuebook_grammar::candidate::Capability::CheckOn),
            Self::Checkbox => candidate.role == Role::Switch,
            Self::Switch => candidate.role == Role::Checkbox,
            _ => false,
        }
    }
}

/// A position among several, counted from either end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ordinal {
    /// 0-based from the start.
    Nth(usize),
    /// 0-based from the end.
    FromEnd(usize),
}

impl Ordinal {
    pub(crate) fn pick<T: Copy>(self, list: &[T]) -> Option<T> {
        match self {
            Self::Nth(index) => list.get(index).copied(),
            Self::FromEnd(back) => list.len().checked_sub(back + 1).and_then(|index| list.get(index)).copied(),
        }
    }
}

/// The ordinal at the start of the tokens, and its length.
pub(crate) fn ordinal_at(span: Span<'_>) -> Option<(Ordinal, usize)> {
    const NAMES: [&str; 10] =
        ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"];
    for (back, words) in [(1, "second to last"), (1, "next to last"), (2, "third to last")] {
        if span.starts_with(words) {
            return Some((Ordinal::FromEnd(back), 3));
        }
    }
    let word = span.get(0)?.lower();
    if word == "last" {
        return Some((Ordinal::FromEnd(0), 1));
    }
    let numbered = || {
        let digits = ["st", "nd", "rd", "th"].iter().find_map(|suffix| word.strip_suffix(suffix))?;
        digits.parse::<usize>().ok()?.checked_sub(1)
    };
    let index = NAMES.iter().position(|name| *name == word).or_else(numbered)?;
    Some((Ordinal::Nth(index), 1))
}

/// The number of a count word, at least 1.
pub(crate) fn counted(word: &str) -> Option<usize> {
    const NAMES: [&str; 10] = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"];
    let named = NAMES.iter().position(|name| *name == word).map(|index| index + 1);
    named.or_else(|| word.parse().ok()).filter(|&count| count >= 1)
}

/// The key or chord of a text, in the spelling of the DOM.
pub(crate) fn key(text: &str) -> Option<String> {
    let lower = text.to_lowercase();
    let mut parts: Vec<&str> = lower.split('+').map(str::trim).collect();
    let last = parts.pop()?;
    let mut chord = Vec::new();
    for part in &parts {
        chord.push(match *part {
            "ctrl" | "control" => "Control",
            "shift" => "Shift",
            "alt" | "option" => "Alt",
            "cmd" | "command" | "meta" => "Meta",
            _ => return None,
        });
    }
    let main = match last {
        "enter" | "return" => "Enter".to_owned(),
        "escape" | "esc" => "Escape".to_owned(),
        "tab" => "Tab".to_owned(),
        "space" => "Space".to_owned(),
        "backspace" => "Backspace".to_owned(),
        "delete" | "del" => "Delete".to_owned(),
        "home" => "Home".to_owned(),
        "end" => "End".to_owned(),
        "page up" | "pageup" => "PageUp".to_owned(),
        "page down" | "pagedown" => "PageDown".to_owned(),
        "arrow up" | "up arrow" | "arrowup" => "ArrowUp".to_owned(),
        "arrow down" | "down arrow" | "arrowdown" => "ArrowDown".to_owned(),
        "arrow left" | "left arrow" | "arrowleft" => "ArrowLeft".to_owned(),
        "arrow right" | "right arrow" | "arrowright" => "ArrowRight".to_owned(),
        _ if last.strip_prefix('f').and_then(|n| n.parse::<u8>().ok()).is_some_and(|n| (1..=12).contains(&n)) => {
            last.to_uppercase()
        }
        _ if !chord.is_empty() && last.chars().count() == 1 => last.to_owned(),
        _ => return None,
    };
    Some(chord.into_iter().chain([main.as_str()]).collect::<Vec<_>>().join("+"))
}

#[cfg(test)]
mod tests {
    use super::key;

    #[test]
    fn keys_and_chords_have_the_names_of_the_dom() {
        for (text, expected) in [
            ("Enter", Some("Enter")),
            ("ESC", Some("Escape")),
            ("down arrow", Some("ArrowDown")),
            ("ctrl+shift+k", Some("Control+Shift+k")),
            ("F5", Some("F5")),
            ("Order", None),
            ("k", None),
            ("", None),
        ] {
            assert_eq!(key(text).as_deref(), expected, "{text}");
        }
    }
}
