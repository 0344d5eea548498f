//! Task and observation to plan draft.
//!
//! Every engine stands behind [`cuebook_grammar::seam::Planner`] and answers with ordinary drafts: nothing
//! that an engine says runs before the language's own check has passed it.
//!
//! | Engine | Model | Feature |
//! |---|---|---|
//! | [`Scripted`] | none: a plan that a person wrote | |
//! | `ModelPlanner<Recorded>` | none: answers that a model gave before | |
//! | `ModelPlanner<Ollama>` | Ollama | `ollama` |
//! | `ModelPlanner<OpenAi>` | OpenAI and what speaks like it, llama.cpp and vLLM included | `openai` |
//! | `ModelPlanner<Anthropic>` | Anthropic and what speaks like it | `anthropic` |
//! | `ModelPlanner<TokenMask<S>>` | any in this process that gives logits | `token-mask` |
//!
//! [`ModelPlanner`] is one loop for all of them, over the small trait [`ChatEngine`]: a model of one's own needs
//! `open` and `next`, and gets prompts, early validation, one reformulation, retries, budgets and audit.

pub mod converse;
pub mod engine;
#[cfg(feature = "http")]
mod http;
pub mod prompt;

pub use converse::{Budget, ChatEngine, Limits, ModelError, ModelPlanner};
#[cfg(feature = "anthropic")]
pub use engine::anthropic::Anthropic;
#[cfg(feature = "ollama")]
pub use engine::ollama::Ollama;
#[cfg(feature = "openai")]
pub use engine::openai::{OpenAi, OpenAiMode};
pub use engine::recorded::Recorded;
pub use engine::scripted::{Scripted, ScriptedError};
#[cfg(feature = "token-mask")]
pub use engine::token_mask::{LogitsSource, TokenMask};
pub use prompt::{Prompts, TemplateError};
