//! Task and observation to plan draft.
//!
//! Every engine stands behind [`cuebook_grammar::seam::Planner`] and answers with ordinary drafts: nothing
//! that an engine says runs before the language's own check has passed it.

pub mod engine;

pub use engine::lexical::Lexical;
pub use engine::scripted::{Scripted, ScriptedError};
