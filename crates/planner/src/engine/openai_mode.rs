//! How a server of the `openai` dialect gets the grammar of a page.

use serde::{Deserialize, Serialize};

/// How a server of the `openai` dialect gets the grammar of a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum OpenAiMode {
    /// `response_format` with OpenAI's strict schema; Anthropic's tools with the ids of the page as enums, which its cache
    /// of tools does not keep for the next page.
    #[default]
    Strict,
    /// `response_format` with a schema without lengths of texts, as vLLM, SGLang, llama.cpp and others support. It has
    /// optional members, which OpenAI rejects: written as null, they would take a third of an answer.
    Schema,
    /// Tool calls, one per step, at least one required.
    Tools,
    /// `grammar` of llama.cpp's server.
    LlamaCpp,
    /// `grammar` of llama.cpp's server, for plans of one step a line: a fraction of the tokens of JSON.
    LlamaCppLines,
    /// `structured_outputs` of vLLM 0.12 or later.
    Vllm,
    /// No constraint: the prompt names the actions and conditions, as it does in every mode, and the check decides.
    Plain,
    /// OpenAI's tool for computers, of its Responses API: the model sees a picture and points at it. Anthropic's tool, if
    /// the server is Anthropic's.
    Computer,
    /// No constraint, for UI-TARS: the model sees a picture and answers with actions as text.
    UiTars,
}

impl OpenAiMode {
    /// Returns `true` if the model points at a picture, and does not name candidates.
    #[must_use]
    pub const fn points(self) -> bool {
        matches!(self, Self::Computer | Self::UiTars)
    }
}
