//! `cuebook` as a user runs it, on the built-in site, with the server as the oracle.

mod cases;
mod consents;
mod context;
mod contract;
mod documents;
mod drift;
mod durability;
mod egress;
mod engines;
mod evaluation;
mod export;
mod facade;
mod faults;
mod filling;
mod gate;
mod goals;
mod hostile;
mod html_report;
mod identity;
#[cfg(target_os = "linux")]
mod kept;
mod known_plans;
mod login;
mod mcp;
mod mcp_http;
mod mcp_suite;
mod minimize;
mod models;
mod moments;
mod observed_plans;
mod offline;
mod planners;
mod pointing;
#[cfg(unix)]
mod processes;
mod progress;
mod proofs;
mod questions;
#[cfg(unix)]
mod record;
mod repairs;
mod replay;
mod rungs;
mod scripts;
mod secrets;
mod session;
mod settings;
mod sharing;
mod shell;
mod site;
mod stats;
mod suggest;
mod suites;
mod tasks;
mod time_limits;
mod view;
