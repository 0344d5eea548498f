//! Measures the cost of making a grammar for a page, of masking and of reading a stream by it, and the cost of plans in
//! tokens.

use std::hint::black_box;
use std::time::{Duration, Instant};

use cuebook_decoding::emit::{Body, Target, emit};
use cuebook_decoding::mask::{Form, Masks};
use cuebook_decoding::sample::Sampler;
use cuebook_decoding::{Caps, GrammarSpec, PlanStream, read, specialise_with, write_lines};
use cuebook_grammar::plan::Author;
use serde_json::{Value, json};

use crate::page::{page, policy};
use crate::random::Random;
use crate::vocabulary::{o200k, tokens};

const SIZES: [usize; 3] = [10, 100, 1_000];
/// How often a grammar is made of a page.
const ROUNDS: usize = 20;
/// Sentences whose every mask is timed.
const DECODES: u64 = 25;
/// Sentences that are read as streams, and counted.
const SENTENCES: usize = 200;

pub(crate) fn run() -> Value {
    let began = Instant::now();
    let vocabulary = o200k();
    let masks = Masks::new(vocabulary).unwrap();
    let start_up = began.elapsed();
    json!({
        "vocabulary": { "name": "o200k_base", "tokens": masks.vocabulary().size(), "startUpMs": millis(start_up) },
        "sizes": SIZES.map(|size| of_size(size, &masks)),
        "streams": streams(),
        "forms": forms(),
    })
}

fn millis(duration: Duration) -> f64 {
    rounded(duration.as_secs_f64() * 1_000.0)
}

fn rounded(value: f64) -> f64 {
    (value * 1_000.0).round() / 1_000.0
}

fn caps(size: usize) -> Caps {
    Caps { candidates: size, ..Caps::default() }
}

/// The middle one and the one that one in a hundred exceeds.
fn quantiles(mut times: Vec<Duration>, unit: f64) -> Value {
    times.sort_unstable();
    let at = |share: f64| {
        let index = ((times.len() as f64 * share) as usize).min(times.len().saturating_sub(1));
        rounded(times.get(index).copied().unwrap_or_default().as_secs_f64() * unit)
    };
    json!({ "p50": at(0.5), "p99": at(0.99), "most": at(1.0) })
}

fn timed<T>(times: &mut Vec<Duration>, work: impl FnOnce() -> T) -> T {
    let began = Instant::now();
    let value = black_box(work());
    times.push(began.elapsed());
    value
}

fn of_size(size: usize, masks: &Masks) -> Value {
    const TARGETS: [Target; 4] = [Target::JsonSchema, Target::OpenAi, Target::Gbnf, Target::Lark];
    let mut specialise = Vec::new();
    let mut emissions = TARGETS.map(|_| Vec::new());
    let mut bytes = [0; TARGETS.len()];
    let mut compile = Vec::new();
    let mut again = Vec::new();
    let mut last = None;
    for round in 0..ROUNDS {
        // Other ids each time, so that no grammar is known already.
        let page = page(size, 1 + round * size);
        let spec = timed(&mut specialise, || specialise_with(&page, &policy(), &caps(size)));
        for ((target, times), bytes) in TARGETS.iter().zip(&mut emissions).zip(&mut bytes) {
            *bytes = match timed(times, || emit(*target, spec.document())).body {
                Body::Json(body) => body.to_string().len(),
                Body::Text(text) => text.len(),
            };
        }
        timed(&mut compile, || masks.start(&spec, Form::Json)).unwrap();
        timed(&mut again, || masks.start(&spec, Form::Json)).unwrap();
        last = Some(spec);
    }
    let spec = last.unwrap();
    let emitted: serde_json::Map<String, Value> = TARGETS
        .iter()
        .zip(emissions)
        .zip(bytes)
        .map(|((target, times), bytes)| {
            let mut measured = quantiles(times, 1_000.0);
            measured["bytes"] = bytes.into();
            (target.as_str().to_owned(), measured)
        })
        .collect();
    json!({
        "candidates": size,
        "offered": spec.offered().len(),
        "maxTokens": spec.max_tokens(),
        "specialiseMs": quantiles(specialise, 1_000.0),
        "emitMs": emitted,
        "compileMs": quantiles(compile, 1_000.0),
        "knownUs": quantiles(again, 1_000_000.0),
        "masks": masked(&spec, masks),
    })
}

