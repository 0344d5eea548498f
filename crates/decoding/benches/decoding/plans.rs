//! Plans from random logits under the mask of a real vocabulary: each ends within its computed bound, parses, passes
//! the reference schema and the check.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use cuebook_decoding::mask::{DecodeError, DecodeOptions, Form, MaskError, Masks, decode};
use cuebook_decoding::{Caps, GrammarSpec, emit, read, specialise_with};
use cuebook_grammar::observation::Observation;
use cuebook_grammar::plan::Author;
use cuebook_grammar::policy::Policy;
use jsonschema::Validator;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::{Value, json};

use crate::ground::{caps, ground};
use crate::random::{Noise, Random};
use crate::vocabulary::o200k;

/// Plans of one page and policy.
const PER_PAGE: u64 = 10;
/// Every so manyth page has texts as long as products have them; noise fills each to its end.
const LONG_TEXTS: u64 = 10;

/// Sums and failures over plans, kept by each thread and added up at the end.
#[derive(Clone, Debug, Default)]
struct Sums {
    plans: u64,
    tokens: u64,
    most_tokens: u64,
    /// The nearest that a plan came to its bound, in per mille of it.
    nearest_to_bound: u64,
    steps: u64,
    verbs: BTreeMap<String, u64>,
    failures: BTreeMap<&'static str, u64>,
    examples: Vec<Value>,
}

impl Sums {
    fn add(&mut self, other: Self) {
        self.plans += other.plans;
        self.tokens += other.tokens;
        self.most_tokens = self.most_tokens.max(other.most_tokens);
        self.nearest_to_bound = self.nearest_to_bound.max(other.nearest_to_bound);
        self.steps += other.steps;
        other.verbs.into_iter().for_each(|(verb, count)| *self.verbs.entry(verb).or_default() += count);
        other.failures.into_iter().for_each(|(what, count)| *self.failures.entry(what).or_default() += count);
        self.examples.extend(other.examples);
    }

    fn fail(&mut self, what: &'static str, detail: &str, text: &str) {
        *self.failures.entry(what).or_default() += 1;
        if self.examples.len() < 5 {
            self.examples.push(json!({ "what": what, "detail": detail, "text": text }));
        }
    }
}

/// Decodes and judges `count` plans on so many threads.
pub(crate) fn run(count: u64, seed: u64, threads: u64) -> Value {
    let masks = Masks::new(o200k()).unwrap();
    let size = masks.vocabulary().size();
    let table = Noise::table(size, seed);
    let next = AtomicU64::new(0);
    let work = || {
        let mut sums = Sums::default();
        loop {
            let page = next.fetch_add(1, Ordering::Relaxed);
            if page * PER_PAGE >= count {
                return sums;
            }
            let here = PER_PAGE.min(count - page * PER_PAGE);
            one_page(&masks, &table, seed, page, here, &mut sums);
        }
    };
    let mut sums = Sums::default();
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads.max(1)).map(|_| scope.spawn(work)).collect();
        workers.into_iter().for_each(|worker| sums.add(worker.join().unwrap()));
    });
    let failed: u64 = sums.failures.values().sum();
    let names = ["tooLong", "mask", "parse", "schema", "check", "confidences"];
    let failures: BTreeMap<_, _> =
        names.map(|name| (name, sums.failures.get(name).copied().unwrap_or_default())).into_iter().collect();
    json!({
        "plans": sums.plans,
        "seed": seed,
        "vocabulary": { "name": "o200k_base", "tokens": size },
        "failed": failed,
        "failures": failures,
        "examples": sums.examples,
        "meanTokens": sums.tokens / sums.plans.max(1),
        "mostTokens": sums.most_tokens,
        "nearestToBoundPerMille": sums.nearest_to_bound,
        "steps": sums.steps,
        "verbs": sums.verbs,
    })
}

struct Page {
    observation: Observation,
    policy: Policy,
    spec: GrammarSpec,
    validator: Validator,
}

fn page_of(seed: u64, number: u64) -> Page {
    let mut random = Random(seed ^ number.rotate_left(32));
    let mut bytes = [0; 32];
    bytes.chunks_exact_mut(8).for_each(|chunk| chunk.copy_from_slice(&random.next().to_le_bytes()));
    let mut runner = TestRunner::new_with_rng(Config::default(), TestRng::from_seed(RngAlgorithm::ChaCha, &bytes));
    let (observation, policy) = ground().new_tree(&mut runner).unwrap().current();
    let allowed = if number.is_multiple_of(LONG_TEXTS) {
        caps()
    } else {
        Caps { text: 12, words: 12, reasoning: 12, answer: 12, ..caps() }
    };
    let spec = specialise_with(&observation, &policy, &allowed);
    let validator = jsonschema::draft202012::new(&emit::json_schema::write(spec.document())).unwrap();
    Page { observation, policy, spec, validator }
}

fn one_page(masks: &Masks, table: &std::sync::Arc<[f32]>, seed: u64, number: u64, count: u64, sums: &mut Sums) {
    let page = page_of(seed, number);
    for trial in 0..count {
        let own = seed ^ (number * PER_PAGE + trial).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut engine = Noise::new(table.clone(), masks.vocabulary().size(), own);
        let mut random = Random(!own);
        let form = if trial < 8 { Form::Json } else { Form::Lines };
        let risk_aversion = if trial.is_multiple_of(2) { 0.0 } else { 2.0 };
        let options = DecodeOptions { form, temperature: 1.0, risk_aversion };
        sums.plans += 1;
        let plan = match decode(masks, &page.spec, &mut engine, options, &mut || random.uniform()) {
            Ok(plan) => plan,
            Err(error) => {
                let what =
                    if matches!(error, DecodeError::Mask(MaskError::TooLong { .. })) { "tooLong" } else { "mask" };
                sums.fail(what, &error.to_string(), "");
                continue;
            }
        };
        let tokens = plan.tokens.len() as u64;
        sums.tokens += tokens;
        sums.most_tokens = sums.most_tokens.max(tokens);
        sums.nearest_to_bound = sums.nearest_to_bound.max(tokens * 1_000 / page.spec.max_tokens().max(1));
        if tokens > page.spec.max_tokens() {
            sums.fail("tooLong", "", &plan.text);
        }
        let draft = match read::read(&plan.text, Author::Model) {
            Ok(draft) => draft,
            Err(violations) => {
                sums.fail("parse", &format!("{violations:?}"), &plan.text);
                continue;
            }
        };
        if form == Form::Json {
            let is_valid = serde_json::from_str(&plan.text).is_ok_and(|value: Value| page.validator.is_valid(&value));
            if !is_valid {
                sums.fail("schema", "", &plan.text);
            }
            if plan.confidences.len() != draft.steps.len() {
                sums.fail("confidences", &format!("{:?}", plan.confidences), &plan.text);
            }
        }
        if let Err(violations) = draft.check(&page.observation, &page.policy) {
            sums.fail("check", &format!("{violations:?}"), &plan.text);
        }
        sums.steps += draft.steps.len() as u64;
        for step in &draft.steps {
            *sums.verbs.entry(step.action.kind().meta().name.to_owned()).or_default() += 1;
        }
    }
}
