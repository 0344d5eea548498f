//! Switches between tabs, and closes them.

use std::time::Instant;

use cuebook_cdp::{Page, TargetId};
use cuebook_grammar::id::PageId;
use cuebook_grammar::outcome::{Cause, Stage};
use cuebook_grammar::wire::Count;

use crate::actions::ActResult;
use crate::retry::Tries;
use crate::run::StepRun;
use crate::seen::Event;
use crate::stop::{Part, call_stop, failed, page_stop};

impl StepRun<'_> {
    /// Makes another tab the current one.
    pub(crate) async fn switch_tab(&mut self, tab: Count) -> Part<ActResult> {
        let page = self.tab_at(tab).await?;
        let front = page.clone();
        let until = self.until;
        if page.dialog().is_none() {
            self.race(Stage::Act, async move { front.bring_to_front(until).await })
                .await?
                .map_err(|error| call_stop(error, Stage::Act))?;
        }
        Ok(ActResult { page: Some(PageId::new(page.target_id().as_str())), ..self.untargeted() })
    }

    /// Closes a tab. If it was the current one, its opener is current afterwards, or the newest tab.
    pub(crate) async fn close_tab(&mut self, tab: Option<Count>) -> Part<ActResult> {
        let page = match tab {
            Some(tab) => self.tab_at(tab).await?,
            None => self.page.clone(),
        };
        if self.browser.handed_over().as_ref() == Some(page.target_id()) {
            let message = "this tab was handed over by its user, who goes on using it: it is not closed".to_owned();
            return failed(Stage::Act, Cause::Unsupported, message);
        }
        self.about_to_send()?;
        page.close(self.until).await.map_err(|error| page_stop(error, Stage::Act))?;
        self.saw(Event::Effect);
        self.tab_closed(page.target_id());
        if page != self.page {
            // The tab that stays is watched.
            self.begin_watching();
            return Ok(self.untargeted());
        }
        self.begin_watching();
        let next = self.successor();
        Ok(ActResult { page: next.map(|next| PageId::new(next.target_id().as_str())), ..self.untargeted() })
    }

    /// The tab at a position of the observation, or of the browser where nothing was observed. There, a tab that the step
    /// before opens is waited for like any other target.
    async fn tab_at(&mut self, position: Count) -> Part<Page> {
        let index = usize::try_from(position.get()).unwrap_or(usize::MAX);
        let by = self.ready_by();
        let mut tries = Tries::default();
        loop {
            let is_observed = !self.ground.tabs.is_empty();
            let page = if is_observed {
                let observed = self.ground.tabs.get(index);
                observed.and_then(|tab| self.browser.page(&TargetId::from(tab.page.as_str())))
            } else {
                self.browser.pages_beside(&self.page).get(index).cloned()
            };
            if let Some(page) = page {
                return Ok(page);
            }
            if is_observed || Instant::now() >= by {
                let message = format!("there is no open tab at position {index}");
                return failed(Stage::Act, Cause::InvalidArgument, message);
            }
            self.pause(Stage::Act, tries.rest()).await?;
        }
    }
}
