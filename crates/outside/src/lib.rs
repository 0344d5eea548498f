//! What lies outside of the page: requests, files, commands, and actions that a user registers.
//!
//! [`OutsideHandler`] carries out what the language knows, within what the operator declared; a [`Registry`] adds
//! actions by name, schema and code, and passes the rest on. The policy that a step was bound under says what is
//! declared; a step that reaches beyond it fails with `policyBlocked` and the rule. Nothing of the page takes part:
//! no cookies, no credentials, no session.
//!
//! Invariants:
//! - An address is judged after its name was resolved, and the connection goes to the address that was judged.
//!   Each hop of a redirect is judged like the first.
//! - A path is opened from the declared directory downwards; no link and no `..` leads out of it.
//! - No shell reads a command, unless that very line was declared for one. What a command started ends with it.
//! - Every answer is bounded, and says so where something was left out.
//! - Every outcome says whether the action reached the world. After `deadlineExceeded` with nothing sent, nothing is
//!   sent or written any more.

mod blocking;
mod done;
#[cfg(feature = "fetch")]
mod fetch;
mod files;
mod handler;
mod registry;
mod shell;

#[cfg(test)]
mod tests;

pub use handler::{OutsideHandler, OutsideOptions};
pub use registry::{NoOthers, Registry, RegistryError};
