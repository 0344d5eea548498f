//! Words for kinds of controls.

use cuebook_grammar::candidate::{Candidate, ControlKind};
use cuebook_grammar::role::Role;

/// What a word says about a candidate's role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum RoleWord {
    Button,
    Link,
    Checkbox,
    Radio,
    Tab,
    Field,
    Dropdown,
    Menu,
    MenuItem,
    Option,
    Slider,
    Switch,
    Dialog,
    Heading,
    Image,
    Icon,
}

/// The word for a role at the start of these words of lower case, and its length.
pub(in super::super) fn role_word(first: &str, second: Option<&str>) -> Option<(RoleWord, usize)> {
    let pair = second.and_then(|second| {
        Some(match (first, second) {
            (
                "text" | "input" | "entry",
                "field" | "fields" | "box" | "boxes" | "area" | "areas" | "input" | "inputs",
            ) => RoleWord::Field,
            ("check", "box" | "boxes") | ("tick", "box" | "boxes") => RoleWord::Checkbox,
            ("radio", "button" | "buttons" | "option" | "options") => RoleWord::Radio,
            (
                "drop-down" | "dropdown" | "scroll" | "selection" | "select" | "pull-down",
                "list" | "menu" | "box" | "field",
            ) => RoleWord::Dropdown,
            ("combo", "box") => RoleWord::Dropdown,
            ("menu", "item" | "items" | "entry" | "option" | "button") => RoleWord::MenuItem,
            ("dialog" | "modal" | "pop-up" | "popup", "box" | "window" | "dialog") => RoleWord::Dialog,
            ("list", "item" | "items") => RoleWord::Option,
            ("toggle", "switch" | "button") => RoleWord::Switch,
            _ => return None,
        })
    });
    if let Some(role) = pair {
        return Some((role, 2));
    }
    let role = match first {
        "button" | "buttons" | "btn" => RoleWord::Button,
        "link" | "links" | "hyperlink" => RoleWord::Link,
        "checkbox" | "checkboxes" | "tickbox" | "check-box" | "check-boxes" => RoleWord::Checkbox,
        "radio" | "radios" | "radiobutton" => RoleWord::Radio,
        "tab" | "tabs" => RoleWord::Tab,
        "field" | "fields" | "textbox" | "textboxes" | "input" | "inputs" | "textarea" | "textfield" | "box"
        | "boxes" | "searchbox" | "spinner" | "spinbutton" => RoleWord::Field,
        "dropdown" | "drop-down" | "list" | "select" | "selector" | "combobox" | "listbox" | "picker" => {
            RoleWord::Dropdown
        }
        "menu" | "menus" | "submenu" => RoleWord::Menu,
        "menuitem" => RoleWord::MenuItem,
        "option" | "options" | "choice" => RoleWord::Option,
        "slider" => RoleWord::Slider,
        "switch" | "toggle" => RoleWord::Switch,
        "dialog" | "modal" | "popup" | "pop-up" => RoleWord::Dialog,
        "heading" => RoleWord::Heading,
        "image" | "picture" => RoleWord::Image,
        "icon" | "symbol" => RoleWord::Icon,
        _ => return None,
    };
    Some((role, 1))
}

impl RoleWord {
    /// Whether a candidate is what the word says.
    pub(in super::super) fn fits(self, candidate: &Candidate) -> bool {
        let (role, control) = (candidate.role, candidate.control);
        let is_entry = matches!(
            control,
            ControlKind::Text
                | ControlKind::Password
                | ControlKind::Multiline
                | ControlKind::RichText
                | ControlKind::Number
                | ControlKind::DateTime
        ) || role.is_text_entry();
        match self {
            Self::Button => matches!(role, Role::Button | Role::Switch) && control == ControlKind::Plain,
            Self::Link => role == Role::Link,
            // A tick box is a box, too.
            Self::Checkbox => matches!(role, Role::Checkbox | Role::Switch | Role::MenuItemCheckbox),
            Self::Radio => matches!(role, Role::Radio | Role::MenuItemRadio),
            Self::Tab => role == Role::Tab,
            Self::Field => is_entry,
            Self::Dropdown => {
                control == ControlKind::Select || role.is_selectable() || candidate.states.haspopup.is_some()
            }
            Self::Menu => {
                matches!(role, Role::Menu | Role::MenuItem | Role::MenuBar)
                    || candidate.states.haspopup.is_some()
                    || candidate.states.expanded.is_some()
            }
            Self::MenuItem => matches!(role, Role::MenuItem | Role::MenuItemCheckbox | Role::MenuItemRadio),
            Self::Option => {
                matches!(role, Role::Option | Role::Radio | Role::MenuItem | Role::ListItem | Role::TreeItem)
            }
            Self::Slider => role == Role::Slider || control == ControlKind::Range,
            Self::Switch => matches!(role, Role::Switch | Role::Checkbox) || candidate.states.pressed.is_some(),
            Self::Dialog => matches!(role, Role::Dialog | Role::AlertDialog),
            Self::Heading => role == Role::Heading,
            Self::Image => role == Role::Img,
            Self::Icon => matches!(role, Role::Button | Role::Img | Role::Link | Role::Generic),
        }
    }
}
