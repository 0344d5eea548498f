//! Emitters: one intermediate form, many dialects.
//!
//! Each reports what its dialect could not express ([`Loss`]) and how near it comes to the dialect's limits
//! ([`LimitUse`]). [`emit_within`] makes a grammar smaller in documented steps until it fits.

mod cfg;
mod gbnf;
mod json_cfg;
pub mod json_schema;
mod lark;
mod line_cfg;
mod measure;
mod merge;
mod print;
mod providers;
mod schema_writer;
mod share;

use cuebook_grammar::observation::Observation;
use cuebook_grammar::policy::Policy;
use serde::Serialize;
use serde_json::Value;

use crate::caps::Caps;
use crate::ir::Document;
use crate::spec::{GrammarSpec, specialise_with};

/// A dialect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Target {
    /// JSON Schema 2020-12, the reference.
    JsonSchema,
    /// `response_format` of OpenAI's structured outputs.
    #[serde(rename = "openai")]
    OpenAi,
    /// Function definitions, one a verb, as OpenAI and those that follow it take them.
    Tools,
    /// Anthropic's tools.
    Anthropic,
    /// Gemini's `responseSchema`.
    Gemini,
    /// Ollama's `format`, and llama.cpp's `json_schema`.
    Ollama,
    /// llama.cpp's grammars.
    Gbnf,
    /// llguidance's grammars.
    Lark,
    /// XGrammar's grammars, as vLLM and SGLang take them.
    Ebnf,
    /// The line form, in GBNF.
    Line,
}

impl Target {
    /// Every dialect.
    pub const ALL: [Self; 10] = [
        Self::JsonSchema,
        Self::OpenAi,
        Self::Tools,
        Self::Anthropic,
        Self::Gemini,
        Self::Ollama,
        Self::Gbnf,
        Self::Lark,
        Self::Ebnf,
        Self::Line,
    ];

    /// The dialect as the command line names it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::JsonSchema => "json-schema",
            Self::OpenAi => "openai",
            Self::Tools => "tools",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
            Self::Ollama => "ollama",
            Self::Gbnf => "gbnf",
            Self::Lark => "lark",
            Self::Ebnf => "ebnf",
            Self::Line => "line",
        }
    }
}

/// What a dialect could not say; `check` finds it instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum Loss {
    /// The order of members.
    MemberOrder,
    /// How long strings may be.
    Lengths,
    /// Between which bounds integers lie.
    Ranges,
    /// The number of items of an array.
    ItemCounts,
    /// Where URLs may lead.
    Origins,
    /// Which candidates there are.
    CandidateIds,
    /// Which parameters go together: options with their select, text or a secret.
    Combinations,
    /// Conditions before and after a step; the defaults apply.
    Conditions,
    /// That a step that leaves the page is the last.
    LastStep,
}

/// How much of a limit is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LimitUse {
    /// What is limited.
    pub limit: &'static str,
    /// How much there is of it.
    pub used: u64,
    /// How much there may be.
    pub allowed: u64,
}

impl LimitUse {
    /// Whether it is kept.
    #[must_use]
    pub const fn is_within(&self) -> bool {
        self.used <= self.allowed
    }
}

/// What is handed to an engine.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// A JSON document.
    Json(Value),
    /// A text in the dialect's notation.
    Text(String),
}

/// A grammar in one dialect.
#[derive(Clone, Debug, PartialEq)]
pub struct Emission {
    /// The dialect.
    pub target: Target,
    /// What is handed to an engine.
    pub body: Body,
    /// What it does not say.
    pub lost: Vec<Loss>,
    /// How near it is to the dialect's limits; none where the dialect has none.
    pub limits: Vec<LimitUse>,
}

impl Emission {
    /// Whether it keeps every limit of its dialect.
    #[must_use]
    pub fn is_within_limits(&self) -> bool {
        self.limits.iter().all(LimitUse::is_within)
    }
}

/// What was done to make a grammar fit its dialect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum Degraded {
    /// Nothing.
    #[default]
    Nothing,
    /// Only this many candidates are offered, the most useful first.
    Candidates(usize),
    /// One step at a time, among this many candidates.
    SingleStep(usize),
    /// It does not fit at all: the schema belongs into the prompt, and `check` decides.
    InPrompt,
}

/// Writes a document in a dialect, whatever its limits. Linear in the document.
#[must_use]
pub fn emit(target: Target, document: &Document) -> Emission {
    let text = |body: String| Emission { target, body: Body::Text(body), lost: Vec::new(), limits: Vec::new() };
    match target {
        Target::JsonSchema => Emission {
            target,
            body: Body::Json(json_schema::write(document)),
            lost: vec![Loss::MemberOrder],
            limits: Vec::new(),
        },
        Target::OpenAi => providers::openai(document),
        Target::Tools => providers::tools(document),
        Target::Anthropic => providers::anthropic(document),
        Target::Gemini => providers::gemini(document),
        Target::Ollama => providers::ollama(document),
        Target::Gbnf => with_repetitions(target, &json_cfg::of(document)),
        Target::Line => with_repetitions(target, &line_cfg::of(document)),
        Target::Lark => text(lark::write(&json_cfg::of(document))),
        Target::Ebnf => text(gbnf::write_ebnf(&share::share(&json_cfg::of(document)))),
    }
}

fn with_repetitions(target: Target, grammar: &cfg::Cfg) -> Emission {
    let shared = share::share(grammar);
    let limit = LimitUse { limit: "repetitions", used: shared.greatest_repetition(), allowed: gbnf::MAX_REPETITIONS };
    Emission { target, body: Body::Text(gbnf::write(&shared)), lost: Vec::new(), limits: vec![limit] }
}

/// The line form in Lark, for token masks.
#[must_use]
pub fn line_lark(document: &Document) -> String {
    lark::write(&line_cfg::of(document))
}

/// Specialises and writes; over a limit of the dialect it offers fewer candidates, then a single step, and
/// says so.
#[must_use]
pub fn emit_within(
    target: Target,
    observation: &Observation,
    policy: &Policy,
    caps: &Caps,
) -> (GrammarSpec, Emission, Degraded) {
    let attempt = |caps: &Caps| {
        let spec = specialise_with(observation, policy, caps);
        let emission = emit(target, spec.document());
        (spec, emission)
    };
    let (spec, emission) = attempt(caps);
    // Anthropic's tools are the same for every page: fewer candidates change nothing.
    if emission.is_within_limits() || target == Target::Anthropic {
        return (spec, emission, Degraded::Nothing);
    }
    let offered = spec.offered().len();
    let sizes = [100, 60, 40, 20, 10].into_iter().filter(|size| *size < offered);
    let smaller: Vec<(usize, u32)> =
        sizes.map(|size| (size, caps.steps)).chain([(40.min(offered), 1), (10.min(offered), 1)]).collect();
    for (candidates, steps) in smaller {
        let (spec, emission) = attempt(&Caps { candidates, steps, ..caps.clone() });
        if emission.is_within_limits() {
            let degraded = if steps == 1 { Degraded::SingleStep(candidates) } else { Degraded::Candidates(candidates) };
            return (spec, emission, degraded);
        }
    }
    (spec, emission, Degraded::InPrompt)
}
