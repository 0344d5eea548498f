//! What words mean: verbs, words for roles, ordinals, synonyms, key names.
//!
//! Invariant: tables only; who reads them decides what follows from a word.

use cuebook_grammar::candidate::{Candidate, ControlKind};
use cuebook_grammar::role::Role;

use super::text::{Span, Token};

/// What a verb asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verb {
    Login,
    Enter,
    Assign,
    Choose,
    CheckOn,
    CheckOff,
    Click,
    DoubleClick,
    RightClick,
    /// `press`: a button, or a key.
    Press,
    Search,
    Hover,
    Scroll,
    Wait,
    Go,
    Back,
    Forward,
    Reload,
    Read,
    Verify,
    Accept,
    Dismiss,
    SwitchTo,
    Clear,
    Focus,
    Drag,
    Upload,
    Use,
    /// A verb that is also what the control is called: `delete`, `save`, `submit`.
    Act,
}

/// Verbs of one or more words. Where one is the start of another, the longer one is meant.
const VERBS: &[(&str, Verb)] = &[
    ("log in", Verb::Login),
    ("login", Verb::Login),
    ("log into", Verb::Login),
    ("log on", Verb::Login),
    ("log onto", Verb::Login),
    ("logon", Verb::Login),
    ("sign in", Verb::Login),
    ("sign into", Verb::Login),
    ("signin", Verb::Login),
    ("authenticate", Verb::Login),
    ("log out", Verb::Act),
    ("logout", Verb::Act),
    ("log off", Verb::Act),
    ("sign out", Verb::Act),
    ("sign up", Verb::Act),
    ("enter", Verb::Enter),
    ("type", Verb::Enter),
    ("type in", Verb::Enter),
    ("input", Verb::Enter),
    ("write", Verb::Enter),
    ("key in", Verb::Enter),
    ("put", Verb::Enter),
    ("paste", Verb::Enter),
    ("insert", Verb::Enter),
    ("provide", Verb::Enter),
    ("supply", Verb::Enter),
    ("specify", Verb::Enter),
    ("fill", Verb::Enter),
    ("fill in", Verb::Enter),
    ("fill out", Verb::Enter),
    ("populate", Verb::Enter),
    ("complete", Verb::Enter),
    ("set", Verb::Assign),
    ("change", Verb::Assign),
    ("update", Verb::Assign),
    ("adjust", Verb::Assign),
    ("switch", Verb::Assign),
    ("replace", Verb::Assign),
    ("choose", Verb::Choose),
    ("pick", Verb::Choose),
    ("select", Verb::Choose),
    ("check", Verb::CheckOn),
    ("tick", Verb::CheckOn),
    ("mark", Verb::CheckOn),
    ("enable", Verb::CheckOn),
    ("activate", Verb::CheckOn),
    ("turn on", Verb::CheckOn),
    ("switch on", Verb::CheckOn),
    ("toggle on", Verb::CheckOn),
    ("uncheck", Verb::CheckOff),
    ("untick", Verb::CheckOff),
    ("unmark", Verb::CheckOff),
    ("unselect", Verb::CheckOff),
    ("deselect", Verb::CheckOff),
    ("disable", Verb::CheckOff),
    ("deactivate", Verb::CheckOff),
    ("turn off", Verb::CheckOff),
    ("switch off", Verb::CheckOff),
    ("toggle off", Verb::CheckOff),
    ("click", Verb::Click),
    ("click on", Verb::Click),
    ("tap", Verb::Click),
    ("tap on", Verb::Click),
    ("push", Verb::Click),
    ("find and click", Verb::Click),
    ("find and click on", Verb::Click),
    ("follow", Verb::Click),
    ("double click", Verb::DoubleClick),
    ("double-click", Verb::DoubleClick),
    ("double click on", Verb::DoubleClick),
    ("double-click on", Verb::DoubleClick),
    ("right click", Verb::RightClick),
    ("right-click", Verb::RightClick),
    ("right click on", Verb::RightClick),
    ("right-click on", Verb::RightClick),
    ("press", Verb::Press),
    ("press on", Verb::Press),
    ("hit", Verb::Press),
    ("strike", Verb::Press),
    ("search", Verb::Search),
    ("search for", Verb::Search),
    ("find", Verb::Search),
    ("look for", Verb::Search),
    ("look up", Verb::Search),
    ("query", Verb::Search),
    ("hover", Verb::Hover),
    ("hover over", Verb::Hover),
    ("hover on", Verb::Hover),
    ("mouse over", Verb::Hover),
    ("point at", Verb::Hover),
    ("point to", Verb::Hover),
    ("move the mouse over", Verb::Hover),
    ("move the pointer over", Verb::Hover),
    ("scroll", Verb::Scroll),
    ("wait", Verb::Wait),
    ("wait for", Verb::Wait),
    ("wait until", Verb::Wait),
    ("wait till", Verb::Wait),
    ("go to", Verb::Go),
    ("go", Verb::Go),
    ("navigate to", Verb::Go),
    ("navigate", Verb::Go),
    ("browse to", Verb::Go),
    ("head to", Verb::Go),
    ("visit", Verb::Go),
    ("open", Verb::Go),
    ("open up", Verb::Go),
    ("load", Verb::Go),
    ("go back", Verb::Back),
    ("navigate back", Verb::Back),
    ("go forward", Verb::Forward),
    ("navigate forward", Verb::Forward),
    ("reload", Verb::Reload),
    ("refresh", Verb::Reload),
    ("read", Verb::Read),
    ("read out", Verb::Read),
    ("what is", Verb::Read),
    ("what's", Verb::Read),
    ("what’s", Verb::Read),
    ("what are", Verb::Read),
    ("what does", Verb::Read),
    ("which", Verb::Read),
    ("who is", Verb::Read),
    ("when is", Verb::Read),
    ("where is", Verb::Read),
    ("how much is", Verb::Read),
    ("how many", Verb::Read),
    ("how much", Verb::Read),
    ("tell me", Verb::Read),
    ("give me", Verb::Read),
    ("extract", Verb::Read),
    ("get", Verb::Read),
    ("report", Verb::Read),
    ("return", Verb::Read),
    ("note", Verb::Read),
    ("find out", Verb::Read),
    ("verify", Verb::Verify),
    ("assert", Verb::Verify),
    ("ensure", Verb::Verify),
    ("make sure", Verb::Verify),
    ("check that", Verb::Verify),
    ("check whether", Verb::Verify),
    ("check if", Verb::Verify),
    ("confirm that", Verb::Verify),
    ("see if", Verb::Verify),
    ("see whether", Verb::Verify),
    ("accept", Verb::Accept),
    ("answer", Verb::Accept),
    ("reply", Verb::Accept),
    ("dismiss", Verb::Dismiss),
    ("switch to", Verb::SwitchTo),
    ("clear", Verb::Clear),
    ("empty", Verb::Clear),
    ("erase", Verb::Clear),
    ("focus", Verb::Focus),
    ("focus on", Verb::Focus),
    ("focus into", Verb::Focus),
    ("drag", Verb::Drag),
    ("upload", Verb::Upload),
    ("attach", Verb::Upload),
    ("use", Verb::Use),
    ("using", Verb::Use),
    ("check out", Verb::Act),
    ("checkout", Verb::Act),
    ("submit", Verb::Act),
    ("order", Verb::Act),
    ("place", Verb::Act),
    ("send", Verb::Act),
    ("save", Verb::Act),
    ("store", Verb::Act),
    ("continue", Verb::Act),
    ("proceed", Verb::Act),
    ("finish", Verb::Act),
    ("confirm", Verb::Act),
    ("apply", Verb::Act),
    ("cancel", Verb::Act),
    ("close", Verb::Act),
    ("delete", Verb::Act),
    ("remove", Verb::Act),
    ("edit", Verb::Act),
    ("modify", Verb::Act),
    ("add", Verb::Act),
    ("create", Verb::Act),
    ("view", Verb::Act),
    ("show", Verb::Act),
    ("hide", Verb::Act),
    ("expand", Verb::Act),
    ("collapse", Verb::Act),
    ("buy", Verb::Act),
    ("purchase", Verb::Act),
    ("pay", Verb::Act),
    ("download", Verb::Act),
    ("export", Verb::Act),
    ("import", Verb::Act),
    ("print", Verb::Act),
    ("publish", Verb::Act),
    ("archive", Verb::Act),
    ("approve", Verb::Act),
    ("reject", Verb::Act),
    ("copy", Verb::Act),
    ("duplicate", Verb::Act),
    ("share", Verb::Act),
    ("reply", Verb::Act),
    ("forward", Verb::Act),
    ("like", Verb::Act),
    ("sort", Verb::Act),
    ("filter", Verb::Act),
    ("register", Verb::Act),
    ("subscribe", Verb::Act),
    ("unsubscribe", Verb::Act),
    ("start", Verb::Act),
    ("stop", Verb::Act),
    ("undo", Verb::Act),
    ("redo", Verb::Act),
    ("rename", Verb::Act),
    ("reset", Verb::Act),
    ("retry", Verb::Act),
    ("agree", Verb::Act),
    ("decline", Verb::Act),
    ("deny", Verb::Act),
];

