//! A grammar in one dialect: the text, what it could not express, and the limits that it uses up.

use serde::Serialize;
use serde_json::Value;

/// Notation in which an engine takes a grammar.
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
    /// Anthropic's tools, `strict` as far as their documented limits allow it.
    Anthropic,
    /// Anthropic's tools for one page, with its ids as enums: none that the page lacks can be written, and no cache of tools
    /// holds from page to page.
    AnthropicPage,
    /// Gemini's `responseSchema`, with steps of one shape for all verbs.
    Gemini,
    /// Ollama's `format`, and llama.cpp's `json_schema`.
    Ollama,
    /// `json_schema` of servers that are compatible with OpenAI: vLLM, SGLang, llama.cpp and others.
    Compatible,
    /// GBNF, the grammars of llama.cpp, for plans as JSON.
    Gbnf,
    /// Lark as llguidance takes it, for plans as JSON; token masks are compiled from it.
    Lark,
    /// XGrammar's grammars, as vLLM takes them.
    Ebnf,
    /// The line form, in GBNF.
    Line,
}

impl Target {
    /// Every dialect, in the order of their declaration.
    pub const ALL: [Self; 12] = [
        Self::JsonSchema,
        Self::OpenAi,
        Self::Tools,
        Self::Anthropic,
        Self::AnthropicPage,
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
            Self::AnthropicPage => "anthropic-page",
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

/// Constraint that a dialect could not express; `check` enforces it instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum Loss {
    /// The order of members.
    MemberOrder,
    /// The greatest length of strings.
    Lengths,
    /// The bounds of integers.
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
    /// The rule that a step that leaves the page is the last.
    LastStep,
    /// Adherence of the engine to the schema of some tools, mostly of those that only read: its strict mode has no room for
    /// all.
    Strictness,
}

/// How much of a limit is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LimitUse {
    /// Name of the limited quantity.
    pub limit: &'static str,
    /// Amount that the grammar uses.
    pub used: u64,
    /// Greatest amount that the dialect allows.
    pub allowed: u64,
}

impl LimitUse {
    /// Returns `true` if the limit is kept.
    #[must_use]
    pub const fn is_within(&self) -> bool {
        self.used <= self.allowed
    }
}

/// Form in which a grammar is handed to an engine.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// A JSON document: a schema, a list of tools, or the members of a request that hold them.
    Json(Value),
    /// A text in the dialect's notation.
    Text(String),
}

/// A grammar in one dialect.
#[derive(Clone, Debug, PartialEq)]
pub struct Emission {
    /// The dialect in which it is written.
    pub target: Target,
    /// The grammar as it is handed to an engine.
    pub body: Body,
    /// Constraints that it does not express.
    pub lost: Vec<Loss>,
    /// How near it is to the dialect's limits; none where the dialect has none.
    pub limits: Vec<LimitUse>,
}

impl Emission {
    /// Returns `true` if it keeps every limit of its dialect.
    #[must_use]
    pub fn is_within_limits(&self) -> bool {
        self.limits.iter().all(LimitUse::is_within)
    }
}
