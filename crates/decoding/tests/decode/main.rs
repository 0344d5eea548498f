//! Grammars for decoders: what is written under one is read, checked and judged alike by everybody.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

mod agreement;
mod dialects;
mod forms;
mod gbnf;
mod golden;
mod ground;
mod llama;
mod masks;

use cuebook_decoding::mask::{self, Masks, Vocabulary};
use cuebook_decoding::sample::Sampler;
use cuebook_decoding::{GrammarSpec, PlanStream, emit, read, specialise_with, write_lines};
use cuebook_grammar::arbitrary;
use cuebook_grammar::candidate::SelectOption;
use cuebook_grammar::effect::EffectClass;
use cuebook_grammar::plan::{Author, PlanDraft, Violation, ViolationCode};
use cuebook_grammar::policy::{Policy, RegisteredAction};
use ground::{caps, ground, outside};
use proptest::prelude::*;
use proptest::test_runner::Config;
use serde_json::{Value, json};

fn sentences(spec: &GrammarSpec, seed: u64, count: usize) -> Vec<Value> {
    // SplitMix64: https://prng.di.unimi.it/splitmix64.c
    let mut state = seed;
    let mut sampler = Sampler::new(spec.document(), || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    });
    (0..count).map(|_| sampler.sentence()).collect()
}

fn text_of(target: emit::Target, spec: &GrammarSpec) -> String {
    match emit::emit(target, spec.document()).body {
        emit::Body::Text(text) => text,
        emit::Body::Json(body) => panic!("expected a text, saw {body}"),
    }
}

/// Returns `true` if the text is a sentence, as llguidance reads the Lark form byte by byte.
fn accepts(masks: &Masks, spec: &GrammarSpec, text: &str) -> bool {
    let mut mask = masks.start(spec, mask::Form::Json).unwrap();
    text.bytes().all(|byte| mask.accept(u32::from(byte)).is_ok()) && mask.is_whole()
}