/// Gerunds, as they stand after `by`.
const GERUNDS: &[(&str, &str)] = &[
    ("clicking", "click"),
    ("pressing", "press"),
    ("hitting", "hit"),
    ("tapping", "tap"),
    ("pushing", "push"),
    ("typing", "type"),
    ("entering", "enter"),
    ("selecting", "select"),
    ("choosing", "choose"),
    ("picking", "pick"),
    ("ticking", "tick"),
    ("checking", "check"),
    ("unchecking", "uncheck"),
    ("submitting", "submit"),
    ("filling", "fill"),
    ("opening", "open"),
    ("using", "use"),
    ("hovering", "hover"),
];

/// The verb at the start of the tokens: what it asks for, the word itself, and its length in tokens.
pub(super) fn verb_at(span: Span<'_>) -> Option<(Verb, &'static str, usize)> {
    let matches = |entry: &str| -> Option<usize> {
        let words: Vec<&str> = entry.split(' ').collect();
        span.starts_with(&words).then_some(words.len())
    };
    VERBS
        .iter()
        .filter_map(|&(entry, verb)| matches(entry).map(|length| (verb, entry, length)))
        .max_by_key(|&(_, _, length)| length)
}

/// The verb of which the token is the gerund.
pub(super) fn gerund(token: &Token) -> Option<(Verb, &'static str)> {
    let (_, stem) = GERUNDS.iter().find(|(form, _)| token.is(form))?;
    VERBS.iter().find(|(entry, _)| entry == stem).map(|&(entry, verb)| (verb, entry))
}

