//! One set of sentences: JSON Schema as llguidance reads it, Lark, GBNF and the reference schema say the same of generated sentences, of sentences with one thing wrong, and of every pair of a verb and a
//! candidate.

use std::sync::Arc;

use cuebook_decoding::emit::{self, Target};
use cuebook_decoding::mask::Masks;
use cuebook_decoding::{GrammarSpec, read, specialise, specialise_with};
use cuebook_grammar::action::ActionKind;
use cuebook_grammar::arbitrary;
use cuebook_grammar::observation::Observation;
use cuebook_grammar::plan::Author;
use cuebook_grammar::policy::Policy;
use jsonschema::Validator;
use llguidance::api::TopLevelGrammar;
use llguidance::{Matcher, ParserFactory};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};
use toktrie::{ApproximateTokEnv, TokEnv, TokRxInfo, TokTrie};

use crate::gbnf::Gbnf;
use crate::{accepts, byte_masks, caps, dialects, ground, sentences, text_of};

/// Every judge of one grammar.
struct Judges {
    spec: GrammarSpec,
    validator: Validator,
    gbnf: Gbnf,
    schema: Matcher,
}

/// Verdicts of the judges on one text.
#[derive(Debug, PartialEq, Eq)]
struct Verdicts {
    gbnf: bool,
    lark: bool,
    schema_of_llguidance: bool,
}

impl Verdicts {
    const fn all(verdict: bool) -> Self {
        Self { gbnf: verdict, lark: verdict, schema_of_llguidance: verdict }
    }
}

/// llguidance over single bytes.
fn bytes() -> ParserFactory {
    let mut tokens: Vec<Vec<u8>> = (0..=u8::MAX).map(|byte| vec![byte]).collect();
    tokens.push(Vec::new());
    let env: TokEnv = Arc::new(ApproximateTokEnv::new(TokTrie::from(&TokRxInfo::new(257, 256), &tokens)));
    let mut factory = ParserFactory::new_simple(&env).unwrap();
    factory.quiet();
    factory
}

/// Compact JSON, as the grammars of characters have it. They write `\u` only for what has no shorter escape.
fn compact(mut schema: Value) -> Value {
    schema["x-guidance"] = json!({
        "whitespace_flexible": false, "item_separator": ",", "key_separator": ":", "json_allowed_escapes": "nrbtfu\"\\",
    });
    schema
}

fn takes(mut matcher: Matcher, text: &str) -> bool {
    let tokens: Vec<u32> = text.bytes().map(u32::from).collect();
    matcher.validate_tokens(&tokens).unwrap() == tokens.len()
        && matcher.consume_tokens(&tokens).is_ok()
        && (matcher.is_stopped() || matcher.is_accepting().unwrap())
}

impl Judges {
    fn of(spec: GrammarSpec, factory: &ParserFactory) -> Self {
        let schema = emit::json_schema::write(spec.document());
        let validator = jsonschema::draft202012::new(&schema).unwrap();
        let gbnf = Gbnf::read(&text_of(Target::Gbnf, &spec));
        let parser = factory.create_parser(TopLevelGrammar::from_json_schema(compact(schema)));
        let schema = Matcher::new(parser);
        assert_eq!(schema.get_error(), None);
        Self { spec, validator, gbnf, schema }
    }

    fn verdicts(&self, masks: &Masks, text: &str) -> Verdicts {
        Verdicts {
            gbnf: self.gbnf.accepts(text),
            lark: accepts(masks, &self.spec, text),
            schema_of_llguidance: takes(self.schema.deep_clone(), text),
        }
    }
}

#[test]
fn all_judges_say_the_same_of_right_and_wrong_sentences() {
    let (factory, masks) = (bytes(), byte_masks());
    let mut runner = TestRunner::deterministic();
    let mut wrong = 0;
    for seed in 0..25 {
        let (observation, policy) = ground().new_tree(&mut runner).unwrap().current();
        let judges = Judges::of(specialise_with(&observation, &policy, &caps()), &factory);
        for sentence in sentences(&judges.spec, seed, 2) {
            assert!(judges.validator.is_valid(&sentence));
            let text = sentence.to_string();
            assert_eq!(judges.verdicts(&masks, &text), Verdicts::all(true), "{text}");
            let mutation = arbitrary::mutated(sentence);
            for _ in 0..3 {
                let mutated = mutation.new_tree(&mut runner).unwrap().current();
                let text = mutated.to_string();
                let verdict = judges.gbnf.accepts(&text);
                assert!(judges.validator.is_valid(&mutated) || !verdict, "{text}");
                assert_eq!(judges.verdicts(&masks, &text), Verdicts::all(verdict), "{text}");
                wrong += usize::from(!verdict);
            }
        }
    }
    assert!(wrong > 50, "most mutations are wrong, saw {wrong} that are");
}

/// The parameters that a verb needs beside its target, if it takes one at all.
fn step(kind: ActionKind, target: &str) -> Option<Value> {
    let mut step = json!({ "type": kind.meta().name, "targetRef": target });
    let members = match kind {
        ActionKind::Click
        | ActionKind::Hover
        | ActionKind::Focus
        | ActionKind::Check
        | ActionKind::Uncheck
        | ActionKind::Clear
        | ActionKind::LongPress
        | ActionKind::SelectText => json!({}),
        ActionKind::Type => json!({ "text": "x" }),
        ActionKind::SetValue => json!({ "value": "x" }),
        ActionKind::Select => json!({ "option": "Small" }),
        ActionKind::Press => json!({ "keys": "Enter" }),
        _ => return None,
    };
    step.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    Some(step)
}

/// A step written as a plan of one step, in the order of the grammar.
fn plan(step: &Value) -> String {
    let order = ["type", "targetRef", "text", "value", "option", "keys"];
    let members: Vec<String> =
        order.iter().filter_map(|name| step.get(*name).map(|value| format!("\"{name}\":{value}"))).collect();
    format!("{{\"version\":\"1.0\",\"last\":{{{}}}}}", members.join(","))
}

fn check_says(observation: &Observation, policy: &Policy, text: &str) -> bool {
    read::read(text, Author::Model).is_ok_and(|draft| draft.check(observation, policy).is_ok())
}

#[test]
fn every_pair_of_verb_and_candidate_is_allowed_by_all_judges_or_by_none() {
    let (factory, masks) = (bytes(), byte_masks());
    let page = dialects::page(2);
    let policy = dialects::policy();
    let judges = Judges::of(specialise(&page, &policy), &factory);
    let mut counts = [0, 0];
    for kind in ActionKind::ALL {
        for target in ["c1", "c2", "c3", "c4", "c5", "c10", "c11", "c12", "c99", "email"] {
            let Some(step) = step(*kind, target) else { continue };
            let text = plan(&step);
            let allowed = judges.gbnf.accepts(&text);
            assert_eq!(judges.verdicts(&masks, &text), Verdicts::all(allowed), "{text}");
            assert_eq!(judges.validator.is_valid(&serde_json::from_str(&text).unwrap()), allowed, "{text}");
            assert_eq!(check_says(&page, &policy, &text), allowed, "{text}");
            counts[usize::from(allowed)] += 1;
        }
    }
    assert!(counts[0] > 60 && counts[1] > 20, "refused and allowed: {counts:?}");
}