/// A lexer that takes the longest terminal would take `10` for the beginning of `10x`.
#[test]
fn every_integer_of_a_range_can_be_written() {
    let schema = json!({
        "type": "object", "required": ["n"], "additionalProperties": false,
        "properties": { "n": { "type": "integer", "minimum": -3, "maximum": 117 } },
    });
    let policy = Policy::default().registering(RegisteredAction::new("count", "Counts", EffectClass::ReadOnly, schema));
    let spec = specialise_with(&cuebook_grammar::sample::page("button \"Go\""), &policy, &caps());
    let masks = byte_masks();
    for n in -5..=120 {
        let last = json!({ "type": "call", "name": "count", "args": { "n": n } });
        let text = format!(r#"{{"version":"1.0","last":{last}}}"#);
        assert_eq!(accepts(&masks, &spec, &text), (-3..=117).contains(&n), "{text}");
    }
}

/// Each notation has characters of its own that no text may hold as they stand.
#[test]
fn options_of_any_characters_can_be_chosen_in_every_dialect() {
    let characters: Vec<char> = ('\0'..='\u{a0}').chain("\u{2028}\u{feff}\u{fffd}😀".chars()).collect();
    let labels: Vec<String> = characters.chunks(6).map(|some| some.iter().collect()).collect();
    let mut page = dialects::page(0);
    let first = page.candidates[1].options[0].clone();
    page.candidates[1].options =
        labels.iter().map(|label| SelectOption { label: label.clone(), ..first.clone() }).collect();
    let spec = specialise_with(&page, &dialects::policy(), &caps());
    let (masks, judge) = (byte_masks(), gbnf::Gbnf::read(&text_of(emit::Target::Gbnf, &spec)));
    masks.start(&spec, mask::Form::Lines).unwrap();
    for label in labels {
        let last = json!({ "type": "select", "targetRef": "c2", "option": label });
        let text = format!(r#"{{"version":"1.0","last":{last}}}"#);
        assert!(accepts(&masks, &spec, &text), "{text}");
        assert!(judge.accepts(&text), "{text}");
    }
}

/// Returns `true` for a violation that the grammar leaves to the check, since a step states several conditions: two of
/// them contradict each other, or one says nothing. A plan with either is still refused, by the check that every plan
/// passes before it runs (`grammar`, `plan/check.rs`).
fn contradicts(violation: &Violation) -> bool {
    matches!(violation.code, ViolationCode::ContradictoryConditions | ViolationCode::VacuousCondition)
}

fn byte_masks() -> Masks {
    Masks::new(Vocabulary::bytes()).unwrap()
}

proptest! {
    #![proptest_config(Config { cases: 60, max_shrink_iters: 40, ..Config::default() })]

    #[test]
    fn whatever_the_grammar_writes_passes_schema_check_and_bound((observation, policy) in ground(), seed: u64) {
        let spec = specialise_with(&observation, &policy, &caps());
        let schema = emit::json_schema::write(spec.document());
        let validator = jsonschema::draft202012::new(&schema).unwrap();
        let masks = byte_masks();
        for sentence in sentences(&spec, seed, 8) {
            let text = sentence.to_string();
            prop_assert!(validator.is_valid(&sentence), "{text}");
            prop_assert!(text.len() as u64 <= spec.max_tokens());
            prop_assert!(accepts(&masks, &spec, &text), "{text}");
            let draft = read::read(&text, Author::Model);
            let draft = draft.map_err(|violations| TestCaseError::fail(format!("{violations:?}: {text}")))?;
            if let Err(violations) = draft.check(&observation, &policy) {
                prop_assert!(violations.iter().all(contradicts), "{violations:?}: {text}");
            }
        }
    }

    #[test]
    fn every_dialect_has_the_same_sentences((observation, policy) in ground(), seed: u64, other in any::<prop::sample::Index>()) {
        let spec = specialise_with(&observation, &policy, &caps());
        let schema = emit::json_schema::write(spec.document());
        let validator = jsonschema::draft202012::new(&schema).unwrap();
        let judge = gbnf::Gbnf::read(&text_of(emit::Target::Gbnf, &spec));
        let masks = byte_masks();
        let candidates = sentences(&spec, seed, 3);
        for sentence in &candidates {
            prop_assert!(judge.accepts(&sentence.to_string()), "{sentence}");
        }
        // A sentence with one thing wrong is wrong for all, or still right for all.
        let mutation = arbitrary::mutated(other.get(&candidates).clone());
        let mut runner = proptest::test_runner::TestRunner::deterministic();
        for _ in 0..6 {
            let mutated = mutation.new_tree(&mut runner).unwrap().current();
            let valid = validator.is_valid(&mutated);
            let text = mutated.to_string();
            // A grammar of characters has an order of members too, which a schema has not.
            let ordered = accepts(&masks, &spec, &text);
            prop_assert!(valid || !ordered);
            prop_assert_eq!(judge.accepts(&text), ordered, "gbnf on {}", &text);
        }
    }

    #[test]
    fn lines_say_the_same_as_json((observation, policy) in ground(), seed: u64) {
        let spec = specialise_with(&observation, &policy, &caps());
        let judge = gbnf::Gbnf::read(&text_of(emit::Target::Line, &spec));
        for sentence in sentences(&spec, seed, 4) {
            let mut draft = read::read(&sentence.to_string(), Author::Model).unwrap();
            draft.reasoning_summary = None;
            let lines = write_lines(&draft);
            prop_assert!(judge.accepts(&lines), "{lines}\n{sentence}");
            let again = read::read_as(read::Form::Lines, &lines, Author::Model);
            prop_assert_eq!(again, Ok(draft), "{}", lines);
        }
    }

    #[test]
    fn any_step_survives_the_line_form(draft in arbitrary::any::<PlanDraft>()) {
        for step in &draft.steps {
            let mut plan = PlanDraft::of(Author::Operator, vec![step.clone()]);
            let line = write_lines(&plan);
            let again = read::read_as(read::Form::Lines, &line, Author::Operator);
            plan.author = Author::Operator;
            prop_assert_eq!(again.map_err(|v| format!("{v:?}")), Ok(plan), "{}", line);
        }
    }

    #[test]
    fn steps_come_out_of_a_stream_however_it_is_cut((observation, policy) in ground(), seed: u64, cuts in prop::collection::vec(1_usize..40, 1..30)) {
        let spec = specialise_with(&observation, &policy, &caps());
        for sentence in sentences(&spec, seed, 2) {
            let text = format!("Here is the plan:\n```json\n{}\n```\nDone.", serde_json::to_string_pretty(&sentence).unwrap());
            let draft = read::read(&text, Author::Model).unwrap();
            let mut stream = PlanStream::new(spec.document());
            let mut steps = Vec::new();
            let mut rest = text.as_bytes();
            for cut in cuts.iter().cycle() {
                let (piece, more) = rest.split_at((*cut).min(rest.len()));
                steps.extend(stream.push(piece).unwrap());
                rest = more;
                if rest.is_empty() { break; }
            }
            prop_assert_eq!(&steps, &draft.steps);
            let whole = stream.finish().unwrap();
            prop_assert_eq!(serde_json::from_slice::<Value>(&whole).unwrap(), sentence);
        }
    }

    #[test]
    fn no_text_makes_a_reader_panic(text in "[\\x20-\\x7eé{}\\[\\](),\":#=>\n]{0,80}", prefix in 0_usize..5) {
        let front = ["", "{\"steps\":[", "click(", "<Action>", "[{\"name\":\"click\",\"arguments\":"][prefix];
        let text = format!("{front}{text}");
        let _ = read::read(&text, Author::Model);
        let mut stream = PlanStream::unconstrained();
        let _ = stream.push(text.as_bytes());
        let _ = stream.finish();
    }
}
