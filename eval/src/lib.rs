//! The built-in site, and what measures agents on it.
