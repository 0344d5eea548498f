//! Decoding under token masks, with an engine that knows nothing: random logits.

use cuebook_decoding::emit::{self, Target};
use cuebook_decoding::mask::{DecodeOptions, Decoded, Form, Logits, Masks, Vocabulary, decode};
use cuebook_decoding::{Caps, GrammarSpec, emit::json_schema, read, specialise_with, write_lines};
use cuebook_grammar::action::ActionKind;
use cuebook_grammar::id::CandidateId;
use cuebook_grammar::plan::Author;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use serde_json::Value;

use crate::{caps, contradicts, dialects, ground};

/// Every byte, and pieces as a tokenizer has them: they cross the borders of members and values.
fn vocabulary() -> Vocabulary {
    const PIECES: [&str; 30] = [
        "{\"",
        "\":\"",
        "\",\"",
        "\"},{\"",
        "\"}]",
        "\":[{\"",
        "version",
        "1.0",
        "steps",
        "last",
        "type",
        "target",
        "Ref",
        "cli",
        "click",
        "\"c",
        "c1",
        "c2",
        "kind",
        "\":",
        ",\"",
        "}}",
        "pre",
        "post",
        "explanation",
        "ype\":\"sc",
        "ick(",
        "(c1",
        ")\n",
        " => ",
    ];
    let mut tokens: Vec<Vec<u8>> = (0..=u8::MAX).map(|byte| vec![byte]).collect();
    tokens.extend(PIECES.iter().map(|piece| piece.as_bytes().to_vec()));
    tokens.push(Vec::new());
    let end = u32::try_from(tokens.len() - 1).unwrap();
    Vocabulary::new(&tokens, end).unwrap()
}

/// The generator SplitMix64: https://prng.di.unimi.it/splitmix64.c
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn uniform(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

struct Noise {
    random: Random,
    size: usize,
}

impl Logits for Noise {
    type Error = std::convert::Infallible;

    fn next(&mut self, _: &[u32]) -> Result<Vec<f32>, Self::Error> {
        Ok((0..self.size).map(|_| (self.random.uniform() * 6.0) as f32).collect())
    }
}

fn noise(masks: &Masks, spec: &GrammarSpec, seed: u64, form: Form, risk_aversion: f64) -> Decoded {
    let mut engine = Noise { random: Random(seed), size: masks.vocabulary().size() };
    let mut random = Random(!seed);
    let options = DecodeOptions { form, temperature: 1.0, risk_aversion };
    decode(masks, spec, &mut engine, options, &mut || random.uniform()).unwrap()
}

#[test]
fn whatever_noise_decodes_under_the_mask_ends_and_passes_every_check() {
    let masks = Masks::new(vocabulary()).unwrap();
    let mut runner = TestRunner::deterministic();
    let mut decoded = 0;
    for page in 0..30_u64 {
        let (observation, policy) = ground().new_tree(&mut runner).unwrap().current();
        // Noise fills every text to its end: short ones show as much.
        let brief = Caps { text: 12, words: 12, reasoning: 12, answer: 12, ..caps() };
        let spec = specialise_with(&observation, &policy, &brief);
        let schema = json_schema::write(spec.document());
        let validator = jsonschema::draft202012::new(&schema).unwrap();
        for trial in 0..10 {
            let form = if trial < 7 { Form::Json } else { Form::Lines };
            let plan = noise(&masks, &spec, page * 100 + trial, form, 0.0);
            assert!(plan.tokens.len() as u64 <= spec.max_tokens());
            let draft =
                read::read(&plan.text, Author::Model).unwrap_or_else(|error| panic!("{error:?}: {}", plan.text));
            if let Err(violations) = draft.check(&observation, &policy) {
                assert!(violations.iter().all(contradicts), "{violations:?}: {}", plan.text);
            }
            assert_eq!(plan.confidences.len(), draft.steps.len(), "{}", plan.text);
            assert!(plan.confidences.iter().all(|confidence| (0.0..=1.0).contains(confidence)));
            if form == Form::Json {
                let value: Value = serde_json::from_str(&plan.text).unwrap();
                assert!(validator.is_valid(&value), "{value}");
            }
            decoded += 1;
        }
    }
    assert_eq!(decoded, 300);
}

/// A long text of which each character is a terminal is as many rows of llguidance's parser.
#[test]
fn no_terminal_of_one_character_is_repeated() {
    let spec = specialise_with(&crate::dialects::page(2), &crate::dialects::policy(), &caps());
    for lark in [emit::line_lark(spec.document()), crate::text_of(Target::Lark, &spec)] {
        assert!(lark.contains("{1,200}/"), "there are long texts: {lark}");
        assert!(!lark.contains("/{"), "{lark}");
    }
}

#[test]
fn risk_and_failures_make_steps_rarer_and_never_impossible_in_both_forms() {
    let page = crate::dialects::page(12);
    let policy = crate::dialects::policy();
    let spec =
        specialise_with(&page, &policy, &Caps { steps: 1, text: 8, words: 8, reasoning: 8, answer: 8, ..caps() });
    let masks = Masks::new(vocabulary()).unwrap();
    let share = |spec: &GrammarSpec, form: Form, risk_aversion: f64, is_meant: fn(&str) -> bool| {
        let clicks = (0..100).filter(|seed| {
            let plan = noise(&masks, spec, *seed, form, risk_aversion);
            let draft = read::read(&plan.text, Author::Model).unwrap();
            assert_eq!(plan.confidences.len(), draft.steps.len(), "{}", plan.text);
            let last = &draft.steps.last().unwrap().action;
            last.kind() == ActionKind::Click && last.target().is_some_and(|target| is_meant(target.as_str()))
        });
        clicks.count()
    };
    for form in [Form::Json, Form::Lines] {
        // The two candidates with ids of three characters delete.
        let dangerous = |id: &str| id.len() == 3;
        let (indifferent, careful) = (share(&spec, form, 0.0, dangerous), share(&spec, form, 4.0, dangerous));
        assert!(careful * 4 < indifferent, "{form:?}: {careful} of 100 against {indifferent}");

        let harmless = |id: &str| id.len() == 2;
        let failed = (1..10).map(|id| (ActionKind::Click, Some(CandidateId(id))));
        let blamed = spec.clone().blaming((0..4).flat_map(|_| failed.clone()));
        let (before, after) = (share(&spec, form, 1.0, harmless), share(&blamed, form, 1.0, harmless));
        assert!(after * 2 <= before, "{form:?}: {after} of 100 against {before}");
    }
}

#[test]
fn a_compiled_grammar_is_kept_and_a_token_beyond_the_mask_is_refused() {
    let masks = Masks::new(Vocabulary::bytes()).unwrap();
    let page = crate::dialects::page(2);
    let spec = specialise_with(&page, &crate::dialects::policy(), &caps());
    for _ in 0..2 {
        let mut mask = masks.start(&spec, Form::Json).unwrap();
        assert!(mask.allowed().unwrap().contains(u32::from(b'{')));
        assert_eq!(mask.allowed().unwrap().count(), 1);
        assert!(mask.accept(u32::from(b'x')).is_err());
    }
    assert!(Vocabulary::new(&[], 0).is_err());
    let lark = crate::text_of(Target::Lark, &spec);
    assert!(lark.starts_with("start: "));
}

/// Noise that leans towards a text: of the tokens that continue it, any may come next.
struct Leaning<'t> {
    vocabulary: &'t Vocabulary,
    text: &'t str,
    noise: Noise,
}

