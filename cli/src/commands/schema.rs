//! `cuebook schema`: the published schemas.

use cuebook_grammar::{Document, schema_of};

use crate::args::{DocumentName, Output, SchemaArgs, SchemaTarget};
use crate::exit::{Exit, print_json};

pub(crate) fn run(args: &SchemaArgs, _: Output) -> Exit {
    let document = match args.document {
        DocumentName::Plan => Document::Plan,
        DocumentName::Observation => Document::Observation,
        DocumentName::StepRecord => Document::StepRecord,
        DocumentName::Report => Document::Report,
        DocumentName::Policy => Document::Policy,
    };
    match args.target {
        SchemaTarget::JsonSchema => print_json(&schema_of(document)),
    }
    Exit::OK
}
