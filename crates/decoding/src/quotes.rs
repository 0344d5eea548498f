//! The grammar of an answer that quotes values from a page's text, in every dialect.

use cuebook_grammar::filling::{MAX_QUOTE, MAX_QUOTES, Wanted, WantedForm};

use crate::emit::{Emission, Target, emit, emit_tool};
use crate::ir::{Document, Node, Text, member};
use crate::spec::GrammarSpec;

/// The grammar for an object with a member for each of `wanted`, all of them required. The line form writes plans only: in
/// its place the answer is JSON, in GBNF.
#[must_use]
pub fn quotes(target: Target, wanted: &[Wanted]) -> (GrammarSpec, Emission) {
    let quote = || Node::Text(Text::Free { min: 0, max: MAX_QUOTE });
    let list = |item| Node::Array { item: Box::new(item), min: 0, max: MAX_QUOTES };
    let members = wanted.iter().map(|wanted| {
        let node = match &wanted.form {
            WantedForm::Quote => quote(),
            WantedForm::Quotes => list(quote()),
            WantedForm::Items(columns) => {
                list(Node::Object(columns.iter().map(|column| member(&column.key, quote())).collect()))
            }
        };
        member(&wanted.key, node)
    });
    let document = Document { definitions: Vec::new(), root: Node::Object(members.collect()) };
    let emission = match target {
        Target::Tools | Target::Anthropic | Target::AnthropicPage => {
            emit_tool(target, &document, "quotes", "Quotes of the page's text")
        }
        Target::Line => emit(Target::Gbnf, &document),
        other => emit(other, &document),
    };
    (GrammarSpec::of(document), emission)
}
