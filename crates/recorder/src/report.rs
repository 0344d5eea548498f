//! Reports of the script in a page.
//!
//! Only our world has the function that reports, but names and texts in a report are the page's.

use cuebook_grammar::candidate::SelectOption;
use cuebook_grammar::facts::ElementFacts;
use serde::Deserialize;

/// The longest report that is read, in bytes. A value is at most 20,000 characters.
const MOST: usize = 400_000;

/// An element as it was when the event fired.
#[derive(Debug, Deserialize)]
pub(crate) struct Described {
    /// Its number in the document, and those of what is around it, from the inside.
    pub(crate) path: Vec<u64>,
    /// How many of the numbers, from the first, are those of the control itself; 0 if there is none.
    pub(crate) own: usize,
    /// The facts of the control, else of the element.
    pub(crate) facts: ElementFacts,
    /// Its text, at most 80 characters.
    pub(crate) text: String,
}

/// The button of a mouse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Button {
    Left,
    Middle,
    Right,
}

/// One thing that happened in a document.
#[derive(Debug, Deserialize)]
#[serde(tag = "what", rename_all = "camelCase")]
#[expect(clippy::large_enum_variant, reason = "each is read, taken in and dropped, one at a time")]
pub(crate) enum Report {
    /// The script is there.
    Hello,
    /// The document changed, or the pointer revealed something.
    Changed,
    /// A button or finger went down, over what the pointer had revealed.
    Down {
        hovers: Vec<Described>,
    },
    Click {
        target: Described,
        button: Button,
        held: Vec<String>,
    },
    /// The click before was the second of two.
    Double {
        target: Described,
    },
    Press {
        target: Described,
        keys: String,
    },
    /// A field has this value now.
    #[serde(rename_all = "camelCase")]
    Value {
        target: Described,
        text: String,
        #[serde(default)]
        is_cut: bool,
    },
    /// A secret is being typed.
    Typing {
        target: Described,
    },
    /// The secret that was typed.
    Secret {
        target: Described,
        text: String,
    },
    Select {
        target: Described,
        options: Vec<SelectOption>,
    },
    Check {
        target: Described,
        on: bool,
    },
    Files {
        target: Described,
        names: Vec<String>,
    },
    Drag {
        from: Described,
        to: Described,
    },
}

impl Report {
    /// Reads a report; `None` for anything else.
    pub(crate) fn read(text: &str) -> Option<Self> {
        if text.len() > MOST {
            return None;
        }
        // The text may hold a secret, and so may an error that quotes it.
        serde_json::from_str(text).ok()
    }
}