/// Times every mask of some sentences of noise.
fn masked(spec: &GrammarSpec, masks: &Masks) -> Value {
    let mut times = Vec::new();
    let mut forced = 0_usize;
    for seed in 0..DECODES {
        let mut random = Random(seed);
        let mut mask = masks.start(spec, Form::Json).unwrap();
        while !mask.is_done() {
            let allowed = timed(&mut times, || mask.allowed()).unwrap();
            let count = allowed.count();
            forced += usize::from(count == 1);
            let token = allowed.iter().nth(random.below(count)).unwrap();
            if token == masks.vocabulary().end() {
                break;
            }
            mask.accept(token).unwrap();
        }
    }
    let count = times.len();
    let mut measured = quantiles(times, 1_000_000.0);
    measured["count"] = count.into();
    measured["forcedPercent"] = (forced * 100 / count.max(1)).into();
    measured
}

fn sentences(spec: &GrammarSpec) -> Vec<Value> {
    let mut random = Random(7);
    let mut sampler = Sampler::new(spec.document(), || random.next());
    (0..SENTENCES).map(|_| sampler.sentence()).collect()
}

/// Nanoseconds a byte of the stream that emits steps, with and without a grammar.
fn streams() -> Value {
    let spec = specialise_with(&page(100, 1), &policy(), &caps(100));
    let texts: Vec<String> = sentences(&spec).iter().map(Value::to_string).collect();
    let bytes: usize = texts.iter().map(String::len).sum();
    let per_byte = |read: &dyn Fn(&str)| {
        let mut best = Duration::MAX;
        for _ in 0..5 {
            let began = Instant::now();
            texts.iter().for_each(|text| read(text));
            best = best.min(began.elapsed());
        }
        rounded(best.as_nanos() as f64 / bytes as f64)
    };
    let stream = |mut stream: PlanStream<'_>, text: &str| {
        for piece in text.as_bytes().chunks(16) {
            black_box(stream.push(piece).unwrap());
        }
        black_box(stream.finish().unwrap());
    };
    json!({
        "bytes": bytes,
        "planStreamNsPerByte": per_byte(&|text| stream(PlanStream::new(spec.document()), text)),
        "unconstrainedNsPerByte": per_byte(&|text| stream(PlanStream::unconstrained(), text)),
    })
}

/// A plan as people would want one: short words, a condition or two.
const PLANS: [&str; 3] = [
    r#"{"version":"1.0","steps":[{"type":"setValue","targetRef":"c1","value":"user@example.com"},{"type":"setValue","targetRef":"c2","value":"hunter2"}],"last":{"type":"click","targetRef":"c8","post":[{"kind":"urlChanges","to":"/dashboard"}]}}"#,
    r#"{"version":"1.0","reasoningSummary":"Choose the size, then order.","steps":[{"type":"select","targetRef":"c4","option":"Option 2"},{"type":"check","targetRef":"c3"}],"last":{"type":"click","targetRef":"c9"}}"#,
    r#"{"version":"1.0","last":{"type":"finish","result":"Order 5001 was placed."}}"#,
];

/// Returns the cost of plans in tokens in each form.
fn forms() -> Value {
    let of = |plans: &[String]| {
        let mut sums = [0_usize; 3];
        for text in plans {
            let mut draft = read::read(text, Author::Model).unwrap();
            let thought = draft.reasoning_summary.take().map(|thought| format!("# {thought}\n")).unwrap_or_default();
            let lines = format!("{thought}{}", write_lines(&draft));
            let pretty = serde_json::to_string_pretty(&serde_json::from_str::<Value>(text).unwrap()).unwrap();
            for (sum, text) in sums.iter_mut().zip([text.as_str(), &pretty, &lines]) {
                *sum += tokens(text);
            }
        }
        let [json, pretty, lines] = sums;
        json!({ "plans": plans.len(), "jsonTokens": json, "indentedJsonTokens": pretty, "lineTokens": lines })
    };
    let brief = Caps { text: 12, words: 12, reasoning: 12, answer: 12, ..caps(100) };
    let spec = specialise_with(&page(100, 1), &policy(), &brief);
    let sampled: Vec<String> = sentences(&spec).iter().map(Value::to_string).collect();
    json!({ "written": of(&PLANS.map(str::to_owned)), "sampled": of(&sampled) })
}
