//! The engines. They are independent of each other; whoever composes an agent selects one.

#[cfg(feature = "anthropic")]
pub mod anthropic;
#[cfg(feature = "lexical")]
pub mod lexical;
#[cfg(feature = "local")]
pub mod local;
#[cfg(feature = "ollama")]
pub mod ollama;
#[cfg(feature = "openai")]
pub mod openai;
pub mod openai_mode;
#[cfg(feature = "openai")]
pub mod openai_responses;
#[cfg(feature = "process")]
pub mod process;
#[cfg(feature = "converse")]
pub mod recorded;
pub mod scripted;
#[cfg(feature = "token-mask")]
pub mod token_mask;
