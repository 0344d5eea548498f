//! Settings from files and variables.
//!
//! The arguments of the command line are the table of fields: keys of files, variables, the published schema and the
//! documentation follow from them. Only who may set a field is stated beside it, in [`reach`].
//!
//! Invariant: a file of a folder that the user does not trust widens nothing that a run may do.

pub(crate) mod apply;
pub(crate) mod edit;
pub(crate) mod fields;
pub(crate) mod files;
pub(crate) mod published;
mod reach;
mod value;

#[cfg(test)]
mod tests;
