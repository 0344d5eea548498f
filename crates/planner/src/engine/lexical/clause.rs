//! Clauses: what an instruction asks for, one act at a time, before any page is looked at.
//!
//! Invariant: the clauses of an instruction depend on its text alone, so that they are the same each time
//! that a run asks for a plan.

use cuebook_grammar::action::Direction;

use super::phrase::Phrase;

/// One act that the instruction asks for.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Clause {
    /// What is to be done.
    pub(super) act: Act,
    /// The clause as it stands in the instruction.
    pub(super) source: String,
    /// Where it stands there: byte offsets.
    pub(super) place: (usize, usize),
    /// What was said about the place before the verb: `on the login page, …`. Compared words.
    pub(super) scope: Vec<String>,
}

/// Text that is to be typed or chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value {
    /// As written.
    Text(String),
    /// The name of a credential.
    Credential(String),
}

impl Value {
    /// The text, if it is one.
    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Credential(_) => None,
        }
    }
}

/// A value and where it goes.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Entry {
    /// Where; nowhere in particular if absent.
    pub(super) field: Option<Phrase>,
    /// What; absent where the page must tell name and value apart.
    pub(super) value: Option<Value>,
    /// All of it as written.
    pub(super) raw: String,
}

/// Whether a value is added to what a field holds, or replaces it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Manner {
    Enter,
    Replace,
}

/// A list as it was written; which commas divide it is for the page to say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Items {
    /// The parts between commas and `and`, each with its place in `raw`.
    pub(super) parts: Vec<(usize, usize)>,
    /// All of it.
    pub(super) raw: String,
}

impl Items {
    /// The text from part `from` to part `to`, both included, without enclosing quotes.
    pub(super) fn joined(&self, from: usize, to: usize) -> String {
        let (Some(first), Some(last)) = (self.parts.get(from), self.parts.get(to)) else { return String::new() };
        let text = self.raw.get(first.0..last.1).unwrap_or_default();
        super::clauses::unquoted(text).to_owned()
    }
}

/// How a target is clicked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Clicks {
    Single,
    Double,
    Right,
}

/// On or off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    On,
    Off,
}

/// What is waited for.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Awaited {
    /// A text on the page.
    Appears(String),
    /// A text that goes.
    Goes(String),
    /// So many milliseconds.
    Span(u32),
    /// Quiet.
    Quiet,
}

/// Where a `go` goes.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Place {
    /// A URL, absolute or not.
    Url(String),
    /// Something on the page that leads there.
    Thing(Phrase),
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Act {
    Click {
        target: Phrase,
        clicks: Clicks,
    },
    /// A key, or a button of that name.
    Press {
        keys: String,
        target: Phrase,
    },
    /// A control that is called by the verb itself.
    Do {
        verb: String,
        object: Option<Phrase>,
    },
    Enter {
        entries: Vec<Entry>,
        manner: Manner,
    },
    Choose {
        items: Items,
        from: Option<Phrase>,
    },
    Toggle {
        items: Option<Items>,
        except: Option<Items>,
        wanted: Wanted,
        only: bool,
    },
    Login {
        user: Option<Value>,
        password: Option<Value>,
        rest: String,
    },
    Search {
        what: Value,
        field: Option<Phrase>,
        submits: bool,
    },
    Hover(Phrase),
    Focus(Phrase),
    Clear(Phrase),
    Scroll {
        direction: Option<Direction>,
        to: Option<Phrase>,
    },
    Wait(Awaited),
    Go(Place),
    Back,
    Forward,
    Reload,
    Read {
        what: Phrase,
        question: String,
    },
    Verify {
        what: Phrase,
        absent: bool,
    },
    AcceptDialog {
        text: Option<String>,
    },
    DismissDialog,
    SwitchTo(Phrase),
    CloseTab,
    Drag {
        what: Phrase,
        to: Phrase,
    },
    Upload {
        files: Vec<String>,
        field: Option<Phrase>,
    },
    /// What was bought is to be ordered: the page must say so.
    Conclude {
        verb: String,
    },
    /// Asked for nothing: `select nothing`, `don't tick B`.
    Nothing,
    /// Not understood.
    Unknown,
}

impl Clause {
    /// The texts of the clause that may be secrets and must not be repeated.
    pub(super) fn secrets(&self) -> Vec<&str> {
        match &self.act {
            Act::Login { password, .. } => password.iter().filter_map(Value::text).collect(),
            Act::Enter { entries, .. } => entries
                .iter()
                .filter(|entry| {
                    let field = entry.field.iter().flat_map(|field| field.head.iter().chain(&field.hints));
                    let mut names = field.map(String::as_str);
                    names.any(|word| super::lexicon::SECRET_WORDS.contains(&word))
                })
                .filter_map(|entry| entry.value.as_ref()?.text())
                .collect(),
            _ => Vec::new(),
        }
    }

    /// All texts that the clause has typed.
    pub(super) fn typed(&self) -> Vec<&str> {
        match &self.act {
            Act::Enter { entries, .. } => entries.iter().filter_map(|entry| entry.value.as_ref()?.text()).collect(),
            _ => self.secrets(),
        }
    }
}
