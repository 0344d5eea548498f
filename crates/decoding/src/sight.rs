//! The grammar of an answer that lists the features of a picture, in every dialect.

use cuebook_grammar::vision::{FeatureKind, MAX_FEATURES, MAX_LABEL};

use crate::emit::{Emission, Target, emit, emit_tool};
use crate::ir::{Document, Node, Text, member, optional, words};
use crate::spec::GrammarSpec;

/// The longest side of a picture, in pixels.
const SIDE: i64 = 20_000;

/// The grammar for what [`cuebook_grammar::vision::features`] reads, with `confidence` in per cent. The line form writes
/// plans only: in its place the answer is JSON, in GBNF.
#[must_use]
pub fn sights(target: Target) -> (GrammarSpec, Emission) {
    let max = |bound: usize| u32::try_from(bound).unwrap_or(u32::MAX);
    let side = Node::Integer { min: 0, max: SIDE };
    let feature = vec![
        member("label", Node::Text(Text::Free { min: 1, max: max(MAX_LABEL) })),
        member("kind", words(FeatureKind::ALL.map(FeatureKind::as_str))),
        member("box", Node::Array { item: Box::new(side), min: 4, max: 4 }),
        optional("confidence", Node::Integer { min: 0, max: 100 }),
    ];
    let list = Node::Array { item: Box::new(Node::Object(feature)), min: 0, max: max(MAX_FEATURES) };
    let document = Document { definitions: Vec::new(), root: Node::Object(vec![member("features", list)]) };
    let emission = match target {
        Target::Tools | Target::Anthropic | Target::AnthropicPage => {
            emit_tool(target, &document, "features", "What the picture shows")
        }
        Target::Line => emit(Target::Gbnf, &document),
        other => emit(other, &document),
    };
    (GrammarSpec::of(document), emission)
}
