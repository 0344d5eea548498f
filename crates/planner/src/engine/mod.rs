//! The engines: what turns a request into drafts.
//!
//! Which of them a program uses is for its composition root to say; they do not know of each other.

#[cfg(feature = "anthropic")]
pub mod anthropic;
#[cfg(feature = "ollama")]
pub mod ollama;
#[cfg(feature = "openai")]
pub mod openai;
pub mod recorded;
pub mod scripted;
#[cfg(feature = "token-mask")]
pub mod token_mask;