impl Logits for Leaning<'_> {
    type Error = std::convert::Infallible;

    fn next(&mut self, tokens: &[u32]) -> Result<Vec<f32>, Self::Error> {
        let written: usize = tokens.iter().map(|token| self.vocabulary.token(*token).len()).sum();
        let rest = &self.text.as_bytes()[written..];
        let mut logits = self.noise.next(tokens)?;
        for (token, logit) in (0..).zip(&mut logits) {
            let bytes = self.vocabulary.token(token);
            let is_end = token == self.vocabulary.end();
            if (is_end && rest.is_empty()) || (!is_end && rest.starts_with(bytes)) {
                *logit += 60.0;
            }
        }
        Ok(logits)
    }
}

#[test]
fn noise_that_leans_towards_the_articles_plan_writes_it() {
    let (page, plans) = dialects::articles_login();
    let spec = specialise_with(&page, &dialects::policy(), &Caps::default());
    let masks = Masks::new(vocabulary()).unwrap();
    for json in plans {
        let lines = write_lines(&read::read(&json, Author::Model).unwrap());
        for (form, text) in [(Form::Json, &json), (Form::Lines, &lines)] {
            let mut cuts = std::collections::BTreeSet::new();
            for seed in 0..8 {
                let vocabulary = masks.vocabulary();
                let noise = Noise { random: Random(seed), size: vocabulary.size() };
                let mut engine = Leaning { vocabulary, text, noise };
                let mut random = Random(!seed);
                let options = DecodeOptions { form, temperature: 1.0, risk_aversion: 0.0 };
                let decoded = decode(&masks, &spec, &mut engine, options, &mut || random.uniform()).unwrap();
                assert_eq!(decoded.text, *text);
                cuts.insert(decoded.tokens);
            }
            assert!(cuts.len() > 1, "each seed cuts it into tokens of its own");
        }
    }
}
