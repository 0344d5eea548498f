//! From a task and an observation to a plan draft.
//!
//! Every engine is a [`cuebook_grammar::seam::Planner`] and returns ordinary drafts: nothing that a model writes runs
//! before it has passed the check of the language.
//!
//! | Engine | Model | Feature |
//! |---|---|---|
//! | [`Scripted`] | none: a plan from a file | |
//! | `Lexical` | none: plain clauses of a task | `lexical` |
//! | `GoalPlanner` | none: a search for what makes conditions hold | `converse` |
//! | `ModelPlanner<Recorded>` | none: recorded answers of a model | `converse` |
//! | `ModelPlanner<Ollama>` | Ollama | `ollama` |
//! | `ModelPlanner<OpenAi>` | OpenAI and compatible servers, such as llama.cpp and vLLM; UI-TARS | `openai` |
//! | `ModelPlanner<OpenAiResponses>` | OpenAI's models that use a computer | `openai` |
//! | `ModelPlanner<Anthropic>` | Anthropic and compatible servers | `anthropic` |
//! | `ModelPlanner<Process>` | a program in any language | `process` |
//! | `ModelPlanner<TokenMask<S>>` | any in this process that yields logits | `token-mask` |
//! | `ModelPlanner<TokenMask<LocalModel>>` | of a GGUF file, in this process | `local` |
//!
//! `ModelPlanner` is one loop for all models, over the small trait `ChatEngine`: another engine implements `open` and
//! `next`, and gets prompts, early validation, one reformulation, retries, budgets and records.

#[cfg(feature = "converse")]
pub mod converse;
pub mod engine;
#[cfg(feature = "converse")]
mod files;
#[cfg(feature = "converse")]
pub mod goal;
#[cfg(feature = "http")]
mod http;
#[cfg(feature = "converse")]
mod looking;
#[cfg(feature = "converse")]
mod pointing;
#[cfg(feature = "converse")]
pub mod prompt;
mod remembering;

#[cfg(feature = "converse")]
pub use converse::{Budget, ChatEngine, Limits, ModelError, ModelPlanner};
#[cfg(feature = "anthropic")]
pub use engine::anthropic::Anthropic;
#[cfg(feature = "lexical")]
pub use engine::lexical::Lexical;
#[cfg(feature = "local")]
pub use engine::local::{LocalError, LocalLogits, LocalModel};
#[cfg(feature = "ollama")]
pub use engine::ollama::Ollama;
#[cfg(feature = "openai")]
pub use engine::openai::OpenAi;
pub use engine::openai_mode::OpenAiMode;
#[cfg(feature = "openai")]
pub use engine::openai_responses::OpenAiResponses;
#[cfg(feature = "process")]
pub use engine::process::Process;
#[cfg(feature = "converse")]
pub use engine::recorded::Recorded;
pub use engine::scripted::{Scripted, ScriptedError};
#[cfg(feature = "token-mask")]
pub use engine::token_mask::{LogitsSource, TokenMask};
#[cfg(feature = "converse")]
pub use looking::Looking;
#[cfg(feature = "converse")]
pub use pointing::Space;
#[cfg(feature = "converse")]
pub use prompt::{Prompts, TemplateError};
pub use remembering::{Remembering, RememberingError};
