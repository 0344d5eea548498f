//! Activity of the tab and the browser since a step began: dialogs, tabs, documents.

use std::collections::BTreeSet;
use std::time::Instant;

use cuebook_cdp::{DialogKind as WireDialog, FrameId, OpenDialog, TargetId};
use cuebook_grammar::facts::{DialogFact, DialogKind};
use cuebook_grammar::render::cut;

/// The most characters of a URL, or of a dialog's message, that are kept.
pub(crate) const LONGEST: usize = 2_000;

/// Activity of the tab and the browser since the step began.
#[derive(Debug, Default)]
pub(crate) struct Activity {
    pub(crate) dialogs: Vec<DialogFact>,
    /// Dialogs that the step itself answered.
    pub(crate) answered: Vec<DialogFact>,
    pub(crate) new_tabs: Vec<NewTab>,
    /// URLs of tabs that closed.
    pub(crate) closed_tabs: Vec<String>,
    pub(crate) refused_tabs: u32,
    pub(crate) new_document: bool,
    /// When the tab began to navigate to another document, while it still does.
    pub(crate) leaving: Option<Instant>,
    /// When its present document was committed, if that was after the input.
    pub(crate) document_at: Option<Instant>,
    /// Frames whose present document is not watched yet.
    pub(crate) dirty: BTreeSet<FrameId>,
    /// URLs that a watched document had in between.
    pub(crate) urls: Vec<String>,
    /// Frames that reported their state at the first event of the gesture.
    pub(crate) rebased: BTreeSet<FrameId>,
    /// A frame reported an effect.
    pub(crate) effect: bool,
    pub(crate) events: u64,
}

/// A tab that opened during the step.
#[derive(Clone, Debug)]
pub(crate) struct NewTab {
    pub(crate) tab: TargetId,
    /// Where it is now.
    pub(crate) url: String,
}

/// A dialog, as conditions and records carry it.
pub(crate) fn dialog_fact(dialog: &OpenDialog) -> DialogFact {
    let kind = match dialog.kind {
        WireDialog::Confirm => DialogKind::Confirm,
        WireDialog::Prompt => DialogKind::Prompt,
        WireDialog::BeforeUnload => DialogKind::BeforeUnload,
        _ => DialogKind::Alert,
    };
    DialogFact { kind, message: cut(&dialog.message, LONGEST) }
}
