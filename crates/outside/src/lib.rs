//! Actions outside of the page: requests, files, commands, and actions that a user registers.
//!
//! [`OutsideHandler`] runs the verbs of the language within what the operator declared. A [`Registry`] adds actions by
//! name, schema and code, and forwards the others. The policy that a step was bound under holds what is declared; a
//! step that exceeds it fails with `policyBlocked` and the rule. The cookies, credentials and session of the page are
//! not used.
//!
//! Invariants:
//! - An address is checked after its name was resolved, and the connection goes to the address that was checked.
//!   Each hop of a redirect is checked like the first.
//! - A path is opened relative to the declared directory; neither a link nor `..` leads out of it.
//! - A shell runs a command only if exactly that line was declared for one. The processes of a command end with it.
//! - Every result is bounded, and says if something was left out.
//! - Every outcome says whether the action reached the world. After `deadlineExceeded` with nothing sent, nothing is
//!   sent or written later.

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
