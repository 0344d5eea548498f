//! A browser that somebody else uses: which of its tabs are ours.
//!
//! Invariant: a tab that is not ours is never set up, listed or named, and nothing of it is kept beyond its id.

use std::collections::HashSet;
use std::path::PathBuf;

use serde::Deserialize;

use crate::error::AttachError;
use crate::ids::TargetId;
use crate::opened::OpenedTabs;
use crate::target_info::{TargetInfo, is_of_the_browser};

/// How a running browser is attached to.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct AttachOptions {
    /// `http://host:port` or a `ws://` address.
    pub endpoint: String,
    /// The tab that is handed over. It stays open; tabs that it opens are ours. `None` for new tabs in a browser
    /// context of our own, without the cookies of others, which the browser disposes of when the connection ends.
    pub tab: Option<OpenTab>,
    /// Where to record what a tab that was handed over has opened, so that it is closed even after we are killed: by
    /// the next connection to the same browser with the same folder.
    pub records: PathBuf,
}

impl AttachOptions {
    /// New tabs, in a context of our own.
    pub fn new(endpoint: impl Into<String>, records: impl Into<PathBuf>) -> Self {
        Self { endpoint: endpoint.into(), tab: None, records: records.into() }
    }
}

/// Which open tab is handed over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OpenTab {
    /// The one with this id.
    Id(TargetId),
    /// The only one whose title or URL equals the text; if none does, the only one whose title or URL contains it.
    Named(String),
}

/// The answer to `Target.getTargets`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Targets {
    pub(crate) target_infos: Vec<TargetInfo>,
}

impl OpenTab {
    /// The tab among all targets of a browser.
    ///
    /// # Errors
    /// [`AttachError::NoSuchTab`], which names no tab of others.
    pub(crate) fn find(&self, targets: &[TargetInfo]) -> Result<TargetId, AttachError> {
        let tabs = || targets.iter().filter(|info| info.kind == "page" && !is_of_the_browser(&info.url));
        let found = |fits: &dyn Fn(&TargetInfo) -> bool| {
            tabs().filter(|info| fits(info)).map(|info| info.target_id.clone()).collect::<Vec<_>>()
        };
        let (wanted, mut found) = match self {
            Self::Id(id) => (id.as_str(), found(&|info| info.target_id == *id)),
            Self::Named(text) => {
                let equal = found(&|info| info.title == *text || info.url == *text);
                let contains = |info: &TargetInfo| info.title.contains(text) || info.url.contains(text);
                (text.as_str(), if equal.is_empty() { found(&contains) } else { equal })
            }
        };
        match (found.pop(), found.len()) {
            (Some(only), 0) => Ok(only),
            (last, others) => Err(AttachError::NoSuchTab {
                wanted: wanted.to_owned(),
                matching: others + usize::from(last.is_some()),
                open: tabs().count(),
            }),
        }
    }
}

/// Which pages of a browser are ours.
#[derive(Default)]
pub(crate) enum Ours {
    /// The browser is ours.
    #[default]
    All,
    /// Those of one browser context.
    Context(String),
    /// A tab that was handed over, and what it opens.
    HandedOver(HandedOver),
}

pub(crate) struct HandedOver {
    pub(crate) tab: TargetId,
    /// The tabs that were open when it was handed over. It may have opened some of them, for somebody else.
    pub(crate) others: HashSet<TargetId>,
    pub(crate) opened: OpenedTabs,
}

impl Ours {
    /// Returns `true` if a page that appears is ours, and records it if a tab of ours opened it.
    pub(crate) fn claim(&mut self, info: &TargetInfo) -> bool {
        match self {
            Self::All => true,
            Self::Context(id) => info.browser_context_id.as_ref() == Some(id),
            Self::HandedOver(HandedOver { tab, others, opened }) => {
                if info.target_id == *tab || opened.contains(&info.target_id) {
                    return true;
                }
                let is_ours = !others.contains(&info.target_id)
                    && info.opener_id.as_ref().is_some_and(|opener| opener == tab || opened.contains(opener));
                if is_ours {
                    opened.add(info.target_id.clone());
                }
                is_ours
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{OpenTab, Targets};
    use crate::error::AttachError;

    fn find(wanted: &str) -> Result<String, AttachError> {
        let tabs = [
            ("1", "Inbox (3)", "https://mail.test/"),
            ("2", "Shop", "https://shop.test/cart"),
            ("3", "Shop", "https://shop.test/pay"),
            ("4", "Shop – help", "https://help.test/"),
            ("5", "New tab", "chrome://newtab/"),
        ];
        let infos: Vec<_> = tabs
            .map(|(id, title, url)| json!({ "targetId": id, "type": "page", "title": title, "url": url }))
            .into_iter()
            .chain([
                json!({ "targetId": "6", "type": "service_worker", "title": "Inbox", "url": "https://mail.test/w" }),
            ])
            .collect();
        let targets: Targets = serde_json::from_value(json!({ "targetInfos": infos })).unwrap();
        OpenTab::Named(wanted.to_owned()).find(&targets.target_infos).map(|id| id.as_str().to_owned())
    }

    #[test]
    fn a_tab_is_named_by_its_title_or_url_whole_before_in_part() {
        assert_eq!(find("Inbox").unwrap(), "1");
        assert_eq!(find("https://shop.test/pay").unwrap(), "3");
        assert_eq!(find("help.test").unwrap(), "4");
    }

    #[test]
    fn an_ambiguous_or_absent_tab_is_an_error_that_names_no_other() {
        for (wanted, count) in [("Shop", 2), ("test", 4), ("New tab", 0), ("Bank", 0)] {
            let error = find(wanted).unwrap_err();
            let AttachError::NoSuchTab { matching, open: 4, .. } = error else { panic!("saw {error:?}") };
            assert_eq!(matching, count, "{wanted}");
            let message = error.to_string();
            assert!(!message.contains("help") && !message.contains("mail"), "{message}");
        }
    }
}
