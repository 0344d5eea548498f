//! Names of tabs: `t1`, `t2`, …, never reused.

use std::collections::BTreeMap;

use cuebook_grammar::id::PageId;
use cuebook_grammar::observation::{Observation, TabSummary};
use cuebook_grammar::render::quoted;

/// The tabs that a session has seen.
#[derive(Debug, Default)]
pub(crate) struct Tabs {
    names: BTreeMap<PageId, u32>,
    last: u32,
    /// The open ones, as they were last seen.
    open: Vec<TabSummary>,
}

impl Tabs {
    /// Takes in the tabs of an observation.
    pub(crate) fn note(&mut self, seen: &Observation) {
        self.open.clone_from(&seen.tabs);
        if self.open.is_empty() {
            let (page, url, title) = (seen.page.clone(), seen.url.clone(), seen.title.clone());
            self.open.push(TabSummary { page, url, title, current: true });
        }
        for index in 0..self.open.len() {
            let page = self.open.get(index).map(|tab| tab.page.clone());
            page.map(|page| self.name(&page));
        }
    }

    /// The name of a tab, new or not.
    pub(crate) fn name(&mut self, page: &PageId) -> String {
        let last = &mut self.last;
        let number = self.names.entry(page.clone()).or_insert_with(|| {
            *last += 1;
            *last
        });
        format!("t{number}")
    }

    /// The open tab of this name, and its position.
    ///
    /// # Errors
    /// The names of the open tabs.
    pub(crate) fn find(&self, name: &str) -> Result<(usize, PageId), String> {
        let number = name.strip_prefix('t').and_then(|number| number.parse::<u32>().ok());
        let found = self.open.iter().position(|tab| number.is_some() && self.names.get(&tab.page) == number.as_ref());
        match found.and_then(|index| Some((index, self.open.get(index)?.page.clone()))) {
            Some(found) => Ok(found),
            None => {
                let open: Vec<String> =
                    self.open.iter().filter_map(|tab| Some(format!("t{}", self.names.get(&tab.page)?))).collect();
                Err(format!("there is no tab {}; open are {}", quoted(name, 40), open.join(", ")))
            }
        }
    }

    /// The last one was closed.
    pub(crate) fn close_all(&mut self) {
        self.open.clear();
    }

    pub(crate) fn has(&self, page: &PageId) -> bool {
        self.open.iter().any(|tab| tab.page == *page)
    }

    /// Another open tab than this one.
    pub(crate) fn beside(&self, page: &PageId) -> Option<PageId> {
        self.open.iter().map(|tab| &tab.page).find(|other| *other != page).cloned()
    }

    /// Returns `true` if there is another tab to speak of.
    pub(crate) fn are_several(&self) -> bool {
        self.open.len() > 1
    }

    /// One line for each open tab.
    pub(crate) fn lines(&self) -> Vec<String> {
        let line = |tab: &TabSummary| {
            let number = self.names.get(&tab.page).copied().unwrap_or_default();
            let current = if tab.current { " (current)" } else { "" };
            format!("- t{number}{current}: {} {}", quoted(&tab.title, 80), quoted(&tab.url, 200))
        };
        self.open.iter().map(line).collect()
    }
}
