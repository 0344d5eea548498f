//! A grammar in one dialect: the text, what it could not express, and the limits that it uses up.

use serde::Serialize;
use serde_json::Value;

/// A dialect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Target {
    /// JSON Schema 2020-12, the reference.
    JsonSchema,
    /// `response_format` of OpenAI's structured outputs.
    #[serde(rename = "openai")]
    OpenAi,
    /// At most twenty function definitions, as OpenAI and those that follow it take them.
    Tools,
    /// Anthropic's tools.
    Anthropic,
    /// Gemini's `responseSchema`.
    Gemini,
    /// Ollama's `format`, and llama.cpp's `json_schema`.
    Ollama,
    /// `json_schema` of servers that are compatible with OpenAI: vLLM, SGLang, llama.cpp and others.
    Compatible,
    /// llama.cpp's grammars.
    Gbnf,
    /// llguidance's grammars.
    Lark,
    /// XGrammar's grammars, as vLLM takes them.
    Ebnf,
    /// The line form, in GBNF.
    Line,
}

impl Target {
    /// Every dialect.
    pub const ALL: [Self; 11] = [
        Self::JsonSchema,
        Self::OpenAi,
        Self::Tools,
        Self::Anthropic,
        Self::Gemini,
        Self::Ollama,
        Self::Compatible,
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
            Self::Compatible => "compatible",
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
    /// Which keys there are, and that a pattern compiles.
    Patterns,
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
    /// That the engine keeps to the schema at all: its strict mode does not take one of this size.
    Strictness,
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