impl Verb {
    /// Whether the verb says nothing without an object.
    pub(super) const fn needs_object(self) -> bool {
        !matches!(
            self,
            Self::Login
                | Self::Act
                | Self::Back
                | Self::Forward
                | Self::Reload
                | Self::Search
                | Self::Scroll
                | Self::Wait
                | Self::Accept
                | Self::Dismiss
        )
    }
}

/// Words that open a noun phrase and say nothing.
pub(super) const DETERMINERS: &[&str] =
    &["the", "a", "an", "this", "that", "these", "those", "my", "your", "our", "his", "her", "their", "its", "some"];

/// Words of politeness and of sequence that may stand before a verb.
pub(super) const FILLERS: &[&str] = &[
    "please",
    "kindly",
    "then",
    "also",
    "finally",
    "now",
    "next",
    "first",
    "afterwards",
    "afterward",
    "lastly",
    "just",
    "you",
    "should",
    "must",
    "can",
    "could",
    "would",
    "will",
    "i",
    "want",
    "need",
    "to",
    "we",
    "us",
    "let's",
    "lets",
    "and",
    "ok",
    "so",
    "simply",
    "go",
    "ahead",
    "once",
    "again",
    "secondly",
    "thirdly",
    "firstly",
    "try",
    "immediately",
    "help",
    "me",
    "like",
    "i'd",
    "subsequently",
];

/// Words that tie a context to what stands before them.
pub(super) const PREPOSITIONS: &[&str] = &[
    "of",
    "for",
    "in",
    "on",
    "from",
    "at",
    "under",
    "within",
    "inside",
    "beside",
    "by",
    "near",
    "belonging",
    "with",
    "into",
    "next",
    "where",
    "whose",
    "below",
    "above",
    "beneath",
    "that",
    "which",
];

/// Words that say what something is called.
pub(super) const NAMING: &[&str] =
    &["labeled", "labelled", "named", "called", "titled", "saying", "reading", "marked", "says", "reads", "entitled"];

/// Words that add nothing to a name when names are compared.
pub(super) const STOPWORDS: &[&str] = &[
    "the",
    "a",
    "an",
    "this",
    "that",
    "my",
    "your",
    "our",
    "his",
    "her",
    "their",
    "its",
    "of",
    "for",
    "in",
    "on",
    "from",
    "at",
    "with",
    "to",
    "into",
    "under",
    "within",
    "inside",
    "by",
    "and",
    "is",
    "are",
    "please",
    "which",
    "whose",
    "where",
    "has",
    "have",
    "having",
    "named",
    "called",
    "labeled",
    "labelled",
    "titled",
    "belonging",
    "next",
    "it",
    "s",
    "you",
    "me",
    "out",
    "now",
    "text",
    "entitled",
    "says",
    "saying",
    "marked",
];

