//! Tabs.

use cuebook_cdp::{Page, TargetId};
use cuebook_grammar::id::PageId;
use cuebook_grammar::outcome::{Cause, Stage};
use cuebook_grammar::wire::Count;

use crate::actions::Acted;
use crate::run::Run;
use crate::stop::{Part, call_stop, failed, page_stop};

impl Run<'_> {
    /// Makes another tab the current one.
    pub(crate) async fn switch_tab(&mut self, tab: Count) -> Part<Acted> {
        let page = self.tab_at(tab)?;
        let front = page.clone();
        let until = self.until;
        if page.dialog().is_none() {
            self.race(Stage::Act, async move { front.bring_to_front(until).await })
                .await?
                .map_err(|error| call_stop(error, Stage::Act))?;
        }
        Ok(Acted { page: Some(PageId::new(page.target_id().as_str())), ..Acted::default() })
    }

    /// Closes a tab. If it was the current one, its opener is current afterwards, or the newest tab.
    pub(crate) async fn close_tab(&mut self, tab: Option<Count>) -> Part<Acted> {
        let page = match tab {
            Some(tab) => self.tab_at(tab)?,
            None => self.page.clone(),
        };
        self.about_to_send()?;
        page.close(self.until).await.map_err(|error| page_stop(error, Stage::Act))?;
        self.happened.effect = true;
        self.tab_closed(page.target_id());
        if page != self.page {
            // What is watched is the tab that stays.
            self.is_armed = true;
            return Ok(Acted::default());
        }
        self.gathered.set_before();
        self.is_armed = true;
        let next = self.successor();
        Ok(Acted { page: next.map(|next| PageId::new(next.target_id().as_str())), ..Acted::default() })
    }

    /// The tab at a position of the observation; of the browser, where nothing was observed.
    fn tab_at(&self, position: Count) -> Part<Page> {
        let index = usize::try_from(position.get()).unwrap_or(usize::MAX);
        let page = if self.ground.tabs.is_empty() {
            self.browser.pages().get(index).cloned()
        } else {
            let observed = self.ground.tabs.get(index);
            observed.and_then(|tab| self.browser.page(&TargetId::from(tab.page.as_str())))
        };
        match page {
            Some(page) => Ok(page),
            None => failed(
                Stage::Act,
                Cause::InvalidArgument,
                format!("expected an open tab, saw none at position {index}"),
            ),
        }
    }
}
