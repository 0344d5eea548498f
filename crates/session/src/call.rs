//! Calls of a session.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The longest [pause](Call::Pause) of a call.
pub(crate) const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// A call, and the tab that it is for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// The tab: its name, such as `t2`. `None` for the one where the last call ended.
    pub tab: Option<String>,
    /// The call to carry out.
    pub call: Call,
    /// Shows the whole page afterwards instead of what changed.
    pub shows_all: bool,
    /// Files that a [`ContextCall`] names lie in the folder of the run, or, to be read, in a directory that uploads may come
    /// from: a model may have named them.
    #[serde(default)]
    pub is_confined: bool,
}

/// Something that a session does.
///
/// A step is an object of the language, such as `{"type": "click", "targetRef": "c3"}`, whose `targetRef`, `to` and
/// `within` may also be a [description](crate::Call::Act) of an element.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Call {
    /// Opens an address in the current tab. `shop.test` is `https://shop.test`, and `localhost:8080` is
    /// `http://localhost:8080`.
    Open(String),
    /// Shows the whole page.
    Look,
    /// Writes the whole page to a file instead, without a budget.
    LookInto(String),
    /// Runs steps, the later ones only if the earlier ones succeed. An element is named by its id (`c3`, `@c3`), or
    /// described: `role=button[name="Log in"]`, `button "Log in"`, `text=Log in`, `label=User`, `css=#login`, `#login`.
    Act(Vec<Value>),
    /// Checks a whole plan, and runs it unless it is only to be checked.
    Plan {
        /// The plan as the language has it.
        plan: Value,
        /// Checks it against the page as it is, and runs nothing.
        is_dry: bool,
    },
    /// Waits until a text is on the page, or is not there any more.
    Wait {
        /// The text, in letters of any case.
        text: String,
        /// `true` to wait until it is gone.
        is_gone: bool,
    },
    /// Sees whether all of these are visible as the page is now.
    Verify(Vec<Sought>),
    /// Says what is so about the page or an element of it, which need not be one that can be acted on.
    Ask(Fact),
    /// Shows what changed on the page since it was last shown.
    Changes,
    /// Waits this long, at most 30 s.
    Pause(Duration),
    /// Names the open tabs.
    Tabs,
    /// Opens a tab, and an address in it.
    NewTab(Option<String>),
    /// Makes another tab the current one.
    SelectTab(String),
    /// Closes a tab, or the current one.
    CloseTab(Option<String>),
    /// Looks at what surrounds the pages, or changes it.
    Context(ContextCall),
}

/// An element that is looked for: at least one of its members is stated.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Sought {
    /// Its role, such as `button`.
    pub role: Option<String>,
    /// Its accessible name, whole or in part.
    pub name: Option<String>,
    /// A text in it, in letters of any case.
    pub text: Option<String>,
}

/// Something to know of a page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Fact {
    /// The title of the page.
    Title,
    /// The answer to a query of `extract`, with a `targetRef` as a call names elements.
    Read(Value),
    /// `true` or `false`: a condition with such a `target` holds now. The call fails where it does not.
    Holds(Value),
}

/// A call about what surrounds the pages of a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ContextCall {
    /// Saves cookies and local storage to a file.
    SaveState(String),
    /// Adds the cookies and the local storage of a file.
    LoadState(String),
    /// Lists the cookies, all or those of this name, without values.
    Cookies(Option<String>),
    /// Sets a cookie of the session.
    SetCookie {
        /// Name of the cookie.
        name: String,
        /// Value of the cookie.
        value: String,
        /// Address that it is set for; that of the page unless stated.
        url: Option<String>,
    },
    /// Removes the cookies of this name, or all.
    ClearCookies(Option<String>),
    /// Lists the keys that the page stores, without values.
    Storage {
        /// `true` for the storage of the tab, `false` for that of the origin.
        is_session: bool,
        /// The only key to list.
        key: Option<String>,
    },
    /// Lists the names of the secrets, and where each may be entered.
    Credentials,
    /// Changes the settings that are named, as the arguments of `browser_emulate` name them.
    Emulate(Map<String, Value>),
    /// Lists messages of the console, of this level and those above it.
    Console(String),
    /// Lists requests, all or those whose URL has this text in it.
    Requests(Option<String>),
    /// Shows the request of this number, whole.
    Request(f64),
    /// Adds an entry of a policy's `requests`, before all others.
    Route(Value),
    /// As [`Route`](Self::Route), with what a file holds as the body of the answer.
    RouteFile {
        /// The entry, without a body.
        rule: Value,
        /// Path of the file, which has at most 1 MiB of text.
        file: String,
    },
    /// Removes the entries for this URL.
    Unroute(String),
    /// Lists the entries, by URL.
    Routes,
    /// Saves the page as a PDF.
    Pdf(String),
}

impl ContextCall {
    /// Returns `true` if the current page has to answer.
    pub(crate) const fn asks_page(&self) -> bool {
        use ContextCall as C;
        matches!(self, C::SaveState(_) | C::Storage { .. } | C::Emulate(_) | C::Pdf(_) | C::Request(_))
    }

    /// Returns `true` if pages do not learn of it.
    pub(crate) const fn only_looks(&self) -> bool {
        match self {
            Self::SaveState(_)
            | Self::Cookies(_)
            | Self::Storage { .. }
            | Self::Credentials
            | Self::Console(_)
            | Self::Requests(_)
            | Self::Request(_)
            | Self::Routes
            | Self::Pdf(_) => true,
            Self::LoadState(_)
            | Self::SetCookie { .. }
            | Self::ClearCookies(_)
            | Self::Emulate(_)
            | Self::Route(_)
            | Self::RouteFile { .. }
            | Self::Unroute(_) => false,
        }
    }
}

impl Request {
    /// A call in the current tab.
    #[must_use]
    pub const fn of(call: Call) -> Self {
        Self { tab: None, call, shows_all: false, is_confined: false }
    }
}
