//! How a server of the `openai` dialect gets the grammar of a page.

use serde::Deserialize;

/// How a server of the `openai` dialect gets the grammar of a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum OpenAiMode {
    /// `response_format` with OpenAI's strict schema.
    #[default]
    Strict,
    /// `response_format` with a schema that states every bound, as llama.cpp, vLLM and others support.
    // OpenAI rejects bounds; a model that decodes under a schema without them may write without end.
    Schema,
    /// Tool calls, one per step, at least one required.
    Tools,
    /// `grammar` of llama.cpp's server.
    LlamaCpp,
    /// `grammar` of llama.cpp's server, for plans of one step a line: a fraction of the tokens of JSON.
    LlamaCppLines,
    /// `structured_outputs` of vLLM 0.12 or later.
    Vllm,
    /// No constraint: the prompt holds the schema, and the check decides.
    Plain,
}
