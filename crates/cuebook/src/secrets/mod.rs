//! Secrets that a file declares, and those of the environment.
//!
//! Invariants:
//! - A secret is read from its source when a field is about to receive it.
//! - It is bound to origins, of the field's own document and of the page alike, and to password-like fields unless it is
//!   declared for any.
//! - A one-time code is given once: the next one is of a later time step.
//! - No error holds any part of a secret.

mod command;
mod declared;
mod file;
mod one_time;
mod store;
#[cfg(feature = "keyring")]
mod vault;

pub use file::SecretsError;
pub use store::Secrets;

#[cfg(test)]
mod tests;
