//! One file per command. Each turns its arguments into an [`Exit`](crate::exit::Exit).

pub(crate) mod alerts;
pub(crate) mod attached;
pub(crate) mod bench;
pub(crate) mod check;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod doctor;
pub(crate) mod dry_run;
pub(crate) mod eval;
pub(crate) mod exec;
pub(crate) mod export;
pub(crate) mod film;
pub(crate) mod install;
pub(crate) mod judge;
pub(crate) mod mcp;
pub(crate) mod minimize;
pub(crate) mod observe;
mod place;
pub(crate) mod policy;
pub(crate) mod prune;
#[cfg(feature = "query")]
pub(crate) mod query;
pub(crate) mod record;
pub(crate) mod replay;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod save;
pub(crate) mod schema;
pub(crate) mod session;
pub(crate) mod site;
pub(crate) mod skill;
pub(crate) mod stats;
pub(crate) mod test;
pub(crate) mod view;
