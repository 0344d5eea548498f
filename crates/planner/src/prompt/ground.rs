//! The subject of a prompt.

use cuebook_decoding::GrammarSpec;
use cuebook_decoding::emit::Emission;
use cuebook_grammar::seam::PlanRequest;

/// The subject of a prompt.
pub(crate) struct Ground<'a> {
    pub(crate) request: &'a PlanRequest<'a>,
    pub(crate) spec: &'a GrammarSpec,
    pub(crate) form: &'a Form,
}

/// The form of the answer.
pub(crate) enum Form {
    /// A plan as JSON, constrained.
    Plan,
    /// Tool calls.
    Calls,
    /// One step per line.
    Lines,
    /// A plan as JSON, unconstrained. The prompt states this schema.
    Described(Emission),
}