/// Words that name nothing in particular; a phrase may have them and its target not.
pub(super) const SOFT: &[&str] = &[
    "page",
    "item",
    "entry",
    "row",
    "one",
    "value",
    "named",
    "site",
    "website",
    "screen",
    "section",
    "area",
    "panel",
    "control",
    "element",
    "widget",
    "here",
    "there",
    "below",
    "above",
    "same",
    "new",
    "current",
    "record",
    "line",
    "only",
    "corresponding",
    "available",
    "app",
    "application",
    "window",
    "post",
    "user",
    "result",
    "document",
    "column",
    "table",
    "cell",
    "form",
    "input",
];

/// Words for a field that a value may follow directly: `username ann`.
pub(super) const FIELD_WORDS: &[&str] = &[
    "username",
    "user",
    "login",
    "password",
    "passcode",
    "pin",
    "passphrase",
    "name",
    "firstname",
    "lastname",
    "surname",
    "email",
    "e-mail",
    "mail",
    "phone",
    "telephone",
    "mobile",
    "fax",
    "address",
    "street",
    "city",
    "town",
    "zip",
    "postcode",
    "country",
    "state",
    "county",
    "company",
    "organisation",
    "organization",
    "subject",
    "title",
    "message",
    "comment",
    "comments",
    "note",
    "notes",
    "description",
    "quantity",
    "qty",
    "amount",
    "number",
    "price",
    "date",
    "time",
    "day",
    "month",
    "year",
    "age",
    "birthday",
    "birthdate",
    "url",
    "website",
    "code",
    "size",
    "color",
    "colour",
    "search",
    "query",
    "captcha",
    "otp",
    "token",
    "card",
    "cvc",
    "cvv",
    "iban",
    "department",
    "role",
    "category",
    "tag",
    "tags",
    "text",
    "content",
    "body",
    "recipient",
    "reference",
    "language",
    "currency",
    "gender",
    "nationality",
    "occupation",
    "job",
];

/// Words that may stand before a field's word and belong to it: `first name Bob`.
pub(super) const FIELD_MODIFIERS: &[&str] = &[
    "first",
    "last",
    "full",
    "given",
    "family",
    "middle",
    "user",
    "pass",
    "new",
    "old",
    "current",
    "confirm",
    "repeat",
    "verify",
    "billing",
    "shipping",
    "delivery",
    "home",
    "work",
    "street",
    "email",
    "e-mail",
    "phone",
    "telephone",
    "mobile",
    "zip",
    "postal",
    "post",
    "card",
    "credit",
    "order",
    "due",
    "start",
    "end",
    "birth",
    "company",
    "contact",
    "account",
    "login",
    "product",
    "item",
    "job",
    "display",
    "nick",
    "host",
];

/// Words that name a field whose content must not be shown.
pub(super) const SECRET_WORDS: &[&str] =
    &["password", "pin", "passcode", "passphrase", "secret", "token", "otp", "cvc", "cvv"];

/// Words that stand for a form and its fields as a whole.
pub(super) const FORM_WORDS: &[&str] = &[
    "form",
    "forms",
    "field",
    "fields",
    "text",
    "box",
    "boxes",
    "input",
    "inputs",
    "textbox",
    "textboxes",
    "page",
    "below",
    "login",
    "following",
    "details",
    "area",
    "textarea",
    "textfield",
    "textfields",
    "required",
    "respective",
    "corresponding",
    "two",
    "above",
    "credentials",
    "data",
    "entry",
    "into",
    "in",
    "values",
];

