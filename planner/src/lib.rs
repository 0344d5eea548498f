//! Task and observation to plan draft: scripted and lexical engines.
