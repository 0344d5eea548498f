//! Grammars for decoders: what a model may write about one page, and how what it wrote is read.
//!
//! [`specialise`] turns an observation and a policy into a [`GrammarSpec`]: what may be asked of this page. Emitters,
//! masks and [`PlanStream`] all work from its [`ir::Document`], so that no two of them accept different sentences.
//!
//! Costs: specialising and emitting is linear in candidates, well under a millisecond for a hundred.
//!
//! Invariants:
//! - Every sentence of a document is finite: strings, arrays and integers are bounded, and nothing recurs. A dialect that
//!   cannot say the lengths of texts lists them among its losses.
//!   [`ir::Document::worst_case`] is the number of bytes, and so of tokens, that no sentence exceeds.
//! - What the policy forbids, or its target does not support, is not in the grammar. Weights are never bans.
//! - A sentence holds one step that may leave the page, and it is the last.

pub mod brief;
pub mod emit;
pub mod ir;
pub mod read;
pub mod stream;
mod toolset;

#[cfg(any(test, feature = "sample"))]
pub mod sample;

#[cfg(feature = "mask")]
pub mod mask;

mod caps;
mod confidence;
mod foreign;
mod integers;
mod line_form;
mod opening;
mod quotes;
mod scan;
mod shapes;
mod sight;
mod spec;
mod write_line;

pub use caps::{Caps, LeftOut};
pub use confidence::{TokenProbability, confidences};
pub use opening::Misfit;
pub use quotes::quotes;
pub use shapes::{UNWRITTEN, UNWRITTEN_CONDITIONS, UNWRITTEN_EXTRACTS};
pub use sight::sights;
pub use spec::{GrammarSpec, Offered, specialise, specialise_with};
pub use stream::{PlanStream, StreamError};
pub use write_line::{write_line, write_lines};