/// What a word says about a candidate's role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RoleWord {
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
pub(super) fn role_word(first: &str, second: Option<&str>) -> Option<(RoleWord, usize)> {
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
    pub(super) fn fits(self, candidate: &Candidate) -> bool {
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

/// A place in an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ordinal {
    /// From the start, from 0.
    Nth(usize),
    /// From the end, from 0.
    FromEnd(usize),
}

impl Ordinal {
    /// The entry of a list at this place.
    pub(super) fn pick<T: Copy>(self, list: &[T]) -> Option<T> {
        match self {
            Self::Nth(index) => list.get(index).copied(),
            Self::FromEnd(back) => list.len().checked_sub(back + 1).and_then(|index| list.get(index)).copied(),
        }
    }
}

/// The ordinal at the start of the tokens, and its length.
pub(super) fn ordinal_at(span: Span<'_>) -> Option<(Ordinal, usize)> {
    for (words, place) in [
        (&["next", "to", "last"][..], Ordinal::FromEnd(1)),
        (&["second", "to", "last"][..], Ordinal::FromEnd(1)),
        (&["third", "to", "last"][..], Ordinal::FromEnd(2)),
        (&["second", "last"][..], Ordinal::FromEnd(1)),
    ] {
        if span.starts_with(words) {
            return Some((place, words.len()));
        }
    }
    let word = span.first()?.lower.as_str();
    const NAMES: [&str; 12] = [
        "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh",
        "twelfth",
    ];
    if let Some(index) = NAMES.iter().position(|name| *name == word) {
        return Some((Ordinal::Nth(index), 1));
    }
    match word {
        "last" | "final" | "bottom" | "bottommost" => return Some((Ordinal::FromEnd(0), 1)),
        "penultimate" | "second-to-last" | "next-to-last" => return Some((Ordinal::FromEnd(1), 1)),
        "topmost" | "uppermost" => return Some((Ordinal::Nth(0), 1)),
        _ => {}
    }
    let digits = ["st", "nd", "rd", "th"].iter().find_map(|suffix| word.strip_suffix(suffix))?;
    let number: usize = digits.parse().ok()?;
    number.checked_sub(1).filter(|&index| index < 1_000).map(|index| (Ordinal::Nth(index), 1))
}

/// The number that a word counts.
pub(super) fn counted(word: &str) -> Option<u32> {
    const NAMES: [&str; 12] =
        ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"];
    let named = NAMES.iter().position(|name| *name == word).and_then(|index| u32::try_from(index + 1).ok());
    named.or_else(|| word.trim_end_matches(['x', '×']).parse().ok()).filter(|&count| (1..=9_999).contains(&count))
}

/// Words that are used for each other on controls. The first letter of each list's meaning is in its first word.
const SYNONYMS: &[&[&str]] = &[
    &["submit", "send", "ok", "go", "confirm", "apply", "done", "continue"],
    &["username", "user", "login", "account", "email"],
    &["delete", "remove", "trash", "erase", "discard"],
    &["edit", "modify", "change", "update", "rename"],
    &["close", "dismiss", "x", "cancel", "exit", "hide"],
    &["save", "store", "apply", "keep"],
    &["buy", "purchase", "order", "checkout"],
    &["checkout", "pay"],
    &["search", "find", "lookup", "query", "go"],
    &["next", "continue", "forward", "proceed"],
    &["back", "previous", "prev", "return"],
    &["add", "new", "create", "plus", "+", "insert"],
    &["setting", "preference", "option", "configuration"],
    &["login", "enter"],
    &["logout", "exit"],
    &["signup", "register", "join"],
    &["accept", "agree", "allow", "ok", "yes"],
    &["decline", "reject", "deny", "no", "refuse"],
    &["comment", "message", "remark", "note"],
    &["quantity", "amount", "number", "count"],
    &["image", "picture", "photo"],
    &["expand", "open", "show", "more", "view"],
    &["view", "show", "detail", "open", "see"],
    &["website", "url", "homepage", "link"],
    &["firstname", "given"],
    &["lastname", "family"],
    &["zip", "postal"],
    &["finish", "complete", "done"],
    &["start", "begin", "run", "play"],
    &["reset", "clear"],
    &["verify", "confirm", "repeat", "again", "retype"],
    &["phone", "cell"],
    &["home", "homepage", "start"],
    &["profile", "account"],
];

/// Whether two words are used for each other.
pub(super) fn are_synonyms(a: &str, b: &str) -> bool {
    SYNONYMS.iter().any(|group| group.contains(&a) && group.contains(&b))
}

/// Names of keys, as people write them and as the DOM does.
const KEYS: &[(&str, &str)] = &[
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

const MODIFIERS: &[(&str, &str)] = &[
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
pub(super) fn key(text: &str) -> Option<String> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_chords_have_the_names_of_the_dom() {
        for (text, expected) in [
            ("Enter", Some("Enter")),
            ("ESC", Some("Escape")),
            ("down arrow", Some("ArrowDown")),
            ("Arrow Left", Some("ArrowLeft")),
            ("ctrl+shift+k", Some("Control+Shift+k")),
            ("F5", Some("F5")),
            ("page down", Some("PageDown")),
            ("Order", None),
            ("k", None),
            ("", None),
        ] {
            assert_eq!(key(text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn every_gerund_has_its_verb() {
        for (form, stem) in GERUNDS {
            assert!(VERBS.iter().any(|(entry, _)| entry == stem), "{form}");
        }
    }
}
