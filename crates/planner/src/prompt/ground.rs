//! The subject of a prompt.

use cuebook_decoding::GrammarSpec;
use cuebook_grammar::seam::PlanRequest;

use crate::pointing::Space;

/// The subject of a prompt.
pub(crate) struct Ground<'a> {
    pub(crate) request: &'a PlanRequest<'a>,
    pub(crate) spec: &'a GrammarSpec,
    pub(crate) form: Form,
}

/// The form of the answer.
#[derive(Clone, Copy)]
pub(crate) enum Form {
    /// A plan as JSON.
    Plan,
    /// Calls of tools, one per step.
    Calls,
    /// One step per line.
    Lines,
    /// Actions of a space, on a picture.
    Pointing(Space),
}
