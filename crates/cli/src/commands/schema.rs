//! `cuebook schema`: the published schemas, and the grammar of a page in the dialect of a decoder.

use cuebook_decoding::emit::{Body, Degraded, Emission, LimitUse, Target, emit_within};
use cuebook_decoding::{Caps, GrammarSpec};
use cuebook_grammar::report::ErrorCode;
use cuebook_grammar::{Document, schema_of};
use serde_json::{Value, json};

use crate::args::{DocumentName, SchemaArgs};
use crate::exit::{Exit, Output, Refusal, print_json, print_text};
use crate::{input, progress};

pub(crate) fn run(args: &SchemaArgs, output: Output) -> Exit {
    let document = match args.document {
        DocumentName::Plan => Document::Plan,
        DocumentName::Observation => Document::Observation,
        DocumentName::StepRecord => Document::StepRecord,
        DocumentName::PlanningRecord => Document::PlanningRecord,
        DocumentName::Report => Document::Report,
        DocumentName::Policy => Document::Policy,
    };
    let target = args.target;
    let is_published = target == Target::JsonSchema && args.ground.observation.is_none();
    if is_published {
        print_json(&schema_of(document));
        return Exit::OK;
    }
    match specialised(document, target, args) {
        Ok((spec, emission, degraded)) => {
            tell(&spec, &emission, degraded, output);
            Exit::OK
        }
        Err(refusal) => refusal.tell(output),
    }
}

fn specialised(
    document: Document,
    target: Target,
    args: &SchemaArgs,
) -> Result<(GrammarSpec, Emission, Degraded), Refusal> {
    if document != Document::Plan {
        let message = format!("expected the document `plan`: models write nothing else in {}", target.as_str());
        return Err(Refusal::invalid(ErrorCode::Usage, message));
    }
    let (observation, policy) = input::ground(&args.ground)?;
    Ok(emit_within(target, &observation, &policy, &Caps::default()))
}

/// The grammar on standard output, as an engine takes it; what is to know about it beside, or around it as JSON.
fn tell(spec: &GrammarSpec, emission: &Emission, degraded: Degraded, output: Output) {
    let body = match &emission.body {
        Body::Json(document) => document.clone(),
        Body::Text(text) => Value::from(text.as_str()),
    };
    if output.json {
        print_json(&json!({
            "target": emission.target,
            "body": body,
            "lost": emission.lost,
            "limits": emission.limits,
            "degraded": degraded,
            "candidates": spec.offered().len(),
            "leftOut": spec.left_out(),
            "maxTokens": spec.max_tokens(),
            "hash": spec.hash(),
        }));
        return;
    }
    match &emission.body {
        Body::Json(document) => print_json(document),
        Body::Text(text) => print_text(text),
    }
    if output.quiet {
        return;
    }
    progress::say(&format!(
        "{}; at most {} tokens a plan; grammar {}",
        progress::counted(spec.offered().len(), "candidate"),
        spec.max_tokens(),
        spec.hash()
    ));
    if !emission.lost.is_empty() {
        progress::say(&format!("left to the check: {}", json!(emission.lost)));
    }
    for LimitUse { limit, used, allowed } in &emission.limits {
        progress::say(&format!("{limit}: {used} of {allowed}"));
    }
    match degraded {
        Degraded::Candidates(count) => progress::say(&format!("made smaller: {count} candidates are offered")),
        Degraded::SingleStep(count) => {
            progress::say(&format!("made smaller: one step at a time, of {count} candidates"));
        }
        Degraded::InPrompt => progress::say("too large for the dialect: put it into the prompt; the check decides"),
        _ => {}
    }
}
