//! Answers to JavaScript dialogs, which block the page until then.

use std::time::Instant;

use cuebook_cdp::DialogAnswer;
use cuebook_grammar::outcome::{Cause, Stage};

use crate::activity::dialog_fact;
use crate::run::StepRun;
use crate::seen::Event;
use crate::stop::{Part, failed, page_stop};

impl StepRun<'_> {
    /// Answers the open dialog. The page does not answer before, so its state is unknown; it is watched from the answer
    /// on.
    pub(crate) async fn answer_dialog(&mut self, answer: &DialogAnswer) -> Part<()> {
        let Some(dialog) = self.page.dialog() else {
            return failed(Stage::Act, Cause::InvalidArgument, "no dialog is open");
        };
        self.about_to_send()?;
        let url = self.page.url();
        // The next dialog may open before the reply to this answer arrives.
        self.saw(Event::DialogAnswered { dialog: dialog_fact(&dialog) });
        let (answered, until) = (dialog.clone(), self.until);
        self.race(Stage::Act, async move { answered.answer(answer, until).await })
            .await?
            .map_err(|error| page_stop(error, Stage::Act))?;
        self.saw(Event::Effect);
        if self.page.closed() || Instant::now() >= self.until {
            return Ok(());
        }
        self.watch().await?;
        self.saw(Event::CameFrom { url });
        Ok(())
    }
}
