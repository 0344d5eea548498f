//! Prompts as a model gets them.
