//! `cuebook schema`: the published schemas, and the grammar of a page in the dialect of a decoder.

use cuebook_decoding::emit::{Body, Degraded, Emission, LimitUse, Target, emit_within};
use cuebook_decoding::{Caps, GrammarSpec};
use cuebook_grammar::report::ErrorCode;
use cuebook_grammar::{Document, schema_of};
use serde_json::{Value, json};

use crate::args::SchemaArgs;
use crate::exit::{Exit, Output, Refusal, print_json, print_text};
use crate::ground::ground;
use crate::progress;

pub(crate) fn run(args: &SchemaArgs, output: Output) -> Exit {
    if args.target == Target::JsonSchema && args.ground.observation.is_none() {
        print_json(&schema_of(args.document));
        return Exit::OK;
    }
    match specialised(args) {
        Ok((spec, emission, degraded)) => {
            print(&spec, &emission, degraded, output);
            Exit::OK
        }
        Err(refusal) => refusal.print(output),
    }
}

fn specialised(args: &SchemaArgs) -> Result<(GrammarSpec, Emission, Degraded), Refusal> {
    if args.document != Document::Plan {
        let message = "--target and --observation apply to the document `plan` only";
        return Err(Refusal::invalid(ErrorCode::Usage, message));
    }
    let (observation, policy) = ground(&args.ground)?;
    Ok(emit_within(args.target, &observation, &policy, &Caps::default()))
}

/// Prints the grammar on standard output and its properties on standard error; with `--json`, both in one document.
fn print(spec: &GrammarSpec, emission: &Emission, degraded: Degraded, output: Output) {
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
        "{}; at most {} tokens per plan; grammar {}",
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
        Degraded::Candidates(count) => progress::say(&format!("reduced: {count} candidates are offered")),
        Degraded::SingleStep(count) => {
            progress::say(&format!("reduced: one step at a time, with {count} candidates"));
        }
        Degraded::InPrompt => {
            progress::say("too large for the dialect: state it in the prompt instead; the check decides")
        }
        _ => {}
    }
}
