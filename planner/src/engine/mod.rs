//! The engines: what turns a request into drafts.
//!
//! Which of them a program uses is for its composition root to say; they do not know of each other.

pub mod lexical;
#[cfg(feature = "openai")]
pub mod openai;
pub mod scripted;
