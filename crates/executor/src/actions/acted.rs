//! The result of a verb.

use cuebook_grammar::id::PageId;
use serde_json::Value;

use crate::actionability::Ready;
use crate::hit_target::Sealed;
use crate::run::{Entered, Resolved, StepRun};
use crate::stage::{Guarded, Judged, Looking, Release, Sent, Target};
use crate::stop::Part;

/// The result of a verb. It is made of the proof that the step can be judged, so there is none for a target that was
/// not found.
#[derive(Debug)]
pub(crate) struct ActResult {
    pub(crate) judged: Judged,
    /// Data that the action read, if it reads any.
    pub(crate) data: Option<Value>,
    /// The tab that is current from now on, if that changed.
    pub(crate) page: Option<PageId>,
    /// Result of the input in the field, where it differs from the input.
    pub(crate) entered: Option<Entered>,
    /// The target saw only the beginning of the gesture.
    pub(crate) sealed: Option<Sealed>,
}

impl ActResult {
    pub(crate) const fn new(judged: Judged) -> Self {
        Self { judged, data: None, page: None, entered: None, sealed: None }
    }

    /// By this gesture or script, which ends here.
    pub(crate) fn by<D: Release>(sent: Sent<D>) -> Self {
        Self::new(sent.end())
    }

    /// By this gesture, of which the page may have seen nothing.
    pub(crate) fn guarded<D: Release>(sent: Sent<D>, looking: &mut Looking, report: &impl Guarded) -> Self {
        Self::new(sent.end_guarded(looking, report))
    }

    /// The target was as wanted already, or was only to be inspected.
    pub(crate) const fn nothing(target: &Target<Resolved>) -> Self {
        Self::new(target.untouched())
    }
}

/// Input by a script of ours, which holds nothing.
pub(crate) struct Script;

impl Release for Script {
    fn release(&mut self) {}
}

impl StepRun<'_> {
    /// The result of a verb without a target.
    pub(crate) const fn untargeted(&self) -> ActResult {
        ActResult::new(self.looking.untargeted())
    }

    /// A script of ours is about to act on a target.
    pub(crate) async fn script(&mut self, ready: &Ready) -> Part<Sent<Script>> {
        let watching = self.watch_for(ready).await?;
        self.about_to_send()?;
        Ok(ready.arm(watching, Script).send(&mut self.looking))
    }
}
