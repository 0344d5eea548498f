//! JavaScript dialogs.

use std::time::Instant;

use cuebook_cdp::DialogAnswer;
use cuebook_grammar::outcome::{Cause, Stage};

use crate::run::{Run, dialog_fact};
use crate::stop::{Part, failed, page_stop};

impl Run<'_> {
    /// Answers the dialog that is open. Until then the page cannot be asked, so what it was like before is
    /// not known; from the answer on it is watched.
    pub(crate) async fn answer_dialog(&mut self, answer: &DialogAnswer) -> Part<()> {
        let Some(dialog) = self.page.dialog() else {
            return failed(Stage::Act, Cause::InvalidArgument, "expected an open dialog, saw none");
        };
        self.about_to_send()?;
        let url = self.page.url();
        // What follows may be the next dialog before the answer to this one is told.
        self.happened.answered.push(dialog_fact(&dialog));
        let (answered, until) = (dialog.clone(), self.until);
        self.race(Stage::Act, async move { answered.answer(answer, until).await })
            .await?
            .map_err(|error| page_stop(error, Stage::Act))?;
        self.happened.effect = true;
        if self.page.closed() || Instant::now() >= self.until {
            return Ok(());
        }
        self.watch().await?;
        self.gathered.was_at(&url);
        Ok(())
    }
}
